#!/usr/bin/env python3
"""gpu-check on what this machine has: slices, the report, and what it says where there is no GPU. OpenCL's PoCL stands
in for one."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import fake_torch

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / 'tests' / 'e2e' / 'python'))
import small_onnx  # noqa: E402

BUILD = pathlib.Path(os.environ.get('HONE_BUILD_DIR', ROOT / 'build'))
NO_DEVICE = 3


def check(folder, *words, **more):
    env = {**os.environ, 'HONE_DB': str(folder / 'user.db'), 'HONE_HOST_LOCK': str(folder / 'lock'), **more}
    return subprocess.run(
        [str(BUILD / 'bin' / 'gpu-check'), '--output', str(folder / 'out'), *map(str, words)],
        capture_output=True, text=True, timeout=240, env=env)


class GpuCheck(unittest.TestCase):
    def setUp(self):
        self.work = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.work.name)

    def tearDown(self):
        self.work.cleanup()

    def test_says_that_there_is_no_nvidia_gpu(self):
        result = check(self.folder, '--seconds', '20', '--configs', '1', '--only', 'D9', '--trials', '1')
        if result.returncode == 0:
            self.skipTest('there is one')
        self.assertEqual(result.returncode, NO_DEVICE, result.stderr)
        self.assertIn('no CUDA', result.stderr)
        self.assertFalse((self.folder / 'out' / 'report.md').exists())

    def test_goes_on_where_the_last_slice_ended(self):
        # Some operators: the tests of templates have all.
        words = ['--target', 'opencl', '--configs', '1', '--only', 'D9', '--trials', '4',
                 '--suite', 'depthwise_conv2d', 'softmax', 'transpose', 'gru', '--seconds']
        steps = []
        for seconds in ['20', '20'] + ['120'] * 20:
            result = check(self.folder, *words, seconds)
            if result.returncode == NO_DEVICE:
                self.skipTest(result.stderr)
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
            steps.append([int(n) for n in re.search(r'(\d+) of (\d+) steps', result.stdout).groups()])
            if steps[-1][0] == steps[-1][1]:
                break
        self.assertEqual(sorted(steps), steps)
        report = json.loads((self.folder / 'out' / 'report.json').read_text())
        self.assertTrue(report['complete'], steps)
        self.assertTrue(report['target'].startswith('opencl'))
        self.assertEqual((report['suite']['configs'], report['suite']['wrong']), (report['suite']['planned'], []))
        row, = report['tables'][0]['rows']
        self.assertGreaterEqual(row['trials'], 4)
        self.assertGreater(row['tuned_ms'], 0)
        self.assertIsNone(row['cudnn_ms'])
        self.assertIn('| D9 | ', (self.folder / 'out' / 'report.md').read_text())
        # Its findings are a package.
        best = [json.loads(line) for line in (self.folder / 'out' / 'tophub.jsonl').read_text().splitlines()]
        self.assertTrue(any('depthwise_conv2d(n=1,c=1024' in json.dumps(record) for record in best), best)
        # Nothing is done twice.
        again = check(self.folder, *words, '120')
        self.assertNotRegex(again.stdout, r'(?m)^\d+ s  ')
        # Another device's folder is not written to.
        journal = self.folder / 'out' / 'steps.jsonl'
        journal.write_text(re.sub(r'opencl -sms=\d+', 'opencl -sms=999', journal.read_text()))
        refused = check(self.folder, *words, '120')
        self.assertEqual(refused.returncode, 2)
        self.assertIn('another device', refused.stderr)


class Models(unittest.TestCase):
    def setUp(self):
        self.work = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.work.name)
        for name in ('models', 'fake', 'bare'):
            (self.folder / name).mkdir()
        self.models = self.folder / 'models'
        for name, n in (('wide', 24), ('narrow', 8)):
            (self.models / f'{name}.onnx').write_bytes(small_onnx.perceptron(n=n))
            (self.models / f'{name}.toml').write_text('bind = ["batch=3"]\n')
        self.log = self.folder / 'torch.log'
        self.torch = {'PYTHONPATH': fake_torch.install(self.folder / 'fake'), 'FAKE_TORCH_LOG': str(self.log)}

    def tearDown(self):
        self.work.cleanup()

    def run_all(self, *words, expected=0, **env):
        """The report, after as many slices as it takes."""
        for _ in range(20):
            result = check(self.folder, '--target', 'opencl', '--seconds', '120', *words, **env)
            if result.returncode == NO_DEVICE:
                self.skipTest(result.stderr)
            done, of = (int(n) for n in re.search(r'(\d+) of (\d+) steps', result.stdout).groups())
            if done == of:
                self.assertEqual(result.returncode, expected, result.stdout + result.stderr)
                self.said = result.stdout + result.stderr
                return json.loads((self.folder / 'out' / 'report.json').read_text())
            self.assertIn(result.returncode, (0, expected), result.stdout + result.stderr)
        self.fail('it does not end')

    def test_that_are_named_are_tuned_for_the_package_and_timed_beside_pytorch(self):
        report = self.run_all('--layers', self.models, '--layer-trials', '4', '--models', self.models, **self.torch)
        self.assertEqual(report['suite']['planned'], 0, 'models alone')
        layers = report['layers']
        self.assertEqual((layers['models'], layers['errors']), (['narrow', 'wide'], []))
        listed = (self.folder / 'out' / 'layers.txt').read_text().splitlines()
        self.assertEqual(len(listed), layers['operators'])
        self.assertEqual(len([line for line in listed if line.startswith('dense(m=3,')]), 2, listed)
        self.assertGreater(layers['trials'], len(listed))
        self.assertGreater(layers['tuned_ms'], 0)
        package = (self.folder / 'out' / 'tophub.jsonl').read_text()
        for n in (8, 24):
            self.assertIn(f'dense(m=3,n={n},k=16', package)
        rows = {row['name']: row for row in report['models']}
        self.assertEqual(list(rows), ['narrow', 'wide'])
        for row in rows.values():
            self.assertGreater(row['tuned_ms'], 0)
            self.assertGreater(row['default_ms'], 0)
            for way, ms in {'eager_f32': 0.8, 'graphs_f32': 0.4, 'autotune_f32': 0.2,
                            'eager_tf32': 0.4, 'graphs_tf32': 0.2, 'autotune_tf32': 0.1}.items():
                self.assertAlmostEqual(row['torch'][way], ms, 6, way)
            self.assertAlmostEqual(row['torch_over_ours'], 0.2 / row['tuned_ms'], 3)
        said = self.log.read_text().splitlines()
        self.assertEqual({line for line in said if line.startswith('input')}, {'input [3, 16] float32'})
        self.assertEqual({line: said.count(line) for line in said if not line.startswith('input')},
                         {'precision highest': 6, 'precision high': 6, 'compile max-autotune': 4})
        # Another model joins: its layers alone are tuned, and what was timed is not timed again.
        (self.models / 'third.onnx').write_bytes(small_onnx.perceptron(rows=5, n=40))
        more = self.run_all('--layers', self.models, '--layer-trials', '4', **self.torch)
        self.assertEqual(more['layers']['operators'], layers['operators'] + 1)
        self.assertNotIn('models', more)
        self.assertRegex(self.said, r'(?m)^\d+ s  layers/third ')
        self.assertNotRegex(self.said, r'(?m)^\d+ s  (layers/wide|time/|torch/)')

    def test_that_cannot_be_read_and_pytorch_that_is_not_there_are_told(self):
        (self.models / 'broken.onnx').write_text('no model')
        report = self.run_all('--models', self.models, expected=4, PYTHONPATH=fake_torch.hide(self.folder / 'bare'))
        self.assertIn('broken.onnx: ', self.said)
        self.assertIn('torch and onnx and onnx2torch are not installed for ', report['torch_missing'])
        rows = {row['name']: row for row in report['models']}
        self.assertIsNone(rows['broken']['tuned_ms'])
        self.assertTrue(rows['broken']['errors'][0].startswith('time/broken: '), rows['broken'])
        self.assertGreater(rows['wide']['tuned_ms'], 0)
        self.assertEqual(set(rows['wide']['torch'].values()), {None})
        page = (self.folder / 'out' / 'report.md').read_text()
        self.assertEqual(page.count('PyTorch was not timed: torch and onnx'), 1)
        none = check(self.folder, '--target', 'opencl', '--models', self.folder / 'bare')
        self.assertEqual(none.returncode, 2)
        self.assertIn('bare: no .onnx or .tflite file', none.stderr)

    def test_the_time_of_pytorch_needs_what_it_names(self):
        """gpu-torch by itself."""
        def torch(*words, **env):
            return subprocess.run([str(BUILD / 'bin' / 'gpu-torch'), *map(str, words)], capture_output=True, text=True,
                                  timeout=60, env={**os.environ, **env})
        model = self.models / 'wide.onnx'
        unbound = torch(model, **self.torch)
        self.assertEqual((unbound.returncode, unbound.stderr), (1, 'gpu-torch: x: dimension batch is not bound\n'))
        self.assertEqual(torch(self.models / 'wide.tflite', **self.torch).returncode, 1)
        (self.folder / 'fake' / 'torch.py').write_text(fake_torch.TORCH.replace('is_available=lambda: True',
                                                                                'is_available=lambda: False'))
        blind = torch(model, '--flags-file', self.models / 'wide.toml', **self.torch)
        self.assertEqual((blind.returncode, blind.stderr), (NO_DEVICE, 'gpu-torch: torch 9.9 sees no GPU\n'))


if __name__ == '__main__':
    unittest.main()

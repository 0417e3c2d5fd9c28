#!/usr/bin/env python3
"""gpu-check on what this machine has: slices, the report, and what it says where there is no GPU. OpenCL's PoCL stands
in for one."""
import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = pathlib.Path(os.environ.get('HONE_BUILD_DIR', ROOT / 'build'))
NO_DEVICE = 3


def check(folder, *words):
    env = {**os.environ, 'HONE_DB': str(folder / 'user.db'), 'HONE_HOST_LOCK': str(folder / 'lock')}
    return subprocess.run(
        [str(BUILD / 'bin' / 'gpu-check'), '--output', str(folder / 'out'), *words],
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


if __name__ == '__main__':
    unittest.main()

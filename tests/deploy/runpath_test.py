#!/usr/bin/env python3
"""No program, library or module looks for libraries in a folder that others can write to: in the build tree, where
`cmake --install` puts them, and in what a wheel is packed of. (The wheel itself, Debian packages and the bundle: in
their own tests.)"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import runpaths  # noqa: E402

ROOT = HERE.parent.parent
BUILD = pathlib.Path(os.environ.get('HONE_BUILD_DIR', ROOT / 'build'))
PROGRAMS = ('tensorc', 'tuner', 'tophub', 'tracker', 'device-agent', 'hone-builder', 'hone-runner')
HAS_PYTHON = (BUILD / 'python').is_dir()


def install(test, *options):
    """Files that an installation into an empty folder puts there."""
    folder = tempfile.TemporaryDirectory(prefix='hone_runpaths_')
    test.addCleanup(folder.cleanup)
    done = subprocess.run(['cmake', '--install', str(BUILD), '--prefix', folder.name, *options], capture_output=True,
                          text=True, check=False)
    test.assertEqual(done.returncode, 0, done.stderr)
    return pathlib.Path(folder.name)


class Faults(unittest.TestCase):
    """The check itself."""

    def test_an_element_is_below_origin_and_within_what_was_delivered(self):
        file = pathlib.Path('/opt/hone/bin/tensorc')
        for fine in ('$ORIGIN', '$ORIGIN/../lib', '${ORIGIN}/../lib'):
            self.assertIsNone(runpaths.fault_of(fine, file, '/opt/hone'), fine)
        for element, why in (('', 'empty'), ('lib', 'relative'), ('.', 'relative'), ('$ORIGINAL', 'relative'),
                             ('/usr/lib/llvm-19/lib', 'machine that built'), ('$ORIGIN/../../lib', 'leads out')):
            self.assertIn(why, runpaths.fault_of(element, file, '/opt/hone') or 'none', element)

    def test_every_element_of_a_library_is_read(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(['cc', '-shared', '-o', f'{folder}/x.so', '-x', 'c', '/dev/null', '-Wl,-rpath,/a::b'],
                           check=True)
            found = runpaths.faults(folder)
        self.assertEqual(len(found), 3, found)


class Trees(unittest.TestCase):
    def check(self, root, names):
        have = {file.name.split('.')[0] for file in runpaths.loadable(root)}
        self.assertLessEqual(set(names), have)
        self.assertEqual(runpaths.faults(root), [])

    def test_build_tree(self):
        self.check(BUILD, [*PROGRAMS, 'libhone', 'libhone_runtime', *(['_hone', '_te'] if HAS_PYTHON else [])])

    def test_installation(self):
        root = install(self)
        self.check(root, [*PROGRAMS, 'libhone', 'libhone_runtime', *(['_hone', '_te'] if HAS_PYTHON else [])])
        paths = {path for file in runpaths.loadable(root)
                 for path in re.findall(re.escape(bytes(ROOT)) + rb'/[^\0\n]*', file.read_bytes())}
        self.assertEqual(paths, set(), 'paths of the machine that built it')
        if HAS_PYTHON:
            self.imports(root / 'lib' / 'python3' / 'dist-packages')

    def test_what_a_wheel_is_packed_of(self):
        if not HAS_PYTHON:
            self.skipTest('the Python package is not built')
        root = install(self, '--component', 'wheel')
        self.check(root, ['_hone', '_te', 'libhone', 'tracker', 'device-agent', 'hone-builder', 'hone-runner'])
        self.assertTrue(list((root / 'hone' / 'share' / 'hone' / 'packages').glob('*.jsonl')))
        self.assertEqual([p for p in root.rglob('*') if p.is_symlink()], [], 'a wheel has no links')

    def imports(self, packages):
        """The module finds the library that came with it."""
        code = 'import hone._hone; print([l.split()[-1] for l in open("/proc/self/maps") if "libhone.so" in l][0])'
        ran = subprocess.run(['/usr/bin/python3', '-c', code], capture_output=True, text=True, check=False,
                             env={**os.environ, 'PYTHONPATH': str(packages), 'PYTHONDONTWRITEBYTECODE': '1'})
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertEqual(pathlib.Path(ran.stdout.strip()).parent.resolve(),
                         next(packages.parent.parent.parent.rglob('libhone.so.0.*')).parent.resolve())


class WhereOthersWrite(unittest.TestCase):
    """Programs called in a folder that has a file of each name that they load: a loader that looks there ends them."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix='hone_planted_')
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        files = [BUILD / 'bin' / program for program in PROGRAMS] + list((BUILD / 'lib').glob('libhone*.so.*'))
        for name in {name for _, needed, _ in runpaths.dynamic(files) for name in needed}:
            pathlib.Path(folder.name, name).write_text('no library\n')

    def test_programs_start(self):
        for program in PROGRAMS[:5]:
            ran = subprocess.run([str(BUILD / 'bin' / program), '--help'], cwd=self.folder, capture_output=True,
                                 text=True, check=False)
            self.assertEqual(ran.returncode, 0, f'{program}: {ran.stderr}')

    def test_the_loader_would_have_noticed(self):
        ran = subprocess.run([str(BUILD / 'bin' / 'tensorc'), '--help'], cwd=self.folder, capture_output=True,
                             text=True, check=False, env={**os.environ, 'LD_LIBRARY_PATH': ':/nowhere'})
        self.assertNotEqual(ran.returncode, 0)

    def test_python_imports(self):
        if not HAS_PYTHON:
            self.skipTest('the Python package is not built')
        ran = subprocess.run(['/usr/bin/python3', '-c', 'import hone'], cwd=self.folder, capture_output=True, text=True,
                             check=False, env={**os.environ, 'PYTHONPATH': str(BUILD / 'python')})
        self.assertEqual(ran.returncode, 0, ran.stderr)


if __name__ == '__main__':
    unittest.main()

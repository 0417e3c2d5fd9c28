#!/usr/bin/env python3
"""Packs what was built with deploy/bundle and uses it where there is nothing but glibc."""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = pathlib.Path(os.environ.get('HONE_BUILD_DIR', ROOT / 'build'))
PROGRAMS = {'tuner', 'tracker', 'device-agent', 'hone-builder', 'hone-runner', 'tophub', 'tensorc', 'gpu-check',
            'gpu-peers'}
# What the package of glibc holds on Debian, Fedora and others.
GLIBC = re.compile(r'^(ld-linux-[\w-]+\.so\.\d|lib(c|m|mvec|pthread|dl|rt|resolv|util|anl)\.so\.\d)$')


def run(*words, **more):
    return subprocess.run([str(w) for w in words], capture_output=True, text=True, timeout=240, **more)


def needed(file):
    """The libraries that a file names, and where it says they are."""
    text = run('readelf', '-dW', file).stdout
    return re.findall(r'\(NEEDED\).*\[(.*)\]', text), re.findall(r'\((?:RPATH|RUNPATH)\).*\[(.*)\]', text)


def unresolved(folder):
    """What files of an unpacked bundle need and neither it nor glibc has."""
    have = {file.name for file in (folder / 'lib').iterdir()}
    files = [*(folder / 'bin').iterdir(), *(folder / 'lib').iterdir()]
    return sorted(f'{file.name}: {name}' for file in files for name in needed(file)[0]
                  if name not in have and not GLIBC.match(name))


class Bundle(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.work = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.work.name)
        packed = run(ROOT / 'deploy' / 'bundle', '--build', BUILD, '--output', cls.folder, '--level', '12')
        assert packed.returncode == 0, packed.stderr
        print(packed.stdout)
        cls.file, = cls.folder.glob('*.tar.zst')
        # A root folder with the bundle, glibc's libraries, and a place to write.
        cls.root = cls.folder / 'root'
        for name in ('opt', 'tmp', 'proc', 'dev'):
            (cls.root / name).mkdir(parents=True)
        subprocess.run(['tar', '-C', cls.root / 'opt', '-xf', cls.file], check=True)
        cls.top, = (cls.root / 'opt').iterdir()

    @classmethod
    def tearDownClass(cls):
        cls.work.cleanup()

    def test_is_named_after_version_and_machine(self):
        version = re.search(r'project\(hone VERSION (\S+)', (ROOT / 'CMakeLists.txt').read_text())[1]
        self.assertEqual(self.file.name, f'hone-{version}-{os.uname().machine}.tar.zst')
        self.assertEqual(self.top.name, self.file.name.removesuffix('.tar.zst'))
        self.assertEqual({file.name for file in (self.top / 'bin').iterdir()}, PROGRAMS)

    def test_has_every_library_it_needs(self):
        self.assertEqual(unresolved(self.top), [])
        for file in [*(self.top / 'bin').iterdir(), *(self.top / 'lib').iterdir()]:
            paths = needed(file)[1]
            self.assertTrue(all(p in ('$ORIGIN', '$ORIGIN/../lib') for p in paths), f'{file}: {paths}')
        self.assertFalse([f.name for f in (self.top / 'lib').iterdir() if GLIBC.match(f.name)],
                         'two glibcs do not go together')

    def test_misses_a_library_that_is_taken_away(self):
        library = self.top / 'lib' / 'libfmt.so.9'
        aside = library.rename(self.folder / library.name)
        try:
            self.assertIn('tuner: libfmt.so.9', unresolved(self.top))
        finally:
            aside.rename(library)

    def test_comes_with_licences_and_headers(self):
        licences = {file.name for file in (self.top / 'share' / 'doc' / 'licenses').iterdir()}
        self.assertLessEqual({'libstdc++6', 'llvm-19-dev', 'libgrpc29', 'libxgboost0', 'Apache-2.0'}, licences)
        self.assertIn('glibc', (self.top / 'README.md').read_text())
        self.assertTrue((self.top / 'include' / 'dlpack' / 'dlpack.h').is_file())
        header = self.folder / 'header.c'
        header.write_text('#include "hone_runtime.h"\nint main(void) { return HONE_OK; }\n')
        compiled = run('gcc', '-fsyntax-only', '-I', self.top / 'include', header)
        self.assertEqual(compiled.returncode, 0, compiled.stderr)

    def test_runs_where_there_is_nothing_but_glibc(self):
        alone = ['unshare', '--mount'] + (['--map-root-user'] if os.geteuid() != 0 else [])
        if not shutil.which('unshare') or not shutil.which('chroot') or run(*alone, 'true').returncode != 0:
            self.skipTest('no mount namespaces here')
        # The loader and libc are copied to where the programs' headers and the loader's defaults look.
        for path in re.findall(r'(/\S+) \(0x', run('ldd', *(self.top / 'bin').iterdir()).stdout):
            if not path.startswith(str(self.top)) and not (self.root / path[1:]).exists():
                self.assertRegex(pathlib.PurePath(path).name, GLIBC)
                (self.root / path[1:]).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, self.root / path[1:])
        inside = pathlib.PurePath('/') / self.top.relative_to(self.root)

        def chrooted(*words):
            mounted = 'mount --rbind /proc "$0/proc" && mount --rbind /dev "$0/dev" && exec chroot "$0" "$@"'
            result = run(*alone, 'sh', '-c', mounted, self.root, *words, env={
                'HOME': '/tmp', 'HONE_DB': '/tmp/hub.db', 'HONE_HOST_LOCK': '/tmp/lock', 'PATH': os.environ['PATH']})
            self.assertEqual(result.returncode, 0, f'{words}\n{result.stdout}{result.stderr}')
            return result.stdout + result.stderr

        task = ['--task', 'dense', '--args', 'm=16,n=64,k=64', '--target', 'llvm']
        tuned = chrooted(inside / 'bin/tuner', *task, '--trials', '8')
        self.assertIn(f'the prior in {inside}/', tuned)  # its own, not the source tree's
        self.assertRegex(tuned, r'trials +8;')
        checked = chrooted(inside / 'bin/tensorc', *task, '--check', '--emit', 'so', '-o', '/tmp/dense.so')
        self.assertIn('config: best', checked)
        self.assertIn('agree with the reference', checked)
        self.assertIn('\x7fELF', (self.root / 'tmp/dense.so').read_bytes()[:4].decode('latin-1'))
        best = chrooted(inside / 'bin/tophub', 'best', *task, '--db', '/tmp/hub.db')
        self.assertIn('dense(m=16', best)

    def test_refuses_what_is_not_built(self):
        with tempfile.TemporaryDirectory() as empty:
            refused = run(ROOT / 'deploy' / 'bundle', '--build', empty, '--output', empty)
            self.assertNotEqual(refused.returncode, 0)
        self.assertIn('takes 1 to 19', run(ROOT / 'deploy' / 'bundle', '--build', BUILD, '--level', '20').stderr)


if __name__ == '__main__':
    unittest.main()

#!/usr/bin/env python3
"""The Debian packages that deploy/package makes: installed in a bare Debian, used, and removed; those for ARM unpacked
and used under qemu-user. Labelled package: as root, with debootstrap and the network of apt."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / 'tests' / 'e2e' / 'python'), str(ROOT / 'tests' / 'deploy')]
import runpaths  # noqa: E402
import small_onnx  # noqa: E402
from hosts import mirror  # noqa: E402


def run(*words, **more):
    return subprocess.run([str(w) for w in words], capture_output=True, text=True, **more)


NAMES = ['hone', 'hone-agent', 'libhone-runtime', 'libhone-dev', 'python3-hone']


def make_packages(test_class, *options):
    test_class.folder = pathlib.Path(tempfile.mkdtemp(prefix='hone_package_'))
    test_class.addClassCleanup(shutil.rmtree, test_class.folder, True)
    made = run(ROOT / 'deploy' / 'package', *options, test_class.folder / 'debs')
    assert made.returncode == 0, made.stderr
    test_class.debs = {p.name.split('_')[0]: p for p in (test_class.folder / 'debs').glob('*.deb')}


def check_runpaths(test):
    """All of them unpacked into one folder look for libraries in no other."""
    with tempfile.TemporaryDirectory(dir=test.folder) as folder:
        for deb in test.debs.values():
            test.assertEqual(run('dpkg-deb', '-x', deb, folder).returncode, 0)
        names = {file.name.split('.')[0] for file in runpaths.loadable(folder)}
        test.assertLessEqual({'tensorc', 'device-agent', 'libhone', 'libhone_runtime', '_hone'}, names)
        test.assertEqual(runpaths.faults(folder), [])


def field(deb, name):
    return run('dpkg-deb', '-f', deb, name).stdout.strip()


class Packages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        make_packages(cls)

    def test_there_are_all_and_each_says_what_it_needs(self):
        self.assertEqual(sorted(self.debs), sorted(NAMES))
        for name, deb in self.debs.items():
            fields = run('dpkg-deb', '-f', deb).stdout
            self.assertIn(f'Package: {name}\n', fields)
            self.assertIn('libc6 (>=', fields)
            self.assertNotIn(str(ROOT), fields)
        summaries = {field(deb, 'Description').splitlines()[0] for deb in self.debs.values()}
        self.assertEqual(len(summaries), len(NAMES))
        # A library over libc.
        self.assertRegex(field(self.debs['libhone-runtime'], 'Depends'), r'^libc6 \(>= [\d.]+\)$')
        contents = [run('dpkg-deb', '-c', deb).stdout.splitlines() for deb in self.debs.values()]
        listed = [line.split()[5] for lines in contents for line in lines]
        files = [f for f in listed if not f.endswith('/')]
        self.assertEqual(len(files), len(set(files)), 'two packages have one file')

    def test_libraries_are_looked_for_where_the_system_has_them(self):
        check_runpaths(self)

    def test_installed_used_and_removed_in_a_bare_system(self):
        if os.geteuid() != 0 or not shutil.which('debootstrap'):
            self.skipTest('needs root and debootstrap')
        root = self.folder / 'root'
        made = run('debootstrap', '--variant=minbase', 'bookworm', root, mirror())
        self.assertEqual(made.returncode, 0, made.stdout[-2000:] + made.stderr[-2000:])
        for name in ('apt.conf.d', 'auth.conf.d'):  # this system's way to its mirror
            if (pathlib.Path('/etc/apt') / name).is_dir():
                shutil.copytree(f'/etc/apt/{name}', root / 'etc' / 'apt' / name, dirs_exist_ok=True)
        shutil.copytree(self.folder / 'debs', root / 'debs')
        (root / 'm.onnx').write_bytes(small_onnx.perceptron())

        def inside(command):
            ran = run('chroot', root, 'env', '-i', 'PATH=/usr/bin:/usr/sbin:/bin:/sbin', 'HOME=/root',
                      'HONE_DB=/hub.db', 'DEBIAN_FRONTEND=noninteractive', 'bash', '-c', command)
            self.assertEqual(ran.returncode, 0, f'{command}\n{ran.stdout[-3000:]}{ran.stderr[-3000:]}')
            return ran.stdout

        for what in ('proc', 'dev'):
            self.assertEqual(run('mount', '--rbind', f'/{what}', root / what).returncode, 0)
            self.addCleanup(run, 'umount', '-l', root / what)
        inside('apt-get update && apt-get install -y --no-install-recommends /debs/*.deb gcc libc6-dev pkg-config')
        inside('tensorc /m.onnx --bind batch=2 --threads 1 -o /m.so --check')
        self.assertIn('"trials":4', inside('tuner --task dense --args m=16,n=16,k=16 --threads 1 --trials 4 --json'))
        self.assertIn('dense', inside('tophub list'))
        inside("""cat > /a.c <<'EOF'
#include <hone.h>
#include <stdio.h>
int main(void) {
  HoneModel* m;
  if (hone_open("/m.so", &m) != HONE_OK) return puts(hone_last_error()), 1;
  printf("%s\\n", hone_input(m, 0)->name);
  return 0;
}
EOF
gcc /a.c $(pkg-config --cflags --libs hone-runtime) -o /a && test "$(/a)" = x
tensorc /m.onnx --bind batch=2 --target 'opencl -sms=2' -o /gpu.so
sed 's:/m.so:/gpu.so:' /a.c > /g.c && gcc /g.c $(pkg-config --cflags --libs hone-runtime) -o /g
/g | grep "is for a GPU ('opencl -sms=2.*no OpenCL: the loader is missing"
sed -i 's/hone.h/hone_gpu.h/' /g.c && gcc /g.c $(pkg-config --cflags --libs hone-gpu) -o /g && ! /g
sed -i 's/hone.h/hone_compiler.h/' /a.c && gcc /a.c $(pkg-config --cflags --libs hone) -o /b && test "$(/b)" = x""")
        printed = inside("""python3 -c "
import hone, numpy as np
model = hone.compile('/m.onnx', bind={'batch': 2}, threads=1)
print(model(np.ones((2, 16), np.float32))[0, 0], hone.tune('dense(m=8,n=8,k=8)', trials=2, threads=1)['trials'])
" """)
        self.assertEqual(printed, '15.0 2\n')
        inside('apt-get remove -y --purge ' + ' '.join(NAMES))
        for deb in self.debs.values():
            for line in run('dpkg-deb', '-c', deb).stdout.splitlines():
                path = line.split()[5][2:]
                if not path.endswith('/') or 'hone' in path:
                    self.assertFalse((root / path).exists(), path)


EM_AARCH64 = 183


def machine(path):
    """e_machine of a little-endian ELF file."""
    with open(path, 'rb') as file:
        return int.from_bytes(file.read(20)[18:], 'little')


def binaries_in(root):
    return [p for p in root.rglob('*') if p.is_file() and not p.is_symlink() and p.read_bytes()[:4] == b'\x7fELF']


class Arm64Packages(unittest.TestCase):
    TREE = ROOT / 'build-arm64'

    @classmethod
    def setUpClass(cls):
        if not (cls.TREE / 'bin' / 'tensorc').exists():
            raise unittest.SkipTest('deploy/build --arm64 makes what these packages have')
        if not shutil.which('qemu-aarch64-static'):
            raise unittest.SkipTest('deploy/setup arm64 installs the emulator')
        make_packages(cls, '--arm64')
        cls.root = cls.folder / 'root'
        for deb in cls.debs.values():
            unpacked = run('dpkg-deb', '-x', deb, cls.root)
            assert unpacked.returncode == 0, unpacked.stderr
        cache = (cls.TREE / 'CMakeCache.txt').read_text()
        cls.sysroot = pathlib.Path(re.search(r'(?m)^HONE_SYSROOT:\w+=(.*)$', cache).group(1))

    def emulate(self, program, *words, **more):
        ran = run('qemu-aarch64-static', '-L', self.sysroot, program, *words, cwd=self.folder, timeout=900, **more)
        self.assertEqual(ran.returncode, 0, f'{program} {words}\n{ran.stdout[-3000:]}{ran.stderr[-3000:]}')
        return ran.stdout

    def test_there_are_all_for_that_architecture(self):
        self.assertEqual(sorted(self.debs), sorted(NAMES))
        for name, deb in self.debs.items():
            self.assertRegex(deb.name, '_arm64[.]deb$')
            self.assertEqual(field(deb, 'Architecture'), 'arm64')
            fields = run('dpkg-deb', '-f', deb).stdout
            for here in (ROOT, self.sysroot):
                self.assertNotIn(str(here), fields)

    def test_programs_and_libraries_are_stripped_and_for_that_machine(self):
        binaries = binaries_in(self.root)
        names = {p.name.split('.')[0] for p in binaries}
        self.assertLessEqual({'tensorc', 'tuner', 'tophub', 'tracker', 'device-agent', 'hone-builder', 'hone-runner',
                              'libhone', 'libhone_runtime', '_hone', '_te'}, names)
        for path in binaries:
            self.assertEqual(machine(path), EM_AARCH64, path)
            self.assertNotIn('.symtab', run('readelf', '-SW', path).stdout, path)

    def test_libraries_are_looked_for_where_the_system_has_them(self):
        check_runpaths(self)

    def test_depends_name_the_packages_of_all_libraries_that_are_loaded(self):
        """By another way than dpkg-shlibdeps goes: what the dynamic section asks for, and the names that Debian gives
        its libraries' packages."""
        ours = {p.name for p in self.root.rglob('lib*.so*')}
        shlibs = {}
        for line in (self.sysroot / 'DEBIAN' / 'shlibs').read_text().splitlines():
            words = line.split()
            if len(words) > 2 and not words[0].endswith(':'):
                shlibs[words[0], words[1]] = words[2]
        for name, deb in self.debs.items():
            unpacked = self.folder / name
            run('dpkg-deb', '-x', deb, unpacked)
            libraries = set()
            for path in binaries_in(unpacked):
                libraries |= set(re.findall(r'\(NEEDED\).*\[(.*)\]', run('readelf', '-dW', path).stdout))
            wanted = {'libc6'}  # which has the loader, too
            for library in libraries - ours - {'ld-linux-aarch64.so.1'}:
                stem, _, version = library.partition('.so.')
                wanted.add(shlibs[stem, version])
            said = {re.split(r'[ (]', d.strip())[0] for d in field(deb, 'Depends').split(',')}
            self.assertEqual({d for d in said if 'hone' not in d} - {'python3', 'python3-numpy'}, wanted, name)
            self.assertIn('libc6 (>= 2.', field(deb, 'Depends'))
        self.assertRegex(field(self.debs['libhone-runtime'], 'Depends'), r'^libc6 \(>= [\d.]+\)$')

    def test_tensorc_compiles_what_computes_as_the_reference_does(self):
        tensorc = self.root / 'usr' / 'bin' / 'tensorc'
        model = self.folder / 'm.onnx'
        model.write_bytes(small_onnx.perceptron())
        for source in (['--task', 'dense', '--args', 'm=8,n=64,k=32', '--emit', 'so'], [model, '--bind', 'batch=2']):
            so = self.folder / 'made.so'
            self.emulate(tensorc, *source, '--threads', 2, '-o', so, '--check')
            self.assertEqual(machine(so), EM_AARCH64)
            so.unlink()

    def test_the_other_programs_start(self):
        for name in ('tuner', 'tophub', 'tracker', 'device-agent'):
            self.assertIn(name, self.emulate(self.root / 'usr' / 'bin' / name, '--help'))
        # numpy, which `import hone` needs, is not among the libraries that programs are built with.
        modules = self.root / 'usr' / 'lib' / 'python3' / 'dist-packages' / 'hone'
        python = self.sysroot / 'usr' / 'bin' / 'python3.11'
        printed = self.emulate(python, '-S', '-c', 'import _te; print(_te.__name__)',
                               env={'PYTHONHOME': str(self.sysroot / 'usr'), 'PYTHONPATH': str(modules)})
        self.assertEqual(printed, '_te\n')


if __name__ == '__main__':
    unittest.main()

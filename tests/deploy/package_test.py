#!/usr/bin/env python3
"""The Debian packages that deploy/package makes: installed in a bare Debian, used, and removed. Labelled package: as
root, with debootstrap and the network of apt."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / 'tests' / 'e2e' / 'python'))
import small_onnx  # noqa: E402


def run(*words, **more):
    return subprocess.run([str(w) for w in words], capture_output=True, text=True, **more)


def mirror():
    """Where this system's apt has its packages from."""
    for path in [pathlib.Path('/etc/apt/sources.list'), *pathlib.Path('/etc/apt/sources.list.d').glob('*')]:
        if path.is_file():
            found = re.search(r'(?m)^(?:deb\s.*?|URIs:\s*)(https?://\S+/debian)/?(?:\s|$)', path.read_text())
            if found:
                return found.group(1)
    return 'http://deb.debian.org/debian'


class Packages(unittest.TestCase):
    NAMES = ['hone', 'hone-agent', 'libhone-runtime', 'libhone-dev', 'python3-hone']

    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix='hone_package_'))
        cls.addClassCleanup(shutil.rmtree, cls.folder, True)
        made = run(ROOT / 'deploy' / 'package', cls.folder / 'debs')
        assert made.returncode == 0, made.stderr
        cls.debs = {p.name.split('_')[0]: p for p in (cls.folder / 'debs').glob('*.deb')}

    def test_there_are_all_and_each_says_what_it_needs(self):
        self.assertEqual(sorted(self.debs), sorted(self.NAMES))
        for name, deb in self.debs.items():
            fields = run('dpkg-deb', '-f', deb).stdout
            self.assertIn(f'Package: {name}\n', fields)
            self.assertIn('libc6 (>=', fields)
            self.assertNotIn(str(ROOT), fields)
        # A library over libc.
        needed = run('dpkg-deb', '-f', self.debs['libhone-runtime'], 'Depends').stdout
        self.assertRegex(needed, r'^libc6 \(>= [\d.]+\)$')
        contents = [run('dpkg-deb', '-c', deb).stdout.splitlines() for deb in self.debs.values()]
        listed = [line.split()[5] for lines in contents for line in lines]
        files = [f for f in listed if not f.endswith('/')]
        self.assertEqual(len(files), len(set(files)), 'two packages have one file')

    def test_installed_used_and_removed_in_a_bare_system(self):
        if os.geteuid() != 0 or not shutil.which('debootstrap'):
            self.skipTest('needs root and debootstrap')
        root = self.folder / 'root'
        made = run('debootstrap', '--variant=minbase', 'bookworm', root, mirror())
        self.assertEqual(made.returncode, 0, made.stdout[-2000:] + made.stderr[-2000:])
        for name in ('apt.conf.d', 'auth.conf.d'):  # what this system's apt needs to reach its mirror
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
sed -i 's/hone.h/hone_compiler.h/' /a.c && gcc /a.c $(pkg-config --cflags --libs hone) -o /b && test "$(/b)" = x""")
        printed = inside("""python3 -c "
import hone, numpy as np
model = hone.compile('/m.onnx', bind={'batch': 2}, threads=1)
print(model(np.ones((2, 16), np.float32))[0, 0], hone.tune('dense(m=8,n=8,k=8)', trials=2, threads=1)['trials'])
" """)
        self.assertEqual(printed, '15.0 2\n')
        inside('apt-get remove -y --purge ' + ' '.join(self.NAMES))
        for deb in self.debs.values():
            for line in run('dpkg-deb', '-c', deb).stdout.splitlines():
                path = line.split()[5][2:]
                if not path.endswith('/') or 'hone' in path:
                    self.assertFalse((root / path).exists(), path)


if __name__ == '__main__':
    unittest.main()

#!/usr/bin/env python3
"""TensorFlow Lite's library on the cases of this folder, beside the answers that are kept of it. The library is Debian
sid's, in a chroot of its own: as root, with debootstrap and the network of apt, hence the label package.

  tensorflow_lite_test.py          compares
  tensorflow_lite_test.py --keep   keeps what the library gives now

HONE_TFLITE_ROOT=FOLDER: where the chroot is, or is made; without it one is made and removed."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent.parent.parent
sys.path.insert(0, str(ROOT / 'tests' / 'deploy'))
from hosts import mirror  # noqa: E402

TOOL = pathlib.Path(os.environ.get('HONE_BUILD_DIR', ROOT / 'build')) / 'bin' / 'tflite_answers'


def run(*words, **more):
    return subprocess.run([str(w) for w in words], capture_output=True, text=True, **more)


def done(*words):
    ran = run(*words)
    assert ran.returncode == 0, f'{words}\n{ran.stdout[-3000:]}{ran.stderr[-3000:]}'
    return ran.stdout


class Library:
    """The chroot, with the program that runs models there."""

    def __init__(self, root):
        self.root = pathlib.Path(root)
        if not (self.root / 'usr' / 'include' / 'tensorflow' / 'lite').exists():
            self.install()
        (self.root / 'work').mkdir(exist_ok=True)
        shutil.copy(HERE / 'tensorflow_lite.cc', self.root / 'work')
        self.inside('cd /work && g++ -std=c++17 -O1 tensorflow_lite.cc -o tensorflow_lite -ltensorflow-lite')

    def install(self):
        done('debootstrap', '--variant=minbase', 'sid', self.root, mirror())
        for name in ('apt.conf.d', 'auth.conf.d'):  # this system's way to its mirror
            if (pathlib.Path('/etc/apt') / name).is_dir():
                shutil.copytree(f'/etc/apt/{name}', self.root / 'etc' / 'apt' / name, dirs_exist_ok=True)
        self.inside('apt-get update && apt-get install -y --no-install-recommends libtensorflow-lite-dev g++')

    def inside(self, command):
        """With mounts that nobody else sees, and that go with the process."""
        script = ('for d in proc dev; do mount --rbind /$d "$0/$d"; done; exec chroot "$0" env -i '
                  'PATH=/usr/bin:/usr/sbin:/bin:/sbin HOME=/root DEBIAN_FRONTEND=noninteractive sh -c "$1"')
        return done('unshare', '--mount', 'sh', '-ec', script, self.root, command)

    def results(self):
        """The file of its answers to all cases."""
        done(TOOL, 'cases', self.root / 'work' / 'cases')
        print(self.inside('cd /work && ./tensorflow_lite cases results'), end='')
        return self.root / 'work' / 'results'


def missing():
    if os.geteuid() != 0 or not shutil.which('debootstrap'):
        return 'needs root and debootstrap'
    return '' if TOOL.exists() else f'{TOOL} is not built'


def with_results(use):
    given = os.environ.get('HONE_TFLITE_ROOT')
    if given:
        return use(Library(given).results())
    with tempfile.TemporaryDirectory(prefix='hone_tflite_') as folder:
        return use(Library(pathlib.Path(folder) / 'root').results())


class Answers(unittest.TestCase):
    def test_the_library_still_gives_what_is_kept(self):
        if missing():
            self.skipTest(missing())
        compared = with_results(lambda results: run(TOOL, 'compare', results))
        self.assertEqual(compared.returncode, 0, compared.stdout)


if __name__ == '__main__':
    if sys.argv[1:] == ['--keep']:
        if missing():
            sys.exit(missing())
        with_results(lambda results: done(TOOL, 'keep', results))
    else:
        unittest.main()

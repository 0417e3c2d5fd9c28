#!/usr/bin/env python3
"""One version: what CMake's project says is what programs and libraries say, and what pages and manifests name."""
import ctypes
import pathlib
import re
import subprocess
import tempfile
import unittest

from commands import BIN, BUILD, PROGRAMS, ROOT, run

VERSION = re.search(r'(?m)^project\(hone VERSION (\d+\.\d+\.\d+) ', (ROOT / 'CMakeLists.txt').read_text())[1]
# Files of a release and tags of images: hone-1.2.3-aarch64.tar.xz, hone_1.2.3_amd64.deb, hone-agent:1.2.3.
NAMED = re.compile(r'\b(?:lib)?hone(?:-[a-z]+)*[-_:](\d+\.\d+\.\d+)(?!\d)')
# Texts about older versions, which say so.
OLDER = ('CHANGELOG.md', 'docs/measured/')


def pages():
    """Pages and manifests that git tracks, or would; without git all but build folders."""
    patterns = ('*.md', '*.yaml')
    listed = subprocess.run(['git', 'ls-files', '--cached', '--others', '--exclude-standard', *patterns], cwd=ROOT,
                            capture_output=True, text=True).stdout.splitlines()
    found = [ROOT / name for name in listed] or [
        path for pattern in patterns for path in ROOT.rglob(pattern)
        if not re.match(r'build|.*node_modules/', str(path.relative_to(ROOT)))]
    return [path for path in found if path.is_file() and not str(path.relative_to(ROOT)).startswith(OLDER)]


def named(text):
    return NAMED.findall(text)


class Pages(unittest.TestCase):
    def test_name_this_version(self):
        count = 0
        for page in pages():
            versions = named(page.read_text())
            count += len(versions)
            self.assertEqual(set(versions) - {VERSION}, set(), page.relative_to(ROOT))
        self.assertGreater(count, 5, 'the pattern finds them')

    def test_that_name_another_are_found(self):
        self.assertEqual(named('tar -xf hone-0.5.1-aarch64.tar.xz; image: hone-agent:0.5.2; '
                               'libhone-dev_0.5.3_amd64.deb; hone-0.5.4.tar.gz; python3-hone_0.5.5_arm64.deb; '
                               'others-1.0.0'),
                         ['0.5.1', '0.5.2', '0.5.3', '0.5.4', '0.5.5'])

    def test_the_changelog_has_a_section_of_it(self):
        short = VERSION.removesuffix('.0')
        self.assertRegex((ROOT / 'CHANGELOG.md').read_text(), rf'(?m)^## {re.escape(short)}(\.0)?[,:] ')


class Programs(unittest.TestCase):
    def test_say_it(self):
        for program in PROGRAMS:
            said = run(BIN / program, '--version').stdout
            self.assertTrue(said.startswith(f'{program} {VERSION} (commit '), said)

    def test_libhone_says_it(self):
        library = ctypes.CDLL(str(BUILD / 'lib' / 'libhone.so'))
        library.hone_version.restype = ctypes.c_char_p
        self.assertEqual(library.hone_version().decode(), VERSION)

    def test_it_is_stored_with_what_is_built(self):
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder) / 'dense.c'
            built = run(BIN / 'tensorc', '--task', 'dense', '--args', 'm=4,n=8,k=16', '--emit', 'c', '-o', source)
            self.assertEqual(built.returncode, 0, built.stderr)
            self.assertIn(f'Hone {VERSION}', source.with_suffix('.h').read_text())


if __name__ == '__main__':
    unittest.main()

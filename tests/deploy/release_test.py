#!/usr/bin/env python3
"""deploy/release, on a small repository of its own: arguments, notes, checksums, signatures, the same bytes twice. And,
labelled package: all parts of this one made, installed and used."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE))
from hosts import run  # noqa: E402

CHANGELOG = """# Changelog

The newest comes first.

## 0.8, not released: later things

- Later.

## 0.7, 2026-12-01: things

### Added

- A thing, [said at length](docs/things.md), as [elsewhere](https://example.org/things).

## 0.6.1, 2026-11-30: older things

- An older thing.
"""


class Repository:
    """A work tree with deploy/release in it and a version."""

    def __init__(self, folder, version):
        self.top = folder
        (folder / 'deploy').mkdir(parents=True)
        for name in ('release', 'release-check'):
            shutil.copy(ROOT / 'deploy' / name, folder / 'deploy')
        (folder / 'cmake').mkdir()
        for name in ('.gitattributes', 'cmake/WriteCommit.cmake', 'cmake/archived_commit.txt'):
            shutil.copy(ROOT / name, folder / name)
        (folder / 'CHANGELOG.md').write_text(CHANGELOG)
        self.git('init', '-q', '.')
        self.set_version(version)

    def git(self, *words):
        done = run('git', '-c', 'user.name=a', '-c', 'user.email=a@b', *words, cwd=self.top,
                   env={**os.environ, 'GIT_COMMITTER_DATE': '2026-12-01T12:00:00Z'})
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def set_version(self, version):
        (self.top / 'CMakeLists.txt').write_text(f'project(hone VERSION {version} LANGUAGES C CXX)\n')
        self.git('add', '.')
        self.git('commit', '-qm', version)

    def release(self, *words):
        return run(self.top / 'deploy' / 'release', *words)


def key_pair(folder, algorithm='ed25519'):
    private, public = folder / f'{algorithm}.key', folder / f'{algorithm}.pub'
    for words in (['genpkey', '-algorithm', algorithm, '-out', private],
                  ['pkey', '-in', private, '-pubout', '-out', public]):
        made = run('openssl', *words)
        assert made.returncode == 0, made.stderr
    return private, public


class Release(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix='hone_release_')
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.private, cls.public = key_pair(cls.folder)

    def setUp(self):
        self.work = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        self.repository = Repository(self.work / 'repository', '0.7.0')
        self.out = self.work / 'out'

    def made(self, *words, out=None):
        done = self.repository.release('--parts', 'source', *words, out or self.out)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def check(self, *words):
        return self.repository.release('--check', '--parts', 'none', *words, self.out)

    def refused(self, said, *words):
        done = self.repository.release(*words)
        self.assertEqual((done.returncode, done.stdout), (1, ''), words)
        self.assertIn(said, done.stderr)

    def test_makes_source_notes_and_checksums(self):
        self.assertIn('nothing is signed', self.made())
        self.assertEqual(sorted(p.name for p in self.out.iterdir()),
                         ['NOTES.md', 'SHA256SUMS', 'hone-0.7.0-source.tar.xz'])
        unpacked = run('tar', '-C', self.work, '-xf', self.out / 'hone-0.7.0-source.tar.xz')
        self.assertEqual(unpacked.returncode, 0, unpacked.stderr)
        self.assertEqual((self.work / 'hone-0.7.0' / 'CHANGELOG.md').read_text(), CHANGELOG)
        self.assertFalse((self.work / 'hone-0.7.0' / '.git').exists())
        done = self.check()
        self.assertEqual((done.stdout, done.stderr),
                         ('checksums: 2 files are what SHA256SUMS says\nsignature: there is none\n', ''))

    def test_the_source_knows_its_commit(self):
        self.made()
        run('tar', '-C', self.work, '-xf', self.out / 'hone-0.7.0-source.tar.xz')
        for source, git, said in ((self.work / 'hone-0.7.0', '', self.repository.git('rev-parse', 'HEAD')[:7]),
                                  (self.repository.top, '', 'unknown')):
            file = self.work / 'commit.cc'
            written = run('cmake', f'-DOUTPUT={file}', f'-DSOURCE={source}', f'-DGIT={git}', '-P',
                          source / 'cmake' / 'WriteCommit.cmake')
            self.assertEqual(written.returncode, 0, written.stderr)
            self.assertIn(f'return "{said}";', file.read_text())

    def test_notes_are_the_section_of_the_version(self):
        self.made()
        notes = (self.out / 'NOTES.md').read_text()
        begin = ('# Hone 0.7, 2026-12-01: things\n\n### Added\n\n'
                 '- A thing, said at length (docs/things.md), as [elsewhere](https://example.org/things).\n\n'
                 '## Files\n')
        self.assertEqual(notes[:len(begin)], begin)
        for other in ('Later', 'older thing'):
            self.assertNotIn(other, notes)
        self.assertIn(self.repository.git('rev-parse', 'HEAD'), notes)
        self.assertIn('| hone-0.7.0-source.tar.xz | the source', notes)
        self.repository.set_version('0.6.1')
        self.made(out=self.work / 'patch')
        self.assertIn('- An older thing.\n', (self.work / 'patch' / 'NOTES.md').read_text())

    def test_a_draft_says_so_and_is_not_signed(self):
        self.repository.set_version('0.8.0')
        self.assertIn('this is a draft', self.made())
        self.assertIn('# Hone 0.8, not released: later things', (self.out / 'NOTES.md').read_text())
        self.refused('a draft is not signed', '--parts', 'source', '--key', self.private, self.work / 'signed')

    def test_is_the_same_twice_wherever_it_is_made(self):
        self.made('--key', self.private)
        elsewhere = self.work / 'elsewhere'
        self.repository.git('clone', '-q', '.', elsewhere)
        again = subprocess.run([elsewhere / 'deploy' / 'release', '--parts', 'source', '--key', self.private,
                                self.work / 'again'], capture_output=True, text=True, timeout=60,
                               env={**os.environ, 'TZ': 'Asia/Tokyo', 'LC_ALL': 'C.UTF-8', 'USER': 'other'})
        self.assertEqual(again.returncode, 0, again.stderr)
        names = sorted(p.name for p in self.out.iterdir())
        self.assertEqual(names, sorted(p.name for p in (self.work / 'again').iterdir()))
        for name in names:
            self.assertEqual((self.out / name).read_bytes(), (self.work / 'again' / name).read_bytes(), name)

    def test_a_signature_is_checked_with_the_public_key(self):
        self.assertIn('is signed', self.made('--key', self.private))
        self.assertIn('openssl pkeyutl -verify', (self.out / 'NOTES.md').read_text())
        self.assertIn('signed by that key', self.check('--key', self.public).stdout)
        self.assertIn('not looked at', self.check().stdout)

        other = pathlib.Path(tempfile.mkdtemp(dir=self.work))
        _, others = key_pair(other)
        refused = self.check('--key', others)
        self.assertEqual(refused.returncode, 1)
        self.assertIn('no signature of SHA256SUMS by the key', refused.stderr)

        signature = self.out / 'SHA256SUMS.sig'
        flipped = bytearray(signature.read_bytes())
        flipped[0] ^= 1
        signature.write_bytes(flipped)
        self.assertIn('no signature of SHA256SUMS', self.check('--key', self.public).stderr)
        signature.unlink()
        self.assertIn('nothing is signed', self.check('--key', self.public).stderr)

    def test_a_list_that_was_written_anew_is_not_what_was_signed(self):
        self.made('--key', self.private)
        (self.out / 'NOTES.md').write_text('other notes\n')
        sums = run('sha256sum', 'NOTES.md', 'hone-0.7.0-source.tar.xz', cwd=self.out).stdout
        (self.out / 'SHA256SUMS').write_text(sums)
        self.assertEqual(self.check().returncode, 0, 'checksums alone hold')
        self.assertIn('no signature of SHA256SUMS', self.check('--key', self.public).stderr)

    def test_a_changed_a_missing_and_an_additional_file_are_found(self):
        self.made()
        archive = self.out / 'hone-0.7.0-source.tar.xz'
        good = archive.read_bytes()
        archive.write_bytes(good[:-1] + bytes([good[-1] ^ 1]))
        self.assertIn('not what SHA256SUMS says', self.check().stderr)
        archive.unlink()
        self.assertIn('not what SHA256SUMS says', self.check().stderr)
        archive.write_bytes(good)
        self.assertEqual(self.check().returncode, 0)
        (self.out / 'hone-0.7.0-sourceXtar.xz').write_bytes(good)
        self.assertIn('hone-0.7.0-sourceXtar.xz is not in SHA256SUMS', self.check().stderr)

    def test_a_part_that_is_asked_for_must_be_there(self):
        self.made()
        for part in ('bundle', 'debs', 'wheel'):
            refused = self.repository.release('--check', '--parts', part, self.out)
            self.assertEqual(refused.returncode, 1, part)
            self.assertIn(f'there is no {part} for this machine', refused.stderr)

    def test_refuses_what_it_does_not_know(self):
        for said, words in (
                ('takes the folder', ['--parts', 'source']),
                ('takes one folder', [self.out, self.work]),
                ('not --sign', ['--sign', self.out]),
                ('--key needs a value', ['--key']),
                ('there is no part images: --parts takes bundle, debs, wheel, source',
                 ['--parts', 'source,images', self.out]),
                ('cannot read the key', ['--parts', 'source', '--key', self.work / 'none', self.out]),
                ('is no private Ed25519 key', ['--parts', 'source', '--key', self.public, self.out]),
                ('is no private Ed25519 key',
                 ['--parts', 'source', '--key', key_pair(self.work, 'x25519')[0], self.out]),
                ('has no SHA256SUMS', ['--check', self.work]),
                ('there is no part images', ['--check', '--parts', 'images', self.out])):
            self.refused(said, *words)

    def test_refuses_what_is_not_a_commit_of_a_version(self):
        self.made()
        self.refused('is not empty', '--parts', 'source', self.out)
        (self.repository.top / 'CHANGELOG.md').write_text('# Changelog\n')
        self.refused('not committed', '--parts', 'source', self.work / 'other')
        self.repository.set_version('0.7.0')
        self.refused('has no section of 0.7.0', '--parts', 'source', self.work / 'other')
        shutil.rmtree(self.repository.top / '.git')
        self.refused('is no work tree of git', '--parts', 'source', self.work / 'other')


class Parts(unittest.TestCase):
    """This repository's: as root, with debootstrap and the network of apt."""

    def release(self, *words):
        done = run(ROOT / 'deploy' / 'release', *words, timeout=1700)
        self.assertEqual(done.returncode, 0, done.stdout[-3000:] + done.stderr[-3000:])
        print(done.stdout)
        return done.stdout

    def test_are_made_twice_the_same_installed_and_used(self):
        if os.geteuid() != 0 or not shutil.which('debootstrap'):
            self.skipTest('needs root and debootstrap')
        if run('git', 'status', '--porcelain', '--untracked-files=no', cwd=ROOT).stdout.strip():
            self.skipTest('there are changes that are not committed')
        with tempfile.TemporaryDirectory(prefix='hone_release_') as folder:
            folder = pathlib.Path(folder)
            first, second = folder / 'first', folder / 'second'
            for out in (first, second):
                self.release('--parts', 'bundle,debs,wheel,source', out)
            names = sorted(p.name for p in first.iterdir())
            self.assertEqual(len(names), 10, names)  # bundle, 5 packages, wheel, source, notes, checksums
            self.assertEqual((first / 'SHA256SUMS').read_text(), (second / 'SHA256SUMS').read_text())
            said = self.release('--check', '--parts', 'bundle,debs,wheel', first)
            self.assertEqual(said.count('tunes, and builds'), 3, said)


if __name__ == '__main__':
    unittest.main()

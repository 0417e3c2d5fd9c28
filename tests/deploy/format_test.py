#!/usr/bin/env python3
"""The rules of deploy/format --check, on trees of a few files."""
import pathlib
import shutil
import tempfile
import unittest

from commands import DEPLOY, ROOT, run


def complaints(files):
    """The lines of `deploy/format --check` in a tree of these files, but for its last one."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / 'deploy').mkdir()
        shutil.copy(DEPLOY / 'format', root / 'deploy')
        shutil.copy(ROOT / '.clang-format', root)
        for name, text in {'formatted.cc': 'int a;\n', **files}.items():
            (root / name).write_text(text)
        result = run(root / 'deploy' / 'format', '--check')
        lines = result.stderr.splitlines()
        assert result.returncode == (1 if lines else 0), result
        return lines[:-1]


def unnamed(place, word):
    return f'{place}: a sentence begins with "{word}", not with its subject'


class Sentences(unittest.TestCase):
    def test_of_comments_begin_with_their_subject(self):
        self.assertEqual(
            complaints({
                'a.cc': '// Of each the first counts.\nint a = 0;  // fine. What was measured is kept.\n',
                'b.c': '/* A text; of\n   two lines. Of two, it is. */\nint b; /* What is there. */\n',
                'c.py': '"""What a module has.\n\nOf two paragraphs."""\n\n\ndef f():\n    return 1  # What it is\n',
                'd': '#!/bin/sh\n# What a script does: Of files nothing.\n',
            }), [
                unnamed('a.cc:1', 'Of'), unnamed('a.cc:2', 'What'), unnamed('b.c:2', 'Of'), unnamed('b.c:3', 'What'),
                unnamed('c.py:1', 'What'), unnamed('c.py:3', 'Of'), unnamed('c.py:7', 'What'),
                unnamed('d:2', 'What'), unnamed('d:2', 'Of'),
            ])

    def test_of_pages_begin_with_their_subject(self):
        self.assertEqual(
            complaints({'a.md': '# What it is\n\nA page. Of it\nall. **What is kept**: `x`\n\n- Of an item.\n\n'
                                '```\nOf code: What\n```\n\n| a | Of a cell |\n'}),
            [unnamed('a.md:1', 'What'), unnamed('a.md:3', 'Of'), unnamed('a.md:4', 'What'), unnamed('a.md:6', 'Of'),
             unnamed('a.md:12', 'Of')])

    def test_may_ask(self):
        self.assertEqual(
            complaints({'a.md': '# What is it?\n\nA page. What is\nit, then? It is a page.\n',
                        'a.cc': '// What is it? A comment\n// of two lines: What\n// is that?\n'}), [])
        self.assertEqual(complaints({'a.md': 'What it is. Is it?\n'}), [unnamed('a.md:1', 'What')])

    def test_are_not_those_of_programs(self):
        self.assertEqual(
            complaints({
                'a.cc': 'const char* a = "What // Of it";\nint Of(int What);\nint b = Of(1);\nusing c = Of::What;\n',
                'a.py': 'a = "What # Of it"\nb = \'# What\'\nc = What + Of\n',
                'a.sh': 'echo "== What it does"  # as `What it does`\n',
                'a.md': 'A page with `What it does`, and of what it does; "What it does".\n',
            }), [])


class Lines(unittest.TestCase):
    def test_are_short_and_end_in_words(self):
        self.assertEqual(
            complaints({'a.py': f'a = 1 \nb =\t2\n# {"word " * 30}end\n'}),
            ['a.py:1: ends in blanks', 'a.py:2: contains a tab', 'a.py:3: longer than 120 columns'])

    def test_of_code_are_formatted(self):
        self.assertIn('a.cc:1:', complaints({'a.cc': 'int  a;\n'})[0])


if __name__ == '__main__':
    unittest.main()

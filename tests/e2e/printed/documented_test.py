#!/usr/bin/env python3
"""Commands in the documentation and in the programs' sources name programs, commands and flags that exist. (Those of
docs/ that stand in blocks of `sh` are run, too: tests/e2e/python/pages_test.py.)"""

import re
import subprocess
import unittest

from commands import COMMANDS, ROOT, commands_in, what_is_wrong, words_of

BLOCK = re.compile(r"^ *```(?!python|c\b|cpp|cmake|toml|json|yaml)[a-z]*\n(.*?)^ *```$", re.M | re.S)
INLINE = re.compile(r"(?<!`)`([^`\n]+(?:\n[^`\n]+)?)`(?!`)")
LITERALS = re.compile(r'"(?:[^"\\\n]|\\.)*"(?:\s*"(?:[^"\\\n]|\\.)*")*')
BEFORE = r"^\s*(?:\$ )?(?:sudo )?(?:[A-Z_]+=\S+ )*(?:\./)?(?:\S*/bin/)?"


def files(*patterns):
    listed = subprocess.run(["git", "ls-files", *patterns], cwd=ROOT, capture_output=True, text=True).stdout.split()
    found = [ROOT / name for name in listed] or [path for p in patterns for path in ROOT.rglob(p)]
    return [path for path in found if "node_modules" not in path.parts and "build" not in path.relative_to(ROOT).parts]


def documented(text):
    """The commands of a page, each on one line: of blocks those that begin a line, else those in backticks."""
    program = re.compile(rf"{BEFORE}({'|'.join(COMMANDS)}) +(?=[^ ])")
    for block in BLOCK.findall(text):
        for line in block.replace("\\\n", " ").splitlines():
            if (found := program.match(line)) and "─▶" not in line:  # which is a picture
                yield line[found.start(1) :]
    for inline in INLINE.findall(BLOCK.sub("", text)):
        yield from commands_in("`" + " ".join(inline.split()) + "`")


def literals(text):
    for found in LITERALS.finditer(text):
        yield re.sub(r'"\s*"', "", found[0])[1:-1].replace('\\"', '"').replace("\\n", "\n")


class Documented(unittest.TestCase):
    def check(self, commands):
        wrong, checked = [], 0
        for where, command in commands:
            checked += 1
            if why := what_is_wrong(words_of(command)):
                wrong.append(f"{where.relative_to(ROOT)}: {why}: {command}")
        self.assertEqual(wrong, [])
        return checked

    def test_of_pages(self):
        # The changelog shows commands of the past.
        pages = [p for p in files("*.md") if p.name != "CHANGELOG.md"]
        self.assertGreater(self.check((p, c) for p in pages for c in documented(p.read_text())), 100)

    def test_of_sources(self):
        sources = [p for p in files("*.cc", "*.h") if p.relative_to(ROOT).parts[0] != "tests"]
        self.assertGreater(
            self.check((p, c) for p in sources for text in literals(p.read_text()) for c in commands_in(text)), 30
        )

    def test_of_scripts(self):
        scripts = [p for p in files("deploy/*", "tuner/api/python/*.py") if p.suffix not in (".md", ".txt")]
        self.assertGreater(
            self.check((p, c) for p in scripts for m in INLINE.findall(p.read_text()) for c in commands_in(f"`{m}`")), 3
        )

    def test_what_is_gone_is_seen(self):
        page = ("```\ntensorc m.onnx --gone 1   # why\nbuild/bin/tracker halt\n```\n"
                "and `tuner m.onnx\n--never`, `tophub list`\n")
        self.assertEqual(
            [what_is_wrong(words_of(c)) for c in documented(page)],
            ["tensorc has no --gone", "tracker has no command halt", "tuner has no --never", ""],
        )


if __name__ == "__main__":
    unittest.main()

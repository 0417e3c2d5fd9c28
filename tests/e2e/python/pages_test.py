"""The Python of docs/: each page's blocks run in order, and print what stands behind them."""

import contextlib
import io
import os
import re
import unittest

import small_onnx
from support import Case

DOCS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "docs")
BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:```text\n(.*?)^```\n)?", re.M | re.S)


class Pages(Case):
    def setUp(self):
        super().setUp()
        before = os.getcwd()
        os.chdir(self.folder)
        self.addCleanup(os.chdir, before)
        with open("model.onnx", "wb") as f:
            f.write(small_onnx.perceptron())

    def text(self, name):
        with open(os.path.join(DOCS, name), encoding="utf-8") as f:
            return f.read()

    def run_page(self, name):
        page = self.text(name)
        blocks = list(BLOCK.finditer(page))
        self.assertGreater(len(blocks), 0)
        names = {"__name__": "page"}
        for block in blocks:
            code, expected = block.groups()
            line = page[: block.start()].count("\n") + 2
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile("\n" * (line - 1) + code, name, "exec"), names)
            self.assertEqual(printed.getvalue(), expected or "", f"{name}:{line}")

    def test_pages(self):
        pages = [n for n in sorted(os.listdir(DOCS)) if n.endswith(".md")]
        with_python = [n for n in pages if "```python" in self.text(n)]
        self.assertGreaterEqual(set(with_python), {"python.md", "schedules.md"})
        for name in with_python:
            with self.subTest(name):
                self.run_page(name)


if __name__ == "__main__":
    unittest.main()

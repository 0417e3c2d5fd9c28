"""The pages of docs/: Python and shell blocks run in order, and print what stands behind them."""

import contextlib
import io
import os
import re
import subprocess
import unittest

import small_onnx
from support import Case

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", ".."))
DOCS = os.path.join(ROOT, "docs")
BLOCK = re.compile(r"^```(python|sh)\n(.*?)^```\n\n?(?:```text\n(.*?)^```\n)?", re.M | re.S)


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
            language, code, expected = block.groups()
            line = page[: block.start()].count("\n") + 2
            printed = self.run_python(names, name, line, code) if language == "python" else self.run_shell(code)
            if language == "python" or expected:
                self.assertEqual(printed, expected or "", f"{name}:{line}")

    def run_python(self, names, name, line, code):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile("\n" * (line - 1) + code, name, "exec"), names)
        return printed.getvalue()

    def run_shell(self, code):
        path = os.path.join(os.environ["HONE_BUILD"], "bin") + ":" + os.environ["PATH"]
        env = {**os.environ, "HONE": ROOT, "PATH": path}
        code = code.replace('"$HONE/build"', '"$HONE_BUILD"')
        words = ["bash", "-euo", "pipefail", "-c", code]
        ran = subprocess.run(words, capture_output=True, text=True, env=env, check=False)
        self.assertEqual(ran.returncode, 0, f"{code}\n{ran.stdout}{ran.stderr}")
        return ran.stdout

    def test_pages(self):
        for name in sorted(n for n in os.listdir(DOCS) if n.endswith(".md")):
            if not BLOCK.search(self.text(name)):
                self.assertNotIn(name, {"python.md", "schedules.md", "ship.md", "slow-layer.md", "tutorial.md"})
                continue
            with self.subTest(name):
                self.setUp()  # a folder of its own
                self.run_page(name)

    def test_links_lead_somewhere(self):
        for name in (n for n in os.listdir(DOCS) if n.endswith(".md")):
            for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", self.text(name)):
                if not target.startswith("http"):
                    self.assertTrue(os.path.exists(os.path.join(DOCS, target)), f"{name}: {target}")


if __name__ == "__main__":
    unittest.main()

"""The pages of docs/: Python and shell blocks run in order, and print what stands behind them."""

import contextlib
import io
import os
import random
import re
import signal
import socket
import subprocess
import tempfile
import unittest

import small_onnx
from support import Case

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", ".."))
DOCS = os.path.join(ROOT, "docs")
WITH_BLOCKS = {"fleet.md", "python.md", "schedules.md", "ship.md", "slow-layer.md", "tutorial.md"}
BLOCK = re.compile(r"^```(python|sh)\n(.*?)^```\n\n?(?:```text\n(.*?)^```\n)?", re.M | re.S)


def two_free_ports():
    """A port that is free now, and so is the next: below those that systems give away."""
    while True:
        port = random.randrange(20000, 32000, 2)
        with socket.socket() as first, socket.socket() as second, contextlib.suppress(OSError):
            first.bind(("127.0.0.1", port))
            second.bind(("127.0.0.1", port + 1))
            return port


class Shell:
    """One bash for the blocks of a page, as its readers have: variables and what runs behind stay between blocks."""

    END = "-- the block has ended --"

    def __enter__(self):
        path = os.path.join(os.environ["HONE_BUILD"], "bin") + ":" + os.environ["PATH"]
        env = {**os.environ, "HONE": ROOT, "PATH": path, "PORT": str(two_free_ports())}
        self.stderr = tempfile.TemporaryFile("w+")
        self.bash = subprocess.Popen(
            ["bash", "-euo", "pipefail"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.stderr, text=True,
            env=env, start_new_session=True,
        )
        return self

    def run(self, code):
        """Whether every command of the block went well, and what it printed."""
        with tempfile.NamedTemporaryFile("w", suffix=".sh") as block:
            block.write(code)
            block.flush()
            self.bash.stdin.write(f". {block.name} </dev/null\necho '{self.END}'\n")
            self.bash.stdin.flush()
            printed = ""
            for line in self.bash.stdout:
                if line.endswith(self.END + "\n"):
                    return True, printed + line[: -len(self.END) - 1]
                printed += line
            return False, printed

    def errors(self):
        self.stderr.seek(0)
        return self.stderr.read()

    def left(self):
        """The command lines of processes that run still."""
        ended, printed = self.run("jobs -r")
        return printed.splitlines() if ended else ["bash has ended"]

    def __exit__(self, *exception):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.bash.pid, signal.SIGKILL)
        self.bash.stdin.close()
        self.bash.stdout.close()
        self.bash.wait()
        self.stderr.close()


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
        with Shell() as shell:
            for block in blocks:
                language, code, expected = block.groups()
                line = page[: block.start()].count("\n") + 2
                is_python = language == "python"
                printed = self.run_python(names, name, line, code) if is_python else self.run_shell(shell, code)
                if is_python or expected:
                    self.assertEqual(printed, expected or "", f"{name}:{line}")
            self.assertEqual(shell.left(), [], f"{name}: what it starts it ends")

    def run_python(self, names, name, line, code):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile("\n" * (line - 1) + code, name, "exec"), names)
        return printed.getvalue()

    def run_shell(self, shell, code):
        ended, printed = shell.run(code.replace('"$HONE/build"', '"$HONE_BUILD"'))
        self.assertTrue(ended, f"{code}\n{printed}{shell.errors()}")
        return printed

    def test_pages(self):
        for name in sorted(n for n in os.listdir(DOCS) if n.endswith(".md")):
            if not BLOCK.search(self.text(name)):
                self.assertNotIn(name, WITH_BLOCKS)
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

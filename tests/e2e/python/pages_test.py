"""The pages of docs/: Python and shell blocks run in order, and print what stands behind them."""

import contextlib
import io
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import unittest

import numpy as np
import small_onnx
import stand_ins
from support import Case

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", ".."))
DOCS = os.path.join(ROOT, "docs")
WITH_BLOCKS = {
    "coming-from.md", "fleet.md", "operators.md", "passes.md", "picture.md", "python.md", "schedules.md", "ship.md",
    "slow-layer.md",
    "templates.md", "tutorial.md",
}
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
        self.write("model.onnx", small_onnx.perceptron())
        self.write("silu.onnx", small_onnx.silu())
        self.write("blazeface.onnx", stand_ins.blazeface())
        self.write("own.onnx", stand_ins.own_operators())
        self.write("ch_PP-OCRv4_rec_infer.onnx", stand_ins.recogniser())
        self.write("ppocr_keys_v1.txt", "\n".join(stand_ins.LETTERS).encode())
        line = stand_ins.line_of("HONE 2026")
        self.write("line.ppm", b"P6\n# of bars\n%d %d\n255\n" % line.shape[1::-1] + line.tobytes())
        published = os.environ.get("HONE_PAGE_MODELS")
        if published:
            shutil.copytree(published, ".", dirs_exist_ok=True)

    def write(self, name, content):
        with open(name, "wb") as f:
            f.write(content)

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
        return names

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
                names = self.run_page(name)
                if name == "picture.md":
                    self.check_picture(names)

    def check_picture(self, names):
        """Each face that the page drew has its box, and the box its frame."""
        overlap, faces = names["overlap"], names["faces"]
        for x, y, radius in names["DRAWN"]:
            drawn = np.array([x - 0.8 * radius, y - 1.03 * radius, x + 0.8 * radius, y + 1.13 * radius])
            self.assertEqual([overlap(face, drawn) > 0.5 for face in faces].count(True), 1, f"{faces} on {drawn}")
        found = names["read_ppm"]("found_by_c.ppm")
        for x0, y0, x1, y1 in faces.astype(int):
            for at in [(y0, x0), (y0, x1 - 1), (y1 - 1, x0), (y1 - 1, x1 - 1)]:
                self.assertEqual(tuple(found[at]), (0, 255, 0))


if __name__ == "__main__":
    unittest.main()

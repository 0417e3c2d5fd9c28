"""Artifacts of one model beside each other: built, and timed in turns."""

import os
import pathlib
import shlex
import subprocess
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[3]
BIN = pathlib.Path(os.environ.get("HONE_BIN_DIR", ROOT / "build" / "bin"))


class Case:
    """A model and the flags that tensorc and tuner need for it, as one command line has them: `m.onnx --shape x=1x8`.

    `home`: a folder that stands for the user's, so that no tophub of theirs is read or written.
    """

    def __init__(self, text, threads, home):
        self.model, *self.flags = shlex.split(text)
        self.flags += ["--threads", str(threads)]
        self.name = pathlib.Path(self.model).stem
        self._environment = {**os.environ, "HOME": str(home), "XDG_DATA_HOME": str(home)}
        self._environment.pop("HONE_DB", None)

    def build(self, out, db=None):
        """Builds `out` with what the tophub `db` has, where one is given, and the shipped package."""
        words = [BIN / "tensorc", self.model, *self.flags, "-o", out] + (["--db", db] if db else [])
        subprocess.run(words, env=self._environment, check=True, capture_output=True)
        return out

    def tune(self, db, seconds):
        """`tuner --seconds`; what it printed, and how long it took."""
        words = [BIN / "tuner", self.model, *self.flags, "--seconds", f"{seconds:g}", "--db", db]
        start = time.monotonic()
        ran = subprocess.run(words, env=self._environment, capture_output=True, text=True)
        # Too short a time to measure anything: only the state from before is known then.
        is_too_short = ran.returncode == 4 and "time is up" in ran.stderr
        if ran.returncode != 0 and not is_too_short:
            raise RuntimeError(f"{shlex.join(map(str, words))}: exit code {ran.returncode}\n{ran.stderr[-2000:]}")
        return ran.stdout + ran.stderr, time.monotonic() - start


def in_turns(paths, seconds):
    """Nanoseconds of a call, [artifact, turn]: turn by turn each runs once, for so many seconds in all."""
    ran = subprocess.run([BIN / "bench_turns", f"{seconds:g}", *paths], check=True, capture_output=True, text=True)
    return np.array([[float(n) for n in line.split()] for line in ran.stdout.splitlines()]).T

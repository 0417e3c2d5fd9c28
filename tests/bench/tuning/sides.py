"""Artifacts of one model beside each other: built, and timed in turns."""

import os
import pathlib
import shlex
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[3]
BIN = pathlib.Path(os.environ.get("HONE_BIN_DIR", ROOT / "build" / "bin"))
sys.path.insert(0, os.environ.get("HONE_PYTHON_DIR", str(ROOT / "build" / "python")))

import hone  # noqa: E402
import numpy as np  # noqa: E402

TURN = 0.02  # seconds that each artifact runs in a turn, or one call


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
        # Too short a time to measure anything: nothing is known then but what was before.
        is_too_short = ran.returncode == 4 and "time is up" in ran.stderr
        if ran.returncode != 0 and not is_too_short:
            raise RuntimeError(f"{shlex.join(map(str, words))}: exit code {ran.returncode}\n{ran.stderr[-2000:]}")
        return ran.stdout + ran.stderr, time.monotonic() - start


def inputs_of(model):
    """Seeded numbers; ones where an input is not of floats, which may be an index."""
    rng = np.random.default_rng(1)
    return [rng.standard_normal(i.shape).astype(i.dtype) if np.dtype(i.dtype).kind == "f" else np.ones(i.shape, i.dtype)
            for i in model.inputs]


def in_turns(paths, seconds):
    """Seconds of a call, [artifact, turn]: turn by turn each runs once, for so many seconds in all."""
    models = [hone.open(path) for path in paths]
    inputs = inputs_of(models[0])
    for model in models:
        model(*inputs)
    start = time.perf_counter()
    models[0](*inputs)
    calls = max(1, int(TURN / (time.perf_counter() - start)))
    turns = []
    end = time.monotonic() + seconds
    while time.monotonic() < end or len(turns) < 9:
        turn = []
        for model in models:
            start = time.perf_counter()
            for _ in range(calls):
                model(*inputs)
            turn.append((time.perf_counter() - start) / calls)
        turns.append(turn)
    return np.array(turns).T

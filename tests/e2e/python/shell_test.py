"""python3 -m hone: tensorc and tuner with operators and passes that are Python."""

import json
import subprocess
import sys
import unittest

import hone
import numpy as np
import small_onnx as onnx
import stand_ins
from hone.passes import passes_of
from support import Case, sample

PASSES = """
import hone
from hone.graph import pattern

@hone.graph_pass
def use_silu(g):
    x = pattern.value("x")
    for m in g.matches(pattern.function("mul", x, pattern.function("sigmoid", x))):
        g.replace(m.value, g.function("silu", m["x"]))
"""


OPERATORS = """
import hone
from hone import te

@hone.op("my.domain::SquaredRelo")
def squared_relu(x):
    return te.compute(x.shape, lambda *i: te.relu(x[i]) * te.relu(x[i]))
"""


class Shell(Case):
    """python3 -m hone"""

    def setUp(self):
        super().setUp()
        with open(self.path("m.onnx"), "wb") as f:
            f.write(onnx.silu())
        with open(self.path("own.py"), "w") as f:
            f.write(PASSES)

    def run_it(self, *words):
        return subprocess.run(
            [sys.executable, "-m", "hone", *words], capture_output=True, text=True, cwd=self.folder, timeout=300
        )

    def test_a_graph_is_printed(self):
        ran = self.run_it("compile", "m.onnx", "--passes", "own.py", "--emit", "graph:after=use_silu")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn("op=silu", ran.stdout)
        own = passes_of(self.path("own.py"))
        self.assertEqual(ran.stdout, hone.emit(self.path("m.onnx"), "graph:after=use_silu", passes=own))

    def test_a_model_is_built(self):
        ran = self.run_it("compile", "m.onnx", "-o", "own.so", "--passes=own.py", "--bind", "batch=3", "--check")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertEqual(ran.stdout, "")
        self.assertIn("check: graph pass 'use_silu' changes nothing", ran.stderr)
        model = hone.open(self.path("own.so"))
        x = sample(3)
        h = x @ np.array(onnx.SILU_WEIGHTS, np.float32).reshape(16, 8)
        np.testing.assert_allclose(model(x), h / (1 + np.exp(-h)), rtol=1e-5, atol=1e-6)

    def test_it_is_tuned(self):
        ran = self.run_it("tune", "m.onnx", "--passes", "own.py", "--trials", "4", "--threads", "1")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn("epilogue=silu", json.loads(ran.stdout)["tasks"][0]["workload"])

    def test_what_is_wrong_is_one_line(self):
        with open(self.path("none.py"), "w") as f:
            f.write("x = 1\n")
        for words, text in (
            (("compile", "m.onnx", "--passes", "other.py"), "--passes other.py: there is no such file"),
            (("compile", "m.onnx", "--passes", "none.py"), "none.py defines no graph pass"),
            (("compile", "m.onnx", "--passes"), "--passes takes a value"),
            (("compile",), "the model's path follows the command"),
            (("nothing",), "there is no command 'nothing'; there are compile, tune"),
            (("compile", "other.onnx"), "other.onnx"),
            (("compile", "m.onnx", "--nothing"), "--nothing"),
        ):
            ran = self.run_it(*words)
            self.assertEqual((ran.returncode, ran.stdout), (2, ""), words)
            self.assertIn(text, ran.stderr)
            self.assertEqual(ran.stderr.count("\n"), 1, ran.stderr)
        self.assertEqual(self.run_it("--help").returncode, 0)
        self.assertIn("--passes FILE.py", self.run_it("--help").stdout)
        self.assertEqual(self.run_it().returncode, 2)

    def test_errors_name_flags(self):
        with open(self.path("own.onnx"), "wb") as f:
            f.write(stand_ins.own_operators())
        with open(self.path("ops.py"), "w") as f:
            f.write(OPERATORS)
        ran = self.run_it("compile", "own.onnx")
        self.assertEqual(ran.returncode, 2)
        self.assertIn("--operators FILE may define my.domain::SquaredRelu", ran.stderr)
        ran = self.run_it("compile", "own.onnx", "--operators", "ops.py")
        self.assertIn("did you mean my.domain::SquaredRelo?", ran.stderr)

    def test_exceptions_show_the_users_lines_alone(self):
        with open(self.path("bad.py"), "w") as f:
            f.write(PASSES + "\n\nraise ValueError('of the file')\n")
        ran = self.run_it("compile", "m.onnx", "--passes", "bad.py")
        self.assertEqual(ran.returncode, 2)
        self.assertIn("hone: ValueError: of the file", ran.stderr)
        self.assertIn("bad.py", ran.stderr)
        self.assertNotIn("scripts.py", ran.stderr)

    def test_files_may_have_classes(self):
        with open(self.path("classes.py"), "w") as f:
            f.write("from __future__ import annotations\nfrom dataclasses import dataclass\n" + PASSES
                    + "\n\n@dataclass\nclass Limits:\n    least: float = 0\n")
        ran = self.run_it("compile", "m.onnx", "--passes", "classes.py", "--emit", "graph:after=use_silu")
        self.assertEqual(ran.returncode, 0, ran.stderr)


if __name__ == "__main__":
    unittest.main()

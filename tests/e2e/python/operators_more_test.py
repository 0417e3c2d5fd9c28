"""Users' operators: numbers of 16 bits, positions that are floats, files' names, and what arguments may be."""

import os
import pathlib
import subprocess
import sys
import unittest

import hone
import numpy as np
from hone import te
from hone.graph import pattern
from operators_test import one_node, prefix, sample
from small_onnx import FLOAT, model, node, own_node, value
from support import Case

BIN = os.path.join(os.environ["HONE_BUILD"], "bin")


def run(folder, *words):
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=300)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


class SixteenBits(Case):
    """Functions of several steps compute in f32 and round once."""

    FUNCTIONS = {
        "mish": lambda x: x * np.tanh(np.log1p(np.exp(x))),
        "silu": lambda x: x * sigmoid(x),
        "sigmoid": sigmoid,
        "softplus": lambda x: np.log1p(np.exp(x)),
        "gelu_tanh": lambda x: 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
        "hard_swish": lambda x: x * np.clip(x / 6 + 0.5, 0, 1),
        "sinh": np.sinh,
        "atan": np.arctan,
        "tanh": np.tanh,
        "asinh": np.arcsinh,
        "selu": lambda x: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * (np.exp(x) - 1)),
        "elu": lambda x: np.where(x > 0, x, 0.1 * (np.exp(x) - 1)),
    }

    def test_functions_round_once(self):
        # A kernel of its own: each element depends on a position.
        x = np.linspace(-11, 11, 640).astype(np.float16)
        for name, of in self.FUNCTIONS.items():
            more = (0.1,) if name == "elu" else ()
            X = te.placeholder((640,), name="X", dtype="float16")
            f = getattr(te, name)
            Y = te.compute((640,), lambda i: f(X[639 - i], *more), name="Y")
            got = hone.build(te.Schedule(Y, inputs=[X]), threads=1)(x)
            self.assertEqual(got.dtype, np.float16)
            wanted = of(x[::-1].astype(np.float64))
            half_unit = np.maximum(np.abs(wanted) * 2.0**-11, 2.0**-25)
            worst = np.max((np.abs(got - wanted) - 2.0**-24) / half_unit)  # f32 rounds numbers around 1 by that
            self.assertLessEqual(worst, 1.05, f"{name}: {worst} half units in the last place")

    def test_in_models_they_are_functions_of_hone(self):
        @hone.op("my::Mish")
        def mish(x):
            return te.compute(x.shape, lambda *i: te.mish(x[i]), name="mish")

        @hone.op("my::Turned")
        def turned(x):
            rows, n = x.shape
            return te.compute((rows, n), lambda i, j: te.mish(x[i, n - 1 - j]), name="turned")

        x = np.linspace(-11, 11, 24).astype(np.float16).reshape(4, 6)
        wanted = self.FUNCTIONS["mish"](x.astype(np.float64))
        for op, result in ((mish, wanted), (turned, wanted[:, ::-1])):
            m = model(
                [own_node("my", op.name[4:], ["x"], ["y"])], [value("x", 10, [4, 6])], [value("y", 10, [4, 6])])
            built = hone.compile(m, operators=op, threads=1, check=True)
            np.testing.assert_allclose(built(x), result, rtol=1e-3, atol=1e-6)
        self.assertIn("op=mish,", hone.emit(
            model([own_node("my", "Mish", ["x"], ["y"])], [value("x", 10, [4, 6])], [value("y", 10, [4, 6])]),
            operators=[mish]))

    def test_plain_arithmetic_rounds_each_time(self):
        X = te.placeholder((8,), name="X", dtype="float16")
        Y = te.compute((8,), lambda i: X[7 - i] * X[7 - i] * X[7 - i], name="Y")
        x = np.linspace(0.1, 1.3, 8).astype(np.float16)
        np.testing.assert_array_equal(hone.build(te.Schedule(Y, inputs=[X]), threads=1)(x), (x * x * x)[::-1])


class Positions(Case):
    def test_may_be_floats(self):
        @hone.op("my::Take")
        def take(x, at):
            (n,), (m,) = x.shape, at.shape
            return te.compute(
                (m,), lambda i: x[te.minimum(te.maximum(at[i].astype("int64"), 0), n - 1)], name="taken")

        m = model(
            [own_node("my", "Take", ["x", "at"], ["y"])], [value("x", FLOAT, [9]), value("at", FLOAT, [5])],
            [value("y", FLOAT, [5])])
        built = hone.compile(m, operators=[take], threads=1, check=True)
        x, at = np.arange(9, dtype=np.float32) * 1.5, np.array([3, 0, 8, 20, -4], np.float32)
        np.testing.assert_array_equal(built(x, at), x[np.clip(at.astype(int), 0, 8)])


class Results(Case):
    def test_may_be_one_tensor_twice(self):
        @hone.op("my::Prefix")
        def twice(x):
            k = te.reduce_axis(x.shape[1], "k")
            sums = te.compute(
                x.shape, lambda i, j: te.sum(te.where(k <= j, x[i, k], 0.0), axis=k), name="sums")
            return sums, sums

        m = model(
            [own_node("my", "Prefix", ["x"], ["y", "z"])], [value("x", FLOAT, [4, 6])],
            [value("y", FLOAT, [4, 6]), value("z", FLOAT, [4, 6])])
        x = sample(4, 6)
        y, z = hone.compile(m, operators=[twice], threads=1, check=True)(x)
        np.testing.assert_allclose(y, np.cumsum(x, axis=1), rtol=1e-5, atol=1e-5)
        np.testing.assert_array_equal(y, z)


class Names(Case):
    def test_of_headers_are_those_of_files(self):
        X = te.placeholder((8,), name="X")
        kernel = hone.build(te.Schedule(te.compute((8,), lambda i: X[i] * 2.0, name="Y")), threads=1)
        path = self.path("a b.c")
        hone.save_kernels(path, {"doubled": kernel})
        kernel.save(self.path("c-d.c"))
        with open(self.path("m.onnx"), "wb") as f:
            f.write(model([node("Relu", ["x"], ["y"])], [value("x", FLOAT, [4])], [value("y", FLOAT, [4])]))
        ran = run(self.folder, f"{BIN}/tensorc", "m.onnx", "--emit", "c", "-o", "e f.c", "--threads=1")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        for name in ("a b", "c-d", "e f"):
            with open(self.path(name + ".c")) as f:
                self.assertIn(f'\n#include "{name}.h"\n', f.read())
            self.assertTrue(os.path.exists(self.path(name + ".h")))
        with open(path) as f:
            self.assertIn("-c 'a b.c'\n", f.read())
        with self.assertRaisesRegex(hone.BadInput, "cannot include"):
            hone.save_kernels(self.path('a"b.c'), {"doubled": kernel})

    def test_in_patterns_must_be_there(self):
        with self.assertRaisesRegex(hone.BadInput, "there is no function 'sigmod'; near it: sigmoid"):
            pattern.function("sigmod", pattern.value())
        with self.assertRaisesRegex(hone.BadInput, "there is no operator 'conv2'; near it: conv2d"):
            pattern.op("conv2")
        with self.assertRaisesRegex(hone.BadInput, "there is no attribute of dense 'epilog'; there are .*epilogue"):
            pattern.op("dense", epilog="relu")
        for ops in ((), 7):
            with self.assertRaisesRegex(TypeError, "op: .* is no name of an operator"):
                pattern.op(ops)
        for chain in ("mul", "mul[0.5]+tanh", "x=s+sigmoid+mul[s]", "cast:f16"):
            pattern.function(chain, pattern.value())
        pattern.op(("dense", "conv2d"), groups="1")
        pattern.op("op", def_="x")

    def test_of_values_that_are_not_there_say_which_are(self):
        seen = []

        @hone.graph_pass
        def looks(g):
            for look in (lambda: g.value("xx"), lambda: next(
                    g.matches(pattern.op("elementwise", pattern.value("data"))))["dat"]):
                try:
                    look()
                except KeyError as e:
                    seen.append(str(e))

        m = model([node("Relu", ["x"], ["y"])], [value("x", FLOAT, [4])], [value("y", FLOAT, [4])])
        hone.emit(m, passes=looks)
        self.assertIn("there is no value 'xx'; there are x, y", seen[0])
        self.assertIn("no part of the match is called 'dat'; there are data", seen[1])


class OfTensorFlowLite(Case):
    MODEL = str(pathlib.Path(__file__).resolve().parents[2] / "data" / "pets.tflite")

    @staticmethod
    def convolution(factor):
        @hone.op("my::Convolution")
        def convolution(x, w, b):
            (n, height, width, c), (o, kh, kw, _) = x.shape, w.shape
            dy, dx, k = te.reduce_axis(kh), te.reduce_axis(kw), te.reduce_axis(c)
            shape = (n, height - kh + 1, width - kw + 1, o)
            sums = te.compute(
                shape, lambda i, y, x_, m: te.sum(x[i, y + dy, x_ + dx, k] * w[m, dy, dx, k], axis=[dy, dx, k]))
            return te.compute(shape, lambda i, y, x_, m: sums[i, y, x_, m] * factor + b[m], name="y")

        return convolution

    def test_nodes_are_replaced(self):
        x = sample(1, 8, 8, 3)
        plain = hone.compile(self.MODEL, threads=1)
        for name in ("pixel", "pix*", "tflite::CONV_2D"):
            built = hone.compile(self.MODEL, replace={name: self.convolution(1.0)}, threads=1, check=True)
            np.testing.assert_allclose(built(x), plain(x), rtol=1e-5, atol=1e-6)
        for name, text in (("pixel", "node 'pixel' is not replaced by my::Convolution: it computes something else"),
                           ("tflite::RELU", "has no such node")):
            with self.assertRaisesRegex(hone.BadInput, text):
                hone.compile(self.MODEL, replace={name: self.convolution(1.01)}, threads=1)


class Arguments(Case):
    def test_are_named_in_errors(self):
        m = one_node()
        for text, options in (
            (r"replace: \[.*\] is no dict", {"replace": [prefix]}),
            ("operators: True is no list of operators", {"operators": True}),
            ("operators: <function .*a function: @hone.op", {"operators": lambda x: x}),
            ("passes: 7 is no list of graph passes", {"passes": 7}),
            ("passes: a graph pass is a function, not 'x'", {"passes": ["x"]}),
            (r"replace\['Neg_y'\]: 3 is no operator", {"replace": {"Neg_y": 3}}),
        ):
            with self.assertRaisesRegex(TypeError, text):
                hone.compile(m, **options)
        with self.assertRaisesRegex(TypeError, "kernels: a list is no dict"):
            hone.save_kernels(self.path("k.so"), [])
        X = te.placeholder((8,), name="X")
        with self.assertRaisesRegex(TypeError, "axis: 1 is no axis of a reduction: reduce_axis"):
            te.compute((1,), lambda i: te.sum(X[i], axis=1))
        with self.assertRaisesRegex(ValueError, "compute 'y': an extent of -1"):
            te.compute((-1,), lambda i: X[i], name="y")
        with self.assertRaisesRegex(TypeError, "shape: None is no shape"):
            te.placeholder(None)

    def test_of_other_artifacts_are_refused(self):
        with self.assertRaisesRegex(ValueError, "flags: --emit operators: compile.. makes a shared object"):
            hone.compile(one_node(), operators=[prefix], flags=["--emit=operators"])
        with self.assertRaisesRegex(TypeError, "flags: '--check' is no list of words"):
            hone.compile(one_node(), operators=[prefix], flags="--check")
        with self.assertRaisesRegex(TypeError, "flags: 1 is no word"):
            hone.compile(one_node(), operators=[prefix], flags=[1])
        with self.assertRaisesRegex(ValueError, "'graph:after=' is no graph"):
            hone.emit(one_node(), "graph:after=", operators=[prefix])

    def test_one_pass_may_stand_alone(self):
        def nothing(g):
            seen.append(g.name)

        seen = []
        m = model([node("Relu", ["x"], ["y"])], [value("x", FLOAT, [4])], [value("y", FLOAT, [4])])
        hone.emit(m, passes=nothing)
        self.assertTrue(seen)


class Shell(Case):
    def test_refuses_operators_without_a_model(self):
        hone.save_operators(self.path("ops.txt"), [prefix], one_node())
        for words in (["tensorc", "--workload", "dense(m=4,n=4,k=4)"], ["tensorc", "--task", "dense"],
                      ["tuner", "--workload", "dense(m=4,n=4,k=4)", "--trials=1"], ["tuner", "--task", "dense"]):
            ran = run(self.folder, f"{BIN}/{words[0]}", *words[1:], "--operators", "ops.txt")
            self.assertEqual(ran.returncode, 2, ran.stderr)
            self.assertIn("--operators: these belong to", ran.stderr)

    def test_says_its_version(self):
        ran = run(self.folder, sys.executable, "-m", "hone", "--version")
        self.assertEqual((ran.returncode, ran.stdout), (0, f"hone {hone.__version__}\n"))

    def test_passes_names_are_not_empty(self):
        with open(self.path("m.onnx"), "wb") as f:
            f.write(model([node("Relu", ["x"], ["y"])], [value("x", FLOAT, [4])], [value("y", FLOAT, [4])]))
        ran = run(self.folder, f"{BIN}/tensorc", "m.onnx", "--emit", "graph:after=")
        self.assertEqual(ran.returncode, 2, ran.stdout)
        self.assertIn("a pass's name follows", ran.stderr)

    def test_a_pass_that_fails_is_shown_with_operators_of_python(self):
        with open(self.path("m.onnx"), "wb") as f:
            f.write(one_node())
        with open(self.path("my_ops.py"), "w") as f:
            f.write(
                "import hone\nfrom hone import te\n\n\n@hone.op('my::Prefix')\ndef prefix(x):\n"
                "    k = te.reduce_axis(x.shape[1], 'k')\n"
                "    return te.compute(x.shape, lambda i, j: te.sum(te.where(k <= j, x[i, k], 0.0), axis=k))\n")
        with open(self.path("my_passes.py"), "w") as f:
            f.write(
                "import hone\n\n\n@hone.graph_pass\ndef doubled(g):\n    v = g.outputs[0].value\n"
                "    g.replace(v, g.function('add', v, v))\n")
        shell = [sys.executable, "-m", "hone", "compile", "m.onnx"]
        ran = run(self.folder, *shell, "--operators", "my_ops.py", "--passes", "my_passes.py", "--check", "-o", "m.so")
        self.assertEqual(ran.returncode, 2, ran.stderr)
        with open(self.path("tensorc-doubled.txt")) as f:
            command = next(line for line in f if line.startswith("python3 -m hone compile"))
        self.assertRegex(command, r"--passes \S*my_passes.py --operators \S*my_ops.py")

    def test_a_wrong_replacement_is_no_node_that_is_not_supported(self):
        @hone.op("my::Same")
        def same(x):
            return te.compute(x.shape, lambda *i: x[i] * 2.0, name="same")

        m = model([node("Relu", ["x"], ["y"])], [value("x", FLOAT, [4])], [value("y", FLOAT, [4])])
        with self.assertRaisesRegex(hone.BadInput, "node 'Relu_y' is not replaced by my::Same: it computes") as raised:
            hone.compile(m, replace={"Relu_y": same})
        self.assertNotIn("not supported", str(raised.exception))
        self.assertEqual(len(str(raised.exception).splitlines()), 1)

    def test_what_is_not_compared_is_said(self):
        @hone.op("my::Double")
        def double(x):
            return te.compute(x.shape, lambda *i: x[i] * 2.0, name="double")

        big = [4096, 4096]
        m = model([node("Neg", ["x"], ["y"])], [value("x", FLOAT, big)], [value("y", FLOAT, big)])
        lines = []
        hone.compile(m, replace={"Neg_y": double}, threads=1, on_line=lines.append)
        self.assertIn("my::Double computes the same as Neg_y", " ".join(lines))
        with self.assertRaisesRegex(hone.BadInput, "computes something else than the node"):
            hone.compile(m, replace={"Neg_y": double}, threads=1, check=True)


if __name__ == "__main__":
    unittest.main()

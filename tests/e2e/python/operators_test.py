"""Operators of a user's in models: from Python, from files, and what is refused of them."""

import json
import os
import subprocess
import sys
import unittest

import hone
import numpy as np
import small_onnx
import stand_ins
from hone import te
from small_onnx import FLOAT, function, model, node, own_node, tensor, value
from support import SHORT, Case

BIN = os.path.join(os.environ["HONE_BUILD"], "bin")


@hone.op("my.domain::SquaredRelu")
def squared_relu(x):
    return te.compute(x.shape, lambda *i: te.relu(x[i]) * te.relu(x[i]), name="squared")


@hone.op("my.domain::RotaryPair")
def rotary(x, cos, sin, scale=1.0):
    rows, heads, d = x.shape
    half = d // 2

    def rotated(i, h, k):
        low, high = te.minimum(k, half - 1), te.maximum(k - half, 0)
        first = x[i, h, k] * cos[i, low] - x[i, h, te.minimum(k + half, d - 1)] * sin[i, low]
        second = x[i, h, k] * cos[i, high] + x[i, h, high] * sin[i, high]
        return te.where(k < half, first, second) * scale

    return te.compute((rows, heads, d), rotated, name="rotated")


@hone.op("my::Prefix")
def prefix(x, by=1.0):
    """Sums up to each position of a row."""
    rows, n = x.shape
    k = te.reduce_axis(n, "k")
    return te.compute((rows, n), lambda i, j: te.sum(te.where(k <= j, x[i, k] * by, 0.0), axis=k), name="sums")


@hone.op("my::Decay")
def decay(x, axis=0):
    """Each element, and 0.9 of the sum before it along an axis."""
    def step(before, *i):
        return before * np.float32(0.9) + x[i]

    return te.scan(x.shape, step, axis=axis, name="decayed")


@hone.op("my::Largest")
def largest(x):
    """Where the largest tanh of each row is."""
    rows, n = x.shape
    k = te.reduce_axis(n, "k")
    return te.compute((rows,), lambda i: te.argmax(te.tanh(x[i, k]), axis=k), name="largest")


def one_node(op="Prefix", rows=4, n=6, **attributes):
    return model(
        [own_node("my", op, ["x"], ["y"], **attributes)], [value("x", FLOAT, [rows, n])], [value("y", FLOAT, [rows, n])]
    )


def sample(*shape):
    return np.random.default_rng(1).normal(size=shape).astype(np.float32)


class Operators(Case):
    def test_are_what_their_nodes_compute(self):
        x = sample(16, 4, 32)
        built = hone.compile(stand_ins.own_operators(), operators=[rotary, squared_relu], threads=1)
        angles = np.arange(16)[:, None] / 100.0 ** (np.arange(16) / 16)
        cos, sin = np.cos(angles)[:, None], np.sin(angles)[:, None]
        a, b = x[..., :16], x[..., 16:]
        turned = np.concatenate([a * cos - b * sin, b * cos + a * sin], axis=-1).reshape(16, 128)
        weights = (np.arange(128)[:, None] - np.arange(64)) / 64
        np.testing.assert_allclose(built(x), np.maximum(turned @ weights, 0) ** 2, rtol=1e-4, atol=1e-3)
        self.assertIn("epilogue=relu+square", str(built.layers.column("workload")))

    def test_take_attributes_with_their_defaults(self):
        x = sample(4, 6)
        for attributes, by in [({}, 1), ({"by": 2.0}, 2)]:
            built = hone.compile(one_node(**attributes), operators=prefix, threads=1)
            np.testing.assert_allclose(built(x), by * np.cumsum(x, axis=1), rtol=1e-5, atol=1e-5)

    def test_of_a_function_are_instead_of_its_body(self):
        body = function("my", "Prefix", ["a"], ["b"], [node("Neg", ["a"], ["b"])])
        m = model(
            [own_node("my", "Prefix", ["x"], ["y"])], [value("x", FLOAT, [4, 6])], [value("y", FLOAT, [4, 6])],
            functions=[body],
        )
        x = sample(4, 6)
        np.testing.assert_array_equal(hone.compile(m, threads=1)(x), -x)
        np.testing.assert_allclose(
            hone.compile(m, operators=[prefix], threads=1)(x), np.cumsum(x, axis=1), rtol=1e-5, atol=1e-5
        )

    def test_of_several_shapes_are_several_definitions(self):
        m = model(
            [own_node("my", "Prefix", ["x"], ["y"])], [value("x", FLOAT, ["rows", 6])], [value("y", FLOAT, ["rows", 6])]
        )
        built = hone.compile(m, operators=[prefix], bind={"rows": [2, 5]}, threads=1)
        for rows in (2, 5):
            x = sample(rows, 6)
            np.testing.assert_allclose(built(x), np.cumsum(x, axis=1), rtol=1e-5, atol=1e-5)

    def test_take_functions_behind_them(self):
        m = model(
            [own_node("my", "Prefix", ["x"], ["p"]), node("Mul", ["p", "w"], ["q"]), node("Relu", ["q"], ["y"])],
            [value("x", FLOAT, [4, 6])], [value("y", FLOAT, [4, 6])], [tensor("w", [6], np.arange(6) - 3.0)],
        )
        built, x = hone.compile(m, operators=[prefix], threads=1), sample(4, 6)
        self.assertEqual(len(built.layers), 1)
        self.assertIn("with=mul+relu", built.layers[0]["workload"])
        wanted = np.maximum(np.cumsum(x, axis=1) * (np.arange(6) - 3), 0)
        np.testing.assert_allclose(built(x), wanted, rtol=1e-5, atol=1e-5)

    def test_with_convolutions_have_those_of_hone(self):
        @hone.op("my::Gated")
        def gated(x, f, g, dilation=1):
            (n, c, length), (o, _, taps) = x.shape, f.shape
            pad = dilation * (taps - 1) // 2

            def conv(w):
                ci, t = te.reduce_axis(c), te.reduce_axis(taps)

                def product(b, o, i):
                    at = i + t * dilation - pad
                    return te.sum(te.where((at >= 0) & (at < length), x[b, ci, at], 0.0) * w[o, ci, t], axis=[ci, t])

                return te.compute((n, o, length), product)

            a, b = conv(f), conv(g)
            return te.compute((n, o, length), lambda *i: te.tanh(a[i]) * te.sigmoid(b[i]))

        f, g, x = sample(8, 4, 3), sample(8, 4, 3)[::-1], sample(1, 4, 20)
        m = model(
            [own_node("my", "Gated", ["x", "f", "g"], ["y"], dilation=2)], [value("x", FLOAT, [1, 4, 20])],
            [value("y", FLOAT, [1, 8, 20])], [tensor("f", [8, 4, 3], f.ravel()), tensor("g", [8, 4, 3], g.ravel())],
        )
        built = hone.compile(m, operators=[gated], threads=1)
        self.assertEqual([w.split("(")[0] for w in built.layers.column("workload")].count("conv2d"), 2)
        p = np.pad(x, ((0, 0), (0, 0), (2, 2)))
        windows = [p[:, :, 2 * t : 2 * t + 20] for t in range(3)]

        def conv(w):
            return sum(np.einsum("bci,oc->boi", at, w[:, :, t]) for t, at in enumerate(windows))

        np.testing.assert_allclose(built(x), np.tanh(conv(f)) / (1 + np.exp(-conv(g))), rtol=1e-4, atol=1e-5)

    def targets(self):
        """This CPU, and OpenCL where there is a device."""
        try:
            hone.Device("opencl")
            return ["llvm", "opencl"]
        except hone.NoDevice:
            return ["llvm"]

    def test_scans_between_functions(self):
        def decayed(x, axis):
            y = np.moveaxis(x.copy(), axis, 0)
            for t in range(1, len(y)):
                y[t] += np.float32(0.9) * y[t - 1]
            return np.moveaxis(y, 0, axis)

        for shape in [(5, 7), (300, 130)]:
            for axis in (0, 1):
                rows, n = shape
                graph = [
                    node("Neg", ["x"], ["a"]), own_node("my", "Decay", ["a"], ["b"], axis=axis),
                    node("Neg", ["b"], ["y"]),
                ]
                m = model(graph, [value("x", FLOAT, [rows, n])], [value("y", FLOAT, [rows, n])])
                x = sample(*shape)
                for target in self.targets():
                    built = hone.compile(m, operators=decay, threads=2, target=target)
                    np.testing.assert_allclose(built(x), decayed(x, axis), rtol=1e-4, atol=1e-4)

    def test_scans_are_checked(self):
        m = one_node("Decay", 5, 7)
        x = sample(5, 7)
        expected = hone.compile(m, operators=decay, threads=1)(x)
        checked = hone.compile(m, operators=decay, threads=1, check=True, passes=[lambda g: None])
        np.testing.assert_array_equal(checked(x), expected)
        negated = model([node("Neg", ["x"], ["y"])], [value("x", FLOAT, [5, 7])], [value("y", FLOAT, [5, 7])])
        with self.assertRaisesRegex(hone.BadInput, "computes something else than the node"):
            hone.compile(negated, replace={"Neg_y": decay}, threads=1)

    def test_scans_may_leave_the_element_before_alone(self):
        @hone.op("my::Decay")
        def doubled(x, axis=0):
            return te.scan(x.shape, lambda before, i, j: x[i, j] * 2.0, axis=axis, name="doubled")

        x = sample(5, 7)
        np.testing.assert_array_equal(hone.compile(one_node("Decay", 5, 7), operators=doubled, threads=1)(x), x * 2)

    def test_numbers_beside_scans(self):
        @hone.op("my::Total")
        def total(x):
            k = te.reduce_axis(x.shape[0], "k")
            of_all = te.compute((), lambda: te.sum(x[k], axis=k), name="of_all")
            return te.scan(x.shape, lambda before, i: before + x[i] - of_all[()] * 0.01, name="total")

        m = model([own_node("my", "Total", ["x"], ["y"])], [value("x", FLOAT, [100])], [value("y", FLOAT, [100])])
        x = sample(100)
        for target in self.targets():
            built = hone.compile(m, operators=total, threads=2, target=target)
            np.testing.assert_allclose(built(x), np.cumsum(x - x.mean()), rtol=1e-3, atol=1e-4)

    def test_convolutions_whose_windows_leave_their_image(self):
        @hone.op("my::Far")
        def far(x, w):
            def bordered(b, c, i):
                return te.where(te.all(i >= 4, i < 16), x[b, c, te.minimum(te.maximum(i - 4, 0), 11)], 0.0)

            padded = te.compute((1, 4, 20), bordered, name="padded")
            c, t = te.reduce_axis(4, "c"), te.reduce_axis(3, "t")
            return te.compute(
                (1, 8, 2), lambda b, o, i: te.sum(padded[b, c, i + t] * w[o, c, t], axis=[c, t]), name="far")

        weights = sample(8, 4, 3)
        m = model(
            [own_node("my", "Far", ["x", "w"], ["y"])], [value("x", FLOAT, [1, 4, 12])], [value("y", FLOAT, [1, 8, 2])],
            [tensor("w", [8, 4, 3], list(weights.reshape(-1)))])
        x = sample(1, 4, 12)
        padded = np.pad(x, [(0, 0), (0, 0), (4, 4)])
        expected = np.stack([np.einsum("bct,oct->bo", padded[:, :, i:i + 3], weights) for i in range(2)], axis=2)
        np.testing.assert_allclose(hone.compile(m, operators=far, threads=1)(x), expected, rtol=1e-4, atol=1e-5)

    def test_outputs_have_a_dimension(self):
        @hone.op("my::Total")
        def total(x):
            k = te.reduce_axis(x.shape[0], "k")
            return te.compute((), lambda: te.sum(x[k], axis=k), name="total")

        m = model([own_node("my", "Total", ["x"], ["y"])], [value("x", FLOAT, [9])], [value("y", FLOAT, [])])
        with self.assertRaisesRegex(hone.BadInput, r"'total' has no dimension: a number has the shape \(1,\)"):
            hone.compile(m, operators=total, threads=1)

    def test_stages_are_indices(self):
        x = te.placeholder((4, 8), name="x", dtype="int64")
        k = te.reduce_axis(8, "k")
        sums = te.compute((4,), lambda i: te.sum(x[i, k], axis=k), name="sums")
        picked = te.compute(
            (4, 8), lambda i, j: x[i, te.minimum(te.maximum(sums[i], 0), 7)] + j * 0, name="picked")
        given = np.random.default_rng(1).integers(-3, 4, (4, 8))
        at = np.clip(given.sum(axis=1), 0, 7)
        wanted = np.repeat(given[np.arange(4), at][:, None], 8, axis=1)
        np.testing.assert_array_equal(te.build(te.Schedule(picked, inputs=[x]))(given), wanted)

    def test_passes_that_are_not_there_are_not_left_out(self):
        with self.assertRaisesRegex(hone.BadInput, "fold_pad: there is no such pass; did you mean fold_pads"):
            hone.compile(one_node("Decay", 5, 7), operators=decay, flags=["--disable=fold_pad"], threads=1)

    def test_logarithms_of_denormal_numbers_are_checked(self):
        m = model([node("Log", ["x"], ["y"])], [value("x", FLOAT, [4, 8])], [value("y", FLOAT, [4, 8])])
        hone.compile(m, threads=1, check=True)

    def test_whole_numbers_are_compared_beyond_one(self):
        @hone.op("my::Same")
        def same(x):
            return te.compute(x.shape, lambda i: x[i], name="same")

        m = model([node("Abs", ["x"], ["y"])], [value("x", small_onnx.INT64, [6])], [value("y", small_onnx.INT64, [6])])
        with self.assertRaisesRegex(hone.BadInput, "computes something else than the node"):
            hone.compile(m, operators=[], replace={"Abs_y": same}, threads=1)

    def test_passes_see_them(self):
        @hone.graph_pass
        def twice(g):
            own = next(n for n in g.nodes if n.op == "op")
            self.assertEqual(own.output.shape, (5, 7))
            g.replace(own.output, g.function("add", own.output, own.output))

        m = one_node("Decay", 5, 7)
        x = sample(5, 7)
        expected = hone.compile(m, operators=decay, threads=1)(x)
        built = hone.compile(m, operators=decay, threads=1, passes=[twice])
        np.testing.assert_allclose(built(x), 2 * expected, rtol=1e-5)
        self.assertIn("graph model\n", hone.emit(m, "graph:after=twice", operators=decay, passes=[twice]))

    def test_scans_of_vectors_are_scans(self):
        @hone.op("my::Total")
        def total(x):
            return te.scan(x.shape, lambda before, i: before + x[i], name="total")

        m = model(
            [own_node("my", "Total", ["x"], ["y"])], [value("x", FLOAT, [100])], [value("y", FLOAT, [100])])
        for target in self.targets():
            built = hone.compile(m, operators=total, threads=1, target=target)
            np.testing.assert_allclose(built(sample(100)), np.cumsum(sample(100)), rtol=1e-4, atol=1e-5)

    def test_positions_behind_functions(self):
        graph = [node("Exp", ["x"], ["a"]), own_node("my", "Largest", ["a"], ["y"])]
        m = model(graph, [value("x", FLOAT, [40, 70])], [value("y", small_onnx.INT64, [40])])
        x = sample(40, 70)
        for target in self.targets():
            built = hone.compile(m, operators=largest, threads=2, target=target)
            got, tanh = built(x), np.tanh(np.exp(x))
            # The largest, to the rounding of tanh.
            np.testing.assert_allclose(tanh[np.arange(40), got], tanh.max(axis=1), rtol=1e-5)

    def test_scans_are_tuned(self):
        m = one_node("Decay", 64, 64)
        outcome = hone.tune(m, operators=decay, trials=6, threads=2, flags=SHORT, progress=False)
        self.assertEqual(outcome["by_status"], {"ok": outcome["trials"]})

    def test_are_tuned_and_found_again(self):
        outcome = hone.tune(one_node(rows=64, n=64), operators=[prefix], trials=8, seconds=20, threads=1, flags=SHORT)
        self.assertEqual([t["workload"].split(",")[0] for t in outcome["tasks"]], ["op(name=my__Prefix"])
        built = hone.compile(one_node(rows=64, n=64), operators=[prefix], threads=1)
        self.assertTrue(built.layers[0]["source"].startswith("best (exact workload"), built.layers[0]["source"])
        self.assertEqual(len(hone.Tophub().list(task="op")), 1)

    def test_several_outputs(self):
        @hone.op("my::Both")
        def both(x):
            rows, n = x.shape
            k = te.reduce_axis(n, "k")
            total = te.compute((rows,), lambda i: te.sum(x[i, k], axis=k), name="total")
            return total, te.compute((rows, n), lambda i, j: x[i, j] / total[i], name="share")

        m = model(
            [own_node("my", "Both", ["x"], ["s", "y"])], [value("x", FLOAT, [4, 6])],
            [value("s", FLOAT, [4]), value("y", FLOAT, [4, 6])],
        )
        x = np.abs(sample(4, 6)) + 1
        total, share = hone.compile(m, operators=[both], threads=1)(x)
        np.testing.assert_allclose(total, x.sum(axis=1), rtol=1e-5)
        np.testing.assert_allclose(share, x / x.sum(axis=1, keepdims=True), rtol=1e-5)


class Files(Case):
    def test_hold_what_models_need(self):
        path = self.path("ops.txt")
        hone.save_operators(path, [prefix], one_node(), one_node(rows=8))
        with open(path) as f:
            lines = f.read().splitlines()
        self.assertEqual(lines[0], "hone operators 1")
        self.assertEqual(
            sorted(json.loads(line)["inputs"][0][1] for line in lines[1:]), [[4, 6], [8, 6]])
        x = sample(8, 6)
        built = hone.compile(one_node(rows=8), operators=[path], threads=1)
        np.testing.assert_allclose(built(x), np.cumsum(x, axis=1), rtol=1e-5, atol=1e-5)
        # Definitions of an older file that are used stay.
        hone.save_operators(path, [path, prefix], one_node(), one_node(rows=9))
        with open(path) as f:
            self.assertEqual(sorted(json.loads(line)["inputs"][0][1] for line in f.readlines()[1:]), [[4, 6], [9, 6]])

    def test_say_which_types_they_have(self):
        path = self.path("ops.txt")
        hone.save_operators(path, [prefix], one_node())
        said = r"no definition for \(f32\[5, 6\]\): ops.txt has it for \(f32\[4, 6\]\)"
        with self.assertRaisesRegex(hone.BadInput, said):
            hone.compile(one_node(rows=5), operators=[path])

    def test_serve_programs(self):
        with open(self.path("m.onnx"), "wb") as f:
            f.write(one_node())
        with open(self.path("my_ops.py"), "w") as f:
            f.write(
                "import hone\nfrom hone import te\n\n\n@hone.op('my::Prefix')\ndef prefix(x):\n"
                "    k = te.reduce_axis(x.shape[1], 'k')\n"
                "    return te.compute(x.shape, lambda i, j: te.sum(te.where(k <= j, x[i, k], 0.0), axis=k))\n"
            )
        run = lambda *words: subprocess.run(  # noqa: E731
            words, cwd=self.folder, capture_output=True, text=True, timeout=300
        )
        shell = [sys.executable, "-m", "hone"]
        ran = run(*shell, "compile", "m.onnx", "--operators", "my_ops.py", "-o", "m.so", "--threads=1")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        x = sample(4, 6)
        np.testing.assert_allclose(hone.open(self.path("m.so"))(x), np.cumsum(x, axis=1), rtol=1e-5, atol=1e-5)
        quick = ["--trials=4", "--threads=1", "--db", self.db]
        ran = run(*shell, "tune", "m.onnx", "--operators=my_ops.py", "--seconds=20", *quick)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn("my__Prefix", ran.stdout)
        ran = run(*shell, "compile", "m.onnx", "--operators", "none.py")
        self.assertEqual(ran.returncode, 2)
        self.assertEqual(len(ran.stderr.splitlines()), 1, ran.stderr)
        self.assertEqual(run(*shell, "compile").returncode, 2)

        hone.save_operators(self.path("ops.txt"), [prefix], self.path("m.onnx"))
        ran = run(f"{BIN}/tensorc", "m.onnx", "--operators", "ops.txt", "-o", "c.so", "--check", "--threads=1")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn("the whole agrees with the imported model", ran.stderr)
        ran = run(f"{BIN}/tuner", "m.onnx", "--operators", "ops.txt", "--print-tasks")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn("op(name=my__Prefix", ran.stdout)
        # One workload by its text.
        graph = run(f"{BIN}/tensorc", "m.onnx", "--operators", "ops.txt", "--emit", "graph").stdout
        workload = next(line.split(" = ")[1].split(" %")[0] for line in graph.splitlines() if " = op(" in line)
        ran = run(f"{BIN}/tensorc", "--workload", workload, "--operators", "ops.txt", "--check", "--threads=1")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        ran = run(f"{BIN}/tuner", "--workload", workload, "--operators", "ops.txt", *quick)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        ran = run(f"{BIN}/tensorc", "--workload", workload)
        self.assertEqual(ran.returncode, 2)
        self.assertIn("its definition is in a file of --operators", ran.stderr)


class Replaced(Case):
    def test_nodes_are_a_definition_that_computes_the_same(self):
        @hone.op("my::Relu")
        def relu(x):
            return te.compute(x.shape, lambda *i: te.where(x[i] < 0, 0.0, x[i]), name="y")

        x = sample(3, 16)
        plain = self.perceptron()
        for pattern in ("Relu_y", "Relu*", "ai.onnx::Relu"):
            replaced = self.perceptron(replace={pattern: relu})
            np.testing.assert_allclose(replaced(x), plain(x), rtol=1e-5, atol=1e-6)

    def test_nodes_are_refused_where_it_computes_something_else(self):
        with self.assertRaisesRegex(hone.BadInput, "it computes something else than the node: the largest error is"):
            self.perceptron(replace={"Relu_y": squared_relu})

    def test_nodes_must_be_there(self):
        with self.assertRaisesRegex(hone.BadInput, r'replace\["Relu_z"\]: .* has no such node|replace Relu_z'):
            self.perceptron(replace={"Relu_z": squared_relu})


class Wrong(Case):
    def refused(self, error, text, operators, m=None):
        with self.assertRaisesRegex(error, text) as raised:
            hone.compile(one_node() if m is None else m, operators=operators)
        self.assertEqual(len(str(raised.exception).splitlines()), 1 if error is not hone.BadInput else 2)

    def test_functions_say_of_which_node_they_are(self):
        @hone.op("my::Prefix")
        def raises(x):
            raise KeyError("nothing here")

        with self.assertRaisesRegex(KeyError, r"node 'Prefix_y' \(my::Prefix\): nothing here"):
            hone.compile(one_node(), operators=[raises])

        @hone.op("my::Prefix")
        def endless(x):
            raise KeyboardInterrupt

        with self.assertRaises(KeyboardInterrupt):
            hone.compile(one_node(), operators=[endless])
        with self.assertRaisesRegex(TypeError, r"node 'Prefix_y' \(my::Prefix\): .*unexpected keyword argument 'axis'"):
            hone.compile(one_node(axis=1), operators=[prefix])

    def test_definitions_are_refused(self):
        def operator(body):
            return hone.op("my::Prefix")(body)

        cases = [
            (TypeError, "returns a int, not a te.Tensor", lambda x: 1),
            (TypeError, "returns no tensor", lambda x: ()),
            (ValueError, "is not computed", lambda x: x),
            (hone.BadInput, "out of bounds", lambda x: te.compute((4, 6), lambda i, j: x[i, j + 1], name="y")),
        ]
        for error, text, body in cases:
            with self.assertRaisesRegex(error, text):
                hone.compile(one_node(), operators=[operator(body)])
        with self.assertRaisesRegex(hone.BadInput, "the model declares 'y' with 2 axes"):
            hone.compile(
                one_node(), operators=[operator(lambda x: te.compute((4,), lambda i: x[i, 0], name="y"))])

    def test_names_are_checked(self):
        for name in ("", "::x", "x::", "a\nb"):
            with self.assertRaises(ValueError):
                hone.op(name)
        with self.assertRaises(TypeError):
            hone.op(prefix)
        with self.assertRaisesRegex(hone.BadInput, "'ai.onnx::Relu' is an operator that Hone has"):
            self.perceptron(operators=[hone.op("ai.onnx::Relu")(lambda x: x)])
        with self.assertRaisesRegex(ValueError, "there are two of the name my::Prefix"):
            hone.compile(one_node(), operators=[prefix, hone.op("my::Prefix")(lambda x: x)])
        with self.assertRaisesRegex(TypeError, "is neither of @hone.op nor the path of a file"):
            hone.compile(one_node(), operators=[7])

    def test_models_alone_have_them(self):
        with self.assertRaisesRegex(TypeError, "operators, replace, passes and optimize are of models"):
            hone.compile("dense(m=4,n=4,k=4)", operators=[prefix])
        with self.assertRaisesRegex(TypeError, "operators, replace, passes and optimize are of models"):
            hone.tune("dense(m=4,n=4,k=4)", operators=[prefix])

    def test_a_node_without_a_definition_says_how_to_have_one(self):
        with self.assertRaisesRegex(hone.BadInput, "the operator is not known: operators FILE may define my::"):
            hone.compile(one_node())


if __name__ == "__main__":
    unittest.main()

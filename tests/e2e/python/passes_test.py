"""Graph passes of one's own: from the function to the model that is built, and what is wrong with some."""

import math
import os
import re
import signal
import subprocess
import sys
import textwrap
import threading
import time
import unittest

import hone
import numpy as np
import small_onnx as onnx
from hone.graph import pattern
from support import SHORT, Case, perceptron_of, sample

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", ".."))


def unary(nodes, shape=("batch", 16), initializers=()):
    """A model of x to y."""
    return onnx.model(nodes, [onnx.value("x", onnx.FLOAT, list(shape))], [onnx.value("y", onnx.FLOAT)], initializers)


def silu_of(x):
    h = x @ np.array(onnx.SILU_WEIGHTS, np.float32).reshape(16, 8)
    return h / (1 + np.exp(-h))


def tanh_gelu_model():
    """0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))), as exporters write it."""
    scalars = {"half": 0.5, "one": 1.0, "c": math.sqrt(2 / math.pi), "k": 0.044715, "three": 3.0}
    return unary(
        [
            onnx.node("Pow", ["x", "three"], ["x3"]), onnx.node("Mul", ["x3", "k"], ["kx3"]),
            onnx.node("Add", ["x", "kx3"], ["sum"]), onnx.node("Mul", ["sum", "c"], ["inner"]),
            onnx.node("Tanh", ["inner"], ["t"]), onnx.node("Add", ["t", "one"], ["t1"]),
            onnx.node("Mul", ["x", "t1"], ["xt"]), onnx.node("Mul", ["xt", "half"], ["y"]),
        ],
        initializers=[onnx.tensor(name, [], [v]) for name, v in scalars.items()],
    )


@hone.graph_pass
def use_silu(g):
    """x sigmoid(x) is silu(x)."""
    x = pattern.value("x")
    for m in g.matches(pattern.function("mul", x, pattern.function("sigmoid", x))):
        g.replace(m.value, g.function("silu", m["x"]))


@hone.graph_pass(after="use_silu")
def drop_additions_of_zero(g):
    """x + 0 is x."""
    for m in g.matches(pattern.function("add", pattern.value("x"), pattern.number(0.0))):
        g.replace(m.value, m["x"])


@hone.graph_pass(before="fuse_elementwise")
def use_gelu(g):
    """The approximation with tanh has a name."""
    f, n, x = pattern.function, pattern.number, pattern.value("x")
    cube = f("pow", x, n(3.0)) | f("mul", x, f("mul", x, x))
    inner = f("mul", f("add", x, f("mul", cube, n(0.044715))), n(math.sqrt(2 / math.pi)))
    for m in g.matches(f("mul", f("mul", x, f("add", f("tanh", inner), n(1.0))), n(0.5))):
        g.replace(m.value, g.function("gelu_tanh", m["x"]))


def workloads(model):
    return model.layers.column("workload")


class Rewriting(Case):
    def test_a_pattern_becomes_a_function(self):
        x = sample(3)
        lines = []
        options = {"bind": {"batch": 3}, "threads": 1}
        passes = [use_silu, drop_additions_of_zero]
        model = hone.compile(onnx.silu(), passes=passes, check=True, on_line=lines.append, **options)
        np.testing.assert_allclose(model(x), silu_of(x), rtol=1e-5, atol=1e-6)
        self.assertEqual(workloads(model), ["dense(m=3,n=8,k=16,dtype=f32,epilogue=silu)"])
        for p in passes:
            self.assertTrue(any(f"check: graph pass '{p.name}' changes nothing" in line for line in lines), lines)
        self.assertTrue(any("the whole agrees with the imported model" in line for line in lines), lines)

    def test_its_graph_is_printed_behind_it(self):
        text = hone.emit(onnx.silu(), "graph:after=use_silu", passes=[use_silu, drop_additions_of_zero])
        self.assertIn("%t = elementwise(op=silu,shape=1x8,operands=none,dtype=f32) %h_1   # Sigmoid_s + Mul_t\n", text)
        self.assertNotIn("sigmoid", text)
        self.assertIn("op=add", text)
        after = hone.emit(onnx.silu(), "graph:after=drop_additions_of_zero", passes=[use_silu, drop_additions_of_zero])
        self.assertNotIn("op=add", after)
        self.assertIn("op=sigmoid", hone.emit(onnx.silu(), "graph:after=import", passes=[use_silu]))
        with self.assertRaisesRegex(hone.BadInput, "there is no such pass; there are import, use_silu, remove_dead, "):
            hone.emit(onnx.silu(), "graph:after=nothing", passes=[use_silu])
        with self.assertRaises(ValueError):
            hone.emit(onnx.silu(), "asm")

    def test_a_long_chain_with_numbers(self):
        text = hone.emit(tanh_gelu_model(), "graph:after=use_gelu", passes=[use_gelu], optimize=0)
        self.assertEqual(text.count("elementwise("), 1)
        self.assertIn("op=gelu_tanh", text)
        self.assertNotIn("op=tanh", text)
        x = sample(2)
        model = hone.compile(tanh_gelu_model(), passes=[use_gelu], bind={"batch": 2}, threads=1, check=True)
        plain = hone.compile(tanh_gelu_model(), bind={"batch": 2}, threads=1)
        np.testing.assert_allclose(model(x), plain(x), rtol=1e-5, atol=1e-6)

    def test_constants_are_read_and_made(self):
        @hone.graph_pass
        def halve(g):
            """x W becomes 2 (x (W / 2))."""
            for m in g.matches(pattern.op("dense", pattern.value("x"), pattern.constant("w"))):
                half = g.constant(m["w"].constant / 2, name="half")
                product = g.like(m.node, m["x"], half)
                g.replace(m.value, g.function("mul", product, g.constant(np.full((1, 8), 2, np.float32))))
                self.assertFalse(m["w"].constant.flags.writeable)

        x = sample(3)
        model = hone.compile(onnx.silu(), passes=[halve], bind={"batch": 3}, threads=1, check=True)
        np.testing.assert_allclose(model(x), silu_of(x), rtol=1e-5, atol=1e-6)
        text = hone.emit(onnx.silu(), "graph:after=halve", passes=[halve])
        self.assertRegex(text, r"%half = constant f32\[8, 16\] hash \w+\n")

    def test_constants_of_all_types(self):
        seen = {}

        @hone.graph_pass
        def all_types(g):
            for dtype in ("float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "bool"):
                v = g.constant(np.array([1, 0, 1]), dtype=dtype)
                seen[dtype] = (v.dtype, v.shape, v.constant.dtype.name)
            bits = g.constant(np.array([0x3F80, 0x4000], np.uint16), dtype="bfloat16")
            chosen = g.function("cast:f32", bits)
            g.replace(g.outputs[0].value, g.add("concat", g.inputs[0].value, chosen, axis=0))

        model = unary([onnx.node("Identity", ["x"], ["y"])], shape=[2])
        for dtype in ("complex64", "datetime64[s]"):
            with self.assertRaisesRegex(TypeError, "there are no tensors of"):
                hone.emit(model, passes=[lambda g, d=dtype: g.constant(np.zeros(2, d))])
        with self.assertRaisesRegex(hone.BadInput, r"replace: %x is f32\[2\], %concat is f32\[4\]"):
            hone.emit(model, passes=[all_types])
        self.assertEqual(seen, {t: (t, (3,), t) for t in seen})

        @hone.graph_pass
        def of_bits(g):
            bits = g.constant(np.array([0x3F80, 0x4000], np.uint16), dtype="bfloat16")
            mask = g.constant(np.array([True, False]))
            one = g.function("cast:f32", bits)
            g.replace(g.outputs[0].value, g.function("where", g.inputs[0].value, mask, one))

        text = hone.emit(model, "graph:after=of_bits", passes=[of_bits])
        self.assertIn("constant bf16[2] [1, 2]", text)
        self.assertIn("constant bool[2] [1, 0]", text)

    def test_levels_have_named_passes(self):
        x = sample(3)
        layers = []
        for level in range(4):
            model = hone.compile(
                onnx.silu(), passes=[use_silu], bind={"batch": 3}, threads=1, optimize=level, check=True
            )
            np.testing.assert_allclose(model(x), silu_of(x), rtol=1e-5, atol=1e-6)
            layers.append(len(model.layers))
        self.assertEqual(layers, [3, 3, 1, 1])
        default = hone.emit(onnx.silu(), "graph")
        self.assertEqual(hone.emit(onnx.silu(), "graph", optimize=3), default)
        for wrong in (4, -1):
            with self.assertRaisesRegex(hone.BadInput, "is not a whole number from 0 to 3"):
                hone.emit(onnx.silu(), optimize=wrong)

    def test_each_variant_has_it(self):
        rows = []

        def look(g):
            rows.append(g.inputs[0].shape[0])

        hone.compile(onnx.silu(), passes=[look], bind={"batch": [1, 4]}, threads=1)
        self.assertEqual(sorted(rows), [1, 4])

    def test_what_is_tuned_is_what_is_built(self):
        options = {"bind": {"batch": 3}, "threads": 1, "passes": [use_silu, drop_additions_of_zero]}
        outcome = hone.tune(onnx.silu(), trials=4, progress=False, flags=SHORT, **options)
        self.assertEqual([t["workload"] for t in outcome["tasks"]], ["dense(m=3,n=8,k=16,dtype=f32,epilogue=silu)"])
        model = hone.compile(onnx.silu(), **options)
        self.assertTrue(all(s.startswith("best") for s in model.layers.column("source")), model.layers)
        outcome = hone.tune(
            onnx.silu(), trials=4, progress=False, flags=SHORT, bind={"batch": 3}, threads=1, optimize=0)
        self.assertGreater(len(outcome["tasks"]), 1)

    def test_others_than_models_have_none(self):
        for call in (
            lambda: hone.compile("dense(m=2,n=3,k=4)", passes=[use_silu]),
            lambda: hone.compile("dense(m=2,n=3,k=4)", optimize=1),
            lambda: hone.tune("dense(m=2,n=3,k=4)", passes=[use_silu]),
        ):
            with self.assertRaisesRegex(TypeError, "are of models, not of a workload"):
                call()


class Page(Case):
    def test_the_pages_levels_are_the_librarys(self):
        with open(os.path.join(ROOT, "docs", "passes.md"), encoding="utf-8") as f:
            rows = re.findall(r"^\| (\d): [^|]*\| (.*) \|$", f.read(), re.M)
        said = [re.findall(r"`([a-z_0-9]+)`", names) for _, names in rows]
        self.assertEqual([int(level) for level, _ in rows], [0, 1, 2, 3])

        def names_in(refusal):
            return str(refusal.exception).rpartition("there are ")[2].split(", ")

        with self.assertRaises(hone.BadInput) as refusal:
            hone.emit(onnx.silu(), passes=[hone.graph_pass(lambda g: None, name="mine", after="nothing")])
        places = names_in(refusal)
        self.assertEqual(sorted(places), sorted(["import", *sum(said, [])]))
        below = {"import"}
        for level, names in enumerate(said):
            with self.assertRaises(hone.BadInput) as refusal:
                hone.emit(onnx.silu(), "graph:after=nothing", optimize=level)
            below |= set(names)
            ran = set(names_in(refusal))
            self.assertLessEqual(ran, below)
            # These are for GPUs, for options, or for types that this CPU multiplies slowly.
            self.assertLessEqual(below - ran, {"unroll_steps", "use_caches", "sum_in_f16", "multiply_in_f32"})


class Graphs(Case):
    """The graph that a function sees."""

    def look(self, function, model=None, **options):
        out = []
        hone.emit(model or onnx.silu(), passes=[lambda g: out.append(function(g))], **options)
        return out[0]

    def test_nodes_and_values(self):
        def look(g):
            dense = g.value("h_1").producer
            x, w = dense.inputs
            self.assertEqual(dense.op, "dense")
            self.assertEqual(dense.attributes, {"m": "1", "n": "8", "k": "16", "dtype": "f32", "epilogue": "none"})
            self.assertEqual(dense.origin, "MatMul_h")
            self.assertEqual((x.name, x.dtype, x.shape, x.constant), ("x", "float32", (1, 16), None))
            self.assertTrue(x.is_input and not x.is_output and w.is_constant and w.producer is None)
            self.assertEqual(dense.output.type, ("float32", (1, 8)))
            self.assertEqual([n.op for n in dense.output.readers], ["elementwise", "elementwise"])
            np.testing.assert_array_equal(w.constant, np.array(onnx.SILU_WEIGHTS, np.float32).reshape(16, 8).T)
            self.assertIs(w.constant, w.constant)
            self.assertEqual([n.op for n in g.nodes], ["dense", "elementwise", "elementwise", "elementwise"])
            self.assertEqual([(p.name, p.dtype, p.shape) for p in g.outputs], [("y", "float32", (1, 8))])
            self.assertTrue(g.outputs[0].value.is_output)
            self.assertEqual(g.value("y").producer.inputs[1].number, 0.0)
            self.assertIsNone(w.number)
            self.assertEqual(repr(dense.output), "<%h_1 f32[1, 8]>")
            self.assertEqual(repr(g), "<hone.graph.Graph model: 4 nodes>")
            return str(g)

        text = self.look(look)
        printed = hone.emit(onnx.silu(), "graph:after=import")
        self.assertEqual(text, re.sub(r"(constant f32\[8, 16\]) hash \w+", r"\1 ...", printed))

    def test_names_of_the_model_may_be_any_bytes(self):
        odd = b"caf\xe9 \"x\"\n"
        model = onnx.model(
            [onnx.node("Relu", [odd], [b"y\\\xff"])], [onnx.value(odd, onnx.FLOAT, [4])],
            [onnx.value(b"y\\\xff", onnx.FLOAT)],
        )

        @hone.graph_pass
        def same(g):
            g.replace(g.outputs[0].value, g.function("abs", g.function("relu", g.inputs[0].value)))

        plain, own = (hone.compile(model, passes=p, threads=1) for p in ([], [same]))
        self.assertEqual([i.name for i in own.inputs], [i.name for i in plain.inputs])
        self.assertEqual([o.name for o in own.outputs], [o.name for o in plain.outputs])

    def test_what_is_put_behind_a_value_reads_it_still(self):
        @hone.graph_pass
        def bound(g):
            h = g.value("h_1")
            g.replace(h, g.function("minimum[100.0]", h))

        text = hone.emit(onnx.silu(), "graph:after=bound", passes=[bound])
        self.assertRegex(text, r"%elementwise = elementwise\(op=minimum\[100(\.0)?\].*\) %h_1 ")
        self.assertRegex(text, r"%s = elementwise\(op=sigmoid.*\) %elementwise ")

    def test_rewrite_replaces_what_it_is_told_to(self):
        def look(g):
            both = pattern.op("elementwise", op=lambda t: t in ("sigmoid", "mul"))
            count = g.rewrite(both, lambda m: g.function("tanh", m.node.inputs[0]) if m.value.name == "s" else None)
            return count, [n.attributes["op"] for n in g.nodes if n.op == "elementwise"]

        self.assertEqual(self.look(look), (1, ["tanh", "mul", "add"]))

    def test_what_nobody_reads_goes(self):
        def look(g):
            t = g.value("t")
            g.replace(t, g.function("abs", g.value("h_1")))
            self.assertEqual([n.workload.split(",")[0] for n in g.nodes], [
                "dense(m=1", "elementwise(op=abs", "elementwise(op=add",
            ])
            with self.assertRaisesRegex(ValueError, "is gone: nobody read it"):
                g.function("relu", t)
            unread = g.function("relu", g.value("h_1"))
            self.assertIn(unread.producer, g.nodes)

        self.look(look)
        self.assertNotIn("relu", hone.emit(onnx.silu(), "graph:after=look", optimize=0, passes=[
            hone.graph_pass(lambda g: g.function("relu", g.value("h_1")) and None, name="look")]))

    def test_patterns(self):
        p = pattern

        def look(g):
            def count(what):
                return len(list(g.matches(what)))

            self.assertEqual(count(p.op("elementwise")), 3)
            self.assertEqual(count(p.op(("dense", "conv2d"))), 1)
            self.assertEqual(count(p.op("elementwise", op="sigmoid")), 1)
            self.assertEqual(count(p.op("elementwise", op=lambda t: t in ("mul", "add"))), 2)
            self.assertEqual(count(p.op("dense", m=1)), 1)
            self.assertEqual(count(p.op("dense", p.value())), 0)
            self.assertEqual(count(p.op("dense", p.value(), ...)), 1)
            self.assertEqual(count(p.op("dense", p.value(), p.constant())), 1)
            self.assertEqual(count(p.op("dense", p.constant(), ...)), 0)
            h = p.op("dense").named("h")
            self.assertEqual(count(p.function("sigmoid", h.once())), 0, "two read it")
            self.assertEqual(count(p.function("add", p.function("mul", h, p.value()).once(), p.value())), 1)
            # Operands that commute, either way round; one name is one value.
            both = p.function("mul", h, p.function("sigmoid", h)), p.function("mul", p.function("sigmoid", h), h)
            self.assertEqual([count(b) for b in both], [1, 1])
            self.assertEqual(count(p.function("mul", p.value("a"), p.value("a"))), 0)
            self.assertEqual(count(p.function("relu", h) | p.function("sigmoid", h)), 1)
            self.assertEqual(count(p.value().where(lambda v: v.shape == (1, 8))), 4)
            (m,) = g.matches(p.function("sigmoid", h))
            self.assertEqual((m.value.name, m["h"].name, m.node.op), ("s", "h_1", "elementwise"))
            self.assertEqual([n.output.name for n in m.nodes], ["h_1", "s"])
            with self.assertRaises(KeyError):
                m["nothing"]

        self.look(look)
        for wrong in (lambda: p.op("dense", 1), lambda: p.op("dense", ..., p.value()), lambda: p.function("add", ...)):
            with self.assertRaises(TypeError):
                wrong()

    def test_differences_either_way_round(self):
        model = unary([onnx.node("Sub", ["one", "x"], ["y"])], initializers=[onnx.tensor("one", [], [1.0])])
        f, n = pattern.function, pattern.number
        found = self.look(lambda g: [
            len(list(g.matches(what)))
            for what in (f("sub", n(1.0), pattern.value()), f("sub", pattern.value(), n(1.0)))
        ], model)
        self.assertEqual(found, [1, 0])

    def test_what_cannot_be_added(self):
        def look(g):
            h, x = g.value("h_1"), g.inputs[0].value
            for call, error, text in (
                (lambda: g.add("nothing", h), hone.BadInput, "unknown operator 'nothing'"),
                (lambda: g.function("nothing", h), hone.BadInput, "nothing"),
                (lambda: g.add("dense", h, x), hone.BadInput, "dense: "),
                (lambda: g.add("dense", h, x, m=3), hone.BadInput, "dense: "),
                (lambda: g.like(h.producer, nothing=3), hone.BadInput, "dense has no attribute 'nothing'"),
                (lambda: g.like(h.producer, x), hone.BadInput, "it takes 2 inputs, not 1"),
                (lambda: g.add_workload("dense(m=2,n=3,k=4)", h, x), hone.BadInput, r"%h_1 is f32\[1, 8\], not"),
                (lambda: g.replace(h, x), hone.BadInput, r"replace: %h_1 is f32\[1, 8\], %x is f32\[1, 16\]"),
                (lambda: g.set_input(h.producer, 0, h), hone.BadInput, "set_input: "),
                (lambda: g.function("relu", 3), TypeError, "3 is no value of the graph"),
                (lambda: g.transpose(h, 1.5), TypeError, ""),
                (lambda: g.add("transpose", h, perm={}), TypeError, "attribute perm"),
                (lambda: g.constant([]), ValueError, "no elements"),
                (lambda: g.value("nothing"), KeyError, "nothing"),
            ):
                with self.assertRaisesRegex(error, text) as raised:
                    call()
                self.assertNotIn("\n", str(raised.exception))
            self.assertEqual(len(g.nodes), 4)
            other.append(h)
            if len(other) > 1:
                with self.assertRaisesRegex(ValueError, "is of another graph"):
                    g.function("relu", other[0])

        other = []
        self.look(look)
        self.look(look)
        with self.assertRaisesRegex(ValueError, "can be read while the pass runs"):
            other[0].producer.inputs[1].constant


class Wrong(Case):
    """The pass is named; nothing is built."""

    def setUp(self):
        super().setUp()
        before = os.getcwd()
        os.chdir(self.folder)  # reproducers come to lie there
        self.addCleanup(os.chdir, before)

    def refused(self, function, error, text, **options):
        own = hone.graph_pass(function, name="mine")
        with self.assertRaisesRegex(error, text) as raised:
            hone.compile(onnx.silu(), passes=[own], output="m.so", threads=1, **options)
        self.assertFalse(os.path.exists("m.so"))
        return raised.exception

    def test_it_raises(self):
        def raises(g):
            raise ZeroDivisionError("of mine")

        error = self.refused(raises, ZeroDivisionError, "of mine")
        if sys.version_info >= (3, 11):
            self.assertEqual(error.__notes__, ["in graph pass 'mine'"])
        with self.assertRaises(ZeroDivisionError):
            hone.tune(onnx.silu(), passes=[raises], trials=1, progress=False)

    def test_it_returns_something_else(self):
        self.refused(lambda g: 3, TypeError, "graph pass 'mine' returned 3, which is no graph")
        kept = []
        hone.emit(onnx.silu(), passes=[lambda g: kept.append(g)])
        self.refused(lambda g: kept[0], ValueError, "graph pass 'mine' returned another graph")
        self.assertIn("silu", hone.emit(onnx.silu(), passes=[lambda g: use_silu(g) or g]))

    def test_a_circle(self):
        def circle(g):
            first = g.function("relu", g.value("h_1"))
            second = g.function("neg", first)
            g.replace(g.value("h_1"), second)
            g.set_input(first.producer, 0, second)

        error = self.refused(circle, hone.BadInput, "^graph pass 'mine': node .* reads what is computed from it$")
        self.assertNotIn("\n", str(error))
        with open("tensorc-mine.txt", encoding="utf-8") as f:
            text = f.read()
        self.assertIn("--emit graph:after=mine", text)
        self.assertIn("graph model", text)

    def test_a_node_that_is_none(self):
        def edit(g):
            g.value("s").producer.workload = "elementwise(op=sigmoid,shape=1x9,operands=none,dtype=f32)"

        self.refused(edit, hone.BadInput, "^graph pass 'mine': .*is f32.1, 8., not f32.1, 9.")

        def nonsense(g):
            g.value("s").producer.workload = "nothing(a=1)"

        self.refused(nonsense, hone.BadInput, "^graph pass 'mine': .*unknown.*nothing.*%s = nothing")

    def test_other_outputs(self):
        def rename(g):
            g.outputs[0].name = "z"

        self.refused(rename, hone.BadInput, r"^graph pass 'mine': output 0 is 'z' f32\[1, 8\], not 'y' f32\[1, 8\]$")

        def drop(g):
            g.inputs = ()

        self.refused(drop, hone.BadInput, "^graph pass 'mine': ")

    def test_other_numbers_are_found_by_the_check(self):
        def wrong(g):
            for m in g.matches(pattern.function("sigmoid", pattern.value("x"))):
                g.replace(m.value, g.function("hard_sigmoid", m["x"]))

        text = "^graph pass 'mine' changes what is computed: output 'y' is not .* off by "
        error = self.refused(wrong, hone.BadInput, text, check=True)
        self.assertNotIn("\n", str(error))
        # The one that is to blame, among others.
        with self.assertRaisesRegex(hone.BadInput, "graph pass 'wrong' changes"):
            hone.compile(onnx.silu(), passes=[wrong, drop_additions_zero_late], check=True)
        with open("tensorc-mine.txt", encoding="utf-8") as f:
            text = f.read()
        self.assertRegex(text, f"python3 -m hone compile .* --passes {__file__} .*--check\n")

    def test_names_and_places(self):
        def same(g):
            pass

        for name, place, text in (
            ("a b", "import", "a name is of letters"), ("fold_pads", "import", "there is a pass of this name already"),
            ("mine", "nothing", "there is no pass 'nothing' to run after; there are import, "),
        ):
            with self.assertRaisesRegex(hone.BadInput, f"^graph pass '{name}': {text}"):
                hone.emit(onnx.silu(), passes=[hone.graph_pass(same, after=place, name=name)])
        with self.assertRaisesRegex(ValueError, "after a pass, or before one"):
            hone.graph_pass(same, after="a", before="b")
        with self.assertRaisesRegex(TypeError, "a graph pass is a function"):
            hone.emit(onnx.silu(), passes=[3])
        self.assertEqual(repr(use_gelu), "<hone.GraphPass use_gelu, before fuse_elementwise>")

    def test_one_may_be_left_out(self):
        text = hone.emit(onnx.silu(), passes=[use_silu], optimize=0, flags=["--disable=use_silu"])
        self.assertIn("sigmoid", text)


@hone.graph_pass(after="wrong")
def drop_additions_zero_late(g):
    """As drop_additions_of_zero, elsewhere."""
    drop_additions_of_zero(g)


NEVER_RETURNS = """
import time, hone, sys
sys.path.insert(0, {folder!r})
from small_onnx import silu

@hone.graph_pass
def waits(g):
    print("in it", flush=True)
    while True:
        time.sleep(0.01)

try:
    {call}
except KeyboardInterrupt as e:
    print("ended", getattr(e, "__notes__", ["in graph pass 'waits'"]))
"""


class NeverReturns(Case):
    def test_ctrl_c_ends_it(self):
        here = os.path.dirname(os.path.abspath(__file__))
        for call in ("hone.compile(silu(), passes=[waits])",
                     "hone.tune(silu(), passes=[waits], trials=1, progress=False)"):
            with self.subTest(call):
                code = textwrap.dedent(NEVER_RETURNS.format(folder=here, call=call))
                with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as child:
                    self.assertEqual(child.stdout.readline(), "in it\n")
                    child.send_signal(signal.SIGINT)
                    printed, _ = child.communicate(timeout=60)
                self.assertEqual(printed, "ended [\"in graph pass 'waits'\"]\n")
                self.assertEqual(child.returncode, 0)


class Threads(Case):
    def test_one_may_compile_with_passes_in_each(self):
        """The perceptron, built from several threads at once."""
        results, x = {}, sample(3)

        def build(number):
            seen = []

            def look(g):
                time.sleep(0.05)
                seen.append(g.name)

            model = self.perceptron(passes=[look])
            results[number] = (len(seen), model(x))

        threads = [threading.Thread(target=build, args=(i,)) for i in range(3)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        for count, y in results.values():
            self.assertEqual(count, 1)
            np.testing.assert_array_equal(y, perceptron_of(x))
        self.assertEqual(len(results), 3)


if __name__ == "__main__":
    unittest.main()

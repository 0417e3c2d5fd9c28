"""Definitions and schedules in Python: every primitive keeps the meaning, what is wrong is said."""

import pathlib
import tempfile
import ast
import copy
import os
import re
import threading
import unittest

import hone
import numpy as np
from hone import te

RANDOM = np.random.default_rng(1)


def matrices(m=24, n=40, k=32):
    a = RANDOM.standard_normal((m, k)).astype(np.float32)
    b = RANDOM.standard_normal((k, n)).astype(np.float32)
    return a, b


class Matmul:
    """C = A B with a stage behind it, D = max(C, 0), and its schedule."""

    def __init__(self, m=24, n=40, k=32):
        self.A = te.placeholder((m, k), name="A")
        self.B = te.placeholder((k, n), name="B", constant=True)
        self.k = te.reduce_axis(k, name="k")
        self.C = te.compute((m, n), lambda i, j: te.sum(self.A[i, self.k] * self.B[self.k, j], axis=self.k), name="C")
        self.D = te.compute((m, n), lambda i, j: te.maximum(self.C[i, j], 0), name="D")
        self.s = te.Schedule(self.D, inputs=[self.A, self.B])
        self.a, self.b = matrices(m, n, k)

    def check(self, test):
        got = hone.build(self.s, threads=2)(self.a, self.b)
        np.testing.assert_allclose(got, np.maximum(self.a @ self.b, 0), rtol=1e-4, atol=1e-5)
        self.lowered = hone.lower(self.s)
        return self


class Primitives(unittest.TestCase):
    """One test a primitive, called as its method."""

    def setUp(self):
        self.m = Matmul()
        self.s, self.C, self.D = self.m.s, self.m.C, self.m.D
        self.i, self.j, self.k = self.s.loops(self.C)

    def tearDown(self):
        self.m.check(self)

    def test_nothing(self):
        self.assertEqual(self.s.steps, "")
        self.assertEqual([loop.extent for loop in self.s.loops(self.C)], [24, 40, 32])
        self.assertIn("C[i, j] + A[i, k] * B[k, j]", str(self.s))

    def test_split(self):
        outer, inner = self.s.split(self.i, 7)
        self.assertEqual((outer.extent, inner.extent), (4, 7))
        self.assertEqual([loop.extent for loop in self.s.split(self.k, [1, 4, 4])], [2, 4, 4])
        self.assertEqual(self.s.steps.splitlines()[0], "split(i, 7) -> i_o, i_i")

    def test_split_parts(self):
        outer, inner = self.s.split_parts(self.j, 3)
        self.assertEqual((outer.extent, inner.extent), (3, 14))

    def test_tile(self):
        self.assertEqual([loop.extent for loop in self.s.tile(self.i, self.j, 8, 16)], [3, 3, 8, 16])

    def test_fuse(self):
        self.assertEqual(self.s.fuse(self.i, self.j).extent, 24 * 40)

    def test_reorder(self):
        self.s.reorder(self.k, self.i, self.j)
        self.assertEqual([loop.extent for loop in self.s.loops(self.C)], [32, 24, 40])

    def test_vectorize(self):
        self.s.reorder(self.k, self.j)
        self.s.vectorize(self.s.split(self.j, 16)[1])

    def test_unroll(self):
        self.s.unroll(self.s.split(self.k, 4)[1])

    def test_parallel(self):
        self.s.parallel(self.i)

    def test_compute_at(self):
        self.s.compute_at(self.C, self.s.loop(self.D, "i"))

    def test_reverse_compute_at(self):
        self.s.reverse_compute_at(self.D, self.j)

    def test_compute_inline(self):
        self.s.compute_inline(self.s.cache_read(self.m.A, self.C, "workspace"))

    def test_reverse_compute_inline(self):
        copied = self.s.cache_write(self.C, "workspace")
        self.s.reverse_compute_inline(self.D)
        self.assertIsInstance(copied, te.Block)

    def test_cache_read(self):
        cached = self.s.cache_read("A", self.C, "stack")
        self.s.compute_at(cached, self.i)
        self.assertNotEqual(cached.buffer, "A")

    def test_cache_write(self):
        copy = self.s.cache_write(self.D, "stack")
        self.s.compute_at(self.D, self.s.loops(copy)[0])

    def test_pad(self):
        self.assertGreaterEqual(len(self.s.pad(self.C, [16, 16, 1])), 1)

    def test_decompose_reduction(self):
        self.s.decompose_reduction(self.C, self.k)

    def test_rfactor(self):
        outer, inner = self.s.split(self.k, 8)
        self.assertIsInstance(self.s.rfactor(self.C, inner), te.Block)

    def test_transform_layout(self):
        self.s.transform_layout(self.m.B, "MN8n", "MN")

    def test_set_scope(self):
        self.s.compute_at(self.C, self.s.loop(self.D, "i"))
        self.s.set_scope(self.C, "stack")

    def test_storage_align(self):
        self.s.storage_align(self.C, 0, 32, 8)

    def test_double_buffer(self):
        cached = self.s.cache_read(self.m.A, self.C, "stack")
        self.s.compute_at(cached, self.s.split(self.k, 8)[0])
        self.s.double_buffer(cached)

    def test_prepack(self):
        self.s.prepack(self.s.cache_read(self.m.B, self.C, "workspace"))

    def test_annotate(self):
        self.s.annotate(self.k, "prefetch", 4)
        self.s.annotate("vector_bits", 256)

    def test_tensorize(self):
        A = te.placeholder((8, 64), name="A", dtype="uint8")
        B = te.placeholder((16, 32, 4), name="B", dtype="int8")
        ko, ki = te.reduce_axis(16, name="ko"), te.reduce_axis(4, name="ki")
        C = te.compute(
            (8, 32),
            lambda i, j: te.sum(A[i, ko * 4 + ki].astype("int32") * B[ko, j, ki].astype("int32"), axis=[ko, ki]),
            name="C",
        )
        s = te.Schedule(C, inputs=[A, B])
        i, j, outer, inner = s.loops(C)
        s.reorder(outer, j, inner)
        before = str(s)
        s.tensorize(C, j, "dot_u8s8_s32")
        self.assertIn("dot4", str(s))
        self.assertNotIn("dot4", before)
        a = RANDOM.integers(0, 255, (8, 64), dtype=np.uint8)
        b = RANDOM.integers(-128, 127, (16, 32, 4), dtype=np.int8)
        packed = b.transpose(0, 2, 1).reshape(64, 32).astype(np.int32)
        np.testing.assert_array_equal(hone.build(s, threads=1)(a, b), a.astype(np.int32) @ packed)

    def test_tensorize_refuses_what_does_not_fit(self):
        with self.assertRaisesRegex(hone.BadInput, "tensorize: .*dot_u8s8_s32"):
            self.s.tensorize(self.C, self.k, "dot_u8s8_s32")
        with self.assertRaisesRegex(hone.BadInput, "there is no intrinsic 'dot_u8_s8_s32'; there are .*dot_u8s8_s32"):
            self.s.tensorize(self.C, self.k, "dot_u8_s8_s32")

    def test_names_in_the_texts_are_intrinsics(self):
        """Names that people copy from the documentation are there."""
        with self.assertRaises(hone.BadInput) as caught:
            self.s.tensorize(self.C, self.k, "")
        known = set(str(caught.exception).split("there are ")[1].split(", "))
        for text in (te.Schedule.__doc__, te.Schedule.tensorize.__doc__):
            named = re.findall(r'"((?:dot|fma|mma)_\w+)"', text)
            self.assertTrue(named)
            self.assertEqual(set(named) - known, set())

    def test_bind(self):
        """Threads of a GPU, which this process does not have: the text computes the same."""
        m = Matmul()
        m.s.compute_at(m.C, m.s.loop(m.D, "j"))
        m.s.set_scope(m.C, "stack")
        m.s.bind(m.s.loop(m.D, "i"), "block")
        m.s.bind(m.s.loop(m.D, "j"), "thread")
        text = hone.source(m.s, "cuda", "cuda -arch=sm_90")
        self.assertIn("blockIdx.x", text)
        self.assertIn("threadIdx.x", text)

    def test_bind_refuses_what_does_not_fit(self):
        with self.assertRaisesRegex(hone.BadInput, "bind: "):
            self.s.bind(self.k, "thread")
        with self.assertRaisesRegex(ValueError, "block, thread and warp"):
            self.s.bind(self.i, "vthread")

    def test_each_primitive_has_a_test(self):
        methods = {n for n in dir(te.Schedule) if not n.startswith("_")} - {"loops", "loop", "steps", "record", "apply"}
        tested = {n[len("test_"):] for n in dir(self) if n.startswith("test_")}
        self.assertEqual(methods - tested, set())


class Schedules(unittest.TestCase):
    def test_sums_are_not_decomposed_around_what_recomputes_them(self):
        x = te.placeholder((4, 3), name="x")
        k = te.reduce_axis(3, "k")
        row = te.compute((4,), lambda i: te.sum(x[i, k], axis=k), name="row")
        s = te.Schedule(te.compute((4, 3), lambda i, j: x[i, j] - row[i], name="o"))
        loops = s.loops("o")
        s.compute_at(row, loops[1])
        for loop in loops:
            with self.assertRaisesRegex(hone.BadInput, "anew"):
                s.decompose_reduction(row, loop)
        s.decompose_reduction(row, s.loops(row)[-1])
        values = np.arange(12, dtype=np.float32).reshape(4, 3)
        np.testing.assert_array_equal(hone.build(s)(values), values - values.sum(1, keepdims=True))

    def test_outputs_stay_outputs(self):
        x = te.placeholder((4,), name="x")
        a = te.compute((4,), lambda i: x[i] * 3, name="a")
        b = te.compute((4,), lambda i: a[i] + 1, name="b")
        s = te.Schedule([a, b])
        with self.assertRaisesRegex(hone.BadInput, "output"):
            s.reverse_compute_inline(b)
        got = hone.build(s)(np.ones(4, np.float32))
        np.testing.assert_array_equal(got[0], np.full(4, 3))

    def test_the_child_of_a_fork_is_told_to_build(self):
        m = Matmul()
        m.s.parallel(m.s.loops(m.C)[0])
        kernel = hone.build(m.s, threads=2)
        kernel(m.a, m.b)
        child = os.fork()
        if child == 0:
            try:
                kernel(m.a, m.b)
            except hone.BadInput as e:
                os._exit(0 if "fork" in str(e) else 2)
            os._exit(1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)

    def test_int8_products_from_a_copy(self):
        A = te.placeholder((8, 64), name="A", dtype="uint8")
        B = te.placeholder((16, 64), name="B", dtype="int8")
        k = te.reduce_axis(64, name="k")
        C = te.compute(
            (8, 16), lambda i, j: te.sum(A[i, k].astype("int32") * B[j, k].astype("int32"), axis=k), name="C"
        )
        s = te.Schedule(C, inputs=[A, B])
        i, j, k = s.loops(C)
        ko, ki = s.split(k, 4)
        s.reorder(ko, j, ki)
        packed = s.cache_read(B, C, "workspace")
        a = RANDOM.integers(0, 255, (8, 64), dtype=np.uint8)
        b = RANDOM.integers(-128, 127, (16, 64), dtype=np.int8)
        np.testing.assert_array_equal(hone.build(s)(a, b), a.astype(np.int32) @ b.astype(np.int32).T)
        self.assertIsInstance(packed, te.Block)

    def test_a_gpu_s_text(self):
        m = Matmul()
        m.s.compute_at(m.C, m.s.loop(m.D, "j"))
        m.s.set_scope(m.C, "stack")
        m.s.bind(m.s.loop(m.D, "i"), "block")
        m.s.bind(m.s.loop(m.D, "j"), "thread")
        self.assertIn("__global__", hone.source(m.s, "cuda", "cuda -arch=sm_90"))
        self.assertIn("__kernel", hone.source(m.s, "opencl", "opencl"))
        # Where there is such a GPU it is built.
        try:
            self.assertEqual(hone.build(m.s, "cuda -arch=sm_90").device, "cuda")
        except hone.NoDevice as e:
            self.assertIn("cuda", str(e).lower())

    def test_a_kernel_is_an_artifact(self):
        m = Matmul()
        kernel = hone.build(m.s)
        inputs = [RANDOM.random(shape, dtype=np.float32) for _, _, shape in kernel.inputs]
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder)
            for end in ("so", "o", "c"):
                kernel.save(path / f"libproduct-2.{end}")
            with hone.open(path / "libproduct-2.so") as opened:
                np.testing.assert_array_equal(opened(*inputs), kernel(*inputs))
                self.assertEqual([t[0] for t in opened.inputs], [t[0] for t in kernel.inputs])
            self.assertIn("int32_t product_2_run(", (path / "libproduct-2.h").read_text())
            self.assertIn("product_2_run", (path / "libproduct-2.c").read_text())
            files = {f.name for f in path.iterdir()}
            self.assertLessEqual({"libproduct-2.o", "libproduct-2_run.o"}, files)
            with self.assertRaisesRegex(hone.BadInput, r"ends with none of .so, .o, .c"):
                kernel.save(path / "k.txt")
            with self.assertRaisesRegex(hone.BadInput, "cannot be written"):
                kernel.save(path / "none" / "k.so")
            self.assertEqual({f.name for f in path.iterdir()}, files)

    def test_texts(self):
        m = Matmul()
        self.assertIn("define", hone.source(m.s, "llvm"))
        self.assertIn("ret", hone.source(m.s, "asm"))
        self.assertIn("func kernel", hone.lower(m.s))
        self.assertIn("func kernel", str(hone.build(m.s)))

    def test_several_outputs(self):
        x = te.placeholder((6,), name="x")
        up = te.compute((6,), lambda i: x[i] + 1, name="up")
        down = te.compute((6,), lambda i: x[i] - 1, name="down")
        a = np.arange(6, dtype=np.float32)
        one, other = hone.build(te.Schedule([up, down]))(a)
        np.testing.assert_array_equal(one, a + 1)
        np.testing.assert_array_equal(other, a - 1)

    def test_threads_take_turns(self):
        m = Matmul()
        kernel = hone.build(m.s, threads=2)
        wrong = []

        def work(factor):
            a = m.a * factor
            for _ in range(100):
                if not np.allclose(kernel(a, m.b), np.maximum(a @ m.b, 0), rtol=1e-4, atol=1e-4):
                    wrong.append(factor)

        threads = [threading.Thread(target=work, args=(f,)) for f in (np.float32(1), np.float32(-2), np.float32(3))]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(wrong, [])
        self.assertGreater(kernel.time(m.a, m.b, repeats=2), 0)

    def test_what_another_schedule_has_is_refused(self):
        one, two = Matmul(), Matmul()
        loop = two.s.loops(two.C)[0]
        for call in (lambda: one.s.split(loop, 2), lambda: one.s.compute_inline(two.s["C"]), lambda: one.s["E"]):
            with self.assertRaises(hone.BadInput):
                call()
        steps = one.s.steps
        with self.assertRaisesRegex(hone.BadInput, "vectorize: loop 'k'.*"):
            one.s.vectorize(one.s.loop(one.C, "k"))
        self.assertEqual(one.s.steps, steps)


class Arguments(unittest.TestCase):
    """Calls with wrong arguments are answered in one line, which names the argument."""

    def check(self, call, line):
        with self.assertRaises(TypeError) as raised:
            call()
        self.assertEqual(str(raised.exception), line)

    def test_of_primitives(self):
        m = Matmul()
        s, (i, j, k) = m.s, m.s.loops(m.C)
        steps = s.steps
        for call, line in (
            (lambda: s.split(i, "4"), "split: by must be an int or a list of ints, not str"),
            (lambda: s.split(i, [4, "4"]), "split: by must be an int or a list of ints, not one with a str"),
            (lambda: s.split("i", 4), "split: loop must be a loop, not str"),
            (lambda: s.split(i), "split: by is missing; it takes loop, by"),
            (lambda: s.split(by=4), "split: loop is missing; it takes loop, by"),
            (lambda: s.split(i, 4, 5), "split: 3 arguments; it takes loop, by"),
            (lambda: s.split(i, factor=4), "split: there is no argument 'factor'; it takes loop, by"),
            (lambda: s.split(i, 4, by=4), "split: by is given twice"),
            (lambda: s.split(i, 1 << 70), "split: a number is too large"),
            (lambda: s.tile(i, j, 4.5, 2), "tile: factor_y must be an int, not float"),
            (lambda: s.pad(m.C, ["x"]), "pad: multiples must be a list of ints, not one with a str"),
            (lambda: s.bind(i, 3), "bind: kind must be a str, not int"),
            (lambda: s.compute_at(3, i), "compute_at: producer must be a block, a tensor or a str, not int"),
            (lambda: s.annotate(i, "prefetch", "x"), "annotate: value must be an int, not str"),
            (lambda: s[3], "Schedule[]: block must be a block, a tensor or a str, not int"),
            (lambda: s.reorder(i, 1), "reorder: a loop, not int"),
            (lambda: s.reorder(loops=[i, j]), "reorder: there is no argument 'loops'; it takes none by name"),
        ):
            with self.subTest(line):
                self.check(call, line)
        self.assertEqual(s.steps, steps)
        s.split(i, by=np.int64(4))  # a right factor goes through

    def test_of_definitions_and_kernels(self):
        m = Matmul()
        for call, line in (
            (lambda: te.placeholder([[2]], "x"), "placeholder 'x': an extent is a whole number or a size, not list"),
            (lambda: te.reduce_axis(None, "x"), "axis 'x': an extent is a whole number or a size, not NoneType"),
            (lambda: te.where(1, 2), "where: b is missing; it takes condition, a, b"),
            (lambda: te.Schedule(3), "Schedule: outputs must be a tensor or a list of tensors, not int"),
            (lambda: te.Schedule("C"), "Schedule: outputs must be a tensor or a list of tensors, not str"),
            (lambda: te.Schedule(m.C, [3]), "Schedule: inputs must be a tensor or a list of tensors, not one with int"),
            (lambda: te.Schedule(), "Schedule: outputs is missing; it takes outputs, inputs, sizes"),
            (lambda: te.build(3), "Kernel: schedule must be a schedule, not int"),
            (lambda: te.build(m.s, target=3), "Kernel: target must be a str, not int"),
            (lambda: te.build(m.s, threads="x"), "Kernel: threads must be an int or None, not str"),
            (lambda: te.lower(m.s, threads="x"), "lower: threads must be an int, not str"),
            (lambda: te.source(m.s, 3), "source: kind must be a str, not int"),
            (lambda: te.build(m.s).time(m.a, m.b, repeats="x"), "time: repeats must be an int, not str"),
            (lambda: te.build(m.s).time(m.a, m.b, times=3), "time: there is no argument 'times'; it takes repeats"),
        ):
            with self.subTest(line):
                self.check(call, line)

    def test_functions_keep_their_names_and_texts(self):
        self.assertEqual(te.Schedule.split.__name__, "split")
        self.assertTrue(te.Schedule.split.__doc__.startswith("split(loop, by) -> loops"))


class Objects(unittest.TestCase):
    def test_there_are_none_that_were_not_initialized(self):
        m = Matmul()
        for module in (hone._hone, hone._te, te):
            for name, bound in vars(module).items():
                if not isinstance(bound, type) or not bound.__module__.startswith("hone"):
                    continue
                for make in (lambda: bound.__new__(bound), lambda: type("Derived", (bound,), {})()):
                    with self.assertRaises(TypeError, msg=name):
                        make()
        for whole in (m.A, m.s, m.s["C"], m.s.loops(m.C)[0]):
            with self.assertRaises(TypeError):
                copy.copy(whole)

    def test_a_class_of_ones_own_is_made_as_ours(self):
        class Named(te.Schedule):
            def name(self):
                return self["C"].buffer

        m = Matmul()
        self.assertEqual(Named(m.C).name(), "C")
        self.assertEqual(Named(outputs=[m.C], inputs=[m.B, m.A])["C"].buffer, "C")


class Records(unittest.TestCase):
    def test_are_applied_to_another_schedule(self):
        one, other = Matmul(), Matmul()
        copy = one.s.cache_write(one.C, "stack")
        io, jo, ii, ji = one.s.tile(*one.s.loops(copy), 4, 8)
        one.s.vectorize(ji)
        self.assertEqual(Matmul().s.record, "[]")
        other.s.apply(one.s.record)
        self.assertEqual(str(other.s), str(one.s))
        one.s.parallel(io)
        other.s.apply("[[" + one.s.record.rpartition("],[")[2])  # the last step alone
        self.assertEqual(str(other.s), str(one.s))
        other.check(self)

    def test_that_do_not_fit_change_nothing(self):
        m = Matmul()
        m.s.vectorize(m.s.loops(m.D)[1])
        before = str(m.s)
        for record in (
            "", "[", "split(i, 4)", '[["fly",[]]]', '[["split",[0]]]', '[["split",[99,4]]]', '[["cache_write",[0,99]]]',
            '[["bind",[0,99]]]', '[["split",[0,4]],["split",[0,4]]]', '[["transform_layout",[7,7,7],"A"]]',
        ):
            with self.subTest(record), self.assertRaises(hone.BadInput):
                m.s.apply(record)
            self.assertEqual(str(m.s), before)


class Outputs(unittest.TestCase):
    def test_are_written_where_the_caller_says(self):
        A = te.placeholder((3, 5), name="A")
        B = te.compute((3, 5), lambda i, j: A[i, j] * 2, name="B")
        C = te.compute((5, 3), lambda i, j: A[j, i] > 1, name="C")
        a = np.arange(15, dtype=np.float32).reshape(3, 5)
        double, both = hone.build(te.Schedule(B), threads=1), hone.build(te.Schedule([B, C], inputs=[A]), threads=1)
        y, z = np.zeros((3, 5), np.float32), np.zeros((5, 3), bool)
        self.assertIs(double(a, out=y), y)
        np.testing.assert_array_equal(y, 2 * a)
        y[:] = 0
        given = both(a, out=(y, z))
        self.assertIs(given[0], y)
        self.assertIs(given[1], z)
        np.testing.assert_array_equal(y, 2 * a)
        np.testing.assert_array_equal(z, (a > 1).T)
        self.assertIs(double(a, out=a), a)  # its input is read before
        np.testing.assert_array_equal(a, y)

    def test_that_do_not_fit_are_refused(self):
        A = te.placeholder((3, 5), name="A")
        double = hone.build(te.Schedule(te.compute((3, 5), lambda i, j: A[i, j] * 2, name="B")), threads=1)
        a = np.ones((3, 5), np.float32)
        fixed = np.zeros((3, 5), np.float32)
        fixed.flags.writeable = False
        for out, error, text in (
            (np.zeros((5, 3), np.float32), ValueError, r"'B' is of shape \(3, 5\), given is \(5, 3\)"),
            (np.zeros((3, 5)), TypeError, "float64"), (np.zeros((5, 3), np.float32).T, ValueError, "row-major"),
            (fixed, ValueError, "read-only"), ([a, a], TypeError, "has 1 outputs, given are 2"),
            ("y", TypeError, "array"),
        ):
            with self.assertRaisesRegex(error, text):
                double(a, out=out)
        with self.assertRaisesRegex(TypeError, "not by name"):
            double(A=a)


class Stubs(unittest.TestCase):
    def test_stubs_have_what_there_is(self):
        for module in (hone._hone, hone._te):
            stub = os.path.join(os.path.dirname(hone.__file__), module.__name__.split(".")[1] + ".pyi")
            with open(stub, encoding="utf-8") as f:
                tree = ast.parse(f.read())
            said = {n.name: n for n in tree.body if isinstance(n, (ast.ClassDef, ast.FunctionDef))}
            there = {n for n in dir(module) if not n.startswith("_")}
            self.assertEqual(there - set(said), set(), stub)
            self.assertEqual({n for n in said if not n.startswith("_")} - there, set(), stub)
            for name, node in said.items():
                if not isinstance(node, ast.ClassDef) or name.startswith("_"):
                    continue
                members = {m.name for m in node.body if isinstance(m, ast.FunctionDef)}
                members |= {m.target.id for m in node.body if isinstance(m, ast.AnnAssign)}
                if any(b.id == "_Operators" for b in node.bases):
                    members |= {"astype", "dtype"}
                is_public = {m for m in dir(getattr(module, name)) if not m.startswith("_")}
                self.assertEqual({m for m in members if not m.startswith("_")}, is_public, f"{stub}: {name}")


if __name__ == "__main__":
    unittest.main()

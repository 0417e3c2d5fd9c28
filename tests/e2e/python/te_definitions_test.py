"""Definitions beyond sums: places of extremes, scans, and named sizes."""

import itertools
import unittest

import hone
import numpy as np
from hone import te
from support import Case

RANDOM = np.random.default_rng(3)


def values_of(*shape):
    """Few different ones, so that some are equal."""
    return RANDOM.integers(-3, 4, shape).astype(np.float32)


class Places(unittest.TestCase):
    def stage(self, rows, columns, which="argmax", dtype="float32"):
        X = te.placeholder((rows, columns), name="X", dtype=dtype)
        r = te.reduce_axis(columns, name="r")
        return te.compute((rows,), lambda i: getattr(te, which)(X[i, r], axis=r), name="C")

    def test_are_those_of_numpy(self):
        x = values_of(37, 19)
        x[3, 7] = x[3, 11] = x[5, 0] = x[6, 18] = np.nan
        x[8] = -np.inf
        x[9] = np.inf
        x[10] = np.nan
        x[11, ::2], x[11, 1::2] = 0.0, -0.0
        x[12] = np.float32(1e-42)
        for which, dtype in itertools.product(("argmax", "argmin"), ("int64", "int32")):
            X = te.placeholder((37, 19), name="X")
            r = te.reduce_axis(19, name="r")
            D = te.compute((37,), lambda i: getattr(te, which)(X[i, r], axis=r, dtype=dtype), name="D")
            got = hone.build(te.Schedule(D))(x)
            self.assertEqual(got.dtype, dtype)
            np.testing.assert_array_equal(got, getattr(np, which)(x, 1))

    def test_of_every_type(self):
        for name in ("float64", "float16", "int8", "uint8", "int32", "int64", "uint64"):
            x = RANDOM.integers(0, 9, (11, 40)).astype(name)
            if name.startswith("u"):
                x[:, 20] = np.iinfo(name).max
            for which in ("argmax", "argmin"):
                C = self.stage(11, 40, which, dtype=name)
                np.testing.assert_array_equal(hone.build(te.Schedule(C))(x), getattr(np, which)(x, 1), name)

    def test_schedules_keep_them(self):
        x = RANDOM.standard_normal((24, 50)).astype(np.float32)
        x[5, 20:] = np.nan
        wanted = np.argmax(x, 1)

        def split(s):
            for block in ("C_max", "C"):
                i, r = s.loops(block)
                ro, ri = s.split(r, 8)
                s.reorder(ri, i, ro)

        def vectors(s):
            for block in ("C_max", "C"):
                i, r = s.loops(block)
                s.reorder(r, i)
                s.vectorize(s.split(i, 8)[1])

        def factored(s):
            for block in ("C_max", "C"):
                ro, ri = s.split(s.loops(block)[1], 8)
                part = s.rfactor(block, ri)
                s.reorder(s.loops(part)[-1], s.loops(part)[-2])

        def threads(s):
            s.parallel(s.loops("C")[0])
            s.compute_at("C_max", s.loops("C")[0])

        def decomposed(s):
            for block in ("C_max", "C"):
                s.decompose_reduction(block, s.loops(block)[1])
                s.unroll(s.split(s.loops(block)[-1], 5)[1])

        for change in (split, vectors, factored, threads, decomposed):
            with self.subTest(change.__name__):
                C = self.stage(24, 50)
                s = te.Schedule(C)
                change(s)
                np.testing.assert_array_equal(hone.build(s, threads=2)(x), wanted)
        C = self.stage(24, 50)
        with self.assertRaisesRegex(hone.BadInput, "reduction loop"):
            s = te.Schedule(C)
            s.vectorize(s.loops("C")[1])

    def test_computed_values_are_found_again(self):
        a, b = RANDOM.standard_normal((2, 300)).astype(np.float32)
        A, B = te.placeholder(300, name="A"), te.placeholder(300, name="B")
        r = te.reduce_axis(300, name="r")
        C = te.compute((1,), lambda i: te.argmax(te.exp(A[r] * B[r] + 0.1) * A[r], axis=r), name="C")
        s = te.Schedule(C, inputs=[A, B])
        np.testing.assert_array_equal(hone.build(s)(a, b), [np.argmax(np.exp(a * b + np.float32(0.1)) * a)])
        with self.assertRaisesRegex(hone.BadInput, "stage 'C' looks for an element of 'C_of', which it would compute"):
            s.compute_inline("C_of")
        P = te.compute(300, lambda i: A[i] * B[i] + 1, name="P")
        s = te.Schedule(te.compute((1,), lambda i: te.argmin(P[r], axis=r), name="C"), inputs=[A, B])
        with self.assertRaisesRegex(hone.BadInput, "compute_inline: .* might round otherwise"):
            s.compute_inline(P)
        M = te.compute(300, lambda i: te.maximum(A[i], B[i]), name="M")  # exact anywhere
        s = te.Schedule(te.compute((1,), lambda i: te.argmin(M[r], axis=r), name="C"), inputs=[A, B])
        s.compute_inline(M)
        np.testing.assert_array_equal(hone.build(s)(a, b), [np.argmin(np.maximum(a, b))])

    def test_what_is_wrong_is_said(self):
        X = te.placeholder((4, 4), name="X")
        a, b = te.reduce_axis(4), te.reduce_axis(4)
        for call, error, text in (
            (lambda: te.argmax(X[a, b], axis=[a, b]), ValueError, "over one axis"),
            (lambda: te.argmax(X[a, b], axis=a, dtype="float32"), TypeError, "int64 or int32"),
            (lambda: te.argmax(X[a, b] > 0, axis=a), TypeError, "reduction of bools"),
        ):
            with self.assertRaisesRegex(error, text):
                call()


class Scans(unittest.TestCase):
    def sums(self, rows=20, columns=13, axis=0):
        X = te.placeholder((rows, columns), name="X")
        return te.scan((rows, columns), lambda previous, t, i: previous + X[t, i], axis=axis, name="C")

    def test_sums_and_products(self):
        x = values_of(20, 13)
        for axis in (0, 1, -1):
            C = self.sums(axis=axis)
            np.testing.assert_array_equal(hone.build(te.Schedule(C))(x), np.cumsum(x, axis))
        X = te.placeholder((20, 13), name="X")
        P = te.scan((20, 13), lambda previous, t, i: previous * X[t, i], init=1, name="P")
        np.testing.assert_array_equal(hone.build(te.Schedule(P))(x), np.cumprod(x, 0))
        N = te.placeholder((20,), name="N", dtype="int64")
        most = te.scan(20, lambda previous, t: te.maximum(previous, N[t]), init=-100, dtype="int64", name="most")
        n = RANDOM.integers(-50, 50, 20)
        np.testing.assert_array_equal(hone.build(te.Schedule(most))(n), np.maximum.accumulate(n))

    def test_recurrences(self):
        x, h = RANDOM.standard_normal((30, 8)).astype(np.float32), RANDOM.standard_normal(8).astype(np.float32)
        X, H = te.placeholder((30, 8), name="X"), te.placeholder(8, name="H")
        Y = te.scan((30, 8), lambda previous, t, i: 0.5 * previous + X[t, i], init=lambda i: H[i], name="Y")
        wanted = np.empty_like(x)
        state = h
        for t in range(30):
            wanted[t] = state = np.float32(0.5) * state + x[t]
        np.testing.assert_allclose(hone.build(te.Schedule(Y, inputs=[X, H]))(x, h), wanted, rtol=1e-5, atol=1e-6)
        # From the end: indices say so.
        R = te.scan((30, 8), lambda previous, t, i: previous + X[29 - t, i], name="R")
        B = te.compute((30, 8), lambda t, i: R[29 - t, i], name="B")
        np.testing.assert_allclose(
            hone.build(te.Schedule(B))(x), np.cumsum(x[::-1], 0)[::-1], rtol=1e-4, atol=1e-4
        )

    def test_schedules_keep_them(self):
        x = values_of(20, 13)
        wanted = np.cumsum(x, 0)

        def inner(s):
            s.reorder(*reversed(s.loops("C")))

        def vectors(s):
            s.vectorize(s.split(s.loops("C")[1], 4)[1])

        def outer_vectors(s):
            t, i = s.loops("C")
            io, ii = s.split(i, 4)
            s.reorder(io, t, ii)
            s.vectorize(ii)
            s.parallel(io)

        def unrolled(s):
            t, i = s.loops("C")
            to, ti = s.split(t, 3)
            s.reorder(i, to, ti)
            s.unroll(ti)

        def tiled(s):
            to, io, ti, ii = s.tile(*s.loops("C"), 6, 5)
            s.vectorize(ii)

        def fused(s):
            f = s.fuse(*s.loops("C"))
            s.unroll(s.split(f, 7)[1])

        def copied(s):
            s.compute_at(s.cache_read("X", "C", "stack"), s.loops("C")[0])

        for change in (inner, vectors, outer_vectors, unrolled, tiled, fused, copied):
            with self.subTest(change.__name__):
                C = self.sums()
                s = te.Schedule(C)
                change(s)
                np.testing.assert_array_equal(hone.build(s, threads=2)(x), wanted)

    def test_stages_around_them(self):
        x = values_of(20, 13)
        X = te.placeholder((20, 13), name="X")
        D = te.compute((20, 13), lambda t, i: X[t, i] * 2, name="D")
        C = te.scan((20, 13), lambda previous, t, i: previous + D[t, i], name="C")
        E = te.compute((20, 13), lambda t, i: C[t, i] + 1, name="E")
        wanted = np.cumsum(2 * x, 0) + 1
        for with_loops in (False, True):
            s = te.Schedule(E)
            if with_loops:
                s.reorder(*reversed(s.loops("C")))
                s.compute_at("D", s.loops("C")[1])
                s.reverse_compute_at("E", s.loops("C")[1])
                s.parallel(s.loops("C")[0])
            np.testing.assert_array_equal(hone.build(s, threads=2)(x), wanted)
            s.compute_inline("D")
            np.testing.assert_array_equal(hone.build(s, threads=2)(x), wanted)
        s = te.Schedule(E)
        s.reverse_compute_at("E", s.loops("C")[0])  # a step, then what reads it: the sums stay from step to step
        s.set_scope("C", "stack")
        np.testing.assert_array_equal(hone.build(s)(x), wanted)
        # Two scans, one of the other.
        S = te.scan((20, 13), lambda previous, t, i: previous + C[t, i], axis=1, name="S")
        np.testing.assert_array_equal(hone.build(te.Schedule(S))(x), np.cumsum(np.cumsum(2 * x, 0), 1))

    def test_what_breaks_their_order_is_refused(self):
        C = self.sums()
        E = te.compute((20, 13), lambda t, i: C[t, i] + 1, name="E")
        s = te.Schedule(E)
        t, i = s.loops("C")
        to, ti = s.split(t, 4)
        before = str(s)
        for call, text in (
            (lambda: s.parallel(to), "parallel: .* runs over the scan of stage 'C', whose steps follow each other"),
            (lambda: s.bind(ti, "thread"), "bind: .* runs over the scan"),
            (lambda: (s.reorder(i, ti), s.vectorize(ti)), "vectorize: .* runs over the scan"),
            (lambda: s.reorder(ti, to), "reorder: the loops of the scan of stage 'C' are to stay in their order"),
            (lambda: s.reorder(i, to), "reorder: the loops of the scan"),  # past the loop between them
            (lambda: s.compute_at("C", s.loops("E")[0]), "compute_at: .* it is a scan"),
            (lambda: s.compute_inline("C"), "compute_inline: stage 'C' is a scan"),
            (lambda: s.reverse_compute_inline("E"), "that is a scan"),
            (lambda: s.cache_write("C", "stack"), "cache_write: stage 'C' is a scan"),
            (lambda: s.pad("C", [8, 8]), "pad: stage 'C': it is a scan"),
            (lambda: s.rfactor("C", to), "not a reduction"),
            (lambda: s.decompose_reduction("C", to), "not a reduction"),
            (lambda: s.double_buffer("C"), "is a scan"),
            (lambda: s.tile(to, ti, 2, 2), "tile: both loops run over the scan"),
            (lambda: s.cache_read("C", "C", "stack"), "writes 'C'"),
        ):
            with self.subTest(text), self.assertRaisesRegex(hone.BadInput, text) as raised:
                call()
            self.assertNotIn("\n", str(raised.exception))
            if "vectorize" in text:
                s.reorder(ti, i)
        self.assertEqual(str(s).partition("\n\n")[2], before.partition("\n\n")[2])

    def test_what_is_wrong_is_said(self):
        X = te.placeholder((4, 4), name="X")
        k = te.reduce_axis(4)
        before = []
        for call, error, text in (
            (lambda: te.scan((4, 4), lambda p, t, i: p + X[t, i], axis=2), ValueError, "there is no axis 2 of 2"),
            (lambda: te.scan((4, 4), lambda p, t, i: p > X[t, i]), hone.BadInput, "its first value is f32, the next"),
            (lambda: te.scan((4, 4), lambda p, t, i: p, init=lambda i: X[i, i] > 0), hone.BadInput, "scan of bools"),
            (lambda: te.scan((4, 4), lambda p, t, i: te.sum(X[i, k], axis=k)), TypeError, "a reduction is a stage"),
            (lambda: te.scan((4, 4), lambda p, t, i: X), TypeError, "index it"),
            (lambda: te.scan((4, 4), lambda p, t, i: p, axis="0"), TypeError, "scan: axis must be an int, not str"),
            (lambda: te.scan((4, 4), lambda p, t, i: (before.append(p), p)[1]), None, ""),
            (lambda: te.Schedule(te.compute(4, lambda i: before[0])), hone.BadInput, "'t' is used outside its loop"),
            (lambda: te.Schedule(te.scan((4, 4), lambda p, t, i: p + X[t + 1, i])), hone.BadInput, "out of bounds"),
        ):
            with self.subTest(text):
                if error is None:
                    call()
                    continue
                with self.assertRaisesRegex(error, text):
                    call()

    def test_a_gpu_s_threads_have_one_each(self):
        C = self.sums(20, 64)
        s = te.Schedule(C)
        t, i = s.loops("C")
        s.reorder(i, t)
        block, thread = s.split(i, 32)
        s.bind(block, "block")
        s.bind(thread, "thread")
        text = hone.source(s, "cuda", "cuda -arch=sm_90")
        self.assertIn("for (", text)
        for kind in ("cuda", "opencl"):
            try:
                kernel = hone.build(s, kind)
            except hone.NoDevice:
                continue
            x = values_of(20, 64)
            np.testing.assert_array_equal(kernel(x), np.cumsum(x, 0))


class Searches(Case):
    def test_scans_and_places_are_searched(self):
        @hone.template
        def sums(k, rows, columns):
            lanes = k.choice("lanes", [4, 8])
            X = te.placeholder((rows, columns), name="X")
            C = te.scan((rows, columns), lambda previous, t, i: 0.75 * previous + X[t, i], name="C")
            r = te.reduce_axis(columns, name="r")
            D = te.compute((rows,), lambda t: te.argmax(C[t, r], axis=r), name="D")
            s = te.Schedule([C, D], inputs=[X])
            t, i = s.loops("C")
            outer, inner = s.split(i, lanes)
            s.reorder(outer, t, inner)
            s.vectorize(inner)
            return s

        outcome = hone.tune(sums, 40, 24, trials=2, threads=1, progress=False)
        self.assertEqual(outcome["by_status"], {"ok": 2})
        x = RANDOM.standard_normal((40, 24)).astype(np.float32)
        y, places = hone.build(sums, 40, 24, threads=1)(x)
        np.testing.assert_array_equal(places, np.argmax(y, 1))


class Sizes(unittest.TestCase):
    def product(self):
        m, n = te.var("m"), te.var("n")
        A = te.placeholder((m, "k"), name="A")
        B = te.placeholder(("k", n), name="B")
        r = te.reduce_axis("k", name="r")
        C = te.compute((m, n), lambda i, j: te.sum(A[i, r] * B[r, j], axis=r), name="C")
        return A, B, C

    def test_one_definition_serves_several(self):
        A, B, C = self.product()
        self.assertEqual(repr(A), "<te.Tensor A: float32[m, k]>")
        self.assertEqual(
            str(C), "A: float32[m, k]\nB: float32[k, n]\nC: float32[m, n]\nC[i, j] = sum(A[i, r] * B[r, j], r < k)"
        )
        for m, n, k in ((4, 6, 8), (16, 3, 5)):
            s = te.Schedule(C, inputs=[A, B], sizes={"m": m, "n": n, "k": k})
            self.assertEqual([loop.extent for loop in s.loops(C)], [m, n, k])
            i, j, r = s.loops(C)
            s.reorder(r, j)
            s.vectorize(s.split(j, 4)[1])
            kernel = hone.build(s)
            a, b = RANDOM.random((m, k), np.float32), RANDOM.random((k, n), np.float32)
            np.testing.assert_allclose(kernel(a, b), a @ b, rtol=1e-5)
        with self.assertRaisesRegex(ValueError, r"'A' is of shape \(m, k\) = \(16, 5\), given is \(5, 5\)"):
            kernel(np.zeros((5, 5), np.float32), b)

    def test_extents_and_bodies_are_made_of_them(self):
        n = te.var("n")
        X = te.placeholder(n, name="X")
        P = te.compute(n + 2, lambda i: te.where((i >= 1) & (i < n + 1), X[i - 1], 0.0), name="P")
        H = te.compute(n // 2, lambda i: P[2 * i] + P[2 * i + 2] / n.astype("float32"), name="H")
        self.assertEqual(repr(H.shape[0]), "floordiv(n, 2)")
        x = RANDOM.random(10, np.float32)
        padded = np.pad(x, 1)
        got = hone.build(te.Schedule(H, sizes={"n": 10}))(x)
        np.testing.assert_allclose(got, padded[0:10:2] + padded[2:12:2] / np.float32(10), rtol=1e-6)
        S = te.scan(n, lambda previous, t: previous + X[t], name="S")
        np.testing.assert_allclose(hone.build(te.Schedule(S, sizes={"n": 10}))(x), np.cumsum(x), rtol=1e-5)
        r = te.reduce_axis(n)
        M = te.compute(1, lambda i: te.argmax(X[r], axis=r), name="M")
        np.testing.assert_array_equal(hone.build(te.Schedule(M, sizes={"n": 10}))(x), [np.argmax(x)])

    def test_what_is_wrong_is_said(self):
        A, B, C = self.product()
        n, F = te.var("n"), te.placeholder(4, name="F")
        for call, error, text in (
            (lambda: te.Schedule(C), hone.BadInput, "sizes: m, k, n have no number"),
            (lambda: te.Schedule(C, sizes={"m": 1, "n": 2}), hone.BadInput, "sizes: k has no number"),
            (lambda: te.Schedule(C, sizes={"m": 1, "n": 2, "k": 3, "q": 4}), hone.BadInput, "there is no 'q'.*m, k, n"),
            (lambda: te.Schedule(C, sizes={"m": 0, "n": 2, "k": 3}), hone.BadInput, "extent m of 'A' is 0"),
            (lambda: te.Schedule(C, sizes={"m": 2**62, "n": 2**62, "k": 3}), hone.BadInput, ""),
            (lambda: te.Schedule(C, sizes={"m": 1.5, "n": 2, "k": 3}), TypeError, "'m' with float"),
            (lambda: te.Schedule(C, sizes={"m": 2**70, "n": 2, "k": 3}), ValueError, "too large"),
            (lambda: te.Schedule(C, sizes=3), TypeError, "sizes must be a dict of names and numbers, not int"),
            (lambda: te.Schedule(te.compute(4, lambda i: A[0, 0]), sizes={}), hone.BadInput, "m, k have no number"),
            (lambda: te.Schedule(te.compute(4, lambda i: F[i]), sizes={"n": 1}), hone.BadInput, "there is no 'n'"),
            (lambda: te.placeholder((A[0, 0].astype("int64"),)), TypeError, "made of numbers and sizes"),
            (lambda: te.placeholder((1.5,)), TypeError, "a whole number or a size, not float"),
            (lambda: te.var("a b"), hone.BadInput, "a size is a word"), (lambda: te.var(3), TypeError, "str"),
            (lambda: te.Schedule(te.compute(n, lambda i: F[i]), sizes={"n": 5}), hone.BadInput, "bounds"),
        ):
            with self.subTest(text), self.assertRaisesRegex(error, text) as raised:
                call()
            self.assertNotIn("\n", str(raised.exception))


if __name__ == "__main__":
    unittest.main()

"""Expressions of definitions in Python, and what is refused in them."""

import functools
import unittest

import hone
import numpy as np
from hone import te


class Expressions(unittest.TestCase):
    def of(self, body, *arrays, dtype=None):
        """The values that the elementwise body gives for arrays."""
        inputs = [te.placeholder(a.shape, name=f"x{n}", dtype=str(a.dtype)) for n, a in enumerate(arrays)]
        out = te.compute(arrays[0].shape, lambda i: body(*(x[i] for x in inputs)), name="out")
        return hone.build(te.Schedule(out, inputs=inputs), threads=1)(*arrays)

    def test_where_of_two_numbers(self):
        x = np.array([-2.5, -1, 0.25, 3], np.float32)
        for below, above, dtype in ((1.0, 2.0, np.float32), (1, 2.5, np.float32), (-1, 7, np.int32)):
            chosen = self.of(lambda a: te.where(a < 0, below, above), x)
            self.assertEqual(chosen.dtype, dtype)
            self.assertEqual(chosen.tolist(), np.where(x < 0, below, above).tolist())

    def test_functions_of_chains(self):
        x = np.array([-2.5, -1, 0.25, 3], np.float32)
        p, one = np.abs(x), np.float32(1)
        sigmoid = one / (one + np.exp(-x))
        for body, values, wanted in (
            (te.sigmoid, x, sigmoid), (te.silu, x, x * sigmoid), (te.rsqrt, p, 1 / np.sqrt(p)), (te.square, x, x * x),
            (te.reciprocal, x, 1 / x), (te.floor, x, np.floor(x)), (te.ceil, x, np.ceil(x)), (te.sign, x, np.sign(x)),
            (lambda a: te.pow(a, 1.5), p, p**1.5), (lambda a: te.pow(2, a), x, 2**x), (te.tan, x, np.tan(x)),
            (lambda a: te.clip(a, -1, 2), x, np.clip(x, -1, 2)), (te.softplus, x, np.log1p(np.exp(x))),
            (lambda a: te.fmod(a, 0.75), x, np.fmod(x, np.float32(0.75))), (te.relu6, 3 * x, np.clip(3 * x, 0, 6)),
            (te.hard_sigmoid, x, np.clip(x / 6 + 0.5, 0, 1)), (te.asinh, x, np.arcsinh(x)),
            (lambda a: te.leaky(a, 0.5), x, np.where(x < 0, x / 2, x)),
            (lambda a: te.prelu(a, a), x, np.where(x < 0, x * x, x)),
        ):
            np.testing.assert_allclose(self.of(body, values), wanted, rtol=1e-5, atol=1e-6)
        n = np.array([-3, 0, 5, 12], np.int32)
        self.assertEqual(self.of(lambda a: te.bitwise_xor(a, 6), n).tolist(), (n ^ 6).tolist())
        for body, wanted in (
            (lambda a: te.all(a > -2, a < 1, a != 0.25), (x > -2) & (x < 1) & (x != 0.25)),
            (lambda a: te.any(a > 2, a < -2, a == 0.25), (x > 2) | (x < -2) | (x == 0.25)),
        ):
            self.assertEqual(self.of(lambda a: te.where(body(a), 1, 0), x).tolist(), wanted.tolist())
        self.assertEqual(self.of(lambda a: te.where(te.is_nan(a), 1, 0), np.float32([np.nan, 1])).tolist(), [1, 0])

    def test_functions_of_chains_refuse(self):
        A = te.placeholder((4,), name="A")
        N = te.placeholder((4,), name="N", dtype="int32")
        for body, text in (
            (lambda i: te.clip(A[i], 1), r"clip\(\) of 2 values; it takes 3"),
            (lambda i: te.sigmoid(1.0), "not of float"),
            (lambda i: te.sigmoid(N[i]), r"sigmoid\(\) is not of int32"), (lambda i: te.pow(A[i], N[i]), "use astype"),
            (lambda i: te.clip(A[i], A[i], 1), "its argument 1 is a number"), (lambda i: te.floor(), "x is missing"),
            (lambda i: te.xor(A[i], A[i]), "is not of float32"),
        ):
            with self.assertRaisesRegex(TypeError, text):
                te.compute((4,), body)
        with self.assertRaisesRegex(ValueError, "make a stage of a part of it"):
            te.compute((4,), lambda i: functools.reduce(lambda x, _: te.gelu_tanh(x), range(12), A[i]))

    def test_arithmetic(self):
        x = np.array([-2.5, -1, 0.25, 3], np.float32)
        y = np.array([2, -4, 0.5, 1], np.float32)
        np.testing.assert_allclose(self.of(lambda a, b: (a + b) * 2 - a / b + (1 - a) - -b, x, y),
                                   (x + y) * 2 - x / y + (1 - x) + y, rtol=1e-6)
        np.testing.assert_array_equal(self.of(lambda a, b: te.minimum(te.maximum(a, b), 1.5), x, y),
                                      np.minimum(np.maximum(x, y), 1.5))
        n = np.array([-7, -1, 0, 9], np.int32)
        np.testing.assert_array_equal(self.of(lambda a: a // 4, n), n // 4)
        np.testing.assert_array_equal(self.of(lambda a: a % 4, n), n % 4)
        np.testing.assert_array_equal(self.of(lambda a: 3 - a, n), 3 - n)
        zeros = np.array([0.0, -0.0], np.float32)
        np.testing.assert_array_equal(np.signbit(self.of(lambda a: -a, zeros)), [True, False])

    def test_functions(self):
        x = np.array([0.1, 0.5, 1, 2.5], np.float32)
        functions = (
            (te.exp, np.exp), (te.log, np.log), (te.sqrt, np.sqrt), (te.tanh, np.tanh), (te.sin, np.sin),
            (te.cos, np.cos), (te.atan, np.arctan), (te.abs, np.abs), (te.round, np.rint),
        )
        for ours, theirs in functions:
            np.testing.assert_allclose(self.of(lambda a: ours(a), x), theirs(x), rtol=1e-5)
        erf = [0.1124629, 0.5204999, 0.8427008, 0.999593]
        np.testing.assert_allclose(self.of(lambda a: te.erf(a), x), erf, rtol=1e-4)

    def test_conditions(self):
        x = np.array([-2, -1, 0, 3], np.float32)
        np.testing.assert_array_equal(
            self.of(lambda a: te.where((a >= -1) & ~(a == 0) | (a < -1.5), a, 7), x), [-2, -1, 7, 3])
        out = self.of(lambda a: (a > 0) | (a != -1), x)
        self.assertEqual(out.dtype, np.bool_)
        np.testing.assert_array_equal(out, [True, False, True, True])

    def test_types(self):
        x = np.array([0, 1, 127, 255], np.uint8)
        np.testing.assert_array_equal(self.of(lambda a: a.astype("float32") / 2, x), x / np.float32(2))
        for name in ("float16", "float64", "int8", "int16", "int64", "uint16", "uint32"):
            got = self.of(lambda a: a.astype("int32").astype(name), x[:3])
            self.assertEqual(got.dtype, name)
            np.testing.assert_array_equal(got, x[:3].astype(name))

    def test_indices_that_are_data_are_checked_while_it_runs(self):
        x = te.placeholder((4,), name="x")
        at = te.placeholder((3,), name="at", dtype="int64")
        kernel = hone.build(te.Schedule(te.compute((3,), lambda i: x[at[i]], name="y"), inputs=[x, at]))
        values = np.arange(4, dtype=np.float32)
        np.testing.assert_array_equal(kernel(values, np.array([3, 0, 2])), [3, 0, 2])
        for wrong in (4, -1, 2**62):
            with self.assertRaisesRegex(hone.BadInput, "bounds"):
                kernel(values, np.array([0, wrong, 0]))

    def test_indices_of_several_dimensions_are_bounded(self):
        x = te.placeholder((3, 4), name="x")
        at = te.placeholder((3,), name="at", dtype="int32")
        with self.assertRaisesRegex(hone.BadInput, r"x\[i, s64\(at\[i\]\)\] is not known to lie"):
            te.Schedule(te.compute((3,), lambda i: x[i, at[i]], name="y"))
        bounded = te.compute((3,), lambda i: x[i, te.minimum(te.maximum(at[i], 0), 3)], name="y")
        kernel = hone.build(te.Schedule(bounded, inputs=[x, at]))
        values = np.arange(12, dtype=np.float32).reshape(3, 4)
        np.testing.assert_array_equal(kernel(values, np.array([3, 9, -2], np.int32)), [3, 7, 8])
        # Beyond a row, and not beyond the tensor.
        with self.assertRaisesRegex(hone.BadInput, "out of bounds"):
            te.Schedule(te.compute((2,), lambda i: x[i, 4], name="y"))
        with self.assertRaisesRegex(hone.BadInput, "is not known to lie|out of bounds"):
            te.Schedule(te.compute((2, 4), lambda i, j: x[i, j + 1], name="y"))

    def test_what_is_wrong_is_said(self):
        x = te.placeholder((4,), name="x")
        n = te.placeholder((4,), name="n", dtype="int8")
        k = te.reduce_axis(4, name="k")

        def stage(body, shape=(4,)):
            return lambda: te.compute(shape, body, name="y")

        for call, error, text in (
            (stage(lambda i: x[i] + n[i]), TypeError, "float32 and int8.*astype"),
            (stage(lambda i: n[i] / 2), TypeError, "// and %"),
            (stage(lambda i: x[i] // 2), TypeError, "float32"),
            (stage(lambda i: n[i] + 200), ValueError, "200 is no int8"),
            (stage(lambda i: n[i] + 0.5), TypeError, "0.5 is no int8"),
            (stage(lambda i: n[i] // 0), ValueError, "division by 0"),
            (stage(lambda i: te.exp(n[i])), TypeError, "floats"),
            (stage(lambda i: x), TypeError, "index it"),
            (stage(lambda i: "x"), TypeError, "not of str"),
            (stage(lambda i: te.sum(x[k], axis=k) + 1), TypeError, "reduction stands alone|unsupported operand"),
            (stage(lambda i: te.sum(x[k], axis=[])), ValueError, "no axis"),
            (stage(lambda i: te.sum(x[k], axis=i)), TypeError, ""),
            (stage(lambda i: x[i] if i < 2 else 0), TypeError, "te.where"),
            (stage(lambda i: x[i, i]), hone.BadInput, "1 dimensions, not 2"),
            (stage(lambda i: x[x[i]]), TypeError, "whole number"),
            (stage(lambda i: te.where(x[i], 1.0, 0.0)), TypeError, "by a bool"),
            (stage(lambda i: x[i] & x[i]), TypeError, "combine bools"),
            (stage(lambda i: x[i], (0,)), hone.BadInput, "at least 1"),
            (stage(lambda i: x[i], (2**62, 2**62)), hone.BadInput, ""),
            (stage(lambda i: 1 / 0), ZeroDivisionError, ""),
            (stage(lambda i: te.sum(x[k], axis=[k, k])), ValueError, "axis 'k' is there twice"),
            (stage(lambda i: functools.reduce(lambda e, n: e + 1, range(3000), x[i])), ValueError, "deep"),
            (stage(lambda i: functools.reduce(lambda e, n: e + e, range(60), x[i])), ValueError, "operations"),
            (lambda: te.placeholder((4, -1)), ValueError, "extent of -1"),
            (lambda: te.placeholder((4,), dtype="complex64"), hone.BadInput, "complex64"),
            (lambda: te.reduce_axis(0), ValueError, "extent of 0"),
            (lambda: te.Schedule([]), ValueError, "no output"),
            (lambda: te.Schedule(x), ValueError, "not computed"),
            (lambda: te.Schedule(te.compute((4,), lambda i: x[i], name="y"), inputs=[n]), hone.BadInput, "x"),
            (lambda: te.Schedule(te.compute((4,), lambda i: x[i + 1], name="y")), hone.BadInput, "out of bounds"),
            (lambda: list(x), TypeError, "no elements"),
        ):
            with self.subTest(text), self.assertRaisesRegex(error, text):
                call()
        kernel = hone.build(te.Schedule(te.compute((4,), lambda i: x[i] * 2, name="y")))
        for arguments in ([], [np.zeros(5, np.float32)], [np.zeros(4)]):
            with self.assertRaises((TypeError, ValueError)):
                kernel(*arguments)


if __name__ == "__main__":
    unittest.main()

"""Kernels in files: one or several, of this CPU, of another one and of a GPU, as programs in C use them."""

import json
import os
import shutil
import subprocess
import sys
import unittest

import hone
import numpy as np
from hone import te
from support import Case

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", ".."))
INCLUDE = ["-I", os.path.join(ROOT, "compiler", "runtime", "include")]
ARM = "llvm -mtriple=aarch64-linux -mcpu=cortex-a72"

# Reads the inputs' bytes from a file and writes the outputs' to another. NAME: the function; LIB: the library's name.
PROGRAM = """
#include "HEADER"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static DLTensor tensor(const HoneTensorType* t, const int64_t* shape) {
  size_t bytes = t->dtype.bits / 8;
  for (int32_t d = 0; d < t->ndim; ++d) bytes *= (size_t)shape[d];
  DLTensor out;
  memset(&out, 0, sizeof out);
  out.data = calloc(1, bytes);
  out.device.device_type = kDLCPU;
  out.ndim = t->ndim;
  out.dtype = t->dtype;
  out.shape = (int64_t*)shape;
  return out;
}

static size_t bytes_of(const DLTensor* t) {
  size_t bytes = t->dtype.bits / 8;
  for (int32_t d = 0; d < t->ndim; ++d) bytes *= (size_t)t->shape[d];
  return bytes;
}

int main(int argc, char** argv) {
  const HoneVariant* const v = &NAME_artifact.variants[atoi(argv[3])];
  FILE *const in = fopen(argv[1], "rb"), *const out = fopen(argv[2], "wb");
  DLTensor tensors[8];
  const DLTensor* args[8];
  void* workspace = aligned_alloc(64, (WORKSPACE_BYTES + 63) / 64 * 64 + 64);
  HoneRuntime* pool = POOL;
  if (argc != 4 || !in || !out) return 9;
  for (int32_t i = 0; i < v->param_count; ++i) {
    tensors[i] = tensor(&v->params[i].plain, v->params[i].plain.shape);
    args[i] = &tensors[i];
    const size_t bytes = bytes_of(args[i]);
    if (v->params[i].role != HONE_OUTPUT && fread(tensors[i].data, 1, bytes, in) != bytes) return 8;
  }
  const int32_t code = NAME_run(args, v->param_count, workspace, pool);
  if (code != HONE_OK) return puts(NAME_error(code)), 1;
  for (int32_t i = 0; i < v->param_count; ++i)
    if (v->params[i].role == HONE_OUTPUT) fwrite(tensors[i].data, 1, bytes_of(args[i]), out);
  fclose(out);
  int64_t wrong[8] = {3, 3, 3, 3, 3, 3, 3, 3};
  tensors[0].shape = wrong;
  puts(NAME_error(NAME_run(args, v->param_count, workspace, pool)));
  return 0;
}
"""


def product(m, n, k, packed=False, threads=1, target="llvm"):
    """C = A B, with B constant, in registers."""
    A = te.placeholder((m, k), name="A")
    B = te.placeholder((k, n), name="B", constant=True)
    r = te.reduce_axis(k, name="r")
    C = te.compute((m, n), lambda i, j: te.sum(A[i, r] * B[r, j], axis=r), name="C")
    s = te.Schedule(C, inputs=[A, B])
    i, j, r0 = s.loops(C)
    s.reorder(i, r0, j)
    s.vectorize(s.split(j, 8)[1])
    s.parallel(i)
    if packed:
        panels = s.cache_read(B, C, "workspace")
        s.transform_layout(panels, "NM8n", "MN")
        s.prepack(panels)
    return hone.build(s, target=target, threads=threads)


def softmax(rows, columns, target="llvm"):
    X = te.placeholder((rows, columns), name="X")
    a, b = te.reduce_axis(columns), te.reduce_axis(columns)
    most = te.compute((rows,), lambda i: te.max(X[i, a], axis=a), name="most")
    e = te.compute((rows, columns), lambda i, j: te.exp(X[i, j] - most[i]), name="e")
    all = te.compute((rows,), lambda i: te.sum(e[i, b], axis=b), name="all")
    return hone.build(te.Schedule(te.compute((rows, columns), lambda i, j: e[i, j] / all[i], name="Y")), target)


def softmax_of(x):
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def random(*shape):
    return np.random.default_rng(1).standard_normal(shape).astype(np.float32)


class Shipped(Case):
    def compiled(self, name, header, files, workspace, pool="0", compiler=("cc",), flags=()):
        """The path of a program that calls a function."""
        text = PROGRAM.replace("HEADER", header).replace("WORKSPACE_BYTES", workspace).replace("POOL", pool)
        with open(self.path("main.c"), "w", encoding="ascii") as f:
            f.write(text.replace("NAME", name))
        words = [*compiler, "-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", *INCLUDE, "-I", self.folder, *flags]
        words += [self.path("main.c"), *(self.path(f) for f in files), "-o", self.path("main"), "-lm", "-pthread"]
        ran = subprocess.run(words, capture_output=True, text=True, check=False)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        return self.path("main")

    def run_program(self, inputs, shape, dtype=np.float32, variant=0, before=()):
        """The output of a compiled program, and what it prints of a wrong shape."""
        with open(self.path("in"), "wb") as f:
            for x in inputs:
                f.write(np.ascontiguousarray(x).tobytes())
        words = [*before, self.path("main"), self.path("in"), self.path("out"), str(variant)]
        ran = subprocess.run(words, capture_output=True, text=True, check=False)
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        self.assertIn("shape", ran.stdout)
        return np.fromfile(self.path("out"), dtype).reshape(shape)


class Example(Shipped):
    def test_the_sum_of_vectors(self):
        program = os.path.join(ROOT, "docs", "examples", "vector_add.py")
        ran = subprocess.run(
            [sys.executable, program, "100"], capture_output=True, text=True, check=False, cwd=self.folder
        )
        wanted = r"(?s)split\(i, 16\).*vectorize.*\n100 sums are right, in [\d.]+ us\n$"
        self.assertRegex(ran.stdout, wanted, ran.stderr)
        self.assertTrue(os.path.exists(self.path("vector_add.h")))


class OneKernel(Shipped):
    def test_each_form_is_called_from_c(self):
        kernel = product(12, 16, 20, packed=True, threads=2)
        a, b = random(12, 20), random(20, 16)
        kernel.save(self.path("k.o"))
        kernel.save(self.path("q.c"))
        self.compiled("k", "k.h", ["k.o", "k_plain.o", "k_run.o", "k_pool.o"], "K_PLAIN_WORKSPACE_BYTES", "k_pool(2)")
        np.testing.assert_allclose(self.run_program([a, b], (12, 16)), a @ b, rtol=1e-5, atol=1e-5)
        self.compiled("q", "q.h", ["q.c"], "Q_PLAIN_WORKSPACE_BYTES", flags=["-Wno-unused-function"])
        np.testing.assert_allclose(self.run_program([a, b], (12, 16)), a @ b, rtol=1e-5, atol=1e-5)
        kernel.save(self.path("libs.so"))
        self.compiled("s", "libs.h", ["libs.so"], "S_PLAIN_WORKSPACE_BYTES", flags=["-Wl,-rpath," + self.folder])
        np.testing.assert_allclose(self.run_program([a, b], (12, 16)), a @ b, rtol=1e-5, atol=1e-5)

    def test_scans_and_places_are_the_same_in_c(self):
        X = te.placeholder((12, 16), name="X")
        S = te.scan((12, 16), lambda previous, t, i: te.maximum(previous, 0.0) * 0.5 + X[t, i], name="S")
        r = te.reduce_axis(12, name="r")
        C = te.compute((16,), lambda i: te.argmax(S[r, i], axis=r), name="C")
        s = te.Schedule(C)
        t, i = s.loops("S")
        outer, lanes = s.split(i, 4)
        s.reorder(outer, t, lanes)
        s.vectorize(lanes)
        kernel = hone.build(s, threads=1)
        x = random(12, 16)
        x[4, 3] = np.nan
        y, state = np.empty_like(x), np.zeros(16, np.float32)
        for row in range(12):
            y[row] = state = np.maximum(state, np.float32(0)) * np.float32(0.5) + x[row]
        np.testing.assert_array_equal(kernel(x), np.argmax(y, 0))
        kernel.save(self.path("k.c"))
        self.compiled("k", "k.h", ["k.c"], "K_PLAIN_WORKSPACE_BYTES", flags=["-Wno-unused-function"])
        np.testing.assert_array_equal(self.run_program([x], (16,), np.int64), np.argmax(y, 0))
        kernel.save(self.path("k.so"))
        np.testing.assert_array_equal(hone.open(self.path("k.so"))(x), np.argmax(y, 0))

    def test_names_of_tensors_end_no_comment(self):
        A = te.placeholder((4,), name="A*/ int x; /*")
        hone.build(te.Schedule(te.compute((4,), lambda i: A[i] * 2, name="B"))).save(self.path("k.c"))
        self.compiled("k", "k.h", ["k.c"], "K_PLAIN_WORKSPACE_BYTES", flags=["-Wno-unused-function"])
        self.run_program([np.ones(4, np.float32)], (4,))

    def test_a_template_s_says_what_it_is(self):
        @hone.template
        def twice(k, n):
            lanes = k.choice("lanes", [4, 8])
            A = te.placeholder((n,), name="A")
            s = te.Schedule(te.compute((n,), lambda i: A[i] * 2, name="B"))
            s.vectorize(s.split(*s.loops("B"), lanes)[1])
            return s

        kernel = hone.build(twice, 24, threads=1, config="default")
        kernel.save(self.path("k.so"), denormals="keep")
        told = json.loads(hone.open(self.path("k.so"))._model.json)
        self.assertEqual((told["workload"], told["config"]), (twice(24).key(), "lanes=4"))
        self.assertEqual(told["denormals"], "keep")
        with self.assertRaisesRegex(ValueError, "there are zero and keep"):
            kernel.save(self.path("k.so"), denormals="no")


class Libraries(Shipped):
    def functions(self, target="llvm"):
        return {
            "matmul": [product(8, 16, 8, target=target), product(24, 16, 8, packed=True, target=target)],
            "softmax": softmax(6, 10, target=target),
            "packed": product(16, 16, 16, packed=True, target=target),
        }

    def test_python_opens_its_functions(self):
        hone.save_kernels(self.path("ops.so"), self.functions())
        self.assertEqual(sorted(f for f in os.listdir(self.folder) if "ops" in f), ["ops.h", "ops.so"])
        with hone.open(self.path("ops.so")) as ops:
            self.assertEqual(list(ops), ["matmul", "softmax", "packed"])
            self.assertIn("softmax", dir(ops))
            self.assertIn("matmul, softmax, packed", repr(ops))
            for m in (8, 24):
                a, b = random(m, 8), random(8, 16)
                np.testing.assert_allclose(ops.matmul(a, b), a @ b, rtol=1e-5, atol=1e-5)
            with self.assertRaisesRegex(hone.BadInput, r"\[8, 8\].*\[24, 8\]|no variant"):
                ops.matmul(random(9, 8), b)
            x = random(6, 10)
            np.testing.assert_allclose(ops["softmax"](x), softmax_of(x), rtol=1e-5)
            with self.assertRaisesRegex(AttributeError, "there is no function 'relu'; there are matmul, softmax"):
                _ = ops.relu
            with self.assertRaises(KeyError):
                _ = ops["relu"]
        with self.assertRaisesRegex(ValueError, "closed"):
            ops.softmax(x)
        # libhone's own words, and one by its name.
        with self.assertRaisesRegex(hone.BadInput, "is a library of 3 artifacts, .* by name: matmul, softmax, packed"):
            hone.Model(self.path("ops.so"))
        with self.assertRaisesRegex(hone.BadInput, "has no artifact 'relu'"):
            hone.Model(self.path("ops.so"), name="relu")
        np.testing.assert_allclose(hone.Model(self.path("ops.so"), name="softmax")(x), softmax_of(x), rtol=1e-5)

    def test_each_form_is_called_from_c(self):
        functions = self.functions()
        hone.save_kernels(self.path("ops.so"), functions)
        hone.save_kernels(self.path("obj.o"), functions)
        hone.save_kernels(self.path("text.c"), functions)
        x, b = random(6, 10), random(8, 16)
        for files, header, flags in (
            (["ops.so"], "ops.h", ["-Wl,-rpath," + self.folder]), (["obj.o", "obj_pool.o"], "obj.h", []),
            (["text.c"], "text.h", ["-Wno-unused-function"]),
        ):
            with self.subTest(header):
                self.compiled("softmax", header, files, "SOFTMAX_WORKSPACE_BYTES", flags=flags)
                np.testing.assert_allclose(self.run_program([x], (6, 10)), softmax_of(x), rtol=1e-5)
                self.compiled("matmul", header, files, "MATMUL_WORKSPACE_BYTES", flags=flags)
                for variant, m in ((0, 8), (1, 24)):
                    a = random(m, 8)
                    got = self.run_program([a, b], (m, 16), variant=variant)
                    np.testing.assert_allclose(got, a @ b, rtol=1e-5, atol=1e-5)
        with open(self.path("ops.h"), encoding="utf-8") as f:
            header = f.read()
        for name in ("matmul_run", "softmax_run", "packed_prepack0", "ops_pool"):
            self.assertEqual(header.count(f" {name}("), 1, name)

    def test_numbers_of_threads_are_variants(self):
        kernels = [product(32, 16, 8, threads=1), product(32, 16, 8, threads=2)]
        hone.save_kernels(self.path("ops.so"), {"f": kernels})
        a, b = random(32, 8), random(8, 16)
        for threads in (1, 2):
            with hone.open(self.path("ops.so"), threads=threads) as ops:
                self.assertEqual([v.threads for v in ops.f.variants], [2, 1])
                np.testing.assert_allclose(ops.f(a, b), a @ b, rtol=1e-5, atol=1e-5)

    def test_bools_are_bools(self):
        A = te.placeholder((4,), name="A")
        kernel = hone.build(te.Schedule(te.compute((4,), lambda i: A[i] > 1, name="B")))
        hone.save_kernels(self.path("ops.so"), {"f": [kernel]})
        kernel.save(self.path("k.so"))
        for f in (hone.open(self.path("ops.so")).f, hone.open(self.path("k.so"))):
            np.testing.assert_array_equal(f(np.float32([0, 1, 2, 3])), np.array([False, False, True, True]))

    def test_what_cannot_be_is_one_line(self):
        a, b = product(8, 16, 8), softmax(4, 4)
        elsewhere = softmax(4, 4, ARM)
        for functions, text in (
            ({}, "no kernel is given"), ({"f": []}, "'f' has no kernel|no kernel is given"),
            ({"f": [a, a]}, "'f' has variants with inputs of the same shapes and threads"),
            ({"f": [a, b]}, "'f': variants of one function have the same inputs and outputs"),
            ({"f": a, "f_run": b}, "'f' and 'f_run' would both have the name f_run"),
            ({"f": a, "F": b}, "'f' and 'F' would have the same macros"),
            ({"int": a}, "'int' cannot be a function of C"),
            ({"malloc": a}, "'malloc' is a function of C's library"), ({"log": a}, "'log' is a function of C's"),
            ({"a b": a}, "'a b' cannot be"), ({"": a}, "'' cannot be"), ({"hone_f": a}, "no hone_"),
            ({"exp": a}, "'exp' is a function of C's"), ({"ops_pool": a}, "would both have the name ops_pool"),
            ({"f": a, "g": elsewhere}, "kernels of one file are for one target"),
        ):
            with self.subTest(text), self.assertRaisesRegex(hone.BadInput, text) as raised:
                hone.save_kernels(self.path("ops.so"), functions)
            self.assertNotIn("\n", str(raised.exception))
        for functions in ({"f": 3}, {"f": te.placeholder(3)}, {3: a}, 3):
            with self.assertRaises(TypeError):
                hone.save_kernels(self.path("ops.so"), functions)
        with self.assertRaisesRegex(ValueError, "a NUL"):
            a.save(self.path("a\0.so"))
        with self.assertRaisesRegex(hone.BadInput, "ends with none"):
            hone.save_kernels(self.path("ops.txt"), {"f": a})
        self.assertEqual([f for f in os.listdir(self.folder) if "ops" in f], [])
        for bad in ("none.so", "main.c"):
            with self.assertRaises(hone.BadInput):
                hone.open(self.path(bad))


class OtherMachines(Shipped):
    @unittest.skipUnless(shutil.which("qemu-aarch64-static") and shutil.which("aarch64-linux-gnu-gcc"), "no qemu")
    def test_arm_s_run_under_qemu(self):
        kernel = product(12, 16, 20, packed=True, target=ARM, threads=2)
        self.assertEqual(kernel.target, ARM + " -threads=2")
        a, b = random(12, 20), random(20, 16)
        arm, qemu = ("aarch64-linux-gnu-gcc",), ("qemu-aarch64-static", "-L", "/usr/aarch64-linux-gnu")
        kernel.save(self.path("k.o"))
        objects = ["k.o", "k_plain.o", "k_run.o", "k_pool.o"]
        self.compiled("k", "k.h", objects, "K_PLAIN_WORKSPACE_BYTES", "k_pool(2)", arm)
        got = self.run_program([a, b], (12, 16), before=qemu)
        np.testing.assert_allclose(got, a @ b, rtol=1e-5, atol=1e-5)
        hone.save_kernels(self.path("ops.so"), {"mul": kernel, "softmax": softmax(6, 10, ARM)})
        x = random(6, 10)
        self.compiled(
            "softmax", "ops.h", ["ops.so"], "SOFTMAX_WORKSPACE_BYTES", "ops_pool(2)", arm, ["-Wl,-rpath," + self.folder]
        )
        np.testing.assert_allclose(self.run_program([x], (6, 10), before=qemu), softmax_of(x), rtol=1e-5)
        kernel.save(self.path("c.c"))
        self.compiled("c", "c.h", ["c.c"], "C_PLAIN_WORKSPACE_BYTES", "0", arm, ["-Wno-unused-function"])
        got = self.run_program([a, b], (12, 16), before=qemu)
        np.testing.assert_allclose(got, a @ b, rtol=1e-5, atol=1e-5)

    def test_they_are_saved_not_called(self):
        kernel = softmax(4, 4, ARM)
        for call in (lambda: kernel(random(4, 4)), lambda: kernel.time(random(4, 4))):
            with self.assertRaisesRegex(hone.BadInput, "for another machine than this one.*save") as raised:
                call()
            self.assertNotIn("\n", str(raised.exception))
        kernel.save(self.path("k.so"))
        with self.assertRaises(hone.BadInput):
            hone.open(self.path("k.so"))
        for target, text in (
            ("llvm -mtriple=sparc-linux -mcpu=x", "sparc|triple"), ("llvm -mcpu=none", "mtriple"), ("vulkan", "vulkan")
        ):
            with self.assertRaisesRegex(hone.BadInput, text):
                softmax(4, 4, target)

    def test_a_template_s_choices_know_the_target(self):
        @hone.template
        def twice(k, n):
            k.choice("lanes", [4, 8])
            A = te.placeholder((n,), name="A")
            s = te.Schedule(te.compute((n,), lambda i: A[i] * 2, name="B"))
            s.vectorize(s.split(*s.loops("B"), k.vector_bits // 32)[1])
            return s

        kernel = hone.build(twice, 64, target=ARM, threads=4)
        self.assertIn("in 0..4 vectorize", str(kernel))
        kernel.save(self.path("k.o"))
        self.assertTrue(os.path.exists(self.path("k_pool.o")))

    def test_a_gpu_s_without_one(self):
        A = te.placeholder((64,), name="A")
        s = te.Schedule(te.compute((64,), lambda i: A[i] * 2, name="B"))
        block, thread = s.split(*s.loops("B"), 16)
        s.bind(block, "block")
        s.bind(thread, "thread")
        kernel = hone.build(s, "cuda -arch=sm_90 -sms=132")
        kernel.save(self.path("k.so"))
        hone.save_kernels(self.path("ops.so"), {"f": kernel, "g": kernel})
        with self.assertRaisesRegex(hone.BadInput, "ends with none of .so, .o, which"):
            kernel.save(self.path("k.c"))
        with open(self.path("ops.h"), encoding="utf-8") as f:
            self.assertIn("runs through rt->gpu", f.read())
        try:
            x = np.arange(64, dtype=np.float32)
            np.testing.assert_array_equal(kernel(x), 2 * x)
            np.testing.assert_array_equal(hone.open(self.path("ops.so")).g(x), 2 * x)
        except hone.NoDevice as e:
            self.assertNotIn("\n", str(e))


if __name__ == "__main__":
    unittest.main()

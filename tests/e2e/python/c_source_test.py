"""Models that tensorc writes as C, compiled by the C compiler that is here, beside the same models as objects."""

import glob
import os
import subprocess
import unittest

import hone
import numpy as np
import small_onnx
from support import Case

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", ".."))
TESTDATA = "/usr/share/libonnx-testdata"


class CSource(Case):
    def tensorc(self, *words):
        ran = subprocess.run(
            [os.path.join(os.environ["HONE_BUILD"], "bin", "tensorc"), *words],
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual(ran.returncode, 0, ran.stderr)

    def compiled(self, name, compiler=("cc", "-std=c99")):
        words = [*compiler, "-O2", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared"]
        words += ["-I", os.path.join(ROOT, "compiler", "runtime", "include")]
        words += [f"{name}.c", "-o", f"lib{name}.so", "-lm"]
        ran = subprocess.run(words, capture_output=True, text=True, check=False, cwd=self.folder)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        return os.path.join(self.folder, f"lib{name}.so")

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, model):
        with open(self.path("m.onnx"), "wb") as f:
            f.write(model)

    def test_a_model_computes_what_its_objects_do(self):
        self.write(small_onnx.perceptron())
        flags = [self.path("m.onnx"), "--bind", "batch=3", "--threads", "1"]
        self.tensorc(*flags, "--emit", "c", "-o", self.path("c.c"))
        inside_c = hone.open(self.compiled("c"))
        x = np.random.default_rng(1).standard_normal((3, 16)).astype(np.float32)
        self.tensorc(*flags, "-o", self.path("o.so"))
        np.testing.assert_allclose(inside_c(x), hone.open(self.path("o.so"))(x), rtol=1e-5, atol=1e-6)

    def test_variants_share_weights_in_a_file_and_threads_share_regions(self):
        self.write(small_onnx.perceptron())
        self.tensorc(
            self.path("m.onnx"), "--bind", "batch=2|64", "--threads", "1|2", "--emit", "c",
            "--weights", self.path("w.bin"), "-o", self.path("v.c"),
        )  # fmt: skip
        model = hone.open(self.compiled("v", ("cc", "-std=c11")))
        self.tensorc(self.path("m.onnx"), "--bind", "batch=64", "--threads", "1", "-o", self.path("o.so"))
        x = np.random.default_rng(2).standard_normal((64, 16)).astype(np.float32)
        expected = hone.open(self.path("o.so"))(x)
        np.testing.assert_allclose(model(x), expected, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(model(x[:2]), expected[:2], rtol=1e-5, atol=1e-6)
        with self.assertRaisesRegex(ValueError, "no variant has"):
            model(x[:3])

    def test_host_functions_come_as_text(self):
        if not os.path.isdir(TESTDATA):
            self.skipTest("libonnx-testdata is not there")
        for name in ("nonmaxsuppression_two_classes", "nonzero_example", "unique_sorted_with_axis"):
            with self.subTest(name):
                (model,) = glob.glob(f"{TESTDATA}/**/test_{name}/model.onnx", recursive=True)
                self.tensorc(model, "--emit", "c", "-o", self.path("h.c"))
                with open(self.path("h.c"), encoding="ascii") as f:
                    self.assertIn("hone_internal_", f.read())
                self.compiled("h")

    def test_what_is_not_there_in_c_is_refused(self):
        self.write(small_onnx.perceptron())
        for words in (["--check"], ["--bench"], ["--target", "opencl -sms=2"]):
            ran = subprocess.run(
                [os.path.join(os.environ["HONE_BUILD"], "bin", "tensorc"), self.path("m.onnx"), "--emit", "c", *words],
                capture_output=True, text=True, check=False,
            )  # fmt: skip
            self.assertEqual(ran.returncode, 2, ran.stderr)
            self.assertIn("--emit", ran.stderr)


if __name__ == "__main__":
    unittest.main()

"""Models on a GPU: OpenCL's device on this machine (PoCL). Where there is none, all is skipped."""

import os
import pathlib
import subprocess
import sys
import unittest

import hone
import numpy as np
import small_onnx
from hone import te
from support import Case, perceptron_of, sample


def opencl():
    try:
        return hone.Device("opencl")
    except hone.NoDevice:
        return None


class Lent:
    """An array of another library's: it shows nothing but DLPack, and tells how it was asked for."""

    def __init__(self, array):
        self._array = array
        self.asked = []

    def __dlpack__(self, **how):
        self.asked.append(how)
        return self._array.__dlpack__()

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()


def from_dlpack(array):
    """That library's own array of another's."""
    return Lent(array)


@unittest.skipUnless(opencl(), "no OpenCL")
class OnAGpu(Case):
    def test_numpy_in_and_out(self):
        model = self.perceptron(target="opencl")
        self.assertRegex(model.device, "^opencl:[0-9]+$")
        self.assertIsNone(self.perceptron().device)
        for rows in (sample(), sample()[::-1].copy()):
            y = model(rows)
            self.assertIsInstance(y, np.ndarray)
            np.testing.assert_allclose(y, perceptron_of(rows), rtol=1e-5)
        self.assertIn("ms", model.profile(sample()).columns)

    def test_arrays_stay_on_the_device(self):
        path = self.path("m.so")
        self.perceptron(target="opencl", output=path)
        device = hone.Device("opencl")
        with hone.open(path, device=device) as model:
            x = device.array(sample())
            y = model(x)
            self.assertIsInstance(y, hone.DeviceArray)
            self.assertEqual((y.shape, y.dtype, y.device), ((3, 8), "float32", model.device))
            self.assertEqual(repr(y), f"<hone.DeviceArray float32[3, 8] on {model.device}>")
            np.testing.assert_allclose(y.numpy(), perceptron_of(sample()), rtol=1e-5)
            out = device.array(np.zeros((3, 8), dtype=np.float32))
            self.assertIs(model(x, out=out), out)
            np.testing.assert_array_equal(out.numpy(), y.numpy())
            host = np.zeros((3, 8), dtype=np.float32)
            model(x, out=host)
            np.testing.assert_array_equal(host, y.numpy())
            later = model.on(0)(x)
            np.testing.assert_array_equal(later.numpy(), y.numpy())
            self.assertEqual(model.stats["copied_arrays"], 0)
        # A model's arrays live on without it.
        del model, device
        np.testing.assert_allclose(y.numpy(), perceptron_of(sample()), rtol=1e-5)

    def test_another_library_gets_its_own_arrays(self):
        device = hone.Device("opencl")
        path = self.path("m.so")
        self.perceptron(target="opencl", output=path)
        model = hone.open(path, device=device)
        x = Lent(device.array(sample()))
        y = model(x)
        self.assertIsInstance(y, Lent)
        self.assertEqual(x.asked, [{}], "OpenCL's protocol has no streams")
        np.testing.assert_allclose(y._array.numpy(), perceptron_of(sample()), rtol=1e-5)
        self.assertIs(model(x, out=y), y)

    def test_dlpack_is_given_back(self):
        device = hone.Device("opencl")
        x = device.array(sample())
        before = sys.getrefcount(x)
        capsule = x.__dlpack__(stream=None)
        self.assertEqual(sys.getrefcount(x), before + 1)
        del capsule
        self.assertEqual(sys.getrefcount(x), before)

    def test_what_is_wrong(self):
        device = hone.Device("opencl")
        path = self.path("m.so")
        self.perceptron(target="opencl", output=path)
        model = hone.open(path, device=device)
        x = device.array(sample())
        for call, error, words in (
            (lambda: model(device.array(sample(2))), hone.BadInput, "another shape"),
            (lambda: model(device.array(sample().astype(np.float64))), TypeError, "float64"),
            (lambda: model(x, out=x), (hone.BadInput, ValueError), "shape|overlaps"),
            (lambda: self.perceptron()(x), TypeError, "must lie on the CPU; "),
            (lambda: self.perceptron().on(0), (ValueError, TypeError), ""),
            (lambda: hone.open(path, device="opencl:999"), hone.NoDevice, "there is no opencl:999"),
            (lambda: hone.open(path, device="gpu"), hone.BadInput, "auto, cuda, cuda:N, opencl, opencl:N"),
            (lambda: device.array(["a"]), TypeError, "numbers"),
            (lambda: hone.DeviceArray(), TypeError, ""),
        ):
            with self.assertRaisesRegex(error, words):
                result = call()
                if words == "":
                    result(sample())
        cpu = self.path("cpu.so")
        self.perceptron(output=cpu)
        with self.assertRaisesRegex(ValueError, "for CPUs"):
            hone.open(cpu, device=device)

    def test_without_a_device(self):
        """As a machine without drivers has it: the file is written, and who wants to run it is told."""
        script = f"""
import sys
sys.path[:0] = {sys.path!r}
import hone, small_onnx
path = {self.path("m.so")!r}
print(hone.compile(small_onnx.perceptron(), path, bind={{"batch": 3}}, target="opencl -sms=2"))
try:
    hone.open(path)
except hone.NoDevice as e:
    print(e)
"""
        ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60,
                             env={**os.environ, "OCL_ICD_VENDORS": "/nonexistent"})
        self.assertEqual(ran.stderr, "")
        self.assertRegex(ran.stdout, "^None\n.*is for a GPU .*no OpenCL device")


@unittest.skipUnless(opencl(), "no OpenCL")
class Kernels(Case):
    def schedule(self, n=64):
        a = te.placeholder((n, n), name="a")
        b = te.placeholder((n, n), name="b")
        k = te.reduce_axis(n, name="k")
        c = te.compute((n, n), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="c")
        s = te.Schedule(c)
        i, j, inner = s.loops(c)
        row, column = s.split(i, 8), s.split(j, 8)
        s.reorder(row[0], column[0], row[1], column[1], inner)
        s.bind(s.fuse(row[0], column[0]), "block")
        s.bind(s.fuse(row[1], column[1]), "thread")
        return s

    def test_run_are_timed_and_saved(self):
        s = self.schedule()
        kernel = hone.build(s, "opencl")
        x, y = (np.random.default_rng(i).random((64, 64), dtype=np.float32) for i in range(2))
        np.testing.assert_allclose(kernel(x, y), x @ y, rtol=1e-5)
        self.assertGreater(kernel.time(x, y), 0)
        self.assertEqual(kernel.device, "opencl")
        kernel.save(self.path("product.so"))
        self.assertIn("product_run", pathlib.Path(self.path("product.h")).read_text())
        device = hone.Device("opencl")
        with hone.open(self.path("product.so"), device=device) as model:
            np.testing.assert_array_equal(model(x, y), kernel(x, y))
            np.testing.assert_array_equal(model(device.array(x), device.array(y)).numpy(), kernel(x, y))

    def test_source_says_how_it_is_launched(self):
        self.assertIn(": 64 blocks of 64 threads\n*/", hone.source(self.schedule(), "opencl", "opencl"))

    def test_what_is_wrong(self):
        s = self.schedule()
        with self.assertRaisesRegex(hone.BadInput, r"ends with none of .so, .o, which say"):
            hone.build(s, "opencl").save(self.path("k.c"))
        i = te.placeholder((8,), name="at", dtype="int32")
        t = te.placeholder((8,), name="t")
        gathered = te.Schedule(te.compute((8,), lambda d: t[i[d]], name="gathered"))
        gathered.bind(gathered.loops("gathered")[0], "thread")
        with self.assertRaisesRegex(hone.BadInput, "te.minimum"):
            hone.build(gathered, "opencl")


class Streams(Case):
    def test_are_numbers_or_other_libraries_objects(self):
        class Torch:
            cuda_stream = 7

        class Cupy:
            ptr = 8

        model = self.perceptron()
        self.assertEqual([model.on(s)._stream for s in (Torch(), Cupy(), 9)], [7, 8, 9])


if __name__ == "__main__":
    unittest.main()

"""Models as Python has them: arrays, copies, errors, threads."""

import ctypes
import gc
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import unittest
import weakref

import hone
import numpy as np
import small_onnx
from hone import te
from support import Case, perceptron_of, sample


class FromDlpack:
    """An array that shows nothing but DLPack."""

    def __init__(self, array, device=(1, 0)):
        self._array = array
        self._device = device

    def __dlpack__(self, stream=None):
        return self._array.__dlpack__()

    def __dlpack_device__(self):
        return self._device


class Running(Case):
    def test_a_script_ends_while_models_and_kernels_have_threads(self):
        """Each as a process of its own: what is global then is freed while the interpreter ends."""
        script = f"""
import sys
sys.path[:0] = {sys.path!r}
import hone, small_onnx
from hone import te
model = hone.compile(small_onnx.perceptron(), bind={{"batch": 3}}, threads=2)
A = te.placeholder((64,), name="A")
kernel = hone.build(te.Schedule(te.compute((64,), lambda i: A[i] + 1.0, name="B")), threads=2)
class Late:
    def __del__(self, compile=hone.compile, model=small_onnx.perceptron()):
        compile(model, bind={{"batch": 2}}, threads=2, on_line=lambda line: None)
late = Late()
"""
        for end in ("", "sys.exit(3)", "raise ValueError('ours')", "model.close()", "import threading\n"
                    "threading.Thread(target=lambda: [kernel.time(range(64)) for _ in range(10**6)], daemon=True)"):
            ran = subprocess.run([sys.executable, "-c", script + end], capture_output=True, text=True, timeout=60)
            self.assertEqual(ran.returncode, 3 if "exit" in end else 1 if "raise" in end else 0, end + ran.stderr)

    def test_a_model_of_tensorflow_lite(self):
        """tests/data/pets.tflite: its path, and its bytes; what it says of itself; normalized by what it says."""
        path = pathlib.Path(__file__).resolve().parents[2] / "data" / "pets.tflite"
        pixels = np.full((1, 8, 8, 3), 7, np.uint8)
        pixels[0, 0, 0] = 0, 255, 127
        floats = (pixels.astype(np.float32) - 127.5) / 127.5
        for given in (path, path.read_bytes()):
            model = hone.compile(given, threads=1)
            self.assertEqual((model.inputs[0].name, model.outputs[0].name), ("image", "scores"))
            np.testing.assert_allclose(model(floats), floats[:, 0, 0], atol=1e-6)
            self.assertEqual(model.metadata["inputs"]["image"]["mean"], [127.5])
            self.assertEqual(model.metadata["outputs"]["scores"]["labels"], ["cat", "dog", "bird"])
        model = hone.compile(path, threads=1, formats={"image": "u8,normalized"})
        np.testing.assert_allclose(model(pixels), floats[:, 0, 0], atol=1e-6)
        self.assertNotIn("mean", model.metadata["inputs"]["image"])
        self.assertEqual(self.perceptron().metadata, {})

    def test_a_lock_builds_the_same_bytes_again(self):
        """Written by lock=, read by locked=; another model is BadInput, in the words of Python."""
        with tempfile.TemporaryDirectory() as folder:
            first, second = (os.path.join(folder, name, "net.so") for name in ("a", "b"))
            for path in (first, second):
                os.mkdir(os.path.dirname(path))
            lock = os.path.join(folder, "hone.lock")
            hone.compile(small_onnx.perceptron(), first, bind={"batch": 2}, threads=1, lock=lock).close()
            hone.compile(small_onnx.perceptron(), second, bind={"batch": 2}, threads=1, locked=lock).close()
            self.assertEqual(pathlib.Path(first).read_bytes(), pathlib.Path(second).read_bytes())
            with self.assertRaisesRegex(hone.BadInput, "batch=2 -> batch=3"):
                hone.compile(small_onnx.perceptron(), second, bind={"batch": 3}, threads=1, locked=lock)

    def test_variants_are_told(self):
        model = self.perceptron(bind={"batch": [1, 4]}, threads=[1, 2])
        self.assertEqual({(v.inputs[0].shape[0], v.threads) for v in model.variants}, {(1, 1), (1, 2), (4, 1), (4, 2)})
        self.assertIn("; the first of 4 variants>", repr(model))
        self.assertNotIn("variants", repr(self.perceptron()))

    def test_what_is_no_path_is_refused(self):
        for call in (lambda: hone.open(None), lambda: hone.open(b"m.so"), lambda: self.perceptron(output=3),
                     lambda: self.perceptron(output=b"m3.so"), lambda: self.perceptron(db=b"m.db")):
            with self.assertRaises(TypeError):
                call()

    def test_paths_are_utf_8(self):
        for call in (hone.compile, hone.open):
            with self.assertRaisesRegex(ValueError, "is not UTF-8"):
                call(os.fsdecode(b"/tmp/\xff.onnx"))
        with self.assertRaisesRegex(ValueError, "is not UTF-8"):
            hone.Tophub(os.fsdecode(b"/tmp/\xff.db")).list()

    def test_tensors_of_torch_are_read_in_place(self):
        try:
            import torch
        except ImportError:
            self.skipTest("there is no torch")
        model = self.perceptron()
        x = torch.from_numpy(sample().copy())
        np.testing.assert_array_equal(model(x), model(sample()))
        self.assertEqual(model.stats["copied_arrays"], 0)
        across = x.T.contiguous().T
        np.testing.assert_array_equal(model(across), model(sample()))
        self.assertEqual(model.stats["copied_arrays"], 1)
        self.assertEqual(torch.from_dlpack(model(x)).shape, (3, 8))
        with self.assertRaisesRegex(TypeError, "float64"):
            model(x.double())

    def test_names_of_any_bytes_are_told(self):
        """ONNX's names are bytes; what is no UTF-8 is shown as U+FFFD, in results and in errors."""
        bad = b"x\xff\xc3"

        def model(op="Relu"):
            return small_onnx.model(
                [small_onnx.node(op, [bad], [b"y\xfe"])],
                [small_onnx.value(bad, small_onnx.FLOAT, [3])],
                [small_onnx.value(b"y\xfe", small_onnx.FLOAT, [3])],
            )

        told, lines = [], []
        with hone.compile(model(), threads=1, on_line=lines.append, on_progress=told.append) as opened:
            x = np.array([-1, 0, 2], np.float32)
            name = opened.inputs[0].name
            self.assertRegex(name, "^x\ufffd+$")
            self.assertEqual(opened.outputs[0].name, "y\ufffd")
            np.testing.assert_array_equal(opened.run({name: x})["y\ufffd"], [0, 0, 2])
            for show in (repr, lambda m: repr(m.layers), lambda m: repr(m.profile(x))):
                self.assertIn("Relu" if show is not repr else name, show(opened))
            for call, error in (
                (lambda: opened(x.astype(np.float64)), TypeError),
                (lambda: opened(x, out=x.astype(np.float64)), TypeError),
                (lambda: opened(x, out=np.frombuffer(bytes(12), np.float32)), ValueError),
                (lambda: opened(x[:2]), hone.BadInput),
                (lambda: opened(), TypeError),
            ):
                with self.assertRaisesRegex(error, "\ufffd|[xy]\\?") as caught:
                    call()
                self.assertNotIsInstance(caught.exception, UnicodeError)
        with open(self.path("m.onnx"), "wb") as f:
            f.write(model())
        self.assertIn("<html", hone.compile(self.path("m.onnx"), threads=1).report().html)
        for op in ("NoSuchOperator", b"No\xff"):
            with self.assertRaises(hone.BadInput) as caught:
                hone.compile(model(op), threads=1)
            self.assertNotIsInstance(caught.exception, UnicodeError)
        for name in (b"\xff", b"name"):
            with self.assertRaisesRegex(TypeError, "a str, not bytes"):
                te.placeholder((2,), name=name)
            with self.assertRaisesRegex(TypeError, "a str, not bytes"):
                te.reduce_axis(2, name=name)
            with self.assertRaisesRegex(TypeError, "a str, not bytes"):
                te.compute((2,), lambda i: 1.0, name=name)
        with self.assertRaises(hone.BadInput) as caught:
            A = te.placeholder((2,), name="A")
            te.Schedule(te.compute((2,), lambda i: A[i], name="B")).loops(b"\xff")
        self.assertNotIsInstance(caught.exception, UnicodeError)

    def test_computes(self):
        model = self.perceptron()
        np.testing.assert_allclose(model(sample()), perceptron_of(sample()), rtol=1e-5)
        self.assertEqual([t.name for t in model.inputs], ["x"])
        self.assertEqual(model.inputs[0], hone.TensorInfo("x", "float32", (3, 16)))
        self.assertEqual(model.outputs[0].shape, (3, 8))
        self.assertIn("x float32[3, 16]", repr(model))

    def test_arrays_are_taken_where_they_lie(self):
        model = self.perceptron()
        x = sample()
        model(x)
        read_only = sample()
        read_only.flags.writeable = False
        model(read_only)
        model(FromDlpack(x))
        self.assertEqual(model.stats, {"calls": 3, "copied_arrays": 0, "copied_bytes": 0})

    def test_what_is_not_row_major_is_copied_once(self):
        model = self.perceptron()
        wide = np.zeros((3, 32), dtype=np.float32)
        wide[:, ::2] = sample()
        turned = np.ascontiguousarray(sample().T).T
        askew = np.frombuffer(b"?" + sample().tobytes(), dtype=np.uint8)[1:].view(np.float32).reshape(3, 16)
        backwards = sample()[::-1][:, ::-1]
        for x in (wide[:, ::2], turned, askew, FromDlpack(wide[:, ::2]), FromDlpack(turned)):
            np.testing.assert_allclose(model(x), perceptron_of(sample()), rtol=1e-5)
        np.testing.assert_allclose(model(backwards), perceptron_of(np.array(backwards)), rtol=1e-5)
        np.testing.assert_allclose(model(sample().tolist()), perceptron_of(sample()), rtol=1e-5)
        self.assertEqual(model.stats["copied_arrays"], 7)
        self.assertEqual(model.stats["copied_bytes"], 7 * 3 * 16 * 4)

    def test_writes_to_arrays_of_the_caller(self):
        model = self.perceptron()
        out = np.full((3, 8), np.nan, dtype=np.float32)
        self.assertIs(model(sample(), out=out), out)
        np.testing.assert_allclose(out, perceptron_of(sample()), rtol=1e-5)
        read_only = np.zeros((3, 8), dtype=np.float32)
        read_only.flags.writeable = False
        for wrong, text in (
            (read_only, "read-only"),
            (np.zeros((3, 16), dtype=np.float32)[:, ::2], "row-major"),
            (np.zeros((3, 9), dtype=np.float32), "y"),
            (np.zeros((3, 8), dtype=np.float64), "float64"),
            ([0.0], "numpy array"),
        ):
            with self.assertRaisesRegex((TypeError, ValueError), text):
                model(sample(), out=wrong)
        with self.assertRaisesRegex(TypeError, "1 outputs, given are 2"):
            model(sample(), out=[out, out])
        # It may not write over its inputs.
        square = hone.compile("dense(m=16,n=16,k=16)", threads=1)
        x = np.zeros((32, 16), dtype=np.float32)
        square(x[:16], x[:16], out=x[16:])
        for out in (x[:16], x[1:17], x[15:31]):
            with self.assertRaisesRegex(ValueError, "overlaps"):
                square(x[:16], x[:16], out=out)

    def test_inputs_have_names(self):
        model = hone.compile(
            small_onnx.model(
                [
                    small_onnx.node("Sub", ["first", "second.value"], ["d"]),
                    small_onnx.node("Greater", ["d", "zero"], ["g"]),
                ],
                [small_onnx.value(n, small_onnx.FLOAT, [2, 2]) for n in ("first", "second.value")],
                [small_onnx.value("d", small_onnx.FLOAT, [2, 2]), small_onnx.value("g", small_onnx.BOOL, [2, 2])],
                [small_onnx.tensor("zero", [], [0.0])],
            ),
            threads=1,
        )
        one, two = np.full((2, 2), 1, np.float32), np.array([[0, 2], [1, -1]], np.float32)
        d, g = model(one, two)
        np.testing.assert_array_equal(d, one - two)
        self.assertEqual(g.dtype, np.bool_)
        np.testing.assert_array_equal(g, one > two)
        named = model.run({"second.value": two, "first": one})
        self.assertEqual(list(named), ["d", "g"])
        np.testing.assert_array_equal(named["d"], d)
        np.testing.assert_array_equal(model(one, **{"second.value": two})[0], d)
        for call, text in (
            (lambda: model(one), "'second.value' is missing"),
            (lambda: model(one, two, one), "takes 2 inputs, given are 3"),
            (lambda: model(one, first=one), "'first' is given twice"),
            (lambda: model.run({"first": one, "third": one}), "no input 'third'.*takes first, second.value"),
        ):
            with self.assertRaisesRegex(TypeError, text):
                call()

    def test_bools_are_bools(self):
        model = hone.compile(
            small_onnx.model(
                [small_onnx.node("Not", ["b"], ["n"])],
                [small_onnx.value("b", small_onnx.BOOL, [3])],
                [small_onnx.value("n", small_onnx.BOOL, [3])],
            ),
            threads=1,
        )
        np.testing.assert_array_equal(model(np.array([True, False, True])), [False, True, False])
        self.assertEqual(model.inputs[0].dtype, "bool")

    def test_nothing_is_converted(self):
        model = self.perceptron()
        for x, text in (
            (sample().astype(np.float64), "float32.*float64"),
            (sample().astype(np.float16), "float16"),
            (sample().astype(np.int32), "int32"),
            (sample().astype(">f4"), ">f4"),
            (np.array(["a"]), "<U1"),
            (np.array([object()]), "object"),
            (np.float64(1), "float64"),
            ("text", "not str"),
            (None, "NoneType"),
            (FromDlpack(sample(), (2, 0)), "on the CPU.*2:0"),
            (FromDlpack(sample().astype(np.int16)), "int16"),
        ):
            with self.assertRaisesRegex(TypeError, text):
                model(x)
        for x in (np.zeros((3, 17), np.float32), np.zeros((4, 16), np.float32), np.zeros(48, np.float32),
                  np.zeros((0, 16), np.float32), np.float32(1), [[1.0]]):
            with self.assertRaisesRegex(hone.BadInput, "x"):
                model(x)
        with self.assertRaises(ValueError):  # numpy's own words
            model([[1.0], [1.0, 2.0]])

    def test_a_closed_model_is_no_model(self):
        model = self.perceptron()
        with model:
            model(sample())
        self.assertIn("closed", repr(model))
        model.close()
        for use in (lambda: model(sample()), lambda: model.layers, lambda: model.profile(sample())):
            with self.assertRaisesRegex(ValueError, "closed"):
                use()

    def test_arrays_outlive_the_model_and_are_freed(self):
        model = self.perceptron()
        x = sample()
        freed = weakref.ref(x)
        y = model(x)
        del x, model
        gc.collect()
        self.assertIsNone(freed())
        np.testing.assert_allclose(y, perceptron_of(sample()), rtol=1e-5)

    def test_capsules_are_given_back(self):
        model = self.perceptron()
        x = sample()
        before = sys.getrefcount(x)
        for _ in range(10):
            model(FromDlpack(x))
            with self.assertRaises(hone.BadInput):
                model(FromDlpack(x[:2]))
        gc.collect()
        self.assertEqual(sys.getrefcount(x), before)

    def test_threads_share_a_model(self):
        model = self.perceptron(bind={"batch": [1, 3]}, threads=2)
        wrong = []

        def work(rows):
            for _ in range(200):
                if not np.allclose(model(sample(rows)), perceptron_of(sample(rows)), rtol=1e-5):
                    wrong.append(rows)

        threads = [threading.Thread(target=work, args=(rows,)) for rows in (1, 3, 1, 3)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(wrong, [])
        self.assertEqual(model.stats["calls"], 800)

    def test_variants_are_found_by_shape(self):
        model = self.perceptron(bind={"batch": [1, 3]})
        for rows in (1, 3):
            np.testing.assert_allclose(model(sample(rows)), perceptron_of(sample(rows)), rtol=1e-5)
        with self.assertRaisesRegex(hone.BadInput, "x"):
            model(sample(2))

    def test_the_child_of_a_fork_runs(self):
        model = self.perceptron(threads=2)
        model(sample())
        child = os.fork()
        if child == 0:
            os._exit(0 if np.allclose(model(sample()), perceptron_of(sample()), rtol=1e-5) else 1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)


class Building(Case):
    def test_keeps_the_file_where_it_is_asked_to(self):
        built = self.perceptron(output=self.path("kept.so"))
        self.assertTrue(os.path.exists(self.path("kept.h")))
        again = hone.open(self.path("kept.so"))
        np.testing.assert_array_equal(again(sample()), built(sample()))
        with self.assertRaisesRegex(hone.BadInput, "compile"):
            again.report()

    def test_a_path_that_is_built_anew_is_another_model(self):
        def times(n):
            return small_onnx.model(
                [small_onnx.node("Mul", ["x", "n"], ["y"])],
                [small_onnx.value("x", small_onnx.FLOAT, [2])],
                [small_onnx.value("y", small_onnx.FLOAT, [2])],
                [small_onnx.tensor("n", [], [float(n)])],
            )

        x = np.ones(2, np.float32)
        for threads in (1, 2):
            models = []
            for n in range(2, 6):
                models.append(hone.compile(times(n), self.path("same.so"), threads=threads))
                self.assertEqual(models[-1](x)[0], n)
                self.assertEqual(hone.open(self.path("same.so"))(x)[0], n)
                if n == 4:
                    models.pop().close()
            self.assertEqual([m(x)[0] for m in models], [2, 3, 5])

    def test_leaves_no_files(self):
        code = (
            "import hone, os, small_onnx, tempfile\n"
            "m = hone.compile(small_onnx.perceptron(), bind={'batch': 1}, threads=1)\n"
            "print(os.listdir(tempfile.gettempdir()))"
        )
        ran = subprocess.run([sys.executable, "-c", code], env={**os.environ, "TMPDIR": self.folder},
                             capture_output=True, text=True, check=True)
        self.assertEqual(eval(ran.stdout), [n for n in os.listdir(self.folder) if n == "hub.db"])

    def test_takes_paths_and_what_serializes(self):
        class Proto:
            def SerializeToString(self):
                return small_onnx.perceptron()

        with open(self.path("m.onnx"), "wb") as f:
            f.write(small_onnx.perceptron())
        for model in (self.path("m.onnx"), Proto(), bytearray(small_onnx.perceptron())):
            hone.compile(model, bind={"batch": 1}, threads=1)(sample(1))
        with self.assertRaisesRegex(TypeError, "not int"):
            hone.compile(3)

    def test_layers_are_a_table(self):
        model = self.perceptron()
        self.assertIn("workload", model.layers.columns)
        self.assertTrue(any("dense" in w for w in model.layers.column("workload")))
        self.assertIn("dense", repr(model.layers))
        self.assertIn("<table>", model.layers._repr_html_())
        timed = model.profile(sample())
        self.assertEqual(len(timed), len(model.layers))
        self.assertTrue(all(ms >= 0 for ms in timed.column("ms")))
        with self.assertRaisesRegex(KeyError, "there is no column 'time'"):
            timed.column("time")

    def test_a_report_is_a_page(self):
        with open(self.path("m.onnx"), "wb") as f:
            f.write(small_onnx.perceptron())
        report = hone.compile(self.path("m.onnx"), bind={"batch": 2}, threads=1).report()
        self.assertIn("<html", report.html)
        self.assertIn("iframe", report._repr_html_())
        report.save(self.path("r.html"))
        self.assertGreater(os.path.getsize(self.path("r.html")), 1000)

    def test_a_model_of_one_row_is_built_for_several(self):
        model = hone.compile(small_onnx.perceptron(rows=1), model_batch=3, threads=1)
        np.testing.assert_allclose(model(sample(3)), perceptron_of(sample(3)), rtol=1e-5, atol=1e-5)

    def test_errors_name_arguments_and_no_files(self):
        named = small_onnx.model(
            [small_onnx.node("Relu", ["x"], ["y"])],
            [small_onnx.value("x", small_onnx.FLOAT, ["n", "length", "width"])],
            [small_onnx.value("y", small_onnx.FLOAT, ["n", "length", "width"])],
        )
        for options, text in (
            ({}, 'the model: length, width are not known; give them: bind={"length": N, "width": N}'),
            ({"bind": {"length": 2, "width": 3, "height": 1}}, 'the model: bind["height"]: no input has a dimension'),
            ({"shapes": {"x": (2, 3)}}, 'the model: shapes["x"]: the input has 3 dimensions, [n, length, width]'),
            ({"bind_data": {"x": np.zeros((1, 2), np.float32)}}, 'the model: bind_data["x"]: the file has'),
            ({"bind": {"length": 2, "width": 3}, "model_batch": 2}, 'model_batch=2: the first dimension of'),
            ({"threads": [2, 2]}, "threads: 2 is there twice"),
        ):
            for call in (hone.compile, hone.tune):
                if call is hone.tune and "threads" in options:
                    continue
                with self.subTest(text), self.assertRaises(hone.BadInput) as raised:
                    call(named, **options)
                self.assertIn(text, str(raised.exception))
                self.assertNotIn("--", str(raised.exception))
                self.assertNotIn("/hone-", str(raised.exception))

    def test_denormals_are_zeros_or_numbers(self):
        model = small_onnx.scaled(1e6)
        x = np.full((4, 16), 1e-39, np.float32)
        self.assertTrue((hone.compile(model)(x) == 0).all())
        self.assertTrue((hone.compile(model, denormals="zero", threads=2)(x) == 0).all())
        kept = hone.compile(model, denormals="keep")
        np.testing.assert_allclose(kept(x), x * np.float32(1e6), rtol=1e-6)
        # The caller computes with them as before.
        self.assertNotEqual(np.float32(1e-39) * np.float32(0.5), 0)
        with self.assertRaisesRegex(ValueError, "^denormals: "):
            hone.compile(model, denormals="flush")

    def test_nans_come_out(self):
        x = np.linspace(-1, 1, 40, dtype=np.float32)
        x[[3, 39]] = np.nan
        relu = "elementwise(op=relu,shape=40,dtype=f32)"
        np.testing.assert_array_equal(hone.compile(relu)(x), np.maximum(x, 0))
        x = np.nan_to_num(x)
        np.testing.assert_array_equal(hone.compile(relu, assume_finite=True)(x), np.maximum(x, 0))

    def test_operators_are_models(self):
        dense = hone.compile("dense(m=5,n=8,k=16)", threads=1)
        a = sample(5)
        b = np.arange(8 * 16, dtype=np.float32).reshape(8, 16) / 16
        np.testing.assert_allclose(dense(a, b), a @ b.T, rtol=1e-5)

    def test_progress_and_lines(self):
        lines, seen = [], []
        self.perceptron(on_line=lines.append, on_progress=seen.append)
        self.assertTrue(any(line.startswith("wrote ") for line in lines), lines)
        self.assertEqual({p["what"] for p in seen} >= {"compiling kernels"}, True, seen)

    def test_what_a_callback_raises_ends_the_build(self):
        def refuse(progress):
            raise ZeroDivisionError("mine")

        with self.assertRaisesRegex(ZeroDivisionError, "mine"):
            self.perceptron(on_progress=refuse, output=self.path("never.so"))
        self.assertFalse(os.path.exists(self.path("never.so")))
        with self.assertRaisesRegex(ZeroDivisionError, "mine"):
            self.perceptron(on_line=refuse)

    def test_inputs_become_constants(self):
        x = sample(3)
        np.save(self.path("x.npy"), x)
        for given in (x, x.tolist(), self.path("x.npy"), pathlib.Path(self.path("x.npy"))):
            # A list becomes f64, as numpy makes it.
            if isinstance(given, list):
                with self.assertRaisesRegex(hone.BadInput, "the file has f64"):
                    self.perceptron(bind_data={"x": given})
                continue
            model = self.perceptron(bind_data={"x": given})
            self.assertEqual(model.inputs, ())
            np.testing.assert_allclose(model(), perceptron_of(x), rtol=1e-5)
        with open(self.path("m.onnx"), "wb") as f:
            f.write(small_onnx.perceptron())
        report = hone.compile(self.path("m.onnx"), bind_data={"x": self.path("x.npy")}, threads=1).report()
        self.assertIn("</html>", report.html)

    def test_another_processor_s_artifact_is_built_and_not_opened(self):
        target = "llvm -mtriple=aarch64-linux -mcpu=cortex-a72"
        sysroot = "/usr/aarch64-linux-gnu"
        if not os.path.exists(sysroot):
            self.skipTest("no files of another processor here")
        self.assertIsNone(self.perceptron(target=target, output=self.path("arm.so")))
        with self.assertRaisesRegex(hone.BadInput, "arm.so"):
            hone.open(self.path("arm.so"))

    def test_bad_input_is_told(self):
        with open(self.path("cut.onnx"), "wb") as f:
            f.write(small_onnx.perceptron()[:-40])
        for call, error, text in (
            (lambda: hone.compile(self.path("missing.onnx")), hone.BadInput, "missing.onnx"),
            (lambda: hone.compile(self.path("cut.onnx")), hone.BadInput, "cut.onnx"),
            (lambda: hone.compile(b""), hone.BadInput, "the model"),
            (lambda: self.perceptron(bind={"rows": 3}), hone.BadInput, r'bind\["rows"\]: no input has a dimension'),
            (lambda: self.perceptron(bind={"batch": -1}), hone.BadInput, "whole number"),
            (lambda: self.perceptron(bind={"batch": 1.5}), TypeError, r'bind\["batch"\]: 1.5'),
            (lambda: self.perceptron(bind={"batch": True}), TypeError, "True"),
            (lambda: self.perceptron(bind_data={"x": [object()]}), TypeError, "x is no array of numbers"),
            (lambda: self.perceptron(bind_data={"z": [1]}), hone.BadInput, "no such input"),
            (lambda: self.perceptron(bind_data={"x": [1.0]}), hone.BadInput, r'bind_data\["x"\]: the file has'),
            (lambda: self.perceptron(bind={}, model_batch=2), hone.BadInput, 'give it instead: bind={"batch": 2}'),
            (lambda: self.perceptron(model_batch=0), hone.BadInput, "^model_batch: "),
            (lambda: self.perceptron(model_batch="2"), TypeError, "model_batch: '2'"),
            (lambda: self.perceptron(shapes={"x": 3}), TypeError, r'shapes\["x"\]: 3 is not a shape'),
            (lambda: self.perceptron(shapes={"x": (3, 17)}), hone.BadInput, r'shapes\["x"\]: dimension 1 is 16'),
            (lambda: self.perceptron(target="llvm -mcpu=none"), hone.BadInput, "none"),
            (lambda: self.perceptron(target="abacus"), hone.BadInput, "abacus"),
            (lambda: self.perceptron(threads=-1), hone.BadInput, "threads"),
            (lambda: self.perceptron(threads=[]), ValueError, "threads is empty"),
            (lambda: self.perceptron(target=""), ValueError, "target is empty"),
            (lambda: self.perceptron(db=True), TypeError, "db"),
            (lambda: self.perceptron(output="a\0b.so"), ValueError, "null|NUL"),
            (lambda: self.perceptron(db="a\0b.db"), hone.BadInput, "NUL behind 'a'"),
            (lambda: self.perceptron(bind={"\udcff": 1}), ValueError, "is not UTF-8"),
            (lambda: hone.compile("--help"), hone.BadInput, "--help"),
            (lambda: self.perceptron(flags=["--no-such-flag"]), hone.BadInput, "no-such-flag"),
            (lambda: self.perceptron(output="/no/such/folder/m.so"), hone.Error, "/no/such/folder"),
            (lambda: self.perceptron(db="/no/such/folder/hub.db"), hone.Error, "/no/such/folder"),
            (lambda: hone.compile("abacus(n=1)"), hone.BadInput, "abacus"),
            (lambda: hone.compile("dense(m=0,n=8,k=16)"), hone.BadInput, "m"),
            (lambda: hone.compile("dense(m=5)", bind={"m": 1}), TypeError, "workload"),
            (lambda: hone.open(self.path("missing.so")), hone.BadInput, "missing.so"),
            (lambda: hone.open(self.path("cut.onnx")), hone.BadInput, "cut.onnx"),
            (lambda: hone.open("/usr/lib/x86_64-linux-gnu/libc.so.6"), hone.BadInput, "artifact"),
        ):
            with self.subTest(text), self.assertRaisesRegex(error, text):
                call()

    def test_an_unsupported_model_says_all_reasons(self):
        nodes = [small_onnx.node("StringSplit", ["x"], ["s"]), small_onnx.node("NoSuchOperator", ["s"], ["y"])]
        values = [small_onnx.value(n, small_onnx.FLOAT, [2]) for n in "xy"]
        with self.assertRaisesRegex(hone.BadInput, "(?s)StringSplit.*NoSuchOperator|NoSuchOperator.*StringSplit"):
            hone.compile(small_onnx.model(nodes, values[:1], values[1:]))


if __name__ == "__main__":
    unittest.main()

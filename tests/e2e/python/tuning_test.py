"""Tuning and the tophub from Python."""

import contextlib
import io
import os
import signal
import subprocess
import sys
import threading
import unittest

import hone
import small_onnx
from support import SHORT, Case, sample

WORKLOAD = "dense(m=32,n=64,k=64)"


class Times(unittest.TestCase):
    def test_have_three_significant_digits(self):
        from hone.table import ms_text
        for seconds, text in (
            (4.12e-7, "0.000412"), (1.2345e-3, "1.23"), (9.996e-3, "10.0"), (1.2344, "1234"), (0, "0"),
            (float("inf"), "inf"),
        ):
            self.assertEqual(ms_text(seconds), text)
        self.assertIn("0.000412", repr(hone.Table([{"name": "a", "ms": 4.12e-4}])))
        best = {"time_ms": 4.12e-4}
        self.assertIn("0.000412 ms", repr(hone.Outcome(best=best, default={"time_ms": 8e-4}, workload="w", trials=1)))

    def test_are_rewritten_in_the_bar(self):
        from hone.tuning import _Bar
        stream = io.StringIO()
        _Bar(stream)({"done": 1, "all": 2, "seconds": 4.12e-7, "default_seconds": 8.24e-7, "best_gflops": 0,
                      "seconds_left": None})
        self.assertIn("0.000412 ms, 2.00x", stream.getvalue())


class Tuning(Case):
    def test_what_is_no_search_is_refused(self):
        for call in (lambda: hone.tune("", trials=1), lambda: hone.tune("dense(m=8,n=8,k=8)", seconds=float("nan"))):
            with self.assertRaises(ValueError):
                call()

    def test_the_child_of_a_process_that_tuned_refuses_to(self):
        hone.tune("dense(m=8,n=8,k=8)", trials=1, threads=1)
        child = os.fork()
        if child == 0:
            try:
                hone.tune("dense(m=8,n=8,k=8)", trials=2, threads=1)
            except RuntimeError:
                os._exit(7)
            os._exit(1)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 7)

    def test_a_workload_is_tuned_and_found(self):
        seen = []
        outcome = hone.tune(WORKLOAD, trials=8, threads=1, flags=SHORT, callback=seen.append, progress=False)
        self.assertEqual(outcome["trials"], 8)
        self.assertGreater(outcome["best"]["time_ms"], 0)
        self.assertIn("8 trials", repr(outcome))
        self.assertEqual(seen[-1]["done"], 8)
        self.assertEqual(seen[-1]["all"], 8)
        target = outcome["target"]
        found = hone.best(WORKLOAD, target)
        self.assertEqual(found["config"], ",".join(f"{k}={v}" for k, v in outcome["best"]["config"].items()))
        hub = hone.Tophub(self.db)
        self.assertEqual(len(hub.list(task="dense")), 1)
        lines = []
        hone.compile(WORKLOAD, target=target, threads=1, on_line=lines.append)
        self.assertTrue(any("config: best (exact workload" in line for line in lines), lines)
        self.assertIsNone(hone.best("top_k(shape=3x7,k=2)"))
        # The same again measures nothing.
        self.assertEqual(hone.tune(WORKLOAD, trials=8, threads=1, flags=SHORT, progress=False)["trials"], 8)
        hub.export(self.path("records.jsonl"))
        other = hone.Tophub(self.path("other.db"))
        other.load(self.path("records.jsonl"))
        for key in ("trials", "best", "workloads", "by_status"):
            self.assertEqual(other.stats()[key], hub.stats()[key])
        self.assertIn("config", repr(other.list()))

    def test_a_model_is_tuned(self):
        outcome = hone.tune(
            small_onnx.perceptron(), bind={"batch": 4}, trials=8, threads=1, flags=SHORT, progress=False)
        self.assertGreaterEqual(len(outcome["tasks"]), 1)
        self.assertIn("model", outcome)
        model = hone.compile(small_onnx.perceptron(), bind={"batch": 4}, threads=1)
        self.assertTrue(any("best" in (s or "") for s in model.layers.column("source")), model.layers)

    def test_several_workloads(self):
        outcome = hone.tune([WORKLOAD, "dense(m=16,n=32,k=32)"], trials=6, threads=1, flags=SHORT, progress=True)
        self.assertEqual(len(outcome["tasks"]), 2)

    def test_a_notebook_has_a_bar_and_a_file_has_none(self):
        class OutStream(io.StringIO):
            __module__ = "ipykernel.iostream"

        for stream, has_bar in ((OutStream(), True), (io.StringIO(), False)):
            with contextlib.redirect_stderr(stream):
                hone.tune(WORKLOAD, trials=4, threads=1, flags=[*SHORT, "--fresh"])
            self.assertEqual("\r" in stream.getvalue(), has_bar)

    def test_what_a_callback_raises_ends_it(self):
        def refuse(progress):
            if progress["done"] >= 2:
                raise ZeroDivisionError("mine")

        with self.assertRaisesRegex(ZeroDivisionError, "mine"):
            hone.tune(WORKLOAD, trials=100000, threads=1, callback=refuse, progress=False)
        self.assertGreaterEqual(len(hone.Tophub(self.db).list()), 1)  # measurements are kept

    def test_ctrl_c_keeps_what_was_measured(self):
        code = (
            "import hone, os, signal\n"
            "def told(p):\n"
            "    if p['done'] >= 2: os.kill(os.getpid(), signal.SIGINT)\n"
            "try:\n"
            f"    hone.tune('{WORKLOAD}', trials=100000, threads=1, callback=told, progress=False)\n"
            "except KeyboardInterrupt:\n"
            f"    print('kept', len(hone.Tophub().list()))\n"
        )
        ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
        self.assertEqual(ran.stdout, "kept 1\n", ran.stderr)

    def test_other_threads_run_meanwhile(self):
        turns = []
        done = threading.Event()

        def count():
            while not done.is_set():
                turns.append(1)
                done.wait(0.001)

        other = threading.Thread(target=count)
        other.start()
        hone.tune(WORKLOAD, trials=4, threads=1, flags=SHORT, progress=False)
        done.set()
        other.join()
        self.assertGreater(len(turns), 50)

    def test_bad_input_is_told(self):
        for call, error, text in (
            (lambda: hone.tune("abacus(n=1)", trials=1), hone.BadInput, "abacus"),
            (lambda: hone.tune(WORKLOAD, trials=0), hone.BadInput, "trials"),
            (lambda: hone.tune(WORKLOAD, trials=1, target="cuda"), hone.NoDevice, "cuda"),
            (lambda: hone.tune(WORKLOAD, trials=1, tracker="no port"), hone.BadInput, "tracker"),
            (lambda: hone.tune(WORKLOAD, trials=1, device="pi4"), hone.BadInput, "tracker"),
            (lambda: hone.tune([], trials=1), hone.BadInput, "no workload"),
            (lambda: hone.tune(self.path("missing.onnx"), trials=1), hone.BadInput, "missing.onnx"),
            (lambda: hone.best("abacus(n=1)"), hone.BadInput, "abacus"),
            (lambda: hone.best(""), ValueError, "empty"),
            (lambda: hone.Tophub(self.path("no.db")).load("--help"), hone.Error, "--help"),
            (lambda: hone.Tophub(self.path("no/such.db")).list(), hone.Error, "such.db"),
            (lambda: hone.Tophub(self.path("no.db")).load(self.path("no.jsonl")), hone.Error, "no.jsonl"),
        ):
            with self.subTest(text), self.assertRaisesRegex(error, text):
                call()
        with self.assertRaisesRegex(hone.DatabaseError, "none.db does not exist"):
            hone.best(WORKLOAD, db=self.path("none.db"))

    def test_a_broken_database_is_told(self):
        with open(self.path("broken.db"), "wb") as f:
            f.write(b"no database" * 1000)
        with self.assertRaises(hone.DatabaseError):
            hone.Tophub(self.path("broken.db")).list()
        with self.assertRaises(hone.DatabaseError):
            hone.tune(WORKLOAD, trials=1, db=self.path("broken.db"), progress=False)


if __name__ == "__main__":
    unittest.main()

"""Templates: search spaces that users write, from the function to the tuned kernel, and what is wrong with some."""

import itertools
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import unittest

import hone
import hone.templates
import numpy as np
from hone import te
from support import SHORT, Case

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", ".."))
EXAMPLE = os.path.join(ROOT, "docs", "examples", "matmul_template.py")


def scaled(n, lanes, body=lambda A, i: A[i] * 2, extent=None):
    """The schedule of B = 2 A in vectors."""
    A = te.placeholder((n,), name="A")
    B = te.compute((extent or n,), lambda i: body(A, i), name="B")
    s = te.Schedule(B)
    (i,) = s.loops(B)
    s.vectorize(s.split(i, lanes)[1])
    return s


@hone.template
def double(k, n):
    """Twice each element."""
    lanes = k.choice("lanes", [4, 8, 16, 32], default=8)
    k.choice("copies", [1, 2])
    return scaled(n, lanes)


@hone.template
def product(k, m, n, depth=16):
    """A product with a tile in registers."""
    A = te.placeholder((m, depth), name="A")
    B = te.placeholder((depth, n), name="B", constant=True)
    r = te.reduce_axis(depth)
    C = te.compute((m, n), lambda i, j: te.sum(A[i, r] * B[r, j], axis=r), name="C")
    rows = k.split("rows", m, 2, max_inner=[8], default=[4])
    columns = k.split("columns", n, 2, max_inner=[32], default=[8])
    unrolled = k.choice("unrolled", [False, True])
    k.when(unrolled)
    steps = k.choice("steps", [2, 4])
    k.when(True)
    k.require("the tile is small", rows[1] * columns[1] <= 64)
    s = te.Schedule(C, inputs=[A, B])
    copy = s.cache_write(C, "stack")
    io, jo, ii, ji = s.tile(*s.loops(copy), rows[1], columns[1])
    s.vectorize(ji)
    s.compute_at(C, jo)
    i, j, r0 = s.loops(C)[-3:]
    s.reorder(r0, i, j)
    s.vectorize(j)
    if unrolled:
        s.unroll(s.split(r0, steps)[1])
    s.parallel(io)
    return s


def matrices(m, n, depth=16):
    random = np.random.default_rng(1)
    return random.random((m, depth), np.float32), random.random((depth, n), np.float32)


def tune(*what, **options):
    return hone.tune(*what, **{"threads": 1, "progress": False, "flags": SHORT, **options})


def kept(db):
    """The records of a tophub."""
    path = db + ".jsonl"
    hone.Tophub(db).export(path)
    with open(path, encoding="utf-8") as f:
        return [json.loads(line) for line in f]


class Templates(Case):
    def test_one_is_tuned_and_built(self):
        a, b = matrices(24, 40)
        kernel = hone.build(product, 24, 40, threads=1)
        self.assertEqual(kernel.source, "default")
        self.assertEqual(kernel.config, "rows=6x4,columns=5x8,unrolled=0")
        np.testing.assert_allclose(kernel(a, b), a @ b, rtol=1e-5)
        outcome = tune(product, 24, 40, trials=12)
        self.assertEqual(outcome["trials"], 12)
        self.assertEqual(outcome["by_status"], {"ok": 12})
        self.assertRegex(outcome["workload"], r"^op\(name=product,def=[0-9a-f]{32},m=24,n=40,depth=16\)$")
        self.assertEqual(outcome["workload"], product(24, 40).key())
        kernel = hone.build(product, 24, 40, threads=1)
        self.assertTrue(kernel.source.startswith("best (exact workload"), kernel.source)
        self.assertEqual(kernel.config, ",".join(f"{k}={v}" for k, v in outcome["best"]["config"].items()))
        np.testing.assert_allclose(kernel(a, b), a @ b, rtol=1e-5)
        # The next size takes its config, and the same again measures nothing.
        near = hone.build(product(m=24, n=48), threads=1)
        self.assertTrue(near.source.startswith("nearest (op(name=product"), near.source)
        np.testing.assert_allclose(near(*matrices(24, 48)), np.matmul(*matrices(24, 48)), rtol=1e-5)
        self.assertEqual(hone.build(product, 24, 40, threads=1, config="default").source, "default")
        self.assertEqual(tune(product, 24, 40, trials=12)["trials"], 12)
        definition = [r for r in kept(self.db) if "definition" in r]
        self.assertEqual(definition[0]["definition"], [re.search("def=(.{32})", outcome["workload"])[1], "operator"])
        self.assertEqual([i[0] for i in json.loads(definition[0]["text"])["inputs"]], ["A", "B"])

    def test_a_tuned_one_is_right_and_a_changed_one_is_another(self):
        tune(double, 100, trials=6)
        before = double(100)._space("llvm", 1, True).fingerprint

        def double_in_two(k, n):
            lanes = k.choice("lanes", [4, 8, 16, 32], default=8)
            k.choice("copies", [1, 2])
            return scaled(n, 2 * lanes)

        double_in_two.__name__ = "double"
        changed = hone.template(double_in_two)(100)
        self.assertEqual(changed.key(), double(100).key())
        self.assertNotEqual(changed._space("llvm", 1, True).fingerprint, before)
        self.assertTrue(hone.build(changed, threads=1).source.startswith("default"))
        self.assertNotEqual(hone.Template(double.function, revision=2)(100)._space("llvm", 1, True).fingerprint, before)

    def test_a_schedule_of_a_config_can_be_looked_at(self):
        w = double(64)
        self.assertIn("split(i, 8)", w.schedule().steps)
        self.assertIn("split(i, 16)", w.schedule("lanes=16,copies=1").steps)
        with self.assertRaisesRegex(hone.BadInput, "no choice '5'"):
            w.schedule("lanes=5,copies=1")
        with self.assertRaisesRegex(hone.BadInput, "breaks the constraint 'the tile is small'"):
            product(24, 40).schedule("rows=3x8,columns=2x20,unrolled=0")
        kernel = hone.build(w.schedule(), threads=1)
        x = np.arange(64, dtype=np.float32)
        np.testing.assert_array_equal(kernel(x), 2 * x)
        self.assertEqual(repr(double), "<hone.Template double(n)>")
        self.assertEqual(repr(product(2, n=3)), "<hone.TemplateWorkload product(m=2, n=3, depth=16)>")

    def test_schedules_are_built_as_before(self):
        s = scaled(64, 8)
        for kernel in (hone.build(s), hone.build(s, "llvm", 1), hone.build(s, target="llvm", threads=1)):
            np.testing.assert_array_equal(kernel(np.ones(64, np.float32)), np.full(64, 2, np.float32))
        for call in (lambda: hone.build(s, config="default"), lambda: hone.build(double(8), 8), lambda: tune("x", 1)):
            with self.assertRaises(TypeError):
                call()


class Example(Case):
    def test_the_pages_function_is_the_programs(self):
        with open(os.path.join(ROOT, "docs", "templates.md"), encoding="utf-8") as f:
            shown = re.search(r"^```python\n.*?(@hone.template\n.*?)^```$", f.read(), re.M | re.S)[1]
        with open(EXAMPLE, encoding="utf-8") as f:
            self.assertIn(shown, f.read())

    def test_the_program_finds_something(self):
        ran = subprocess.run([sys.executable, EXAMPLE, "64", "6", "1"], capture_output=True, text=True, timeout=300)
        self.assertRegex(ran.stdout, r"^\d+ -> \d+ GFLOPS: rows=.*,packed=[01]\n$", ran.stderr)


class Wrong(Case):
    """One line each; nothing is kept of what was not measured."""

    def refused(self, function, text, error=hone.BadInput, args=(64,)):
        template = hone.template(function)
        for call in (lambda: hone.build(template, *args, threads=1), lambda: tune(template, *args, trials=2)):
            with self.assertRaisesRegex(error, text) as raised:
                call()
            self.assertNotIn("\n", str(raised.exception))
        self.assertFalse(os.path.exists(self.db) and hone.Tophub(self.db).list())

    def test_defaults(self):
        def wide(k, n):
            lanes = k.choice("lanes", [4, 8, 16])
            k.require("vectors are wide", lanes > 8)
            return scaled(n, lanes)

        self.refused(wide, "template 'wide': its defaults break 'vectors are wide'")

        def raises(k, n):
            raise ZeroDivisionError("mine")

        self.refused(raises, "mine", ZeroDivisionError)
        self.refused(lambda k, n: None, "returns a NoneType, not a te.Schedule")

        def too_wide(k, n):
            return scaled(n, k.choice("lanes", [4096, 4]))

        self.refused(too_wide, "vectorize: ", args=(10000,))

    def test_definitions_that_read_beyond(self):
        def beyond(k, n):
            return scaled(n, k.choice("lanes", [4, 8]), lambda A, i: A[i + 1])

        self.refused(beyond, r"A\[i \+ 1\] is out of bounds")

    def test_what_depends_on_more_than_its_choices(self):
        calls = itertools.count()

        def turns(k, n):
            return scaled(n, [k.choice("lanes", [4, 8]), 2][next(calls) % 2])

        self.refused(turns, "gives another schedule when it is called again")

        def clock(k, n):
            lanes = k.choice("lanes", [4, 8])
            return scaled(n, lanes + time.perf_counter_ns() % 100)

        self.refused(clock, "gives another schedule when it is called again", args=(2000,))

        def other_choices(k, n):
            lanes = k.choice("lanes", [4, 8])
            k.choice("more", list(range(lanes)))
            return scaled(n, lanes)

        self.refused(other_choices, "it asks for choice 'more' of 0, .* where it asked for choice 'more' of 0, 1, 2, 3")

        def fewer(k, n):
            lanes = k.choice("lanes", [4, 8])
            if lanes == 4:
                k.choice("more", [1, 2])
            return scaled(n, lanes)

        self.refused(fewer, "it asks for nothing more where it asked for choice 'more'")

    def test_names(self):
        def dense(k, n):
            return scaled(n, k.choice("lanes", [4, 8]))

        self.refused(dense, "'dense' is an operator of Hone's")
        self.refused(lambda k, n: scaled(n, 4), "'<lambda>' is no name of an operator")
        for function in (lambda: None, lambda k, *n: None, lambda k, name: None):
            with self.assertRaises(TypeError):
                hone.template(function)
        with self.assertRaises(ValueError):
            hone.template(revision=0)(dense)

    def test_knobs(self):
        def with_knob(ask):
            def knobs(k, n):
                ask(k)
                return scaled(n, 4)

            return knobs

        for ask, text in (
            (lambda k: k.choice("a b", [1]), "'a b' is no name of a knob"),
            (lambda k: k.choice("a", []), "there is none"),
            (lambda k: k.choice("a", [1, 1]), "different numbers"),
            (lambda k: k.choice("a", [-1, 1]), "not negative"),
            (lambda k: k.choice("a", [1, 2], default=3), "its default 3 is none"),
            (lambda k: (k.choice("a", [1]), k.split("a", 4, 2)), "there is a knob 'a' already"),
            (lambda k: k.split("a", 0, 2), "extent 0 in 2 parts"),
            (lambda k: k.split("a", 4, 99), "in 99 parts"),
            (lambda k: k.split("a", 4, 2, default=[0]), "at least 1"),
            (lambda k: k.split("a", 720720, 8), "too many ways"),
        ):
            with self.subTest(text):
                self.refused(with_knob(ask), text)
        for ask, text in (
            (lambda k: k.choice("a", ["x"]), "whole numbers, or bools"),
            (lambda k: k.split("a", "4", 2), "split: extent must be an int, not str"),
            (lambda k: k.require("a"), "require: condition is missing"),
        ):
            with self.subTest(text):
                self.refused(with_knob(ask), text, TypeError)
        given = []
        hone.build(hone.template(with_knob(given.append)), 8, threads=1)
        with self.assertRaisesRegex(ValueError, "its knobs are gone"):
            given[0].choice("a", [1])

    def test_arguments(self):
        for args in ((None,), ((),), ((1.5,),)):
            with self.assertRaises(TypeError):
                double(*args)
        with self.assertRaises(TypeError):
            double(1, 2)
        with self.assertRaises(TypeError):
            tune(double, trials=1)

        @hone.template
        def words(k, shape, scale, kind, flag):
            return scaled(shape[0] * shape[1], k.choice("lanes", [4, 8]))

        self.assertRegex(words((2, 32), 0.5, "relu", True).key(), r"shape=2x32,scale=0.5,kind=relu,flag=1\)$")
        with self.assertRaises(hone.BadInput):
            words((2, 32), 0.5, "a,b", True).key()


class WrongForOne(Case):
    """A config that has no schedule is a failed trial, or none of the space; the search goes on."""

    def messages(self):
        return [r["message"] for r in kept(self.db) if r.get("message")]

    def test_one_raises(self):
        @hone.template
        def raises(k, n):
            lanes = k.choice("lanes", [4, 8, 16])
            if lanes == 8:
                raise ValueError("none\nof eight")
            return scaled(n, lanes)

        self.assertEqual(tune(raises, 64, trials=3)["by_status"], {"ok": 2, "invalid_config": 1})
        self.assertEqual(self.messages(), ["ValueError: none of eight"])

    def test_one_raises_before_its_knobs_are_read(self):
        @hone.template
        def raises(k, n):
            lanes = k.choice("lanes", [4, 8, 16])
            if lanes == 8:
                raise ValueError("none of eight")
            k.choice("more", [1, 2])
            return scaled(n, lanes)

        outcome = tune(raises, 64, trials=6)
        self.assertEqual((outcome["by_status"], outcome["ended"]), ({"ok": 2}, "space exhausted"))

    def test_one_computes_something_else(self):
        @hone.template
        def longer(k, n):
            lanes = k.choice("lanes", [4, 8, 16])
            return scaled(2 * n, lanes, extent=n + (lanes == 8))

        self.assertEqual(tune(longer, 64, trials=3)["by_status"], {"ok": 2, "invalid_config": 1})
        text = "template 'longer' returns a schedule of another definition than with its defaults"
        self.assertEqual(self.messages(), [text])

    def test_one_never_returns(self):
        self.addCleanup(setattr, hone.templates, "_SECONDS", hone.templates._SECONDS)
        hone.templates._SECONDS = 0.5

        @hone.template
        def endless(k, n):
            lanes = k.choice("lanes", [4, 8, 16])
            while lanes == 8:
                try:
                    time.sleep(0.001)
                except Exception:
                    pass
            return scaled(n, lanes)

        self.assertEqual(tune(endless, 64, trials=3)["by_status"], {"ok": 2, "invalid_config": 1})
        self.assertEqual(self.messages(), ["the template does not return"])


class Processes(Case):
    def run_code(self, code, **options):
        folder = os.path.dirname(os.path.abspath(__file__))
        start = "import hone, os, signal, sys, time\nfrom hone import te\nsys.path.insert(0, %r)\n" % folder
        code = start + "import template_test as t\n" + code
        return subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, **options
        )

    def test_ctrl_c_ends_one_that_never_returns(self):
        code = """
@hone.template
def hangs(k, n):
    parts = k.split("parts", n, 4, max_inner=[64, 64, 64])
    if hangs.now:
        print("hangs", flush=True)
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(100)
    A = te.placeholder((n,), name="A")
    B = te.compute((n,), lambda i: A[i] * 2, name="B")
    s = te.Schedule(B)
    s.vectorize(s.split(*s.loops(B), parts)[-1])
    return s

hangs.now = False
def told(p):
    hangs.now = p["done"] >= 3
try:
    t.tune(hangs, 7200, trials=1500, callback=told)
except KeyboardInterrupt:
    print("kept", len(hone.Tophub().list()))
"""
        start = time.monotonic()
        ran = self.run_code(code)
        self.assertEqual(ran.stdout, "hangs\nkept 1\n", ran.stderr)
        self.assertLess(time.monotonic() - start, 60)

    def test_the_child_of_one_that_forks_ends(self):
        code = """
@hone.template
def forks(k, n):
    lanes = k.choice("lanes", [4, 8, 16])
    if forks.now and os.fork() > 0:
        forks.now = False
        print("ended with", os.waitstatus_to_exitcode(os.wait()[1]), flush=True)
    return t.scaled(n, lanes)

forks.now = False
import hone.templates as h
check = h.Answers.__call__
def call(self, question):
    forks.now = forks.now or question.startswith('{"apply"')
    return check(self, question)
h.Answers.__call__ = call
print(t.tune(forks, 64, trials=3)["trials"])
"""
        ran = self.run_code(code)
        lines = ran.stdout.splitlines()
        self.assertIn("ended with 70", lines, ran.stderr)
        self.assertEqual(lines[-1], "3", ran.stderr)
        self.assertIn("called fork()", ran.stderr)

    def test_a_child_builds(self):
        x = np.arange(64, dtype=np.float32)
        hone.build(double, 64, threads=1)
        child = os.fork()
        if child == 0:
            try:
                good = np.array_equal(hone.build(double, 64, threads=1)(x), 2 * x)
            finally:
                os._exit(7 if good else 1)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 7)

    def test_other_threads_run_meanwhile(self):
        turns, done = [], threading.Event()

        def count():
            while not done.is_set():
                turns.append(1)
                done.wait(0.001)

        other = threading.Thread(target=count)
        other.start()
        result = []
        tuner = threading.Thread(target=lambda: result.append(tune(double, 64, trials=4)))  # not the main thread
        tuner.start()
        tuner.join()
        done.set()
        other.join()
        self.assertEqual(result[0]["trials"], 4)
        self.assertGreater(len(turns), 50)

    def test_a_callback_ends_it(self):
        def refuse(progress):
            if progress["done"] >= 1:
                raise ZeroDivisionError("mine")

        with self.assertRaisesRegex(ZeroDivisionError, "mine"):
            tune(product, 32, 32, trials=1000, callback=refuse)
        self.assertEqual(len(hone.Tophub(self.db).list()), 1)


if __name__ == "__main__":
    unittest.main()

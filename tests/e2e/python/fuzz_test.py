"""Objects at random, as callers hand them over by mistake: each call gives what it is to, or a documented exception.

HONE_FUZZ_SEED and HONE_FUZZ_COUNT: other ones, more. A call that goes wrong is printed.
"""

import copy
import faulthandler
import gc
import os
import pickle
import random
import threading
import time
import unittest

import hone
import numpy as np
import small_onnx
import support
from hone import te
from odd_objects import OTHER, SAME, VALUES, Foreign, Strange, UsedTwice, askew

SEED = int(os.environ.get("HONE_FUZZ_SEED", 0))
COUNT = int(os.environ.get("HONE_FUZZ_COUNT", 400))
# Errors that a wrong argument may raise beside hone.Error.
REFUSED = (
    TypeError, ValueError, OverflowError, IndexError, KeyError, AttributeError, BufferError, MemoryError, OSError,
)

faulthandler.enable()


class Fuzz(support.Case):
    def refused_or(self, what, call):
        """The value that call() returns; an exception that is documented: it."""
        try:
            return call()
        except hone.InternalError as e:
            raise AssertionError(f"{what}: {e}") from e
        except (hone.Error, *REFUSED, Strange) as e:
            return e
        except ZeroDivisionError as e:
            return e
        except RecursionError as e:
            return e
        except BaseException as e:
            raise AssertionError(f"{what}: {type(e).__name__}: {e}") from e

    def rounds(self):
        for seed in range(SEED, SEED + COUNT):
            yield seed, random.Random(seed)


class Arrays(Fuzz):
    def test_are_computed_or_refused(self):
        x = support.sample()
        wanted = support.perceptron_of(x)
        with self.perceptron() as model:
            for seed, rng in self.rounds():
                is_same = rng.random() < 0.4
                make = rng.choice(SAME if is_same else OTHER)
                given = self.refused_or(f"seed {seed}", lambda: make(x))
                got = self.refused_or(f"seed {seed}: {given!r:.100}", lambda: model(given))
                if is_same:
                    np.testing.assert_allclose(got, wanted, atol=1e-5, err_msg=f"seed {seed}")
                elif isinstance(got, np.ndarray):
                    self.assertEqual(got.shape, wanted.shape)

    def test_of_wrong_shapes_are_not_copied(self):
        x = np.lib.stride_tricks.as_strided(np.ones(1, np.float32), (1 << 40, 1 << 20), (0, 0))
        with self.perceptron() as model:
            for given in (x, Foreign(x)):
                with self.assertRaises(hone.BadInput):
                    model(given)
            self.assertEqual(model.stats["copied_bytes"], 0)

    def test_outputs_are_written_or_refused(self):
        x = support.sample()
        wanted = support.perceptron_of(x)
        place = np.zeros((3, 8), dtype=np.float32)
        fixed = place.copy()
        fixed.flags.writeable = False
        outs = [
            place, place[::-1], np.asfortranarray(place), askew(place), fixed, np.zeros((3, 9), np.float32)[:, :8],
            np.broadcast_to(np.zeros(8, np.float32), (3, 8)), place.astype(">f4"), place.astype(float), x[:, :8],
            place[0],
            np.zeros((3, 8, 1), np.float32), [], [place, place], {}, "out", 0, [None], [[place]], place.tolist(),
            object(),
            np.ma.masked_array(place), np.frombuffer(bytes(96), np.float32).reshape(3, 8), Foreign(place),
        ]
        with self.perceptron() as model:
            for out in outs:
                before = np.array(x)
                got = self.refused_or(f"out={out!r:.100}", lambda: model(x, out=out))
                if isinstance(got, np.ndarray):
                    np.testing.assert_allclose(np.asarray(got), wanted, atol=1e-5)
                np.testing.assert_array_equal(x, before)

    def test_capsules_are_used_once(self):
        x = support.sample()
        with self.perceptron() as model:
            given = UsedTwice(x)
            np.testing.assert_allclose(model(given), support.perceptron_of(x), atol=1e-5)
            self.assertIsInstance(self.refused_or("twice", lambda: model(given)), Exception)

    def test_memory_that_is_wanted_elsewhere_stays(self):
        x = support.sample()
        place = bytearray(x.tobytes())
        given = np.frombuffer(place, dtype=np.float32).reshape(3, 16)
        with self.perceptron() as model:
            stop = threading.Event()

            def resize():
                while not stop.is_set():
                    try:
                        place.extend(b"1234")
                        del place[-4:]
                    except BufferError:
                        pass

            thread = threading.Thread(target=resize)
            thread.start()
            for _ in range(200):
                np.testing.assert_allclose(model(given), support.perceptron_of(x), atol=1e-5)
            stop.set()
            thread.join()


class Handles(Fuzz):
    def handles(self):
        a = te.placeholder((4, 4), name="a")
        b = te.compute((4, 4), lambda i, j: a[i, j] + 1.0, name="b")
        s = te.Schedule(b)
        model = self.perceptron()
        self.addCleanup(model.close)
        return {
            "model": model, "artifact": model._model, "tensor": b, "schedule": s, "loop": s.loops(b)[0], "block":
            s[b],
            "kernel": hone.build(s, threads=1), "axis": te.reduce_axis(3), "expr": te.reduce_axis(3) + 1,
        }

    def test_are_copied_or_refused(self):
        for name, handle in self.handles().items():
            for make in (copy.copy, copy.deepcopy, pickle.dumps):
                other = self.refused_or(f"{make.__name__}({name})", lambda: make(handle))
                self.refused_or(name, lambda: repr(other))
                del other
                gc.collect()
            repr(handle)

    def test_closed_ones_are_refused(self):
        model = self.perceptron()
        model.close()
        model.close()
        for use in (
            lambda: model(support.sample()), lambda: model.run({"x": support.sample()}), lambda: model.layers,
            lambda: model.profile(support.sample()), lambda: model.target, lambda: model._model.json,
            lambda: model._model.workers(0),
        ):
            with self.assertRaises(ValueError):
                use()
        repr(model), model.stats, model.inputs

    def test_a_model_that_is_closed_meanwhile_runs_to_its_end(self):
        for _ in range(20):
            model = self.perceptron_again()
            closing = threading.Thread(target=model.close)

            class Closes(Foreign):
                def __dlpack__(self, **options):
                    closing.start()
                    return super().__dlpack__()

            x = support.sample()
            np.testing.assert_allclose(model(Closes(x)), support.perceptron_of(x), atol=1e-5)
            closing.join()
            with self.assertRaises(ValueError):
                model(x)

    def test_an_argument_that_closes_the_model_harms_nobody(self):
        """Each argument of a call, as it is converted; what the call began with runs to its end."""
        one, two = np.full((2, 2), 3, np.float32), np.full((2, 2), 1, np.float32)
        self.difference().close()
        for turned in (False, True):
            for place in (0, 1):
                model = hone.open(self.path("difference.so"))

                class Closes(Foreign):
                    def __dlpack__(self, **options):
                        model.close()
                        return super().__dlpack__()

                given = [one.T if turned else one, two.T if turned else two]
                given[place] = Closes(given[place])
                np.testing.assert_array_equal(model(*given), one - two)
                with self.assertRaisesRegex(ValueError, "closed"):
                    model(one, two)

    def test_a_collection_that_closes_the_model_harms_nobody(self):
        """Lists and tuples of results are objects that Python collects among, and collections run code of others."""
        self.difference().close()
        thresholds = gc.get_threshold()
        self.addCleanup(gc.set_threshold, *thresholds)
        for name in ("inputs", "outputs", "layers"):
            for objects in range(1, 24):  # made until the collection: before the call, and within it
                artifact = hone.open(self.path("difference.so"))._model
                wanted = getattr(artifact, name)(0)
                closes = lambda phase, info: artifact.close()
                gc.collect()
                gc.callbacks.append(closes)
                gc.set_threshold(objects)
                got = self.refused_or(name, lambda: getattr(artifact, name)(0))
                gc.set_threshold(*thresholds)
                gc.callbacks.remove(closes)
                if isinstance(got, list):
                    self.assertEqual(got, wanted)
                else:
                    self.assertIn("closed", str(got))

    def difference(self):
        """one - two, of 2x2."""
        return hone.compile(
            small_onnx.model(
                [small_onnx.node("Sub", ["one", "two"], ["d"])],
                [small_onnx.value(n, small_onnx.FLOAT, [2, 2]) for n in ("one", "two")],
                [small_onnx.value("d", small_onnx.FLOAT, [2, 2])],
            ),
            self.path("difference.so"),
            threads=1,
        )

    def perceptron_again(self):
        path = self.path("again.so")
        if not os.path.exists(path):
            self.perceptron(output=path).close()
        return hone.open(path)

    def test_the_child_of_a_fork_frees_them(self):
        made = self.handles()
        made["pool"] = self.perceptron(threads=2)
        a = te.placeholder((64, 64), name="a")
        b = te.compute((64, 64), lambda i, j: a[i, j] + 1.0, name="b")
        s = te.Schedule(b)
        s.parallel(s.loops(b)[0])
        made["parallel"] = hone.build(s, threads=2)
        made["parallel"](np.zeros((64, 64), np.float32))
        made["pool"](support.sample())
        child = os.fork()
        if child == 0:
            made.clear()
            del a, b, s
            gc.collect()
            os._exit(0)
        until = time.monotonic() + 60
        while os.waitpid(child, os.WNOHANG) == (0, 0):
            if time.monotonic() > until:
                os.kill(child, 9)
                os.waitpid(child, 0)
                self.fail("the child hangs")
            time.sleep(0.01)


class Arguments(Fuzz):
    def test_of_functions_are_taken_or_refused(self):
        some = self.path("m.so")
        x = support.sample()
        with self.perceptron(output=some) as model:
            hub = hone.Tophub(self.db)
            calls = [
                lambda v, w: hone.compile(v),
                lambda v, w: hone.compile(b"", v),
                lambda v, w: hone.compile("no.onnx", bind=v),
                lambda v, w: hone.compile("no.onnx", bind={"batch": v}),
                lambda v, w: hone.compile("no.onnx", bind={v: w}),
                lambda v, w: hone.compile("no.onnx", shapes={"x": v}),
                lambda v, w: hone.compile("no.onnx", shapes={"x": (v, w)}),
                lambda v, w: hone.compile("no.onnx", formats=v), lambda v, w: hone.compile("no.onnx", threads=v),
                lambda v, w: hone.compile("no.onnx", threads=[v, w]), lambda v, w: hone.compile("no.onnx", target=v),
                lambda v, w: hone.compile("no.onnx", db=v), lambda v, w: hone.compile("no.onnx", flags=v),
                lambda v, w: hone.compile("no.onnx", flags=[v, w]), lambda v, w: hone.compile("no.onnx", quantize=v),
                lambda v, w: hone.compile("no.onnx", on_line=v, on_progress=w), lambda v, w: hone.open(v),
                lambda v, w: hone.open(some, threads=v),
                lambda v, w: hone.Tophub(v).stats(),
                lambda v, w: hub.best(v, w),
                lambda v, w: hub.list(v, w),
                lambda v, w: hub.export(v),
                lambda v, w: hub.load(v),
                lambda v, w: hub.load(v, w),
                lambda v, w: hub.merge(v), lambda v, w: hub.train(v), lambda v, w: hone.best(v, w),
                lambda v, w: hone.tune(v, trials=1, target="cuda"),
                lambda v, w: hone.tune("dense(m=4)", trials=v, flags=[w]),
                lambda v, w: hone.tune("dense(m=4,", trials=v, seconds=w),
                lambda v, w: hone.tune([v, w], trials=1, target="cuda"),
                lambda v, w: model(v), lambda v, w: model(v, w), lambda v, w: model(x=v), lambda v, w: model.run(v),
                lambda v, w: model.run({v: w}), lambda v, w: model.profile(v), lambda v, w: model._model.workers(v),
                lambda v, w: model._model.layers(v), lambda v, w: model._model.run(v, w, None, False),
                lambda v, w: model._model.run([x], None, v, w),
                lambda v, w: model(x, out=v),
                lambda v, w: model(x, out=[v]),
                lambda v, w: te.placeholder(v),
                lambda v, w: te.placeholder((v, w)),
                lambda v, w: te.placeholder((2,), name=v),
                lambda v, w: te.placeholder((2,), dtype=v),
                lambda v, w: te.reduce_axis(v),
                lambda v, w: te.reduce_axis((0, v)),
                lambda v, w: te.compute(v, lambda i: 1.0),
                lambda v, w: te.compute((2,), v),
                lambda v, w: te.compute((2,), lambda i: v),
                lambda v, w: te.compute((2, 2), lambda i, j: i + v),
                lambda v, w: te.compute((2,), lambda i: v * i.astype(w)),
                lambda v, w: te.compute((2,), lambda i: te.where(v, w, 1.0)),
                lambda v, w: te.exp(v),
                lambda v, w: te.maximum(v, w),
                lambda v, w: te.sum(v, w), lambda v, w: te.sum(te.reduce_axis(3), v), lambda v, w: te.Schedule(v),
                lambda v, w: te.Schedule([], v), lambda v, w: te.lower(v, w), lambda v, w: te.build(v),
            ]
            for seed, rng in self.rounds():
                number, v, w = rng.randrange(len(calls)), rng.choice(VALUES), rng.choice(VALUES)
                was = os.getcwd()
                os.chdir(self.folder)  # where a file called "a=b" is written
                try:
                    what = f"seed {seed}: call {number} of {v!r:.60} and {w!r:.60}"
                    self.refused_or(what, lambda: calls[number](v, w))
                finally:
                    os.chdir(was)

    def test_what_callbacks_raise_comes_back(self):
        kinds = [
            Strange, KeyboardInterrupt, SystemExit, GeneratorExit, StopIteration, MemoryError, ValueError,
        ]
        for kind in kinds:
            def fail(*_):
                raise kind("said by the caller")
            for name in ("on_line", "on_progress"):
                with self.assertRaises(kind) as caught:
                    self.perceptron(**{name: fail})
                self.assertIs(type(caught.exception), kind)
        # One that calls back.
        told = []
        self.perceptron(
            on_line=lambda line: told.append(hone.Tophub(self.db)), on_progress=lambda p: self.perceptron_of_one()
        )
        self.assertTrue(told)

    def perceptron_of_one(self):
        with self.assertRaises(hone.BadInput):
            hone.compile("no.onnx")


class Definitions(Fuzz):
    """Schedules at random: what the primitives take computes the same, all else is BadInput and changes nothing."""

    def definition(self, rng):
        m, n, k = (rng.choice((1, 2, 3, 8, 12)) for _ in range(3))
        a, b = te.placeholder((m, k), name="a"), te.placeholder((k, n), name="b")
        r = te.reduce_axis(k, name="r")
        c = te.compute((m, n), lambda i, j: te.sum(a[i, r] * b[r, j], axis=r), name="c")
        d = te.compute((m, n), lambda i, j: te.maximum(c[i, j], 0.0) + 1.0, name="d")
        return te.Schedule(d, [a, b]), (a, b, c, d), (m, n, k)

    def test_schedules_compute_the_same(self):
        methods = [n for n in dir(te.Schedule) if not n.startswith("_")]
        built = 0
        for seed, rng in self.rounds():
            s, tensors, (m, n, k) = self.definition(rng)
            foreign = self.definition(rng)
            log = []
            loops = []

            def some():
                kind = rng.randrange(9)
                if kind < 3 and loops:
                    return rng.choice(loops)
                if kind < 5:
                    return rng.choice(tensors)
                if kind == 5:
                    return rng.choice(("c", "d", "a", "i", "j", "r", "stack", "workspace", "shared", "block", "thread"))
                if kind == 6:
                    return rng.choice((0, 1, 2, 4, 16, -1, 2**31, [1, 4], [2, 0], [16, 16], 2**63))
                if kind == 7:
                    return rng.choice(VALUES)
                return rng.choice((*foreign[1], *foreign[0].loops(foreign[1][2])))

            for _ in range(rng.randrange(1, 12)):
                for t in tensors[2:]:
                    found = self.refused_or("loops", lambda: s.loops(t))
                    if isinstance(found, (list, tuple)):
                        loops.extend(found)
                method = rng.choice(methods)
                arguments = [some() for _ in range(rng.randrange(4))]
                log.append(f"{method}({', '.join(f'{v!r:.40}' for v in arguments)})")

                def use():
                    found = getattr(s, method)
                    return found(*arguments) if callable(found) else found

                self.refused_or(f"seed {seed}: {log}", use)
            if rng.random() < 0.25:
                kernel = self.refused_or(f"seed {seed}: {log}", lambda: hone.build(s, threads=rng.choice((1, 2))))
                if not isinstance(kernel, te.Kernel):
                    continue
                x, y = (np.arange(p * q, dtype=np.float32).reshape(p, q) % 5 for p, q in ((m, k), (k, n)))
                got = self.refused_or(f"seed {seed}: {log}", lambda: kernel(x, y))
                if isinstance(got, Exception):
                    self.fail(f"seed {seed}: {log}: {got}")
                np.testing.assert_allclose(got, np.maximum(x @ y, 0) + 1, err_msg=f"seed {seed}: {log}")
                built += 1
        self.assertGreater(built, COUNT // 20)

    def test_expressions_of_elsewhere_are_refused(self):
        kept = []
        a = te.placeholder((4,), name="a")
        te.compute((4,), lambda i: (kept.append(i), a[i])[1])
        r = te.reduce_axis(4)
        bodies = [
            lambda i: a[kept[0]], lambda i: a[r], lambda i: te.sum(a[i], axis=r), lambda i: te.sum(a[r], axis=[r, r]),
            lambda i: te.sum(te.sum(a[r], axis=r), axis=r), lambda i: a[i + 1], lambda i: a[i, i], lambda i: a,
            lambda i: a[()],
            lambda i: te.compute((4,), lambda j: a[j]), lambda i: r + 0,
        ]
        for number, body in enumerate(bodies):
            def build():
                t = te.compute((4,), body, name="t")
                return hone.build(te.Schedule(t))(np.ones(4, np.float32))

            got = self.refused_or(f"body {number}", build)
            if isinstance(got, np.ndarray):
                self.assertEqual(got.shape, (4,), number)


if __name__ == "__main__":
    unittest.main()

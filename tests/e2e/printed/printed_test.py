#!/usr/bin/env python3
"""Commands that programs print as the next ones work as printed: each situation makes them print, the commands are
found by one rule (commands.py), and a shell runs them."""

import os
import pathlib
import re
import shutil
import socket
import sqlite3
import struct
import subprocess
import sys
import tempfile
import time
import unittest

from commands import BIN, ROOT, commands_in, flags_to_give

sys.path.insert(0, str(ROOT / "tests" / "e2e" / "python"))
import small_onnx  # noqa: E402

SHORT = "--repeat 2 --min-repeat-ms 0.2"  # nothing here is about speed
SMALL = f"--task dense --args m=8,n=32,k=32 --trials 4 {SHORT}"
# The file that makes commands, and the situations that run them.
PLACES = {
    "compiler/frontend/lowering/input_binding.cc": ["unknown_dimensions", "no_shape"],
    "compiler/frontend/lowering/lowering.cc": ["unknown_elements"],
    "compiler/frontend/onnx/fitting_options.cc": ["extents_that_fit"],
    "db/migrations.cc": ["an_old_tophub"],
    "tracker/cli/init_tls.cc": ["a_fleet_with_certificates", "certificates_made_anew"],
    "tuner/cli/next_commands.cc": ["an_operator", "a_model", "a_quantised_model", "too_little_time",
                                   "too_little_time_to_confirm",
                                   "a_fleet_with_certificates", "a_fleet_of_this_machine"],
}
# Only a bug of Hone's makes these; documented_test.py holds their flags against the programs.
OF_BUGS = {"compiler/cli/tensorc_operator.cc", "compiler/cli/model_flags.cc"}
# Put together by tensorc run, with numbers of the model's: tests/unit/model.
OF_BRANCHES = {"compiler/model/refused_branch.cc"}


def npy(path, descr, shape, content):
    head = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': ({', '.join(map(str, shape))},), }}"
    head += " " * (63 - (len(head) + 10) % 64) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + content)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def convolution():
    weights = small_onnx.tensor("w", [4, 3, 3, 3], [(i % 7 - 3) / 8 for i in range(108)])
    shapes = [small_onnx.value("image", small_onnx.FLOAT, ["batch", 3, 8, 8])]
    out = [small_onnx.value("y", small_onnx.FLOAT, ["batch", 4, 6, 6])]
    return small_onnx.model([small_onnx.node("Conv", ["image", "w"], ["y"])], shapes, out, [weights])


class Printed(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        (self.folder / "tmp").mkdir()
        self.env = {
            "PATH": f"{BIN}:{os.environ['PATH']}", "HOME": str(self.folder), "TMPDIR": str(self.folder / "tmp"),
            "HONE_DB": str(self.folder / "hub.db"), "HONE_HOST_LOCK": str(self.folder / "lock"),
            **{k: v for k, v in os.environ.items() if k.endswith("SAN_OPTIONS")},
        }
        self.addCleanup(self.end_all)
        self.started = []

    def end_all(self):
        for program in reversed(self.started):
            program.terminate()
            self.assertEqual(program.wait(60), 0, program.args)

    def write(self, name, content):
        (self.folder / name).write_bytes(content)
        return name

    def shell(self, command, code=0):
        """Its output, on both streams."""
        ran = subprocess.run(["bash", "-c", command], cwd=self.folder, env=self.env, timeout=300, text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if code is not None:
            self.assertEqual(ran.returncode, code, f"{command}\n{ran.stdout}")
        return ran.stdout

    def serve(self, command, ready):
        """Runs on until the test ends."""
        log = self.folder / f"log{len(self.started)}"
        with log.open("w") as out:
            self.started.append(subprocess.Popen(["bash", "-c", f"exec {command}"], cwd=self.folder, env=self.env,
                                                 stdout=out, stderr=subprocess.STDOUT, text=True))
        deadline = time.monotonic() + 120
        while ready not in log.read_text():
            self.assertIsNone(self.started[-1].poll(), f"{command}\n{log.read_text()}")
            self.assertLess(time.monotonic(), deadline, f"{command}\n{log.read_text()}")
            time.sleep(0.02)

    def paste(self, printed, fill=(), least=1):
        """Runs the commands of what was printed, templates filled in; what each of them printed."""
        found = commands_in(printed)
        self.assertGreaterEqual(len(found), least, printed)
        return [self.shell(self.filled(command, fill)) for command in found]

    @staticmethod
    def filled(command, fill):
        for template, value in dict(fill).items():
            command = command.replace(template, str(value))
        return command

    def build(self, printed, **more):
        """The build that a tuner's `next` makes has what was tuned, for exactly this machine."""
        self.assertRegex(printed, "(?m)^next  ")
        built = self.paste(printed, **more)[-1]
        self.assertTrue("best (exact workload" in built or re.search(r"configs: \d+ best;", built), built)
        return built


class Situations(Printed):
    def test_an_operator(self):
        for flags in (SMALL, f"{SMALL} --threads 1", f"{SMALL} --db \"a user's hub.db\"",
                      "--workload 'dense(m=8,n=32,k=48,epilogue=bias+relu)' --trials 2",
                      f"{SMALL} --target 'llvm -threads=1' --fresh"):
            with self.subTest(flags):
                self.build(self.shell(f"tuner {flags}"))
        # On fewer CPUs than there are.
        one = f"taskset -c {min(os.sched_getaffinity(0))} "
        printed = self.shell(f"{one}tuner --task dense --args m=8,n=32,k=64 --trials 4 --seed 3")
        self.assertIn("best (exact workload", self.shell(one + commands_in(printed)[0]))

    def test_a_build_for_other_threads_says_so(self):
        self.shell(f"tuner {SMALL} --threads 2")
        built = self.shell("tensorc --task dense --args m=8,n=32,k=32 --threads 1 --bench")
        self.assertRegex(built, "config: .*tuned for 2 threads, this build has 1")

    def test_several_operators(self):
        tasks = "dense(m=8,n=32,k=32) 2\ndense(m=8,n=32,k=48)\n"
        self.write("tasks.txt", tasks.encode())
        self.assertEqual(commands_in(self.shell("tuner --tasks tasks.txt --trials 4")), [])

    def test_a_model(self):
        model = self.write("a user's model.onnx", small_onnx.perceptron())
        image = self.write("image.onnx", convolution())
        for command in (f'tuner "{model}" --bind "batch=1|4" --trials 4 --threads 1 --denormals keep --assume-finite',
                        f'tuner "{model}" --shape x=2x16 --trials 2 --seconds 60 --db "it\'s.db"',
                        f"tuner {image} --bind batch=1 --input image=u8:NHWC,scale=0.1 --trials 4"):
            with self.subTest(command):
                self.build(self.shell(command))

    def test_a_quantised_model(self):
        model = self.write("m.onnx", small_onnx.perceptron(rows=4))
        (self.folder / "samples").mkdir()
        for i in range(4):
            npy(self.folder / "samples" / f"{i}.npy", "<f4", [4, 16],
                struct.pack("<64f", *((j * (i + 1)) % 13 / 5 for j in range(64))))
        self.shell(f"tensorc {model} --quantize int8 --calibrate samples --ranges 'the ranges.json'")
        printed = self.shell(f"tuner {model} --quantize int8 --ranges 'the ranges.json' --trials 8")
        self.build(printed)

    def test_too_little_time(self):
        model = self.write("a user's model.onnx", small_onnx.perceptron())
        tuner = f'tuner "{model}" --bind "batch=1|2|3" --fresh --seed 7 --seconds'
        # As long as it takes to measure anything at all, which is too short for three workloads.
        seconds, none = 0.5, "no candidate was measured (time is up)"
        while none in (printed := self.shell(f"{tuner} {seconds}", code=None)):
            seconds *= 2
        goes_on = [c for c in commands_in(printed) if c.startswith("tuner")]
        self.assertEqual(len(goes_on), 1, printed)
        self.assertIn("--seed 7", goes_on[0])
        self.assertNotIn("--fresh", goes_on[0])
        again = self.shell(self.filled(goes_on[0], {f"--seconds {seconds:g}": "--seconds 600 --trials 6"}))
        self.assertIn("from earlier sessions", again)
        self.build(again)

    def test_too_little_time_to_confirm(self):
        model = self.write("a user's model.onnx", small_onnx.perceptron())
        goes_on = []
        for seed in range(8):  # until one is found that is not the default
            theirs, mine = f"their {seed}.db", f"my {seed}.db"
            search = f"--seed {seed} --search random --trials 24 {SHORT}"
            self.shell(f'tuner "{model}" --bind batch=1 --db "{theirs}" {search}')
            self.shell(f'tophub export --db "{theirs}" - | tophub import --db "{mine}" -')
            printed = self.shell(f'tuner --confirm "{model}" --bind batch=1 --db "{mine}" {SHORT} --seconds 0.01')
            goes_on = [c for c in commands_in(printed) if c.startswith("tuner")]
            if goes_on:
                break
        self.assertEqual(len(goes_on), 1, printed)
        self.assertIn("--confirm", goes_on[0])
        again = self.shell(self.filled(goes_on[0], {"--seconds 0.01": "--seconds 600"}))
        self.assertIn("from elsewhere measured here", again)

    def test_unknown_dimensions(self):
        x, z, y = (small_onnx.value(name, small_onnx.FLOAT, shape)
                   for name, shape in (("x", ["batch", "a&b"]), ("z", ["a&b", 8]), ("y", ["batch", 8])))
        product = small_onnx.node("MatMul", ["x", "z"], ["y"])
        model = self.write("a user's model.onnx", small_onnx.model([product], [x, z], [y]))
        for program, more in (("tensorc", ""), ("tuner", " --print-tasks")):
            refused = f'{program} "{model}"{more}'
            flags = flags_to_give(self.shell(refused, code=2))
            self.assertEqual(len(flags), 1)
            self.shell(f"{refused} {self.filled(flags[0], {'=N': '=3'})}")

    def test_no_shape(self):
        shapeless = small_onnx.value("an input", small_onnx.FLOAT)
        out = small_onnx.value("y", small_onnx.FLOAT, [1, 3, 224, 224])
        relu = small_onnx.node("Relu", ["an input"], ["y"])
        model = self.write("m.onnx", small_onnx.model([relu], [shapeless], [out]))
        flags = flags_to_give(self.shell(f"tensorc {model}", code=2))
        self.shell(f"tensorc {model} {flags[0]}")

    def test_unknown_elements(self):
        F, I = small_onnx.FLOAT, small_onnx.INT64
        model = self.write("m.onnx", small_onnx.model(
            [small_onnx.node("Add", ["the shape", "more"], ["s"]), small_onnx.node("Reshape", ["x", "s"], ["y"])],
            [small_onnx.value("x", F, [4, 6]), small_onnx.value("the shape", I, [2]), small_onnx.value("more", I, [2])],
            [small_onnx.value("y", F, [3, 8])]))
        npy(self.folder / "two numbers.npy", "<i8", [2], struct.pack("<2q", 3, 8))
        npy(self.folder / "zeros.npy", "<i8", [2], struct.pack("<2q", 0, 0))
        flags = flags_to_give(self.shell(f"tensorc {model}", code=2))
        self.assertEqual(len(flags), 1)
        fill = {"shape=FILE": "shape=two numbers", "more=FILE": "more=zeros"}
        self.shell(f"tensorc {model} {self.filled(flags[0], fill)}")

    def test_extents_that_fit(self):
        half = small_onnx.node("MaxPool", ["an x"], ["half"], kernel_shape=[2, 2], strides=[2, 2])
        twice = small_onnx.node("Resize", ["half", "", "scales"], ["whole"])
        joined = small_onnx.node("Concat", ["an x", "whole"], ["y"], axis=1)
        model = self.write("m.onnx", small_onnx.model(
            [half, twice, joined], [small_onnx.value("an x", small_onnx.FLOAT, [1, 2, "h", "w"])],
            [small_onnx.value("y", small_onnx.FLOAT, [1, 4, "h", "w"])],
            [small_onnx.tensor("scales", [4], [1.0, 1.0, 2.0, 2.0])]))
        refused = self.shell(f"tensorc {model} --shape 'an x=1x2x9x7'", code=2)
        flags = re.search(r"they do with (--.*):$", refused, re.M)
        self.assertTrue(flags, refused)
        self.shell(f"tensorc {model} {flags[1]}")

    def test_nothing_known(self):
        self.shell(f"tuner {SMALL}")
        printed = self.shell("tophub best --task dense --args m=3,n=5,k=7 --target opencl", code=None)
        self.assertIn("no record of", printed)
        self.paste(printed)

    def test_an_old_tophub(self):
        self.shell(f"tuner {SMALL}")
        with sqlite3.connect(self.folder / "hub.db") as made:
            application = made.execute("PRAGMA application_id").fetchone()[0]
        name = "an old user's hub.db"
        with sqlite3.connect(self.folder / name) as old:
            old.execute(f"PRAGMA application_id = {application}")
        # A user who may not write to it gets an error.
        (self.folder / name).chmod(0o444)
        self.folder.chmod(0o755)
        nobody = "setpriv --reuid 65534 --clear-groups " if os.geteuid() == 0 else ""
        refused = self.shell(f'{nobody}tophub list --db "{name}"', code=5)
        (self.folder / name).chmod(0o644)
        self.paste(refused)
        self.assertIn("0 best configs", self.shell(f'tophub list --db "{name}"'))

    def fleet(self, tracker, agents, ports):
        self.serve(self.filled(tracker, ports), "listening on")
        for agent in agents:
            self.serve(self.filled(agent, ports), "connected to")

    @staticmethod
    def ports():
        return {"9190": free_port(), "9191": free_port(), "0.0.0.0": "127.0.0.1"}

    def test_a_fleet_of_this_machine(self):
        ports = self.ports()
        examples = {p: commands_in(self.shell(f"{p} --help"))[0] for p in ("tracker", "device-agent")}
        self.fleet(examples["tracker"], [examples["device-agent"]], ports)
        at = f"--tracker 127.0.0.1:{ports['9190']}"
        printed = self.shell(f"tuner {SMALL} {at} --device lab1 --threads 1")
        self.assertIn(f"{at} --device lab1", printed)
        self.build(printed)
        model = self.write("m.onnx", small_onnx.perceptron(rows=4))
        self.build(self.shell(f"tuner {model} --trials 2 {at}"))
        # The examples of --help need one, too.
        self.write("model.onnx", convolution())
        self.shell("tuner --task dense --args m=128,n=768,k=768 --trials 1")
        fill = {**ports, "OTHER.db": "other.db", "--seconds 600": "--seconds 600 --trials 3",
                "--trials 128": "--trials 2",
                "--task dense --fleet ann.hone": f"{SMALL} {at}",  # with certificates: below
                "(m=8,n=768,k=768)' --threads": "(m=8,n=64,k=64)' --trials 2 --threads"}
        shutil.copy(self.folder / "hub.db", self.folder / "other.db")
        for program in ("tensorc", "tuner"):
            self.paste(self.shell(program, code=2), fill, least=5)
        for command in ("best", "list", "stats", "export", "import", "merge", "check"):
            example = self.shell(f"tophub {command} --help").splitlines()[0]  # others are mentioned below it
            self.paste(example, fill)
        self.assertIn("lab1/cpu", self.shell(f"tracker status {at}"))

    def test_a_fleet_with_certificates(self):
        ports = self.ports()
        printed = self.shell("tracker init-tls 'the fleet' --host 127.0.0.1 --agent lab1 --tuner ann")
        # Where the tracker listens is in files, too.
        for file in (self.folder / "the fleet").iterdir():
            text = file.read_text()
            if ":9190" in text:
                file.write_text(text.replace(":9190", f":{ports['9190']}"))
        found = commands_in(printed)
        tracker = next(c for c in found if c.startswith("tracker --listen"))
        self.fleet(tracker, [c for c in found if c.startswith("device-agent")], ports)
        tuners = [self.filled(flags, ports) for flags in flags_to_give(printed)]
        self.assertEqual(len(tuners), 1, printed)
        self.build(self.shell(f"tuner {SMALL} {tuners[0]}"))
        self.shell(self.filled(next(c for c in found if c.startswith("tracker status")), ports))
        example = next(c for c in commands_in(self.shell("tuner", code=2)) if "ann.hone" in c)
        self.build(self.shell(self.filled(example, {"--task dense": SMALL, "ann.hone": "'the fleet/ann.hone'"})))

    def test_certificates_made_anew(self):
        printed = self.shell("tracker init-tls \"a user's fleet\" --host lab")
        rest = [c for c in commands_in(printed) if c.startswith("tracker init-tls")]
        self.assertEqual(len(rest), 2, printed)
        for command in rest:
            self.shell(self.filled(command, {"NAME": "lab7"}))


class Places(unittest.TestCase):
    """Where programs put commands together: each has a situation, so that a new one is not forgotten."""

    MADE = re.compile(r'ShellCommand\b.*\("|shell_option\("|"[^"\n]*\b(?:tensorc|tuner|tophub|tracker|device-agent) '
                      r'(?:init-tls |status |stats )?(?:--[a-z-]+ )?\{')

    def made_in(self, text):
        # `the tracker {}` is prose.
        return [m[0] for m in self.MADE.finditer(text) if not re.search(r'(?:tracker|tuner|tensorc|tophub) \{$', m[0])]

    def test_have_situations(self):
        places = set()
        for top in ("base", "compiler", "db", "rpc", "tracker", "tuner"):
            for file in (ROOT / top).rglob("*.cc"):
                name = str(file.relative_to(ROOT))
                if not name.startswith("base/shell_") and self.made_in(file.read_text()):
                    places.add(name)
        self.assertEqual(places, {*PLACES, *OF_BUGS, *OF_BRANCHES})
        for situation in {s for some in PLACES.values() for s in some}:
            self.assertTrue(hasattr(Situations, f"test_{situation}"), situation)

    def test_are_seen_when_they_are_new(self):
        for text in ('fmt::format("tensorc --threads {}", n)', 'ShellCommand("tuner")', '"tophub stats --db {}"',
                     'ShellCommand command("tensorc");'):
            self.assertTrue(self.made_in(text), text)
        self.assertEqual(self.made_in('"the session speaks {}, the tracker {}"'), [])

    def test_end_where_a_line_or_a_sentence_does(self):
        text = ("next      tensorc 'a; b'\\''s.onnx' --bench\ntuner: 2 left; `tuner m.onnx --bind 'x=1  `'` goes on\n"
                "  tracker init-tls fleet --host lab         for others\nthe tracker is gone\n")
        self.assertEqual(commands_in(text), ["tensorc 'a; b'\\''s.onnx' --bench", "tuner m.onnx --bind 'x=1  `'",
                                             "tracker init-tls fleet --host lab"])
        self.assertEqual(flags_to_give("a are not known; give them: --bind a=N --bind 'b c=N'\n"),
                         ["--bind a=N --bind 'b c=N'"])


if __name__ == "__main__":
    unittest.main()

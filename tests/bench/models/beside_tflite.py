#!/usr/bin/env python3
"""Models of TensorFlow Lite beside TensorFlow Lite's own library, and beside the same nets as ONNX in ONNX Runtime and
in Hone's own reader of ONNX: each side a process, on one core, in turns.

    tests/bench/models/beside_tflite.py --root SID --cpu 1 --out docs/measured/tflite.md models/*.tflite

SID is a folder with a Debian that has libtensorflow-lite, made by `debootstrap sid SID` and, in it, `apt-get install
libtensorflow-lite2.14.1`; its programs are started by its own loader, so nobody has to be root. Outputs of all sides
are compared before anything is timed. ONNX Runtime is that of deploy/peers; nets become ONNX by tflite_to_onnx.py,
where that knows their operators.
"""

import argparse
import datetime
import json
import os
import pathlib
import platform
import re
import shlex
import socket
import subprocess
import sys
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
BIN = pathlib.Path(os.environ.get("HONE_BIN_DIR", ROOT / "build" / "bin"))
PEER = ROOT / "build" / "peers" / "libonnxruntime.so.1"
SIDES = {"hone": "Hone", "tflite": "TFLite", "onnx": "Hone, ONNX", "ort": "ONNX Runtime"}
NEAR = 1e-3  # of an output's largest value
LEAST = 1e-3  # outputs that are all smaller count as so large: a sigmoid of noise may be 1e-8 or 0


class Failed(Exception):
    """One line on why a side has no time."""


class Side:
    """A process that has a model open; it answers `turn` with the milliseconds of a run, the median of a turn."""

    def __init__(self, words, case, folder, name, cpu):
        self.outputs = case["outputs"]
        path = folder / f"{name}.json"
        path.write_text(json.dumps(case))
        ours, theirs = socket.socketpair()

        def prepare():
            os.sched_setaffinity(0, {cpu})
            if theirs.fileno() == 3:
                os.set_inheritable(3, True)
            else:
                os.dup2(theirs.fileno(), 3)

        self.process = subprocess.Popen([*words, str(path)], preexec_fn=prepare, close_fds=False)
        theirs.close()
        self.lines = ours.makefile("rw")
        self.version = self.answer()["version"]

    def answer(self):
        line = self.lines.readline()
        said = json.loads(line) if line else {"error": "it ended"}
        if "error" in said:
            raise Failed(said["error"])
        return said

    def turn(self):
        self.lines.write("turn\n")
        self.lines.flush()
        return self.answer()["ms"]

    def results(self):
        return [np.fromfile(o["file"], np.float32) for o in self.outputs]

    def close(self):
        self.lines.close()
        self.process.wait()


def run(words, **more):
    ran = subprocess.run([str(w) for w in words], capture_output=True, text=True, **more)
    if ran.returncode:
        raise Failed((ran.stderr.strip() or f"exit code {ran.returncode}").splitlines()[-1])
    return ran.stdout


def build(model, out, options, environment):
    """Builds an artifact with the shipped package, for one thread; its description."""
    words = [BIN / "tensorc", model, "-o", out, "--threads", "1", "--json"]
    return json.loads(run(words + (["--db", options.db] if options.db else []), env=environment))


def case_of(description, model, library, folder, name, options):
    def tensors(key):
        made = []
        for i, t in enumerate(description[key]):
            if t["dtype"] != "f32":
                raise Failed(f"{t['name']} is {t['dtype']}: inputs and outputs of floats are compared")
            path = folder / (f"input_{i}" if key == "inputs" else f"{name}_output_{i}")
            size = 4 * int(np.prod(t["shape"]))
            if key == "inputs" and not path.exists():
                rng = np.random.default_rng(i)
                rng.random(size // 4, np.float32).tofile(path)
            made.append({"name": t["name"], "shape": t["shape"], "type": 1, "bytes": size, "file": str(path),
                         "axis": -1, "count": -1})
        return made

    return {"model": str(model), "library": str(library), "threads": 1, "spinning": False, "dims": {},
            "inputs": tensors("inputs"), "outputs": tensors("outputs"), "turn_ms": options.turn_ms, "turn_runs": 5,
            "by_processor_time": options.processor_time, "layers_file": ""}


def sides_of(model, folder, options):
    """Opens all sides that there are; for those that there are not, why."""
    sides, why = {}, {}
    environment = {**os.environ, "HOME": str(folder), "XDG_DATA_HOME": str(folder)}
    environment.pop("HONE_DB", None)

    def start(name, engine, of, description, library="", before=()):
        case = case_of(description, of, library, folder, name, options)
        sides[name] = Side([*before, BIN / "bench_models_side", engine], case, folder, name, options.cpu)

    def tried(name, f):
        try:
            f()
        except Failed as e:
            why[name] = str(e).removeprefix(f"{model}: ")

    described = build(model, folder / "m.so", options, environment)
    start("hone", "hone", folder / "m.so", described)
    libraries = pathlib.Path(options.root) / "usr/lib" / f"{platform.machine()}-linux-gnu"
    loader = [str(next(pathlib.Path(options.root).glob("lib64/ld-linux-*"))), "--library-path", str(libraries)]
    library = next(libraries.glob("libtensorflow-lite.so.*"))
    tried("tflite", lambda: start("tflite", "tflite", model, described, library, loader))

    def as_onnx():
        converted = folder / "m.onnx"
        run([sys.executable, HERE / "tflite_to_onnx.py", model, converted])
        onnx = build(converted, folder / "onnx.so", options, environment)
        start("onnx", "hone", folder / "onnx.so", onnx)
        if PEER.exists():
            tried("ort", lambda: start("ort", "onnxruntime", converted, onnx, PEER))
        else:
            why["ort"] = "there is no ONNX Runtime: deploy/peers installs it"

    tried("onnx", as_onnx)
    return sides, why


def differences(sides):
    """How far each side's outputs are from ours, of an output's largest value."""
    ours = sides["hone"].results()
    return {
        name: max(float(np.abs(a - b).max() / max(np.abs(a).max(), LEAST)) for a, b in zip(ours, side.results()))
        for name, side in sides.items() if name != "hone"
    }


def measure(model, options):
    with tempfile.TemporaryDirectory() as made:
        sides, why = sides_of(model, pathlib.Path(made), options)
        try:
            off = differences(sides)
            for name, difference in off.items():
                if not difference < NEAR:
                    raise Failed(f"{SIDES[name]}'s outputs are off by {difference:.2g}")
            times = {name: [] for name in sides}
            for turn in range(options.turns):
                for name in list(sides) if turn % 2 else reversed(list(sides)):
                    times[name].append(sides[name].turn())
            versions = {name: side.version for name, side in sides.items()}
        finally:
            for side in sides.values():
                side.close()
    return {"model": model.stem, "ms": {n: float(np.median(t)) for n, t in times.items()}, "why": why, "off": off,
            "versions": versions}


def cell(row, name):
    return f"{row['ms'][name]:.3f}" if name in row["ms"] else "-"


def ratio(row, name):
    return f"{row['ms'][name] / row['ms']['hone']:.2f}" if name in row["ms"] else "-"


def mean(rows, name):
    known = [r["ms"][name] / r["ms"]["hone"] for r in rows if name in r["ms"]]
    return f"{np.exp(np.mean(np.log(known))):.2f}" if known else "-"


def table(rows):
    head = "| model | Hone | TFLite | ratio | Hone, ONNX | ratio | ONNX Runtime | ratio |\n"
    lines = [head + "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"]
    for r in rows:
        cells = [r["model"], cell(r, "hone")]
        for name in ("tflite", "onnx", "ort"):
            cells += [cell(r, name), ratio(r, name)]
        lines.append("| " + " | ".join(cells) + " |")
    lines.append(f"| geometric mean | | | {mean(rows, 'tflite')} | | {mean(rows, 'onnx')} | | {mean(rows, 'ort')} |")
    return "\n".join(lines)


def page(rows, options):
    """The page but for what people add to it: it stands between two marks, and is all that is written anew."""
    cpu = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())
    commit = run(["git", "-C", ROOT, "rev-parse", "--short", "HEAD"]).strip()
    versions = {}
    for r in rows:
        versions.update({n: v for n, v in r["versions"].items() if v})
    words = [w for w in options.words if w not in map(str, options.models)]
    command = shlex.join(["tests/bench/models/beside_tflite.py", *words]) + " …/*.tflite"
    lines = [
        "| | |", "| --- | --- |", f"| machine | one core of an {cpu.group(1) if cpu else 'unknown CPU'} |",
        f"| date, commit | {datetime.date.today()}, {commit} |", f"| command | `{command}` |",
        f"| beside | TensorFlow Lite {versions.get('tflite', '-')}, ONNX Runtime {versions.get('ort', '-')} |", "",
        table(rows), "",
    ]
    for r in rows:
        lines += [f"- {r['model']}, {SIDES[n]}: {why}." for n, why in r["why"].items()]
    return "\n".join(lines).rstrip() + "\n"


def write(path, text):
    begin, end = "<!-- Made by tests/bench/models/beside_tflite.py. -->\n", "<!-- The end of what is made. -->\n"
    before = path.read_text() if path.exists() else f"# Measured: TensorFlow Lite's models\n\n{begin}{end}"
    at, until = before.index(begin) + len(begin), before.index(end)
    path.write_text(before[:at] + text + before[until:])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", required=True, help="a folder with a Debian that has libtensorflow-lite")
    parser.add_argument("--cpu", type=int, default=min(os.sched_getaffinity(0)), help="the core that all sides use")
    parser.add_argument("--turns", type=int, default=21)
    parser.add_argument("--turn-ms", type=float, default=50)
    parser.add_argument("--processor-time", action="store_true",
                        help="time by what a process takes of the core, not by the clock: where others use it, too")
    parser.add_argument("--db", help="a tophub with tuned configs, beside the shipped package")
    parser.add_argument("--out", type=pathlib.Path, help="the page whose table is written anew")
    parser.add_argument("models", nargs="+", type=pathlib.Path)
    options = parser.parse_args()
    options.words = sys.argv[1:]
    rows = []
    for model in options.models:
        try:
            rows.append(measure(model, options))
        except Failed as e:
            print(f"{model.stem}: {e}", flush=True)
            continue
        print(rows[-1]["model"], {n: round(t, 4) for n, t in rows[-1]["ms"].items()}, rows[-1]["off"],
              rows[-1]["why"], flush=True)
    if not rows:
        sys.exit("nothing was measured")
    print(table(rows))
    if options.out:
        write(options.out, page(rows, options))


if __name__ == "__main__":
    main()

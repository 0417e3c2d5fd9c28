#!/usr/bin/env python3
"""Whether the interval of the tuner's verdict holds what long quiet turns find afterwards: short runs beside a load,
then, the load gone, their artifacts in turns.

    taskset -c 1 tests/bench/tuning/verdicts_hold.py --runs 100 --seconds 8 m.onnx 'n.onnx --shape x=1x8' …

The load spins on the CPUs that this program may use, with pauses, both of random lengths from 20 ms to 2 s.
"""

import argparse
import json
import multiprocessing
import pathlib
import random
import re
import sys
import tempfile
import time

import numpy as np

import sides

INTERVAL = re.compile(r"([0-9.]+)x \(([0-9.]+) to ([0-9.]+)\)")


def load(seed):
    rng = random.Random(seed)
    while True:
        end = time.monotonic() + rng.uniform(0.02, 2)
        while time.monotonic() < end:
            pass
        time.sleep(rng.uniform(0.02, 2))


def verdict(text):
    """Ratio and interval of the tuned model against what was known before; None where it could not tell."""
    lines = [line for line in text.splitlines() if line.startswith("model: ")]
    beside = [line for line in lines if "beside what was known before" in line]
    tuned = [line for line in lines if "tuned" in line and "before" not in line]
    found = INTERVAL.search((beside or tuned or [""])[0])
    return found and tuple(float(n) for n in found.groups())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--turns", type=float, default=8, help="seconds of the quiet turns of each run")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--out", help="a file that a line of JSON a run is added to")
    parser.add_argument("models", nargs="+", help="a model and its flags, as one word; they take turns")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        folder = pathlib.Path(home)
        runs = []
        spinner = multiprocessing.Process(target=load, args=(1,), daemon=True)
        spinner.start()
        for run in range(options.runs):
            case = sides.Case(options.models[run % len(options.models)], options.threads, home)
            before, after, db = folder / f"{case.name}.so", folder / f"{run}.so", folder / f"{run}.db"
            if not before.exists():
                case.build(before)
            said = verdict(case.tune(db, options.seconds)[0])
            if said:
                runs.append((case.name, said, before, case.build(after, db)))
        spinner.terminate()
        spinner.join()
        outside = 0
        for name, (ratio, low, high), before, after in runs:
            times = sides.in_turns([before, after], options.turns)
            quiet = float(np.median(times[0] / times[1]))
            # Printed numbers have two digits behind the point.
            is_outside = not low - 0.005 <= quiet <= high + 0.005
            outside += is_outside
            if options.out:
                with open(options.out, "a") as out:
                    print(json.dumps({"model": name, "said": [ratio, low, high], "quiet": round(quiet, 4)}), file=out)
            print(f"{name}: said {ratio:.2f} ({low:.2f} to {high:.2f}), quiet {quiet:.3f}"
                  + (" OUTSIDE" if is_outside else ""), flush=True)
        print(f"{options.runs} runs, {len(runs)} with an interval, {outside} outside")


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""The gain that `tuner --seconds S` brings a model for several S, each from an empty tophub: the model's time after S
over its time after the last one, artifacts in turns.

    tests/bench/tuning/gain_over_seconds.py --seconds 5,15,30,60,120,600 --threads 1 'm.onnx --shape x=1x3x48x320' …

Prints a table, and a line of JSON a model to --out, which keeps what was measured if it is interrupted.
"""

import argparse
import json
import pathlib
import sys
import tempfile

import numpy as np

import sides


def measured(case, seconds, folder, turns):
    paths, took = [case.build(folder / "before.so")], []
    for s in seconds:
        text, wall = case.tune(folder / f"{s:g}.db", s)
        (folder / f"{s:g}.txt").write_text(text)
        took.append(wall)
        paths.append(case.build(folder / f"{s:g}.so", folder / f"{s:g}.db"))
    times = sides.in_turns(paths, turns)
    ratios = np.median(times / times[-1], axis=1)
    return {"model": case.name, "before_ms": float(np.median(times[0]) / 1e6), "seconds": seconds,
            "took": [round(t, 1) for t in took], "ratios": [round(float(r), 4) for r in ratios]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", default="5,15,30,60,120,600", help="the last one is what others are compared with")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--turns", type=float, default=12, help="seconds of the turns at the end")
    parser.add_argument("--out", help="a file that a line of JSON a model is added to")
    parser.add_argument("models", nargs="+", help="a model and its flags, as one word")
    options = parser.parse_args()
    seconds = [float(s) for s in options.seconds.split(",")]
    rows = []
    print("| model | before, ms | before | " + " | ".join(f"{s:g} s" for s in seconds) + " |")
    print("| --- | " + "---: | " * (2 + len(seconds)), flush=True)
    for text in options.models:
        with tempfile.TemporaryDirectory() as home:
            row = measured(sides.Case(text, options.threads, home), seconds, pathlib.Path(home), options.turns)
        rows.append(row["ratios"])
        if options.out:
            with open(options.out, "a") as out:
                print(json.dumps(row), file=out)
        print(f"| {row['model']} | {row['before_ms']:.3g} | " + " | ".join(f"{r:.2f}" for r in row["ratios"]) + " |",
              flush=True)
    means = np.exp(np.mean(np.log(np.array(rows)), axis=0))
    print(f"| geometric mean ({len(rows)}) | | " + " | ".join(f"{m:.3f}" for m in means) + " |")


if __name__ == "__main__":
    sys.exit(main())

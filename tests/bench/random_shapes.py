#!/usr/bin/env python3
"""Kernels of random shapes, tuned, beside the fastest peer of each: bench_kernels for several seeds, in one table.

    tests/bench/random_shapes.py --seeds 1,2,3,4,5 --threads 1 --db bench.db

Each seed's twenty shapes are tuned (the same command goes on where it was stopped) and then measured. A row has how
many shapes there were, the peer's time over ours in the geometric mean and at least, and how many are below 1.
"""

import argparse
import json
import math
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("HONE_BIN_DIR", ROOT / "build" / "bin"))
OURS = ("tuned", "default")
TITLES = {"conv2d": "convolutions", "depthwise_conv2d": "depthwise"}


def bench_kernels(seed, options, *more):
    command = [BIN / "bench_kernels", "--random", str(options.shapes), "--seed", seed, "--threads",
               str(options.threads), "--db", options.db, *more]
    ran = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if ran.returncode != 0:
        sys.exit(f"random_shapes.py: bench_kernels of seed {seed} ended with {ran.returncode}")
    return ran.stdout


def mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def row(title, ratios):
    below = sum(ratio < 1 for ratio in ratios)
    return f"{title:<18}{len(ratios):>9}{mean(ratios):>12.2f}{min(ratios):>9.2f}{below or '-':>13}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", default="1,2,3,4,5")
    parser.add_argument("--shapes", type=int, default=20, help="of each seed")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--trials", type=int, default=200, help="candidates of each shape")
    parser.add_argument("--db", required=True, help="the tophub that the tuned configs are kept in")
    options = parser.parse_args()
    seeds = options.seeds.split(",")
    for seed in seeds:
        bench_kernels(seed, options, "--tune", "--trials", str(options.trials))
    ratios, gains = {}, []
    for seed in seeds:
        print(f"measuring the shapes of seed {seed}", file=sys.stderr)
        for line in bench_kernels(seed, options, "--json").splitlines():
            shape = json.loads(line)
            times = shape.get("time_ms", {})  # the last line may only say that the peak rose
            peers = [ms for name, ms in times.items() if name not in OURS]
            if peers:
                ratios.setdefault(shape["workload"].split("(")[0], []).append(min(peers) / times["tuned"])
                gains.append(times["tuned"] / times["default"])
    if not gains:
        sys.exit("random_shapes.py: there is no peer; deploy/peers installs one")
    print(f"{'':<18}{'shapes':>9}{'best peer':>12}{'least':>9}{'below 1.0':>13}")
    for name in sorted(ratios, key=lambda name: (name not in TITLES, name == "batch_matmul", name)):
        print(row(TITLES.get(name, name), ratios[name]))
    print(row("all", [ratio for group in ratios.values() for ratio in group]))
    print(f"tuned kernels take {mean(gains):.2f} of their defaults' time")


if __name__ == "__main__":
    main()

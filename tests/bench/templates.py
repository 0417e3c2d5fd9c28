#!/usr/bin/env python3
"""The cost of a template in Python beside the same template of Hone's own, for the same configs.

    PYTHONPATH=build/python /usr/bin/python3 tests/bench/templates.py [BUILD] [CONFIGS] [TRIALS] [TURNS]

BUILD is the build folder (build). Two tables: the time that a config takes until its module is there (medians of
CONFIGS random ones, of the process's own time, on one core), and trials a second of sessions of TRIALS on one thread,
in turns. tests/e2e/python/same_templates_test.py shows that the modules are the same.
"""

import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

BUILD = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "build").resolve()
CONFIGS, TRIALS, TURNS = (int(word) for word in (sys.argv[2:] + ["300", "32", "3"][len(sys.argv[2:]) :]))
ROOT = pathlib.Path(__file__).resolve().parents[2]
os.environ["HONE_BUILD"] = str(BUILD)
sys.path.insert(0, str(ROOT / "tests" / "e2e" / "python"))

import hone
from same_templates_test import ROWS, hones_text, random_configs

BENCH = BUILD / "bin" / "bench_candidates"


def costs(row):
    """Microseconds of a config: in Python; of the same steps in the tuner and of Hone's own, both with lowering."""
    make, workload = ROWS[row]
    space = make()._space("llvm", 2, is_here=True)
    definition = json.loads(space.answer(json.dumps({"target": space.target})))["definition"]
    configs = random_configs(make(), space.target, 2, CONFIGS)
    apply, steps = [], []
    for _, numbers in configs:
        space.answer(json.dumps({"settle": [numbers]}))  # as a search asks before it takes a config
    for _, numbers in configs:
        question = json.dumps({"apply": [numbers]})
        start = time.process_time()
        answer = space.answer(question)
        apply.append(time.process_time() - start)
        steps.append(json.loads(answer)[0]["steps"])
    given = {"workload": workload, "target": space.target, "definition": definition, "steps": steps,
             "configs": [hones_text(chosen, workload) for chosen, _ in configs]}
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        file.write(json.dumps(given) + "\n")
        file.flush()
        out = subprocess.run([BENCH, "--given", file.name], check=True, text=True, stdout=subprocess.PIPE).stdout
    own, replayed = (float(word) for word in out.split())
    return 1e6 * statistics.median(apply), replayed, own


def rate(what, *args):
    with tempfile.TemporaryDirectory() as folder:
        os.environ["HONE_DB"] = os.path.join(folder, "hub.db")
        start = time.monotonic()
        outcome = hone.tune(what, *args, trials=TRIALS, threads=1, progress=False)
        return outcome["trials"] / (time.monotonic() - start)


print("| | Python | its steps, and lowering | Hone's, with lowering | ratio |")
print("| --- | ---: | ---: | ---: | ---: |")
for row in ROWS:
    python, lowering, own = costs(row)
    ratio = (python + lowering) / own
    print(f"| {row} | {python:.0f} us | {lowering:.0f} us | {own:.0f} us | {ratio:.2f} |", flush=True)
if TURNS:
    print("\n| trials/s | Python | Hone's | ratio |")
    print("| --- | ---: | ---: | ---: |")
    for row, (make, workload) in ROWS.items():
        pairs = [(rate(make()), rate(workload)) for _ in range(TURNS)]
        mine, own = (statistics.median(side) for side in zip(*pairs))
        print(f"| {row} | {mine:.2f} | {own:.2f} | {mine / own:.2f} |", flush=True)

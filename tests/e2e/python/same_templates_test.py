"""Templates in Python make the programs of Hone's own: the same knobs, and config for config the same module."""

import json
import os
import random
import re
import subprocess
import sys
import unittest

from hone import te
from hone_templates import ONCE, python_conv2d, python_dense

TARGET, THREADS = "llvm -mtriple=x86_64-linux -mcpu=znver4 -threads=2", 2
TENSORC = os.path.join(os.environ["HONE_BUILD"], "bin", "tensorc")

# Knobs that Hone's have beside these, and its words for choices.
ELSEWHERE = {"dense": "split_k=1,pack_b=0", "conv2d": "algorithm=direct"}
WORDS = {
    "pad_at": ["nowhere", "once", "task"],
    "order": ["kh_kw_ic", "kh_ic_kw", "ic_kh_kw"],
    "partition": ["static", "dynamic"],
}

ROWS = {
    "M2": (lambda: python_dense(128, 768, 768), "dense(m=128,n=768,k=768)"),
    "C3": (lambda: python_conv2d(64, 56, 56, 64, 1), "conv2d(n=1,ci=64,h=56,w=56,co=64,kh=1,kw=1,stride=1,pad=0)"),
    "C6": (lambda: python_conv2d(128, 28, 28, 128, 3), "conv2d(n=1,ci=128,h=28,w=28,co=128,kh=3,kw=3,stride=1,pad=1)"),
}


def random_configs(template, target, threads, count, seed=1):
    """Configs of its space, as {knob: choice} and as numbers of choices."""
    space = template._space(target, threads)
    knobs = json.loads(space.answer(json.dumps({"target": space.target})))["knobs"]
    draws, found = random.Random(seed), []
    while len(found) < count:
        numbers = [draws.randrange(len(knob["choices"])) for knob in knobs]
        if json.loads(space.answer(json.dumps({"settle": [numbers]})))[0]["broken"]:
            continue
        chosen = {knob["name"]: knob["choices"][number] for knob, number in zip(knobs, numbers)}
        # The once padded image has a margin for every config's tiles here, and for its own tiles in Hone's.
        if chosen.get("pad_at") != [ONCE]:
            found.append((chosen, numbers))
    return found


def text(chosen, words):
    def word(name, choice):
        return words[name][choice[0]] if name in words else "x".join(map(str, choice))

    return ",".join(f"{name}={word(name, choice)}" for name, choice in chosen.items())


def hones_text(chosen, workload):
    return f"{ELSEWHERE[workload.partition('(')[0]]},{text(chosen, WORDS)}"


def without_names(module):
    """The text of a module's functions, with buffers and loops numbered as they come: two that are alike but for names
    are the same module."""
    code = re.sub(r"^(config:|param ).*\n", "", module, flags=re.M)
    named = set(re.findall(r"(?:for|alloc|func) (\w+)", code)) | set(re.findall(r"(\w+): f32\[", code))
    numbers = {}
    return re.sub(r"\b[A-Za-z_]\w*\b",
                  lambda m: f"v{numbers.setdefault(m[0], len(numbers))}" if m[0] in named else m[0], code)


class SameTemplates(unittest.TestCase):
    def is_the_same(self, row):
        make, workload = ROWS[row]
        template = make()
        programs = set()
        for chosen, _ in random_configs(template, TARGET, THREADS, 12):
            ours = te.lower(template.schedule(text(chosen, {}), TARGET), THREADS)
            command = [TENSORC, "--workload", workload, "--target", TARGET, "--config", hones_text(chosen, workload),
                       "--emit", "lowered", "-o", "/dev/stdout"]
            theirs = subprocess.run(command, capture_output=True, text=True, timeout=60)
            self.assertEqual(theirs.returncode, 0, theirs.stderr)
            self.assertEqual(without_names(ours), without_names(theirs.stdout), text(chosen, WORDS))
            programs.add(without_names(ours))
        self.assertGreater(len(programs), 10)  # and configs differ

    def test_product(self):
        self.is_the_same("M2")

    def test_convolution_of_pixels(self):
        self.is_the_same("C3")

    def test_convolution(self):
        self.is_the_same("C6")


if __name__ == "__main__":
    unittest.main(verbosity=2)

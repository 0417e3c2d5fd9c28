"""Helpers that the tests of the package share."""

import os
import tempfile
import unittest

import hone
import numpy as np
import small_onnx


# Flags of tuner: nothing in these tests is about speed.
SHORT = ["--repeat", "2", "--min-repeat-ms", "0.2"]


class Case(unittest.TestCase):
    """A folder of its own, with a tophub of its own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="hone_test_")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.db = os.path.join(self.folder, "hub.db")
        os.environ["HONE_DB"] = self.db

    def path(self, name):
        return os.path.join(self.folder, name)

    def perceptron(self, **options):
        options.setdefault("bind", {"batch": 3})
        options.setdefault("threads", 1)
        return hone.compile(small_onnx.perceptron(), **options)


def perceptron_of(x):
    """The values that small_onnx.perceptron() computes."""
    k, n = 16, 8
    w = np.array([[(i - j) / 8 for j in range(n)] for i in range(k)], dtype=np.float32)
    return np.maximum(x @ w + np.arange(n, dtype=np.float32), 0)


def sample(rows=3):
    return ((np.arange(rows * 16) * 7 % 11 - 5) / 4).astype(np.float32).reshape(rows, 16)

"""A sum of vectors, from its definition to a kernel that C calls: python3 vector_add.py [LENGTH]."""

import sys

import hone
import numpy as np
from hone import te


def vector_add(n):
    A = te.placeholder("n", name="A")
    B = te.placeholder("n", name="B")
    C = te.compute("n", lambda i: A[i] + B[i], name="C")
    s = te.Schedule(C, inputs=[A, B], sizes={"n": n})
    outer, inner = s.split(*s.loops(C), 16)
    s.vectorize(inner)
    s.parallel(outer)
    return s


if __name__ == "__main__":
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    schedule = vector_add(n)
    print(schedule)
    add = hone.build(schedule)
    a, b = np.random.rand(2, n).astype(np.float32)
    np.testing.assert_array_equal(add(a, b), a + b)
    print(f"{n} sums are right, in {add.time(a, b) * 1e6:.1f} us")
    add.save("vector_add.so")
    np.testing.assert_array_equal(hone.open("vector_add.so")(a, b), a + b)

"""A search space for a product of matrices: python3 matmul_template.py [SIZE] [TRIALS] [THREADS]."""

import sys

import hone
import numpy as np
from hone import te


@hone.template
def matmul(k, m, n, depth):
    A = te.placeholder((m, depth), name="A")
    B = te.placeholder((depth, n), name="B", constant=True)
    r = te.reduce_axis(depth, name="r")
    C = te.compute((m, n), lambda i, j: te.sum(A[i, r] * B[r, j], axis=r), name="C")

    lanes = k.vector_bits // 32
    rows = k.split("rows", m, 3, max_inner=[64, 14])
    columns = k.split("columns", n, 3, max_inner=[64, 8 * lanes], default=[1, lanes])
    steps = k.split("steps", depth, 2, max_inner=[16])
    packed = k.choice("packed", [False, True])
    k.require("columns are whole vectors", columns[2] % lanes == 0)
    k.require("the sums fit the registers", rows[2] * columns[2] // lanes <= k.vector_registers - 4)

    s = te.Schedule(C, inputs=[A, B])
    copy = s.cache_write(C, "stack")
    i, j = s.loops(copy)
    io, im, ii = s.split(i, rows)
    jo, jm, ji = s.split(j, columns)
    s.reorder(io, jo, jm, im, ii, ji)
    s.vectorize(ji)
    s.unroll(ii)
    s.compute_at(C, im)
    i, j, r0 = s.loops(C)[-3:]
    ro, ri = s.split(r0, steps[1])
    s.reorder(ro, ri, i, j)
    first = s.decompose_reduction(C, ro)
    for y, x in (s.loops(C)[-2:], s.loops(first)[-2:]):
        s.vectorize(x)
        s.unroll(y)
    s.unroll(ri)
    if packed:
        panels = s.cache_read(B, C, "workspace")
        s.transform_layout(panels, f"NM{columns[2]}n", "MN")
        s.prepack(panels)
    s.parallel(s.fuse(io, jo))
    return s


def speed(kernel, a, b):
    np.testing.assert_allclose(kernel(a, b), a @ b, rtol=1e-4)
    return 2 * a.size * b.shape[1] / kernel.time(a, b) / 1e9


if __name__ == "__main__":
    size, trials, threads = (int(word) for word in (sys.argv[1:] + ["512", "200", "1"][len(sys.argv) - 1 :]))
    a, b = np.random.rand(2, size, size).astype(np.float32)
    before = speed(hone.build(matmul, size, size, size, threads=threads), a, b)
    hone.tune(matmul, size, size, size, threads=threads, trials=trials)
    kernel = hone.build(matmul, size, size, size, threads=threads)
    print(f"{before:.0f} -> {speed(kernel, a, b):.0f} GFLOPS: {kernel.config}")

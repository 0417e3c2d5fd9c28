"""Two of Hone's own templates for CPUs, written in Python with the same knobs: what a template in Python costs is told
by comparing them (same_templates_test.py). Left out are parts that other shapes and types need, `split_k` and the other
algorithms of conv2d."""

import functools

import hone
from hone import te

MOST_UNROLLED_PRODUCT = 512
MOST_UNROLLED_WINDOW = 768
MOST_LANES = 64
L1_BYTES, AHEAD_BYTES, ELEMENT_BYTES = 32 << 10, 2 << 10, 4


def ceil_div(a, b):
    return -(-a // b)


def divisors(n, limit):
    return [d for d in range(1, min(n, limit) + 1) if n % d == 0]


def covering_heights(extent, heights):
    return [t for t in heights if t <= extent and 3 * (ceil_div(extent, t) * t - extent) <= extent]


def vector_blocks(extent, lanes):
    blocks = {b for b in (lanes // 2, lanes, 2 * lanes, 3 * lanes, 4 * lanes)
              if 1 <= b <= MOST_LANES and 3 * (ceil_div(extent, b) * b - extent) <= ceil_div(extent, b) * b}
    if not blocks or extent < lanes:
        blocks |= set(divisors(extent, MOST_LANES))
    return sorted(blocks)


def at_least(least, choices):
    return [c for c in choices if c >= least] or choices


def chunk_counts(extent):
    return sorted({min(n, extent) for n in (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64, 128)})


def chunks(extent, count):
    each = ceil_div(extent, count)
    return [ceil_div(extent, each), each]


def nearest(choices, wanted):
    return min(choices, key=lambda c: abs(c - wanted))


def fuse_all(s, loops):
    fused = loops[0]
    for loop in loops[1:]:
        fused = s.fuse(fused, loop)
    return fused


def prefetch(s, loops, buffer, size, step):
    """Annotates the innermost loop that runs more than once; the loop, or none."""
    if size <= L1_BYTES:
        return None
    for loop in reversed(loops):
        if loop.extent > 1:
            s.annotate(loop, "prefetch:" + buffer, ceil_div(AHEAD_BYTES, step))
            return loop
        step *= loop.extent
    return None


def choose_vector_bits(k):
    return k.choice("vector_bits", sorted({min(256, k.vector_bits), k.vector_bits}), default=k.vector_bits)


@functools.cache  # schedules of one definition share it
def product_of(m, n, depth):
    a = te.placeholder((m, depth), name="a")
    b = te.placeholder((n, depth), name="b", constant=True)
    r = te.reduce_axis(depth, name="k")
    c = te.compute((m, n), lambda m, n: te.sum(a[m, r] * b[n, r], axis=r), name="matmul")
    return a, b, c


@hone.template
def python_dense(k, m, n, depth):
    """A product of matrices, whose second one is a constant."""
    a, b, c = product_of(m, n, depth)
    lanes = k.vector_bits // 32
    n_block = k.choice("n_block", vector_blocks(n, lanes), default=2 * lanes)
    heights = covering_heights(m, [*range(1, 15), 20, 28])
    tile_m = k.choice("tile_m", heights, default=nearest(heights, 8))
    rows = chunks(ceil_div(m, tile_m), k.choice("tasks_m", chunk_counts(m), default=1, for_threads=True))
    column_tasks = chunk_counts(ceil_div(n, lanes))
    tasks_n = k.choice("tasks_n", column_tasks, default=nearest(column_tasks, n // (2 * lanes)), for_threads=True)
    columns = chunks(ceil_div(n, n_block), tasks_n)
    m_inside = k.choice("m_inside", [False, True], default=True)
    unroll_k = k.choice("unroll_k", [1, 2, 4, 8], default=2)
    pack_a = k.choice("pack_a", [False, True])
    vector_bits = choose_vector_bits(k)
    partition = k.choice("partition", [0, 1], for_threads=True)
    registers = ceil_div(n_block, vector_bits // 32)
    k.require("accumulators leave registers for both operands",
              tile_m * registers + registers + 1 <= k.vector_registers)
    k.require("k is as long as its unrolling", unroll_k <= depth)
    k.require("the unrolled body is small", tile_m * registers * unroll_k <= MOST_UNROLLED_PRODUCT)
    k.require("a task reads its packed rows more than once", not pack_a or columns[1] > 1)

    s = te.Schedule(c, inputs=[a, b])
    writer = s.cache_write(c, "stack")
    rs, cs = s.loops(writer)
    rs = s.split(rs, [*rows, tile_m])
    cs = s.split(cs, [*columns, n_block])
    s.reorder(cs[0], rs[0], *([cs[1], rs[1]] if m_inside else [rs[1], cs[1]]), rs[2], cs[2])
    task = s.fuse(cs[0], rs[0])
    s.vectorize(cs[2])
    s.unroll(rs[2])

    s.compute_at(c, rs[1] if m_inside else cs[1])
    tile_rows, tile_columns, kl = s.loops(c)[-3:]
    k_o, k_u = s.split(kl, unroll_k)
    s.reorder(k_o, k_u, tile_rows, tile_columns)
    s.vectorize(tile_columns)
    s.unroll(tile_rows)
    s.unroll(k_u)
    if tile_m >= 4:
        prefetch(s, [k_o], "b", n * depth * ELEMENT_BYTES, unroll_k * n_block * ELEMENT_BYTES)
    s.decompose_reduction(c, k_o)

    if pack_a:
        copy = s.cache_read(a, c, "workspace")
        s.compute_at(copy, task)
        row, column = s.loops(copy)[-2:]
        row_o, row_i = s.split(row, tile_m)
        s.reorder(row_o, column, row_i)
        s.unroll(row_i)
        s.transform_layout(copy, f"MK{tile_m}m", "MK")
    s.parallel(task)
    s.transform_layout(b, f"NK{n_block}n", "NK")
    s.annotate("vector_bits", vector_bits)
    s.annotate("partition", partition)
    return s


NOWHERE, ONCE, IN_TASK = range(3)


WIDEST, HIGHEST = 28, 4  # tiles, which may reach beyond the image


@functools.cache
def convolution_of(ci, h, w, co, kernel):
    border = kernel // 2
    height, width = h + 2 * border + HIGHEST - 1, w + 2 * border + WIDEST - 1
    data = te.placeholder((1, ci, h, w), name="data")
    weight = te.placeholder((co, ci, kernel, kernel), name="weight", constant=True)
    pad = te.compute(
        (1, ci, height, width),
        lambda n, c, y, x: te.where(
            (y - border >= 0) & (y - border < h) & (x - border >= 0) & (x - border < w),
            data[n, c, y - border, x - border],
            0.0,
        ),
        name="pad",
    )
    ic, kh, kw = te.reduce_axis(ci, name="ic"), te.reduce_axis(kernel, name="kh"), te.reduce_axis(kernel, name="kw")
    conv = te.compute(
        (1, co, h, w),
        lambda n, oc, oh, ow: te.sum(pad[n, ic, oh + kh, ow + kw] * weight[oc, ic, kh, kw], axis=[ic, kh, kw]),
        name="conv",
    )
    return data, weight, pad, conv


@hone.template
def python_conv2d(k, ci, h, w, co, kernel):
    """A direct convolution of one image, stride 1, as large as its input, in blocks of channels."""
    data, weight, pad, conv = convolution_of(ci, h, w, co, kernel)
    lanes = k.vector_bits // 32
    tiles = at_least(lanes, vector_blocks(co, lanes))
    oc_block = k.choice("oc_block", tiles, default=nearest(tiles, 2 * lanes))
    blocks = at_least(lanes // 2, divisors(ci, 64))
    ic_block = k.choice("ic_block", blocks, default=nearest(blocks, 16))
    columns = k.split("tile_ow", w, 2, max_inner=[WIDEST], default=[12], all_up_to=6 if k.vector_registers < 32 else 0)
    tile_oh = k.choice("tile_oh", [1, 2, 3, 4])
    parts = k.choice("tasks_oh", chunk_counts(h), default=8, for_threads=True)
    rows = chunks(ceil_div(h, tile_oh), parts)
    pad_at = k.choice("pad_at", [NOWHERE, ONCE, IN_TASK])
    oc_inside = k.choice("oc_inside", [False, True], for_threads=True)
    order = k.choice("order", [0, 1, 2])
    unroll_ic = k.choice("unroll_ic", [1, 2, 4, 8, 16], default=4)
    unroll_kw = k.choice("unroll_kw", [False, True])
    vector_bits = choose_vector_bits(k)
    partition = k.choice("partition", [0, 1], for_threads=True)
    registers = ceil_div(oc_block, vector_bits // 32)
    sums = tile_oh * columns[1] * registers
    k.require("accumulators leave registers for weights and data", sums + registers + 1 <= k.vector_registers)
    k.require("unrolling divides the input block", ic_block % unroll_ic == 0)
    k.require("rows of a tile exist", tile_oh <= h)
    k.require(
        "the unrolled body is small", sums * unroll_ic * (kernel if unroll_kw else 1) <= MOST_UNROLLED_WINDOW
    )

    s = te.Schedule(conv, inputs=[data, weight])
    writer = s.cache_write(conv, "stack")
    n, oc, oh, ow = s.loops(writer)
    oc_o, oc_i = s.split(oc, oc_block)
    part, row, row_i = s.split(oh, [*rows, tile_oh])
    ow_o, ow_i = s.split(ow, columns[1])
    if oc_inside:
        s.reorder(n, part, oc_o, row, ow_o, row_i, ow_i, oc_i)
        task = s.fuse(n, part)
    else:
        s.reorder(n, oc_o, part, row, ow_o, row_i, ow_i, oc_i)
        task = fuse_all(s, [n, oc_o, part])
    s.vectorize(oc_i)
    s.unroll(ow_i)
    s.unroll(row_i)

    s.compute_at(conv, ow_o)
    oc, oh, ow, ic_all, kh_, kw_ = s.loops(conv)[-6:]
    ic_o, ic_rest = s.split(ic_all, ic_block)
    ic_i, ic_u = s.split(ic_rest, unroll_ic)
    window = [ic_o, *([kh_, kw_, ic_i], [kh_, ic_i, kw_], [ic_i, kh_, kw_])[order]]
    s.reorder(*window, ic_u, oh, ow, oc)
    s.vectorize(oc)
    s.unroll(ow)
    s.unroll(oh)
    s.unroll(ic_u)
    if unroll_kw:
        s.unroll(kw_)
    if order == 0 or kernel == 1:
        size = co * ci * kernel * kernel * ELEMENT_BYTES
        prefetch(s, [ic_o, kh_, kw_, ic_i], "weight", size, unroll_ic * oc_block * ELEMENT_BYTES)
    s.decompose_reduction(conv, ic_o)

    if pad_at == NOWHERE:
        s.compute_inline(pad)
    else:
        if pad_at == IN_TASK:
            s.compute_at(pad, task)
        pn, pc, py, px = s.loops(pad)[-4:]
        if ic_block > 1:
            pc_o, pc_i = s.split(pc, ic_block)
            s.reorder(pn, pc_o, py, px, pc_i)
            s.vectorize(pc_i)
        else:
            pc_o = pc
            s.vectorize(s.split(px, min(lanes, px.extent))[1])
        if pad_at == ONCE:
            s.parallel(fuse_all(s, [pn, pc_o, py]))
        s.transform_layout(pad, f"NCHW{ic_block}c", "NCHW")
    s.transform_layout(conv, "NHWC", "NCHW")
    s.parallel(task)
    s.transform_layout(data, f"NCHW{ic_block}c", "NCHW")
    s.transform_layout(weight, f"OIHW{ic_block}i{oc_block}o", "OIHW")
    s.transform_layout(writer, f"NCHW{oc_block}c", "NCHW")
    s.annotate("vector_bits", vector_bits)
    s.annotate("partition", partition)
    return s

"""Definitions (what is computed, element by element) and schedules (how).

    A = te.placeholder((512, 512), name="A")
    B = te.placeholder((512, 512), name="B")
    k = te.reduce_axis(512, name="k")
    C = te.compute((512, 512), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    s = te.Schedule(C)
    i, j, k = s.loops(C)
    s.vectorize(s.split(j, 16)[1])
    matmul = hone.build(s)
    c = matmul(a, b)

A schedule begins as the naive nest; every primitive is a rewrite that is checked: what would compute something else
raises hone.BadInput, in one line, and changes nothing. ``print(s)`` shows the steps and the program.
"""

import contextlib
import contextvars
import functools
import inspect
import itertools
import operator
from typing import Any, Callable, Optional, Sequence, Tuple, Union

import numpy

from hone import _te
from hone._te import (  # noqa: F401
    Axis, Block, Expr, Loop, Reduction, Tensor, abs, acos, acosh, asin, asinh, atan, atanh, bitwise_and, bitwise_not,
    bitwise_or, bitwise_xor, ceil, celu, clip, cos, cosh, elu, erf, exp, floor, fmod, gelu, gelu_tanh, hard_sigmoid,
    hard_swish, is_inf, is_nan, leaky, leaky_relu, log, maximum, minimum, mish, pow, prelu, reciprocal, relu, relu6,
    rsqrt, selu, shrink, sigmoid, sign, silu, sin, sinh, softplus, softsign, sqrt, square, tan, tanh,
    thresholded_relu, where, xor,
)
from hone._te import rint as round  # noqa: F401

__all__ = [
    "Axis", "Block", "Expr", "Kernel", "Loop", "Reduction", "Schedule", "Tensor", "abs", "acos", "acosh", "all",
    "any", "asin", "asinh", "atan", "atanh", "bitwise_and", "bitwise_not", "bitwise_or", "bitwise_xor", "build",
    "ceil", "celu", "clip", "compute", "cos", "cosh", "elu", "erf", "exp", "floor", "fmod", "gelu", "gelu_tanh",
    "hard_sigmoid", "hard_swish", "is_inf", "is_nan", "leaky", "leaky_relu", "log", "lower", "max", "maximum", "min",
    "minimum", "mish", "placeholder", "pow", "prelu", "reciprocal", "reduce_axis", "relu", "relu6", "round", "rsqrt",
    "selu", "shrink", "sigmoid", "sign", "silu", "sin", "sinh", "softplus", "softsign", "source", "sqrt", "square",
    "sum", "tan", "tanh", "thresholded_relu", "where", "xor",
]

Extents = Union[int, Sequence[int]]
Axes = Union[Axis, Sequence[Axis]]

_numbers = contextvars.ContextVar("hone.te.numbers", default=itertools.count())


def _name(given, kind):
    """The name that was given, or one that nothing else has."""
    return given if given is not None else f"{kind}{next(_numbers.get())}"


@contextlib.contextmanager
def fresh_names():
    """Names that are made up begin anew: what runs in it twice makes the same ones."""
    before = _numbers.set(itertools.count())
    try:
        yield
    finally:
        _numbers.reset(before)


def placeholder(
    shape: Extents, name: Optional[str] = None, dtype: str = "float32", constant: bool = False
) -> Tensor:
    """A tensor that callers pass.

    Args:
        shape: its extents, or one extent.
        name: in the program's text; None: a name of its own.
        dtype: of its elements, as numpy calls it.
        constant: it is the same in all calls, and ``Schedule.prepack`` may pack it; such a tensor must be among the
            schedule's ``inputs``.
    """
    dtype = dtype if isinstance(dtype, str) else numpy.dtype(dtype).name
    shape = (shape,) if hasattr(shape, "__index__") else tuple(shape)
    return _te.placeholder(_name(name, "placeholder"), shape, dtype, constant)


def reduce_axis(extent: Union[int, Tuple[int, int]], name: Optional[str] = None) -> Axis:
    """An axis of so many iterations to reduce over; of (0, extent) also, as TVM has it."""
    if isinstance(extent, (tuple, list)):
        first, extent = extent
        if first != 0:
            raise ValueError("an axis begins with 0")
    return _te.reduce_axis(_name(name, "k"), extent)


def compute(shape: Extents, body: Callable[..., Any], name: Optional[str] = None) -> Tensor:
    """A tensor whose element at (i, j, ...) is ``body(i, j, ...)``: an expression, or a reduction of one.

    Args:
        shape: the extents of (i, j, ...), or one extent.
        body: is called once with an axis for each extent; they are called as the function's arguments. Elements are of
            the type that the expression has.
        name: in the program's text, and of the block in a schedule; None: a name of its own.

    Raises:
        BadInput: a read that is proved not to lie in its tensor, when it is built.
    """
    shape = (shape,) if hasattr(shape, "__index__") else tuple(shape)
    names = [
        p.name
        for p in inspect.signature(body).parameters.values()
        if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    if len(names) != len(shape):
        names = [f"i{d}" for d in range(len(shape))]
    return _te.compute(_name(name, "compute"), shape, names, body)


def sum(value: Any, axis: Axes) -> Reduction:
    """The sum over an axis, or over several: what compute()'s function returns."""
    return _te.sum(value, axis)


def max(value: Any, axis: Axes) -> Reduction:
    """The largest over an axis, or over several; NaN where one is. For two values: maximum()."""
    return _te.max(value, axis)


def min(value: Any, axis: Axes) -> Reduction:
    """The smallest over an axis, or over several; NaN where one is. For two values: minimum()."""
    return _te.min(value, axis)


def all(*conditions: Any) -> Expr:
    """Whether every condition holds: ``a & b & c``."""
    return functools.reduce(operator.and_, conditions)


def any(*conditions: Any) -> Expr:
    """Whether one of the conditions holds: ``a | b | c``."""
    return functools.reduce(operator.or_, conditions)


class Schedule(_te.Schedule):
    """How tensors are computed: naive at first, changed by primitives.

    Blocks are given as tensors, as names, or as ``s[tensor]``; loops are what ``s.loops(block)`` returns, outermost
    first, or ``s.loop(block, name)``, and what primitives return::

        split(loop, 16) -> outer, inner;  split(loop, [1, 4, 16]) -> three;  split_parts(loop, 4) -> outer, inner;
        tile(y, x, 8, 16) -> yo, xo, yi, xi;  fuse(outer, inner) -> loop;  reorder(k, i, j)
        vectorize(loop), unroll(loop), parallel(loop);  bind(loop, "block" | "thread" | "warp") for GPUs
        compute_at(producer, loop), reverse_compute_at(consumer, loop), compute_inline(producer),
        reverse_compute_inline(consumer)
        cache_read(tensor, reader, "stack" | "workspace" | "shared") -> block;  cache_write(writer, scope) -> block
        pad(block, [16, 16, 1]) -> blocks;  decompose_reduction(block, loop) -> block;  rfactor(block, loop) -> block
        tensorize(block, loop, "dot_u8s8_s32");  transform_layout(tensor or block, "NCHW16c", "NCHW")
        set_scope(block, scope);  storage_align(block, dimension, factor, offset);  double_buffer(block, parts=2)
        prepack(block, ...)
        annotate(loop, "prefetch", 4);  annotate("vector_bits", 512)

    Args:
        outputs: a tensor that is computed, or several.
        inputs: placeholders in the order in which callers pass them; None: as they are read.

    Raises:
        BadInput: by every primitive that would compute something else; the schedule stays as it was.
    """


class Kernel(_te.Kernel):
    """A schedule compiled for this machine: ``kernel(a, b)`` on arrays, in the order of the schedule's inputs.

    ``kernel.time(a, b, repeats=5)``: the median of seconds a call; of a GPU by its own clock, without the copies.
    ``kernel.save("k.so")`` writes an artifact, which C, C++ and hone.open() take as they do a model's, and its header;
    ``.o`` an object for a linker and, of a CPU, ``.c`` the same as C. ``print(kernel)``: its loop form.

    Arrays have exactly the inputs' shapes (ValueError) and element types (TypeError); outputs are new arrays, one as it
    is, several as a tuple. ``kernel(a, b, out=y)`` writes to an array that is there, of several outputs to a tuple.
    """


def lower(schedule: Schedule, threads: int = 1) -> str:
    """The schedule's loop form, as text: what is compiled."""
    return _te.lower(schedule, threads)


def source(schedule: Schedule, kind: str = "llvm", target: str = "llvm") -> str:
    """The code of a schedule: ``llvm``, ``asm``; of schedules with bound loops ``cuda``, ``opencl``, with launches."""
    return _te.source(schedule, kind, target)


def build(schedule: Schedule, target: str = "llvm", threads: Optional[int] = None) -> Kernel:
    """Compiles a schedule for this machine.

    Accesses that cannot be proved to lie in their tensors (an index that is data) are checked while the kernel runs; of
    tensors of several dimensions they are refused: bound the index by ``te.minimum`` and ``te.maximum``.

    Args:
        schedule: of any outputs.
        target: ``"llvm"``, with fields of this machine's CPU where they are given; ``"cuda"``, ``"opencl"``: this
            machine's GPU, for schedules with bound loops.
        threads: that parallel loops have; None: all. For CPUs.

    Raises:
        BadInput: a target that is not this machine, or an access that is proved not to lie in its tensor.
        NoDevice: there is no such GPU here, or no driver.
    """
    return Kernel(schedule, target, threads)

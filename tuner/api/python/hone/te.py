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
import os
from typing import Any, Callable, Mapping, Optional, Sequence, Tuple, Union

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
    "any", "argmax", "argmin", "asin", "asinh", "atan", "atanh", "bitwise_and", "bitwise_not", "bitwise_or",
    "bitwise_xor", "build", "ceil", "celu", "clip", "compute", "cos", "cosh", "elu", "erf", "exp", "floor", "fmod",
    "gelu", "gelu_tanh", "hard_sigmoid", "hard_swish", "is_inf", "is_nan", "leaky", "leaky_relu", "log", "lower",
    "max", "maximum", "min", "minimum", "mish", "placeholder", "pow", "prelu", "reciprocal", "reduce_axis", "relu",
    "relu6", "round", "rsqrt", "save_kernels", "scan", "selu", "shrink", "sigmoid", "sign", "silu", "sin", "sinh",
    "softplus", "softsign", "source", "sqrt", "square", "sum", "tan", "tanh", "thresholded_relu", "var", "where",
    "xor",
]

Extent = Union[int, str, Expr]
Extents = Union[Extent, Sequence[Extent]]
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


def var(name: str) -> Expr:
    """A named size: an extent that stands open until ``Schedule(..., sizes={"n": 64})`` gives it a number.

    The same name is the same size. ``"n"`` in a shape is short for it; in bodies it is a whole number, as axes are.
    """
    return _te.size(name)


def _extent(given):
    """A number, a size, or the name of one."""
    return var(given) if isinstance(given, str) else given


def _shape(given):
    """Extents, of which one may stand alone."""
    if isinstance(given, (str, Expr)) or hasattr(given, "__index__"):
        given = (given,)
    try:
        given = tuple(given)
    except TypeError:
        raise TypeError(f"shape: {given!r} is no shape: numbers, and names of sizes") from None
    return tuple(_extent(e) for e in given)


def placeholder(
    shape: Extents, name: Optional[str] = None, dtype: str = "float32", constant: bool = False
) -> Tensor:
    """A tensor that callers pass.

    Args:
        shape: its extents, or one extent: numbers, or names of sizes (var()) and what is computed of these.
        name: in the program's text; None: a name of its own.
        dtype: of its elements, as numpy calls it.
        constant: it is the same in all calls, and ``Schedule.prepack`` may pack it; such a tensor must be among the
            schedule's ``inputs``.
    """
    dtype = dtype if isinstance(dtype, str) else numpy.dtype(dtype).name
    return _te.placeholder(_name(name, "placeholder"), _shape(shape), dtype, constant)


def reduce_axis(extent: Union[Extent, Tuple[int, Extent]], name: Optional[str] = None) -> Axis:
    """An axis of so many iterations to reduce over; of (0, extent) also, as TVM has it."""
    if isinstance(extent, (tuple, list)):
        first, extent = extent
        if first != 0:
            raise ValueError("an axis begins with 0")
    return _te.reduce_axis(_name(name, "k"), _extent(extent))


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
    shape = _shape(shape)
    return _te.compute(_name(name, "compute"), shape, _names_of_axes(body, len(shape)), body)


def scan(
    shape: Extents, update: Callable[..., Any], init: Any = 0, axis: int = 0, name: Optional[str] = None,
    dtype: Any = "float32",
) -> Tensor:
    """A tensor along whose axis each element is made from the one before it: cumulative sums, recurrences.

        te.scan((T, N), lambda previous, t, i: previous + X[t, i], name="C")                     # numpy.cumsum(X, 0)
        te.scan((T, N), lambda previous, t, i: 0.9 * previous + X[t, i], init=lambda i: H[i])    # y = 0.9 y + x

    The element at t is ``update(element at t - 1, t, i, ...)``, and of ``init`` instead where t is 0. Its steps follow
    each other, in this order: loops over the axis are split, unrolled, and reordered with other loops, not among
    themselves, and they are not parallel and have no vectors; loops over the other axes are like all. A sum over
    something else is a stage of its own, which the scan reads.

    Args:
        shape: the extents, as compute() takes them.
        update: is called once, with the element before and an axis for each extent.
        init: what the first step has as the element before: a number, or a function of the other axes.
        axis: along which it goes.
        name: as compute() takes it.
        dtype: of the elements, where ``init`` is a number.

    Raises:
        BadInput: ``update`` has another type than ``init``, or a read is proved not to lie in its tensor, when it is
            built.
    """
    shape = _shape(shape)
    dtype = dtype if isinstance(dtype, str) else numpy.dtype(dtype).name
    names = _names_of_axes(update, len(shape), 1)
    return _te.scan(_name(name, "scan"), shape, names, axis, init, dtype, update)


def _names_of_axes(body, count, others=0):
    """Names that a body has for its axes, which stand behind `others`; names of ours where it does not say."""
    parameters = inspect.signature(body).parameters.values()
    names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)][others:]
    return names if len(names) == count else [f"i{d}" for d in range(count)]


def _over(axis):
    """The axes of a reduction."""
    for a in axis if isinstance(axis, (tuple, list)) else (axis,):
        if not isinstance(a, Axis):
            raise TypeError(f"axis: {a!r} is no axis of a reduction: reduce_axis(extent) makes one")
    return axis


def sum(value: Any, axis: Axes) -> Reduction:
    """The sum over an axis, or over several: what compute()'s function returns."""
    return _te.sum(value, _over(axis))


def max(value: Any, axis: Axes) -> Reduction:
    """The largest over an axis, or over several; NaN where one is. For two values: maximum()."""
    return _te.max(value, _over(axis))


def min(value: Any, axis: Axes) -> Reduction:
    """The smallest over an axis, or over several; NaN where one is. For two values: minimum()."""
    return _te.min(value, _over(axis))


def argmax(value: Any, axis: Axis, dtype: Any = "int64") -> Reduction:
    """Where along an axis the largest is, as numpy.argmax() has it: the first of equal ones, and the first NaN where
    one is. A stage NAME_max finds the largest, the stage itself the least place that has it; a value that is computed,
    and not only read, becomes a stage NAME_of, so that both see the same bits. ``dtype``: int64 or int32."""
    return _te.argmax(value, _over(axis), dtype if isinstance(dtype, str) else numpy.dtype(dtype).name)


def argmin(value: Any, axis: Axis, dtype: Any = "int64") -> Reduction:
    """Where along an axis the smallest is; otherwise as argmax(), with a stage NAME_min."""
    return _te.argmin(value, _over(axis), dtype if isinstance(dtype, str) else numpy.dtype(dtype).name)


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
        sizes: numbers for the named sizes of the definition, ``{"m": 64, "n": 32}``; it is for these alone.

    Raises:
        BadInput: by every primitive that would compute something else; the schedule stays as it was.
    """


class Kernel(_te.Kernel):
    """A compiled schedule: ``kernel(a, b)`` on arrays, in the order of the schedule's inputs.

    ``kernel.time(a, b, repeats=5)``: the median of seconds a call; of a GPU by its own clock, without the copies.
    ``kernel.save("k.so")`` writes it to a file. ``print(kernel)``: its loop form. ``kernel.target``: what it is for;
    one for another machine is saved, not called.

    Arrays have exactly the inputs' shapes (ValueError) and element types (TypeError); outputs are new arrays, one as it
    is, several as a tuple. ``kernel(a, b, out=y)`` writes to an array that is there, of several outputs to a tuple.
    """

    #: A template's config, where it is from, and the workload by which the tophub knows it; else None.
    config: Optional[str] = None
    source: Optional[str] = None
    workload: Optional[str] = None

    def save(self, path: "Union[str, os.PathLike[str]]", denormals: str = "zero") -> None:
        """Writes an artifact of the file's name, and its C header beside it.

        Args:
            path: ``k.so``, which C, C++ and hone.open() take as they do a model's; ``k.o``, objects for a linker; of a
                CPU also ``k.c``, the same as C.
            denormals: ``"zero"``: numbers of f32 and f64 below the smallest normal one are zeros to a call; ``"keep"``:
                numbers. For CPUs.

        Raises:
            BadInput: another ending, a file that cannot be written, a name that C has already.
        """
        _te.save_kernel(self, path, self.workload or "", self.config or "", denormals)


def save_kernels(
    path: "Union[str, os.PathLike[str]]", kernels: "Mapping[str, Union[Kernel, Sequence[Kernel]]]",
    denormals: str = "zero",
) -> None:
    """Writes several kernels to one file, each as a function of its own name, with one C header for all.

    Args:
        path: as Kernel.save() takes it. hone.open() gives the functions of a ``.so``: ``ops = hone.open("ops.so");
            ops.softmax(x)``.
        kernels: by the functions' names. Several for one name are its variants: they take and return the same tensors
            in other shapes, or have other numbers of threads, and each call takes the one that fits.
        denormals: as Kernel.save() takes it.

    Raises:
        BadInput: names that are no functions of C or clash, kernels for different targets, variants that a call could
            not tell apart, a file that cannot be written.
    """
    if not isinstance(kernels, Mapping):
        raise TypeError(f"kernels: a {type(kernels).__name__} is no dict of names and kernels, {{\"matmul\": kernel}}")
    functions = []
    for name, given in kernels.items():
        if not isinstance(name, str):
            raise TypeError(f"functions have names, not {name!r}")
        variants = list(given) if isinstance(given, (list, tuple)) else [given]
        for k in variants:
            if not isinstance(k, Kernel):
                raise TypeError(f"{name!r}: hone.build() makes kernels, not {type(k).__name__}")
        functions.append((name, [(k, k.workload or "", k.config or "") for k in variants]))
    _te.save_kernels(path, functions, denormals)


def lower(schedule: Schedule, threads: int = 1) -> str:
    """The schedule's loop form, as text: what is compiled."""
    return _te.lower(schedule, threads)


def source(schedule: Schedule, kind: str = "llvm", target: str = "llvm") -> str:
    """The code of a schedule: ``llvm``, ``asm``; of schedules with bound loops ``cuda``, ``opencl``, with launches."""
    return _te.source(schedule, kind, target)


def build(schedule: Schedule, target: str = "llvm", threads: Optional[int] = None) -> Kernel:
    """Compiles a schedule.

    Accesses that cannot be proved to lie in their tensors (an index that is data) are checked while the kernel runs; of
    tensors of several dimensions they are refused: bound the index by ``te.minimum`` and ``te.maximum``.

    Args:
        schedule: of any outputs.
        target: ``"llvm"``: this machine's CPU; another one, ``"llvm -mtriple=aarch64-linux -mcpu=cortex-a72"``, whose
            kernel is saved, not called. ``"cuda"``, ``"opencl"``: this machine's GPU, for schedules with bound loops;
            ``"cuda -arch=sm_90"`` also where there is none.
        threads: that parallel loops have; None: all, and one of another machine. For CPUs.

    Raises:
        BadInput: no such target, or an access that is proved not to lie in its tensor.
        NoDevice: there is no such GPU here, or no driver, and the target does not say which it is for.
    """
    return Kernel(schedule, target, threads)

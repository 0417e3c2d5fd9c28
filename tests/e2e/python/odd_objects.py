"""Objects as callers hand them over by mistake."""

import threading

import numpy as np
from hone import te


class Strange(Exception):
    """Raised by objects of the caller's; it must come through as it is."""


class Foreign:
    """Has DLPack's methods, which do as they are told."""

    def __init__(self, array, device=(1, 0), fails=None):
        self.array, self.device, self.fails = array, device, fails

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **options):
        if self.fails is not None:
            raise self.fails
        return self.array.__dlpack__()


class UsedTwice:
    """Hands out one capsule again and again."""

    def __init__(self, array):
        self.capsule = array.__dlpack__()

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, **options):
        return self.capsule


class Number:
    def __init__(self, value):
        self.value = value

    def __index__(self):
        if isinstance(self.value, BaseException):
            raise self.value
        return self.value

    __float__ = __index__


def endless():
    out = []
    out.append(out)
    return out


def askew(array):
    """The same elements, a byte off."""
    place = np.zeros(array.nbytes + 1, dtype=np.uint8)[1:].view(array.dtype).reshape(array.shape)
    place[...] = array
    return place


# Other objects that have the same elements as an array.
SAME = [
    lambda x: x,
    lambda x: np.asfortranarray(x),
    lambda x: np.repeat(x, 2, axis=0)[::2],
    lambda x: x[::-1].copy()[::-1],
    lambda x: askew(x),
    lambda x: x.tolist(),
    lambda x: np.frombuffer(bytearray(x.tobytes()), dtype=x.dtype).reshape(x.shape),
    lambda x: np.frombuffer(x.tobytes(), dtype=x.dtype).reshape(x.shape),
    lambda x: Foreign(x),
    lambda x: Foreign(np.asfortranarray(x)),
    lambda x: Foreign(x, device=(3, 0)),
    lambda x: np.broadcast_to(x, (2,) + x.shape)[1],
]
# And something that is refused, or at least does no harm.
OTHER = [
    lambda x: x.astype(np.float64),
    lambda x: x.astype(np.float16),
    lambda x: x.astype(np.complex64),
    lambda x: x.astype(x.dtype.newbyteorder()),
    lambda x: x.astype(object),
    lambda x: x.astype(str),
    lambda x: x[:1],
    lambda x: x[..., None],
    lambda x: x.reshape(-1),
    lambda x: x.T,
    lambda x: np.zeros((0, 16), dtype=x.dtype),
    lambda x: np.zeros((), dtype=x.dtype),
    lambda x: np.broadcast_to(x[:1, :1], (1 << 20, 1 << 20)),
    lambda x: np.broadcast_to(x[:1, :1], (1 << 31, 1 << 30)),
    lambda x: Foreign(np.broadcast_to(x[:1, :1], (1 << 20, 1 << 20)).view()),
    lambda x: np.zeros(3, dtype=[("a", "f4"), ("b", "i4")]),
    lambda x: np.array(["2020-01-01"], dtype="M8[D]"),
    lambda x: Foreign(x, device=(2, 0)),
    lambda x: Foreign(x, device="cpu"),
    lambda x: Foreign(x, device=(1 << 70, 0)),
    lambda x: Foreign(x, device=None),
    lambda x: Foreign(x, fails=Strange()),
    lambda x: Foreign(x, fails=BufferError("no")),
    lambda x: Foreign(object()),
    lambda x: Foreign(x.astype(np.int32)),
    lambda x: x.__dlpack__(),
    lambda x: x.tobytes(),
    lambda x: memoryview(x),
    lambda x: bytearray(x.tobytes()),
    lambda x: [[1.0] * 16, [2.0]],
    lambda x: endless(),
    lambda x: [[float("nan")] * 16] * 3,
    lambda x: [[10**400] * 16] * 3,
    lambda x: {"x": 1},
    lambda x: None,
    lambda x: "text",
    lambda x: "\ud800",
    lambda x: b"",
    lambda x: 10**400,
    lambda x: object(),
    lambda x: te,
    lambda x: Number(Strange()),
    lambda x: np.float32,
    lambda x: threading.Lock(),
    lambda x: (i for i in range(3)),
]
VALUES = [
    None, True, 0, 1, -1, 2**31, 2**63, -(2**63), 2**64, 10**400, 0.5, float("nan"), float("inf"), 1j, "", "=", "a=b",
    "--help", "-", "\ud800", "\0", "two\nlines", "x" * 100000, b"", b"\xff", "é", [], [None], (), (1, 2), {}, {"a":
    1},
    set(), object(), int, np.int64(3), np.float32(2), np.zeros(2), Number(3), Number(-1), Number(Strange()),
    Number("3"),
    lambda *a: None, lambda: 1 / 0, range(3), slice(None), Ellipsis, NotImplemented, bytearray(b"a"),
    memoryview(b"a"),
]

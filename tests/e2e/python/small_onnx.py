"""Small ONNX models as bytes, written field by field: tests need no package of ONNX's."""

import struct
import sys

FLOAT, UINT8, INT64, BOOL = 1, 2, 7, 9


def _varint(n):
    n &= (1 << 64) - 1
    out = b""
    while True:
        out += bytes([n & 0x7F | (0x80 if n > 0x7F else 0)])
        n >>= 7
        if not n:
            return out


def _number(field, n):
    return _varint(field << 3) + _varint(n)


def _as_bytes(text):
    return text.encode() if isinstance(text, str) else text


def _bytes(field, content):
    content = _as_bytes(content)
    return _varint(field << 3 | 2) + _varint(len(content)) + content


def tensor(name, shape, values):
    """A float initializer."""
    return (
        b"".join(_number(1, d) for d in shape)
        + _number(2, FLOAT)
        + _bytes(8, name)
        + _bytes(9, struct.pack(f"<{len(values)}f", *values))
    )


def raw_tensor(name, elements, shape, content):
    """An initializer of any type, whose elements are bytes already."""
    return b"".join(_number(1, d) for d in shape) + _number(2, elements) + _bytes(8, name) + _bytes(9, content)


def integers(name, values):
    """An initializer of one axis: a shape."""
    content = struct.pack(f"<{len(values)}q", *values)
    return _number(1, len(values)) + _number(2, INT64) + _bytes(8, name) + _bytes(9, content)


def attribute(name, value):
    if isinstance(value, list):
        return _bytes(1, name) + b"".join(_number(8, v) for v in value) + _number(20, 7)
    if isinstance(value, float):
        return _bytes(1, name) + _varint(2 << 3 | 5) + struct.pack("<f", value) + _number(20, 1)
    if isinstance(value, str):
        return _bytes(1, name) + _bytes(4, value) + _number(20, 3)
    return _bytes(1, name) + _number(3, value) + _number(20, 2)


def node(op, inputs, outputs, **attributes):
    return (
        b"".join(_bytes(1, i) for i in inputs)
        + b"".join(_bytes(2, o) for o in outputs)
        + _bytes(3, _as_bytes(op) + b"_" + _as_bytes(outputs[0]))
        + _bytes(4, op)
        + b"".join(_bytes(5, attribute(k, v)) for k, v in attributes.items())
    )


def own_node(domain, op, inputs, outputs, **attributes):
    """A node of somebody's domain."""
    return node(op, inputs, outputs, **attributes) + _bytes(7, domain)


def function(domain, name, inputs, outputs, nodes, opset=17):
    """A function of the model's."""
    return (
        _bytes(1, name)
        + b"".join(_bytes(4, i) for i in inputs)
        + b"".join(_bytes(5, o) for o in outputs)
        + b"".join(_bytes(7, n) for n in nodes)
        + _bytes(9, _bytes(1, "") + _number(2, opset))
        + _bytes(10, domain)
    )


def value(name, elements, shape=None):
    """An input or output, of any rank where no shape is given."""
    dims = b"".join(_bytes(1, _bytes(2, d) if isinstance(d, str) else _number(1, d)) for d in shape or ())
    return _bytes(1, name) + _bytes(2, _bytes(1, _number(1, elements) + (b"" if shape is None else _bytes(2, dims))))


def model(nodes, inputs, outputs, initializers=(), opset=17, functions=()):
    graph = (
        b"".join(_bytes(1, n) for n in nodes)
        + _bytes(2, "small")
        + b"".join(_bytes(5, t) for t in initializers)
        + b"".join(_bytes(11, v) for v in inputs)
        + b"".join(_bytes(12, v) for v in outputs)
    )
    return (
        _number(1, 8) + _bytes(7, graph) + _bytes(8, _bytes(1, "") + _number(2, opset))
        + b"".join(_bytes(25, f) for f in functions)
    )


def perceptron(rows="batch", k=16, n=8):
    """relu(x W + b): x [rows, k], W of (i - j) / 8, b of j: y [rows, n]."""
    weights = [(i - j) / 8 for i in range(k) for j in range(n)]
    return model(
        [node("MatMul", ["x", "w"], ["xw"]), node("Add", ["xw", "b"], ["z"]), node("Relu", ["z"], ["y"])],
        [value("x", FLOAT, [rows, k])],
        [value("y", FLOAT, [rows, n])],
        [tensor("w", [k, n], weights), tensor("b", [n], [float(j) for j in range(n)])],
    )


SILU_WEIGHTS = [(i % 5 - 2) / 8 for i in range(16 * 8)]


def silu():
    """h sigmoid(h) + 0 of h = x W: x [batch, 16], W of SILU_WEIGHTS: y [batch, 8]."""
    return model(
        [
            node("MatMul", ["x", "w"], ["h"]), node("Sigmoid", ["h"], ["s"]), node("Mul", ["s", "h"], ["t"]),
            node("Add", ["t", "zero"], ["y"]),
        ],
        [value("x", FLOAT, ["batch", 16])],
        [value("y", FLOAT)],
        [tensor("w", [16, 8], SILU_WEIGHTS), tensor("zero", [8], [0.0] * 8)],
    )


def scaled(by, rows=4, n=16):
    """x times a number: x and y [rows, n]."""
    return model(
        [node("Mul", ["x", "by"], ["y"])],
        [value("x", FLOAT, [rows, n])],
        [value("y", FLOAT, [rows, n])],
        [tensor("by", [1], [by])],
    )


if __name__ == "__main__":  # of the tutorial: small_onnx.py model.onnx
    with open(sys.argv[1], "wb") as f:
        f.write(perceptron())

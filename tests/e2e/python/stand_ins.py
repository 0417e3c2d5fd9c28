"""Small models with the inputs and outputs of published ones, and with answers that mean something."""

import numpy as np
from small_onnx import FLOAT, integers, model, node, own_node, tensor, value

CELL = 8  # pixels of a cell of 16 x 16


def _coverage(cells, size):
    """The share of each cell of a row that lies in the `size` pixels around the row's middle."""
    left = (np.arange(cells) - cells / 2) * CELL
    return np.clip(np.minimum(left + CELL, size / 2) - np.maximum(left, -size / 2), 0, CELL) / CELL


def _blob(cells, size):
    """Weights [3, cells, cells]: red less blue in a square of `size` pixels, less the same in the frame around it."""
    inside = np.outer(_coverage(cells, size), _coverage(cells, size))
    frame = np.outer(_coverage(cells, 2 * size), _coverage(cells, 2 * size)) - inside
    weights = inside / inside.sum() - frame / frame.sum()
    return np.stack([weights, 0 * weights, -weights])


def _anchors(name, sizes, cells, stride):
    """Scores and boxes of a grid of cells of `stride` * CELL pixels, with an anchor of each size."""
    n, grid = len(sizes), 16 // stride
    before = (cells - stride) // 2
    weights = 20 * np.concatenate([_blob(cells, size) for size in sizes])
    middles = np.zeros((n, 16), np.float32)
    middles[:, 2] = middles[:, 3] = sizes
    nodes = [
        node("Conv", ["cells", name + "_w", name + "_b"], [name + "_maps"], strides=[stride, stride],
             pads=[before, before, cells - stride - before, cells - stride - before]),
        node("Transpose", [name + "_maps"], [name + "_last"], perm=[0, 2, 3, 1]),
        node("Reshape", [name + "_last", name + "_to"], [name + "_scores"]),
        node("Mul", [name + "_scores", "none"], [name + "_zeros"]),
        node("Add", [name + "_zeros", name + "_sizes"], [name + "_boxes"]),
    ]  # fmt: skip
    constants = [
        tensor(name + "_w", [n, 3, cells, cells], weights.ravel()),
        tensor(name + "_b", [n], [-10.5] * n),
        integers(name + "_to", [1, grid * grid * n, 1]),
        tensor(name + "_sizes", [1, grid * grid * n, 16], np.tile(middles, (grid * grid, 1)).ravel()),
    ]
    outputs = [
        value(name + "_scores", FLOAT, [1, grid * grid * n, 1]),
        value(name + "_boxes", FLOAT, [1, grid * grid * n, 16]),
    ]
    return nodes, constants, outputs


def blazeface():
    """BlazeFace's anchors; those score that have skin inside and none around. Boxes are squares around them."""
    fine, coarse = _anchors("fine", [24, 32], 9, 1), _anchors("coarse", [36, 44, 52, 60, 70, 80], 20, 2)
    nodes = [
        node("Transpose", ["input:0"], ["planes"], perm=[0, 3, 1, 2]),
        node("AveragePool", ["planes"], ["cells"], kernel_shape=[CELL, CELL], strides=[CELL, CELL]),
    ]
    return model(
        nodes + fine[0] + coarse[0],
        [value("input:0", FLOAT, [1, 128, 128, 3])],
        [fine[2][0], coarse[2][0], fine[2][1], coarse[2][1]],
        fine[1] + coarse[1] + [tensor("none", [1], [0.0])],
    )


LETTERS = "0123456EHINOTX"  # with the blank in front and the space behind them 16 classes


def _gray_of(kind):
    """Class 0, the blank, is the gray with which a line is filled up."""
    return (kind + 8) % 16 * 16


def recogniser():
    """Reads lines of gray bars: each eight columns are of the class whose gray is the nearest."""
    grays = np.array([_gray_of(kind) for kind in range(16)]) / 127.5 - 1
    return model(
        [
            node("AveragePool", ["x"], ["bars"], kernel_shape=[48, 8], strides=[48, 8]),
            node("Conv", ["bars", "w", "b"], ["near"]),  # -(bar - gray)^2 without what all classes share
            node("Reshape", ["near", "to"], ["rows"]),
            node("Transpose", ["rows"], ["steps"], perm=[0, 2, 1]),
            node("Softmax", ["steps"], ["y"], axis=2),
        ],
        [value("x", FLOAT, [1, 3, 48, "width"])],
        [value("y", FLOAT, [1, "steps", 16])],
        [
            tensor("w", [16, 3, 1, 1], np.repeat(2000 * grays / 3, 3)),
            tensor("b", [16], -1000 * grays**2),
            integers("to", [1, 16, -1]),
        ],
    )


def own_operators(rows=16):
    """A rotary embedding of pairs, a product, and a squared Relu; two of them are operators of my.domain."""
    angles = np.arange(rows)[:, None] / 100.0 ** (np.arange(16) / 16)
    weights = (np.arange(128)[:, None] - np.arange(64)) / 64
    return model(
        [
            own_node("my.domain", "RotaryPair", ["x", "cos", "sin"], ["turned"], scale=1.0),
            node("Reshape", ["turned", "to"], ["rows"]),
            node("MatMul", ["rows", "w"], ["h"]),
            own_node("my.domain", "SquaredRelu", ["h"], ["y"]),
        ],
        [value("x", FLOAT, [rows, 4, 32])],
        [value("y", FLOAT, [rows, 64])],
        [
            tensor("cos", [rows, 16], np.cos(angles).ravel()),
            tensor("sin", [rows, 16], np.sin(angles).ravel()),
            tensor("w", [128, 64], weights.ravel()),
            integers("to", [rows, 128]),
        ],
    )


def line_of(text):
    """A picture [48, 24 * letters, 3] that recogniser() reads: two bars of each letter's gray, one of the blank's."""
    kinds = [(LETTERS + " ").index(letter) + 1 for letter in text]
    bars = np.array([_gray_of(kind) for letter in kinds for kind in (letter, letter, 0)], np.uint8)
    return np.broadcast_to(bars.repeat(8)[None, :, None], (48, 8 * len(bars), 3))

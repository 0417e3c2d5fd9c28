#!/usr/bin/env python3
"""A convolutional model of TensorFlow Lite as ONNX, as careful converters write it: images as planes, one transposition
at the input and one in front of each reshape. For benchmarks: it knows what MediaPipe's models need and refuses others.

    tests/bench/models/tflite_to_onnx.py m.tflite m.onnx

It reads the file with flatc and the schema of compiler/frontend/tflite.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests/e2e/python"))
import small_onnx  # noqa: E402
from small_onnx import FLOAT, node  # noqa: E402

SCHEMA = ROOT / "compiler/frontend/tflite/tflite.fbs"
TYPES = {0: np.float32, 1: np.float16, 2: np.int32}
(ADD, AVERAGE_POOL, CONCAT, CONV, DEPTHWISE, DEQUANTIZE, FULLY_CONNECTED, LOGISTIC, MAX_POOL, MUL, RELU, RELU6, RESHAPE,
 RESIZE_BILINEAR, CUSTOM, PAD, MEAN, HARD_SWISH, PRELU) = (
    0, 1, 2, 3, 4, 6, 9, 14, 17, 18, 19, 21, 22, 23, 32, 34, 40, 117, 54)


class Unsupported(Exception):
    """Something that this converter does not know."""


def read(path):
    with tempfile.TemporaryDirectory() as folder:
        words = ["flatc", "--json", "--raw-binary", "--strict-json", "-o", folder, str(SCHEMA), "--", str(path)]
        ran = subprocess.run(words, capture_output=True, text=True)
        made = pathlib.Path(folder) / (pathlib.Path(path).stem + ".json")
        if ran.returncode or not made.exists():
            raise Unsupported("flatc cannot write it as JSON")
        return json.loads(made.read_text(encoding="utf-8", errors="replace"))


class Converter:
    def __init__(self, model):
        self.model = model
        self.graph = model["subgraphs"][0]
        self.constants = {}  # numpy, as the file has them
        self.names = {}  # of tensors, images as planes
        self.nodes, self.initializers = [], []
        self.count = 0

    def tensor(self, index):
        return self.graph["tensors"][index]

    def shape(self, index):
        return self.tensor(index).get("shape", [])

    def constant(self, index):
        """The elements of a tensor of the file; None: it is computed."""
        if index not in self.constants:
            t = self.tensor(index)
            if t.get("sparsity"):
                raise Unsupported("sparse weights")
            data = self.model["buffers"][t.get("buffer", 0)].get("data")
            if data is None:
                return None
            elements = np.frombuffer(bytes(data), TYPES[t.get("type", 0)])
            self.constants[index] = elements.reshape(t.get("shape", []))
        return self.constants[index]

    def new(self, what):
        self.count += 1
        return f"{what}_{self.count}"

    def add(self, op, inputs, out=None, **attributes):
        out = out or self.new(op)
        self.nodes.append(node(op, inputs, [out], **attributes))
        return out

    def initializer(self, array):
        name = self.new("c")
        array = np.ascontiguousarray(array)
        kind = {np.dtype(np.float32): FLOAT, np.dtype(np.int64): small_onnx.INT64}[array.dtype]
        self.initializers.append(small_onnx.raw_tensor(name, kind, array.shape, array.tobytes()))
        return name

    def planes(self, array):
        """A constant as it meets planes."""
        array = np.asarray(array, np.float32)
        return array.transpose(0, 3, 1, 2) if array.ndim == 4 else array.reshape(-1, 1, 1)

    def operand(self, index, is_image=True):
        known = self.constant(index)
        if known is None:
            return self.names[index]
        return self.initializer(self.planes(known) if is_image else known.astype(np.float32))

    def pixels(self, index):
        """A computed tensor in the file's order."""
        name = self.names[index]
        return self.add("Transpose", [name], perm=[0, 2, 3, 1]) if len(self.shape(index)) == 4 else name

    def activated(self, name, options):
        kind = options.get("activation", 0)
        if kind == 0:
            return name
        if kind == 1:
            return self.add("Relu", [name])
        if kind == 3:
            return self.clipped(name)
        raise Unsupported(f"activation {kind}")

    def clipped(self, name):
        return self.add("Clip", [name, self.initializer(np.float32(0)), self.initializer(np.float32(6))])

    def pads(self, index, options, kernel, dilation=(1, 1)):
        if options.get("padding", 0) != 0:
            return [0, 0, 0, 0]
        shape, stride = self.shape(index), (options["stride_h"], options["stride_w"])
        begin, end = [], []
        for d in range(2):
            extent, taken = shape[1 + d], (kernel[d] - 1) * dilation[d] + 1
            pad = max((-(-extent // stride[d]) - 1) * stride[d] + taken - extent, 0)
            begin.append(pad // 2)
            end.append(pad - pad // 2)
        return begin + end

    def window(self, o, options, weights, group):
        kernel = list(weights.shape[2:])
        inputs = [self.names[o["inputs"][0]], self.initializer(weights)]
        if len(o["inputs"]) > 2 and o["inputs"][2] >= 0:
            inputs.append(self.initializer(self.constant(o["inputs"][2]).astype(np.float32)))
        dilation = [options.get("dilation_h", 1), options.get("dilation_w", 1)]
        out = self.add("Conv", inputs, kernel_shape=kernel, strides=[options["stride_h"], options["stride_w"]],
                       pads=self.pads(o["inputs"][0], options, kernel, dilation), dilations=dilation, group=group)
        return self.activated(out, options)

    def convert(self, o):
        code = self.model["codes"][o.get("code", 0)]
        number = max(code.get("old_code", 0), code.get("code", 0))
        options, inputs = o.get("options", {}), o.get("inputs", [])
        x, out = inputs[0], o["outputs"][0]
        if number == DEQUANTIZE and self.constant(x) is not None:
            self.constants[out] = self.constant(x).astype(np.float32)
            return
        self.names[out] = self.result(number, code.get("custom"), o, options, x, out)

    def result(self, number, custom, o, options, x, out):
        inputs = o["inputs"]
        if number == CONV:
            w = self.constant(inputs[1]).astype(np.float32)
            return self.window(o, options, w.transpose(0, 3, 1, 2), self.shape(x)[3] // w.shape[3])
        if number == DEPTHWISE:
            w = self.constant(inputs[1]).astype(np.float32)  # [1, h, w, c]
            return self.window(o, options, w.transpose(3, 0, 1, 2), self.shape(x)[3])
        if number == CUSTOM and custom == "Convolution2DTransposeBias":
            padding, stride_w, stride_h = np.frombuffer(bytes(o["custom_options"]), np.int32)[:3]
            w = self.constant(inputs[1]).astype(np.float32)  # [co, h, w, ci]
            if padding != 1 or (stride_h, stride_w) != w.shape[1:3]:
                raise Unsupported("a transposed convolution whose windows overlap")
            bias = self.initializer(self.constant(inputs[2]).astype(np.float32))
            return self.add("ConvTranspose", [self.names[x], self.initializer(w.transpose(3, 0, 1, 2)), bias],
                            kernel_shape=list(w.shape[1:3]), strides=[int(stride_h), int(stride_w)])
        if number in (MAX_POOL, AVERAGE_POOL):
            kernel = [options["filter_h"], options["filter_w"]]
            return self.activated(
                self.add("MaxPool" if number == MAX_POOL else "AveragePool", [self.names[x]], kernel_shape=kernel,
                         strides=[options["stride_h"], options["stride_w"]], pads=self.pads(x, options, kernel)),
                options)
        if number in (ADD, MUL):
            is_image = len(self.shape(out)) == 4
            both = [self.operand(i, is_image) for i in inputs]
            return self.activated(self.add("Add" if number == ADD else "Mul", both), options)
        if number == PAD:
            before, after = self.constant(inputs[1]).astype(np.int64).T[:, [0, 3, 1, 2]]
            return self.add("Pad", [self.names[x], self.initializer(np.concatenate([before, after]))])
        if number == RESIZE_BILINEAR:
            shape = self.shape(out)
            sizes = self.initializer(np.array([shape[0], shape[3], shape[1], shape[2]], np.int64))
            mode = "half_pixel" if options.get("half_pixel_centers") else "asymmetric"
            return self.add("Resize", [self.names[x], "", "", sizes], mode="linear",
                            coordinate_transformation_mode=mode)
        if number == RESHAPE:
            to = self.initializer(np.array(self.shape(out), np.int64))
            made = self.add("Reshape", [self.pixels(x), to])
            return self.add("Transpose", [made], perm=[0, 3, 1, 2]) if len(self.shape(out)) == 4 else made
        if number == CONCAT:
            axis = options.get("axis", 0)
            axis = [0, 2, 3, 1][axis] if len(self.shape(out)) == 4 else axis
            return self.add("Concat", [self.operand(i) for i in inputs], axis=axis)
        if number == MEAN:
            axes = sorted(int(a) for a in self.constant(inputs[1]).reshape(-1))
            if axes != [1, 2] or len(self.shape(x)) != 4:
                raise Unsupported("a mean of other axes")
            return self.add("ReduceMean", [self.names[x]], axes=[2, 3], keepdims=int(len(self.shape(out)) == 4))
        if number == FULLY_CONNECTED:
            w = self.constant(inputs[1]).astype(np.float32)
            row = self.add("Reshape", [self.pixels(x), self.initializer(np.array([-1, w.shape[1]], np.int64))])
            bias = self.initializer(self.constant(inputs[2]).astype(np.float32))
            made = self.add("Gemm", [row, self.initializer(w), bias], transB=1)
            return self.activated(made, options)
        if number == PRELU:
            return self.add("PRelu", [self.names[x], self.initializer(self.planes(self.constant(inputs[1])))])
        plain = {LOGISTIC: "Sigmoid", RELU: "Relu", HARD_SWISH: "HardSwish"}
        if number in plain:
            return self.add(plain[number], [self.names[x]])
        if number == RELU6:
            return self.clipped(self.names[x])
        raise Unsupported(f"operator {number} {custom or ''}")

    def result_bytes(self):
        inputs, outputs = [], []
        for index in self.graph["inputs"]:
            t = self.tensor(index)
            inputs.append(small_onnx.value(t["name"], FLOAT, t["shape"]))
            self.names[index] = (
                self.add("Transpose", [t["name"]], perm=[0, 3, 1, 2]) if len(t["shape"]) == 4 else t["name"])
        for o in self.graph["operators"]:
            self.convert(o)
        for index in self.graph["outputs"]:
            t = self.tensor(index)
            self.add("Identity", [self.pixels(index)], out="out_" + t["name"])
            outputs.append(small_onnx.value("out_" + t["name"], FLOAT, t["shape"]))
        return small_onnx.model(self.nodes, inputs, outputs, self.initializers)


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: tflite_to_onnx.py m.tflite m.onnx")
    try:
        content = Converter(read(sys.argv[1])).result_bytes()
    except Unsupported as e:
        sys.exit(f"{sys.argv[1]}: {e}")
    pathlib.Path(sys.argv[2]).write_bytes(content)


if __name__ == "__main__":
    main()

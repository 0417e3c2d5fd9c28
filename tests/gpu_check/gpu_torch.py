#!/usr/bin/env python3
"""gpu-torch: how long PyTorch takes for the model of an ONNX file on this machine's GPU.

    gpu-torch m.onnx --mode eager|graphs|autotune --precision f32|tf32 [--flags-file m.toml]

prints {"time_ms": …}: the median of nine turns of at least 30 ms each, by the GPU's clock. `graphs` replays a CUDA
graph of the eager model, `autotune` is torch.compile's max-autotune. Inputs are seeded. The flags' file is read
for `bind` alone: named dimensions' numbers. Ends with 3, and one line, where torch, onnx2torch or a GPU is missing.
"""
import argparse
import importlib.util
import json
import sys

NO_DEVICE = 3
TURNS, LEAST_MS = 9, 30.0


class Missing(Exception):
    """Something that this machine lacks."""


def load():
    """torch, and what reads ONNX files into it."""
    lacking = [name for name in ('torch', 'onnx', 'onnx2torch') if importlib.util.find_spec(name) is None]
    if lacking:
        raise Missing(f'{" and ".join(lacking)} {"is" if len(lacking) == 1 else "are"} not installed for '
                      f'{sys.executable} (pip install torch onnx2torch)')
    import onnx
    import onnx2torch
    import torch
    if not torch.cuda.is_available():
        raise Missing(f'torch {torch.__version__} sees no GPU')
    return torch, onnx, onnx2torch


def bindings(path):
    """{dimension: number} of a flags' file; its other flags change what is computed, or nothing here."""
    if not path:
        return {}
    try:
        import tomllib
    except ImportError as error:
        raise SystemExit(f'gpu-torch: Python 3.11 reads {path}, this is {sys.version.split()[0]}') from error
    with open(path, 'rb') as file:
        flags = tomllib.load(file)
    bind = flags.get('bind', [])
    pairs = (text.split('=') for text in (bind if isinstance(bind, list) else [bind]))
    return {name: int(number.split('|')[0]) for name, number in pairs}


def make_inputs(torch, graph, bound):
    """Tensors for a graph's inputs: small numbers at random, zeros where they are whole."""
    types = {1: torch.float32, 2: torch.uint8, 3: torch.int8, 6: torch.int32, 7: torch.int64, 9: torch.bool,
             10: torch.float16, 11: torch.float64}
    known = {initializer.name for initializer in graph.initializer}
    generator = torch.Generator().manual_seed(1)
    inputs = []
    for value in graph.input:
        if value.name in known:
            continue
        tensor = value.type.tensor_type
        shape = []
        for dimension in tensor.shape.dim:
            number = dimension.dim_value or bound.get(dimension.dim_param)
            if not number:
                raise SystemExit(f'gpu-torch: {value.name}: dimension {dimension.dim_param or "without a name"} is not '
                                 'bound')
            shape.append(number)
        kind = types[tensor.elem_type]
        inputs.append((torch.rand(shape, generator=generator).to(kind) if kind.is_floating_point
                       else torch.zeros(shape, dtype=kind)).cuda())
    return inputs


def prepared(torch, model, inputs, mode):
    """A function that runs the model once."""
    def run():
        return model(*inputs)
    if mode == 'autotune':
        model = torch.compile(model, mode='max-autotune')
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):  # a graph is recorded of what has run before, on another stream than the usual one
        for _ in range(3):
            run()
    torch.cuda.synchronize()
    if mode != 'graphs':
        return run
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        run()
    return graph.replay


def time_ms(torch, run):
    """The median time of a run, over turns of so many that each lasts long enough."""
    def turn(times):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(times):
            run()
        end.record()
        torch.cuda.synchronize()
        return begin.elapsed_time(end)
    times = 1
    while (ms := turn(times)) < LEAST_MS:
        times = max(2 * times, int(1.2 * times * LEAST_MS / max(ms, 1e-3)))
    return sorted(turn(times) / times for _ in range(TURNS))[TURNS // 2]


def main(words):
    parser = argparse.ArgumentParser(prog='gpu-torch', description=__doc__.splitlines()[0])
    parser.add_argument('model', metavar='MODEL.onnx')
    parser.add_argument('--mode', choices=['eager', 'graphs', 'autotune'], default='eager')
    parser.add_argument('--precision', choices=['f32', 'tf32'], default='f32')
    parser.add_argument('--flags-file', default='')
    given = parser.parse_args(words)
    if not given.model.endswith('.onnx'):
        raise SystemExit(f'gpu-torch: {given.model}: PyTorch reads files .onnx alone')
    torch, onnx, onnx2torch = load()
    torch.set_float32_matmul_precision('high' if given.precision == 'tf32' else 'highest')
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = given.precision == 'tf32'
    file = onnx.load(given.model)
    inputs = make_inputs(torch, file.graph, bindings(given.flags_file))
    with torch.inference_mode():
        run = prepared(torch, onnx2torch.convert(file).eval().cuda(), inputs, given.mode)
        print(json.dumps({'time_ms': time_ms(torch, run), 'torch': torch.__version__}))


if __name__ == '__main__':
    try:
        main(sys.argv[1:])
    except Missing as missing:
        sys.exit((print(f'gpu-torch: {missing}', file=sys.stderr), NO_DEVICE)[1])
    except Exception as error:  # one line of whatever PyTorch throws
        sys.exit(f'gpu-torch: {type(error).__name__}: {str(error).strip().splitlines()[0] if str(error) else ""}')

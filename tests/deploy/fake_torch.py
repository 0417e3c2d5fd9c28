"""Stand-ins for torch, onnx and onnx2torch: a GPU whose clock moves by a fixed time with each run of a model, half of
it where products may be TF32. The file $FAKE_TORCH_LOG has what was asked."""
import pathlib

TORCH = '''
import contextlib, os, types
__version__ = "9.9"
EAGER, REPLAYED, COMPILED = 0.8, 0.4, 0.2
now, recording = 0.0, None
def say(text):
    with open(os.environ["FAKE_TORCH_LOG"], "a") as log:
        log.write(text + "\\n")
class Dtype:
    def __init__(self, name):
        self.name, self.is_floating_point = name, name.startswith("float")
for _name in ("float32", "uint8", "int8", "int32", "int64", "bool", "float16", "float64"):
    globals()[_name] = Dtype(_name)
class Tensor:
    def __init__(self, shape, dtype): self.shape, self.dtype = shape, dtype
    def to(self, dtype): return Tensor(self.shape, dtype)
    def cuda(self):
        say(f"input {self.shape} {self.dtype.name}")
        return self
class Generator:
    def manual_seed(self, seed): return self
def rand(shape, generator): return Tensor(shape, float32)
def zeros(shape, dtype): return Tensor(shape, dtype)
inference_mode = contextlib.nullcontext
def set_float32_matmul_precision(word): say("precision " + word)
backends = types.SimpleNamespace(cuda=types.SimpleNamespace(matmul=types.SimpleNamespace(allow_tf32=True)),
                                 cudnn=types.SimpleNamespace(allow_tf32=True))
def pass_time(ms):
    global now
    both = (backends.cuda.matmul.allow_tf32, backends.cudnn.allow_tf32)
    assert both in ((True, True), (False, False)), both
    if recording is None:
        now += ms / 2 if all(both) else ms
class Model:
    def __init__(self, ms=EAGER): self.ms = ms
    def eval(self): return self
    def cuda(self): return self
    def __call__(self, *inputs): pass_time(self.ms)
def compile(model, mode):
    say("compile " + mode)
    return Model(COMPILED)
class Graph:
    def replay(self): pass_time(REPLAYED)
class Event:
    def __init__(self, enable_timing): self.at = None
    def record(self): self.at = now
    def elapsed_time(self, end): return end.at - self.at
@contextlib.contextmanager
def graph(made):
    global recording
    recording = made
    yield
    recording = None
cuda = types.SimpleNamespace(is_available=lambda: True, Stream=object, stream=lambda s: contextlib.nullcontext(),
                             synchronize=lambda: None, CUDAGraph=Graph, graph=graph, Event=Event)
'''

# One input of two dimensions, the first with a name.
ONNX = '''
from types import SimpleNamespace as N
def load(path):
    dimensions = [N(dim_value=0, dim_param="batch"), N(dim_value=16, dim_param="")]
    x = N(name="x", type=N(tensor_type=N(elem_type=1, shape=N(dim=dimensions))))
    return N(graph=N(initializer=[N(name="w")], input=[x, N(name="w")]))
'''

ONNX2TORCH = '''
import torch
def convert(file): return torch.Model()
'''

# As where none of them is installed.
NOTHING = '''
import sys
for name in ("torch", "onnx", "onnx2torch"):
    sys.modules[name] = None
'''


def install(folder):
    """A folder for PYTHONPATH that has them."""
    for name, text in (('torch', TORCH), ('onnx', ONNX), ('onnx2torch', ONNX2TORCH)):
        (pathlib.Path(folder) / f'{name}.py').write_text(text)
    return str(folder)


def hide(folder):
    """A folder for PYTHONPATH that hides them where they are."""
    (pathlib.Path(folder) / 'sitecustomize.py').write_text(NOTHING)
    return str(folder)

"""Hone: a tensor compiler that tunes itself on the devices it compiles for.

    model = hone.compile("resnet18.onnx", bind={"batch": 1})
    scores = model(image)                     # numpy, or anything with DLPack
    hone.tune("resnet18.onnx", bind={"batch": 1}, seconds=600)
"""

from hone import _hone, graph, te
from hone.building import compile, emit
from hone.errors import AllFailed, BadInput, DatabaseError, Error, InternalError, NoDevice
from hone.model import Device, DeviceArray, Library, Model, Report, TensorInfo, Variant, open
from hone.operators import Operator, op, save_operators
from hone.passes import GraphPass, graph_pass
from hone.table import Table
from hone.te import lower, save_kernels, source
from hone.templates import Knobs, Template, TemplateWorkload, build, template
from hone.tophub import Tophub, best
from hone.tuning import Outcome, tune

__version__ = _hone.version()
__all__ = [
    "AllFailed", "BadInput", "DatabaseError", "Device", "DeviceArray", "Error", "GraphPass",
    "InternalError", "Knobs", "Library", "Model", "NoDevice", "Operator", "Outcome", "Report",
    "Table", "Template", "TemplateWorkload", "TensorInfo", "Tophub", "Variant", "best", "build", "compile", "emit",
    "graph", "graph_pass", "lower", "op", "open", "save_kernels", "save_operators", "source", "te", "template", "tune",
]

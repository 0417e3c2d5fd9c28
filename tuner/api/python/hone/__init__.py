"""Hone: a tensor compiler that tunes itself on the devices it compiles for.

    model = hone.compile("resnet18.onnx", bind={"batch": 1})
    scores = model(image)                     # numpy, or anything with DLPack
    hone.tune("resnet18.onnx", bind={"batch": 1}, seconds=600)
"""

from hone import _hone, te
from hone.building import compile
from hone.errors import AllFailed, BadInput, DatabaseError, Error, InternalError, NoDevice
from hone.model import Device, DeviceArray, Library, Model, Report, TensorInfo, Variant, open
from hone.table import Table
from hone.te import lower, save_kernels, source
from hone.templates import Knobs, Template, TemplateWorkload, build, template
from hone.tophub import Tophub, best
from hone.tuning import Outcome, tune

__version__ = _hone.version()
__all__ = [
    "AllFailed", "BadInput", "DatabaseError", "Device", "DeviceArray", "Error",
    "InternalError", "Knobs", "Library", "Model", "NoDevice", "Outcome", "Report",
    "Table", "Template", "TemplateWorkload", "TensorInfo", "Tophub", "Variant", "best", "build", "compile", "lower",
    "open", "save_kernels", "source", "te", "template", "tune",
]

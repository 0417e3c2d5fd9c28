"""Models that run: what compile() and open() give."""

import html
import json
import os
import pathlib
import sys
from typing import Any, Callable, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

from hone import _hone, options
from hone.errors import BadInput
from hone.table import Table

__all__ = ["Device", "DeviceArray", "Library", "Model", "Report", "TensorInfo", "open"]

Device = _hone.Device
DeviceArray = _hone.DeviceArray


class TensorInfo(NamedTuple):
    """An input or an output: its name, numpy's name of its elements' type, and its extents."""

    name: str
    dtype: str
    shape: Tuple[int, ...]


class Variant(NamedTuple):
    """One of the shapes and numbers of threads that a model was built for; a call picks by its inputs and its pool."""

    inputs: Tuple[TensorInfo, ...]
    outputs: Tuple[TensorInfo, ...]
    threads: int


class Report:
    """The page of a built model: what a notebook shows. ``html`` is the whole document."""

    def __init__(self, document: str) -> None:
        """Holds the text of the page."""
        self.html = document

    def save(self, path: "Union[str, os.PathLike[str]]") -> None:
        """Writes the document to a file."""
        pathlib.Path(path).write_text(self.html, encoding="utf-8")

    def _repr_html_(self):
        """The page in a frame of its own, so that its styles are not the notebook's."""
        return f'<iframe srcdoc="{html.escape(self.html)}" width="100%" height="600" style="border:0"></iframe>'

    def __repr__(self):
        """How long the page is, and how to keep it: it is no text to print."""
        return f"<hone.Report, {len(self.html)} characters; .save(path) writes it>"


class Model:
    """An artifact that was opened: ``outputs = model(x)``.

    Calls take numpy arrays, and whatever has DLPack (a torch tensor on the CPU), where they lie if they are row-major;
    others are copied once, which ``stats`` counts. Elements must be of the input's type: nothing is converted but
    lists and numbers. Any number of threads may call at once; the GIL is released meanwhile.
    """

    def __init__(
        self,
        path: "Union[str, os.PathLike[str]]",
        threads: Optional[int] = None,
        build: Optional[Callable[[], str]] = None,
        device: Union[str, Device, None] = None,
        name: str = "",
    ) -> None:
        """Opens the shared object at ``path``, or of one with several artifacts that of a name.

        Args:
            path: what ``tensorc --emit so`` or compile() wrote.
            threads: of its calls; None: as many as it was built for; 0: one for each CPU.
            build: of compile(): makes the report's page.
            device: of a model for GPUs, ``"cuda:0"`` or a Device; None: the first there is, which models share.
            name: of an artifact in a library; "": the file holds one.
        """
        opened = Device(device) if isinstance(device, str) else device
        self._model = _hone.Model(options.path_text(path), opened, name)
        self._build = build  # makes a report
        description = json.loads(self._model.json)
        # The first of several variants stands for all: the others differ in shapes and threads.
        first = description["variants"][0] if "variants" in description else description
        self._described = first.get("layers", [])
        #: The notes of the model's file: ``{"description": …, "inputs": {NAME: {…}}, "outputs": {NAME: {…}}}``.
        self.metadata: Dict[str, Any] = description.get("metadata", {})
        tensors = [t for key in ("inputs", "outputs", "params") for t in first.get(key, [])]  # a kernel has params
        self._is_bool = {t["name"] for t in tensors if t["dtype"] == "bool"}
        if threads is not None and (isinstance(threads, bool) or not hasattr(threads, "__index__")):
            raise TypeError(f"threads: {threads!r} is not a whole number")
        if threads is None:
            threads = max(self._model.workers(v) for v in range(self._model.variant_count))
        self.threads = threads
        self._pool = _hone.Pool(threads) if threads != 1 and self.device is None else None
        self.variants: Tuple[Variant, ...] = tuple(
            Variant(
                self._infos(self._model.inputs(v)), self._infos(self._model.outputs(v)), self._model.workers(v)
            )
            for v in range(self._model.variant_count)
        )
        # The first stands for all.
        self.inputs: Tuple[TensorInfo, ...] = self.variants[0].inputs
        self.outputs: Tuple[TensorInfo, ...] = self.variants[0].outputs

    def _infos(self, params):
        """Inputs or outputs as TensorInfo; bools, which are bytes to the artifact, by their own name."""
        return tuple(TensorInfo(n, "bool" if n in self._is_bool else t, s) for n, t, s, _ in params)

    def _arguments(self, args, kwargs):
        """The inputs in the model's order; TypeError for one that is unknown, missing or given twice."""
        if len(args) > len(self.inputs):
            raise TypeError(f"the model takes {len(self.inputs)} inputs, given are {len(args)}")
        given = dict(zip((t.name for t in self.inputs), args))
        for name, value in kwargs.items():
            if name in given:
                raise TypeError(f"the input {name!r} is given twice")
            given[name] = value
        names = [t.name for t in self.inputs]
        unknown = [n for n in given if n not in names]
        missing = [n for n in names if n not in given]
        if unknown or missing:
            raise TypeError(
                "; ".join(
                    ([f"there is no input {', '.join(map(repr, unknown))}"] if unknown else [])
                    + ([f"{', '.join(map(repr, missing))} is missing"] if missing else [])
                )
                + f"; the model takes {', '.join(names)}"
            )
        return [given[n] for n in names]

    def _run(self, inputs, out, timed, stream=None):
        """Runs once: the outputs, the variant that was picked and, if `timed`, the seconds of its layers."""
        if out is not None and not isinstance(out, (list, tuple)):
            out = [out]
        out_given = out is not None
        arrays, variant, seconds = self._model.run(inputs, out, self._pool, timed, stream)
        if not out_given:
            arrays = [self._as_given(a, t, inputs) for a, t in zip(arrays, self.outputs)]
        return arrays, variant, seconds

    def _as_given(self, array, info, inputs):
        """An output as the caller has arrays: numpy's, or, on a GPU, those of the library whose inputs lie there."""
        if not isinstance(array, DeviceArray):
            return array.view(bool) if info.name in self._is_bool else array
        for x in inputs:
            library = sys.modules.get(type(x).__module__.partition(".")[0])
            if hasattr(x, "__dlpack__") and not isinstance(x, DeviceArray) and hasattr(library, "from_dlpack"):
                if x.__dlpack_device__()[0] == array.__dlpack_device__()[0]:
                    return library.from_dlpack(array)
        return array

    def on(self, stream: Any) -> "OnStream":
        """Calls on a stream of the GPU, which do not wait: ``y = model.on(stream)(x)``.

        Args:
            stream: torch's, cupy's or pyopencl's, or its address as a number. The call begins behind what was sent
                there, and what is sent there afterwards sees its outputs. Inputs and outputs lie on the GPU; a model
                with tensors or steps on the CPU waits.
        """
        return OnStream(self, stream)

    def __call__(self, *args: Any, out: Any = None, **kwargs: Any) -> Any:
        """Runs once. Inputs by their places or names; one output is returned as it is, several as a tuple.

        Args:
            out: an array, or one for each output, to write to instead of new ones.

        Raises:
            BadInput: an input of another shape than the model's, or any of its variants'.
            TypeError: one of another element type, one too many, one that is missing.
            ValueError: the model is closed.
        """
        arrays, _, _ = self._run(self._arguments(args, kwargs), out, False)
        return arrays[0] if len(arrays) == 1 else tuple(arrays)

    @property
    def device(self) -> Optional[str]:
        """The GPU that calls run on, ``"cuda:0"``; None: the CPU."""
        return self._model.device

    def run(self, feeds: Mapping[str, Any]) -> Dict[str, Any]:
        """Runs once on a dict of inputs, and returns a dict of outputs, for names that are no identifiers."""
        arrays, _, _ = self._run(self._arguments((), feeds), None, False)
        return dict(zip((t.name for t in self.outputs), arrays))

    def profile(self, *args: Any, **kwargs: Any) -> Table:
        """Runs layer by layer on these inputs: ``layers`` with the milliseconds that each took."""
        _, variant, seconds = self._run(self._arguments(args, kwargs), None, True)
        rows = self._rows(variant)
        for row, s in zip(rows, seconds):
            row["ms"] = s * 1e3
        return Table(rows)

    def _rows(self, variant):
        """The layers of a variant as dicts; those of the first have their configs."""
        layers = self._model.layers(variant)
        rows = [{"name": name, "workload": workload} for name, workload in layers]
        if variant == 0 and len(self._described) == len(rows):
            for row, layer in zip(rows, self._described):
                row.update({k: layer[k] for k in ("config", "source") if k in layer})
        return rows

    @property
    def layers(self) -> Table:
        """The layers in order: the nodes that a layer stands for, its workload, its config and where that is from."""
        return Table(self._rows(0))

    @property
    def stats(self) -> Dict[str, int]:
        """Calls, and what they copied: {"calls", "copied_arrays", "copied_bytes"}."""
        return self._model.stats

    @property
    def target(self) -> str:
        """The target that it was built for, as text."""
        return self._model.target

    def report(self) -> Report:
        """A page with the layers, their times here against the roofline, fusions and memory. Builds the model again."""
        if self._build is None:
            raise BadInput("a report is of a model that compile() built from a file: give it a path")
        return Report(self._build())

    def close(self) -> None:
        """Frees it, at the latest behind the calls that run. Nothing can be run then."""
        self._model.close()

    def __enter__(self) -> "Model":
        """The model itself, which is closed at the end of the block."""
        return self

    def __exit__(self, *exception: Any) -> None:
        """Closes it, as close()."""
        self.close()

    def __repr__(self):
        """Inputs and outputs with their types and shapes, and the number of layers."""
        try:
            layers = len(self._model.layers(0))
        except ValueError:
            return "<hone.Model, closed>"

        def told(tensors):
            return ", ".join(f"{t.name} {t.dtype}[{', '.join(map(str, t.shape))}]" for t in tensors)

        count = len(self.variants)
        more = f"; the first of {count} variants" if count > 1 else ""
        return f"<hone.Model ({told(self.inputs)}) -> ({told(self.outputs)}), {layers} layers{more}>"


class OnStream:
    """A model whose calls run on a stream of the caller's: Model.on()."""

    def __init__(self, model: Model, stream: Any) -> None:
        """Binds a model to a stream."""
        self._model = model
        for name in ("cuda_stream", "ptr", "int_ptr"):  # of torch, of cupy, of pyopencl
            stream = getattr(stream, name, stream)
        self._stream = int(stream)

    def __call__(self, *args: Any, out: Any = None, **kwargs: Any) -> Any:
        """As Model's, but for the wait."""
        arrays, _, _ = self._model._run(self._model._arguments(args, kwargs), out, False, self._stream)
        return arrays[0] if len(arrays) == 1 else tuple(arrays)


class Library(Mapping[str, Model]):
    """A file of hone.save_kernels(), opened: its functions by their names, as ``ops["softmax"]`` and ``ops.softmax``.

    Each is a Model; they share their threads.
    """

    def __init__(
        self,
        path: "Union[str, os.PathLike[str]]",
        names: Sequence[str],
        threads: Optional[int] = None,
        device: Union[str, Device, None] = None,
    ) -> None:
        """As open() does it. ``names``: of the functions."""
        opened = Device(device) if isinstance(device, str) else device
        self._models = {name: Model(path, threads, None, opened, name) for name in names}
        pools = [m._pool for m in self._models.values() if m._pool is not None]
        most = max(pools, key=lambda pool: pool.threads, default=None)
        for model in self._models.values():
            if model._pool is not None:
                model._pool = most
        self._path = os.fspath(path)

    def __getitem__(self, name: str) -> Model:
        """The function of that name."""
        return self._models[name]

    def __getattr__(self, name: str) -> Model:
        """The same; AttributeError where there is none."""
        models = self.__dict__.get("_models", {})
        if name not in models:
            raise AttributeError(f"there is no function {name!r}; there are {', '.join(models)}")
        return models[name]

    def __iter__(self) -> Iterator[str]:
        """The names, in the order of the file."""
        return iter(self._models)

    def __len__(self) -> int:
        """How many there are."""
        return len(self._models)

    def __dir__(self) -> List[str]:
        """The names, too."""
        return [*super().__dir__(), *self._models]

    def close(self) -> None:
        """Closes all of them."""
        for model in self._models.values():
            model.close()

    def __enter__(self) -> "Library":
        """The library itself, whose functions are closed at the end of the block."""
        return self

    def __exit__(self, *exception: Any) -> None:
        """Closes them, as close()."""
        self.close()

    def __repr__(self) -> str:
        """The file and the names."""
        return f"<hone.Library {self._path!r}: {', '.join(self._models)}>"


def open(
    path: "Union[str, os.PathLike[str]]", threads: Optional[int] = None, device: Union[str, Device, None] = None
) -> Any:
    """Opens an artifact that ``tensorc --emit so``, ``compile(output=...)`` or ``Kernel.save()`` wrote: a Model; or the
    functions of ``save_kernels()``: a Library.

    Args:
        path: of the shared object.
        threads: of its calls; None: as many as it was built for; 0: one for each CPU.
        device: of an artifact for GPUs: ``"cuda:0"``, ``"opencl:1"``, ``"auto"``, or a Device that several models use;
            None: the first of the artifact's kind, which all models share that say none.

    Raises:
        BadInput: there is no such file, it is no artifact, or it is for another machine; the text says which.
        NoDevice: it is for a GPU, and there is none, or no driver.
    """
    names = _hone.names(options.path_text(path))
    return Library(path, names, threads, device) if names else Model(path, threads, device=device)

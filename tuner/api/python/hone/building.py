"""From models' files and operators to models that run."""

import os
import shutil
import tempfile
from typing import Any, Callable, Dict, Mapping, Optional, Sequence, Tuple, Union

from hone import _hone, options, te
from hone.errors import NO_GPU, WRONG_MACHINE, BadInput, NoDevice
from hone.model import Model
from hone.operators import of_users
from hone.passes import GraphPass, Passes
from hone.spelling import names_of_files

__all__ = ["compile", "emit"]

Path = Union[str, "os.PathLike[str]"]
Shape = Tuple[int, ...]
Bind = Mapping[str, Union[int, Sequence[int], str]]
Shapes = Mapping[str, Union[Shape, Sequence[Shape]]]
OwnPasses = Sequence[Union[GraphPass, Callable[..., Any]]]


def _is_workload(model):
    """Whether it is the text of a workload, `dense(m=4,n=8,k=16)`, and no path."""
    return isinstance(model, str) and model.endswith(")") and "(" in model


def _file_of(model, folder):
    """The path of a model: itself, or a file of what it serializes to."""
    if isinstance(model, (str, os.PathLike)):
        return options.text(model)
    if isinstance(model, (te.Schedule, te.Tensor)):
        raise TypeError("a schedule is not a model: hone.build() compiles it, and its kernel's time() measures it")
    content = model.SerializeToString() if hasattr(model, "SerializeToString") else model
    if not isinstance(content, (bytes, bytearray, memoryview)):
        raise TypeError(f"a model is a path, bytes or an onnx.ModelProto, not {type(model).__name__}")
    path = os.path.join(folder, "model")  # its content says the format
    with open(path, "wb") as f:
        f.write(content)
    return path


def _check_form(flags):
    """Raises where `flags` ask for something else than the shared object that compile() opens."""
    if isinstance(flags, str):
        raise TypeError(f"flags: {flags!r} is no list of words, [{flags!r}]")
    for word in flags:
        if not isinstance(word, str):
            raise TypeError(f"flags: {word!r} is no word, a str")
    words = [*flags, ""]
    for word, following in zip(words, words[1:]):
        kind = following if word == "--emit" else word[len("--emit="):] if word.startswith("--emit=") else "so"
        if kind != "so":
            raise ValueError(
                f"flags: --emit {kind}: compile() makes a shared object; hone.emit() gives a graph's text, "
                "hone.save_operators() writes operators, and python3 -m hone compile whatever tensorc does"
            )


def compile(
    model: Any,
    output: Optional[Path] = None,
    *,
    target: str = "llvm",
    bind: Optional[Bind] = None,
    bind_data: Optional[Mapping[str, Any]] = None,
    shapes: Optional[Shapes] = None,
    model_batch: Optional[int] = None,
    formats: Optional[Mapping[str, str]] = None,
    threads: Union[int, Sequence[int], None] = None,
    denormals: Optional[str] = None,
    assume_finite: bool = False,
    db: Optional[Path] = None,
    tophub: Optional[str] = None,
    lock: Optional[Path] = None,
    locked: Optional[Path] = None,
    quantize: Optional[str] = None,
    calibrate: Optional[Path] = None,
    operators: Any = None,
    replace: Optional[Mapping[str, Any]] = None,
    passes: OwnPasses = (),
    optimize: Optional[int] = None,
    check: bool = False,
    flags: Sequence[str] = (),
    on_line: Optional[Callable[[str], None]] = None,
    on_progress: Optional[Callable[[Dict[str, Any]], None]] = None,
) -> Optional[Model]:
    """Builds a model, or one operator, and opens it.

    Args:
        model: the path of a file (ONNX, or TensorFlow Lite: its content says which), its bytes, an
            ``onnx.ModelProto``; or an operator's workload, ``"dense(m=128,n=768,k=768)"``, whose weights are inputs.
        output: where the shared object is to be kept (a C header comes to lie beside it); None: no file stays.
        target: ``"llvm"`` is this machine's CPU, ``"cuda"`` and ``"opencl"`` are its GPU; the artifact of another
            machine can be built, not opened.
        bind: numbers for named dimensions, ``{"batch": 1}``; several, ``{"batch": [1, 4]}``, make a variant of each.
        bind_data: inputs that become constants, which calls do not pass: ``{"axes": numpy.array([0, 2])}``, or paths of
            .npy and .pb files. A model may have inputs that must be known while it is built: axes, sizes.
        shapes: of inputs, ``{"x": (1, 3, 224, 224)}``.
        model_batch: of a model that was exported for a batch of 1: the batch it is built for. Inputs and outputs whose
            first dimension is 1 have it there, and each result is what a run by itself gives.
        formats: what callers pass, ``{"image": "u8:NHWC,scale=1/255"}``, or with the mean and std that the model's
            file has, ``{"image": "u8,normalized"}``.
        threads: that calls use; several make a variant of each. None: as many as there are CPUs.
        denormals: ``"zero"``, the default: numbers of f32 and f64 below the smallest normal one are zeros to a call,
            on all threads that run it; ``"keep"``: numbers, which take up to 250 times as long. For CPUs.
        assume_finite: True: a NaN may be lost in maxima and what is made of them (Relu, Clip, pooling), which saves up
            to two instructions each; a NaN stays one otherwise.
        db: a tophub with tuned configs, which is asked before the user's and the installed packages.
        tophub: the URL of a team's tophub, which is asked behind the user's; None: what HONE_TOPHUB, or the file that
            HONE_FLEET names, has. Credentials are words of ``flags``: ``["--fleet=ann.hone"]``.
        lock: a file to write that says which record each layer took, and all else that decides the artifact's bytes.
        locked: such a file, in place of the tophub: the same bytes, or BadInput with what is another. Give ``output``
            the same name then.
        quantize: ``"int8"``, as ``tensorc`` has it.
        calibrate: of ``quantize``: a folder with samples, or a file with ranges.
        operators: definitions of the model's own operators: of ``@hone.op``, and paths of save_operators().
        replace: definitions in the place of nodes of the model's, ``{"Softmax_3": softmax}``: of the node with this
            name, of all whose names fit one with ``*``, or of all of an operator, ``"ai.onnx::Softmax"``; refused where
            they compute something else on numbers at random.
        passes: graph passes of one's own, made by ``@hone.graph_pass``; a function without that has the model as it was
            read. hone.tune() takes the same ones, so that it tunes what is built.
        optimize: the passes of Hone's that run: 0 (what is needed), 1 (nodes are simplified), 2 (and joined), 3 (all,
            the default).
        check: compares what is built with its references, layer by layer, the whole with the model as it was read, and
            what each of ``passes`` makes with what it was given.
        flags: more words of ``tensorc``, ``["--disable=fold_scales"]``.
        on_line: is called with each line that ``tensorc`` says on stderr.
        on_progress: is called with a dict of ``what``, ``done``, ``all``.

    Returns:
        The model; None where it is for another machine, or for a GPU that is not here, and ``output`` keeps it.

    Raises:
        BadInput: with every reason at once where the model is not supported; where one of ``passes`` makes a graph
            that is wrong, or with ``check`` computes something else. A pass's own exceptions go through.
        NoDevice: it is for a GPU, and there is none.
        KeyboardInterrupt: Ctrl-C ends it.
    """
    given = {
        **options.of_threads(threads), **options.plain(target=target, db=db, tophub=tophub, lock=lock, locked=locked),
        **options.plain(denormals=denormals), "assume_finite": bool(assume_finite), "check": bool(check),
    }
    own = Passes(passes)
    _check_form(flags)
    folder = tempfile.mkdtemp(prefix="hone-")
    try:
        artifact = os.path.join(folder, "model.so") if output is None else options.path_text(output)
        if _is_workload(model):
            of_model = bind or bind_data or shapes or formats or quantize or calibrate or model_batch or own
            if of_model or operators or replace or optimize is not None:
                raise TypeError(
                    "bind, bind_data, shapes, model_batch, formats, quantize, calibrate, operators, replace, passes "
                    "and optimize are of "
                    "models, not of a workload"
                )
            _hone.compile_operator(model, artifact, options.words(given, flags), on_line, on_progress)
            build = None
        else:
            path = _file_of(model, folder)
            given |= options.of_model(bind, shapes, formats, model_batch) | options.of_data(bind_data, folder)
            given |= options.plain(quantize=quantize, calibrate=calibrate, optimize=optimize)
            of_user, define = of_users(operators, replace)
            given |= of_user
            asked = (define, own if own else None)
            with names_of_files(options.file_names(path, bind_data, folder)):
                _hone.compile(path, artifact, options.words(given, flags), on_line, on_progress, *asked)
            is_all_kept = os.path.dirname(path) != folder and options.is_all_paths(bind_data)
            build = _reports(path, given, flags, asked) if is_all_kept else None
        count = None if threads is None or not hasattr(threads, "__index__") else int(threads)
        try:
            return Model(artifact, count, build)
        except (BadInput, NoDevice) as e:
            is_elsewhere = e.code == WRONG_MACHINE or (e.code == NO_GPU and output is not None)
            if target != "llvm" and is_elsewhere:
                return None
            raise
    finally:
        # A mapped artifact remains readable after its file is gone.
        shutil.rmtree(folder, ignore_errors=True)


def emit(
    model: Any,
    what: str = "graph",
    *,
    target: str = "llvm",
    bind: Optional[Bind] = None,
    bind_data: Optional[Mapping[str, Any]] = None,
    shapes: Optional[Shapes] = None,
    model_batch: Optional[int] = None,
    formats: Optional[Mapping[str, str]] = None,
    operators: Any = None,
    replace: Optional[Mapping[str, Any]] = None,
    passes: OwnPasses = (),
    optimize: Optional[int] = None,
    flags: Sequence[str] = (),
) -> str:
    """A model's graph as text, as ``tensorc --emit graph`` prints it.

    Args:
        model: as compile() takes it; and so are all others.
        what: ``"graph"``: as it is built; ``"graph:after=NAME"``: behind this pass, of Hone's or of ``passes``;
            ``"graph:after=import"``: as it was read.
        target, bind, bind_data, shapes, model_batch, formats: of the model.
        operators, replace, passes, optimize, flags: of the build.
    """
    if what != "graph" and not (what.startswith("graph:after=") and what != "graph:after="):
        raise ValueError(f"{what!r} is no graph; 'graph' and 'graph:after=PASS' are")
    own = Passes(passes)
    with tempfile.TemporaryDirectory(prefix="hone-") as folder:
        path = _file_of(model, folder)
        given = options.of_model(bind, shapes, formats, model_batch) | options.of_data(bind_data, folder)
        given |= options.plain(target=target, optimize=optimize, emit=what)
        of_user, define = of_users(operators, replace)
        with names_of_files(options.file_names(path, bind_data, folder)):
            words, out = options.words({**given, **of_user}, flags), os.path.join(folder, "model.so")
            return _hone.compile(path, out, words, None, None, define, own if own else None)


def _reports(model, given, flags, asked):
    """A function that builds the model again, with a report, and returns the page."""
    def build():
        folder = tempfile.mkdtemp(prefix="hone-")
        try:
            page = os.path.join(folder, "report.html")
            words = options.words({**given, "report": page}, flags)
            _hone.compile(model, os.path.join(folder, "model.so"), words, None, None, *asked)
            # Names of the model may be any bytes.
            with open(page, encoding="utf-8", errors="replace") as f:
                return f.read()
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    return build

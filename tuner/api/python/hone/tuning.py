"""Searching for faster configs."""

import json
import os
import sys
import tempfile
from typing import Any, Callable, Dict, Mapping, Optional, Sequence

from hone import _hone, options
from hone.building import Bind, OwnPasses, Path, Shapes, _file_of, _is_workload
from hone.errors import Error
from hone.operators import of_users
from hone.passes import Passes
from hone.spelling import names_of_files
from hone.table import ms_text
from hone.templates import Answers, Template, TemplateWorkload

__all__ = ["tune", "Outcome"]


class Outcome(dict):
    """As ``tuner --json``: a workload has ``best``, ``default``, ``trials``; a model ``tasks``, ``model``."""

    def __repr__(self):
        """The best of a workload beside the default, or of how many workloads it is."""
        best, default = self.get("best") or {}, self.get("default") or {}
        if "time_ms" in best:
            gain = f", {default['time_ms'] / best['time_ms']:.2f}x the default" if default.get("time_ms") else ""
            time = ms_text(best["time_ms"] / 1e3)
            return f"<hone.Outcome {self.get('workload')}: {time} ms{gain}, {self.get('trials')} trials>"
        return f"<hone.Outcome of {len(self.get('tasks', []))} workloads>"


def _rewrites_lines(stream):
    """Whether a line that begins with a carriage return takes the place of the last one."""
    return stream.isatty() or type(stream).__module__.split(".")[0] == "ipykernel"


_tuned_in = None  # the process


def _check_process():
    """gRPC's threads do not come along into the child of a fork, which would wait for them."""
    global _tuned_in
    if _tuned_in is not None and _tuned_in != os.getpid():
        raise RuntimeError("a process that has tuned was forked: tune in the parent, or in a process that is spawned")
    _tuned_in = os.getpid()


class _Bar:
    """A line on a terminal that is rewritten."""

    _WIDTH = 24

    def __init__(self, stream):
        """Writes to `stream`, a terminal or a notebook's."""
        self._stream = stream
        self._shown = ""

    def __call__(self, p):
        """Shows a progress, a dict as a callback of tune() gets it."""
        share = p["done"] / p["all"] if p["all"] else 0.0
        full = round(self._WIDTH * min(1.0, share))
        text = f"{'#' * full}{'.' * (self._WIDTH - full)} {p['done']}/{p['all']}"
        if p["seconds"] > 0 and p["default_seconds"] > 0:
            text += f"  {ms_text(p['seconds'])} ms, {p['default_seconds'] / p['seconds']:.2f}x the default"
        elif p["best_gflops"] > 0:
            text += f"  best {p['best_gflops']:.1f} GFLOPS"
        if p["seconds_left"] is not None:
            text += f"  left {p['seconds_left']:.0f} s"
        if text == self._shown:
            return
        self._stream.write("\r" + text.ljust(len(self._shown)))
        self._stream.flush()
        self._shown = text

    def end(self):
        """Goes to the next line, if anything was shown."""
        if self._shown:
            self._stream.write("\n")
            self._stream.flush()


def tune(
    what: Any,
    *args: Any,
    trials: Optional[int] = None,
    seconds: Optional[float] = None,
    target: str = "llvm",
    bind: Optional[Bind] = None,
    bind_data: Optional[Mapping[str, Any]] = None,
    shapes: Optional[Shapes] = None,
    model_batch: Optional[int] = None,
    formats: Optional[Mapping[str, str]] = None,
    threads: Optional[int] = None,
    tracker: Optional[str] = None,
    fleet: Optional[Path] = None,
    device: Optional[str] = None,
    db: Optional[Path] = None,
    tophub: Optional[str] = None,
    operators: Any = None,
    replace: Optional[Mapping[str, Any]] = None,
    passes: OwnPasses = (),
    optimize: Optional[int] = None,
    flags: Sequence[str] = (),
    callback: Optional[Callable[[Dict[str, Any]], None]] = None,
    progress: Optional[bool] = None,
) -> Outcome:
    """Measures candidates and keeps the best in the tophub, where compile() finds them. Ctrl-C keeps what was
    measured: the same call goes on from there.

    Args:
        what: a workload, ``"conv2d(n=1,ci=64,h=56,w=56,co=64,kh=3,kw=3)"``; a list of them, trials going where the sum
            gains most; a model, as compile() takes it; or a template.
        args: of a template: its arguments.
        trials: how many candidates to measure; what was measured before counts and is not repeated.
        seconds: how long it takes at most: searching, confirming the best and, of a model, timing the whole.
        target: ``"llvm"`` is the CPU that measures; ``"cuda"`` and ``"opencl"`` are its GPUs.
        bind, bind_data, shapes, model_batch, formats, operators, replace: of a model, as compile() takes them.
        threads: that candidates use; None: as many as there are CPUs.
        tracker: of a fleet, ``"host:9190"``; None: this machine measures.
        fleet: instead: a file of ``tracker init-tls`` with its address, certificates and token; None: what HONE_FLEET
            names.
        device: of the tracker: a device, an agent or a label.
        db: the tophub; None: the user's.
        tophub: the URL of a team's tophub, which is read, and told what is confirmed; None: what HONE_TOPHUB, or the
            fleet's file, has.
        passes, optimize: of a model, as compile() takes them: with others the layers may be others.
        flags: more words of ``tuner``.
        callback: is called some ten times a second with a dict of ``done``, ``all``, ``best_gflops``, ``seconds``,
            ``default_seconds``, ``seconds_left``; what it raises ends the search, with what was measured kept.
        progress: True: a bar on stderr; None: where that is a terminal or a notebook.

    Returns:
        The result, as ``tuner --json`` has it.

    Raises:
        BadInput: an option, a model or a workload is not what it should be.
        NoDevice: the target is fine, but no device serves it.
        AllFailed: every candidate failed.
        DatabaseError: the tophub could not be read or written.
    """
    if isinstance(what, str) and not what:
        raise ValueError("the workload is empty")
    if isinstance(what, Template):
        what = what(*args)
    elif args:
        raise TypeError("arguments are of a template alone")
    _check_process()
    with tempfile.TemporaryDirectory(prefix="hone-") as folder:
        given, files = {}, {}
        own = Passes(passes)
        of_model = bind or bind_data or shapes or formats or model_batch or operators or replace or own
        answers = define = None
        is_of_model = of_model or optimize is not None
        if is_of_model and (isinstance(what, (list, tuple, TemplateWorkload)) or _is_workload(what)):
            raise TypeError(
                "bind, bind_data, shapes, model_batch, formats, operators, replace, passes and optimize are of models, "
                "not of a workload"
            )
        if isinstance(what, (list, tuple)):
            path = os.path.join(folder, "tasks.txt")
            with open(path, "w", encoding="utf-8") as f:
                f.writelines(f"{w}\n" for w in what)
            files = {path: "the list"}
            given["tasks"] = path
        elif isinstance(what, TemplateWorkload):
            answers = Answers(what)
            if not (tracker or fleet or os.environ.get("HONE_FLEET")):
                answers.check_here(target, threads)
        elif _is_workload(what):
            given["workload"] = what
        else:
            path = _file_of(what, folder)
            given["model"] = path
            given |= options.of_model(bind, shapes, formats, model_batch) | options.of_data(bind_data, folder)
            of_user, define = of_users(operators, replace)
            given |= of_user
            files = options.file_names(path, bind_data, folder)
        given |= options.plain(
            trials=trials, seconds=seconds, target=target, tracker=tracker, fleet=fleet, device=device, db=db,
            tophub=tophub, threads=threads, optimize=optimize,
        )
        bar = _Bar(sys.stderr) if progress or (progress is None and _rewrites_lines(sys.stderr)) else None

        def told(p):
            if bar:
                bar(p)
            if callback:
                callback(p)

        try:
            with names_of_files(files):
                words, hears = options.words(given, flags), told if bar or callback else None
                if answers:
                    said = _hone.tune_template(words, answers, None, hears)
                else:
                    said = _hone.tune(words, None, hears, define, own if own else None)
                return Outcome(json.loads(said))
        except Error:
            if answers and answers.raised:
                raise answers.raised from None
            raise
        finally:
            if bar:
                bar.end()

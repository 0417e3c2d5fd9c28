"""Search spaces of one's own: a function that asks for knobs and returns a schedule.

    @hone.template
    def scaled(k, n):
        A = te.placeholder((n,), name="A")
        B = te.compute((n,), lambda i: A[i] * 2, name="B")
        s = te.Schedule(B)
        (i,) = s.loops(B)
        s.vectorize(s.split(i, k.choice("lanes", [4, 8, 16]))[1])
        return s

    hone.tune(scaled, 4096, trials=8)
    kernel = hone.build(scaled, 4096)
"""

import functools
import inspect
import json
import os
from typing import Any, Callable, Dict, Optional

from hone import _te, te
from hone._te import Knobs  # noqa: F401

__all__ = ["Knobs", "Template", "TemplateWorkload", "build", "template"]

_SECONDS = 10.0  # the most that one call of a template takes while it is searched


def _text(name, value):
    """An argument as keys have it: a number, a word, or extents."""
    if isinstance(value, bool):
        return str(int(value))
    if hasattr(value, "__index__"):
        return str(int(value))
    if isinstance(value, (tuple, list)):
        if not value or not all(hasattr(v, "__index__") and not isinstance(v, bool) for v in value):
            raise TypeError(f"{name}: a list is of whole numbers, not {value!r}")
        return "x".join(str(int(v)) for v in value)
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, str):
        return value
    raise TypeError(f"{name}: arguments of templates are numbers, words and tuples of numbers, not {value!r}")


class Template:
    """The result of ``@hone.template`` on a function. Called with the function's arguments but its knobs, it is a
    TemplateWorkload; ``.function`` is the function."""

    def __init__(self, function: Callable[..., te.Schedule], revision: int = 1) -> None:
        """As template() has them."""
        if not callable(function):
            raise TypeError(f"a template is a function, not {function!r}")
        if isinstance(revision, bool) or not hasattr(revision, "__index__") or not 1 <= revision < 2**31:
            raise ValueError(f"revision: {revision!r} is no number from 1")
        self.function = function
        self.revision = int(revision)
        self.name = getattr(function, "__name__", type(function).__name__)
        parameters = list(inspect.signature(function).parameters.values())
        if not parameters or parameters[0].kind not in (
            inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD,
        ):
            raise TypeError(f"template '{self.name}': its first parameter is its knobs")
        for p in parameters[1:]:
            if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) or p.name in ("name", "def_"):
                raise TypeError(f"template '{self.name}': it cannot have a parameter '{p.name}'")
        self._signature = inspect.Signature(parameters[1:])
        functools.update_wrapper(self, function)

    def __call__(self, *args: Any, **kwargs: Any) -> "TemplateWorkload":
        """The template with its arguments."""
        return TemplateWorkload(self, args, kwargs)

    def __repr__(self) -> str:
        """Its name and parameters."""
        return f"<hone.Template {self.name}{self._signature}>"


class TemplateWorkload:
    """A template with its arguments: what hone.tune() searches and hone.build() builds."""

    def __init__(self, of: Template, args: Any, kwargs: Any) -> None:
        """As Template's call."""
        given = of._signature.bind(*args, **kwargs)
        given.apply_defaults()
        self.template = of
        self.arguments: Dict[str, Any] = dict(given.arguments)
        self._attributes = [(name, _text(name, value)) for name, value in self.arguments.items()]

    def __repr__(self) -> str:
        """As a call."""
        return f"<hone.TemplateWorkload {self.template.name}({', '.join(f'{n}={t}' for n, t in self._attributes)})>"

    def _call(self, knobs):
        with te.fresh_names():
            return self.template.function(knobs, **self.arguments)

    def _space(self, target, threads=None, is_here=False, seconds=None):
        of = self.template
        return _te.TemplateSpace(of.name, of.revision, self._call, self._attributes, target, threads, is_here, seconds)

    def schedule(
        self, config: Optional[str] = None, target: str = "llvm", threads: Optional[int] = None
    ) -> te.Schedule:
        """The schedule of a config, ``"rows=4,tile=8x2x16"``; None: the default.

        Raises:
            BadInput: the template, or the config, is not valid.
        """
        space = self._space(target, threads, is_here=True)
        return space.schedule(space.default if config is None else config)

    def key(self, target: str = "llvm", threads: Optional[int] = None) -> str:
        """The text by which the tophub knows it: its name, the hash of what it computes, its arguments."""
        return self._space(target, threads, is_here=True).workload


class Answers:
    """The template's side of a search: answers the library's questions (hone_compiler.h)."""

    def __init__(self, workload):
        """Answers for a workload."""
        self._workload = workload
        self._space = None
        self.raised = None  # by the template, with its defaults

    def check_here(self, target, threads):
        """Raises what is wrong with it on this machine, before anything is started."""
        self._space = self._workload._space(target, threads, is_here=True, seconds=_SECONDS)

    def __call__(self, question):
        """The answer as text."""
        target = json.loads(question).get("target") if question.startswith('{"target"') else None
        if target is not None and (self._space is None or self._space.target != target):
            try:
                self._space = self._workload._space(target, seconds=_SECONDS)
            except Exception as error:
                self.raised = error
                return json.dumps({"error": str(error).partition("\n")[0] or type(error).__name__})
        return self._space.answer(question)


def template(function: Optional[Callable[..., te.Schedule]] = None, *, revision: int = 1) -> Any:
    """A decorator: a function of knobs and of shapes or other attributes, which returns a te.Schedule, is a search
    space.

    It calls ``k.split``, ``k.choice``, ``k.require`` and ``k.when``, in the same order every time, and what it returns
    depends on their answers and its arguments alone. It computes the same whatever they answer.
    ``hone.tune(function, ...)`` searches; ``hone.build(function, ...)`` builds the best that is known. Arguments are
    whole numbers, floats, words and tuples of whole numbers: the workload's name in the tophub is made of them.

    Args:
        function: named as its operator is to be called; no name of an operator of Hone's.
        revision: to be raised where the same choices give another program that its default and some few other configs
            do not show; those are looked at, and what was measured with others does not count.
    """
    if function is None:
        return functools.partial(Template, revision=revision)
    return Template(function, revision)


def build(
    what: Any, *args: Any, target: Optional[str] = None, threads: Optional[int] = None, db: Optional[Any] = None,
    config: Optional[str] = None,
) -> te.Kernel:
    """Compiles a schedule, or a template with its arguments.

    For a template it takes the config that the tophub knows as the best for exactly this, else that of the nearest
    arguments or of this CPU with another number of threads, else the default; ``kernel.config`` says which it took, and
    ``kernel.source`` where it was from.

    Args:
        what: a te.Schedule, then its target and threads; a template, then its arguments; or a template with arguments.
        target: as te.build() takes it.
        threads: that parallel loops have; None: all, and one of another machine. For CPUs.
        db: of a template: the tophub; None: the user's.
        config: of a template: this one instead; ``"default"``: the one without tuning.

    Raises:
        BadInput: no such target, an access that is proved not to lie in its tensor, or a template that is not valid.
        NoDevice: there is no such GPU here, or no driver, and the target does not say which it is for.
    """
    if not isinstance(what, (Template, TemplateWorkload)):
        if db is not None or config is not None:
            raise TypeError("db and config are of templates")
        names = ("target", "threads")
        given = {n: v for n, v in zip(names, (target, threads)) if v is not None}
        return te.build(what, *args, **given)
    if isinstance(what, Template):
        what = what(*args)
    elif args:
        raise TypeError("a template with its arguments takes no more of them")
    target = "llvm" if target is None else target
    space = what._space(target, threads, is_here=True)
    if config is None:
        config, source, skipped = space.choose("" if db is None else os.fspath(db))
        source += f"; {skipped}" if skipped else ""
    else:
        source = "default" if config == "default" else "given"
        config = space.default if config == "default" else config
    kernel = te.Kernel(space.schedule(config), target, threads)
    kernel.config, kernel.source, kernel.workload = config, source, space.workload
    return kernel

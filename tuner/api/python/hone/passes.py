"""Graph passes of one's own, between those of Hone.

    @hone.graph_pass(after="fold_pads")
    def drop_dropout(g):
        for m in g.matches(pattern.function("mul", pattern.value("x"), pattern.number(1.0))):
            g.replace(m.value, m["x"])

    model = hone.compile("model.onnx", passes=[drop_dropout])
"""

import functools
import json
from typing import Any, Callable, Iterable, List, Optional

from hone.errors import BadInput
from hone.graph import Graph
from hone.scripts import file_of, objects_of

__all__ = ["GraphPass", "graph_pass", "passes_of"]


class GraphPass:
    """A function under ``@hone.graph_pass``. Called with a graph, it changes it."""

    def __init__(
        self, function: Callable[[Graph], Optional[Graph]], *, after: Optional[str] = None,
        before: Optional[str] = None, name: Optional[str] = None
    ) -> None:
        """As graph_pass() has them."""
        if not callable(function):
            raise TypeError(f"a graph pass is a function, not {function!r}")
        if after is not None and before is not None:
            raise ValueError("a graph pass runs after a pass, or before one")
        self.function = function
        own = getattr(function, "__name__", type(function).__name__)
        self.name = name or ("unnamed" if own == "<lambda>" else own)
        self.after = "import" if after is None and before is None else after
        self.before = before
        self.file = file_of(function)
        functools.update_wrapper(self, function)

    def __call__(self, g: Graph) -> Optional[Graph]:
        """Changes the graph."""
        return self.function(g)

    def __repr__(self) -> str:
        """Its name and place."""
        place = f"before {self.before}" if self.before else f"after {self.after}"
        return f"<hone.GraphPass {self.name}, {place}>"


def graph_pass(
    function: Optional[Callable[[Graph], Optional[Graph]]] = None, *, after: Optional[str] = None,
    before: Optional[str] = None, name: Optional[str] = None,
) -> Any:
    """A decorator: a function that changes a hone.graph.Graph is a pass, for ``passes=`` of hone.compile() and
    hone.tune().

    It is called with the graph at its place, for each variant of a model, and several times while one is tuned: what it
    does depends on the graph alone. The model computes the same after it; ``hone.compile(..., check=True)`` compares.

    Args:
        function: of a graph; it returns nothing, or the graph.
        after, before: the pass of Hone's, or an earlier one of ``passes=``, behind which, or in front of which, it
            runs; ``docs/passes.md`` lists them. Neither: it has the model as it was read, ``after="import"``.
        name: of letters, digits and ``_``; None: the function's.
    """
    if function is None:
        return functools.partial(graph_pass, after=after, before=before, name=name)
    return GraphPass(function, after=after, before=before, name=name)


def passes_of(path: str) -> List[GraphPass]:
    """The passes that a file of Python defines, in order. BadInput: it defines none."""
    return objects_of(path, GraphPass, "graph pass: `@hone.graph_pass` above a function makes one")


class Passes:
    """Runs passes for the library (hone_compiler.h)."""

    def __init__(self, passes: Iterable[Any]) -> None:
        """Takes a caller's passes, and functions that are to have the model as it was read."""
        if callable(passes):  # one may stand alone
            passes = [passes]
        try:
            given = list(passes or ())
        except TypeError:
            raise TypeError(f"passes: {passes!r} is no list of graph passes") from None
        for p in given:
            if not callable(p):
                raise TypeError(f"passes: a graph pass is a function, not {p!r}")
        self._passes = [p if isinstance(p, GraphPass) else GraphPass(p) for p in given]
        told = []
        for p in self._passes:
            place = {"before": p.before} if p.before is not None else {"after": p.after}
            told.append({"name": p.name, **place, **({"file": p.file} if p.file else {})})
        self.list = json.dumps(told)

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self._passes)

    def run(self, number, text, given):
        """The text of the graph that a pass makes of one, and the arrays of its new constants; None and a line where
        the graph is wrong."""
        own = self._passes[number]
        g = Graph(text, given)
        try:
            returned = own(g)
        except BaseException as error:
            if hasattr(error, "add_note"):
                error.add_note(f"in graph pass '{own.name}'")
            raise
        if returned is not None and not isinstance(returned, Graph):
            raise TypeError(f"graph pass '{own.name}' returned {returned!r}, which is no graph")
        if returned is not None and returned is not g:
            raise ValueError(f"graph pass '{own.name}' returned another graph than it was given")
        try:
            return g._written()
        except BadInput as fault:
            return None, str(fault)
        finally:
            g._source = None

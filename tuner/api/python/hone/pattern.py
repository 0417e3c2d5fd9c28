"""Patterns of nodes, for Graph.matches().

    x, w = pattern.value("x"), pattern.constant("w")
    pattern.function("relu", pattern.op("dense", x, w, ..., epilogue="none").once())

A pattern says what computes a value. Parts with names are the match's: ``m["x"]``; a name that is there twice stands
for one value.
"""

import functools
import itertools
import json
import math
import re
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, List, Optional, Tuple, Union

from hone import _hone
from hone.errors import BadInput
from hone.spelling import listed

if TYPE_CHECKING:
    from hone.graph import Node, Value

__all__ = ["Match", "Pattern", "constant", "function", "number", "op", "value"]

_COMMUTE = {"add", "mul", "maximum", "minimum", "and", "or", "xor", "equal"}
_REVERSED = {"sub": "rsub", "div": "rdiv", "pow": "rpow", "rsub": "sub", "rdiv": "div", "rpow": "pow"}
_OF_NUMBER = re.compile(r"(\w+)\[([-+.\w]+)\]")


class _Found:
    """Values that are bound so far, by name, and nodes. Never changed."""

    def __init__(self, names: Dict[str, "Value"], nodes: Tuple["Node", ...]) -> None:
        """Begins with a match that is under way."""
        self.names = names
        self.nodes = nodes

    def named(self, name, v):
        """With a name more; None where it stands for another value."""
        if name is None or self.names.get(name) is v:
            return self
        return None if name in self.names else _Found({**self.names, name: v}, self.nodes)

    def with_node(self, node):
        """With a node more."""
        return self if node in self.nodes else _Found(self.names, (*self.nodes, node))


class Match:
    """A place where a pattern is. ``m["x"]`` is the value of a part."""

    def __init__(self, value: "Value", found: _Found) -> None:
        """Made by Graph.matches()."""
        self.value = value
        self.names = found.names
        self.nodes: List["Node"] = list(reversed(found.nodes))

    @property
    def node(self) -> "Node":
        """The node that computes the whole."""
        return self.value.producer

    def __getitem__(self, name: str) -> "Value":
        """The value of the part with this name. KeyError, which says what names there are."""
        if name not in self.names:
            raise KeyError(f"no part of the match is called {name!r}" + listed(name, self.names))
        return self.names[name]

    def __repr__(self) -> str:
        """The values by their names."""
        return f"<match {self.value!r}: {', '.join(f'{k}={v!r}' for k, v in self.names.items())}>"


class Pattern:
    """A condition on a value: made by the functions of this module. ``a | b`` is either of two."""

    def __init__(self, name: Optional[str] = None) -> None:
        """Holds for any value."""
        self._name = name
        self._conditions: List[Callable[["Value"], bool]] = []

    def _copy(self):
        out = object.__new__(type(self))
        out.__dict__.update(self.__dict__, _conditions=list(self._conditions))
        return out

    def named(self, name: str) -> "Pattern":
        """The same, whose value is ``m[name]``."""
        out = self._copy()
        out._name = name
        return out

    def where(self, condition: Callable[["Value"], bool]) -> "Pattern":
        """The same of values for which ``condition(value)`` holds."""
        out = self._copy()
        out._conditions.append(condition)
        return out

    def once(self) -> "Pattern":
        """The same of values that one node reads, once, and no caller: those that go when the match is replaced."""
        return self.where(lambda v: len(v.readers) == 1 and not v.is_output)

    def __or__(self, other: "Pattern") -> "Pattern":
        """This or that."""
        return _Either(self, other)

    def _all(self, v: "Value", found: _Found) -> Iterator[_Found]:
        """Every way in which a value is this."""
        if not all(condition(v) for condition in self._conditions):
            return
        bound = found.named(self._name, v)
        if bound is not None:
            yield from self._inside(v, bound)

    def _inside(self, v, found):
        yield found


class _Either(Pattern):
    def __init__(self, first, second):
        super().__init__()
        self._parts = (first, second)

    def _inside(self, v, found):
        for part in self._parts:
            yield from part._all(v, found)


class _Constant(Pattern):
    def _inside(self, v, found):
        if v.is_constant:
            yield found


class _Number(Pattern):
    def __init__(self, wanted, tolerance, name):
        super().__init__(name)
        self._wanted, self._tolerance = wanted, tolerance

    def is_it(self, n):
        """Whether a number is the wanted one."""
        return n is not None and math.isclose(n, self._wanted, rel_tol=self._tolerance, abs_tol=0.0)

    def _inside(self, v, found):
        if v.is_constant and self.is_it(v.number):
            yield found


class _Op(Pattern):
    def __init__(self, ops, inputs, attributes, commutes=False):
        super().__init__()
        self._ops = (ops,) if isinstance(ops, str) else tuple(ops)
        self._is_open = bool(inputs) and inputs[-1] is ...
        self._inputs = inputs[:-1] if self._is_open else inputs
        self._is_any = not inputs
        self._attributes = attributes
        self._commutes = commutes

    def _inside(self, v, found):
        node = v.producer
        if node is None or node.op not in self._ops or node.outputs[0] is not v:
            return
        own = node.attributes
        for name, wanted in self._attributes.items():
            if name not in own or not (wanted(own[name]) if callable(wanted) else own[name] == wanted):
                return
        found = found.with_node(node)
        if self._is_any:
            yield found
            return
        count = len(self._inputs)
        if len(node.inputs) < count or (len(node.inputs) > count and not self._is_open):
            return
        reads = node.inputs[:count]
        yield from _each(self._inputs, reads, found)
        if self._commutes and count == 2 and reads[0] is not reads[1]:
            yield from _each(self._inputs, reads[::-1], found)


class _Function(Pattern):
    def __init__(self, name, operands):
        super().__init__()
        self._function, self._operands = name, operands

    def _ways(self, node):
        """The operands under which an elementwise node is this function; a number stands for itself."""
        text, reads = node.attributes["op"], list(node.inputs)
        numbered = _OF_NUMBER.fullmatch(text)
        if numbered:
            try:
                text, reads = numbered[1], [*reads, float(numbered[2])]
            except ValueError:
                return
        if text == self._function:
            yield reads
            if text in _COMMUTE and len(reads) == 2 and reads[0] is not reads[1]:
                yield reads[::-1]
        elif len(reads) == 2 and _REVERSED.get(text) == self._function:
            yield reads[::-1]

    def _inside(self, v, found):
        node = v.producer
        if node is None or node.op != "elementwise" or node.outputs[0] is not v:
            return
        found = found.with_node(node)
        for reads in self._ways(node):
            if len(reads) == len(self._operands):
                yield from _each(self._operands, reads, found)


def _each(patterns, reads, found):
    """Every way in which these values are those patterns."""
    if not patterns:
        yield found
        return
    first, v = patterns[0], reads[0]
    if isinstance(v, float):
        ways = [found] if isinstance(first, _Number) and first.is_it(v) else []
    else:
        ways = first._all(v, found)
    for way in ways:
        yield from _each(patterns[1:], reads[1:], way)


def match(what: Pattern, v: "Value") -> Optional[Match]:
    """The first way in which a value is a pattern; None: it is not."""
    for found in itertools.islice(what._all(v, _Found({}, ())), 1):
        return Match(v, found)
    return None


def _checked(where, inputs):
    for i in inputs:
        if not isinstance(i, Pattern) and i is not ...:
            raise TypeError(f"{where}: {i!r} is no pattern")
    if ... in inputs[:-1]:
        raise TypeError(f"{where}: ... stands behind the other inputs")
    return inputs


@functools.lru_cache(maxsize=1)
def _known():
    """The operators, with their attributes, and the functions that nodes may be."""
    known = json.loads(_hone.graph_node('{"names": true}'))
    known["operators"].setdefault("op", [])  # those of users
    return known


def _check_names(kind, given, known):
    """Raises for a name that is none: what asks for it would match nothing, without a word."""
    for name in given:
        if not isinstance(name, str):
            raise TypeError(f"{kind}: {name!r} is no name, which is a str")
        if name not in known:
            raise BadInput(f"pattern: there is no {kind} {name!r}" + listed(name, known))


def value(name: Optional[str] = None) -> Pattern:
    """Any value."""
    return Pattern(name)


def constant(name: Optional[str] = None) -> Pattern:
    """A value whose elements are known."""
    return _Constant(name)


def number(wanted: float, tolerance: float = 1e-5, name: Optional[str] = None) -> Pattern:
    """A number: a constant all of whose elements are it, or one that stands in a function's text (``mul[0.5]``), which
    has no value and no name. ``tolerance``: as a part of the number."""
    return _Number(float(wanted), tolerance, name)


def op(ops: Union[str, Tuple[str, ...]], /, *inputs: Any, **attributes: Any) -> Pattern:
    """The first result of a node.

    Args:
        ops: its operator, ``"dense"``, or several.
        inputs: patterns of its inputs; ``...`` as the last one: there may be more; none: whatever they are.
        attributes: their texts, or functions that say of a text whether it is right.

    Raises:
        BadInput: there is no such operator, or none of them has such an attribute.
    """
    from hone.graph import attribute_text

    if not ops or not isinstance(ops, (str, tuple, list, set, frozenset)):
        raise TypeError(f"op: {ops!r} is no name of an operator, and no tuple of such")
    names = (ops,) if isinstance(ops, str) else tuple(ops)
    _check_names("operator", names, _known()["operators"])
    own = dict.fromkeys(a for name in names for a in _known()["operators"][name])
    if "op" not in names:  # an operator of a user's has whatever its nodes have
        _check_names(f"attribute of {' or '.join(names)}", attributes, own)
    wanted = {k: a if callable(a) else attribute_text(k, a) for k, a in attributes.items()}
    return _Op(ops, _checked("op", inputs), wanted)


def function(name: str, /, *operands: Pattern) -> Pattern:
    """The result of a node ``elementwise`` with this one function: ``"relu"``, ``"mul"``. Operands of ``add``, ``mul``
    and others that commute may stand the other way round, and ``rsub`` is a ``sub`` whose do. BadInput: there is no
    such function."""
    if not isinstance(name, str):
        raise TypeError(f"function: {name!r} is no name, which is a str")
    if ... in operands:
        raise TypeError("function: all operands are said")
    # A whole chain may stand there, as nodes have it: `x=s+sigmoid+mul[s]`, `mul[0.5]`, `cast:f16`.
    links = (link for link in re.sub(r"\[[^]]*\]", "", name).split("+") if not link.startswith("x="))
    _check_names("function", [link.partition(":")[0] for link in links], _known()["functions"])
    return _Function(name, _checked("function", operands))

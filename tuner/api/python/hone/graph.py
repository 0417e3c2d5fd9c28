"""Models' graphs, as passes of one's own see and change them.

    @hone.graph_pass(after="simplify_movement")
    def use_silu(g):
        x = pattern.value("x")
        for m in g.matches(pattern.function("mul", x, pattern.function("sigmoid", x))):
            g.replace(m.value, g.function("silu", m["x"]))

A graph is nodes on values. A node is an operator with attributes, as ``tensorc --emit graph`` prints them; a value is a
tensor: an input of the model, a constant, or what a node computes. Nodes are added behind each other; what nobody reads
any more is left out.
"""

import functools
import json
import re
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

import numpy

from hone import _hone, pattern
from hone.errors import BadInput
from hone.spelling import listed

__all__ = ["Graph", "Node", "Port", "Value", "pattern"]

_NAMES = {
    "f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64", "s8": "int8", "s16": "int16",
    "s32": "int32", "s64": "int64", "u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64", "bool": "bool",
}
_WORDS = {name: word for word, name in _NAMES.items()}
_BETWEEN_EXTENTS = {"to", "size", "shape"}  # attributes whose numbers have an x between them; others a colon

_TYPE = re.compile(r"(\w+)\[([\d, ]*)\]")
_PORT = re.compile(r'(input|output) "((?:[^"\\]|\\.)*)" (none|%\S+) (\w+\[[\d, ]*\])(.*)')
_CONSTANT = re.compile(r"%(\S+) = constant (\w+\[[\d, ]*\]) given (\d+)")
_NODE = re.compile(r"(%.*?) = (\w+\([^)]*\))([^#]*)(?:# (.*))?$", re.S)
_ESCAPED = re.compile(r"\\(?:x(..)|(.))", re.S)

Type = Tuple[str, Tuple[int, ...]]


def _unescaped(text):
    """A name as it is."""
    return _ESCAPED.sub(lambda m: chr(int(m[1], 16)) if m[1] else {"n": "\n"}.get(m[2], m[2]), text)


def _escaped(text):
    """A name as texts have it."""
    out = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return "".join(f"\\x{ord(c):02x}" if ord(c) < 0x20 or ord(c) == 0x7F else c for c in out)


def _type_of(text) -> Type:
    """`f32[1, 3]` as ("float32", (1, 3))."""
    word, shape = _TYPE.fullmatch(text).groups()
    return _NAMES[word], tuple(int(n) for n in shape.split(",") if n.strip())


def _type_text(type_of: Type) -> str:
    """The same as texts have it."""
    dtype, shape = type_of
    return f"{_WORDS[dtype]}[{', '.join(map(str, shape))}]"


def attribute_text(name, value):
    """An attribute as texts have it."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(int(value))
    if hasattr(value, "__index__"):
        return str(int(value))
    if isinstance(value, (tuple, list)) and all(hasattr(v, "__index__") for v in value):
        return ("x" if name in _BETWEEN_EXTENTS else ":").join(str(int(v)) for v in value)
    if isinstance(value, float):
        return repr(value)
    raise TypeError(f"attribute {name}: {value!r} is no text, number or tuple of whole numbers")


def _texts(attributes):
    """Attributes as texts."""
    return {name: attribute_text(name, value) for name, value in attributes.items()}


@functools.lru_cache(maxsize=4096)
def _asked(question):
    """The library's answer about a node: workload, operator, attributes, inputs' and outputs' types."""
    told = json.loads(_hone.graph_node(question))
    types = {k: tuple((_NAMES[t], tuple(shape)) for t, shape in told[k]) for k in ("inputs", "outputs")}
    return told["workload"], told["op"], dict(told["attributes"]), types["inputs"], types["outputs"]


class Value:
    """A tensor of a graph."""

    def __init__(
        self, graph: "Graph", name: str, of_type: Optional[Type] = None, given: Optional[int] = None,
        elements: Optional[numpy.ndarray] = None
    ) -> None:
        """Made by a graph alone."""
        self._graph = graph
        self._type = of_type  # None: what the producer's workload says
        self._given = given  # the number of a constant that the graph came with
        self._elements = elements  # of a constant; None: not known, or not asked for
        self._readers: List[Node] = []
        self._has_own_name = True  # else that of a value that it replaces is better
        self.name = name
        self.producer: Optional[Node] = None

    @property
    def type(self) -> Type:
        """The element type and the shape: ``("float32", (1, 3))``. The rank is 1 at least."""
        if self._type is None:
            outputs = self._graph._ask(workload=self.producer.workload)[4]
            for value, of_type in zip(self.producer.outputs, outputs):
                value._type = of_type
        return self._type

    @property
    def dtype(self) -> str:
        """The type of its elements, as numpy calls it: ``"float32"``, ``"bfloat16"``."""
        return self.type[0]

    @property
    def shape(self) -> Tuple[int, ...]:
        """Its extents."""
        return self.type[1]

    @property
    def readers(self) -> Tuple["Node", ...]:
        """The nodes that read it, once for each time."""
        return tuple(self._readers)

    @property
    def is_constant(self) -> bool:
        """Whether its elements are known: weights, and what follows from them."""
        return self._given is not None or self._elements is not None

    @property
    def is_input(self) -> bool:
        """Whether callers pass it."""
        return any(port.value is self for port in self._graph.inputs)

    @property
    def is_output(self) -> bool:
        """Whether callers get it."""
        return any(port.value is self for port in self._graph.outputs)

    @property
    def constant(self) -> Optional[numpy.ndarray]:
        """The elements, an array that is not written to; None: they are not known. They are copied when they are first
        asked for. Elements of ``bfloat16`` are of ml_dtypes' type, or as uint16."""
        if self._elements is None and self._given is not None:
            elements = self._graph._read_elements(self._given)
            self._elements = elements.view(bool) if self.dtype == "bool" else elements
            self._elements.flags.writeable = False
        return self._elements

    @property
    def number(self) -> Optional[float]:
        """The number that all elements of a constant are; else None."""
        elements = self.constant
        if elements is None or (self.dtype == "bfloat16" and elements.dtype.kind == "u"):
            return None
        first = elements.reshape(-1)[0]
        return float(first) if elements.size == 1 or bool((elements == first).all()) else None

    def __repr__(self) -> str:
        """Its name and type."""
        return f"<%{self.name} {_type_text(self.type)}>"


class Node:
    """An operator on values."""

    def __init__(
        self, graph: "Graph", workload: str, inputs: Sequence[Value], outputs: Sequence[Value], origin: str
    ) -> None:
        """Made by a graph alone."""
        self._graph = graph
        self._is_there = True
        self.workload = workload
        self.inputs: Tuple[Value, ...] = tuple(inputs)
        self.outputs: Tuple[Value, ...] = tuple(outputs)
        self.origin = origin
        for v in self.inputs:
            v._readers.append(self)
        for v in self.outputs:
            v.producer = self

    @property
    def op(self) -> str:
        """The operator: ``"conv2d"``, ``"elementwise"``."""
        return self.workload.partition("(")[0]

    @property
    def attributes(self) -> Mapping[str, str]:
        """The operator's, as texts: ``{"m": "1", ..., "epilogue": "relu"}``."""
        args = self.workload.partition("(")[2][:-1]
        return dict(a.split("=", 1) for a in args.split(",")) if args else {}

    @property
    def output(self) -> Value:
        """The first of its outputs; most nodes have one."""
        return self.outputs[0]

    def __repr__(self) -> str:
        """As texts have it."""
        results = ", ".join(f"%{v.name}" for v in self.outputs)
        return f"<{results} = {self.workload}{''.join(f' %{v.name}' for v in self.inputs)}>"


class Port:
    """An input or an output of the model."""

    def __init__(self, name: str, value: Optional[Value], of_type: Type, rest: str = "") -> None:
        """As a text has it."""
        self.name = name
        self.value = value
        self.dtype, self.shape = of_type
        self._rest = rest

    def __repr__(self) -> str:
        """Its name and type."""
        return f"<'{self.name}' {_type_text((self.dtype, self.shape))}>"


class Graph:
    """A model as operators on values. ``print(g)`` shows it as ``tensorc --emit graph`` does, large constants by their
    types alone."""

    def __init__(self, text: str, given: Any = None) -> None:
        """Reads a text, as a pass is given it.

        Args:
            text: whose constants are ``given N``.
            given: has their elements as ``array(N)``.
        """
        self._source = given
        self._values: Dict[str, Value] = {}
        self._nodes: List[Node] = []
        self._definitions: Dict[str, str] = {}  # of users' operators, by their hashes
        self._origin = ""
        self.name = ""
        inputs, outputs = [], []
        for line in text.split("\n"):
            if line.startswith("%"):
                self._read(line)
            elif line.startswith(("input", "output")):
                kind, name, value, of_type, rest = _PORT.fullmatch(line).groups()
                known = _type_of(of_type)
                if kind == "input" and value != "none":
                    self._new(value[1:], (known[0], known[1] or (1,)))
                port = Port(_unescaped(name), self._values.get(value[1:]) if value != "none" else None, known, rest)
                (inputs if kind == "input" else outputs).append(port)
            elif line.startswith("definition "):
                _, key, definition = line.split(" ", 2)
                self._definitions[key] = definition
            elif line:
                self.name = _unescaped(line[len("graph "):])
        self.inputs: Tuple[Port, ...] = tuple(inputs)
        self.outputs: Tuple[Port, ...] = tuple(outputs)

    # ---- what there is ----

    @property
    def nodes(self) -> Tuple[Node, ...]:
        """All nodes, each after those whose outputs it reads. BadInput where nodes read in a circle."""
        out: List[Node] = []
        state: Dict[Node, bool] = {}  # whether it is done
        for first in self._nodes:
            stack = [first]
            while stack:
                node = stack[-1]
                if state.get(node) or not node._is_there:
                    stack.pop()
                    continue
                before = [v.producer for v in node.inputs if v.producer and not state.get(v.producer)]
                if node in state and any(b in state for b in before):
                    raise BadInput(f"node {node!r} reads what is computed from it")
                state[node] = not before
                if before:
                    stack.extend(before)
                else:
                    out.append(stack.pop())
        return tuple(out)

    def value(self, name: str) -> Value:
        """The value of this name, without the ``%``. KeyError, which says what is near, where there is none."""
        if name not in self._values:
            raise KeyError(f"there is no value {name!r}" + listed(name, self._values))
        return self._values[name]

    def matches(self, what: "pattern.Pattern") -> Iterator["pattern.Match"]:
        """Where a pattern is in the graph, in the order of nodes. The graph may be changed meanwhile: nodes that are
        gone by then are no matches, and nodes that are new are not looked at. Nodes added before the next match stand
        for those of this one (``Node.origin``)."""
        for node in self.nodes:
            for v in node.outputs:
                if not node._is_there:
                    break
                found = pattern.match(what, v)
                if found is None:
                    continue
                self._origin = _origin_of(found.nodes)
                try:
                    yield found
                finally:
                    self._origin = ""

    # ---- changes ----

    def rewrite(self, what: "pattern.Pattern", make: Callable[["pattern.Match"], Optional[Value]]) -> int:
        """Replaces each match of a pattern by what ``make(match)`` returns; None: it stays. How many were replaced."""
        count = 0
        for m in self.matches(what):
            new = make(m)
            if new is not None:
                self.replace(m.value, new)
                count += 1
        return count

    def add(
        self, op: str, /, *inputs: Value, name: Optional[str] = None, **attributes: Any
    ) -> Union[Value, Tuple[Value, ...]]:
        """A node, ``g.add("dense", x, w, epilogue="relu")``: its result, or a tuple of several.

        Args:
            op: the operator; ``tuner --list`` lists them, with their attributes.
            inputs: data, weight, ..., then operands of functions, in order.
            name: of the result; None: the operator's.
            attributes: those that the inputs' types do not say: texts, numbers, tuples of whole numbers.

        Raises:
            BadInput: there is no such node on such inputs.
        """
        self._check(*inputs)
        types = [[_WORDS[v.dtype], list(v.shape)] for v in inputs]
        told = self._ask(op=op, attributes=_texts(attributes), inputs=types)
        return self._added(told, inputs, name)

    def add_workload(
        self, workload: str, /, *inputs: Value, name: Optional[str] = None
    ) -> Union[Value, Tuple[Value, ...]]:
        """A node whose attributes are all given, as ``Node.workload`` has them: images in blocks, for one."""
        self._check(*inputs)
        return self._added(self._ask(workload=workload), inputs, name)

    def like(
        self, node: Node, /, *inputs: Value, name: Optional[str] = None, **changes: Any
    ) -> Union[Value, Tuple[Value, ...]]:
        """A node like another one, on other inputs (none given: on the same) and with some attributes changed."""
        inputs = inputs or node.inputs
        self._check(*inputs)
        return self._added(self._ask(workload=node.workload, change=_texts(changes)), inputs, name)

    def function(self, functions: str, x: Value, *operands: Value, name: Optional[str] = None) -> Value:
        """Functions of each element of ``x``: ``g.function("relu", x)``, ``g.function("mul", x, y)``,
        ``g.function("mul[0.5]+tanh", x)``. Operands have the shape of ``x``, or 1 where it has more."""
        return self.add("elementwise", x, *operands, op=functions, name=name)

    def reshape(self, x: Value, shape: Sequence[int], name: Optional[str] = None) -> Value:
        """The same elements under another shape."""
        return x if x.shape == tuple(shape) and name is None else self.add("reshape", x, to=tuple(shape), name=name)

    def transpose(self, x: Value, perm: Sequence[int], name: Optional[str] = None) -> Value:
        """Dimension d of the result is dimension ``perm[d]`` of ``x``."""
        return self.add("transpose", x, perm=tuple(perm), name=name)

    def constant(self, elements: Any, dtype: Optional[str] = None, name: Optional[str] = None) -> Value:
        """A constant of these elements, an array or what numpy makes one of; of rank 0 it gets an axis.

        Args:
            elements: copied.
            dtype: of the constant, else that of the array; of ``"bfloat16"`` the elements are ml_dtypes', or uint16.
            name: in texts.
        """
        array = numpy.array(elements, order="C")
        if dtype is None:
            dtype = array.dtype.name
        elif dtype != "bfloat16":
            array = array.astype(dtype)
        if dtype not in _WORDS:
            raise TypeError(f"constant: there are no tensors of {dtype}; there are {', '.join(_WORDS)}")
        if array.size == 0:
            raise ValueError("constant: it has no elements")
        if dtype == "bfloat16":
            if array.itemsize != 2:
                raise TypeError("constant: elements of bfloat16 are ml_dtypes', or their bits as uint16")
            array = array.view(numpy.uint16)
        array = array.reshape(array.shape or (1,))
        array.flags.writeable = False
        return self._new(self._unique(name or "c"), (dtype, array.shape), elements=array)

    def replace(self, old: Value, new: Value) -> None:
        """Whoever reads ``old`` reads ``new`` from now on, and so do callers, where it is an output; but for nodes that
        ``new`` is computed from. Nodes that nobody reads any more are gone; a value that was made without a name has
        that of the one that it replaced.

        Raises:
            BadInput: the two are of other types.
        """
        self._check(old, new)
        if old.type != new.type:
            raise BadInput(f"replace: %{old.name} is {_type_text(old.type)}, %{new.name} is {_type_text(new.type)}")
        if old is new:
            return
        behind = self._computing(new)
        if old.producer:
            for node in behind - self._computing(old):
                node.origin = node.origin or old.producer.origin
        for node in list(old._readers):
            if node not in behind:
                node.inputs = tuple(new if v is old else v for v in node.inputs)
                old._readers.remove(node)
                new._readers.append(node)
        for port in self.outputs:
            if port.value is old:
                port.value = new
        self._leave_out(old)
        if old.producer and not old.producer._is_there and not new._has_own_name:
            del self._values[new.name]
            new.name, old.name = old.name, new.name
            new._has_own_name = True
            self._values[new.name] = new

    def set_input(self, node: Node, index: int, value: Value) -> None:
        """The node reads another value of the same type there."""
        old = node.inputs[index]
        self._check(old, value)
        if old.type != value.type:
            raise BadInput(f"set_input: %{old.name} is {_type_text(old.type)}, %{value.name} {_type_text(value.type)}")
        node.inputs = (*node.inputs[:index], value, *node.inputs[index + 1:])
        old._readers.remove(node)
        value._readers.append(node)
        self._leave_out(old)

    # ---- texts ----

    def __str__(self) -> str:
        """As ``tensorc --emit graph`` prints it; large constants by their types alone."""
        def elements(v):
            if numpy.prod(v.shape) > 16:
                return "..."
            return "[" + ", ".join(_number_text(n) for n in v.constant.reshape(-1)) + "]"

        return self._text(elements)

    def __repr__(self) -> str:
        """Its name, and how large it is."""
        return f"<hone.graph.Graph {self.name}: {sum(n._is_there for n in self._nodes)} nodes>"

    def _written(self):
        """The text as the library reads it, and the arrays beside it that are new."""
        made: List[numpy.ndarray] = []

        def elements(v):
            if v._given is not None:
                return f"given {v._given}"
            made.append(v._elements)
            return f"given {self._source.count + len(made) - 1}"

        return self._text(elements), made

    def _text(self, elements):
        """The text, with elements of constants as the function says."""
        lines = [f"graph {_escaped(self.name)}"]
        lines += [f"definition {key} {text}" for key, text in self._definitions.items()]
        said = set()

        def port(kind, p):
            name = f"%{p.value.name}" if p.value else "none"
            lines.append(f'{kind} "{_escaped(p.name)}" {name} {_type_text((p.dtype, p.shape))}{p._rest}')

        def say(v):
            if v.is_constant and v not in said:
                said.add(v)
                lines.append(f"%{v.name} = constant {_type_text(v.type)} {elements(v)}")

        for p in self.inputs:
            port("input", p)
        for node in self.nodes:
            for v in node.inputs:
                say(v)
            results = ", ".join(f"%{v.name}" for v in node.outputs)
            origin = f"   # {_escaped(node.origin)}" if node.origin else ""
            lines.append(f"{results} = {node.workload}{''.join(f' %{v.name}' for v in node.inputs)}{origin}")
        for p in self.outputs:
            if p.value:
                say(p.value)
        for p in self.outputs:
            port("output", p)
        return "\n".join(lines) + "\n"

    def _read(self, line):
        """Adds a line's constant or node."""
        constant = _CONSTANT.fullmatch(line)
        if constant:
            name, of_type, number = constant.groups()
            self._new(name, _type_of(of_type), int(number))
            return
        results, workload, inputs, origin = _NODE.fullmatch(line).groups()
        outputs = [self._new(name.strip()[1:]) for name in results.split(",")]
        reads = [self._values[name[1:]] for name in inputs.split()]
        self._nodes.append(Node(self, workload, reads, outputs, _unescaped(origin or "")))

    # ---- pieces ----

    def _ask(self, **question):
        """As _asked(); of a user's operator with its definition."""
        own = re.match(r"op\(name=[^,]*,def=(\w+)", question.get("workload", ""))
        if own and own[1] in self._definitions:
            question["definitions"] = [self._definitions[own[1]]]
        return _asked(json.dumps(question))

    def _new(self, name, of_type=None, given=None, elements=None):
        value = Value(self, name, of_type, given, elements)
        self._values[name] = value
        return value

    def _unique(self, name):
        """A name like this that nothing has."""
        base = re.sub(r"[^A-Za-z0-9_./:-]", "_", name)
        number, found = 0, base
        while found in self._values:
            number += 1
            found = f"{base}_{number}"
        return found

    def _check(self, *values):
        """Raises where one is no value of this graph."""
        for v in values:
            if not isinstance(v, Value):
                raise TypeError(f"{v!r} is no value of the graph; Graph.constant() makes one of numbers")
            if v._graph is not self:
                raise ValueError(f"{v!r} is of another graph")
            if v.producer and not v.producer._is_there:
                raise ValueError(f"{v!r} is gone: nobody read it any more")

    def _added(self, told, inputs, name):
        workload, op, _, wanted, outputs = told
        if len(wanted) != len(inputs):
            raise BadInput(f"{workload}: it takes {len(wanted)} inputs, not {len(inputs)}")
        for v, of_type in zip(inputs, wanted):
            if v.type != of_type:
                raise BadInput(f"{workload}: %{v.name} is {_type_text(v.type)}, not {_type_text(of_type)}")
        values = tuple(self._new(self._unique(name or op), of_type) for of_type in outputs)
        for v in values:
            v._has_own_name = name is not None
        self._nodes.append(Node(self, workload, inputs, values, self._origin))
        return values[0] if len(values) == 1 else values

    def _computing(self, value):
        """The nodes that a value is computed from."""
        out, todo = set(), [value]
        while todo:
            node = todo.pop().producer
            if node and node not in out:
                out.add(node)
                todo.extend(node.inputs)
        return out

    def _leave_out(self, value):
        """Takes out what computes a value, where nobody needs it."""
        todo = [value]
        while todo:
            node = todo.pop().producer
            if node is None or not node._is_there or any(v._readers or v.is_output for v in node.outputs):
                continue
            node._is_there = False
            for v in node.inputs:
                v._readers.remove(node)
            todo.extend(node.inputs)

    def _read_elements(self, number):
        if self._source is None:
            raise ValueError("constants can be read while the pass runs")
        return self._source.array(number)


def _origin_of(nodes):
    """The model's nodes that these stand for, each once."""
    parts = [part for node in nodes for part in node.origin.split(" + ") if part]
    return " + ".join(dict.fromkeys(parts))


def _number_text(n):
    """A number as texts have it."""
    if isinstance(n, (bool, numpy.bool_)):
        return str(int(n))
    text = str(n)
    return text[:-2] if text.endswith(".0") else text

"""Operators of one's own in models: a definition is the truth, whatever computes it.

    @hone.op("my.domain::SquaredRelu")
    def squared_relu(x):
        return te.compute(x.shape, lambda *i: te.relu(x[i]) * te.relu(x[i]), name="y")

    model = hone.compile("model.onnx", operators=[squared_relu])
    hone.tune("model.onnx", operators=[squared_relu], seconds=60)
    hone.save_operators("ops.txt", [squared_relu], "model.onnx")      # for tensorc --operators ops.txt, C and C++
"""

import functools
import inspect
import json
import os
import shutil
import tempfile
from typing import Any, Callable, List, Mapping, Optional, Sequence, Union

from hone import _hone, _te, options, te
from hone.scripts import file_of, objects_of
from hone.spelling import names_of_files

__all__ = ["Operator", "op", "save_operators"]


class Operator:
    """A function under ``@hone.op(NAME)``. Called with te tensors, and attributes as keywords, it is the
    function: definitions may be made of others. ``.name`` is the operator's, ``.function`` the function."""

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        """As op() has them."""
        if not callable(function):
            raise TypeError(f"an operator is a function, not {function!r}")
        self.name = name
        self.function = function
        functools.update_wrapper(self, function)

    def __call__(self, *tensors: Any, **attributes: Any) -> Any:
        """The function's tensors."""
        return self.function(*tensors, **attributes)

    def __repr__(self) -> str:
        """Its name and parameters."""
        return f"<hone.Operator {self.name}{inspect.signature(self.function)}>"

    def _names(self, count):
        """Names for so many inputs: those of the parameters, as far as these go."""
        places = [
            p.name for p in inspect.signature(self.function).parameters.values()
            if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
        ]
        return [places[i] if i < len(places) else f"x{i}" for i in range(count)]

    def definition(self, inputs: Sequence[Any], attributes: Optional[Mapping[str, Any]] = None) -> str:
        """The text of what the function defines.

        Args:
            inputs: a pair of an element type and a shape each, ``("float32", (1, 8))``; None: left out.
            attributes: by name.
        """
        given = {name: tuple(v) if isinstance(v, list) else v for name, v in (attributes or {}).items()}
        with te.fresh_names():
            tensors = [
                None if type_ is None else te.placeholder(tuple(type_[1]), name=name, dtype=type_[0])
                for type_, name in zip(inputs, self._names(len(inputs)))
            ]
            out = self.function(*tensors, **given)
        results = tuple(out) if isinstance(out, (tuple, list)) else (out,)
        for result in results:
            if not isinstance(result, te.Tensor):
                raise TypeError(f"operator '{self.name}' returns a {type(result).__name__}, not a te.Tensor")
        if not results:
            raise TypeError(f"operator '{self.name}' returns no tensor")
        with te.fresh_names():
            results = _each_once(results)
        return _te.definition(list(results), [t for t in tensors if t is not None])


def _each_once(results):
    """Tensors of which each is there once: a copy stands for one that was there already."""
    out = []
    for t in results:
        if any(t is u for u in out):
            t = te.compute(t.shape, functools.partial(_element, t), name=f"{t.name}_again{len(out)}")
        out.append(t)
    return out


def _element(t, *indices):
    """The body of a copy."""
    return t[indices]


def op(name: str) -> Callable[[Callable[..., Any]], Operator]:
    """A decorator: a function of te tensors is the definition of an operator.

    Its positional arguments are the inputs of a node (placeholders of the node's shapes and types; None where the node
    leaves one out; a number, of rank 0, has the shape (1,)), its keyword arguments the node's attributes: ints, floats,
    strings, and tuples of these. It returns the tensor that the node computes, or a tuple of several. It is called once
    for each combination of attributes and inputs, and the shapes of what it returns are those of the node's outputs.

    Args:
        name: as models have it: ``"my.domain::RotaryPair"`` is the op_type RotaryPair of my.domain, and a function
            (FunctionProto) of that name, whose body is not looked at then; without a domain the custom code of an
            operator of TensorFlow Lite. No operator that Hone has.
    """
    if not isinstance(name, str):
        raise TypeError(f"an operator's name is a str, not {name!r}: @hone.op(\"my.domain::Name\")")
    if not name or not name.isprintable() or name.startswith("::") or name.endswith("::"):
        raise ValueError(f"{name!r} is no name of an operator: \"my.domain::Name\"")
    return functools.partial(Operator, name)


def _located(error, node, name):
    """The exception, which says of which node it is."""
    where = f"node '{node}' ({name}): "
    if error.args and isinstance(error.args[0], str):
        error.args = (where + error.args[0], *error.args[1:])
    elif not error.args:
        error.args = (where + type(error).__name__,)
    return error


def operators_of(path: str) -> List[Any]:
    """The operators that a file of Python defines, in order; the path of any other file, which save_operators() wrote.
    BadInput: it defines none."""
    if not path.endswith(".py"):
        return [path]
    return objects_of(path, Operator, 'operator: `@hone.op("my.domain::Name")` above a function makes one')


class Definitions:
    """Answers the library's questions about operators (hone_compiler.h: HoneCall.define)."""

    def __init__(self, operators):
        """Takes a list of operators."""
        self._operators = {}
        for o in operators:
            if not isinstance(o, Operator):
                plain = " (a function: @hone.op(\"my.domain::Name\") above it makes it one)" if callable(o) else ""
                raise TypeError(f"operators: {o!r} is neither of @hone.op nor the path of a file{plain}")
            if self._operators.setdefault(o.name, o) is not o:
                raise ValueError(f"operators: there are two of the name {o.name}")

    def __call__(self, question):
        """The answer as text."""
        asked = json.loads(question)
        if "operators" in asked:
            files = {name: file_of(o.function) for name, o in self._operators.items()}
            return json.dumps([{"name": name, "file": file} if file else name for name, file in files.items()])
        name, node = asked["operator"], asked["node"]
        try:
            return json.dumps({"definition": self._operators[name].definition(asked["inputs"], asked["attributes"])})
        except Exception as error:
            raise _located(error, node, name)


def _listed(operators):
    """operators= as a list: one may stand alone."""
    if operators is None:
        return []
    if callable(operators) or isinstance(operators, (str, os.PathLike)):
        return [operators]
    try:
        return list(operators)
    except TypeError:
        raise TypeError(
            f"operators: {operators!r} is no list of operators of @hone.op and paths of files"
        ) from None


def of_users(operators, replace):
    """The library's options for operators= and replace= of compile() and tune(), and who answers for them (or None)."""
    operators = _listed(operators)
    files = [options.path_text(o) for o in operators if isinstance(o, (str, os.PathLike))]
    own = [o for o in operators if not isinstance(o, (str, os.PathLike))]
    if replace is not None and not isinstance(replace, Mapping):
        raise TypeError(f"replace: {replace!r} is no dict of names and operators, {{\"Softmax_3\": softmax}}")
    replaced = {}
    for pattern, by in (replace or {}).items():
        if isinstance(by, Operator):
            own += [] if any(o is by for o in own) else [by]
            by = by.name
        if not isinstance(by, str):
            raise TypeError(f"replace[{pattern!r}]: {by!r} is no operator: one of @hone.op is, or the name of one")
        replaced[options.text(pattern)] = by
    given = {**({"operators": files} if files else {}), **({"replace": replaced} if replaced else {})}
    return given, Definitions(own) if own else None


def save_operators(
    path: Union[str, "os.PathLike[str]"], operators: Sequence[Any], model: Any, *more: Any,
    bind: Optional[Mapping[str, Any]] = None, shapes: Optional[Mapping[str, Any]] = None,
    replace: Optional[Mapping[str, Any]] = None, flags: Sequence[str] = (),
) -> None:
    """Writes what the nodes of models need of operators to one file of text: a definition for each operator, attributes
    and types of inputs. ``tensorc``, ``tuner``, C and C++ read it by ``--operators``, and so do compile() and tune();
    nothing in it is executed.

    Args:
        path: of the file, which is written anew; an older one may be among ``operators``, and what is used of it stays.
        operators: of ``@hone.op``, and paths of such files.
        model: as compile() takes it; several: more models.
        bind, shapes, replace: of each model, as compile() takes them; with several values the file has all of them.
        flags: more words of ``tensorc``.

    Raises:
        BadInput: a model cannot be read, or no definition is for a node of it; and what an operator's function raises.
    """
    from hone.building import _file_of

    given, define = of_users(operators, replace)
    folder = tempfile.mkdtemp(prefix="hone-")
    try:
        written = []
        for i, one in enumerate((model, *more)):
            source = _file_of(one, folder)
            out = os.path.join(folder, f"operators_{i}.txt")
            words = options.words(
                {**given, **options.of_model(bind, shapes, None, None), "emit": "operators"}, flags)
            with names_of_files(options.file_names(source, None, folder)):
                _hone.compile(source, out, words, None, None, define)
            with open(out, encoding="utf-8") as f:
                written.append(f.read().splitlines())
        lines = dict.fromkeys(line for text in written for line in text[1:])
        with open(options.path_text(path), "w", encoding="utf-8") as f:
            f.writelines(line + "\n" for line in [written[0][0], *lines])
    finally:
        shutil.rmtree(folder, ignore_errors=True)

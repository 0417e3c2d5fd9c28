"""Messages about wrong arguments of the extension's functions.

pybind11 answers with every signature and the addresses of objects, over several lines. The signature tells which
argument is wrong, and what it must be: ``split: by must be an int or a list of ints, not str``.
"""

import functools
import re

_PARTS = re.compile(r"Union\[(.*)\]$"), re.compile(r"Optional\[(.*)\]$"), re.compile(r"List\[(.*)\]$")
_PLAIN = {"int": "an int", "str": "a str", "bool": "a bool", "float": "a float", "None": "None"}


def _split(text):
    """The parts between commas that stand in no brackets."""
    parts, depth = [""], 0
    for c in text:
        depth += (c in "[(") - (c in "])")
        if c == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += c
    return [part.strip() for part in parts if part.strip()]


def _alternatives(kind):
    """The kinds that a union or an optional stands for."""
    union, optional, _ = (pattern.match(kind) for pattern in _PARTS)
    if union:
        return _split(union[1])
    return [optional[1], "None"] if optional else [kind]


def _element(kind):
    """The kind of a list's elements."""
    found = _PARTS[2].match(kind)
    return found and found[1]


def _words(kind):
    """`Union[int, List[int]]` -> `an int or a list of ints`"""
    words = []
    for one in _alternatives(kind):
        element = _element(one)
        name = one.rpartition(".")[2].lower()
        words.append(f"a list of {_words(element).partition(' ')[2]}s" if element else _PLAIN.get(one) or f"a {name}")
    return ", ".join(words[:-1]) + " or " + words[-1] if len(words) > 1 else words[0]


def _is(value, kind):
    """Whether an argument of this kind may be `value`."""
    for one in _alternatives(kind):
        name, element = one.rpartition(".")[2], _element(one)
        if element:
            if isinstance(value, (list, tuple)) and all(_is(x, element) for x in value):
                return True
        elif name == "int":
            if hasattr(value, "__index__"):
                return True
        elif name == "object" or (value is None and name == "None"):
            return True
        elif any(c.__name__ == name for c in type(value).__mro__):
            return True
    return False


def _given(value, kind):
    """A wrong value in messages: its type; for a list, the type of its first wrong element."""
    elements = [e for e in map(_element, _alternatives(kind)) if e]
    if elements and isinstance(value, (list, tuple)):
        wrong = [x for x in value if not _is(x, elements[0])]
        return f"one with {_PLAIN.get(type(wrong[0]).__name__, 'a ' + type(wrong[0]).__name__)}"
    return type(value).__name__


def explain(function, parameters, args, kwargs):
    """One line on a call that no C++ function takes.

    Args:
        function: its name.
        parameters: as pybind11 has them: ``loop: hone._te.Loop, by: int = 1``, without self; behind ``*args`` and
            ``*`` stand those that are given by name alone.
    """
    parts = _split(parameters)
    takes_any = "*args" in parts
    wanted = [re.match(r"(\w+): (.*?)( = .*)?$", part).groups() for part in parts if part not in ("*args", "*")]
    names = [name for name, _, _ in wanted]
    by_place = names[: parts.index("*")] if "*" in parts else names
    takes = f"it takes {', '.join(names)}" if names else "it takes none" + " by name" * takes_any
    if len(args) > len(by_place) and not takes_any:
        return f"{function}: {len(args)} arguments; {takes}"
    given = {} if takes_any else dict(zip(names, args))
    for name, value in kwargs.items():
        if name not in names:
            return f"{function}: there is no argument '{name}'; {takes}"
        if name in given:
            return f"{function}: {name} is given twice"
        given[name] = value
    for name, kind, default in wanted:
        if name not in given and default is None:
            return f"{function}: {name} is missing; {takes}"
        if name in given and not _is(given[name], kind):
            return f"{function}: {name} must be {_words(kind)}, not {_given(given[name], kind)}"
    return f"{function}: a number is too large"


def _in_one_line(function, name, is_method):
    """The function, whose refusals of arguments are one line instead of a list of signatures."""
    signature = re.compile(r"^ +1\. (?:[\w.]+)?\((.*)\)(?: -> .*)?$", re.MULTILINE)

    @functools.wraps(function)
    def call(*args, **kwargs):
        try:
            return function(*args, **kwargs)
        except TypeError as error:
            text = str(error)
            found = "incompatible" in text and signature.search(text)
            if not found:
                raise
            parameters = re.sub(r"^self: [\w.]+(, )?", "", found[1])
        raise TypeError(explain(name, parameters, args[is_method:], kwargs))

    return call


def say_in_one_line(module, classes):
    """Replaces the module's functions, and the methods of some of its classes, by such as explain() their errors."""
    for name, function in list(vars(module).items()):
        if callable(function) and not isinstance(function, type):
            setattr(module, name, _in_one_line(function, name, False))
    for of in classes:
        for name, method in list(vars(of).items()):
            if callable(method) and (not name.startswith("_") or name in ("__init__", "__getitem__")):
                said = {"__init__": of.__name__, "__getitem__": f"{of.__name__}[]"}.get(name, name)
                setattr(of, name, _in_one_line(method, said, True))

"""Errors' texts in Python's words: libhone names a program's flag, whose argument has a name of its own here."""

import contextlib
import difflib
import re

# Whose values have names: `--bind batch=4` is bind={"batch": 4}.
_NAMED = {
    "bind": "bind", "bind-data": "bind_data", "shape": "shapes", "input": "formats", "replace": "replace",
}
_PLAIN = {
    "model-batch": "model_batch", "threads": "threads", "denormals": "denormals", "assume-finite": "assume_finite",
    "db": "db", "tophub": "tophub", "lock": "lock", "locked": "locked", "quantize": "quantize",
    "calibrate": "calibrate", "target": "target", "trials": "trials", "seconds": "seconds", "tracker": "tracker",
    "device": "device",
    "optimize": "optimize", "operators": "operators",
}

# A flag, and no part of a path; its value ends where the text goes on, perhaps behind `:`, `;` or `,`.
_FLAG = r"(?<![\w./-])--({})(?![\w-])"
_END = r"(?=[:;,]?(?:\s|$))"
_NAMED_FLAG = _FLAG.format("|".join(_NAMED))
_WITH_VALUE = re.compile(rf"{_NAMED_FLAG} ([^\s=]+)=(\S+?){_END}")
_WITH_NAME = re.compile(rf"{_NAMED_FLAG} (\S+?)(?=:\s)")
_PLAIN_VALUE = re.compile(_FLAG.format("|".join(_PLAIN)) + r" (\d+(?=[\s:;,]|$)|[^\s-]\S*?(?=:\s))")
_ALONE = re.compile(_FLAG.format("|".join({**_NAMED, **_PLAIN})))
_FOLLOWING = re.compile(r"\b(\w+)=\{([^{}]*)\} \1=\{")


def _one(flag, value):
    """A value of a flag as Python writes it."""
    if flag == "bind-data":
        return "array" if value == "FILE.npy" else f'"{value}"'
    if flag == "shape":
        return f"({', '.join(value.split('x'))}{',' if 'x' not in value else ''})"
    return value if flag == "bind" and re.fullmatch(r"-?\w+", value) else f'"{value}"'


def _value(flag, value):
    """One value, or the list that a flag writes with `|` between."""
    several = value.split("|") if flag in ("bind", "shape") else [value]
    texts = [_one(flag, v) for v in several]
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"


def spelled(text):
    """The text with Python's arguments for the flags that have one: `--bind n=N` as `bind={"n": N}`, `--shape x: ...`
    as `shapes["x"]: ...`, `--threads` as `threads`. Others, which come from `flags`, stay."""
    text = text.replace(" (--help shows what is allowed)", "")
    text = _WITH_VALUE.sub(lambda m: f'{_NAMED[m[1]]}={{"{m[2]}": {_value(m[1], m[3])}}}', text)
    while _FOLLOWING.search(text):
        text = _FOLLOWING.sub(r"\1={\2, ", text)
    text = _WITH_NAME.sub(lambda m: f'{_NAMED[m[1]]}["{m[2]}"]', text)
    text = _PLAIN_VALUE.sub(lambda m: f"{_PLAIN[m[1]]}={m[2] if m[2].isdigit() else repr(m[2])}", text)
    return _ALONE.sub(lambda m: {**_NAMED, **_PLAIN}[m[1]], text)


def listed(name, known, most=8):
    """`; there are a, b, c`, or of many names those that are near: the end of an error about a name that is none."""
    names = [str(k) for k in known]
    near = difflib.get_close_matches(str(name), names, n=3, cutoff=0.6)
    if len(names) > most:
        return f"; near it: {', '.join(near)}" if near else f"; there are {', '.join(names[:most])}, ..."
    return f"; there are {', '.join(names)}" if names else "; there is none"


@contextlib.contextmanager
def names_of_files(names):
    """Errors name what the caller gave instead of files that were made of it: {path: name}."""
    try:
        yield
    except Exception as e:
        text = str(e.args[0]) if e.args else ""
        for file, name in names.items():
            text = text.replace(file, name)
        if e.args:
            e.args = (text, *e.args[1:])
        raise

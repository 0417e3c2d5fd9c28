"""Keyword arguments as options of the library: members of a JSON object, as hone_compiler.h has them."""

import json
import math
import os


def text(value):
    """A path, a number or a text as a text."""
    value = os.fspath(value) if isinstance(value, os.PathLike) else value
    if isinstance(value, (bytes, bytearray)):
        raise TypeError(f"{value!r} is not a str")
    value = str(value)
    try:
        value.encode()
    except UnicodeEncodeError:  # os.listdir() makes this of a name of other bytes
        raise ValueError(f"{value!r} is not UTF-8") from None
    return value


def path_text(value):
    """A path as text."""
    if not isinstance(value, (str, os.PathLike)):
        raise TypeError(f"{value!r} is not a path")
    return text(value)


def path(value):
    """A path that is a word of its own, and no flag; "-" is what it is."""
    value = text(value)
    return f"./{value}" if value.startswith("-") and value != "-" else value


def _number(value, name):
    """The whole number; TypeError, which names the argument, if it is none."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name}: {value!r} is not a whole number")
    return int(value)


def _is_list(value):
    """Whether an argument gives several values."""
    return isinstance(value, (list, tuple, range))


def _numbers(value, name):
    """A number, or several."""
    return [_number(v, name) for v in value] if _is_list(value) else _number(value, name)


def _shape(value, name):
    """A shape, or several."""
    if not _is_list(value):
        raise TypeError(f"{name}: {value!r} is not a shape; a tuple of numbers is")
    if value and _is_list(value[0]):
        return [_shape(v, name) for v in value]
    return [_number(extent, name) for extent in value]


def _plain(value, name):
    """A number, a text, or a list of such."""
    if _is_list(value) or isinstance(value, set):
        return [_plain(v, name) for v in value]
    if isinstance(value, bool):
        raise TypeError(f"{name}: {value!r} is no value of it")
    if hasattr(value, "__index__"):
        return int(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"{name}: {value!r} is not a number that it takes")
        return value
    value = text(value)
    if value == "":
        raise ValueError(f"{name} is empty")
    return value


def plain(**options):
    """Those that are not None."""
    return {name: _plain(value, name) for name, value in options.items() if value is not None}


def _each(member, values, one):
    """Each named value by `one`, whose errors say `member["name"]`."""
    return {text(name): one(value, f'{member}["{name}"]') for name, value in (values or {}).items()}


def of_model(bind, shapes, formats, model_batch):
    """bind: {"batch": 1}, {"batch": [1, 4]} or a sum, {"total": "past+1"}; shapes: {"x": (1, 3, 224, 224)}, or several;
    formats: {"image": "u8:NHWC,scale=1/255"}; model_batch: a number."""
    out = {
        "bind": _each("bind", bind, lambda v, name: text(v) if isinstance(v, str) else _numbers(v, name)),
        "shapes": _each("shapes", shapes, _shape),
        "formats": _each("formats", formats, lambda v, name: text(v)),
    }
    if model_batch is not None:
        out["model_batch"] = _number(model_batch, "model_batch")
    return {name: value for name, value in out.items() if value != {}}


def is_all_paths(bind_data):
    """Whether no array has to become a file."""
    return all(isinstance(v, (str, os.PathLike)) for v in (bind_data or {}).values())


def file_names(path, bind_data, folder):
    """Names for the files in `folder` that were made of arguments, as errors say them (spelling.names_of_files)."""
    names = {_bound_file(folder, i): f'bind_data["{name}"]' for i, name in enumerate(bind_data or {})}
    return {**names, path: "the model"} if path.startswith(folder) else names


def _bound_file(folder, i):
    """The file of the i-th array of bind_data."""
    return os.path.join(folder, f"bound_{i}.npy")


def of_data(bind_data, folder):
    """bind_data: {"axes": array}, an array as numpy makes one of it, or the path of a .npy or .pb file. Files of arrays
    come to lie in `folder`."""
    files = {}
    for i, (name, value) in enumerate((bind_data or {}).items()):
        name = text(name)
        if isinstance(value, (str, os.PathLike)):
            files[name] = text(value)
            continue
        import numpy

        array = numpy.asarray(value)
        if array.dtype.hasobject:
            raise TypeError(f"bind_data: {name} is no array of numbers")
        files[name] = _bound_file(folder, i)
        # C order: a .npy of another one is not read. ascontiguousarray() would give rank 0 an axis.
        numpy.save(files[name], array.copy(order="C"), allow_pickle=False)
    return {"bind_data": files} if files else {}


def of_threads(threads):
    """A number, or several for a variant of each."""
    if threads is None:
        return {}
    if isinstance(threads, (list, tuple)) and not threads:
        raise ValueError("threads is empty")
    return {"threads": _numbers(threads, "threads")}


def words(options, flags=()):
    """The library's arguments: the options, and more words of the program."""
    return [json.dumps(options), *flags]

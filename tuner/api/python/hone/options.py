"""Keyword arguments as the programs' flags."""

import contextlib
import os


def _number(value):
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{value!r} is no whole number")
    return str(int(value))


def _is_number(value):
    return hasattr(value, "__index__")


def _shape(value):
    if not isinstance(value, (list, tuple)):
        raise TypeError(f"{value!r} is no shape; a tuple of numbers is")
    return "x".join(_number(extent) for extent in value)


def _several(value, one, is_one):
    if is_one(value):
        return one(value)
    if not isinstance(value, (list, tuple, range)):
        return one(value)  # which says what is wrong
    return "|".join(one(v) for v in value)


def _is_shape(value):
    return not isinstance(value, (list, tuple)) or not value or not isinstance(value[0], (list, tuple))


def text(value):
    """A flag's value: a path, a number, a text."""
    value = os.fspath(value) if isinstance(value, os.PathLike) else value
    if isinstance(value, (bytes, bytearray)):
        raise TypeError(f"{value!r} is no str")
    value = str(value)
    try:
        value.encode()
    except UnicodeEncodeError:  # what os.listdir() makes of a name of other bytes
        raise ValueError(f"{value!r} is not UTF-8") from None
    return value


def path_text(value):
    """A path as text."""
    if not isinstance(value, (str, os.PathLike)):
        raise TypeError(f"{value!r} is no path")
    return text(value)


def path(value):
    """A path that is an argument of its own, and no flag; "-" is what it is."""
    value = text(value)
    return f"./{value}" if value.startswith("-") and value != "-" else value


def switch(name, value):
    """A flag without a value."""
    return [f"--{name}"] if value else []


def flag(name, value):
    """Nothing for None, one flag for each element of a list."""
    if value is None:
        return []
    if isinstance(value, bool):
        raise TypeError(f"{name}: {value!r} is no value of it")
    if isinstance(value, (list, tuple, set)):
        return [word for v in value for word in flag(name, v)]
    if text(value) == "":
        raise ValueError(f"{name} is empty")
    return [f"--{name}={text(value)}"]


@contextlib.contextmanager
def _argument(name):
    """What is wrong with a value names its argument."""
    try:
        yield
    except TypeError as e:
        raise TypeError(f"{name}: {e}") from None


def of_model(bind, shapes, formats, model_batch):
    """bind: {"batch": 1} or {"batch": [1, 4]}; shapes: {"x": (1, 3, 224, 224)}, or several; formats: {"image":
    "u8:NHWC,scale=1/255"}; model_batch: a number."""
    words = []
    for name, value in (bind or {}).items():
        # A text is a sum: total=past+1.
        with _argument(f'bind["{name}"]'):
            number = value if isinstance(value, str) else _several(value, _number, _is_number)
        words.append(f"--bind={name}={number}")
    for name, value in (shapes or {}).items():
        with _argument(f'shapes["{name}"]'):
            words.append(f"--shape={name}={_several(value, _shape, _is_shape)}")
    for name, value in (formats or {}).items():
        words.append(f"--input={name}={value}")
    if model_batch is not None:
        with _argument("model_batch"):
            words.append(f"--model-batch={_number(model_batch)}")
    return words


def is_all_paths(bind_data):
    return all(isinstance(v, (str, os.PathLike)) for v in (bind_data or {}).values())


def file_names(path, bind_data, folder):
    """What errors say instead of the files in `folder` that were made of arguments (spelling.names_of_files)."""
    names = {_bound_file(folder, i): f'bind_data["{name}"]' for i, name in enumerate(bind_data or {})}
    return {**names, path: "the model"} if path.startswith(folder) else names


def _bound_file(folder, i):
    return os.path.join(folder, f"bound_{i}.npy")


def of_data(bind_data, folder):
    """bind_data: {"axes": array}, an array as numpy makes one of it, or the path of a .npy or .pb file. Files of arrays
    come to lie in `folder`."""
    words = []
    for i, (name, value) in enumerate((bind_data or {}).items()):
        if isinstance(value, (str, os.PathLike)):
            file = text(value)
        else:
            import numpy

            file = _bound_file(folder, i)
            array = numpy.asarray(value)
            if array.dtype.hasobject:
                raise TypeError(f"bind_data: {name} is no array of numbers")
            # C order: a .npy of another one is not read. ascontiguousarray() would give rank 0 an axis.
            numpy.save(file, array.copy(order="C"), allow_pickle=False)
        words.append(f"--bind-data={name}={file}")
    return words


def of_threads(threads):
    """A number, or several for a variant of each."""
    if threads is None:
        return []
    if isinstance(threads, (list, tuple)) and not threads:
        raise ValueError("threads is empty")
    with _argument("threads"):
        return [f"--threads={_several(threads, _number, _is_number)}"]

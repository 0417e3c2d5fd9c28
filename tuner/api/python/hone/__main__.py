"""``python3 -m hone compile model.onnx --operators my_ops.py --passes my_passes.py``: tensorc and tuner with operators
and graph passes that are Python.

All other words are tensorc's, or tuner's.
"""

import os
import sys
import traceback
from typing import Any, Callable, Dict, List, NamedTuple, Tuple

from hone import _hone
from hone.errors import BadInput, DatabaseError, Error, NoDevice
from hone.operators import of_users, operators_of
from hone.passes import Passes, passes_of


class FileOption(NamedTuple):
    """An option that names files of Python; it may be given again."""

    argument: str  # of the commands' functions
    file: str  # in the help
    says: str  # in the help
    read: Callable[[str], List[Any]]  # a file's objects


FILE_OPTIONS: Dict[str, FileOption] = {
    "--operators": FileOption(
        "operators", "FILE", "operators: functions under @hone.op in FILE.py, or a file of hone.save_operators",
        operators_of,
    ),
    "--passes": FileOption("passes", "FILE.py", "graph passes: functions under @hone.graph_pass", passes_of),
}

USAGE = """python3 -m hone compile MODEL [-o FILE] [OPTION]... [WORDS OF tensorc]...
python3 -m hone tune MODEL [OPTION]... [WORDS OF tuner]...
python3 -m hone --version

""" + "".join(
    f"  {name + ' ' + option.file:<19}{option.says}; may be given again\n" for name, option in FILE_OPTIONS.items()
)


def _taken(words: List[str], name: str) -> Tuple[List[str], List[str]]:
    """The values of an option, `--passes FILE` or `--passes=FILE`, and the other words."""
    values, others, rest = [], [], iter(words)
    for word in rest:
        if word == name:
            value = next(rest, None)
            if value is None:
                raise BadInput(f"{name} takes a value")
            values.append(value)
        elif word.startswith(name + "="):
            values.append(word[len(name) + 1:])
        else:
            others.append(word)
    return values, others


def _called(function, before, words, operators, passes):
    """Calls a function of the library with what is written in Python."""
    given, define = of_users(operators, None)
    words = [*(f"--operators={path}" for path in given.get("operators", ())), *words]
    return function(*before, words, _say, None, define, Passes(passes) if passes else None)


def _compile(model, words, **own):
    """Builds a model, or prints its graph."""
    outputs, words = _taken(words, "-o")
    output = outputs[-1] if outputs else os.path.splitext(os.path.basename(model))[0] + ".so"
    text = _called(_hone.compile, (model, output), words, **own)
    # A description as JSON is the library's, for programs.
    first, _, others = text.partition("\n")
    sys.stdout.write(others if first.startswith("{") and "--json" not in words else text)


def _tune(model, words, **own):
    """Tunes a model's layers, and prints the outcome as JSON."""
    print(_called(_hone.tune, (), ["--model", model, *words], **own).rstrip("\n"))


def _say(line):
    """A line for people."""
    print(line, file=sys.stderr, flush=True)


def _raised(error):
    """An exception of what is written in the files, with its own lines alone."""
    own = os.path.dirname(os.path.abspath(__file__))
    lines = [f for f in traceback.extract_tb(error.__traceback__)
             if not f.filename.startswith((own + os.sep, "<frozen"))]
    if lines:
        sys.stderr.write("Traceback (most recent call last):\n" + "".join(traceback.format_list(lines)))
    _say("hone: " + "".join(traceback.format_exception_only(type(error), error)).rstrip("\n"))


def main(words: List[str]) -> int:
    """Runs a command line; the exit code, as the programs have it."""
    if not words or {"-h", "--help"} & set(words):
        (sys.stdout if words else sys.stderr).write(USAGE)
        return 0 if words else 2
    if words[0] == "--version":
        print(f"hone {_hone.version()}")
        return 0
    commands = {"compile": _compile, "tune": _tune}
    try:
        if words[0] not in commands:
            raise BadInput(f"there is no command '{words[0]}'; there are {', '.join(commands)}")
        given: Dict[str, List[Any]] = {option.argument: [] for option in FILE_OPTIONS.values()}
        command, words = commands[words[0]], words[1:]
        for name, option in FILE_OPTIONS.items():
            files, words = _taken(words, name)
            for path in files:
                if not os.path.isfile(path):
                    is_there = os.path.exists(path)
                    raise BadInput(f"{name} {path}: " + ("it is no file" if is_there else "there is no such file"))
                given[option.argument] += option.read(path)
        if not words or words[0].startswith("-"):
            raise BadInput("the model's path follows the command")
        command(words[0], words[1:], **given)
    except Error as error:
        _say(f"hone: {getattr(error, 'printed', '') or error}")
        return {NoDevice: 3, DatabaseError: 5}.get(type(error), 2 if isinstance(error, BadInput) else 70)
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        _raised(error)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

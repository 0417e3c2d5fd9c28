"""``python3 -m hone compile|tune MODEL [--operators FILE.py] [flags of tensorc or tuner]``: the programs' commands with
operators that are Python."""

import os
import runpy
import sys

from hone import _hone
from hone.errors import Error
from hone.operators import Definitions, Operator

_USAGE = """\
python3 -m hone compile MODEL [-o m.so] [--operators FILE] [more flags of tensorc]
python3 -m hone tune MODEL [--operators FILE] [more flags of tuner]

--operators FILE.py runs a file, and takes all operators of @hone.op in it; other files are those of
hone.save_operators. `tensorc --help` and `tuner --help` show the other flags.
"""


def _taken(words):
    """The operators of Python files, and the other words."""
    operators, rest, words = [], [], list(words)
    while words:
        word = words.pop(0)
        flag, equals, value = word.partition("=")
        if flag != "--operators":
            rest.append(word)
            continue
        if not equals:
            if not words:
                raise ValueError("--operators: FILE is missing")
            value = words.pop(0)
        if not value.endswith(".py"):
            rest.append(f"--operators={value}")
            continue
        sys.path.insert(0, os.path.dirname(os.path.abspath(value)))
        found = [v for v in runpy.run_path(value).values() if isinstance(v, Operator)]
        if not found:
            raise ValueError(f"--operators {value}: there is no operator of @hone.op in it")
        operators += [o for o in dict.fromkeys(found) if o not in operators]
    return operators, rest


def _output(words, model):
    """The artifact's path, and the other words."""
    for i, word in enumerate(words):
        if word == "-o" and i + 1 < len(words):
            return words[i + 1], words[:i] + words[i + 2 :]
        if word.startswith("-o="):
            return word[3:], words[:i] + words[i + 1 :]
    return os.path.splitext(os.path.basename(model))[0] + ".so", words


def main(words):
    """Runs a command; its exit code."""
    if not words or words[0] not in ("compile", "tune") or len(words) < 2 or words[1].startswith("-"):
        sys.stderr.write(_USAGE)
        return 0 if words[:1] in (["--help"], ["-h"]) else 2
    command, model = words[:2]
    try:
        operators, rest = _taken(words[2:])
        define = Definitions(operators) if operators else None
        if command == "tune":
            sys.stdout.write(_hone.tune([f"--model={model}", *rest], _say, None, define) + "\n")
        else:
            output, rest = _output(rest, model)
            _hone.compile(model, output, rest, _say, None, define)
    except (Error, ValueError, OSError) as error:
        sys.stderr.write(f"hone: {error}\n")
        return 2
    return 0


def _say(line):
    """A line on stderr."""
    sys.stderr.write(line + "\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Python files that a command line names: what is defined in them."""

import importlib.util
import inspect
import os
import sys
from typing import Any, Callable, List, Optional, Type

from hone.errors import BadInput

__all__ = ["file_of", "objects_of"]


def objects_of(path: str, kind: Type[Any], what: str) -> List[Any]:
    """Runs a file, which may import its neighbours; the objects of a class that it defines, in order.

    Args:
        path: of the file.
        kind: the class.
        what: the objects' name for people, and how they are made.

    Raises:
        BadInput: it defines none; and the file's own exceptions.
    """
    spec = importlib.util.spec_from_file_location(f"hone_script_{len(sys.modules)}", path)
    if spec is None or spec.loader is None:
        raise BadInput(f"{path} is no file of Python")
    module = importlib.util.module_from_spec(spec)
    folder = os.path.dirname(os.path.abspath(path))
    if folder not in sys.path:
        sys.path.insert(0, folder)
    sys.modules[spec.name] = module  # classes in the file look for their module there
    spec.loader.exec_module(module)
    found = [v for v in vars(module).values() if isinstance(v, kind)]
    if not found:
        raise BadInput(f"{path} defines no {what}")
    return list(dict.fromkeys(found))


def file_of(function: Callable[..., Any]) -> Optional[str]:
    """The path of the file that a function is written in; None: there is none."""
    try:
        path = inspect.getsourcefile(inspect.unwrap(function))
    except TypeError:
        return None
    return path if path and os.path.exists(path) else None

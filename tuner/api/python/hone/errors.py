"""Errors, in the words of the programs: what, where, and what is allowed."""

from hone.spelling import spelled

__all__ = ["Error", "BadInput", "NoDevice", "AllFailed", "DatabaseError", "InternalError"]


class Error(RuntimeError):
    """A function of Hone failed. ``code`` is the C library's (``hone.h``, ``hone_compiler.h``)."""

    code = 0
    #: The text as programs print it, with their flags where this has arguments.
    printed = ""


class BadInput(Error, ValueError):
    """An option, a model, a workload, a file or a tensor is not what it should be."""


class NoDevice(Error):
    """The target is fine, but no device serves it."""


class AllFailed(Error):
    """Every candidate of a search failed; the text has the count of each status and the first message."""


class DatabaseError(Error):
    """The tophub could not be read or written."""


class InternalError(Error):
    """A bug of Hone; the text says how to report it."""


WRONG_MACHINE = 18  # the code of an artifact for another processor
NO_GPU = 22  # of one for a GPU, where there is none

_CLASSES = {22: NoDevice, 33: NoDevice, 34: AllFailed, 35: DatabaseError, 36: KeyboardInterrupt, 37: InternalError}
_INPUT = {2, 16, 17, 18, 19, 32}  # of tensors, of artifacts' files, of options


def error_of(code, text):
    """The exception of the C library's code, in Python's words; for the extension module."""
    # The bits above say what is wrong with a tensor.
    error = _CLASSES.get(code, BadInput if code & 0xFF in _INPUT else Error)(spelled(text))
    error.code = code
    error.printed = text
    return error

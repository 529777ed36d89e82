"""Errors of a user's code in one line: file, line, class and text."""

from __future__ import annotations

import traceback
from pathlib import PurePath

__all__ = ["FILES", "described"]

#: Names of the files whose code this process has loaded.
FILES: dict[str, None] = {}

#: Longest text of an exception.
MOST = 200
#: Remark at an import that found no module.
ALONE = "allowed: installed packages, because a file with code imports no files beside it"


def described(error: BaseException) -> str:
    """The innermost line of the user's file, and the exception.

    Parameters
    ----------
    error : BaseException

    Returns
    -------
    str
        "mine.py:14: ZeroDivisionError: division by zero".
    """
    name, text = type(error).__name__, _text(error)
    frames = [each for each in traceback.extract_tb(error.__traceback__) if each.filename in FILES]
    place = f"{_name(frames[-1].filename)}:{frames[-1].lineno}" if frames else ", ".join(map(_name, FILES))
    if isinstance(error, SyntaxError) and error.filename in FILES and error.lineno:
        place, text = f"{_name(error.filename)}:{error.lineno}", error.msg
    elif isinstance(error, ModuleNotFoundError) or (isinstance(error, ImportError) and "relative import" in text):
        text = f"{text}; {ALONE}"
    return f"{place}: {name}: {text}" if text else f"{place}: {name}"


def _text(error: BaseException) -> str:
    """The text of an exception in one line; its class may be one of the user."""
    try:
        text = " ".join(str.split(str(error)))[:MOST]
        # The engine takes no lone surrogates.
        return text.encode("utf-8", "backslashreplace").decode()
    except BaseException as other:
        return f"its text cannot be shown, because `__str__` raised {type(other).__name__}"


def _name(path: str) -> str:
    return PurePath(path).name

"""Errors of a user's code in one line: file, line, class and text."""

from __future__ import annotations

import traceback
from pathlib import PurePath

__all__ = ["FILES", "described"]

#: Names of the files whose code this process has loaded.
FILES: dict[str, None] = {}

#: Longest text of an exception.
MOST = 200


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
    name = type(error).__name__
    text = " ".join(str(error).split())[:MOST]
    if isinstance(error, SyntaxError):
        place, text = f"{PurePath(error.filename or '').name}:{error.lineno}", error.msg
    else:
        frames = [each for each in traceback.extract_tb(error.__traceback__) if each.filename in FILES]
        place = f"{PurePath(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ", ".join(map(_name, FILES))
    return f"{place}: {name}: {text}" if text else f"{place}: {name}"


def _name(path: str) -> str:
    return PurePath(path).name

"""Errors of a user's code in one line: file, line, class and text."""

from __future__ import annotations

import re
import traceback
from pathlib import PurePath

__all__ = ["FILES", "WINDOW_FROM", "described"]

#: Names of the files whose code this process has loaded.
FILES: dict[str, None] = {}
#: Sources of the window in the classes that this process has loaded: the attribute "cwnd", the method "window".
WINDOW_FROM: set[str] = set()

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
    elif isinstance(error, ValueError) and not frames:
        text = _of_attributes(text)
    return f"{place}: {name}: {text}" if text else f"{place}: {name}"


def _text(error: BaseException) -> str:
    """The text of an exception in one line; its class may be one of the user."""
    try:
        text = " ".join(str.split(str(error)))[:MOST]
        # The engine takes no lone surrogates.
        return text.encode("utf-8", "backslashreplace").decode()
    except BaseException as other:
        return f"its text cannot be shown, because `__str__` raised {type(other).__name__}"


def _of_attributes(text: str) -> str:
    """An error of the engine about a window. The engine names a method, and may have read an attribute."""
    found = re.fullmatch(r"`(window|ssthresh)` returned (.*)", text)
    if found is None:
        return text
    if found[1] == "ssthresh":
        return f"`ssthresh` is {found[2]}"
    if "window" not in WINDOW_FROM:
        return f"`cwnd` is {found[2]}"
    return text if "cwnd" not in WINDOW_FROM else f"`cwnd` is, or `window` returned, {found[2]}"


def _name(path: str) -> str:
    return PurePath(path).name

"""The errors of forebay, by cause: the command line turns the class into its exit code."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from forebay.sanitize import sanitize

__all__ = [
    "CodeError",
    "ContradictionError",
    "ForebayError",
    "InputError",
    "Interrupted",
    "MissingPackageError",
    "UnavailableError",
    "UnreadableError",
    "UnsupportedError",
    "UntrustedError",
    "naming",
]


class ForebayError(Exception):
    """Base of every error that forebay raises on purpose; its text is one line for the user, whatever was found."""

    exit_code = 1

    def __init__(self, text: str = "") -> None:
        super().__init__(sanitize(text))


class InputError(ForebayError):
    """A file, key or argument is wrong.

    Parameters
    ----------
    text : str
        The file, line and key, the value that was found and the values that are allowed.
    argument : str, optional
        The wrong argument, if it belongs to no file; the command line prints the option of that name.
    """

    exit_code = 2

    def __init__(self, text: str, argument: str | None = None) -> None:
        self.text = sanitize(text)
        super().__init__(self.text if argument is None else f"{argument}: {self.text}")
        self.argument = argument


class UnreadableError(InputError):
    """The system cannot read a file now, or a program that reads it is missing; a later attempt may succeed."""


class ContradictionError(InputError):
    """Two goals that no value of their metric can meet both: neither is wrong, but the answer is no."""

    exit_code = 1


class CodeError(ForebayError):
    """The code of a user failed; the text has the file, the line, the error and the state of the run."""

    exit_code = 2


class UnsupportedError(ForebayError):
    """The chosen engine cannot run this scenario; the text names the feature."""

    exit_code = 2


class UnavailableError(ForebayError):
    """The chosen engine cannot run on this machine; the text names the missing part and a remedy."""

    exit_code = 2


class MissingPackageError(ForebayError):
    """A package is not installed that only some answers need; the text gives the command that installs it."""

    exit_code = 2


class UntrustedError(ForebayError):
    """An engine that runs in real time refuses its own run, because its measurement cannot be trusted."""


@contextmanager
def naming(argument: str) -> Iterator[None]:
    """Attribute errors that are found inside to an argument."""
    try:
        yield
    except InputError as error:
        raise InputError(error.text, argument) from None


class Interrupted(ForebayError):  # noqa: N818 - an interruption is not an error
    """The user stopped the run."""

    exit_code = 130

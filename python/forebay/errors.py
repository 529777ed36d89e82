"""What can go wrong, by whose fault: the command line turns the class into its exit code."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from forebay.legible import legible

__all__ = [
    "ContradictionError",
    "ForebayError",
    "InputError",
    "Interrupted",
    "MissingPackageError",
    "UnavailableError",
    "UnsupportedError",
    "UntrustedError",
    "naming",
]


class ForebayError(Exception):
    """Base of every error that forebay raises on purpose; its text is one line for the user, whatever was found."""

    exit_code = 1

    def __init__(self, text: str = "") -> None:
        super().__init__(legible(text))


class InputError(ForebayError):
    """A file, key or argument is wrong.

    Parameters
    ----------
    text : str
        The file, line and key, what was found and what is allowed.
    argument : str, optional
        The argument that was wrong, where it was none of a file; the command line says the option of that name.
    """

    exit_code = 2

    def __init__(self, text: str, argument: str | None = None) -> None:
        self.text = legible(text)
        super().__init__(self.text if argument is None else f"{argument}: {self.text}")
        self.argument = argument


class ContradictionError(InputError):
    """Two goals that no value of their metric can meet both: nothing is wrong with either, but the answer is no."""

    exit_code = 1


class UnsupportedError(ForebayError):
    """The chosen engine cannot run this scenario; the text names the feature."""

    exit_code = 2


class UnavailableError(ForebayError):
    """The chosen engine cannot run on this machine; the text says what is missing and what would help."""

    exit_code = 2


class MissingPackageError(ForebayError):
    """A package is not installed that only some answers need; the text says how to get it."""

    exit_code = 2


class UntrustedError(ForebayError):
    """An engine that runs in real time refuses its own run: what it measured is not to be believed."""


@contextmanager
def naming(argument: str) -> Iterator[None]:
    """Let mistakes that are found inside be those of an argument."""
    try:
        yield
    except InputError as error:
        raise InputError(error.text, argument) from None


class Interrupted(ForebayError):  # noqa: N818 - an interruption is not an error
    """The user stopped the run."""

    exit_code = 130

"""What can go wrong, by whose fault: the command line turns the class into its exit code."""

from __future__ import annotations

__all__ = ["ForebayError", "InputError", "Interrupted", "UnsupportedError"]


class ForebayError(Exception):
    """Base of every error that forebay raises on purpose; its text is one line for the user."""

    exit_code = 1


class InputError(ForebayError):
    """A file, key or option is wrong. The text names the file, line and key, what was found and what is allowed."""

    exit_code = 2


class UnsupportedError(ForebayError):
    """The chosen engine cannot run this scenario; the text names the feature."""

    exit_code = 2


class Interrupted(ForebayError):  # noqa: N818 - an interruption is not an error
    """The user stopped the run."""

    exit_code = 130

"""The command line: the installed command `forebay` and `python -m forebay` start here."""

from __future__ import annotations

from forebay.commands.program import main

__all__ = ["main"]

if __name__ == "__main__":
    main()

"""The name that the installed command `forebay` and `python -m forebay.command_line` start from."""

from __future__ import annotations

from forebay.commands.program import main

__all__ = ["main"]

if __name__ == "__main__":
    main()

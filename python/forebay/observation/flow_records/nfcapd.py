"""Files of nfcapd, whose format only nfdump knows in all its versions: nfdump reads them where it is installed."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from forebay.errors import UnreadableError

__all__ = ["is_nfcapd", "printed"]

#: The first two bytes of a file, of either byte order (nfdump's `nffile.h`, MAGIC).
MAGIC = (b"\xa5\x0c", b"\x0c\xa5")


def is_nfcapd(start: bytes) -> bool:
    """Whether a file begins as nfcapd writes it."""
    return start[:2] in MAGIC


@contextmanager
def printed(path: Path) -> Iterator[BinaryIO]:
    """Records of a file as csv, while nfdump prints them.

    Raises
    ------
    UnreadableError
        Where nfdump is not installed or cannot read the file.
    """
    program = shutil.which("nfdump")
    if program is None:
        raise UnreadableError(
            f"{path}: found a file of nfcapd, and no nfdump that reads it; allowed: install nfdump, "
            "or `nfdump -r FILE -o csv` where it is"
        )
    # A path of its own folder cannot be taken for an option.
    command = [program, "-r", str(path.absolute()), "-o", "csv"]
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        whole = False
        try:
            yield cast("BinaryIO", process.stdout)
            whole = True
        finally:
            if not whole:
                process.kill()
    if process.returncode:
        raise UnreadableError(
            f"{path}: found a file that nfdump refuses (it answered {process.returncode}); "
            "allowed: a whole file of nfcapd"
        )

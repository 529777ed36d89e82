"""What an input is: a capture, flow records, counters or sockets; told by how it begins, not by its name."""

from __future__ import annotations

import csv
import re
import zlib
from enum import Enum
from pathlib import Path

from forebay.errors import InputError
from forebay.legible import legible
from forebay.observation.opening import opened
from forebay.untrusted import regular

__all__ = ["Kind", "kind_of", "one_kind"]

#: Bytes that are looked at.
_HEAD = 64 * 1024
#: Magic numbers of pcap (both byte orders, micro- and nanoseconds, and Kuznetzov's) and of pcapng.
_CAPTURES = frozenset(
    bytes.fromhex(magic)
    for magic in ("a1b2c3d4", "d4c3b2a1", "a1b23c4d", "4d3cb2a1", "a1b2cd34", "34cdb2a1", "0a0d0d0a")
)
#: nfdump's files: their magic number in both byte orders (nffile.h, nfdump 1.7).
_NFCAPD = (bytes.fromhex("0ca5"), bytes.fromhex("a50c"))
_ZSTD = b"\x28\xb5\x2f\xfd"
_ALLOWED = "a capture, flow records, counters or sockets"
#: Columns and keys of which records of flows have at least one, and counters none.
_OF_FLOWS = re.compile(
    r"\b(sa|da|src_?addr|dst_?addr|src_?ip|dst_?ip|src4_addr|src6_addr|ipv[46]_(src|dst)_addr|ip_src|ip_dst"
    r"|source(ipv[46])?(transport)?(_?address|_?port)?|sourceipv[46]address|destinationipv[46]address"
    r"|src_?port|dst_?port|l4_src_port|sp|dp|port_src|port_dst)\b",
    re.IGNORECASE,
)
#: What `ss -ti` prints of a socket of TCP.
_OF_SOCKETS = re.compile(r"\b(cwnd:\d+|rto:\d+|wscale:\d+,\d+)")


class Kind(Enum):
    """Kinds of inputs, as a message calls them."""

    CAPTURE = "a capture"
    RECORDS = "flow records"
    COUNTERS = "counters"
    SOCKETS = "sockets"


def one_kind(paths: list[Path]) -> Kind:
    """The kind that all these inputs are of.

    Raises
    ------
    InputError
        Where one cannot be read or told, or is of another kind than the first.
    """
    kinds = [kind_of(path) for path in paths]
    for path, kind in zip(paths, kinds, strict=True):
        if kind is not kinds[0]:
            raise InputError(
                f"{path}: found {kind.value} beside {kinds[0].value} ({paths[0]}); allowed: inputs of one kind"
            )
    return kinds[0]


def kind_of(path: Path) -> Kind:
    """What a file is, by its first bytes.

    Raises
    ------
    InputError
        Where it cannot be read, is empty, or is nothing that is known.
    """
    head = _head(path)
    if not head.strip():
        raise InputError(f"{path}: found nothing in it; allowed: a capture, flow records, counters or sockets")
    if head[:4] in _CAPTURES:
        return Kind.CAPTURE
    if head[:2] in _NFCAPD:
        return Kind.RECORDS
    text = head.decode("utf-8", errors="replace")
    if text.count("\x00") + text.count("\ufffd") > len(text) / 100:
        raise InputError(
            f"{path}: found bytes that begin with {head[:4].hex()}; allowed: pcap, pcapng (also packed by gzip or "
            "zstd), nfcapd, csv, json or the output of `ss -tin`"
        )
    if _OF_SOCKETS.search(text) and not text.lstrip().startswith(("{", "[")):
        return Kind.SOCKETS
    if _OF_FLOWS.search(_keys(text)):
        return Kind.RECORDS
    if re.search(r"[,;\t{:]|\d\s+\d", text):
        return Kind.COUNTERS
    raise InputError(
        f"{path}: found text that begins with `{legible(text[:40].strip())}`; allowed: a capture, flow records, "
        "counters or the output of `ss -tin`"
    )


def _keys(text: str) -> str:
    """What names the columns of a table, or the keys of the first objects of a JSON text."""
    if text.lstrip().startswith(("{", "[")):
        return " ".join(re.findall(r'"([^"\\]{1,60})"\s*:', text[:8192]))
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    first = lines[0] if lines else ""
    return " ".join(next(csv.reader([first], delimiter=_delimiter(first)), []))


def _delimiter(line: str) -> str:
    return max(",;\t", key=line.count)


def _head(path: Path) -> bytes:
    """The first bytes of a file, unpacked; those of a capture where this Python cannot unpack them."""
    if path.is_dir():
        raise InputError(f"{path}: found a directory; allowed: files, as in {path}/*")
    with regular(path, _ALLOWED) as file:
        packed = file.peek(4)[:4] == _ZSTD
    try:
        with opened(path, _ALLOWED) as file:
            return file.read(_HEAD)
    except InputError:
        if not packed:
            raise
        # The reader of captures brings its own zstd.
        return next(iter(_CAPTURES))
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise InputError(f"{path}: found gzip that cannot be unpacked ({legible(str(error))})") from None

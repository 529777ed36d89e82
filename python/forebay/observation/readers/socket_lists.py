"""What `ss -tin` prints; `sockets` reads it."""

from __future__ import annotations

import re

from forebay.observation.readers.reader import Head, Kind, Reader, Yields

__all__ = ["SOCKETS"]

#: What `ss -ti` prints of a socket of TCP.
_FACTS = re.compile(r"\b(cwnd:\d+|rto:\d+|wscale:\d+,\d+)")


def _recognizes(head: Head) -> bool:
    return not head.is_json and _FACTS.search(head.text) is not None


SOCKETS = Reader("`ss -tin`", _recognizes, Kind.SOCKETS, (Yields.SOCKETS,))

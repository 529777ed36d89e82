"""Reads what `ss` prints of TCP sockets (iproute2's `ss.c`, tcp_stats_print and tcp_show_info, 4.4 to 6.x).

A socket is a line of state and addresses and, behind white space, its facts: words, "name:value" and "name value".
Addresses only tell one socket from another and are dropped here.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from forebay.observation.timestamps import parse_timestamp
from forebay.sanitize import sanitize

__all__ = ["ALLOWED", "Dump", "Socket", "dumps"]

ALLOWED = "the output of `ss -tin`, with `date` before each of several"
#: Names of what is not understood that are counted one by one.
MOST_NAMES = 200

STATES = frozenset(
    ("ESTAB", "SYN-SENT", "SYN-RECV", "FIN-WAIT-1", "FIN-WAIT-2", "TIME-WAIT", "UNCONN", "CLOSE-WAIT", "LAST-ACK",
     "LISTEN", "CLOSING", "CLOSED")
)  # fmt: skip
NETWORKS = frozenset(("tcp", "mptcp", "udp", "raw", "u_str", "u_dgr", "u_seq", "nl", "p_raw", "p_dgr", "v_str", "sctp",
                      "icmp6", "tipc", "xdp", "vsock"))  # fmt: skip
#: Words of a socket's facts that are no controller's name: options and flags.
OPTIONS = frozenset(("ts", "sack", "ecn", "ecnseen", "fastopen", "accecn", "app_limited", "usec_ts"))
#: Names whose value is the next word.
BEFORE_VALUES = frozenset(("send", "pacing_rate", "delivery_rate"))

#: The facts of which `ss` prints one right after a controller's name.
BEHIND_CONTROLLER = ("wscale:", "rto:", "backoff:", "rtt:", "ato:", "mss:")

_CONTROLLER = re.compile(r"[a-z][a-z0-9_-]{1,15}")
_RATE = re.compile(r"([\d.]+)([KMGT]?)bps$")
_FACTOR = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_FACT = re.compile(r"([A-Za-z_][\w-]*):(.*)$", re.DOTALL)


@dataclass(frozen=True)
class Socket:
    """A TCP socket as one dump shows it; None where it says nothing.

    Attributes
    ----------
    number : int
        The same for the same connection in every dump, and it says nothing else.
    state : str
        Such as "ESTAB".
    controller : str
        As the kernel names it; "unknown" where it does not.
    rto_s, rtt_s, rtt_deviation_s, minrtt_s : float or None
        Retransmission timeout, smoothed round trip and its mean deviation, least round trip, in seconds.
    mss, rcv_space : float or None
        Bytes of a segment, and of the receiver's estimated window.
    cwnd, ssthresh, unacked, retransmitting, retransmitted, lost : float or None
        Segments: window, slow start's threshold, outstanding, being retransmitted, retransmitted ever, held for lost.
    bytes_sent, bytes_acked, bytes_retrans : float or None
        Ever.
    data_segs_out : float or None
        Segments with data ever sent.
    delivery_bps, pacing_bps : float or None
        Rates in bit/s.
    busy_s, rwnd_limited_s, sndbuf_limited_s : float or None
        Seconds with data outstanding, and of them held back by the receiver's window and by the sender's buffer.
    app_limited : bool
        Whether the last delivery rate was held down by the application.
    lastsnd_s : float or None
        Seconds since it last sent.
    """

    number: int
    state: str
    controller: str
    rto_s: float | None = None
    rtt_s: float | None = None
    rtt_deviation_s: float | None = None
    minrtt_s: float | None = None
    mss: float | None = None
    rcv_space: float | None = None
    cwnd: float | None = None
    ssthresh: float | None = None
    unacked: float | None = None
    retransmitting: float | None = None
    retransmitted: float | None = None
    lost: float | None = None
    bytes_sent: float | None = None
    bytes_acked: float | None = None
    bytes_retrans: float | None = None
    data_segs_out: float | None = None
    delivery_bps: float | None = None
    pacing_bps: float | None = None
    busy_s: float | None = None
    rwnd_limited_s: float | None = None
    sndbuf_limited_s: float | None = None
    app_limited: bool = False
    lastsnd_s: float | None = None

    @property
    def rwnd_limited_share(self) -> float | None:
        """Share of the busy time in which the receiver's window limited the socket."""
        return _share(self.rwnd_limited_s, self.busy_s)

    @property
    def sndbuf_limited_share(self) -> float | None:
        """Share of the busy time in which the send buffer limited the socket."""
        return _share(self.sndbuf_limited_s, self.busy_s)


def _share(part: float | None, whole: float | None) -> float | None:
    return None if not whole else (part or 0.0) / whole


@dataclass(frozen=True)
class Dump:
    """All sockets at one time.

    Attributes
    ----------
    instant_s : float or None
        When, in seconds since 1970; None where no date stands before it.
    sockets : tuple of Socket
        Those with facts; listening ones have none.
    """

    instant_s: float | None
    sockets: tuple[Socket, ...]


#: Facts that are one number: their field, and how many of the number are one of its unit.
_NUMBERS: Mapping[str, tuple[str, int]] = {
    "rto": ("rto_s", 1000), "minrtt": ("minrtt_s", 1000), "mss": ("mss", 1), "rcv_space": ("rcv_space", 1),
    "cwnd": ("cwnd", 1), "ssthresh": ("ssthresh", 1), "unacked": ("unacked", 1), "lost": ("lost", 1),
    "bytes_sent": ("bytes_sent", 1), "bytes_acked": ("bytes_acked", 1), "bytes_retrans": ("bytes_retrans", 1),
    "data_segs_out": ("data_segs_out", 1), "lastsnd": ("lastsnd_s", 1000),
    "busy": ("busy_s", 1000), "rwnd_limited": ("rwnd_limited_s", 1000),
    "sndbuf_limited": ("sndbuf_limited_s", 1000),
}  # fmt: skip
#: Facts that are known and not needed.
_PASSED = frozenset(
    ("wscale", "ato", "pmtu", "rcvmss", "advmss", "bytes_received", "segs_out", "segs_in", "data_segs_in", "send",
     "lastrcv", "lastack", "delivered", "delivered_ce", "rcv_rtt", "rcv_ssthresh", "notsent", "sacked",
     "fackets", "reordering", "reord_seen", "dsack_dups", "rcv_ooopack", "snd_wnd", "rcv_wnd", "rehash", "backoff",
     "timer", "uid", "ino", "sk", "cgroup", "skmem", "users", "bbr", "dctcp", "vegas", "fwmark", "v6only", "tos",
     "tclass", "class_id", "bpf", "opt", "tcp-ulp-mptcp", "tcp-ulp-tls", "ts_recent", "prague")
)  # fmt: skip


def dumps(text: str) -> tuple[list[Dump], dict[str, int]]:
    """Every dump of a text, and what in it was not understood, with how often.

    A dump begins at a date, at a header, or where a connection comes again.
    """
    found: list[Dump] = []
    ignored: Counter[str] = Counter()
    numbers: dict[tuple[str, str], int] = {}
    sockets: dict[int, Socket] = {}
    when: float | None = None

    def finish() -> None:
        nonlocal when
        if sockets:
            found.append(Dump(when, tuple(sockets.values())))
            sockets.clear()
            when = None

    for words in _paragraphs(text):
        if words[0] in ("State", "Netid", "Recv-Q"):
            finish()
            continue
        entry = _entry(words)
        if entry is None:
            date = parse_timestamp(" ".join(words).lstrip("#").strip())
            if date is not None:
                finish()
                when = date
            else:
                _ignore(ignored, words[0])
            continue
        state, ends, facts = entry
        if not facts or state == "LISTEN":
            continue
        number = numbers.setdefault(ends, len(numbers))
        if number in sockets:
            finish()
        sockets[number] = _socket(number, state, facts, ignored)
    finish()
    return found, dict(ignored)


def _paragraphs(text: str) -> Iterator[list[str]]:
    """The words of each line, together with those of the indented lines behind it."""
    words: list[str] = []
    for line in text.splitlines():
        if not line.strip():
            continue
        if line[0] in " \t" and words:
            words += line.split()
            continue
        if words:
            yield words
        words = line.split()
    if words:
        yield words


def _entry(words: list[str]) -> tuple[str, tuple[str, str], list[str]] | None:
    """State, both addresses and facts of a socket; None where the words are none."""
    at = 1 if words[0] in NETWORKS else 0
    if at and words[0] not in ("tcp", "mptcp"):
        return None
    state = "ESTAB"  # `ss state established` prints no states
    if at < len(words) and words[at] in STATES:
        state, at = words[at], at + 1
    if len(words) < at + 4 or not (words[at].isdigit() and words[at + 1].isdigit()):
        return None
    if ":" not in words[at + 2] or ":" not in words[at + 3]:
        return None
    return state, (words[at + 2], words[at + 3]), words[at + 4 :]


def _socket(number: int, state: str, facts: list[str], ignored: Counter[str]) -> Socket:
    values: dict[str, float] = {}
    controller, limited = "unknown", False
    at = 0
    while at < len(facts):
        word = facts[at]
        at += 1
        if word in BEFORE_VALUES and at < len(facts):
            rate = _rate(facts[at].partition("/")[0])
            at += 1
            name = {"delivery_rate": "delivery_bps", "pacing_rate": "pacing_bps"}.get(word)
            if rate is None:
                _ignore(ignored, word)
            elif name is not None:
                values[name] = rate
        elif (fact := _FACT.match(word)) is not None:
            if not _take(fact[1], fact[2], values):
                _ignore(ignored, fact[1])
        elif word == "app_limited":
            limited = True
        elif word in OPTIONS or word in ("<->", "---", "-->", "<--"):
            continue
        elif _CONTROLLER.fullmatch(word) and at < len(facts) and facts[at].startswith(BEHIND_CONTROLLER):
            controller = word
        else:
            _ignore(ignored, word)
    return Socket(number, state, controller, app_limited=limited, **values)


def _take(name: str, value: str, values: dict[str, float]) -> bool:
    """Keep the value of a fact; return whether it was understood."""
    if name == "rtt":
        smoothed, _, deviation = value.partition("/")
        return _keep("rtt_s", _number(smoothed), 1000, values) and _keep(
            "rtt_deviation_s", _number(deviation), 1000, values
        )
    if name == "retrans":  # now and ever
        now, _, ever = value.partition("/")
        return _keep("retransmitting", _number(now), 1, values) and _keep("retransmitted", _number(ever), 1, values)
    if name in _NUMBERS:
        field, parts = _NUMBERS[name]
        return _keep(field, _number(value), parts, values)
    return name in _PASSED


def _keep(field: str, number: float | None, parts: int, values: dict[str, float]) -> bool:
    if number is None:
        return False
    values[field] = number / parts
    return True


def _number(text: str) -> float | None:
    """A number, with milliseconds or a percentage in brackets behind it or not."""
    found = re.match(r"(\d{1,20}(?:\.\d{1,20})?)(?:ms)?(?:\(.*\))?$", text)
    return float(found[1]) if found else None


def _rate(text: str) -> float | None:
    found = _RATE.match(text)
    try:
        return float(found[1]) * _FACTOR[found[2]] if found else None
    except ValueError:
        return None


def _ignore(ignored: Counter[str], name: str) -> None:
    """Count an unknown word; a word that could be an address keeps no name."""
    short = name if re.fullmatch(r"[A-Za-z_][A-Za-z_-]{0,30}", name) else "other"
    ignored[sanitize(short) if short in ignored or len(ignored) < MOST_NAMES else "other"] += 1

"""Buffers in the words of router operating systems: configuration lines for a recommendation, and back.

Each dialect states where its rule of conversion comes from and what is uncertain about it. A system whose unit is not
public enough to promise says so instead of pretending.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from forebay import _core
from forebay.errors import InputError

__all__ = ["DIALECTS", "Dialect", "Setting", "configure", "dialect", "translate"]


@dataclass(frozen=True, slots=True)
class Setting:
    """A buffer as a system was told it.

    Attributes
    ----------
    bytes : float
        What may wait.
    seconds : float
        Time to send it at the rate that the system counts with.
    how : str
        How the setting becomes bytes.
    """

    bytes: float
    seconds: float
    how: str


@dataclass(frozen=True, slots=True)
class Dialect:
    """One operating system.

    Attributes
    ----------
    name : str
        As in `--for`.
    title : str
        What it is.
    source : str
        Where the unit's meaning is documented.
    quirks : tuple of str
        What to know before typing the lines; starts with "uncertain" where the rule is.
    lines : callable
        (bytes, bits per second) to configuration lines.
    units : mapping
        Unit as written to (value, bits per second) to bytes, for reading settings back.
    pattern : str
        Regular expression of a setting, with the groups `value` and `unit`.
    default_unit : str
        Where a setting names none.
    """

    name: str
    title: str
    source: str
    quirks: tuple[str, ...]
    lines: Callable[[int, float], list[str]]
    units: Mapping[str, Callable[[float, float], float]]
    pattern: str
    default_unit: str


def _exact(factor: float) -> Callable[[float, float], float]:
    return lambda value, _rate: value * factor


def _time(per_second: float) -> Callable[[float, float], float]:
    return lambda value, rate: value * rate / (8 * per_second)


#: IOS XR counts a "packet" as 256 bytes.
XR_PACKET = 256
#: Full-size packets, where a system counts packets of any size.
FULL_PACKET = 1500


def _ios_xr(size: int, _rate: float) -> list[str]:
    limit = max(size, 9 * 1024)
    return ["policy-map FOREBAY", " class class-default", f"  queue-limit {limit} bytes", " !", " end-policy-map"]


def _ios_xe(size: int, _rate: float) -> list[str]:
    return ["policy-map FOREBAY", " class class-default", f"  queue-limit {size} bytes"]


def _junos(size: int, rate: float) -> list[str]:
    microseconds = max(1, math.ceil(size * 8e6 / rate))
    return [f"set class-of-service schedulers FOREBAY buffer-size temporal {microseconds}"]


def _eos(size: int, rate: float) -> list[str]:
    microseconds = max(1, math.ceil(size * 8e6 / rate))
    return ["interface Ethernet1", "   tx-queue 0", f"      latency maximum {microseconds} microseconds"]


def _sr_os(size: int, _rate: float) -> list[str]:
    return [
        "configure qos sap-egress 100",
        "    queue 1",
        f"        mbs {size} bytes",
        "    exit",
    ]


def _sonic(size: int, _rate: float) -> list[str]:
    profile = f'{{"pool": "egress_lossy_pool", "size": "0", "static_th": "{size}"}}'
    return [f'{{"BUFFER_PROFILE": {{"forebay_egress": {profile}}}}}']


def _linux(size: int, _rate: float) -> list[str]:
    return [f"tc qdisc replace dev eth0 root bfifo limit {size}"]


_TIMES = {
    "ms": _time(1e3),
    "milliseconds": _time(1e3),
    "us": _time(1e6),
    "microseconds": _time(1e6),
}

DIALECTS: Mapping[str, Dialect] = {
    dialect.name: dialect
    for dialect in (
        Dialect(
            "ios-xr",
            "Cisco IOS XR",
            "Cisco, 'Modular QoS Command Reference for Cisco NCS 5500 Series and NCS 540 Series Routers', queue-limit: "
            "'when the specified units is packets, packets are assumed to be 256 bytes in size'; CRS Release 4.0",
            (
                "a 'packet' is 256 bytes whatever the traffic's size; without a unit packets are meant",
                "a time counts at the guaranteed service rate of the class, not at the interface's rate",
                "the CRS reference allows no less than one MTU of 9 x 1024 bytes and no more than 1 GB",
            ),
            _ios_xr,
            {
                "packets": _exact(XR_PACKET),
                "bytes": _exact(1),
                "kbytes": _exact(1000),
                "mbytes": _exact(1e6),
                **_TIMES,
            },
            r"queue-limit\s+(?P<value>\d+)(?:\s+(?P<unit>[a-z]+))?",
            "packets",
        ),
        Dialect(
            "ios-xe",
            "Cisco IOS XE (ASR 1000)",
            "Cisco, 'QoS: Congestion Management Configuration Guide, IOS XE', queue depth: 1 to 2,000,000 packets; "
            "default 50 ms of 1500-byte packets (25 ms on ESP40), at least 64",
            (
                "a packet counts as one whatever its size: 1500 bytes are assumed when reading a packet limit back",
                "uncertain: whether bytes are accepted depends on the platform and release; all classes of a policy "
                "have to use the same unit",
            ),
            _ios_xe,
            {"packets": _exact(FULL_PACKET), "bytes": _exact(1), **_TIMES},
            r"queue-limit\s+(?P<value>\d+)(?:\s+(?P<unit>[a-z]+))?",
            "packets",
        ),
        Dialect(
            "junos",
            "Juniper Junos",
            "Juniper, 'buffer-size (Schedulers)': drops begin above logical interface speed x temporal microseconds",
            (
                "the time counts at the speed of the logical interface, so a shaped interface needs its own value",
                "the largest temporal value depends on the platform: 50,000 to 200,000 microseconds on M Series",
                "uncertain: a percentage is of the port's total buffer, which differs by card and is not translated",
            ),
            _junos,
            {"": _time(1e6)},
            r"buffer-size\s+temporal\s+(?P<value>\d+)(?P<unit>)",
            "",
        ),
        Dialect(
            "eos",
            "Arista EOS (7280R, 7500R)",
            "Arista, TOI 'VOQ latency': 'this feature allows setting the desired maximum VOQ latency'",
            (
                "uncertain: the limit is on the virtual output queue of each ingress, enforced by drop probabilities; "
                "several ingresses may hold one limit each",
                "uncertain: the keyword and its range differ between platforms and releases; check after setting it",
            ),
            _eos,
            _TIMES,
            r"latency\s+maximum\s+(?P<value>\d+)(?:\s+(?P<unit>[a-z]+))?",
            "microseconds",
        ),
        Dialect(
            "sr-os",
            "Nokia SR OS",
            "Nokia 7705 SAR, 'Quality of Service Guide', mbs: size [bytes | kilobytes], kilobytes by default, "
            "1000 bytes each; converted to whole buffers of 2304 or 512 bytes by adapter card",
            (
                "the maximum burst size is the queue's largest depth; it is rounded to the card's buffers",
                "uncertain: on other SR OS platforms the buffer granularity differs",
            ),
            _sr_os,
            {"bytes": _exact(1), "kilobytes": _exact(1000)},
            r"mbs\s+(?P<value>\d+)(?:\s+(?P<unit>[a-z]+))?",
            "kilobytes",
        ),
        Dialect(
            "sonic",
            "SONiC",
            "SONiC, 'Configuration', BUFFER_PROFILE: static_th limits bytes, dynamic_th a share of the free pool",
            (
                "the pool has to be of static mode for static_th",
                "uncertain: with dynamic_th = n a queue may hold 2^n times what is free in the pool, which depends on "
                "all other queues and is not translated",
            ),
            _sonic,
            {"": _exact(1)},
            r'static_th"?\s*[:=]?\s*"?(?P<value>\d+)(?P<unit>)',
            "",
        ),
        Dialect(
            "linux",
            "Linux traffic control",
            "iproute2, tc-bfifo(8): bfifo limits bytes, pfifo packets, link-layer headers counted",
            (
                "link-layer headers count: 14 bytes per Ethernet packet more than IP",
                "the driver's own ring and byte queue limits hold packets in front of the queue discipline",
            ),
            _linux,
            {"bfifo": _exact(1), "pfifo": _exact(FULL_PACKET)},
            r"(?P<unit>[bp]fifo)\s+limit\s+(?P<value>\d+)",
            "bfifo",
        ),
    )
}


def dialect(name: str) -> Dialect:
    """One system by its name; an `InputError` names all of them where there is none."""
    if name not in DIALECTS:
        raise InputError(_core.unknown("platform", name, list(DIALECTS)), "platform")
    return DIALECTS[name]


def configure(name: str, size: float, rate_bps: float) -> list[str]:
    """Configuration lines that set a buffer.

    Parameters
    ----------
    name : str
        The system, as in `DIALECTS`.
    size : float
        Buffer in bytes; rounded up to what the system can be told.
    rate_bps : float
        Rate of the link, for systems that count in time.

    Returns
    -------
    list of str
        The lines, without comments.
    """
    spoken = dialect(name)
    if not size >= 0 or not math.isfinite(size) or size > 1e15:
        raise InputError(f"buffer: found {size} bytes; allowed: 0 to 1e15")
    _check_rate(rate_bps)
    return spoken.lines(max(1, math.ceil(size)), rate_bps)


def translate(setting: str, name: str, rate_bps: float) -> Setting:
    """Read a configuration line back.

    Parameters
    ----------
    setting : str
        Such as "queue-limit 433 packets".
    name : str
        The system it is for.
    rate_bps : float
        Rate that the system counts with.

    Returns
    -------
    Setting
        Bytes, time at the rate, and how they come about.

    Raises
    ------
    InputError
        Where the line is none that the system has.
    """
    spoken = dialect(name)
    _check_rate(rate_bps)
    match = re.search(spoken.pattern, setting)
    units = ", ".join(unit for unit in spoken.units if unit) or "no unit"
    if match is None:
        example = spoken.lines(100_000, 1e9)[-1 if name != "ios-xr" else 2].strip()
        raise InputError(f"translate: found `{setting}`; allowed for {name}: a line such as `{example}` ({units})")
    unit = match["unit"] if match["unit"] is not None else spoken.default_unit
    if unit not in spoken.units:
        raise InputError(f"translate: found unit `{unit}`; allowed for {name}: {units}")
    value = float(match["value"])
    size = spoken.units[unit](value, rate_bps)
    per_unit = spoken.units[unit](1.0, rate_bps)
    how = f"1 {unit or 'unit'} = {per_unit:g} bytes" + (" at this rate" if unit in _TIMES or name == "junos" else "")
    return Setting(size, size * 8 / rate_bps, how)


def _check_rate(rate_bps: float) -> None:
    if not 1e3 <= rate_bps <= 1e14:
        raise InputError(f"--link: found {rate_bps:g} bits per second; allowed: 1kbps to 100Tbps")

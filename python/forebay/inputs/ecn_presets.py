"""Published ECN settings of lossless queues, by name: `--set link.queue=ecn-sonic` can replace a table of RED.

A change of a key `queue` to one of these names is a change to its table. Switches mark by the present queue (weight 1)
and mark every packet above the upper threshold, so that RED is not gentle.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from forebay import _core

__all__ = ["ECN_PRESETS", "EcnPreset", "with_presets"]

_SONIC = "sonic-net/sonic-buildimage at 086b03bd"
_TEMPLATE = f"{_SONIC}, files/build_templates/qos_config.j2, AZURE_LOSSLESS"
_ALIBABA = "alibaba-edu/High-Precision-Congestion-Control at 9f4be2a9, simulation/run.py: 100 and 400 kB per 25 Gb/s"


@dataclass(frozen=True, slots=True)
class EcnPreset:
    """A published setting.

    Attributes
    ----------
    name : str
        As `--set link.queue=NAME` takes it.
    rates : str
        Rates of the ports for which it is published.
    low, high : str
        Thresholds between which the share of marked packets rises; empty if nothing is marked.
    probability : float
        Share of the packets that are marked at the upper threshold.
    source : str
        File and revision.
    """

    name: str
    rates: str
    low: str
    high: str
    probability: float
    source: str

    @property
    def table(self) -> str:
        """The queue as scenarios write it."""
        if not self.low:
            return '{ kind = "droptail" }'
        levels = f'min = "{self.low}", max = "{self.high}", max_p = {self.probability:g}'
        return f'{{ kind = "red", {levels}, weight = 1.0, gentle = false, wait = false }}'


def _alibaba() -> Iterator[EcnPreset]:
    for rate in (25, 50, 100, 200, 400):
        low, high = 100 * rate // 25, 400 * rate // 25
        yield EcnPreset(f"ecn-alibaba-{rate}g", f"{rate} Gb/s", f"{low}kB", f"{high}kB", 0.2, _ALIBABA)


_EVERY = (
    EcnPreset("ecn-off", "every rate", "", "", 0.0, "PFC without ECN, so without DCQCN: nothing is marked"),
    EcnPreset(
        "ecn-sonic",
        "every rate",
        "1MiB",
        "2MiB",
        0.05,
        f"{_SONIC}, files/build_templates/qos_config.j2, AZURE_LOSSLESS",
    ),
    EcnPreset(
        "ecn-sonic-deep",
        "every rate",
        "2MB",
        "10MB",
        0.05,
        f"{_SONIC}, device/arista/x86_64-arista_7260cx3_64/Arista-7260CX3-D96C16/qos.json.j2",
    ),
    EcnPreset(
        "ecn-onyx",
        "every rate",
        "150kB",
        "1500kB",
        1.0,
        "NVIDIA Onyx, `traffic-class 3 congestion-control ecn minimum-absolute 150 maximum-absolute 1500`, as the "
        "Ansible module onyx_traffic_class writes it; the probability is not published there",
    ),
    *_alibaba(),
)
#: Settings by their names.
ECN_PRESETS = {each.name: each for each in _EVERY}


def with_presets(changes: Iterable[_core.Change]) -> Iterator[_core.Change]:
    """The changes, with the table of a preset in place of its name.

    Parameters
    ----------
    changes : iterable of str or tuple
        Changes such as "link.queue=ecn-sonic", (argument, change) or (argument, key, value).
    """
    for change in changes:
        if isinstance(change, str):
            yield _replaced(change)
        elif len(change) == 2:
            yield change[0], _replaced(change[1])
        else:
            preset = _preset(change[1], change[2])
            yield change if preset is None else (change[0], change[1], preset.table)


def _replaced(text: str) -> str:
    """A change as one text."""
    key, equals, value = text.partition("=")
    preset = _preset(key, value) if equals else None
    return text if preset is None else f"{key}={preset.table}"


def _preset(key: str, value: str) -> EcnPreset | None:
    """The preset that a change of a key `queue` names."""
    is_queue = key.strip().rpartition(".")[2] == "queue"
    return ECN_PRESETS.get(value.strip().strip("\"'")) if is_queue else None

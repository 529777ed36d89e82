"""The headline of every table, picture and page: the scenario's title, and the link and its traffic in a line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from forebay import _core
from forebay.text import formatting
from forebay.text.formatting import counted
from forebay.views.traffic import law, queue
from forebay.views.wording import count

if TYPE_CHECKING:
    from forebay.results.report import BufferSize

__all__ = ["Headline", "common", "headline"]

#: Between the parts of a link's line.
_DOT = " · "

#: Largest number of groups of flows that are named; further groups are only counted.
NAMED = 4
#: Words for the medium of a link, after its rate.
_MEDIA = {"wifi": " of Wi-Fi", "cellular": " of LTE or NR", "docsis": " of a cable modem"}

#: Token buckets, by their keys.
_BUCKETS = {"policer": "policed", "shaper": "shaped"}

#: Workloads that are described by their rate.
_UNANSWERED = {"poisson": "Poisson", "cbr": "constant rate"}


@dataclass(frozen=True, slots=True)
class Headline:
    """A title, and under it the link in a line: its rate, buffer, queue and traffic.

    Attributes
    ----------
    title, link : str
        Title and link.
    answer : str
        The answer in a sentence, if there is one.
    warnings, details : tuple of str
        Warnings that change the decision, and the sentences below the answer.
    """

    title: str
    link: str
    answer: str = ""
    warnings: tuple[str, ...] = ()
    details: tuple[str, ...] = ()


def headline(resolved: Mapping[str, Any] | None, *, otherwise: str, buffer: BufferSize | None = None) -> Headline:
    """The headline of a resolved scenario.

    Parameters
    ----------
    resolved : mapping or None
        The scenario with every key filled in; None if nothing is known of it.
    otherwise : str
        The title of a scenario without one.
    buffer : BufferSize, optional
        The buffer, if the answer is about one; else only the unit of the limit is shown.
    """
    if resolved is None:
        return Headline(otherwise, "")
    links = resolved["links"]
    target = next(link for link in links if link["target"])
    several = f" (“{target['name']}”, one of {len(links)} links)" if len(links) > 1 else ""
    parts = [
        f"{_rate(target['rate'])}{_medium_and_buckets(target)}{_changes(target)}{several}",
        _buffer(str(target["buffer"]), buffer),
        queue(target["queue"]).removeprefix("a "),
        _traffic(resolved["flows"]),
    ]
    return Headline(str(resolved.get("title") or "") or otherwise, _DOT.join(part for part in parts if part))


def common(links: Sequence[str]) -> str:
    """The parts that all of some links' lines have."""
    first, *others = [link.split(_DOT) for link in links] or [[]]
    return _DOT.join(part for part in first if all(part in other for other in others))


def _rate(rate: Any) -> str:
    """The rate of a link; if it changes, its range and the kind of change."""
    if isinstance(rate, str):
        return law(rate)
    if "opportunities" in rate:
        return "a trace of opportunities"
    rates = [_core.parse_quantity(rate, "rate") for rate in _rates(rate)]
    low, high = (formatting.exactly(formatting.bandwidth(bound)) for bound in (min(rates), max(rates)))
    return f"{low} to {high}, {'at random' if 'markov' in rate else 'in steps'}"


def _rates(rate: Mapping[str, Any]) -> list[str]:
    return [state["rate"] for state in rate["markov"]] if "markov" in rate else [rate for _, rate in rate["steps"]]


def _medium_and_buckets(link: Mapping[str, Any]) -> str:
    """The medium and the token buckets of a link, which take or limit its rate."""
    parts = [_MEDIA[link["medium"]["kind"]]] if "medium" in link else []
    parts += [f" {how} to {law(link[key]['rate'])}" for key, how in _BUCKETS.items() if key in link]
    return "".join(parts)


def _changes(link: Mapping[str, Any]) -> str:
    """Outages and changing delays of a link, if there are any."""
    parts = ["outages"] if "outages" in link else []
    if not isinstance(link["delay"], str):
        delays = [_core.parse_quantity(delay, "time") for _, delay in link["delay"]["steps"]]
        parts.append(f"delays of {formatting.duration(min(delays))} to {formatting.duration(max(delays))}")
    return f" with {' and '.join(parts)}" if parts else ""


def _buffer(written: str, buffer: BufferSize | None) -> str:
    """The buffer, or at least the unit of its limit."""
    counts = "packets" if written.endswith("p") and not written.endswith("BDP") else "bytes"
    if buffer is None:
        return f"buffer limit in {counts}"
    return f"buffer {count(buffer)} = {formatting.duration(buffer.seconds)}, limit in {counts}"


def _traffic(groups: list[Mapping[str, Any]]) -> str:
    parts = [_group(group) for group in groups[:NAMED]]
    more = len(groups) - NAMED
    return ", ".join([*parts, counted(more, "more group")] if more > 0 else parts)


def _group(group: Mapping[str, Any]) -> str:
    """A group of flows in words: number, controller or workload, and round trip."""
    workload = group["workload"]
    kind = workload if isinstance(workload, str) else next(iter(workload))
    body = {} if isinstance(workload, str) else workload[kind]
    if kind in _UNANSWERED:
        return f"{law(body['rate'])} {group['name']} ({_UNANSWERED[kind]})"
    if kind == "on_off":
        return f"{group['name']} (on and off, peak {law(body['peak'])})"
    counted = {"closed_loop": "users", "incast": "servers"}
    count = body[counted[kind]] if kind in counted else group.get("count", "")
    many = law(count) if count != "" and kind != "open_loop" else ""
    return f"{many} {group['name']} ({group['cca']['kind']}, {law(group['rtt'])})".strip()

"""The traffic of a scenario in words: the workload of each group of flows, and the distributions of the file."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any, Literal

from forebay._core import parse_quantity
from forebay.errors import InputError
from forebay.text import formatting
from forebay.views.pages import Row, Table

__all__ = ["law", "quantity", "queue", "traffic_table"]


def traffic_table(resolved: Mapping[str, Any]) -> Table:
    """A row for each group of flows of a resolved scenario."""
    target = next(link for link in resolved["links"] if link["target"])
    return Table(
        ("flows", "number", "traffic", "congestion control", "round trip"),
        tuple(_group(group) for group in resolved["flows"]),
        f"Traffic through {queue(target['queue'])}",
    )


def _group(group: Mapping[str, Any]) -> Row:
    workload = group["workload"]
    kind = workload if isinstance(workload, str) else next(iter(workload))
    body = {} if isinstance(workload, str) else workload[kind]
    responsive = kind not in {"poisson", "cbr", "on_off"}
    counted = {"closed_loop": "users", "incast": "servers"}
    return Row(
        (
            group["name"],
            law(body[counted[kind]] if kind in counted else group.get("count", "varies")),
            _sent(kind, body),
            group["cca"]["kind"] if responsive else "none",
            law(group["rtt"]) if responsive else "–",
        )
    )


def queue(found: Mapping[str, Any]) -> str:
    """The queue of a resolved link in words: a discipline, or classes and their schedule."""
    if found["kind"] != "classes":
        return f"a {found['kind']} queue"
    many = len(found["classes"])
    return f"{many} class{'es' * (many != 1)} ({found['schedule']})"


def _sent(kind: str, body: Mapping[str, Any]) -> str:
    """The traffic that a workload sends, in words."""
    return {
        "persistent": "persistent flows (always data to send)",
        "finite": f"{law(body.get('size'))} each",
        "closed_loop": f"{law(body.get('size'))}, then a pause of {law(body.get('think'))}, repeated",
        "periodic": f"{law(body.get('size'))} every {law(body.get('every'))}, or when the last one is complete",
        "open_loop": f"transfers of {law(body.get('size'))}, one every {law(body.get('interarrival'))}",
        "incast": f"{law(body.get('size'))} each at the same time, then a pause of {law(body.get('pause'))}",
        "all_to_all": f"{law(body.get('size'))} to each other host, then a pause of {law(body.get('pause'))}",
        "ring_all_reduce": f"all-reduce of {law(body.get('size'))} in a ring, then a pause of {law(body.get('pause'))}",
        "app_limited": f"at most {law(body.get('rate'))} each",
        "poisson": f"{law(body.get('rate'))} in total, Poisson packets",
        "cbr": f"{law(body.get('rate'))} in total, constant rate",
        "on_off": f"bursts at {law(body.get('peak'))} for {law(body.get('on'))}, silent for {law(body.get('off'))}",
    }[kind]


def law(found: Any) -> str:
    """A distribution of the scenario file in words."""
    if isinstance(found, list):
        return f"{quantity(found[0])} to {quantity(found[-1])} (listed)" if len(found) > 3 else _several(found)
    if not isinstance(found, dict):
        return quantity(found)
    kind = next((key for key in found if key not in {"weight", "jitter"}), "")
    body: Any = found.get(kind)
    text = LAWS[kind](body) if kind in LAWS else json.dumps(found)
    return f"{text} plus {law(found['jitter'])}" if "jitter" in found else text


def quantity(found: Any) -> str:
    """A value of the scenario file as an engineer writes it; unchanged if it is neither time, rate nor size."""
    for dimension, written in _WRITTEN.items():
        with suppress(InputError, TypeError):
            return formatting.exactly(written(parse_quantity(found, dimension)))
    return str(found)


#: Format of each dimension.
_WRITTEN: Mapping[Literal["time", "rate", "bytes"], Callable[[float], str]] = {
    "time": formatting.duration,
    "rate": formatting.bandwidth,
    "bytes": formatting.size,
}


def _several(found: Iterable[Any]) -> str:
    return ", ".join(map(quantity, found))


def _pareto(body: Any) -> str:
    upto = f" to {quantity(body['maximum'])}" if body.get("maximum") else " upwards"
    return f"{quantity(body['minimum'])}{upto} (Pareto, shape {body['shape']:g})"


#: Words for each kind of distribution.
LAWS: Mapping[str, Callable[[Any], str]] = {
    "value": law,
    "list": law,
    "common": lambda body: f"{law(body)}, the same for all",
    "uniform": lambda body: f"{quantity(body[0])} to {quantity(body[1])}",
    "linspace": lambda body: f"{quantity(body[0])} to {quantity(body[1])}",
    "exponential": lambda body: f"{quantity(body)} on average (exponential)",
    "poisson": lambda body: f"{body:g} on average (Poisson)",
    "pareto": _pareto,
    "lognormal": lambda body: f"around {quantity(body['median'])} (log-normal, σ {body['sigma']:g})",
    "choice": lambda body: f"one of {_several(body)}",
    "mixture": lambda body: "; ".join(f"{100 * part['weight']:g} %: {law(part)}" for part in body),
    "cdf": lambda body: f"{quantity(body[0][0])} to {quantity(body[-1][0])} (measured distribution)",
}

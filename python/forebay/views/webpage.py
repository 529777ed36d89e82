"""A recommendation as one HTML file: everything inside, nothing fetched, readable without a script and on paper."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from forebay import formatting
from forebay.formatting import USUAL
from forebay.goals import curve_estimate, curve_key
from forebay.views import charts
from forebay.views.plots import axis_title

if TYPE_CHECKING:
    from forebay.goals import Goal
    from forebay.search.recommendation import Recommendation

__all__ = ["recommendation_page"]

#: On a desk and on paper; on a telephone.
WIDE = charts.Size("wide", 760, 250, left=112)
NARROW = charts.Size("narrow", 340, 230, left=50, right=8)

#: Said when scripts or styles are asked for from elsewhere: nothing is.
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'"


def recommendation_page(answer: Recommendation, *, source: str, command: str) -> str:
    """Write the page.

    Parameters
    ----------
    answer : Recommendation
        With or without a buffer that meets the goals.
    source : str
        Text of the scenario file as the user wrote it.
    command : str
        What reproduces the answer.

    Returns
    -------
    str
        The whole document.
    """
    title = answer.scenario.title or "Buffer recommendation"
    parts = [
        f"<header><p class='kind'>Router buffer recommendation</p><h1>{escape(title)}</h1></header>",
        _question(answer),
        _verdict(answer),
        _pictures(answer),
        _rules(answer),
        _sensitivity(answer),
        _front(answer),
        _configuration(answer),
        _warnings(answer),
        _method(answer),
        _reproduction(answer, source, command),
    ]
    script = _file("webpage.js")
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="color-scheme" content="light">\n<link rel="icon" href="data:,">\n'
        f"<title>{escape(title)}: buffer recommendation</title>\n<style>\n{_file('webpage.css')}</style>\n</head>\n"
        f"<body>\n<main>\n{''.join(part for part in parts)}</main>\n<script>\n{script}</script>\n</body>\n</html>\n"
    )


def _file(name: str) -> str:
    return (files("forebay.views") / name).read_text(encoding="utf-8")


# The question ------------------------------------------------------------------------------------------------


def _question(answer: Recommendation) -> str:
    tables = answer.scenario.resolved
    target = next(link for link in tables["links"] if link["target"])
    wishes = [_goal_phrase(goal) for goal in answer.goals]
    goals = wishes[0] if len(wishes) == 1 else f"{', '.join(wishes[:-1])} and {wishes[-1]}"
    rows = "".join(_traffic_row(group) for group in tables["flows"])
    queue = target["queue"]["kind"]
    rate = formatting.exactly(formatting.bandwidth(answer.scenario.core.rate_bps))
    several = "" if len(tables["links"]) == 1 else f" (the link “{escape(target['name'])}” of {len(tables['links'])})"
    return (
        "<section><h2>The question</h2>"
        f"<p class='lead'>What is the smallest buffer for this {rate} link{several} with which {escape(goals)}?</p>"
        f"<table class='stack'><caption>The traffic, over a {escape(queue)} queue</caption><thead><tr><th>flows</th>"
        "<th>number</th><th>what they send</th><th>congestion control</th><th>round trip</th></tr></thead>"
        f"<tbody>{rows}</tbody></table></section>"
    )


def _goal_phrase(goal: Goal) -> str:
    sense = "at least" if goal.sense == ">=" else "at most"
    group, dot, metric = goal.name.rpartition(".")
    what = f"{_title(metric)} of “{group}”" if dot else _title(metric)
    return f"{what} is {sense} {_threshold(goal.name, goal.threshold)}"


def _title(name: str) -> str:
    """A metric's title for readers who do not know the field's short forms."""
    return formatting.metric_title(name).replace(" delay", " queueing delay")


def _threshold(name: str, number: float) -> str:
    """A threshold as it was asked for: 90 %, not 90.00 %."""
    return formatting.exactly(formatting.value(name, number))


def _traffic_row(group: Mapping[str, Any]) -> str:
    workload = group["workload"]
    kind = workload if isinstance(workload, str) else next(iter(workload))
    body = {} if isinstance(workload, str) else workload[kind]
    responsive = kind not in {"poisson", "cbr", "on_off"}
    told = {
        "persistent": "always something (long transfers)",
        "finite": f"{law(body.get('size'))} each",
        "closed_loop": f"{law(body.get('size'))}, then {law(body.get('think'))} of thinking, again and again",
        "open_loop": f"transfers of {law(body.get('size'))}, one every {law(body.get('interarrival'))}",
        "incast": f"{law(body.get('size'))} each, all at once, then {law(body.get('pause'))} of pause",
        "app_limited": f"at most {body.get('rate')} each",
        "poisson": f"{body.get('rate')} in all, at random instants",
        "cbr": f"{body.get('rate')} in all, evenly",
        "on_off": f"bursts at {body.get('peak')} for {law(body.get('on'))}, silent for {law(body.get('off'))}",
    }[kind]
    counted = {"closed_loop": "users", "incast": "servers"}
    number = body[counted[kind]] if kind in counted else group.get("count", "as they come")
    cells = {
        "flows": group["name"],
        "number": law(number),
        "what they send": told,
        "congestion control": group["cca"]["kind"] if responsive else "none",
        "round trip": law(group["rtt"]) if responsive else "–",
    }
    return "<tr>" + "".join(_cell(name, str(text)) for name, text in cells.items()) + "</tr>"


def law(found: Any) -> str:
    """A law of the scenario file in words."""
    if isinstance(found, list):
        return f"{found[0]} to {found[-1]} (listed)" if len(found) > 3 else ", ".join(map(str, found))
    if not isinstance(found, dict):
        return str(found)
    kind = next((key for key in found if key not in {"weight", "jitter"}), "")
    body: Any = found.get(kind)
    text = LAWS[kind](body) if kind in LAWS else json.dumps(found)
    return f"{text} plus {law(found['jitter'])}" if "jitter" in found else text


def _pareto(body: Any) -> str:
    upto = f" to {body['maximum']}" if body.get("maximum") else " upwards"
    return f"{body['minimum']}{upto} (Pareto, shape {body['shape']:g})"


#: Each kind of law in words.
LAWS: Mapping[str, Callable[[Any], str]] = {
    "value": law,
    "list": law,
    "common": lambda body: f"{law(body)}, the same for all",
    "uniform": lambda body: f"{body[0]} to {body[1]}",
    "linspace": lambda body: f"{body[0]} to {body[1]}",
    "exponential": lambda body: f"{body} on average (exponential)",
    "poisson": lambda body: f"{body:g} on average (Poisson)",
    "pareto": _pareto,
    "lognormal": lambda body: f"around {body['median']} (log-normal, σ {body['sigma']:g})",
    "choice": lambda body: "one of " + ", ".join(map(str, body)),
    "mixture": lambda body: "; ".join(f"{100 * part['weight']:g} %: {law(part)}" for part in body),
    "cdf": lambda body: f"{body[0][0]} to {body[-1][0]} (measured distribution)",
}


# The answer --------------------------------------------------------------------------------------------------


def _verdict(answer: Recommendation) -> str:
    data = answer.data
    goals = "".join(_goal_row(name, goal, deciding=data["recommendation"]) for name, goal in data["goals"].items())
    table = (
        "<table class='stack'><thead><tr><th>goal</th><th>wanted</th><th>measured there</th><th>slack</th>"
        f"<th>verdict</th></tr></thead><tbody>{goals}</tbody></table>"
    )
    if data["recommendation"] is not None:
        return (
            "<section class='answer good'><h2>The answer</h2>"
            f"<p class='big'>{data['recommendation']['packets']:,.0f} packets</p>"
            f"<p class='units'>{_units(data['recommendation'])}</p>"
            f"<p>This is the smallest buffer (to within {100 * data['resolution']:g} %) that meets every goal "
            f"{_basis(data)}</p>{_range(data)}{table}</section>"
        )
    conflict = data["conflict"]
    lines = [f"<li>{escape(line)}</li>" for line in _conflict_lines(conflict)]
    compromise = ""
    if conflict["compromise"] is not None:
        compromise = (
            "<p>The nearest compromise, whose worst miss is the smallest:</p>"
            f"<p class='big'>{conflict['compromise']['packets']:,.0f} packets</p>"
            f"<p class='units'>{_units(conflict['compromise'])}</p>"
        )
    return (
        "<section class='answer bad'><h2>The answer</h2><p class='lead'>No buffer was found that meets all goals.</p>"
        f"<ul>{''.join(lines)}</ul>{compromise}{table}</section>"
    )


def _basis(data: Mapping[str, Any]) -> str:
    """What the confidence is about."""
    confidence = f"<strong>{_percent(data['confidence'])} confidence</strong>"
    unseen = "(one-sided) on simulated replications that the search for the buffer had not seen"
    fraction = data["fraction"]
    if fraction is not None:
        return (
            f"in at least {100 * fraction['wanted']:g} % of the cases, with {confidence}, judged {unseen}: all goals "
            f"held in {fraction['held']} of {fraction['of']} draws of what is not known for certain."
        )
    over = " of what is not known for certain" if data["uncertain"] else ""
    return f"on average{' over the draws' if over else ''}{over}, with {confidence}, judged {unseen}."


def _range(data: Mapping[str, Any]) -> str:
    """How far above the answer the goals hold."""
    upper = data["feasible_up_to"]
    if upper["missed_at"] is None:
        return ""
    return (
        f"<p>Every goal still holds at {_packets(upper['buffer'])}, but not at {_packets(upper['missed_at'])}, of the "
        "buffers that were measured.</p>"
    )


def _percent(share: float) -> str:
    """A confidence; never more than is known."""
    return f"{math.floor(min(share, 0.99999) * 1e4) / 100:g} %"


def _units(buffer: Mapping[str, Any]) -> str:
    text = f"= {formatting.size(buffer['bytes'])} = {formatting.duration(buffer['seconds'])} at the link rate"
    return text if buffer["bdp"] is None else f"{text} = {buffer['bdp']:.3g} bandwidth-delay products"


def _conflict_lines(conflict: Mapping[str, Any]) -> list[str]:
    lines = []
    for side, phrase, nowhere in (
        (
            "needs_at_least",
            "needs at least",
            f"missed even at {_packets(conflict['largest_tried'])}, the largest tried",
        ),
        ("needs_at_most", "allows at most", "missed even at the smallest buffer"),
    ):
        names = " and ".join(_title(name) for name in conflict[side]["goals"])
        if names:
            buffer = conflict[side]["buffer"]
            lines.append(f"{names} {nowhere}" if buffer is None else f"{names} {phrase} {_packets(buffer)}")
    return lines


def _packets(buffer: Mapping[str, Any]) -> str:
    return f"{buffer['packets']:,.0f} packets ({formatting.duration(buffer['seconds'])})"


def _goal_row(name: str, goal: Mapping[str, Any], *, deciding: Mapping[str, Any] | None) -> str:
    sense = "≥" if goal["sense"] == ">=" else "≤"
    slack = formatting.value(name, abs(goal["slack"])).replace(" %", " points")
    held = "" if goal["of"] is None else f", held in {goal['held']} of {goal['of']} draws"
    verdict = ("met" if goal["met"] else "missed") + (", decides the size" if goal["binding"] and deciding else "")
    cells = {
        "goal": _title(name),
        "wanted": f"{sense} {_threshold(name, goal['threshold'])}",
        "measured there": formatting.estimate(name, goal["measured"]),
        "slack": f"{slack} {'to spare' if goal['slack'] >= 0 else 'short'}" + held,
        "verdict": verdict,
    }
    marked = "met" if goal["met"] else "missed"
    return f"<tr class='{marked}'>" + "".join(_cell(key, text) for key, text in cells.items()) + "</tr>"


# The pictures ------------------------------------------------------------------------------------------------

#: Class of a series, what the switch says, and how its swatch looks.
SERIES = (
    ("mean", "simulated mean"),
    ("band", "95 % interval"),
    ("goal", "goals (shaded: missed)"),
    ("rule", "rules that apply"),
    ("norule", "rules that do not apply"),
    ("also", "buffers asked about"),
    ("answer", "the answer"),
    ("front", "no buffer is better in both"),
)


def _pictures(answer: Recommendation) -> str:
    curve = answer.data["curve"]
    buffers = [point["buffer"]["packets"] for point in curve]
    last = curve[-1]["buffer"]
    per_packet = 1e3 * last["seconds"] / last["packets"]
    found = answer.data["recommendation"]
    named = "answer"
    if found is None:
        found, named = answer.data["conflict"]["compromise"], "compromise"
    mark = None if found is None else (found["packets"], f"{named}: {found['packets']:,.0f} packets")
    strip = charts.RuleStrip(_dots(answer), buffers, mark, per_packet)
    # On a wide screen all charts share the left edge, so that one buffer lies on one vertical line.
    sizes = (dataclasses.replace(WIDE, left=strip.size(WIDE).left), NARROW)
    drawings = [strip.svg(strip.size(size), "rules by buffer") for size in sizes]
    figures = [_figure("What each rule asks for", drawings)]
    for key in _shown(answer):
        chart = _metric_chart(answer, key, mark, per_packet)
        heading = _title(key)
        heading = heading[0].upper() + heading[1:]
        label = f"{chart.title} against the buffer in packets"
        figures.append(_figure(heading, [chart.svg(size, label) for size in sizes]))
    present = {"mean", "band", "goal", "answer"} | {dot.kind for dot in strip.dots}
    if "pareto" in answer.data:
        trade = _trade_chart(answer)
        label = f"{trade.up} against {trade.across}"
        figures.append(_figure("The trade-off", [trade.svg(size, label) for size in sizes]))
        present |= {point.kind for point in trade.points}
    switches = "".join(
        f"<label class='k-{name}'><input type='checkbox' checked data-series='{name}'><i></i>{escape(text)}</label>"
        for name, text in SERIES
        if name in present
    )
    return (
        "<section id='pictures'><h2>What the simulation says, buffer by buffer</h2>"
        "<p class='hint'>Point at a measured buffer, or use the arrow keys in a picture, for its values.</p>"
        f"<div class='switches'>{switches}</div>{''.join(figures)}<div id='tip' role='status' hidden></div>"
        f"{_curve_table(answer)}</section>"
    )


def _figure(heading: str, drawings: Sequence[str]) -> str:
    return f"<figure><figcaption>{escape(heading)}</figcaption>{''.join(drawings)}</figure>"


def _shown(answer: Recommendation) -> list[str]:
    """The usual metrics, then those of the goals, each where at least two buffers have it."""
    curve = answer.data["curve"]
    names = list(USUAL)
    for goal in answer.goals:
        key = curve_key(goal.name, curve[-1])
        if key is not None and key not in names:
            names.append(key)
    return [name for name in names if sum(curve_estimate(point, name) is not None for point in curve) > 1]


def _metric_chart(
    answer: Recommendation, key: str, mark: tuple[float, str] | None, per_packet: float
) -> charts.MetricChart:
    curve = answer.data["curve"]
    # A buffer at which no transfer ended has no completion time.
    known = [(point, estimate) for point in curve if (estimate := curve_estimate(point, key)) is not None]
    title, scale = axis_title(key, max(estimate["mean"] for _, estimate in known))
    points = [
        charts.Point(
            point["buffer"]["packets"],
            scale * estimate["mean"],
            scale * (estimate["half_width"] or 0.0),
            f"{_tip(point['buffer'])}\n{_title(key)} {formatting.estimate(key, estimate)}"
            f"\n{point['replications']} replications",
        )
        for point, estimate in known
    ]
    goals = [
        charts.GoalLine(
            scale * goal.threshold,
            goal.sense == ">=",
            f"goal {'≥' if goal.sense == '>=' else '≤'} {_threshold(goal.name, goal.threshold)}",
        )
        for goal in answer.goals
        if curve_key(goal.name, curve[-1]) == key
    ]
    marks = [
        (rule["buffer"]["packets"], rule["applies"]) for rule in answer.data["rules"] if rule["buffer"] is not None
    ]
    limits = None
    if key == "utilization":
        low = min([p.mean for p in points] + [goal.threshold for goal in goals])
        limits = (max(0.0, math.floor(low / 10) * 10.0), 101.0)
    return charts.MetricChart(title, points, goals, marks, mark, per_packet, limits)


def _trade_chart(answer: Recommendation) -> charts.TradeChart:
    front = answer.data["pareto"]
    names = front["metrics"]
    points = front["points"]
    (up, scale_y), (across, scale_x) = (
        axis_title(name, max(point["measured"][name]["mean"] for point in points)) for name in names
    )

    def meeting(buffer: Mapping[str, Any], measured: Mapping[str, Any], kind: str, head: str) -> charts.Meeting:
        told = "".join(f"\n{_title(name)} {formatting.estimate(name, measured[name])}" for name in names)
        y, x = (measured[name]["mean"] for name in names)
        return charts.Meeting(buffer["packets"], scale_x * x, scale_y * y, kind, f"{head}{_tip(buffer)}{told}")

    found = [meeting(p["buffer"], p["measured"], "front" if p["on_front"] else "mean", "") for p in points]
    found += [
        meeting(rule["buffer"], rule["measured"], "rule" if rule["applies"] else "norule", f"{rule['name']}: ")
        for rule in answer.data["rules"]
        if rule["buffer"] is not None and all(name in rule["measured"] for name in names)
    ]
    best = answer.data["recommendation"]
    found += [
        meeting(p["buffer"], p["measured"], "answer", "the answer: ")
        for p in points
        if best is not None and p["buffer"]["packets"] == best["packets"]
    ]
    return charts.TradeChart(across, up, found)


def _tip(buffer: Mapping[str, Any]) -> str:
    bdp = "" if buffer["bdp"] is None else f" = {buffer['bdp']:.3g} BDP"
    return (
        f"{buffer['packets']:,.0f} packets = {formatting.size(buffer['bytes'])} = "
        f"{formatting.duration(buffer['seconds'])}{bdp}"
    )


def _dots(answer: Recommendation) -> list[charts.Dot]:
    data = answer.data
    dots = []
    for rule in data["rules"]:
        if rule["buffer"] is None:
            continue
        told = f"{rule['name']}: {_tip(rule['buffer'])}\n"
        told += "applies" if rule["applies"] else f"does not apply: {rule['why']}"
        dots.append(charts.Dot(rule["name"], rule["buffer"]["packets"], "rule" if rule["applies"] else "norule", told))
    for named in data["also"]:
        told = f"{named['name']}: {_tip(named['buffer'])}"
        dots.append(charts.Dot(named["name"], named["buffer"]["packets"], "also", told))
    return sorted(dots, key=lambda dot: (dot.buffer, dot.name))


def _curve_table(answer: Recommendation) -> str:
    names = _shown(answer)
    head = "".join(f"<th>{escape(_title(name))}</th>" for name in names)
    rows = []
    for point in answer.data["curve"]:
        cells = [_cell("packets", f"{point['buffer']['packets']:,.0f}")]
        cells.append(_cell("time", formatting.duration(point["buffer"]["seconds"])))
        for name in names:
            text = formatting.estimate(name, curve_estimate(point, name))
            cells.append(_cell(_title(name), text))
        rows.append(f"<tr>{''.join(cells)}</tr>")
    return (
        "<details><summary>Every measured buffer as a table</summary><table class='stack'><thead><tr><th>packets</th>"
        f"<th>time</th>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></details>"
    )


# The rules ---------------------------------------------------------------------------------------------------


def _rules(answer: Recommendation) -> str:
    rules = sorted(
        answer.data["rules"],
        key=lambda rule: (not rule["applies"], math.inf if rule["buffer"] is None else rule["buffer"]["packets"]),
    )
    applying = [rule for rule in rules if rule["applies"] and rule["buffer"] is not None]
    spread = ""
    if len(applying) > 1:
        low, high = applying[0]["buffer"]["packets"], applying[-1]["buffer"]["packets"]
        spread = (
            f" Even the {len(applying)} whose assumptions hold here ask for {low:,.0f} to {high:,.0f} packets: they "
            "were made for different aims."
        )
    rows = "".join(_rule_row(answer, rule) for rule in rules if rule["buffer"] is not None)
    return (
        "<section><h2>What the published rules say, and why they differ</h2>"
        "<p>Each rule is a formula with assumptions about the traffic; forebay checks them against this link and "
        f"simulates the link at the buffer that each asks for.{spread}</p>"
        "<table class='stack rules'><thead><tr><th>rule</th>"
        "<th>what happens there</th><th>what it is, and whether it applies</th></tr></thead>"
        f"<tbody>{rows}</tbody></table>{_silent(rules)}</section>"
    )


def _silent(rules: Iterable[Mapping[str, Any]]) -> str:
    """Models that were looked at and have no buffer to offer."""
    entries = []
    for rule in rules:
        if rule["buffer"] is None:
            why = "it applies but asks for no buffer under these goals" if rule["applies"] else rule["why"]
            entries.append(f"<li><strong>{escape(rule['name'])}</strong> ({escape(_explained(rule['name'])[0])}): ")
            entries.append(f"{escape(why)}</li>")
    if not entries:
        return ""
    return f"<details><summary>Models without a buffer to offer here</summary><ul>{''.join(entries)}</ul></details>"


def _rule_row(answer: Recommendation, rule: Mapping[str, Any]) -> str:
    buffer = rule["buffer"]
    title, summary = _explained(rule["name"])
    judged = [escape(line) for line in _judged(answer, rule)]
    why = rule["why"] if not rule["applies"] else "its assumptions hold here"
    reason = f"<span class='what'>{escape(title)}.</span> {escape(summary)}"
    reason += f" <em>{escape('Does not apply: ' if not rule['applies'] else 'Applies: ')}{escape(why)}.</em>"
    return (
        f"<tr class='{'applies' if rule['applies'] else 'off'}'>"
        f"<td data-label='rule'><span><strong>{escape(rule['name'])}</strong><br>{escape(_packets(buffer))}</span></td>"
        f"<td data-label='there'><span>{'<br>'.join(judged) or 'not simulated'}</span></td>"
        f"<td data-label='what it is'>{reason}</td></tr>"
    )


def _explained(name: str) -> tuple[str, str]:
    """A rule's title and one sentence on it, where the catalogue of models has them."""
    from forebay.errors import InputError
    from forebay.explanation import explain

    try:
        data = explain(name).data
    except InputError:
        return name, ""
    return data["title"], data.get("summary", "")


def _judged(answer: Recommendation, rule: Mapping[str, Any]) -> list[str]:
    """How each goal fares at a rule's buffer."""
    at = [point for point in answer.data["curve"] if point["buffer"]["packets"] == rule["buffer"]["packets"]]
    found = []
    for goal in answer.goals:
        key = curve_key(goal.name, at[0]) if at else None
        estimate = curve_estimate(at[0], key) if key is not None else None
        if key is None or estimate is None:
            continue
        margin, half = goal.margin(estimate["mean"]), estimate["half_width"] or 0.0
        verdict = "met" if margin > half else "missed" if margin < -half else "on the edge"
        found.append(f"{_title(key)} {formatting.estimate(key, estimate)} ({verdict})")
    return found


# The rest ----------------------------------------------------------------------------------------------------


def _sensitivity(answer: Recommendation) -> str:
    if "sensitivity" not in answer.data:
        return ""
    rows = []
    for entry in answer.data["sensitivity"]:
        buffer = entry["recommendation"]
        cells = {
            "what": f"{entry['what']} {100 * (entry['factor'] - 1):+.0f} %",
            "buffer": "none meets the goals" if buffer is None else _packets(buffer),
            "decided by": "–" if entry["binding_goal"] is None else _title(entry["binding_goal"]),
        }
        rows.append("<tr>" + "".join(_cell(name, text) for name, text in cells.items()) + "</tr>")
    return (
        "<section><h2>When something is 20 % off</h2><table class='stack'><thead><tr><th>what</th><th>buffer</th>"
        f"<th>decided by</th></tr></thead><tbody>{''.join(rows)}</tbody></table></section>"
    )


def _front(answer: Recommendation) -> str:
    if "pareto" not in answer.data:
        return ""
    front = answer.data["pareto"]
    head = "".join(f"<th>{escape(_title(name))}</th>" for name in front["metrics"])
    rows = []
    for point in front["points"]:
        if point["on_front"]:
            cells = [_cell("buffer", _packets(point["buffer"]))]
            for name in front["metrics"]:
                text = formatting.estimate(name, point["measured"][name])
                cells.append(_cell(_title(name), text))
            rows.append(f"<tr>{''.join(cells)}</tr>")
    return (
        "<section class='on-screen'><h2>The trade-off</h2><p>Of the measured buffers, these are the ones than which "
        f"none is better in both.</p><details><summary>{len(rows)} buffers</summary><table class='stack'><thead><tr>"
        f"<th>buffer</th>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></details></section>"
    )


def _configuration(answer: Recommendation) -> str:
    if "configuration" not in answer.data:
        return ""
    found = answer.data["configuration"]
    return (
        f"<section><h2>As configuration: {escape(found['system'])}</h2>"
        f"<pre>{escape(chr(10).join(found['lines']))}</pre>"
        f"{_list(found['quirks'])}<p class='hint'>Source: {escape(found['source'])}</p></section>"
    )


def _warnings(answer: Recommendation) -> str:
    if not answer.data["warnings"]:
        return ""
    return f"<section class='warnings'><h2>What to be careful about</h2>{_list(answer.data['warnings'])}</section>"


def _method(answer: Recommendation) -> str:
    cost = answer.data["cost"]
    run = answer.scenario.resolved["run"]
    return (
        "<section><h2>How it was measured</h2><p>"
        f"The {escape(answer.data['engine'])} engine of forebay {escape(answer.data['version'])} simulated the link "
        f"{cost['replications']} times at {cost['buffers']} buffers: {cost['data_packets']:,} data packets. Each run "
        f"lasts {escape(run['warmup'])} of warm-up, which is not measured, and {escape(run['measure'])} that are. All "
        "buffers see the same random traffic, replication by replication. Intervals are Student’s t at 95 % over "
        "replications. The buffer counts what waits, without the packet in transmission.</p></section>"
    )


def _reproduction(answer: Recommendation, source: str, command: str) -> str:
    return (
        "<section><h2>Do it again</h2><p>With the scenario below in the file that the command names, the same version "
        "gives the same numbers on every machine.</p>"
        f"<pre class='command'>{escape(command)}</pre>"
        f"<h3>The scenario</h3><pre class='scenario'>{escape(source.rstrip())}</pre>"
        f"<p class='hint'>forebay {escape(answer.data['version'])}, seed {answer.scenario.core.seed}, resolved "
        f"scenario SHA-256 <span class='hash'>{answer.data['scenario_sha256']}</span></p></section>"
    )


def _list(lines: Iterable[str]) -> str:
    entries = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return f"<ul>{entries}</ul>" if entries else ""


def _cell(name: str, text: str) -> str:
    return f"<td data-label='{escape(name)}'>{escape(text)}</td>"

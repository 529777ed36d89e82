"""`new`: a commented scenario from a few options, which runs unchanged and whose comments explain what to change."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass

from forebay import _core
from forebay._core import parse_quantity, split_quantity
from forebay.configuration.jitter import time_text
from forebay.errors import InputError, naming
from forebay.inputs.goals import check_bounds, metric_of_goal, split_goal
from forebay.scenario import Scenario
from forebay.text.formatting import duration, exactly

__all__ = ["Wishes", "draft"]

#: Maximum number of data packets of one replication, which take about ten seconds of one core. The second number
#: applies if the warm-up would otherwise end before the losses of slow start.
MOST_PACKETS, MOST_TO_SETTLE = 3e7, 6e7

#: Initial window in packets (RFC 6928), and initial retransmission timeout in seconds (RFC 6298).
FIRST_WINDOW, TIMEOUT_S = 10.0, 1.0
#: Time until a controller first measures the round trip with an empty queue (ProbeRTT), in seconds.
PROBE_S = {"bbr": 10.2, "bbr3": 5.2}
#: Measured time of a run that settles, as a multiple of the settling time.
MEASURED = 4 / 3
#: Part of the warm-up over which the starts of long flows are spread.
STARTS = 0.2

#: Bounds of a link's rate, in bits per second.
SLOWEST, FASTEST = 1e3, 1e14
#: Usual rates of access links.
ACCESS = ("10Mbps", "100Mbps", "1Gbps", "10Gbps", "100Gbps", "400Gbps", "1600Gbps", "10Tbps")


@dataclass(frozen=True, slots=True)
class Wishes:
    """The contents of a scenario to draft.

    Attributes
    ----------
    rate : str
        Rate of the link: "100Mbps".
    rtt : str
        Propagation round trip of the flows: "40ms", or a range "20ms..80ms".
    long : int
        Number of long transfers.
    cca : str
        Congestion control of the long transfers.
    web, background : float
        Shares of the link's rate that short transfers and unresponsive traffic offer; 0 for none.
    video : int
        Number of video streams, each in bursts at 25 Mb/s a fifth of the time.
    queue : str
        Queue discipline.
    packet : str
        Size of full packets of the responsive flows.
    buffer : str
        Configured buffer; if empty, half a bandwidth-delay product, or 100 packets without responsive flows.
    goals : sequence of str
        Goals such as "utilization>=0.98"; derived from the traffic if empty.
    title : str
        Title; derived from the traffic if empty.
    """

    rate: str
    rtt: str
    long: int = 0
    cca: str = "cubic"
    web: float = 0.0
    background: float = 0.0
    video: int = 0
    queue: str = "droptail"
    packet: str = "1500B"
    buffer: str = ""
    goals: Sequence[str] = ()
    title: str = ""


def draft(wishes: Wishes) -> str:
    """Write the scenario.

    Parameters
    ----------
    wishes : Wishes
        Contents with at least one kind of traffic.

    Returns
    -------
    str
        TOML with comments; `Scenario.parse` accepts it.

    Raises
    ------
    InputError
        If an option is wrong; the error names the option, the found value and the allowed values.
    """
    _check(wishes)
    rate = rate_bps(wishes.rate)
    low, high = _round_trips_s(wishes)
    if low > high:
        raise InputError(f"found `{wishes.rtt}`; allowed: the shorter round trip first, as in 20ms..80ms", "rtt")
    _check_values(wishes, rate, (low + high) / 2)
    return _text(wishes, rate, (low + high) / 2)


def _check_values(wishes: Wishes, rate: float, rtt: float) -> None:
    """Check the values with units by the reader of scenarios; errors name the arguments."""
    plain = _text(dataclasses.replace(wishes, packet="1500B", buffer="", goals=(), title=""), rate, rtt)
    changes: list[_core.Change] = [
        ("goals", f"goal.{name}", f"{sense} {value}") for name, sense, value in map(split_goal, wishes.goals)
    ]
    if wishes.title:
        changes.append(("title", "title", _quoted(wishes.title)))
    if wishes.buffer:
        changes.append(("buffer", "link.buffer", wishes.buffer))
    for group, share in (("long", wishes.long), ("web", wishes.web)):
        if share:
            changes.append(("packet", f"flows.{group}.packet", wishes.packet))
    Scenario.parse(plain, overrides=changes, name="the new scenario")


def _quoted(text: str) -> str:
    """A text as a string of TOML or JSON."""
    return json.dumps(text, ensure_ascii=False)


def _text(wishes: Wishes, rate: float, rtt: float) -> str:
    """The text of the file."""
    times = _durations(wishes, rate, rtt)
    text = "\n".join(
        [
            *_head(wishes),
            *_link(wishes),
            *_long(wishes, rate, rtt, times),
            *_web(wishes, rate),
            *_background(wishes),
            *_video(wishes),
            *_run(wishes, times),
            *_goal(wishes, rate, rtt),
        ]
    )
    check_bounds((goal, goal.key) for goal in Scenario.parse(text, name="the new scenario").goals)
    return text


def rate_bps(text: str) -> float:
    """Read the rate of the link."""
    with naming("rate"):
        rate = parse_quantity(text, "rate")
    if not SLOWEST <= rate <= FASTEST:
        raise InputError(f"found `{text}`; allowed: a rate from 1kbps to 100Tbps", "rate")
    return rate


def round_trip_s(text: str) -> float:
    """Read one round trip."""
    with naming("rtt"):
        return parse_quantity(text, "time")


def packet_bytes(text: str) -> float:
    """Read the size of a packet."""
    with naming("packet"):
        return parse_quantity(text, "bytes")


def _round_trips_s(wishes: Wishes) -> tuple[float, float]:
    """The shortest and the longest round trip."""
    low, high = (round_trip_s(text) for text in _ends(wishes.rtt))
    return low, high


def _ends(rtt: str) -> tuple[str, str]:
    low, dots, high = rtt.partition("..")
    return (low.strip(), high.strip()) if dots else (rtt.strip(), rtt.strip())


def _check(wishes: Wishes) -> None:
    if not (wishes.long or wishes.web or wishes.background or wishes.video):
        raise InputError("found no traffic; allowed: at least one of --long, --web, --background, --video")
    for name, count in (("long", wishes.long), ("video", wishes.video)):
        if not 0 <= count <= 1_000_000:
            raise InputError(f"found {count}; allowed: 0 to 1000000", name)
    for name, share in (("web", wishes.web), ("background", wishes.background)):
        if not 0 <= share <= 2:
            raise InputError(f"found {share:g} of the link's rate; allowed: 0 to 2, or 0% to 200%", name)
    check_controller(wishes.cca)
    # Classes need names and groups, which no option gives.
    _check_name("queue", wishes.queue, [known for known in _core.disciplines() if known.name != "classes"])
    for name, text in (("buffer", wishes.buffer), ("packet", wishes.packet)):
        if any(ord(letter) < 32 or letter in '"\\' for letter in text):
            raise InputError(f"found `{text!r}`; allowed: no quotes, backslashes or control characters", name)


def check_controller(name: str) -> None:
    """Refuse an unknown congestion control."""
    _check_name("cca", name, _core.controllers())


def _check_name(argument: str, name: str, registry: Sequence[_core.Algorithm]) -> None:
    spellings = {spelling for known in registry for spelling in (known.name, *known.aliases)}
    if name not in spellings:
        aliases = [(alias, known.name) for known in registry for alias in known.aliases]
        raise InputError(_core.unknown(argument, name, [known.name for known in registry], aliases), argument)


def _head(wishes: Wishes) -> list[str]:
    parts = []
    if wishes.long:
        parts.append(f"{wishes.long} long {wishes.cca} flow{'s' * (wishes.long != 1)}")
    if wishes.web:
        parts.append(f"web at {100 * wishes.web:g} % load")
    if wishes.video:
        parts.append(f"{wishes.video} video stream{'s' * (wishes.video != 1)}")
    if wishes.background:
        parts.append(f"{100 * wishes.background:g} % background")
    title = wishes.title or f"{wishes.rate} link: {', '.join(parts)}"
    return [
        "# A draft: replace the values by those of your link. `forebay run FILE` simulates it, `forebay recommend "
        "FILE`",
        "# finds a buffer. `forebay schema` and the manual list every key.",
        f"title = {_quoted(title)}",
        "",
    ]


def _link(wishes: Wishes) -> list[str]:
    buffer = wishes.buffer or ("0.5BDP" if wishes.long or wishes.web else "100p")
    return [
        "[link]",
        f'rate   = "{wishes.rate}"  # IP packets, headers included, per second',
        f'buffer = "{buffer}"  # configured buffer: "100p", "150kB", "5ms" or "0.5BDP"; recommend varies it',
        f'queue  = "{wishes.queue}"  # queue discipline; `forebay explain` lists all',
        "",
    ]


def _rtt(wishes: Wishes, rate: float) -> str:
    """Round trips that all differ, because flows with equal ones would synchronize."""
    low, high = _ends(wishes.rtt)
    if low != high:
        return f'{{ uniform = ["{low}", "{high}"] }}'
    return f'{{ value = "{low}", jitter = "{time_text(packet_bytes(wishes.packet) * 8 / rate)}" }}'


def _of_jitter(wishes: Wishes) -> list[str]:
    low, high = _ends(wishes.rtt)
    why = "# The jitter is one packet time of the link: with equal round trips the flows would be synchronized."
    return [why] if low == high else []


def _access(rate: float) -> str:
    """The slowest access link that is at least twice as fast as the bottleneck."""
    return next((text for text in ACCESS if rate_bps(text) >= 2 * rate), ACCESS[-1])


def _long(wishes: Wishes, rate: float, rtt: float, times: _Times) -> list[str]:
    if not wishes.long:
        return []
    threshold = [
        "# Slow start ends near the fair window, because this run is too short for the losses of a slow start.",
        f'initial_ssthresh = "{max(2, round(_window(wishes, rate, rtt)))}p"',
    ]
    return [
        "[[flows]]",
        'name   = "long"  # transfers that last longer than the run',
        f"count  = {wishes.long}",
        f'cca    = "{wishes.cca}"  # congestion control',
        f"rtt    = {_rtt(wishes, rate)}  # round-trip time without queueing; a number, a list or a distribution",
        *_of_jitter(wishes),
        f'packet = "{wishes.packet}"',
        f'start  = {{ uniform = ["0s", "{_time(min(1.0, STARTS * times.warmup))}"] }}',
        *(threshold if times.warmup < times.settle * 0.999 else []),
        "# Access links of the senders. Without them packets would arrive at the same instants at which others leave.",
        f'access = {{ rate = "{_access(rate)}" }}',
        "",
    ]


def _web(wishes: Wishes, rate: float) -> list[str]:
    if not wishes.web:
        return []
    return [
        "[[flows]]",
        'name     = "web"  # short transfers with random arrivals, most of them small and a few large',
        f'cca      = "{wishes.cca}"',
        f"rtt      = {_rtt(wishes, rate)}",
        f'packet   = "{wishes.packet}"',
        "# load: share of the link's rate; size: size of a transfer",
        f"workload = {{ open_loop = {{ load = {wishes.web:g}, "
        'size = { pareto = { shape = 1.3, minimum = "6kB", maximum = "5MB" } } } }',
        f'access   = {{ rate = "{_access(rate)}" }}',
        "",
    ]


def _background(wishes: Wishes) -> list[str]:
    if not wishes.background:
        return []
    return [
        "[[flows]]",
        'name     = "background"  # unresponsive traffic: calls, games, many tiny transfers',
        'packet   = "1000B"',
        f'workload = {{ poisson = {{ rate = "{_share(wishes)}" }} }}  # {100 * wishes.background:g} % of the link',
        "",
    ]


def _share(wishes: Wishes) -> str:
    split = split_quantity(wishes.rate)
    assert split is not None, "a rate that was read before"
    return f"{split[0] * wishes.background:.6g}{split[1]}"


def _video(wishes: Wishes) -> list[str]:
    if not wishes.video:
        return []
    return [
        "[[flows]]",
        'name     = "video"  # bursts with pauses, 5 Mb/s each on average',
        f"count    = {wishes.video}",
        'packet   = "1400B"',
        'workload = { on_off = { peak = "25Mbps", on = { exponential = "400ms" }, off = { exponential = "1600ms" } } }',
        "",
    ]


@dataclass(frozen=True, slots=True)
class _Times:
    """The times of a run, in seconds.

    Attributes
    ----------
    warmup, measure : float
        The time that is not measured, and the time that is.
    settle : float
        The time until the losses of the slow start are over.
    shortened : bool
        Whether the run has fewer than some tens of the windows' cycles, because these cost too much.
    """

    warmup: float
    measure: float
    settle: float
    shortened: bool


def _durations(wishes: Wishes, rate: float, rtt: float) -> _Times:
    """The times of a run over some tens of window cycles; fewer if they cost too much, but enough to settle."""
    cycle = _cycle_s(rate, rtt, wishes.long)
    settle = _settle_s(wishes, rate, rtt)
    warmup = _round_up(max(2.0, 5 * cycle, 50 * rtt, settle, PROBE_S.get(wishes.cca, 0.0) if wishes.long else 0.0))
    measure = _round_up(max(10.0, 25 * cycle, 400 * rtt))
    second = 1500 * 8 / rate
    if warmup + measure <= MOST_PACKETS * second:
        return _Times(warmup, measure, settle, shortened=False)
    share = MOST_PACKETS * second / (warmup + measure)
    short, rest = max(warmup * share, settle), max(measure * share, MEASURED * settle)
    # Both are shortened if even the settling costs too much.
    part = min(1.0, MOST_TO_SETTLE * second / (short + rest))
    return _Times(_round_finely(short * part), _round_finely(rest * part), settle, shortened=True)


def _settle_s(wishes: Wishes, rate: float, rtt: float) -> float:
    """The time until the losses of the slow start of long flows are over, in seconds.

    The window doubles in each round trip from the first window to twice the share of a flow. Then up to half of the
    window is lost. Some of the repeated packets are lost, too, so that a timeout follows, and another slow start up to
    the share. A round trip is the longest one with the queue of the draft, half a bandwidth-delay product.
    """
    if not wishes.long:
        return 0.0
    window, trip = _window(wishes, rate, rtt), _round_trips_s(wishes)[1] + rtt / 2
    rounds = math.log2(max(2.0, 2 * window / FIRST_WINDOW)) + math.log2(max(2.0, window))
    return (rounds * trip + max(TIMEOUT_S, 2 * trip)) / (1 - STARTS)


def _window(wishes: Wishes, rate: float, rtt: float) -> float:
    """The share of one long flow in the bandwidth-delay product, in packets."""
    return rate * rtt / 8 / packet_bytes(wishes.packet) / max(1, wishes.long)


def _run(wishes: Wishes, times: _Times) -> list[str]:
    why = ["# Shorter than some tens of cycles of the windows, to limit the cost of a run."]
    if times.warmup < times.settle * 0.999:
        why.append(f"# The losses of a slow start end after about {_time(_round_up(times.settle))} only.")
    probe = PROBE_S.get(wishes.cca, 0.0) if wishes.long else 0.0
    if times.warmup < probe:
        why.append(f"# {wishes.cca} first measures its round trip after about {_time(probe)}.")
    return [
        "[run]",
        *(why if times.shortened else []),
        f'warmup       = "{_time(times.warmup)}"  # simulated before the measured time',
        f'measure      = "{_time(times.measure)}"',
        "seed         = 1",
        "replications = 4  # the minimum; recommend adds more if a decision is unclear",
        "",
    ]


def _cycle_s(rate: float, rtt: float, flows: int) -> float:
    """Duration of one cycle of a Reno window of the fair share, in seconds: half a window's worth of round trips."""
    window = rate * rtt / 8 / 1500 / max(1, flows)
    return min(window / 2, 200) * rtt if flows else 0.0


def _round_up(seconds: float) -> float:
    """Round up to the next of 1, 1.5, 2, 3, 5, 8 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(seconds))
    return next(factor * power for factor in (1, 1.5, 2, 3, 5, 8, 10) if factor * power >= seconds * (1 - 1e-9))


def _round_finely(seconds: float) -> float:
    """Round up to two significant digits."""
    unit = 10.0 ** (math.floor(math.log10(seconds)) - 1)
    return math.ceil(seconds / unit * (1 - 1e-9)) * unit


def _time(seconds: float) -> str:
    return f"{seconds:.9g}s" if seconds >= 1 else f"{seconds * 1e3:.9g}ms"


def _loss(wishes: Wishes, rate: float, rtt: float) -> str:
    """The limit on lost packets: 1 %, or the higher share that many flows on a small link lose at least.

    A flow with a window of W packets loses a share of about 1.5 / W^2 (Mathis et al. 1997). The window is that with a
    full buffer of one bandwidth-delay product.
    """
    if not wishes.long:
        return "0.5%"
    window = 2 * rate * rtt / (8 * packet_bytes(wishes.packet)) / wishes.long
    needed = 2 * 1.5 / max(window, 1.0) ** 2
    return next((f"{100 * share:g}%" for share in (0.01, 0.02, 0.05, 0.1) if share >= needed), "20%")


def _goal(wishes: Wishes, rate: float, rtt: float) -> list[str]:
    goals, comments = list(wishes.goals), {}
    if not goals:
        if wishes.long:
            goals.append("utilization>=95%")
        limit = _loss(wishes, rate, rtt)
        goals.append(f"loss_rate<={limit}")
        comments["loss_rate"] = f"  # this queue drops at most {limit.replace('%', ' %')} of all packets"
        if wishes.background:
            goals.append("background.loss_rate<=1%")
        if wishes.video:
            goals.append("video.loss_rate<=1%")
        goals.append(f"queue_delay_p99<={exactly(duration(_round_up(max(rtt, 0.002)))).replace(' ', '')}")
    lines = ['[goal]  # requirements for the buffer; any metric of the report, or "group.metric" for a group']
    bounds: dict[str, list[str]] = {}
    for goal in goals:
        _, sense, threshold = split_goal(goal)
        bounds.setdefault(metric_of_goal(goal), []).append(f'"{sense} {threshold}"')
    for name, texts in bounds.items():
        several = f"[{', '.join(texts)}]"
        lines.append(f'"{name}" = {several if len(texts) > 1 else texts[0]}{comments.get(name, "")}')
    return [*lines, ""]

"""A household behind the emulated link: the time that a page takes to load beside an upload, by the upload's buffer.

Chromium, curl and a web server really run (`forebay emulate`), and so does the upload; only the links between them are
simulated.

``python -m checks.home_link`` measures, and writes a picture, a file of figures and the table of the manual.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from checks import home_programs
from checks.pages import print_or_write
from forebay.errors import ForebayError
from forebay.measurement.emulation import stand_in
from forebay.measurement.programs import Emulation, Side, end
from forebay.results.serialization import to_jsonable
from forebay.scenario import Scenario
from forebay.storage.files import write_atomically
from forebay.text import formatting

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["HOME", "SETTINGS", "Measured", "Setting", "draw", "main", "measure", "read", "table", "together"]

HOME = """\
title = "A home: 50 Mb/s down, 10 Mb/s up"

[[links]]
name   = "up"
rate   = "10Mbps"
buffer = "200ms"
target = true

[[links]]
name   = "down"
rate   = "50Mbps"
buffer = "50ms"

[[flows]]                  # users at home: their uploads cross `up`, their downloads `down`
name    = "home"
rtt     = "20ms"
path    = ["up"]
reverse = ["down"]

[[flows]]                  # an endless upload
name    = "upload"
stack   = "linux"
rtt     = "20ms"
path    = ["up"]
reverse = ["down"]

[run]
warmup  = "5s"
measure = "60s"
"""

#: Until an upload has filled a buffer of 200 ms, and slow start is over.
BEFORE_S = 6.0
#: Bytes of the file that curl fetches.
FILE_BYTES = 1_000_000
#: Longest load before the measurement stops with an error, in seconds.
MOST_S = 40.0
#: Marks around the table in the manual.
MARKS = ("<!-- home: begin -->", "<!-- home: end -->")


@dataclass(frozen=True, slots=True)
class Setting:
    """A buffer of the upload's link, and whether there is an upload."""

    name: str
    changes: tuple[str, ...]
    upload: bool


SETTINGS = (
    Setting("no upload, 5 ms", ("link.buffer=5ms",), upload=False),
    Setting("no upload, 200 ms", ("link.buffer=200ms",), upload=False),
    Setting("upload, 5 ms", ("link.buffer=5ms",), upload=True),
    Setting("upload, 200 ms", ("link.buffer=200ms",), upload=True),
    Setting("upload, 200 ms with fq_codel", ("link.buffer=200ms", "link.queue=fq_codel"), upload=True),
)


@dataclass(frozen=True, slots=True)
class Measured:
    """The measurements of a setting.

    Attributes
    ----------
    name : str
        Name of the setting.
    loads, fetches : tuple of float
        Time of each load of the page and of each fetch of the file, in seconds.
    goodput_bps : float
        Goodput of the upload; 0 if there is none.
    delay_p50_s, delay_p99_s : float
        Median and 99th percentile of the packets' wait for the uplink, in seconds.
    late_s : float
        Lateness of the packets due to the machine and not to the link, 99.9th percentile, in seconds.
    """

    name: str
    loads: tuple[float, ...]
    fetches: tuple[float, ...]
    goodput_bps: float
    delay_p50_s: float
    delay_p99_s: float
    late_s: float


def measure(setting: Setting, times: int, seed: int = 1) -> Measured:
    """Load the page and fetch the file `times` times, one after the other."""
    scenario = Scenario.parse(HOME).changed(*setting.changes)
    emulation = Emulation(stand_in(scenario, "home", ("upload",) if setting.upload else ()), seed)
    try:
        # The browser has just started at the first load, which is left out.
        loads, fetches = _fetch_times(emulation, times + 1)
    except BaseException:
        emulation.finish()
        raise
    report = emulation.finish()
    sent = [group.metrics["goodput_bps"].mean for group in report.groups if group.name == "upload"]
    waits = [report.metrics[f"queue_delay_{quantile}_s"].mean for quantile in ("p50", "p99")]
    late = 0.0 if report.cost.lateness is None else report.cost.lateness.p999_s
    return Measured(setting.name, tuple(loads[1:]), tuple(fetches), sum(sent), waits[0], waits[1], late)


def _fetch_times(emulation: Emulation, loads: int) -> tuple[list[float], list[float]]:
    """The times of the loads and of one fetch less, in seconds."""
    script = [sys.executable, "-I", home_programs.__file__]
    before = emulation.listening(Side.RECEIVER)
    server = emulation.start(Side.RECEIVER, [*script, "serve", str(loads)], reads=False, writes=False)
    with tempfile.TemporaryDirectory() as folder:
        if not emulation.await_listener(Side.RECEIVER, server, before, MOST_S):
            raise ForebayError("the server of the check does not listen")
        time.sleep(BEFORE_S)
        found = []
        for number, asking in enumerate((["browse"], ["fetch"])):
            out = Path(folder) / str(number)
            more = [] if asking == ["browse"] else [str(FILE_BYTES), str(loads - 1)]
            program = emulation.start(Side.SENDER, [*script, *asking, "{peer}", str(out), *more], reads=False)
            if emulation.wait(program, MOST_S * loads) != 0:
                end(program)
                raise ForebayError(f"`{asking[0]}` of the check has failed")
            found.append(json.loads(out.read_text(encoding="utf-8")))
        end(server)
    return found[0], found[1]


# Files and tables --------------------------------------------------------------------------------------------------


def read(path: Path) -> list[Measured]:
    """Read a file of figures."""
    found: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return [
        Measured(**{**each, "loads": tuple(each["loads"]), "fetches": tuple(each["fetches"])})
        for each in found["settings"]
    ]


def table(measured: Sequence[Measured]) -> list[str]:
    """The lines of the manual's table."""
    head = (
        "upload, buffer of the uplink",
        "page load: median",
        "range",
        "1 MB with curl",
        "goodput of the upload",
        "uplink delay: median",
        "p99",
    )
    return formatting.markdown_table(head, [_row(each) for each in measured])


def _row(found: Measured) -> tuple[str, ...]:
    return (
        found.name,
        formatting.duration(median(found.loads)),
        f"{formatting.duration(min(found.loads))} to {formatting.duration(max(found.loads))}",
        formatting.duration(median(found.fetches)),
        formatting.bandwidth(found.goodput_bps) if found.goodput_bps else "–",
        formatting.duration(found.delay_p50_s),
        formatting.duration(found.delay_p99_s),
    )


def draw(measured: Sequence[Measured]) -> Figure:
    """Every load as a dot, and the median of each setting."""
    from forebay.views import canvas
    from forebay.views.chart import PALETTE
    from forebay.views.headline import Headline

    heading = Headline(
        "How long a web page takes to load at home, by the buffer in front of the link up",
        f"10 Mb/s up · 50 Mb/s down · 20 ms there and back · Chromium, {home_programs.OBJECTS} objects of "
        f"{home_programs.OBJECT_BYTES // 1000} kB · a dot for each load, a bar to their median",
    )
    panel = 0.52 * len(measured)
    made = canvas.picture(8.6, canvas.head_height(heading, 8.6) + panel + 0.75)
    canvas.head(made, heading)
    with canvas.style():
        axis = made.subplots()
    for place, found in enumerate(reversed(measured)):
        color = PALETTE[_hue(found)]
        half = median(found.loads)
        axis.barh(place, half, height=0.62, color=color, alpha=0.28, zorder=2)
        spread = [place + 0.4 * ((number % 5) - 2) / 5 for number in range(len(found.loads))]
        axis.plot(found.loads, spread, "o", color=color, markersize=4, zorder=3)
        text = f"median {formatting.duration(half)}"
        axis.text(max(found.loads) + 0.06, place, text, va="center", fontsize=9, weight="bold")
    axis.set_yticks(range(len(measured)), [found.name.replace(", ", ",\nbuffer of ") for found in reversed(measured)])
    axis.set_xlim(0, 1.2 * max(max(found.loads) for found in measured))
    axis.set_xlabel("seconds from the click until the page is complete")
    axis.grid(visible=False, axis="y")
    axis.tick_params(axis="y", length=0)
    return made


def _hue(found: Measured) -> int:
    """No upload, an upload in a large buffer, an upload that does no harm."""
    if not found.goodput_bps:
        return 0
    return 1 if found.name == "upload, 200 ms" else 2


def together(rounds: Sequence[Measured]) -> Measured:
    """Several measurements of one setting as one: all loads and fetches, medians, and the largest lateness."""
    first = rounds[0]
    return Measured(
        first.name,
        tuple(seconds for each in rounds for seconds in each.loads),
        tuple(seconds for each in rounds for seconds in each.fetches),
        median(each.goodput_bps for each in rounds),
        median(each.delay_p50_s for each in rounds),
        median(each.delay_p99_s for each in rounds),
        max(each.late_s for each in rounds),
    )


def _measured(rounds: int, times: int) -> list[Measured]:
    """Measure all settings in turns, so that a busy time of the machine affects each of them."""
    found: dict[str, list[Measured]] = {setting.name: [] for setting in SETTINGS}
    for number in range(rounds):
        for setting in SETTINGS:
            found[setting.name].append(measure(setting, times, seed=number + 1))
            last = found[setting.name][-1]
            print(" | ".join(_row(last)), f"| late {formatting.duration(last.late_s)}", flush=True)
    return [together(each) for each in found.values()]


def main() -> None:
    """Measure, and write the table, the picture and the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="measurements of each setting")
    parser.add_argument("--times", type=int, default=5, help="loads of the page and fetches of the file in each")
    parser.add_argument("--docs", type=Path, default=Path("docs"), help="the folder of the manual")
    parser.add_argument("--draw", action="store_true", help="only draw anew what is in the file of figures")
    options = parser.parse_args()
    figures = options.docs / "data" / "home-link.json"
    if not options.draw:
        for program in ("chromium", "curl"):
            if shutil.which(program) is None:
                sys.exit(f"forebay: found no `{program}`; it is what is measured")
        try:
            found = _measured(options.rounds, options.times)
        except ForebayError as error:
            sys.exit(f"forebay: {error}")
        write_atomically(figures, json.dumps({"settings": to_jsonable(found)}, indent=1) + "\n")
    from forebay.views.plots import save

    measured = read(figures)
    save(draw(measured), options.docs / "images" / "home-link.png")
    print_or_write("\n".join(table(measured)) + "\n", options.docs / "guides" / "emulate.md", MARKS)


if __name__ == "__main__":
    main()

"""`recommend`: find the smallest buffer that meets the goals; print it, draw it, and configure routers for it.

The exit code is the verdict: 0 met, 1 impossible, 3 undecided.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from forebay.commands.drawing import ResultFiles
from forebay.commands.estimate import announced
from forebay.commands.interrupting import continued
from forebay.commands.missing import ASSUME_LOWER_BOUNDS, with_bounds
from forebay.commands.options import (
    ALLOW_CODE,
    AS_JSON,
    FILE,
    JITTER,
    JOBS,
    MEASURED_BY,
    MEMORY,
    NO_PICTURE,
    PICTURE,
    REPLICATIONS,
    RESULTS_OUT,
    SCHEDULER,
    SET,
    fresh,
    goals,
    within,
)
from forebay.commands.sources import source
from forebay.commands.streams import print_note, say, say_json
from forebay.commands.terminal import afterwards, progress_bar, show, writing
from forebay.commands.values import ACCESS, PLATFORM, OutputFile, Share
from forebay.commands.verb import verb
from forebay.errors import InputError
from forebay.storage.files import write_atomically

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from forebay.scenario import Progress, Scenario
    from forebay.search.answer import Recommendation
    from forebay.search.answer_parts import Verdict
    from forebay.search.class_answer import ClassSizing
    from forebay.search.feasible import FeasibleMap
    from forebay.search.port_answer import PortSizing

__all__ = ["EXITS", "recommend"]

Sized = TypeVar("Sized", "ClassSizing", "PortSizing")

#: The exit code of each verdict.
EXITS: dict[Verdict, int] = {"met": 0, "impossible": 1, "undecided": 3}


@verb(
    ("recommend link.toml", "Find the smallest buffer that meets the scenario's goals:"),
    (
        "recommend link.toml --over link.queue.threshold=5p..500p",
        "Find the smallest marking threshold instead:",
    ),
    (
        "recommend link.toml --goal 'utilization>=98%' --for linux",
        "Require a higher utilization, and print the configuration of a Linux router:",
    ),
    ("recommend port.toml --classes", "Size the buffers of all classes of a port together:"),
    ("recommend lossless.toml", "Size headroom, xoff, K, alpha and pool of a lossless port together:"),
    ("recommend link.toml --quick", "Get a quick answer:"),
    ("recommend link.toml --report answer.html", "Write a shareable page:"),
    ("recommend link.toml --picture answer.png", "Write only the picture:"),
    refusal="No buffer meets all goals. The answer says which buffer each goal needs.",
    codes={
        0: "A buffer meets all goals.",
        3: "Undecided: the runs neither confirm a buffer nor exclude all buffers. The answer names the range.",
    },
    heavy=True,
    groups={
        "Goals": ("--goal", "--minimize", "--maximize", "--fraction", "--largest"),
        "Search": ("--over", "--classes", "--also", "--confidence", "--resolution", "--set", "--assume-lower-bounds"),
        "Simulation": ("--engine", "--replications", "--quick", "--within", "--jitter", "--fresh"),
        "Further results": ("--sensitivity", "--pareto"),
        "Router configuration": ("--for", "--access", "--download", "--upload"),
    },
)
@FILE
@goals("Meet")
@SET
@ALLOW_CODE
@click.option(
    "--also", multiple=True, metavar="BUFFER", help="Also simulate this buffer: 20p or 0.5BDP. May be repeated."
)
@MEASURED_BY
@click.option(
    "--confidence",
    type=Share(),
    default="95%",
    show_default=True,
    help="Confirm all goals with this one-sided confidence.",
)
@click.option(
    "--resolution",
    type=Share(),
    default="5%",
    show_default=True,
    help="Relative accuracy of the buffer, if noise permits it.",
)
@REPLICATIONS
@RESULTS_OUT
@PICTURE
@NO_PICTURE
@click.option(
    "--report",
    "report_to",
    type=OutputFile(".html", ".htm"),
    metavar="FILE.html",
    help="Write a page with interactive pictures: one file, printable on A4.",
)
@click.option(
    "--for",
    "platforms",
    multiple=True,
    type=PLATFORM,
    metavar="PLATFORM",
    help="Also print the configuration for this platform, such as linux, junos or ios-xr. May be repeated.",
)
@click.option(
    "--access",
    type=ACCESS,
    metavar="KIND",
    help="Shape below the rate of this access line, with its framing, on Linux and OpenWrt: docsis, ethernet or "
    "pppoe-ptm+vlan.",
)
@click.option(
    "--download",
    metavar="RATE",
    help="Rate of the download, to shape it too, if the simulated link is the upload.",
)
@click.option(
    "--upload",
    metavar="RATE",
    help="Rate of the upload, to shape it too, if the simulated link is the download.",
)
@click.option(
    "--fraction",
    type=Share(),
    help="Meet all goals in this share of the replications, as in 90%, instead of on average.",
)
@click.option(
    "--quick",
    is_flag=True,
    help="Run few replications: at most 80 % confidence and a wider interval.",
)
@within("the best answer")
@click.option(
    "--sensitivity", is_flag=True, help="Search again with flows, round trips and load changed by -20 % and +20 %."
)
@click.option(
    "--pareto",
    metavar="A,B",
    help="Also list the Pareto-optimal buffers for two metrics: utilization,queue_delay_p99.",
)
@click.option(
    "--over",
    multiple=True,
    metavar="KEY[=VALUES]",
    default=("link.buffer",),
    show_default=True,
    help="Search this buffer, such as link.queue.classes.voice.buffer. With a range, as in "
    "link.queue.threshold=5p..500p, search another key. With a list, as in link.queue=droptail,codel, find the best "
    "value. With two ranges, map where all goals are met.",
)
@click.option(
    "--classes",
    is_flag=True,
    help="Size the buffers of all classes of the target link together.",
)
@click.option(
    "--minimize",
    metavar="METRIC",
    help="Among the buffers that meet the goals, find the one with the lowest value of this metric.",
)
@click.option(
    "--maximize",
    metavar="METRIC",
    help="As --minimize, with the highest value of this metric.",
)
@ASSUME_LOWER_BOUNDS
@click.option("--largest", is_flag=True, help="Find the largest value that meets the goals, not the smallest.")
@JITTER
@fresh("search")
@click.option("--verbose", is_flag=True, help="Also print unsuitable rules, all metrics and the search.")
@JOBS
@SCHEDULER
@MEMORY
@AS_JSON
def recommend(
    file: Path,
    overrides: tuple[str, ...],
    out: Path | None,
    picture: Path | None,
    report_to: Path | None,
    fresh: bool,
    verbose: bool,
    as_json: bool,
    classes: bool,
    assume_lower_bounds: bool,
    **options: Any,
) -> None:
    """Find the smallest buffer that meets the goals.

    FILE is a scenario in TOML or JSON, - is standard input, and @NAME is a scenario of forebay. The answer compares the
    buffer with published sizing rules. For a link with `pfc`, or with a class that has it, the answer is headroom,
    xoff, K, alpha and pool, and the buffers of the other classes.
    """
    from forebay.fabric.simulated_headroom import is_lossless
    from forebay.scenario import TARGET
    from forebay.search.recommendation import recommend as find
    from forebay.search.resumption import cache_directory
    from forebay.search.unmeasured import of_bounds, resting_on, without_configured

    given = source(file)
    varied = [text.partition("=")[0].strip() for text in _varied(options["over"])] or [TARGET]
    scenario, taken, begun = with_bounds(
        given, overrides, assume=assume_lower_bounds, varied=TARGET in varied and not classes
    )
    if taken and (classes or len(_varied(options["over"])) > 1):
        raise InputError(
            "cannot be combined with --assume-lower-bounds; allowed: one of them", "classes" if classes else "over"
        )
    is_port = is_lossless(scenario.resolved)
    if classes and not is_port:
        _size_classes(scenario, options, fresh=fresh, as_json=as_json, verbose=verbose)
        return
    if is_port and (classes or _is_default("over")):
        _size_port(scenario, options, fresh=fresh, as_json=as_json, verbose=verbose)
        return
    if len(_varied(options["over"])) > 1:
        files = ResultFiles(f"{given.stem}-map", out, picture)
        _map(scenario, files, options, fresh=fresh, as_json=as_json)
        return
    front = [f"{given.stem}-pareto"] if options["pareto"] is not None else []
    files = ResultFiles(f"{given.stem}-recommendation", out, picture, others=front)
    each_s = _each_s(scenario, options["engine"], quick=options["quick"])
    with continued(is_stored=not fresh), progress_bar("simulating", quiet=as_json, each_s=each_s) as progress:
        # The remaining options have the same names as the function's parameters.
        answer = find(
            scenario,
            progress=progress if as_json else _announced(progress, scenario, options),
            resume=None if fresh else cache_directory() / "recommend",
            tell=print_note,
            known=None if progress is None else progress.say,
            **options,
        )
    answer = resting_on(without_configured(answer) if begun else answer, of_bounds(taken))
    written: list[Path] = []
    with afterwards(lambda: _print_answer(answer, written, as_json=as_json, verbose=verbose)):
        written += _write_files(answer, files, front)
        if report_to is not None:
            _write_page(answer, report_to, given.text)
            written.append(report_to)
    _leave(_exit_code(answer))


def _exit_code(answer: Recommendation) -> int:
    """The exit code of the verdict; without a feasible buffer it is 1, because "met" is also the default."""
    return 1 if answer.verdict == "met" and not answer.feasible else EXITS[answer.verdict]


def _leave(code: int) -> None:
    """End with an exit code other than 0; return if the code is 0."""
    if code:
        sys.exit(code)


def _announced(
    progress: Progress | None, scenario: Scenario, options: dict[str, Any], searches: float | None = None
) -> Progress | None:
    """Progress that prints an estimate of the search's duration; unchanged if a cluster does the work.

    Parameters
    ----------
    progress : callable or None
        Progress callback that receives all calls, too.
    scenario : Scenario
        Scenario of the search.
    options : dict
        Options of the command.
    searches : float, optional
        Number of searches as long as the first one; some of their runs are made before the estimate.
    """
    from forebay.search.shorter_runs import ShorterRuns

    looked = ShorterRuns(scenario).quick if options["quick"] else scenario
    if searches is None:
        return announced(progress, looked, options)
    return announced(progress, looked, options, lambda runs: round(searches * runs), measured=True)


def _searches(scenario: Scenario, *, quick: bool) -> float:
    """Approximate number of searches of one class that the sizes of all classes take."""
    target = next(link for link in scenario.resolved["links"] if link["target"])
    return SEARCHES_PER_CLASS[quick] * max(1, len(target["queue"].get("classes", ())))


def _each_s(scenario: Scenario, engine: str, *, quick: bool) -> float | None:
    """Duration of each replication in seconds for an engine in real time; None for other engines."""
    from forebay.engines import in_real_time, run_s
    from forebay.search.shorter_runs import ShorterRuns

    return run_s((ShorterRuns(scenario).quick if quick else scenario).core) if in_real_time(engine) else None


def _varied(over: Iterable[str]) -> list[str]:
    """The varied keys, without those that choose from a list of words."""
    from forebay.search.choice import choice

    return [text for text in over if choice(text) is None]


#: Searches as long as the first one, for each class: of a whole sizing, and of a quick one. On three ports a whole
#: sizing took 2 to 5, and a quick one 1.2 to 3.2.
SEARCHES_PER_CLASS = (3.0, 1.5)
#: Searches as long as the first one, of a lossless port: of xoff, alpha and the pool, and the runs of K.
SEARCHES_PER_PORT = 3.0
#: The options that `--classes` accepts, and a lossless port.
OF_CLASSES = frozenset(
    {
        "goals",
        "engine",
        "confidence",
        "resolution",
        "quick",
        "within",
        "platforms",
        "access",
        "download",
        "upload",
        "jitter",
        "jobs",
        "scheduler",
    }
)


def _is_default(option: str) -> bool:
    """Whether the user did not give an option."""
    return click.get_current_context().get_parameter_source(option) is ParameterSource.DEFAULT


def _size_classes(scenario: Scenario, options: dict[str, Any], **how: bool) -> None:
    """Size the buffers of all classes together, and print the answer."""
    from forebay.search.class_sizing import size_classes
    from forebay.views.class_sizing_text import class_sizing_text

    searches = _searches(scenario, quick=options["quick"])
    answer = _sized_together(size_classes, scenario, options, "--classes", searches, **how)
    if not how["as_json"]:
        show(class_sizing_text(answer, everything=how["verbose"]))
    _leave(EXITS[answer.verdict])


def _size_port(scenario: Scenario, options: dict[str, Any], **how: bool) -> None:
    """Size headroom, xoff, K, alpha and pool of a lossless port together, and print the answer."""
    from forebay.search.port_sizing import size_port
    from forebay.views.port_sizing_text import port_sizing_text

    answer = _sized_together(size_port, scenario, options, "a lossless port", SEARCHES_PER_PORT, **how)
    if not how["as_json"]:
        show(port_sizing_text(answer, everything=how["verbose"]))
    _leave(EXITS[answer.verdict])


def _sized_together(
    size: Callable[..., Sized], scenario: Scenario, options: dict[str, Any], what: str, searches: float, **how: bool
) -> Sized:
    """Size several values together; print the answer if it is JSON.

    Parameters
    ----------
    size : callable
        `size_classes` or `size_port`.
    scenario : Scenario
        Scenario of the sizing.
    options : dict
        Options of the command.
    what : str
        What is sized, for an error.
    searches : float
        Approximate number of searches.
    """
    from forebay.search.resumption import cache_directory

    for name in (*options, "out", "picture", "report_to"):
        if name not in OF_CLASSES and not _is_default(name):
            raise InputError(f"cannot be combined with {what}; allowed: one of them", name)
    each_s = _each_s(scenario, options["engine"], quick=options["quick"])
    with (
        continued(is_stored=not how["fresh"]),
        progress_bar("simulating", quiet=how["as_json"], each_s=each_s) as progress,
    ):
        answer = size(
            scenario,
            progress=progress if how["as_json"] else _announced(progress, scenario, options, searches=searches),
            resume=None if how["fresh"] else cache_directory() / "recommend",
            tell=print_note,
            known=None if progress is None else progress.say,
            **{name: options[name] for name in OF_CLASSES},
        )
    if how["as_json"]:
        say_json(answer.to_json(indent=2))
    return answer


#: The options that a map accepts besides its two keys.
OF_MAPS = frozenset({"goals", "over", "engine", "jobs"})


def _map(scenario: Scenario, files: ResultFiles, options: dict[str, Any], **how: bool) -> None:
    """Map the region of two keys in which all goals hold."""
    from forebay.search.resumption import cache_directory
    from forebay.search.surveying import feasible_map

    context = click.get_current_context()
    for name in (*options, "report_to"):
        if name not in OF_MAPS and context.get_parameter_source(name) is not ParameterSource.DEFAULT:
            raise InputError("cannot be combined with two --over; allowed: one --over, or a map without it", name)
    with continued(is_stored=not how["fresh"]), progress_bar("simulating", quiet=how["as_json"]) as progress:
        found = feasible_map(
            scenario,
            progress=progress,
            resume=None if how["fresh"] else cache_directory() / "recommend",
            tell=print_note,
            **{name: options[name] for name in OF_MAPS},
        )

    def draw() -> Figure:
        from forebay.views.map_picture import draw_map

        return draw_map(found)

    written: list[Path] = []
    with afterwards(lambda: _print_map(found, written, as_json=how["as_json"])):
        written += files.write(draw, lambda: found.to_json(indent=2))
    _leave(0 if found.feasible else 3 if found.count("unclear") else 1)


def _print_map(found: FeasibleMap, written: list[Path], *, as_json: bool) -> None:
    """Print the map and the written files, or only JSON."""
    if as_json:
        say_json(found.to_json(indent=2))
        return
    from forebay.views.map_text import map_text

    show(map_text(found))
    for path in written:
        say(f"wrote {path}")


def _write_files(answer: Recommendation, files: ResultFiles, front: list[str]) -> list[Path]:
    """Write the files that the options ask for; the trade-off is a separate picture."""

    def draw() -> Figure:
        from forebay.views.plots import draw_recommendation

        return draw_recommendation(answer)

    def draw_trade_off() -> Figure:
        from forebay.views.plots import draw_front

        return draw_front(answer)

    return files.write(draw, lambda: answer.to_json(indent=2), dict.fromkeys(front, draw_trade_off))


def _write_page(answer: Recommendation, path: Path, source: str) -> None:
    """Write the shareable page, with the scenario's text and the command line."""
    from forebay.views.webpage import recommendation_page

    page = recommendation_page(answer, source=source, command=shlex.join(["forebay", *sys.argv[1:]]))
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, page)


def _print_answer(answer: Recommendation, written: list[Path], *, as_json: bool, verbose: bool) -> None:
    """Print the answer and the written files, or only JSON."""
    if as_json:
        say_json(answer.to_json(indent=2))
        return
    from forebay.views.recommendation_text import Detail, recommendation_text

    show(recommendation_text(answer, Detail.EVERYTHING if verbose else Detail.ANSWER))
    for path in written:
        say(f"wrote {path}")

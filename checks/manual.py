"""`make manual`: the figures of the manual that simulations give, from the scenarios that come with forebay.

`recommend` answers every scenario, the cheapest first. The answers are stored in a file of figures, from which the
tables of `docs/background/recommend-method.md` and `docs/reference/rules.md` are made. An interrupted run continues: it
answers only the scenarios that are new or changed.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from checks import pages
from checks.programs import exit_code
from forebay.errors import InputError
from forebay.inputs.goals import parts_of_key
from forebay.results.metric import find
from forebay.results.report import BufferSize
from forebay.results.serialization import to_jsonable
from forebay.search.answer import Recommendation
from forebay.search.rule_verdict import Miss
from forebay.storage.files import write_atomically
from forebay.text import formatting

__all__ = [
    "Figures",
    "RuleFigures",
    "answers_table",
    "main",
    "measure",
    "read_figures",
    "renewed",
    "rules_table",
    "sized",
]

#: Marks around the tables of answers and of rules.
ANSWERS = ("<!-- answers: begin -->", "<!-- answers: end -->")
RULES = ("<!-- accuracy: begin -->", "<!-- accuracy: end -->")

#: CPU seconds up to which a scenario is cheap; a quick run includes only cheap ones.
CHEAP_S = 20.0


@dataclass(frozen=True, slots=True)
class RuleFigures:
    """The accuracy of one rule in one scenario; `packets` is None if the rule gave no buffer."""

    name: str
    packets: int | None
    applies: bool
    share: float
    simulated: bool
    miss: Miss | None
    times: float | None


@dataclass(frozen=True, slots=True)
class Figures:
    """The answer of `recommend` to one scenario.

    Attributes
    ----------
    name : str
        Name of the scenario's file.
    sha256 : str
        Digest of the scenario.
    packets, seconds : float or None
        The buffer; None if no buffer meets the goals.
    replications : int
        Number of replications of the search.
    cpu_s : float
        CPU time of the search, in seconds.
    rules : tuple of RuleFigures
        Rules in the order of the catalog.
    """

    name: str
    sha256: str
    packets: float | None
    seconds: float | None
    replications: int
    cpu_s: float
    rules: tuple[RuleFigures, ...]


def figures_of(name: str, answer: Recommendation) -> Figures:
    """The figures that the manual states of an answer."""
    buffer = answer.buffer if isinstance(answer.buffer, BufferSize) else None
    return Figures(
        name,
        answer.scenario.core.sha256,
        None if buffer is None else buffer.packets,
        None if buffer is None else buffer.seconds,
        answer.cost.replications,
        round(answer.cost.cpu_s, 1),
        tuple(
            RuleFigures(
                rule.name,
                None if rule.buffer is None else round(rule.buffer.number),
                rule.applies,
                rule.share,
                rule.rule_verdict.simulated,
                rule.rule_verdict.miss,
                rule.rule_verdict.times,
            )
            for rule in answer.rules
        ),
    )


def measure(path: Path, jobs: int | None = None) -> Figures:
    """Ask for the buffer of one scenario, with the goals of its file."""
    from forebay.scenario import Scenario
    from forebay.search.recommendation import recommend

    return figures_of(path.stem, recommend(Scenario.load(path), jobs=jobs))


# The file of figures -----------------------------------------------------------------------------------------------


def read_figures(path: Path) -> dict[str, Figures]:
    """The figures by scenario; none if the file does not exist yet."""
    if not path.exists():
        return {}
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        return {each["name"]: _figures(each) for each in found}
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path}: not a file of figures ({error}); remove it and run `make manual`") from None


def _figures(found: Mapping[str, Any]) -> Figures:
    rules = (
        RuleFigures(**{**each, "miss": None if each["miss"] is None else Miss(**each["miss"])})
        for each in found["rules"]
    )
    return Figures(**{**found, "rules": tuple(rules)})


def write_figures(path: Path, figures: Mapping[str, Figures]) -> None:
    """Write the figures, the cheapest scenario first."""
    text = json.dumps(to_jsonable(sorted(figures.values(), key=_cost)), indent=1, ensure_ascii=False)
    write_atomically(path, text + "\n")


def _cost(figures: Figures) -> tuple[float, str]:
    return figures.cpu_s, figures.name


# The tables --------------------------------------------------------------------------------------------------------


def answers_table(figures: Iterable[Figures], names: Iterable[str] = ()) -> str:
    """The answer to each scenario, and its cost; last the names without figures."""
    known = sorted(figures, key=_cost)
    rows = [(f"`{each.name}`", _buffer(each), str(each.replications), f"{each.cpu_s:.1f}") for each in known]
    missing = sorted(set(names) - {each.name for each in known})
    rows += [(f"`{name}`", f"not measured yet: `make manual ONLY={name}`", "", "") for name in missing]
    return "\n".join(formatting.markdown_table(("scenario", "buffer", "replications", "CPU s"), rows))


def _buffer(figures: Figures) -> str:
    if figures.packets is None or figures.seconds is None:
        return "none meets the goals"
    noun = "packet" if figures.packets == 1 else "packets"
    return f"{figures.packets:.0f} {noun} = {formatting.duration(figures.seconds)}"


def rules_table(figures: Sequence[Figures]) -> str:
    """How often each rule applied, how often its buffer met every goal then, and how far off it was otherwise."""
    names = dict.fromkeys(rule.name for each in figures for rule in each.rules)
    head = ("rule", f"applies in (of {len(figures)})", "meets every goal", "misses a goal")
    return "\n".join(formatting.markdown_table(head, (_rule_row(name, figures) for name in names)))


def _rule_row(name: str, figures: Sequence[Figures]) -> tuple[str, str, str, str]:
    applying = [rule for each in figures for rule in each.rules if rule.name == name and rule.applies]
    if not applying:
        return f"`{name}`", "–", "", ""
    met = [rule.times for rule in applying if rule.simulated and rule.miss is None]
    times = sorted(time for time in met if time is not None)
    missed = [rule.miss for rule in applying if rule.miss is not None]
    silent = sum(not rule.simulated for rule in applying)
    with_all, missing = "", []
    if met:
        larger = f", with {_range(f'{times[0]:.1f}', f'{times[-1]:.1f}')} x the recommendation" if times else ""
        with_all = f"{len(met)}{larger}"
    if missed:
        missing.append(f"{len(missed)}: {'; '.join(_by_metric(missed))}")
    if silent:
        missing.append(f"not simulated in {silent}")
    return f"`{name}`", str(len(applying)), with_all, "; ".join(missing)


def _by_metric(misses: Iterable[Miss]) -> Iterator[str]:
    """The misses of each metric in words, from the smallest to the largest."""
    grouped: dict[tuple[str, str], list[Miss]] = {}
    for miss in misses:
        metric = parts_of_key(miss.goal)[0].rpartition(".")[2]
        known = find(metric)
        grouped.setdefault((metric if known is None else known.goal_name, miss.unit), []).append(miss)
    for (metric, _), found in sorted(grouped.items()):
        least, most = min(found, key=_by), max(found, key=_by)
        yield f"{formatting.metric_title(metric)} by {_range(least.words, most.words)}"


def _by(miss: Miss) -> float:
    return miss.by


def _range(low: str, high: str) -> str:
    """One thing, or two with their unit once: "0.3 to 30 points"."""
    if low == high:
        return low
    number, _, unit = low.partition(" ")
    return f"{number} to {high}" if high.endswith(unit) or not unit else f"{low} to {high}"


def renewed(docs: Path, figures: Mapping[str, Figures], names: Iterable[str]) -> dict[Path, str]:
    """The pages of the manual with the tables of these figures, of the scenarios with these names.

    Raises
    ------
    InputError
        A page without the marks.
    """
    found = sorted(figures.values(), key=_cost)
    answers = pages.renewed(docs / "background" / "recommend-method.md", {ANSWERS: answers_table(found, names)})
    return answers | pages.renewed(docs / "reference" / "rules.md", {RULES: rules_table(found)})


# The command -------------------------------------------------------------------------------------------------------


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure the requested scenarios; write the figures after each scenario, and the pages at the end."""
    parser = argparse.ArgumentParser(prog="make manual", description=__doc__)
    parser.add_argument("scenarios", type=Path, help="the folder of scenarios")
    parser.add_argument("docs", type=Path, help="the folder of the manual")
    parser.add_argument("--only", default="", help="comma-separated names, as in dsl-access,cellular")
    parser.add_argument("--quick", action="store_true", help="only scenarios that are known to be cheap, or not known")
    parser.add_argument("--tables", action="store_true", help="only make the tables again")
    parser.add_argument("--jobs", type=int, default=None)
    options = parser.parse_args(arguments)

    def work() -> int:
        _renew(options)
        return 0

    return exit_code("manual", work, "interrupted; the same command goes on where it stopped")


def sized(scenarios: Path) -> list[Path]:
    """The scenarios of a folder whose buffer `recommend` sizes: `xoff` and `headroom` limit a lossless queue."""
    from forebay.fabric.simulated_headroom import is_lossless
    from forebay.scenario import Scenario

    return [path for path in sorted(scenarios.glob("*.toml")) if not is_lossless(Scenario.load(path).resolved)]


def _renew(options: argparse.Namespace) -> None:
    files = {path.stem: path for path in sized(options.scenarios)}
    if not files:
        raise InputError(f"{options.scenarios}: found no scenarios; allowed: a folder of .toml files")
    path = options.docs / "data" / "recommended.json"
    known = read_figures(path)
    renewed(options.docs, known, files)  # A page without its marks is found out before hours of simulation.
    requested = [name.strip() for name in options.only.split(",") if name.strip()]
    unknown = [name for name in requested if name not in files]
    if unknown:
        raise InputError(f"ONLY: found `{','.join(unknown)}`; allowed: {', '.join(files)}")
    unfinished = options.docs / "data" / "recommended.json.unfinished"
    done = read_figures(unfinished)
    for name in [] if options.tables else _order(requested or files, known, quick=options.quick):
        if name not in done or done[name].sha256 != _sha256(files[name]):
            print(f"manual: {name} ...", file=sys.stderr, flush=True)
            done[name] = measure(files[name], options.jobs)
            write_figures(unfinished, done)
        print(f"{name}: {_buffer(done[name])}, {done[name].cpu_s:.1f} CPU s", flush=True)
    figures = {name: each for name, each in (known | done).items() if name in files}
    write_figures(path, figures)
    pages.write_pages(renewed(options.docs, figures, files))
    unfinished.unlink(missing_ok=True)


def _order(names: Iterable[str], known: Mapping[str, Figures], *, quick: bool) -> list[str]:
    """The cheapest first; those without figures last, or first if only cheap ones are requested."""
    unknown = 0.0 if quick else math.inf
    cost = {name: known[name].cpu_s if name in known else unknown for name in names}
    return sorted((name for name in cost if not quick or cost[name] <= CHEAP_S), key=lambda name: (cost[name], name))


def _sha256(path: Path) -> str:
    from forebay.scenario import Scenario

    return Scenario.load(path).core.sha256


if __name__ == "__main__":
    sys.exit(main())

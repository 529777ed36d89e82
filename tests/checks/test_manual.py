"""The figures of the manual: they are those of the last measurement, and the cheap ones are measured again here."""

from __future__ import annotations

from pathlib import Path

import pytest

from checks.manual import (
    ANSWERS,
    RULES,
    Figures,
    RuleFigures,
    answers_table,
    main,
    measure,
    read_figures,
    renewed,
    rules_table,
    sized,
    write_figures,
)
from forebay.errors import InputError
from forebay.scenario import Scenario
from forebay.search.rule_verdict import Miss
from tests.support.paths import ROOT

DOCS, SCENARIOS = ROOT / "docs", ROOT / "scenarios"
#: Pages with generated tables, below the folder of the manual.
PAGES = ("background/recommend-method.md", "reference/rules.md")

TINY = """
[link]
rate = "10Mbps"
buffer = "20p"
[[flows]]
name = "stream"
packet = "1000B"
workload = { poisson = { rate = "8Mbps" } }
[run]
warmup = "1s"
measure = "4s"
[goal]
loss_rate = "<= 1%"
"""


def test_the_tables_of_the_manual_are_those_of_the_figures() -> None:
    figures = read_figures(DOCS / "data" / "recommended.json")
    names = [path.stem for path in sized(SCENARIOS)]
    pages = renewed(DOCS, figures, names)
    assert {page.name for page in pages} >= {"recommend-method.md", "rules.md"}
    for page, text in pages.items():
        assert page.read_text(encoding="utf-8") == text, f"renew {page.name}: make manual ONLY=..."


def test_figures_are_of_the_scenarios_as_they_are() -> None:
    known = read_figures(DOCS / "data" / "recommended.json")
    assert set(known) == {path.stem for path in sized(SCENARIOS)}
    for name, figures in known.items():
        core = Scenario.load(SCENARIOS / f"{name}.toml").core
        assert figures.sha256 == core.sha256, f"make manual ONLY={name}"


@pytest.mark.parametrize("name", ["dsl-access", "lab-dumbbell"])
def test_a_cheap_scenario_gives_its_figures_again(name: str) -> None:
    known, repeated = read_figures(DOCS / "data" / "recommended.json")[name], measure(SCENARIOS / f"{name}.toml")
    assert (repeated.packets, repeated.replications) == (known.packets, known.replications), f"make manual ONLY={name}"
    for rule, other in zip(repeated.rules, known.rules, strict=True):
        assert (rule.name, rule.packets, rule.applies) == (other.name, other.packets, other.applies)
        assert rule.share == pytest.approx(other.share)
        assert (rule.miss is None) == (other.miss is None)
        if rule.miss is not None and other.miss is not None:
            assert (rule.miss.goal, rule.miss.by) == (other.miss.goal, pytest.approx(other.miss.by))


def _rule(name: str, **what: object) -> RuleFigures:
    values = {"packets": 9, "applies": True, "share": 1.0, "simulated": True, "miss": None, "times": None}
    return RuleFigures(name, **(values | what))  # type: ignore[arg-type]


def test_the_rules_are_counted_over_the_scenarios() -> None:
    def figures(name: str, cost: float, *rules: RuleFigures) -> Figures:
        return Figures(name, "0", 9.0, 0.001, 8, cost, rules)

    never, unfit = _rule("bad", applies=False), _rule("odd", applies=False)
    found = [
        figures("a", 3.0, _rule("good", times=2.93), never, _rule("odd", share=0.6, times=1.0)),
        figures("b", 1.0, _rule("good", times=1.04), never, _rule("odd", simulated=False, packets=None)),
        figures(
            "c",
            2.0,
            _rule("good", miss=Miss("utilization", 30.0, "points")),
            never,
            _rule("odd", miss=Miss("web.queue_delay_p99", 0.0021, "s")),
        ),
        figures("d", 4.0, _rule("good", miss=Miss("utilization", 0.31, "points")), never, unfit),
    ]
    assert rules_table(found).splitlines() == [
        "| rule | applies in (of 4) | meets every goal | misses a goal |",
        "|---|---|---|---|",
        "| `good` | 4 | 2, with 1.0 to 2.9 x the recommendation | 2: utilization by 0.31 to 30 points |",
        "| `bad` | – | | |",
        "| `odd` | 3 | 1, with 1.0 x the recommendation | 1: p99 delay by 2.10 ms; not simulated in 1 |",
    ]
    rows = answers_table(found).splitlines()[2:]
    assert [row.split("`")[1] for row in rows] == ["b", "c", "a", "d"], "the cheapest first"
    assert answers_table(found, ["a", "new"]).splitlines()[-1] == (
        "| `new` | not measured yet: `make manual ONLY=new` | | |"
    )
    assert rows[0] == "| `b` | 9 packets = 1.00 ms | 8 | 1.0 |"


def _manual(folder: Path) -> tuple[Path, Path]:
    docs, scenarios = folder / "docs", folder / "scenarios"
    scenarios.mkdir()
    for folder_of_pages in ("background", "reference", "data"):
        (docs / folder_of_pages).mkdir(parents=True)
    for page, (begin, end) in zip(PAGES, (ANSWERS, RULES), strict=True):
        (docs / page).write_text(f"before\n{begin}\nold\n{end}\nafter\n", encoding="utf-8")
    (scenarios / "tiny.toml").write_text(TINY, encoding="utf-8")
    (scenarios / "other.toml").write_text(TINY.replace("8Mbps", "7Mbps"), encoding="utf-8")
    return docs, scenarios


def test_the_command_writes_the_tables_and_keeps_what_it_did_not_ask(tmp_path: Path) -> None:
    docs, scenarios = _manual(tmp_path)
    assert main([str(scenarios), str(docs), "--only", "tiny"]) == 0
    first = read_figures(docs / "data" / "recommended.json")
    assert list(first) == ["tiny"]
    assert first["tiny"].packets is not None
    assert main([str(scenarios), str(docs), "--only", "other"]) == 0
    both = read_figures(docs / "data" / "recommended.json")
    assert set(both) == {"tiny", "other"}
    assert both["tiny"] == first["tiny"]
    for page in PAGES:
        text = (docs / page).read_text(encoding="utf-8")
        assert text.startswith("before\n")
        assert text.endswith("after\n")
        assert "old" not in text
    assert "`tiny`" in (docs / PAGES[0]).read_text(encoding="utf-8")
    assert "`mm1k`" in (docs / PAGES[1]).read_text(encoding="utf-8")


def test_an_interrupted_run_goes_on_where_it_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    docs, scenarios = _manual(tmp_path)
    messages: list[str] = []

    def interrupted(path: Path, jobs: int | None = None) -> Figures:
        messages.append(path.stem)
        if len(messages) == 2:
            raise KeyboardInterrupt
        return measure(path, jobs)

    monkeypatch.setattr("checks.manual.measure", interrupted)
    assert main([str(scenarios), str(docs)]) == 130
    assert "goes on where it stopped" in capsys.readouterr().err
    assert not (docs / "data" / "recommended.json").exists(), "an unfinished table is no table"
    assert main([str(scenarios), str(docs)]) == 0
    assert messages == ["other", "tiny", "tiny"], "the finished one is not asked again"
    assert set(read_figures(docs / "data" / "recommended.json")) == {"tiny", "other"}
    assert main([str(scenarios), str(docs)]) == 0
    assert len(messages) == 5, "a new run measures everything anew"


def test_a_quick_run_leaves_out_what_is_known_to_be_dear(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    docs, scenarios = _manual(tmp_path)
    known = {name: Figures(name, "0", 1.0, 0.001, 8, cost, ()) for name, cost in (("tiny", 900.0), ("other", 1.0))}
    write_figures(docs / "data" / "recommended.json", known)
    messages: list[str] = []

    def told(path: Path, _jobs: int | None = None) -> Figures:
        messages.append(path.stem)
        return known[path.stem]

    monkeypatch.setattr("checks.manual.measure", told)
    assert main([str(scenarios), str(docs), "--quick"]) == 0
    assert messages == ["other"]
    assert set(read_figures(docs / "data" / "recommended.json")) == {"tiny", "other"}


def test_mistakes_are_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    docs, scenarios = _manual(tmp_path)
    assert main([str(scenarios), str(docs), "--only", "tinny"]) == 2
    assert capsys.readouterr().err == "manual: ONLY: found `tinny`; allowed: other, tiny\n"
    (docs / PAGES[1]).write_text("no marks", encoding="utf-8")
    assert main([str(scenarios), str(docs)]) == 2
    assert "rules.md" in capsys.readouterr().err
    (docs / "data" / "recommended.json").write_text("{", encoding="utf-8")
    with pytest.raises(InputError, match="make manual"):
        read_figures(docs / "data" / "recommended.json")

"""The command line's words: names seen through, options named, standard input, widths, completion, manual pages."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from forebay import InputError, Scenario, _core, explain
from forebay.commands.completion import VARIABLE
from forebay.commands.program import cli
from forebay.commands.terminal import width
from forebay.commands.verb import EXITS, Verb
from forebay.errors import naming
from forebay.explanation import FIELDS, glossary, meanings, names, setting_keys
from forebay.text.formatting import counted
from forebay.views.heading import Paragraph
from forebay.views.manual import escaped
from tests.support.commands import called, forebay
from tests.support.forked import Answer
from tests.support.paths import ROOT
from tests.support.scenarios import SMALL

#: Mistakes, and what is said of them.
MISTAKES = [
    (
        ["run", "{file}", "--engine", "packt"],
        "--engine: unknown engine `packt`; did you mean `packet`?",
    ),
    (
        ["run", "{file}", "--engine", "closed_form", "--model", "sqrtn"],
        "--model: unknown model `sqrtn`; did you mean `sqrt-n`?",
    ),
    (
        ["run", "{file}", "--set", "flows.bulk.cca=cubik"],
        "--set: flows.bulk.cca: unknown cca `cubik`; did you mean `cubic`?",
    ),
    (
        ["run", "{file}", "--set", "flows.bluk.cca=bbr"],
        "--set: flows.bluk.cca: unknown group `bluk`; did you mean `bulk`?",
    ),
    (
        ["run", "{file}", "--set", "seed=4"],
        "--set: seed: unknown key `seed`; did you mean `run.seed`?",
    ),
    (
        ["run", "{file}", "--set", "link.queue=fqcodel"],
        "--set: link.queue: unknown queue `fqcodel`; did you mean `fq_codel`?",
    ),
    (
        ["run", "{file}", "--set", "link.rate=5mbit"],
        "--set: link.rate: found `5mbit`; did you mean `5Mbps`?",
    ),
    (
        ["run", "{file}", "--set", "goal.utilization=90%"],
        "--set: goal.utilization: found `90%`; did you mean `>= 90%`?",
    ),
    (
        ["run", "{file}", "--sed", "1"],
        "run: unknown option `--sed`; did you mean `--seed`?",
    ),
    (
        ["run", "{file}", "--seed", "x"],
        "--seed: found `x`; allowed: a whole number from 0 to ",
    ),
    (
        ["run", "{file}", "--seed", "99999999999999999999"],
        "--seed: found 99999999999999999999; allowed: ",
    ),
    (
        ["run", "{file}", "--precision", "utilizaton=1%"],
        "--precision: unknown metric `utilizaton`; did you mean `utilization`?",
    ),
    (
        ["run", "{file}", "--trace", "{file}"],
        "--trace: found `",
    ),
    (
        ["rnu", "{file}"],
        "unknown verb `rnu`; did you mean `run`?",
    ),
    (
        ["recommend", "{file}", "--also", "20 pkts"],
        "--also: found `20 pkts`; did you mean `20p`?",
    ),
    (
        ["recommend", "{file}", "--goal", "utilizaton>=0.9"],
        "--goal: utilizaton: unknown metric `utilizaton`; did you mean `utilization`?",
    ),
    (
        ["recommend", "{file}", "--goal", "blk.loss_rate<=1%"],
        "--goal: blk.loss_rate: unknown group `blk`; did you mean `bulk`?",
    ),
    (
        ["recommend", "{file}", "--confidence", "150%"],
        "--confidence: found 1.5; allowed: above 0.5 and below 1",
    ),
    (
        ["recommend", "{file}", "--for", "junoss"],
        "--for: unknown platform `junoss`; did you mean `junos`?",
    ),
    (
        ["recommend", "{file}", "--report", ""],
        "--report: found ``; allowed: the name of a file",
    ),
    (
        ["sweep", "{file}", "--out", "{folder}/o", "--over", "link.bufer=1p,2p"],
        "--over: link.bufer: unknown key `bufer`; did you mean `buffer`?",
    ),
    (
        ["sweep", "{file}", "--out", "{folder}/o", "--over", "engine=packet,fluyd"],
        "--over: unknown engine `fluyd`; did you mean `fluid`?",
    ),
    (
        ["reproduce", "ague"],
        "WHAT: unknown paper `ague`; did you mean `auge`?",
    ),
    (
        ["reproduce", "auge/fig33"],
        "WHAT: unknown figure `auge/fig33`; did you mean `auge/fig3`?",
    ),
    (
        ["explain", "cubik"],
        "unknown name `cubik`; did you mean `cubic`?",
    ),
    (
        ["explain", "link.bufer"],
        "unknown name `link.bufer`; did you mean `link.buffer`? known: link.name, ",
    ),
    (
        ["new", "-", "--rate", "5mbit", "--rtt", "1ms", "--long", "1"],
        "--rate: found `5mbit`; did you mean `5Mbps`?",
    ),
    (
        ["new", "-", "--rate", "5Mbps", "--rtt", "1ms", "--long", "1", "--buffer", "9"],
        "--buffer: found `9`; allowed: packets",
    ),
    (
        ["new", "-", "--rate", "5Mbps", "--rtt", "1ms", "--web", "20%", "--packet", "9"],
        "--packet: found `9`; allowed: ",
    ),
    (
        ["new", "-", "--rate", "5Mbps", "--rtt", "1ms", "--long", "1", "--goal", "los>=1"],
        "--goal: los: unknown metric `los`; did you mean `loss_rate`?",
    ),
    (
        ["translate", "x", "--for", "junos", "--link", "fast"],
        "--link: found `fast`; allowed: ",
    ),
    (
        ["run", "{folder}/smal.toml"],
        "did you mean `{folder}/small.toml`?",
    ),
]


def typed(*arguments: str | bytes | Path, text: str | bytes = "", columns: int = 80) -> Answer:
    """Run the command with a text on standard input, in a terminal of `columns` columns."""
    command = [sys.executable, "-m", "forebay", *map(os.fsencode, arguments)]
    environment = {**os.environ, "COLUMNS": str(columns), "NO_COLOR": "1"}
    given = text.encode() if isinstance(text, str) else text
    done = subprocess.run(command, input=given, capture_output=True, check=False, timeout=300, env=environment)
    return Answer(done.returncode, done.stdout.decode(), done.stderr.decode())


# Names -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", [name for kind in ("congestion controller", "metric", "model") for name in names()[kind]]
)
def test_one_slip_in_a_name_is_seen_through(name: str) -> None:
    """A letter that is left out of the middle, or two that are swapped, lead back to a name as near."""
    known = [each for entries in names().values() for each in entries]
    middle = len(name) // 2
    for slip in (
        name[:middle] + name[middle + 1 :],
        name[: middle - 1] + name[middle] + name[middle - 1] + name[middle + 1 :],
    ):
        suggestion = _core.likeliest(slip, known)
        assert suggestion is not None, slip
        assert abs(len(suggestion) - len(slip)) <= 2, (slip, suggestion)
    assert _core.likeliest(name, known) == name
    assert _core.likeliest(name.upper(), known) == name


@pytest.mark.parametrize(("arguments", "message"), MISTAKES)
def test_a_mistake_names_its_option_and_what_was_meant(small: Path, arguments: list[str], message: str) -> None:
    def filled(text: str) -> str:
        return text.replace("{file}", str(small)).replace("{folder}", str(small.parent))

    answer = called(*map(filled, arguments))
    assert (answer.code, answer.out, answer.err.count("\n")) == (2, "", 1), answer
    assert filled(message) in answer.err


def test_errors_in_a_file_have_its_line(small: Path) -> None:
    small.write_text(SMALL.replace('"newreno"', '"renno"'), encoding="utf-8")
    answer = forebay("run", small)
    assert (
        f"{small}:9: flows[0].cca: unknown cca `renno`; did you mean `newreno`? known: newreno, cubic, " in answer.err
    )


def test_other_spellings_are_the_same_names() -> None:
    american = Scenario.parse(SMALL)
    british = Scenario.parse(SMALL.replace("utilization", "utilisation").replace("newreno", "reno"))
    assert british.core.sha256 == american.core.sha256
    assert '"kind":"newreno"' in british.core.canonical_json()
    assert explain("utilisation").name == "utilization"
    assert forebay("run", "--help").out.count("--fit-synchroni") == 1


def test_python_names_the_argument() -> None:
    scenario = Scenario.parse(SMALL)
    with pytest.raises(InputError, match=r"^overrides: link.bufer: unknown key `bufer`") as raised:
        scenario.changed("link.bufer=1p")
    assert raised.value.argument == "overrides"
    assert raised.value.text.startswith("link.bufer: ")
    with pytest.raises(InputError, match=r"^also: found `x`"):
        scenario.changed(("also", "link.buffer", "x"))
    with pytest.raises(InputError, match=r"^rate: found `x`"), naming("rate"):
        _core.parse_quantity("x", "rate")


@pytest.mark.parametrize(
    "place", [["run", b"\xff.toml"], ["run", "x", "--set", b"a=\xff"], ["explain", b"\xff"], [b"\xff"]]
)
def test_bytes_that_are_no_text_are_refused(place: list[str | bytes]) -> None:
    answer = typed(*place)
    assert (answer.code, answer.err.count("\n")) == (2, 1)
    assert "allowed: text in UTF-8" in answer.err
    assert ("--set: " in answer.err) == ("--set" in place)


# Standard input --------------------------------------------------------------------------------------------------


def test_a_scenario_comes_from_standard_input(small: Path, tmp_path: Path) -> None:
    named = json.loads(forebay("run", small, "--json").out)
    as_json = Scenario.parse(SMALL).core.canonical_json()
    for text in (SMALL, as_json):
        found = json.loads(typed("run", "-", "--json", text=text).out)
        assert found["metrics"] == named["metrics"]
    folder = tmp_path / "there"
    assert typed("recommend", "-", "--out", folder, "--report", tmp_path / "page.html", text=SMALL).code == 0
    assert typed("compare", "-", "--points", "1", "--out", folder, text=SMALL).code == 0
    written = {path.name for path in folder.iterdir()}
    assert {"stdin-recommendation.json", "stdin-comparison.json"} <= written
    axes = ("--over", "link.buffer=5p,20p", "--out", tmp_path / "sweep", "--bundle", tmp_path / "sweep.zip")
    assert typed("sweep", "-", *axes, text=SMALL).code == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "<stdin>:1: found no link; "),
        (b"\xff", "<stdin>: found a byte that is not UTF-8 at 0; "),
        ('{"link": ', "<stdin>:1: found text that is not a scenario in JSON; "),
        (SMALL.replace("buffer =", "bufer ="), "<stdin>:5: link.bufer: unknown key `bufer`; did you mean `buffer`?"),
    ],
)
def test_errors_on_standard_input_name_it(text: str | bytes, message: str) -> None:
    for verb in ("run", "recommend", "compare"):
        answer = typed(verb, "-", text=text)
        assert (answer.code, answer.err.count("\n")) == (2, 1)
        assert message in answer.err


# Widths ----------------------------------------------------------------------------------------------------------


def width_of(line: str) -> int:
    return sum(1 + (unicodedata.east_asian_width(letter) in "WF") for letter in line)


@pytest.mark.parametrize("columns", [48, 60, 80, 140])
@pytest.mark.parametrize("scenario", ["dsl-access", "storage-incast", "video-and-bulk"])
def test_run_fits_and_cuts_no_number(columns: int, scenario: str) -> None:
    short = ("--set", "run.warmup=100ms", "--set", "run.measure=200ms", "--replications", "2")
    path = ROOT / "scenarios" / f"{scenario}.toml"
    answer = called("run", str(path), *short, columns=columns)
    assert answer.code == 0, answer.err
    lines = answer.out.splitlines()
    assert max(map(width_of, lines)) <= columns
    assert "…" not in answer.out
    stated = Scenario.load(path)
    assert lines[0] in stated.title
    assert {"utilization", "goodput"} <= set(answer.out.split())
    assert all(name in answer.out for name, *_ in stated.core.groups)
    everything = called("run", str(path), *short, "--verbose", columns=columns).out
    assert len(everything) > len(answer.out)
    assert "median delay" in everything
    assert max(map(width_of, everything.splitlines())) <= columns


def test_numbers_keep_their_units_when_lines_are_wrapped() -> None:
    from rich.console import Console

    text = "16 Mb/s link, droptail, buffer 64 packets = 96.0 kB = 48.0 ms = 1.6 BDP; loss 0.47 ± 0.26 %"
    for columns in range(24, 100):
        console = Console(width=columns, file=io.StringIO(), record=True)
        console.print(Paragraph(text))
        lines = [line.strip() for line in console.export_text().splitlines()]
        assert " ".join(lines) == text
        assert all(width_of(line) <= columns for line in lines)
        retained = ("16 Mb/s", "64 packets", "= 96.0 kB", "= 48.0 ms", "= 1.6 BDP", "0.47 ± 0.26 %")
        assert all(any(piece in line for line in lines) for piece in retained), (columns, lines)


def test_a_strange_width_is_no_mistake() -> None:
    for columns in ("", "x", "-5", "0"):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("COLUMNS", columns)
            assert width() >= 40
    assert [typed("explain", "red", columns=columns).code for columns in (0, -5)] == [0, 0]


def test_numbers_of_things_have_their_plural() -> None:
    assert [counted(number, "flow") for number in (0, 1, 2, 1200)] == ["0 flows", "1 flow", "2 flows", "1,200 flows"]


def test_no_message_has_a_plural_in_brackets() -> None:
    texts = re.compile(r'["`][^"`\n]*[a-z]{3,}\(s\)[^"`\n]*["`]')
    code = [*(ROOT / "python").rglob("*.py"), *(ROOT / "crates").rglob("*.rs")]
    found = [f"{path}: {hit}" for path in code for hit in texts.findall(path.read_text(encoding="utf-8"))]
    assert found == []


# Explanations ----------------------------------------------------------------------------------------------------


def test_every_registered_name_is_explained_and_in_the_glossary() -> None:
    registered = {
        "congestion controller": [each.name for each in _core.controllers()],
        "queue discipline": [each.name for each in _core.disciplines()],
        "metric": [each.name for each in _core.metrics()],
        "model": [json.loads(text)["name"] for text in _core.models()],
        "engine": [each.name for each in _core.engines()],
    }
    assert {kind: names()[kind] for kind in registered} == registered
    assert list(FIELDS) == sorted(names(), key=list(FIELDS).index)
    shown = glossary(200)
    for kind, entries in names().items():
        for name in entries:
            explanation = next(each for each in meanings(name) if (each.kind, each.name) == (kind, name))
            assert explanation.title, name
            assert explanation.source, name
            text = explanation.text(80)
            assert max(map(width_of, text.splitlines())) <= 80, name
            assert explanation.title.split()[0] in text
            assert name.startswith("goal.") or re.search(rf"^  {re.escape(name)}  ?.", shown, re.MULTILINE), name


def test_words_within_keys_are_explained_by_themselves() -> None:
    for key in names()["scenario key"]:
        if key.count(".") >= 1 and not key.startswith("goal."):
            last = key.rpartition(".")[2]
            assert key in [each.name for each in meanings(last)], key
    assert {"flows.recovery.rack"} <= {each.name for each in meanings("rack")}
    assert {"law.pareto"} <= {each.name for each in meanings("pareto")}
    assert {"flows.workload.incast"} <= {each.name for each in meanings("incast")}


def test_all_that_a_name_means_is_shown() -> None:
    assert [each.kind for each in meanings("bbr")] == ["model", "congestion controller"]
    assert {each.name for each in meanings("reno")} == {"mathis", "newreno"}
    answer = forebay("explain", "bbr")
    assert "bbr (model)" in answer.out
    assert "bbr (congestion controller)" in answer.out
    data = json.loads(forebay("explain", "bbr", "--json").out)
    assert [data["kind"], *(other["kind"] for other in data["others"])] == ["model", "congestion controller"]


@pytest.mark.parametrize("kind", ["congestion controller", "queue discipline"])
def test_algorithms_are_explained_with_formulas(kind: str) -> None:
    known = names()[kind]
    assert len(known) > 5
    for name in known:
        explanation = next(each for each in meanings(name) if each.kind == kind)
        assert explanation.formula, name
        assert "formula:" in explanation.text(80)


@pytest.mark.parametrize("columns", [60, 80, 140])
def test_the_glossary_has_a_line_for_each(columns: int) -> None:
    answer = called("explain", columns=columns)
    lines = answer.out.splitlines()
    assert max(map(width_of, lines)) <= columns
    assert len(lines) > sum(len(entries) for kind, entries in names().items() if kind != "scenario key")


# Help, completion, manual pages ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(cli.commands))
def test_help_is_in_sentences_and_has_exit_codes(name: str) -> None:
    verb = cli.commands[name]
    assert isinstance(verb, Verb)
    assert verb.examples, "every verb shows an example"
    sentences = [verb.help or ""] + [getattr(parameter, "help", None) or "" for parameter in verb.params]
    for sentence in filter(None, sentences):
        assert re.match(r"[A-Z]", sentence), sentence
        assert sentence.rstrip().endswith("."), sentence
    shown = called(name, "--help").out
    assert "Examples:" in shown
    assert "Exit codes:" in shown
    assert all(re.search(rf"^ *{code}  ", shown, re.MULTILINE) for code in verb.exits)
    assert max(map(width_of, shown.splitlines())) <= 80


def test_examples_are_accepted_by_their_verbs() -> None:
    """Each example parses: its options exist and its values are of their kinds."""
    import shlex

    for name, verb in cli.commands.items():
        assert isinstance(verb, Verb)
        for line, _ in verb.examples:
            words = shlex.split(re.split(r" [|<>] ", line)[0])
            assert words[0] == name
            verb.make_context(name, words[1:])
    assert set(EXITS) == {0, 1, 2, 130}


def completed(words: str) -> list[str]:
    """The completions that a shell gets for the last word."""
    *before, last = words.removeprefix("forebay ").split(" ")
    offered = ShellComplete(cli, {}, "forebay", VARIABLE).get_completions(before, last)
    return [f"{item.type},{item.value}" for item in offered]


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("forebay recom", {"plain,recommend"}),
        ("forebay run --engine ", {"plain,packet", "plain,fluid", "plain,closed_form"}),
        ("forebay run x --set link.buf", {"plain,link.buffer="}),
        ("forebay run x --set flows", {"plain,flows.*.rtt="}),
        ("forebay recommend x --goal queue_delay_p9", {"plain,queue_delay_p95", "plain,queue_delay_p99"}),
        ("forebay recommend x --for jun", {"plain,junos"}),
        ("forebay new x --cca cu", {"plain,cubic"}),
        ("forebay new x --queue fq_", {"plain,fq_codel", "plain,fq_pie"}),
        ("forebay explain bbr", {"plain,bbr", "plain,bbr3"}),
        ("forebay reproduce auge/fig3", {"plain,auge/fig3"}),
        ("forebay run scen", {"file,scen"}),
    ],
)
def test_the_shell_completes_names(words: str, offered: set[str]) -> None:
    assert offered <= set(completed(words))


def test_completion_scripts_are_valid() -> None:
    for shell in ("bash", "zsh", "fish"):
        script = forebay("completion", shell)
        assert script.code == 0
        assert "_FOREBAY_COMPLETE" in script.out
    checked = subprocess.run(["bash", "-n"], input=forebay("completion", "bash").out, text=True, check=False)
    assert checked.returncode == 0
    answer = forebay("completion", "tcsh")
    assert (answer.code, answer.err.count("\n")) == (2, 1)


def test_completed_keys_are_keys() -> None:
    """Every key that --set completes is accepted by --set: no key is refused as unknown."""
    scenario = Scenario.parse(SMALL)
    refusals = {}
    for key in setting_keys():
        try:
            scenario.changed(f"{key}=")
        except InputError as error:
            refusals[key] = str(error)
    # The keys within a queue depend on its kind.
    refused = [key for key, refusal in refusals.items() if "unknown key" in refusal]
    assert [key for key in refused if not key.startswith("link.queue.")] == []


def test_manual_pages_are_well_formed(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "forebay.commands.manual", str(tmp_path)]
    subprocess.run(command, check=True, capture_output=True)
    pages = {path.name: path.read_text(encoding="utf-8") for path in tmp_path.iterdir()}
    assert set(pages) == {"forebay.1", *(f"forebay-{name}.1" for name in cli.commands)}
    requests = {"TH", "SH", "PP", "TP", "B", "BR", "RS", "RE", "EX", "EE"}
    for name, page in pages.items():
        lines = page.splitlines()
        assert lines[0].startswith(".TH ")
        assert {line.split()[0][1:] for line in lines if line.startswith(".")} <= requests, name
        assert {"NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXAMPLES"} <= {
            line[4:] for line in lines if ".SH" in line
        }
        assert ".SH EXIT STATUS" in lines
        assert page.count("\n.RS") == page.count("\n.RE")
        assert page.count("\n.EX") == page.count("\n.EE")
        assert not re.search(r"(?<!\\)-", "".join(line for line in lines if not line.startswith(".SH"))), name


def test_roff_takes_no_text_for_a_request() -> None:
    assert escaped(".TH x") == "\\&.TH x"
    assert escaped("a\n.b") == "a\n\\&.b"
    assert escaped("'x' \\ -") == "\\(aqx\\(aq \\e \\-"

"""The engines in WebAssembly answer as those of this machine, byte for byte."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from forebay import Scenario, _core
from forebay.errors import InputError
from tests.support.browsers import lacking
from tests.support.paths import ROOT

SHIPPED = sorted((ROOT / "scenarios").glob("*.toml"))
#: Scenarios that once showed a defect.
FOUND = sorted((ROOT / "crates/engines/tests/found").glob("*.toml"))
#: Texts of which most are no scenarios.
CORPUS = sorted((ROOT / "fuzz/corpus/scenario").glob("*.toml"))
#: Events of a run that takes less than a second on each side.
EVENTS = 400_000.0
#: Memory limit of a page's run, in bytes.
MEMORY = 500_000_000
REFUSED = 2


class Laboratory:
    """The engines of a WebAssembly file, in Node."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def ask(self, **request: object) -> tuple[int, str]:
        """Put one request; the state and the answer's text."""
        source, sink = self._process.stdin, self._process.stdout
        assert source is not None
        assert sink is not None
        source.write(json.dumps(request) + "\n")
        source.flush()
        state, answer = json.loads(sink.readline())
        return state, answer

    def told(self, **request: object) -> Any:
        """Put a request that is answered."""
        state, answer = self.ask(**request)
        assert state == 0, answer
        return json.loads(answer)


@pytest.fixture(scope="session")
def engines(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built file."""
    if shutil.which("node") is None:
        lacking("needs node on PATH (Debian: apt-get install nodejs)")
    file = tmp_path_factory.mktemp("browser") / "forebay.wasm"
    built = subprocess.run([ROOT / "crates/browser/build.sh", file], capture_output=True, text=True, check=False)
    if built.returncode == 3:
        lacking(built.stderr.strip())
    assert built.returncode == 0, built.stderr
    return file


@pytest.fixture(scope="module")
def laboratory(engines: Path) -> Iterator[Laboratory]:
    command = ["node", str(ROOT / "tests/support/laboratory.mjs"), str(engines)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield Laboratory(process)
        process.kill()


def canonical(file: Path) -> str:
    """The scenario in whole, with the tables of rates that it names."""
    return Scenario.load(file).core.canonical_json()


def shortened(laboratory: Laboratory, text: str) -> list[str]:
    """Changes after which a run takes no more than :data:`EVENTS`, if that can be had by a shorter one."""
    statements = laboratory.told(do="check", text=text, format="json")
    share = min(1.0, EVENTS / statements["most_events"])
    return [f"run.{key}={max(statements[f'{key}_s'] * share, 1e-6):.9f}s" for key in ("warmup", "measure")]


def natively(text: str, engine: str, changes: list[str], replication: int = 0) -> str:
    """The report of this machine's engine, without what it cost here; or why there is none."""
    scenario = _core.Scenario.parse(text, "json", "scenario", changes)
    job = _core.Job(scenario, engine, scenario.seed, replication, memory=MEMORY)
    (answer,) = _core.run_batch([job], 1)
    if isinstance(answer, BaseException):
        return str(answer)
    without_times = re.sub(r'"(cpu_s|wall_s)":[^,}]+', r'"\1":0.0', answer.json())
    return re.sub(r'"peak_rss_bytes":\d+', '"peak_rss_bytes":0', without_times)


def agree(answer: tuple[int, str], expected: str) -> None:
    state, text = answer
    assert state in (0, REFUSED), text
    if state == REFUSED:
        text = json.loads(text)["message"]
        if "too large" in expected:
            # How many bytes each of them would need differs.
            assert "too large" in text
            return
    assert text == expected


@pytest.mark.sampled(2)
@pytest.mark.parametrize("file", SHIPPED, ids=lambda file: file.stem)
def test_reports_are_equal_bytes(laboratory: Laboratory, file: Path) -> None:
    text = canonical(file)
    changes = shortened(laboratory, text)
    requested = {"text": text, "format": "json", "overrides": changes}
    for replication in (0, 1):
        run = laboratory.ask(do="run", replication=replication, **requested)
        assert run[0] == 0, run[1]
        agree(run, natively(text, "packet", changes, replication))
    for engine in ("fluid", "closed_form"):
        agree(laboratory.ask(do="answer", engine=engine, **requested), natively(text, engine, changes))


@pytest.mark.parametrize("file", SHIPPED, ids=lambda file: file.stem)
def test_whole_runs_of_what_answers_at_once_are_equal_bytes(laboratory: Laboratory, file: Path) -> None:
    text = canonical(file)
    for engine in ("fluid", "closed_form"):
        answer = laboratory.ask(do="answer", engine=engine, text=text, format="json")
        agree(answer, natively(text, engine, []))
    verdicts = laboratory.told(do="rules", text=text, format="json")
    scenario = _core.Scenario.parse(text, "json", "scenario", [])
    for verdict, rule in zip(verdicts, _core.rules(scenario), strict=True):
        assert verdict["name"] == rule.name
        assert (verdict["packets"], verdict["refusal"]) == (rule.packets, rule.refusal)
        assert [tuple(pair) for pair in verdict["predicted"]] == rule.predicted


@pytest.mark.parametrize("file", FOUND, ids=lambda file: file.stem)
def test_what_was_once_found_is_equal_bytes_while_it_is_watched(laboratory: Laboratory, file: Path) -> None:
    text = canonical(file)
    changes = shortened(laboratory, text)
    requested = {"text": text, "format": "json", "overrides": changes}
    agree(laboratory.ask(do="run", looks=True, events=3000, **requested), natively(text, "packet", changes))
    agree(laboratory.ask(do="answer", engine="fluid", **requested), natively(text, "fluid", changes))


@pytest.mark.parametrize("file", CORPUS, ids=lambda file: file.stem)
def test_both_parsers_read_the_same_texts(laboratory: Laboratory, file: Path) -> None:
    text = file.read_text()
    state, answer = laboratory.ask(do="check", text=text, file=file.name)
    data = json.loads(answer)
    try:
        scenario = _core.Scenario.parse(text, "toml", file.name, [])
    except InputError as error:
        message = str(error)
    else:
        assert (state, data["sha256"]) == (0, scenario.sha256)
        assert data["canonical"] == scenario.canonical_json()
        return
    assert (state, data["kind"], data["message"]) == (REFUSED, "scenario", message)
    place = re.match(rf"{re.escape(file.name)}:(\d+):", message)
    assert data["line"] == (place and int(place[1]))


def hostile() -> dict[str, str]:
    link = '[link]\nrate = "10Mbps"\nbuffer = "20p"\n'
    flows = '[[flows]]\nrtt = "20ms"\n'
    return {
        "a million flows": link + flows + "count = 1000000\n",
        "all flows that there may be": link + flows + "count = 16777214\n",
        "a megabyte of groups": link + "\n".join(f'[[flows]]\nname = "g{at}"\nrtt = "20ms"' for at in range(28_000)),
        "a megabyte of brackets": link + "x = " + "[" * 1_000_000,
        "a megabyte of tables": link + "x = " + "{a=" * 300_000,
        "dotted keys": link + "a." * 400_000 + "b = 1",
        "a megabyte of one string": link + f'name = "{"a" * 1_000_000}"\n' + flows,
        "too long": "#" * 5_000_000,
        "a hundred days": link.replace("10Mbps", "100Tbps") + flows + '[run]\nmeasure = "100d"\n',
        "windows without end": link + flows + 'cca = { kind = "aimd", increase = 1e6 }\ncount = 1000\n',
        "a source without end": link + '[[flows]]\nworkload = { poisson = { rate = "100Tbps" } }\npacket = "1B"\n',
        "markup": "<script>alert(1)</script>",
        "nothing": "",
    }


@pytest.mark.parametrize("name", hostile())
def test_hostile_texts_are_refused_or_run_within_bounds(laboratory: Laboratory, name: str) -> None:
    text = hostile()[name]
    for request in ("check", "rules", "answer", "begin"):
        state, answer = laboratory.ask(do=request, text=text)
        assert state in (0, REFUSED), answer
    # It goes on as if nothing had been.
    link = '[link]\nrate = "10Mbps"\nbuffer = "20p"\n[[flows]]\nrtt = "20ms"\n[run]\nwarmup = "0s"\nmeasure = "1s"\n'
    assert laboratory.told(do="run", text=link)["engine"] == "packet"

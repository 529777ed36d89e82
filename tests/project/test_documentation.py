"""The README and the manual do what they say: every command and every Python snippet runs, or is marked with why not.

Nothing is left out in silence: what is not run is in `MARKED`, what is run in a shorter form in `SHORTER`, and both
are held to the pages.
"""

from __future__ import annotations

import ast
import math
import re
import shlex
import shutil
import subprocess
import sys
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

import click
import pytest

import forebay as forebay_package
from checks import rust_modules
from forebay.algorithms.template import template_files
from forebay.storage.files import write_all
from tests.support.browsers import lacking
from tests.support.commands import forebay, steady
from tests.support.documentation import Block, Command, Kind, agrees, blocks, commands, inline, without_choices
from tests.support.forked import Answer
from tests.support.paths import PAGE, ROOT
from tests.support.scenarios import SMALL

PAGES = ["README.md", "CONTRIBUTING.md", *sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md"))]

#: Pages whose commands run in the first tier, too.
FIRST = {
    *("README.md", "CONTRIBUTING.md", "docs/guides/check.md", "docs/guides/compare.md"),
    *("docs/tutorials/incast-port.md", "docs/tutorials/pause-spreads.md"),
}

#: Commands that are not run here, and why; a word at the beginning stands for all commands that begin with it.
MARKED = {
    "make": "each is a test, a build or a measurement of its own; targets and variables are held below",
    "forebay lab - < dsl.toml": "asks a shell; tests/laboratory/test_lab.py has standard input",
    "cargo test": "builds for minutes; tests/project/test_architecture.py finds the tests that are named",
    "cargo run": "as above; the tests of the manual's tables name it",
    "python -m pytest": "tests/project/test_architecture.py finds the test that is named",
    "pip download": "downloads packages",
    "pip install": "installs; tests/project/test_wheel.py does so, tests/commands/test_extras.py has what extras bring",
    "dask": "goes on for ever; tests/measurement/test_cluster.py starts both",
    "tcpdump": "captures on ports that are not here; tests/checks/test_captured.py captures",
    "tc -d -s -j": "asks a queue that is not here; tests/configuration/test_tc.py reads what it prints",
    "git tag": "makes a release",
    "python -m tests.support.surface": "keeps what a release promises; tests/project/test_compatibility.py reads it",
    "forebay emulate": "real time, namespaces; tests/measurement/test_emulate.py runs them",
    "forebay run lab-dumbbell.toml --engine kernel": "real time; tests/measurement/test_kernel_runs.py",
    "forebay compare lab-dumbbell.toml --engine kernel": "real time; tests/measurement/test_real_time.py",
    "forebay recommend FILE --engine kernel --within 30min": "real time; tests/measurement/test_real_time.py",
    "forebay sweep FILE --over ... --out DIR --scheduler tcp://SCHEDULER:8786": "a cluster; tests/measurement",
    "forebay observe in.pcap out.pcap --rate 1Gbps": "two captures of one time; tests/observation",
    "forebay observe flows.csv": "an exporter's records; tests/observation",
    "forebay observe counters.csv --rate 10Gbps": "a port's counters; tests/observation",
    "forebay observe week.csv --window 20:00..22:00": "counters of a week; tests/observation",
    "forebay observe --ss dump.txt": "a server's sockets; tests/observation",
    "forebay translate /etc/sonic/config_db.json": "a switch's file; tests/configuration",
    "forebay translate sqm.txt": "a router's file; tests/configuration/test_everyday_classes.py has one",
    "forebay reproduce auge": "minutes; tests/papers/test_reproduction.py draws and judges figures",
    "forebay reproduce auge/fig3": "a minute, as above",
    "forebay reproduce avrachenkov": "minutes, as above",
    "forebay reproduce barman": "minutes, as above",
    "forebay reproduce dhamdhere": "minutes, as above",
    "forebay reproduce kumar": "minutes, as above",
    "forebay reproduce literature": "minutes; tests/papers/test_literature.py runs a sample",
    "forebay reproduce literature/dctcp": "a quarter of a minute, as above",
    "forebay reproduce all": "an hour, as above",
}

#: Shorter replacements with the same options: on a link with a delay of milliseconds, or with closer ends.
SHORTER = {
    "make demo": "forebay recommend scenarios/elastic-access-link.toml --also 20p --also 625p --out out/demo",
    "forebay new --from campus-uplink": "forebay new own.toml --from campus-uplink",
    "forebay lab": "forebay lab --out lab.html --no-open",
    "forebay lab scenarios/dsl-access.toml": "forebay lab scenarios/dsl-access.toml --out lab.html --no-open",
    "forebay recommend FILE --over link.queue.classes.voice.buffer": (
        "forebay recommend scenarios/voice-and-data.toml --over link.queue.classes.voice.buffer --quick"
    ),
    "forebay recommend FILE --classes --for linux": (
        "forebay recommend scenarios/voice-and-data.toml --classes --for linux --quick"
    ),
    "forebay recommend FILE --over links.uplink.buffer": (
        "forebay recommend two.toml --over links.uplink.buffer --quick"
    ),
    "forebay recommend FILE --over link.queue.threshold=5p..500p": (
        "forebay recommend step.toml --over link.queue.threshold=5p..50p --quick"
    ),
    "forebay recommend FILE --over link.rate=1Gbps..10Gbps": (
        "forebay recommend small.toml --over link.rate=1Mbps..10Mbps --quick"
    ),
    "forebay recommend FILE --over link.queue.target=1ms..100ms --largest": (
        "forebay recommend codel.toml --over link.queue.target=1ms..100ms --largest --quick"
    ),
    "forebay recommend FILE --over link.queue=droptail,codel,fq_codel": (
        "forebay recommend small.toml --over link.queue=droptail,codel,fq_codel --quick"
    ),
    "forebay recommend FILE --over 'flows.*.cca=cubic,bbr,bbr3' --over link.queue.threshold=5p..500p": (
        "forebay recommend bulk.toml --over 'flows.*.cca=cubic,bbr' --over link.queue.threshold=5p..50p --quick"
    ),
    "forebay recommend FILE --maximize jain_index --over link.queue.target=1ms..100ms": (
        "forebay recommend pair.toml --maximize jain_index --over link.queue.target=1ms..100ms --set run.measure=10s"
    ),
    "forebay recommend FILE --minimize queue_delay_p99": (
        "forebay recommend small.toml --minimize queue_delay_p99 --set run.measure=10s"
    ),
    "forebay recommend FILE --over link.rate=1Gbps..10Gbps --over link.buffer=10p..1000p": (
        "forebay recommend small.toml --over link.rate=1Mbps..10Mbps --over link.buffer=10p..100p --set run.measure=5s"
    ),
    "forebay check FILE --buffer 4.5MB --buffer 9MB": "forebay check small.toml --buffer 10p --buffer 20p",
    "forebay sweep FILE --over ... --out DIR --bundle results.zip": (
        "forebay sweep small.toml --over link.buffer=5p,20p --out again --bundle results.zip"
    ),
    "forebay sweep @cubic-and-bbr --over link.buffer=0.3BDP..8BDP:6 --out shares": (
        "forebay sweep @cubic-and-bbr --over link.buffer=0.3BDP..8BDP:2 --out shares"
        " --set run.warmup=1s --set run.measure=2s"
    ),
    "forebay sweep $ARGS --out out/whole --bundle out/whole.zip": (
        "forebay sweep scenarios/elastic-access-link.toml --set run.warmup=2s --set run.measure=2s"
        " --over link.buffer=0.01BDP..2BDP:3 --over flows.elephant.cca=newreno,cubic --replications 2"
        " --out out/whole --bundle out/whole.zip"
    ),
    "forebay recommend scenarios/elastic-access-link.toml --quick --out slides": (
        "forebay recommend scenarios/elastic-access-link.toml --quick --set run.measure=60s --out slides"
    ),
}

#: Commands whose answer is negative, with their exit codes.
NEGATIVE = {"forebay check uplink.toml": 1, "forebay check port.toml": 1, "forebay translate config_db.json": 1}

#: The commands whose error messages the pages show.
MISTAKES = {
    "forebay: linux has no stfq": "forebay recommend dsl-access.toml --set link.queue=stfq --for linux",
    "forebay: translate: line 1: found `limt`": "forebay translate 'pfifo limt 100' --for linux --link 100Mbps",
}

#: Python snippets whose page is run as a whole elsewhere.
ELSEWHERE = {"docs/reference/api.md": "tests/views/test_notebook.py runs its cells as a notebook does"}

#: Definitions of the names that the Python code of a page uses without defining them.
GIVEN = {
    "docs/guides/sweep.md": (
        'import forebay\nscenario = forebay.Scenario.load("small.toml")\n'
        'forebay.sweep(scenario, ["link.buffer=5p,20p"], "shares")\n'
    )
}
#: The same, shorter.
SHORTER_PYTHON = {
    ("README.md", 'forebay.Scenario.load("branch.toml")'): (
        'forebay.Scenario.load("branch.toml").changed("run.warmup=2s", "run.measure=5s")'
    ),
}


def _code(page: str) -> list[Block]:
    return blocks(ROOT, page)


def _marked(text: str) -> str | None:
    return next((why for what, why in MARKED.items() if text == what or text.startswith(f"{what} ")), None)


def _all() -> list[Command]:
    return [command for page in PAGES for command in commands(_code(page))]


def _run_as(text: str) -> str:
    """The command that is run for the one on the page."""
    return SHORTER.get(text, without_choices(text)).replace("FILE", "small.toml").replace(" DIR", " left")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where a page's commands run: with the shipped scenarios, and with links that answer at once."""
    (tmp_path / "scenarios").symlink_to(ROOT / "scenarios", target_is_directory=True)
    for path in (ROOT / "scenarios").glob("*.*"):
        shutil.copy(path, tmp_path)
    one = 'rate   = "2Mbps"'
    assert one in SMALL
    step = SMALL.replace(one, f'{one}\nqueue  = {{ kind = "step", threshold = "10p" }}').replace('"20p"', '"60p"', 1)
    step = step.replace('rtt      = "40ms"', 'rtt      = { uniform = ["30ms", "50ms"] }\necn      = true')
    codel = SMALL.replace(one, f'{one}\nqueue  = {{ kind = "codel", target = "5ms" }}').replace('"20p"', '"60p"', 1)
    uplink = '[[links]]\nname = "uplink"\nrate = "3Mbps"\nbuffer = "30p"\n\n[[flows]]\npath = ["uplink", "down"]'
    two = SMALL.replace("[link]", '[[links]]\nname = "down"\ntarget = true').replace("[[flows]]", uplink, 1)
    two = two.replace('name     = "background"', 'name     = "background"\npath     = ["down"]')
    (tmp_path / "small.toml").write_text(SMALL, encoding="utf-8")
    (tmp_path / "step.toml").write_text(step, encoding="utf-8")
    (tmp_path / "bulk.toml").write_text(step.replace("queue_delay_p99", "#"), encoding="utf-8")
    (tmp_path / "codel.toml").write_text(codel, encoding="utf-8")
    (tmp_path / "pair.toml").write_text(
        codel.replace('name     = "bulk"', 'name     = "bulk"\ncount = 2'), encoding="utf-8"
    )
    (tmp_path / "two.toml").write_text(two, encoding="utf-8")
    (tmp_path / "dsl.toml").write_text(
        (ROOT / "scenarios/dsl-access.toml").read_text(encoding="utf-8"), encoding="utf-8"
    )
    return tmp_path


def _forebay(text: str, folder: Path) -> Answer:
    (_, *arguments) = shlex.split(text)
    return forebay(*arguments, cwd=folder, columns=80, timeout_s=120)


def _counters() -> str:
    """Counters of a port over a day: a busy evening, and drops in the minutes with the largest loads."""
    when, octets, packets, drops = datetime(2026, 11, 23, 18, tzinfo=UTC), 8 * 10**12, 9 * 10**9, 1200
    rows = ["time,ifHCOutOctets,ifHCOutUcastPkts,ifOutDiscards,ifHighSpeed"]
    for row in range(24 * 60 + 1):
        rows.append(f"{when:%Y-%m-%dT%H:%M:%SZ},{octets},{packets},{drops},1000")
        load = 1e9 * (0.35 + 0.3 * math.cos((row - 150) / 1440 * 2 * math.pi) + 0.04 * math.sin(row * 1.7))
        octets, packets = octets + int(load * 60 / 8), packets + int(load * 60 / 8 / 900)
        drops += 25 if load > 0.68e9 else 0
        when += timedelta(minutes=1)
    return "\n".join(rows) + "\n"


def _prepare(page: str, folder: Path) -> None:
    """Make the files that the commands of a page expect."""
    if page == "docs/guides/observe.md":
        made = _forebay(
            "forebay run small.toml --trace port --replications 1 --set 'trace.record=[\"packets\"]'", folder
        )
        assert made.code == 0, made.err
        shutil.copy(folder / "port/packets.pcapng", folder / "port.pcapng")
    if page == "docs/tutorials/counters-to-buffer.md":
        (folder / "counters.csv").write_text(_counters(), encoding="utf-8")
    if page == "docs/guides/other-questions.md":
        shared = next(block for block in _code(page) if "[[memories]]" in block.text)
        (folder / "switch.toml").write_text(shared.text, encoding="utf-8")
    if page == "docs/guides/configurations.md":
        (text, scenario) = (
            next(block for block in _code(page) if block.text.startswith(begins))
            for begins in ("set class-of-service", "[link]\nrate       =")
        )
        (folder / "port.conf").write_text(text.text, encoding="utf-8")
        (folder / "port.toml").write_text(scenario.text, encoding="utf-8")
    if page == "docs/guides/headroom.md":
        rows = next(block for block in _code(page) if block.text.startswith("# speed cable"))
        (folder / "pg_profile_lookup.ini").write_text(rows.text, encoding="utf-8")
    scenarios = {"docs/tutorials/incast-port.md": "port.toml", "docs/tutorials/pause-spreads.md": "chain.toml"}
    if page in scenarios:
        scenario = next(block for block in _code(page) if block.text.startswith("title"))
        (folder / scenarios[page]).write_text(scenario.text, encoding="utf-8")
    if page == "docs/guides/audit-switch.md":
        config = next(block for block in _code(page) if block.text.startswith("{"))
        (folder / "config_db.json").write_text(config.text, encoding="utf-8")
    if page == "docs/tutorials/own-algorithm.md":
        (code, scenario) = (next(block for block in _code(page) if kind in block.text) for kind in ("@data", "[link]"))
        (folder / "delay.py").write_text(code.text, encoding="utf-8")
        (folder / "delay.toml").write_text(scenario.text, encoding="utf-8")
    if page == "docs/guides/conformance.md":
        code = next(block for block in _code("docs/tutorials/own-algorithm.md") if "@data" in block.text)
        (folder / "delay.py").write_text(code.text, encoding="utf-8")
    if page == "docs/guides/modules.md":
        if not rust_modules.can_build():
            pytest.skip("no Rust for wasm32-unknown-unknown")
        write_all({folder / path: text for path, text in template_files("my_reno", "rust").items()})
        module = folder / "target/wasm32-unknown-unknown/release/my_reno.wasm"
        module.parent.mkdir(parents=True)
        shutil.copy(rust_modules.built_package(folder), module)
    if page == "README.md":
        requested = next(block for block in _code(page) if block.kind is Kind.TOML)
        (folder / "branch.toml").write_text(requested.text, encoding="utf-8")


@pytest.mark.parametrize(
    "page", [pytest.param(page, marks=() if page in FIRST else pytest.mark.long) for page in PAGES]
)
def test_the_commands_of_a_page_do_what_it_shows(page: str, folder: Path) -> None:
    """In their order and in one folder, as a reader would; what is shown of the output is what is printed."""
    _prepare(page, folder)
    for command in commands(_code(page)):
        if _marked(command.text) is not None and command.text not in SHORTER:
            continue
        text = _run_as(command.text)
        if not text.startswith("forebay "):
            assert text.startswith("ARGS="), f"{page}: {text}: what is this?"
            continue
        if text.split()[1] == "lab" and not PAGE.is_file():
            continue
        done = _forebay(text, folder)
        assert done.code == NEGATIVE.get(text, 0), f"{page}: {text}\n{done.out}\n{done.err}"
        shown = _shown(page, command)
        if shown:
            assert command.text not in SHORTER or command.text == "make demo", (
                f"{page}: what is shown is run as it stands"
            )
            assert agrees(shown, steady(done.out)) == [], f"{page}: {text} prints\n{done.out}"


def _shown(page: str, command: Command) -> tuple[str, ...]:
    """The output of a command as a page shows it; the README shows it in a separate block."""
    if page == "README.md":
        text = (ROOT / page).read_text(encoding="utf-8")
        inside = re.search(r"<!-- demo output: begin -->\n(.*?)<!-- demo output: end -->", text, re.DOTALL)
        assert inside
        return tuple(steady(inside[1]).splitlines()) if command.text == "make demo" else ()
    return command.shown


def test_the_error_messages_of_pages_are_the_real_ones(folder: Path) -> None:
    shown = [block.text for page in PAGES for block in _code(page) if block.text.startswith("forebay: ")]
    assert len(shown) == len(MISTAKES)
    for text in shown:
        (command,) = [command for begins, command in MISTAKES.items() if text.startswith(begins)]
        done = _forebay(command, folder)
        assert (done.code, done.err.strip()) == (2, text)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("page", [page for page in PAGES if page not in ELSEWHERE])
def test_the_python_of_a_page_runs(page: str, folder: Path) -> None:
    cells = [block for block in _code(page) if block.kind is Kind.PYTHON]
    if not cells:
        return
    if page == "docs/tutorials/laboratory.md" and not PAGE.is_file():
        lacking("the page was not built: make lab")
    _prepare(page, folder)
    text = GIVEN.get(page, "") + "\n".join(cell.text for cell in cells)
    for (where, long), short in SHORTER_PYTHON.items():
        if where == page:
            assert long in text, f"{page} has changed: SHORTER_PYTHON"
            text = text.replace(long, short)
    done = subprocess.run(
        [sys.executable, "-c", text], cwd=folder, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, f"{page}\n{text}\n{done.stderr}"


def test_what_is_marked_or_shorter_is_on_a_page_and_asks_the_same() -> None:
    commands_of_pages = [command.text for command in _all()]
    assert [
        what for what in MARKED if not any(one == what or one.startswith(f"{what} ") for one in commands_of_pages)
    ] == []
    assert [what for what in SHORTER if what not in commands_of_pages] == []
    assert [what for what in NEGATIVE if what not in commands_of_pages] == []
    for long, short in SHORTER.items():
        if long.startswith("forebay ") and "$" not in long:
            required = Counter(one for one in shlex.split(without_choices(long)) if one.startswith("-"))
            assert not required - Counter(shlex.split(short)), f"{long}: the shorter one leaves options out"
            assert long.split()[:2] == short.split()[:2]


def test_every_public_name_is_in_the_reference() -> None:
    text = (ROOT / "docs/reference/api.md").read_text(encoding="utf-8").partition("## Reference")[2]
    blocks = re.findall(r"^::: ([\w.]+)(?:\n    options:\n      members: \[([^\]]*)\])?", text, re.MULTILINE)
    documented = {module: set(re.findall(r"\w+", members)) for module, members in blocks}
    for name in forebay_package.__all__:
        value = getattr(forebay_package, name)
        home = getattr(value, "__module__", "")
        members = documented.get(home)
        listed = members is not None and (not members or name in members)
        assert listed or f"{home}.{name}" in documented or f"`forebay.{name}`" in text, name


def test_every_block_is_counted(capsys: pytest.CaptureFixture[str]) -> None:
    """Every command is run, run in a shorter form, or marked; the marked ones are reported."""
    kinds = Counter(block.kind for page in PAGES for block in _code(page))
    listed = _all()
    marked = [command for command in listed if _marked(command.text) is not None and command.text not in SHORTER]
    python = [block for page in PAGES for block in _code(page) if block.kind is Kind.PYTHON]
    with capsys.disabled():
        sys.stdout.write(
            f"\n{len(listed)} commands on {len(PAGES)} pages: {len(listed) - len(marked)} run,"
            f" {sum(command.text in SHORTER for command in listed)} of them in a shorter form; {len(marked)} marked;"
            f" {len(python)} snippets of Python run\n"
        )
        for command in marked:
            if not command.text.startswith("make"):
                sys.stdout.write(f"  {command.page}: {command.text[:70]}: {_marked(command.text)}\n")
        if not PAGE.is_file():
            lab = sum(command.text.startswith("forebay lab") for command in listed)
            sys.stdout.write(f"  the laboratory's page is not built (make lab): {lab} commands not run\n")
    assert sum(kinds.values()) >= 90
    assert len(listed) - len(marked) >= 50
    for page in PAGES:
        for block in _code(page):
            if re.search(r"^(\$ )?forebay [a-z]", block.text, re.MULTILINE):
                assert block.kind is Kind.CONSOLE, f"{page}:{block.line}: a command that is not run"
            if re.search(r"^(import|from) forebay", block.text, re.MULTILINE):
                assert block.kind is Kind.PYTHON, f"{page}:{block.line}: Python that is not run"


def test_targets_of_make_and_their_variables_are_there() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    requested = [command.text for command in _all() if command.text.startswith("make ")]
    for page in PAGES:
        requested += re.findall(r"`(make [a-z][^`]*)`", (ROOT / page).read_text(encoding="utf-8"))
    assert len(requested) > 20
    for text in requested:
        target = text.split()[1]
        assert re.search(rf"^{re.escape(target)}:", makefile, re.MULTILINE), text
        for variable in re.findall(r"\b([A-Z_]+)=", text):
            assert re.search(rf"\$\([^)]*\b{variable}\b|^{variable} ", makefile, re.MULTILINE), f"{text}: {variable}"


def test_commands_within_sentences_have_verbs_and_options_that_exist() -> None:
    from forebay.commands.program import cli

    checked = 0
    for text in [one for page in PAGES for one in inline(ROOT, page)] + [one.text for one in _all()]:
        if not text.startswith("forebay "):
            continue
        words = re.findall(r"--?[a-z][a-z-]*|[^\s\[\]|=']+", text.split(" -- ")[0])[1:]
        if not words or words[0].startswith("-"):
            continue
        command = cli.get_command(click.Context(cli), words[0])
        assert command is not None, text
        known = {option for one in command.params for option in (*one.opts, *one.secondary_opts)} | {"--help", "-h"}
        # An option of the program that `emulate` starts is not forebay's; neither is a word in an option's value.
        options = re.findall(
            r"(?<![\w-])(--[a-z][a-z-]*|-[a-z])(?![\w-])", re.sub(r"'[^']*'", "", text.split(" -- ")[0])
        )
        for option in options:
            checked += 1
            assert option in known, f"{text}: {option}"
    assert checked > 80


# The reading of pages ------------------------------------------------------------------------------------------------
def test_a_page_is_read_as_its_reader_reads_it(tmp_path: Path) -> None:
    page = """# A page

Text with `forebay explain bdp` in it.

    forebay run FILE [--json] ...   # a remark
    forebay sweep x.toml --over a=1 \\
        --out DIR
    $ make demo
    printed 1
    ...
    last

    [link]
    rate = "1Mbps"

text

```python
import forebay
```
"""
    (tmp_path / "page.md").write_text(page, encoding="utf-8")
    found = blocks(tmp_path, "page.md")
    assert [block.kind for block in found] == [Kind.CONSOLE, Kind.PYTHON]
    found_commands = commands(found)
    assert [command.text for command in found_commands] == [
        "forebay run FILE [--json] ...", "forebay sweep x.toml --over a=1 --out DIR", "make demo",
    ]  # fmt: skip
    assert found_commands[-1].shown[:3] == ("printed 1", "...", "last")
    assert without_choices("forebay run FILE [--goal 'a' [x] ...] --json") == "forebay run FILE --json"
    assert without_choices("forebay sweep FILE --over a=1 ... --out DIR") == "forebay sweep FILE --over a=1 --out DIR"
    assert inline(tmp_path, "page.md") == ["forebay explain bdp"]


@pytest.mark.parametrize(
    ("shown", "printed", "missing"),
    [
        (("a  b", "c"), "a b\nc\nd", []),
        (("a", "c"), "a\nb\nc", ["c"]),
        (("a", "...", "c"), "a\nb\nb\nc", []),
        (("a ... z",), "a b z", []),
        (("b", "a"), "a\nb", ["b"]),
        (("a", "..."), "a", []),
        (("1.5",), "1x5", ["1.5"]),
    ],
)
def test_what_is_shown_is_held_line_by_line(shown: tuple[str, ...], printed: str, missing: list[str]) -> None:
    assert agrees(shown, printed) == missing


def test_snippets_are_whole_statements() -> None:
    for page in PAGES:
        for block in _code(page):
            if block.kind is Kind.PYTHON:
                assert ast.parse(block.text).body

"""The environment of the command: encodings, widths, back ends of Matplotlib, hostile arguments and numbers."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import click
import pytest
from matplotlib.font_manager import FontManager

from forebay import InputError, Scenario, sweep
from forebay.commands.verb import Verb
from forebay.measurement.cluster import Cluster
from forebay.sanitize import LONGEST, sanitize
from tests.support.scenarios import SMALL


def told(*arguments: str, cwd: Path, **more: str) -> tuple[int, bytes, bytes]:
    command = [sys.executable, "-m", "forebay", *arguments]
    done = subprocess.run(
        command,
        capture_output=True,
        check=False,
        timeout=60,
        cwd=cwd,
        env={**os.environ, **more},
        stdin=subprocess.DEVNULL,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.sampled(2)
@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp437", "utf-8"])
def test_every_encoding_is_written(small: Path, tmp_path: Path, encoding: str) -> None:
    for arguments in (["recommend", str(small), "--no-picture"], ["run", str(small)], ["explain", "bdp"]):
        code, out, err = told(*arguments, cwd=tmp_path, PYTHONIOENCODING=encoding)
        assert (code, err) == (0, b"")
        # Click takes an ASCII stream for one that was set up wrongly, and writes UTF-8 to it.
        text = out.decode("utf-8" if (encoding, arguments[0]) == ("ascii", "explain") else encoding)
        if arguments[0] == "recommend":
            assert "?" not in text
            assert ("≥" in text) or (">=" in text)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "surroundings",
    [
        {"MPLBACKEND": "module://matplotlib_inline.backend_inline"},
        {"MPLBACKEND": "junk"},
        *({"COLUMNS": columns} for columns in ("abc", "", "1", "-5", "٣", "1e9")),
    ],
)
def test_the_environment_breaks_nothing(small: Path, tmp_path: Path, surroundings: dict[str, str]) -> None:
    code, out, err = told("recommend", str(small), "--out", str(tmp_path), cwd=tmp_path, **surroundings)
    assert (code, err) == (0, b""), err
    assert b"wrote" in out
    assert list(tmp_path.glob("*.png"))


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "backend", ["module://matplotlib_inline.backend_inline", "module://junk", "junk", "", "agg", "x" * 999]
)
def test_the_library_draws_without_the_back_end_of_its_environment(tmp_path: Path, backend: str) -> None:
    code = f"""
        import os
        import forebay
        report = forebay.Scenario.parse({SMALL!r}).run("fluid")
        report.plot().savefig("report.svg")
        report.plot()._repr_png_()
        assert os.environ["MPLBACKEND"] == {backend!r}
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        check=False,
        timeout=60,
        cwd=tmp_path,
        env={**os.environ, "MPLBACKEND": backend},
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert (tmp_path / "report.svg").stat().st_size > 1000


@pytest.mark.sampled(2)
@pytest.mark.parametrize("option", ["--goal", "--set", "--engine", "--for", "--also", "--over", "--queer", "--seed"])
def test_what_is_echoed_is_bounded_and_does_nothing(small: Path, tmp_path: Path, option: str) -> None:
    for text in ("x" * 100_000, "utilization>=\x1b[31m" + "\u202e" + "\x07\x9b" * 3):
        code, out, err = told("recommend", str(small), option, text, cwd=tmp_path)
        assert (code, out) == (2, b"")
        words = err.decode()
        assert words.count("\n") == 1
        assert len(words) < LONGEST + 100
        assert not set(words[:-1]) & set("\x1b\x07\x9b\u202e\r")


def test_no_control_character_is_legible() -> None:
    for number in [*range(32), *range(0x7F, 0xA0), 0x061C, *range(0x2028, 0x202F), *range(0x2066, 0x206A), 0xFEFF]:
        assert chr(number) not in sanitize(f"a{chr(number)}b")
    assert sanitize("größer ≥ 3 µs") == "größer ≥ 3 µs"


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        *(("seed", value) for value in (2**64, 2**63, -1, 1.5)),
        *(("jobs", value) for value in (10**20, 0, -3, 4097)),
        *(("replications", value) for value in (10**20, 0, -1, 2.5)),
    ],
)
def test_numbers_out_of_range_are_refused_at_once(argument: str, value: int, tmp_path: Path) -> None:
    scenario = Scenario.parse(SMALL)
    for call in (
        scenario.run,
        lambda **given: sweep(scenario, ["link.buffer=1p,2p"], tmp_path / "out", **given),
    ):
        with pytest.raises(InputError, match=f"^{argument}: found {value}; allowed: a whole number from"):
            call(**{argument: value})


@pytest.mark.parametrize(
    "axis", ["1p..1e400p:3", "1e400..1e400p:3", "-1e400p..5p:3lin", "1..1e309:2", "-1e308..1e308:5lin"]
)
def test_axes_are_finite(axis: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="rising values"):
        sweep(Scenario.parse(SMALL), [f"link.buffer={axis}"], tmp_path / "out")


@pytest.mark.parametrize(
    "address", ["junk://x", "junk://x:1", "tcp://", "x", "tcp://127.0.0.1:1", "127.0.0.1:1", "tcp://a:b"]
)
def test_an_absent_scheduler_is_reported_soon(address: str) -> None:
    pytest.importorskip("distributed")
    begin = time.monotonic()
    with pytest.raises(InputError, match="scheduler: found"):
        Cluster(address)
    assert time.monotonic() - begin < 5


def shell(line: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """A line of bash, in which `forebay` is this one."""
    command = f'forebay() {{ "{sys.executable}" -m forebay "$@"; }}; {line}'
    return subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False, timeout=100, cwd=cwd)


#: Every verb that reads standard input.
READING = ["run -", "recommend - --no-picture", "compare -", "sweep - --over link.buffer=5p --out out",
           "translate - --for linux", "translate - --for sonic"]  # fmt: skip


@pytest.mark.sampled(4)
@pytest.mark.parametrize("line", READING)
@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("<&-", "cannot be read: it is closed"),
        ("< /dev/zero", "found more than"),
        ("< <(yes '[[flows]]')", "found more than"),
        ("< <(printf 'a\\xff')", "found a byte that is not UTF-8 at 1"),
    ],
)
def test_standard_input_is_bounded(line: str, source: str, message: str, tmp_path: Path) -> None:
    done = shell(f"forebay {line} {source}", tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"forebay: <stdin>: {message}")
    assert done.stderr.count("\n") == 1


#: Verbs by what they print with.
PRINTING = ["run", "recommend --no-picture", "recommend --no-picture --json", "compare",
            "sweep --over link.buffer=5p,9p --set flows.bulk.processing=packet --out out"]  # fmt: skip


@pytest.mark.sampled(2)
@pytest.mark.parametrize("line", PRINTING)
def test_a_reader_who_leaves_is_no_mistake(line: str, small: Path, tmp_path: Path) -> None:
    """Least of all a goal that cannot be met, which exit code 1 says."""
    verb, *options = line.split()
    done = shell(f"forebay {verb} {small} {' '.join(options)} | true; exit ${{PIPESTATUS[0]}}", tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "where", ["2> /dev/full", "2>&1 > /dev/null | true; exit ${PIPESTATUS[0]}", "2>&-", "> /dev/full 2>&1"]
)
@pytest.mark.parametrize(
    ("arguments", "code"),
    [("run none.toml", 2), ("recommend {small} --no-picture --goal 'loss_rate>=50%' --goal 'loss_rate<=1%'", 1)],
)
def test_the_exit_code_is_right_with_closed_standard_error(
    arguments: str, code: int, where: str, small: Path, tmp_path: Path
) -> None:
    assert shell(f"forebay {arguments.format(small=small)} {where}", tmp_path).returncode == code


@pytest.mark.long
def test_matplotlib_says_nothing_of_its_folders(small: Path, tmp_path: Path) -> None:
    """A home that does not exist does not prevent a picture."""
    out = str(tmp_path / "out")
    code, _, err = told("recommend", str(small), "--out", out, cwd=tmp_path, HOME="/dev/null", MPLCONFIGDIR="/dev/null")
    assert (code, err) == (0, b"")
    assert list((tmp_path / "out").glob("*.png"))


def test_matplotlib_says_nothing_of_a_list_of_fonts_that_it_cannot_store(tmp_path: Path) -> None:
    (tmp_path / f"fontlist-v{FontManager.__version__}.json").mkdir()
    load = [sys.executable, "-c", "import forebay.views.canvas"]
    done = subprocess.run(load, env={**os.environ, "MPLCONFIGDIR": str(tmp_path)}, capture_output=True, check=True)
    assert done.stderr == b""


@pytest.mark.parametrize(
    ("before", "after"), [({}, {"OPENBLAS_NUM_THREADS": "1"}), ({"OPENBLAS_NUM_THREADS": "4"},) * 2]
)
def test_a_verb_that_loads_numpy_starts_no_threads_for_linear_algebra(
    monkeypatch: pytest.MonkeyPatch, before: dict[str, str], after: dict[str, str]
) -> None:
    environment = dict(before)
    monkeypatch.setattr("forebay.commands.verb.os.environ", environment)
    heavy, light = (Verb("verb", heavy=heavy, callback=lambda: None) for heavy in (True, False))
    light.invoke(click.Context(light))
    assert environment == before
    heavy.invoke(click.Context(heavy))
    assert environment == after

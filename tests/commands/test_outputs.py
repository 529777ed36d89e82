"""Where answers go: what cannot be written is said before anything is worked out, and a full disk costs no answer."""

from __future__ import annotations

import functools
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import pytest
from rich.progress import Progress

from forebay.commands.program import main
from forebay.commands.terminal import Bar
from forebay.errors import InputError
from forebay.storage.files import check_file, check_folder
from tests.support.scenarios import SMALL

HTML, ZIP = "x.html", "x.zip"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with everything that may be in the way."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.toml").write_text(SMALL)
    (tmp_path / "file").write_text("mine")
    (tmp_path / "folder").mkdir()
    (tmp_path / "nowhere").symlink_to("/nonexistent/x")
    os.mkfifo(tmp_path / "pipe")
    for name in ("small-recommendation.svg", "small-comparison.json", "report.json", HTML, ZIP, "x.toml"):
        (tmp_path / "taken" / name).mkdir(parents=True)
    return tmp_path


NO_FOLDER = [
    "file",
    "file/x/y",
    "nowhere",
    "nowhere/x",
    "pipe",
    "/dev/null",
    "x" * 300,
    "a/" + "y" * 300,
    "",
    "/proc/x",
]
NO_FILE = ["folder", "file/x", "nowhere/x", "pipe", "/dev/full", "x" * 300, ""]


def ended(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[object, str]:
    monkeypatch.setattr("sys.argv", ["forebay", *arguments])
    with pytest.raises(SystemExit) as found:
        main()
    output = capsys.readouterr()
    assert output.out == ""
    return found.value.code, output.err


def never(*_: object, **__: object) -> None:
    pytest.fail("something ran")


@pytest.mark.parametrize(
    ("verb", "option", "refused"),
    [
        (["recommend", "small.toml"], "--out", [*NO_FOLDER, "taken"]),
        (["compare", "small.toml"], "--out", [*NO_FOLDER, "taken"]),
        (["run", "small.toml"], "--trace", [*NO_FOLDER, "taken"]),
        (["sweep", "small.toml", "--over", "link.buffer=5p,9p"], "--out", NO_FOLDER),
        (["reproduce", "auge"], "--out", NO_FOLDER),
        (["plot", "folder"], "--out", NO_FOLDER),
        (["recommend", "small.toml"], "--report", [f"{name}/{HTML}" for name in (*NO_FILE[1:-1], "taken")]),
        (["recommend", "small.toml"], "--picture", [f"{name}/x.png" for name in NO_FILE[1:-1]]),
        (["recommend", "small.toml"], "--picture", ["a.pdf", "a", "-", "", "small.toml"]),
        (["compare", "small.toml"], "--picture", ["a.pdf", "nowhere/x.svg"]),
        (["compare", "small.toml", "--points", "0"], "--picture", ["x.png"]),
        (["recommend", "small.toml"], "--report", ["a.pdf", "a", "a.svg", "small.toml", "", "-x.png"]),
        (
            ["sweep", "small.toml", "--over", "link.buffer=5p,9p", "--out", "new"],
            "--bundle",
            [*(f"{name}/{ZIP}" for name in (*NO_FILE[1:-1], "taken")), "a.tar", ""],
        ),
    ],
)
def test_an_unwritable_file_is_reported_before_the_work(
    place: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    verb: list[str],
    option: str,
    refused: list[str],
) -> None:
    monkeypatch.setattr("forebay._core.run_batch", never)
    before = sorted(path.name for path in place.rglob("*"))
    for name in refused:
        code, err = ended(monkeypatch, capsys, *verb, option, name)
        assert code == 2, (name, err)
        assert err.startswith(f"forebay: {option}: found `"), err
        assert err.count("\n") == 1
        assert "; allowed: " in err
    assert sorted(path.name for path in place.rglob("*")) == before, "nothing is left behind"


@pytest.mark.parametrize("name", [*NO_FILE, "taken/x.toml", "a.json"])
def test_a_draft_that_cannot_be_written_is_not_asked_for(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    before = sorted(path.name for path in place.rglob("*"))
    code, err = ended(monkeypatch, capsys, "new", name, "--rate", "1Mbps", "--rtt", "9ms", "--long", "1", "--force")
    assert code == 2
    assert err.count("\n") == 1
    assert sorted(path.name for path in place.rglob("*")) == before


def test_a_read_only_folder_is_refused(place: Path) -> None:
    (place / "folder").chmod(0o500)
    refuses = not os.access(place / "folder", os.W_OK)
    if not refuses:
        pytest.skip("this user may write everywhere")
    for check in (lambda: check_folder(place / "folder" / "x"), lambda: check_file(place / "folder" / "x")):
        with pytest.raises(InputError, match="Permission denied"):
            check()


def test_what_can_be_written_is_not_touched(place: Path) -> None:
    for name in ("folder", "new", "new/deep", "folder/x"):
        check_folder(place / name)
    for name in ("file", "new/file", "folder/file"):
        check_file(place / name)
    assert (place / "file").read_text() == "mine"
    assert not (place / "new").exists()


@functools.cache
def find_fonts() -> None:
    """Let Matplotlib store its list of fonts, as on a machine that has drawn before its disk was full."""
    subprocess.run([sys.executable, "-c", "import matplotlib.font_manager"], check=True, timeout=300)


def limited(place: Path, size: int, *arguments: str, stdout: str = "") -> tuple[int, str, str]:
    """Run a verb that may write no file of more than `size` bytes, as on a full disk."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    find_fonts()
    command = [sys.executable, "-m", "forebay", *arguments]
    with open(stdout or os.devnull, "w") as out:  # noqa: PTH123
        done = subprocess.run(
            command,
            stdout=out if stdout else subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            cwd=place,
            preexec_fn=limit if size else None,
            timeout=120,
        )
    return done.returncode, done.stdout or "", done.stderr


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("verb", "left"),
    [
        (["run", "small.toml", "--trace", "out", "--set", "trace.every=1ms"], set()),
        (["recommend", "small.toml", "--engine", "fluid", "--fresh", "--out", "out"], set()),
        (["recommend", "small.toml", "--engine", "fluid", "--fresh", "--report", "out/x.html"], set()),
        (["recommend", "small.toml", "--engine", "fluid", "--fresh", "--picture", "out/x.png"], set()),
        (["compare", "small.toml", "--points", "2", "--replications", "1", "--out", "out"], set()),
    ],
)
def test_a_full_disk_is_one_line_and_the_answer(place: Path, verb: list[str], left: set[str]) -> None:
    code, out, err = limited(place, 1024, *verb)
    assert code == 2
    assert err.startswith("forebay: out"), err
    assert err.endswith(": cannot be written: File too large\n")
    assert err.count("\n") == 1
    assert len(out.splitlines()) > 5, "what was found is not lost"
    assert {path.name for path in (place / "out").rglob("*")} == left, "nothing half-written"


def test_a_sweep_on_a_full_disk_keeps_what_it_has(place: Path) -> None:
    verb = ["sweep", "small.toml", "--engine", "fluid", "--over", "link.buffer=5p,9p", "--out", "out"]
    code, _, err = limited(place, 1500, *verb)
    assert (code, err.count("\n")) == (2, 1)
    assert "cannot be written: File too large" in err
    assert not list((place / "out").rglob("*.partial"))
    code, out, _ = limited(place, 0, *verb)
    assert code == 0
    assert "computed" in out


@pytest.mark.parametrize(
    "verb",
    [
        ["run", "small.toml"],
        ["run", "small.toml", "--json"],
        ["explain", "bdp"],
        ["schema"],
        ["--help"],
        ["new", "-", "--rate", "1Mbps", "--rtt", "9ms", "--long", "1"],
    ],
)
def test_standard_output_may_be_full_or_closed(place: Path, verb: list[str]) -> None:
    code, _, err = limited(place, 0, *verb, stdout="/dev/full")
    assert (code, err) == (2, "forebay: standard output: cannot be written: No space left on device\n")
    command = [sys.executable, "-m", "forebay", *verb]
    for closed in (">&-", "2>&-", ">&- 2>&-"):
        shell = ["sh", "-c", f'"$@" {closed}', "sh", *command]
        done = subprocess.run(shell, capture_output=True, text=True, check=False, cwd=place, timeout=60)
        assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    "verb",
    [
        ["recommend", "small.toml"],
        ["compare", "small.toml"],
        ["sweep", "small.toml", "--over", "link.buffer=5p,9p", "--out", "out"],
        ["run", "small.toml", "--trace", "out"],
        ["run", "small.toml", "--jobs", "4096"],
        ["run", "small.toml"],
        ["explain", "bdp"],
    ],
)
def test_a_small_address_space_is_no_reason_to_hang(place: Path, verb: list[str]) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (200 * 2**20, 200 * 2**20))

    begin = time.monotonic()
    command = [sys.executable, "-m", "forebay", *verb]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        cwd=place,
        preexec_fn=limit,
        timeout=60,
    )
    assert time.monotonic() - begin < 30
    if verb in (["run", "small.toml"], ["explain", "bdp"]):
        assert (done.returncode, done.stderr) == (0, "")
    else:
        assert done.returncode == 2
        assert done.stderr == "forebay: found 210 MB of address space (ulimit -v); allowed: at least 1500 MB\n"


def test_a_bar_says_how_far_it_is_and_what_is_known() -> None:
    progress = Progress(disable=True)
    bar = Bar(progress, "simulating")
    assert (progress.tasks[0].description, progress.tasks[0].total) == ("simulating", None)
    bar(3, 10)
    bar.say("between 40 and 90 packets")
    (task,) = progress.tasks
    assert (task.description, task.completed, task.total) == ("between 40 and 90 packets", 3, 10)
    bar.begin("measuring")
    assert (task.description, task.completed, task.time_remaining) == ("measuring", 0, None)

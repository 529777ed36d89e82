"""What is read and what a run may need is bounded: by the number of bytes, and by `--memory`."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from forebay import _core
from forebay.command_line import main
from forebay.errors import InputError
from forebay.scenario import Scenario

TEXT = '[link]\nrate = "10Mbps"\nbuffer = "50p"\n[[flows]]\nrtt = "20ms"\n[run]\nwarmup = "0s"\nmeasure = "1s"\n'


def test_a_file_without_an_end_is_not_read_to_its_end(tmp_path: Path) -> None:
    endless = tmp_path / "endless.toml"
    os.mkfifo(endless)

    def feed() -> None:
        try:
            with endless.open("wb") as pipe:
                while True:
                    pipe.write(b"# and so on\n" * 10_000)
        except BrokenPipeError:
            pass

    thread = threading.Thread(target=feed, daemon=True)
    thread.start()
    for path in (endless, Path("/dev/zero")):
        with pytest.raises(InputError, match=f"found more than {_core.MAX_TEXT} bytes"):
            Scenario.load(path)
    thread.join(10)
    assert not thread.is_alive()


def test_a_text_of_the_largest_size_is_read(tmp_path: Path) -> None:
    path = tmp_path / "largest.toml"
    path.write_text(TEXT + "#" * (_core.MAX_TEXT - len(TEXT)), encoding="utf-8")
    assert Scenario.load(path).core.packet_bytes == 1500
    path.write_text(TEXT + "#" * (_core.MAX_TEXT - len(TEXT) + 1), encoding="utf-8")
    with pytest.raises(InputError, match="more than"):
        Scenario.load(path)


@pytest.mark.parametrize("verb", ["run", "recommend"])
def test_memory_bounds_every_verb_that_runs(
    verb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "link.toml"
    path.write_text(TEXT.replace("[[flows]]", "[[flows]]\ncount = 100"), encoding="utf-8")
    goal = ["--goal", "utilization>=0.5"] if verb == "recommend" else []
    monkeypatch.setattr("sys.argv", ["forebay", verb, str(path), *goal, "--memory", "50kB"])
    try:
        with pytest.raises(SystemExit) as ended:
            main()
    finally:
        _core.allow_memory(0)
    error = capsys.readouterr().err
    assert ended.value.code == 2
    assert "`flows.flows0.count`" in error or "`link.buffer`" in error
    assert "allowed: 50 kB" in error
    assert len(error.strip().splitlines()) == 1


@pytest.mark.parametrize("size", ["0B", "lots", "-1GB", "1e30GB", "5"])
def test_a_bound_that_is_none_is_refused(
    size: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "link.toml"
    path.write_text(TEXT, encoding="utf-8")
    monkeypatch.setattr("sys.argv", ["forebay", "run", str(path), "--memory", size])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert "16GB" in capsys.readouterr().err

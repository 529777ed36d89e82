"""Inputs are bounded by their number of bytes, and runs by `--memory`."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from forebay import _core
from forebay.__main__ import main
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


@pytest.mark.parametrize(("memory", "fits"), [("0.9MB", False), ("2MB", True)])
def test_a_grid_whose_rows_do_not_fit_is_refused_before_it_begins(
    memory: str, fits: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "link.toml"
    path.write_text(TEXT, encoding="utf-8")
    over = ["--over", "link.buffer=1p,2p,3p,4p", "--over", "run.warmup=0s,1s,2s,3s,4s", "--replications", "5"]
    command = ["sweep", str(path), *over, "--engine", "fluid", "--out", str(tmp_path / "grid"), "--memory", memory]
    monkeypatch.setattr("sys.argv", ["forebay", *command])
    code = 0
    try:
        main()
    except SystemExit as ended:
        code = int(ended.code or 0)
    finally:
        _core.allow_memory(0)
    error = capsys.readouterr().err
    assert code == (0 if fits else 2), error
    if not fits:
        assert "--over" in error
        assert "a grid of 100 runs, whose rows may need 1.29 MB of memory; allowed: 900 kB (`--memory` allows" in error
        assert len(error.strip().splitlines()) == 1
        assert not (tmp_path / "grid").exists()


def test_a_grid_of_millions_of_runs_is_refused_at_once(tmp_path: Path) -> None:
    from forebay.sweeps.sweeping import sweep

    over = ["link.buffer=1p..1000000p:3000", "flows.flows0.rtt=1ms..9000ms:3000"]
    with pytest.raises(InputError, match=r"allowed: 4\.00 GB \(`--memory` allows more\)"):
        sweep(Scenario.parse(TEXT), over, tmp_path / "grid", replications=1000)
    assert not (tmp_path / "grid").exists()

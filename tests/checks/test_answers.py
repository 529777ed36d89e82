"""The comparison of two versions by `make answers`, with small programs in place of forebay."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from checks.bench import answers
from checks.bench.answers import WIDTH, Answer, Comparison, Version, built, compared, geometric_mean, main, table
from forebay.errors import InputError

#: A program in place of forebay: it prints an answer, or fails for a scenario named "old".
PROGRAM = """
import json, pathlib, sys

def main():
    path = pathlib.Path(sys.argv[2])
    assert sys.argv[1] == "recommend" and "--json" in sys.argv, sys.argv
    if path.stem == "old" and LOG.name == "base":
        print("a line\\nold.toml: unknown key", file=sys.stderr)
        return 2
    with LOG.open("a") as log:
        print(LOG.name, path.stem, "quick" if "--quick" in sys.argv else "whole", file=log)
    quick = 0.5 if "--quick" in sys.argv else 1.0
    buffer = None if path.stem == "none" else {"packets": BUFFER}
    cost = {"cpu_s": quick * CPU_S, "data_packets": 2_000_000}
    print(json.dumps({"verdict": "met", "recommendation": buffer, "cost": cost}))
    return 1 if buffer is None else 0
"""


def version(folder: Path, name: str, cpu_s: float, buffer: int) -> Version:
    """A version whose answers cost this processor time; it writes its calls to a file."""
    package = folder / f"package-{name}"
    package.mkdir()
    log = f"LOG = pathlib.Path({str(folder / name)!r})\nCPU_S, BUFFER = {cpu_s}, {buffer}\n"
    text = PROGRAM.replace("\ndef main", f"{log}\ndef main", 1)
    (package / "fake_forebay.py").write_text(text, encoding="utf-8")
    return Version(name, package, "fake_forebay:main")


def scenarios(folder: Path, *names: str) -> Path:
    made = folder / "scenarios"
    made.mkdir()
    for name in names:
        (made / f"{name}.toml").write_text("", encoding="utf-8")
    return made


@pytest.fixture
def versions(tmp_path: Path) -> tuple[Version, Version]:
    return version(tmp_path, "base", 4.0, 90), version(tmp_path, "now", 1.0, 80)


def test_ratios_are_of_the_medians_and_the_versions_take_turns(
    tmp_path: Path, versions: tuple[Version, Version]
) -> None:
    log = tmp_path / "log"
    for each in versions:
        (tmp_path / each.name).symlink_to(log)
    path = scenarios(tmp_path, "one") / "one.toml"
    found = list(compared(versions, {"R/one": path}, ["whole", "quick"], 2, tmp_path / "pycache"))
    assert [each.ratio for each in found] == [0.25, 0.25]
    line = found[0].line()
    assert (line["name"], line["mode"], line["ratio"], line["rounds"]) == ("R/one", "whole", 0.25, 2)
    assert (line["base_cpu_s"], line["now_cpu_s"]) == (4.0, 1.0)
    assert (line["base_buffer_packets"], line["now_buffer_packets"]) == (90, 80)
    assert line["base_million_packets"] == 2.0
    assert 0 < line["now_command_s"] < 60
    called = [text.split() for text in log.read_text(encoding="utf-8").splitlines()]
    assert [name for name, *_ in called] == ["base", "now", "now", "base"] * 2
    assert [mode for *_, mode in called] == ["whole"] * 4 + ["quick"] * 4


def test_a_scenario_that_fails_is_named_with_its_version_and_its_last_line(
    tmp_path: Path, versions: tuple[Version, Version]
) -> None:
    folder = scenarios(tmp_path, "old", "one")
    files = {f"R/{path.stem}": path for path in sorted(folder.iterdir())}
    found = list(compared(versions, files, ["whole"], 1, tmp_path / "pycache"))
    assert found[0].line() == {"name": "R/old", "mode": "whole", "error": "base: old.toml: unknown key"}
    assert found[0].ratio is None
    assert found[1].ratio == 0.25
    lines = table(found)
    assert "failed" in next(line for line in lines if line.startswith("old"))
    assert lines[-1] == "old, whole: base: old.toml: unknown key"
    assert answers._summary(found, "whole") == {
        "name": "R",
        "mode": "whole",
        "scenarios": 1,
        "geometric_mean": 0.25,
        "largest_ratio": 0.25,
        "largest": "R/one",
        "failed": ["R/old"],
    }


def test_a_version_that_prints_no_json_or_dies_without_a_word_has_failed(tmp_path: Path) -> None:
    package = tmp_path / "package"
    package.mkdir()
    for name, body in [("silent", "sys.exit(9)"), ("text", "print('no JSON')"), ("other", "print('{}')")]:
        (package / f"{name}.py").write_text(f"import sys\ndef main(): {body}\n", encoding="utf-8")
        [found] = compared(
            (Version("base", package, f"{name}:main"), Version("now", package, f"{name}:main")),
            {"R/one": tmp_path / "one.toml"},
            ["whole"],
            1,
            tmp_path / "pycache",
        )
        assert found.error == f"base: exit code {9 if name == 'silent' else 0}, no JSON"


def test_an_answer_without_a_buffer_is_an_answer(tmp_path: Path, versions: tuple[Version, Version]) -> None:
    path = scenarios(tmp_path, "none") / "none.toml"
    [found] = compared(versions, {"R/none": path}, ["whole"], 1, tmp_path / "pycache")
    assert (found.ratio, found.now[0].buffer) == (0.25, None)
    assert table([found])[2].endswith("  none")


def test_a_geometric_mean_of_ratios_and_of_their_inverses_are_inverses() -> None:
    ratios = [0.2, 0.5, 1.7, 3.0]
    mean, inverse = geometric_mean(ratios), geometric_mean([1 / ratio for ratio in ratios])
    assert mean is not None
    assert inverse is not None
    assert mean * inverse == pytest.approx(1)
    assert min(ratios) < mean < max(ratios)
    assert geometric_mean([]) is None


def comparison(name: str, mode: str, base_s: float, now_s: float, buffers: tuple[float, float]) -> Comparison:
    base, now = (Answer(s, s, 10**6, buffer) for s, buffer in zip((base_s, now_s), buffers, strict=True))
    return Comparison(name, mode, [base], [now])


def test_the_table_fits_80_columns_and_ends_with_geometric_means() -> None:
    found = [
        comparison(
            f"R/{'elastic-access-link' if turn else 'a-name-of-more-letters-than-fit'}", mode, 1234.5, 0.01, both
        )
        for turn, both in enumerate([(12345.0, 9876.0), (9.0, 9.0)])
        for mode in answers.MODES
    ]
    found.append(Comparison("R/broken", "quick", error="base: " + "words " * 40))
    lines = table(found)
    assert max(map(len, lines)) <= WIDTH
    assert lines[3].startswith("elastic-access-link ")
    assert lines[3].endswith("  9")
    assert lines[2].endswith("  12345>9876")
    assert [line.split()[0] for line in lines[2:5]] == ["a-name-of-more-lett", "elastic-access-link", "broken"]
    assert lines[5].split()[:2] == ["geometric", "mean"]
    # The means stand under the ratios.
    assert len(lines[5].rstrip()) == 68


def test_a_table_of_quick_searches_alone_has_dashes_for_the_others() -> None:
    row = table([comparison("R/one", "quick", 2.0, 1.0, (5.0, 5.0))])[2]
    assert row.split() == ["one", "–", "2.00", "1.00", "0.500", "5"]


def git(folder: Path, *arguments: str) -> str:
    who = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    return subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "--quiet")
    script = '[project]\nname = "forebay"\n[project.scripts]\nforebay = "fake_forebay:main"\n'
    (folder / "pyproject.toml").write_text(script, encoding="utf-8")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "-m", "First")
    monkeypatch.setattr(answers, "ROOT", folder)
    return folder


def test_a_commit_is_built_once_from_its_own_tree_and_its_worktree_is_removed(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, builds = answers._output, []

    def output(*command: str, **options: Any) -> str:
        if not command[0].endswith("maturin"):
            return run(*command, **options)
        builds.append(options["cwd"])
        assert (options["cwd"] / "pyproject.toml").exists()
        with zipfile.ZipFile(Path(command[-1], "forebay.whl"), "w") as wheel:
            wheel.writestr("fake_forebay.py", "")
        return ""

    monkeypatch.setattr(answers, "_output", output)
    folder = tmp_path / "out"
    folder.mkdir()
    first, second = built("HEAD", folder), built("HEAD", folder)
    assert first == second
    assert len(builds) == 1
    assert (first.name, first.entry) == ("base", "fake_forebay:main")
    assert (first.package / "fake_forebay.py").exists()
    assert len(git(repository, "worktree", "list").splitlines()) == 1
    with pytest.raises(InputError, match="no-such-commit"):
        built("no-such-commit", folder)


def test_a_commit_that_cannot_be_built_is_one_line(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    with pytest.raises(InputError, match=r"HEAD: its build failed: .*maturin: No such file"):
        built("HEAD", folder)
    assert len(git(repository, "worktree", "list").splitlines()) == 1


def test_the_command_prints_lines_a_summary_and_a_table(
    tmp_path: Path,
    versions: tuple[Version, Version],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    base, now = versions
    monkeypatch.setattr(answers, "built", lambda _commit, _folder: base)
    monkeypatch.setattr(answers, "ROOT", tmp_path)
    now.package.rename(tmp_path / "python")
    entry = '[project.scripts]\nforebay = "fake_forebay:main"\n'
    (tmp_path / "pyproject.toml").write_text(f"[project]\n{entry}", encoding="utf-8")
    folder = scenarios(tmp_path, "one", "two", "old")
    options = ["--base", "HEAD", "--scenarios", str(folder), "--folder", str(tmp_path / "out")]
    assert main([*options, "--only", "one,two", "--quick"]) == 0
    shown = capsys.readouterr()
    lines, _, rows = shown.out.partition("\n\n")
    read = [json.loads(line) for line in lines.splitlines()]
    assert [(line["name"], line["mode"]) for line in read] == [("R/one", "quick"), ("R/two", "quick"), ("R", "quick")]
    assert read[-1]["geometric_mean"] == 0.25
    assert len(rows.splitlines()) == 5
    assert "R/two, quick (2 of 2)" in shown.err
    assert main([*options, "--only", "old"]) == 1
    assert main([*options, "--only", "nothing"]) == 2
    assert "allowed: R/old, R/one, R/two" in capsys.readouterr().err

"""The project's files for GitHub: workflows with minimal permissions and valid names, and forms that GitHub accepts.

No workflow can run here, and a form with a mistake is left out without a word: these tests hold what can be known
beforehand.
"""

from __future__ import annotations

import itertools
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.paths import ROOT

GITHUB = ROOT / ".github"
WORKFLOWS = {path.name: yaml.safe_load(path.read_text("utf-8")) for path in sorted(GITHUB.glob("workflows/*.yml"))}
RELEASE, TEST = WORKFLOWS["release.yml"]["jobs"], WORKFLOWS["test.yml"]["jobs"]
JOBS = [
    pytest.param(workflow, name, id=f"{workflow}:{name}")
    for workflow in WORKFLOWS
    for name in WORKFLOWS[workflow]["jobs"]
]
FORMS = [path for path in sorted(GITHUB.glob("ISSUE_TEMPLATE/*.yml")) if path.name != "config.yml"]
TEMPLATES = [GITHUB / "pull_request_template.md", *FORMS]

#: An action by the hash of its commit, with the version that this is in a comment.
PINNED = re.compile(r"uses: ([\w.-]+/[\w./-]+)@([0-9a-f]{40}) # (v\d+\.\d+\.\d+)$")
#: Permissions of jobs beyond reading, and the jobs that may have them.
MAY = {
    "release.yml": {
        "attested": {"id-token", "attestations"},
        "pypi": {"id-token"},
        "github": {"contents"},
    }
}
#: The beginnings of the paths that a run of a workflow makes before it names them.
MADE = (".venv/", "assets/", "bill", "dist/", "fresh/", "had/", "lab.html", "notes.md", "*")


def _text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def _toml(name: str) -> dict[str, Any]:
    return tomllib.loads(_text(name))


VERSION = str(_toml("Cargo.toml")["workspace"]["package"]["version"])


def _job(workflow: str, name: str) -> dict[str, Any]:
    return dict(WORKFLOWS[workflow]["jobs"][name])


def _steps(job: dict[str, Any], action: str = "") -> list[dict[str, Any]]:
    """The steps of a job; those alone that use an action, where one is named."""
    return [step for step in job.get("steps", []) if not action or f"{action}@" in step.get("uses", "")]


def _rows(job: dict[str, Any]) -> list[dict[str, str]]:
    """The values of `matrix` in each run of a job."""
    matrix = dict(job.get("strategy", {}).get("matrix", {}))
    if rows := matrix.pop("include", []):
        return [dict(row) for row in rows]
    return [dict(zip(matrix, values, strict=True)) for values in itertools.product(*matrix.values())]


def _filled(text: str, job: dict[str, Any]) -> set[str]:
    """A text with `matrix.NAME` in it, in every run of its job."""
    return {re.sub(r"\$\{\{ matrix\.(\w+) \}\}", lambda found: str(row[found[1]]), text) for row in _rows(job)}  # noqa: B023


def _before(jobs: dict[str, Any], name: str) -> set[str]:
    needs = set(jobs[name].get("needs", []))
    return needs.union(*(_before(jobs, one) for one in needs))


# Permissions ----- --------------------------------------------------------------------------------------------------


def test_every_action_is_pinned_to_one_commit() -> None:
    hashes: dict[str, set[tuple[str, str]]] = {}
    for path in GITHUB.glob("workflows/*.yml"):
        for line in path.read_text(encoding="utf-8").splitlines():
            if re.match(r"\s*(- )?uses:", line) and "uses: ./" not in line:
                found = PINNED.search(line)
                assert found, f"{path.name}: {line.strip()}"
                hashes.setdefault(found[1], set()).add((found[2], found[3]))
    assert len(hashes) >= 6
    assert {name: len(versions) for name, versions in hashes.items()} == dict.fromkeys(hashes, 1)


@pytest.mark.parametrize(("workflow", "name"), JOBS)
def test_a_job_may_do_no_more_than_it_needs(workflow: str, name: str) -> None:
    assert WORKFLOWS[workflow]["permissions"] == {}, "what a job may do is said at the job"
    job = _job(workflow, name)
    writes = {what for what, how in job["permissions"].items() if how != "read"}
    assert writes == MAY.get(workflow, {}).get(name, set())
    if "uses" in job:
        assert (ROOT / job["uses"]).is_file()
        return
    assert 0 < job["timeout-minutes"] <= 60
    reads = bool(_steps(job, "actions/checkout"))
    assert reads <= ("contents" in job["permissions"]), "nothing is checked out without `contents`"
    for step in _steps(job, "actions/checkout"):
        assert step["with"]["persist-credentials"] is False
    for step in _steps(job):
        assert "${{" not in step.get("run", ""), "texts of strangers reach a shell through `env` only"


def test_nothing_is_published_that_was_not_tried() -> None:
    for name in ("pypi", "github"):
        assert _before(RELEASE, name) == set(RELEASE) - {"pypi", "github"} | ({"pypi"} if name == "github" else set())
        assert RELEASE[name]["if"] == RELEASE["attested"]["if"] == "github.ref_type == 'tag'", "no branch is published"
    built = {row["name"] for row in _rows(RELEASE["wheels"])}
    assert {row["wheel"] for name in ("tried", "tried-on-musl") for row in _rows(RELEASE[name])} == built


# Existing names ----- -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("workflow", "name"), JOBS)
def test_what_a_job_runs_exists(workflow: str, name: str) -> None:
    """Every file, every target of make and every scenario that a script names."""
    targets = _targets()
    for step in _steps(_job(workflow, name)):
        script = step.get("run", "")
        assert set(re.findall(r"\bmake (?!-)([\w-]+)", script)) <= targets
        for scenario in re.findall(r"(?<=\s)@([\w-]+)", script):
            assert (ROOT / f"scenarios/{scenario}.toml").is_file(), scenario
        for file in _files(script):
            assert file.startswith(MADE) or (ROOT / file).exists(), file


def _targets() -> set[str]:
    return set(re.findall(r"^([\w-]+):(?!=)", _text("Makefile"), re.MULTILINE))


def _files(script: str) -> Iterator[str]:
    """The words of a script that are files: with a slash or an ending, and with nothing to replace but `*`."""
    for word in shlex.split(script, comments=True):
        if re.fullmatch(r"[\w.*-]+(/[\w.*-]+)+/?|[\w-]+\.(toml|txt|sh|md|html|json)", word):
            yield word


def test_the_words_of_a_script_that_are_files_are_found() -> None:
    script = """
        .ci/run && PATH=$(go env GOPATH)/bin:$PATH make audit   # docs/none.md
        sed -n 's/^version = "\\(.*\\)"/\\1/p' Cargo.toml | tools/count --of requirements/dev.txt >/dev/null
        go install example.org/one/two@v1
    """
    assert list(_files(script)) == [".ci/run", "Cargo.toml", "tools/count", "requirements/dev.txt"]


def test_what_comments_and_templates_name_exists() -> None:
    named = set()
    for path in [*GITHUB.rglob("*.yml"), *GITHUB.glob("*.sh"), *GITHUB.glob("*.md")]:
        text = path.read_text(encoding="utf-8")
        words = text if path.suffix == ".md" or path in FORMS else "\n".join(re.findall(r"# (.*)", text))
        files = re.findall(r"(?<![\w/])(?:[\w.-]+/)+[\w-]+\.\w+|(?<![\w/.])[A-Z_]+\.(?:md|cff)", words)
        for file in {file.removeprefix("../blob/main/") for file in files}:
            assert (ROOT / file).is_file(), f"{path.name}: {file}"
            named.add(file)
        assert set(re.findall(r"`make ([\w-]+)`", words)) <= _targets(), path.name
    assert {
        "tests/project/test_workflows.py",
        "docs/reference/versions.md",
        "docs/background/wrong.md",
        "CONTRIBUTING.md",
    } <= named


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_links_of_templates_lead_somewhere(path: Path) -> None:
    """They are read at /issues/new and at /pull/N, so that `..` is the repository."""
    for target in re.findall(r"\]\(([^)]+)\)", path.read_text(encoding="utf-8")):
        file = re.fullmatch(r"\.\./blob/main/([^#]+)(?:#.*)?", target)
        assert (ROOT / file[1]).is_file() if file else target == "../security/policy", target
    assert (ROOT / "SECURITY.md").is_file(), "what /security/policy shows"


def test_what_is_downloaded_was_uploaded_by_a_job_before() -> None:
    uploads = {
        name: set().union(*(_filled(step["with"]["name"], job) for step in _steps(job, "actions/upload-artifact")))
        for name, job in RELEASE.items()
    }
    for name, job in RELEASE.items():
        there = set().union(*(uploads[one] for one in _before(RELEASE, name)))
        for step in _steps(job, "actions/download-artifact"):
            given = step.get("with", {})
            assert (_filled(given["name"], job) if "name" in given else set()) <= there
            if "pattern" in given:
                assert [one for one in there if fnmatchcase(one, given["pattern"])], given["pattern"]
    for folder in re.findall(r"\bhad/([\w*-]+)/", str(_steps(RELEASE["github"]))):
        there = set().union(*(uploads[one] for one in _before(RELEASE, "github")))
        assert [one for one in there if fnmatchcase(one, folder)], folder


# Releases are built and tested ----- --------------------------------------------------------------------------------


def test_wheels_are_made_by_the_maturin_that_was_tested() -> None:
    pinned = re.search(r"^maturin==(\S+)", _text("requirements/dev.txt"), re.MULTILINE)
    assert pinned
    assert WORKFLOWS["release.yml"]["env"]["MATURIN_VERSION"] == f"v{pinned[1]}"
    used = [step for job in RELEASE.values() for step in _steps(job, "PyO3/maturin-action")]
    assert len(used) == 2
    assert {step["with"]["maturin-version"] for step in used} == {"${{ env.MATURIN_VERSION }}"}


def test_wheels_are_those_that_the_manual_promises() -> None:
    """`docs/install.md`: for any Linux with this C library, for others, stripped, with the laboratory's page inside."""
    manual, script = _text("docs/install.md"), _text("crates/python/wheel.sh")
    glibc = re.search(r"Linux, glibc ([\d.]+) or newer", manual)
    assert glibc
    rows = _rows(RELEASE["wheels"])
    requested = {row["manylinux"] for row in rows if "-linux-" in row["target"]}
    assert requested == {glibc[1].replace(".", "_"), "musllinux_1_2"}
    assert {f"manylinux_{one}" if one[0].isdigit() else one for one in requested} == set(
        re.findall(r"--compatibility (\w+)", script)
    )
    assert {"x86_64-unknown-linux-gnu", *re.findall(r"`TARGET=([\w-]+)`", manual)} <= {row["target"] for row in rows}
    (build,) = _steps(RELEASE["wheels"], "PyO3/maturin-action")
    assert {"--release", "--locked", "--strip"} <= set(build["with"]["args"].split()) & set(
        re.findall(r"--\w+", script)
    )
    (page,) = _steps(RELEASE["wheels"], "actions/download-artifact")
    included = {one["path"] for one in _toml("pyproject.toml")["tool"]["maturin"]["include"]}
    assert f"{page['with']['path']}/index.html" in included


def test_wheels_are_for_what_crates_are_judged_for() -> None:
    targets = {row["target"] for row in _rows(RELEASE["wheels"])} - {"universal2-apple-darwin"}
    both = {f"{machine}-apple-darwin" for machine in ("x86_64", "aarch64")}
    assert set(_toml("deny.toml")["graph"]["targets"]) == targets | both | {"wasm32-unknown-unknown"}


@pytest.mark.parametrize("row", _rows(RELEASE["wheels"]), ids=lambda row: row["name"])
def test_a_wheel_is_built_and_tried_where_it_runs(row: dict[str, str]) -> None:
    system, machine = row["name"].rsplit("-", 1)
    kind = {"manylinux": "unknown-linux-gnu", "musllinux": "unknown-linux-musl", "macos": "apple-darwin",
            "windows": "pc-windows-msvc"}[system]  # fmt: skip
    assert row["target"] == f"{machine}-{kind}"
    assert row["manylinux"].startswith({"manylinux": "2_", "musllinux": "musllinux_"}.get(system, "auto"))
    begins = {"macos": "macos-", "windows": "windows-"}.get(system, "ubuntu-")
    job = RELEASE["tried-on-musl" if system == "musllinux" else "tried"]
    runners = [one["runner"] for one in _rows(job) if one["wheel"] == row["name"]]
    for runner in [row["runner"], *runners]:
        assert runner.startswith(begins)
        assert runner.endswith("-arm") == (begins == "ubuntu-" and machine == "aarch64")
    if machine == "universal2":
        assert {runner.endswith("-intel") for runner in runners} == {True, False}


def test_the_lowest_python_and_rust_that_are_promised_are_tested() -> None:
    lowest = _toml("pyproject.toml")["project"]["requires-python"].removeprefix(">=")
    for job in (TEST["linux"], RELEASE["tried"]):
        pythons = [tuple(map(int, row["python"].split("."))) for row in _rows(job)]
        assert min(pythons) == tuple(map(int, lowest.split(".")))
    (script,) = (step["run"] for step in _steps(TEST["oldest-rust"]) if "run" in step)
    found = re.search(r"/\^(rust-version) = ", script)
    assert found
    assert re.findall(rf'^{found[1]} = "([\d.]+)"$', _text("Cargo.toml"), re.MULTILINE) == [
        _toml("Cargo.toml")["workspace"]["package"]["rust-version"]
    ]


def test_links_and_line_ends_are_kept_on_windows() -> None:
    """The scenarios of the package are a link in Git: without it a wheel has none."""
    assert (ROOT / "python/forebay/scenarios").resolve() == (ROOT / "scenarios").resolve()
    for job in (*RELEASE.values(), *TEST.values()):
        runners = _filled(job.get("runs-on", ""), job)
        if any(runner.startswith("windows") for runner in runners) and _steps(job, "actions/checkout"):
            first = _steps(job)[0]
            assert first.get("if", "runner.os == 'Windows'") == "runner.os == 'Windows'"
            assert {"core.symlinks true", "core.autocrlf false"} <= set(re.findall(r"--global (\S+ \S+)", first["run"]))


# The notes of a release ---------------------------------------------------------------------------------------------


def _notes(*arguments: str) -> subprocess.CompletedProcess[str]:
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("needs bash")
    script = [bash, (GITHUB / "notes.sh").as_posix(), *arguments]
    return subprocess.run(script, capture_output=True, text=True, encoding="utf-8", check=False)


def test_the_notes_of_a_release_are_what_the_changelog_says_of_it() -> None:
    notes = _notes(VERSION)
    changelog = _text("CHANGELOG.md")
    inside = changelog.split(f"\n## {VERSION} ", 1)[1].split("\n", 1)[1].split("\n## ", 1)[0]
    assert (notes.returncode, notes.stderr) == (0, "")
    assert notes.stdout.strip() == inside.strip() != ""
    assert "\n## " not in notes.stdout


@pytest.mark.parametrize("version", ["9.9.9", "0", "Changelog", VERSION[:-1]])
def test_there_are_no_notes_of_a_version_that_does_not_exist(version: str) -> None:
    unknown = _notes(version)
    assert (unknown.returncode, unknown.stderr) == (1, f"CHANGELOG.md says nothing of {version}\n")


def test_links_of_the_notes_lead_into_the_repository() -> None:
    """A release's page is not where `CHANGELOG.md` is."""
    base = f"https://example.org/blob/v{VERSION}"
    bare_text, text = _notes(VERSION).stdout, _notes(VERSION, base).stdout
    targets = re.findall(r"\]\(([^)#]+)", bare_text)
    assert targets
    assert all((ROOT / target).is_file() for target in targets if "://" not in target), targets
    assert re.findall(r"\]\(([^)#]+)", text) == [one if "://" in one else f"{base}/{one}" for one in targets]
    assert text.replace(f"]({base}/", "](") == bare_text


# Forms --------------------------------------------------------------------------------------------------------------

#: Keys that each kind of a form's parts may have, from GitHub's syntax for issue forms; the first is required.
ATTRIBUTES = {
    "markdown": ["value"],
    "textarea": ["label", "description", "placeholder", "value", "render"],
    "input": ["label", "description", "placeholder", "value"],
    "dropdown": ["label", "description", "multiple", "options", "default"],
    "checkboxes": ["label", "description", "options"],
}


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.name)
def test_forms_are_what_github_reads(path: Path) -> None:
    form = yaml.safe_load(path.read_text(encoding="utf-8"))
    keys = {"name", "description", "body"}
    assert keys <= set(form) <= keys | {"title", "labels", "assignees", "projects", "type"}
    assert all(isinstance(form[key], str) and form[key].strip() for key in ("name", "description"))
    assert all(isinstance(label, str) and label for label in form.get("labels", []))
    requested = [part for part in form["body"] if part["type"] != "markdown"]
    assert requested, "a form asks something"
    for names in ([part["id"] for part in requested], [part["attributes"]["label"] for part in requested]):
        assert len(set(names)) == len(names), names
    for part in form["body"]:
        known = ATTRIBUTES[part["type"]]
        assert set(part) <= {"type", "attributes"} | ({"id", "validations"} if part in requested else set())
        assert {known[0]} <= set(part["attributes"]) <= set(known)
        assert all(
            isinstance(part["attributes"][key], str)
            for key in {"label", "description", "value", "render"} & set(part["attributes"])
        )
        assert re.fullmatch(r"[\w-]+", part.get("id", "markdown"))
        assert set(part.get("validations", {})) <= {"required"}
        assert part.get("validations", {}).get("required", True) is True
        if part["type"] in ("dropdown", "checkboxes"):
            options = part["attributes"]["options"]
            labels = [option["label"] if isinstance(option, dict) else option for option in options]
            assert labels, "something to choose"
            assert len(set(labels)) == len(labels)


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.name)
def test_files_can_be_dropped_where_they_are_asked_for(path: Path) -> None:
    """A text that is rendered as code takes no files."""
    for part in yaml.safe_load(path.read_text(encoding="utf-8"))["body"]:
        if re.search(r"\b[Dd]rop (them|it) here\b", part["attributes"].get("description", "")):
            assert "render" not in part["attributes"], part["id"]


def test_the_page_that_offers_the_forms_is_what_github_reads() -> None:
    chooser = yaml.safe_load(_text(".github/ISSUE_TEMPLATE/config.yml"))
    assert set(chooser) <= {"blank_issues_enabled", "contact_links"}
    assert isinstance(chooser.get("blank_issues_enabled", True), bool)
    for link in chooser.get("contact_links", []):
        assert set(link) == {"name", "url", "about"}
        assert link["url"].startswith("https://")


def test_what_is_renewed_by_itself_is_there() -> None:
    renewed = yaml.safe_load(_text(".github/dependabot.yml"))
    assert renewed["version"] == 2
    for update in renewed["updates"]:
        assert (ROOT / update["directory"].lstrip("/")).is_dir(), update["directory"]
        assert update["schedule"]["interval"] in {"daily", "weekly", "monthly", "quarterly", "semiannually", "yearly"}
    assert [
        update["directory"] for update in renewed["updates"] if update["package-ecosystem"] == "github-actions"
    ] == ["/"]


# Rules of other checkers of workflows ----- -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "command",
    [["actionlint"], ["zizmor", "--offline", "--pedantic", "--quiet", ".github"]],
    ids=lambda one: str(one[0]),
)
def test_lints_of_workflows_find_nothing(command: list[str]) -> None:
    beside = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)))
    program = shutil.which(command[0], path=beside)
    if program is None:
        pytest.skip(f"needs {command[0]} on PATH")
    done = subprocess.run([program, *command[1:]], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr

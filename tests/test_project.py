"""What strangers meet around the code: workflows that trust nobody, forms that GitHub reads, one version everywhere."""

from __future__ import annotations

import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT

yaml = pytest.importorskip("yaml", reason="needs PyYAML to read the workflows")

WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
FORMS = sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml"))
#: An action by the hash of its commit, with the version that this is in a comment.
PINNED = re.compile(r"uses: ([\w.-]+/[\w./-]+)@([0-9a-f]{40}) # (v\d+\.\d+\.\d+)$")
#: What a job may do that is not reading, and which ones may.
MAY = {
    "release.yml": {
        "attested": {"id-token", "attestations"},
        "pypi": {"id-token"},
        "github": {"contents"},
    }
}


def _read(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def _version() -> str:
    return str(tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"]["version"])


def _steps(workflow: Any) -> list[tuple[str, Any]]:
    return [(name, step) for name, job in workflow["jobs"].items() for step in job.get("steps", [])]


def test_every_action_is_pinned_to_one_commit() -> None:
    hashes: dict[str, set[tuple[str, str]]] = {}
    for path in WORKFLOWS:
        for line in path.read_text(encoding="utf-8").splitlines():
            if re.match(r"\s*(- )?uses:", line) and "uses: ./" not in line:
                found = PINNED.search(line)
                assert found, f"{path.name}: {line.strip()}"
                hashes.setdefault(found[1], set()).add((found[2], found[3]))
    assert len(hashes) >= 6
    assert {name: len(versions) for name, versions in hashes.items()} == dict.fromkeys(hashes, 1)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_job_may_do_no_more_than_it_needs(path: Path) -> None:
    workflow = _read(path)
    assert workflow["permissions"] == {}, "what a job may do is said at the job"
    for name, job in workflow["jobs"].items():
        writes = {what for what, how in job["permissions"].items() if how == "write"}
        assert writes == MAY.get(path.name, {}).get(name, set()), name
        assert "uses" in job or job["timeout-minutes"] <= 60, name
    for name, step in _steps(workflow):
        if "checkout@" in step.get("uses", ""):
            assert step["with"]["persist-credentials"] is False, name
        assert "${{" not in step.get("run", ""), f"{name}: texts of strangers reach a shell through `env` only"


def test_nothing_is_published_that_was_not_tried() -> None:
    jobs = _read(ROOT / ".github/workflows/release.yml")["jobs"]

    def before(name: str) -> set[str]:
        needs = set(jobs[name].get("needs", []))
        return needs.union(*(before(one) for one in needs))

    for name in ("pypi", "github"):
        assert before(name) >= {"ready", "tests", "laboratory", "wheels", "sdist", "tried", "tried-on-musl", "attested"}
        assert jobs[name]["if"] == jobs["attested"]["if"] == "github.ref_type == 'tag'", "by hand nothing is published"
    built = {row["name"] for row in jobs["wheels"]["strategy"]["matrix"]["include"]}
    tried = {row["wheel"] for row in jobs["tried"]["strategy"]["matrix"]["include"]}
    assert tried <= built
    assert {name.split("-")[0] for name in built} == {"manylinux", "musllinux", "macos", "windows"}


def test_wheels_are_made_by_the_maturin_that_was_tested() -> None:
    pinned = re.search(r"^maturin==(.+)$", (ROOT / "requirements/dev.txt").read_text(encoding="utf-8"), re.MULTILINE)
    assert pinned
    assert _read(ROOT / ".github/workflows/release.yml")["env"]["MATURIN_VERSION"] == f"v{pinned[1]}"


def test_the_version_is_one() -> None:
    version = _version()
    citation = _read(ROOT / "CITATION.cff")
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    lines = re.findall(r"^## (\S+)(?: \((\d{4}-\d\d-\d\d)\))?$", changelog, re.MULTILINE)
    released = [line for line in lines if line[0] != "Unreleased"]
    assert released[0][0] == version, "the newest release of CHANGELOG.md is Cargo.toml's version"
    assert (citation["version"], str(citation["date-released"])) == released[0]
    numbers = [tuple(map(int, number.split("."))) for number, _ in released]
    assert numbers == sorted(numbers, reverse=True)


def test_the_notes_of_a_release_are_what_the_changelog_says_of_it() -> None:
    script = ROOT / ".github/notes.sh"
    if shutil.which("bash") is None:
        pytest.skip("needs bash")
    told = subprocess.run(["bash", script, _version()], capture_output=True, text=True, check=True).stdout
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    inside = changelog.split(f"\n## {_version()} ", 1)[1].split("\n", 1)[1].split("\n## ", 1)[0]
    assert told.strip() == inside.strip()
    assert "\n## " not in told
    unknown = subprocess.run(["bash", script, "9.9.9"], capture_output=True, text=True, check=False)
    assert (unknown.returncode, unknown.stderr) == (1, "CHANGELOG.md says nothing of 9.9.9\n")


@pytest.mark.parametrize("path", [form for form in FORMS if form.name != "config.yml"], ids=lambda path: path.name)
def test_forms_are_what_github_reads(path: Path) -> None:
    """GitHub's syntax for issue forms: a form with a mistake is not offered, and nobody is told."""
    form = _read(path)
    assert {"name", "description", "body"} <= set(form) <= {"name", "description", "title", "labels", "body"}
    ids = [part["id"] for part in form["body"] if part["type"] != "markdown"]
    assert ids, "a form asks something"
    assert len(set(ids)) == len(ids)
    for part in form["body"]:
        assert part["type"] in {"markdown", "textarea", "input", "dropdown", "checkboxes"}
        known = {"value"} if part["type"] == "markdown" else {"label", "description", "render", "options"}
        assert set(part["attributes"]) <= known
        assert part["type"] == "markdown" or part["attributes"]["label"]
        for option in part["attributes"].get("options", []):
            assert option["label"]


def test_pages_of_the_project_are_there_where_they_are_pointed_at() -> None:
    pages = [ROOT / ".github/pull_request_template.md", ROOT / "SECURITY.md", ROOT / "CODE_OF_CONDUCT.md", *FORMS]
    for page in pages:
        for target in re.findall(r"\]\(\.\./blob/main/([^)#]+)", page.read_text(encoding="utf-8")):
            assert (ROOT / target).is_file(), f"{page.name}: {target}"


@pytest.mark.parametrize(
    "command",
    [["actionlint"], ["zizmor", "--offline", "--pedantic", "--quiet", ".github"]],
    ids=lambda one: str(one[0]),
)
def test_lints_of_workflows_find_nothing(command: list[str]) -> None:
    if shutil.which(command[0]) is None:
        pytest.skip(f"needs {command[0]} on PATH")
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_citation_is_one() -> None:
    """The keys that version 1.2.0 of the format wants, and none that it does not know."""
    citation = _read(ROOT / "CITATION.cff")
    wanted = {"cff-version", "message", "title", "authors"}
    assert wanted <= set(citation) <= wanted | {
        "type", "version", "date-released", "license", "abstract", "keywords", "repository-code", "url", "doi",
    }  # fmt: skip
    assert all("name" in author or {"family-names", "given-names"} <= set(author) for author in citation["authors"])

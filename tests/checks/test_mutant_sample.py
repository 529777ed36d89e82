"""A sample of mutants in a session of cosmic-ray, whose tables are made here because the tests do not install it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from checks.mutant_sample import reduce_session


@pytest.fixture
def session(tmp_path: Path) -> Path:
    """Twenty mutants, of which cosmic-ray's filters have skipped five."""
    path = tmp_path / "session.sqlite"
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("CREATE TABLE work_items (job_id)")
        database.execute("CREATE TABLE mutation_specs (module_path, operator_name, occurrence, job_id)")
        database.execute("CREATE TABLE work_results (worker_outcome, job_id)")
        for number in range(20):
            database.execute("INSERT INTO work_items VALUES (?)", (f"job{number}",))
            database.execute("INSERT INTO mutation_specs VALUES ('a.py', 'AddNot', ?, ?)", (number, f"job{number}"))
        database.executemany("INSERT INTO work_results VALUES ('SKIPPED', ?)", [(f"job{n}",) for n in range(5)])
    return path


def jobs(session: Path, table: str) -> set[str]:
    with closing(sqlite3.connect(session)) as database:
        return {job for (job,) in database.execute(f"SELECT job_id FROM {table}")}


def test_without_a_count_only_skipped_mutants_are_deleted(session: Path) -> None:
    assert reduce_session(session, None, 1) == 15
    assert jobs(session, "work_items") == jobs(session, "mutation_specs") == {f"job{n}" for n in range(5, 20)}
    assert jobs(session, "work_results") == set()


def test_a_sample_has_the_size_that_was_asked_for_and_no_skipped_mutant(session: Path) -> None:
    assert reduce_session(session, 4, 1) == 4
    assert len(jobs(session, "work_items")) == 4
    assert jobs(session, "work_items") <= {f"job{n}" for n in range(5, 20)}
    assert reduce_session(session, 50, 1) == 4

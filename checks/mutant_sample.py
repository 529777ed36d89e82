"""`make mutants`: reduces a session of cosmic-ray to the mutants that are still to run, or to a random sample of them.

It runs after cosmic-ray's filters. They only mark mutants as skipped, and its report counts these as caught.
"""

from __future__ import annotations

import random
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

__all__ = ["reduce_session"]


def reduce_session(session: Path, count: int | None, seed: int) -> int:
    """Delete all mutants that have a result or are not in the sample; return the number of the others.

    The sample depends on the sources and the seed alone.
    """
    with closing(sqlite3.connect(session)) as database, database:
        order = "ORDER BY module_path, operator_name, occurrence"
        pending = f"SELECT job_id FROM mutation_specs WHERE job_id NOT IN (SELECT job_id FROM work_results) {order}"
        jobs = [job for (job,) in database.execute(pending)]
        if count is not None and count < len(jobs):
            jobs = random.Random(seed).sample(jobs, count)
        database.execute("CREATE TEMPORARY TABLE kept (job_id)")
        database.executemany("INSERT INTO kept VALUES (?)", [(job,) for job in jobs])
        for table in ("work_results", "mutation_specs", "work_items"):
            database.execute(f"DELETE FROM {table} WHERE job_id NOT IN (SELECT job_id FROM kept)")
    return len(jobs)


if __name__ == "__main__":
    session, seed, *count = sys.argv[1:]
    print(f"{reduce_session(Path(session), int(count[0]) if count else None, int(seed))} mutants")

"""The coverage study: the share of `recommend`'s sure answers that are right.

The life of a study:

1. `families` lists the scenarios, and `systems` the systems whose curve is known exactly.
2. `truth` has the true state of every buffer: computed once for the scenarios, exact for the systems.
3. `study` searches with many seeds and stores each result.
4. `judging` compares each result with the truth and each family with the criteria.

No module of the study knows how a search works. A search sees only the scenario or the reports of a system.

Example: ``python -m checks.coverage.study --family smooth --searches 20 --systems 10``.
"""

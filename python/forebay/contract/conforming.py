"""`conformance`: the checks of one class of a user's file, in the order of the table."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from forebay import _core
from forebay.algorithms.code_files import ALLOWED, MOST_BYTES, PLACE, admit, allowing
from forebay.algorithms.loading import Role
from forebay.algorithms.processes import describe
from forebay.contract.answer import Check, Conformance
from forebay.contract.control_checks import CONTROL_CHECKS
from forebay.contract.pictures import control_curves, queue_curves
from forebay.contract.queue_checks import QUEUE_CHECKS, WORDS
from forebay.contract.trials import Subject, Trials, flows
from forebay.errors import CodeError, InputError
from forebay.storage.safe_io import content

__all__ = ["checked", "conformance"]

#: Called with the number of finished checks and of all checks.
Progress = Callable[[int, int], object]
#: The figure of a check that could not run.
UNMEASURED = "not measured"


def conformance(
    place: str,
    parameters: Mapping[str, Any] | None = None,
    *,
    allow_code: bool = False,
    pictures: bool = False,
    progress: Progress | None = None,
) -> Conformance:
    """Check that a class meets the contract of forebay's algorithms.

    Parameters
    ----------
    place : str
        File and class, such as "mine.py:Mine": a subclass of `CongestionControl` or of `QueueDiscipline`.
    parameters : mapping, optional
        Parameters of the class, such as `{"gain": 2}`; the others have their defaults.
    allow_code : bool
        Consent that the code of the file runs.
    pictures : bool
        Whether the answer has curves beside built-in algorithms.
    progress : callable, optional
        Called with the numbers of finished and of all checks.

    Returns
    -------
    Conformance

    Raises
    ------
    InputError
        If the file or a parameter is wrong, or if the code may not run.
    CodeError
        If the file cannot be loaded, or has no such class.

    Examples
    --------
    >>> found = forebay.conformance("examples/algorithms/newreno.py:NewReno", allow_code=True)
    >>> found.passed
    True
    """
    with allowing(allow_code):
        subject = _subject(place, dict(parameters or {}))
        with tempfile.TemporaryDirectory(prefix="forebay-") as folder:
            trials = Trials(subject, Path(folder))
            _try_parameters(trials)
            steps = len(CONTROL_CHECKS if subject.role == "controller" else QUEUE_CHECKS) + pictures
            if progress is not None:
                progress(0, steps)
            checks = checked(trials, None if progress is None else lambda done, _: progress(done, steps))
            broken = any(each.verdict == "note" and each.figure == UNMEASURED for each in checks)
            curves = control_curves if subject.role == "controller" else queue_curves
            drawn = curves(trials) if pictures and not broken else ()
            if progress is not None:
                progress(steps, steps)
    return Conformance(
        place=place,
        role=subject.role,
        parameters=dict(parameters or {}),
        sha256=hashlib.sha256(subject.source.encode()).hexdigest(),
        checks=checks,
        curves=drawn,
        version=_core.__version__,
    )


def checked(trials: Trials, progress: Progress | None = None) -> tuple[Check, ...]:
    """Run all checks of an algorithm. Code that fails is one failure: of the check to which its error belongs."""
    checks = CONTROL_CHECKS if trials.subject.role == "controller" else QUEUE_CHECKS
    found: dict[str, Check] = {}
    errors: dict[str, str] = {}
    for number, (name, check) in enumerate(checks.items(), 1):
        try:
            found[name] = check(trials)
        except CodeError as error:
            errors[name] = str(error)
        if progress is not None:
            progress(number, len(checks))
    for name in errors:
        found[name] = Check(name, "note", UNMEASURED, "no error")
    failed = {_blamed(text, checks): text for text in reversed(errors.values())}
    for name, text in failed.items():
        found[name] = Check(name, "fail", "the code failed", "no error", None, (text,))
    found.setdefault("runs", Check("runs", "pass", "no error", "no error"))
    return tuple(found[name] for name in ("runs", *checks))


def _blamed(text: str, checks: Iterable[str]) -> str:
    """The check to which an error of the engine belongs; "runs" for an error of the code itself."""
    return next(
        (name for name, words in WORDS.items() if name in checks and any(word in text for word in words)), "runs"
    )


def _subject(place: str, parameters: dict[str, Any]) -> Subject:
    """Read the file and find the class: a controller or a queue discipline."""
    file, _, name = place.rpartition(":")
    if not file or not name.isidentifier():
        raise InputError(f"found `{place}`; allowed: {PLACE}", "place")
    data = content(Path(file), "a file with Python code", MOST_BYTES)
    try:
        source = data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError:
        raise InputError(f"{file}: found bytes that are no text; allowed: Python code in UTF-8") from None
    if not ALLOWED.get():
        raise InputError(
            f"`{place}` is code, and forebay runs it only with your consent: add `--allow-code` "
            "(in Python: `allow_code=True`)"
        )
    role, facts = _described(place, source)
    admit(place, source, role)
    table = {**parameters, "python": place, "source": source}
    return Subject(place, role, table, source, bool(facts.get("own_recovery", False)))


def _described(place: str, source: str) -> tuple[Role, Mapping[str, Any]]:
    """The role of a class, and what the core has to know of it."""
    try:
        return "controller", describe(place, source, "controller")
    except CodeError as error:
        if "found no class" not in str(error):
            raise
    try:
        return "discipline", describe(place, source, "discipline")
    except CodeError as error:
        if "found no class" not in str(error):
            raise
    file, _, name = place.rpartition(":")
    allowed = "a subclass of `CongestionControl` or `QueueDiscipline`"
    raise CodeError(f"{Path(file).name}: found no class `{name}`; allowed: {allowed}")


def _try_parameters(trials: Trials) -> None:
    """Refuse wrong parameters before the first check."""
    table = trials.subject.table
    if trials.subject.role == "controller":
        trials.scenario(flows(table))
    else:
        trials.scenario(flows("cubic"), link={"queue": table})

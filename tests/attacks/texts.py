"""Attacks on the readers of typed texts and of routers' output."""

from __future__ import annotations

import functools
import math

from forebay import _core
from forebay.configuration.configuring import configure, fit, link_table, translate
from forebay.configuration.platforms.platform import Assumed
from forebay.configuration.platforms.registry import PLATFORMS
from forebay.configuration.port import Classes
from forebay.errors import ForebayError, UnsupportedError
from forebay.inputs.goals import check_bounds, metric_of_goal, split_goal
from forebay.scenario import Scenario, utf8
from forebay.search.buffer_variable import BufferVariable
from forebay.sweeps.axes import MOST_VALUES, Axis
from tests.attacks.laws import check_sentence, refused

#: Facts that a reader of a router's configuration may know besides the text.
ASSUMED = (Assumed(), Assumed(10**9), Assumed(10**9, 64), Assumed(8_000, 65535))
NAMES = (*PLATFORMS,)


def router(raw: bytes) -> None:
    """A configuration is refused in a sentence, or its port is one that a scenario can have and that can be written."""
    if not raw:
        return
    name = NAMES[raw[0] % len(NAMES)]
    assumed = ASSUMED[raw[0] // len(NAMES) % len(ASSUMED)]
    text = raw[1:].decode("utf-8", errors="replace")
    with refused():
        found = translate(text, name, assumed)
        for line in found.derivation:
            check_sentence(line)
        assert found.bytes is None or found.bytes >= 0
        table = link_table(found.port)
        if found.port.rate is not None:
            _held(table, found.port.queue)
        _written(found)


def _held(table: str, queue: object) -> None:
    """The `[link]` table is one that a scenario takes, or says what of it no scenario can have."""
    flows = '[[flows]]\nname = "any"\nrtt = "10ms"\n'
    if isinstance(queue, Classes):
        names = {name for entry in queue.classes for name in entry.groups}
        flows = "".join(f'[[flows]]\nname = "{name}"\nrtt = "10ms"\n' for name in sorted(names)) or flows
    text = ""
    try:
        Scenario.parse(table + flows)
    except ForebayError as error:
        text = str(error)
        check_sentence(text)
    # A rate, a buffer or a name beyond what a link may have is no mistake of the reader's.
    assert "not TOML" not in text, table


def _written(found: object) -> None:
    """A port that was read can be fitted to its platform, or is refused by name; fitting twice is fitting once."""
    system, port = found.system, found.port  # type: ignore[attr-defined]
    if port.rate is None:
        return
    try:
        fitted = fit(system, port).port
    except UnsupportedError as error:
        check_sentence(str(error))
        return
    assert fit(system, fitted).port == fitted
    try:
        lines = configure(system, port).lines
    except KeyError as unsaid:
        # A value that a text lacks, such as the weight of an average, cannot be written again.
        if all(unsaid.args[0] in queue.discipline.parameters for _, queue in port.queues()):
            raise
        return
    for line in lines:
        assert line.expandtabs().isprintable(), repr(line)


def loading(raw: bytes) -> None:
    """A scenario is refused in a sentence, or resolved; never a panic of the engines' side."""
    with refused():
        found = Scenario.parse(utf8(raw, "file"))
        assert Scenario.of(found.resolved).core.sha256 == found.core.sha256
        assert found.buffer.bytes >= 0
        for goal in found.goals:
            check_sentence(goal.key)


@functools.cache
def _start() -> Scenario:
    return Scenario.parse('[link]\nrate = "2Mbps"\nbuffer = "20p"\n[[flows]]\nname = "bulk"\nrtt = "40ms"\n')


def options(raw: bytes) -> None:
    """Values of options, whichever they are meant for."""
    from forebay.commands.values import CONTROLLER, DISCIPLINE, GOAL, PLATFORM, SETTING, IntegerValue, Share, Size
    from forebay.text.formatting import share

    text = raw.decode("utf-8", errors="replace").replace("\0", "")
    with refused():
        axis = Axis.parse(text)
        assert 1 <= len(axis.values) <= MOST_VALUES
        assert len({*axis.values}) == len(axis.values)
        assert axis.key.strip() == axis.key != ""
        for value in axis.values[:3]:
            with refused():
                _start().changed(("over", f"{axis.key}={value}"))
    with refused():
        name, sense, threshold = split_goal(text)
        assert split_goal(f"{name}{sense}{threshold}") == (name, sense, threshold)
        metric_of_goal(text)
        changed = _start().changed(("goals", f"goal.{name}", f"{sense} {threshold}"))
        check_bounds((goal, text) for goal in changed.goals)
    with refused():
        BufferVariable(_start()).of_key(text)
    for value in (IntegerValue(0, 2**64 - 1), Size(), Share(), CONTROLLER, DISCIPLINE, GOAL, PLATFORM, SETTING):
        with refused():
            value.convert(text, None, None)
    with refused():
        assert 0 <= share("share", text) < math.inf
    for dimension in ("time", "rate", "bytes", "packets", "share"):
        with refused():
            assert _core.parse_quantity(text, dimension) >= 0

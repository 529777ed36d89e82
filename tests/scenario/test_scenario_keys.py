"""The explanations of the keys of scenario files."""

from __future__ import annotations

import json

import pytest

from tests.support.commands import forebay


@pytest.mark.parametrize(
    ("name", "messages"),
    [
        ("link.buffer", ["Largest queue", "0.5BDP", "none (required)"]),
        ("flows.workload.closed_loop", ["transfer again", "users", "think", "size"]),
        ("flows.delayed_ack", ["packets = 1", "timeout = 200ms"]),
        ("flows.recovery.rack", ["RFC 8985"]),
        ("flows.recovery", ["default: sack", "`rack` for `bbr`, `bbr3` and `copa`"]),
        ("flows.stack.rfc", ["RACK for `bbr`"]),
        ("flows.slow_start_after_idle", ["default: true", "RFC 5681"]),
        ("law.weibull", ["exp(-(x / scale)^shape)", "scale or mean"]),
        ("run", ["warmup = 10s", "replications = 1"]),
    ],
)
def test_a_key_is_explained_by_its_dotted_name(name: str, messages: list[str]) -> None:
    answer = forebay("explain", name)
    assert answer.code == 0, answer.err
    assert answer.out.startswith(f"{name} (scenario key)")
    for text in messages:
        assert text in answer.out
    assert json.loads(forebay("explain", name, "--json").out)["kind"] == "scenario key"


def test_a_misspelled_key_is_answered_with_its_neighbors() -> None:
    answer = forebay("explain", "link.bufer")
    assert answer.code == 2
    assert "link.bufer" in answer.err
    assert "link.buffer" in answer.err
    assert "newreno" not in answer.err

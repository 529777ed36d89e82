"""The closed-form models from Python: arrays in and out, errors that name what is wrong."""

from __future__ import annotations

import numpy as np
import pytest

from forebay import InputError, Scenario, _core, explain, models
from forebay.scenario import run_jobs


def test_arrays_broadcast() -> None:
    load = np.array([[0.5], [0.9]])
    capacity = np.array([1.0, 10.0, 100.0])
    loss = models.call("mm1k", "loss", load=load, system_capacity=capacity)
    assert loss.shape == (2, 3)
    # rho^K (1 - rho) / (1 - rho^(K + 1)), computed here by summing the states.
    for row, rho in enumerate((0.5, 0.9)):
        for column, k in enumerate((1, 10, 100)):
            states = rho ** np.arange(k + 1)
            assert loss[row, column] == pytest.approx(states[-1] / states.sum(), rel=1e-12)


def test_every_example_computes() -> None:
    assert len(models.names()) > 10
    for model, quantities in models.names().items():
        found = explain(model)
        assert quantities
        assert np.isfinite(found.data["example_value"])
        assert found.data["worked_example"]


@pytest.mark.parametrize(
    ("call", "part"),
    [
        (lambda: models.call("nonsense", "loss"), "nonsense"),
        (lambda: models.call("mm1k", "nonsense", load=0.5, system_capacity=3), "nonsense"),
        (lambda: models.call("mm1k", "loss", load=0.5), "system_capacity"),
        (lambda: models.call("mm1k", "loss", load=-1.0, system_capacity=3), "-1"),
        (lambda: models.call("mm1k", "loss", load=np.nan, system_capacity=3), "NaN"),
    ],
)
def test_wrong_calls_are_named(call, part: str) -> None:
    with pytest.raises(InputError, match=part):
        call()


def test_aliases_are_found() -> None:
    assert explain("transparent").data["name"] == "mm1k"
    assert "errata:" in str(explain("mm1k"))


def test_a_closed_form_model_is_chosen_by_name() -> None:
    import forebay

    scenario = forebay.Scenario.load("scenarios/elastic-access-link.toml")
    chosen = scenario.run("closed_form", model="sqrt-n", replications=1)
    other = scenario.run("closed_form", model="hybrid-fluid", replications=1)
    assert "utilization" in chosen.metrics
    assert chosen.metrics["utilization"] != other.metrics["utilization"]
    with pytest.raises(forebay.InputError, match="unknown model"):
        scenario.run("closed_form", model="nope", replications=1)


@pytest.mark.parametrize(("flows", "threshold"), [(2, 40), (4, 100)])
def test_packets_swing_as_the_dctcp_sawtooth_says(flows: int, threshold: int) -> None:
    """Flows of one round-trip time fall in step by themselves; the rule's mean queue is theirs within 5 %."""
    scenario = Scenario.parse(
        f"""
        [link]
        rate   = "10Gbps"
        buffer = "400p"
        queue  = {{ kind = "step", threshold = "{threshold}p" }}
        [[flows]]
        count  = {flows}
        cca    = "dctcp"
        ecn    = true
        rtt    = "100us"
        packet = "1500B"
        access = {{ rate = "40Gbps" }}
        [run]
        warmup  = "50ms"
        measure = "200ms"
        """
    )
    rule = next(rule for rule in _core.rules(scenario.core) if rule.name == "dctcp-sawtooth")
    assert rule.packets == threshold + flows
    predicted = dict(rule.predicted)
    measured = run_jobs([_core.Job(scenario.core, "packet", 1, 0)], 1)[0].metrics
    assert measured["queue_mean_packets"].mean == pytest.approx(predicted["queue_mean_packets"], rel=0.05)
    assert measured["utilization"].mean == pytest.approx(predicted["utilization"], abs=1e-3)

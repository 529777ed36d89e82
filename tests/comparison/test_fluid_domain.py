"""Where the fluid engine follows the packet engine over a coarse grid, and what it says where it does not."""

from __future__ import annotations

import pytest

from checks.fluid_grid import Cell, measure, scenarios
from forebay.results.warning import Kind
from forebay.scenario import Scenario

#: The factor within which the loss rate is promised where nothing is warned of, and above which it is nowhere too high.
FACTOR = 4.0
#: Loss rates that do not matter.
NO_LOSS = 2e-4
#: Subjects of the warnings beyond which the fluid's loss is too low.
TOO_LOW = {"rtt", "buffer", "low_window"}


@pytest.fixture(scope="module")
def cells() -> list[tuple[Scenario, Cell]]:
    """The grid, a fifth as fine as that of docs/background/fluid.md."""
    grid = scenarios(("10Mbps", "60Mbps"), (1, 4, 30, 90), (0.1, 1), ("newreno", "cubic", "scalable"))
    return [(scenario, measure(scenario)) for scenario in grid]


@pytest.mark.long
def test_the_loss_is_nowhere_absurd(cells: list[tuple[Scenario, Cell]]) -> None:
    for scenario, cell in cells:
        fluid, packet = cell.fluid["loss_rate"], cell.packet["loss_rate"]
        assert fluid <= FACTOR * packet + NO_LOSS, (scenario.resolved, fluid, packet)
        assert cell.fluid["queue_delay_mean_s"] <= cell.fluid["queue_delay_max_s"]


def test_the_loss_is_within_the_promised_factor_where_nothing_is_warned_of(cells: list[tuple[Scenario, Cell]]) -> None:
    within = [(scenario, cell) for scenario, cell in cells if not cell.warned & TOO_LOW]
    assert sum(not cell.warned for _, cell in within) > 10
    for scenario, cell in within:
        fluid, packet = cell.fluid["loss_rate"], cell.packet["loss_rate"]
        assert packet <= FACTOR * fluid + NO_LOSS, (scenario.resolved, fluid, packet)


def test_the_warning_has_the_figure_that_says_so() -> None:
    def outside(**changes: object) -> dict[str, dict[str, float]]:
        base = {
            "link": {"rate": "10Mbps", "buffer": changes.pop("buffer", "100p")},
            "flows": [{"packet": "1250B", "rtt": "100ms", "count": 2, **changes}],
            "run": {"warmup": "1s", "measure": "2s"},
        }
        warnings = Scenario.of(base).run("fluid", replications=1).warnings
        return {w.subject: dict(w.values) for w in warnings if w.kind == Kind.OUTSIDE_DOMAIN}

    assert outside() == {}
    # 100 packets on the way and 100 that wait, of 51 flows.
    small = outside(count=51)
    assert small == {"window": {"window_packets": pytest.approx(200 / 51), "flows": 51}}
    assert outside(count=49) == {}
    # Half of 50 packets.
    assert outside(buffer="24p") == {"buffer": {"buffer_packets": 24, "burst_packets": pytest.approx(25)}}
    assert outside(buffer="26p") == {}
    assert outside(buffer="24p", pacing=True) == {}
    apart = outside(rtt={"linspace": ["40ms", "160ms"]})
    assert apart == {"rtt": {"longest_by_shortest": pytest.approx(4)}}
    assert outside(rtt={"linspace": ["41ms", "160ms"]}) == {}
    low = outside(cca="scalable", count=20)
    assert low == {"low_window": {"window_packets": pytest.approx(10), "low_window_packets": 16}}
    assert outside(cca={"kind": "scalable", "low_window": 8}, count=20) == {}

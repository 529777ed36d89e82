"""`recommend` on a lossless port: headroom, xoff, K, alpha and pool sized together, and confirmed together."""

from __future__ import annotations

import dataclasses
import html
import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from forebay import PortSizing, Scenario, check, size_port
from forebay.errors import InputError
from forebay.fabric.simulated_headroom import STEP, headroom_need
from forebay.results.warning import Kind, Warning
from forebay.search.port_values import port_values
from forebay.views.port_sizing_text import port_sizing_lines, port_sizing_text
from tests.support.commands import forebay
from tests.support.lossless import PORT, mean_of_other_runs


@pytest.fixture(name="answer", scope="module")
def _answer() -> PortSizing:
    return size_port(Scenario.parse(PORT))


# The answer --------------------------------------------------------------------------------------------------------


def test_all_values_together_meet_every_goal_on_runs_of_another_seed(answer: PortSizing) -> None:
    assert answer.verdict == "met"
    assert answer.confidence is not None
    assert answer.confidence >= 0.95
    assert answer.runs >= 19
    assert [each.name for each in answer.values] == ["headroom", "xoff", "K", "alpha", "pool"]
    for goal in answer.scenario.goals:
        assert goal.margin(mean_of_other_runs(answer.sized, goal.name)) >= 0, goal.key


def test_a_lossless_port_has_the_goal_that_it_loses_nothing(answer: PortSizing) -> None:
    assert answer.goals["loss_rate"].goal.threshold == 0
    assert answer.metrics["loss_rate"].mean == 0
    tolerant = size_port(Scenario.parse(PORT), ["loss_rate<=1%"], quick=True)
    assert tolerant.goals["loss_rate"].goal.threshold == 0.01


def test_headroom_is_the_closed_form_in_whole_steps_and_its_waste_is_stated(answer: PortSizing) -> None:
    exact = 100e9 / 8 * (2 * 300 / 198e6 + 2e-6) + 2 * 1500
    found = answer.headroom
    assert found.exact_bytes == pytest.approx(exact)
    assert found.bytes % STEP == 0
    assert 0 <= found.wasted_bytes == int(found.bytes - exact) < STEP
    assert found.wasted_in_all == 16 * found.wasted_bytes
    assert found.used_bytes is not None
    assert found.used_bytes <= exact


def test_xoff_is_the_smallest_for_the_goal_on_pauses(answer: PortSizing) -> None:
    assert answer["xoff"].binding_goal == "pause_time"
    smaller = int(answer["xoff"].nearest * 0.6)
    changes = (f"link.pfc.xon={smaller // 2}B", f"link.pfc.xoff={smaller}B")
    assert mean_of_other_runs(answer.sized, "pause_time", *changes) > 2e-3


def test_a_pool_below_the_recommended_one_loses_packets(answer: PortSizing) -> None:
    size = answer["pool"].nearest
    assert mean_of_other_runs(answer.sized, "loss_rate") == 0
    assert mean_of_other_runs(answer.sized, "loss_rate", f"memories.chip.size={int(0.8 * size)}B") > 0
    # With alpha 1 a port alone holds half of the pool.
    held = mean_of_other_runs(answer.sized, "queue_delay_max") * 100e9 / 8
    assert held == pytest.approx(size / 2, rel=0.15)


def test_a_setting_that_meets_every_goal_stays_exactly_as_configured(answer: PortSizing) -> None:
    for name in ("K", "alpha"):
        assert answer[name].unchanged
        assert answer[name].nearest == answer[name].configured
        assert answer[name].binding_goal is None


def test_xoff_stays_as_configured_if_no_goal_limits_the_pauses() -> None:
    found = size_port(Scenario.parse(PORT), ["pause_time<=1s"], quick=True)
    assert (found["xoff"].nearest, found["xoff"].binding_goal, found["xoff"].unchanged) == (60_000, None, True)


def test_a_smaller_k_is_found_if_the_configured_one_delays_too_long() -> None:
    found = size_port(Scenario.parse(PORT), ["queue_delay_p50<=10us", "pause_time<=0.7ms"], quick=True)
    assert found.feasible
    assert found["K"].nearest < 400_000
    assert found["K"].binding_goal is not None


def test_a_larger_alpha_is_found_if_the_configured_one_leaves_too_little() -> None:
    text = PORT.replace("memory_alpha = 1", "memory_alpha = 0.0078125").replace("12MB", "4MB")
    found = size_port(Scenario.parse(text), quick=True)
    assert found.feasible
    assert found["alpha"].nearest > 1 / 128 or found["pool"].nearest > 100e6


def test_xon_and_the_upper_threshold_of_red_keep_their_proportions() -> None:
    queue = '{ kind = "red", min = "200kB", max = "800kB", max_p = 0.1 }'
    values = port_values(Scenario.parse(PORT.replace('{ kind = "step", threshold = "400kB" }', queue)))
    assert dict(values["xoff"].settings(40)) == {"link.pfc.xoff": f"{40 * STEP}B", "link.pfc.xon": f"{20 * STEP}B"}
    assert dict(values["K"].settings(100)) == {"link.queue.min": f"{100 * STEP}B", "link.queue.max": f"{400 * STEP}B"}


def test_places_of_alpha_are_powers_of_two_from_1_128_to_128() -> None:
    alpha = port_values(Scenario.parse(PORT))["alpha"]
    assert [alpha.number(place) for place in (1, 8, 9, 15)] == [1 / 128, 1, 2, 128]
    assert [alpha.place(number) for number in (0.001, 0.9, 1, 1.1, 128, 1e9)] == [1, 8, 8, 9, 15, 15]


def test_without_a_memory_the_pool_is_the_buffer_of_the_port() -> None:
    text = PORT.replace('memory = "chip"\nmemory_alpha = 1\n', "").replace(
        '[[memories]]\nname = "chip"\nsize = "12MB"\n', ""
    )
    found = size_port(Scenario.parse(text), quick=True)
    assert [each.name for each in found.values] == ["headroom", "xoff", "K", "pool"]
    assert found["pool"].key == "link.buffer"
    held = mean_of_other_runs(found.sized, "queue_delay_max") * 100e9 / 8
    assert held == pytest.approx(found["pool"].nearest, rel=0.15)


def test_goals_that_no_port_meets_are_undecided_and_say_that_this_is_no_proof() -> None:
    found = size_port(Scenario.parse(PORT), ["servers.request_time_p99<=1us"], quick=True)
    assert (found.verdict, found.feasible, found.confidence) == ("undecided", False, None)
    assert "no proof" in found.reason
    assert all(each.recommended is None for each in found.values)
    assert found.to_dict()["recommendation"] is None


def test_the_answer_does_not_depend_on_the_number_of_threads(answer: PortSizing) -> None:
    again = size_port(Scenario.parse(PORT), jobs=1)
    assert dataclasses.replace(again, cost=answer.cost, scenario=answer.scenario) == answer
    assert again.sized.core.sha256 == answer.sized.core.sha256


# Laws of the limits ------------------------------------------------------------------------------------------------


def _loss(*changes: str) -> float:
    return Scenario.parse(PORT, overrides=changes).run().metrics["loss_rate"].mean


def test_headroom_of_one_step_less_than_the_used_one_drops() -> None:
    wide = ("memories.chip.size=100MB", "link.pfc.headroom=200kB")
    used = Scenario.parse(PORT, overrides=wide).run().metrics["headroom_max_bytes"].mean
    steps = -(-int(used) // STEP)
    assert _loss("memories.chip.size=100MB", f"link.pfc.headroom={steps * STEP}B") == 0
    assert _loss("memories.chip.size=100MB", f"link.pfc.headroom={(steps - 1) * STEP}B") > 0


def test_a_larger_alpha_never_gives_the_port_less() -> None:
    text = """\
memories = [{ name = "chip", size = "400kB" }]
links = [
    { name = "a", rate = "1Gbps", buffer = "1MB", memory = "chip", memory_alpha = 1, target = true },
    { name = "b", rate = "1Gbps", buffer = "1MB", memory = "chip", memory_alpha = 1 },
]
flows = [
    { name = "one", path = ["a"], workload = { on_off = { peak = "4Gbps", on = "300us", off = "1200us" } } },
    { name = "two", path = ["b"], workload = { on_off = { peak = "4Gbps", on = "300us", off = "1200us" } } },
]
run = { warmup = "0s", measure = "200ms" }
"""
    losses = [
        Scenario.parse(text, overrides=[f"links.a.memory_alpha={alpha}"]).run().metrics["loss_rate"].mean
        for alpha in (0.0625, 0.125, 0.25, 0.5, 1, 2, 4, 8)
    ]
    assert losses == sorted(losses, reverse=True)
    assert losses[0] > 2 * losses[-1]


def test_the_verdict_on_pools_changes_once(answer: PortSizing) -> None:
    size = answer["pool"].nearest
    pools = [f"memories.chip.size={round(part * size)}B" for part in (0.5, 0.7, 0.9, 1, 1.2, 2)]
    found = check(answer.sized, pools, ["loss_rate<=0"])
    verdicts = [each.verdict for each in found.buffers]
    assert verdicts == sorted(verdicts, key=["missed", "undecided", "met"].index)
    assert (verdicts[0], verdicts[-1]) == ("missed", "met")


def test_a_link_longer_than_the_stated_cable_adds_its_delay_once() -> None:
    changes = {"cable": "300m", "delay": "10us"}
    resolved = Scenario.parse(PORT).resolved
    before = {**resolved["links"][0], "name": "before", "target": False, "delay": changes["delay"], "rate": "40Gbps"}
    flows = [{**resolved["flows"][0], "path": ["before", "port"]}]
    need = headroom_need({**resolved, "links": [before, *resolved["links"]], "flows": flows})
    assert need.delay_bytes == pytest.approx(40e9 / 8 * (300 / 198e6 + 10e-6 + 2e-6))
    assert need.senders == 1


def test_the_number_of_senders_is_unknown_if_transfers_come_and_go() -> None:
    text = PORT.replace(
        'incast = { servers = 16, size = "300kB", pause = "1ms" }', 'open_loop = { load = 0.5, size = "30kB" }'
    )
    assert headroom_need(Scenario.parse(text).resolved).senders is None


def test_the_headroom_of_a_fabric_is_that_of_the_port_with_the_fastest_sender() -> None:
    scenario = Scenario.load("@storage-roce-100g")
    need = headroom_need(scenario.resolved)
    # A port to a host has three other hosts at 100 Gb/s and two spines at 200 Gb/s before it, all behind 100 m.
    assert need.senders == 5
    assert need.delay_bytes == pytest.approx(200e9 / 8 * (2 * 100 / 198e6 + 2e-6), rel=1e-4)
    hosts = headroom_need(scenario.changed(("law", "fabric.nic.rate", "400Gbps")).resolved)
    assert hosts.delay_bytes == pytest.approx(2 * need.delay_bytes)
    small = scenario.changed(("law", "fabric.port.pfc.headroom", f"{need.rounded}B")).run()
    assert not [warning for warning in small.warnings if warning.kind is Kind.LOSSLESS_DROPS]
    assert need.delay_bytes <= small.metrics["headroom_max_bytes"].mean <= need.exact


# The command -------------------------------------------------------------------------------------------------------


def test_recommend_sizes_a_lossless_port_and_its_first_three_lines_fit_80_columns(
    tmp_path: Path, answer: PortSizing
) -> None:
    path = tmp_path / "port.toml"
    path.write_text(PORT, encoding="utf-8")
    done = forebay("recommend", path, "--fresh")
    assert done.code == 0, done.err
    lines = done.out.splitlines()
    assert lines[:3] == list(port_sizing_lines(answer))
    assert all(len(line) <= 80 for line in lines[:3])
    assert lines[0].startswith("Headroom 66.6 kB, xoff ")
    assert "Rounding headroom up wastes 681 B of each of 16 senders" in lines[2]


def test_warnings_that_change_the_decision_follow_the_first_line_the_weightiest_first(answer: PortSizing) -> None:
    found = (Warning(Kind.SHORT_RUN, "a run is short"), Warning(Kind.HIGH_LOSS, "much is lost"))
    undecided = dataclasses.replace(answer, verdict="undecided", reason="The time was over.")
    for each in (answer, undecided):
        console = Console(width=80, record=True, file=io.StringIO())
        console.print(port_sizing_text(dataclasses.replace(each, warnings=found)))
        lines = console.export_text().splitlines()
        first, *others = port_sizing_lines(each)
        assert lines[:3] == [first, "warning: much is lost", "warning: a run is short"]
        assert lines[3].startswith(others[0][:60])


def test_json_has_the_values_and_the_exit_code_is_the_verdict(tmp_path: Path) -> None:
    path = tmp_path / "port.toml"
    path.write_text(PORT, encoding="utf-8")
    done = forebay("recommend", path, "--fresh", "--quick", "--json")
    data = json.loads(done.out)
    assert done.code == 0
    assert data["recommendation"].keys() == {"headroom", "xoff", "K", "alpha", "pool"}
    assert data["headroom"]["wasted_bytes"] == 681
    missed = forebay("recommend", path, "--fresh", "--quick", "--goal", "servers.request_time_p99<=1us")
    assert missed.code == 3
    assert missed.out.startswith("Undecided: ")


def test_options_of_a_single_buffer_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "port.toml"
    path.write_text(PORT, encoding="utf-8")
    done = forebay("recommend", path, "--also", "20p")
    assert done.code == 2
    assert done.err == "forebay: --also: cannot be combined with a lossless port; allowed: one of them\n"


def test_a_link_without_pfc_is_refused() -> None:
    with pytest.raises(InputError, match="without `pfc`"):
        size_port(Scenario.load("@dsl-access"))


def test_a_notebook_shows_the_three_lines(answer: PortSizing) -> None:
    shown = html.unescape(answer._repr_html_())
    assert all(line in shown for line in port_sizing_lines(answer))

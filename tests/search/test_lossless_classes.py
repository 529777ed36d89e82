"""`recommend` on a port with lossless and lossy classes: all values sized together, and confirmed together."""

from __future__ import annotations

import dataclasses
import io
import json
import re
import textwrap
from pathlib import Path

import pytest
from rich.console import Console

from forebay import PortSizing, Scenario, size_classes, size_port
from forebay.configuration.configuring import configure
from forebay.configuration.platforms.registry import PLATFORMS
from forebay.configuration.port import Port
from forebay.errors import InputError
from forebay.fabric.simulated_headroom import STEP, headroom_need, is_lossless
from forebay.inputs.goals import metric_value
from forebay.results.warning import Kind, Warning
from forebay.search.port_classes import port_classes
from forebay.search.port_goals import PortGoals, lossless_goals
from forebay.search.port_values import port_values
from forebay.views.port_sizing_text import number_text, port_sizing_lines, port_sizing_text
from tests.support.commands import forebay
from tests.support.lossless import CLASSES, mean_of_other_runs

STORAGE, WEB = "link.queue.classes.storage", "link.queue.classes.web"
VALUES = ["storage.headroom", "storage.xoff", "storage.K", "web.buffer", "pool"]


@pytest.fixture(name="answer", scope="module")
def _answer() -> PortSizing:
    return size_port(Scenario.parse(CLASSES))


# The answer --------------------------------------------------------------------------------------------------------


def test_all_values_together_meet_every_goal_on_runs_of_another_seed(answer: PortSizing) -> None:
    assert answer.verdict == "met"
    assert answer.confidence is not None
    assert answer.confidence >= 0.95
    assert [each.name for each in answer.values] == VALUES
    assert [each.traffic_class for each in answer.values] == ["storage", "storage", "storage", "web", ""]
    for goal in answer.scenario.goals:
        assert goal.margin(mean_of_other_runs(answer.sized, goal.name)) >= 0, goal.key


def test_the_groups_of_a_lossless_class_have_the_goal_that_they_lose_nothing(answer: PortSizing) -> None:
    assert answer.goals["storage.loss_rate"].goal.threshold == 0
    assert answer.groups["storage"]["loss_rate"].mean == 0
    assert "loss_rate" not in answer.goals
    stated = Scenario.parse(f'{CLASSES}"storage.loss_rate" = "<= 1%"\n')
    assert lossless_goals(port_values(stated)) == ()


def test_each_value_is_decided_by_a_goal_of_its_class(answer: PortSizing) -> None:
    assert answer["storage.xoff"].binding_goal == "pause_time"
    assert answer["web.buffer"].binding_goal == "web.loss_rate"
    assert answer["storage.K"].unchanged
    assert answer["storage.K"].nearest == answer["storage.K"].configured


def test_headroom_of_one_step_less_than_the_answer_loses_packets() -> None:
    # Small packets, so that the closed form is nearer to the headroom in use than a step.
    changes = (
        "flows.storage.packet=500B",
        "flows.storage.initial_window=600p",
        f"{STORAGE}.pfc.response=2.188us",
        "memories.chip.size=50MB",
    )
    found = headroom_need(Scenario.parse(CLASSES, overrides=changes).resolved, "storage").rounded

    def loss(size: int) -> float:
        scenario = Scenario.parse(CLASSES, overrides=(*changes, f"{STORAGE}.pfc.headroom={size}B"))
        return metric_value("storage.loss_rate", scenario.run())

    assert loss(found) == 0
    assert loss(found - STEP) > 0


def test_a_smaller_xoff_a_smaller_buffer_and_a_smaller_pool_each_miss_a_goal(answer: PortSizing) -> None:
    xoff = int(answer["storage.xoff"].nearest * 0.6)
    pauses = (f"{STORAGE}.pfc.xon={xoff // 2}B", f"{STORAGE}.pfc.xoff={xoff}B")
    assert mean_of_other_runs(answer.sized, "pause_time", *pauses) > 4e-3
    assert (
        mean_of_other_runs(answer.sized, "web.loss_rate", f"{WEB}.buffer={answer['web.buffer'].nearest * 0.7:.0f}B")
        > 0.002
    )
    pool = f"memories.chip.size={answer['pool'].nearest * 0.75:.0f}B"
    assert mean_of_other_runs(answer.sized, "storage.loss_rate", pool) > 0


def test_the_pool_holds_every_buffer_and_no_more_than_the_classes_can_use(answer: PortSizing) -> None:
    need = answer.headroom
    assert need.senders is not None
    of_sender = answer["storage.xoff"].nearest + answer["storage.headroom"].nearest
    lossy = answer["web.buffer"].nearest
    assert of_sender + lossy <= answer["pool"].nearest <= need.senders * of_sender + lossy + STEP


def test_a_stricter_loss_goal_never_gives_a_lossy_class_less_memory() -> None:
    scenario = Scenario.parse(CLASSES)
    goals = [[f"web.loss_rate<={share}", "utilization>=20%"] for share in ("2%", "1%", "0.5%", "0.2%", "0.1%")]
    found = [size_port(scenario, each, quick=True)["web.buffer"] for each in goals]
    assert {each.binding_goal for each in found} == {"web.loss_rate"}
    sizes = [each.nearest for each in found]
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[-1]


def test_a_lossy_class_without_a_goal_stays_as_configured_and_a_warning_says_so() -> None:
    text = CLASSES.replace('"web.loss_rate" = "<= 0.2%"\n', "").replace('utilization     = ">= 90%"\n', "")
    found = size_port(Scenario.parse(text), quick=True)
    assert found.feasible
    assert found["web.buffer"].unchanged
    assert found["web.buffer"].nearest == pytest.approx(1e6, abs=STEP)
    (warning,) = (each for each in found.warnings if each.kind is Kind.UNDEMANDED)
    assert warning.subject == "web"


def test_goals_that_no_port_meets_are_undecided_and_the_nearest_port_still_loses_nothing() -> None:
    found = size_port(Scenario.parse(CLASSES), ["storage.request_time_p99<=1us"], quick=True)
    assert (found.verdict, found.confidence) == ("undecided", None)
    assert "no proof" in found.reason
    assert "storage.xoff" in found.reason
    assert "pool" not in found.reason, "a goal that no pool meets decides no pool"
    assert found.goals["storage.loss_rate"].met
    assert all(each.recommended is None for each in found.values)


def test_the_answer_does_not_depend_on_the_number_of_threads(answer: PortSizing) -> None:
    again = size_port(Scenario.parse(CLASSES), jobs=1)
    assert dataclasses.replace(again, cost=answer.cost, scenario=answer.scenario) == answer


def test_the_guide_shows_this_answer(answer: PortSizing) -> None:
    page = (Path(__file__).parents[2] / "docs/guides/lossless.md").read_text(encoding="utf-8")
    assert textwrap.indent(CLASSES, "    ") in page
    assert all(f"    {line}\n" in page for line in port_sizing_lines(answer))
    for value in answer.values:
        cells = (value.traffic_class or "port", value.short_name, number_text(value, value.nearest))
        assert re.search(r"    {} +{} .* {} ".format(*cells), page), value.name


# Values and goals --------------------------------------------------------------------------------------------------


def test_pauses_are_decided_by_lossless_classes_and_utilization_by_the_class_that_fills_the_link() -> None:
    values = port_values(Scenario.parse(CLASSES))
    goals = PortGoals(values)

    def keys(label: str) -> set[str]:
        return {goal.key for goal in goals.of(values[label])}

    assert keys("storage.xoff") == keys("storage.K") == {"storage.request_time_p99", "pause_time"}
    assert keys("web.buffer") == {"web.loss_rate", "utilization"}
    assert len(keys("pool")) == 4


def test_a_delay_goal_of_a_lossy_class_asks_for_no_larger_value() -> None:
    text = CLASSES.replace('"web.loss_rate" = "<= 0.2%"', '"web.queue_delay_p99" = "<= 1ms"')
    scenario = Scenario.parse(f'{text}"storage.queue_delay_p99" = "<= 1ms"\n')
    goals = PortGoals(port_values(scenario))
    helped = {goal.name: goals.larger_helps(goal) for goal in scenario.goals}
    assert not helped["web.queue_delay_p99"]
    assert helped["storage.queue_delay_p99"]
    assert helped["utilization"]


def test_alpha_of_a_class_is_sized_instead_of_its_buffer() -> None:
    text = CLASSES.replace('buffer = "1MB"', 'queue = { kind = "dynamic_threshold", alpha = 1 }').replace(
        'response = "2us" }', 'response = "2us", alpha = 0.25 }'
    )
    values = port_values(Scenario.parse(text))
    assert [each.label for each in values.every] == [
        "storage.headroom",
        "storage.xoff",
        "storage.K",
        "storage.alpha",
        "web.alpha",
        "pool",
    ]
    assert values["storage.alpha"].key == f"{STORAGE}.pfc.alpha"
    assert values["web.alpha"].key == f"{WEB}.queue.alpha"
    found = size_port(Scenario.parse(text), quick=True)
    assert found.feasible, found.reason
    for goal in found.scenario.goals:
        assert goal.margin(mean_of_other_runs(found.sized, goal.name)) >= 0, goal.key


def test_without_a_memory_the_pool_is_the_buffer_that_the_lossless_class_has() -> None:
    text = CLASSES.replace('memory = "chip"\n', "").replace('[[memories]]\nname = "chip"\nsize = "12MB"\n', "")
    values = port_values(Scenario.parse(text))
    assert [each.label for each in values.every] == VALUES
    assert values["pool"].key == "link.buffer"
    own = text.replace("weight = 3", 'weight = 3\nbuffer = "4MB"')
    assert [each.label for each in port_values(Scenario.parse(own)).every] == [
        "storage.headroom",
        "storage.xoff",
        "storage.K",
        "storage.buffer",
        "web.buffer",
    ]
    found = size_port(Scenario.parse(own), quick=True)
    assert found.feasible, found.reason
    held = found["storage.buffer"].nearest
    assert mean_of_other_runs(found.sized, "storage.loss_rate") == 0
    assert mean_of_other_runs(found.sized, "storage.loss_rate", f"{STORAGE}.buffer={held * 0.75:.0f}B") > 0


def test_the_classes_of_a_link_before_are_senders_of_their_own() -> None:
    resolved = Scenario.parse(CLASSES).resolved
    before = {
        **resolved["links"][0],
        "name": "before",
        "target": False,
        "queue": {"kind": "classes", "classes": [{"name": "s", "groups": ["storage"]}, {"name": "w"}]},
    }
    flows = [{**each, "path": ["before", "port"]} for each in resolved["flows"]]
    need = headroom_need({**resolved, "links": [before, *resolved["links"]], "flows": flows}, "storage")
    assert need.senders == 1
    assert need.packet_bytes == 3000


def test_classes_in_a_fabric_are_refused_with_what_is_allowed() -> None:
    resolved = Scenario.load("@storage-roce-100g").resolved
    port = dict(resolved["fabric"]["port"])
    lossless = {"name": "rdma", "groups": ["reads"], "pfc": port.pop("pfc")}
    queue = {"kind": "classes", "classes": [lossless, {"name": "rest", "buffer": "1MB"}]}
    fabric = {**resolved["fabric"], "port": {**port, "queue": queue}, "nic": {"queue": queue_of_hosts()}}
    data = {**resolved, "fabric": fabric, "goal": {}}
    del data["links"]
    scenario = Scenario.parse(json.dumps(data), "json")
    with pytest.raises(InputError, match=r"classes in the ports of a fabric; allowed: .* `forebay check`"):
        size_port(scenario)


def queue_of_hosts() -> dict[str, object]:
    return {"kind": "classes", "classes": [{"name": "rdma", "groups": ["reads"]}, {"name": "rest"}]}


def test_a_lossy_class_without_a_buffer_is_named_if_no_values_are_found() -> None:
    text = CLASSES.replace('buffer = "1MB"\n', "")
    found = size_port(Scenario.parse(text), quick=True)
    assert not found.feasible
    assert "Class `web` has no `buffer` of its own" in found.reason


# Ports whose classes are all lossy ---------------------------------------------------------------------------------


def test_a_port_whose_classes_are_all_lossy_is_sized_as_before() -> None:
    scenario = Scenario.load("@voice-and-data")
    assert not is_lossless(scenario.resolved)
    with pytest.raises(InputError, match="without `pfc`"):
        size_port(scenario)
    names = [each.name for each in port_classes(scenario).by_buffer.every]
    assert names == [each.name for each in size_classes(scenario, quick=True).classes] == ["voice", "web", "bulk"]


def test_classes_that_share_the_buffer_of_the_link_come_last_unless_one_alone_has_priority() -> None:
    def order(*shared: str) -> list[str]:
        resolved = Scenario.load("@voice-and-data").resolved
        link = next(each for each in resolved["links"] if each["target"])
        classes = [{**each, "buffer": "100p"} for each in link["queue"]["classes"]]
        for each in classes:
            if each["name"] in shared:
                del each["buffer"]
        links = [{**link, "queue": {**link["queue"], "classes": classes}}]
        scenario = Scenario.parse(json.dumps({**resolved, "links": links}), "json")
        return [each.name for each in port_classes(scenario).by_buffer.every]

    assert order("web") == ["voice", "bulk", "web"]
    assert order("voice") == ["voice", "web", "bulk"]
    assert order("voice", "web") == ["bulk", "voice + web"]


def test_size_classes_refuses_a_lossless_class() -> None:
    with pytest.raises(InputError, match="lossless class; allowed: `forebay recommend` or size_port"):
        size_classes(Scenario.parse(CLASSES))


# The command -------------------------------------------------------------------------------------------------------


def _shown(answer: PortSizing) -> list[str]:
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(port_sizing_text(answer))
    return console.export_text().splitlines()


@pytest.mark.parametrize("options", [(), ("--classes",)])
def test_the_first_three_lines_are_the_answer_and_the_table_has_a_row_for_each_class_and_value(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    path = tmp_path / "port.toml"
    path.write_text(CLASSES, encoding="utf-8")
    done = forebay("recommend", path, "--fresh", "--quick", *options)
    assert done.code == 0, done.err
    lines = done.out.splitlines()
    assert lines[0].startswith("storage: headroom 19.5 kB, xoff ")
    assert "; web: buffer " in lines[0]
    assert "; pool " in lines[0]
    assert lines[1].startswith("Together they probably meet all 5 goals")
    assert lines[2].startswith("Rounding headroom up wastes 736 B of each of 16 storage senders, ")
    assert all(len(line) <= 80 for line in lines[:3])
    rows = [line.split()[:2] for line in lines]
    for row in (["storage", "headroom"], ["storage", "xoff"], ["storage", "K"], ["web", "buffer"], ["port", "pool"]):
        assert row in rows


def test_the_json_has_the_values_of_each_class_and_the_parts_of_each_headroom(tmp_path: Path) -> None:
    path = tmp_path / "port.toml"
    path.write_text(CLASSES, encoding="utf-8")
    data = json.loads(forebay("recommend", path, "--fresh", "--quick", "--json").out)
    assert list(data["recommendation"]) == VALUES
    assert data["headrooms"]["storage"]["wasted_bytes"] == data["headroom"]["wasted_bytes"] == 736


def test_values_of_many_classes_take_two_lines_at_most(answer: PortSizing) -> None:
    def with_classes(number: int, *, unchanged: bool) -> PortSizing:
        found = [
            dataclasses.replace(
                each, name=f"class{n}.{each.short_name}", traffic_class=f"class{n}", unchanged=unchanged
            )
            for n in range(number)
            for each in answer.values[:3]
        ]
        return dataclasses.replace(answer, values=(*found, *answer.values[3:]), warnings=())

    assert _shown(answer)[0].startswith("storage: ")
    some = " ".join(_shown(with_classes(4, unchanged=True))[:2])
    assert some.startswith("web: buffer ")
    assert "All other values stay as configured." in some
    lines = _shown(with_classes(4, unchanged=False))
    assert lines[0] == "14 values: see the table."
    assert lines[1].startswith("Together they meet all 5 goals")


def test_warnings_that_change_the_decision_begin_in_the_first_three_lines(answer: PortSizing) -> None:
    found = dataclasses.replace(answer, warnings=(Warning(Kind.HIGH_LOSS, "much is lost"),))
    assert "warning: much is lost" in _shown(found)[:3]
    lines = _shown(dataclasses.replace(found, verdict="undecided", reason="The time was over."))
    assert lines[1] == "warning: much is lost"
    assert _shown(found)[:2] == [next(port_sizing_lines(answer)), "warning: much is lost"]


def test_a_configuration_says_that_pfc_of_a_class_is_not_part_of_its_lines() -> None:
    notes = configure(PLATFORMS["sonic"], Port.of(Scenario.parse(CLASSES))).notes
    (note,) = (each for each in notes if each.startswith("storage.pfc: simulated on, configured none"))
    assert "xoff 20,000 bytes, xon 10,000 bytes, headroom 30,000 bytes" in note

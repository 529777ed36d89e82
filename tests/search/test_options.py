"""Options check themselves, the keywords of the package become options, and a listener follows a search."""

from __future__ import annotations

import dataclasses
import inspect

import pytest

from forebay import InputError, Scenario, recommend
from forebay.search.goals import Goals
from forebay.search.listener import SILENT, Callbacks, Labeled, Listener
from forebay.search.options import Execution, Extras, Precision, Sizing
from tests.support.scenarios import SMALL


@pytest.mark.parametrize(
    ("made", "wrong", "argument"),
    [
        (Precision, {"confidence": 0.5}, "confidence"),
        (Precision, {"resolution": 2.0}, "resolution"),
        (Precision, {"fraction": 1.0}, "fraction"),
        (Precision, {"replications": 1}, "replications"),
        (Precision, {"within": 0.0}, "within"),
        (Precision, {"quick": True, "within": 5.0}, "within"),
        (Execution, {"jobs": 0}, "jobs"),
        (Execution, {"engine": "kernel", "jobs": 2}, "jobs"),
        (Execution, {"engine": "kernel", "scheduler": "tcp://one"}, "scheduler"),
        (Sizing, {"over": ("link.rate=1Mbps..2Mbps", "link.buffer")}, "over"),
        (Extras, {"pareto": "utilization"}, "pareto"),
        (Extras, {"download": "5Mbps"}, "download"),
    ],
)
def test_an_option_that_no_search_can_keep_is_refused(made: type, wrong: dict[str, object], argument: str) -> None:
    with pytest.raises(InputError, match="allowed: ") as raised:
        made(**wrong)
    assert raised.value.argument == argument


def test_options_cannot_be_changed() -> None:
    for made in (Precision(), Execution(), Sizing(), Extras(), Goals()):
        for field in dataclasses.fields(made):
            with pytest.raises(dataclasses.FrozenInstanceError):
                setattr(made, field.name, None)


def test_options_have_the_defaults_of_the_keywords() -> None:
    keywords = inspect.signature(recommend).parameters
    for made in (Precision(), Execution(), Sizing(), Extras()):
        for name in keywords.keys() & {field.name for field in dataclasses.fields(made)}:
            assert getattr(made, name) == keywords[name].default, name


@pytest.mark.parametrize("answers", [1, 2, 10])
def test_several_answers_share_the_error_and_the_time(answers: int) -> None:
    each = Precision(0.9, within=60.0).among(answers)
    assert each.requested_confidence == 0.9
    assert each.level == pytest.approx(1 - 0.1 / answers)
    assert each.least_runs == Precision(0.9).least_runs
    assert each.budget.within == pytest.approx(60 / answers)


def test_a_quick_look_states_no_more_than_it_looks_for() -> None:
    assert [Precision(requested, quick=True).requested_confidence for requested in (0.6, 0.8, 0.95)] == [0.6, 0.8, 0.8]


def test_a_key_with_a_range_is_distinguished_from_choices() -> None:
    assert (Sizing().key, Sizing().choices) == ("link.buffer", [])
    both = Sizing(("flows.*.cca=cubic,bbr", "link.rate=1Mbps..2Mbps"), minimize="loss_rate")
    assert both.key == "link.rate=1Mbps..2Mbps"
    assert [each.key for each in both.choices] == ["flows.*.cca"]
    with pytest.raises(InputError, match="combined with --minimize"):
        both.refuse_combination(sensitivity=False, largest=True)
    Sizing().refuse_combination(largest=True)


class Following:
    """A listener that remembers."""

    def __init__(self) -> None:
        self.heard: list[tuple[object, ...]] = []

    def on_progress(self, done: int, expected: int) -> None:
        self.heard.append(("progress", done, expected))

    def on_note(self, line: str) -> None:
        self.heard.append(("note", line))

    def on_range(self, words: str) -> None:
        self.heard.append(("range", words))


def speak(listener: Listener) -> None:
    listener.on_progress(3, 9)
    listener.on_note("resuming")
    listener.on_range("between 4 and 9 packets")


def test_callables_hear_what_a_listener_hears() -> None:
    heard: list[object] = []
    speak(Callbacks(lambda *runs: heard.append(runs), heard.append, heard.append))
    assert heard == [(3, 9), "resuming", "between 4 and 9 packets"]
    speak(Callbacks())
    speak(SILENT)


def test_a_label_precedes_what_is_known_and_nothing_else() -> None:
    following = Following()
    speak(Labeled(following, "cubic"))
    assert following.heard == [("progress", 3, 9), ("note", "resuming"), ("range", "cubic: between 4 and 9 packets")]


def test_a_search_tells_its_listener() -> None:
    messages: list[str] = []
    answer = recommend(Scenario.parse(SMALL), quick=True, known=messages.append)
    assert messages
    assert str(answer.packets) in messages[-1]

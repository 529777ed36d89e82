"""Deprecated names have the value of the present ones, warn in Python, stand in the JSON and in the manual."""

from __future__ import annotations

import importlib
import re
import warnings
from dataclasses import fields, is_dataclass

import pytest

import forebay
from forebay.results.deprecated_names import DeprecatedName, deprecated_names
from forebay.results.serialization import to_jsonable
from forebay.search.answer_parts import MetShare, SearchCost, UpperEnd
from tests.support.paths import ROOT


def _classes() -> dict[str, type]:
    """The classes of the package that declare deprecated names."""
    found = {}
    for path in sorted((ROOT / "python/forebay").rglob("*.py")):
        if "= DeprecatedName(" not in path.read_text(encoding="utf-8"):
            continue
        name = ".".join(path.relative_to(ROOT / "python").with_suffix("").parts)
        for value in vars(importlib.import_module(name)).values():
            if isinstance(value, type) and value.__module__ == name and deprecated_names(value):
                found[value.__name__] = value
    return found


def test_the_manual_lists_every_deprecated_name() -> None:
    text = (ROOT / "docs/reference/versions.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| [^|]*\| `(\w+)` \| `(\w+)` \|$", text, re.MULTILINE)
    declared = {(name, old, new) for name, cls in _classes().items() for old, new in deprecated_names(cls).items()}
    assert len(declared) > 30
    assert set(rows) == declared


def test_a_present_name_exists_and_is_not_deprecated_itself() -> None:
    for cls in _classes().values():
        members = set(dir(cls)) | ({each.name for each in fields(cls)} if is_dataclass(cls) else set())
        for old, new in deprecated_names(cls).items():
            assert new in members, (cls, new)
            assert new not in deprecated_names(cls), (cls, old)


def test_a_deprecated_attribute_has_the_value_and_warns_where_it_is_used() -> None:
    share = MetShare(0.9, 19, 20, 0.8, 0.95)
    for old, value in (("wanted", 0.9), ("held", 19), ("of", 20)):
        with pytest.warns(DeprecationWarning, match=rf"`MetShare\.{old}` is deprecated; use `MetShare\.") as found:
            assert getattr(share, old) == value
        assert found[0].filename == __file__
    assert isinstance(MetShare.wanted, DeprecatedName)


def test_the_json_has_both_names_with_one_value() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        share = to_jsonable(MetShare(0.9, 19, 20, 0.8, 0.95))
        cost = to_jsonable(SearchCost(8, 3, 2, 1, 1, 0.5, 0.5, 1))
    assert (share["wanted"], share["held"], share["of"]) == (0.9, 19, 20)
    assert (share["required"], share["met_replications"], share["replications"]) == (0.9, 19, 20)
    assert (cost["resumed"], cost["cached_runs"]) == (3, 3)
    assert to_jsonable(UpperEnd(1.0, 2.0, 1.5)) == {  # type: ignore[arg-type]
        "buffer": 1.0, "missed_at": 2.0, "interpolated_end": 1.5, "about": 1.5,
    }  # fmt: skip


def test_a_deprecated_parameter_of_a_model_warns() -> None:
    from forebay import models

    present = models.call("bdp", "buffer_bdp", beta=0.7)
    with pytest.warns(DeprecationWarning, match="use `beta`"):
        assert models.call("bdp", "buffer_bdp", kept=0.7) == present


@pytest.mark.parametrize(
    ("deprecated", "name"),
    [
        ("lasting", "link.outages.duration"),
        ("link.medium.air", "link.medium.max_airtime"),
        ("timeout_cut", "flows.timeout_ssthresh"),
    ],
)
def test_a_deprecated_scenario_key_is_explained_by_its_present_name(deprecated: str, name: str) -> None:
    assert forebay.explain(deprecated).name == name

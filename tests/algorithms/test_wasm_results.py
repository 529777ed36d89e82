"""Modules of the examples, written in Rust, have the results of the built-in controllers to the last digit."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from checks import rust_modules
from tests.algorithms.traffic import TRAFFIC, numbers

EXAMPLES = Path(__file__).parents[2] / "examples" / "algorithms"


@pytest.fixture(scope="module")
def modules(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Each example as a module in Base64."""
    if not rust_modules.can_build():
        pytest.skip("no Rust for wasm32-unknown-unknown")
    folder = tmp_path_factory.mktemp("modules")
    return {
        name: base64.b64encode(rust_modules.built(EXAMPLES / f"{name}.rs", folder / name).read_bytes()).decode()
        for name in ("newreno", "cubic")
    }


@pytest.mark.parametrize("traffic", TRAFFIC)
@pytest.mark.parametrize(("name", "parameters"), [("newreno", {}), ("cubic", {}), ("cubic", {"beta": 0.5})])
def test_modules_have_the_results_of_the_built_in_controllers(
    modules: dict[str, str], name: str, parameters: dict[str, float], traffic: str
) -> None:
    mine = {"wasm": f"{name}.wasm", "source": modules[name]} | parameters
    built_in = {"kind": name, "variant": "rfc"} | parameters
    queue = {"kind": "red"} if traffic == "marks" else "droptail"
    assert numbers(mine, traffic, queue) == numbers(built_in, traffic, queue)

"""Modules of the examples, written in Rust, have the results of the built-in controllers to the last digit."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from checks import rust_modules
from forebay import Scenario

EXAMPLES = Path(__file__).parents[2] / "examples" / "algorithms"

LINK: dict[str, Any] = {"rate": "20Mbps", "buffer": "60p"}
RUN: dict[str, Any] = {"warmup": "1s", "measure": "6s", "replications": 2}
TRAFFIC: dict[str, dict[str, Any]] = {
    "long": {"count": 3, "rtt": {"uniform": ["10ms", "60ms"]}},
    "timeouts": {"count": 8, "rtt": {"uniform": ["5ms", "20ms"]}, "stack": "linux"},
    "pauses": {
        "rtt": "20ms",
        "workload": {"closed_loop": {"users": 4, "size": {"exponential": "80kB"}, "think": {"exponential": "300ms"}}},
    },
    "marks": {"count": 3, "rtt": "30ms", "ecn": True, "stack": "linux"},
}


def numbers(cca: Any, traffic: str) -> str:
    """Everything that a report says but the names, the digest and the cost."""
    link = LINK | {"queue": {"kind": "red"} if traffic == "marks" else "droptail"}
    if traffic == "timeouts":
        link["buffer"] = "6p"
    group = {"name": "flows"} | TRAFFIC[traffic] | {"cca": cca}
    scenario = Scenario.of({"link": link, "flows": [group], "run": RUN}, allow_code=True)
    plain = json.loads(scenario.run("packet").core.json())
    return json.dumps({key: plain[key] for key in ("metrics", "groups", "warnings")}, sort_keys=True)


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
    assert numbers(mine, traffic) == numbers(built_in, traffic)

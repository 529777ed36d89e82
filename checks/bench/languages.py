"""The speed of the same congestion control built in, as a WebAssembly module and as a Python class, on one scenario.

The three run in turn, so that a slow minute of the machine affects all of them.
"""

from __future__ import annotations

import base64
import json
import statistics
import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from checks import rust_modules
from forebay.scenario import Scenario

__all__ = ["ALGORITHMS", "languages"]

#: Folder of the examples, and the algorithms there with the names of their classes.
EXAMPLES = Path(__file__).parents[2] / "examples" / "algorithms"
ALGORITHMS = {"newreno": "NewReno", "cubic": "Cubic"}
BUILT_IN = "built in"


def languages(path: Path, rounds: int = 5) -> Iterator[Mapping[str, Any]]:
    """A line for each algorithm and language: speed, and the ratio to the built-in algorithm in the same round.

    Parameters
    ----------
    path : Path
        The scenario file. Its first group of flows gets each algorithm.
    rounds : int
        Number of rounds.
    """
    with tempfile.TemporaryDirectory() as folder:
        for name, written in ALGORITHMS.items():
            scenarios = {BUILT_IN: name} | {"Python": _python(name, written)}
            if rust_modules.can_build():
                scenarios["WebAssembly"] = _module(name, Path(folder))
            speeds: dict[str, list[float]] = {language: [] for language in scenarios}
            for turn in range(rounds):
                order = list(scenarios) if turn % 2 == 0 else list(reversed(scenarios))
                for language in order:
                    speeds[language].append(_speed(path, scenarios[language]))
            for language, found in speeds.items():
                ratios = [mine / theirs for mine, theirs in zip(found, speeds[BUILT_IN], strict=True)]
                yield {
                    "name": f"{name}, {language}, {path.stem}",
                    "million_packets_per_cpu_s": round(statistics.median(found), 3),
                    "slowest": round(min(found), 3),
                    "fastest": round(max(found), 3),
                    "part_of_built_in": round(statistics.median(ratios), 3),
                    "rounds": rounds,
                }


def _python(name: str, written: str) -> Mapping[str, str]:
    """The key `cca` of a class of the examples."""
    source = EXAMPLES / f"{name}.py"
    return {"python": f"{source.name}:{written}", "source": source.read_text(encoding="utf-8")}


def _module(name: str, folder: Path) -> Mapping[str, str]:
    """The key `cca` of a module of the examples."""
    module = rust_modules.built(EXAMPLES / f"{name}.rs", folder / name)
    return {"wasm": f"{name}.wasm", "source": base64.b64encode(module.read_bytes()).decode()}


def _speed(path: Path, cca: object) -> float:
    """Million data packets of the target link per processor second."""
    values = tomllib.loads(path.read_text(encoding="utf-8"))
    values["flows"][0]["cca"] = cca
    cost = json.loads(Scenario.of(values, allow_code=True).run("packet").core.json())["cost"]
    return float(cost["data_packets"] / cost["cpu_s"] / 1e6)

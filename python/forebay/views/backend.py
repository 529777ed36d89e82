"""Lets Matplotlib load whatever its environment says: a back end that is not there is none of ours.

Figures of this package are drawn without any window. But Matplotlib reads `MPLBACKEND` as it loads, and does not load
where that names nothing that is installed, as what Jupyter sets it to is not outside of Jupyter's environment.
"""

from __future__ import annotations

import importlib
import os
import sys

VARIABLE = "MPLBACKEND"


def load() -> None:
    """Load Matplotlib; without the environment's back end where it refuses that."""
    try:
        importlib.import_module("matplotlib")
    except ValueError:
        refused = os.environ.pop(VARIABLE, None)
        if refused is None:
            raise
        for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
            del sys.modules[name]
        try:
            importlib.import_module("matplotlib")
        finally:
            os.environ[VARIABLE] = refused


load()

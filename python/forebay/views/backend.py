"""Loads Matplotlib whatever back end its environment names: a missing one is not an error of this package.

Figures of this package are drawn without a window. Matplotlib reads `MPLBACKEND` when it loads, and does not load if
the variable names a back end that is not installed. Jupyter sets one that is missing outside of its environment.
"""

from __future__ import annotations

import importlib
import logging
import os
import sys

from forebay.extras import need

VARIABLE = "MPLBACKEND"


def load() -> None:
    """Load Matplotlib; if it refuses the back end of the environment, load it without one.

    Matplotlib creates a temporary folder if it cannot store its settings, and finds fonts again if it cannot store
    their list. Its messages about that are suppressed.

    Raises
    ------
    MissingPackageError
        If Matplotlib is not installed.
    """
    need("matplotlib")
    logger = logging.getLogger("matplotlib")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        _load()
        matplotlib = importlib.import_module("matplotlib")
        matplotlib.get_configdir()
        matplotlib.get_cachedir()
        importlib.import_module("matplotlib.font_manager")
    finally:
        logger.setLevel(before)


def _load() -> None:
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

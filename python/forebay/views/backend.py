"""Lets Matplotlib load whatever its environment says: a back end that is not there is none of ours.

Figures of this package are drawn without any window. But Matplotlib reads `MPLBACKEND` as it loads, and does not load
where that names nothing that is installed, as what Jupyter sets it to is not outside of Jupyter's environment.
"""

from __future__ import annotations

import importlib
import logging
import os
import sys

from forebay.extras import need

VARIABLE = "MPLBACKEND"


def load() -> None:
    """Load Matplotlib; without the environment's back end where it refuses that, and without a word of its folders.

    Where it cannot keep its settings it makes a folder for this time: nobody who asked for a picture has to know.

    Raises
    ------
    MissingPackageError
        Where it is not installed.
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

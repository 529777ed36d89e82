"""The closed-form models as functions of arrays."""

from __future__ import annotations

import json
import warnings
from typing import TYPE_CHECKING

import numpy as np

from forebay import _core

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["call", "names"]

#: Present names of parameters by their deprecated names.
_RENAMED = {"kept": "beta"}


def names() -> dict[str, list[str]]:
    """Quantities by model; `forebay.explain(model)` explains them."""
    models = [json.loads(text) for text in _core.models()]
    return {model["name"]: [quantity["name"] for quantity in model["quantities"]] for model in models}


def call(model: str, quantity: str, **parameters: ArrayLike) -> NDArray[np.float64]:
    """Compute one quantity of a model.

    Parameters
    ----------
    model, quantity : str
        Names from `names`.
    **parameters : array_like
        Parameters by the names and in the units that `explain` gives; arrays are broadcast against each other.

    Returns
    -------
    numpy.ndarray
        Values in the broadcast shape.

    Raises
    ------
    InputError
        If a name is unknown or missing, or for the first element outside of the model's domain.

    Examples
    --------
    >>> call("mm1k", "loss", load=[0.5, 0.9], system_capacity=1)
    array([0.33333333, 0.47368421])
    """
    for name in _RENAMED.keys() & parameters.keys():
        text = f"the parameter `{name}` is deprecated; use `{_RENAMED[name]}`"
        warnings.warn(text, DeprecationWarning, stacklevel=2)
        parameters.setdefault(_RENAMED[name], parameters.pop(name))
    arrays = {name: np.asarray(values, dtype=np.float64) for name, values in parameters.items()}
    shape = np.broadcast_shapes(*(array.shape for array in arrays.values())) if arrays else ()
    flat = {name: np.ascontiguousarray(np.broadcast_to(array, shape)).reshape(-1) for name, array in arrays.items()}
    found: NDArray[np.float64] = _core.call_model(model, quantity, flat)
    return found.reshape(shape) if found.size == int(np.prod(shape)) else found

"""Functions with the same result on every machine.

The transcendental functions of Python's `math` come from the C library of the machine, and differ in the last digit.
These come from `libm` of Rust, as those of the built-in algorithms.
"""

from __future__ import annotations

from forebay._core import exact_math

__all__ = ["cbrt", "cos", "exp", "exp2", "log", "log2", "pow", "sin", "sqrt", "tanh"]


def cbrt(x: float) -> float:
    """The cube root."""
    return exact_math("cbrt", x, 0.0)


def cos(x: float) -> float:
    """The cosine of an angle in radians."""
    return exact_math("cos", x, 0.0)


def exp(x: float) -> float:
    """The exponential function."""
    return exact_math("exp", x, 0.0)


def exp2(x: float) -> float:
    """2 to the power of x."""
    return exact_math("exp2", x, 0.0)


def log(x: float) -> float:
    """The natural logarithm."""
    return exact_math("log", x, 0.0)


def log2(x: float) -> float:
    """The logarithm to base 2."""
    return exact_math("log2", x, 0.0)


def pow(x: float, y: float) -> float:  # noqa: A001 - the name that `math` has
    """X to the power of y."""
    return exact_math("pow", x, y)


def sin(x: float) -> float:
    """The sine of an angle in radians."""
    return exact_math("sin", x, 0.0)


def sqrt(x: float) -> float:
    """The square root."""
    return exact_math("sqrt", x, 0.0)


def tanh(x: float) -> float:
    """The hyperbolic tangent."""
    return exact_math("tanh", x, 0.0)

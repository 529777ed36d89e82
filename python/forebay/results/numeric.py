"""Numbers with an uncertainty that calculate as their mean does: the base of `forebay.Estimate`."""

from __future__ import annotations

import math
import operator
from numbers import Real
from typing import TYPE_CHECKING, Any, overload

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Mean"]


def _number(value: object) -> float | None:
    """The mean of an estimate, or a number itself; None for everything else."""
    if isinstance(value, Mean):
        return value.mean
    return float(value) if isinstance(value, Real) else None


def _binary(operation: Callable[[Any, Any], Any]) -> tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]:
    """An operation on means, with the estimate on the left and on the right."""

    def left(self: Mean, other: object) -> Any:
        number = _number(other)
        return NotImplemented if number is None else operation(self.mean, number)

    def right(self: Mean, other: object) -> Any:
        number = _number(other)
        return NotImplemented if number is None else operation(number, self.mean)

    return left, right


class Mean:
    """A number that has a mean. Arithmetic, comparisons, rounding and formats use the mean and give plain numbers.

    The uncertainty of a result is not computed: two estimates of one run depend on each other. An estimate equals a
    number if its mean does. `bool` is True also for a mean of zero, because an estimate is there.
    """

    __slots__ = ()

    mean: float

    def __float__(self) -> float:
        return float(self.mean)

    def __int__(self) -> int:
        return int(self.mean)

    def __format__(self, spec: str) -> str:
        return format(self.mean, spec) if spec else str(self)

    def __hash__(self) -> int:
        return hash(self.mean)

    __add__, __radd__ = _binary(operator.add)
    __sub__, __rsub__ = _binary(operator.sub)
    __mul__, __rmul__ = _binary(operator.mul)
    __truediv__, __rtruediv__ = _binary(operator.truediv)
    __floordiv__, __rfloordiv__ = _binary(operator.floordiv)
    __mod__, __rmod__ = _binary(operator.mod)
    __divmod__, __rdivmod__ = _binary(divmod)
    __pow__, __rpow__ = _binary(operator.pow)
    __lt__, __gt__ = _binary(operator.lt)
    __le__, __ge__ = _binary(operator.le)

    def __neg__(self) -> float:
        return -self.mean

    def __pos__(self) -> float:
        return +self.mean

    def __abs__(self) -> float:
        return abs(self.mean)

    @overload
    def __round__(self, digits: None = None) -> int: ...

    @overload
    def __round__(self, digits: int) -> float: ...

    def __round__(self, digits: int | None = None) -> float:
        return round(self.mean, digits)

    def __trunc__(self) -> int:
        return math.trunc(self.mean)

    def __floor__(self) -> int:
        return math.floor(self.mean)

    def __ceil__(self) -> int:
        return math.ceil(self.mean)

    @property
    def real(self) -> float:
        """The mean, as numbers have a real part."""
        return float(self.mean)

    @property
    def imag(self) -> float:
        """Zero: an estimate is real."""
        return 0.0

    def conjugate(self) -> float:
        """The mean: an estimate is real."""
        return float(self.mean)

    def __complex__(self) -> complex:
        return complex(self.mean)


# Libraries ask `isinstance(x, numbers.Real)` before they calculate, such as `pytest.approx`.
Real.register(Mean)

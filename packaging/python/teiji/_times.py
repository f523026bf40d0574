# SPDX-License-Identifier: MIT OR Apache-2.0
"""Times with their unit: the bounds of limits, and values of flags."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Union

Number = Union[int, float, Decimal]


@dataclass(frozen=True, order=True)
class Time:
    """A whole number of nanoseconds, as the program has them."""

    ns: int

    def __str__(self) -> str:
        """As limits and flags have it: 50us."""
        for unit, length in (("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000)):
            if self.ns and self.ns % length == 0:
                return f"{self.ns // length}{unit}"
        return f"{self.ns}ns"

    __repr__ = __str__


def _time(value: Number, length_ns: int) -> Time:
    # By its digits: 0.3 is not 0.299999999999999988897.
    exact = Decimal(str(value)) * length_ns
    if exact != exact.to_integral_value():
        raise ValueError(f"{value} is not a whole number of nanoseconds")
    return Time(int(exact))


def ns(value: Number) -> Time:
    """Nanoseconds."""
    return _time(value, 1)


def us(value: Number) -> Time:
    """Microseconds."""
    return _time(value, 1_000)


def ms(value: Number) -> Time:
    """Milliseconds."""
    return _time(value, 1_000_000)

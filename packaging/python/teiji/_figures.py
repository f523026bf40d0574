# SPDX-License-Identifier: MIT OR Apache-2.0
"""Figures that the program is asked for, and verdicts on limits. Neither is computed a second time here."""

from __future__ import annotations

import json
import os
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Dict, Generic, List, Optional, TypeVar

from ._program import NotEnoughEvidence, ProgramError, call
from ._times import Time

if TYPE_CHECKING:
    from ._recording import Recording

Bound = TypeVar("Bound")

# How the program says that a recording has no such figure; docs/python.md's test holds both together.
UNKNOWN = (" has too few samples for ", " does not contain that figure")


class Verdict:
    """What `teiji gate` says of a limit: pass is true, fail is false. Not enough evidence has no truth value and raises."""

    def __init__(self, judged: Dict[str, Any], caveats: List[Dict[str, str]]) -> None:
        self.limit: str = judged["limit"]
        self.verdict: str = judged["verdict"]
        """pass, fail, or not enough evidence."""
        self.seen: Optional[str] = judged["seen"]
        self.margin: Optional[float] = judged["margin"]
        """How far the deciding figure is below the limit, as a share of the limit; negative above it."""
        self.lacking: Optional[str] = judged["lacking"]
        """Why there is not enough evidence."""
        self.caveats = caveats

    def __bool__(self) -> bool:
        if self.verdict not in ("pass", "fail"):
            raise NotEnoughEvidence(str(self))
        return self.verdict == "pass"

    def __str__(self) -> str:
        return f"{self.verdict}: {self.limit}: " + "; ".join(part for part in (self.seen, self.lacking) if part)

    def __repr__(self) -> str:
        return f"<{self}>"


def gate(recording: Recording, limit: str) -> Verdict:
    """The verdict of `teiji gate`."""
    code, output, said, command = call(["gate", "--json", f"--limit={limit}", os.fspath(recording)])
    # Pass, fail and not enough evidence have a verdict; all else is an error.
    if code not in (0, 1, 3) or not output:
        raise ProgramError(said, code, command, recording)
    answer = json.loads(output)
    return Verdict(answer["limits"][0], answer["caveats"])


class _Limited(Generic[Bound]):
    """Something of a recording that a limit can be set to."""

    def __init__(self, recording: Recording, name: str, confidence: Optional[float] = None) -> None:
        self._recording = recording
        self.name = name
        self._confidence = "" if confidence is None else f"@{confidence}%"

    def _judge(self, relation: str, bound: Bound) -> Verdict:
        return self._recording.judge(f"{self.name}{relation}{self._text(bound)}{self._confidence}")

    def _text(self, bound: Bound) -> str:
        if not isinstance(bound, Time):
            raise TypeError(f"a limit of {self.name} is a time, such as us(50), and not {bound!r}")
        return str(bound)

    def __lt__(self, bound: Bound) -> Verdict:
        return self._judge("<", bound)

    def __le__(self, bound: Bound) -> Verdict:
        return self._judge("<=", bound)

    def __gt__(self, bound: Bound) -> Verdict:
        raise TypeError(f"a limit is an upper bound: {self.name} < {bound!r}")

    __ge__ = __gt__

    def __eq__(self, bound: object) -> Verdict:  # type: ignore[override]
        raise TypeError(f"only counts have an exact limit: {self.name} <= {bound!r}")

    def __ne__(self, bound: object) -> bool:
        raise TypeError(f"a limit is an upper bound: {self.name} <= {bound!r}")

    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> bool:
        raise TypeError(f"{self.name} has no truth value: compare it with its limit")

    def __repr__(self) -> str:
        return self.name


class _Asked(_Limited[Bound]):
    """Of these `teiji show --figure` has the value."""

    def _value(self) -> Optional[Decimal]:
        code, output, said, command = call(["show", f"--figure={self.name}", os.fspath(self._recording)])
        if code == 0:
            return Decimal(output.strip())
        if any(words in said for words in UNKNOWN):
            return None
        raise ProgramError(said, code, command, self._recording)


class Figure(_Asked[Time]):
    """A latency: a largest, a mean, a quantile and so on, of the worst thread, with skipped activations counted in."""

    @property
    def ns(self) -> Optional[int]:
        """To the nanosecond; None where the recording has too few samples for it."""
        value = self._value()
        return None if value is None else int(value * 1_000)

    @property
    def us(self) -> Optional[float]:
        value = self._value()
        return None if value is None else float(value)

    def __repr__(self) -> str:
        value = self._value()
        return f"{self.name} (unknown)" if value is None else f"{self.name} ({value:,} µs)"


class Count(_Asked[int]):
    """How many activations of all threads were due, on time, late, skipped or lost."""

    @property
    def value(self) -> Optional[int]:
        value = self._value()
        return None if value is None else int(value)

    def _text(self, bound: int) -> str:
        if isinstance(bound, bool) or not isinstance(bound, int):
            raise TypeError(f"a limit of {self.name} is a number, and not {bound!r}")
        return str(bound)

    def __eq__(self, bound: object) -> Verdict:  # type: ignore[override]
        return self._judge("==", bound)  # type: ignore[arg-type]

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        value = self._value()
        return f"{self.name} (unknown)" if value is None else f"{self.name} ({value:,})"


class Rate(_Limited[float]):
    """The share of activations above a latency."""

    def _text(self, bound: float) -> str:
        if isinstance(bound, bool) or not isinstance(bound, (int, float)):
            raise TypeError(f"a limit of {self.name} is a share, such as 1e-6, and not {bound!r}")
        return str(bound)


class Column(_Limited[Any]):
    """A column of a probe, whose limit is a time or a number: of times the largest is judged, of what is counted the sum."""

    def _text(self, bound: Any) -> str:
        if isinstance(bound, bool) or not isinstance(bound, (Time, int)):
            raise TypeError(f"a limit of {self.name} is a time, such as us(50), or a number, and not {bound!r}")
        return str(bound)

    def __eq__(self, bound: object) -> Verdict:  # type: ignore[override]
        return self._judge("==", bound)

    __hash__ = None

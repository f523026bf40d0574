# SPDX-License-Identifier: MIT OR Apache-2.0
"""A promise with the figures that decide it, and the table of them."""

from dataclasses import dataclass
from enum import Enum


class Verdict(Enum):
    """What the figures say of a promise."""

    HOLDS = "holds"
    FAILS = "does not hold"
    UNDECIDED = "inconclusive"


@dataclass(frozen=True)
class Figure:
    """One line of the table, as text but for the verdict."""

    promise: str
    ours: str
    beside: str
    ratio: str
    limit: str
    verdict: Verdict
    spread: str

    @classmethod
    def at_most(cls, promise, ours, limit, form, beside=None, spread=""):
        """A promise about our own figure; `form` makes text of a figure, such as "{:.1f} MB"."""
        return cls(
            promise,
            form.format(ours),
            "" if beside is None else form.format(beside),
            "" if beside is None else f"{ours / beside:.3f}",
            form.format(limit),
            Verdict.HOLDS if ours <= limit else Verdict.FAILS,
            spread,
        )

    @classmethod
    def at_least(cls, promise, ours, limit, form, spread=""):
        """A promise that our own figure has not fallen below a limit."""
        verdict = Verdict.HOLDS if ours >= limit else Verdict.FAILS
        return cls(promise, form.format(ours), "", "", form.format(limit), verdict, spread)

    @classmethod
    def of_pairs(cls, promise, pairs, limit, form):
        """A promise about the median of ratios to another program's figure."""
        return cls.of_pairs_within(promise, pairs, 0, limit, form)

    @classmethod
    def of_pairs_within(cls, promise, pairs, low_limit, high_limit, form):
        """A promise that the median of ratios to another program's figure lies between two limits."""
        low, high = pairs.interval()
        inside, outside = low_limit <= low and high <= high_limit, high < low_limit or low > high_limit
        return cls(
            promise,
            form.format(pairs.ours()),
            form.format(pairs.theirs()),
            f"{pairs.ratio():.3f}",
            f"{low_limit:.2f}-{high_limit:.2f}" if low_limit else f"{high_limit:.2f}",
            Verdict.HOLDS if inside else Verdict.FAILS if outside else Verdict.UNDECIDED,
            f"99 % {low:.3f} to {high:.3f}, {len(pairs.ratios)} pairs",
        )


    @classmethod
    def of_one_within(cls, promise, pairs, low_limit, high_limit, form):
        """A promise that the ratio of two figures which repeat exactly lies between two limits."""
        (ratio,) = pairs.ratios
        return cls(
            promise,
            form.format(pairs.ours()),
            form.format(pairs.theirs()),
            f"{ratio:.3f}",
            f"{low_limit:.2f}-{high_limit:.2f}",
            Verdict.HOLDS if low_limit <= ratio <= high_limit else Verdict.FAILS,
            "exact",
        )

    @classmethod
    def of_two_apart(cls, promise, ours, theirs, limit, form):
        """A promise that two figures which repeat exactly differ by so much at most."""
        return cls(
            promise,
            form.format(ours),
            form.format(theirs),
            f"{ours / theirs:.3f}" if theirs else "",
            f"± {form.format(limit)}",
            Verdict.HOLDS if abs(ours - theirs) <= limit else Verdict.FAILS,
            "exact",
        )


def table(figures):
    """All figures side by side."""
    head = ("promise", "ours", "beside", "ratio", "limit", "verdict", "spread")
    rows = [head] + [
        (f.promise, f.ours, f.beside, f.ratio, f.limit, f.verdict.value, f.spread) for f in figures
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    left = {0, 5, 6}

    def line(row):
        cells = (
            cell.ljust(width) if column in left else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths))
        )
        return "  ".join(cells).rstrip()

    return "\n".join(line(row) for row in rows)

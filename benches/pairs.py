# SPDX-License-Identifier: MIT OR Apache-2.0
"""Alternating runs of two programs, and the median of the ratios of their figures.

A busy machine disturbs single runs by more than the programs differ. So one run of each makes a pair, close in time and in
changing order (AB BA AB ...), each pair gives a ratio, and pairs are added until the interval of the median lies on one
side of the limit. The interval is that of order statistics, which supposes nothing but that pairs are independent; at
99 %, because looking again and again makes a wrong verdict likelier than a single look would.
"""

from dataclasses import dataclass, field
from math import comb
from statistics import median

CONFIDENCE = 0.99


@dataclass
class Pairs:
    """Figures of one kind, one of ours beside one of theirs."""

    ours_each: list = field(default_factory=list)
    theirs_each: list = field(default_factory=list)

    def add(self, ours, theirs):
        """Adds a pair."""
        self.ours_each.append(ours)
        self.theirs_each.append(theirs)

    @property
    def ratios(self):
        """Ours to theirs, of each pair."""
        return [ours / theirs for ours, theirs in zip(self.ours_each, self.theirs_each)]

    def ours(self):
        """The median of ours."""
        return median(self.ours_each)

    def theirs(self):
        """The median of theirs."""
        return median(self.theirs_each)

    def ratio(self):
        """The median of the ratios."""
        return median(self.ratios)

    def interval(self):
        """Between which two ratios their true median lies; without bounds while there are too few pairs to say."""
        ordered = sorted(self.ratios)
        outside, n = 0, len(ordered)
        for rank in range(n // 2):
            # The median lies below the smallest `rank + 1` ratios as often as so many coins or fewer fall on heads.
            outside += 2 * comb(n, rank) / 2**n
            if outside > 1 - CONFIDENCE:
                return (ordered[rank - 1], ordered[n - rank]) if rank else (float("-inf"), float("inf"))
        return ordered[0], ordered[-1]

    def is_decided(self, limit):
        """Whether the median lies on one side of the limit."""
        low, high = self.interval()
        return high <= limit or low > limit


def alternate(ours, theirs, limit, least, most):
    """Runs both in pairs until every ratio is decided, at least `least` and at most `most` times.

    `ours` and `theirs` run a program and return its figures by name.
    """
    found = {}
    for number in range(most):
        if number >= least and all(pairs.is_decided(limit) for pairs in found.values()):
            break
        if number % 2:
            figures = theirs()
            figures = ours(), figures
        else:
            figures = ours(), theirs()
        for name in figures[0]:
            found.setdefault(name, Pairs()).add(figures[0][name], figures[1][name])
        latest = ", ".join(f"{name} {pairs.ratios[-1]:.3f}" for name, pairs in found.items())
        print(f"  pair {number + 1}: {latest}", flush=True)
    return found

# SPDX-License-Identifier: MIT OR Apache-2.0
"""User-space instructions per activation, counted by valgrind: the difference of a long and a short run.

Everything the process does is counted: the measuring thread, the recorder, and the summary at the end. What does not grow
with the length of the run cancels out. An activation is one that ran. One thread at 5 kHz; valgrind, which is slow, goes
before whatever else runs, or activations would be skipped, and rows without a sample are counted in but not divided by.
"""

import re
from dataclasses import dataclass
from statistics import median

from figure import Figure
from programs import Failed, one_thread

MAX = 120
# Of these, all but the main thread's: its summary takes as many as what was measured asks for, and that is another matter on a
# busy machine.
MAX_WITHOUT_SUMMARY = 92
# From 40,000 rows on, batches take so few bytes a row that the file is not written again at the end of the run: that would be
# in the shorter run alone, and would make the difference of the two too small.
SHORT, LONG = 40_000, 140_000
ROUNDS = 3
VALGRIND = ("chrt", "--fifo", "1", "valgrind", "--tool=callgrind", "--separate-threads=yes")


@dataclass(frozen=True)
class Count:
    """Instructions of one run, and the activations that ran."""

    instructions: int
    main_thread: int
    activations: int

    def per_activation(self, shorter):
        """Instructions that each further activation took: all of them, and the main thread's."""
        further = self.activations - shorter.activations
        return (self.instructions - shorter.instructions) / further, (self.main_thread - shorter.main_thread) / further


class Counts:
    """Runs the programs under valgrind, so long or so long."""

    def __init__(self, programs):
        self.programs = programs
        self.options = one_thread()
        # The latest run of teiji of each length.
        self.measured = {}
        self.most_skipped = 0

    def _under_valgrind(self, start, activations):
        """`start` is given the words to put before a program's own; `activations` tells how many ran."""
        out = self.programs.new_path(".callgrind")
        ended = start([*VALGRIND, f"--callgrind-out-file={out}"])
        total = re.search(r"Collected : (\d+)", ended.stderr)
        main_thread = re.search(r"^totals: (\d+)", out.with_name(f"{out.name}-01").read_text(), re.MULTILINE)
        if not (total and main_thread):
            raise Failed("valgrind did not say how many instructions it counted")
        return Count(int(total[1]), int(main_thread[1]), activations())

    def measure(self, due):
        """teiji measure, from start to end."""

        def start(under):
            self.measured[due] = self.programs.measure(*self.options, f"-n{due}", "--warmup", "0", under=under)
            self.most_skipped = max(self.most_skipped, self.measured[due].skipped() / due)
            return self.measured[due].ended

        return self._under_valgrind(start, lambda: self.measured[due].woken())

    def plain(self, due):
        """cyclictest without a histogram."""
        return self._cyclictest(due)

    def histogram(self, due):
        """cyclictest with a histogram."""
        return self._cyclictest(due, "-h400")

    def _cyclictest(self, due, *more):
        options = [*self.options, f"-l{due}", *more]
        return self._under_valgrind(lambda under: self.programs.cyclictest(*options, under=under), lambda: due)


def figures(programs):
    """Counts in rounds, everything in each; of teiji alone one round, without its summary: another hardly differs."""
    counts = Counts(programs)
    if programs.alone:
        shorter = counts.measure(SHORT)
        ours, main_thread = counts.measure(LONG).per_activation(shorter)
        claim, spread = "instructions per activation, summary left out", f"skipped at most {counts.most_skipped:.1%}"
        yield Figure.at_most(claim, ours - main_thread, MAX_WITHOUT_SUMMARY, "{:.1f}", spread=spread)
        return
    rounds = {count: [] for count in (counts.measure, counts.plain, counts.histogram)}
    for number in range(ROUNDS):
        for count, found in rounds.items():
            shorter = count(SHORT)
            found.append(count(LONG).per_activation(shorter))
        print(f"  round {number + 1}: " + ", ".join(f"{c.__name__} {f[-1][0]:.1f}" for c, f in rounds.items()), flush=True)

    totals = {count: [total for total, _ in found] for count, found in rounds.items()}
    plain, histogram = (median(totals[count]) for count in (counts.plain, counts.histogram))
    ours, main_thread = (median(column) for column in zip(*rounds[counts.measure]))
    parts = f"measuring and recording {ours - main_thread:.0f}, summary {main_thread:.0f}"
    print(f"  ours: {parts}; skipped under valgrind: at most {counts.most_skipped:.1%}")
    spread = f"{min(totals[counts.measure]):.1f} to {max(totals[counts.measure]):.1f}; cyclictest plain {plain:.1f}"
    yield Figure.at_most("instructions per activation", ours, MAX, "{:.1f}", histogram, f"{spread}; ours: {parts}")

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

MAX = 112
# Of these, all but the main thread's: its summary takes as many as what was measured asks for, and that is another matter on a
# busy machine.
MAX_WITHOUT_SUMMARY = 92
# Of those that were due, in either run of a round that counts; and where the summary is left out.
MAX_SKIPPED = 0.01
MAX_SKIPPED_WITHOUT_SUMMARY = 0.03
MAX_ATTEMPTS = 9
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
            for attempt in range(MAX_ATTEMPTS):
                try:
                    self.measured[due] = self.programs.measure(*self.options, f"-n{due}", "--warmup", "0", under=under)
                    return self.measured[due].ended
                except Failed as failed:
                    # Of the few activations that are tried before a run a busy machine takes any share.
                    if attempt + 1 == MAX_ATTEMPTS or "too short for this machine" not in str(failed):
                        raise

        return self._under_valgrind(start, lambda: self.measured[due].woken())

    def skipped(self):
        """Of the latest runs of teiji, the larger share of activations that were skipped."""
        return max(run.skipped() / due for due, run in self.measured.items())

    def plain(self, due):
        """cyclictest without a histogram."""
        return self._cyclictest(due)

    def histogram(self, due):
        """cyclictest with a histogram."""
        return self._cyclictest(due, "-h400")

    def _cyclictest(self, due, *more):
        options = [*self.options, f"-l{due}", *more]
        return self._under_valgrind(lambda under: self.programs.cyclictest(*options, under=under), lambda: due)


def quiet_rounds(counts, rounds, max_skipped):
    """What teiji took for a further activation in so many rounds, each with few activations skipped, and the most of those."""
    found = []
    for attempt in range(1, MAX_ATTEMPTS + 1):
        shorter = counts.measure(SHORT)
        further, skipped = counts.measure(LONG).per_activation(shorter), counts.skipped()
        counted = skipped <= max_skipped
        print(f"  attempt {attempt}: {further[0]:.1f}, skipped {skipped:.1%}{'' if counted else ', too many'}", flush=True)
        if counted:
            found.append((further, skipped))
        if len(found) == rounds:
            return [further for further, _ in found], max(skipped for _, skipped in found)
    raise Failed(f"more than {max_skipped:.1%} of all activations were skipped, again and again: the machine is too busy")


def figures(programs):
    """Counts in rounds; of teiji alone one round, without its summary: another hardly differs."""
    counts = Counts(programs)
    if programs.alone:
        [(ours, main_thread)], skipped = quiet_rounds(counts, 1, MAX_SKIPPED_WITHOUT_SUMMARY)
        promise, spread = "instructions per activation, summary left out", f"skipped at most {skipped:.1%}"
        yield Figure.at_most(promise, ours - main_thread, MAX_WITHOUT_SUMMARY, "{:.1f}", spread=spread)
        return
    others = {}
    for count in (counts.plain, counts.histogram):
        # Theirs hardly differ from round to round.
        shorter = count(SHORT)
        others[count], _ = count(LONG).per_activation(shorter)
    rounds, skipped = quiet_rounds(counts, ROUNDS, MAX_SKIPPED)
    ours, main_thread = (median(column) for column in zip(*rounds))
    parts = f"measuring and recording {ours - main_thread:.0f}, summary {main_thread:.0f}"
    totals = [total for total, _ in rounds]
    spread = f"{min(totals):.1f} to {max(totals):.1f}, skipped at most {skipped:.1%}; cyclictest plain {others[counts.plain]:.1f}"
    yield Figure.at_most("instructions per activation", ours, MAX, "{:.1f}", others[counts.histogram], f"{spread}; ours: {parts}")

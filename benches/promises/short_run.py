# SPDX-License-Identifier: MIT OR Apache-2.0
"""CPU time of a short run from its start to its end, user and system, of the whole process: one thread at 5 kHz for three
seconds. What a run costs however short it is stands in this figure: both snapshots of the machine, its checks, the files,
the statistics, and teiji's warm-up, which is a part of each run that nobody asks to be without it."""

from figure import Figure
from pairs import alternate
from programs import one_thread

MAX = 1.05
SECONDS = 3
MIN_PAIRS, MAX_PAIRS = 8, 30


def figures(programs):
    """Pairs of runs."""
    options = one_thread()

    def ours():
        return {"CPU time": programs.measure(*options, f"-d{SECONDS}s").ended.cpu_s * 1e3}

    def theirs():
        return {"CPU time": programs.cyclictest(*options, f"-D{SECONDS}", "--mlockall", "-h400").cpu_s * 1e3}

    for name, pairs in alternate(ours, theirs, MAX, MIN_PAIRS, MAX_PAIRS).items():
        yield Figure.of_pairs(f"{name} of a run of {SECONDS} s", pairs, MAX, "{:.0f} ms")

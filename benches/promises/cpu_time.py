# SPDX-License-Identifier: MIT OR Apache-2.0
"""CPU time per activation: user and system time of the whole process, from its start to its end, over the activations
that ran. One thread at 5 kHz for ten seconds; cyclictest keeps a histogram, teiji records every sample. teiji's warm-up is
left out, for cyclictest has none."""

from figure import Figure
from pairs import alternate
from programs import one_thread

MAX = 1.00
ACTIVATIONS = 50_000
MIN_PAIRS, MAX_PAIRS = 8, 30


def figures(programs):
    """Pairs of runs."""
    options = one_thread()

    def ours():
        measured = programs.measure(*options, f"-n{ACTIVATIONS}", "--warmup", "0")
        return {"CPU time": measured.ended.cpu_s * 1e6 / measured.woken()}

    def theirs():
        ended = programs.cyclictest(*options, f"-l{ACTIVATIONS}", "--mlockall", "-h400")
        return {"CPU time": ended.cpu_s * 1e6 / ACTIVATIONS}

    for name, pairs in alternate(ours, theirs, MAX, MIN_PAIRS, MAX_PAIRS).items():
        yield Figure.of_pairs(f"{name} per activation", pairs, MAX, "{:.2f} µs")

# SPDX-License-Identifier: MIT OR Apache-2.0
"""Wake-up latency seen on the same CPU at the same priority: an instrument that disturbs less sees less. cyclictest counts
in a histogram of nanoseconds; quantiles are nearest-rank on both sides."""

import re

from figure import Figure
from pairs import alternate
from programs import Failed, one_thread

MAX = 1.02
# Two seconds: short runs, because what else goes on in the machine must be the same for both of a pair.
ACTIVATIONS = 10_000
MIN_PAIRS, MAX_PAIRS = 20, 120
HISTOGRAM_NS = 1_000_000
PERCENTS = (50, 99)


def nearest_rank(histogram, beyond, percent):
    """The smallest latency that so many percent do not exceed; `histogram` holds (latency, count) in ascending order,
    `beyond` how many lie above it."""
    rank = -(-(sum(count for _, count in histogram) + beyond) * percent // 100)
    for latency, count in histogram:
        rank -= count
        if rank <= 0:
            return latency
    raise Failed(f"{percent} % of cyclictest's latencies do not fit a histogram of {HISTOGRAM_NS / 1e6:.0f} ms")


def quantiles(output):
    """From what cyclictest prints."""
    lines = re.findall(r"^(\d+) 0*([1-9]\d*)$", output, re.MULTILINE)
    histogram = [(int(latency), int(count)) for latency, count in lines]
    (beyond,) = re.findall(r"^# Histogram Overflows: (\d+)", output, re.MULTILINE)
    return {f"p{percent}": nearest_rank(histogram, int(beyond), percent) for percent in PERCENTS}


def figures(programs):
    """Pairs of runs."""
    options = one_thread()

    def ours():
        (thread,) = programs.measure(*options, f"-n{ACTIVATIONS}").document["threads"]
        return {f"p{percent}": thread["latency_ns"][f"p{percent}"] for percent in PERCENTS}

    def theirs():
        ended = programs.cyclictest(*options, f"-l{ACTIVATIONS}", "--mlockall", "--nsecs", f"-h{HISTOGRAM_NS}")
        return quantiles(ended.stdout)

    for name, pairs in alternate(ours, theirs, MAX, MIN_PAIRS, MAX_PAIRS).items():
        yield Figure.of_pairs(f"wake-up latency {name}", pairs, MAX, "{:,.0f} ns")

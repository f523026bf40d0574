# SPDX-License-Identifier: MIT OR Apache-2.0
"""What forcing samples to the disk while measuring costs in wake-up latency: the same run with and without `--no-sync`, on
the disk that holds the folder for temporary files, with every CPU measured, so that the thread that syncs is on one of them."""

from figure import Figure
from pairs import alternate

MAX = 1.02
# Four seconds: eight syncs.
ACTIVATIONS = 4_000
MIN_PAIRS, MAX_PAIRS = 20, 40


def figures(programs):
    """Pairs of runs."""

    def run(*more):
        document = programs.measure("-i1ms", f"-n{ACTIVATIONS}", *more).document
        threads = document["threads"]
        return {
            "p99": max(thread["latency_ns"]["p99"] for thread in threads),
            "p99.9": max(thread["latency_ns"]["p999"] for thread in threads),
        }

    for name, pairs in alternate(run, lambda: run("--no-sync"), MAX, MIN_PAIRS, MAX_PAIRS).items():
        yield Figure.of_pairs(f"wake-up latency {name}, synced by not synced", pairs, MAX, "{:,.0f} ns")

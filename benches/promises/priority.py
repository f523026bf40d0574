# SPDX-License-Identifier: MIT OR Apache-2.0
"""Whether a measuring thread keeps its priority over a load that never sleeps on the same CPU: its p99, beside that of a thread
of ordinary scheduling. Once with the load as it is, once at nice -20, where the scheduler puts it before what is ordinary."""

import os
from statistics import median

from figure import Figure

MAX_US = 200
RUNS = 5


def figures(programs):
    """Runs of two seconds at 1 ms."""
    cpu = max(os.sched_getaffinity(0))

    def p99(nice, policy):
        options = ["-a", str(cpu), "-d", "2s", "--load", f"cpu@100%,cpus={cpu},nice={nice}", "--policy", policy]
        runs = (programs.measure(*options, real_time=policy == "fifo").document["threads"][0] for _ in range(RUNS))
        return median(thread["latency_with_skipped_ns"]["p99"] / 1e3 for thread in runs)

    for nice in (0, -20):
        ours, ordinary = p99(nice, "fifo"), p99(nice, "other")
        spread = f"SCHED_OTHER beside the same load: {ordinary:,.0f} µs"
        print(f"  nice {nice}: {ours:.0f} µs; {spread}")
        yield Figure.at_most(f"p99 beside cpu@100%, nice {nice}", ours, MAX_US, "{:.0f} µs", spread=spread)

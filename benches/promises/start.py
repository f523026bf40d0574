# SPDX-License-Identifier: MIT OR Apache-2.0
"""Time from the program's start to its first planned activation, warm-up left out.

The program's own figure is judged; beside it stands the time from outside of a whole run of one activation, which also
holds loading the program, the recording, the second look at the machine and the summary.

On a machine that other work keeps busy, the median says how long the program waits for a CPU. There the quickest start is
judged: other work only lengthens a start, so a program that needs longer than the limit has no quick one.
"""

from statistics import median

from figure import Figure

MAX_MS = 50
RUNS = 21
BUSY_RUNS = 101


def figures(programs):
    """Starts the program again and again."""
    count, name, judged = (BUSY_RUNS, "quickest start", min) if programs.alone else (RUNS, "start", median)
    runs = [programs.measure("-n1", "--warmup", "0") for _ in range(count)]
    starts = sorted(run.document["instrument"]["start_to_first_activation_ns"] / 1e6 for run in runs)
    whole = median(run.ended.wall_s * 1e3 for run in runs)
    spread = f"{starts[0]:.1f} to {starts[-1]:.1f} ms in {count} starts, median {median(starts):.1f} ms; whole run of one activation {whole:.1f} ms"
    print(f"  {spread}")
    yield Figure.at_most(f"{name} to first activation", judged(starts), MAX_MS, "{:.1f} ms", spread=spread)

# SPDX-License-Identifier: MIT OR Apache-2.0
"""Time from the program's start to its first planned activation, warm-up left out.

The program's own figure is judged; beside it stands the time from outside of a whole run of one activation, which also
holds loading the program, the recording, the second look at the machine and the summary.
"""

from statistics import median

from figure import Figure

MAX_MS = 50
RUNS = 21


def figures(programs):
    """Starts the program again and again."""
    runs = [programs.measure("-n1", "--warmup", "0") for _ in range(RUNS)]
    starts = sorted(run.document["instrument"]["start_to_first_activation_ns"] / 1e6 for run in runs)
    whole = median(run.ended.wall_s * 1e3 for run in runs)
    spread = f"{starts[0]:.1f} to {starts[-1]:.1f} ms in {RUNS} starts; whole run of one activation {whole:.1f} ms"
    print(f"  {spread}")
    yield Figure.at_most("start to first activation", median(starts), MAX_MS, "{:.1f} ms", spread=spread)

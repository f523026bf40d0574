# SPDX-License-Identifier: MIT OR Apache-2.0
"""The time of teiji hackbench beside rt-tests' hackbench, alternating: the same groups, messages and channels make the same
load, so the times are to lie within a tenth of one another."""

import re

from figure import Figure
from pairs import alternate
from programs import Failed, run

MIN, MAX = 0.90, 1.10
OPTIONS = ("-g", "10", "-l", "1000")
MODES = {
    "processes, sockets": (),
    "processes, pipes": ("--pipe",),
    "threads, sockets": ("--threads",),
    "threads, pipes": ("--threads", "--pipe"),
}
MIN_PAIRS, MAX_PAIRS = 9, 15


def seconds(command):
    """What the program itself says it took."""
    output = run(command).stdout
    time = re.search(r"^Time: (\d+\.\d+)$", output, re.MULTILINE)
    if not time:
        raise Failed(f"{command[0]} did not say how long it took: {output}")
    return float(time[1])


def figures(programs):
    """Pairs of runs, mode by mode."""
    for mode, options in MODES.items():
        print(f"  {mode}")

        def ours():
            return {"time": seconds([programs.teiji, "hackbench", *OPTIONS, *options])}

        def theirs():
            return {"time": seconds(["hackbench", *OPTIONS, *options])}

        pairs = alternate(ours, theirs, MAX, MIN_PAIRS, MAX_PAIRS)["time"]
        yield Figure.of_pairs_within(f"hackbench, {mode}", pairs, MIN, MAX, "{:.2f} s")

# SPDX-License-Identifier: MIT OR Apache-2.0
"""How far loads stay off the level asked for: each load that has levels, at each level, alone on the last CPU for five
seconds, by the load's own CPU time."""

import json
import os

from figure import Figure
from programs import run

MAX = 3.0
LOADS = ("cpu", "mem-alloc", "mem-fault", "mem-access", "cache", "dev-zero")
LEVELS = (10, 25, 50, 75, 100)


def figures(programs):
    """One load after the other; the worst level of each is judged."""
    cpu = max(os.sched_getaffinity(0))
    for load in LOADS:
        off = {}
        for level in LEVELS:
            output = run([programs.teiji, "load", f"{load}@{level}%,cpus={cpu}", "-d", "5s", "--json"], codes=(0, 1))
            off[level] = json.loads(output.stdout)["load"][0]["reached"]["mean"] - level
        spread = ", ".join(f"{level} %: {error:+.2f}" for level, error in off.items())
        print(f"  {load}: {spread}")
        worst = max(abs(error) for error in off.values())
        yield Figure.at_most(f"level of {load}", worst, MAX, "{:.2f} points", spread=spread)

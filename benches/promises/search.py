# SPDX-License-Identifier: MIT OR Apache-2.0
"""The largest latency that a search finds on Debian's vanilla kernel, against that of phases alone in the same time.

Both have the same loads, interval and length of a run. Phases run all loads at once, as they are given; the search chooses. Guests at
once are as many as the machine has CPUs, for both. How many runs fit into the time differs from machine to machine, each of them is exact.
"""

import json
import os
import time

from figure import Figure
from programs import run

KERNEL = "debian:amd64"
LOADS = ("hackbench", "mem-alloc", "fork", "disk")
LENGTH = "500ms"
SECONDS = int(os.environ.get("TEIJI_SEARCH_SECONDS", "600"))


def common():
    """Flags of both."""
    return ["-k", KERNEL, "-q", "--json", "-d", LENGTH, *(word for load in LOADS for word in ("--load", load))]


def searched(programs):
    """The largest latency that the search finds, ns, of how many runs, and what it took, s."""
    folder = programs.new_path("")
    began = time.monotonic()
    found = json.loads(run([programs.teiji, "lab", "search", *common(), "--for", f"{SECONDS}s", "-o", folder]).stdout)
    largest = found["worst"]["largest_ns"]
    print(f"  search: {largest / 1_000:.3f} µs, {len(found['tried'])} runs, {time.monotonic() - began:.0f} s", flush=True)
    print(f"    {json.dumps(found['tried'][found['worst']['run'] - 1])}", flush=True)
    return largest, found["took_ms"] / 1_000


def in_phases(programs, seconds):
    """The largest latency of phases alone, ns, one after the other for so long."""
    at_once = len(os.sched_getaffinity(0))
    began, first, largest, runs = time.monotonic(), 1, 0, 0
    while time.monotonic() - began < seconds:
        folder = programs.new_path("")
        # By their numbers: as a plan, of which so many are run at once.
        plan = programs.new_path(".toml")
        loads = ", ".join(f'"{load}"' for load in LOADS)
        with open(plan, "w") as file:
            file.write(f'[measure]\nkernel = "{KERNEL}"\nduration = "{LENGTH}"\nload = [{loads}]\n')
            file.write(f'[vary]\nphase = ["{first}..{first + at_once - 1}"]\n')
        run([programs.teiji, "run", "-q", plan, "-o", folder])
        shown = json.loads(run([programs.teiji, "show", "--json", folder]).stdout)
        largest = max(largest, *maxima(shown))
        first, runs = first + at_once, runs + at_once
    print(f"  phases: {largest / 1_000:.3f} µs, {runs} runs, {time.monotonic() - began:.0f} s", flush=True)
    return largest


def maxima(shown):
    """The largest latencies of a plan's combinations, ns."""
    for combination in shown["combinations"]:
        yield combination["max_ns"]


def figures(programs):
    """One line: theirs against ours."""
    largest, seconds = searched(programs)
    phases = in_phases(programs, seconds)
    yield Figure.at_least("lab search / the same time of phases", largest / phases, 1.0, "{:.2f}")

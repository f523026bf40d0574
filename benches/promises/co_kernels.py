# SPDX-License-Identifier: MIT OR Apache-2.0
"""Mean wake-up latency of a thread on Cobalt and on EVL, beside the co-kernel's own `latency` and `latmus`, in one boot of a guest.

Kernels and programs come from the environment: TEIJI_COBALT_KERNEL and TEIJI_COBALT_LATENCY, TEIJI_EVL_KERNEL and TEIJI_EVL_LATMUS, an image
and a static program of each. Both programs take turns at the same period, for the same time. `latency` waits in the read of
a timer file, so `--sleep timerfd` is what it is compared with; how much sooner a thread wakes from Cobalt's clock_nanosleep is printed. `latmus`
waits in a request to a driver of its own, which has no counterpart: EVL's clock sleep is the nearest.
"""

import json
import os
import re
from statistics import fmean

from figure import Figure
from pairs import Pairs
from programs import Failed, run

# By name: whose kernel and program, as their environment variables; its words; and ways of ours, the first of which is compared.
CORES = {
    "Cobalt": ("TEIJI_COBALT_KERNEL", "TEIJI_COBALT_LATENCY", "/tool -p 1000 -T 5 -q", ("--sleep timerfd", "--sleep absolute")),
    "EVL": ("TEIJI_EVL_KERNEL", "TEIJI_EVL_LATMUS", "/tool -m -p 1000 -T 5", ("",)),
}
OURS = "/teiji measure --quiet --json -t 1 -i 1ms -d 5s"
# Of each.
RUNS = 3
WITHIN = (0.90, 1.10)


def our_mean(text):
    """Of a run of ours on its co-kernel, µs, in which the thread stayed there."""
    document = json.loads(text)
    (thread,) = document["threads"]
    if "co_kernel" not in document["instrument"] or thread["evidence"]["fallen_back"] != 0:
        raise Failed("a thread of ours was not on the co-kernel for the whole run")
    return thread["latency_ns"]["mean"] / 1_000


def their_mean(text):
    """Of their summary: smallest, mean, largest, and how often a period passed or the thread fell back to Linux."""
    rows = re.findall(r"^RTS\|\s*[\d.-]+\|\s*([\d.-]+)\|\s*[\d.-]+\|\s*(\d+)\|\s*(\d+)\|", text, re.MULTILINE)
    if len(rows) != 1 or rows[0][1:] != ("0", "0"):
        raise Failed(f"the co-kernel's program printed no summary of a run without overrun:\n{text}")
    return float(rows[0][0])


def in_guest(teiji, kernel, tool, words, ways):
    """Means of all runs of one boot, µs: ours by way, and theirs."""
    command = [teiji, "lab", "exec", "--quiet", "--json", "--mips", "125", "--kernel", kernel, "--file", f"{tool}=/tool"]
    ours = [f"{OURS} {way}".strip() for way in ways]
    for number in range(RUNS):
        command += [word for way, text in enumerate(ours) for word in ("--run", f"{text} -o /tmp/{number}-{way}")] + ["--run", words]
    ended = json.loads(run(command).stdout)["commands"]
    if failed := [one for one in ended if one["code"]]:
        raise Failed(f"{' '.join(failed[0]['command'])} ended with {failed[0]['code']}: {failed[0]['stderr']}")
    texts = [one["stdout"] for one in ended]
    turn = len(ways) + 1
    means = [fmean(map(our_mean, texts[way::turn])) for way in range(len(ways))]
    return means, fmean(map(their_mean, texts[len(ways) :: turn]))


def figures(programs):
    """Of each co-kernel that is given."""
    given = {name: core for name, core in CORES.items() if all(os.environ.get(variable) for variable in core[:2])}
    for name in CORES.keys() - given.keys():
        print(f"  {name}: not measured, {' and '.join(CORES[name][:2])} do not name a kernel and a program", flush=True)
    for name, (kernel, tool, words, ways) in given.items():
        means, other = in_guest(programs.teiji, os.environ[kernel], os.environ[tool], words, ways)
        for way, mean in zip(ways, means):
            print(f"  {name} {way or 'sleep'}: mean {mean:.2f} µs, its own program {other:.2f} µs", flush=True)
        pairs = Pairs()
        pairs.add(means[0], other)
        yield Figure.of_one_within(f"{name}: mean / its own program", pairs, *WITHIN, "{:.2f} µs")

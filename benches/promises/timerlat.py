# SPDX-License-Identifier: MIT OR Apache-2.0
"""The kernel's timer latency, beside `rtla timerlat hist`: both read the same tracer, on the same kernel in the same guest of the lab.

Both take turns, so that what goes on once in a while is in some run of each. rtla is asked for ns (`-n`): by default it rounds each
latency down to whole µs, in which interrupts take 0. Each run has its timer at a phase of its own, so no single latency is the same.
The means are of thousands. The smallest are what the way takes at least. The largest of each is one latency, which met
something else.
"""

import json
import re
import shutil

from figure import Figure
from pairs import Pairs
from programs import Failed, run
from promises.lab import with_libraries

# Debian's kernel with the tracer.
KERNEL = "debian:rt-amd64"
PRIORITY = 80
INTERVAL_US = 1_000
SECONDS = 3
# Of each.
RUNS = 3
# Within which the means are to agree, and by how much at most the smallest and the largest may differ.
MEAN_WITHIN = (0.95, 1.05)
APART_US = {"min": 0.2, "max": 1.0}
# Above every latency here: what is above the histogram is counted, but is in no other figure.
BINS, BIN_NS = 200, 1_000


def theirs():
    """rtla, on the kernel's thread, which versions that know another have to be told."""
    told = run(["rtla", "timerlat", "hist", "--help"], codes=(0, 1, 129))
    kernel = ["-k"] if re.search(r"^\s*-k\b", told.stdout + told.stderr, re.MULTILINE) else []
    options = [f"-p{INTERVAL_US}", f"-d{SECONDS}", "-n", f"-b{BIN_NS}", f"-E{BINS}", f"-Pf:{PRIORITY}"]
    return [shutil.which("rtla"), "timerlat", "hist", *kernel, "-c0", *options]


def our_figures(text):
    """Of a run of ours: by place, count and smallest, mean and largest latency, µs."""
    (thread,) = json.loads(text)["threads"]
    irq = next(column["values"] for column in thread["columns"] if column["name"] == "irq_ns")
    for place, values in (("irq", irq), ("thread", thread["latency_ns"])):
        yield place, values["count"], {name: values[name] / 1_000 for name in ("min", "mean", "max")}


def their_figures(text):
    """The same of what rtla prints."""
    rows = {name: [int(value) for value in values.split()] for name, values in re.findall(r"^(\w+):([ \d]+)$", text, re.MULTILINE)}
    if not {"over", "count", "min", "avg", "max"} <= rows.keys() or any(rows["over"]):
        raise Failed(f"rtla printed a histogram that is not of all latencies:\n{text}")
    for number, place in enumerate(("irq", "thread")):
        values = {name: rows[row][number] / 1_000 for name, row in (("min", "min"), ("mean", "avg"), ("max", "max"))}
        yield place, rows["count"][number], values


def together(runs):
    """Of all runs of a program: by place, how many latencies, and the smallest, mean and largest of them."""
    places = {}
    for figures in runs:
        for place, count, values in figures:
            places.setdefault(place, []).append((count, values))
    for place, parts in places.items():
        count = sum(part for part, _ in parts)
        mean = sum(part * values["mean"] for part, values in parts) / count
        smallest, largest = min(values["min"] for _, values in parts), max(values["max"] for _, values in parts)
        yield place, count, {"min": smallest, "mean": mean, "max": largest}


def in_guest(programs):
    """What both programs print of all their runs, in turn, in one boot."""
    words = [programs.teiji, "lab", "exec", "--quiet", "--json", "--boot-timeout", "400s", "--kernel", KERNEL]
    for file in with_libraries("rtla"):
        words += ["--file", file]
    ours = ["/teiji", "measure", "--quiet", "--json", "--probe", "timerlat", f"-i{INTERVAL_US}us", f"-d{SECONDS}s", f"-p{PRIORITY}"]
    for number in range(RUNS):
        words += ["--run", " ".join([*ours, "-o", f"/tmp/{number}.teiji"]), "--run", " ".join(theirs())]
    commands = json.loads(run(words).stdout)["commands"]
    if failed := [command for command in commands if command["code"]]:
        raise Failed(f"{' '.join(failed[0]['command'])} ended with {failed[0]['code']}: {failed[0]['stderr']}")
    texts = [command["stdout"] for command in commands]
    return texts[::2], texts[1::2]


def figures(programs):
    """Place by place: smallest, mean and largest."""
    our_texts, their_texts = in_guest(programs)
    both = zip(together(map(our_figures, our_texts)), together(map(their_figures, their_texts)))
    for (place, our_count, ours), (_, their_count, other) in both:
        counts = f"{our_count:,} and {their_count:,} latencies"
        for name in ("min", "mean", "max"):
            print(f"  {KERNEL}, {place} {name}: {ours[name]:.3f} µs, rtla {other[name]:.3f} µs, of {counts}", flush=True)
            promise = f"{KERNEL}: {place} {name} / rtla"
            if name == "mean":
                pairs = Pairs()
                pairs.add(ours[name], other[name])
                yield Figure.of_one_within(promise, pairs, *MEAN_WITHIN, "{:.3f} µs")
            else:
                yield Figure.of_two_apart(promise, ours[name], other[name], APART_US[name], "{:.3f} µs")

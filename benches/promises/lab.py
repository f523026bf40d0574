# SPDX-License-Identifier: MIT OR Apache-2.0
"""What an activation costs in a guest of the lab, kernel and all, beside cyclictest on the same kernel in the same boot.

In virtual time an instruction takes a ns, so both figures are exact, the same on every machine and however busy it is:
the median of the wake-up latency, and the instructions that one more activation takes of the whole machine, which are
those of a long run less those of a short one, less what the machine does by itself meanwhile.

Ours are also held against figures that were reviewed once, by kernel and QEMU: a change that makes the engine dearer
fails, and one that makes it much cheaper wants them reviewed anew.
"""

import json
import re
import shutil
from fractions import Fraction
from pathlib import Path

from figure import Figure
from programs import PRIORITY, Failed, run

KERNELS = ("debian:amd64", "debian:rt-amd64")
REVIEWED = Path(__file__).resolve().parent.parent / "reviewed_lab.json"
WITHIN = 0.02
INTERVAL_NS = 1_000_000
# Activations of the median.
MEASURED = 3_000
# Activations of the two lengths that instructions are counted of, after a run that is not counted, since what starts first
# pays for reading the program. What a kernel does once in a while, some 200,000 instructions, is a hundredth of the rest.
FIRST, SHORT, LONG = 100, 2_000, 8_000
# The same here: what it costs to start the program that rests is more than what the machine then does by itself.
FIRST_REST_S, SHORT_REST_S, LONG_REST_S = 1, 2, 8
# On one kernel the same program takes some 530 instructions more for each activation after some boots than after others, cyclictest too:
# which of both is chance of all that was before. The cheaper of two guests is what is held.
GUESTS_MIB = (512, 768)
# Both programs' letters for the same: one thread, its priority, its interval in µs.
OPTIONS = ["-t1", f"-p{PRIORITY}", f"-i{INTERVAL_NS // 1_000}"]
# The highest latency cyclictest keeps apart, ns.
HISTOGRAM_NS = 20_000


def with_libraries(program):
    """A program of this machine and the libraries it is loaded with."""
    path = shutil.which(program)
    if not path:
        raise Failed(f"there is no {program}")
    return [path, *re.findall(r"(/\S+) \(0x", run(["ldd", path]).stdout)]


def execute(programs, kernel, commands, *options):
    """Runs these commands in a guest; what it says of each, and on which kernel and QEMU that was."""
    words = [programs.teiji, "lab", "exec", "--quiet", "--json", "--kernel", kernel, *options]
    for file in with_libraries("cyclictest"):
        words += ["--file", file]
    for command in commands:
        words += ["--run", " ".join(command)]
    output = json.loads(run(words).stdout)
    return output["commands"], output["lab"]


def ours(activations):
    """teiji measure for so many activations, from start to end."""
    # A guest has room for each recording, but only one name is taken at a time.
    return ["/teiji", "measure", "--quiet", "--json", *OPTIONS, f"-n{activations}", "-o", f"/tmp/{activations}.teiji"]


def theirs(activations, *more):
    """cyclictest for as many, in ns, its memory locked as teiji's is."""
    return [shutil.which("cyclictest"), "--quiet", "--mlockall", "--nsecs", *OPTIONS, f"-l{activations}", *more]


def median_of_histogram(text):
    """The lower median of what cyclictest's histogram holds, ns."""
    seen = 0
    for latency, count in re.findall(r"^(\d+)\s+(\d+)$", text, re.MULTILINE):
        seen += int(count)
        if 2 * seen >= MEASURED:
            return int(latency)
    raise Failed(f"cyclictest's histogram holds {seen} of {MEASURED} activations")


def medians(programs, kernel):
    """The median latency of both, ns, and where that was."""
    commands = [ours(MEASURED), theirs(MEASURED, f"--histogram={HISTOGRAM_NS}")]
    (measured, cyclictest), facts = execute(programs, kernel, commands)
    return json.loads(measured["stdout"])["threads"][0]["latency_ns"]["p50"], median_of_histogram(cyclictest["stdout"]), facts


def instructions(programs, kernel):
    """What one more activation takes of the whole machine, of both, in the guest where that is less."""
    each = [instructions_in(programs, kernel, memory) for memory in GUESTS_MIB]
    return tuple(map(min, zip(*each)))


def instructions_in(programs, kernel, memory):
    """The same in a guest with so much memory."""
    rests = [["/teiji", "lab-init", f"rest={seconds}s"] for seconds in (FIRST_REST_S, SHORT_REST_S, LONG_REST_S)]
    commands = [*rests, *(program(length) for program in (ours, theirs) for length in (FIRST, SHORT, LONG))]
    done, _ = execute(programs, kernel, commands, "--count", "--memory", str(memory))
    _, short_rest, long_rest, *spent = (command["instructions"] for command in done)
    by_itself = Fraction((long_rest - short_rest) * INTERVAL_NS, done[2]["elapsed_ns"] - done[1]["elapsed_ns"])
    return tuple(
        float(Fraction(long - short, LONG - SHORT) - by_itself) for short, long in (spent[1:3], spent[4:6])
    )


def reviewed(facts):
    """The figures that were reviewed for this kernel and QEMU, if there are any."""
    for known in json.loads(REVIEWED.read_text()):
        if (known["kernel_sha256"], known["qemu"]) == (facts["kernel"]["image"]["sha256"], facts["qemu"]["version"]):
            return known
    return None


def within_reviewed(promise, found, figure):
    """A figure against the reviewed one."""
    low, high = (round(figure * factor, 1) for factor in (1 - WITHIN, 1 + WITHIN))
    spread = f"reviewed: {figure:,}; below {low:,} wants a new review"
    within = Figure.at_most(promise, found, high, "{:,.0f}", spread=spread)
    return within if found >= low else Figure.at_least(promise, found, low, "{:,.0f}", spread=spread)


def figures(programs):
    """Kernel by kernel."""
    for kernel in KERNELS:
        median, their_median, facts = medians(programs, kernel)
        count, their_count = instructions(programs, kernel)
        name = facts["kernel"]["name"]
        print(f"  {name}: QEMU {facts['qemu']['version']}", flush=True)
        yield Figure.at_most(f"{name}: p50, virtual ns", median, their_median, "{:,.0f}", their_median)
        yield Figure.at_most(f"{name}: instructions", count, their_count, "{:,.0f}", their_count)
        if known := reviewed(facts):
            yield within_reviewed(f"{name}: p50, reviewed", median, known["latency_p50_ns"])
            yield within_reviewed(f"{name}: instructions, reviewed", count, known["instructions"])
        else:
            print(f"  nobody has reviewed figures of this kernel with this QEMU yet; to have these held, add to {REVIEWED.name}:")
            entry = {
                "kernel": name,
                "kernel_sha256": facts["kernel"]["image"]["sha256"],
                "qemu": facts["qemu"]["version"],
                "latency_p50_ns": median,
                "instructions": round(count),
            }
            print(f"  {json.dumps(entry)}", flush=True)

# SPDX-License-Identifier: MIT OR Apache-2.0
"""Time until a woken thread runs, beside the programs of rt-tests that measure the same: both threads on one CPU, at the same
priority.

What those print is an average in µs of differences of a clock read in whole µs: over thousands of wake-ups at phases that drift it is
unbiased. So ours is the mean too. In a guest of the lab nothing else runs, and both figures repeat exactly. In both, the thread that is woken
has slept and asks the other to wake it. Idle states are off for both: teiji does that itself, the programs of rt-tests do not, and a CPU that
comes out of a deep one is cold. Between the two readings of the clock the programs do not do quite the same: docs/probes.md says
what differs.
"""

import json
import os
import shutil
import signal
from contextlib import contextmanager

from figure import Figure
from pairs import Pairs
from programs import PRIORITY, Failed, run
from promises.lab import KERNELS, with_libraries

# Ours by name, and the program that wakes in that way.
BESIDE = (
    ("mutex", "ptsematest"),
    ("semaphore", "svsematest"),
    ("mq", "pmqtest"),
    ("signal", "sigwaittest"),
)
# Between which ratios ours is to lie.
WITHIN = (0.95, 1.05)
# In the lab every instruction counts. A condition variable is more of them than the mutex that ptsematest hands over, and of which the
# kernel sees a futex.
IN_THE_LAB = (("futex", "ptsematest"), *BESIDE)
WITHIN_IN_THE_LAB = {"mutex": (0.95, 1.08)}
INTERVAL_US = 1_000
# Shows what a program wrote in a guest.
CAT = "/bin/cat"
# Two seconds each, so that what else goes on is the same for both of a pair, and their first wake-up, of cold caches and 20 times as long,
# is little of their mean: they have no warm-up.
WAKES = 2_000
MIN_PAIRS, MAX_PAIRS = 12, 100
GUEST_WAKES = 3_000


def options(cpu, wakes):
    """Ours and theirs: one pair of threads on this CPU."""
    both = [f"-a{cpu}", f"-p{PRIORITY}", f"-i{INTERVAL_US}"]
    return [*both, "-t1", f"-n{wakes}"], [*both, f"-l{wakes}", "-q"]


def mean_us(text):
    """Of what one of the programs of rt-tests writes as JSON."""
    receiver = json.loads(text)["thread"]["0"]["receiver"]
    return receiver["avg"]


@contextmanager
def without_idle_states():
    """No CPU enters a deep idle state meanwhile: a limit of 0 us, as 32 bits, holds while the file is open."""
    with open("/dev/cpu_dma_latency", "wb", buffering=0) as limit:
        limit.write(bytes(4))
        yield


def pairs_here(programs, by, program):
    """Pairs of runs on this machine, until the ratio is known to lie inside or outside, or there are too many."""
    path = shutil.which(program)
    if not path:
        raise Failed(f"there is no {program}: install rt-tests")
    our_options, their_options = options(max(os.sched_getaffinity(0)), WAKES)

    def ours():
        measured = programs.measure("--probe", "wakeup", "--by", by, *our_options)
        (thread,) = measured.document["threads"]
        return thread["latency_ns"]["mean"] / 1_000

    def theirs():
        written = programs.new_path(".json")
        # By its full path: svsematest makes a key of it. The signals that sigwaittest's threads send one another can end it, when one
        # comes before the thread blocks it.
        while run([path, *their_options, f"--json={written}"], codes=(0, -signal.SIGUSR1, -signal.SIGUSR2)).was_killed:
            print(f"  {program} was ended by its own signal, again", flush=True)
        return mean_us(written.read_text())

    pairs = Pairs()
    for number in range(MAX_PAIRS):
        low, high = pairs.interval() if number else (0, float("inf"))
        if number >= MIN_PAIRS and (WITHIN[0] <= low and high <= WITHIN[1] or high < WITHIN[0] or low > WITHIN[1]):
            break
        if number % 2:
            figure = theirs()
            pairs.add(ours(), figure)
        else:
            figure = ours()
            pairs.add(figure, theirs())
        print(f"  {by}, pair {number + 1}: {pairs.ratios[-1]:.3f}", flush=True)
    return pairs


def in_guest(programs, kernel):
    """All ways in one boot of a guest, ours and theirs in turn: by way and program, the mean time of both, µs."""
    our_options, their_options = options(0, GUEST_WAKES)
    words = [programs.teiji, "lab", "exec", "--quiet", "--json", "--boot-timeout", "400s", "--kernel", kernel]
    for file in sorted({file for program in (CAT, *dict(IN_THE_LAB).values()) for file in with_libraries(program)}):
        words += ["--file", file]
    for by, program in IN_THE_LAB:
        ours = ["/teiji", "measure", "--quiet", "--json", "--probe", "wakeup", "--by", by, *our_options, "-o", f"/tmp/{by}.teiji"]
        theirs = [shutil.which(program), *their_options, f"--json=/tmp/{by}.json"]
        for command in (ours, theirs, [CAT, f"/tmp/{by}.json"]):
            words += ["--run", " ".join(command)]
    texts = [command["stdout"] for command in json.loads(run(words).stdout)["commands"]]
    for (by, program), ours, theirs in zip(IN_THE_LAB, texts[::3], texts[2::3]):
        (thread,) = json.loads(ours)["threads"]
        yield by, program, thread["latency_ns"]["mean"] / 1_000, mean_us(theirs)


def figures(programs):
    """Way by way: in guests of the lab first, then here."""
    for kernel in KERNELS:
        for by, program, ours, theirs in in_guest(programs, kernel):
            pairs = Pairs()
            pairs.add(ours, theirs)
            print(f"  {kernel}, {by}: {pairs.ratio():.3f} of {program}", flush=True)
            yield Figure.of_one_within(f"{kernel}: {by} / {program}", pairs, *WITHIN_IN_THE_LAB.get(by, WITHIN), "{:.2f} µs")
    for by, program in BESIDE:
        with without_idle_states():
            pairs = pairs_here(programs, by, program)
        yield Figure.of_pairs_within(f"{by} / {program}", pairs, *WITHIN, "{:.2f} µs")

# SPDX-License-Identifier: MIT OR Apache-2.0
"""What `measure --explain` costs a thread, and how much of its latencies it explains.

The cost is that of pairs of runs with events and without. Under hackbench it is counted how many ns of the spikes are attributed. Two floods are
made: thousands of timers that expire in one interrupt, and thousands of idle connections whose keepalive timers
expire in one softirq.
"""

import ctypes
import json
import os
import resource
import select
import socket
import subprocess
import sys
import time

from figure import Figure
from pairs import alternate
from programs import ROOT, Failed, one_thread

# With events to without.
MAX = 1.10
ACTIVATIONS = 10_000
MIN_PAIRS, MAX_PAIRS = 20, 60
PERCENTS = (50, 99)
SPIKE_NS = 200_000
SECONDS = 10
# Attributed of the spikes under hackbench, and spikes of a flood in which it is named.
MIN_SHARE = 0.90

CLOCK_MONOTONIC, TFD_ABSOLUTE = 1, 1
TIMERS, EVERY_NS = 10_000, 50_000_000
CONNECTIONS = 4_000


class Timespec(ctypes.Structure):
    """struct timespec."""

    _fields_ = [("seconds", ctypes.c_long), ("ns", ctypes.c_long)]


class Timer(ctypes.Structure):
    """struct itimerspec."""

    _fields_ = [("interval", Timespec), ("value", Timespec)]


def flood_interrupts(cpu):
    """Has thousands of timers expire at the same moment, again and again: the interrupt that comes then handles all of them."""
    os.sched_setaffinity(0, {cpu})
    libc = ctypes.CDLL(None, use_errno=True)
    files = [libc.timerfd_create(CLOCK_MONOTONIC, 0) for _ in range(TIMERS)]
    if min(files) < 0:
        raise Failed(f"timerfd_create: {os.strerror(ctypes.get_errno())}")
    while True:
        at = (time.monotonic_ns() // EVERY_NS + 2) * EVERY_NS
        timer = Timer(Timespec(0, 0), Timespec(at // 10**9, at % 10**9))
        for file in files:
            libc.timerfd_settime(file, TFD_ABSOLUTE, ctypes.byref(timer), None)
        time.sleep(max(0, at + EVERY_NS - time.monotonic_ns()) / 1e9)


def flood_softirqs(cpu):
    """Has thousands of connections ask once a second whether the other end is still there, all of them in one turn of the kernel's timers."""
    os.sched_setaffinity(0, {cpu})
    listening = socket.create_server(("127.0.0.1", 0), backlog=CONNECTIONS)
    kept = []
    for _ in range(CONNECTIONS):
        kept.append(socket.create_connection(listening.getsockname()))
        kept.append(listening.accept()[0])
    for each in kept[::2]:
        each.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 1)
        each.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 1)
        each.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    select.select([], [], [])


def spikes(programs, *options):
    """Accounts of a run's latencies that are spikes, and the run."""
    measured = programs.measure(*one_thread(), f"-d{SECONDS}s", f"--explain={SPIKE_NS}ns", *options)
    explained = json.loads((measured.recording / "explain.json").read_text())
    return explained["accounts"], measured


def share_attributed(accounts):
    """Of the ns of these, those of parts that are attributed to something."""
    parts = [part for account in accounts for part in account["parts"]]
    attributed = sum(part["length_ns"] for part in parts if part["kind"] != "unattributed")
    return attributed / max(1, sum(part["length_ns"] for part in parts))


def flooded(programs, flood, is_named):
    """Of the spikes that a flood makes, how many name it; how many there are: those larger than all without it; and how large that was, ns."""
    (thread,) = spikes(programs)[1].document["threads"]
    largest = max(SPIKE_NS, thread["latency_ns"]["max"])
    cpu = max(os.sched_getaffinity(0))
    command = [sys.executable, "-B", "-m", "promises.explained", flood, str(cpu)]
    with subprocess.Popen(command, cwd=ROOT / "benches") as process:
        try:
            time.sleep(3)
            if process.poll() is not None:
                raise Failed(f"{flood} ended with {process.returncode}")
            accounts, _ = spikes(programs)
        finally:
            process.kill()
    made = [account for account in accounts if account["latency_ns"] > largest]
    return sum(map(is_named, made)), len(made), largest


def names(kind, name):
    """Whether an account's parts of this kind are most of it, or half of what is not the hypervisor's."""

    def is_named(account):
        parts = account["parts"]
        named = sum(part["length_ns"] for part in parts if part["kind"] == kind and (name is None or part.get("name") == name))
        rest = sum(part["length_ns"] for part in parts if part["kind"] != "hypervisor")
        return named * 2 > rest

    return is_named


def figures(programs):
    """The cost, what is attributed under hackbench, and the two floods."""

    def run(*more):
        (thread,) = programs.measure(*one_thread(), f"-n{ACTIVATIONS}", *more).document["threads"]
        return {f"p{percent}": thread["latency_ns"][f"p{percent}"] for percent in PERCENTS}

    for name, pairs in alternate(lambda: run("--explain=50us"), run, MAX, MIN_PAIRS, MAX_PAIRS).items():
        yield Figure.of_pairs(f"wake-up latency {name}, --explain beside none", pairs, MAX, "{:,.0f} ns")
    accounts, measured = spikes(programs, "--load", "hackbench")
    watched = measured.document["instrument"]["watched"]
    spread = f"{len(accounts)} spikes above {SPIKE_NS / 1e3:.0f} us, {watched['above']} in all"
    yield Figure.at_least("ns of spikes attributed under hackbench", share_attributed(accounts), MIN_SHARE, "{:.3f}", spread=spread)
    for flood, kind, name in (("flood_interrupts", "hard-interrupt", "local timer"), ("flood_softirqs", "softirq", None)):
        named, made, largest = flooded(programs, flood, names(kind, name))
        promise = f"spikes of a flood of {kind}s that name it"
        yield Figure.at_least(promise, named / max(1, made), MIN_SHARE, "{:.3f}", spread=f"{named} of {made} above {largest / 1e3:.0f} us, as large as any without it")


if __name__ == "__main__":
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    {"flood_interrupts": flood_interrupts, "flood_softirqs": flood_softirqs}[sys.argv[1]](int(sys.argv[2]))

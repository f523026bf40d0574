# SPDX-License-Identifier: MIT OR Apache-2.0
"""Memory that measuring takes beyond the locked rings, which are as large as the interval asks for.

The kernel keeps the peak of a process until it ends (VmHWM). It is read when all is done but the last write: run.json goes
into a pipe of one page that nobody reads yet, so the process waits there. The peak in wait4's rusage would not do: it is
at least the parent's own.
"""

import fcntl
import json
import os
import subprocess
import time
from pathlib import Path

from figure import Figure
from programs import INTERVAL_US, Failed

MOST_MB = 12
SECONDS = 10
SLOT_BYTES = 16
PAGE = 4096


def unread(pipe):
    """Bytes that wait in a pipe."""
    return int.from_bytes(fcntl.ioctl(pipe, 0x541B, bytes(4)), "little")  # FIONREAD


def peak_before_the_last_write(command):
    """Peak of resident memory, bytes, and run.json."""
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE)
    fcntl.fcntl(process.stdout, fcntl.F_SETPIPE_SZ, PAGE)
    deadline = time.monotonic() + SECONDS + 30
    while unread(process.stdout) == 0 and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    status = Path(f"/proc/{process.pid}/status").read_text()
    document, _ = process.communicate()
    peak = [int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM:")]
    if process.returncode != 0 or not peak:
        raise Failed(f"teiji measure ended with {process.returncode} before its memory could be read")
    return peak[0], json.loads(document)


def figures(programs):
    """One run on all CPUs at 5 kHz."""
    command, _ = programs.measure_command(f"-i{INTERVAL_US}", f"-d{SECONDS}")
    peak, document = peak_before_the_last_write(command)
    threads = len(document["threads"])
    ring = document["instrument"]["ring_slots"] * SLOT_BYTES * threads
    locked = "locked" if document["instrument"]["memory_locked"] else "not locked"
    spread = f"peak {peak / 1e6:.1f} MB less rings {ring / 1e6:.1f} MB, {threads} threads, memory {locked}"
    print(f"  {spread}")
    yield Figure.at_most("memory beyond the rings", (peak - ring) / 1e6, MOST_MB, "{:.1f} MB", spread=spread)

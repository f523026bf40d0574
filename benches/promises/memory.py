# SPDX-License-Identifier: MIT OR Apache-2.0
"""Memory that teiji measure takes at any moment, its summary included, beyond the locked rings, which are as large as the
interval asks for and are there only while it measures.

The program itself is the largest part of it: all of it is locked, so it grows with the program's size.

The kernel keeps the peak of a process until it ends (VmHWM). It is read when all is done but the last write: run.json goes
into a pipe of one page that nobody reads yet, so the process waits there. The peak in wait4's rusage would not do: it is
at least the parent's own.
"""

import fcntl
import json
import subprocess
import sys
import termios
import time
from pathlib import Path

from figure import Figure
from programs import INTERVAL_US, Failed

# 12.0 to 14.1 were seen: what the summary takes varies with how busy the machine is.
MAX_MB = 16
SECONDS = 10
SLOT_BYTES = 16
PAGE = 4096


def unread(pipe):
    """Bytes that wait in a pipe."""
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)


def peak(process):
    """Peak of a process's resident memory so far, bytes."""
    if process.poll() is None:
        for line in Path(f"/proc/{process.pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    raise Failed("teiji measure ended before its memory could be read")


def figures(programs):
    """One run on all CPUs at 5 kHz."""
    command, _ = programs.measure_command(f"-i{INTERVAL_US}", f"-d{SECONDS}")
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE)
    fcntl.fcntl(process.stdout, fcntl.F_SETPIPE_SZ, PAGE)
    time.sleep(SECONDS / 2)
    measuring = peak(process)
    while unread(process.stdout) == 0 and process.poll() is None:
        time.sleep(0.01)
    whole = peak(process)
    document = json.loads(process.communicate()[0])
    threads = len(document["threads"])
    rings = document["instrument"]["ring_slots"] * SLOT_BYTES * threads
    locked = "locked" if document["instrument"]["memory_locked"] else "not locked"
    # The rings are given back before the recording is summed up: a peak that comes after them has none in it.
    beyond = (whole - rings if whole == measuring else max(whole, measuring - rings)) / 1e6
    early = (measuring - rings) / 1e6
    spread = f"{early:.1f} MB while it measures; rings of {threads} threads {rings / 1e6:.1f} MB; memory {locked}"
    print(f"  {spread}")
    yield Figure.at_most("memory beyond the rings", beyond, MAX_MB, "{:.1f} MB", spread=spread)

# SPDX-License-Identifier: MIT OR Apache-2.0
"""Memory that teiji measure takes at any moment, its summary included, beyond the locked rings, which are as large as the
interval asks for and are there only while it measures.

The program itself is the largest part of it: all of it is locked, so it grows with the program's size.

The kernel keeps the peak of a process (VmHWM) until it is told to begin anew. It is read and begun anew each millisecond
from when the measuring is to end, up to the last write: run.json goes into a pipe of one page that nobody reads yet, so the
process waits there. The peak in wait4's rusage would not do: it is at least the parent's own.
"""

import fcntl
import json
import re
import subprocess
import sys
import termios
import time
from pathlib import Path

from figure import Figure
from programs import INTERVAL_US, Failed

MAX_MB = 12
SECONDS = 10
SLOT_BYTES = 16
PAGE = 4096
RESTART_PEAK = "5"


def unread(pipe):
    """Bytes that wait in a pipe."""
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)


class Memory:
    """Peak of a process's resident memory since the reading before, and its size now, kB."""

    def __init__(self, process):
        if process.poll() is not None:
            raise Failed("teiji measure ended before its memory could be read")
        status = Path(f"/proc/{process.pid}/status").read_text()
        self.peak, self.size = (int(re.search(rf"^{name}:\s+(\d+)", status, re.MULTILINE)[1]) for name in ("VmHWM", "VmRSS"))
        Path(f"/proc/{process.pid}/clear_refs").write_text(RESTART_PEAK)


def beyond_rings(course, rings):
    """The most memory beside the rings, bytes: with them as long as they are there, without them from when they were given back."""
    sizes = [now.size for now in course]
    given_back = next(n for n, now in enumerate(sizes) if now < max(sizes[: n + 1]) - 0.8 * rings / 1024)
    measuring = max(now.peak for now in course[:given_back])
    # The peak of the moment in which they went is one with them.
    ended = max([sizes[given_back], *(now.peak for now in course[given_back + 1 :])])
    return measuring * 1024 - rings, max(measuring * 1024 - rings, ended * 1024)


def figures(programs):
    """One run on all CPUs at 5 kHz."""
    command, _ = programs.measure_command(f"-i{INTERVAL_US}", f"-d{SECONDS}")
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE)
    fcntl.fcntl(process.stdout, fcntl.F_SETPIPE_SZ, PAGE)
    time.sleep(SECONDS / 2)
    course = [Memory(process)]
    while unread(process.stdout) == 0 and process.poll() is None:
        time.sleep(0.001)
        course.append(Memory(process))
    course.append(Memory(process))
    document = json.loads(process.communicate()[0])
    threads = len(document["threads"])
    rings = document["instrument"]["ring_slots"] * SLOT_BYTES * threads
    locked = "locked" if document["instrument"]["memory_locked"] else "not locked"
    measuring, beyond = beyond_rings(course, rings)
    spread = f"{measuring / 1e6:.1f} MB while it measures; rings of {threads} threads {rings / 1e6:.1f} MB; memory {locked}"
    print(f"  {spread}")
    yield Figure.at_most("memory beyond the rings", beyond / 1e6, MAX_MB, "{:.1f} MB", spread=spread)

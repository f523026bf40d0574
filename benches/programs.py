# SPDX-License-Identifier: MIT OR Apache-2.0
"""The two programs that are compared, run the same way."""

import json
import os
import platform
import subprocess
import tempfile
import time
from dataclasses import dataclass
from itertools import count
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGET = f"{platform.machine()}-unknown-linux-musl"
# Where cargo leaves what it builds for release.
RELEASE = ROOT / os.environ.get("CARGO_TARGET_DIR", "target") / TARGET / "release"

# As much as teiji takes by itself.
PRIORITY = 90
# 5 kHz: fast enough to fill the benches' time with samples, and what audio and motion control ask for.
INTERVAL_US = 200


class Failed(Exception):
    """Something that was measured with could not be run."""


@dataclass(frozen=True)
class Ended:
    """A program that has run, and what it took."""

    stdout: str
    stderr: str
    cpu_s: float
    wall_s: float
    # Not below this process's own: Linux hands the parent's peak on to a child.
    max_rss_bytes: int
    # By a signal that it may end with.
    was_killed: bool = False


def run(command, codes=(0,)):
    """Runs a program, from the project's folder, to its end, which is to come with one of these exit codes."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        began = time.monotonic()
        words = [str(word) for word in command]
        process = subprocess.Popen(words, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=out, stderr=err)
        try:
            _, status, usage = os.wait4(process.pid, 0)
        except BaseException:
            process.kill()
            raise
        wall_s = time.monotonic() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read().decode())
    if process.returncode not in codes:
        raise Failed(f"{' '.join(words)} ended with {process.returncode}: {texts[1].strip() or texts[0].strip()}")
    return Ended(*texts, usage.ru_utime + usage.ru_stime, wall_s, usage.ru_maxrss * 1024, process.returncode < 0)


@dataclass(frozen=True)
class Measured:
    """A run of teiji measure: what it took, its run.json, and where it lies."""

    ended: Ended
    document: dict
    recording: Path

    def woken(self):
        """Activations that ran, of all threads: those that have a sample."""
        threads = (thread["activations"] for thread in self.document["threads"])
        return sum(thread["on_time"] + thread["late"] for thread in threads)

    def skipped(self):
        """Activations that did not run, of all threads."""
        return sum(thread["activations"]["skipped"] for thread in self.document["threads"])


class Programs:
    """teiji and, unless it is to be alone, cyclictest; and a folder for what they write."""

    def __init__(self, teiji, folder, alone=False):
        self.teiji = teiji
        self.folder = folder
        self.alone = alone
        self._names = count()

    def new_path(self, suffix):
        """A name that nothing has yet."""
        return self.folder / f"{next(self._names)}{suffix}"

    def measure_command(self, *options):
        """The words of teiji measure with these options and --json, and where its recording will lie."""
        recording = self.new_path(".teiji")
        return [self.teiji, "measure", "--json", "-o", recording, *options], recording

    def measure(self, *options, under=(), real_time=True):
        """teiji measure with these options, itself run by the program `under`."""
        command, recording = self.measure_command(*options)
        ended = run([*under, *command])
        document = json.loads(ended.stdout)
        if real_time and not document["instrument"]["real_time"]:
            raise Failed("no real-time rights, and without them nothing to compare: run as root")
        return Measured(ended, document, recording)

    def cyclictest(self, *options, under=()):
        """cyclictest with these options, itself run by the program `under`."""
        return run([*under, "cyclictest", "--quiet", *options])


def one_thread():
    """Options, which both programs understand, for one thread at 5 kHz on the last CPU: the first has most of the
    machine's own work."""
    return ["-t1", f"-a{max(os.sched_getaffinity(0))}", f"-i{INTERVAL_US}", "--policy=fifo", f"-p{PRIORITY}"]

# SPDX-License-Identifier: MIT OR Apache-2.0
"""Three hours at 200 µs of four threads, 216 million activations, summarised and reported on two cores. Nobody measured
them: the recording is made for the purpose, by the recording's own writer in the batches of a real run, and checked with
teiji verify. It was just written, so it is read from memory where the machine has enough."""

import os
import shutil
from statistics import median

from figure import Figure
from programs import RELEASE, TARGET, Failed, run

MAX_SECONDS = 20
MAX_MB = 300
THREADS = 4
ACTIVATIONS = 54_000_000
# 4 bytes a row; twice, because a finished file may be written again in larger batches.
BYTES_NEEDED = 2 * 4 * THREADS * ACTIVATIONS
ROUNDS = 3


def make(programs):
    """Makes the recording."""
    free = shutil.disk_usage(programs.folder).free
    if free < BYTES_NEEDED:
        raise Failed(
            f"{programs.folder} has {free / 1e9:.1f} GB free and {BYTES_NEEDED / 1e9:.1f} GB are needed:"
            " name a folder with more of it in TMPDIR"
        )
    example = "synthetic_recording"
    run(["cargo", "build", "--quiet", "--locked", "--release", "--target", TARGET, "-p", "recording", "--example", example])
    recording = programs.new_path(".teiji")
    making = run([RELEASE / "examples" / example, recording, THREADS, ACTIVATIONS])
    gigabytes = sum(file.stat().st_size for file in recording.iterdir()) / 1e9
    print(f"  made {THREADS * ACTIVATIONS:,} activations in {making.wall_s:.1f} s, {gigabytes:.2f} GB", flush=True)
    print(f"  {run([programs.teiji, 'verify', recording]).stdout.strip()}", flush=True)
    return recording


def figures(programs):
    """Shows and reports it, several times."""
    recording = make(programs)
    cpus = sorted(os.sched_getaffinity(0))[:2]
    on_two_cores = ["taskset", "--cpu-list", ",".join(map(str, cpus)), programs.teiji]
    page = programs.new_path(".html")
    times, peaks = [], []
    for _ in range(ROUNDS):
        show = run([*on_two_cores, "show", recording])
        report = run([*on_two_cores, "report", recording, "-o", page])
        times.append(show.wall_s + report.wall_s)
        peaks.append(max(show.max_rss_bytes, report.max_rss_bytes) / 1e6)
        print(f"  show {show.wall_s:.2f} s, report {report.wall_s:.2f} s, peak {peaks[-1]:.0f} MB", flush=True)
    spread = f"{min(times):.2f} to {max(times):.2f} s, page {page.stat().st_size / 1e6:.2f} MB"
    yield Figure.at_most("216 million shown and reported", median(times), MAX_SECONDS, "{:.2f} s", spread=spread)
    yield Figure.at_most("memory for that", max(peaks), MAX_MB, "{:.0f} MB")

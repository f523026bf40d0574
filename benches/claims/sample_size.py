# SPDX-License-Identifier: MIT OR Apache-2.0
"""Bytes a sample on disk: all sample files of a run on all CPUs, over the activations that have a sample."""

from figure import Figure

MOST = 4.1
INTERVALS = ("1ms", "200us")
SECONDS = 10


def figures(programs):
    """One run at each interval."""
    for interval in INTERVALS:
        measured = programs.measure("-i", interval, f"-d{SECONDS}")
        files = [file.stat().st_size for file in measured.recording.glob("samples-*")]
        woken = measured.woken()
        spread = f"{sum(files):,} bytes, {woken:,} samples, {measured.skipped():,} skipped"
        print(f"  {interval}: {spread}", flush=True)
        yield Figure.at_most(f"bytes a sample, {interval}", sum(files) / woken, MOST, "{:.3f}", spread=spread)

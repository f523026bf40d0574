# SPDX-License-Identifier: MIT OR Apache-2.0
"""Bytes a sample on disk: all sample files of a run on all CPUs, over the activations that have a sample."""

from statistics import median

from figure import Figure

MAX = 4.2
INTERVALS = ("1ms", "200us")
SECONDS = 10
ROUNDS = 3


def figures(programs):
    """Runs at each interval."""
    for interval in INTERVALS:
        sizes, skipped = [], []
        for _ in range(ROUNDS):
            measured = programs.measure("-i", interval, f"-d{SECONDS}")
            total = sum(file.stat().st_size for file in measured.recording.glob("samples-*"))
            sizes.append(total / measured.woken())
            skipped.append(measured.skipped())
            print(f"  {interval}: {total:,} bytes, {measured.woken():,} samples, {skipped[-1]:,} skipped", flush=True)
        spread = f"{min(sizes):.3f} to {max(sizes):.3f}; skipped {', '.join(map(str, skipped))}"
        yield Figure.at_most(f"bytes a sample, {interval}", median(sizes), MAX, "{:.3f}", spread=spread)

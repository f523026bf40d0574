# SPDX-License-Identifier: MIT OR Apache-2.0
"""CPU time and memory of an import of 200 MB of `cyclictest -v`.

On a busy machine the wall clock says how long the program waits for a CPU, so its own time is judged. Linux hands the parent's
peak on to a child, so the memory is an upper bound.
"""

import json

from figure import Figure
from programs import Failed, run

MAX_CPU_S = 2
MAX_MB = 32
MB = 200


def write_output(path):
    """What cyclictest -v prints of two threads, until the file is that long; and the lines of each."""
    lines, size = 0, 0
    with path.open("w") as file:
        size += file.write("# cyclictest -t 2 -v -i 1000 -p 80\nMax CPUs = 2\n")
        while size < MB * 1_000_000:
            size += file.write("".join(f"{thread:8}:{cycle:8}:{1 + cycle % 97:8}\n" for cycle in range(lines, lines + 10_000) for thread in (0, 1)))
            lines += 10_000
    return lines


def figures(programs):
    """Imports it, and sees that each line became a sample."""
    text, folder = programs.new_path(".txt"), programs.new_path("")
    lines = write_output(text)
    ended = run([programs.teiji, "import", text, "-o", folder])
    text.unlink()
    (recording,) = folder.glob("*.teiji")
    threads = json.loads((recording / "run.json").read_text())["threads"]
    if [thread["latency_ns"]["count"] for thread in threads] != [lines, lines]:
        raise Failed(f"of {lines} lines of each thread not all were imported")
    yield Figure.at_most("CPU time of an import of 200 MB", ended.cpu_s, MAX_CPU_S, "{:.2f} s", spread=f"wall clock {ended.wall_s:.2f} s")
    yield Figure.at_most("memory of an import of 200 MB", ended.max_rss_bytes / 1e6, MAX_MB, "{:.1f} MB")

# SPDX-License-Identifier: MIT OR Apache-2.0
"""A billion latencies, compressed by LZ4, of two threads, on two cores: all that a report says of them (summary, quantiles,
histogram, tail, periods) against the time it takes to read and decompress them and do nothing, and against what DuckDB and polars
take for their smallest, largest, mean and four quantiles. Nobody measured them; most have 12 random bits. From disk: the kernel is
asked to forget the files before each command. In alternating rounds. Needs about 8 GB of disk and 12 GB of memory."""

import os
import shutil
import subprocess
import sys
from statistics import median

from figure import Figure
from programs import RELEASE, TARGET, Failed, run

MAX_OF_READING = 1.5
THREADS = 2
ACTIVATIONS = int(os.environ.get("TEIJI_BENCH_ACTIVATIONS", 500_000_000))
ROUNDS = int(os.environ.get("TEIJI_BENCH_ROUNDS", 3))
PACKAGES = ["pyarrow==25.*", "duckdb==1.*", "polars==1.*"]

COMPRESS = """
import pathlib, shutil, sys
import pyarrow as pa, pyarrow.ipc as ipc
source, target = map(pathlib.Path, sys.argv[1:])
target.mkdir()
shutil.copy(source / "run.json", target)
for file in sorted(source.glob("samples-*.arrows")):
    with ipc.open_stream(pa.memory_map(str(file))) as reader:
        options = ipc.IpcWriteOptions(compression="lz4")
        with ipc.new_stream(str(target / file.name), reader.schema, options=options) as writer:
            for batch in reader:
                writer.write_batch(batch)
"""

DUCKDB = """
import glob, sys
import duckdb, pyarrow as pa, pyarrow.ipc as ipc
readers = [ipc.open_stream(pa.OSFile(file)) for file in sorted(glob.glob(sys.argv[1] + "/samples-*.arrows"))]
latencies = pa.RecordBatchReader.from_batches(readers[0].schema, (batch for reader in readers for batch in reader))
duckdb.execute("set threads to 2")
print(duckdb.sql("select min(latency_ns), max(latency_ns), avg(latency_ns), quantile_disc(latency_ns, [0.5, 0.99, 0.999, 0.9999]) from latencies").fetchall())
"""

POLARS = """
import glob, sys
import polars as pl
files = sorted(glob.glob(sys.argv[1] + "/samples-*.arrows"))
latency = pl.concat([pl.read_ipc_stream(file) for file in files])["latency_ns"]
print(latency.min(), latency.max(), latency.mean(), [latency.quantile(q, "nearest") for q in (0.5, 0.99, 0.999, 0.9999)])
"""


def environment(programs):
    """A Python with the libraries that are compared, outside of the checkout."""
    folder = programs.folder / "python"
    for command in ([sys.executable, "-m", "venv", folder], [folder / "bin/python", "-m", "pip", "install", "--quiet", *PACKAGES]):
        if subprocess.run(command, check=False).returncode:
            raise Failed(f"the bench needs {', '.join(PACKAGES)} from PyPI")
    return folder / "bin/python"


def make(programs, python):
    """The recording, compressed."""
    needed = 8 * THREADS * ACTIVATIONS
    free = shutil.disk_usage(programs.folder).free
    if free < needed:
        raise Failed(f"{programs.folder} has {free / 1e9:.1f} GB free and {needed / 1e9:.1f} GB are needed: name a folder with more of it in TMPDIR")
    run(["cargo", "build", "--quiet", "--locked", "--release", "--target", TARGET, "-p", "recording", "--examples"])
    plain, packed = programs.new_path(".teiji"), programs.new_path(".teiji")
    run([RELEASE / "examples/synthetic_recording", plain, THREADS, ACTIVATIONS, "tail"])
    run([python, "-c", COMPRESS, plain, packed])
    shutil.rmtree(plain)
    size = sum(file.stat().st_size for file in packed.iterdir())
    print(f"  made {THREADS * ACTIVATIONS:,} latencies, {size / 1e9:.2f} GB", flush=True)
    return packed


def forget(recording):
    """Has the kernel drop what it holds of a recording in memory."""
    for file in recording.iterdir():
        with open(file, "rb") as opened:
            os.fsync(opened.fileno())
            os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def figures(programs):
    """All of them, several times, in turn."""
    python = environment(programs)
    recording = make(programs, python)
    cpus = ",".join(map(str, sorted(os.sched_getaffinity(0))[:2]))
    speed = RELEASE / "examples/statistics_speed"
    commands = {
        "reading": [speed, "read", recording],
        "teiji": [speed, "analyse", recording],
        "polars": [python, "-c", POLARS, recording],
        "DuckDB": [python, "-c", DUCKDB, recording],
    }
    times = {name: [] for name in commands}
    for _ in range(ROUNDS):
        for name, command in commands.items():
            forget(recording)
            took = run(["taskset", "--cpu-list", cpus, *command])
            times[name].append(took.wall_s)
            print(f"  {name} {took.wall_s:.2f} s, {took.max_rss_bytes / 1e6:,.0f} MB", flush=True)
    # From memory too, where the kernel has room for it: not what is promised, but what reading it again takes.
    for name in ("reading", "teiji", "reading", "teiji"):
        took = run(["taskset", "--cpu-list", cpus, *commands[name]])
        print(f"  {name} {took.wall_s:.2f} s, read once before", flush=True)
    middle = {name: median(some) for name, some in times.items()}
    spread = ", ".join(f"{name} {seconds:.2f} s" for name, seconds in middle.items())
    yield Figure.at_most("all statistics, by reading and decompressing", middle["teiji"] / middle["reading"], MAX_OF_READING, "{:.2f}", spread=spread)
    yield Figure.at_most("all statistics, by polars' seven figures", middle["teiji"] / middle["polars"], 1.0, "{:.2f}")
    yield Figure.at_most("all statistics, by DuckDB's seven figures", middle["teiji"] / middle["DuckDB"], 1.0, "{:.2f}")

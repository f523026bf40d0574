#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Truth from outside: every figure of a recording's run.json, recomputed by other means.

    python3 tests/outside/check_recording.py REC.teiji...

Written from the description of the format and from the definitions in the literature, not from the program's code: it
reads the samples with pyarrow as any user would, keeps them all in memory, sorts them, and counts. Whole numbers have to
agree exactly, means and standard deviations to 1e-12. Where docs/run.schema.json exists, run.json has to follow it.

Needs pyarrow and numpy, and jsonschema for the schema. Exit code 0: all agrees; 1: something differs, named on standard
output; 2: a recording cannot be read.
"""

import json
import math
import sys
from fractions import Fraction
from pathlib import Path

import numpy
import pyarrow

SCHEMA = Path(__file__).resolve().parents[2] / "docs" / "run.schema.json"
QUANTILES = {"p50": (50, 100), "p90": (90, 100), "p99": (99, 100), "p999": (999, 1_000), "p9999": (9_999, 10_000)}
TOLERANCE = 1e-12
WORST = 10
# What stands in a row whose latency does not fit 32 bits; the latency itself is in a file of its own.
LONG = (-(2**31), 2**31 - 1)


class Differences:
    """What does not agree, by its place in run.json."""

    def __init__(self):
        self.found = []

    def whole(self, place, recorded, recomputed):
        if recorded != recomputed:
            self.found.append(f"{place}: recorded {recorded}, recomputed {recomputed}")

    def close(self, place, recorded, recomputed):
        both = recorded is not None and recomputed is not None
        if both and math.isclose(recorded, recomputed, rel_tol=TOLERANCE, abs_tol=0.0):
            return
        self.whole(place, recorded, recomputed)


def batches(path, may_be_cut):
    """The batches of an Arrow stream; of one that was cut off, as far as they are whole."""
    with pyarrow.OSFile(str(path)) as source, pyarrow.ipc.open_stream(source) as reader:
        yield reader.schema
        while True:
            try:
                yield reader.read_next_batch()
            except StopIteration:
                return
            except (pyarrow.ArrowInvalid, OSError):
                if may_be_cut:
                    return
                raise


# What recordings measured before probes stated themselves.
CYCLIC = {"rows": "activations", "columns": [{"name": "latency_ns"}], "overrun_column": 0}


def read_samples(folder, name, may_be_cut, probe, index):
    """Row numbers and values of one column where there are any, rows in all, the stream's metadata, and times of events."""
    schema, *parts = batches(folder / name, may_be_cut)
    timed = ["time_ns"] if probe["rows"] == "events" else []
    names = timed + [column["name"] for column in probe["columns"]]
    types = [pyarrow.int64()] * len(timed) + [pyarrow.int32()] * len(probe["columns"])
    if schema.names != names or schema.types != types:
        raise ValueError(f"{name}: columns {names} expected, found {schema}")
    times = pyarrow.chunked_array([part.column(0) for part in parts], type=pyarrow.int64()).drop_null().to_numpy() if timed else None
    column = pyarrow.chunked_array([part.column(len(timed) + index) for part in parts], type=pyarrow.int32())
    woken = numpy.flatnonzero(column.is_valid().to_numpy())
    latencies = column.drop_null().to_numpy().astype(numpy.int64)
    long_file = folder / name.replace(".arrows", "-long.arrows")
    if long_file.exists():
        _, *parts = batches(long_file, may_be_cut)
        rows = (row for part in parts for row in zip(*(c.to_pylist() for c in part.columns)))
        full = {row: value for row, of, value in rows if of == index}
        places = numpy.flatnonzero(numpy.isin(latencies, LONG))
        latencies[places] = [full[int(row)] for row in woken[places]]
    metadata = {key.decode(): value.decode() for key, value in (schema.metadata or {}).items()}
    return woken, latencies, len(column), metadata, times


def skipped_waits(woken, latencies, rows, unit, interval, catch_up, given_up):
    """How long each skipped activation had waited when its thread ran again.

    An activation that woke L late ended at its planned time + L. Those whose planned times had passed by then, and that
    have no sample, were skipped, each having waited for what was left of L.
    """
    waits = []
    following = numpy.append(woken[1:], rows)
    overruns = numpy.flatnonzero(latencies >= unit)
    if catch_up:
        # All but what the run was stopped before it came to.
        overruns = overruns[overruns == len(woken) - 1]
    for place in overruns:
        number, latency = int(woken[place]), int(latencies[place])
        last = min(int(following[place]) - 1, number + latency // unit)
        waits.extend(latency - behind * unit for behind in range(1, last - number + 1))
    if given_up is not None:
        # The run was ended without this thread: what it never ran had waited until then.
        first = int(woken[-1]) + 1 if len(woken) else 0
        if len(woken) and latencies[-1] >= unit:
            first += int(latencies[-1]) // unit
        waits.extend(given_up - row * interval for row in range(first, rows) if given_up >= row * interval)
    return waits


def summary(latencies):
    """The figures of a list of latencies, by their definitions; None of nothing."""
    n = len(latencies)
    if n == 0:
        return None
    ordered = numpy.sort(latencies)
    total = sum(map(int, ordered))
    mean = Fraction(total, n)
    figures = {"count": n, "min": int(ordered[0]), "max": int(ordered[-1]), "mean": float(mean), "sd": None}
    if n > 1:
        squares = sum(int(value) ** 2 for value in ordered)
        figures["sd"] = math.sqrt((squares - mean * total) / (n - 1))
    for name, (numerator, denominator) in QUANTILES.items():
        # Nearest rank: the smallest value that at least this share of all values does not exceed.
        rank = max(1, math.ceil(Fraction(n * numerator, denominator)))
        figures[name] = int(ordered[rank - 1])
    return figures


def check_summary(differences, place, recorded, latencies):
    recomputed = summary(latencies)
    if recorded is None or recomputed is None:
        differences.whole(place, recorded, recomputed)
        return
    differences.whole(f"{place}, its figures", sorted(recorded), sorted(recomputed))
    for name, value in recomputed.items():
        compare = differences.close if name in ("mean", "sd") else differences.whole
        compare(f"{place}.{name}", recorded.get(name), value)


def check_histogram(differences, place, histogram, latencies):
    """Every latency is in exactly one bucket, and none is wider than promised."""
    ordered = numpy.sort(latencies)
    total = 0
    previous = -math.inf
    for lower, upper, count in histogram["buckets"]:
        within = int(numpy.searchsorted(ordered, upper, "right") - numpy.searchsorted(ordered, lower, "left"))
        differences.whole(f"{place}, bucket from {lower} to {upper}", count, within)
        narrow = upper - lower <= histogram["relative_error"] * min(abs(lower), abs(upper))
        differences.whole(f"{place}, bucket from {lower} to {upper} in order and narrow", True, previous < lower <= upper and narrow)
        total += count
        previous = upper
    differences.whole(f"{place}, all counts", total, len(latencies))


def check_worst(differences, thread, place, woken, latencies, times):
    # Worst first; among equals the earlier one.
    order = numpy.lexsort((woken, -latencies))[:WORST]
    start, interval = thread["start_ns"], thread["interval_ns"]
    since_start = woken.astype(numpy.int64) * interval if times is None else times
    recomputed = [
        {
            "activation": int(woken[at]),
            "planned_ns": start + int(since_start[at]),
            "since_start_ns": int(since_start[at]),
            "latency_ns": int(latencies[at]),
        }
        for at in order
    ]
    differences.whole(f"{place}.worst", thread["worst"], recomputed)


def check_thread(differences, folder, document, thread):
    place = f"threads[{thread['index']}]"
    failed = (document["end"] or {}).get("reason") == "recording-failed"
    probe = document.get("probe", CYCLIC)
    if thread.get("detail") == "figures":
        figures = thread["latency_ns"]
        known = [figures[name] for name in ("min", *QUANTILES, "max") if figures[name] is not None]
        differences.whole(f"{place}.latency_ns", known, sorted(known))
        return figures["count"]
    if thread.get("detail") == "histogram":
        in_buckets = sum(count for _, _, count in thread["histogram_ns"]["buckets"])
        differences.whole(f"{place}.latency_ns.count", thread["latency_ns"]["count"], in_buckets)
        return in_buckets
    woken, latencies, rows, metadata, times = read_samples(folder, thread["samples_file"], failed, probe, 0)
    overrun = probe["overrun_column"]
    # From the planned start until the thread was free again: what tells late and skipped.
    taken = latencies if not overrun else read_samples(folder, thread["samples_file"], failed, probe, overrun)[1]
    interval, lost = thread["interval_ns"], thread["evidence"]["samples_lost"]
    given_up = thread["given_up_ns"] - thread["start_ns"] if "given_up_ns" in thread else None
    is_planned = overrun is not None
    # A column that counts says by itself how many rows were missed.
    unit = 1 if overrun is not None and probe["columns"][overrun].get("unit") == "1" else interval
    catch_up = document["run"]["overrun_policy"] == "catch-up"
    waits = skipped_waits(woken, taken, rows, unit, interval, catch_up, given_up) if is_planned else []
    late = int((taken >= unit).sum()) if is_planned else 0

    counted = thread["activations"]
    if not is_planned:
        # Events have no planned time: what else than their number stands there would not have been measured.
        differences.whole(f"{place}.activations has due alone", sorted(counted), ["due"])
        counted = {"due": counted["due"], "on_time": counted["due"], "late": 0, "skipped": 0}
    differences.whole(f"{place}.activations.due", counted["due"], counted["on_time"] + counted["late"] + counted["skipped"])
    differences.whole(f"{place}.evidence.samples_lost", lost, counted["on_time"] + counted["late"] - len(woken))
    if lost == 0:
        # A thread that did not come back has no evidence; what it never ran is skipped, whether or not an overrun explains it.
        never_came_back = thread["evidence"]["voluntary_switches"] is None
        skipped = rows - len(woken) if never_came_back else len(waits)
        recomputed = {"due": rows, "on_time": len(woken) - late, "late": late, "skipped": skipped}
        differences.whole(f"{place}.activations", counted, recomputed)
        unexplained = 0 if never_came_back else rows - len(woken) - len(waits)
        differences.whole(f"{place}: rows without sample that nothing explains", 0, unexplained)
    # How long a row that was skipped would have taken nobody knows, unless the judged time begins at its planned time.
    waited = waits if overrun == 0 else []
    with_skipped = numpy.concatenate([latencies, numpy.array(waited, dtype=numpy.int64)])
    check_summary(differences, f"{place}.latency_ns", thread["latency_ns"], latencies)
    check_summary(differences, f"{place}.latency_with_skipped_ns", thread["latency_with_skipped_ns"], with_skipped)
    check_histogram(differences, f"{place}.histogram_ns", thread["histogram_ns"], latencies)
    check_worst(differences, thread, place, woken, latencies, times)
    for index, column in enumerate(probe["columns"][1:], 1):
        recorded, values = thread["columns"][index - 1], read_samples(folder, thread["samples_file"], failed, probe, index)[1]
        differences.whole(f"{place}.columns[{index - 1}].name", recorded["name"], column["name"])
        check_summary(differences, f"{place}.columns[{index - 1}].values", recorded["values"], values)
        check_histogram(differences, f"{place}.columns[{index - 1}].histogram", recorded["histogram"], values)
    for key, value in {"thread": "index", "cpu": "cpu", "start_ns": "start_ns", "interval_ns": "interval_ns"}.items():
        # A thread that was not pinned has no CPU of its own.
        expected = "" if key == "cpu" and not thread.get("pinned", True) else str(thread[value])
        differences.whole(f"{place}.{value}, in its samples' metadata", expected, metadata.get(f"teiji.{key}"))
    return len(woken)


def nice_levels(document):
    """Each nice level that is recorded, with its place and the policy that it was had under."""
    for number, thread in enumerate(document["threads"]):
        yield f"threads[{number}]", thread.get("nice"), thread["scheduling"]["policy"]
    for number, load in enumerate(document["load"]):
        settings = dict(part.split("=", 1) for part in load["spec"].split(",") if "=" in part)
        yield f"load[{number}]", load.get("nice"), settings.get("policy", "other")


def check_schema(differences, document):
    """Every violation, not the first only."""
    import jsonschema

    schema = json.loads(SCHEMA.read_text())
    validator = jsonschema.validators.validator_for(schema)
    validator.check_schema(schema)
    for error in validator(schema).iter_errors(document):
        differences.found.append(f"{error.json_path}: against the schema: {error.message[:300]}")


def check(folder):
    """What differs in one recording, and a sentence about it."""
    differences = Differences()
    document = json.loads((folder / "run.json").read_text())
    if (document["format"], document["version"]) != ("teiji-recording", 1):
        raise ValueError(f"not a recording of version 1: {document['format']} {document['version']}")
    schema = "no schema to follow"
    if SCHEMA.exists():
        check_schema(differences, document)
        schema = "its schema"
    if document["state"] == "running":
        differences.found.append("state: running: the run was cut off, and there are no figures to check")
        return differences.found, ""
    for place, nice, policy in nice_levels(document):
        if nice is not None and policy in ("fifo", "rr"):
            differences.found.append(f"{place}.nice: {nice}, but {policy} has no nice level")
    samples = sum(check_thread(differences, folder, document, thread) for thread in document["threads"])
    return differences.found, f"{samples} samples of {len(document['threads'])} threads, {schema}"


def main(folders):
    if not folders:
        print(__doc__, file=sys.stderr)
        return 2
    code = 0
    for folder in folders:
        try:
            found, checked = check(Path(folder))
        except (OSError, ValueError, KeyError, TypeError, pyarrow.ArrowException) as error:
            print(f"{folder}: cannot be checked: {type(error).__name__}: {error}", file=sys.stderr)
            return 2
        if found:
            code = 1
            print(f"{folder}: {len(found)} differences", *found, sep="\n  ")
        else:
            print(f"{folder}: agrees ({checked})")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

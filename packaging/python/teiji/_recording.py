# SPDX-License-Identifier: MIT OR Apache-2.0
"""A recording as it lies on disk: run.json as it was recorded, and the samples."""

from __future__ import annotations

import builtins
import json
import os
import stat
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Tuple, Union

from ._figures import Column, Count, Figure, Rate, Verdict, gate
from ._program import Folder, PathLike, ProgramError, succeed
from ._times import Time

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

# The newest format that this module knows, and the limit on the size of run.json.
VERSION = 1
MAX_DOCUMENT = 32_000_000


class RecordingError(ValueError):
    """A folder is not a recording that this module can read: which, and why."""

    def __init__(self, path: PathLike, why: str) -> None:
        super().__init__(f"{os.fspath(path)}: {why}")
        self.path = Path(path)
        self.why = why


@dataclass(frozen=True)
class Activations:
    """What became of a thread's activations. Events have `due` alone: nothing was planned."""

    due: int
    on_time: Optional[int]
    late: Optional[int]
    skipped: Optional[int]


@dataclass(frozen=True)
class Figures:
    """Figures of a thread as recorded, ns. None where they are not known."""

    count: Optional[int]
    min: Optional[int]
    mean: Optional[float]
    sd: Optional[float]
    max: Optional[int]
    p50: Optional[int]
    p90: Optional[int]
    p99: Optional[int]
    p999: Optional[int]
    p9999: Optional[int]
    between: Optional[Dict[str, List[Optional[int]]]] = field(default=None, hash=False)
    """Figures of an import that are not exactly known: what each is at least and at most, None where it may be larger."""


def open(path: PathLike) -> Recording:
    """The recording in a folder, NAME.teiji. A RecordingError where it is none that can be read."""
    return Recording(Path(path))


class Recording:
    """A recording, NAME.teiji. Its figures and verdicts are asked of the program; all else is as recorded."""

    def __init__(self, path: Path, folder: Optional[Folder] = None) -> None:
        # Absolute: the working folder of whoever reads it later may be another.
        self.path = path.absolute()
        # Keeps a temporary one.
        self._folder = folder
        self._verdicts: Dict[str, Verdict] = {}
        self.document: Dict[str, Any] = _document(path)
        """All of run.json; of an import None where there is no more than something in the place of what is not known."""
        # What a thread lacks is found here, and not when somebody asks for it.
        try:
            for thread in self.threads:
                _ = thread.activations, thread.figures, thread.as_measured
        except KeyError as error:
            raise RecordingError(path, f"run.json has a thread without {error}") from error
        except (TypeError, AttributeError) as error:
            raise RecordingError(path, f"run.json has a thread with a value of another type: {error}") from error
        if "unit" in (self.document.get("imported") or {}).get("unknown", []):
            program = self.document["probe"]["name"]
            warnings.warn(f"{path}: unit not stated: that of {program} by default", stacklevel=3)

    def __fspath__(self) -> str:
        return str(self.path)

    def __repr__(self) -> str:
        return f"Recording({str(self.path)!r})"

    @property
    def run(self) -> Dict[str, Any]:
        """The settings asked for."""
        run: Dict[str, Any] = self.document["run"]
        return run

    @property
    def threads(self) -> Tuple[Thread, ...]:
        """What each measuring thread recorded."""
        return tuple(Thread(self, recorded) for recorded in self.document["threads"])

    @property
    def figures(self) -> Tuple[Optional[Figures], ...]:
        """Of each thread, with skipped activations counted in."""
        return tuple(thread.figures for thread in self.threads)

    # What is judged is of the worst thread, counts are of all threads, with skipped activations counted in.

    @property
    def mean(self) -> Figure:
        return Figure(self, "mean")

    @property
    def sd(self) -> Figure:
        return Figure(self, "sd")

    @property
    def max(self) -> Figure:
        return Figure(self, "max")

    @property
    def peak_to_peak(self) -> Figure:
        return Figure(self, "peak-to-peak")

    def p(self, percent: Union[int, float, str], confidence: Optional[float] = None) -> Figure:
        """A quantile. With a confidence, percent, an upper bound at that confidence has to be within the limit as well."""
        return Figure(self, f"p{percent}", confidence)

    def rate(self, above: Time, confidence: float = 95) -> Rate:
        """The share of activations above a latency, at a confidence, percent."""
        if not isinstance(above, Time):
            raise TypeError(f"a rate is that above a time, such as us(50), and not {above!r}")
        return Rate(self, f"rate(>{above})", confidence)

    def column(self, name: str) -> Column:
        """A column of the probe: of times the largest, of what is counted the sum."""
        return Column(self, name)

    @property
    def late(self) -> Count:
        return Count(self, "late")

    @property
    def skipped(self) -> Count:
        return Count(self, "skipped")

    @property
    def lost(self) -> Count:
        return Count(self, "lost")

    def judge(self, limit: str) -> Verdict:
        """A limit as `teiji gate` has it: 'p99.99<50us@95%'."""
        if limit not in self._verdicts:
            self._verdicts[limit] = gate(self, limit)
        return self._verdicts[limit]

    def samples(self) -> pyarrow.Table:
        """Of the only thread."""
        return self._only_thread().samples()

    def polars(self) -> polars.DataFrame:
        """Of the only thread."""
        return self._only_thread().polars()

    def pandas(self) -> pandas.DataFrame:
        """Of the only thread."""
        return self._only_thread().pandas()

    def _only_thread(self) -> Thread:
        threads = self.threads
        if len(threads) != 1:
            raise ValueError(f"{self.path.name} has {len(threads)} threads: take one, such as threads[0]")
        return threads[0]


class Thread:
    """What one measuring thread recorded."""

    def __init__(self, recording: Recording, recorded: Dict[str, Any]) -> None:
        self._recording = recording
        self.recorded = recorded
        """Its part of run.json."""
        self.index: int = recorded["index"]
        self.cpu: Optional[int] = recorded["cpu"]
        self.interval_ns: Optional[int] = recorded["interval_ns"]
        self.start_ns: Optional[int] = recorded["start_ns"]
        """Planned time of activation 0, CLOCK_MONOTONIC."""

    def __repr__(self) -> str:
        return f"{self._recording!r}.threads[{self.index}]"

    @property
    def activations(self) -> Optional[Activations]:
        """None where they are not known, as after an import."""
        recorded = self.recorded["activations"]
        return None if recorded is None else Activations(**{name: recorded.get(name) for name in Activations.__dataclass_fields__})

    @property
    def figures(self) -> Optional[Figures]:
        """With each skipped activation counted in, waiting since its own planned time."""
        return _figures(self.recorded["latency_with_skipped_ns"])

    @property
    def as_measured(self) -> Optional[Figures]:
        """Of the activations that ran."""
        return _figures(self.recorded["latency_ns"])

    def samples(self) -> pyarrow.Table:
        """Row k is activation k; null where it was skipped or its sample lost. Events have a column `time_ns`.

        Nothing is copied: the columns refer to the file, mapped into memory. A file that somebody compressed (LZ4) is inflated
        into memory. Where a value is beyond 32 bits, its column is one of 64 bits, and a copy. A ValueError where the file of
        such values does not fit the samples.
        """
        import pyarrow

        name = self.recorded.get("samples_file")
        if name is None:
            raise ValueError(f"{self!r} has no samples: only its {self.recorded.get('detail', 'figures')} left")
        table = _stream(_regular(self._recording.path, name), self._recording.document["state"] == "running")
        long_name = name.replace(".arrows", "-long.arrows")
        long_rows: List[Dict[str, int]] = []
        if (self._recording.path / long_name).exists():
            long_rows = _stream(_regular(self._recording.path, long_name), self._recording.document["state"] == "running").to_pylist()
        first = len(table.column_names) - len(self._recording.document.get("probe", {"columns": [0]})["columns"])
        for index, column in enumerate(table.column_names[first:]):
            theirs = _long_values(table.column(column), [one for one in long_rows if one["column"] == index], long_name)
            if theirs:
                whole = _with_long_values(table.column(column), theirs)
                table = table.set_column(first + index, pyarrow.field(column, pyarrow.int64()), whole)
        return table

    def polars(self) -> polars.DataFrame:
        """The samples as a data frame of polars."""
        import polars

        frame = polars.from_arrow(self.samples())
        assert isinstance(frame, polars.DataFrame)
        return frame

    def pandas(self) -> pandas.DataFrame:
        """The samples as a data frame of pandas, a copy: <NA> where there is no sample, which a float could not say."""
        import pandas
        import pyarrow

        nullable = {pyarrow.int32(): pandas.Int32Dtype(), pyarrow.int64(): pandas.Int64Dtype()}
        frame: pandas.DataFrame = self.samples().to_pandas(types_mapper=nullable.get)
        return frame


def _document(folder: Path) -> Dict[str, Any]:
    """run.json of a recording: an object of a format and version that are known."""
    try:
        document = json.loads(_bounded(_regular(folder, "run.json")))
    except OSError as error:
        raise RecordingError(folder, f"cannot read run.json: {error.strerror}") from error
    except RecursionError as error:
        raise RecordingError(folder, "run.json is nested too deeply") from error
    except json.JSONDecodeError as error:
        raise RecordingError(folder, f"run.json is not valid JSON: {error}") from error
    except UnicodeDecodeError as error:
        raise RecordingError(folder, f"run.json is not UTF-8: {error}") from error
    if not isinstance(document, dict) or document.get("format") != "teiji-recording":
        raise RecordingError(folder, "not a recording of teiji: run.json does not have the format teiji-recording")
    version = document.get("version")
    if not isinstance(version, int) or isinstance(version, bool):
        raise RecordingError(folder, f"the version of its format is not a whole number: {version!r}")
    if version > VERSION:
        raise RecordingError(folder, f"its format has version {version}, and this module reads versions up to {VERSION}")
    if not isinstance(document.get("run"), dict) or not isinstance(document.get("threads"), list) or "state" not in document:
        raise RecordingError(folder, "run.json has no run, threads or state")
    return document if document.get("imported") is None else _without_unknown(folder)


def _without_unknown(folder: Path) -> Dict[str, Any]:
    """The document of an import as the program shows it: null in the place of what is not known."""
    try:
        shown: Dict[str, Any] = json.loads(succeed(["show", "--json", os.fspath(folder.absolute())]))
    except ProgramError as error:
        raise RecordingError(folder, error.words) from error
    return shown


def _figures(recorded: Optional[Dict[str, Any]]) -> Optional[Figures]:
    if recorded is None:
        return None
    known: Dict[str, Any] = {name: recorded.get(name) for name in Figures.__dataclass_fields__}
    return Figures(**known)


def _regular(folder: Path, name: str) -> Path:
    """A file of a recording, which may come from anybody: a regular file in its folder and nothing else."""
    path = folder / name
    inside = Path(os.path.realpath(path)).parent == Path(os.path.realpath(folder))
    if name != os.path.basename(name) or not inside or not stat.S_ISREG(path.stat().st_mode):
        raise RecordingError(path, "not a file of the recording's own folder")
    return path


def _bounded(path: Path) -> bytes:
    with builtins.open(path, "rb") as file:
        text = file.read(MAX_DOCUMENT + 1)
    if len(text) > MAX_DOCUMENT:
        raise RecordingError(path, f"more than {MAX_DOCUMENT} bytes")
    return text


def _stream(path: Path, may_be_cut: bool) -> pyarrow.Table:
    """A stream of Arrow's, mapped; of one that was cut off what its whole batches have."""
    import pyarrow

    batches: List[pyarrow.RecordBatch] = []
    with pyarrow.ipc.open_stream(pyarrow.memory_map(str(path))) as reader:
        while True:
            try:
                batches.append(reader.read_next_batch())
            except StopIteration:
                break
            except (pyarrow.ArrowInvalid, OSError):
                if not may_be_cut:
                    raise
                break
        return pyarrow.Table.from_batches(batches, reader.schema)


def _long_values(column: pyarrow.ChunkedArray, long_rows: List[Dict[str, int]], name: str) -> Dict[int, int]:
    """The values beyond 32 bits of a column, by row: as many as the column leaves room for, each in its place."""
    import pyarrow.compute

    lowest, highest = -(2**31), 2**31 - 1
    stands: Dict[int, int] = {}
    extremes = pyarrow.compute.min_max(column)
    if extremes["min"].as_py() == lowest or extremes["max"].as_py() == highest:
        either = pyarrow.compute.or_(pyarrow.compute.equal(column, lowest), pyarrow.compute.equal(column, highest))
        rows = pyarrow.compute.indices_nonzero(either)
        stands = dict(zip(rows.to_pylist(), column.take(rows).to_pylist()))
    values: Dict[int, int] = {}
    before = -1
    for one in long_rows:
        row, value = one["row"], one["value"]
        if row <= before:
            raise ValueError(f"{name}: row {row} does not come after the one before it")
        before = row
        # Of a recording that was cut off there may be more than of its samples.
        if row < len(column):
            if stands.get(row) != (lowest if value < 0 else highest):
                raise ValueError(f"the value of row {row} fits 32 bits, and {name} has another")
            values[row] = value
    missing = min(stands.keys() - values.keys(), default=None)
    if missing is not None:
        raise ValueError(f"the value of row {missing} does not fit 32 bits, and {name} does not have it")
    return values


def _with_long_values(column: pyarrow.ChunkedArray, values: Dict[int, int]) -> pyarrow.ChunkedArray:
    """The column with these values in these rows, 64 bits wide."""
    import pyarrow

    wide = column.cast(pyarrow.int64())
    chunks: List[Any] = []
    done = 0
    for row, value in sorted(values.items()):
        chunks += [*wide.slice(done, row - done).chunks, pyarrow.array([value], pyarrow.int64())]
        done = row + 1
    return pyarrow.chunked_array(chunks + wide.slice(done).chunks, pyarrow.int64())

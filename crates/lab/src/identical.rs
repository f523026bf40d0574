// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether two recordings hold the same samples, and if not, where they first differ.

use model::{ColumnUnit, ProbeStatement, Recorded, RowKind};
use recording::{Recording, RecordingError, SampleFile, each_row};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

/// Where two recordings part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Divergence {
    /// They do not have the same threads.
    Threads { one: usize, other: usize },
    Sample {
        thread: usize,
        rows: RowKind,
        /// Number of the row, from 0.
        row: u64,
        /// The column that differs first; of a probe that has more than one.
        column: Option<String>,
        /// The value in the one, with its unit; none if there is no sample, or no such row.
        one: Option<String>,
        other: Option<String>,
    },
    /// All samples are the same, and yet the files are not: in what they say of themselves, such as
    /// the start.
    Labels { thread: usize },
}

impl std::fmt::Display for Divergence {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Divergence::Threads { one, other } => {
                write!(f, "one has {one} threads, the other {other}")
            }
            Divergence::Sample { thread, rows, row, column, one, other } => {
                let kind = match rows {
                    RowKind::Activations => "activation",
                    RowKind::Trials => "trial",
                    RowKind::Events => "event",
                };
                let column = column.as_ref().map_or_else(String::new, |name| format!(", {name}"));
                let value = |value: &Option<String>| {
                    value.clone().unwrap_or_else(|| "no sample".to_owned())
                };
                let (one, other) = (value(one), value(other));
                write!(
                    f,
                    "first difference at {kind} {row} of thread {thread}{column}: {one} and \
                     {other}"
                )
            }
            Divergence::Labels { thread } => {
                write!(
                    f,
                    "the samples of thread {thread} are the same, but its start or another label \
                     of the file is not"
                )
            }
        }
    }
}

/// Compares the samples files byte by byte; none if they are identical.
///
/// # Errors
/// When a file cannot be read, or a recording holds no samples.
pub fn first_divergence(
    one: &Recorded,
    other: &Recorded,
) -> Result<Option<Divergence>, RecordingError> {
    let threads = (one.document.threads.len(), other.document.threads.len());
    if threads.0 != threads.1 {
        return Ok(Some(Divergence::Threads { one: threads.0, other: threads.1 }));
    }
    let open = |recorded: &Recorded| {
        Recording::from_document(&recorded.path, recorded.document.clone()).sample_files()
    };
    let files = open(one)?.into_iter().zip(open(other)?).enumerate();
    for (thread, (of_one, of_other)) in files {
        if !has_same_files(&one.path, &other.path, thread)? {
            return first_difference(thread, &one.document.probe, &of_one, &of_other).map(Some);
        }
    }
    Ok(None)
}

/// Whether both have the same files of a thread's samples, byte by byte.
fn has_same_files(one: &Path, other: &Path, thread: usize) -> Result<bool, RecordingError> {
    let names = file_names(one, thread)?;
    if names != file_names(other, thread)? {
        return Ok(false);
    }
    for name in names {
        let open = |folder: &Path| recording::open_file(&folder.join(&name));
        if !are_same(open(one)?, open(other)?).map_err(failed(&one.join(&name)))? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether two files hold the same bytes.
fn are_same(one: File, other: File) -> io::Result<bool> {
    let length = one.metadata()?.len();
    if length != other.metadata()?.len() {
        return Ok(false);
    }
    let (mut one, mut other) = (one.take(length), other.take(length));
    let (mut block, mut same_place) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    loop {
        let read = one.read(&mut block)?;
        if read == 0 {
            return Ok(true);
        }
        other.read_exact(&mut same_place[..read])?;
        if block[..read] != same_place[..read] {
            return Ok(false);
        }
    }
}

/// The files with a thread's samples, by name: the latencies, and those too long for their column.
fn file_names(folder: &Path, thread: usize) -> Result<BTreeSet<OsString>, RecordingError> {
    let stems = [format!("samples-{thread}."), format!("samples-{thread}-")];
    let mut names = BTreeSet::new();
    for entry in fs::read_dir(folder).map_err(failed(folder))? {
        let name = entry.map_err(failed(folder))?.file_name();
        if stems.iter().any(|stem| name.to_string_lossy().starts_with(stem)) {
            names.insert(name);
        }
    }
    Ok(names)
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> RecordingError {
    move |source| RecordingError::Io { doing: "read", path: path.to_owned(), source }
}

/// One of the files of a thread differs from the other's; these are their columns.
fn first_difference(
    thread: usize,
    probe: &ProbeStatement,
    one: &[SampleFile],
    other: &[SampleFile],
) -> Result<Divergence, RecordingError> {
    let (one, other) = (rows(one)?, rows(other)?);
    let longer = one.len().max(other.len());
    let Some(row) = (0..longer).find(|row| one.get(*row) != other.get(*row)) else {
        return Ok(Divergence::Labels { thread });
    };
    let value = |rows: &[Vec<Option<i64>>], place: usize| {
        rows.get(row).and_then(|values| values.get(place)).copied().flatten()
    };
    // The time of events is in front of the columns.
    let names = [TIME].into_iter().chain(probe.columns.iter().map(|column| &*column.name));
    let differs = |place: &usize| value(&one, *place) != value(&other, *place);
    let place = (0..=probe.columns.len()).find(differs).unwrap_or(1);
    let is_time =
        |place: usize| place == 0 || probe.columns[place - 1].unit == ColumnUnit::Nanoseconds;
    let shown = |rows| {
        value(rows, place)
            .map(|value| if is_time(place) { format!("{value} ns") } else { value.to_string() })
    };
    let is_only = probe.columns.len() == 1 && probe.rows != RowKind::Events;
    let column = if is_only { None } else { names.map(str::to_owned).nth(place) };
    Ok(Divergence::Sample {
        thread,
        rows: probe.rows,
        row: row as u64,
        column,
        one: shown(&one),
        other: shown(&other),
    })
}

/// What the time of an event is called.
const TIME: &str = "time";

/// Every row of a file: its time, if it is an event's, and its values.
fn rows(columns: &[SampleFile]) -> Result<Vec<Vec<Option<i64>>>, RecordingError> {
    let mut rows = Vec::new();
    each_row(columns, &mut |row| {
        rows.push([row.time_ns].into_iter().chain(row.values.iter().copied()).collect())
    })?;
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Column, Thread};
    use plan::{CpuId, Nanos, Scheduling};
    use recording::SampleWriter;
    use std::path::PathBuf;

    fn file(
        place: &Path,
        name: &str,
        start: i64,
        probe: &ProbeStatement,
        values: &[i64],
    ) -> PathBuf {
        let path = place.join(name);
        let thread =
            Thread::unmeasured(0, CpuId(0), Scheduling::OTHER, Nanos::from_millis(1), Nanos(start));
        let mut writer = SampleWriter::create(&path, &thread, probe).unwrap();
        writer.extend(0, values).unwrap();
        let columns = probe.columns.len() + usize::from(probe.rows == RowKind::Events);
        writer.finish((values.len() / columns) as u64).unwrap();
        path
    }

    fn difference(thread: usize, probe: &ProbeStatement, paths: [&Path; 2]) -> Divergence {
        let [one, other] = paths.map(|path| {
            let document = |column| SampleFile::open_column(path, column, probe, false).unwrap();
            (0..probe.columns.len()).map(document).collect::<Vec<_>>()
        });
        first_difference(thread, probe, &one, &other).unwrap()
    }

    #[test]
    fn the_first_differing_sample_is_named() {
        let place = tempfile::tempdir().unwrap();
        let probe = ProbeStatement::cyclic();
        let file =
            |name, start, latencies: &[i64]| file(place.path(), name, start, &probe, latencies);
        let one = file("one", 5, &[10, 20, 30, 40]);
        let found = difference(2, &probe, [&one, &file("other", 5, &[10, 20, 31, 41])]);
        assert_eq!(
            found.to_string(),
            "first difference at activation 2 of thread 2: 30 ns and 31 ns"
        );
        let found = difference(0, &probe, [&one, &file("shorter", 5, &[10, 20, 30])]);
        assert_eq!(
            found.to_string(),
            "first difference at activation 3 of thread 0: 40 ns and no sample"
        );
        assert_eq!(
            difference(0, &probe, [&one, &file("later", 6, &[10, 20, 30, 40])]),
            Divergence::Labels { thread: 0 }
        );
    }

    #[test]
    fn the_first_differing_column_is_named() {
        let place = tempfile::tempdir().unwrap();
        let number = Column { name: "number".into(), unit: ColumnUnit::Count, meaning: "".into() };
        let columns = vec![Column::ns("length_ns", ""), number];
        let probe = ProbeStatement {
            rows: RowKind::Events,
            columns,
            overrun_column: None,
            ..ProbeStatement::cyclic()
        };
        let file = |name, values: &[i64]| file(place.path(), name, 5, &probe, values);
        let one = file("one", &[100, 200, 7, 8, 1, 2]);
        let found = difference(0, &probe, [&one, &file("number", &[100, 200, 7, 8, 1, 3])]);
        assert_eq!(found.to_string(), "first difference at event 1 of thread 0, number: 2 and 3");
        let found = difference(0, &probe, [&one, &file("time", &[100, 201, 7, 8, 1, 2])]);
        assert_eq!(
            found.to_string(),
            "first difference at event 1 of thread 0, time: 200 ns and 201 ns"
        );
        let found = difference(0, &probe, [&one, &file("shorter", &[100, 7, 1])]);
        assert_eq!(
            found.to_string(),
            "first difference at event 1 of thread 0, time: 200 ns and no sample"
        );
    }

    #[test]
    fn files_are_compared_by_their_bytes() {
        let place = tempfile::tempdir().unwrap();
        let file = |name: &str, bytes: &[u8]| {
            fs::write(place.path().join(name), bytes).unwrap();
            File::open(place.path().join(name)).unwrap()
        };
        let mut long = vec![7; 200_000];
        assert!(are_same(file("one", &long), file("other", &long)).unwrap());
        let one = file("one", &long);
        long[199_999] = 8;
        assert!(!are_same(one, file("other", &long)).unwrap());
        assert!(!are_same(file("one", b"ab"), file("other", b"abc")).unwrap());
    }
}

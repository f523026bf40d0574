// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether two recordings hold the same samples, and if not, where they part.

use model::{Recorded, samples_file};
use recording::{RecordingError, SampleFile};
use stats::{Rows, Span};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::Path;

/// Where two recordings part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Divergence {
    /// They do not have the same threads.
    Threads {
        /// Of the one.
        one: usize,
        /// Of the other.
        other: usize,
    },
    /// An activation.
    Sample {
        /// Thread index.
        thread: usize,
        /// Activation number, from 0.
        activation: u64,
        /// Latency in the one, ns; none if there is no sample, or no such activation.
        one: Option<i64>,
        /// In the other.
        other: Option<i64>,
    },
    /// All samples are the same, and yet the files are not: in what they say of themselves, such as the start.
    Labels {
        /// Thread index.
        thread: usize,
    },
}

impl std::fmt::Display for Divergence {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let latency = |ns: &Option<i64>| ns.map_or_else(|| "no sample".to_owned(), |ns| format!("{ns} ns"));
        match self {
            Divergence::Threads { one, other } => write!(f, "one has {one} threads, the other {other}"),
            Divergence::Sample { thread, activation, one, other } => {
                write!(
                    f,
                    "first difference at activation {activation} of thread {thread}: {} and {}",
                    latency(one),
                    latency(other)
                )
            }
            Divergence::Labels { thread } => {
                write!(f, "the samples of thread {thread} are the same, but its start or another label of the file is not")
            }
        }
    }
}

/// Compares the samples files byte by byte; none if they are identical.
///
/// # Errors
/// When a file cannot be read.
pub fn first_divergence(one: &Recorded, other: &Recorded) -> Result<Option<Divergence>, RecordingError> {
    let threads = (one.document.threads.len(), other.document.threads.len());
    if threads.0 != threads.1 {
        return Ok(Some(Divergence::Threads { one: threads.0, other: threads.1 }));
    }
    for thread in 0..threads.0 {
        let file = samples_file(thread);
        let paths = [one.path.join(&file), other.path.join(&file)];
        if contents(&one.path, thread)? != contents(&other.path, thread)? {
            return first_difference(thread, &paths).map(Some);
        }
    }
    Ok(None)
}

/// The files with a thread's samples, by name: the latencies, and those too long for their column.
fn contents(folder: &Path, thread: usize) -> Result<BTreeMap<OsString, Vec<u8>>, RecordingError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| RecordingError::Io { doing: "read", path, source }
    };
    let stems = [format!("samples-{thread}."), format!("samples-{thread}-")];
    let mut contents = BTreeMap::new();
    for entry in fs::read_dir(folder).map_err(failed(folder))? {
        let path = entry.map_err(failed(folder))?.path();
        let name = path.file_name().unwrap_or_default().to_owned();
        if stems.iter().any(|stem| name.to_string_lossy().starts_with(stem)) {
            contents.insert(name, fs::read(&path).map_err(failed(&path))?);
        }
    }
    Ok(contents)
}

fn first_difference(thread: usize, paths: &[std::path::PathBuf; 2]) -> Result<Divergence, RecordingError> {
    let (one, other) = (latencies(&paths[0])?, latencies(&paths[1])?);
    let longer = one.len().max(other.len());
    let at = |rows: &[Option<i64>], row: usize| rows.get(row).copied().flatten();
    let differs = |row: &usize| one.get(*row) != other.get(*row);
    Ok((0..longer).find(differs).map_or(Divergence::Labels { thread }, |row| Divergence::Sample {
        thread,
        activation: row as u64,
        one: at(&one, row),
        other: at(&other, row),
    }))
}

/// Every row of a file: a latency or none.
fn latencies(path: &Path) -> Result<Vec<Option<i64>>, RecordingError> {
    let mut rows = Vec::new();
    SampleFile::open(path, false)?.replay(&mut |span| match span {
        Span::Woken(values) => rows.extend(values.iter().map(|value| Some(i64::from(*value)))),
        Span::Long(value) => rows.push(Some(value)),
        Span::Missing(count) => rows.extend((0..count).map(|_| None)),
    })?;
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{ProbeStatement, Thread};
    use plan::{CpuId, Nanos, Scheduling};
    use recording::SampleWriter;

    fn file(place: &Path, name: &str, start: i64, latencies: &[i64]) -> std::path::PathBuf {
        let path = place.join(name);
        let thread = Thread::unmeasured(0, CpuId(0), Scheduling::OTHER, Nanos::from_millis(1), Nanos(start));
        let mut writer = SampleWriter::create(&path, &thread, &ProbeStatement::cyclic()).unwrap();
        writer.extend(0, latencies).unwrap();
        writer.finish(latencies.len() as u64).unwrap();
        path
    }

    #[test]
    fn the_first_differing_sample_is_named() {
        let place = tempfile::tempdir().unwrap();
        let one = file(place.path(), "one", 5, &[10, 20, 30, 40]);
        let other = file(place.path(), "other", 5, &[10, 20, 31, 41]);
        let first_divergence = first_difference(2, &[one.clone(), other]).unwrap();
        assert_eq!(first_divergence, Divergence::Sample { thread: 2, activation: 2, one: Some(30), other: Some(31) });
        assert_eq!(first_divergence.to_string(), "first difference at activation 2 of thread 2: 30 ns and 31 ns");
        let shorter = file(place.path(), "shorter", 5, &[10, 20, 30]);
        let first_divergence = first_difference(0, &[one.clone(), shorter]).unwrap();
        assert_eq!(first_divergence, Divergence::Sample { thread: 0, activation: 3, one: Some(40), other: None });
        let later = file(place.path(), "later", 6, &[10, 20, 30, 40]);
        assert_eq!(first_difference(0, &[one, later]).unwrap(), Divergence::Labels { thread: 0 });
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! A recording being read.

use crate::folder::DOCUMENT;
use crate::{RecordingError, SampleFile};
use model::fill_in;
use model::{Document, ENVELOPE_STEPS, End, FORMAT, Recorded, State, VERSION};
use plan::OverrunPolicy;
use stats::{AccountingRule, AfterOverrun, Analysis, ExactRequest, Statistics, analyse, summarise};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::Builder;

/// A recording on disk, its document read, its samples not yet.
#[derive(Clone, Debug)]
pub struct Recording {
    path: PathBuf,
    document: Document,
}

impl Recording {
    /// Reads the document.
    ///
    /// # Errors
    /// When there is none, or it is none of ours, or of a later version.
    pub fn open(path: &Path) -> Result<Self, RecordingError> {
        let file = path.join(DOCUMENT);
        let text = match fs::read_to_string(&file) {
            Ok(text) => text,
            Err(error)
                if matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory) && path.exists() =>
            {
                return Err(RecordingError::NotARecording(path.to_owned()));
            }
            Err(source) => return Err(RecordingError::Io { doing: "read", path: file, source }),
        };
        let document = parse(&text).map_err(|why| RecordingError::Document { path: file, why })?;
        Ok(Recording { path: path.to_owned(), document })
    }

    /// A recording whose samples are on disk and whose document is not yet.
    #[must_use]
    pub fn of(path: &Path, document: Document) -> Self {
        Recording { path: path.to_owned(), document }
    }

    /// What `run.json` says.
    #[must_use]
    pub const fn document(&self) -> &Document {
        &self.document
    }

    /// Goes through all samples, threads side by side on the cores there are.
    ///
    /// # Errors
    /// When samples cannot be read. A recording that was cut off is read as far as it goes.
    pub fn summarise(self) -> Result<Recorded, RecordingError> {
        let threads = self.of_each_thread(|file, interval_ns, after| summarise(file, interval_ns, after, ENVELOPE_STEPS))?;
        Ok(self.recorded(threads))
    }

    /// The same, in the same passes, and of each thread what `keep` takes from its analysis, which itself is a few MB. What `exact`
    /// asks for may take a further pass.
    ///
    /// # Errors
    /// As [`Recording::summarise`].
    pub fn analyse<T: Send>(
        self,
        exact: &ExactRequest,
        keep: impl Fn(&Analysis) -> T + Sync,
    ) -> Result<(Recorded, Vec<T>), RecordingError> {
        let threads = self.of_each_thread(|file, interval_ns, after| {
            let analysis = analyse(file, interval_ns, after, ENVELOPE_STEPS, exact)?;
            let kept = keep(&analysis);
            Ok((analysis.statistics, kept))
        })?;
        let (statistics, kept) = threads.into_iter().unzip();
        Ok((self.recorded(statistics), kept))
    }

    /// Opens the samples of each thread and hands them over: as many at a time as there are cores.
    ///
    /// # Errors
    /// As [`Recording::summarise`].
    pub fn each_sample_file<T: Send>(
        &self,
        of: impl Fn(&SampleFile) -> Result<T, RecordingError> + Sync,
    ) -> Result<Vec<T>, RecordingError> {
        self.of_each_thread(|file, _, _| of(file))
    }

    fn recorded(self, threads: Vec<Statistics>) -> Recorded {
        let mut document = self.document;
        if document.state == State::Running {
            for (thread, statistics) in document.threads.iter_mut().zip(&threads) {
                fill_in(thread, statistics);
                thread.activations = statistics.activations;
                thread.proof.samples_lost = statistics.lost;
            }
        }
        Recorded { path: self.path, document, threads }
    }

    /// What is made of the samples of each thread: as many at a time as there are cores.
    fn of_each_thread<T: Send>(
        &self,
        of: impl Fn(&SampleFile, i64, AccountingRule) -> Result<T, RecordingError> + Sync,
    ) -> Result<Vec<T>, RecordingError> {
        let next = AtomicUsize::new(0);
        let results: Mutex<Vec<Option<Result<T, RecordingError>>>> = Mutex::new(Vec::new());
        let work = || {
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                if index >= self.document.threads.len() {
                    return;
                }
                let result = self.of_thread(index, &of);
                let mut results = results.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                if results.len() <= index {
                    results.resize_with(index + 1, || None);
                }
                results[index] = Some(result);
            }
        };
        let workers =
            std::thread::available_parallelism().map_or(1, usize::from).min(MAX_WORKERS).min(self.document.threads.len());
        std::thread::scope(|scope| {
            for _ in 1..workers {
                // A worker that cannot be had leaves its work to the others.
                drop(Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, work));
            }
            work();
        });
        results.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner).into_iter().flatten().collect()
    }

    fn of_thread<T>(
        &self,
        index: usize,
        of: &impl Fn(&SampleFile, i64, AccountingRule) -> Result<T, RecordingError>,
    ) -> Result<T, RecordingError> {
        let thread = &self.document.threads[index];
        let after = match self.document.run.missed {
            OverrunPolicy::Skip => AfterOverrun::Skip,
            OverrunPolicy::CatchUp => AfterOverrun::CatchUp,
        };
        // A samples file lies beside its document; a name that leads elsewhere is no name of ours.
        let name = Path::new(&thread.samples_file).file_name().unwrap_or_default();
        let cut = self.document.state == State::Running || matches!(self.document.end, Some(End::RecordingFailed { .. }));
        let file = SampleFile::open(&self.path.join(name), cut)?;
        let given_up_ns = thread.given_up_ns.map(|time| time.0 - thread.start_ns.0);
        of(&file, thread.interval_ns.0, AccountingRule { after, given_up_ns })
    }
}

/// Each takes about 2 MB of memory, and a disk feeds no more.
const MAX_WORKERS: usize = 4;
/// Ample: nothing here recurses.
const STACK_BYTES: usize = 256 * 1024;

/// Reads `run.json`; says first if it is of another kind or a later version, then what is wrong with it.
pub(crate) fn parse(text: &str) -> Result<Document, String> {
    let value: serde_json::Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    if value["format"] != FORMAT {
        return Err(format!("it does not say that its format is {FORMAT}"));
    }
    match value["version"].as_u64() {
        Some(version) if version <= u64::from(VERSION) => {}
        _ => return Err(format!("its version is {}; this program reads versions up to {VERSION}", value["version"])),
    }
    serde_json::from_str(text).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::{Nanos, Settle};

    /// A document of this version as it was written before loads settled and samples were synced: it says neither.
    #[test]
    fn documents_written_before_runs_settled_and_synced() {
        let document = parse(include_str!("../../../fuzz/corpus/run_json/before_settling.json")).unwrap();
        assert_eq!((document.run.sync, document.run.settle), (false, Settle::ForNs(Nanos::ZERO)));
        assert_eq!((document.state, document.threads[0].activations.due), (State::Complete, 200));
    }
}

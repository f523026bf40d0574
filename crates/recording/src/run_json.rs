// SPDX-License-Identifier: MIT OR Apache-2.0
//! `run.json` being read: what is of another kind, or more than any run has, is refused.

use crate::counts::too_many;
use model::{Document, FORMAT, Thread, VERSION};
use plan::MAX_THREADS;
use std::collections::HashSet;
use std::path::Path;

pub(crate) const DOCUMENT: &str = "run.json";

/// Values of a document beside its threads, and of each thread.
const MAX_VALUES: usize = 500_000;
const MAX_VALUES_OF_THREAD: usize = 20_000;

/// What a document says of itself; all else is passed over, in no memory.
#[derive(serde::Deserialize)]
struct Head<'a> {
    #[serde(borrow, default)]
    format: Option<std::borrow::Cow<'a, str>>,
    #[serde(default)]
    version: Option<u64>,
    #[serde(default)]
    threads: Vec<serde::de::IgnoredAny>,
}

/// Reads `run.json`; says first if it is of another kind or a later version, then what is wrong
/// with it.
///
/// # Errors
/// When it is none of a recording that this program reads.
pub fn parse(text: &str) -> Result<Document, String> {
    let head: Head<'_> = serde_json::from_str(text).map_err(|error| error.to_string())?;
    if head.format.as_deref() != Some(FORMAT) {
        return Err(format!("it does not say that its format is {FORMAT}"));
    }
    match head.version {
        Some(version) if version <= u64::from(VERSION) => {}
        version => {
            let version =
                version.map_or_else(|| "not known".to_owned(), |version| version.to_string());
            return Err(format!(
                "its version is {version}; this program reads versions up to {VERSION}"
            ));
        }
    }
    // Each value takes more in memory than in the text: a thread has some 2,000, and all else a few
    // thousand.
    let most = MAX_VALUES + MAX_VALUES_OF_THREAD * head.threads.len().min(MAX_THREADS);
    if text.bytes().filter(|byte| *byte == b',').count() > most {
        return Err(format!(
            "it holds more than {most} values, the most that are read of so many threads"
        ));
    }
    let document: Document = serde_json::from_str(text).map_err(|error| error.to_string())?;
    if document.threads.len() > MAX_THREADS {
        return Err(format!(
            "it has {} threads; this program reads recordings of up to {MAX_THREADS}",
            document.threads.len()
        ));
    }
    let mut files = HashSet::new();
    let name = |thread: &Thread| Path::new(&thread.samples_file).file_name().map(ToOwned::to_owned);
    if let Some(thread) = document
        .threads
        .iter()
        .find(|thread| thread.detail.is_samples() && !files.insert(name(thread)))
    {
        return Err(format!(
            "thread {} has the samples of another one, {}: they would count twice",
            thread.index, thread.samples_file
        ));
    }
    match too_many(&document) {
        Some(place) => Err(format!("{place} is more than any run can have")),
        None => Ok(document),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::State;
    use plan::{Nanos, Settle};

    /// A document of this version as it was written before loads settled and samples were synced:
    /// it says neither.
    #[test]
    fn documents_written_before_runs_settled_and_synced() {
        let document =
            parse(include_str!("../../../fuzz/corpus/run_json/before_settling.json")).unwrap();
        assert_eq!((document.run.sync, document.run.settle), (false, Settle::ForNs(Nanos::ZERO)));
        assert_eq!(
            (document.state, document.threads[0].activations.map(|counts| counts.all().due)),
            (State::Complete, Some(200))
        );
    }
}

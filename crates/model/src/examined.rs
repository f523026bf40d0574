// SPDX-License-Identifier: MIT OR Apache-2.0
//! Recordings with what limits and comparisons judge in them: one by itself, or several phases of
//! one run together.

use crate::Recorded;
use stats::{Analysis, Group, Measured, Statistics};
use std::path::{Path, PathBuf};

/// A recording with the analyses of what is judged in it; or several phases of its run, which are
/// judged together.
pub struct Examined {
    /// The recording. Of several, the one with the largest latency.
    pub recorded: Recorded,
    /// By thread, of all that is judged together; of jitter, those of its size.
    pub analyses: Vec<Analysis>,
    /// What is judged together with the recording; none: it is judged alone.
    pub pool: Option<Box<Pool>>,
}

impl Examined {
    /// All recordings that are judged together.
    pub fn recordings(&self) -> impl Iterator<Item = &Recorded> {
        std::iter::once(&self.recorded).chain(self.pool.iter().flat_map(|pool| &pool.others))
    }

    /// By thread: of all that is judged together, as measured.
    pub fn statistics(&self) -> &[Statistics] {
        self.pool.as_ref().map_or(&self.recorded.threads, |pool| &pool.threads)
    }

    /// What a comparison needs.
    pub fn group(&self) -> Group {
        let Some(pool) = &self.pool else {
            return Group {
                runs: vec![self.analyses.iter().map(Measured::from).collect()],
                quantiles: None,
            };
        };
        let quantiles = match self.analyses.as_slice() {
            [one] => Some(Measured::from(one).quantiles),
            _ => None,
        };
        Group { runs: pool.runs.clone(), quantiles }
    }

    /// Where it is: the recording's path, or what the paths of all have in common.
    pub fn path(&self) -> PathBuf {
        common_path(self.recordings().map(|recorded| recorded.path.as_path()))
    }
}

/// What is pooled with a recording.
#[derive(Clone, Debug)]
pub struct Pool {
    /// The recordings of the other phases, in their order.
    pub others: Vec<Recorded>,
    /// By thread: of all phases together, as measured.
    pub threads: Vec<Statistics>,
    /// What a comparison needs of each phase, by thread; the recording that they are pooled with
    /// comes first.
    pub runs: Vec<Vec<Measured>>,
}

/// What recordings that lie beside one another are called together: what their paths have in
/// common, with a `*` for the rest.
fn common_path<'p>(mut paths: impl Iterator<Item = &'p Path>) -> PathBuf {
    let Some(first) = paths.next() else { return PathBuf::new() };
    let (folder, name) = (first.parent(), file_name(first));
    let (mut begin, mut end) = (name.clone(), name);
    let mut several = false;
    for path in paths {
        several = true;
        if path.parent() != folder {
            return first.to_owned();
        }
        let name = file_name(path);
        let shared =
            begin.chars().zip(name.chars()).take_while(|(one, other)| one == other).count();
        begin = begin.chars().take(shared).collect();
        let shared = end
            .chars()
            .rev()
            .zip(name.chars().rev())
            .take_while(|(one, other)| one == other)
            .count();
        end = end.chars().skip(end.chars().count() - shared).collect();
    }
    if !several {
        return first.to_owned();
    }
    // `phase-1.teiji` and `phase-11.teiji` share a 1 on either side.
    let end = end.trim_start_matches(|c: char| c.is_ascii_digit());
    let begin = begin.trim_end_matches(|c: char| c.is_ascii_digit());
    folder.unwrap_or(Path::new("")).join(format!("{begin}*{end}"))
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pool_is_called_by_what_its_paths_share() {
        let common =
            |paths: &[&str]| common_path(paths.iter().map(Path::new)).display().to_string();
        assert_eq!(
            common(&["a/x-phase-1.teiji", "a/x-phase-2.teiji", "a/x-phase-12.teiji"]),
            "a/x-phase-*.teiji"
        );
        assert_eq!(common(&["a/x-phase-11.teiji", "a/x-phase-12.teiji"]), "a/x-phase-*.teiji");
        assert_eq!(common(&["01-phase=1.teiji", "02-phase=2.teiji"]), "*.teiji");
        assert_eq!(common(&["a/x.teiji", "b/x.teiji"]), "a/x.teiji");
        assert_eq!(common(&["a/x.teiji"]), "a/x.teiji");
    }
}

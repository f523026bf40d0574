// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is wrong with a plan, and where: all of it at once, since a plan with three faults would
//! otherwise be tried four times.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Position in a file, for messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceSpan {
    pub file: Arc<Path>,
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
}

impl fmt::Display for SourceSpan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file.display(), self.line, self.column)
    }
}

/// What is wrong with a plan, and where.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// Something that is written.
    #[error("{at}: {what}")]
    Written { at: SourceSpan, what: String },
    /// A file that cannot be read.
    #[error(
        "cannot read the plan {}{}: {source}",
        path.display(),
        included.as_ref().map_or_else(String::new, |at| format!(", included at {at}")),
    )]
    Unreadable {
        path: PathBuf,
        /// Where it was asked for, if by another plan.
        included: Option<SourceSpan>,
        /// Why not.
        source: io::Error,
    },
    /// Something that is missing.
    #[error("{}: {what}", file.display())]
    Missing { file: PathBuf, what: String },
}

impl PlanError {
    const fn place(&self) -> Option<&SourceSpan> {
        match self {
            PlanError::Written { at, .. } => Some(at),
            PlanError::Unreadable { .. } | PlanError::Missing { .. } => None,
        }
    }

    /// Something that is written and wrong.
    pub fn at(at: &SourceSpan, what: impl Into<String>) -> Self {
        PlanError::Written { at: at.clone(), what: what.into() }
    }
}

/// All that is wrong with a plan; at least one thing.
#[derive(Debug)]
pub struct PlanErrors(Vec<PlanError>);

/// Maximum number of errors reported.
const MAX_REPORTED: usize = 20;

impl PlanErrors {
    /// All results, or all errors among them.
    ///
    /// # Errors
    /// Those of the results, in order.
    pub fn all<T, E: Into<PlanErrors>>(
        results: impl IntoIterator<Item = Result<T, E>>,
    ) -> Result<Vec<T>, PlanErrors> {
        let (good, errors) = PlanErrors::divided(results);
        PlanErrors::none_of(errors).map(|()| good)
    }

    /// All results, and all errors among them.
    pub(crate) fn divided<T, E: Into<PlanErrors>>(
        results: impl IntoIterator<Item = Result<T, E>>,
    ) -> (Vec<T>, Vec<PlanError>) {
        let (mut good, mut errors) = (Vec::new(), Vec::new());
        for result in results {
            match result {
                Ok(one) => good.push(one),
                Err(error) => errors.extend(error.into().0),
            }
        }
        (good, errors)
    }

    /// Ok if there are no errors. They are reported as they are written, file by file. Of several
    /// at one place, only the first is.
    ///
    /// # Errors
    /// These, if there are any.
    pub fn none_of(errors: Vec<PlanError>) -> Result<(), PlanErrors> {
        if errors.is_empty() { Ok(()) } else { Err(errors.into()) }
    }
}

impl From<Vec<PlanError>> for PlanErrors {
    fn from(mut errors: Vec<PlanError>) -> Self {
        let mut files: Vec<Arc<Path>> = Vec::new();
        errors.iter().filter_map(PlanError::place).for_each(|at| {
            if !files.contains(&at.file) {
                files.push(Arc::clone(&at.file));
            }
        });
        errors.sort_by_key(|error| {
            let place = |at: &SourceSpan| {
                (files.iter().position(|file| *file == at.file), at.line, at.column)
            };
            error.place().map(place)
        });
        let mut known: Vec<SourceSpan> = Vec::new();
        errors.retain(|error| match error {
            PlanError::Written { at, .. } if known.contains(at) => false,
            PlanError::Written { at, .. } => {
                known.push(at.clone());
                true
            }
            _ => true,
        });
        PlanErrors(errors)
    }
}

impl From<PlanError> for PlanErrors {
    fn from(error: PlanError) -> Self {
        PlanErrors(vec![error])
    }
}

impl IntoIterator for PlanErrors {
    type Item = PlanError;
    type IntoIter = std::vec::IntoIter<PlanError>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl fmt::Display for PlanErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [only] = self.0.as_slice() {
            return only.fmt(f);
        }
        write!(f, "{} errors in the plan", self.0.len())?;
        self.0.iter().take(MAX_REPORTED).try_for_each(|error| write!(f, "\n  {error}"))?;
        if self.0.len() > MAX_REPORTED {
            write!(f, "\n  and {} more", self.0.len() - MAX_REPORTED)
        } else {
            Ok(())
        }
    }
}

impl std::error::Error for PlanErrors {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.first().and_then(std::error::Error::source)
    }
}

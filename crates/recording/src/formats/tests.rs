// SPDX-License-Identifier: MIT OR Apache-2.0
//! What tests of all importers need.

use super::*;
use crate::{Recording, verify};
use model::Recorded;

/// The recordings that are made of a text, each of which agrees with itself.
pub(crate) fn imported(text: &str) -> Vec<Recorded> {
    of_file(text.as_bytes(), ImportOptions::default()).unwrap_or_else(|error| panic!("{error}"))
}

/// Why a text is not imported.
pub(crate) fn refused(text: &str) -> String {
    match of_file(text.as_bytes(), ImportOptions::default()) {
        Ok(found) => panic!("{} outputs were read", found.len()),
        Err(error) => error.to_string(),
    }
}

/// The same of any file, read in some way.
pub(crate) fn of_file(
    content: &[u8],
    options: ImportOptions,
) -> Result<Vec<Recorded>, ImportError> {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("output.txt");
    std::fs::write(&file, content).unwrap();
    let to = place.path().join("to");
    std::fs::create_dir(&to).unwrap();
    let found = import(&file, &to, "0.0.0", options)?;
    Ok(found
        .iter()
        .map(|one| {
            let recorded = Recording::open(&one.recording).unwrap().summarise().unwrap();
            assert_eq!(verify(&recorded), Vec::new(), "{}", one.recording.display());
            recorded
        })
        .collect())
}

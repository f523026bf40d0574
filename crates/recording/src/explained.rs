// SPDX-License-Identifier: MIT OR Apache-2.0
//! What `teiji explain` found, beside the samples it is about.

use crate::RecordingError;
use crate::contents::read_text;
use model::{EXPLAINED, EXPLAINED_VERSION, Explained, Part};
use std::io::Write as _;
use std::path::Path;
use system::files::{Durability, USUAL, replace};

/// Of a thousand activations, each with its parts and what ran in them.
const MAX_VALUES: usize = 2_000_000;

/// Of a function or a task, bytes. A stack repeats the names of all that it is in.
const MAX_NAME: usize = 4_096;

/// What was explained of a recording; none where nothing was.
///
/// # Errors
/// When it cannot be read, or was written by a later version.
pub fn read_explained(recording: &Path) -> Result<Option<Explained>, RecordingError> {
    let path = recording.join(EXPLAINED);
    let text = match read_text(&path) {
        Err(RecordingError::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
            return Ok(None);
        }
        text => text?,
    };
    let wrong = |why: String| RecordingError::Document { path: path.clone(), why };
    if text.bytes().filter(|byte| *byte == b',').count() > MAX_VALUES {
        return Err(wrong(format!(
            "it holds more than {MAX_VALUES} values, the most that are read"
        )));
    }
    let explained: Explained =
        serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    if explained.version != EXPLAINED_VERSION {
        return Err(wrong(format!(
            "it is of version {}, and this teiji reads version {EXPLAINED_VERSION}",
            explained.version
        )));
    }
    for account in &explained.accounts {
        let program = account.program.as_ref().and_then(|program| program.name.as_ref());
        if account.timeline.names.iter().chain(program).any(|name| name.len() > MAX_NAME) {
            return Err(wrong(format!(
                "a name is longer than {MAX_NAME} bytes, the most that are read"
            )));
        }
        let named = |part: &&Part| {
            let names = [&part.task, &part.name, &part.function, &part.next_task];
            names.into_iter().flatten().any(|name| name.len() > MAX_NAME)
        };
        if account.parts.iter().any(|part| named(&part)) {
            return Err(wrong(format!(
                "a name is longer than {MAX_NAME} bytes, the most that are read"
            )));
        }
        let mut end_ns = Some(0);
        for part in &account.parts {
            if Some(part.begin_ns) != end_ns {
                return Err(wrong(format!(
                    "the parts of activation {} do not follow one another",
                    account.activation
                )));
            }
            end_ns = part.begin_ns.checked_add(part.length_ns);
        }
        let sum = account.parts.iter().map(|part| part.length_ns).fold(0, u64::saturating_add);
        if sum != account.latency_ns {
            let why = format!(
                "the parts of activation {} add up to {sum} ns, not to {} ns",
                account.activation, account.latency_ns
            );
            return Err(wrong(why));
        }
    }
    Ok(Some(explained))
}

/// Puts down what was explained, in one step.
///
/// # Errors
/// When it cannot be written.
pub fn write_explained(recording: &Path, explained: &Explained) -> Result<(), RecordingError> {
    let path = recording.join(EXPLAINED);
    let new = recording.join(format!(".{EXPLAINED}-{}", std::process::id()));
    let text = serde_json::to_string(explained)
        .map_err(|error| RecordingError::Document { path: path.clone(), why: error.to_string() })?;
    replace(&path, &new, USUAL, Durability::Written, |file| {
        file.write_all((text + "\n").as_bytes())
    })
    .map_err(RecordingError::io("write", &path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Account, Timeline};
    use std::fs;

    #[test]
    fn what_was_explained_is_read_back() {
        let place = tempfile::tempdir().unwrap();
        assert_eq!(read_explained(place.path()).unwrap(), None);
        let explained = Explained {
            version: EXPLAINED_VERSION,
            identical_samples: Some(3),
            accounts: Vec::new(),
        };
        write_explained(place.path(), &explained).unwrap();
        assert_eq!(read_explained(place.path()).unwrap(), Some(explained.clone()));
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1);
        // A recording may have a link of the name that is written to first, to a file of its
        // reader's.
        let (precious, own) = (
            tempfile::NamedTempFile::new().unwrap(),
            format!(".{EXPLAINED}-{}", std::process::id()),
        );
        std::os::unix::fs::symlink(precious.path(), place.path().join(own)).unwrap();
        write_explained(place.path(), &explained).unwrap();
        assert_eq!(
            (fs::read(precious.path()).unwrap(), fs::read_dir(place.path()).unwrap().count()),
            (Vec::new(), 1)
        );
        // Nothing that does not add up is shown.
        let account = Account {
            thread: 0,
            activation: 9,
            latency_ns: 5,
            parts: Vec::new(),
            timeline: Timeline::default(),
            ..Account::default()
        };
        write_explained(place.path(), &Explained { accounts: vec![account], ..explained.clone() })
            .unwrap();
        let error = read_explained(place.path()).unwrap_err().to_string();
        assert!(error.contains("activation 9 add up to 0 ns, not to 5 ns"), "{error}");
        let far = r#"{"version":1,"identical_samples":3,"accounts":[{"thread":0,"activation":9,
            "latency_ns":5,"parts":[{"kind":"idle","begin_ns":9223372036854775808,"length_ns":5,
            "function":null,"called_by":[],"task":null,"mostly":[]}]}]}"#;
        fs::write(place.path().join(EXPLAINED), far).unwrap();
        let error = read_explained(place.path()).unwrap_err().to_string();
        assert!(error.contains("activation 9 do not follow one another"), "{error}");
        // A stack repeats its names.
        let span = model::Span { depth: 0, name: 0, begin_ns: 0, length_ns: 0 };
        let timeline =
            Timeline { names: vec!["a".repeat(5_000)], spans: vec![span], left_out: None };
        let account = Account {
            thread: 0,
            activation: 9,
            latency_ns: 0,
            parts: Vec::new(),
            timeline,
            ..Account::default()
        };
        write_explained(place.path(), &Explained { accounts: vec![account], ..explained.clone() })
            .unwrap();
        let error = read_explained(place.path()).unwrap_err().to_string();
        assert!(error.contains("a name is longer than 4096 bytes"), "{error}");
        let name = Some("a".repeat(5_000));
        let program = model::ProgramThread { name, number: 7, priority: None, cpu: plan::CpuId(0) };
        let account = Account { program: Some(program), ..Account::default() };
        write_explained(place.path(), &Explained { accounts: vec![account], ..explained.clone() })
            .unwrap();
        let error = read_explained(place.path()).unwrap_err().to_string();
        assert!(error.contains("a name is longer than 4096 bytes"), "{error}");
        write_explained(place.path(), &Explained { version: 2, ..explained }).unwrap();
        assert!(read_explained(place.path()).unwrap_err().to_string().contains("version 2"));
    }
}

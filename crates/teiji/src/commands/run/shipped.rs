// SPDX-License-Identifier: MIT OR Apache-2.0
//! Plans shipped in the program: whoever has the program alone can run them by name.

use std::io::{self, ErrorKind};
use std::path::Path;
use system::files::{Links, OpenError, open_regular, read_up_to};

/// Name and text, as they lie in `plans/`.
pub const PLANS: [(&str, &str); 7] = [
    ("arm64-dev-zero", include_str!("../../../../../plans/arm64-dev-zero.toml")),
    ("desktop-4.19", include_str!("../../../../../plans/desktop-4.19.toml")),
    ("rpi3-three-kernels", include_str!("../../../../../plans/rpi3-three-kernels.toml")),
    ("rpi3-tuned", include_str!("../../../../../plans/rpi3-tuned.toml")),
    ("rtc-jitter", include_str!("../../../../../plans/rtc-jitter.toml")),
    ("three-responses", include_str!("../../../../../plans/three-responses.toml")),
    ("toshiba-memory", include_str!("../../../../../plans/toshiba-memory.toml")),
];

/// The text of a plan by its name, with or without `.toml`.
pub fn text(name: &Path) -> Option<&'static str> {
    let name = name.to_str()?;
    let name = name.strip_suffix(".toml").unwrap_or(name);
    PLANS.into_iter().find(|(known, _)| *known == name).map(|(_, text)| text)
}

/// What a plan measures, in its own words: the paragraph that it opens with.
pub fn about(text: &str) -> String {
    let comments = text.lines().map_while(|line| line.strip_prefix('#')).map(str::trim);
    comments.take_while(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Bytes of a plan that are read: it may be a stranger's.
const MAX_BYTES: u64 = 4 << 20;

/// Reads the file of a plan; where there is none, the shipped plan of that name.
pub fn read(path: &Path) -> io::Result<String> {
    match file_text(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            text(path).map(str::to_owned).ok_or_else(|| not_found(path, error))
        }
        read => read,
    }
}

/// Of a regular file: a device may have no end, and a FIFO waits for one who writes.
fn file_text(path: &Path) -> io::Result<String> {
    let file = open_regular(path, Links::Followed).map_err(OpenError::into_io)?;
    let bytes = read_up_to(&file, MAX_BYTES)?.ok_or_else(|| {
        io::Error::new(
            ErrorKind::FileTooLarge,
            format!("it is larger than {} MiB", MAX_BYTES >> 20),
        )
    })?;
    String::from_utf8(bytes)
        .map_err(|_| io::Error::new(ErrorKind::InvalidData, "stream did not contain valid UTF-8"))
}

/// What looks like a name rather than a path was meant to be a shipped plan.
fn not_found(path: &Path, error: io::Error) -> io::Error {
    if path.components().count() > 1
        || path.extension().is_some_and(|extension| extension == "toml")
    {
        return error;
    }
    let names = PLANS.map(|(name, _)| name).join(", ");
    io::Error::new(
        error.kind(),
        format!("no such file; the shipped plans are {names} (teiji plans)"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn every_plan_of_the_project_comes_along() {
        let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../plans"));
        let mut names: Vec<String> = fs::read_dir(folder)
            .unwrap()
            .filter_map(|entry| {
                Some(entry.unwrap().file_name().to_str()?.strip_suffix(".toml")?.to_owned())
            })
            .collect();
        names.sort();
        assert_eq!(names, PLANS.map(|(name, _)| name));
        for (name, text) in PLANS {
            assert!(
                about(text).ends_with('.') && about(text).len() > 40,
                "{name}: {}",
                about(text)
            );
        }
    }
}

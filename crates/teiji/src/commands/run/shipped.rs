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
    use crate::commands::run::plan_entry::PlanEntry;
    use crate::commands::run::settings::points;
    use plan::{CpuId, Plan, ProcessCpus};
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

    /// The page on plans: its examples, one upon the other, and the runs of each shipped plan.
    #[test]
    fn the_page_on_plans_is_true() {
        let page = include_str!("../../../../../docs/plans.md");
        let blocks: Vec<&str> = page.split("```toml\n").skip(1).collect();
        let blocks: Vec<&str> =
            blocks.iter().map(|block| block.split("```").next().unwrap()).collect();
        let [whole, more, policies, quick] = blocks[..] else { panic!("{} blocks", blocks.len()) };
        let example =
            Plan::read(Path::new("plan.toml"), &mut |_| Ok([whole, more, quick].concat()))
                .unwrap_or_else(|error| panic!("{error}"));
        let cpus = [0, 1, 2, 3].map(CpuId).to_vec();
        let cpus = ProcessCpus { inherited: cpus.clone(), usable: cpus, set_apart: Vec::new() };
        // 2 kernels, 3 intervals, 3 loads, without one and with one more.
        assert_eq!(points(&example, &cpus).unwrap().len(), 2 * 3 * 3 - 2 + 1);
        assert_eq!(points(&example.quick().unwrap(), &cpus).unwrap().len(), 2 * 3 + 1);
        let beside = Plan::read(Path::new("plan.toml"), &mut |_| Ok(policies.to_owned())).unwrap();
        let scheduling = |entry: &PlanEntry| entry.run.as_ref().unwrap().scheduling.to_string();
        let beside: Vec<String> = points(&beside, &cpus).unwrap().iter().map(scheduling).collect();
        assert_eq!(beside, ["SCHED_FIFO 80", "SCHED_OTHER"]);
        let row = |line: &str| {
            let (name, rest) = line.strip_prefix("| `")?.split_once(".toml` | ")?;
            Some((name.to_owned(), rest.split(' ').next()?.parse().ok()?))
        };
        let said: Vec<(String, usize)> = page.lines().filter_map(row).collect();
        let mut names: Vec<&str> = said.iter().map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        assert_eq!(names, PLANS.map(|(name, _)| name));
        for (name, runs) in &said {
            let plan = Plan::read(Path::new(name), &mut read).unwrap();
            let combinations = plan.combinations().unwrap().len();
            assert_eq!(plan.order.runs(combinations, 0).len(), *runs, "{name}");
        }
    }
}

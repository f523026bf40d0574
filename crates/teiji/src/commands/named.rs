// SPDX-License-Identifier: MIT OR Apache-2.0
//! What paths on a command line name: recordings, folders of plans, and folders of either.

use super::recordings::pools;
use super::run::{self, Begun};
use crate::exit::Failure;
use executor::PlannedBoot;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// What a path names.
pub enum Named {
    Recording(PathBuf),
    Plan(PathBuf),
}

/// Whether one of them is a folder of recordings rather than a recording.
pub fn has_folder(paths: &[PathBuf]) -> bool {
    paths.iter().any(|path| {
        let is_recording =
            matches!(named(path).as_deref(), Ok([Named::Recording(found)]) if found == path);
        !is_recording
    })
}

/// The folders of plans among what was named, also those within a folder.
pub fn plans(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let all = all_named(paths)?.into_iter();
    Ok(all.filter_map(|one| if let Named::Plan(path) = one { Some(path) } else { None }).collect())
}

/// A recording that was named.
pub struct Found {
    pub path: PathBuf,
    /// By itself, not with its folder.
    alone: bool,
}

/// What is judged together: of recordings that were named with their folder the phases of one run,
/// everything else by itself.
pub fn judged_together(found: &[Found]) -> Result<Vec<Vec<PathBuf>>, Failure> {
    let (alone, with_folder): (Vec<&Found>, Vec<&Found>) = found.iter().partition(|one| one.alone);
    let groups = alone.into_iter().map(|one| vec![one.path.clone()]);
    let with_folder: Vec<PathBuf> = with_folder.into_iter().map(|one| one.path.clone()).collect();
    Ok(groups.chain(pools(&with_folder)?).collect())
}

/// Every recording that was named, by itself or with its folder, each once; and how many runs of
/// plans have none, those of boots among them that nobody has made.
pub fn recordings(paths: &[PathBuf]) -> Result<(Vec<Found>, usize), Failure> {
    let mut found: Vec<Found> = Vec::new();
    let (mut missing, mut known) = (0, BTreeSet::new());
    for path in each_once(paths) {
        let mut boots = Boots::default();
        for one in named(path)? {
            match one {
                Named::Recording(recording) => {
                    let alone = recording == *path;
                    found.push(Found { path: recording, alone });
                }
                Named::Plan(path) => {
                    let begun = Begun::read(&path)?;
                    if known.insert(same(&path)) {
                        missing +=
                            begun.runs.iter().filter(|(_, recording)| recording.is_none()).count();
                    }
                    boots.add(path, &begun);
                    let recordings = begun.runs.into_iter().filter_map(|(_, recording)| recording);
                    found.extend(recordings.map(|path| Found { path, alone: false }));
                }
            }
        }
        missing += boots.missing(path).iter().map(|one| one.runs).sum::<usize>();
    }
    let mut known = BTreeSet::new();
    found.retain(|one| known.insert(same(&one.path)));
    Ok((found, missing))
}

/// The folders of boots that one path names, by their plans.
#[derive(Default)]
pub struct Boots {
    plans: Vec<OfPlan>,
}

/// The folders of one plan.
struct OfPlan {
    /// As all of its boots have it.
    text: String,
    folders: Vec<PathBuf>,
    /// Of each boot. Of one whose kernel makes the probe `auto` another that is named too, fewer.
    runs: usize,
}

/// A boot that a plan asks for and nobody has made.
pub struct BootMissing {
    pub boot: PlannedBoot,
    /// Its runs.
    pub runs: usize,
}

impl Boots {
    pub fn add(&mut self, folder: PathBuf, begun: &Begun) {
        let (text, runs) = (run::in_each_boot(&begun.plan, 0), begun.runs.len());
        match self.plans.iter_mut().find(|plan| plan.text == text) {
            Some(plan) => {
                plan.runs = plan.runs.max(runs);
                plan.folders.push(folder);
            }
            None => self.plans.push(OfPlan { text, folders: vec![folder], runs }),
        }
    }

    /// The boots that each of the plans asks for and nobody has made. One boot that is named by
    /// itself is all that was asked for.
    pub fn missing(&self, path: &Path) -> Vec<BootMissing> {
        let plans = self.plans.iter().filter(|_| !run::is_folder(path));
        let missing = plans.flat_map(|plan| {
            let boots = executor::boots_missing(&plan.folders).into_iter();
            boots.map(|boot| BootMissing { runs: boot.runs.unwrap_or(plan.runs), boot })
        });
        missing.collect()
    }
}

/// These paths, each once by whichever name.
pub fn each_once(paths: &[PathBuf]) -> impl Iterator<Item = &PathBuf> {
    let mut known = BTreeSet::new();
    paths.iter().filter(move |path| known.insert(same(path)))
}

/// A path that is the same for each name of a recording.
pub fn same(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

fn all_named(paths: &[PathBuf]) -> Result<Vec<Named>, Failure> {
    let mut all = Vec::new();
    for path in paths {
        all.extend(named(path)?);
    }
    Ok(all)
}

/// What lies there: a recording, the folder of a plan, or a folder of such.
pub fn named(path: &Path) -> anyhow::Result<Vec<Named>> {
    let one = |path: PathBuf| {
        if run::is_folder(&path) { Named::Plan(path) } else { Named::Recording(path) }
    };
    let is_either = |path: &PathBuf| run::is_folder(path) || path.join("run.json").is_file();
    if !path.is_dir() || is_either(&path.to_owned()) {
        return Ok(vec![one(path.to_owned())]);
    }
    let mut within = executor::entries(path)?;
    within.retain(is_either);
    // What a folder points to is named by whoever wants it read.
    for path in &within {
        recording::within(path)?;
    }
    // An empty one is called what it is not: a recording.
    Ok(if within.is_empty() {
        vec![one(path.to_owned())]
    } else {
        within.into_iter().map(one).collect()
    })
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! The folder of a plan that is made boot by boot: a folder for each boot, by the name of its
//! kernel, which is the folder of a plan like any other.

use crate::boots::{Boot, PlannedBoot};
use crate::folder;
use anyhow::{Context, bail};
use std::path::{Path, PathBuf};

impl Boot {
    /// Where its folder is, or is to be: that of another boot of the same kernel has its name
    /// already.
    ///
    /// # Errors
    /// When the folder cannot be read, or is not a folder of boots.
    pub fn folder(&self, root: &Path) -> anyhow::Result<PathBuf> {
        if let Some((path, _)) = boots(root)?.into_iter().find(|(_, boot)| boot == self) {
            return Ok(path);
        }
        let plain = |c: char| if c.is_ascii_alphanumeric() || "-.+".contains(c) { c } else { '_' };
        let kernel: String = self.kernel.chars().map(plain).collect();
        let name =
            |number: u32| if number == 1 { kernel.clone() } else { format!("{kernel}.{number}") };
        (1..)
            .map(|number| root.join(name(number)))
            .find(|path| !path.exists())
            .context("too many boots")
    }
}

/// The boots that have a folder in this one.
///
/// # Errors
/// When it cannot be read, or is not a folder of boots.
pub fn boots(root: &Path) -> anyhow::Result<Vec<(PathBuf, Boot)>> {
    if folder::plan_file(root).is_file() {
        bail!(
            "{} is the folder of a plan that was started without --here, or of one boot: choose \
             another name with -o",
            root.display()
        );
    }
    if root.symlink_metadata().is_err() {
        return Ok(Vec::new());
    }
    let paths = folder::entries(root)?;
    let boots = paths.iter().filter_map(|path| folder::boot(path).map(|boot| (path.clone(), boot)));
    let boots: Vec<_> = boots.collect();
    if boots.is_empty() && !paths.is_empty() {
        bail!(
            "{} exists already, and has no boot of a plan in it: choose another name with -o",
            root.display()
        );
    }
    Ok(boots)
}

/// The kernel of the boot that a folder is of, where the folder's plan does not ask for that boot.
pub fn unplanned_kernel(folder: &Path) -> Option<String> {
    let boot = folder::boot(folder)?;
    (!PlannedBoot::includes(&folder::planned_boots(folder), &boot)).then_some(boot.kernel)
}

/// Of the boots that the plan of these folders asks for, those that are not among them.
pub fn boots_missing(folders: &[PathBuf]) -> Vec<PlannedBoot> {
    let made: Vec<Boot> = folders.iter().filter_map(|folder| folder::boot(folder)).collect();
    let mut planned_boots: Vec<PlannedBoot> = Vec::new();
    for boot in folders.iter().flat_map(|folder| folder::planned_boots(folder)) {
        if !planned_boots.contains(&boot) {
            planned_boots.push(boot);
        }
    }
    PlannedBoot::missing(&planned_boots, &made)
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where tracefs is, what its kernel has, and who uses it.

use crate::owner::Owner;
use crate::{TraceError, journal};
use rustix::fs::CWD;
use rustix::io::Errno;
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const PLACES: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];
/// Where journals of what is borrowed are kept.
const JOURNALS: &str = "/run/teiji";
/// Tracers that exclude one another, or share settings.
const EXCLUSIVE: [&str; 3] = ["hwlat", "osnoise", "timerlat"];
/// The tracer of an instance that has none.
pub(crate) const NO_TRACER: &str = "nop";

/// The file system of the kernel's tracers.
#[derive(Clone, Debug)]
pub struct Tracefs {
    pub(crate) root: PathBuf,
    pub(crate) journals: PathBuf,
    pub(crate) proc: PathBuf,
    /// Where it was mounted nowhere: a mount that is in no directory and goes with this process.
    _mount: Option<Arc<OwnedFd>>,
}

impl Tracefs {
    /// Finds it. Where it is not mounted, a mount is made that only this process sees.
    ///
    /// # Errors
    /// What the machine lacks, or which right.
    pub fn find() -> Result<Self, TraceError> {
        for place in PLACES {
            match fs::metadata(Path::new(place).join("available_tracers")) {
                Ok(_) => return Ok(Self::at(Path::new(place), Path::new(JOURNALS))),
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                    return Err(no_right());
                }
                Err(_) => {}
            }
        }
        let mount = mount()?;
        let root = PathBuf::from(format!("/proc/self/fd/{}", mount.as_raw_fd()));
        fs::metadata(root.join("available_tracers"))
            .map_err(|error| TraceError::file("use", &root, error))?;
        Ok(Tracefs { _mount: Some(Arc::new(mount)), ..Self::at(&root, Path::new(JOURNALS)) })
    }

    /// The one in this folder, with journals in another.
    pub(crate) fn at(root: &Path, journals: &Path) -> Self {
        Tracefs {
            root: root.to_owned(),
            journals: journals.to_owned(),
            proc: "/proc".into(),
            _mount: None,
        }
    }

    /// Says that this kernel lacks a tracer, where it does.
    ///
    /// # Errors
    /// With the kernel option that is missing, such as `CONFIG_TIMERLAT_TRACER`.
    pub fn needs_tracer(&self, tracer: &str, option: &str) -> Result<(), TraceError> {
        let path = self.root.join("available_tracers");
        let text = fs::read_to_string(&path).map_err(|error| self.denied(error, &path))?;
        if text.split_ascii_whitespace().any(|one| one == tracer) {
            return Ok(());
        }
        let there = text.split_ascii_whitespace().collect::<Vec<_>>().join(", ");
        Err(TraceError::Missing(format!(
            "this kernel has no {tracer} tracer, only {there}. It takes a kernel built with \
             {option}"
        )))
    }

    /// Says that this kernel's tracers lack an option, where they do.
    ///
    /// # Errors
    /// With the file that does not have it, such as `osnoise/options`, and the kernels that do.
    pub fn needs_option(&self, file: &str, option: &str, kernels: &str) -> Result<(), TraceError> {
        let text = fs::read_to_string(self.root.join(file)).unwrap_or_default();
        if text
            .split_ascii_whitespace()
            .any(|word| word.strip_prefix("NO_").unwrap_or(word) == option)
        {
            return Ok(());
        }
        Err(TraceError::Missing(format!(
            "this kernel has no option {option} ({file} of tracefs). It takes {kernels}"
        )))
    }

    /// Says that this kernel lacks a file of tracefs, where it does.
    ///
    /// # Errors
    /// With the file, and the kernels that have it.
    pub fn needs_file(&self, file: &str, kernels: &str) -> Result<(), TraceError> {
        if self.root.join(file).exists() {
            return Ok(());
        }
        Err(TraceError::Missing(format!(
            "this kernel has no {file} in tracefs. It takes {kernels}"
        )))
    }

    /// Says who uses one of the tracers osnoise, timerlat and hwlat, which share settings, if
    /// anybody does. What killed processes left is removed first; what this process does is not
    /// counted.
    ///
    /// # Errors
    /// Who.
    pub fn needs_idle_tracers(&self) -> Result<(), TraceError> {
        self.recover()?;
        let own = Owner::this_process(&self.proc);
        let top = (self.root.clone(), "the top instance of tracefs".to_owned());
        let others = self
            .instances()
            .into_iter()
            .filter(|name| own.is_none() || Owner::of(name) != own)
            .map(|name| (self.root.join("instances").join(&name), format!("the instance {name}")));
        for (folder, name) in std::iter::once(top).chain(others) {
            let tracer = fs::read_to_string(folder.join("current_tracer")).unwrap_or_default();
            let tracer = tracer.trim();
            if EXCLUSIVE.contains(&tracer) {
                return Err(TraceError::Busy(format!(
                    "{name} uses the {tracer} tracer, whose settings are shared. End that first"
                )));
            }
        }
        Ok(())
    }

    /// Removes instances of ours whose process was killed, and restores what it had borrowed.
    ///
    /// # Errors
    /// What could not be removed or restored.
    pub(crate) fn recover(&self) -> Result<(), TraceError> {
        for name in self.instances() {
            if Owner::of(&name).is_some_and(|owner| owner.has_ended(&self.proc)) {
                let folder = self.root.join("instances").join(name);
                remove_instance(&folder).map_err(|error| self.denied(error, &folder))?;
            }
        }
        journal::recover(&self.root, &self.journals, &self.proc)
    }

    /// Removes what killed processes left, where this process may see it: how many instances. None
    /// where there are none.
    ///
    /// # Errors
    /// What could not be removed or restored.
    pub fn remove_left() -> Option<Result<usize, TraceError>> {
        let tracefs = Tracefs::find().ok()?;
        let is_left =
            |name: &String| Owner::of(name).is_some_and(|owner| owner.has_ended(&tracefs.proc));
        let left = tracefs.instances().iter().filter(|name| is_left(name)).count();
        (left > 0).then(|| tracefs.recover().map(|()| left))
    }

    /// The names of all instances.
    pub(crate) fn instances(&self) -> Vec<String> {
        let entries = fs::read_dir(self.root.join("instances")).into_iter().flatten().flatten();
        let mut names: Vec<String> =
            entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort();
        names
    }

    pub(crate) fn denied(&self, error: io::Error, path: &Path) -> TraceError {
        if error.kind() == io::ErrorKind::PermissionDenied {
            no_right()
        } else {
            TraceError::file("use", path, error)
        }
    }
}

fn no_right() -> TraceError {
    TraceError::Missing("tracefs may not be used by this user. Run it as root".to_owned())
}

/// Mounts it in no directory: nobody else sees it, and it goes with its file descriptor.
fn mount() -> Result<OwnedFd, TraceError> {
    let made = fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC).and_then(|context| {
        fsconfig_create(&context)?;
        fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::MOUNT_ATTR_NODEV)
    });
    made.map_err(|error| match error {
        Errno::NODEV => TraceError::Missing(
            "this kernel has no tracefs. It takes one built with CONFIG_TRACING".to_owned(),
        ),
        Errno::PERM | Errno::ACCESS => no_right(),
        Errno::NOSYS => TraceError::Missing(
            "tracefs is not mounted. Mount it: mount -t tracefs tracefs /sys/kernel/tracing"
                .to_owned(),
        ),
        error => TraceError::file("mount tracefs for", PLACES[0], error.into()),
    })
}

/// Stops an instance and removes it. Whoever still has a file of it open is waited for a moment.
pub(crate) fn remove_instance(folder: &Path) -> io::Result<()> {
    for (file, value) in [("tracing_on", "0"), ("current_tracer", NO_TRACER)] {
        // It may be half made, or gone.
        let _ = fs::OpenOptions::new()
            .write(true)
            .open(folder.join(file))
            .and_then(|mut file| io::Write::write_all(&mut file, value.as_bytes()));
    }
    for _ in 0..BUSY_RETRIES {
        match rustix::fs::unlinkat(CWD, folder, rustix::fs::AtFlags::REMOVEDIR) {
            Err(Errno::BUSY) => std::thread::sleep(BUSY_REST),
            Ok(()) | Err(Errno::NOENT) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
    }
    Err(Errno::BUSY.into())
}

const BUSY_RETRIES: u32 = 100;
const BUSY_REST: std::time::Duration = std::time::Duration::from_millis(10);

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(tracers: &[(&str, &str)]) -> (tempfile::TempDir, Tracefs) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("tracing");
        fs::create_dir_all(root.join("instances")).unwrap();
        fs::write(root.join("available_tracers"), "blk function nop\n").unwrap();
        for (place, tracer) in tracers {
            fs::create_dir_all(root.join(place)).unwrap();
            fs::write(root.join(place).join("current_tracer"), format!("{tracer}\n")).unwrap();
        }
        let tracefs = Tracefs::at(&root, &folder.path().join("run"));
        (folder, tracefs)
    }

    #[test]
    fn a_tracer_that_is_not_there_is_named_with_its_option() {
        let (_folder, tracefs) = machine(&[]);
        let refused =
            tracefs.needs_tracer("timerlat", "CONFIG_TIMERLAT_TRACER").unwrap_err().to_string();
        assert!(
            refused.contains("only blk, function, nop")
                && refused.contains("CONFIG_TIMERLAT_TRACER"),
            "{refused}"
        );
        assert!(tracefs.needs_tracer("nop", "").is_ok());
    }

    #[test]
    fn an_option_that_is_not_there_is_named_with_the_kernels_that_have_it() {
        let (_folder, tracefs) = machine(&[]);
        let refused = |tracefs: &Tracefs| {
            tracefs.needs_option("osnoise/options", "OSNOISE_WORKLOAD", "Linux 6.2")
        };
        let text = refused(&tracefs).unwrap_err().to_string();
        assert!(text.contains("OSNOISE_WORKLOAD") && text.contains("It takes Linux 6.2"), "{text}");
        fs::create_dir_all(tracefs.root.join("osnoise")).unwrap();
        for (options, has_it) in [
            ("DEFAULTS OSNOISE_WORKLOAD NO_PANIC_ON_STOP", true),
            ("NO_OSNOISE_WORKLOAD", true),
            ("DEFAULTS", false),
        ] {
            fs::write(tracefs.root.join("osnoise/options"), options).unwrap();
            assert_eq!(refused(&tracefs).is_ok(), has_it, "{options}");
        }
    }

    #[test]
    fn whoever_uses_such_a_tracer_is_named() {
        for (place, who) in [
            ("", "the top instance"),
            ("instances/rtla_timerlat_top", "the instance rtla_timerlat_top"),
        ] {
            let (_folder, tracefs) = machine(&[(place, "timerlat")]);
            let refused = tracefs.needs_idle_tracers().unwrap_err();
            assert!(
                matches!(&refused, TraceError::Busy(text) if text.starts_with(who)),
                "{refused}"
            );
        }
        let (_folder, tracefs) = machine(&[("", "nop"), ("instances/other", "function")]);
        assert!(tracefs.needs_idle_tracers().is_ok());
    }

    /// Ours are removed when their process has ended. All others stay.
    #[test]
    fn only_what_dead_processes_of_ours_left_is_removed() {
        let (_folder, tracefs) = machine(&[]);
        let alive = Owner::this_process(Path::new("/proc")).unwrap().name(0);
        let mut parts: Vec<&str> = alive.split('-').collect();
        parts[2] = "1";
        let dead = parts.join("-");
        for name in [alive.as_str(), &dead, "teiji-1-1-1-0", "somebody", "teiji"] {
            fs::create_dir(tracefs.root.join("instances").join(name)).unwrap();
        }
        tracefs.recover().unwrap();
        let left = tracefs.instances();
        assert_eq!(left.len(), 4);
        assert!(!left.contains(&dead));
    }
}

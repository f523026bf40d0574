// SPDX-License-Identifier: MIT OR Apache-2.0
//! One setting of the kernel: a file below /proc/sys, /proc/irq or /sys that holds a value.

use super::own_group::{self, write_at_once};
use check::thread_of_line;
use host::cpu::of_mask;
use host::{HostRoot, cpu, kernel, regular_file};
use plan::CpuId;
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};
use std::fs::OpenOptions;
use std::io::{self, ErrorKind};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;

/// How a file writes its value down, which decides when two texts mean the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Form {
    Plain,
    /// All choices, the one in force in brackets. Only that one is written.
    Choice,
    /// `0-3,5`.
    CpuList,
    /// `ff,0000000f`.
    CpuMask,
    /// A mask that the kernel takes CPUs from that are isolated meanwhile. What was asked for
    /// stands in a file of its own.
    RequestedMask,
    /// The real-time priority of a thread in its `stat`, which began at this time: its number may
    /// be another one's later.
    Priority {
        started: u64,
    },
    /// Controllers of control groups. One is added, and removed again.
    Controllers,
    /// A control group of our own by its folder, with its CPUs. Nothing where it is not there.
    OwnGroup,
}

impl Form {
    pub(super) const fn is_priority(self) -> bool {
        matches!(self, Form::Priority { .. })
    }

    /// Whether two texts of such a file mean the same.
    pub(super) fn is_same(self, one: &str, other: &str) -> bool {
        let (one, other) = (one.trim(), other.trim());
        let parsed = |parse: fn(&str) -> Option<Vec<CpuId>>| {
            parse(one).is_some_and(|cpus| Some(cpus) == parse(other))
        };
        one == other
            || match self {
                Form::Plain | Form::Priority { .. } => false,
                Form::Controllers => has(one, other) || has(other, one),
                Form::Choice => chosen(one) == chosen(other),
                // Cut off before it had CPUs, it is ours all the same.
                Form::OwnGroup if one == own_group::UNFINISHED => !other.is_empty(),
                Form::CpuList | Form::OwnGroup => parsed(cpu::list),
                Form::CpuMask | Form::RequestedMask => parsed(of_mask),
            }
    }

    /// Whether a file is as it was first, byte for byte. Of controllers only the one that is added
    /// counts: others come and go by others.
    pub(super) fn is_back(self, now: &str, first: &str) -> bool {
        match self {
            Form::Controllers => has(now, ADD_CPUSET) == has(first, ADD_CPUSET),
            _ => now == first,
        }
    }

    /// What is written so that the file says this.
    pub(super) fn value(self, text: &str) -> &str {
        match self {
            Form::Choice => chosen(text),
            Form::Controllers if text != ADD_CPUSET => "-cpuset",
            _ => text,
        }
    }
}

/// Adds the controller of CPUs.
pub(super) const ADD_CPUSET: &str = "+cpuset";

/// Whether controllers have the one that another text adds.
fn has(controllers: &str, added: &str) -> bool {
    added
        .strip_prefix('+')
        .is_some_and(|added| controllers.split_whitespace().any(|name| name == added))
}

fn chosen(text: &str) -> &str {
    kernel::chosen(text).unwrap_or(text)
}

/// What a mask was asked to be, where the kernel says it: since Linux 6.7, of workqueues.
pub(super) fn requested(root: &HostRoot, file: &str) -> Option<String> {
    let requested = format!("{file}_requested");
    root.path(&requested).exists().then_some(requested)
}

/// What a file says, as it is; of a thread its priority, and of a requested mask what was asked
/// for.
pub(super) fn read(root: &HostRoot, file: &str, form: Form) -> io::Result<String> {
    if form == Form::OwnGroup {
        return own_group::read(root, file);
    }
    let requested = if form == Form::RequestedMask { requested(root, file) } else { None };
    let text = regular_file::text(&root.path(requested.as_deref().unwrap_or(file)))?;
    let Form::Priority { started } = form else { return Ok(text) };
    let same = thread_of_line(0, &text)
        .filter(|thread| thread.started == started)
        .ok_or(ErrorKind::NotFound)?;
    Ok(same.priority.to_string())
}

/// The thread of a file such as `proc/PID/task/TID/stat`.
fn thread_of(file: &str) -> Option<u32> {
    file.strip_prefix("proc/")?.strip_suffix("/stat")?.rsplit('/').next()?.parse().ok()
}

/// The same line with another priority.
fn with_priority(line: &str, priority: &str) -> Option<String> {
    let (name, rest) = line.rsplit_once(") ")?;
    let mut fields: Vec<&str> = rest.split(' ').collect();
    // The third field is the first after the name, and the priority is the 40th.
    *fields.get_mut(37)? = priority;
    Some(format!("{name}) {}", fields.join(" ")))
}

/// Where a setting's file really lies. No link leads to other files: below a root that stands for a
/// machine, they may be anybody's.
fn real_path(root: &HostRoot, file: &str) -> io::Result<PathBuf> {
    let real = root.path(file).canonicalize()?;
    let below = |folder: &str| {
        root.path(folder).canonicalize().is_ok_and(|folder| real.starts_with(folder))
    };
    // Tests have the kernel refuse values by links to files of its own.
    let is_of_a_test = cfg!(test) && real.starts_with("/proc");
    if below("proc") || below("sys") || is_of_a_test {
        return Ok(real);
    }
    Err(io::Error::other("it is a link to a file that is no setting of this machine"))
}

/// Writes a value, at once: the kernel takes each write as a value of its own.
pub(super) fn write(root: &HostRoot, file: &str, form: Form, text: &str) -> io::Result<()> {
    if form.is_priority() && root.is_system() {
        let (thread, priority) = (thread_of(file), text.trim().parse().ok());
        return thread
            .zip(priority)
            .ok_or(ErrorKind::InvalidData.into())
            .and_then(|(thread, priority)| system::scheduling::set_priority(thread, priority));
    }
    if form == Form::OwnGroup {
        return own_group::write(root, file, text);
    }
    let shown;
    let text = if root.is_system() {
        form.value(text)
    } else {
        // There no kernel shows all choices again.
        shown = as_shown(&read(root, file, Form::Plain)?, form, text);
        if let Some(requested) = requested(root, file).filter(|_| form == Form::RequestedMask) {
            std::fs::write(root.path(&requested), &shown)?;
        }
        &shown
    };
    let no_link = OFlags::NOFOLLOW.bits().cast_signed();
    let mut options = OpenOptions::new();
    options.write(true).truncate(true).custom_flags(no_link);
    write_at_once(options.open(real_path(root, file)?)?, text)
}

/// As the kernel shows it when it has taken it.
fn as_shown(before: &str, form: Form, text: &str) -> String {
    if form == Form::Controllers && text == ADD_CPUSET {
        return format!("{} cpuset\n", before.trim()).trim_start().to_owned();
    }
    if form == Form::Controllers {
        let left: Vec<&str> = before.split_whitespace().filter(|name| *name != "cpuset").collect();
        let is_first = left == text.split_whitespace().collect::<Vec<_>>();
        return if is_first { text.to_owned() } else { format!("{}\n", left.join(" ")) };
    }
    if form.is_priority() {
        return with_priority(before, text.trim()).unwrap_or_else(|| before.to_owned());
    }
    let value = form.value(text).trim();
    if form != Form::Choice || text.contains('[') {
        return text.to_owned();
    }
    let choice = |word: &str| match word.trim_matches(['[', ']']) {
        word if word == value => format!("[{word}]"),
        word => word.to_owned(),
    };
    let end = if before.ends_with('\n') { "\n" } else { "" };
    before.split_whitespace().map(choice).collect::<Vec<_>>().join(" ") + end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_link_leads_to_a_file_that_is_no_setting() {
        let (dir, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let root = HostRoot::at(dir.path());
        std::fs::create_dir_all(root.path("sys/devices")).unwrap();
        std::fs::create_dir_all(root.path("etc")).unwrap();
        let write = |file: &str| write(&root, file, Form::Plain, "1");
        for victim in [outside.path().join("victim"), root.path("etc/victim")] {
            std::fs::write(&victim, "0").unwrap();
            let _ = std::fs::remove_file(root.path("sys/a"));
            std::os::unix::fs::symlink(&victim, root.path("sys/a")).unwrap();
            assert!(
                write("sys/a").unwrap_err().to_string().contains("is no setting of this machine")
            );
            assert_eq!(std::fs::read_to_string(&victim).unwrap(), "0");
        }
        // As the kernel has them below /sys.
        std::fs::write(root.path("sys/devices/a"), "0").unwrap();
        std::os::unix::fs::symlink("devices", root.path("sys/bus")).unwrap();
        write("sys/bus/a").unwrap();
        assert_eq!(std::fs::read_to_string(root.path("sys/devices/a")).unwrap(), "1");
    }

    #[test]
    fn the_same_value_in_other_words() {
        for (form, one, other) in [
            (Form::Plain, "120\n", "120"),
            (Form::Choice, "always madvise [never]\n", "never"),
            (Form::Choice, "[always] madvise never", "[always] madvise never\n"),
            (Form::CpuList, "0,1", "0-1\n"),
            (Form::CpuMask, "00000003", "3"),
            (Form::CpuMask, "0,00000003", "3"),
            (Form::Controllers, "cpuset cpu io\n", "+cpuset"),
        ] {
            assert!(form.is_same(one, other), "{one} {other}");
        }
        for (form, one, other) in [
            (Form::Plain, "120", "12"),
            (Form::Choice, "always [madvise] never", "never"),
            (Form::CpuList, "x", "y"),
            (Form::CpuMask, "10", "1"),
            (Form::CpuList, "\n", "0"),
            (Form::Controllers, "cpu io\n", "+cpuset"),
        ] {
            assert!(!form.is_same(one, other), "{one} {other}");
        }
    }
}

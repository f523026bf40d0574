// SPDX-License-Identifier: MIT OR Apache-2.0
//! Knobs that all tracers of the machine share, borrowed.
//!
//! Before a knob is written for the first time, a line in a journal says what it was and what it
//! will be. The journal lies in `/run/teiji`, which goes when the machine goes down, as what is set
//! in tracefs does. Who borrows holds a lock beside it, which the kernel releases when the process
//! ends, however it ends. The next one that comes finds the journal and restores.

use crate::TraceError;
use crate::owner::Owner;
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use system::files::{self, Lock, open_lock};

const LOCK: &str = "tracefs.lock";
const ENDING: &str = ".knobs";
/// Of a knob that is one option of a file, what stands between the two. Its value is the option's
/// name, or `NO_` and its name.
pub(crate) const OPTION: char = '#';

/// The knobs that one process has borrowed.
pub(crate) struct Borrowed {
    tracefs: PathBuf,
    journal: PathBuf,
    knobs: Vec<Knob>,
    /// Held as long as anything is borrowed.
    _lock: Lock,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Knob {
    name: String,
    before: String,
    /// What it was last set to.
    set: String,
}

impl Borrowed {
    /// Restores what killed processes left, and gets the right to borrow.
    pub(crate) fn begin(
        tracefs: &Path,
        folder: &Path,
        proc: &Path,
        name: &str,
    ) -> Result<Self, TraceError> {
        let lock = match lock(folder)? {
            Locked::Ours(lock) => lock,
            Locked::Anothers(who) => {
                return Err(TraceError::Busy(format!(
                    "another teiji uses the settings of the kernel's tracers: {who}"
                )));
            }
        };
        // For whoever comes meanwhile.
        let holder = format!("process {}", std::process::id());
        let written = lock.0.set_len(0).and_then(|()| (&lock.0).write_all(holder.as_bytes()));
        written.map_err(|error| TraceError::file("write", folder.join(LOCK), error))?;
        restore_left(tracefs, folder, proc)?;
        Ok(Borrowed {
            tracefs: tracefs.to_owned(),
            journal: folder.join(format!("{name}{ENDING}")),
            knobs: Vec::new(),
            _lock: lock,
        })
    }

    /// Sets a knob, and reads back what it is then.
    pub(crate) fn set(&mut self, name: &str, value: &str) -> Result<(), TraceError> {
        let (path, option) = place(&self.tracefs, name);
        let before = read(&path, option)?;
        if before == value && self.knobs.iter().all(|knob| knob.name != name) {
            return Ok(());
        }
        let before = match self.knobs.iter().find(|knob| knob.name == name) {
            Some(knob) => knob.before.clone(),
            None => before,
        };
        let knob = Knob { name: name.to_owned(), before, set: value.to_owned() };
        self.note(&knob)?;
        self.knobs.retain(|other| other.name != name);
        self.knobs.push(knob);
        write(&path, value)?;
        let now = read(&path, option)?;
        if now == value {
            return Ok(());
        }
        let refused = io::Error::other(format!("it was set to '{value}' and is '{now}'"));
        Err(TraceError::file("set", path, refused))
    }

    /// Appends a line, which is on its way to the file before the knob is written: a process that
    /// is killed leaves it there.
    fn note(&self, knob: &Knob) -> Result<(), TraceError> {
        let failed = |error| TraceError::file("write the journal", &self.journal, error);
        let mut file =
            OpenOptions::new().create(true).append(true).open(&self.journal).map_err(failed)?;
        file.write_all(format!("{}\t{}\t{}\n", knob.name, knob.before, knob.set).as_bytes())
            .map_err(failed)
    }

    /// Restores all of them, the last one first.
    pub(crate) fn end(&mut self) -> Result<(), TraceError> {
        restore(&self.tracefs, &self.knobs)?;
        self.knobs.clear();
        remove(&self.journal)
    }
}

impl Drop for Borrowed {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

enum Locked {
    Ours(Lock),
    Anothers(String),
}

/// Others see what is lent, and lend nothing.
const FOLDER: u32 = 0o755;
fn lock(folder: &Path) -> Result<Locked, TraceError> {
    let path = folder.join(LOCK);
    let failed = |error| TraceError::file("make", &path, error);
    DirBuilder::new().recursive(true).mode(FOLDER).create(folder).map_err(failed)?;
    let lock = Lock(open_lock(&path).map_err(failed)?);
    match lock.0.try_lock() {
        Ok(()) => Ok(Locked::Ours(lock)),
        Err(TryLockError::WouldBlock) => {
            Ok(Locked::Anothers(fs::read_to_string(&path).unwrap_or_default()))
        }
        Err(TryLockError::Error(error)) => Err(failed(error)),
    }
}

/// Restores what killed processes left, if nobody borrows now: who does has done that already.
pub(crate) fn recover(tracefs: &Path, folder: &Path, proc: &Path) -> Result<(), TraceError> {
    if journals(folder).is_empty() {
        return Ok(());
    }
    match lock(folder)? {
        Locked::Ours(_lock) => restore_left(tracefs, folder, proc),
        Locked::Anothers(_) => Ok(()),
    }
}

fn restore_left(tracefs: &Path, folder: &Path, proc: &Path) -> Result<(), TraceError> {
    for journal in journals(folder) {
        let name = journal.file_name().unwrap_or_default().to_string_lossy();
        let owner = name.strip_suffix(ENDING).and_then(Owner::of);
        if owner.is_none_or(|owner| !owner.has_ended(proc)) {
            continue;
        }
        let text = fs::read_to_string(&journal)
            .map_err(|error| TraceError::file("read", &journal, error))?;
        restore(tracefs, &parse(&text))?;
        remove(&journal)?;
    }
    Ok(())
}

fn journals(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut found: Vec<PathBuf> =
        entries.filter(|path| path.to_string_lossy().ends_with(ENDING)).collect();
    found.sort();
    found
}

/// The knobs of a journal, each with its first value and its last. A line without an end was being
/// written when the process was killed: its knob was not set yet.
fn parse(text: &str) -> Vec<Knob> {
    let mut knobs: Vec<Knob> = Vec::new();
    for line in text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n')) {
        let mut fields = line.split('\t');
        let (Some(name), Some(before), Some(set), None) =
            (fields.next(), fields.next(), fields.next(), fields.next())
        else {
            continue;
        };
        let plain = Path::new(name)
            .components()
            .all(|part| matches!(part, std::path::Component::Normal(_)));
        match knobs.iter_mut().find(|knob| knob.name == name) {
            Some(knob) => set.clone_into(&mut knob.set),
            None if plain => knobs.push(Knob {
                name: name.to_owned(),
                before: before.to_owned(),
                set: set.to_owned(),
            }),
            None => {}
        }
    }
    knobs
}

/// Restores those that still are as they were set: another value is somebody else's by now. The
/// kernel may take one only when another is restored, so those that it refuses are tried again as
/// long as any is taken.
fn restore(tracefs: &Path, knobs: &[Knob]) -> Result<(), TraceError> {
    let mut left: Vec<&Knob> = knobs.iter().rev().collect();
    loop {
        let before = left.len();
        let mut failed = Vec::new();
        left.retain(|knob| restore_one(tracefs, knob).map_err(|error| failed.push(error)).is_err());
        if left.is_empty() {
            return Ok(());
        }
        if left.len() == before {
            return Err(TraceError::NotRestored(failed));
        }
    }
}

fn restore_one(tracefs: &Path, knob: &Knob) -> Result<(), String> {
    let (path, option) = place(tracefs, &knob.name);
    let wanted = |error: String| format!("{} to '{}': {error}", path.display(), knob.before);
    let now = read(&path, option).map_err(|error| wanted(error.to_string()))?;
    if now == knob.before || now != knob.set {
        return Ok(());
    }
    write(&path, &knob.before).map_err(|error| wanted(error.to_string()))?;
    match read(&path, option) {
        Ok(now) if now == knob.before => Ok(()),
        Ok(now) => Err(wanted(format!("it is '{now}'"))),
        Err(error) => Err(wanted(error.to_string())),
    }
}

/// The file of a knob, and which option of it, if it is one.
fn place<'a>(tracefs: &Path, name: &'a str) -> (PathBuf, Option<&'a str>) {
    let (file, option) =
        name.split_once(OPTION).map_or((name, None), |(file, option)| (file, Some(option)));
    (tracefs.join(file), option)
}

fn read(path: &Path, option: Option<&str>) -> Result<String, TraceError> {
    let text = File::open(path)
        .and_then(read_whole)
        .map_err(|error| TraceError::file("read", path, error))?;
    let Some(option) = option else {
        let text = text.trim();
        if text.contains(['\t', '\n']) {
            return Err(TraceError::file(
                "borrow",
                path,
                io::Error::other("its value is more than one line"),
            ));
        }
        return Ok(text.to_owned());
    };
    let mut words = text.split_ascii_whitespace();
    let word = words.find(|word| word.strip_prefix("NO_").unwrap_or(word) == option);
    word.map(str::to_owned).ok_or_else(|| {
        TraceError::file("borrow", path, io::Error::other(format!("it has no option {option}")))
    })
}

/// Always with room for a whole value: the kernel refuses a smaller buffer for `osnoise/cpus`, also
/// where only the end is left to read.
fn read_whole(mut file: impl Read) -> io::Result<String> {
    let (mut whole, mut buffer) = (Vec::new(), [0; 4_096]);
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(String::from_utf8_lossy(&whole).into_owned()),
            bytes => whole.extend_from_slice(&buffer[..bytes]),
        }
    }
}

/// In one call, as tracefs wants it; nothing is made that is not there.
fn write(path: &Path, value: &str) -> Result<(), TraceError> {
    // A write of no bytes does nothing: an empty value is a line.
    let bytes = if value.is_empty() { b"\n".as_slice() } else { value.as_bytes() };
    let file = OpenOptions::new().write(true).truncate(true).open(path);
    file.and_then(|mut file| file.write_all(bytes))
        .map_err(|error| TraceError::file("write", path, error))
}

fn remove(path: &Path) -> Result<(), TraceError> {
    files::remove(path).map_err(|error| TraceError::file("remove", path, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine of our own: tracefs with two knobs, a folder for journals.
    struct Machine {
        folder: tempfile::TempDir,
    }

    const PERIOD: &str = "osnoise/timerlat_period_us";
    const CPUS: &str = "osnoise/cpus";

    impl Machine {
        fn new() -> Self {
            let machine = Machine { folder: tempfile::tempdir().unwrap() };
            fs::create_dir_all(machine.tracefs().join("osnoise")).unwrap();
            fs::write(machine.tracefs().join(PERIOD), "1000\n").unwrap();
            fs::write(machine.tracefs().join(CPUS), "0-1\n").unwrap();
            machine
        }
        fn tracefs(&self) -> PathBuf {
            self.folder.path().join("tracing")
        }
        fn run(&self) -> PathBuf {
            self.folder.path().join("run")
        }
        fn knob(&self, name: &str) -> String {
            fs::read_to_string(self.tracefs().join(name)).unwrap().trim().to_owned()
        }
        fn begin(&self, name: &str) -> Result<Borrowed, TraceError> {
            Borrowed::begin(&self.tracefs(), &self.run(), Path::new("/proc"), name)
        }
        fn recover(&self) -> Result<(), TraceError> {
            recover(&self.tracefs(), &self.run(), Path::new("/proc"))
        }
    }

    fn own_name() -> String {
        Owner::this_process(Path::new("/proc")).unwrap().name(0)
    }

    #[test]
    fn what_is_borrowed_is_restored() {
        let machine = Machine::new();
        let mut borrowed = machine.begin(&own_name()).unwrap();
        borrowed.set(PERIOD, "500").unwrap();
        borrowed.set(CPUS, "0").unwrap();
        borrowed.set(CPUS, "1").unwrap();
        assert_eq!((machine.knob(PERIOD), machine.knob(CPUS)), ("500".into(), "1".into()));
        borrowed.end().unwrap();
        assert_eq!((machine.knob(PERIOD), machine.knob(CPUS)), ("1000".into(), "0-1".into()));
        assert!(journals(&machine.run()).is_empty());
    }

    /// As the kernel hands out a list of CPUs: of two, nothing could be borrowed.
    #[test]
    fn a_value_is_read_with_room_for_all_of_it() {
        struct Cpus(usize);
        impl Read for Cpus {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                if buffer.len() < 200 {
                    return Err(io::Error::from_raw_os_error(22));
                }
                let left = &b"0-1\n"[self.0..];
                buffer[..left.len()].copy_from_slice(left);
                self.0 = 4;
                Ok(left.len())
            }
        }
        assert_eq!(read_whole(Cpus(0)).unwrap(), "0-1\n");
    }

    /// A file of options is not restored as a whole: others may have changed another of them.
    #[test]
    fn one_option_of_a_file_is_borrowed() {
        let machine = Machine::new();
        let (file, knob) = ("osnoise/options", "osnoise/options#OSNOISE_WORKLOAD");
        let write = |text: &str| fs::write(machine.tracefs().join(file), text).unwrap();
        write("DEFAULTS OSNOISE_WORKLOAD\nNO_PANIC_ON_STOP\n");
        let mut borrowed = machine.begin(&own_name()).unwrap();
        borrowed.set(knob, "NO_OSNOISE_WORKLOAD").unwrap();
        assert_eq!(machine.knob(file), "NO_OSNOISE_WORKLOAD");
        // As the kernel would have it, with a change of somebody else.
        write("NO_DEFAULTS NO_OSNOISE_WORKLOAD PANIC_ON_STOP\n");
        borrowed.end().unwrap();
        assert_eq!(machine.knob(file), "OSNOISE_WORKLOAD");
        drop(borrowed);
        let refused = machine
            .begin(&own_name())
            .unwrap()
            .set("osnoise/options#NO_SUCH", "NO_NO_SUCH")
            .unwrap_err()
            .to_string();
        assert!(refused.contains("it has no option NO_SUCH"), "{refused}");
    }

    /// One that another thread is starting has all files of its parent until it executes its
    /// program.
    #[test]
    fn a_process_being_started_does_not_keep_the_lock() {
        let machine = Machine::new();
        let borrowed = machine.begin(&own_name()).unwrap();
        let starting = borrowed._lock.0.try_clone().unwrap();
        assert!(matches!(machine.begin(&own_name()), Err(TraceError::Busy(_))));
        drop(borrowed);
        machine.begin(&own_name()).unwrap();
        drop(starting);
    }

    /// Borrows in a process that kills itself at one of these points: only as a process of the next
    /// test.
    #[test]
    fn a_process_that_is_killed() {
        let (Ok(tracefs), Ok(point)) =
            (std::env::var("TEIJI_TEST_TRACEFS"), std::env::var("TEIJI_TEST_POINT"))
        else {
            return;
        };
        let die = |here: &str| {
            if point == here {
                let _ = rustix::process::kill_process(
                    rustix::process::getpid(),
                    rustix::process::Signal::KILL,
                );
            }
        };
        let root = PathBuf::from(tracefs);
        let folder = root.parent().unwrap().join("run");
        let mut borrowed =
            Borrowed::begin(&root, &folder, Path::new("/proc"), &own_name()).unwrap();
        die("begun");
        let knob = Knob { name: PERIOD.into(), before: "1000".into(), set: "500".into() };
        borrowed.note(&knob).unwrap();
        die("noted");
        borrowed.set(PERIOD, "500").unwrap();
        die("one set");
        borrowed.set(CPUS, "0").unwrap();
        die("two set");
        let torn = OpenOptions::new().append(true).open(&borrowed.journal);
        torn.unwrap().write_all(b"osnoise/cpus\t0-1\t").unwrap();
        die("a line half written");
        restore_one(&root, &borrowed.knobs[1]).unwrap();
        die("one restored");
        restore(&root, &borrowed.knobs).unwrap();
        die("all restored");
    }

    #[test]
    fn what_a_killed_process_left_is_restored_wherever_it_was() {
        for point in [
            "begun",
            "noted",
            "one set",
            "two set",
            "a line half written",
            "one restored",
            "all restored",
        ] {
            let machine = Machine::new();
            let killed = std::process::Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "journal::tests::a_process_that_is_killed"])
                .env("TEIJI_TEST_TRACEFS", machine.tracefs())
                .env("TEIJI_TEST_POINT", point)
                .output()
                .unwrap();
            assert_eq!(
                std::os::unix::process::ExitStatusExt::signal(&killed.status),
                Some(9),
                "{point}"
            );
            assert_eq!(
                machine.knob(PERIOD) == "500",
                ["one set", "two set", "a line half written", "one restored"].contains(&point),
                "{point}"
            );
            machine.recover().unwrap();
            assert_eq!(
                (machine.knob(PERIOD), machine.knob(CPUS)),
                ("1000".into(), "0-1".into()),
                "{point}"
            );
            assert!(journals(&machine.run()).is_empty(), "{point}");
        }
    }

    #[test]
    fn nobody_borrows_beside_another() {
        let machine = Machine::new();
        let _first = machine.begin(&own_name()).unwrap();
        let refused = machine.begin("teiji-1-1-1-1").err().unwrap().to_string();
        assert!(refused.contains(&format!("process {}", std::process::id())), "{refused}");
    }

    #[test]
    fn what_somebody_else_set_since_stays() {
        let machine = Machine::new();
        let mut borrowed = machine.begin(&own_name()).unwrap();
        borrowed.set(PERIOD, "500").unwrap();
        fs::write(machine.tracefs().join(PERIOD), "250\n").unwrap();
        borrowed.end().unwrap();
        assert_eq!(machine.knob(PERIOD), "250");
    }

    /// It is said, and tried again by the next one.
    #[test]
    fn what_cannot_be_restored_is_named() {
        let machine = Machine::new();
        let mut borrowed = machine.begin(&own_name()).unwrap();
        borrowed.set(PERIOD, "500").unwrap();
        fs::remove_file(machine.tracefs().join(PERIOD)).unwrap();
        let failed = borrowed.end().unwrap_err().to_string();
        assert!(failed.contains(PERIOD) && failed.contains("1000"), "{failed}");
        assert_eq!(journals(&machine.run()).len(), 1);
        fs::write(machine.tracefs().join(PERIOD), "500\n").unwrap();
        borrowed.end().unwrap();
        assert_eq!(machine.knob(PERIOD), "1000");
    }

    #[test]
    fn a_journal_names_no_file_outside_of_tracefs() {
        assert!(parse("../etc/passwd\ta\tb\n/etc/passwd\ta\tb\none\ttwo\n").is_empty());
    }
}

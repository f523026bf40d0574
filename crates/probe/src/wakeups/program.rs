// SPDX-License-Identifier: MIT OR Apache-2.0
//! The program whose wake-ups are measured: one that runs, or one that is started for it and ended
//! with the run.

use super::sys::{Held, hold_before_exec};
use crate::sys::block_all_signals;
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, Signal, kill_process};
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;
use system::process;

/// Why there is no such program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ProgramError {
    #[error("there is no process {0}")]
    NoProcess(u32),
    #[error("process {0} is teiji itself")]
    Ourselves(u32),
    #[error(
        "there is no program '{0}' to start in the folders of PATH. To start a file, write its \
         path, such as ./{0}"
    )]
    NoProgram(String),
    #[error("there is no program {0}")]
    NoFile(String),
    #[error("{0} is a directory: name a program in it")]
    Directory(String),
    #[error(
        "{0} is not executable: name the program that runs it in front of it, such as sh {0}, or \
         make it executable (chmod +x)"
    )]
    NotExecutable(String),
    #[error("the command has a quotation mark without its second one")]
    Quotation,
    #[error("the command is empty")]
    Empty,
}

pub(crate) struct Program {
    pid: u32,
    started: Option<Started>,
    ended: bool,
    /// Of a program that was started, its parent.
    parent: Option<Parent>,
}

/// The thread that started a program. The kernel kills the program when this thread ends, so it
/// lives as long as the program is measured.
struct Parent {
    thread: JoinHandle<()>,
    /// It ends when this is dropped.
    stay: Sender<()>,
}

enum Started {
    Held { release: OwnedFd, executed: Receiver<io::Result<Child>> },
    Running(Child),
    Ended(ExitStatus),
    Failed,
}

/// What a program of ours is asked to end within, and killed after.
const GRACE: Duration = Duration::from_millis(1_000);
const STEP: Duration = Duration::from_millis(5);
const STACK_BYTES: usize = 128 << 10;

static KEEP_STANDARD_OUTPUT: AtomicBool = AtomicBool::new(false);

/// Programs that probes start from now on write what they have for standard output to standard
/// error.
pub fn keep_standard_output() {
    KEEP_STANDARD_OUTPUT.store(true, Ordering::Relaxed);
}

impl Program {
    /// The process that a thread of this number belongs to.
    pub(crate) fn find(number: u32) -> Result<Self, ProgramError> {
        let status = fs::read_to_string(format!("/proc/{number}/status"))
            .map_err(|_| ProgramError::NoProcess(number))?;
        let pid = status.lines().find_map(|line| line.strip_prefix("Tgid:")?.trim().parse().ok());
        let pid = pid.ok_or(ProgramError::NoProcess(number))?;
        let program = Program { pid, started: None, ended: false, parent: None };
        match program.is_gone() {
            _ if pid == std::process::id() => Err(ProgramError::Ourselves(number)),
            true => Err(ProgramError::NoProcess(number)),
            false => Ok(program),
        }
    }

    /// Starts a command up to where it would execute its program. It has the scheduling, CPUs and
    /// files of the calling thread.
    pub(crate) fn hold(words: &[String]) -> io::Result<Self> {
        let (number, number_of_child) = pipe_with(PipeFlags::CLOEXEC)?;
        let (go, release) = pipe_with(PipeFlags::CLOEXEC)?;
        let Some((name, arguments)) = words.split_first() else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let mut command = Command::new(name);
        command.args(arguments);
        if KEEP_STANDARD_OUTPUT.load(Ordering::Relaxed) {
            command.stdout(Stdio::from(rustix::io::dup(io::stderr())?));
        }
        hold_before_exec(&mut command, Held { number: number_of_child, go }, &release);
        let (parent, executed) = Parent::start(command)?;
        let mut pid = [0; 4];
        if let Err(error) = File::from(number).read_exact(&mut pid) {
            drop(release);
            return Err(executed.recv().ok().and_then(Result::err).unwrap_or(error));
        }
        let pid = u32::from_ne_bytes(pid);
        let started = Some(Started::Held { release, executed });
        Ok(Program { pid, started, ended: false, parent: Some(parent) })
    }

    /// Its number, if it was started and has not executed its program yet.
    pub(crate) fn held(&self) -> Option<i64> {
        matches!(self.started, Some(Started::Held { .. })).then(|| i64::from(self.pid))
    }

    /// Lets it execute its program.
    pub(crate) fn release(&mut self) -> io::Result<()> {
        match self.started.take() {
            Some(Started::Held { release, executed }) => {
                self.started = Some(Started::Failed);
                rustix::io::write(&release, &[1])?;
                let child = executed.recv().map_err(|_| Errno::IO)??;
                self.started = Some(Started::Running(child));
            }
            other => self.started = other,
        }
        Ok(())
    }

    pub(crate) fn threads(&self) -> io::Result<Vec<i64>> {
        let entries = fs::read_dir(format!("/proc/{}/task", self.pid))?;
        Ok(entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect())
    }

    /// Whether it has ended. Allocates nothing.
    pub(crate) fn has_ended(&mut self) -> bool {
        self.ended = self.ended
            || match &mut self.started {
                Some(Started::Running(child)) => match child.try_wait() {
                    Ok(Some(status)) => {
                        self.started = Some(Started::Ended(status));
                        true
                    }
                    Ok(None) => false,
                    Err(_) => true,
                },
                Some(Started::Held { .. }) => false,
                Some(Started::Ended(_) | Started::Failed) => true,
                None => self.is_gone(),
            };
        self.ended
    }

    /// Gone, or a zombie that its parent has not waited for.
    fn is_gone(&self) -> bool {
        process::started(Path::new("/proc"), self.pid).is_none()
    }

    /// How it ended by itself, if it was started here and that was seen.
    pub(crate) const fn status(&self) -> Option<ExitStatus> {
        match self.started {
            Some(Started::Ended(status)) => Some(status),
            _ => None,
        }
    }

    /// Ends it, if it was started here.
    fn end(&mut self) {
        match self.started.take() {
            Some(Started::Held { release, executed }) => {
                drop(release);
                let _ = executed.recv();
            }
            Some(Started::Running(child)) => end(child),
            Some(Started::Ended(_) | Started::Failed) | None => {}
        }
        if let Some(Parent { thread, stay }) = self.parent.take() {
            drop(stay);
            let _ = thread.join();
        }
    }
}

impl Parent {
    /// Starts a command in a thread of its own. What came of it is received when the child executes
    /// its program.
    fn start(mut command: Command) -> io::Result<(Self, Receiver<io::Result<Child>>)> {
        let (stay, until_dropped) = channel();
        let (sender, executed) = channel();
        let thread =
            Builder::new().name("teiji-start".into()).stack_size(STACK_BYTES).spawn(move || {
                let _ = sender.send(command.spawn());
                // Only now, as the child has the mask of its parent.
                block_all_signals();
                // The child's ends of pipes are closed here too.
                drop(command);
                let _ = until_dropped.recv();
            })?;
        Ok((Parent { thread, stay }, executed))
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.end();
    }
}

fn end(mut child: Child) {
    if let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        let _ = kill_process(pid, Signal::TERM);
    }
    let mut waited = Duration::ZERO;
    while waited < GRACE {
        if !matches!(child.try_wait(), Ok(None)) {
            return;
        }
        std::thread::sleep(STEP);
        waited += STEP;
    }
    let _ = child.kill();
    let _ = child.wait();
}

/// The words of a command, as a shell reads them that expands nothing: apart by spaces, but for
/// those in quotation marks and after a backslash.
pub(crate) fn words(command: &str) -> Result<Vec<String>, ProgramError> {
    let (mut words, mut word, mut quotation) = (Vec::new(), None::<String>, None);
    let mut characters = command.chars();
    while let Some(character) = characters.next() {
        match (character, quotation) {
            ('\\', None | Some('"')) => word.get_or_insert_default().extend(characters.next()),
            (character, Some(mark)) if character == mark => quotation = None,
            ('\'' | '"', None) => {
                quotation = Some(character);
                word.get_or_insert_default();
            }
            (character, None) if character.is_whitespace() => words.extend(word.take()),
            (character, _) => word.get_or_insert_default().push(character),
        }
    }
    words.extend(word);
    match (quotation, words.is_empty()) {
        (Some(_), _) => Err(ProgramError::Quotation),
        (None, true) => Err(ProgramError::Empty),
        (None, false) => Ok(words),
    }
}

/// Finds the program of a command.
pub(crate) fn check(command: &str) -> Result<(), ProgramError> {
    let words = words(command)?;
    let name = words.first().ok_or(ProgramError::Empty)?;
    let can_run = |path: &Path| {
        fs::metadata(path)
            .is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
    };
    let path = std::env::var_os("PATH").unwrap_or_default();
    let file = Path::new(name);
    match name.contains('/') {
        true if can_run(file) => Ok(()),
        true if file.is_dir() => Err(ProgramError::Directory(name.clone())),
        true if file.exists() => Err(ProgramError::NotExecutable(name.clone())),
        true => Err(ProgramError::NoFile(name.clone())),
        false if std::env::split_paths(&path).any(|folder| can_run(&folder.join(name))) => Ok(()),
        false => Err(ProgramError::NoProgram(name.clone())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_command() {
        for (command, expected) in [
            ("sleep 1", &["sleep", "1"][..]),
            ("  a   'b c' d\\ e \"f'\\\"g\" '' h'i'j ", &["a", "b c", "d e", "f'\"g", "", "hij"]),
        ] {
            assert_eq!(words(command).unwrap(), expected);
        }
        assert_eq!(
            (words("a 'b"), words("  ")),
            (Err(ProgramError::Quotation), Err(ProgramError::Empty))
        );
    }

    #[test]
    fn programs_are_found_before_anything_begins() {
        assert_eq!(check("sleep 1"), Ok(()));
        assert_eq!(check("/bin/sh"), Ok(()));
        assert_eq!(check("/bin"), Err(ProgramError::Directory("/bin".into())));
        assert_eq!(check("/etc/passwd"), Err(ProgramError::NotExecutable("/etc/passwd".into())));
        assert_eq!(check("/nonexistent/x"), Err(ProgramError::NoFile("/nonexistent/x".into())));
        assert_eq!(
            check("no-such-program 1"),
            Err(ProgramError::NoProgram("no-such-program".into()))
        );
        let own = std::process::id();
        assert_eq!(Program::find(own).err(), Some(ProgramError::Ourselves(own)));
        assert_eq!(Program::find(4_194_304).err(), Some(ProgramError::NoProcess(4_194_304)));
    }

    fn hold(words: &[&str]) -> Program {
        Program::hold(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>()).unwrap()
    }

    fn wait(program: &mut Program) {
        let deadline = std::time::Instant::now() + Duration::from_secs(20);
        while !program.has_ended() {
            assert!(std::time::Instant::now() < deadline);
            std::thread::sleep(STEP);
        }
    }

    #[test]
    fn a_command_waits_before_exec_and_tells_how_it_ended() {
        let mut program = hold(&["sh", "-c", "exit 3"]);
        assert_eq!(program.held(), Some(i64::from(program.pid)));
        assert_eq!(program.threads().unwrap(), [i64::from(program.pid)]);
        assert!(!program.has_ended());
        program.release().unwrap();
        wait(&mut program);
        assert_eq!(program.status().and_then(|status| status.code()), Some(3));
    }

    /// The kernel would end it with the thread that started it.
    #[test]
    fn a_command_goes_on_after_it_was_started() {
        let mut program = hold(&["sleep", "1000"]);
        program.release().unwrap();
        std::thread::sleep(Duration::from_millis(100));
        assert!(!program.has_ended());
    }

    #[test]
    fn a_command_that_goes_on_is_ended() {
        for released in [false, true] {
            let mut program = hold(&["sleep", "1000"]);
            if released {
                program.release().unwrap();
            }
            let pid = program.pid;
            program.end();
            assert!(!Path::new(&format!("/proc/{pid}")).exists());
        }
    }

    #[test]
    fn the_end_of_another_process_is_seen() {
        let mut child = Command::new("sleep").arg("1000").spawn().unwrap();
        let mut program = Program::find(child.id()).unwrap();
        assert!(!program.has_ended());
        // It stays as a zombie.
        child.kill().unwrap();
        wait(&mut program);
        child.wait().unwrap();
    }
}

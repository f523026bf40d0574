// SPDX-License-Identifier: MIT OR Apache-2.0
//! What every test needs: a place of its own, the program started in it, and what the program said.

pub mod document;
pub mod machine;
pub mod processes;
pub mod pty;
pub mod screen;
pub mod skipped;

use document::Document;
use plan::{CpuId, Scheduling};
use processes::{Process, descendants};
use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use skipped::{Need, skipped};
use std::ffi::OsStr;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Once, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::thread::sleep;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The program.
pub const TEIJI: &str = env!("CARGO_BIN_EXE_teiji");
/// Far beyond any run of these tests, also where other programs keep the machine busy: what takes
/// longer hangs.
const PATIENCE: Duration = Duration::from_secs(300);
pub const MILLISECOND: i64 = 1_000_000;
pub const SECOND: i64 = 1_000_000_000;

static MACHINE: RwLock<()> = RwLock::new(());

/// For a test that measures, and holds however busy the machine is.
pub fn beside_others() -> RwLockReadGuard<'static, ()> {
    MACHINE.read().unwrap_or_else(PoisonError::into_inner)
}

/// For a test that changes the machine, takes its CPUs from threads of real-time priority, or uses
/// what there is once, such as the kernel's tracers: no other test measures meanwhile.
pub fn exclusive() -> RwLockWriteGuard<'static, ()> {
    MACHINE.write().unwrap_or_else(PoisonError::into_inner)
}

/// Whether threads may have real-time priority here.
pub fn may_real_time() -> bool {
    system::scheduling::may_have(Scheduling::DEFAULT).is_ok()
}

/// The same for a test that checks less without: that is said.
pub fn may_real_time_or_skip() -> bool {
    let may = may_real_time();
    if !may {
        skipped(Need::RealTime, "no right to real-time priority");
    }
    may
}

pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// The nice level that the tests run at, which what they start inherits.
pub fn own_nice() -> i32 {
    rustix::process::getpriority_process(None).unwrap()
}

/// Ordinary scheduling at this nice level, as it is shown.
pub fn ordinary_at(nice: i32) -> String {
    if nice == 0 { "SCHED_OTHER".to_owned() } else { format!("SCHED_OTHER nice {nice}") }
}

/// CPUs this process may use, ascending.
pub fn cpus() -> Vec<CpuId> {
    probe::process_cpus().unwrap().inherited
}

/// The last CPU: the first one has more to do.
pub fn quiet_cpu() -> CpuId {
    *cpus().last().unwrap()
}

/// CLOCK_MONOTONIC, ns.
pub fn now() -> i64 {
    probe::Monotonic.now().0
}

/// Sleeps until a time of CLOCK_MONOTONIC, ns.
pub fn sleep_until(time: i64) {
    probe::Monotonic.sleep_until(plan::Nanos(time));
}

/// Whether this is `make test-all`, which leaves nothing out.
pub fn is_whole() -> bool {
    std::env::var_os("TEIJI_TEST_ALL").is_some()
}

/// The calls of a program, by their numbers, at which a test kills it. Of many each third, unless
/// it is to leave nothing out.
pub fn to_be_killed_at(first: usize, last: usize) -> impl Iterator<Item = usize> {
    let step = if is_whole() || last < first + 8 { 1 } else { 3 };
    (first..=last).filter(move |number| (number - first).is_multiple_of(step) || *number == last)
}

/// Waits until it is so.
pub fn soon(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < deadline, "not within {PATIENCE:?}: {what}");
        sleep(Duration::from_millis(2));
    }
}

/// A working directory that is gone afterwards.
pub struct TestFolder(TempDir);

/// What the program said, and how it ended; no code where a signal ended it.
#[derive(Debug)]
pub struct Output {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

/// The program while it runs. Dropped, it is killed: a failed test leaves nobody measuring.
pub struct Running {
    child: Child,
    directory: PathBuf,
    output: [Option<Receiver<String>>; 2],
}

/// What is said of names where a recording is named.
pub const NAMES: &str =
    "It names the machine, its kernel arguments and processes: see teiji anonymise\n";

/// Copies the files of a recording into a new folder, as `cp -r` does.
pub fn copy_recording(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

/// Under `nohup`, or in the background of a script, signals are ignored, and whatever is started
/// ignores them too. What has a handler here has the default action there.
fn heed_signals() {
    static HEEDED: Once = Once::new();
    HEEDED.call_once(|| {
        for signal in [SIGHUP, SIGINT, SIGQUIT, SIGTERM]
            .into_iter()
            .filter(|signal| probe::ignores_signal(*signal))
        {
            signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false))).unwrap();
        }
    });
}

impl TestFolder {
    /// In memory where there is such a place: rows that a slow disk loses are no matter of these
    /// tests, but of those in `faults`.
    pub fn new() -> Self {
        let memory = Path::new("/dev/shm");
        Self::within(if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() })
    }

    /// For what concerns disks: there rows may be lost while the machine is busy with others.
    pub fn on_disk() -> Self {
        Self::within(std::env::temp_dir())
    }

    fn within(folder: PathBuf) -> Self {
        heed_signals();
        TestFolder(tempfile::Builder::new().prefix("teiji-test-").tempdir_in(folder).unwrap())
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    pub fn join(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// `run.json` of a recording.
    pub fn document(&self, recording: &str) -> Document {
        Document::parse(&self.read(&format!("{recording}/run.json")))
    }

    /// A command in this directory, whose output does not depend on who runs the tests.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.path()).stdin(Stdio::null()).env("LC_ALL", "C");
        // Whoever runs the tests keeps their own kernels; and a test that fetches one is seen by
        // what it leaves behind.
        command.env("XDG_CACHE_HOME", self.path());
        // And their own key of pseudonyms.
        command.env("XDG_STATE_HOME", self.join("state"));
        for name in ["COLUMNS", "NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "RUST_BACKTRACE"] {
            command.env_remove(name);
        }
        command
    }

    /// Runs the program to its end; the words are separated by spaces.
    pub fn teiji(&self, words: &str) -> Output {
        self.start(words).end()
    }

    pub fn start(&self, words: &str) -> Running {
        let mut command = self.command(TEIJI);
        command.args(words.split_whitespace());
        Running::start(command)
    }

    /// Starts a command line of a shell.
    pub fn start_in_shell(&self, script: &str) -> Running {
        let mut command = self.command("sh");
        command.args(["-c", script]);
        Running::start(command)
    }

    /// Runs the program and expects it to do what it was asked to.
    pub fn well(&self, words: &str) -> Output {
        let output = self.teiji(words);
        assert_eq!(output.code, Some(0), "teiji {words}\n{output:?}");
        output
    }

    /// What `teiji show` says of a recording before its histogram and its confidence intervals.
    pub fn summary(&self, recording: &str) -> String {
        let shown = self.well(&format!("show {recording}")).out;
        let drawing = shown
            .lines()
            .take_while(|line| !line.contains('┤'))
            .map(|line| line.len() + 1)
            .sum::<usize>();
        // An empty line stands between them.
        shown[..drawing - 1].to_owned()
    }

    /// What lies here, by name, with folders' contents.
    pub fn listing(&self) -> Vec<String> {
        let mut found = Vec::new();
        let mut folders = vec![self.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(&folder).unwrap() {
                let entry = entry.unwrap();
                found.push(entry.path().strip_prefix(self.path()).unwrap().display().to_string());
                if entry.file_type().unwrap().is_dir() {
                    folders.push(entry.path());
                }
            }
        }
        found.sort();
        found
    }
}

impl Running {
    /// Starts a command and takes in what it says, unless the command says where that goes.
    pub fn start(mut command: Command) -> Self {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        Self::start_as_is(command)
    }

    /// The same with standard output and error where the command has them.
    pub fn start_as_is(mut command: Command) -> Self {
        let directory = command.get_current_dir().unwrap().to_owned();
        let mut child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let output = [child.stdout.take().map(take_in), child.stderr.take().map(take_in)];
        Running { child, directory, output }
    }

    /// Waits until the threads of the run are known, and gives `run.json` as it is then.
    pub fn begun(&self, recording: &str) -> Document {
        let path = self.directory.join(recording).join("run.json");
        let read = || std::fs::read_to_string(&path).map(|text| Document::parse(&text)).ok();
        let measures = |document: &Document| !document.threads().is_empty();
        soon("the run has begun", || read().is_some_and(|document| measures(&document)));
        let document = read().unwrap();
        assert_eq!(document.text("/state"), "running");
        document
    }

    pub fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Its loads' processes, and whatever else it has started.
    pub fn descendants(&self) -> Vec<Process> {
        descendants(self.pid())
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).unwrap();
    }

    /// Whether it is still there.
    pub fn runs(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// Waits for its end.
    pub fn end(mut self) -> Output {
        soon("the program has ended", || !self.runs());
        let code = self.child.wait().unwrap().code();
        let [out, err] = self.output.each_mut().map(|output| {
            // Whoever holds the other end of the pipe outlived the program.
            output.take().map_or_else(String::new, |output| {
                output.recv_timeout(PATIENCE).expect("its output is still open")
            })
        });
        // Which call comes next after another test has killed a run that traces is chance.
        let err = err.replace(TRACE_REMOVED, "");
        Output { code, out, err }
    }
}

/// What any call may say first.
pub const TRACE_REMOVED: &str = "note: the trace of a teiji that was killed removed\n";

impl Drop for Running {
    fn drop(&mut self) {
        // Does nothing where it has been waited for.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn take_in(mut source: impl Read + Send + 'static) -> Receiver<String> {
    let (give, take) = channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = source.read_to_end(&mut bytes);
        let _ = give.send(String::from_utf8(bytes).unwrap());
    });
    take
}

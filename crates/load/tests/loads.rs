// SPDX-License-Identifier: MIT OR Apache-2.0
//! Loads as processes: that they work, say what they did, and are gone afterwards whatever
//! happened.
//!
//! This program is test runner, parent of loads, and (executed anew by the crate) supervisor of
//! one, so it has its own main: a supervisor must be the only thread of its process, and the usual
//! runner starts one for each test.
//!
//! The bounds are loose, because other programs may want the machine meanwhile; what counts as
//! wrong is far outside of them.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a test without the usual runner"
)]

#[path = "loads/times.rs"]
mod times;

use load::{Limits, Loads, StartError, ValidatedLoad, check, worker};
use model::{LoadEvidence, LoadFailure, Steady, Warning};
use plan::{CpuId, LoadSpec, Nanos, Phase, Settle};
use rustix::process::{Pid, Signal, getpid, kill_process};
use std::io::Read;
use std::panic::catch_unwind;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

const TESTS: &[(&str, fn())] = &[
    ("cpu_fills_its_cpu", cpu_fills_its_cpu),
    ("hackbench_passes_messages_through_sockets", || hackbench_passes_messages("socket")),
    ("hackbench_passes_messages_through_pipes", || hackbench_passes_messages("pipe")),
    ("only_the_measured_span_counts", only_the_measured_span_counts),
    ("nothing_is_inherited", nothing_is_inherited),
    ("loads_start_and_stop_while_measuring", times::loads_start_and_stop_while_measuring),
    (
        "a_load_that_was_to_start_later_than_the_end_has_not_run",
        times::a_load_that_was_to_start_later_than_the_end_has_not_run,
    ),
    ("loads_stop_once", loads_stop_once),
    ("a_dropped_load_is_gone", a_dropped_load_is_gone),
    ("nothing_survives_its_killed_parent", nothing_survives_its_killed_parent),
    ("signals_of_the_terminal_are_the_parents", signals_of_the_terminal_are_the_parents),
    ("a_killed_task_is_reported", a_killed_task_is_reported),
    ("a_killed_supervisor_is_reported", a_killed_supervisor_is_reported),
    ("what_cannot_start_says_why", what_cannot_start_says_why),
    ("a_supervisor_ends_with_its_parent", a_supervisor_ends_with_its_parent),
    ("many_groups", many_groups),
    ("levels_are_held", levels_are_held),
    ("two_loads_share_a_cpu", two_loads_share_a_cpu),
    ("mem_fault_takes_a_signal_for_each_page", mem_fault_takes_a_signal_for_each_page),
    ("updates_are_done", updates_are_done),
    ("a_command_that_ends_is_reported", a_command_that_ends_is_reported),
    ("a_command_that_ends_while_it_settles", a_command_that_ends_while_it_settles),
    ("a_command_has_a_second_to_settle", a_command_has_a_second_to_settle),
    ("a_command_whose_leader_is_killed", a_command_whose_leader_is_killed),
    ("a_phase_seeds_commands_and_shifts_loads", a_phase_seeds_commands_and_shifts_loads),
    ("everything_leaves_nothing", everything_leaves_nothing),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["load-worker", order] => worker(order),
        ["mute-worker", _] => {
            sleep(Duration::from_secs(60));
            ExitCode::SUCCESS
        }
        ["rude-worker", _] => {
            eprintln!("no such verb");
            ExitCode::FAILURE
        }
        ["own", runner] => own(runner.parse().unwrap()),
        [.., "--own-folder"] => run_tests(&arguments),
        _ => run_tests_in_own_folder(&arguments),
    }
}

/// Starts the tests anew with a folder for temporary files that nobody else writes to.
fn run_tests_in_own_folder(arguments: &[String]) -> ExitCode {
    let folder = std::env::temp_dir().join(format!("teiji-loads-test-{}", std::process::id()));
    std::fs::create_dir(&folder).unwrap();
    let mut tests = Command::new("/proc/self/exe");
    let status = tests.args(arguments).arg("--own-folder").env("TMPDIR", &folder).status();
    std::fs::remove_dir_all(&folder).unwrap();
    if status.unwrap().success() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn run_tests(arguments: &[String]) -> ExitCode {
    let list = arguments.iter().any(|word| word == "--list");
    let filters: Vec<&String> = arguments.iter().filter(|word| !word.starts_with('-')).collect();
    let mut failed = 0;
    for (name, test) in TESTS
        .iter()
        .filter(|(name, _)| filters.is_empty() || filters.iter().any(|part| name.contains(*part)))
    {
        if list {
            println!("{name}: test");
            continue;
        }
        let start = Instant::now();
        let passed = catch_unwind(test).is_ok();
        println!(
            "test {name} ... {} ({:.1} s)",
            if passed { "ok" } else { "FAILED" },
            start.elapsed().as_secs_f64()
        );
        failed += usize::from(!passed);
    }
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// One of each that keeps something open: processes, threads, mappings, files, sockets, timers. The
/// command is one that no other run of these tests has.
fn everything(runner: Pid) -> Vec<String> {
    let command =
        format!("cmd:sh -c 'setsid {sleep} & {sleep}'", sleep = sleep_of(runner).join(" "));
    EVERYTHING.iter().map(|spec| (*spec).to_owned()).chain([command]).collect()
}

const EVERYTHING: [&str; 9] = [
    "cpu@20%,cpus=0",
    "hackbench,groups=1",
    "hackbench,groups=1,threads,via=pipe",
    "mem-alloc@10%,chunk=64K",
    "mem-fault@10%,chunk=64K",
    "disk,size=1M",
    "fork,cpus=0",
    "timer,timers=100",
    "net",
];

/// A process that owns loads until it is killed.
fn own(runner: i32) -> ExitCode {
    let _loads = start(&everything(Pid::from_raw(runner).unwrap()));
    println!("running");
    sleep(Duration::from_secs(60));
    ExitCode::FAILURE
}

fn available() -> Vec<CpuId> {
    (0..u32::try_from(std::thread::available_parallelism().unwrap().get()).unwrap())
        .map(CpuId)
        .collect()
}

fn limits() -> Limits {
    Limits { memory: 1 << 30, probe_prio: None, loads: 1 }
}

fn checked(spec: &str) -> ValidatedLoad {
    check(&spec.parse::<LoadSpec>().unwrap(), &available(), &available(), &limits()).unwrap()
}

fn start(specs: &[impl AsRef<str>]) -> Loads {
    start_as(specs, "load-worker").unwrap()
}

fn start_as(specs: &[impl AsRef<str>], verb: &str) -> Result<Loads, StartError> {
    Loads::start(
        specs.iter().map(|spec| checked(spec.as_ref())).collect(),
        Phase::NONE,
        Path::new("/proc/self/exe"),
        verb,
        || false,
    )
}

fn measure(specs: &[&str], millis: u64) -> Vec<LoadEvidence> {
    let mut loads = start(specs);
    loads.begin();
    sleep(Duration::from_millis(millis));
    assert!(loads.poll());
    loads.stop()
}

#[derive(Debug)]
struct Process {
    pid: Pid,
    parent: Option<Pid>,
    group: Option<Pid>,
}

/// Every process that is not a zombie.
fn processes() -> Vec<Process> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    entries.filter_map(|entry| process(entry.file_name().to_str()?.parse().ok()?)).collect()
}

fn process(pid: i32) -> Option<Process> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat.rsplit_once(") ")?.1.split(' ');
    if fields.next()? == "Z" {
        return None;
    }
    // One that is ending is in no group: -1.
    let mut number =
        || fields.next()?.parse().ok().filter(|number| *number > 0).and_then(Pid::from_raw);
    Some(Process { pid: Pid::from_raw(pid)?, parent: number(), group: number() })
}

fn children(of: Pid) -> Vec<Pid> {
    processes()
        .into_iter()
        .filter(|process| process.parent == Some(of))
        .map(|process| process.pid)
        .collect()
}

/// Processes of these groups: supervisors and their tasks.
fn members(supervisors: &[Pid]) -> Vec<Pid> {
    let led = |process: &Process| process.group.is_some_and(|group| supervisors.contains(&group));
    processes().into_iter().filter(led).map(|process| process.pid).collect()
}

/// Waits until it is so, also where other programs keep the machine busy.
fn soon(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(120);
    while !condition() {
        assert!(Instant::now() < deadline, "not within 120 s: {what}");
        sleep(Duration::from_millis(5));
    }
}

fn cpu_fills_its_cpu() {
    let mut loads = start(&["cpu,cpus=0"]);
    let task = children(children(getpid())[0])[0];
    loads.begin();
    let (before, begun) = (waited(task), Instant::now());
    sleep(Duration::from_millis(1500));
    let waited = 100.0 * (waited(task) - before) / begun.elapsed().as_secs_f64();
    let [evidence] = &loads.stop()[..] else { panic!("one load, one evidence") };
    assert_eq!(
        (evidence.spec.as_str(), evidence.requested, evidence.tasks),
        ("cpu,cpus=0", None, 1)
    );
    assert_eq!((&evidence.cpus, evidence.alive), (&vec![CpuId(0)], true));
    let reached = evidence.reached.unwrap();
    // It has the CPU or wants it.
    assert!(
        reached.mean + waited > 70.0 && reached.mean < 101.0,
        "{reached:?}, and waited {waited} %"
    );
    assert!((0.0..101.0).contains(&reached.worst_second), "{reached:?}");
    assert!(evidence.rate["iterations_per_s"] > 1e4, "{:?}", evidence.rate);
}

/// How long a process has waited for a CPU that others had, s; 0 where the kernel does not say.
fn waited(process: Pid) -> f64 {
    let schedstat =
        std::fs::read_to_string(format!("/proc/{process}/schedstat")).unwrap_or_default();
    schedstat.split(' ').nth(1).map_or(0.0, |ns| ns.parse::<f64>().unwrap() / 1e9)
}

fn hackbench_passes_messages(via: &str) {
    let [evidence] = &measure(&[&format!("hackbench,groups=1,via={via}")], 500)[..] else {
        panic!("one load, one evidence")
    };
    assert_eq!((evidence.requested, evidence.tasks, evidence.alive), (None, 40, true));
    let reached = evidence.reached.unwrap();
    assert!((2.0..101.0).contains(&reached.mean), "{reached:?}");
    assert_eq!(reached.mean.to_bits(), reached.worst_second.to_bits());
    let (messages, bytes) = (evidence.rate["messages_per_s"], evidence.rate["bytes_per_s"]);
    assert!(messages > 100.0 && (bytes / messages - 100.0).abs() < 1.0, "{:?}", evidence.rate);
}

/// Two loads take half of CPU 0 each. If the first second, when one of them was alone, counted, it
/// would have more.
fn only_the_measured_span_counts() {
    let mut first = start(&["cpu,cpus=0"]);
    sleep(Duration::from_millis(800));
    let mut other = start(&["cpu,cpus=0"]);
    first.begin();
    other.begin();
    sleep(Duration::from_millis(800));
    for mut loads in [first, other] {
        loads.poll();
        let reached = loads.stop()[0].reached.unwrap();
        // The second to be stopped has the CPU for itself a moment longer.
        assert!((1.0..62.0).contains(&reached.mean), "{reached:?}");
    }
}

fn nothing_is_inherited() {
    let mut loads = start(&["cpu,cpus=0", "hackbench,groups=1,cpus=0"]);
    let supervisors = children(getpid());
    assert_eq!(supervisors.len(), 2);
    let files = |process: Pid| std::fs::read_dir(format!("/proc/{process}/fd")).unwrap().count();
    let tasks = supervisors
        .iter()
        .flat_map(|supervisor| children(*supervisor).into_iter().map(|task| (*supervisor, task)));
    for (supervisor, task) in tasks {
        let status = std::fs::read_to_string(format!("/proc/{task}/status")).unwrap();
        let field = |name: &str| {
            status.lines().find_map(|line| line.strip_prefix(name)).unwrap().trim().to_owned()
        };
        assert_eq!(
            (field("Cpus_allowed_list:"), field("SigBlk:"), field("Threads:")),
            ("0".into(), "0".repeat(16), "1".into())
        );
        assert!(["load-cpu", "load-hackbench"].contains(&field("Name:").as_str()), "{status}");
        assert_eq!(field("VmLck:"), "0 kB");
        // The three standard ones (and what this test inherited), and one end of a receiver, twenty
        // of a sender.
        soon("a task has no more files than it uses", || files(task) <= files(supervisor) + 20);
        assert_eq!(rustix::process::getpriority_process(Some(task)).unwrap(), 0);
    }
    loads.stop();
}

fn loads_stop_once() {
    let mut loads = start(&["cpu", "hackbench,groups=1"]);
    let supervisors = children(getpid());
    assert_eq!(members(&supervisors).len(), 2 + available().len() + 40);
    loads.begin();
    sleep(Duration::from_millis(200));
    let first = loads.stop();
    assert_eq!(members(&supervisors), []);
    assert!(first.iter().all(|load| load.alive), "{first:?}");
    assert_eq!(loads.stop(), first);
    assert!(loads.poll() && loads.warnings().is_empty());
}

fn a_dropped_load_is_gone() {
    let loads = start(&["hackbench,groups=2,via=pipe"]);
    let supervisors = children(getpid());
    assert_eq!(members(&supervisors).len(), 81);
    drop(loads);
    assert_eq!(members(&supervisors), []);
}

fn nothing_survives_its_killed_parent() {
    let mut parent = Command::new("/proc/self/exe")
        .args(["own", &getpid().to_string()])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = [0; 8];
    parent.stdout.take().unwrap().read_exact(&mut line).unwrap();
    let supervisors = children(Pid::from_child(&parent));
    assert!(
        supervisors.len() == EVERYTHING.len() + 1 && members(&supervisors).len() > 60,
        "{supervisors:?}"
    );
    soon("the command has gone its own way", || sleepers().len() == 2);
    parent.kill().unwrap();
    parent.wait().unwrap();
    soon("all processes of a killed parent's loads are gone", || {
        members(&supervisors).is_empty() && sleepers().is_empty()
    });
}

/// A command that can be distinguished from everybody else's, since it may have no parent left to
/// know it by: so many seconds.
fn sleep_of(runner: Pid) -> [String; 2] {
    ["sleep".to_owned(), format!("1000.{runner}")]
}

/// Processes of the command of this run of the tests: one in the load's group, one in a session of
/// its own.
fn sleepers() -> Vec<Pid> {
    let line = sleep_of(getpid()).map(|word| word + "\0").concat();
    let sleeps = |process: &Process| {
        std::fs::read_to_string(format!("/proc/{}/cmdline", process.pid))
            .is_ok_and(|found| found == line)
    };
    processes().into_iter().filter(sleeps).map(|process| process.pid).collect()
}

/// Everything at once works, says what it did, and leaves no process, file or mapping behind.
fn everything_leaves_nothing() {
    let temporary = || {
        std::fs::read_dir(std::env::temp_dir())
            .unwrap()
            .flatten()
            .map(|entry| entry.file_name())
            .collect::<Vec<_>>()
    };
    let own = || {
        let mappings = std::fs::read_to_string("/proc/self/maps")
            .unwrap()
            .lines()
            .filter(|line| !line.contains("[heap]"))
            .count();
        (std::fs::read_dir("/proc/self/fd").unwrap().count(), mappings)
    };
    // What the first start of a process brings along is no load's.
    start(&["cpu,cpus=0"]).stop();
    let (files, before) = (temporary(), own());
    let mut loads = start(&everything(getpid()));
    let supervisors = children(getpid());
    loads.begin();
    sleep(Duration::from_millis(1500));
    let evidence = loads.stop();
    assert!(evidence.iter().all(|load| load.alive), "{:?}", loads.warnings());
    for load in &evidence {
        let works = load.spec.starts_with("cmd:") || load.rate.values().all(|rate| *rate > 0.0);
        assert!(works && load.reached.is_some(), "{load:?}");
    }
    assert_eq!((members(&supervisors), sleepers()), (vec![], vec![]));
    drop(loads);
    assert_eq!(own(), before);
    assert_eq!(temporary(), files);
}

/// Each paced load at each level on one CPU. What others took of that CPU meanwhile cannot have
/// been the load's, so it is allowed for: on an idle machine that is nothing.
fn levels_are_held() {
    let cpus = available();
    let kinds = ["cpu", "mem-alloc", "mem-fault", "mem-access", "cache", "dev-zero"];
    let specs: Vec<(String, f64)> = [10.0, 25.0, 50.0, 75.0, 100.0]
        .into_iter()
        .flat_map(|level| kinds.map(|kind| (format!("{kind}@{level}%"), level)))
        .collect();
    // As many at a time as there are CPUs, each on its own; at most two, for what they share is
    // memory.
    for some in specs.chunks(cpus.len().min(2)) {
        let placed: Vec<String> =
            some.iter().zip(&cpus).map(|((spec, _), cpu)| format!("{spec},cpus={cpu}")).collect();
        let loads = measure(&placed.iter().map(String::as_str).collect::<Vec<_>>(), 2_000);
        for (load, (_, level)) in loads.iter().zip(some) {
            let (reached, busy) = (load.reached.unwrap(), load.per_cpu[0].machine_busy.unwrap());
            println!(
                "  {}: {:.1} %, worst second {:.1} %, CPU {busy:.1} % busy",
                load.spec, reached.mean, reached.worst_second
            );
            let others = (busy - reached.mean).max(0.0);
            let off = reached.mean - level;
            assert!((-3.0 - others..3.0).contains(&off), "{load:?}");
            assert!(
                load.off_target == (off.abs() > 5.0) && load.requested == Some(*level),
                "{load:?}"
            );
        }
    }
}

fn two_loads_share_a_cpu() {
    let loads = measure(&["cpu@30%,cpus=0", "mem-alloc@30%,cpus=0"], 2_000);
    let busy = loads[0].per_cpu[0].machine_busy.unwrap();
    let both: f64 = loads.iter().map(|load| load.reached.unwrap().mean).sum();
    for load in &loads {
        let off = load.reached.unwrap().mean - 30.0;
        assert!((-3.0 - (busy - both).max(0.0)..3.0).contains(&off), "{load:?}");
    }
}

/// Each page takes one signal, whatever the number of pages.
fn mem_fault_takes_a_signal_for_each_page() {
    let [load] = &measure(&["mem-fault,chunk=256K,cpus=0"], 500)[..] else {
        panic!("one load, one evidence")
    };
    let pages = (256 << 10) as f64 / rustix::param::page_size() as f64;
    let per_map = load.rate["signals_per_s"] / load.rate["maps_per_s"];
    assert!((per_map / pages - 1.0).abs() < 0.1, "{load:?}");
}

/// Each update is done in memory: no CPU does more than a few in a nanosecond.
fn updates_are_done() {
    let [load] = &measure(&["mem-access,cpus=0"], 500)[..] else {
        panic!("one load, one evidence")
    };
    assert!((1e4..1e10).contains(&load.rate["updates_per_s"]), "{load:?}");
}

/// The command's supervisor is killed, and then all else that the command has started in its group;
/// what has ended below it does not stay as a zombie while it runs.
fn a_command_whose_leader_is_killed() {
    let mut loads = start(&[format!(
        "cmd:sh -c 'setsid true & {sleep} & {sleep}'",
        sleep = sleep_of(getpid()).join(" ")
    )]);
    let supervisor = children(getpid())[0];
    loads.begin();
    soon("the command has started others", || sleepers().len() == 2);
    sleep(Duration::from_millis(1200));
    assert_eq!(zombies(supervisor), 0);
    kill_process(supervisor, Signal::KILL).unwrap();
    soon("the dead supervisor is noticed", || !loads.poll());
    assert!(!loads.stop()[0].alive);
    soon("what it had started is gone", || sleepers().is_empty());
}

/// Each load has a seed of its own in its environment, and begins when its turn comes; without a
/// phase there is no seed.
fn a_phase_seeds_commands_and_shifts_loads() {
    let folder = std::env::temp_dir().join(format!("teiji-phase-{}", getpid().as_raw_nonzero()));
    std::fs::create_dir(&folder).unwrap();
    let path = |load: usize| folder.join(load.to_string());
    let spec = |load| {
        format!(
            "cmd:sh -c 'echo seed $TEIJI_SEED > {0}.new; mv {0}.new {0}; exec sleep 60'",
            path(load).display()
        )
    };
    let seeds = |phase: Phase| {
        let both = (0..2).map(|load| checked(&spec(load))).collect();
        let began = Instant::now();
        let loads = Loads::start(both, phase, Path::new("/proc/self/exe"), "load-worker", || false)
            .unwrap();
        let last = (0..2).map(|load| phase.load_shift(load)).max().unwrap();
        assert!(began.elapsed() >= Duration::from_nanos(last.0.unsigned_abs()));
        soon("both have said their seeds", || (0..2).all(|load| path(load).exists()));
        drop(loads);
        [0, 1].map(|load| {
            let said = std::fs::read_to_string(path(load)).unwrap();
            std::fs::remove_file(path(load)).unwrap();
            said.trim().to_owned()
        })
    };
    let phase: Phase = "5".parse().unwrap();
    assert_eq!(seeds(Phase::NONE), ["seed", "seed"]);
    assert_eq!(seeds(phase), [0, 1].map(|load| format!("seed {}", phase.load_seed(load))));
    std::fs::remove_dir(&folder).unwrap();
}

fn zombies(parent: Pid) -> usize {
    let stats = std::fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| std::fs::read_to_string(entry.path().join("stat")).ok());
    let ended = format!(") Z {parent} ");
    stats.filter(|stat| stat.contains(&ended)).count()
}

/// Why the load whose failure is the only warning did not hold.
fn failure(loads: &Loads) -> LoadFailure {
    let [Warning::LoadDied { failure, .. }] = &loads.warnings()[..] else {
        panic!("one death: {:?}", loads.warnings())
    };
    failure.clone()
}

fn a_command_that_ends_is_reported() {
    let mut loads = start(&["cmd:sleep 0.3"]);
    loads.begin();
    soon("the command that ended is noticed", || !loads.poll());
    assert!(!loads.stop()[0].alive);
    let failure = failure(&loads);
    assert!(
        matches!(&failure, LoadFailure::TaskExited { status, .. } if status == "exit status: 0"),
        "{failure:?}"
    );
}

/// It was started, and nobody need look for why it could not be.
fn a_command_that_ends_while_it_settles() {
    let mut loads = start(&["cmd:sleep 0.3"]);
    let error =
        loads.settle(Settle::ForNs(Nanos::from_secs(10)), || false).unwrap_err().to_string();
    assert!(
        error.starts_with(
            "the load 'cmd:sleep 0.3' ended before the measurement began: task 1 of 1 (process "
        ),
        "{error}"
    );
    assert!(error.ends_with(") exited early: exit status: 0"), "{error}");
}

/// It has no rate that could be level.
fn a_command_has_a_second_to_settle() {
    let mut loads = start(&["cmd:sleep 30", "cpu@10%,cpus=0"]);
    loads.settle(Settle::ForNs(Nanos::from_millis(50)), || false).unwrap();
    let not_settled =
        |load: &str, steady| Warning::LoadNotSettled { load: load.parse().unwrap(), steady };
    let expected = [
        not_settled("cmd:sleep 30", Steady::RunningForNs(Nanos::from_secs(1))),
        not_settled("cpu@10%,cpus=0", Steady::LevelForNs(Nanos::from_millis(400))),
    ];
    assert_eq!(loads.not_settled(), expected);
}

fn signals_of_the_terminal_are_the_parents() {
    let mut loads = start(&["hackbench,groups=1"]);
    let supervisors = children(getpid());
    assert!(!supervisors.contains(&getpid()) && members(&supervisors).len() == 41);
    for process in members(&supervisors) {
        for signal in [Signal::INT, Signal::TERM, Signal::HUP, Signal::QUIT] {
            kill_process(process, signal).unwrap();
        }
    }
    sleep(Duration::from_millis(100));
    assert!(loads.stop()[0].alive, "{:?}", loads.warnings());
}

fn a_killed_task_is_reported() {
    for spec in ["cpu,cpus=0", "hackbench,groups=1"] {
        let mut loads = start(&[spec]);
        loads.begin();
        let victim = children(children(getpid())[0])[0];
        kill_process(victim, Signal::KILL).unwrap();
        soon("the death of a task is known", || process(victim.as_raw_nonzero().get()).is_none());
        let evidence = loads.stop();
        assert!(!evidence[0].alive && !loads.poll());
        let LoadFailure::TaskExited { pid, status, .. } = failure(&loads) else {
            panic!("{:?}", loads.warnings())
        };
        assert_eq!((pid, status.as_str()), (victim.as_raw_nonzero().get(), "signal: 9 (SIGKILL)"));
    }
}

fn a_killed_supervisor_is_reported() {
    let mut loads = start(&["hackbench,groups=1", "cpu,cpus=0"]);
    let supervisors = children(getpid());
    let named = |pid: &&Pid| {
        std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap().contains("hackbench")
    };
    let victim = *supervisors.iter().find(named).unwrap();
    loads.begin();
    kill_process(victim, Signal::KILL).unwrap();
    soon("the dead supervisor is noticed", || !loads.poll());
    assert_eq!(members(&[victim]), []);
    let evidence = loads.stop();
    assert_eq!((evidence[0].alive, evidence[1].alive), (false, true));
    assert_eq!(
        failure(&loads),
        LoadFailure::SupervisorExited { status: "signal: 9 (SIGKILL)".to_owned() }
    );
    assert_eq!(members(&supervisors), []);
}

fn what_cannot_start_says_why() {
    let error = start_as(&["cpu"], "rude-worker").unwrap_err().to_string();
    let expected = "the load 'cpu' could not be started: its supervisor exited early: exit \
                    status: 1; no such verb";
    assert_eq!(error, expected);
    let nowhere = Loads::start(
        vec![checked("cpu")],
        Phase::NONE,
        Path::new("/nowhere"),
        "load-worker",
        || false,
    )
    .unwrap_err()
    .to_string();
    assert_eq!(
        nowhere,
        "the load 'cpu' could not be started: executing /nowhere: No such file or directory (os \
         error 2)"
    );
    // A CPU that the list of available ones promises and the machine does not have.
    let far = [CpuId(4_000)];
    let load = check(&"cpu,cpus=4000".parse().unwrap(), &far, &far, &limits()).unwrap();
    let error = Loads::start(
        vec![checked("cpu"), load],
        Phase::NONE,
        Path::new("/proc/self/exe"),
        "load-worker",
        || false,
    )
    .unwrap_err()
    .to_string();
    assert!(
        error.starts_with(
            "the load 'cpu,cpus=4000' could not be started: cannot run on CPUs 4000: Invalid \
             argument"
        ),
        "{error}"
    );
    assert_eq!(children(getpid()), []);
}

fn a_supervisor_ends_with_its_parent() {
    let order = r#"{"spec":"cpu","cpus":[0],"memory":1,"loads":1,"parent":1}"#;
    for (order, reason) in [
        (order, "the program that started this load has ended"),
        ("nonsense", "its order cannot be read"),
    ] {
        let output = Command::new("/proc/self/exe")
            .args(["load-worker", order])
            .stdin(Stdio::null())
            .output()
            .unwrap();
        assert!(!output.status.success());
        assert!(String::from_utf8_lossy(&output.stdout).contains(reason), "{output:?}");
    }
}

/// More channels than a process may usually have open.
fn many_groups() {
    let mut loads = start(&["hackbench,groups=30"]);
    let evidence = loads.stop();
    assert_eq!((evidence[0].tasks, evidence[0].alive), (1200, true), "{:?}", loads.warnings());
    assert_eq!(children(getpid()), []);
}

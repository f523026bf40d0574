// SPDX-License-Identifier: MIT OR Apache-2.0
//! The guest's side: this program as the first process of a kernel.
//!
//! Mounts what a run needs, loads modules, executes the order, sends the result, and switches the
//! machine off. It must never return: a kernel whose first process ends panics. Errors are printed
//! on the console, which the lab keeps, and sent over the channel once that is open.

use crate::archive::Writer;
use crate::channel::{self, FrameKind};
use crate::instruction_count;
use crate::order::{MODULES, ORDER, Order, Refusal, Task, assign};
use crate::ports;
use crate::turns;
use model::{DefaultCpus, Recorded};
use plan::{MachineTime, Run};
use runner::{Progress, ProgressObserver, RunnerError, Signals};
use rustix::mount::MountFlags;
use rustix::net::{AddressFamily, SendFlags, SocketType, send, socket};
use rustix::system::{RebootCommand, reboot};
use rustix::termios::{OptionalActions, tcdrain, tcgetattr, tcsetattr};
use std::ffi::CString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A file system to mount: its type, and where.
const MOUNTS: [(&str, &str); 7] = [
    ("proc", "/proc"),
    ("sysfs", "/sys"),
    // Which preemption is in force stands there and nowhere else.
    ("debugfs", "/sys/kernel/debug"),
    ("devtmpfs", "/dev"),
    ("tmpfs", "/tmp"),
    ("tmpfs", "/dev/shm"),
    ("tracefs", "/sys/kernel/tracing"),
];
/// Of these, what a kernel may lack.
const OPTIONAL: [&str; 2] = ["debugfs", "tracefs"];
/// Where a run's recording is made.
const RECORDING: &str = "/tmp/run.teiji";
/// How long a device may take to appear after its module.
const DEVICE_TIMEOUT: Duration = Duration::from_secs(5);

/// Follows the order in the initramfs; `load_verb` is the program's hidden verb that becomes a
/// load.
pub fn init(load_verb: &'static str) -> ! {
    if let Err(error) = work(load_verb) {
        say(&format!("cannot continue: {error}"));
    }
    rustix::fs::sync();
    let _ = reboot(RebootCommand::PowerOff);
    let _ = reboot(RebootCommand::Restart);
    say("this machine cannot switch itself off");
    loop {
        std::thread::sleep(Duration::from_secs(3_600));
    }
}

fn say(text: &str) {
    let _ = writeln!(io::stderr(), "teiji: {text}");
}

fn work(load_verb: &'static str) -> Result<(), String> {
    for (kind, place) in MOUNTS {
        mount(kind, place)
            .or_else(|error| if OPTIONAL.contains(&kind) { Ok(()) } else { Err(error) })?;
    }
    std::env::set_current_dir("/tmp").map_err(|error| format!("/tmp: {error}"))?;
    let order = fs::read(Path::new("/").join(ORDER))
        .map_err(|error| format!("there is no order: {error}"))?;
    let order: Order = serde_json::from_slice(&order)
        .map_err(|error| format!("the order cannot be read: {error}"))?;
    for module in &order.modules {
        load(module)?;
    }
    let line = open(&order.channel)?;
    let mut channel = Paced(&line);
    let sent = |result: io::Result<()>| {
        result.map_err(|error| format!("writing to {}: {error}", order.channel))
    };
    // A machine without a network measures all the same.
    let _ = rustix::system::sethostname(b"teiji-lab");
    if let Err(error) = loopback_up() {
        say(&format!("no loopback network: {error}"));
    }
    let task = match order.task {
        Some(task) if order.turns.is_some() => {
            sent(channel::send(&mut channel, FrameKind::Begun, &[]))?;
            if let Err(why) = turns::set_up(order.turns.unwrap_or(1)) {
                return sent(refuse(&mut channel, &run_failed(why)));
            }
            task
        }
        Some(task) => {
            sent(channel::send(&mut channel, FrameKind::Begun, &[]))?;
            task
        }
        None => match task_after_snapshot(&line, &mut channel) {
            Ok(Some(task)) => task,
            Ok(None) => return Ok(()),
            Err(why) => {
                return sent(channel::send(&mut channel, FrameKind::NoSnapshot, why.as_bytes()));
            }
        },
    };
    let done = match task {
        Task::Measure { run, default_cpus, time } => measure(*run, default_cpus, time, load_verb),
        Task::Execute { commands, time } => instruction_count::execute(&commands, time),
    };
    sent(match done {
        Ok(archive) => channel::send(&mut channel, FrameKind::Results, &archive),
        Err(refusal) => refuse(&mut channel, &refusal),
    })?;
    sent(tcdrain(&line).map_err(io::Error::from))
}

fn refuse(channel: &mut impl Write, refusal: &Refusal) -> io::Result<()> {
    say(&refusal.error);
    channel::send(channel, FrameKind::Refused, &serde_json::to_vec(refusal).unwrap_or_default())
}

/// Stops the machine, to be continued from its snapshot, and reads what is to be done then, if
/// anything. An error says why that cannot be.
fn task_after_snapshot(line: &File, channel: &mut impl Write) -> Result<Option<Task>, String> {
    let no_ports = |error: io::Error| format!("it may not use I/O ports: {error}");
    ports::can_stop().map_err(no_ports)?;
    // Nothing is to be under way in the snapshot.
    channel::send(channel, FrameKind::Begun, &[])
        .and_then(|()| Ok(tcdrain(line)?))
        .map_err(|error| error.to_string())?;
    let skipped = ports::stop().map_err(no_ports)?;
    let task = ports::order().map_err(no_ports)?;
    // In the emulator that has saved it, and in any other if time was skipped, this is all there is
    // to do.
    if task.is_empty() || skipped > 0 {
        let sent = channel::send(channel, FrameKind::Continued, skipped.to_string().as_bytes());
        sent.and_then(|()| Ok(tcdrain(line)?)).map_err(|error| error.to_string())?;
        return Ok(None);
    }
    serde_json::from_slice(&task)
        .map(Some)
        .map_err(|error| format!("its task cannot be read: {error}"))
}

fn mount(kind: &str, place: &str) -> Result<(), String> {
    let failed = |error: io::Error| format!("cannot mount {kind} on {place}: {error}");
    fs::create_dir_all(place).map_err(failed)?;
    match rustix::mount::mount(kind, place, kind, MountFlags::empty(), None) {
        // A kernel may have mounted /dev itself.
        Err(rustix::io::Errno::BUSY) => Ok(()),
        result => result.map_err(|error| failed(error.into())),
    }
}

fn load(module: &str) -> Result<(), String> {
    let failed = |error: io::Error| format!("cannot load the module {module}: {error}");
    let content = fs::read(Path::new("/").join(MODULES).join(module)).map_err(failed)?;
    match rustix::system::init_module(&content, &CString::default()) {
        Ok(()) | Err(rustix::io::Errno::EXIST) => Ok(()),
        // A module for hardware that this machine does not have says so.
        Err(rustix::io::Errno::NODEV) => Ok(()),
        Err(error) => Err(failed(error.into())),
    }
}

/// Opens the channel as a plain line for bytes, without a terminal's habits.
fn open(path: &str) -> Result<File, String> {
    let mut waited = Duration::ZERO;
    while !Path::new(path).exists() && waited < DEVICE_TIMEOUT {
        std::thread::sleep(Duration::from_millis(50));
        waited += Duration::from_millis(50);
    }
    let failed = |error: io::Error| {
        format!(
            "the serial line for results, {path}, cannot be used: {error}; has this kernel a \
             driver for it?"
        )
    };
    let channel = OpenOptions::new().read(true).write(true).open(path).map_err(failed)?;
    let mut modes = tcgetattr(&channel).map_err(|error| failed(error.into()))?;
    modes.make_raw();
    tcsetattr(&channel, OptionalActions::Now, &modes).map_err(|error| failed(error.into()))?;
    Ok(channel)
}

/// A serial line that rests between chunks. An emulated one takes each byte at once and interrupts
/// for the next, again and again within one run of a threaded handler; a PREEMPT_RT kernel then
/// holds 99,900 of 100,000 interrupts for nobody's, switches the line's interrupt off ("nobody
/// cared"), and nothing is sent any more. It starts to count anew after a tenth of a second
/// without.
struct Paced<'a>(&'a File);

impl Paced<'_> {
    /// One interrupt a byte at most.
    const CHUNK: usize = 64 << 10;
    const REST: Duration = Duration::from_millis(150);
}

impl Write for Paced<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.0.write(&bytes[..bytes.len().min(Self::CHUNK)])?;
        if written < bytes.len() {
            tcdrain(self.0)?;
            std::thread::sleep(Self::REST);
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Switches the loopback network on, through rtnetlink(7): a header, then the interface with the
/// flag to be changed.
fn loopback_up() -> io::Result<()> {
    const RTM_NEWLINK: u16 = 16;
    const NLM_F_REQUEST: u16 = 1;
    const LOOPBACK: i32 = 1;
    const IFF_UP: u32 = 1;
    let mut message = Vec::new();
    message.extend(32_u32.to_ne_bytes());
    message.extend(RTM_NEWLINK.to_ne_bytes());
    message.extend(NLM_F_REQUEST.to_ne_bytes());
    message.extend([0; 8]);
    message.extend([0; 4]);
    message.extend(LOOPBACK.to_ne_bytes());
    message.extend(IFF_UP.to_ne_bytes());
    message.extend(IFF_UP.to_ne_bytes());
    // The protocol is NETLINK_ROUTE, which is 0.
    let socket = socket(AddressFamily::NETLINK, SocketType::RAW, None)?;
    send(&socket, &message, SendFlags::empty())?;
    Ok(())
}

/// Observes nothing: what a run prints, it prints through the same serial interrupts it would be
/// measured beside.
struct Unseen;

impl ProgressObserver for Unseen {
    fn observes(&self) -> bool {
        false
    }

    fn progress(&mut self, _: &Progress) {}
}

fn bad_input(error: impl ToString) -> Refusal {
    Refusal { error: error.to_string(), bad_input: true }
}

fn run_failed(error: impl ToString) -> Refusal {
    Refusal { error: error.to_string(), bad_input: false }
}

fn measure(
    run: Run,
    default_cpus: Option<DefaultCpus>,
    time: MachineTime,
    load_verb: &'static str,
) -> Result<Vec<u8>, Refusal> {
    let order = order_of(run, default_cpus, time, load_verb)?;
    let signals = Signals::catch().map_err(run_failed)?;
    let examined = runner::execute(&order, &signals, &mut Unseen, None)
        .map_err(|error: RunnerError| run_failed(error))?;
    packed(&examined.recorded)
        .map_err(|error| run_failed(format!("the recording cannot be packed: {error}")))
}

/// What the runner needs, with the same refusals and warnings as outside of the lab.
fn order_of(
    mut run: Run,
    default_cpus: Option<DefaultCpus>,
    time: MachineTime,
    load_verb: &'static str,
) -> Result<runner::PreparedRun, Refusal> {
    let program_started = probe::Monotonic.now();
    let cpus = runner::process_cpus()
        .map_err(|error| run_failed(format!("which CPUs there are: {error}")))?;
    if let Some(default_cpus) = default_cpus {
        run.cpus = assign(default_cpus, &cpus.by_default());
    }
    if time == MachineTime::Real && !run.phase.is_none() {
        return Err(bad_input(format!(
            "phase {} needs virtual time, and this guest runs on the host's clock",
            run.phase
        )));
    }
    if let Some(cpu) = run.cpus.iter().find(|cpu| !cpus.usable.contains(cpu)) {
        let usable = plan::CpuList::format(&cpus.usable);
        return Err(bad_input(format!(
            "CPU {cpu} is not there in the guest: its CPUs are {usable}"
        )));
    }
    let probe = probe::choose(&run.probe, &run.probe_settings).map_err(bad_input)?;
    let probe = probe.here(&mut run).map_err(run_failed)?;
    let granted = runner::grant(run.scheduling);
    let limits = load::Limits::for_loads(Some(granted.scheduling.rank()), run.loads.len());
    let loads =
        run.loads.iter().map(|spec| load::check(spec, &cpus.inherited, &cpus.usable, &limits));
    let loads = loads.collect::<Result<Vec<_>, _>>().map_err(bad_input)?;
    let isolated = default_cpus.and_then(|_| runner::isolated_not_measured(&run, &cpus));
    let elsewhere = runner::loads_elsewhere(&run, &loads);
    let short = runner::try_interval(&run, &probe, granted.scheduling).map_err(bad_input)?;
    probe.check(&run).map_err(bad_input)?;
    Ok(runner::PreparedRun {
        statement: probe.statement(&run),
        probe,
        granted,
        warnings: isolated.into_iter().chain(elsewhere).chain(short).collect(),
        loads,
        run,
        default_length: false,
        load_verb,
        time,
        directory: PathBuf::from(RECORDING),
        command_line: Vec::new(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        program_started,
    })
}

fn packed(recorded: &Recorded) -> io::Result<Vec<u8>> {
    let mut names: Vec<_> = fs::read_dir(&recorded.path)?
        .collect::<Result<Vec<_>, _>>()?
        .iter()
        .map(fs::DirEntry::path)
        .collect();
    names.sort();
    let sizes = names
        .iter()
        .map(|path| fs::metadata(path).map(|file| file.len()))
        .sum::<io::Result<u64>>()?;
    let mut archive = Writer::for_about(usize::try_from(sizes).unwrap_or(0));
    for path in names {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        archive.file(&name, &fs::read(&path)?);
        // It lies in memory, and is not needed twice.
        fs::remove_file(&path)?;
    }
    Ok(archive.finish())
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Warning;
    use plan::{CpuId, Nanos};

    fn run(cpus: &[CpuId], interval: Nanos, loads: &[&str]) -> Run {
        Run {
            cpus: cpus.to_vec(),
            loads: loads.iter().map(|load| load.parse().unwrap()).collect(),
            ..Run::example(interval, 10)
        }
    }

    #[test]
    fn an_interval_that_the_guest_cannot_carry_is_refused_or_warned_of() {
        let cpus = probe::process_cpus().unwrap().inherited;
        match order_of(run(&cpus[..1], Nanos(100), &[]), None, MachineTime::Virtual, "load") {
            Err(refusal) => {
                assert!(
                    refusal.bad_input
                        && refusal.error.starts_with("an interval of 100ns is too short"),
                    "{refusal:?}"
                );
            }
            // Without real-time rights nothing is locked out.
            Ok(order) => assert!(
                matches!(order.warnings[..], [Warning::IntervalShort { .. }]),
                "{:?}",
                order.warnings
            ),
        }
    }

    #[test]
    fn the_run_is_told_what_the_guests_clocks_count() {
        let cpus = probe::process_cpus().unwrap().inherited;
        for time in [MachineTime::Virtual, MachineTime::Real] {
            let order =
                order_of(run(&cpus[..1], Nanos::from_millis(10), &[]), None, time, "load").unwrap();
            assert_eq!(order.time, time);
        }
    }

    #[test]
    fn a_phase_on_the_hosts_clock_is_refused() {
        let cpus = probe::process_cpus().unwrap().inherited;
        let of = |time| {
            let run = Run {
                phase: "17".parse().unwrap(),
                ..run(&cpus[..1], Nanos::from_millis(10), &[])
            };
            order_of(run, None, time, "load").map(|order| order.run.phase.to_string())
        };
        assert_eq!(of(MachineTime::Virtual).unwrap(), "17");
        let refusal = of(MachineTime::Real).unwrap_err();
        assert!(
            refusal.bad_input && refusal.error.starts_with("phase 17 needs virtual time"),
            "{refusal:?}"
        );
    }

    /// In a thread of its own, whose affinity goes with it.
    #[test]
    fn a_measured_cpu_where_the_guest_does_not_run_is_said_to_have_no_load() {
        let usable = probe::process_cpus().unwrap().usable;
        let [first, second, ..] = usable[..] else { return };
        let confined = move |default_cpus| {
            let confine = move || {
                let mut set = rustix::thread::CpuSet::new();
                set.set(usize::try_from(first.0).unwrap());
                rustix::thread::sched_setaffinity(None, &set).unwrap();
                let run = run(&[first, second], Nanos::from_millis(10), &["cpu@50%"]);
                order_of(run, default_cpus, MachineTime::Real, "load").unwrap()
            };
            std::thread::spawn(confine).join().unwrap()
        };
        let named = confined(None);
        assert!(
            matches!(named.warnings[..], [Warning::LoadsElsewhere { .. }]),
            "{:?}",
            named.warnings
        );
        let unnamed = confined(Some(DefaultCpus { threads: None }));
        assert_eq!((unnamed.run.cpus, unnamed.warnings), (vec![first], Vec::new()));
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! Threads as /proc shows them: their policy and priority, and the CPUs that they may run on.

use super::machine::Machine;
use plan::CpuId;
use system::process::Stat;

/// A thread that was seen.
pub struct Thread {
    pub pid: u32,
    pub id: u32,
    /// The process that started it.
    pub(super) parent: u32,
    pub name: String,
    /// Its priority by SCHED_FIFO or SCHED_RR; 0 without one.
    pub priority: u8,
    /// When it began, in ticks since boot: its number may be another thread's by now.
    pub started: u64,
    /// The CPU that it was last on.
    pub(super) cpu: CpuId,
    /// The CPUs that it may run on; only looked up for those of a real-time policy.
    allowed: Option<Vec<CpuId>>,
    pub(super) is_kernel: bool,
    policy: u64,
}

const SCHED_FIFO: u64 = 1;
const SCHED_RR: u64 = 2;
const SCHED_DEADLINE: u64 = 6;
/// Where a thread of SCHED_DEADLINE stands: before every priority, of which 99 is the highest.
pub(super) const RANK_OF_DEADLINE: u8 = 100;

/// A line of /proc/PID/task/TID/stat.
pub fn thread(pid: u32, line: &str) -> Option<Thread> {
    let stat = Stat::parse(line)?;
    let policy = stat.field(41)?;
    Some(Thread {
        pid,
        id: stat.field(1)?,
        parent: stat.parent()?,
        name: stat.name.to_owned(),
        started: stat.started()?,
        priority: if matches!(policy, SCHED_FIFO | SCHED_RR) { stat.field(40)? } else { 0 },
        cpu: CpuId(stat.field(39)?),
        allowed: None,
        is_kernel: stat.is_kernel_thread()?,
        policy,
    })
}

impl Thread {
    /// Where it stands among the real-time threads: 0 for an ordinary one.
    pub(super) fn rank(&self) -> u8 {
        if self.is_deadline() { RANK_OF_DEADLINE } else { self.priority }
    }

    pub fn is_deadline(&self) -> bool {
        self.policy == SCHED_DEADLINE
    }

    /// The thread with which the governor schedutil changes frequencies. No program can change how
    /// it is scheduled.
    fn is_of_governor(&self) -> bool {
        self.is_kernel && self.is_deadline() && self.name.starts_with("sugov:")
    }

    /// The CPUs that it may run on, as far as they are known.
    pub(super) fn cpus(&self) -> Vec<CpuId> {
        self.allowed.clone().unwrap_or_default()
    }

    /// Those of these CPUs on which it may run. No balancing brings a thread to an isolated CPU as
    /// long as it may also run on another.
    fn on(&self, cpus: &[CpuId], isolated: &[CpuId]) -> Vec<CpuId> {
        let is_kept_there = |allowed: &[CpuId]| allowed.iter().all(|cpu| isolated.contains(cpu));
        let may_come = |cpu: CpuId| {
            let is_brought = |allowed: &Vec<CpuId>| {
                allowed.contains(&cpu) && (!isolated.contains(&cpu) || is_kept_there(allowed))
            };
            cpu == self.cpu || self.allowed.as_ref().is_some_and(is_brought)
        };
        cpus.iter().copied().filter(|cpu| may_come(*cpu)).collect()
    }
}

/// Every thread that can be seen. One file is read of each, and a second one of those with a
/// real-time policy. Where a process has one thread, as most have, its own file is that one's.
pub(super) fn all(machine: &Machine<'_>) -> Vec<Thread> {
    let pids = machine.names("proc").into_iter().filter_map(|name| name.parse::<u32>().ok());
    pids.flat_map(|pid| match only_thread(machine, pid) {
        Some(thread) => vec![thread],
        None => threads_of(machine, pid),
    })
    .collect()
}

fn only_thread(machine: &Machine<'_>, pid: u32) -> Option<Thread> {
    let folder = format!("proc/{pid}");
    let line = machine.text(&format!("{folder}/stat"))?;
    let is_only = Stat::parse(&line)?.field(20) == Some(1);
    is_only.then(|| thread_in(machine, pid, &folder, &line)).flatten()
}

fn threads_of(machine: &Machine<'_>, pid: u32) -> Vec<Thread> {
    let tasks = format!("proc/{pid}/task");
    let of = |id: String| {
        let folder = format!("{tasks}/{id}");
        let line = machine.text(&format!("{folder}/stat"))?;
        thread_in(machine, pid, &folder, &line)
    };
    machine.names(&tasks).into_iter().filter_map(of).collect()
}

/// The thread that this folder and its line are of.
fn thread_in(machine: &Machine<'_>, pid: u32, folder: &str, line: &str) -> Option<Thread> {
    let mut thread = thread(pid, line)?;
    if thread.rank() > 0 {
        thread.allowed = allowed(machine, &format!("{folder}/status"));
    }
    Some(thread)
}

fn allowed(machine: &Machine<'_>, status: &str) -> Option<Vec<CpuId>> {
    let text = machine.text(status)?;
    let list = text.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    host::cpu::list(list)
}

/// A process and all that it started, as far as it still runs.
pub(super) fn with_descendants(threads: &[Thread], process: u32) -> Vec<u32> {
    let mut found = vec![process];
    let mut next = 0;
    while let Some(parent) = found.get(next).copied() {
        next += 1;
        for thread in threads {
            if thread.parent == parent && !found.contains(&thread.pid) {
                found.push(thread.pid);
            }
        }
    }
    found
}

/// A thread that comes before what is to be on time, and on which of its CPUs.
pub struct Above<'a> {
    pub thread: &'a Thread,
    pub(super) cpus: Vec<CpuId>,
}

impl Above<'_> {
    /// Its name, its number, and where it stands.
    pub(super) fn words(&self) -> String {
        let Thread { name, id, priority, .. } = self.thread;
        let on = super::machine::cpu_words(&self.cpus);
        if self.thread.is_deadline() {
            format!("{name} {id} with SCHED_DEADLINE on {on}")
        } else {
            format!("{name} {id} at {priority} on {on}")
        }
    }
}

/// Threads at or above the priority of what is to be on time that may run on its CPUs, the highest
/// first.
fn all_above<'a>(machine: &'a Machine<'_>) -> Vec<Above<'a>> {
    let measured = machine.measured();
    let threads = machine.threads().iter();
    let mut above: Vec<Above<'a>> = threads
        .filter(|thread| {
            thread.rank() > 0
                && thread.rank() >= machine.options.priority
                && !machine.is_spared(thread.pid)
        })
        .map(|thread| Above { thread, cpus: thread.on(&measured, &machine.isolated) })
        .filter(|above| !above.cpus.is_empty())
        .collect();
    above.sort_by_key(|above| (std::cmp::Reverse(above.thread.rank()), above.thread.id));
    above
}

/// Threads that every kernel has at the highest priority, which stop a CPU for a moment when it is
/// hot-plugged or code is patched.
const STOPPERS: [&str; 3] = ["migration/", "cpuhp/", "idle_inject/"];

/// Threads that come before what is to be on time, but for handlers of interrupts, for workers of
/// the kernel, whose priority is wrong wherever they run, and for those that guard the machine.
pub fn threads_above<'a>(machine: &'a Machine<'_>) -> Vec<Above<'a>> {
    let mut above = all_above(machine);
    above.retain(|Above { thread, .. }| {
        let is_stopper =
            thread.is_kernel && STOPPERS.iter().any(|name| thread.name.starts_with(name));
        !is_stopper && !is_handler(thread) && !is_raised_worker(thread) && guard(thread).is_none()
    });
    above
}

/// Threads that come before what is to be on time and have to, because they guard the machine.
pub(super) fn guards_above<'a>(machine: &'a Machine<'_>) -> Vec<Above<'a>> {
    let mut above = all_above(machine);
    above.retain(|above| guard(above.thread).is_some());
    above
}

/// What a thread guards the machine from: at a lower priority it would not be able to.
pub(super) fn guard(thread: &Thread) -> Option<&'static str> {
    match (thread.is_kernel, thread.name.as_str()) {
        (false, "rtkit-daemon") => Some(
            "of RealtimeKit: it sleeps, and takes real-time priorities away when ordinary threads \
             starve",
        ),
        (false, "watchdog" | "wd_keepalive") | (true, "watchdogd") => {
            Some("keeps the hardware's watchdog from restarting the machine")
        }
        (true, name) if name.starts_with("watchdog/") => {
            Some("the kernel's detector of lockups: see watchdogs")
        }
        _ => None,
    }
}

/// Whether it is a worker of the kernel with a real-time priority. Its work is ordinary.
pub(super) fn is_raised_worker(thread: &Thread) -> bool {
    thread.is_kernel && thread.name.starts_with("kworker/") && thread.priority > 0
}

/// Whether it handles an interrupt.
pub(super) fn is_handler(thread: &Thread) -> bool {
    thread.is_kernel && thread.name.starts_with("irq/")
}

/// Handlers of interrupts that come before what is to be on time.
pub fn interrupt_threads_above<'a>(machine: &'a Machine<'_>) -> Vec<Above<'a>> {
    let mut above = all_above(machine);
    above.retain(|above| is_handler(above.thread));
    above
}

/// The priority that a thread gets so that it comes later; none where no real-time priority is
/// lower.
pub fn lower_priority(machine: &Machine<'_>, at_most: u8) -> Option<u8> {
    Some(machine.options.priority.saturating_sub(1).min(at_most)).filter(|priority| *priority > 0)
}

/// A command for each of these numbers.
pub(super) fn for_each(command: &str, ids: &[String]) -> String {
    match ids {
        [one] => command.replace("\"$i\"", one).replace("$i", one),
        _ => format!("for i in {}; do {command}; done", ids.join(" ")),
    }
}

/// What lets threads come after what is to be on time: real numbers, and priorities that are below
/// its own.
pub(super) fn lowering(machine: &Machine<'_>, above: &[Above<'_>], at_most: u8) -> String {
    let ids = |is_wanted: &dyn Fn(&Thread) -> bool| -> Vec<String> {
        let wanted = above
            .iter()
            .map(|above| above.thread)
            .filter(|thread| !thread.is_of_governor() && is_wanted(thread));
        wanted.map(|thread| thread.id.to_string()).collect()
    };
    let mut ways = Vec::new();
    match lower_priority(machine, at_most) {
        Some(to) => {
            for (flag, ids) in [
                ("-f", ids(&|thread| thread.policy != SCHED_RR)),
                ("-r", ids(&|thread| thread.policy == SCHED_RR)),
            ] {
                if !ids.is_empty() {
                    ways.push(for_each(&format!("sudo chrt {flag} -p {to} $i"), &ids));
                }
            }
        }
        None => ways.push("no real-time priority is below 1".to_owned()),
    }
    if above.iter().any(|above| above.thread.is_of_governor()) {
        ways.push(
            "without the governor schedutil: echo performance | sudo tee \
             /sys/devices/system/cpu/cpufreq/policy*/scaling_governor"
                .to_owned(),
        );
    }
    let mut text = ways.join(", and ");
    let highest = above.iter().map(|above| above.thread.rank()).max().unwrap_or(0);
    if highest < 99 {
        let joined = if lower_priority(machine, at_most).is_some() { "or run" } else { "run" };
        let or_above = if highest < 98 { " or above" } else { "" };
        text += &format!(", {joined} what is to be on time at {}{or_above}", highest + 1);
    }
    text
}

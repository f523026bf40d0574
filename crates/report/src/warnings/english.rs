// SPDX-License-Identifier: MIT OR Apache-2.0
//! Warnings in English.

use super::NextStep::{Advice, Command, Unknown};
use super::{
    NextStep, Share, WarningText, list, longer, on_all_cpus, raw, seconds, share, shell_quoted,
};
use crate::format::count;
use crate::format::micros;
use model::{
    BusyCpu, BusyProcess, LoadFailure, MemoryNotLocked, NotHeld, Steady, StolenTime, Warning,
};
use plan::{CpuList, LoadSpec};

pub(super) fn text(warning: &Warning) -> WarningText {
    let (message, evidence, next_step) = sentences(warning);
    WarningText { message, evidence, next_step }
}

fn advice(text: &str) -> NextStep {
    Advice(text.to_owned())
}

fn command(text: &str) -> NextStep {
    Command(text.to_owned())
}

/// Message, evidence, next step.
#[expect(clippy::too_many_lines, reason = "one arm for each kind of warning")]
fn sentences(warning: &Warning) -> (String, String, NextStep) {
    match warning {
        Warning::NoRealTime { asked, granted, error, program: _ } => (
            format!(
                "No real-time rights: measured with {granted}, not {asked}. The figures say \
                 little about real-time threads."
            ),
            format!("the kernel refused {asked}: {error}"),
            // Not setcap, which gives them to everybody who may run the file.
            advice(
                "Join a group that has them: teiji check says how (rights-real-time). For this \
                 shell alone: sudo prlimit --pid $$ --rtprio=95 --memlock=unlimited",
            ),
        ),
        Warning::MemoryNotLocked { reason } => {
            let (evidence, next_step) = match reason {
                MemoryNotLocked::LimitBytes(bytes) => (
                    format!("the limit on locked memory is {} KiB", bytes / 1024),
                    "Raise it with a line '@realtime - memlock unlimited' in \
                     /etc/security/limits.d/realtime.conf, or run as root.",
                ),
                MemoryNotLocked::Error(error) => (format!("mlockall: {error}"), "Run as root."),
            };
            (
                "Memory could not be locked: page faults may add latency.".to_owned(),
                evidence,
                advice(next_step),
            )
        }
        Warning::DmaLatencyNotHeld { path, reason, error } => (
            "CPUs may enter deep idle states while threads wait: /dev/cpu_dma_latency is not held \
             at 0."
                .to_owned(),
            format!("cannot hold {path} at 0: {error}"),
            advice(match reason {
                NotHeld::NotFound => {
                    "In a container, pass the device in. On an x86 kernel without it, boot with \
                     processor.max_cstate=1. To measure the machine as it is, use --no-dma-latency."
                }
                NotHeld::PermissionDenied => {
                    "Run as root, or own the file until the next boot: sudo chown $USER \
                     /dev/cpu_dma_latency. To measure the machine as it is, use --no-dma-latency."
                }
                NotHeld::Failed => {
                    "Run as root, or measure the machine as it is with --no-dma-latency."
                }
            }),
        ),
        Warning::IntervalShort { interval_ns, missed_percent, cpu } => (
            format!(
                "An interval of {interval_ns} is short for this machine: many of them will be \
                 late or skipped."
            ),
            format!("in a trial before the run: {missed_percent} %, on CPU {cpu}"),
            Advice(format!(
                "Measure with a longer interval, such as -i {}, or with fewer threads on a CPU.",
                longer(*interval_ns)
            )),
        ),
        Warning::DiskSlow { max_delay_ns } => (
            "Slow disk: a power cut would have cost more than the last second of samples."
                .to_owned(),
            format!(
                "up to {:.1} s from a write until it was on the disk",
                max_delay_ns.0 as f64 / 1e9
            ),
            advice("Record to a faster disk."),
        ),
        Warning::ClockStepped { clock, forwards_ns, backwards_ns } => (
            format!(
                "{clock} was set while measuring. The latency of that moment contains the step."
            ),
            format!(
                "at most {} µs forwards and {} µs backwards at once",
                micros(forwards_ns.0),
                micros(backwards_ns.0)
            ),
            advice("Stop what sets the clock, or let it slew instead of step, and measure again."),
        ),
        Warning::ThreadUnresponsive { thread, cpu, waited_ns } => (
            format!(
                "Thread {thread} was not running when the run ended: something else occupies CPU \
                 {cpu}."
            ),
            format!("it did not end within {} s of the request", waited_ns.0 / 1_000_000_000),
            command("ps -eLo pid,rtprio,psr,comm --sort=-rtprio"),
        ),
        Warning::SamplesLost { thread, lost, woken } => (
            if *lost == 1 {
                format!(
                    "1 sample of thread {thread} was lost. It is counted, but it is not in the \
                     statistics."
                )
            } else {
                format!(
                    "{} samples of thread {thread} were lost. They are counted, but they are not \
                     in the statistics.",
                    count(*lost)
                )
            },
            format!("of {} measured", count(*woken)),
            advice(
                "Measure with a longer interval, fewer threads or less load, or record to a \
                 faster disk.",
            ),
        ),
        Warning::AccountEventsLost { cpu, events, rows } => (
            if *events == 1 {
                format!("The kernel lost 1 trace event of CPU {cpu}.")
            } else {
                format!("The kernel lost {} trace events of CPU {cpu}.", count(*events))
            },
            format!(
                "the time that they would explain is in the column 'unexplained'; rows concerned: \
                 {}",
                count(*rows)
            ),
            advice(
                "Measure with a shorter interval: what the kernel recorded is read once in each.",
            ),
        ),
        Warning::PageFaults { thread, minor, major } => (
            format!("Thread {thread} had page faults while measuring."),
            format!("{minor} minor and {major} major while it measured"),
            advice("Lock memory: see the warning about it, or run as root."),
        ),
        Warning::AccountingDiffers { place, counted, recorded } => (
            format!("{place} was counted as {counted} and recorded as {recorded}."),
            "the thread's own count against the samples on disk".to_owned(),
            advice("Please report this as a defect of teiji, with the recording."),
        ),
        Warning::LoadsElsewhere { bare, loaded, load } => (
            format!(
                "No load on measured CPU {}: loads run on CPU {}.",
                CpuList::format(bare),
                CpuList::format(loaded)
            ),
            format!("load {load} has no cpus=, so it runs on this program's CPUs"),
            Advice(format!(
                "To load the measured CPUs too, add cpus=all: --load {}",
                shell_quoted(&on_all_cpus(load))
            )),
        ),
        Warning::LoadNotSettled { load, steady } => (
            format!(
                "Load '{load}' was not steady when measuring began: its start may affect the \
                 first latencies."
            ),
            match steady {
                Steady::LevelForNs(ns) => {
                    format!(
                        "steady: every task has worked, and the load's rate was level for {} ms",
                        ns.0 / 1_000_000
                    )
                }
                Steady::RunningForNs(ns) => {
                    format!("steady: the command has run for {} s", ns.0 / 1_000_000_000)
                }
            },
            advice("Let it settle longer, for example with --settle 20s."),
        ),
        Warning::LoadConditions { load, nice } => (
            format!("Load '{load}' ran at nice {nice}, not 0, and got less CPU time than usual."),
            format!("nice {nice} is inherited from its parent, and it may not return to 0"),
            advice("Start the measurement without nice."),
        ),
        Warning::LoadOffTarget { load, requested, reached, cpu, machine } => (
            format!(
                "Load '{load}' was off target, at {reached:.1} % of {place} instead of \
                 {requested:.1} %. The figures are not those of the requested load.",
                place = cpu.map_or_else(|| "its CPUs".to_owned(), |cpu| format!("CPU {cpu}")),
            ),
            machine.iter().map(busy_in_all).collect::<Vec<_>>().join(", "),
            advice("Request a lower level, or move other work off these CPUs."),
        ),
        Warning::LoadDied { load, failure: why, output } => (
            format!("Load '{load}' exited early. Part of the run was measured without it."),
            if output.is_empty() { failure(why) } else { format!("{}; {output}", failure(why)) },
            advice(after_death(load)),
        ),
        Warning::GovernorNotPerformance { governors } => (
            "The frequency of idle CPUs may drop, which adds latency.".to_owned(),
            governors
                .iter()
                .map(|(governor, cpus)| format!("{governor} on CPU {}", CpuList::format(cpus)))
                .collect::<Vec<_>>()
                .join("; "),
            command(
                "echo performance | sudo tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor",
            ),
        ),
        Warning::FrequencyChanged { cpus } => {
            let highest = cpus
                .iter()
                .map(|change| change.before_khz.max(change.after_khz))
                .max()
                .unwrap_or(0);
            let change = cpus.iter().map(|change| {
                let (was, is) = (change.before_khz / 1_000, change.after_khz / 1_000);
                format!("CPU {}: {was} MHz before, {is} MHz after", change.cpu)
            });
            (
                "CPU frequency changed during the run: latencies were not measured at one speed."
                    .to_owned(),
                list(change, and_more),
                Command(format!(
                    "sudo cpupower frequency-set --governor performance --min {highest} --max \
                     {highest}"
                )),
            )
        }
        Warning::ClocksourceChanged { before, after } => (
            "The clocksource changed during the run: times before and after are not comparable."
                .to_owned(),
            format!("{before} before, {after} after"),
            advice("See the kernel log: sudo dmesg | grep -i clocksource"),
        ),
        Warning::ClocksourceSlow { clocksource, available, fast } => (
            format!(
                "Slow clocksource {clocksource}: every latency includes the cost of reading it."
            ),
            format!(
                "clocksource {clocksource}, available: {}",
                if available.is_empty() { "unknown".to_owned() } else { available.join(" ") }
            ),
            match fast {
                Some(fast) => Command(format!(
                    "echo {fast} | sudo tee \
                     /sys/devices/system/clocksource/clocksource0/current_clocksource"
                )),
                None => advice(
                    "See the kernel log for why there is no faster one: sudo dmesg | grep -iE \
                     'clocksource|tsc'",
                ),
            },
        ),
        Warning::Hypervisor { cpu_model } => (
            "Virtual machine: every latency includes the delays of the hypervisor and its other \
             guests."
                .to_owned(),
            format!("hypervisor on {}", cpu_model.as_deref().unwrap_or("CPU of unknown model")),
            advice(
                "To judge the hardware, measure on it. To judge the guest, measure on the \
                 hypervisor's host at the same time.",
            ),
        ),
        Warning::StealTime { cpus } => (
            format!(
                "Steal time: the hypervisor took CPU {} away for {} ms. What was due in that time \
                 was delayed.",
                CpuList::format(&cpus.iter().map(|time| time.cpu).collect::<Vec<_>>()),
                cpus.iter().fold(0_u64, |sum, time| sum.saturating_add(time.stolen_ms))
            ),
            list(cpus.iter().map(stolen), and_more),
            advice(
                "On the hypervisor's host, pin each virtual CPU to a physical CPU: virsh vcpupin \
                 DOMAIN VCPU CPU",
            ),
        ),
        Warning::CpuOfflineChanged { before, after } => (
            "CPUs went offline or came online during the run. The kernel stops all other CPUs for \
             that, and moves their work."
                .to_owned(),
            format!(
                "CPUs {} online before, {} after",
                CpuList::format(before),
                CpuList::format(after)
            ),
            advice(
                "Find the cause (sudo dmesg | grep -i -E 'cpu ?[0-9]+'), stop it, and measure \
                 again.",
            ),
        ),
        Warning::IsolatedNotMeasured { isolated, measured, left_out } => {
            let (cpus, plural) =
                (CpuList::format(left_out), if left_out.len() == 1 { "" } else { "s" });
            (
                format!("Isolated CPU{plural} {cpus} not measured: add -a {cpus}."),
                format!(
                    "isolated: CPU {}; measured, by inherited affinity: CPU {}",
                    CpuList::format(isolated),
                    CpuList::format(measured)
                ),
                Advice(format!(
                    "Name the CPUs to measure: -a {cpus}, or in a plan cpus = \"{cpus}\"."
                )),
            )
        }
        Warning::MachineCheck { check, found, why, action } => (
            format!("Bad for latency, {check}: {found}."),
            why.clone(),
            action.as_deref().map_or(NextStep::Unknown, advice),
        ),
        Warning::OtherWork { percent, cpus, processes } => (
            if cpus.is_empty() {
                format!(
                    "Other processes used {percent:.1} % of one CPU: the figures are not those of \
                     the load alone."
                )
            } else {
                format!(
                    "Other work kept CPUs up to {percent:.1} % busy with no load added: the \
                     figures are not those of an idle machine."
                )
            },
            other_work(cpus, processes),
            advice(if cpus.is_empty() {
                "Stop the other work and measure again."
            } else {
                "Stop the other work and measure again. To measure under load, add one with --load."
            }),
        ),
        Warning::StreamUnreadable { .. }
        | Warning::StreamHalfRecord { .. }
        | Warning::StreamBackwards { .. }
        | Warning::StreamTrailing { .. }
        | Warning::StreamMissed { .. }
        | Warning::StreamOffPeriod { .. }
        | Warning::StreamEnded { .. }
        | Warning::StreamSilent { .. }
        | Warning::StreamUnread { .. } => stream(warning),
        Warning::RowsUntraced { thread, rows, measured } => (
            if *rows == 1 {
                format!(
                    "1 row of thread {thread} is not whole in the kernel's trace. It is counted, \
                     but it is not in the statistics."
                )
            } else {
                format!(
                    "{} rows of thread {thread} are not whole in the kernel's trace. They are \
                     counted, but they are not in the statistics.",
                    count(*rows)
                )
            },
            format!("of {} measured", count(*measured)),
            advice(
                "The trace's buffer was full, or the kernel does not record each switch. Measure \
                 at a lower rate, or on another CPU.",
            ),
        ),
        Warning::FellBack { thread, switches, measured } => (
            switches.map_or_else(
                || {
                    format!(
                        "It is unknown whether thread {thread} stayed on the co-kernel. Latencies \
                         in between may be those of Linux."
                    )
                },
                |switches| {
                    format!(
                        "Thread {thread} fell back from the co-kernel to Linux {} between its \
                         first and its last row. Latencies after that are those of Linux.",
                        if switches == 1 {
                            "once".to_owned()
                        } else {
                            format!("{} times", count(switches))
                        }
                    )
                },
            ),
            format!("of {} measured", count(*measured)),
            advice(
                "A page fault, a signal or a debugger takes a thread to Linux. Let memory be \
                 locked, and measure undisturbed.",
            ),
        ),
        Warning::TraceEventsLost { events, buffer_kib, unfollowed } => (
            if *events > 0 {
                format!(
                    "At least {} of the kernel's trace were lost. How many rows they would have \
                     made is unknown, and none of them is counted.",
                    events_of(*events)
                )
            } else {
                "Not all of the program was followed. The rows of the rest are not counted."
                    .to_owned()
            },
            format!(
                "{}; each CPU's buffer holds {} KiB",
                if *unfollowed > 0 {
                    format!("no room for {} threads or timers", count(*unfollowed))
                } else {
                    "buffers full".to_owned()
                },
                count(*buffer_kib)
            ),
            advice(
                "Name a CPU with -a that the program does not use, so that the trace is read in \
                 time.",
            ),
        ),
        Warning::ProgramEnded { after_ns, planned_ns, status, signal } => (
            format!(
                "The program ended after {} s of {} s{}.",
                seconds(*after_ns),
                seconds(*planned_ns),
                match (status, signal) {
                    (Some(status), _) => format!(" with status {status}"),
                    (None, Some(signal)) => format!(" by signal {signal}"),
                    (None, None) => String::new(),
                }
            ),
            "what it did until then is all that was measured".to_owned(),
            advice(
                "Measure for as long as it runs: -d TIME. If it should have gone on, see what it \
                 says on standard error.",
            ),
        ),
        Warning::Other(other) => (
            format!("{}: this version of teiji does not know this warning.", other.code),
            raw(other),
            Unknown,
        ),
    }
}

fn events_of(events: u64) -> String {
    if events == 1 { "1 event".to_owned() } else { format!("{} events", count(events)) }
}

/// Of times that came as a stream.
fn stream(warning: &Warning) -> (String, String, NextStep) {
    let counted = |n: u64, one: &str, more: &str| {
        if n == 1 { format!("1 {one}") } else { format!("{} {more}", count(n)) }
    };
    match warning {
        Warning::StreamUnreadable { from, records, numbers, first, first_offset, text } => (
            format!(
                "{} of {from} could not be read as a number of this kind and {} in no figure.",
                counted(*records, "record", "records"),
                if *records == 1 { "is" } else { "are" }
            ),
            format!(
                "the first is record {} at byte {}: '{text}'; {} were read",
                count(*first),
                count(*first_offset),
                counted(*numbers, "number", "numbers")
            ),
            advice(
                "See the column 'unreadable' for the rows they stand before. Check --width, \
                 --byte-order and the baud rate.",
            ),
        ),
        Warning::StreamHalfRecord { from, bytes, offset, ended } => (
            if *ended {
                format!("{from} ended within a record. What there is of it is in no figure.")
            } else {
                format!(
                    "The run ended within a record of {from}. What had come of it is in no figure."
                )
            },
            format!("{} from byte {}", counted(*bytes, "byte", "bytes"), count(*offset)),
            advice(if *ended {
                "A last line needs its end of line. See whether the program that writes was killed."
            } else {
                "If its rest was not to come, the program that writes lacks an end of line, or \
                 --width is wrong."
            }),
        ),
        Warning::StreamBackwards { from, steps, first, furthest_ns } => (
            format!(
                "The timestamps of {from} step backwards {}. No interval is measured there.",
                counted(*steps, "time", "times")
            ),
            format!("first at record {}, by {} µs at most", count(*first), micros(furthest_ns.0)),
            advice(
                "If a counter wraps around, say its size: --wrap 32. If its clock was set or its \
                 program restarted, measure again.",
            ),
        ),
        Warning::StreamTrailing { from, unreadable, backwards } => (
            format!("Not all of {from} is in a row: no row follows its last records."),
            format!(
                "{} that could not be read and {} backwards after the last row",
                counted(*unreadable, "record", "records"),
                counted(*backwards, "step", "steps")
            ),
            advice(
                "The columns 'unreadable' and 'backwards' lack these. The other warnings of this \
                 stream count them.",
            ),
        ),
        Warning::StreamMissed { from, missed, period_ns } => (
            format!("{} of {from} passed without a record.", counted(*missed, "period", "periods")),
            format!(
                "with a period of {} µs; the column 'missed' has them at each row",
                micros(period_ns.0)
            ),
            advice(
                "See whether the source skipped them, or whether its FIFO or its line was full.",
            ),
        ),
        Warning::StreamOffPeriod { period_ns, median_ns, intervals } => (
            format!(
                "The median interval of the stream is {} µs, but the period given for it is {} \
                 µs. Jitter and missed periods are wrong if the period or the unit is.",
                micros(median_ns.0),
                micros(period_ns.0)
            ),
            counted(*intervals, "interval", "intervals"),
            advice(
                "Check --unit and --hz first, then --period. If all are right, the source runs at \
                 another rate.",
            ),
        ),
        Warning::StreamEnded { from, numbers, after_ns } => (
            format!("{from} ended before the run. The figures are of what had come."),
            format!(
                "{} in {:.3} s",
                counted(*numbers, "number", "numbers"),
                after_ns.0 as f64 / 1e9
            ),
            advice("Have the program write for longer, or run for as long as it writes: -d TIME."),
        ),
        Warning::StreamSilent { from, numbers, silent_ns } => (
            if *numbers == 0 {
                format!("No number came from {from}.")
            } else {
                format!(
                    "Nothing more came from {from} in the last {:.1} s of the run.",
                    silent_ns.0 as f64 / 1e9
                )
            },
            format!(
                "{}, then silence for {:.1} s",
                counted(*numbers, "number", "numbers"),
                silent_ns.0 as f64 / 1e9
            ),
            advice(
                "See whether the program that writes still runs. What should have come is counted \
                 nowhere.",
            ),
        ),
        Warning::StreamUnread { from, bytes } => (
            format!("{from} was not read to its end."),
            format!("{} left", counted(*bytes, "byte", "bytes")),
            advice("Give a longer -d."),
        ),
        _ => (String::new(), String::new(), Unknown),
    }
}

fn and_more(left_out: usize) -> String {
    format!("and {left_out} more")
}

fn busy_in_all(busy: &BusyCpu) -> String {
    format!("CPU {} was {:.1} % busy in all", busy.cpu, busy.percent)
}

fn stolen(time: &StolenTime) -> String {
    let share = match share(time.stolen_ms, time.elapsed_ms) {
        Share::Unknown => "an unknown share".to_owned(),
        Share::BelowATenth => "below 0.1 %".to_owned(),
        Share::Percent(percent) => format!("{percent:.1} %"),
    };
    format!("CPU {}: {} ms, {share} of its time", time.cpu, time.stolen_ms)
}

fn other_work(cpus: &[BusyCpu], processes: &[BusyProcess]) -> String {
    let process = |one: &BusyProcess| {
        format!("{} (pid {}) {:.2} s", one.name, one.pid, one.cpu_ms as f64 / 1_000.0)
    };
    let named = if processes.is_empty() {
        "no visible process that is still running used CPU time".to_owned()
    } else {
        format!("CPU time of processes: {}", list(processes.iter().map(process), and_more))
    };
    if cpus.is_empty() {
        return named;
    }
    let busy =
        list(cpus.iter().map(|busy| format!("CPU {}: {:.1} %", busy.cpu, busy.percent)), and_more);
    format!("{busy}; {named}")
}

/// As the error says it where a load fails before there is a recording.
fn failure(failure: &LoadFailure) -> String {
    failure.to_string()
}

fn after_death(load: &LoadSpec) -> &'static str {
    if load.command().is_some() {
        "Run the command alone: it must run at least as long as the measurement. There is no \
         shell. To use one, write cmd:sh -c '...'."
    } else {
        "Check the kernel log for an out-of-memory kill, and measure again."
    }
}

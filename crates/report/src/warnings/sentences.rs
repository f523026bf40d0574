// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is said of each kind of warning: what it does to the figures, what was seen, what to do.

use super::NextStep::{Advice, Command, Unknown};
use super::{NextStep, WarningText};
use crate::format::localised_finding;
use crate::format::{count, counted, micros};
use crate::language::{Language, Text, current_language, texts, tr};
use model::check_text;
use model::{
    BusyCpu, BusyProcess, LoadFailure, MemoryNotLocked, NotHeld, OtherWarning, RefusalCause,
    Steady, StolenTime, Warning,
};
use plan::{CpuList, LoadSpec, Nanos, Scheduling};
use serde_json::Value;

/// As many as a tired engineer reads; the recording holds them all.
const MAX_NAMED: usize = 8;

/// A warning in the current language.
pub(crate) fn warning_text(warning: &Warning) -> WarningText {
    let (message, evidence, next_step) = sentences(warning);
    WarningText { message, evidence, next_step }
}

fn advice(text: Text) -> NextStep {
    Advice(text.said().to_owned())
}

fn command(text: &str) -> NextStep {
    Command(text.to_owned())
}

#[expect(clippy::too_many_lines, reason = "one arm for each kind of warning")]
fn sentences(warning: &Warning) -> (String, String, NextStep) {
    match warning {
        Warning::NoRealTime { asked, granted, error, program: _, causes } => {
            let message = match granted.prio {
                Some(prio) => tr!(lower_priority_measured, granted, asked, prio),
                None => tr!(without_real_time, granted, asked),
            };
            (message, refused(*asked, error, causes), Advice(refused_next(*asked, causes)))
        }
        Warning::RealTimeTimeout { after_ns } => (
            tr!(real_time_timeout, after = after_ns),
            tr!(real_time_timeout_seen, after = after_ns),
            advice(texts::real_time_timeout_next),
        ),
        Warning::MemoryNotLocked { reason } => {
            let (evidence, next_step) = match reason {
                MemoryNotLocked::LimitBytes(bytes) => {
                    (tr!(memory_limit_seen, kib = bytes / 1024), texts::memory_limit_next)
                }
                MemoryNotLocked::Error(error) => (format!("mlockall: {error}"), texts::run_as_root),
            };
            (tr!(memory_not_locked), evidence, advice(next_step))
        }
        Warning::DmaLatencyNotHeld { path, reason, error } => (
            tr!(dma_latency_not_held),
            tr!(dma_latency_not_held_seen, path, error),
            advice(match reason {
                NotHeld::NotFound => texts::no_dma_latency_file,
                NotHeld::PermissionDenied => texts::dma_latency_not_permitted,
                NotHeld::Failed => texts::dma_latency_failed,
            }),
        ),
        Warning::IntervalShort { interval_ns, missed_percent, cpu } => (
            tr!(interval_short, interval = interval_ns),
            tr!(interval_short_seen, percent = missed_percent, cpu),
            Advice(tr!(interval_short_next, longer = longer(*interval_ns))),
        ),
        Warning::DiskSlow { max_delay_ns } => (
            tr!(disk_slow),
            tr!(disk_slow_seen, seconds = format!("{:.1}", max_delay_ns.as_secs_f64())),
            advice(texts::disk_slow_next),
        ),
        Warning::NotWatched { error } => {
            (tr!(not_watched), tr!(not_watched_seen, error), advice(texts::not_watched_next))
        }
        Warning::ClockStepped { clock, forwards_ns, backwards_ns } => (
            tr!(clock_stepped, clock),
            tr!(
                clock_stepped_seen,
                forwards = micros(forwards_ns.0),
                backwards = micros(backwards_ns.0)
            ),
            advice(texts::clock_stepped_next),
        ),
        Warning::ThreadUnresponsive { thread, cpu, waited_ns } => (
            tr!(thread_unresponsive, thread, cpu),
            tr!(thread_unresponsive_seen, seconds = waited_ns.0 / 1_000_000_000),
            command("ps -eLo pid,rtprio,psr,comm --sort=-rtprio"),
        ),
        Warning::SamplesLost { thread, lost, woken } => (
            tr!(some_samples_lost, thread, n = count(*lost)),
            tr!(of_n_samples_measured, n = count(*woken)),
            advice(texts::some_samples_lost_next),
        ),
        Warning::AccountEventsLost { cpu, events, rows } => (
            tr!(account_events_lost, cpu, n = count(*events)),
            tr!(account_events_lost_seen, rows = count(*rows)),
            advice(texts::account_events_lost_next),
        ),
        Warning::PageFaults { thread, minor, major } => (
            tr!(page_faults, thread),
            tr!(page_faults_seen, minor, major),
            advice(texts::page_faults_next),
        ),
        Warning::AccountingDiffers { place, counted, recorded } => (
            tr!(accounting_differs, place, counted, recorded),
            tr!(accounting_differs_seen),
            advice(texts::accounting_differs_next),
        ),
        Warning::LoadsElsewhere { bare, loaded, load } => (
            tr!(loads_elsewhere, bare = CpuList::format(bare), loaded = CpuList::format(loaded)),
            tr!(loads_elsewhere_seen, load),
            Advice(tr!(loads_elsewhere_next, load = plan::quoted(&on_all_cpus(load)))),
        ),
        Warning::LoadNotSettled { load, steady } => (
            tr!(load_not_settled, load),
            match steady {
                Steady::LevelForNs(ns) => tr!(load_level_for, ms = ns.0 / 1_000_000),
                Steady::RunningForNs(ns) => tr!(load_running_for, seconds = ns.0 / 1_000_000_000),
            },
            advice(texts::load_not_settled_next),
        ),
        Warning::LoadConditions { load, nice } => (
            tr!(load_conditions, load, nice),
            tr!(load_conditions_seen, nice),
            advice(texts::load_conditions_next),
        ),
        Warning::LoadOffTarget { load, requested, reached, cpu, machine } => (
            tr!(
                load_missed_its_level,
                load,
                reached = tenths(*reached),
                requested = tenths(*requested),
                place = cpu.map_or_else(|| tr!(cpus_of_the_load), |cpu| format!("CPU {cpu}"))
            ),
            machine
                .iter()
                .map(|busy| tr!(busy_cpu, cpu = busy.cpu, percent = tenths(busy.percent)))
                .collect::<Vec<_>>()
                .join(texts::between_busy_cpus.said()),
            advice(texts::load_missed_its_level_next),
        ),
        Warning::LoadDied { load, failure, output } => (
            tr!(load_died, load),
            match (failure_text(failure), output.as_str()) {
                (failure, "") => failure,
                (failure, output) => format!("{failure}; {output}"),
            },
            advice(if load.command().is_some() {
                texts::load_command_died_next
            } else {
                texts::load_died_next
            }),
        ),
        Warning::GovernorNotPerformance { governors } => (
            tr!(governor_not_performance),
            governors
                .iter()
                .map(|(governor, cpus)| {
                    tr!(governor_on_cpus, governor, cpus = CpuList::format(cpus))
                })
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
                tr!(frequency_of_cpu, cpu = change.cpu, was, is)
            });
            (
                tr!(frequency_changed),
                list(change),
                Command(format!(
                    "sudo cpupower frequency-set --governor performance --min {highest} --max \
                     {highest}"
                )),
            )
        }
        Warning::ClocksourceChanged { before, after } => (
            tr!(clocksource_changed_meanwhile),
            tr!(clocksource_changed_seen, before, after),
            advice(texts::clocksource_changed_next),
        ),
        Warning::ClocksourceSlow { clocksource, available, fast } => {
            let available = match available.join(" ") {
                none if none.is_empty() => tr!(clocksources_unknown),
                available => available,
            };
            (
                tr!(clocksource_slow, clocksource),
                tr!(clocksource_slow_seen, clocksource, available),
                fast.as_ref().map_or_else(
                    || advice(texts::clocksource_slow_next),
                    |fast| {
                        Command(format!(
                            "echo {fast} | sudo tee \
                             /sys/devices/system/clocksource/clocksource0/current_clocksource"
                        ))
                    },
                ),
            )
        }
        Warning::Hypervisor { cpu_model } => (
            tr!(hypervisor),
            tr!(
                hypervisor_seen,
                cpu = cpu_model.as_deref().unwrap_or(texts::cpu_of_unknown_model.said())
            ),
            advice(texts::hypervisor_next),
        ),
        Warning::StealTime { cpus } => (
            tr!(
                cpus_stolen,
                cpus = CpuList::format(&cpus.iter().map(|time| time.cpu).collect::<Vec<_>>()),
                ms = cpus.iter().fold(0_u64, |sum, time| sum.saturating_add(time.stolen_ms))
            ),
            list(cpus.iter().map(stolen)),
            advice(texts::cpus_stolen_next),
        ),
        Warning::CpuOfflineChanged { before, after } => (
            tr!(cpus_went_offline),
            tr!(
                cpus_went_offline_seen,
                before = CpuList::format(before),
                after = CpuList::format(after)
            ),
            advice(texts::cpus_went_offline_next),
        ),
        Warning::IsolatedNotMeasured { isolated, measured, left_out } => {
            let cpus = CpuList::format(left_out);
            (
                match left_out.as_slice() {
                    [_] => tr!(isolated_cpu_not_measured, cpus),
                    _ => tr!(isolated_cpus_not_measured, cpus),
                },
                tr!(
                    isolated_not_measured_seen,
                    isolated = CpuList::format(isolated),
                    measured = CpuList::format(measured)
                ),
                Advice(tr!(isolated_not_measured_next, cpus)),
            )
        }
        Warning::CpusNotAllowed { allowed, left_out } => {
            let cpus = CpuList::format(left_out);
            (
                match left_out.as_slice() {
                    [_] => tr!(cpu_not_allowed, cpus),
                    _ => tr!(cpus_not_allowed, cpus),
                },
                tr!(cpus_not_allowed_seen, allowed = CpuList::format(allowed)),
                advice(texts::cpus_not_allowed_next),
            )
        }
        Warning::SiblingsMeasured { cores, one_each } => (
            tr!(siblings_measured, cpus = CpuList::format(&cores.concat())),
            tr!(
                siblings_measured_seen,
                cores = list(cores.iter().map(|core| {
                    core.iter().map(ToString::to_string).collect::<Vec<_>>().join("+")
                }))
            ),
            Advice(tr!(siblings_measured_next, cpus = CpuList::format(one_each))),
        ),
        Warning::MachineCheck { check, found, why, action, found_phrase, action_phrase } => (
            tr!(bad_setting, check, found = localised_finding(found, found_phrase.as_ref())),
            match current_language() {
                Language::English => None,
                Language::Japanese => check_text(check),
            }
            .map_or_else(|| tr!(bad_setting_seen, why), |text| text.why_in_japanese.to_owned()),
            action.as_ref().map_or(Unknown, |action| {
                let action = localised_finding(action, action_phrase.as_ref());
                Advice(tr!(bad_setting_next, action))
            }),
        ),
        Warning::OtherWork { percent, cpus, processes, unnamed_ms } => {
            let (seen, percent) = (other_work(cpus, processes, *unnamed_ms), tenths(*percent));
            if cpus.is_empty() {
                let message = tr!(other_work_beside_load, percent);
                (message, seen, advice(texts::other_work_beside_load_next))
            } else {
                let message = tr!(other_work_when_idle, percent);
                (message, seen, advice(texts::other_work_when_idle_next))
            }
        }
        Warning::RowsUntraced { thread, rows, without_switch, measured } => (
            tr!(rows_untraced, thread, n = count(*rows)),
            match without_switch {
                Some(n) => {
                    let measured = count(*measured);
                    tr!(of_rows_measured_without_switch, n = count(*n), measured)
                }
                None => tr!(of_n_rows_measured, n = count(*measured)),
            },
            advice(if *without_switch == Some(*rows) {
                texts::rows_without_switch_next
            } else {
                texts::rows_untraced_next
            }),
        ),
        Warning::FellBack { thread, switches, measured } => (
            switches.map_or_else(
                || tr!(maybe_fell_back, thread),
                |switches| tr!(fell_back, thread, n = count(switches)),
            ),
            tr!(of_n_rows_measured, n = count(*measured)),
            advice(texts::fell_back_next),
        ),
        Warning::TraceEventsLost { events, buffer_kib, unfollowed } => (
            match events {
                0 => tr!(program_not_followed),
                _ => tr!(trace_events_lost, n = count(*events)),
            },
            tr!(
                trace_events_lost_seen,
                why = match unfollowed {
                    0 => tr!(trace_buffers_full),
                    _ => tr!(no_room_for_threads, n = count(*unfollowed)),
                },
                kib = count(*buffer_kib)
            ),
            advice(texts::trace_events_lost_next),
        ),
        Warning::ProgramEnded { after_ns, planned_ns, status, signal, default_length: _ } => (
            tr!(
                program_ended,
                after = seconds(*after_ns),
                planned = seconds(*planned_ns),
                how = match (status, signal) {
                    (Some(status), _) => tr!(program_ended_with_status, status),
                    (None, Some(signal)) => tr!(program_ended_by_signal, signal),
                    (None, None) => String::new(),
                }
            ),
            tr!(program_ended_seen),
            advice(texts::program_ended_next),
        ),
        Warning::StreamUnreadable { from, records, numbers, first, first_offset, text } => (
            tr!(stream_unreadable, from, n = count(*records)),
            tr!(
                stream_unreadable_seen,
                first = count(*first),
                offset = count(*first_offset),
                text,
                n = count(*numbers)
            ),
            advice(texts::stream_unreadable_next),
        ),
        Warning::StreamHalfRecord { from, bytes, offset, ended } => {
            let seen = tr!(half_record_seen, n = count(*bytes), offset = count(*offset));
            if *ended {
                (tr!(stream_half_record, from), seen, advice(texts::stream_half_record_next))
            } else {
                let next_step = advice(texts::run_ended_in_half_record_next);
                (tr!(run_ended_in_half_record, from), seen, next_step)
            }
        }
        Warning::StreamBackwards { from, steps, first, furthest_ns } => (
            tr!(stream_backwards, from, n = count(*steps)),
            tr!(stream_backwards_seen, first = count(*first), furthest = micros(furthest_ns.0)),
            advice(texts::stream_backwards_next),
        ),
        Warning::SourceContradicts { place, stated, found } => (
            tr!(source_contradicts, place, stated),
            tr!(source_contradicts_seen, found),
            advice(texts::source_contradicts_next),
        ),
        Warning::StreamTrailing { from, unreadable, backwards } => (
            tr!(stream_trailing, from),
            tr!(
                stream_trailing_seen,
                unreadable = counted(*unreadable, texts::n_records),
                backwards = counted(*backwards, texts::n_steps)
            ),
            advice(texts::stream_trailing_next),
        ),
        Warning::StreamMissed { from, missed, period_ns } => (
            tr!(stream_missed, from, n = count(*missed)),
            tr!(stream_missed_seen, period = micros(period_ns.0)),
            advice(texts::stream_missed_next),
        ),
        Warning::StreamOffPeriod { period_ns, median_ns, intervals } => (
            tr!(stream_off_period, median = micros(median_ns.0), period = micros(period_ns.0)),
            counted(*intervals, texts::n_intervals),
            advice(texts::stream_off_period_next),
        ),
        Warning::StreamEnded { from, numbers, after_ns, .. } => (
            tr!(stream_ended, from),
            tr!(
                stream_ended_seen,
                n = count(*numbers),
                seconds = format!("{:.3}", after_ns.as_secs_f64())
            ),
            advice(texts::stream_ended_next),
        ),
        Warning::StreamSilent { from, numbers, silent_ns } => {
            let seconds = tenths(silent_ns.as_secs_f64());
            (
                match numbers {
                    0 => tr!(stream_never_came, from),
                    _ => tr!(stream_silent, from, seconds),
                },
                tr!(stream_silent_seen, n = count(*numbers), seconds),
                advice(texts::stream_silent_next),
            )
        }
        Warning::StreamUnread { from, bytes } => (
            tr!(stream_unread, from),
            tr!(n_bytes_left, n = count(*bytes)),
            advice(texts::stream_unread_next),
        ),
        Warning::Other(other) => (tr!(unknown_warning, code = other.code), raw(other), Unknown),
    }
}

fn stolen(time: &StolenTime) -> String {
    let share = match time.percent() {
        _ if time.elapsed_ms == 0 => tr!(unknown_share),
        percent if time.stolen_ms > 0 && percent < 0.1 => tr!(below_a_tenth),
        percent => format!("{percent:.1} %"),
    };
    tr!(cpu_stolen, cpu = time.cpu, ms = time.stolen_ms, share)
}

fn other_work(cpus: &[BusyCpu], processes: &[BusyProcess], unnamed_ms: Option<u64>) -> String {
    let seconds = |ms: u64| format!("{:.2} s", ms as f64 / 1_000.0);
    let process =
        |one: &BusyProcess| format!("{} (pid {}) {}", one.name, one.pid, seconds(one.cpu_ms));
    let named = if processes.is_empty() {
        tr!(no_process_seen)
    } else {
        let processes = list(processes.iter().map(process));
        match unnamed_ms {
            Some(ms) => tr!(processes_seen_and_unnamed, processes, time = seconds(ms)),
            None => tr!(processes_seen, processes),
        }
    };
    if cpus.is_empty() {
        return named;
    }
    let busy = cpus.iter().map(|busy| format!("CPU {}: {} %", busy.cpu, tenths(busy.percent)));
    format!("{}; {named}", list(busy))
}

/// As the error says it where a load fails before there is a recording.
fn failure_text(failure: &LoadFailure) -> String {
    match failure {
        LoadFailure::TaskExited { task, tasks, pid, status, others } => {
            let more = if *others > 0 { tr!(and_n_more_exited, n = others) } else { String::new() };
            tr!(load_task_exited, task, tasks, pid, status, more)
        }
        LoadFailure::TasksMissing { alive, tasks } => tr!(load_tasks_missing, alive, tasks),
        LoadFailure::SupervisorExited { status } => tr!(load_supervisor_exited, status),
        LoadFailure::SupervisorNotKilled => tr!(load_supervisor_not_killed),
        LoadFailure::SupervisorFailed { error } => tr!(load_supervisor_failed, error),
        LoadFailure::UnexpectedMessage { line, error } => {
            tr!(load_unexpected_message, line, error)
        }
        LoadFailure::NotStopped { waited_s } => tr!(load_not_stopped, waited_s),
    }
}

/// Items of a list, and how many are left out.
/// What the kernel said, and what was found to be its reason.
fn refused(asked: Scheduling, error: &str, causes: &[RefusalCause]) -> String {
    let cause = |cause: &RefusalCause| match cause {
        RefusalCause::Limit { allowed, in_user_namespace: false, .. } => {
            tr!(refused_by_limit, allowed)
        }
        RefusalCause::Limit { allowed, .. } => tr!(refused_in_user_namespace, allowed),
        RefusalCause::ControlGroup { group, .. } => tr!(refused_in_group, group),
        RefusalCause::SystemCall { seccomp: true } => tr!(refused_by_filter),
        RefusalCause::SystemCall { .. } => tr!(refused_whatever_is_asked),
    };
    let said = tr!(without_real_time_seen, asked, error);
    let said: Vec<String> = std::iter::once(said).chain(causes.iter().map(cause)).collect();
    said.join(texts::semicolon.said())
}

/// What removes each of the causes; of an unknown one, where to look.
fn refused_next(asked: Scheduling, causes: &[RefusalCause]) -> String {
    let wanted = asked.prio.unwrap_or(0);
    let next = |cause: &RefusalCause| match cause {
        RefusalCause::Limit { hard, .. } if hard.is_none_or(|hard| hard >= wanted.into()) => {
            tr!(raise_the_limit, wanted)
        }
        RefusalCause::Limit { in_user_namespace: false, container: None, .. } => {
            // Not setcap, which gives them to everybody who may run the file.
            tr!(without_real_time_next)
        }
        RefusalCause::Limit { .. } => tr!(limits_from_outside),
        RefusalCause::ControlGroup { .. } => {
            tr!(leave_the_group, file = cause.root_threads().unwrap_or_default())
        }
        RefusalCause::SystemCall { .. } => tr!(allow_the_call),
    };
    if causes.is_empty() {
        return tr!(refused_for_unknown_reasons);
    }
    // Limits last: their command ends the sentence.
    let (limits, others): (Vec<_>, Vec<_>) =
        causes.iter().partition(|cause| matches!(cause, RefusalCause::Limit { .. }));
    others.into_iter().chain(limits).map(next).collect::<Vec<_>>().join(" ")
}

fn list(items: impl ExactSizeIterator<Item = String>) -> String {
    let left_out = items.len().saturating_sub(MAX_NAMED);
    let mut named: Vec<String> = items.take(MAX_NAMED).collect();
    named.extend((left_out > 0).then(|| tr!(and_n_more, n = left_out)));
    named.join("; ")
}

fn tenths(value: f64) -> String {
    format!("{value:.1}")
}

/// Seconds to a tenth, whole ones without a fraction.
fn seconds(time: Nanos) -> String {
    let text = tenths(time.as_secs_f64());
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}

/// The load with `cpus=all` added. A command without quotes goes to the end of its text, so it gets
/// quotes first.
fn on_all_cpus(spec: &LoadSpec) -> String {
    match spec.command() {
        Some(command) if !spec.to_string().starts_with("cmd:\"") => {
            format!("cmd:\"{command}\",cpus=all")
        }
        _ => format!("{spec},cpus=all"),
    }
}

/// An interval that may do where this one is too short.
fn longer(interval: Nanos) -> Nanos {
    Nanos(interval.0.saturating_mul(2)).max(Nanos::from_micros(200))
}

/// The fields of a warning that is not known, as they were recorded.
fn raw(warning: &OtherWarning) -> String {
    let value = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    warning
        .fields
        .iter()
        .map(|(name, content)| format!("{name}: {}", value(content)))
        .collect::<Vec<_>>()
        .join("; ")
}

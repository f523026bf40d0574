// SPDX-License-Identifier: MIT OR Apache-2.0
//! Frequency and idle states of the CPUs.

use super::finding::{ALL, Check, Seen, check, tunable};
use super::machine::{Machine, Purpose};
use super::power_daemons::chooses_governor;
use super::words::{cpu_words, each_of};
use model::Phrase;
use plan::{CpuId, quoted};
use std::collections::BTreeMap;
use std::fmt::Display;

pub(crate) const CHECKS: &[Check] = &[
    tunable("governor", ALL, governor),
    check("frequency-limits", &[], limits),
    check("energy-preference", &[], energy_preference),
    tunable("turbo", &[], turbo),
    tunable("idle-states", &[], idle_states),
];

/// CPUs by what each says.
fn by_value(
    cpus: &[CpuId],
    value: impl Fn(CpuId) -> Option<String>,
) -> BTreeMap<String, Vec<CpuId>> {
    grouped(cpus.iter().filter_map(|cpu| Some((value(*cpu)?, *cpu))))
}

fn grouped(pairs: impl Iterator<Item = (String, CpuId)>) -> BTreeMap<String, Vec<CpuId>> {
    let mut found: BTreeMap<String, Vec<CpuId>> = BTreeMap::new();
    for (value, cpu) in pairs {
        found.entry(value).or_default().push(cpu);
    }
    found
}

fn words(found: &BTreeMap<String, Vec<CpuId>>) -> String {
    found
        .iter()
        .map(|(value, cpus)| format!("{value} on {}", cpu_words(cpus)))
        .collect::<Vec<_>>()
        .join(", ")
}

fn cpufreq(machine: &Machine<'_>, cpu: CpuId, file: &str) -> Option<String> {
    machine.text(&format!("sys/devices/system/cpu/cpu{cpu}/cpufreq/{file}"))
}

/// The command that writes a value to such a file of each of these CPUs.
fn write_for(machine: &Machine<'_>, cpus: &[CpuId], file: &str, value: impl Display) -> String {
    const FOLDER: &str = "/sys/devices/system/cpu";
    let file = quoted(file);
    match cpus {
        [one] => format!("echo {value} | sudo tee {FOLDER}/cpu{one}/{file}"),
        _ if cpus.len() == machine.online.len() => {
            format!("echo {value} | sudo tee {FOLDER}/cpu*/{file}")
        }
        _ => each_of("cpu", cpus, &format!("echo {value} | sudo tee {FOLDER}/cpu$cpu/{file}")),
    }
}

fn khz(machine: &Machine<'_>, cpu: CpuId, file: &str) -> Option<u64> {
    cpufreq(machine, cpu, file)?.parse().ok()
}

/// The one frequency that a CPU has, whatever its governor, in kHz.
fn pinned(machine: &Machine<'_>, cpu: CpuId) -> Option<u64> {
    let (low, high) =
        (khz(machine, cpu, "scaling_min_freq")?, khz(machine, cpu, "scaling_max_freq")?);
    let is_set = cpufreq(machine, cpu, "scaling_governor").as_deref() == Some("userspace");
    let set = khz(machine, cpu, "scaling_setspeed").filter(|_| is_set);
    set.or_else(|| (low == high).then_some(low))
}

/// What makes the frequency of CPUs the highest: their governors differ in it, so these are
/// commands.
pub(crate) fn raise(machine: &Machine<'_>, cpus: &[CpuId]) -> String {
    let wanted = by_value(cpus, |cpu| {
        let offered = cpufreq(machine, cpu, "scaling_available_governors");
        let has_performance =
            offered.is_none_or(|all| all.split_whitespace().any(|name| name == "performance"));
        if has_performance {
            return Some("scaling_governor performance".to_owned());
        }
        Some(format!("scaling_min_freq {}", khz(machine, cpu, "scaling_max_freq")?))
    });
    let commands = wanted.iter().filter_map(|(wanted, cpus)| {
        let (file, value) = wanted.split_once(' ')?;
        Some(write_for(machine, cpus, &format!("cpufreq/{file}"), value))
    });
    commands.collect::<Vec<_>>().join("; ")
}

/// CPUs that are to be on time and whose governor changes their frequency. None where no governor
/// can be seen.
pub(crate) fn scaling_cpus(machine: &Machine<'_>) -> Option<Vec<CpuId>> {
    let governor = |cpu: CpuId| Some((cpu, cpufreq(machine, cpu, "scaling_governor")?));
    let governors: Vec<(CpuId, String)> =
        machine.measured().into_iter().filter_map(governor).collect();
    let is_scaling =
        |(cpu, name): &&(CpuId, String)| name != "performance" && pinned(machine, *cpu).is_none();
    (!governors.is_empty())
        .then(|| governors.iter().filter(is_scaling).map(|(cpu, _)| *cpu).collect())
}

fn governor(machine: &Machine<'_>) -> Option<Seen> {
    let measured = machine.measured();
    let name = |cpu| cpufreq(machine, cpu, "scaling_governor");
    let found = by_value(&measured, |cpu| {
        let fixed = pinned(machine, cpu).filter(|_| name(cpu).as_deref() != Some("performance"));
        let fixed = fixed.map(|khz| format!(" fixed at {} MHz", khz / 1_000)).unwrap_or_default();
        Some(format!("{}{fixed}", name(cpu)?))
    });
    let scaling = scaling_cpus(machine)?;
    if !scaling.is_empty() {
        let write = raise(machine, &scaling);
        let found = Phrase::from(words(&found));
        return match chooses_governor(machine, &write) {
            Some((what, action)) => Seen::bad(Phrase::joined("sentences", [found, what]), action),
            None => Seen::bad(found, write),
        };
    }
    // A frequency that stays is repeatable, and may have been chosen for its heat. It is still
    // slow.
    let is_slow = |cpu: &CpuId| {
        let is_other = name(*cpu).is_some_and(|name| name != "performance");
        is_other && pinned(machine, *cpu) < khz(machine, *cpu, "cpuinfo_max_freq")
    };
    let slow: Vec<CpuId> = measured.iter().copied().filter(is_slow).collect();
    if slow.is_empty() {
        return Seen::ok(words(&found));
    }
    let most = by_value(&slow, |cpu| {
        khz(machine, cpu, "cpuinfo_max_freq").map(|khz| format!("{} MHz", khz / 1_000))
    });
    let most: Vec<String> = most.into_keys().collect();
    Seen::warn(
        format!("{}, of up to {}", words(&found), most.join(" or ")),
        format!("if nobody chose this frequency: {}", raise(machine, &slow)),
    )
}

fn limits(machine: &Machine<'_>) -> Option<Seen> {
    let limited = |cpu| {
        Some((khz(machine, cpu, "scaling_max_freq")?, khz(machine, cpu, "cpuinfo_max_freq")?))
    };
    let measured = machine.measured();
    let lowered = by_value(&measured, |cpu| {
        let (limit, most) = limited(cpu)?;
        (limit < most).then(|| format!("at most {} of {} MHz", limit / 1_000, most / 1_000))
    });
    if !lowered.is_empty() {
        let wanted = by_value(&measured, |cpu| {
            limited(cpu).filter(|(limit, most)| limit < most).map(|(_, most)| most.to_string())
        });
        let commands: Vec<String> = wanted
            .iter()
            .map(|(most, cpus)| write_for(machine, cpus, "cpufreq/scaling_max_freq", most))
            .collect();
        return Seen::warn(
            words(&lowered),
            format!("if nobody chose this limit: {}", commands.join("; ")),
        );
    }
    let unknown: Vec<CpuId> =
        measured.iter().copied().filter(|cpu| limited(*cpu).is_none()).collect();
    if unknown.len() == measured.len()
        && khz(machine, *measured.first()?, "scaling_max_freq").is_none()
    {
        return None;
    }
    if !unknown.is_empty() {
        return Seen::unknown(format!(
            "no file says what {} can do (cpuinfo_max_freq)",
            cpu_words(&unknown)
        ));
    }
    Seen::ok("up to what the CPUs can do")
}

/// Preferences that save nothing: by name, and of the numbers 0 to 255.
const FOR_SPEED: [&str; 2] = ["performance", "0"];

fn energy_preference(machine: &Machine<'_>) -> Option<Seen> {
    const FILE: &str = "energy_performance_preference";
    let measured = machine.measured();
    let found = by_value(&measured, |cpu| cpufreq(machine, cpu, FILE));
    if found.is_empty() {
        return None;
    }
    let saving: Vec<CpuId> = found
        .iter()
        .filter(|(value, _)| !FOR_SPEED.contains(&value.as_str()))
        .flat_map(|(_, cpus)| cpus.clone())
        .collect();
    if saving.is_empty() {
        return Seen::ok(words(&found));
    }
    Seen::warn(
        words(&found),
        write_for(machine, &saving, &format!("cpufreq/{FILE}"), "performance"),
    )
}

fn turbo(machine: &Machine<'_>) -> Option<Seen> {
    const INTEL: &str = "sys/devices/system/cpu/intel_pstate/no_turbo";
    const OTHERS: &str = "sys/devices/system/cpu/cpufreq/boost";
    let (is_on, file, off) = match (machine.number(INTEL), machine.number(OTHERS)) {
        (Some(value), _) => (value == 0, INTEL, 1),
        (None, Some(value)) => (value == 1, OTHERS, 0),
        (None, None) => return None,
    };
    // Audio has time for what is slower once. It is not compared with another run.
    let is_wanted = machine.options.purpose == Purpose::Audio;
    match is_on {
        true if !is_wanted => Seen::warn("on", format!("echo {off} | sudo tee /{file}")),
        true => Seen::ok("on"),
        false => Seen::ok("off"),
    }
}

/// Exits that take longer are named, µs.
pub const SLOW_EXIT_US: i64 = 20;

/// An idle state of a CPU.
struct IdleState {
    cpu: CpuId,
    folder: String,
    name: String,
    /// How long waking from it takes.
    exit_us: Option<i64>,
    is_disabled: bool,
}

/// Idle states of CPUs that are to be on time.
fn states(machine: &Machine<'_>) -> Vec<IdleState> {
    let mut states = Vec::new();
    for cpu in machine.measured() {
        let folder = format!("sys/devices/system/cpu/cpu{cpu}/cpuidle");
        for state in machine.names(&folder).into_iter().filter(|name| name.starts_with("state")) {
            let file = |name: &str| machine.text(&format!("{folder}/{state}/{name}"));
            states.push(IdleState {
                cpu,
                name: file("name").unwrap_or_else(|| state.clone()),
                exit_us: file("latency").and_then(|text| text.parse().ok()),
                is_disabled: file("disable").as_deref() == Some("1"),
                folder: state,
            });
        }
    }
    states
}

/// Idle states that are slow to wake from and can be entered. None where no state can be seen.
fn slow_states(machine: &Machine<'_>) -> Option<Vec<IdleState>> {
    let mut states = states(machine);
    let can_be_seen = !states.is_empty();
    states.retain(|state| state.exit_us > Some(SLOW_EXIT_US) && !state.is_disabled);
    can_be_seen.then_some(states)
}

fn state_words(states: &[IdleState]) -> String {
    let word = |IdleState { name, exit_us, .. }: &IdleState| {
        format!("{name} ({} µs to wake)", exit_us.unwrap_or_default())
    };
    words(&grouped(states.iter().map(|state| (word(state), state.cpu))))
}

fn idle_states(machine: &Machine<'_>) -> Option<Seen> {
    let slow = slow_states(machine)?;
    if slow.is_empty() {
        // The state that polls has a file with 0.
        let (states, is_known) =
            (states(machine), |state: &IdleState| state.exit_us.is_some() || state.is_disabled);
        if let Some(state) = states.iter().find(|state| !is_known(state)) {
            return Seen::unknown(format!(
                "no file says how long waking from {} takes (latency)",
                state.name
            ));
        }
        return Seen::ok(format!("none takes more than {SLOW_EXIT_US} µs to wake from"));
    }
    let disable = |(state, cpus): (&String, &Vec<CpuId>)| {
        write_for(machine, cpus, &format!("cpuidle/{state}/disable"), 1)
    };
    let by_folder = grouped(slow.iter().map(|state| (state.folder.clone(), state.cpu)));
    let commands: Vec<String> = by_folder.iter().map(disable).collect();
    Seen::warn(
        state_words(&slow),
        format!("hold /dev/cpu_dma_latency open with 0 written to it, or {}", commands.join("; ")),
    )
}

/// What kernel arguments leave of idle states that are slow to wake from, in words. None where no
/// file shows it.
pub(crate) fn slow_states_left(machine: &Machine<'_>) -> Option<String> {
    let driver = machine.text("sys/devices/system/cpu/cpuidle/current_driver");
    match slow_states(machine) {
        Some(slow) => Some(state_words(&slow)),
        None => driver.filter(|driver| driver == "none").map(|_| String::new()),
    }
}

#[cfg(test)]
#[path = "area_frequency_tests.rs"]
mod tests;

// SPDX-License-Identifier: MIT OR Apache-2.0
//! Frequencies and idle states of small machines.

use crate::Status;
use crate::one_finding::{OneFinding, finding};
use crate::tests::files::{lay, put};

/// What is found where each of two CPUs has these files in its folder.
fn seen(id: &str, cpus: Option<&[u32]>, files: &[(&str, &str)]) -> Option<OneFinding> {
    let (dir, root) = lay(&[("sys/devices/system/cpu/online", "0-1")]);
    for cpu in 0..2 {
        for (file, text) in files {
            put(&dir, &format!("sys/devices/system/cpu/cpu{cpu}/{file}"), text);
        }
    }
    finding(&root, id, cpus)
}

fn frequency(governor: &str, low: u32, high: u32, set: &str) -> Vec<(String, String)> {
    let files = [
        ("scaling_governor", governor.to_owned()),
        ("scaling_min_freq", low.to_string()),
        ("scaling_max_freq", high.to_string()),
        ("cpuinfo_max_freq", "1800000".to_owned()),
        ("scaling_setspeed", set.to_owned()),
    ];
    files.into_iter().map(|(file, text)| (format!("cpufreq/{file}"), text)).collect()
}

fn governor(cpus: Option<&[u32]>, files: &[(String, String)]) -> OneFinding {
    let files: Vec<(&str, &str)> =
        files.iter().map(|(file, text)| (file.as_str(), text.as_str())).collect();
    seen("governor", cpus, &files).unwrap()
}

/// The tree of files may be a stranger's (--root).
#[test]
fn a_name_of_an_idle_state_is_quoted_in_the_command() {
    let state = [("cpuidle/state1;id/latency", "900"), ("cpuidle/state1;id/disable", "0")];
    assert_eq!(
        seen("idle-states", Some(&[1]), &state).unwrap().action,
        "hold /dev/cpu_dma_latency open with 0 written to it, or echo 1 | sudo tee \
         /sys/devices/system/cpu/cpu1/'cpuidle/state1;id/disable'"
    );
}

#[test]
fn commands_write_the_files_of_these_cpus() {
    let ondemand = frequency("ondemand", 600_000, 1_800_000, "<unsupported>");
    let finding = governor(Some(&[1]), &ondemand);
    let path = "/sys/devices/system/cpu";
    assert_eq!(
        finding.action,
        format!("echo performance | sudo tee {path}/cpu1/cpufreq/scaling_governor")
    );
    assert_eq!(
        governor(None, &ondemand).action,
        format!("echo performance | sudo tee {path}/cpu*/cpufreq/scaling_governor")
    );
    let mut without = ondemand;
    without.push((
        "cpufreq/scaling_available_governors".to_owned(),
        "ondemand schedutil\n".to_owned(),
    ));
    let finding = governor(Some(&[1]), &without);
    assert_eq!(
        finding.action,
        format!("echo 1800000 | sudo tee {path}/cpu1/cpufreq/scaling_min_freq")
    );
}

#[test]
fn a_limit_is_raised_to_the_number_of_the_cpu() {
    let files = [("cpufreq/scaling_max_freq", "1500000"), ("cpufreq/cpuinfo_max_freq", "1800000")];
    let finding = seen("frequency-limits", Some(&[1]), &files).unwrap();
    let command = "echo 1800000 | sudo tee /sys/devices/system/cpu/cpu1/cpufreq/scaling_max_freq";
    assert_eq!(finding.action, format!("if nobody chose this limit: {command}"));
}

/// A powersave governor whose limits are equal was said to be well, at the lowest frequency too.
#[test]
fn a_frequency_that_is_fixed_low_is_named() {
    let finding = governor(Some(&[1]), &frequency("powersave", 600_000, 600_000, "<unsupported>"));
    assert_eq!(finding.status, Status::Warn, "{finding:?}");
    assert_eq!(finding.found, "powersave fixed at 600 MHz on CPU 1, of up to 1800 MHz");
    let finding = governor(Some(&[1]), &frequency("userspace", 600_000, 1_800_000, "1000000"));
    assert_eq!(finding.found, "userspace fixed at 1000 MHz on CPU 1, of up to 1800 MHz");
    let finding =
        governor(Some(&[1]), &frequency("powersave", 1_800_000, 1_800_000, "<unsupported>"));
    assert_eq!(
        (finding.status, finding.found.as_str()),
        (Status::Ok, "powersave fixed at 1800 MHz on CPU 1")
    );
}

#[test]
fn a_preference_for_saving_energy_is_named() {
    let preference = |value| {
        seen("energy-preference", None, &[("cpufreq/energy_performance_preference", value)])
    };
    assert_eq!(preference("performance\n").unwrap().status, Status::Ok);
    let finding = preference("balance_performance\n").unwrap();
    assert_eq!(
        (finding.status, finding.found.as_str()),
        (Status::Warn, "balance_performance on CPUs 0-1")
    );
    let command = "echo performance | sudo tee \
                   /sys/devices/system/cpu/cpu*/cpufreq/energy_performance_preference";
    assert_eq!(finding.action, command);
    assert!(seen("energy-preference", None, &[]).is_none());
}

#[test]
fn deep_states_are_disabled_one_by_one() {
    let files = [
        ("cpuidle/state1/latency", "2"),
        ("cpuidle/state2/latency", "85"),
        ("cpuidle/state2/name", "C6"),
    ];
    let finding = seen("idle-states", Some(&[1]), &files).unwrap();
    assert!(
        finding
            .action
            .ends_with(" or echo 1 | sudo tee /sys/devices/system/cpu/cpu1/cpuidle/state2/disable"),
        "{finding:?}"
    );
}

#[test]
fn a_state_whose_exit_is_not_said_is_unknown() {
    let finding = seen("idle-states", Some(&[1]), &[("cpuidle/state1/name", "C6")]).unwrap();
    assert_eq!(finding.found, "no file says how long waking from C6 takes (latency)");
    let finding =
        seen("frequency-limits", Some(&[1]), &[("cpufreq/scaling_max_freq", "600000")]).unwrap();
    assert_eq!(
        (finding.status, finding.found.as_str()),
        (Status::Unknown, "no file says what CPU 1 can do (cpuinfo_max_freq)")
    );
}

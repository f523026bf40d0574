// SPDX-License-Identifier: MIT OR Apache-2.0
//! What this user may do.
//!
//! The kernel asks for a capability of the machine itself: one that holds in a user namespace
//! alone, as that of a container without root, lifts no limit.

use super::container::container_kind;
use super::finding::{ALL, Check, Seen, check};
use super::machine::Machine;
use super::pam_limits::{LimitLine, NO_LIMIT, file_for, groups_with, limit_lines, passed_over};
use super::rt_share::{out_of_group, without_time};
use model::{RefusalCause, phrase};
use plan::{Nanos, Policy, Scheduling, quoted};
use rustix::io::Errno;

pub(crate) const CHECKS: &[Check] = &[
    check("rights-real-time", ALL, real_time),
    check("real-time-timeout", ALL, timeout),
    check("rights-locked-memory", ALL, locked_memory),
    check("rights-limits", ALL, passed_over),
    check("rights-idle-states", &[], idle_states),
];

/// Capabilities by their number (include/uapi/linux/capability.h).
const IPC_LOCK: u32 = 14;
const SYS_NICE: u32 = 23;

/// How a capability is held.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Held {
    No,
    /// In a user namespace, where it does not count.
    WithinNamespace,
    Yes,
}

fn capability(machine: &Machine<'_>, number: u32) -> Held {
    let status = machine.text("proc/self/status").unwrap_or_default();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let mask = effective.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    if mask & (1 << number) == 0 {
        return Held::No;
    }
    // The machine's own namespace maps every user to itself.
    let is_own = machine
        .text("proc/self/uid_map")
        .is_none_or(|map| map.split_whitespace().eq(["0", "0", "4294967295"]));
    if is_own { Held::Yes } else { Held::WithinNamespace }
}

/// The soft and the hard limit of this name, as the file has them.
fn limits(machine: &Machine<'_>, name: &str) -> Option<(String, String)> {
    let text = machine.text("proc/self/limits")?;
    let mut words = text.lines().find_map(|line| line.strip_prefix(name))?.split_whitespace();
    Some((words.next()?.to_owned(), words.next()?.to_owned()))
}

const UNLIMITED: &str = "unlimited";

/// Enough for what is to be on time, and below the kernel's own threads at 99.
const LIMIT: u8 = 95;

/// The highest priority that is to be allowed.
pub(crate) fn highest_allowed(machine: &Machine<'_>) -> u8 {
    machine.options.priority.max(LIMIT)
}

/// The group whose members may do both, or is to be made, and the lines that it lacks.
fn group(machine: &Machine<'_>, lines: &[LimitLine]) -> (String, Vec<String>) {
    let priority = machine.options.priority.into();
    let (prioritised, locking) =
        (groups_with(lines, "rtprio", priority), groups_with(lines, "memlock", NO_LIMIT));
    let both = prioritised.iter().find(|group| locking.contains(group));
    let name =
        both.or_else(|| prioritised.first()).cloned().unwrap_or_else(|| "realtime".to_owned());
    let mut lacking = Vec::new();
    if !prioritised.contains(&name) {
        lacking.push(format!("@{name} - rtprio {}", highest_allowed(machine)));
    }
    if !locking.contains(&name) {
        lacking.push(format!("@{name} - memlock unlimited"));
    }
    (name, lacking)
}

/// How to get both rights: one command for the two checks.
fn grant(machine: &Machine<'_>) -> String {
    let limit = highest_allowed(machine);
    // Nothing within a user namespace can give what lies outside.
    let outside = match capability(machine, SYS_NICE) {
        Held::WithinNamespace => "outside of this user namespace: ",
        _ => "",
    };
    match container_kind(machine).as_deref() {
        Some("docker" | "podman") => {
            return format!(
                "start the container with --ulimit rtprio={limit} --ulimit memlock=-1. A user \
                 without these limits outside cannot give them"
            );
        }
        Some(kind) => {
            return format!(
                "set the limits rtprio {limit} and memlock unlimited where {kind} is configured"
            );
        }
        None => {}
    }
    if machine.exists("etc/passwd") && !machine.exists("etc/security") {
        // Without PAM nothing reads such files.
        return format!(
            "{outside}as root: ulimit -r {limit}; ulimit -l unlimited, and start it from that \
             shell"
        );
    }
    let lines = limit_lines(machine);
    let (group, lacking) = group(machine, &lines);
    let member = format!("{outside}sudo groupadd -f {group} && sudo usermod -aG {group} \"$USER\"");
    if lacking.is_empty() {
        return format!("{member}, and log in anew");
    }
    let file = quoted(&format!("/{}", file_for(&lines, &lacking)));
    let added: String = lacking.iter().map(|line| format!("{line}\\n")).collect();
    format!("{member} && printf '{added}' | sudo tee -a {file}, and log in anew")
}

struct Allowed {
    now: bool,
    /// By raising it up to the hard limit, which needs no right.
    raised: bool,
}

fn judged(
    machine: &Machine<'_>,
    held: Held,
    name: &str,
    allowed: &Allowed,
    found: &str,
    raise: &str,
) -> Option<Seen> {
    if allowed.now {
        return Seen::ok(found);
    }
    if allowed.raised {
        return Seen::warn(
            format!("{found}, and enough after raising it: the hard limit allows it"),
            format!("{raise}, in the shell that starts it"),
        );
    }
    let of_namespace = if held == Held::WithinNamespace {
        format!(": {name} does not count in a user namespace")
    } else {
        String::new()
    };
    Seen::bad(format!("{found}{of_namespace}").into(), grant(machine))
}

/// That the call by which threads ask for a policy is refused whatever it asks for. Tried on the
/// machine itself: no file shows what a filter of system calls lets through.
pub(crate) fn refused_call(machine: &Machine<'_>) -> Option<RefusalCause> {
    let is_refused = |policy| {
        let tried = system::scheduling::may_have(Scheduling { policy, prio: None });
        let error = tried.err().and_then(|error| error.raw_os_error());
        error.is_some_and(|error| {
            [Errno::PERM, Errno::ACCESS, Errno::NOSYS].contains(&Errno::from_raw_os_error(error))
        })
    };
    // One that nobody has, and which all may have but those under SCHED_IDLE; these may have that.
    let is_refused =
        machine.root().is_system() && [Policy::Batch, Policy::Idle].into_iter().all(is_refused);
    is_refused.then(|| RefusalCause::SystemCall { seccomp: has_filter(machine) })
}

fn has_filter(machine: &Machine<'_>) -> bool {
    let status = machine.text("proc/self/status").unwrap_or_default();
    status.lines().filter_map(|line| line.strip_prefix("Seccomp:")).any(|mode| mode.trim() == "2")
}

fn said_of_call(machine: &Machine<'_>, seccomp: bool) -> Option<Seen> {
    let filter = if seccomp { ", and a filter of system calls (seccomp) is active" } else { "" };
    let found = format!("none: sched_setattr is refused whatever it asks for{filter}");
    let action = match container_kind(machine).as_deref() {
        Some("docker" | "podman") => {
            "start the container with --security-opt seccomp=PROFILE, a profile that allows \
             sched_setattr"
        }
        _ => {
            "start it where sched_setattr is allowed (systemd: SystemCallFilter=, \
             RestrictRealtime=)"
        }
    };
    Seen::bad(found.into(), action)
}

const PRIORITIES: &str = "Max realtime priority";

/// The limit that keeps threads from the priority that is wanted.
pub(crate) fn priority_limit(machine: &Machine<'_>) -> Option<RefusalCause> {
    let held = capability(machine, SYS_NICE);
    let (soft, hard) = limits(machine, PRIORITIES).filter(|_| held != Held::Yes)?;
    let allowed = soft.parse::<u64>().ok()?;
    (allowed < machine.options.priority.into()).then(|| RefusalCause::Limit {
        allowed,
        hard: hard.parse().ok(),
        in_user_namespace: held == Held::WithinNamespace,
        container: container_kind(machine),
    })
}

fn real_time(machine: &Machine<'_>) -> Option<Seen> {
    if let Some(RefusalCause::SystemCall { seccomp }) = refused_call(machine) {
        return said_of_call(machine, seccomp);
    }
    let (held, priority) = (capability(machine, SYS_NICE), machine.options.priority);
    let Some(RefusalCause::Limit { allowed, hard, .. }) = priority_limit(machine) else {
        // What the limit allows the control group refuses.
        if let Some(cause) = without_time(machine) {
            return Seen::bad(phrase!("allowed-without-time"), out_of_group(machine, &cause));
        }
        if held == Held::Yes {
            return Seen::ok("any priority (CAP_SYS_NICE)");
        }
        return Seen::ok(format!("up to {}", limits(machine, PRIORITIES)?.0));
    };
    let raised = hard.is_none_or(|hard| hard >= priority.into());
    let found = match allowed {
        0 => "none".to_owned(),
        _ => format!("up to {allowed}, {priority} is wanted"),
    };
    let allowed = Allowed { now: false, raised };
    judged(machine, held, "CAP_SYS_NICE", &allowed, &found, &format!("ulimit -S -r {priority}"))
}

/// What the kernel does to a process whose real-time threads do not sleep.
fn timeout(machine: &Machine<'_>) -> Option<Seen> {
    let (soft, hard) = limits(machine, "Max realtime timeout")?;
    let micros = [soft, hard].iter().filter_map(|limit| limit.parse::<i64>().ok()).min()?;
    Seen::warn(
        format!(
            "a process is killed when a real-time thread of it runs for {} without sleep \
             (RLIMIT_RTTIME)",
            Nanos(micros.saturating_mul(1_000))
        ),
        "sudo prlimit --pid $$ --rttime=unlimited, in the shell that starts it",
    )
}

fn locked_memory(machine: &Machine<'_>) -> Option<Seen> {
    let held = capability(machine, IPC_LOCK);
    if held == Held::Yes {
        return Seen::ok("any amount (CAP_IPC_LOCK)");
    }
    let (soft, hard) = limits(machine, "Max locked memory")?;
    let allowed = Allowed { now: soft == UNLIMITED, raised: hard == UNLIMITED };
    let found = match soft.parse::<u64>() {
        Ok(bytes) => format!("at most {} KiB", bytes / 1_024),
        Err(_) => soft,
    };
    judged(machine, held, "CAP_IPC_LOCK", &allowed, &found, "ulimit -S -l unlimited")
}

fn idle_states(machine: &Machine<'_>) -> Option<Seen> {
    // Without idle states nothing has to be held off.
    if !machine.root().has_idle_states() {
        return None;
    }
    // Copied files hold no device.
    if !machine.root().is_running() {
        return Seen::unknown_until(
            "whether /dev/cpu_dma_latency can be held cannot be judged from copied files",
            "run teiji check on that machine",
        );
    }
    if !machine.exists("dev/cpu_dma_latency") {
        return Seen::warn(
            "there is no /dev/cpu_dma_latency",
            "boot a kernel that has it, or limit idle states at boot",
        );
    }
    if machine.can_write("dev/cpu_dma_latency") {
        return Seen::ok("/dev/cpu_dma_latency can be held");
    }
    let (group, _) = group(machine, &limit_lines(machine));
    let rule = format!("KERNEL==\"cpu_dma_latency\", GROUP=\"{group}\", MODE=\"0660\"");
    Seen::warn(
        "/dev/cpu_dma_latency cannot be written to",
        format!(
            "sudo groupadd -f {group} && sudo usermod -aG {group} \"$USER\" && echo '{rule}' | \
             sudo tee /etc/udev/rules.d/60-cpu-dma-latency.rules && sudo udevadm control --reload \
             && sudo udevadm trigger --name-match=cpu_dma_latency, and log in anew"
        ),
    )
}

#[cfg(test)]
mod tests {
    use crate::Status;
    use crate::one_finding::{OneFinding, finding};
    use crate::tests::files::lay;

    /// Of a user with these limits, soft and hard, and these files.
    fn seen(id: &str, (soft, hard): (&str, &str), files: &[(&str, &str)]) -> OneFinding {
        let limits = format!(
            "Limit                     Soft Limit           Hard Limit           Units     \nMax \
             locked memory         {soft:<20} {hard:<20} bytes     \nMax realtime priority     \
             {soft:<20} {hard:<20}           \n"
        );
        let (_dir, root) = lay(&[files, &[("proc/self/limits", limits.as_str())]].concat());
        finding(&root, id, None).unwrap()
    }

    const NONE: (&str, &str) = ("0", "0");
    const MEMBER: &str = "sudo groupadd -f realtime && sudo usermod -aG realtime \"$USER\"";

    /// The command for the one right once overwrote the line of the other.
    #[test]
    fn one_command_gives_both_rights() {
        let expected = format!(
            "{MEMBER} && printf '@realtime - rtprio 95\\n@realtime - memlock unlimited\\n' | sudo \
             tee -a /etc/security/limits.d/realtime.conf, and log in anew"
        );
        for id in ["rights-real-time", "rights-locked-memory"] {
            let finding = seen(id, NONE, &[("proc/self/status", "CapEff:\t0000000000000000\n")]);
            assert_eq!(
                (finding.status, finding.action.as_str()),
                (Status::Bad, expected.as_str()),
                "{id}"
            );
        }
    }

    #[test]
    fn a_group_that_has_the_rights_is_named() {
        let audio = "# Of a sound server\n@audio   -  rtprio     95\n@audio   -  memlock    \
                     unlimited\n@games - rtprio 10\n";
        let finding =
            seen("rights-real-time", NONE, &[("etc/security/limits.d/audio.conf", audio)]);
        assert_eq!(
            finding.action,
            "sudo groupadd -f audio && sudo usermod -aG audio \"$USER\", and log in anew"
        );
        let half = [("etc/security/limits.conf", "@realtime - rtprio 99\n")];
        let finding = seen("rights-locked-memory", NONE, &half);
        assert!(
            finding.action.contains("printf '@realtime - memlock unlimited\\n' |"),
            "{}",
            finding.action
        );
    }

    /// A file's word was once a command of its own in the advice.
    #[test]
    fn what_is_no_name_of_a_group_gets_into_no_command() {
        let whole = |name: &str| format!("@{name} - rtprio 95\n@{name} - memlock unlimited\n");
        for name in ["a;id", "$(id)", "'a'", "\"", "%s", "-r", "1000:", "100:200", ":5", "", "*"] {
            let text = whole(name);
            let finding = seen("rights-real-time", NONE, &[("etc/security/limits.conf", &text)]);
            let expected = format!(
                "{MEMBER} && printf '@realtime - rtprio 95\\n@realtime - memlock unlimited\\n' | \
                 sudo tee -a /etc/security/limits.d/realtime.conf, and log in anew"
            );
            assert_eq!(finding.action, expected, "{name}");
        }
        let text = whole("rt-1.x_y");
        let finding = seen("rights-real-time", NONE, &[("etc/security/limits.conf", &text)]);
        assert_eq!(
            finding.action,
            "sudo groupadd -f rt-1.x_y && sudo usermod -aG rt-1.x_y \"$USER\", and log in anew"
        );
    }

    #[test]
    fn the_package_gives_what_is_advised() {
        let limits = include_str!("../../../packaging/debian/limits.conf");
        let rules = include_str!("../../../packaging/debian/udev.rules");
        let installed: Vec<&str> =
            limits.lines().chain(rules.lines()).filter(|line| !line.starts_with('#')).collect();
        let page = include_str!("../../../docs/rights.md");
        let advised: Vec<&str> = page
            .lines()
            .filter_map(|line| line.strip_prefix("    "))
            .filter(|line| line.starts_with('@') || line.starts_with("KERNEL"))
            .collect();
        assert_eq!(installed, advised);
        for id in ["rights-real-time", "rights-locked-memory"] {
            let files = [("etc/security/limits.d/50-teiji.conf", limits)];
            let finding = seen(id, NONE, &files);
            assert_eq!(finding.action, format!("{MEMBER}, and log in anew"), "{id}");
        }
    }

    #[test]
    fn a_group_whose_rights_a_later_file_takes_back_is_not_named() {
        let files = [
            ("etc/security/limits.d/audio.conf", "@audio - rtprio 95\n"),
            ("etc/security/limits.d/zz.conf", "@audio - rtprio 0\n"),
        ];
        let finding = seen("rights-real-time", NONE, &files);
        assert!(finding.action.starts_with(MEMBER), "{}", finding.action);
    }

    /// The same was advised again and again where a later file took back what was added.
    #[test]
    fn what_is_added_is_in_no_file_that_a_later_one_takes_back() {
        const FOLDER: &str = "etc/security/limits.d";
        for (later, text, file) in [
            ("zz", "@realtime - rtprio 0\n", "zzz-realtime.conf"),
            ("site", "@realtime hard memlock 64\n", "zz-realtime.conf"),
            ("site", "@users soft RTPRIO 0\n", "zz-realtime.conf"),
            ("zzzz $x", "@realtime - rtprio 0\n", "zzzz $x.conf"),
            ("realtime", "@realtime - rtprio 0\n", "realtime.conf"),
            ("50-site", "@realtime - rtprio 0\n", "realtime.conf"),
            ("zz", "@realtime - rtprio 99\n@a - nofile 5\n* - rtprio 0\n", "realtime.conf"),
            ("zz", "@realtime - memlock infinity\n@a - rtprio none\n", "realtime.conf"),
        ] {
            let first = (format!("{FOLDER}/{later}.conf"), text.to_owned());
            let files = [(first.0.as_str(), text), ("etc/security/limits.conf", "@x - rtprio 0")];
            let finding = seen("rights-real-time", NONE, &files);
            let path = plan::quoted(&format!("/{FOLDER}/{file}"));
            let of = format!(" | sudo tee -a {path}, and log in anew");
            assert!(finding.action.ends_with(&of), "{later} {text}: {}", finding.action);
            // Done so, only to log in is left to do.
            let (_, added) = finding.action.split_once("printf '").unwrap();
            let added = added.split('\'').next().unwrap().replace("\\n", "\n");
            let of_before = if file == format!("{later}.conf") { text } else { "" };
            let file = format!("{FOLDER}/{file}");
            let added = format!("{of_before}{added}");
            let done = [files[0], files[1], (file.as_str(), added.as_str())];
            let finding = seen("rights-real-time", NONE, &done);
            assert!(!finding.action.contains("tee"), "{later} {text}: {}", finding.action);
        }
    }

    #[test]
    fn where_no_limits_are_read_none_are_written() {
        let finding = seen("rights-real-time", NONE, &[("etc/passwd", "root:x:0:0::/:/bin/sh\n")]);
        assert_eq!(
            finding.action,
            "as root: ulimit -r 95; ulimit -l unlimited, and start it from that shell"
        );
    }

    #[test]
    fn what_the_hard_limit_allows_is_no_lack_of_rights() {
        let finding = seen("rights-real-time", ("0", "95"), &[]);
        assert_eq!(
            (finding.status, finding.action.as_str()),
            (Status::Warn, "ulimit -S -r 90, in the shell that starts it")
        );
        let finding = seen("rights-locked-memory", ("65536", "unlimited"), &[]);
        assert_eq!(
            (finding.status, finding.action.as_str()),
            (Status::Warn, "ulimit -S -l unlimited, in the shell that starts it")
        );
        assert_eq!(seen("rights-real-time", ("95", "95"), &[]).status, Status::Ok);
    }

    /// Root of a container without root was said to have any priority.
    #[test]
    fn capabilities_of_a_user_namespace_do_not_count() {
        let root = ("proc/self/status", "CapEff:\t000001ffffffffff\n");
        for (map, expected) in
            [("0 0 4294967295", Status::Ok), ("0 1000 1\n1 100000 65536", Status::Bad)]
        {
            for id in ["rights-real-time", "rights-locked-memory"] {
                let files =
                    [root, ("proc/self/uid_map", map), ("run/.containerenv", "rootless=1\n")];
                let finding = seen(id, NONE, &files);
                assert_eq!(finding.status, expected, "{id} {map}: {finding:?}");
                let is_told = finding.found.contains("does not count in a user namespace");
                assert_eq!(is_told, expected == Status::Bad, "{finding:?}");
            }
        }
    }
}

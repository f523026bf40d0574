// SPDX-License-Identifier: MIT OR Apache-2.0
//! Who sets the time of day, whether it is right, and whether it may step.
//!
//! What the kernel knows of it (adjtimex) is in no file, so most of it is asked of the services'
//! own files.

use super::container::container_kind;
use super::finding::{Check, Seen, check};
use super::machine::Machine;

pub(crate) const CHECKS: &[Check] =
    &[check("time-synchronisation", &[], synchronisation), check("time-stepping", &[], stepping)];

/// A service that sets the time of day.
struct Service {
    /// Its process, in the 15 characters that the kernel keeps of a name.
    process: &'static str,
    name: &'static str,
    /// What says whether it is synchronised.
    asks: &'static str,
    may_step: fn(&Machine<'_>, &[String]) -> Stepping,
}

const TIMESYNC: &str = "systemd-timesyncd";

const SERVICES: [Service; 6] = [
    Service { process: "chronyd", name: "chronyd", asks: "chronyc tracking", may_step: chrony },
    Service {
        process: "systemd-timesyn",
        name: TIMESYNC,
        asks: "timedatectl show -p NTPSynchronized",
        may_step: |_, _| Stepping::AnyTime("when it is 0.4 s off".to_owned(), INSTEAD.to_owned()),
    },
    Service { process: "ntpd", name: "ntpd", asks: "ntpq -c rv", may_step: ntpd },
    Service { process: "ntpsec", name: "ntpsec", asks: "ntpq -c rv", may_step: ntpd },
    Service {
        process: "phc2sys",
        name: "phc2sys",
        asks: "sudo journalctl -t phc2sys -n 5",
        may_step: ptp,
    },
    Service {
        process: "ptp4l",
        name: "ptp4l",
        asks: "sudo pmc -u -b 0 'GET TIME_STATUS_NP'",
        may_step: ptp,
    },
];

const INSTEAD: &str = "use CLOCK_MONOTONIC for deadlines, or chrony in its place with 'makestep 1 \
                       3', which steps only after its start";

/// Those that run, each with the number of its process.
fn running(machine: &Machine<'_>) -> Vec<(&'static Service, u32)> {
    SERVICES
        .iter()
        .filter_map(|service| Some((service, *machine.processes(service.process).first()?)))
        .collect()
}

fn synchronisation(machine: &Machine<'_>) -> Option<Seen> {
    let running = running(machine);
    let names: Vec<&str> = running.iter().map(|(service, _)| service.name).collect();
    let (first, others) = match running.as_slice() {
        [] if container_kind(machine).is_some() => {
            return Seen::unknown("the machine around this container keeps the time of day");
        }
        [] => return Seen::ok("no service sets the time of day"),
        [(first, _), others @ ..] => (first, others),
    };
    let found = format!("{} keeps the time of day", names.join(" and "));
    if names.contains(&TIMESYNC) && !others.is_empty() {
        return Seen::warn(
            format!("{}: both set the time of day", names.join(" and ")),
            "sudo systemctl disable --now systemd-timesyncd",
        );
    }
    if first.name != TIMESYNC {
        return Seen::unknown_until(
            format!("{found}; no file says whether it is synchronised"),
            first.asks,
        );
    }
    if machine.exists("run/systemd/timesync/synchronized") {
        return Seen::ok(format!("{found}, and it is synchronised"));
    }
    if !machine.exists("run/systemd/timesync") {
        return Seen::unknown_until(found, first.asks);
    }
    Seen::warn(
        format!("{found}, and was never synchronised since boot"),
        format!("wait until '{}' says yes", first.asks),
    )
}

/// Whether a service steps the clock. Otherwise it makes it run faster or slower.
enum Stepping {
    Bounded(String),
    /// Then, and what to do about it.
    AnyTime(String, String),
    Unknown(String),
}

fn stepping(machine: &Machine<'_>) -> Option<Seen> {
    let (mut found, mut actions, mut is_unknown) = (Vec::new(), Vec::new(), false);
    for (service, process) in running(machine) {
        let line = machine.text_of_process(&format!("proc/{process}/cmdline")).unwrap_or_default();
        let words: Vec<String> = line.split('\0').map(str::to_owned).collect();
        let what = match (service.may_step)(machine, &words) {
            Stepping::Bounded(when) => when,
            Stepping::AnyTime(when, action) => {
                actions.push(action);
                when
            }
            Stepping::Unknown(why) => {
                is_unknown = true;
                why
            }
        };
        found.push(format!("{} steps it {what}", service.name));
    }
    let found = if found.is_empty() { return None } else { found.join(", ") };
    match actions.into_iter().next() {
        Some(action) => Seen::warn(found, action),
        None if is_unknown => Seen::unknown(found),
        None => Seen::ok(found),
    }
}

/// The value of an option, in the same word or in the next.
fn option<'a>(words: &'a [String], flag: &str) -> Option<&'a str> {
    let place = words.iter().position(|word| word.starts_with(flag))?;
    let value = words[place].trim_start_matches(flag).trim_start_matches('=');
    if value.is_empty() { words.get(place + 1).map(String::as_str) } else { Some(value) }
}

/// A file by the name that somebody else wrote for it. Anybody may call a process chronyd, and name
/// for its configuration what has an effect when it is read, such as /proc/kmsg, or lies in a
/// folder of his own: so it is one of the system's configurations, or none.
fn named(machine: &Machine<'_>, path: &str) -> Option<String> {
    machine.text(of_system(path)?)
}

/// A path below the root, where only root writes.
fn of_system(path: &str) -> Option<&str> {
    let path = path.trim_start_matches('/');
    let is_plain = path.split('/').all(|part| part != "..");
    (is_plain && ["etc/", "usr/"].iter().any(|folder| path.starts_with(folder))).then_some(path)
}

/// Lines of chrony's configuration, and of the folders that it names.
fn chrony_lines(machine: &Machine<'_>, path: &str) -> Option<Vec<String>> {
    let mut lines = Vec::new();
    for line in named(machine, path)?.lines() {
        let mut words = line.split_whitespace();
        match (words.next(), words.next()) {
            (Some("confdir"), Some(folder)) => {
                let Some(folder) = of_system(folder) else { continue };
                let files =
                    machine.names(folder).into_iter().filter(|name| name.ends_with(".conf"));
                lines.extend(files.filter_map(|name| named(machine, &format!("{folder}/{name}"))));
            }
            _ => lines.push(line.to_owned()),
        }
    }
    Some(lines.iter().flat_map(|text| text.lines()).map(str::to_owned).collect())
}

fn chrony(machine: &Machine<'_>, words: &[String]) -> Stepping {
    let asked = option(words, "-f");
    let paths =
        asked.map_or_else(|| vec!["etc/chrony/chrony.conf", "etc/chrony.conf"], |path| vec![path]);
    let Some((path, lines)) =
        paths.into_iter().find_map(|path| Some((path, chrony_lines(machine, path)?)))
    else {
        return Stepping::Unknown("as a configuration says that cannot be read".to_owned());
    };
    let mut limits = lines.iter().filter_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let ["makestep", _, limit] = words.as_slice() else { return None };
        Some((line.trim().to_owned(), limit.parse::<i64>().ok()?))
    });
    match limits.next_back() {
        None => Stepping::Bounded("never".to_owned()),
        Some((line, limit)) if limit < 0 => Stepping::AnyTime(
            format!("at any time ('{line}')"),
            format!(
                "write 'makestep 1 3' for '{line}' in /{}, then sudo systemctl restart chronyd",
                path.trim_start_matches('/')
            ),
        ),
        Some((_, limit)) => Stepping::Bounded(format!("in its first {limit} updates only")),
    }
}

fn ntpd(machine: &Machine<'_>, words: &[String]) -> Stepping {
    if words.iter().any(|word| word == "-x" || word == "--slew") {
        return Stepping::Bounded("only when it is 600 s off (-x)".to_owned());
    }
    let asked = option(words, "-c");
    let paths =
        asked.map_or_else(|| vec!["etc/ntpsec/ntp.conf", "etc/ntp.conf"], |path| vec![path]);
    let Some(text) = paths.into_iter().find_map(|path| named(machine, path)) else {
        return Stepping::Unknown("as its kind does: there is no ntp.conf".to_owned());
    };
    let is_off = text.lines().any(|line| line.split_whitespace().eq(["tinker", "step", "0"]));
    if is_off {
        return Stepping::Bounded("never ('tinker step 0')".to_owned());
    }
    Stepping::AnyTime(
        "when it is 0.128 s off".to_owned(),
        format!("start it with -x, or {INSTEAD}"),
    )
}

/// `ptp4l` and `phc2sys` step after their start where a threshold is set.
fn ptp(machine: &Machine<'_>, words: &[String]) -> Stepping {
    if words.iter().all(String::is_empty) {
        return Stepping::Unknown("as its options say, which cannot be read".to_owned());
    }
    let configured = option(words, "-f").map(|path| {
        let text = named(machine, path)?;
        let value = text.lines().find_map(|line| {
            line.trim().strip_prefix("step_threshold").map(|value| value.trim().to_owned())
        });
        Some(value.unwrap_or_else(|| "0".to_owned()))
    });
    let asked =
        option(words, "-S").or_else(|| option(words, "--step_threshold")).map(str::to_owned);
    let threshold = match (asked, configured) {
        (Some(asked), _) => asked,
        (None, Some(None)) => {
            return Stepping::Unknown("as a configuration says that cannot be read".to_owned());
        }
        (None, Some(Some(configured))) => configured,
        (None, None) => "0".to_owned(),
    };
    match threshold.parse::<f64>() {
        Ok(seconds) if seconds > 0.0 => Stepping::AnyTime(
            format!("when it is {threshold} s off"),
            "start it without a step threshold: then it steps only when it starts".to_owned(),
        ),
        Ok(_) => Stepping::Bounded("only when it starts".to_owned()),
        Err(_) => Stepping::Unknown(format!("from '{threshold}' on")),
    }
}

#[cfg(test)]
#[path = "area_time_tests.rs"]
mod tests;

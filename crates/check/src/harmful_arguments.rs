// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernel arguments that recipes have and that do harm: they make every CPU do more, hide what goes
//! wrong, or do less than they seem to.

use super::area_virtual::hypervisor_flag;
use super::finding::Seen;
use super::machine::Machine;
use model::{Phrase, phrase};

/// From this on, Linux checks TSC_ADJUST while it runs.
const CHECKS_TSC_ADJUST: (u32, u32) = (5, 17);

pub(crate) fn harmful(machine: &Machine<'_>) -> Option<Seen> {
    let bad = [polling(machine), without_timers(machine), expedited(machine), traced(machine)];
    let other = [without_errors(machine), half_reliable(machine), without_steal_time(machine)];
    let is_bad = bad.iter().any(Option::is_some);
    let (found, actions): (Vec<Phrase>, Vec<Phrase>) =
        bad.into_iter().chain(other).flatten().unzip();
    if found.is_empty() {
        return None;
    }
    let (found, action) = (Phrase::joined("sentences", found), Phrase::joined("and", actions));
    if is_bad { Seen::bad(found, action) } else { Seen::warn(found, action) }
}

/// What is found, and what to do.
type Harm = (Phrase, Phrase);

/// What is to be removed.
fn removed(written: String, found: impl FnOnce(String) -> Phrase) -> Harm {
    (found(written.clone()), phrase!("remove-arguments", arguments = written))
}

fn polling(machine: &Machine<'_>) -> Option<Harm> {
    let written = machine.arguments.written("irqpoll")?;
    Some(removed(written, |written| phrase!("runs-all-handlers", written)))
}

/// Of an x86 processor. A hypervisor may give its guests other timers.
fn without_timers(machine: &Machine<'_>) -> Option<Harm> {
    let names = ["nolapic_timer", "noapictimer", "nolapic", "disableapic"];
    let written = names.into_iter().find_map(|name| machine.arguments.written(name))?;
    (machine.is_x86() == Some(true) && hypervisor_flag(machine) != Some(true))
        .then(|| removed(written, |written| phrase!("wakes-by-one-timer", written)))
}

/// Unless the kernel passes over it from the end of the boot on, as one with `PREEMPT_RT` does.
fn expedited(machine: &Machine<'_>) -> Option<Harm> {
    let is_set = |name: &str| {
        let value = machine.arguments.value(name).and_then(|value| value.parse::<i64>().ok());
        value.is_some_and(|value| value != 0)
    };
    let written = machine.arguments.written("rcupdate.rcu_expedited")?;
    let is_harmless =
        ["rcupdate.rcu_normal", "rcupdate.rcu_normal_after_boot"].iter().any(|name| is_set(name))
            || machine.has_preempt_rt();
    (is_set("rcupdate.rcu_expedited") && !is_harmless)
        .then(|| removed(written, |written| phrase!("interrupts-for-rcu", written)))
}

/// Until somebody ends the tracing.
fn traced(machine: &Machine<'_>) -> Option<Harm> {
    let tracer = machine.arguments.value("ftrace");
    let of_tracer = tracer.filter(|tracer| ["function", "function_graph"].contains(tracer));
    let name = if of_tracer.is_some() { "ftrace" } else { "stacktrace" };
    let written = machine.arguments.written(name)?;
    Some(removed(written, |written| phrase!("traces-functions", written)))
}

/// A guest that ignores how long the hypervisor runs others.
fn without_steal_time(machine: &Machine<'_>) -> Option<Harm> {
    let written = machine.arguments.written("no_steal_acc")?;
    (hypervisor_flag(machine) != Some(false))
        .then(|| removed(written, |written| phrase!("hides-steal-time", written)))
}

fn without_errors(machine: &Machine<'_>) -> Option<Harm> {
    let is_off = machine.arguments.value("mce") == Some("off");
    let written =
        if is_off { "mce=off" } else { machine.arguments.value("nomce").map(|_| "nomce")? };
    Some((phrase!("hides-errors", written), phrase!("replace-mce", written, to = "mce=ignore_ce")))
}

/// `tsc=nowatchdog` where `tsc=reliable` was meant.
fn half_reliable(machine: &Machine<'_>) -> Option<Harm> {
    let written = machine.arguments.written("tsc").filter(|tsc| tsc == "tsc=nowatchdog")?;
    // The kernel does what each of them says.
    if machine.arguments.values("tsc").any(|value| value == "reliable") {
        return None;
    }
    let is_older = machine.kernel_version().is_some_and(|version| version < CHECKS_TSC_ADJUST);
    let info = machine.text("proc/cpuinfo").unwrap_or_default();
    let has_register = info
        .lines()
        .find(|line| line.starts_with("flags"))
        .is_some_and(|flags| flags.split_ascii_whitespace().any(|flag| flag == "tsc_adjust"));
    if is_older || !has_register {
        return None;
    }
    let action = phrase!("replace-tsc", written = written.clone(), to = "tsc=reliable");
    Some((phrase!("leaves-tsc-check", written), action))
}

#[cfg(test)]
mod tests {
    use crate::Status;
    use crate::one_finding::finding;
    use crate::tests::files::lay;

    fn seen(line: &str, release: &str, flags: &str) -> Option<(Status, String)> {
        let (_dir, root) = lay(&[
            ("proc/cmdline", line),
            ("proc/sys/kernel/osrelease", release),
            ("proc/cpuinfo", &format!("processor\t: 0\nflags\t\t: {flags}\n")),
        ]);
        finding(&root, "arguments-harmful", None).map(|finding| (finding.status, finding.action))
    }

    #[test]
    fn what_to_write_for_each() {
        let irqpoll = "remove irqpoll from the kernel's arguments";
        assert_eq!(seen("irqpoll", "6.1.0", ""), Some((Status::Bad, irqpoll.to_owned())));
        let mce = "replace mce=off by mce=ignore_ce, which ends the polling for corrected errors \
                   alone";
        assert_eq!(seen("mce=off", "6.1.0", ""), Some((Status::Warn, mce.to_owned())));
        assert_eq!(seen("mce=ignore_ce irqaffinity=0", "6.1.0", ""), None);
    }

    /// Each with a reason, and where it does nothing it is not named.
    #[test]
    fn what_delays_every_wake_up_is_bad() {
        let bad = |line: &str, flags: &str| {
            let seen = seen(line, "6.1.0", flags)?;
            let expected = format!("remove {line} from the kernel's arguments");
            assert_eq!(seen, (Status::Bad, expected));
            Some(())
        };
        for line in [
            "nolapic_timer",
            "noapictimer",
            "rcupdate.rcu_expedited=1",
            "ftrace=function",
            "stacktrace",
        ] {
            assert_eq!(bad(line, "fpu"), Some(()), "{line}");
        }
        for line in [
            "rcupdate.rcu_expedited=0",
            "rcupdate.rcu_expedited=1 rcupdate.rcu_normal_after_boot=1",
            "rcupdate.rcu_normal=0",
            "ftrace=nop",
        ] {
            assert_eq!(seen(line, "6.1.0", "fpu"), None, "{line}");
        }
        assert_eq!(bad("nolapic_timer", "fpu hypervisor"), None, "it may have other timers");
        let action = "remove no-steal-acc from the kernel's arguments";
        let guest = seen("no-steal-acc", "6.1.0", "fpu hypervisor");
        assert_eq!(guest, Some((Status::Warn, action.to_owned())));
        assert_eq!(seen("no-steal-acc", "6.1.0", "fpu"), None);
    }

    /// Processors without the register have no such check, and older kernels neither.
    #[test]
    fn the_check_of_tsc_adjust_is_said_where_it_runs() {
        let tsc = "replace tsc=nowatchdog by tsc=reliable, where the TSCs of all CPUs are in step";
        let found = Some((Status::Warn, tsc.to_owned()));
        assert_eq!(seen("tsc=nowatchdog", "6.1.0", "fpu tsc_adjust"), found);
        assert_eq!(seen("tsc=nowatchdog", "6.1.0", "fpu tsc"), None);
        assert_eq!(seen("tsc=nowatchdog", "5.10.0", "fpu tsc_adjust"), None);
        assert_eq!(seen("tsc=reliable", "6.1.0", "fpu tsc_adjust"), None);
        assert_eq!(seen("tsc=reliable tsc=nowatchdog", "6.1.0", "fpu tsc_adjust"), None);
    }
}

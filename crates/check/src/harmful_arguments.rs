// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernel arguments that recipes have and that do harm: they make every CPU do more, hide what goes
//! wrong, or do less than they seem to.

use super::finding::Seen;
use super::machine::Machine;
use model::{Phrase, phrase};

/// From this on, Linux checks TSC_ADJUST while it runs.
const CHECKS_TSC_ADJUST: (u32, u32) = (5, 17);

pub(crate) fn harmful(machine: &Machine<'_>) -> Option<Seen> {
    let polling = polling(machine);
    let is_bad = polling.is_some();
    let all = [polling, without_errors(machine), half_reliable(machine)];
    let (found, actions): (Vec<Phrase>, Vec<Phrase>) = all.into_iter().flatten().unzip();
    if found.is_empty() {
        return None;
    }
    let (found, action) = (Phrase::joined("sentences", found), Phrase::joined("and", actions));
    if is_bad { Seen::bad(found, action) } else { Seen::warn(found, action) }
}

/// What is found, and what to do.
type Harm = (Phrase, Phrase);

fn polling(machine: &Machine<'_>) -> Option<Harm> {
    let written = machine.arguments.written("irqpoll")?;
    let action = phrase!("remove-arguments", arguments = written.clone());
    Some((phrase!("runs-all-handlers", written), action))
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

// SPDX-License-Identifier: MIT OR Apache-2.0
//! How many system management interrupts there were while gaps were looked for: some gaps may have
//! been those.

use crate::format::counted;
use crate::language::{Text, texts, tr};
use crate::overview::Overview;
use model::{Smis, SmisUnknown, Thread};

/// Of each thread that asked for them.
pub(crate) fn of_each(all: &[Overview<'_>]) -> Vec<(String, String)> {
    let mut meanings = Vec::new();
    for overview in all {
        let name = || {
            if all.len() == 1 {
                tr!(smis)
            } else {
                tr!(smis_of_recording, recording = overview.name)
            }
        };
        let found = overview.document().threads.iter().filter_map(in_words);
        meanings.extend(found.map(|meaning| (name(), meaning)));
    }
    meanings
}

/// `3 system management interrupts, counted by CPU 2 while it was measured`, or why it is not
/// known.
fn in_words(thread: &Thread) -> Option<String> {
    let Smis { count, unknown } = thread.smis?;
    let Some(count) = count else {
        let why = why(unknown.unwrap_or(SmisUnknown::Unreadable)).said();
        let cpu = thread.cpu;
        return Some(tr!(system_management_interrupts_cpu, cpu, why));
    };
    let interrupts = counted(count, texts::n_system_management_interrupts);
    Some(tr!(interrupts_counted_cpu_while, interrupts, cpu = thread.cpu))
}

/// Why it is not known.
const fn why(unknown: SmisUnknown) -> Text {
    match unknown {
        SmisUnknown::VirtualMachine => texts::virtual_machine_does_not,
        SmisUnknown::NotIntel => texts::only_intels_cpus_count,
        SmisUnknown::NoDevice => texts::there_no_dev_cpu,
        SmisUnknown::NoRight => texts::dev_cpu_n_msr,
        SmisUnknown::Unreadable => texts::cpus_counter_could_not,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::Synthetic;

    #[test]
    fn a_count_or_why_there_is_none() {
        let mut recorded = Synthetic::idle().threads(1).build();
        let words = |recorded: &_| of_each(&Overview::all(std::slice::from_ref(recorded)));
        assert!(words(&recorded).is_empty());
        let cpu = recorded.document.threads[0].cpu;
        for (smis, text) in [
            (
                Smis::from(Ok(0)),
                format!(
                    "0 system management interrupts, counted by CPU {cpu} while it was measured"
                ),
            ),
            (
                Smis::from(Ok(1)),
                format!(
                    "1 system management interrupt, counted by CPU {cpu} while it was measured"
                ),
            ),
            (
                Smis::from(Err(SmisUnknown::NoDevice)),
                format!(
                    "system management interrupts of CPU {cpu}: unknown (there is no \
                     /dev/cpu/N/msr: run modprobe msr)"
                ),
            ),
        ] {
            recorded.document.threads[0].smis = Some(smis);
            let said = words(&recorded);
            assert_eq!(
                (said[0].0.as_str(), said[0].1.as_str(), said.len()),
                ("SMIs", text.as_str(), 1)
            );
        }
    }
}

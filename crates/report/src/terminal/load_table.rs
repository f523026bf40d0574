// SPDX-License-Identifier: MIT OR Apache-2.0
//! What loads that ran alone have reached, for a terminal: a line for each CPU of each load.

use crate::format;
use crate::language::{Language, Text, in_language, texts, tr};
use crate::sections::loads::did;
use crate::terminal::text::{left, right};
use model::LoadEvidence;

/// Characters of a load as written.
const WIDEST: usize = 28;

/// What `teiji load` ends with: what each load reached, on each of its CPUs.
pub fn load_table(loads: &[LoadEvidence], language: Language) -> String {
    in_language(language, || {
        let line = |cells: [&str; 6]| {
            let [load, cpu, asked, reached, worst, busy] = cells;
            let figures = [(cpu, 4), (asked, 6), (reached, 7), (worst, 12), (busy, 8)]
                .map(|(text, width)| right(text, width));
            format!("{} {}", left(load, WIDEST), figures.join(" "))
        };
        let percent = |value: Option<f64>| {
            value.map_or_else(|| "-".to_owned(), |value| format!("{value:.1}"))
        };
        let mut lines = vec![line(
            [
                texts::load,
                texts::cpu,
                texts::asked,
                texts::reached,
                texts::worst_second,
                texts::cpu_busy,
            ]
            .map(Text::said),
        )];
        for load in loads {
            for (index, on) in load.per_cpu.iter().enumerate() {
                // Tasks that move between CPUs: what they reached, they reached on all of them
                // together.
                let reached = on.reached.or(load.reached.filter(|_| index == 0));
                lines.push(line([
                    &if index == 0 { format::clip(&load.spec, WIDEST) } else { String::new() },
                    &on.cpu.to_string(),
                    &percent(load.requested),
                    &percent(reached.map(|reached| reached.mean)),
                    &percent(reached.map(|reached| reached.worst_second)),
                    &percent(on.machine_busy),
                ]));
            }
            let mut remarks = did(load);
            remarks.extend((!load.alive).then(|| tr!(exited_early)));
            remarks.extend(load.off_target.then(|| tr!(load_off_target_more_than_5)));
            if !remarks.is_empty() {
                lines.push(format!("  {}", remarks.join(texts::comma.said())));
            }
        }
        lines.push(String::new());
        lines.push(tr!(percent_one_cpu_averaged));
        lines.join("\n")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::Synthetic;

    #[test]
    fn each_cpu_has_a_line_and_each_load_its_work() {
        let mut loads = Synthetic::hackbench().load("cpu@50%").build().document.load;
        loads[1].off_target = true;
        loads[0].alive = false;
        let text = load_table(&loads, Language::English);
        let of_cpus: usize = loads.iter().map(|load| load.per_cpu.len()).sum();
        assert_eq!(text.lines().count(), 1 + of_cpus + loads.len() + 2, "{text}");
        assert!(text.contains("messages/s, ") && text.contains("exited early"), "{text}");
        assert!(
            text.contains("load_off_target: more than 5 points off") && text.contains("50.0"),
            "{text}"
        );
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    }
}

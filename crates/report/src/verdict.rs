// SPDX-License-Identifier: MIT OR Apache-2.0
//! The one line for a reader with ten seconds: how late at most, under what, and what spoils the figure.

use crate::format;
use crate::overview::{Overview, list};
use std::collections::BTreeSet;

/// More recordings than this are not listed one by one.
const MOST_LISTED: usize = 3;

/// One line: what spoils the figures first if it is the lack of rights, the figures, then whatever else spoils them.
pub(crate) fn verdict(all: &[Overview<'_>]) -> String {
    let (rights, figures) = (rights(all), figures(all));
    let mut sentences = vec![if rights.is_empty() { capitalised(&figures) } else { rights + &figures }];
    sentences.extend(cut_short(all));
    sentences.extend(lost(all));
    sentences.join(" ")
}

/// How each recording is spoken of: by its load where that tells them apart, otherwise by its name.
pub(crate) fn labels(all: &[Overview<'_>]) -> Vec<String> {
    let conditions: Vec<String> = all.iter().map(Overview::condition).collect();
    let distinct: BTreeSet<&String> = conditions.iter().collect();
    if distinct.len() == all.len() { conditions } else { all.iter().map(|overview| format!("in {}", overview.name)).collect() }
}

fn capitalised(sentence: &str) -> String {
    let mut letters = sentence.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

fn rights(all: &[Overview<'_>]) -> String {
    let denied: Vec<(&Overview<'_>, String)> = all.iter().filter_map(|o| o.no_real_time().map(|how| (o, how))).collect();
    if let Some((_, how)) = denied.first() {
        if denied.len() == all.len() {
            return format!("No real-time rights ({how}): ");
        }
        let names: Vec<&str> = denied.iter().map(|(overview, _)| overview.name.as_str()).collect();
        return format!("No real-time rights in {} ({how}): ", list(&names));
    }
    match all.iter().find_map(Overview::ordinary) {
        Some(policy) if all.iter().all(|overview| overview.ordinary().is_some()) => format!("Ordinary scheduling ({policy}): "),
        _ => String::new(),
    }
}

fn figures(all: &[Overview<'_>]) -> String {
    let labels = labels(all);
    let mut maxima: Vec<(i64, &str)> =
        all.iter().zip(&labels).filter_map(|(overview, label)| Some((overview.moments.max()?, label.as_str()))).collect();
    maxima.sort_by_key(|(max, _)| std::cmp::Reverse(*max));
    let Some(((worst, label), others)) = maxima.split_first() else {
        return if all.is_empty() { "no recording was given.".to_owned() } else { "no activation woke.".to_owned() };
    };
    let mut phrases = vec![format!("{} {label}", late(*worst))];
    if all.len() > MOST_LISTED {
        phrases[0] += &format!(" (the worst of {} recordings)", format::count(all.len() as u64));
        phrases.extend(others.last().map(|(max, label)| format!("{} {label} (the best)", format::at_most(*max))));
    } else {
        phrases.extend(others.iter().map(|(max, label)| format!("{} {label}", format::at_most(*max))));
    }
    let silent: Vec<&str> = all.iter().filter(|o| o.moments.max().is_none()).map(|o| o.name.as_str()).collect();
    let silent = if silent.is_empty() { String::new() } else { format!("; no activation woke in {}", list(&silent)) };
    format!("woke at most {}{silent}; {}.", phrases.join(", "), on_time(all))
}

/// `1.24 ms late`; a latency below 0 is early.
fn late(max: i64) -> String {
    if max < 0 { format!("{} early", format::latency(-max)) } else { format!("{} late", format::at_most(max)) }
}

fn on_time(all: &[Overview<'_>]) -> String {
    let mut sum = stats::Activations::default();
    all.iter().for_each(|overview| sum.merge(&overview.activations));
    let mut text = format!("{} of {} on time", format::count(sum.on_time), format::counted(sum.due, "activation"));
    for (n, what) in [(sum.late, "late"), (sum.skipped, "skipped")] {
        if n > 0 {
            text += &format!(", {} {what}", format::count(n));
        }
    }
    text
}

/// One sentence for each recording that holds less than was asked for.
fn cut_short(all: &[Overview<'_>]) -> Vec<String> {
    let subject = |overview: &Overview<'_>| if all.len() == 1 { "The recording".to_owned() } else { overview.name.clone() };
    all.iter().filter_map(|overview| overview.cut_short().map(|how| format!("{} {how}.", subject(overview)))).collect()
}

fn lost(all: &[Overview<'_>]) -> Option<String> {
    let sum: u64 = all.iter().map(|overview| overview.lost).sum();
    (sum > 0).then(|| format!("{} lost: what they would have shown is not known.", format::counted(sum, "sample")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::Synthetic;
    use recording::{End, Recorded, State};

    fn said(recordings: &[Recorded]) -> String {
        verdict(&Overview::of_all(recordings))
    }

    #[test]
    fn one_figure_for_each_load() {
        let idle = Synthetic::idle().samples(&[10_000, 83_449]).build();
        let busy = Synthetic::hackbench().samples(&[20_000, 1_239_001]).build();
        assert_eq!(
            said(&[idle.clone(), busy.clone()]),
            "Woke at most 1.24 ms late under hackbench, 83.5 µs idle; 7 of 10 activations on time, 1 late, 2 skipped.".replace("7 of 10", "6 of 8").replace("1 late, 2", "2 late, 0")
        );
        assert_eq!(said(&[idle]), "Woke at most 83.5 µs late idle; 4 of 4 activations on time.");
    }
}

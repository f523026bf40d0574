// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where latencies went, as people read it: a sentence, the parts, the causes of many, and the
//! functions as a picture.

mod page;
mod remedies;
mod timeline;
mod words;

pub(crate) use page::{ExplainedView, views};
pub(crate) use words::cause_of;

use remedies::remedies;
use timeline::{Heading, timeline};
use words::{account_title, cause_name, cause_rows, details, part_rows, sentence};

use crate::format::{self, count, exact_micros};
use crate::language::{Language, in_language, texts, tr};
use crate::sections::lab::time_of;
use crate::terminal::text::{WIDTH, columns, left, right, wrapped};
use model::{Account, Cause, Document, Lab, WatchCost, Watched, causes};

const GAP: &str = "  ";
/// Latencies of which each is a sentence.
const MAX_SENTENCES: usize = 20;

/// What `teiji explain` prints: of one latency a sentence and its parts; of several their causes
/// first. At last what their ns are, by the lab that they were recorded in, where that is not said
/// elsewhere.
pub fn explained_text(accounts: &[Account], lab: Option<&Lab>, language: Language) -> String {
    in_language(language, || {
        let mut out = String::new();
        let Some(worst) = accounts.first() else { return out };
        wrapped(&mut out, "", &sentence(worst));
        if accounts.len() > 1 {
            out.push('\n');
            out += &ledger(accounts);
            out.push('\n');
            for account in accounts.iter().skip(1).take(MAX_SENTENCES - 1) {
                wrapped(&mut out, "", &sentence(account));
            }
            let left = accounts.len().saturating_sub(MAX_SENTENCES);
            if left > 0 {
                wrapped(
                    &mut out,
                    "",
                    &tr!(
                        not_listed_latencies,
                        latencies = format::counted(left as u64, texts::n_latencies)
                    ),
                );
            }
        }
        out.push('\n');
        wrapped(&mut out, "", &tr!(account_from_planned_time, account = account_title(worst)));
        out += &parts(worst);
        details(worst).iter().for_each(|line| wrapped(&mut out, "", line));
        if let Some(lab) = lab {
            out.push('\n');
            wrapped(&mut out, "", &time_of(lab));
        }
        out.truncate(out.trim_end().len());
        out
    })
}

/// The same of accounts from the kernel's events, with what may help, how many latencies have none,
/// and what watching cost.
pub fn watched_text(accounts: &[Account], document: &Document, language: Language) -> String {
    let explained = explained_text(accounts, None, language);
    in_language(language, || {
        let mut out = explained;
        if !out.is_empty() {
            out.push('\n');
        }
        let remedies = remedies(accounts, document);
        if !remedies.is_empty() {
            out += &format!("\n{}\n", tr!(what_may_help));
            remedies.iter().for_each(|line| wrapped(&mut out, "  ", line));
            out.push('\n');
        }
        watched_lines(document).iter().for_each(|line| wrapped(&mut out, "", line));
        out
    })
}

/// How many latencies were explained by events and how many were not, and what watching cost; none
/// where no events were recorded.
fn watched_lines(document: &Document) -> Vec<String> {
    let Some(watched) = &document.instrument.watched else { return Vec::new() };
    let above = document.run.explain_above_ns.unwrap_or_default();
    let latencies = |count: u64| format::counted(count, texts::n_latencies);
    let Watched { above: all, accounted, overwritten, unwatched, unseen, kept, .. } = watched;
    let mut lines = vec![tr!(
        latencies_above_accounted,
        latencies = latencies(*all),
        above,
        accounted = count(*accounted)
    )];
    if kept < accounted {
        lines.push(tr!(accounts_kept, kept = count(*kept)));
    }
    if *overwritten > 0 {
        lines.push(tr!(latencies_overwritten, latencies = latencies(*overwritten)));
    }
    if *unwatched > 0 {
        lines.push(tr!(latencies_unwatched, latencies = latencies(*unwatched)));
    }
    if *unseen > 0 {
        lines.push(tr!(latencies_unseen, latencies = latencies(*unseen)));
    }
    if watched.largest_without_ns > 0 {
        let time = exact_micros(watched.largest_without_ns.cast_signed());
        lines.push(tr!(largest_without_account, time));
    }
    if let Some(WatchCost { with, without }) = &watched.cost {
        let micros = |ns: i64| exact_micros(ns);
        lines.push(tr!(
            watching_cost,
            with = count(with.samples),
            without = count(without.samples),
            p50_with = micros(with.p50_ns),
            p50_without = micros(without.p50_ns),
            p99_with = micros(with.p99_ns),
            p99_without = micros(without.p99_ns)
        ));
    }
    lines
}

/// What one latency came from, in a few words.
pub fn cause_of_latency(account: &Account, language: Language) -> Option<String> {
    in_language(language, || cause_of(account))
}

/// The functions of one latency as a picture, SVG.
pub fn timeline_svg(account: &Account, language: Language) -> String {
    in_language(language, || timeline(account, Heading::Own))
}

/// Which causes one recording has and another lacks, of what was explained of both; each by its
/// name. None where either was not explained.
pub fn compared_causes(
    one: (&str, &[Account]),
    other: (&str, &[Account]),
    language: Language,
) -> Option<String> {
    if one.1.is_empty() || other.1.is_empty() {
        return None;
    }
    Some(in_language(language, || {
        let mut out = String::new();
        let ((one, of_one), (other, of_other)) =
            ((one.0, causes(one.1)), (other.0, causes(other.1)));
        let same = |cause: &Cause, all: &[Cause]| all.iter().find(|other| other.is(cause)).cloned();
        let named = |cause: &Cause| {
            tr!(
                cause_largest_time_us,
                cause = cause_name(cause),
                time = exact_micros(cause.worst_ns.cast_signed())
            )
        };
        let mut both = Vec::new();
        for (name, causes, others) in [(one, &of_one, &of_other), (other, &of_other, &of_one)] {
            let only: Vec<String> =
                causes.iter().filter(|cause| same(cause, others).is_none()).map(named).collect();
            if !only.is_empty() {
                wrapped(&mut out, "", &tr!(causes_late_wake_ups, name, causes = only.join("; ")));
            }
        }
        for cause in &of_one {
            if let Some(there) = same(cause, &of_other) {
                let times =
                    [cause.worst_ns, there.worst_ns].map(|ns| exact_micros(ns.cast_signed()));
                let [of_one, of_other] = times;
                both.push(tr!(
                    cause_largest_of_one_of_other,
                    cause = cause_name(cause),
                    of_one,
                    of_other
                ));
            }
        }
        if !both.is_empty() {
            wrapped(&mut out, "", &tr!(in_both_causes, causes = both.join("; ")));
        }
        wrapped(
            &mut out,
            "",
            &tr!(
                latencies_explained_of_one_of_other,
                of_one = count(explained_count(&of_one)),
                of_other = count(explained_count(&of_other))
            ),
        );
        out
    }))
}

fn explained_count(causes: &[Cause]) -> u64 {
    causes.iter().map(|cause| cause.count).sum()
}

fn ledger(accounts: &[Account]) -> String {
    let head = [texts::latencies, texts::share, texts::largest_us, texts::activation, texts::cause]
        .map(|name| name.said().to_owned());
    let rows = std::iter::once(head.to_vec()).chain(cause_rows(&causes(accounts), accounts.len()));
    table(&rows.collect::<Vec<_>>(), 4)
}

fn parts(account: &Account) -> String {
    let mut rows: Vec<Vec<String>> = part_rows(account).into_iter().map(Vec::from).collect();
    let sum = account.parts.iter().map(|part| part.length_ns).sum::<u64>();
    rows.push(vec![String::new(), exact_micros(sum.cast_signed()), tr!(in_all), String::new()]);
    table(&rows, 2)
}

/// Rows below one another: so many columns flush right, the others left. The last one goes on below
/// itself where it is too long.
fn table(rows: &[Vec<String>], numbers: usize) -> String {
    let last = rows.first().map_or(0, |row| row.len().saturating_sub(1));
    let widths: Vec<usize> = (0..last)
        .map(|column| rows.iter().map(|row| columns(&row[column])).max().unwrap_or(0))
        .collect();
    let indent = " ".repeat(widths.iter().map(|width| width + GAP.len()).sum());
    let cell = |(column, text): (usize, &String)| {
        (if column < numbers { right(text, widths[column]) } else { left(text, widths[column]) })
            + GAP
    };
    let mut out = String::new();
    for row in rows {
        let before: String = row.iter().take(last).enumerate().map(cell).collect();
        let mut lines = String::new();
        for line in broken(&row[last], indent.len()) {
            wrapped(&mut lines, &indent, &line);
        }
        out += format!("{before}{}", &lines[indent.len()..]).trim_end();
        out.push('\n');
    }
    out
}

/// A list in lines that have space beside so many columns, broken between its entries.
fn broken(list: &str, beside: usize) -> Vec<String> {
    let comma = texts::comma.said();
    let mut lines = vec![String::new()];
    for entry in list.split_inclusive(comma) {
        let Some(line) = lines.last_mut() else { break };
        if line.is_empty() || beside + columns(line) + columns(entry.trim_end()) <= WIDTH {
            *line += entry;
        } else {
            lines.push(entry.to_owned());
        }
    }
    lines
}

#[cfg(test)]
mod explained_tests;

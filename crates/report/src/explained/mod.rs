// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where latencies went, as people read it: a sentence, the parts, the causes of many, and the functions as a picture.

mod timeline;
mod words;

pub(crate) use timeline::timeline;
pub(crate) use words::{account_title, cause_rows, detail, part_rows, sentence};

use crate::format::{self, exact_micros};
use crate::language::{Language, in_language, tr, translated};
use crate::terminal::text::{Table, wrapped};
use model::{Account, causes};

/// Latencies of which each is a sentence.
const MAX_SENTENCES: usize = 20;

/// What `teiji explain` prints: of one latency a sentence and its parts; of several their causes first.
#[must_use]
pub fn explained_text(accounts: &[Account], language: Language) -> String {
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
                wrapped(&mut out, "", &tr!("Not listed: {latencies}.", latencies = format::counted(left as u64, "latency")));
            }
        }
        out.push('\n');
        wrapped(&mut out, "", &tr!("{account}, from the planned time on, µs:", account = account_title(worst)));
        out += &parts(worst);
        if let Some((part, _)) = worst.cause() {
            detail(part).iter().for_each(|line| wrapped(&mut out, "", line));
        }
        out.truncate(out.trim_end().len());
        out
    })
}

/// The functions of one latency as a picture, SVG.
#[must_use]
pub fn timeline_svg(account: &Account, language: Language) -> String {
    in_language(language, || timeline(account))
}

fn ledger(accounts: &[Account]) -> String {
    let head = ["latencies", "share", "largest, µs", "activation", "cause"].map(translated).to_vec();
    let mut rows = cause_rows(&causes(accounts), accounts.len());
    // The last column is text, and begins where it stands.
    let width = rows.iter().map(|row| row[4].chars().count()).max().unwrap_or(0);
    rows.iter_mut().for_each(|row| row[4] = format!("{:<width$}", row[4]));
    let table = Table { head: head.clone(), rows }.render();
    table.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}

fn parts(account: &Account) -> String {
    let rows = part_rows(account);
    let width = |column: usize| rows.iter().map(|row| crate::terminal::text::columns(&row[column])).max().unwrap_or(0);
    let widths = [width(0), width(1), width(2)];
    let mut out = String::new();
    for [begin, length, kind, place] in &rows {
        let begin = crate::terminal::text::right(begin, widths[0]);
        let length = crate::terminal::text::right(length, widths[1]);
        let kind = crate::terminal::text::left(kind, widths[2]);
        out += format!("{begin}  {length}  {kind}  {place}").trim_end();
        out.push('\n');
    }
    let sum = account.parts.iter().map(|part| part.length_ns).sum::<u64>();
    let sum = crate::terminal::text::right(&exact_micros(sum.cast_signed()), widths[1]);
    out += &format!("{}  {sum}  {}\n", " ".repeat(widths[0]), translated("in all"));
    out
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! The files that give limits to those who log in, as pam_limits(8) reads them: lines of a domain,
//! a type, an item and a value. It passes over a line with another type or item, and says so in the
//! system's log alone.

use super::finding::Seen;
use super::machine::Machine;
use super::words::is_one_off;

const FOLDER: &str = "etc/security/limits.d";
const TYPES: [&str; 3] = ["soft", "hard", "-"];
/// limits.conf(5). Debian has `chroot` beside them.
const ITEMS: [&str; 20] = [
    "core",
    "data",
    "fsize",
    "memlock",
    "nofile",
    "rss",
    "stack",
    "cpu",
    "nproc",
    "as",
    "maxlogins",
    "maxsyslogins",
    "nonewprivs",
    "priority",
    "locks",
    "sigpending",
    "msgqueue",
    "nice",
    "rtprio",
    "chroot",
];
/// More lines are not named.
const MAX_NAMED: usize = 3;
/// Letters of a line that are shown.
const MAX_SHOWN: usize = 40;

/// A line, without its comment.
pub(crate) struct LimitLine {
    file: String,
    pub(crate) text: String,
}

/// Lines of all these files, in the order in which they are read.
pub(crate) fn limit_lines(machine: &Machine<'_>) -> Vec<LimitLine> {
    let files = machine.names(FOLDER).into_iter().filter(|name| name.ends_with(".conf"));
    let paths = std::iter::once("etc/security/limits.conf".to_owned())
        .chain(files.map(|name| format!("{FOLDER}/{name}")));
    let lines_of = |file: String| {
        let text = machine.text(&file).unwrap_or_default();
        let line = |line: &str| LimitLine {
            file: file.clone(),
            text: line.split('#').next().unwrap_or_default().trim().to_owned(),
        };
        text.lines().map(line).collect::<Vec<_>>()
    };
    paths.flat_map(lines_of).collect()
}

/// What makes pam_limits pass over a line, and the word that was meant where one is near.
fn unknown(line: &str) -> Option<(String, Option<&'static str>)> {
    let mut words = line.split_whitespace().skip(1).map(str::to_ascii_lowercase);
    let (kind, item) = (words.next()?, words.next()?);
    let near = |known: &'static [&'static str], word: &str| {
        known.iter().copied().find(|known| known.len() > 3 && is_one_off(known, word))
    };
    if !TYPES.contains(&kind.as_str()) {
        let meant = near(&TYPES, &kind);
        return Some((kind, meant));
    }
    (!ITEMS.contains(&item.as_str())).then(|| {
        let meant = near(&ITEMS, &item);
        (item, meant)
    })
}

/// Lines that give nobody anything.
pub(crate) fn passed_over(machine: &Machine<'_>) -> Option<Seen> {
    let lines = limit_lines(machine);
    let wrong: Vec<String> = lines
        .iter()
        .filter_map(|line| Some((line, unknown(&line.text)?)))
        .take(MAX_NAMED)
        .map(|(LimitLine { file, text }, (word, meant))| {
            let text: String = text.chars().take(MAX_SHOWN).collect();
            let word: String = word.chars().take(MAX_SHOWN).collect();
            let meant = meant.map(|meant| format!(" (it looks like {meant})")).unwrap_or_default();
            format!("'{text}' in /{file} gives nothing, because it has '{word}'{meant}")
        })
        .collect();
    if wrong.is_empty() {
        return None;
    }
    Seen::warn(wrong.join(". "), "correct it as in limits.conf(5), and log in anew")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_pam_passes_over() {
        for (line, word, meant) in [
            ("@audio - rtpio 95", "rtpio", Some("rtprio")),
            ("@audio - memloc unlimited", "memloc", Some("memlock")),
            ("@audio sft rtprio 95", "sft", Some("soft")),
            ("@audio - realtime 95", "realtime", None),
            ("@audio rtprio 95", "rtprio", None),
        ] {
            assert_eq!(unknown(line), Some((word.to_owned(), meant)), "{line}");
        }
        for line in
            ["", "@audio", "root -", "@audio - rtprio 95", "* HARD MemLock unlimited", "* - as 1"]
        {
            assert_eq!(unknown(line), None, "{line}");
        }
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! The files that give limits to those who log in, as pam_limits(8) reads them: lines of a domain,
//! a type, an item and a value. It passes over a line with another type or item, and says so in the
//! system's log alone.

use super::finding::Seen;
use super::machine::Machine;
use super::words::is_one_off;
use model::{Phrase, phrase};

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
    text: String,
}

/// Lines of all these files, in the order in which they are read.
pub(crate) fn limit_lines(machine: &Machine<'_>) -> Vec<LimitLine> {
    // As a shell's `*.conf`, which takes no hidden file.
    let is_read = |name: &String| name.ends_with(".conf") && !name.starts_with('.');
    let files = machine.names(FOLDER).into_iter().filter(is_read);
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

/// Nice values end here: a higher one was meant as a real-time priority.
const HIGHEST_NICE: i64 = 19;

/// Why a line whose words are known does not give what was meant.
fn misunderstood(line: &str, lines: &[LimitLine]) -> Option<Phrase> {
    let words: Vec<String> = line.split_whitespace().map(str::to_ascii_lowercase).collect();
    let [domain, kind, item, value, ..] = words.as_slice() else { return None };
    // A folder is no number.
    if item != "chroot" && Setting::of(line)?.given().is_none() {
        return Some(phrase!("limit-is-no-number", value = shown(value)));
    }
    if item == "priority" {
        let is_meant_as_real_time = value.parse::<i64>().is_ok_and(|value| {
            value > HIGHEST_NICE || value > 0 && ["@realtime", "@audio"].contains(&domain.as_str())
        });
        return is_meant_as_real_time.then(|| phrase!("limit-is-a-nice-value"));
    }
    let raises = |other: &LimitLine| {
        let words: Vec<String> =
            other.text.split_whitespace().map(str::to_ascii_lowercase).collect();
        let [of, kind, named, ..] = words.as_slice() else { return false };
        (of == domain || of == "*") && kind != "soft" && named == item
    };
    let is_soft_alone = kind == "soft" && item == "rtprio" && !lines.iter().any(raises);
    is_soft_alone.then(|| phrase!("limit-is-soft-alone"))
}

/// Names under which recipes make a group.
const GROUPS_OF_RECIPES: [&str; 5] = ["audio", "realtime", "rt", "pipewire", "jackuser"];

/// The group that a line for a user of its name was meant for. Users may be elsewhere than in
/// /etc/passwd, so that it has to be known as a group.
fn meant_group(machine: &Machine<'_>, line: &str) -> Option<String> {
    let domain = line.split_whitespace().next()?;
    let has = |text: &str| text.lines().any(|line| line.split(':').next() == Some(domain));
    let is_user = has(&machine.text("etc/passwd")?);
    let is_group = GROUPS_OF_RECIPES.contains(&domain)
        || machine.text("etc/group").is_some_and(|groups| has(&groups));
    (!is_user && is_group).then(|| domain.to_owned())
}

/// What a line sets, whether it is the soft limit, the hard one or both, and to what.
struct Setting<'t> {
    domain: &'t str,
    kind: &'t str,
    item: &'t str,
    value: &'t str,
}

impl<'t> Setting<'t> {
    fn of(line: &'t str) -> Option<Setting<'t>> {
        let mut words = line.split_whitespace();
        let (domain, kind, item) = (words.next()?, words.next()?, words.next()?);
        Some(Setting { domain, kind, item, value: words.next()? })
    }

    fn is_of(&self, domain: &str, item: &str) -> bool {
        self.domain == domain && self.item.eq_ignore_ascii_case(item)
    }

    fn is_soft(&self) -> bool {
        self.kind == "-" || self.kind.eq_ignore_ascii_case("soft")
    }

    fn is_hard(&self) -> bool {
        self.kind == "-" || self.kind.eq_ignore_ascii_case("hard")
    }

    /// How much it gives, [`NO_LIMIT`] at most. None where the value is no number, so that it gives
    /// nothing.
    fn given(&self) -> Option<i64> {
        let item = self.item.to_ascii_lowercase();
        if !WITHOUT_UNLIMITED.contains(&item.as_str())
            && UNLIMITED.iter().any(|word| self.value.eq_ignore_ascii_case(word))
        {
            return Some(NO_LIMIT);
        }
        // A number ends where its digits do.
        let digits = self.value.strip_prefix(['-', '+']).unwrap_or(self.value);
        let end = digits.find(|one: char| !one.is_ascii_digit()).unwrap_or(digits.len());
        let number = match &digits[..end] {
            "" => return None,
            // Larger ones are none.
            digits => digits.parse().unwrap_or(NO_LIMIT),
        };
        // A nice value that is higher gives less.
        let is_reversed = (item == "nice" || item == "priority") != self.value.starts_with('-');
        Some(if is_reversed { -number } else { number })
    }
}

/// What a line gives that has no limit.
pub(crate) const NO_LIMIT: i64 = i64::MAX;
const UNLIMITED: [&str; 3] = ["unlimited", "infinity", "-1"];
/// Items that cannot be without a limit.
const WITHOUT_UNLIMITED: [&str; 3] = ["priority", "nice", "nonewprivs"];

/// The last of the lines that gives what this setting is about, and how much.
fn last_of<'l>(
    lines: &'l [LimitLine],
    (domain, item): (&str, &str),
    is_meant: fn(&Setting<'_>) -> bool,
) -> Option<(&'l LimitLine, i64)> {
    lines.iter().rev().find_map(|line| {
        let setting = Setting::of(&line.text)?;
        let given = setting.given()?;
        (setting.is_of(domain, item) && is_meant(&setting)).then_some((line, given))
    })
}

/// The line that takes back what this one gives: of several for the same the last counts. A program
/// can raise the soft limit up to the hard one.
fn taken_back(lines: &[LimitLine], place: usize) -> Option<&LimitLine> {
    let before = Setting::of(&lines[place].text)?;
    let given = before.given()?;
    let last = |is_meant: fn(&Setting<'_>) -> bool| {
        last_of(&lines[place + 1..], (before.domain, before.item), is_meant)
    };
    let soft = (!before.is_hard()).then(|| last(|one| one.is_soft())).flatten();
    let mut less = last(|one| one.is_hard()).into_iter().chain(soft).filter(|(_, to)| *to < given);
    less.next().map(|(line, _)| line)
}

/// Whether it is what groupadd takes, so that a shell and a rule of udev read it as it is too.
/// Ranges of numbers, as in `@1000:`, are none.
fn is_name_of_group(name: &str) -> bool {
    name.starts_with(|letter: char| letter.is_ascii_alphanumeric() || letter == '_')
        && name.chars().all(|letter| letter.is_ascii_alphanumeric() || "_.-".contains(letter))
}

/// Groups whose members get so much of an item when they log in.
pub(crate) fn groups_with(lines: &[LimitLine], item: &str, wanted: i64) -> Vec<String> {
    let mut domains: Vec<&str> = Vec::new();
    for domain in lines.iter().filter_map(|line| line.text.split_whitespace().next()) {
        domains.extend(Some(domain).filter(|domain| !domains.contains(domain)));
    }
    let has_enough = |domain: &&str| {
        let last = |is_meant| last_of(lines, (domain, item), is_meant);
        [last(|one| one.is_soft()), last(|one| one.is_hard())]
            .iter()
            .all(|last| last.is_some_and(|(_, given)| given >= wanted))
    };
    let groups = domains.into_iter().filter(has_enough);
    let names = groups.filter_map(|domain| domain.strip_prefix('@'));
    names.filter(|name| is_name_of_group(name)).map(str::to_owned).collect()
}

/// The file that these lines are to be added to, `@realtime - rtprio 95`, so that no later one
/// takes back what they give: of several lines for one of a user's groups the last counts.
pub(crate) fn file_for(lines: &[LimitLine], added: &[String]) -> String {
    let takes_back = |line: &LimitLine| {
        let Some(setting) = Setting::of(&line.text) else { return false };
        added.iter().filter_map(|added| Setting::of(added)).any(|added| {
            setting.domain.starts_with('@')
                && setting.item.eq_ignore_ascii_case(added.item)
                && setting.given() < added.given()
                && setting.given().is_some()
        })
    };
    let in_folder = |name: &str| format!("{FOLDER}/{name}");
    let last = lines.iter().rev().find(|line| takes_back(line)).map_or("", |line| &line.file);
    let names = ["realtime.conf", "zz-realtime.conf", "zzz-realtime.conf"].map(in_folder);
    // limits.conf is read before all of the folder. At the end of the last one nothing is later.
    let is_later = |name: &String| !last.starts_with(FOLDER) || name.as_str() >= last;
    names.into_iter().find(is_later).unwrap_or_else(|| last.to_owned())
}

/// So much of a text of somebody else's as is shown.
pub(crate) fn shown(text: &str) -> String {
    text.chars().take(MAX_SHOWN).collect()
}

/// Lines that give nobody anything, or not what was meant, and files that are not read.
pub(crate) fn passed_over(machine: &Machine<'_>) -> Option<Seen> {
    let lines = limit_lines(machine);
    let wrong = lines.iter().enumerate().filter_map(|(place, line)| {
        let (text, file) = (shown(&line.text), &line.file);
        if let Some((word, meant)) = unknown(&line.text) {
            let word = shown(&word);
            let meant = meant.map(|meant| format!(" (it looks like {meant})")).unwrap_or_default();
            return Some(Phrase::from(format!(
                "'{text}' in /{file} gives nothing, because it has '{word}'{meant}"
            )));
        }
        let of_user =
            || Some(phrase!("limit-is-of-a-user", group = meant_group(machine, &line.text)?));
        // What a file says twice, its author sees.
        let of_other = || {
            let last = taken_back(&lines, place).filter(|last| last.file != line.file)?;
            let (last, file) = (shown(&last.text), format!("/{}", last.file));
            Some(phrase!("limit-is-taken-back", last, file))
        };
        let why = misunderstood(&line.text, &lines).or_else(of_user).or_else(of_other)?;
        Some(phrase!("limit-line", line = text, file = format!("/{file}"), why))
    });
    // Backups and what a package left have other endings.
    let has_no_ending = |name: &String| !name.contains('.') && name != "README";
    let unread = machine.names(FOLDER).into_iter().filter(has_no_ending);
    let unread =
        unread.map(|name| phrase!("limit-file-not-read", file = format!("/{FOLDER}/{name}")));
    let wrong: Vec<Phrase> = wrong.chain(unread).take(MAX_NAMED).collect();
    if wrong.is_empty() {
        return None;
    }
    Seen::warn(
        Phrase::joined("sentences", wrong),
        "correct it as in limits.conf(5), and log in anew",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::CheckOptions;
    use crate::one_finding::finding;
    use crate::tests::files::lay;

    /// A limit that a later file raises, or says in another word, was said to be taken back.
    #[test]
    fn a_line_is_taken_back_where_a_later_one_gives_less() {
        let is_taken = |first: &str, second: &str| {
            let (_dir, root) = lay(&[
                ("etc/security/limits.d/a.conf", &format!("@a {first}\n")),
                ("etc/security/limits.d/b.conf", &format!("@a {second}\n@b - rtprio 0\n")),
            ]);
            let found = finding(&root, "rights-limits", None)?.found;
            let taken = format!(
                "'@a {first}' in /etc/security/limits.d/a.conf does not count, because '@a \
                 {second}' in /etc/security/limits.d/b.conf comes later"
            );
            assert_eq!(found, taken);
            Some(())
        };
        for (first, second) in [
            ("- rtprio 95", "- rtprio 0"),
            ("- rtprio 95", "hard rtprio 0"),
            ("- rtprio 95", "HARD RTPRIO 94"),
            ("hard rtprio 95", "- rtprio 0"),
            ("- memlock -1", "hard memlock 64"),
            ("- nice -11", "- nice 0"),
        ] {
            assert_eq!(is_taken(first, second), Some(()), "{first}, {second}");
        }
        for (first, second) in [
            ("- rtprio 90", "- rtprio 95"),
            ("- rtprio 95", "- rtprio 95"),
            ("- memlock unlimited", "- memlock infinity"),
            ("- memlock -1", "hard memlock Unlimited"),
            ("- memlock 64", "- memlock -1"),
            ("- nice 0", "- nice -11"),
            ("- nice -1", "- nice -11"),
            ("- rtprio 95", "- memlock 0"),
            // A program can raise the soft limit, and `*` is not for those of a group.
            ("- rtprio 95", "soft rtprio 0"),
            ("- rtprio 95", "- rtprio 95\n* - rtprio 0"),
        ] {
            assert_eq!(is_taken(first, second), None, "{first}, {second}");
        }
    }

    #[test]
    fn what_a_group_gets_is_the_lower_of_its_last_limits() {
        let has = |lines: &str, item: &str, wanted: i64| {
            let (_dir, root) = lay(&[("etc/security/limits.conf", lines)]);
            let options = CheckOptions::to_measure(None, 90);
            groups_with(&limit_lines(&Machine::new(&root, &options)), item, wanted)
        };
        for (lines, wanted, groups) in [
            ("@a - rtprio 95\n@b - rtprio 80\na - rtprio 99", 90, &["a"][..]),
            ("@a soft rtprio 95\n@a hard rtprio 95", 90, &["a"]),
            ("@a - rtprio 95\n@a hard rtprio 90", 90, &["a"]),
            ("@a - rtprio 95\n@a hard rtprio 0", 90, &[]),
            ("@a - rtprio 95\n@a soft rtprio 0", 90, &[]),
            ("@a - rtprio 95\n@a - rtprio nothing", 90, &["a"]),
            ("@a hard rtprio 95", 90, &[]),
            ("@a - rtprio -1", 99, &["a"]),
        ] {
            assert_eq!(has(lines, "rtprio", wanted), groups, "{lines}");
        }
        for (value, groups) in [("infinity", &["a"][..]), ("-1", &["a"]), ("9999999", &[])] {
            assert_eq!(has(&format!("@a - memlock {value}"), "memlock", NO_LIMIT), groups);
        }
    }

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

    /// Without the `@` it is for a user.
    #[test]
    fn a_line_for_a_user_that_is_a_group_is_named() {
        let said = |passwd: &str, group: &str, domain: &str| {
            let (_dir, root) = lay(&[
                ("etc/passwd", passwd),
                ("etc/group", group),
                ("etc/security/limits.d/a.conf", &format!("{domain} - rtprio 95")),
            ]);
            finding(&root, "rights-limits", None).map(|finding| finding.found)
        };
        let root = "root:x:0:0::/:/bin/sh";
        let named = |name: &str| {
            Some(format!(
                "'{name} - rtprio 95' in /etc/security/limits.d/a.conf gives nothing, because \
                 /etc/passwd has no user {name} (the name of a group needs an @)"
            ))
        };
        assert_eq!(said(root, "", "audio"), named("audio"));
        assert_eq!(said(root, "studio:x:900:bob", "studio"), named("studio"));
        assert_eq!(said(root, "", "@audio"), None);
        // One that the network knows.
        assert_eq!(said(root, "studio:x:900:bob", "bob"), None);
        assert_eq!(said("audio:x:70:70::/:/bin/sh", "", "audio"), None);
    }

    /// With `priority` in place of `rtprio`, all programs of a robot's user ran at nice 19.
    #[test]
    fn lines_that_give_something_else_than_was_meant() {
        let said = |name: &str, text: &str| {
            let (_dir, root) = lay(&[(&format!("{FOLDER}/{name}"), text)]);
            finding(&root, "rights-limits", None).map(|finding| finding.found)
        };
        let file = "/etc/security/limits.d/a.conf";
        for (line, why) in [
            (
                "@realtime soft priority 99",
                "sets a nice value, at which programs get less time (real-time priority is rtprio)",
            ),
            ("@audio - memlock unlimted", "gives nothing, because 'unlimted' is no number"),
            ("@audio - nice unlimited", "gives nothing, because 'unlimited' is no number"),
            (
                "@audio soft rtprio 95",
                "gives no more than the hard limit, which no line raises (- in place of soft sets \
                 both)",
            ),
        ] {
            assert_eq!(said("a.conf", line), Some(format!("'{line}' in {file} {why}")), "{line}");
        }
        let both = [
            (
                "etc/security/limits.d/audio.conf",
                "@audio - rtprio 95\n@audio - memlock unlimited\n",
            ),
            ("etc/security/limits.d/zz.conf", "@audio - rtprio 0\n@audio soft memlock 64\n"),
        ];
        let (_dir, root) = lay(&both);
        let taken = "'@audio - rtprio 95' in /etc/security/limits.d/audio.conf does not count, \
                     because '@audio - rtprio 0' in /etc/security/limits.d/zz.conf comes later";
        assert_eq!(finding(&root, "rights-limits", None).unwrap().found, taken);
        let unread = "/etc/security/limits.d/audio is not read, because its name does not end in \
                      .conf";
        assert_eq!(said("audio", "@audio - rtprio 95"), Some(unread.to_owned()));
        assert_eq!(said(".a.conf", "@audio - memlock unlimted"), None);
        for line in [
            "@audio soft rtprio 90\n@audio hard rtprio 95",
            "@students - priority 10\n* - nice -11\n* - memlock infinity\n@ftp - chroot /ftp",
        ] {
            assert_eq!(said("a.conf", line), None, "{line}");
        }
    }
}

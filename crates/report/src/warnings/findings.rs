// SPDX-License-Identifier: MIT OR Apache-2.0
//! What checks found, in Japanese.
//!
//! A recording has it in English, put together of the phrases that `findings.txt` has in both
//! languages. What is not of these phrases, as in a recording of another version, stays as it is.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

const TABLE: &str = include_str!("findings.txt");

/// A longer text is of no check.
const MAX_BYTES: usize = 2_000;
/// How often parts of a text may be held against the table. What checks find takes some hundreds; a
/// text made on purpose would take the cube of its length.
const MAX_TRIALS: usize = 2_000;
/// The same of all texts together, of which a recording may have thousands: about a second.
const MAX_TRIALS_OF_ALL: usize = 50_000;

thread_local! {
    static TRIALS_OF_ALL: Cell<usize> = const { Cell::new(0) };
}

/// How commands begin, which are the same in every language.
const COMMANDS: [&str; 5] = ["sudo ", "echo ", "for ", "ulimit ", "teiji "];

/// A text with places for values.
#[derive(Debug)]
struct Template {
    /// What stands before each value, with the value's name.
    places: Vec<(&'static str, &'static str)>,
    end: &'static str,
}

impl Template {
    fn new(text: &'static str) -> Template {
        let (mut places, mut rest) = (Vec::new(), text);
        while let Some((before, (name, after))) =
            rest.split_once('{').and_then(|(before, place)| Some((before, place.split_once('}')?)))
        {
            places.push((before, name));
            rest = after;
        }
        Template { places, end: rest }
    }

    fn filled(&self, values: &BTreeMap<&str, String>) -> String {
        let place = |(before, name): &(&str, &str)| format!("{before}{}", values[name]);
        self.places.iter().map(place).collect::<String>() + self.end
    }
}

/// English and Japanese.
static PHRASES: LazyLock<Vec<(Template, Template)>> = LazyLock::new(|| {
    let lines: Vec<&'static str> =
        TABLE.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    let phrase = |pair: &[&'static str]| (Template::new(pair[0]), Template::new(pair[1]));
    lines.chunks_exact(2).map(phrase).collect()
});

/// What was found, or what is to be done about it.
pub(crate) fn in_japanese(text: &str) -> String {
    let mut known = Known::default();
    let translated = (text.len() <= MAX_BYTES).then(|| translated(text, &mut known)).flatten();
    translated.map_or_else(|| text.to_owned(), |text| text.replace("CPUs ", "CPU "))
}

/// What is known of a text's parts already.
#[derive(Default)]
struct Known<'a> {
    trials: usize,
    /// Parts that no phrase fits.
    foreign: BTreeSet<&'a str>,
}

impl Known<'_> {
    /// Counts one more trial, and says whether there may be so many.
    fn has_patience(&mut self) -> bool {
        self.trials += 1;
        let of_all = TRIALS_OF_ALL.get() + 1;
        TRIALS_OF_ALL.set(of_all);
        self.trials <= MAX_TRIALS && of_all <= MAX_TRIALS_OF_ALL
    }
}

fn translated<'a>(text: &'a str, known: &mut Known<'a>) -> Option<String> {
    if !known.has_patience() || known.foreign.contains(text) {
        return None;
    }
    let found = if COMMANDS.iter().any(|start| text.starts_with(start)) && !text.contains(", ") {
        Some(text.to_owned())
    } else {
        PHRASES.iter().find_map(|(english, japanese)| {
            let mut values = BTreeMap::new();
            fits(english, 0, text, &mut values, known).then(|| japanese.filled(&values))
        })
    };
    if found.is_none() {
        known.foreign.insert(text);
    }
    found
}

/// Whether a text is what a template says from one of its places on, with which values.
fn fits<'a>(
    template: &Template,
    place: usize,
    text: &'a str,
    values: &mut BTreeMap<&'static str, String>,
    known: &mut Known<'a>,
) -> bool {
    let Some((before, name)) = template.places.get(place) else { return text == template.end };
    let Some(rest) = text.strip_prefix(before) else { return false };
    let next = template.places.get(place + 1).map_or(template.end, |(before, _)| before);
    let is_last = place + 1 == template.places.len();
    let ends: Vec<usize> = if is_last {
        rest.ends_with(next).then(|| rest.len() - next.len()).into_iter().collect()
    } else {
        rest.match_indices(next).map(|(end, _)| end).collect()
    };
    for end in ends {
        if !known.has_patience() {
            return false;
        }
        let Some(value) = value(name, &rest[..end], known) else { continue };
        values.insert(name, value);
        if fits(template, place + 1, &rest[end..], values, known) {
            return true;
        }
    }
    false
}

fn value<'a>(name: &str, text: &'a str, known: &mut Known<'a>) -> Option<String> {
    if name.starts_with("part") {
        return translated(text, known);
    }
    let is_any = name.starts_with("list") || name.starts_with("command");
    let is_one = !text.contains(", ") && !text.contains(". ");
    (!text.is_empty() && (is_any || is_one)).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::Path;

    #[test]
    fn both_languages_have_the_same_values() {
        let lines = TABLE.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        assert_eq!(lines.count(), 2 * PHRASES.len());
        for (english, japanese) in PHRASES.iter() {
            let names = |template: &Template| {
                let mut names: Vec<&str> = template.places.iter().map(|(_, name)| *name).collect();
                names.sort_unstable();
                names
            };
            assert_eq!(names(english), names(japanese), "{english:?}");
        }
    }

    /// What may be in Japanese as it is: commands, and values that are names.
    fn is_left(text: &str) -> bool {
        in_japanese(text) == text
            && !COMMANDS.iter().any(|start| text.starts_with(start))
            && text.contains(' ')
    }

    /// All that is bad about the machines that were captured.
    #[test]
    fn what_is_found_of_machines_has_no_english_of_ours() {
        let trees = Path::new(env!("CARGO_MANIFEST_DIR")).join("../check/src/trees");
        let mut checked = 0;
        for path in fs::read_dir(trees).unwrap().map(|entry| entry.unwrap().path()) {
            if path.extension().is_none_or(|extension| extension != "findings") {
                continue;
            }
            let text = fs::read_to_string(&path).unwrap();
            let mut lines = text.lines();
            while let Some(line) = lines.next() {
                // A run warns of these by itself.
                let is_own = ["governor", "clocksource", "steal-time", "rights-"]
                    .iter()
                    .any(|name| line[8..].starts_with(name));
                if !line.starts_with("bad") || is_own {
                    continue;
                }
                let action = lines.next().unwrap().trim();
                for text in [line[36..].trim(), action] {
                    checked += 1;
                    assert!(!is_left(text), "{}: {text}", path.display());
                }
            }
        }
        assert!(checked > 10, "{checked}");
    }

    #[test]
    fn phrases_are_joined_and_what_is_unknown_stays() {
        for (english, japanese) in [
            (
                "built in, and this control group's share is 0",
                "組み込まれており、この cgroup の割り当ては 0 です",
            ),
            (
                "daemon 70 at 95 on CPUs 2-3, loop 71 with SCHED_DEADLINE on CPU 2 (when the run began, and not when it ended)",
                "CPU 2-3 の daemon 70(優先度 95)、CPU 2 の loop 71(SCHED_DEADLINE)(測定開始時。終了時にはありません)",
            ),
            (
                "boot with irqaffinity=0-1, and remove irqaffinity=0-1 from the kernel's arguments",
                "irqaffinity=0-1 を付けて起動する。さらに、カーネルの引数から irqaffinity=0-1 を削除する",
            ),
            (
                "a sentence of a later version, or another",
                "a sentence of a later version, or another",
            ),
        ] {
            assert_eq!(in_japanese(english), japanese);
        }
    }

    /// Of these each part, and each pair of parts, is a phrase, and the whole is none.
    #[test]
    fn texts_made_to_take_long_stay_as_they_are() {
        let made = ["runs, ", "on. ", "none. on, ", "at 1 on ", "a "];
        for part in made {
            let text = part.repeat(MAX_BYTES / part.len() - 1) + "x";
            for _ in 0..30 {
                assert_eq!(in_japanese(&text), text);
            }
        }
        assert!(TRIALS_OF_ALL.get() > MAX_TRIALS_OF_ALL);
        assert_eq!(in_japanese("runs"), "runs");
    }
}

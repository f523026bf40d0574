// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every command line of teiji that texts, findings, pages, docs and this program's own output name
//! is one that this program reads, and `tests/suggested.txt` says of each but the docs' how it is
//! run.
//!
//! Where a text has a hole or a name in capitals, something is put in its place: one of
//! [`FILLINGS`] has to do. What comes first in a line of code, or behind a colon, `$` or `sudo`, is
//! to be typed as it is. Elsewhere a sentence may name a verb or a flag without all that it needs:
//! `teiji check says how`.

use crate::Cli;
use crate::suggestion::refused;
use clap::error::ErrorKind;
use clap::{Command, CommandFactory, Parser};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

#[path = "../tests/texts/sources.rs"]
mod sources;
use sources::{files_of, read, spans, strings};

/// What a hole may be.
const FILLINGS: [&str; 7] =
    ["1", "x.teiji", "max<1us", "debian:amd64,debian:rt-amd64", "1s", "cpu", "cyclic"];

/// A command line that a text names.
#[derive(Debug, PartialEq)]
struct Named {
    words: Vec<String>,
    /// Whether it is to be typed as it is.
    is_whole: bool,
}

/// Whether this word stands for another.
fn is_hole(word: &str) -> bool {
    let name = word.trim_end_matches("...");
    word.contains('{')
        || name.len() > 1
            && name.starts_with(|c: char| c.is_ascii_uppercase())
            && name.chars().all(|c| c.is_ascii_uppercase() || "_-0123456789".contains(c))
        || name == "N"
        || name == "K"
}

/// Whether a word looks like a value of a command rather than like one of a sentence.
fn is_value(word: &str) -> bool {
    is_hole(word)
        || word.chars().any(|c| c.is_ascii_digit() || "/:<>@=".contains(c))
        || word.trim_end_matches('.').contains('.')
}

/// The command line behind `teiji `, up to where the sentence goes on. One that is to be typed may
/// end with any word.
fn command_at(rest: &str, begins: bool, all: &Command) -> Vec<String> {
    let line = rest.lines().next().unwrap_or_default();
    let line = line.split("   ").next().unwrap_or_default();
    let mut words = Vec::new();
    let mut command = all;
    let mut needs_value = false;
    for written in line.split(' ').filter(|word| !word.is_empty()) {
        let word = written.trim_end_matches([',', ';', ')', '`', '"', '…']);
        let word = word.strip_suffix('.').unwrap_or(word);
        let word = word.strip_suffix(':').unwrap_or(word);
        let word = word.trim_start_matches('`');
        let ends = word != written;
        // A hole that is glued to a verb or a flag stands for more flags.
        let word = match word.split_once('{') {
            Some((name, _)) if command.find_subcommand(name).is_some() => name,
            Some((name, _)) if name.starts_with("--") && !name.ends_with('=') => name,
            _ => word,
        };
        if word == "--" {
            // Another program's command line.
            words.extend(["--", "true"].map(str::to_owned));
            break;
        }
        if let Some(verb) = command.find_subcommand(word) {
            command = verb;
        } else if word.starts_with('-') && word.len() > 1 {
            let flag = command.get_arguments().find(|argument| {
                let long = argument.get_long().map(|long| format!("--{long}"));
                let short = argument.get_short().map(|short| format!("-{short}"));
                [long, short].into_iter().flatten().any(|name| name == word)
            });
            needs_value = flag.is_some_and(|flag| {
                flag.get_action().takes_values()
                    && flag.get_num_args().is_none_or(|range| range.min_values() > 0)
            });
            words.push(word.to_owned());
            if ends {
                break;
            }
            continue;
        } else if [">", "|"].contains(&word) || !needs_value && !is_value(word) {
            // What is required may look like any word, where it is the last.
            let is_required = command.get_positionals().any(clap::Arg::is_required_set);
            if begins && is_required && line.trim_end().ends_with(&format!(" {written}")) {
                words.push(word.to_owned());
            }
            break;
        }
        needs_value = false;
        words.push(word.to_owned());
        if ends {
            break;
        }
    }
    words
}

/// The command lines in a text.
fn named(text: &str, all: &Command) -> Vec<Named> {
    let mut found = Vec::new();
    for (at, name) in text.match_indices("teiji ") {
        let before = &text[..at];
        if before.ends_with(|c: char| c.is_alphanumeric() || "-_/.".contains(c)) {
            continue;
        }
        // What the parser says of its own flags is right.
        if before.ends_with("Usage: ") {
            continue;
        }
        let begins = [": ", "$ ", "sudo "].iter().any(|begin| before.ends_with(begin));
        let mut words = command_at(&text[at + name.len()..], begins, all);
        let verb = words.first().map(String::as_str).unwrap_or_default();
        if all.find_subcommand(verb).is_none() {
            continue;
        }
        let is_verb = |word: &String| all.get_subcommands().any(|verb| verb.get_name() == word);
        let is_bare = words.iter().all(is_verb);
        if !begins && words.len() == 2 && is_hole(&words[1]) {
            // The sentence goes on with something.
            words.truncate(1);
        }
        found.push(Named { words, is_whole: begins && !is_bare });
    }
    found
}

/// The command lines that a source makes of words, as `command(&[&"report", &path])`, as texts.
fn composed(source: &str) -> String {
    let calls = source.split("command(&[").skip(1).filter_map(|call| call.split_once("])"));
    let word = |word: &str| {
        let literal = word.trim().strip_prefix("&\"").and_then(|word| word.strip_suffix('"'));
        format!(" {}", literal.unwrap_or("{}"))
    };
    calls
        .map(|(words, _)| format!(": teiji{}\n", words.split(',').map(word).collect::<String>()))
        .collect()
}

/// Each way to put something in the place of holes.
fn filled(words: &[String]) -> Vec<Vec<OsString>> {
    words.iter().fold(vec![Vec::new()], |ways, word| {
        let fillings: Vec<String> = match word.split_once('=').filter(|_| word.starts_with('-')) {
            Some((flag, value)) if is_hole(value) => {
                FILLINGS.iter().map(|filling| format!("{flag}={filling}")).collect()
            }
            _ if is_hole(word) => FILLINGS.map(str::to_owned).to_vec(),
            _ => vec![word.clone()],
        };
        let with = |way: &Vec<OsString>| {
            let way = way.clone();
            fillings.clone().into_iter().map(move |filling| {
                let mut way = way.clone();
                way.push(filling.into());
                way
            })
        };
        ways.iter().flat_map(with).collect()
    })
}

/// Why the program does not read it, in any way.
fn wrong(named: &Named) -> Option<String> {
    let ways = filled(&named.words);
    let mut reasons = ways.iter().map(|words| {
        let why = refused(words)?;
        let error = Cli::try_parse_from([OsString::from("teiji")].iter().chain(words)).err();
        let lacks_something = error.is_some_and(|error| {
            matches!(
                error.kind(),
                ErrorKind::MissingRequiredArgument
                    | ErrorKind::MissingSubcommand
                    | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
                    | ErrorKind::DisplayHelp
            )
        });
        (named.is_whole || !lacks_something).then_some(why)
    });
    let first = reasons.next()??;
    reasons.all(|reason| reason.is_some()).then_some(first)
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Every text that says what to type, by its file.
fn texts() -> Vec<(String, String)> {
    let root = root();
    let under = |folder: &str, endings: &[&str]| files_of(&root.join(folder), endings);
    let mut all = Vec::new();
    for path in under("crates", &["rs"]) {
        let name = path.display().to_string();
        if !name.contains("/src/") || name.contains("test") {
            continue;
        }
        let source = read(&path);
        let literals = strings(&source).replace("\\n", "\n").replace("\\\"", "\"");
        let literals = literals + &composed(&source);
        all.push((name, literals.replace("\\x20", " ").replace("{{", "").replace("}}", "")));
    }
    let files = [
        under("crates/report/texts", &["txt"]),
        under("crates/model/src", &["txt"]),
        under("crates/check/src/trees", &["findings"]),
        under("crates/teiji/tests/golden", &["txt"]),
        under("crates/teiji/tests/sessions", &["txt"]),
        under("plans", &["toml"]),
    ];
    for path in files.concat() {
        let text = read(&path);
        // What was typed there is the test's, and much of it is refused on purpose.
        let said = text.lines().filter(|line| !line.starts_with("$ teiji"));
        all.push((path.display().to_string(), said.collect::<Vec<_>>().join("\n")));
    }
    all
}

/// The command lines that texts name, and the files they are in. What lacks something is a verb or
/// a flag that a sentence names.
fn suggested() -> Vec<(String, Named)> {
    let mut all = Cli::command();
    all.build();
    let in_text = |(file, text): (String, String)| {
        named(&text, &all).into_iter().map(move |named| (file.clone(), named)).collect::<Vec<_>>()
    };
    texts().into_iter().flat_map(in_text).collect()
}

#[test]
fn every_command_that_a_text_names_can_be_read() {
    let suggested = suggested();
    let wrong = |(file, named): &(String, Named)| {
        Some(format!("{file}: teiji {}: {}", named.words.join(" "), wrong(named)?))
    };
    let wrongs: Vec<String> = suggested.iter().filter_map(wrong).collect();
    assert!(wrongs.is_empty(), "{}", wrongs.join("\n"));
    assert!(suggested.len() > 120, "only {} were found", suggested.len());
}

/// Whether it can be typed, with something in the place of its holes.
fn is_complete(named: &Named) -> bool {
    filled(&named.words).iter().any(|words| refused(words).is_none())
}

/// Whether these words are the named ones: a hole is some words or none, a length, an output and a
/// command to be run may be others, and more may follow.
fn is_instance(words: &[String], of: &[String]) -> bool {
    let Some((first, rest)) = of.split_first() else { return true };
    if first == "--" {
        return words.contains(first);
    }
    let prefix = first.split('{').next().filter(|_| is_hole(first)).unwrap_or_default();
    if is_hole(first) && is_instance(words, rest) {
        return true;
    }
    let Some((word, left)) = words.split_first() else { return false };
    let is_same = if is_hole(first) { word.starts_with(prefix) } else { word == first };
    if ["-d", "-n", "-o"].contains(&first.as_str()) && is_same && !rest.is_empty() {
        return !left.is_empty() && is_instance(&left[1..], &rest[1..]);
    }
    is_same && is_instance(left, rest) || is_hole(first) && is_instance(left, of)
}

/// `tests/suggested.txt`, whose commands a test of the program runs, has each of them, and no
/// other.
#[test]
fn how_each_suggested_command_is_tested_is_listed() {
    let is_there =
        |test: &str| [".", "crates/teiji"].iter().any(|at| root().join(at).join(test).exists());
    let list = include_str!("../tests/suggested.txt");
    let rows: Vec<(&str, &str)> = list
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| line.split_once(" => ").unwrap_or((line, "")))
        .collect();
    let mut named: Vec<String> = suggested()
        .iter()
        .filter(|(_, named)| is_complete(named))
        .map(|(_, named)| named.words.join(" "))
        .collect();
    named.sort_unstable();
    named.dedup();
    let mut wrongs = Vec::new();
    for command in named.iter().filter(|named| rows.iter().all(|(listed, _)| listed != named)) {
        wrongs.push(format!("{command}: not listed"));
    }
    for (listed, how) in rows {
        if !named.iter().any(|named| named == listed) {
            wrongs.push(format!("{listed}: no text names it any more"));
        }
        let (kind, rest) = how.split_once(' ').unwrap_or((how, ""));
        // An exit code.
        let rest = rest.split_once("] ").map_or(rest, |(_, words)| words);
        let is_right = match kind {
            "run" => {
                let (typed, of) = (shlex::split(rest).unwrap(), shlex::split(listed).unwrap());
                let words: Vec<OsString> = typed.iter().map(OsString::from).collect();
                is_instance(&typed, &of) && refused(&words).is_none()
            }
            "read" => {
                let mut tests = rest.split([' ', ',']).filter(|word| word.contains("tests/"));
                !rest.is_empty() && tests.all(is_there)
            }
            _ => false,
        };
        if !is_right {
            wrongs.push(format!("{listed} => {how}: neither a run of it nor why it is only read"));
        }
    }
    assert!(wrongs.is_empty(), "{}", wrongs.join("\n"));
}

/// The lines of code of a page: those of a block between fences, and those that are indented.
fn code_lines(page: &str) -> Vec<String> {
    let mut in_block = false;
    let mut lines = Vec::new();
    for line in page.replace("\\\n", " ").lines() {
        if line.starts_with("```") {
            in_block = !in_block;
        } else if in_block || line.starts_with("    ") {
            lines.push(line.trim_start().trim_start_matches("$ ").to_owned());
        }
    }
    lines
}

/// As they stand in README and docs, from the first word to the last.
#[test]
fn every_command_of_the_docs_can_be_read() {
    let root = root();
    let mut pages = files_of(&root.join("docs"), &["md"]);
    pages.retain(|path| !path.display().to_string().contains("/decisions/"));
    pages.push(root.join("README.md"));
    let mut count = 0;
    let mut wrongs = Vec::new();
    for page in pages {
        let text = read(&page);
        let code = code_lines(&text);
        let rows = text.lines().filter(|line| line.starts_with('|')).flat_map(spans);
        let whole = code.into_iter().chain(rows.map(str::to_owned)).map(|line| (line, true));
        // A sentence may name a flag without all that it needs.
        let sentences = text.lines().filter(|line| !line.starts_with("    ")).flat_map(spans);
        let named = sentences.map(|span| (span.to_owned(), false));
        for (line, is_whole) in whole.chain(named) {
            let line = line.strip_prefix("sudo ").unwrap_or(&line);
            let Some(words) = line.strip_prefix("teiji ").map(without_remark) else { continue };
            let Some(words) = shlex::split(words) else {
                wrongs.push(format!("{}: {line}: a quote is not closed", page.display()));
                continue;
            };
            // What a shell makes of its variables is known to it alone.
            if words.iter().any(|word| word.contains('$') || word == "|" || word == ">") {
                continue;
            }
            count += 1;
            let is_whole = is_whole && words.len() > 1;
            if let Some(why) = wrong(&Named { words, is_whole }) {
                wrongs.push(format!("{}: {line}: {why}", page.display()));
            }
        }
    }
    assert!(wrongs.is_empty(), "{}", wrongs.join("\n"));
    assert!(count > 120, "only {count} were found");
}

/// Without what a line says of its command: behind `#`, or behind three spaces.
fn without_remark(line: &str) -> &str {
    line.split("   ").next().unwrap_or_default()
}

#[test]
fn commands_are_found_in_sentences() {
    let mut all = Cli::command();
    all.build();
    let words = |text: &str| {
        let of = |named: Named| (named.words.join(" "), named.is_whole);
        named(text, &all).into_iter().map(of).collect::<Vec<_>>()
    };
    let one = |words: &str, is_whole| vec![(words.to_owned(), is_whole)];
    assert_eq!(words("see: teiji check --advise names one"), one("check --advise", true));
    assert_eq!(words("Next: teiji report {}"), one("report {}", true));
    assert_eq!(
        words("Undo: sudo teiji tune --boot --undo{root}\n"),
        one("tune --boot --undo", true)
    );
    assert_eq!(words("(teiji run --resume DIR, then"), one("run --resume DIR", false));
    assert_eq!(words("teiji does this. Another teiji runs"), []);
    let wrongs = |text: &str| named(text, &all).iter().filter_map(wrong).count();
    assert_eq!(wrongs("Write: teiji measure -p -p -i 10000"), 1);
    assert_eq!(wrongs("To run them: teiji run --resume."), 1);
    assert_eq!(wrongs("with teiji run --resum DIR"), 1);
    assert_eq!(wrongs("with teiji report --anonymous"), 0);
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! No replaced phrase is back in documents, plans, help, doc comments and strings of the program,
//! and no translated document is behind its English.
//!
//! The phrases and what to say instead are in `tests/words.txt`, the rules in CONTRIBUTING.md.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

#[path = "texts/sources.rs"]
mod sources;
use sources::{files_of, read, spans, strings};

/// Documents and plans, without CONTRIBUTING.md, which names the phrases.
const DOCUMENTS: [&str; 6] =
    ["README.md", "ARCHITECTURE.md", "SPECIFICATION.md", "CHANGELOG.md", "docs", "plans"];

/// Crates whose doc comments are checked as well; those of the verbs are the help texts.
const COMMENTED: [&str; 16] = [
    "/crates/teiji/",
    "/crates/report/",
    "/crates/stats/",
    "/crates/plan/",
    "/crates/host/",
    "/crates/check/",
    "/crates/tune/",
    "/crates/load/",
    "/crates/lab/",
    "/crates/runner/",
    "/crates/recording/",
    "/crates/model/",
    "/crates/judge/",
    "/crates/executor/",
    "/crates/explain/",
    "/crates/probe/",
];

/// Documents with a translation beside them: `NAME.ja.md`.
const TRANSLATED: [&str; 2] = ["README", "docs/documents"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository")
}

#[test]
fn no_replaced_phrase_is_back() {
    let root = root();
    let phrases = phrases(&fs::read_to_string(root.join("tests/words.txt")).unwrap());
    let files: Vec<PathBuf> =
        DOCUMENTS.iter().flat_map(|name| files_of(&root.join(name), &["md", "toml"])).collect();
    assert!(
        files.len() > 30 && phrases.len() > 40,
        "{} documents, {} phrases",
        files.len(),
        phrases.len()
    );
    let mut texts: Vec<(String, String)> =
        files.iter().map(|path| (path.display().to_string(), read(path))).collect();
    let mut sources = files_of(&root.join("crates"), &["rs", "html", "js"]);
    sources.extend(files_of(&root.join("crates/report/texts"), &["txt"]));
    assert!(sources.len() > 200, "{} sources", sources.len());
    for path in sources.iter().filter(|path| is_shown(path)) {
        let (name, source) = (path.display().to_string(), read(path));
        let is_rust = path.extension().is_some_and(|extension| extension == "rs");
        let comments = if COMMENTED.iter().any(|part| name.contains(part)) {
            doc_comments(&source)
        } else {
            String::new()
        };
        let shown = if is_rust { strings(&source) + &comments } else { source };
        texts.push((name, shown));
    }
    let found: Vec<String> =
        texts.iter().flat_map(|(name, text)| found(name, text, &phrases)).collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// Not what tests say, and not what others wrote.
fn is_shown(path: &Path) -> bool {
    let name = path.display().to_string();
    name.contains("/crates/") && !name.contains("tests") && !name.contains("uPlot")
}

/// Each phrase with what to say instead.
fn phrases(list: &str) -> Vec<(String, String)> {
    let lines = list.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty());
    let pair = |line: &str| {
        let (phrase, instead) =
            line.split_once('|').unwrap_or_else(|| panic!("'{line}' has no '|'"));
        (phrase.trim().to_lowercase(), instead.trim().to_owned())
    };
    lines.map(pair).collect()
}

/// The phrases in a text, each as a line that names the file and what surrounds it.
fn found(name: &str, text: &str, phrases: &[(String, String)]) -> Vec<String> {
    let text = text.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ");
    let is_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let mut all = Vec::new();
    for (phrase, instead) in phrases {
        for (at, _) in text.match_indices(phrase.as_str()) {
            let (before, behind) = (&text[..at], &text[at + phrase.len()..]);
            if !is_word(before.chars().next_back()) && !is_word(behind.chars().next()) {
                let lead: String =
                    before.chars().rev().take(40).collect::<Vec<_>>().into_iter().rev().collect();
                let rest: String = behind.chars().take(40).collect();
                all.push(format!("{name}: '{phrase}' in '{lead}{phrase}{rest}'; say: {instead}"));
            }
        }
    }
    all
}

/// The doc comments of a source.
fn doc_comments(source: &str) -> String {
    let lines = source
        .lines()
        .map(str::trim_start)
        .filter_map(|line| line.strip_prefix("///").or(line.strip_prefix("//!")));
    lines.map(|line| format!("{line}\n")).collect()
}

#[test]
fn strings_are_found_and_nothing_else() {
    let source = "/// looks on\nfn may_claim(spoils: u8) { say(\"a \\\"b\\\" \\\n   c\"); '\"'; \
                  x(r#\"raw \"q\" end\"#) // \"no\"\n}\n#[cfg(test)]\nmod tests { \"not this\" }";
    let strings: Vec<String> = strings(source)
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    assert_eq!(strings, ["a \\\"b\\\" c", "raw \"q\" end"]);
    assert_eq!(doc_comments(source), " looks on\n");
}

#[test]
fn a_phrase_is_found_over_lines_and_not_within_words() {
    let phrases = phrases("# why\ntold apart | significant\n");
    let one = found("x.md", "It cannot be Told\n  apart.", &phrases);
    assert_eq!(one, ["x.md: 'told apart' in 'it cannot be told apart.'; say: significant"]);
    assert!(found("x.md", "told_apart, untold apart, told apartment", &phrases).is_empty());
}

#[test]
fn translations_have_each_command_link_and_figure() {
    for name in TRANSLATED {
        let of = |ending: &str| read(&root().join(format!("{name}{ending}")));
        let lacks = translation_lacks(&of(".md"), &of(".ja.md"));
        assert!(lacks.is_empty(), "{name}.ja.md:\n{}", lacks.join("\n"));
    }
}

/// A reader finds what it is, how to install it and which command to run within a minute.
#[test]
fn readme_stays_short() {
    let length = read(&root().join("README.md")).chars().count();
    assert!(length < 7_500, "README.md has {length} characters: what grows belongs into docs/");
}

/// Where a translation differs from the English in what is the same in every language.
fn translation_lacks(english: &str, translation: &str) -> Vec<String> {
    let (english, translation) = (parts(english), parts(translation));
    let mut lacks = Vec::new();
    for (part, translated) in english.iter().zip(&translation) {
        let (wanted, found) = (references(part), references(translated));
        if wanted != found {
            lacks.push(format!("{found:?} in place of {wanted:?}"));
        }
        // A number may be a word in English alone: "thirteen".
        for figure in figures(part).difference(&figures(translated)) {
            lacks.push(format!("no {figure}, as in: {part}"));
        }
    }
    if english.len() != translation.len() {
        lacks.push(format!("{} parts in place of {}", translation.len(), english.len()));
    }
    lacks
}

/// Paragraphs, headings, rows of tables and lines of code of a page. A line of code is in
/// backquotes, and without the remark behind it, which is translated.
fn parts(page: &str) -> Vec<String> {
    let (mut in_block, mut in_paragraph) = (false, false);
    let mut parts: Vec<String> = Vec::new();
    for line in page.lines() {
        if line.starts_with("```") {
            in_block = !in_block;
            in_paragraph = false;
        } else if in_block || line.starts_with("    ") {
            let command = line.split(" # ").next().unwrap_or_default().trim();
            parts.extend((!command.is_empty()).then(|| format!("`{command}`")));
        } else if line.is_empty() {
            in_paragraph = false;
        } else if in_paragraph && !line.starts_with("- ") {
            *parts.last_mut().expect("the paragraph that continues") += &format!(" {line}");
        } else {
            parts.push(line.to_owned());
            in_paragraph = !line.starts_with(['|', '#']);
        }
    }
    parts
}

/// Commands, names and targets of links, in the order of the alphabet: languages differ in theirs.
/// A link may lead to the translation of its target.
fn references(part: &str) -> Vec<String> {
    let links = part.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let mut all: Vec<String> = spans(part).map(str::to_owned).collect();
    all.extend(links.map(|target| target.replace(".ja.md", ".md")));
    all.sort();
    all
}

/// Numbers of two digits or more.
fn figures(part: &str) -> BTreeSet<&str> {
    let numbers = part.split(|c: char| !c.is_ascii_digit() && c != ',' && c != '.');
    let numbers = numbers.map(|number| number.trim_matches([',', '.']));
    numbers.filter(|number| number.len() > 1).collect()
}

#[test]
fn a_translation_behind_its_english_is_found() {
    let english =
        "# One\n\nSee [it](a.md):\n`b` of ten\nand 20.\n\n    make c    # why\n|`d`|1.5|\n";
    let behind = |translation: &str| translation_lacks(english, translation);
    let good = "# 一\n\n10 の `b` と 20、\n[参照](a.ja.md)。\n\n    make c    # 理由\n|`d`|1.5|\n";
    assert!(behind(good).is_empty(), "{:?}", behind(good));
    assert_eq!(behind(&good.replace("`b`", "b")), [r#"["a.md"] in place of ["a.md", "b"]"#]);
    assert_eq!(
        behind(&good.replace("a.ja.md", "b.md")),
        [r#"["b", "b.md"] in place of ["a.md", "b"]"#]
    );
    assert_eq!(behind(&good.replace("make c", "make e")), [r#"["make e"] in place of ["make c"]"#]);
    assert_eq!(behind(&good.replace("1.5", "1.6")), ["no 1.5, as in: |`d`|1.5|"]);
    assert_eq!(behind(&good.replace("|`d`|1.5|\n", "")), ["3 parts in place of 4"]);
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! Makes constants of the texts in `texts/`, by their keys, and a list of the texts of a file where
//! others say them by their English. What is wrong with a text, such as a language that lacks it,
//! ends the build.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// A text in each language; `one` is said in English where its `{n}` is 1.
#[derive(Default)]
struct Text<'a> {
    key: Option<&'a str>,
    english: &'a str,
    one: Option<&'a str>,
    japanese: &'a str,
}

fn main() {
    println!("cargo::rerun-if-changed=texts");
    let folder = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let mut files: Vec<PathBuf> = fs::read_dir(folder.join("texts"))
        .expect("there are texts")
        .map(|entry| entry.expect("texts can be listed").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "txt"))
        .collect();
    files.sort();
    let out: String = files.iter().map(|file| constants(file)).collect();
    let to = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it")).join("texts.rs");
    fs::write(to, out).expect("the folder of the build's output can be written");
}

/// Constants of the texts of a file that have a key, and a list of all of them if any has none.
fn constants(file: &Path) -> String {
    let content = fs::read_to_string(file).expect("texts are UTF-8");
    let (mut keyed, mut list, mut is_listed) = (String::new(), String::new(), false);
    for block in content.split("\n\n") {
        let text = parse(block).unwrap_or_else(|why| panic!("{}: {why}:\n{block}", file.display()));
        let Some(text) = text else { continue };
        let value = literal(&text);
        list += &format!("{value},\n");
        is_listed |= text.key.is_none();
        if let Some(key) = text.key {
            keyed += &format!("pub(crate) const {key}: Text = {value};\n");
        }
    }
    if is_listed {
        let name = file.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
        keyed += &format!("pub(crate) const {}: &[Text] = &[\n{list}];\n", name.to_uppercase());
    }
    keyed
}

/// None where there are only comments.
fn parse(block: &str) -> Result<Option<Text<'_>>, String> {
    let mut text = Text::default();
    let mut lines = block.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let Some(mut line) = lines.next() else { return Ok(None) };
    if !line.contains(':') {
        text.key = Some(line);
        line = lines.next().ok_or("no text")?;
    }
    for line in std::iter::once(line).chain(lines) {
        let (name, said) = line.split_once(": ").ok_or_else(|| format!("no text: {line}"))?;
        // Quotes keep spaces at the ends.
        let said = said.strip_prefix('"').and_then(|said| said.strip_suffix('"')).unwrap_or(said);
        match name {
            "en" => text.english = said,
            "en 1" => text.one = Some(said),
            "ja" => text.japanese = said,
            _ => return Err(format!("unknown language {name}")),
        }
    }
    if text.english.is_empty() || text.japanese.is_empty() {
        return Err("a language lacks it".to_owned());
    }
    let names = names(text.english);
    if names != self::names(text.japanese) {
        return Err("its names differ between languages".to_owned());
    }
    match text.one {
        Some(one) if !names.contains("n") || !self::names(one).is_subset(&names) => {
            Err("'en 1' is of {n}".to_owned())
        }
        _ => Ok(Some(text)),
    }
}

/// The names in braces.
fn names(text: &str) -> BTreeSet<&str> {
    text.split('{').skip(1).filter_map(|rest| rest.split_once('}')).map(|(name, _)| name).collect()
}

fn literal(text: &Text<'_>) -> String {
    let names: Vec<&str> = names(text.english).into_iter().collect();
    format!(
        "Text {{ said: [{:?}, {:?}], one: {:?}, names: &{names:?} }}",
        text.english, text.japanese, text.one
    )
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! The language of a report. Every sentence stands where it is said, in English; a catalogue has it
//! in the other languages.
//!
//! Every public function that writes text takes its language, which is the current one
//! ([`in_language`]) until it returns. In between the language is that of the thread, as with
//! gettext, so that none of the hundreds of functions that make a sentence or a part of one needs a
//! parameter for it. Nobody outside this crate can set it, and nothing that is kept is in one
//! language: what has to be said of something that is let go before anyone asks for text is made
//! [in each](InEach).
//!
//! What a recording holds itself, such as names, command lines and what the kernel calls things,
//! stays as it was recorded. Warnings, which it holds as values, have a file for each language
//! (`warnings/`).

mod japanese;
mod japanese_explained;
mod japanese_gate;
mod japanese_page;
mod japanese_plan;
mod japanese_probes;
mod japanese_scripts;
mod japanese_terminal;

use serde::Serialize;
use std::cell::Cell;
use std::collections::{BTreeMap, HashMap};
use std::fmt::Display;
use std::sync::LazyLock;

/// In what words a report speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Language {
    /// English, in which every sentence is written.
    #[default]
    English,
    Japanese,
}

impl Language {
    /// As HTML and users name it.
    #[must_use]
    pub const fn tag(self) -> &'static str {
        match self {
            Language::English => "en",
            Language::Japanese => "ja",
        }
    }

    pub const ALL: [Language; 2] = [Language::English, Language::Japanese];
}

thread_local! {
    static CURRENT: Cell<Language> = const { Cell::new(Language::English) };
}

/// Has whatever `speak` writes in this language.
pub(crate) fn in_language<T>(language: Language, speak: impl FnOnce() -> T) -> T {
    /// Gives the language back, whatever happens meanwhile.
    struct Before(Language);
    impl Drop for Before {
        fn drop(&mut self) {
            CURRENT.set(self.0);
        }
    }
    let _before = Before(CURRENT.replace(language));
    speak()
}

pub(crate) fn current_language() -> Language {
    CURRENT.get()
}

/// Texts, or what holds them, in each language: made while what they are about exists, and read in
/// any language later.
#[derive(Clone, Debug, Default)]
pub(crate) struct InEach<T>([T; Language::ALL.len()]);

impl<T> InEach<T> {
    pub(crate) fn new(make: impl Fn() -> T) -> InEach<T> {
        InEach(Language::ALL.map(|language| in_language(language, &make)))
    }

    /// Changes the texts of each language, while it is the current one.
    pub(crate) fn each(&mut self, mut change: impl FnMut(&mut T)) {
        for (language, texts) in Language::ALL.into_iter().zip(&mut self.0) {
            in_language(language, || change(texts));
        }
    }

    /// Those of the current language.
    pub(crate) fn get(&self) -> &T {
        let [english, japanese] = &self.0;
        match current_language() {
            Language::English => english,
            Language::Japanese => japanese,
        }
    }
}

type Catalogue = HashMap<&'static str, &'static str>;

static JAPANESE: LazyLock<Catalogue> = LazyLock::new(|| in_japanese().collect());

/// Every text with its Japanese.
fn in_japanese() -> impl Iterator<Item = (&'static str, &'static str)> {
    let page =
        [japanese::TEXTS, japanese_page::TEXTS, japanese_plan::TEXTS, japanese_scripts::TEXTS];
    page.into_iter()
        .chain([japanese_explained::TEXTS, japanese_gate::TEXTS, japanese_terminal::TEXTS])
        .flatten()
        .copied()
}

/// A text without figures, in the current language.
pub(crate) fn translated(english: &'static str) -> &'static str {
    match current_language() {
        Language::English => english,
        Language::Japanese => {
            let known = JAPANESE.get(english).copied();
            debug_assert!(known.is_some(), "there is no Japanese for {english:?}");
            known.unwrap_or(english)
        }
    }
}

/// What a column of a probe is, as the probe states it, in the current language; none where nobody
/// has translated it.
pub(crate) fn meaning(english: &str) -> Option<&'static str> {
    match current_language() {
        Language::English => None,
        Language::Japanese => japanese_probes::MEANINGS
            .iter()
            .find(|(known, _)| *known == english)
            .map(|(_, japanese)| *japanese),
    }
}

/// How so many (`{n}`) of a thing are counted where that is not by a plural.
pub(crate) fn thing(english: &str) -> Option<&'static str> {
    match current_language() {
        Language::English => None,
        Language::Japanese => {
            let known = japanese::THINGS.iter().find(|(thing, _)| *thing == english);
            debug_assert!(known.is_some(), "nobody knows how {english:?} is counted in Japanese");
            known.map(|(_, counted)| *counted)
        }
    }
}

/// A text with figures: each `{name}` in it becomes the value of that name.
pub(crate) fn filled(english: &'static str, values: &[(&str, &dyn Display)]) -> String {
    let mut out = String::new();
    let mut rest = translated(english);
    while let Some((before, behind)) = rest.split_once('{') {
        let Some((name, after)) = behind.split_once('}') else { break };
        out.push_str(before);
        let value = values.iter().find(|(known, _)| *known == name);
        debug_assert!(value.is_some(), "{english:?} has no {name}");
        if let Some((_, value)) = value {
            out.push_str(&value.to_string());
        }
        rest = after;
    }
    out + rest
}

/// A sentence in the current language: `tr!("{n} of {all} are late", n, all = counted(3))`.
macro_rules! tr {
    ($text:literal $(,)?) => { $crate::language::translated($text).to_owned() };
    ($text:literal, $($name:ident $(= $value:expr)?),+ $(,)?) => {
        $crate::language::filled($text, &[$((stringify!($name), &$crate::language::value!($name $(, $value)?))),+])
    };
}
pub(crate) use tr;

/// The value of a name in [`tr!`].
macro_rules! value {
    ($name:ident) => {
        $name
    };
    ($name:ident, $value:expr) => {
        $value
    };
}
pub(crate) use value;

/// The texts that the page's scripts say, by their English; none for English itself.
pub(crate) fn of_scripts() -> impl Serialize {
    let texts: BTreeMap<&str, &str> = match current_language() {
        Language::English => BTreeMap::new(),
        Language::Japanese => japanese_scripts::TEXTS.iter().copied().collect(),
    };
    texts
}

#[cfg(test)]
mod tests;

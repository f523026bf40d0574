// SPDX-License-Identifier: MIT OR Apache-2.0
//! The language of a report. Every text has a key, by which code and templates say it; the files of
//! `texts/` have it in each language, and `build.rs` makes a constant of each in [`texts`]. A key
//! that does not exist or that nobody uses, a language that lacks a text, and arguments other than
//! the text's do not compile.
//!
//! Every public function that writes text takes its language, which is the current one
//! ([`in_language`]) until it returns. In between the language is that of the thread, as with
//! gettext, so that none of the hundreds of functions that make a sentence or a part of one needs a
//! parameter for it. Nobody outside this crate can set it, and nothing that is kept is in one
//! language: what has to be said of something that is let go before anyone asks for text is made
//! [in each](InEach).
//!
//! What a recording holds itself, such as names, command lines and what the kernel calls things,
//! stays as it was recorded.

use serde::{Serialize, Serializer};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt::Display;

/// In what words a report speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Language {
    #[default]
    English,
    Japanese,
}

impl Language {
    /// As HTML and users name it.
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

/// A text in each language.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Text {
    /// In the order of [`Language::ALL`].
    said: [&'static str; Language::ALL.len()],
    /// In English where its `{n}` is 1.
    one: Option<&'static str>,
    /// Those in its braces.
    names: &'static [&'static str],
}

/// The constants that `build.rs` makes of the files in `texts/`.
#[expect(non_upper_case_globals, reason = "a key is written in code as in its file")]
pub(crate) mod texts {
    use crate::language::Text;
    include!(concat!(env!("OUT_DIR"), "/texts.rs"));
}

/// As programs read it: in English.
impl Serialize for Text {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.in_english())
    }
}

impl Text {
    /// Without arguments, in the current language.
    pub(crate) fn said(self) -> &'static str {
        self.said[current_language() as usize]
    }

    pub(crate) const fn in_english(self) -> &'static str {
        self.said[0]
    }

    /// Whether these are its arguments; asked by [`tr!`] while it is compiled.
    pub(crate) const fn takes(self, arguments: &[&str]) {
        assert!(self.names.len() == arguments.len(), "a text's arguments are those in its braces");
        let mut place = 0;
        while place < arguments.len() {
            assert!(contains(self.names, arguments[place]), "a text has no such argument");
            place += 1;
        }
    }
}

const fn contains(names: &[&str], name: &str) -> bool {
    let mut place = 0;
    while place < names.len() {
        if is_same(names[place].as_bytes(), name.as_bytes()) {
            return true;
        }
        place += 1;
    }
    false
}

const fn is_same(one: &[u8], other: &[u8]) -> bool {
    let mut place = 0;
    while place < one.len() && place < other.len() && one[place] == other[place] {
        place += 1;
    }
    place == one.len() && place == other.len()
}

/// What somebody else wrote in English, in the current language, if a list of texts has it.
pub(crate) fn known(list: &[Text], english: &str) -> Option<&'static str> {
    list.iter().find(|text| text.in_english() == english).map(|text| text.said())
}

/// What a column, or an importer, says of itself, in the current language if it is one that is
/// known.
pub(crate) fn meaning(english: &str) -> String {
    known(texts::PROBES, english).map_or_else(|| english.to_owned(), str::to_owned)
}

/// A text with arguments: each `{name}` in it becomes the value of that name.
pub(crate) fn filled(text: Text, values: &[(&str, &dyn Display)]) -> String {
    let is_one = || values.iter().any(|(name, value)| *name == "n" && value.to_string() == "1");
    let mut rest = match (current_language(), text.one) {
        (Language::English, Some(one)) if is_one() => one,
        _ => text.said(),
    };
    let mut out = String::new();
    while let Some((before, behind)) = rest.split_once('{') {
        let Some((name, after)) = behind.split_once('}') else { break };
        out.push_str(before);
        if let Some((_, value)) = values.iter().find(|(known, _)| *known == name) {
            out.push_str(&value.to_string());
        }
        rest = after;
    }
    out + rest
}

/// A text of [`texts`] in the current language: `tr!(n_of_all_late, n, all = count(3))`.
macro_rules! tr {
    ($text:ident $(,)?) => {{
        const { $crate::language::texts::$text.takes(&[]) };
        $crate::language::texts::$text.said().to_owned()
    }};
    ($text:ident, $($name:ident $(= $value:expr)?),+ $(,)?) => {{
        const { $crate::language::texts::$text.takes(&[$(stringify!($name)),+]) };
        $crate::language::filled(
            $crate::language::texts::$text,
            &[$((stringify!($name), &$crate::language::value!($name $(, $value)?))),+],
        )
    }};
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
    let texts = texts::SCRIPTS.iter().map(|text| (text.in_english(), text.said()));
    texts.filter(|(english, said)| english != said).collect::<BTreeMap<_, _>>()
}

#[cfg(test)]
mod tests;

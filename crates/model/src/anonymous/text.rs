// SPDX-License-Identifier: MIT OR Apache-2.0
//! Texts: what is known to be a name is replaced wherever it stands, then every word that is not
//! ours.

use super::Anonymiser;
use super::words::{Vocabulary, is_plain};
use std::io;

/// What encloses or ends a word of a text, and is none of it.
const AROUND: &str = "\"'`()[]{}<>,;!?|";

impl Anonymiser<'_> {
    /// A text of terms, such as a driver's name, of which each word that is not ours is called so.
    pub(super) fn terms(&self, kind: &str, text: &str) -> String {
        self.filtered(kind, text, Vocabulary::Terms)
    }

    /// A sentence in which teiji says what it found.
    pub(super) fn sentence(&self, text: &str) -> String {
        self.filtered("name", text, Vocabulary::Sentences)
    }

    /// A value that stays if all of it is ours; otherwise no part of it does.
    pub(super) fn whole(&self, kind: &str, text: &str) -> String {
        let is_ours = || text.split_whitespace().all(|word| is_plain(word, Vocabulary::Terms));
        if self.secret(text).is_none() && is_ours() {
            text.to_owned()
        } else {
            self.name(kind, text)
        }
    }

    /// What the system said. Its own words are said anew, by the error's number.
    pub(super) fn error(&self, text: &str) -> String {
        let number = text
            .rsplit_once("(os error ")
            .and_then(|(_, behind)| behind.strip_suffix(')')?.parse().ok());
        let said = number.map(|number| io::Error::from_raw_os_error(number).to_string());
        match said.as_ref().and_then(|said| Some((text.strip_suffix(said.as_str())?, said))) {
            Some((before, said)) => self.sentence(before) + said,
            None => self.sentence(text),
        }
    }

    /// Known names replaced, and the rest as it is: for texts that are the kernel's.
    pub(super) fn without_secrets(&self, text: &str) -> String {
        self.secrets.replaced(text, &str::to_owned)
    }

    fn filtered(&self, kind: &str, text: &str, vocabulary: Vocabulary) -> String {
        self.secrets.replaced(text, &|rest| self.words(kind, rest, vocabulary))
    }

    fn words(&self, kind: &str, text: &str, vocabulary: Vocabulary) -> String {
        let ends = |letter: char| letter.is_whitespace() || AROUND.contains(letter);
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while !rest.is_empty() {
            let begin = rest.find(|letter| !ends(letter)).unwrap_or(rest.len());
            out.push_str(&rest[..begin]);
            let end = rest[begin..].find(ends).map_or(rest.len(), |length| begin + length);
            let word = &rest[begin..end];
            let bare = word.trim_end_matches(['.', ':']);
            for (place, part) in bare.split('=').enumerate() {
                // What stands beside its key is no word of a sentence.
                let vocabulary = if place == 0 { vocabulary } else { Vocabulary::Terms };
                out.push_str(if place == 0 { "" } else { "=" });
                if is_plain(part, vocabulary) {
                    out.push_str(part);
                } else {
                    out.push_str(&self.name(if part.contains('/') { "path" } else { kind }, part));
                }
            }
            out.push_str(&word[bare.len()..]);
            rest = &rest[end..];
        }
        out
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is known to be a name, and where it stands in a text.

/// The longest path of Linux. Where a longer name belongs it goes, and no other text has it.
const MAX_BYTES: usize = 4096;

/// Names and what stands for each. They are sorted: those that begin alike stand side by side.
#[derive(Debug, Default)]
pub(super) struct Secrets {
    known: Vec<Secret>,
}

#[derive(Debug)]
struct Secret {
    name: String,
    pseudonym: String,
    /// The longest of the others that this one begins with.
    within: Option<usize>,
}

impl Secrets {
    /// Of names that are sorted, each with its pseudonym.
    pub(super) fn new(sorted: impl IntoIterator<Item = (String, String)>) -> Self {
        let mut known: Vec<Secret> = Vec::new();
        for (name, pseudonym) in sorted.into_iter().filter(|(name, _)| name.len() <= MAX_BYTES) {
            let mut within = known.len().checked_sub(1);
            while let Some(place) = within.filter(|place| !name.starts_with(&known[*place].name)) {
                within = known[place].within;
            }
            known.push(Secret { name, pseudonym, within });
        }
        Secrets { known }
    }

    /// What stands for it, if it is one.
    pub(super) fn of(&self, name: &str) -> Option<&str> {
        let place = self.known.binary_search_by(|secret| secret.name.as_str().cmp(name)).ok()?;
        Some(&self.known[place].pseudonym)
    }

    /// Replaces each name that is a word by itself, the longest of those that begin at one place,
    /// and filters what is around them.
    ///
    /// It reads the text once, from its begin to its end: a text may have a name ten thousand
    /// times.
    pub(super) fn replaced(&self, text: &str, rest: &dyn Fn(&str) -> String) -> String {
        let mut out = String::with_capacity(text.len());
        let (mut done, mut before) = (0, false);
        for (start, letter) in text.char_indices() {
            let is_inside = before && joins(letter);
            before = joins(letter);
            if start < done || is_inside {
                continue;
            }
            if let Some(secret) = self.at_begin(&text[start..]) {
                out.push_str(&rest(&text[done..start]));
                out.push_str(&secret.pseudonym);
                done = start + secret.name.len();
            }
        }
        out + &rest(&text[done..])
    }

    /// The longest one that a text begins with, and that ends where a word does.
    fn at_begin(&self, text: &str) -> Option<&Secret> {
        let is_word = |name: &str| {
            let behind = text.strip_prefix(name).map(|behind| behind.starts_with(joins));
            // A name that ends with another letter is a word in any case.
            behind.is_some_and(|behind| !(behind && name.ends_with(joins)))
        };
        // Each one that the text begins with is the one sorted before the text, or within that.
        let mut place =
            self.known.partition_point(|secret| secret.name.as_str() <= text).checked_sub(1);
        while let Some(secret) = place.map(|place| &self.known[place]) {
            if is_word(&secret.name) {
                return Some(secret);
            }
            place = secret.within;
        }
        None
    }
}

/// Whether a letter beside another one makes one word with it.
fn joins(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(names: &[&str]) -> Secrets {
        let mut sorted: Vec<(String, String)> =
            names.iter().map(|name| ((*name).to_owned(), format!("<{name}>"))).collect();
        sorted.sort();
        Secrets::new(sorted)
    }

    fn replaced(names: &[&str], text: &str) -> String {
        of(names).replaced(text, &str::to_uppercase)
    }

    #[test]
    fn the_longest_goes_where_it_is_a_word() {
        assert_eq!(
            replaced(&["ab", "ab cd", "ab-c"], "x ab cd, ab c abc ab-c ab-d"),
            "X <ab cd>, <ab> C ABC <ab-c> <ab>-D"
        );
        assert_eq!(replaced(&["ab"], "_ab ab_ äab (ab) ab"), "_AB AB_ ÄAB (<ab>) <ab>");
        assert_eq!(
            replaced(&["/home", "/home/é", "é"], "x/home/éa/home/é é"),
            "X</home>/ÉA</home/é> <é>"
        );
        assert_eq!(replaced(&["a-a"], "xa-a-a"), "XA-<a-a>");
        assert_eq!(replaced(&[], "ab"), "AB");
        assert_eq!((of(&["ab", "b"]).of("b"), of(&["ab"]).of("a")), (Some("<b>"), None));
    }

    /// On the stack of a test's thread there is no place for a call for each.
    #[test]
    fn a_name_may_stand_in_a_text_often() {
        const TIMES: usize = 30_000;
        assert_eq!(replaced(&["ab"], &"ab ".repeat(TIMES)), "<ab> ".repeat(TIMES));
    }

    #[test]
    fn there_may_be_many_names() {
        let names: Vec<String> =
            (0..4000).map(|number| format!("process-{number}")).chain(["ab".to_owned()]).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let secrets = of(&names);
        let begun = std::time::Instant::now();
        let text = "ab process-7 process-4001 ".repeat(30_000);
        let shown = secrets.replaced(&text, &str::to_owned);
        assert_eq!(shown, "<ab> <process-7> process-4001 ".repeat(30_000));
        assert!(begun.elapsed().as_secs() < 10, "{:?}", begun.elapsed());
    }
}

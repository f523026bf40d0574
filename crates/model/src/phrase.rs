// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a check found, or what it advises, as a value that is said in English and in Japanese.
//!
//! A phrase has a key of `findings.txt`, which has its text in both languages, side by side, and
//! the values in it. What needs no translation, such as a name or a command, is text.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::LazyLock;

const TABLE: &str = include_str!("findings.txt");

/// No phrase of ours has so many inside one another.
const MAX_DEPTH: usize = 24;

struct Texts {
    english: &'static str,
    japanese: &'static str,
}

static TEXTS: LazyLock<BTreeMap<&str, Texts>> = LazyLock::new(|| {
    let of_phrase = |block: &'static str| {
        let mut lines = block.lines();
        let [key, english, japanese] = std::array::from_fn(|_| lines.next());
        Some((key?, Texts { english: english?, japanese: japanese? }))
    };
    TABLE.split("\n\n").filter_map(of_phrase).collect()
});

/// In a recording a text is a string, and each of the others an object. What is none of them is a
/// phrase without a text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, from = "Value")]
pub enum Phrase {
    /// The same in every language.
    Text(String),
    Keyed {
        phrase: String,
        values: BTreeMap<String, Phrase>,
    },
    /// Phrases one after the other, with what stands between them.
    Joined {
        joined: String,
        phrases: Vec<Phrase>,
    },
}

/// A phrase by its key, with its values by their names. A name alone stands for a variable of this
/// name.
#[macro_export]
macro_rules! phrase {
    ($key:literal $(, $name:ident $(= $value:expr)?)* $(,)?) => {
        $crate::Phrase::keyed(
            $key,
            [$((stringify!($name), $crate::phrase!(@ $name $(= $value)?).into())),*],
        )
    };
    (@ $name:ident) => { $name };
    (@ $name:ident = $value:expr) => { $value };
}

impl Phrase {
    /// What [`phrase!`](crate::phrase!) makes.
    pub fn keyed<const N: usize>(key: &str, values: [(&str, Phrase); N]) -> Phrase {
        let values = values.map(|(name, value)| (name.to_owned(), value)).into();
        let phrase = Phrase::Keyed { phrase: key.to_owned(), values };
        debug_assert!(phrase.said(|texts| texts.english).is_some(), "{phrase:?}");
        phrase
    }

    /// Joined as the phrase with this key says.
    pub fn joined(key: &str, phrases: impl IntoIterator<Item = Phrase>) -> Phrase {
        let mut phrases: Vec<Phrase> = phrases.into_iter().collect();
        if phrases.len() == 1 {
            return phrases.remove(0);
        }
        Phrase::Joined { joined: key.to_owned(), phrases }
    }

    /// In Japanese, if it is what stands in English beside it. Another version may have other keys
    /// and values, and a file from elsewhere says anything.
    pub fn in_japanese(&self, english: &str) -> Option<String> {
        self.says(english).then(|| self.said(|texts| texts.japanese)).flatten()
    }

    /// Whether this is its English.
    pub(crate) fn says(&self, english: &str) -> bool {
        self.said(|texts| texts.english).as_deref() == Some(english)
    }

    /// Its texts, and those of the phrases in it.
    pub(crate) fn texts_mut(&mut self, change: &dyn Fn(&mut String)) {
        match self {
            Phrase::Text(text) => change(text),
            Phrase::Keyed { values, .. } => {
                values.values_mut().for_each(|value| value.texts_mut(change));
            }
            Phrase::Joined { phrases, .. } => {
                phrases.iter_mut().for_each(|phrase| phrase.texts_mut(change));
            }
        }
    }

    /// None where a key or a value is not known.
    fn said(&self, language: fn(&Texts) -> &'static str) -> Option<String> {
        let mut out = String::new();
        self.write(language, MAX_DEPTH, &mut out)?;
        Some(out)
    }

    /// Each value is written once, so that no file makes a text much longer than itself.
    fn write(
        &self,
        language: fn(&Texts) -> &'static str,
        depth: usize,
        out: &mut String,
    ) -> Option<()> {
        let depth = depth.checked_sub(1)?;
        match self {
            Phrase::Text(text) => out.push_str(text),
            Phrase::Keyed { phrase, values } => {
                let (text, mut places) = (language(TEXTS.get(phrase.as_str())?), 0);
                let mut pieces = text.split(['{', '}']);
                out.push_str(pieces.next()?);
                while let (Some(name), Some(between)) = (pieces.next(), pieces.next()) {
                    values.get(name)?.write(language, depth, out)?;
                    out.push_str(between);
                    places += 1;
                }
                (places == values.len()).then_some(())?;
            }
            Phrase::Joined { joined, phrases } => {
                let text = language(TEXTS.get(joined.as_str())?);
                let between = text.strip_prefix("{}")?.strip_suffix("{}")?;
                for (place, phrase) in phrases.iter().enumerate() {
                    out.push_str(if place == 0 { "" } else { between });
                    phrase.write(language, depth, out)?;
                }
            }
        }
        Some(())
    }
}

/// In English; a phrase that is not known has no text.
impl fmt::Display for Phrase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.said(|texts| texts.english).unwrap_or_default())
    }
}

impl From<Value> for Phrase {
    fn from(value: Value) -> Phrase {
        let mut fields = match value {
            Value::String(text) => return Phrase::Text(text),
            Value::Object(fields) => fields,
            _ => Map::new(),
        };
        let key = |name: &str| fields.get(name).and_then(Value::as_str).unwrap_or_default().into();
        let (phrase, joined) = (key("phrase"), key("joined"));
        if let Some(Value::Array(phrases)) = fields.remove("phrases") {
            return Phrase::Joined {
                joined,
                phrases: phrases.into_iter().map(Into::into).collect(),
            };
        }
        let values = match fields.remove("values") {
            Some(Value::Object(values)) => values,
            _ => Map::new(),
        };
        let values = values.into_iter().map(|(name, value)| (name, value.into())).collect();
        Phrase::Keyed { phrase, values }
    }
}

impl From<&str> for Phrase {
    fn from(text: &str) -> Phrase {
        Phrase::Text(text.to_owned())
    }
}

impl From<String> for Phrase {
    fn from(text: String) -> Phrase {
        Phrase::Text(text)
    }
}

macro_rules! from_numbers {
    ($($number:ty),*) => {
        $(impl From<$number> for Phrase {
            fn from(number: $number) -> Phrase {
                Phrase::Text(number.to_string())
            }
        })*
    };
}

from_numbers!(u8, u64, i64);

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn places(text: &str) -> Vec<&str> {
        let mut places: Vec<&str> = text.split(['{', '}']).skip(1).step_by(2).collect();
        places.sort_unstable();
        places
    }

    #[test]
    fn both_languages_have_each_value_once() {
        let blocks: Vec<&str> = TABLE.trim_end().split("\n\n").skip(1).collect();
        assert_eq!(blocks.len(), TEXTS.len(), "a key is there twice");
        for block in blocks {
            let [key, english, japanese] = block.lines().collect::<Vec<_>>()[..] else {
                panic!("{block}")
            };
            let places = places(english);
            assert_eq!(places, self::places(japanese), "{key}");
            let is_joining = places == ["", ""];
            assert!(is_joining || places.windows(2).all(|pair| pair[0] != pair[1]), "{key}");
        }
    }

    #[test]
    fn a_phrase_is_said_in_both_languages() {
        let cpus = phrase!("cpus", list = "2-3");
        let name = "daemon 70";
        let daemon = phrase!("thread-at-on", thread = name, priority = 95_u8, cpus);
        let found = Phrase::joined("comma", [daemon, phrase!("none")]);
        let found = phrase!("when-the-run-began", found);
        let english =
            "daemon 70 at 95 on CPUs 2-3, none (when the run began, and not when it ended)";
        assert_eq!(found.to_string(), english);
        let japanese = "CPU 2-3 の daemon 70(優先度 95)、なし(測定開始時。終了時にはありません)";
        assert_eq!(found.in_japanese(english).unwrap(), japanese);
        let written = serde_json::to_value(&found).unwrap();
        assert_eq!(serde_json::from_value::<Phrase>(written).unwrap(), found);
    }

    /// Of what a file from elsewhere says, nothing but what its English says is shown.
    #[test]
    fn what_is_not_known_has_no_japanese() {
        let nested = |depth| {
            (0..depth).fold(json!("x"), |inner, _| json!({"joined": "comma", "phrases": [inner]}))
        };
        let known = json!({"phrase": "allows", "values": {"cpus": "CPU 1"}});
        let read = |value: &Value| serde_json::from_value::<Phrase>(value.clone()).unwrap();
        assert_eq!(read(&known).in_japanese("allows CPU 1").as_deref(), Some("CPU 1 を許可"));
        assert_eq!(read(&known).in_japanese("allows CPU 2"), None);
        for (value, english) in [
            (json!({"phrase": "of-another-version", "values": {}}), ""),
            (json!({"phrase": "allows"}), "allows "),
            (json!({"phrase": "allows", "values": {"cpus": "1", "more": "2"}}), "allows 1"),
            (json!({"phrase": "allows", "values": {"cpus": 1}}), "allows 1"),
            (json!({"joined": "allows", "phrases": ["a", "b"]}), "a, b"),
            (json!({"joined": "comma", "phrases": "a"}), "a"),
            (json!(["a"]), "a"),
            (json!(null), ""),
            (nested(MAX_DEPTH), "x"),
            (nested(100), "x"),
        ] {
            assert_eq!(read(&value).in_japanese(english), None, "{value}");
        }
        assert_eq!(read(&nested(MAX_DEPTH - 1)).in_japanese("x").as_deref(), Some("x"));
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! Documents of programs that write JSON, or nearly: a quote in a command line is written as it is,
//! and a mean of nothing is `-nan`.

use super::{ImportError, Lines, Output};
use serde::de::{DeserializeOwned, Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

/// Bytes of a document at most.
const MAX_DOCUMENT: usize = 8 << 20;

/// What several programs say of the machine.
#[derive(Deserialize)]
pub(super) struct SysInfo {
    #[serde(default)]
    nodename: Option<String>,
    #[serde(default)]
    release: Option<String>,
    #[serde(default)]
    version: Option<String>,
    #[serde(default)]
    machine: Option<String>,
    #[serde(default)]
    realtime: Option<u64>,
}

impl SysInfo {
    /// Puts it into an output.
    pub(super) fn put(&self, output: &mut Output) {
        output.host.hostname = said(&self.nodename);
        output.host.kernel = said(&self.release);
        output.host.kernel_version = said(&self.version);
        output.host.architecture = self.machine.clone().unwrap_or_default();
        let mut words = self.version.iter().flat_map(|version| version.split(' '));
        let preemption = words.rfind(|word| word.starts_with("PREEMPT"));
        output.host.preemption = preemption.map(str::to_owned);
        let is_real_time = preemption.map(|word| word == "PREEMPT_RT");
        if let (Some(stated), Some(found)) = (self.realtime, is_real_time)
            && (stated == 1) != found
        {
            let version = self.version.as_deref().unwrap_or_default();
            output.contradiction("sysinfo.realtime", stated, format!("version: {version}"));
        }
    }
}

/// A text, unless it is empty: not every writer leaves out what it does not know.
pub(super) fn said(text: &Option<String>) -> Option<String> {
    text.clone().filter(|text| !text.is_empty())
}

/// Reads an object of which no key may stand twice: which of both holds is not known.
pub(super) fn once<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    from: D,
) -> Result<BTreeMap<String, T>, D::Error> {
    struct Once<T>(PhantomData<T>);

    impl<'de, T: Deserialize<'de>> Visitor<'de> for Once<T> {
        type Value = BTreeMap<String, T>;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut all = BTreeMap::new();
            while let Some((key, value)) = map.next_entry::<String, T>()? {
                if all.contains_key(&key) {
                    return Err(A::Error::custom(format_args!("{key:?} stands there twice")));
                }
                all.insert(key, value);
            }
            Ok(all)
        }
    }

    from.deserialize_map(Once(PhantomData))
}

/// Reads a document that begins at the next line.
pub(super) fn document<T: DeserializeOwned>(lines: &mut Lines<'_>) -> Result<T, ImportError> {
    let line = lines.number();
    serde_json::from_str(&text(lines)?).map_err(|error| {
        let at = line + u64::try_from(error.line().saturating_sub(1)).unwrap_or(0);
        ImportError::at(at, format!("the JSON cannot be read: {error}"))
    })
}

/// The text of a document up to its last brace, with what is no JSON put right.
fn text(lines: &mut Lines<'_>) -> Result<String, ImportError> {
    let mut text = String::new();
    let (mut depth, mut in_string, mut is_escaped) = (0_u32, false, false);
    while let Some(line) = lines.peek()? {
        let line = repaired(line);
        let mut end = None;
        for (at, letter) in line.char_indices() {
            if in_string {
                in_string = is_escaped || letter != '"';
                is_escaped = letter == '\\' && !is_escaped;
                continue;
            }
            match letter {
                '"' => in_string = true,
                '{' => depth += 1,
                '}' => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        end = Some(at + 1);
                        break;
                    }
                }
                _ => {}
            }
        }
        text.push_str(end.map_or(line.as_str(), |end| &line[..end]));
        text.push('\n');
        lines.advance();
        if end.is_some() {
            return Ok(text);
        }
        if text.len() > MAX_DOCUMENT {
            return Err(lines.error(format!("the document is above {} MB", MAX_DOCUMENT >> 20)));
        }
    }
    Err(lines.error("the document ends before its last brace"))
}

/// A line of a document as JSON has it.
fn repaired(line: &str) -> String {
    let trimmed = line.trim();
    if trimmed.starts_with("\"cmdline")
        && let Some((key, value)) = trimmed.split_once(": \"")
        && let Some((value, rest)) = value.rsplit_once('"')
        && value.contains('"')
        && serde_json::from_str::<serde::de::IgnoredAny>(&format!("\"{value}\"")).is_err()
    {
        return format!("{key}: \"{}\"{rest}", value.replace('"', "\\\""));
    }
    match trimmed.split_once(": ") {
        Some((key, value)) if value.trim_end_matches(',').trim_start_matches('-') == "nan" => {
            let comma = if value.ends_with(',') { "," } else { "" };
            format!("{key}: null{comma}")
        }
        _ => line.to_owned(),
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! Warnings, and what a gate has found, in the reader's language. A recording holds them as sentences in English, with their figures already in them: a
//! sentence that has the form of a known one is said again with the same figures, and any other stays as it was recorded.

use super::{Language, japanese_recorded, spoken};

/// A sentence from a recording in the language that is spoken.
pub(crate) fn recorded(text: &str) -> String {
    if spoken() == Language::English {
        return text.to_owned();
    }
    let whole = translated(text);
    // Evidence is often a list.
    let items = text.replace(NEXT_CPU, "; CPU ");
    let each = || items.split("; ").map(|part| translated(part).unwrap_or_else(|| part.to_owned())).collect::<Vec<_>>();
    whole.unwrap_or_else(|| each().join("; "))
}

/// Between what is said of one CPU and of the next.
const NEXT_CPU: &str = ", CPU ";

fn translated(text: &str) -> Option<String> {
    japanese_recorded::TEXTS
        .iter()
        .chain(japanese_recorded::GATE)
        .find_map(|(english, japanese)| Some(filled(japanese, &values(english, text)?)))
}

/// What stands in the places of a form, by their names; none where the text has another form.
fn values<'a>(form: &'a str, text: &'a str) -> Option<Vec<(&'a str, &'a str)>> {
    let (first, mut places) = form.split_once('{').map_or((form, None), |(first, behind)| (first, Some(behind)));
    let mut left = text.strip_prefix(first)?;
    let mut values = Vec::new();
    while let Some((name, behind)) = places.and_then(|behind| behind.split_once('}')) {
        let (literal, next) = behind.split_once('{').map_or((behind, None), |(literal, next)| (literal, Some(next)));
        // Nothing follows the last place: it is all that is left.
        let end = match (literal, next) {
            ("", _) => left.len(),
            (_, None) => left.strip_suffix(literal)?.len(),
            _ => left.find(literal)?,
        };
        values.push((name, left.get(..end)?));
        left = left.get(end + literal.len()..)?;
        places = next;
    }
    // A value with the sign of a list in it is several items.
    (left.is_empty() && values.iter().all(|(_, value)| !value.contains("; ") && !value.contains(NEXT_CPU))).then_some(values)
}

fn filled(form: &str, values: &[(&str, &str)]) -> String {
    values.iter().fold(form.to_owned(), |text, (name, value)| text.replace(&format!("{{{name}}}"), value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::speaking;

    #[test]
    fn a_known_sentence_keeps_its_figures_and_another_stays() {
        let said = "Thread 3 took page faults while it measured.";
        assert_eq!(recorded(said), said);
        let in_japanese = |text: &str| speaking(Language::Japanese, || recorded(text));
        assert_eq!(in_japanese(said), "スレッド 3 で測定中にページフォルトが発生しました。");
        assert_eq!(
            in_japanese("CPU 0: 12 ms, 0.4 % of its time; CPU 1: 3 ms, 0.1 % of its time"),
            "CPU 0: 12 ms(時間の 0.4 %); CPU 1: 3 ms(時間の 0.1 %)"
        );
        assert_eq!(
            in_japanese("CPU 0 was 99.8 % busy in all, CPU 1 was 7.0 % busy in all"),
            "CPU 0 の全体の使用率 99.8 %; CPU 1 の全体の使用率 7.0 %"
        );
        assert_eq!(
            in_japanese("5,811.679 µs on thread 1; 116 times the limit; a longer run would tell"),
            "5,811.679 µs(スレッド 1); 制限の 116 倍; 測定時間を延ばせば判定できます"
        );
        assert_eq!(
            in_japanese("Isolated CPUs 1-3 not measured: add -a 1-3."),
            "分離 CPU(isolcpus) 1-3 は測定していません。-a 1-3 を付けてください。"
        );
        for other in ["", "Thread 3 took page faults", "something nobody knows; and 3 more of it"] {
            assert_eq!(in_japanese(other), other);
        }
    }

    #[test]
    fn every_form_is_that_of_a_warning() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let mut sources = String::new();
        for path in ["host/src", "runner/src", "load/src", "probe/src"].map(|path| folder.join(path)) {
            for entry in std::fs::read_dir(path).unwrap().map(Result::unwrap).filter(|entry| entry.path().is_file()) {
                sources.push_str(&std::fs::read_to_string(entry.path()).unwrap());
            }
        }
        let sources = without_names(&sources.replace("\\\"", "\""));
        let unknown: Vec<&str> = japanese_recorded::TEXTS
            .iter()
            .map(|(english, _)| *english)
            .filter(|english| !sources.contains(&without_names(english)))
            .collect();
        assert!(unknown.is_empty(), "{unknown:#?}");
    }

    /// With `{}` in the place of every `{name}`.
    fn without_names(text: &str) -> String {
        let mut parts = text.split('{');
        let first = parts.next().unwrap_or_default().to_owned();
        let is_name = |name: &str| name.chars().all(|c| c.is_ascii_alphanumeric() || "_:.".contains(c));
        parts.fold(first, |all, part| match part.split_once('}').filter(|(name, _)| is_name(name)) {
            Some((_, behind)) => all + "{}" + behind,
            None => all + "{" + part,
        })
    }
}

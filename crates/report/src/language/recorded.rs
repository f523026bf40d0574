// SPDX-License-Identifier: MIT OR Apache-2.0
//! Warnings in the reader's language. A recording holds them as sentences in English, with their figures already in them: a
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
    japanese_recorded::TEXTS.iter().find_map(|(english, japanese)| Some(filled(japanese, &values(english, text)?)))
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
    values.iter().fold(form.to_owned(), |text, (name, value)| {
        let known = japanese_recorded::VALUES.iter().find(|(english, _)| english == value);
        text.replace(&format!("{{{name}}}"), known.map_or(*value, |(_, japanese)| *japanese))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::speaking;

    #[test]
    fn a_known_sentence_keeps_its_figures_and_another_stays() {
        let said = "Thread 3 had page faults while measuring.";
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
            in_japanese("Isolated CPUs 1-3 not measured: add -a 1-3."),
            "分離 CPU(isolcpus) 1-3 は測定していません。-a 1-3 を付けてください。"
        );
        assert_eq!(
            in_japanese("CPU 0: 1 ms, below 0.1 % of its time; CPU 1: 2 ms, an unknown share of its time; and 3 more"),
            "CPU 0: 1 ms(時間の 0.1 % 未満); CPU 1: 2 ms(時間の 不明な割合); ほか 3 件"
        );
        assert_eq!(
            in_japanese("CPU 0: 97.6 %; CPU time of processes: yes (pid 7) 9.76 s; kworker/0:1 (pid 7) 0.09 s"),
            "CPU 0: 97.6 %; プロセスの CPU 時間: yes (pid 7) 9.76 s; kworker/0:1 (pid 7) 0.09 s"
        );
        for other in ["", "Thread 3 had page faults", "something nobody knows; and 3 more of it"] {
            assert_eq!(in_japanese(other), other);
        }
    }

    /// The files of the crates that warn, without their tests.
    fn sources() -> Vec<(String, String)> {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let files = ["host/src", "runner/src", "load/src", "probe/src", "lab/src"]
            .into_iter()
            .flat_map(|path| std::fs::read_dir(folder.join(path)).unwrap().map(|entry| entry.unwrap().path()))
            .filter(|path| path.is_file() && !path.file_name().unwrap_or_default().to_string_lossy().contains("tests"));
        let code = |text: String| text.split("#[cfg(test)]").next().unwrap().to_owned();
        files.map(|path| (path.display().to_string(), code(std::fs::read_to_string(path).unwrap()))).collect()
    }

    #[test]
    fn every_form_is_that_of_a_warning() {
        let sources: String = sources().into_iter().map(|(_, text)| text).collect();
        let sources = without_names(&sources.replace("\\\"", "\""));
        let unknown: Vec<&str> = [japanese_recorded::TEXTS, japanese_recorded::VALUES]
            .into_iter()
            .flatten()
            .map(|(english, _)| *english)
            .filter(|english| !sources.contains(&without_names(english)))
            .collect();
        assert!(unknown.is_empty(), "{unknown:#?}");
    }

    /// What belongs to no language: commands, names, and what the system says.
    const OF_NO_LANGUAGE: &[&str] = &[
        "thread {}: clock_nanosleep: {}",
        "mlockall: {}",
        "ps -eLo pid,rtprio,psr,comm --sort=-rtprio",
        "sudo setcap cap_sys_nice,cap_ipc_lock=ep {}",
        "sudo cpupower frequency-set --governor performance --min {} --max {}",
        "echo performance | sudo tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor",
        "echo {} | sudo tee /sys/devices/system/clocksource/clocksource0/current_clocksource",
        "CPU {}",
        "CPU {}: {} %",
        "{} (pid {}) {} s",
        // A list, whose items have forms of their own.
        "{}; and {} more",
    ];

    /// Every text of the files that make warnings, but for errors, which end a run before there is a recording.
    #[test]
    fn every_warning_is_translated() {
        let makes_warnings = |text: &str| ["warning(", "Warning {", "Report::Note {"].iter().any(|it| text.contains(it));
        let forms = japanese_recorded::TEXTS.iter().chain(japanese_recorded::VALUES).map(|(english, _)| without_names(english));
        let known: Vec<String> = forms.chain(OF_NO_LANGUAGE.iter().map(|text| (*text).to_owned())).collect();
        let is_error = |file: &str, text: &str| {
            file.ends_with("supervisor.rs") && !text.starts_with("it runs at nice")
                || text.starts_with("an interval of {} is shorter than a wake-up takes")
                || text == "interrupted before measuring began"
        };
        let mut seen = 0;
        for (file, text) in sources().iter().filter(|(_, text)| makes_warnings(text)) {
            for text in strings(text).iter().map(|text| without_names(text)) {
                let words = text.split(|c: char| !c.is_alphabetic()).filter(|word| word.len() > 1).count();
                if words > 1 && text.contains(' ') && !is_error(file, &text) {
                    seen += 1;
                    assert!(known.contains(&text), "there is no Japanese for {text:?} of {file}");
                }
            }
        }
        assert!(seen > 60, "{seen}");
    }

    /// The strings of a source, a string over several lines in one.
    fn strings(source: &str) -> Vec<String> {
        let code: String =
            source.lines().filter(|line| !line.trim_start().starts_with("//")).map(|line| format!("{line}\n")).collect();
        let code = code.replace("\\\"", "\u{1}").replace("'\"'", "");
        let joined = |text: &str| {
            let lines: Vec<&str> = text.split("\\\n").collect();
            lines.iter().enumerate().map(|(place, line)| if place == 0 { line } else { line.trim_start() }).collect::<String>()
        };
        code.split('"').skip(1).step_by(2).map(|text| joined(text).replace('\u{1}', "\"")).collect()
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

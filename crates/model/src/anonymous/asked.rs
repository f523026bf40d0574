// SPDX-License-Identifier: MIT OR Apache-2.0
//! What was asked: the run, its loads, the command line.

use super::words::{Vocabulary, is_plain};
use super::{Anonymiser, Pseudonyms, each, each_key};
use crate::{Document, LoadEvidence, LoadOnCpu};
use plan::{LoadSpec, Run};

/// Flags and settings whose value is a name whatever it is, and what it is a name of.
const NAMES: [(&str, &str); 12] = [
    ("title", "title"),
    ("output", "path"),
    ("o", "path"),
    ("command", "command"),
    ("from", "path"),
    ("kernel", "path"),
    ("k", "path"),
    ("modules", "path"),
    ("dtb", "path"),
    ("program", "path"),
    ("dir", "path"),
    ("baseline", "path"),
];

impl Document {
    /// Pseudonyms in what was asked of the run and its guest: a run without what they stand for is
    /// another one.
    pub fn settings_not_known(&self) -> Vec<String> {
        if !self.anonymous {
            return Vec::new();
        }
        let loads = self.run.loads.iter().map(ToString::to_string);
        let arguments = self.lab.iter().map(|lab| lab.guest.kernel_args.clone());
        let texts: Vec<String> =
            loads.chain(arguments).chain(self.run.probe_settings.values().cloned()).collect();
        texts.iter().flat_map(|text| Pseudonyms::within(text)).map(str::to_owned).collect()
    }
}

impl Anonymiser<'_> {
    pub(super) fn run(&self, run: &mut Run) {
        let Run {
            title,
            probe,
            probe_settings,
            loads,
            interval_ns: _,
            distance_ns: _,
            length: _,
            cpus: _,
            scheduling: _,
            aligned_ns: _,
            warmup_ns: _,
            break_above_ns: _,
            explain_above_ns: _,
            overrun_policy: _,
            hold_dma_latency: _,
            sync: _,
            settle: _,
            phase: _,
        } = run;
        each(title, |title| self.name("title", title));
        *probe = self.ours("probe", probe);
        *probe_settings = std::mem::take(probe_settings)
            .into_iter()
            .map(|(name, value)| (self.ours("value", &name), self.value_of(&name, &value)))
            .collect();
        loads.iter_mut().for_each(|load| self.load(load));
    }

    /// A word that stays if it is one of ours, also where a process happens to be called so.
    pub(super) fn ours(&self, kind: &str, word: &str) -> String {
        if word.split(' ').all(|word| is_plain(word, Vocabulary::Terms)) {
            word.to_owned()
        } else {
            self.name(kind, word)
        }
    }

    /// The value of a setting or a flag.
    fn value_of(&self, name: &str, value: &str) -> String {
        if name == "load" || name == "l" {
            return self.load_text(value);
        }
        if name == "kernel-args" {
            return self.kernel_arguments(value);
        }
        match NAMES.iter().find(|(known, _)| *known == name) {
            // A kernel of Debian is known to everybody.
            Some(_) if value.starts_with("debian:") => self.whole("path", value),
            Some((_, kind)) => self.name(kind, value),
            None => self.whole("value", value),
        }
    }

    pub(super) fn load_text(&self, text: &str) -> String {
        let Ok(mut load) = text.parse() else { return self.name("load", text) };
        self.load(&mut load);
        load.to_string()
    }

    /// A load: its name, its level and settings that are numbers or words of ours.
    pub(super) fn load(&self, load: &mut LoadSpec) {
        let head = match load.command() {
            Some(command) => format!("cmd:\"{}\"", self.name("command", command)),
            None => {
                let level = load
                    .level()
                    .map(|level| format!("@{}", self.whole("value", level)))
                    .unwrap_or_default();
                self.ours("load", load.name()) + &level
            }
        };
        let option = |(key, value): (&str, &str)| {
            let key_shown = self.ours("value", key);
            if value.is_empty() {
                format!(",{key_shown}")
            } else {
                format!(",{key_shown}={}", self.value_of(key, value))
            }
        };
        let text = head + &load.options().map(option).collect::<String>();
        let nameless = text.parse().unwrap_or_else(|_| nameless());
        // As it was written, if nothing had to go.
        if !is_same(&nameless, load) {
            *load = nameless;
        }
    }

    pub(super) fn load_evidence(&self, evidence: &mut LoadEvidence) {
        let LoadEvidence {
            spec,
            rate,
            per_cpu,
            requested: _,
            reached: _,
            cpus: _,
            tasks: _,
            nice: _,
            settled_after_ns: _,
            started_ns: _,
            stopped_ns: _,
            alive: _,
            off_target: _,
            course: _,
        } = evidence;
        *spec = self.load_text(spec);
        each_key(rate, |unit| self.ours("value", unit));
        for LoadOnCpu { cpu: _, reached: _, machine_busy: _ } in per_cpu {}
    }

    /// The command line: flags, and values that are numbers or words of ours. Words behind `--` are
    /// another program's.
    pub(super) fn command_line(&self, words: &[String]) -> Vec<String> {
        let mut out = Vec::with_capacity(words.len());
        let mut flag: Option<&str> = None;
        let mut words = words.iter().map(String::as_str);
        out.extend(words.next().map(|_| "teiji".to_owned()));
        while let Some(word) = words.next() {
            if word == "--" {
                out.push(word.to_owned());
                out.extend(words.by_ref().map(|word| self.name("argument", word)));
                break;
            }
            out.push(self.argument(flag, word));
            let name = word.trim_start_matches('-');
            flag = Some(name).filter(|name| name.len() < word.len() && !name.contains('='));
        }
        out
    }

    fn argument(&self, flag: Option<&str>, word: &str) -> String {
        if let Some(long) = word.strip_prefix("--") {
            return match long.split_once('=') {
                Some((name, value)) => {
                    format!("--{}={}", self.ours("argument", name), self.value_of(name, value))
                }
                None => format!("--{}", self.ours("argument", long)),
            };
        }
        let short = word
            .strip_prefix('-')
            .and_then(|rest| Some((rest.chars().next()?, rest)))
            .filter(|(name, _)| name.is_ascii_alphabetic());
        match short {
            Some((name, rest)) if rest.len() == 1 => format!("-{name}"),
            Some((name, rest)) => format!(
                "-{name}{}",
                self.value_of(&name.to_string(), rest[1..].trim_start_matches('='))
            ),
            None => self.value_of(flag.unwrap_or_default(), word),
        }
    }
}

fn is_same(one: &LoadSpec, other: &LoadSpec) -> bool {
    let parts = |load: &LoadSpec| {
        let options: Vec<_> =
            load.options().map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
        (
            load.name().to_owned(),
            load.level().map(str::to_owned),
            load.command().map(str::to_owned),
            options,
        )
    };
    parts(one) == parts(other)
}

/// Two keys that became the same one cannot be written.
fn nameless() -> LoadSpec {
    #[expect(clippy::expect_used, reason = "a word is a load")]
    "load".parse().expect("a load")
}

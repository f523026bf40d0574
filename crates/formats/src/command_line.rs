// SPDX-License-Identifier: MIT OR Apache-2.0
//! Command lines in texts, and what one of cyclictest says of its run.

use super::Output;
use super::measured::Measured;
use super::numbers::decimal;
use super::output::MAX_THREADS;
use plan::{CpuId, Nanos, Policy, Scheduling};

/// What a command line of cyclictest asks for, as far as it can be read without a doubt.
pub(crate) struct Asked {
    interval_ns: Option<i64>,
    distance_ns: Option<i64>,
    scheduling: Option<Scheduling>,
    /// Whether all threads have that, in every version.
    is_of_all: bool,
    /// In turn for each thread; empty where it is not said.
    cpus: Vec<CpuId>,
    clock: Option<&'static str>,
}

impl Asked {
    /// Of these words, the program's name the first.
    pub(crate) fn from_words(words: &[String]) -> Asked {
        let any = |names: &[&str]| words.iter().any(|word| names.contains(&word.as_str()));
        let begins = |of: &str| words.iter().any(|word| word.starts_with(of));
        let us = |of: Found| match of {
            Found::Value(text) => decimal(&text, 1_000).filter(|ns| *ns > 0),
            Found::Nothing | Found::Unclear => None,
        };
        let interval_ns = match value(words, 'i', "--interval") {
            Found::Nothing => Some(1_000_000),
            found => us(found),
        };
        // A histogram has all threads at one interval.
        let is_even = begins("-h") || begins("-H") || begins("--histo");
        let distance_ns = match value(words, 'd', "--distance") {
            Found::Nothing => Some(if is_even { 0 } else { 500_000 }),
            Found::Value(text) if text == "0" => Some(0),
            found => us(found),
        };
        let policy = match value(words, 'y', "--policy") {
            Found::Nothing => Some(Policy::Fifo),
            Found::Value(name) => match name.to_lowercase().as_str() {
                "fifo" => Some(Policy::Fifo),
                "rr" => Some(Policy::Rr),
                _ => None,
            },
            Found::Unclear => None,
        };
        let prio = match value(words, 'p', "--prio") {
            Found::Value(prio) => prio.parse().ok().filter(|prio| (1..=99).contains(prio)),
            Found::Nothing | Found::Unclear => None,
        };
        let scheduling =
            policy.zip(prio).map(|(policy, prio)| Scheduling { policy, prio: Some(prio) });
        // Without -S each further thread has a lower one in old versions, unless there is a
        // histogram.
        let is_of_all = is_even || any(&["-S", "--smp"]);
        let cpus = match value(words, 'a', "--affinity") {
            Found::Value(list) => cpus(&list).unwrap_or_default(),
            Found::Nothing | Found::Unclear => Vec::new(),
        };
        let clock = match value(words, 'c', "--clock") {
            Found::Value(number) if number == "0" => Some("CLOCK_MONOTONIC"),
            Found::Value(number) if number == "1" => Some("CLOCK_REALTIME"),
            _ => None,
        };
        Asked { interval_ns, distance_ns, scheduling, is_of_all, cpus, clock }
    }

    /// Fills in what the output itself does not say, and says that it is from the command line.
    pub(crate) fn fill(&self, output: &mut Output) {
        let of_one = self.scheduling.filter(|_| output.threads.len() == 1);
        let is_open = |thread: &Measured| thread.scheduling.is_none();
        let mut filled = Vec::new();
        if let Some(scheduling) = self.scheduling_of_all().or(of_one)
            && output.scheduling.is_none()
            && output.threads.iter().all(is_open)
        {
            output.scheduling = Some(scheduling);
            filled.push(scheduling.to_string());
        }
        let interval = output.interval;
        let (mut intervals, mut on) = (Vec::new(), Vec::new());
        for (index, thread) in output.threads.iter_mut().enumerate() {
            if interval.is_none() && thread.interval.is_none() {
                thread.interval = self.interval_of(index);
                intervals.extend(thread.interval.map(|interval| interval.to_string()));
            }
            if thread.cpu.is_none() && !self.cpus.is_empty() {
                let cpu = self.cpus[index % self.cpus.len()];
                thread.cpu = Some(cpu);
                on.push(cpu.to_string());
            }
        }
        intervals.dedup();
        let named = |what: &str, all: &[String]| {
            (!all.is_empty()).then(|| format!("{what} {}", all.join(", ")))
        };
        filled.extend(named("interval", &intervals));
        filled.extend(named("CPU", &on));
        filled.extend(self.clock.map(str::to_owned));
        if !filled.is_empty() {
            output.say("from the command line", &filled.join("; "));
        }
    }

    /// That of all threads, where it is known.
    pub(crate) fn scheduling_of_all(&self) -> Option<Scheduling> {
        self.scheduling.filter(|_| self.is_of_all)
    }

    /// That of a thread, where it is known.
    pub(crate) fn interval_of(&self, thread: usize) -> Option<Nanos> {
        let steps = i64::try_from(thread).ok()?;
        let distance = self.distance_ns?.checked_mul(steps)?;
        self.interval_ns?.checked_add(distance).map(Nanos)
    }
}

/// `1,3-5`.
fn cpus(list: &str) -> Option<Vec<CpuId>> {
    let mut all = Vec::new();
    for part in list.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        if last.checked_sub(first)? as usize > MAX_THREADS {
            return None;
        }
        all.extend((first..=last).map(CpuId));
    }
    Some(all)
}

/// A flag's value on a command line.
enum Found {
    Nothing,
    Value(String),
    /// It may be among letters that stand together.
    Unclear,
}

fn value(words: &[String], letter: char, long: &str) -> Found {
    let short = format!("-{letter}");
    for (at, word) in words.iter().enumerate().skip(1) {
        let next = || words.get(at + 1).cloned().map_or(Found::Unclear, Found::Value);
        if let Some(behind) = word.strip_prefix(long) {
            return match behind.split_once('=') {
                Some((_, value)) => Found::Value(value.to_owned()),
                None => next(),
            };
        }
        match word.strip_prefix(&short) {
            Some("") => return next(),
            Some(value) => return Found::Value(value.to_owned()),
            None => {}
        }
        let is_cluster = word.starts_with('-') && !word.starts_with("--");
        if is_cluster && word.chars().skip(2).any(|other| other == letter) {
            return Found::Unclear;
        }
    }
    Found::Nothing
}

/// The words of a command that calls this program, its name the first: where the line is such a
/// command and nothing else, behind a prompt or at its beginning. Prose that names it is none.
pub(crate) fn command(line: &str, program: &str) -> Option<Vec<String>> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let words = &words[prompt(&words).unwrap_or(0)..];
    let name = |word: &str| word.rsplit('/').next().unwrap_or_default().to_owned();
    let at = words.iter().position(|word| name(word) == program)?;
    let is_before = |word: &&str| {
        let is_mask = |part: &str| part.chars().all(|letter| letter.is_ascii_hexdigit());
        let is_number = word.starts_with(|first: char| first.is_ascii_digit())
            && word.strip_prefix("0x").unwrap_or(word).split(['-', ',', ':']).all(is_mask);
        word.starts_with('-') || is_number || WRAPPERS.contains(&name(word).as_str())
    };
    let is_wrapped = match words[..at].first() {
        Some(first) => {
            WRAPPERS.contains(&name(first).as_str()) && words[..at].iter().all(is_before)
        }
        None => true,
    };
    // Of more than one command, or one that goes on elsewhere, it is not known what printed.
    let is_plain = |word: &&str| {
        !word.contains([';', '|', '&', '<', '>', '`', '$', '\\']) && !word.starts_with('#')
    };
    let last = words.last().filter(|last| !last.ends_with([':', '.', ',']))?;
    let is_command = is_wrapped && words.iter().all(is_plain) && name(last) != program;
    is_command.then(|| words[at..].iter().map(|word| (*word).to_owned()).collect())
}

/// Programs that call another.
const WRAPPERS: [&str; 10] =
    ["sudo", "doas", "taskset", "chrt", "nice", "nohup", "time", "timeout", "numactl", "stdbuf"];

/// How many of the words of a line are the prompt of a shell, or say that a command follows.
fn prompt(words: &[&str]) -> Option<usize> {
    let label = words.iter().take(3).position(|word| word.ends_with(':'));
    if let Some(at) = label.filter(|at| LABELS.contains(&words[..=*at].join(" ").as_str())) {
        return Some(at + 1);
    }
    let at = words.iter().take(3).position(|word| word.ends_with(['$', '#', '>']))?;
    (at == 0 || words[0].contains('@')).then_some(at + 1)
}

const LABELS: [&str; 5] = ["cmd:", "cmd to run:", "command:", "Command:", "command line:"];

/// Whether a line is surely one that was typed.
pub(crate) fn is_typed(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    let of_shell = |words: &[&str]| words[0].contains('@') || words[0].ends_with('$');
    prompt(&words).is_some_and(|at| of_shell(&words) && at < words.len())
}

/// Whether a text has the name of a program in it, or a path to it.
pub(crate) fn names(line: &str, program: &str) -> bool {
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || ['-', '_'].contains(&letter);
    line.split(|letter| !is_name(letter)).any(|word| word == program)
}

/// The options of a program whose values are ns where it is told so.
pub(crate) struct Options {
    /// Letters without a value, and those with one.
    pub flags: &'static str,
    pub valued: &'static str,
    /// Letters whose value may be left out, or be the next word.
    pub optional: &'static str,
}

/// Those of cyclictest of every version that mean the same in each.
pub(crate) const OF_CYCLICTEST: Options =
    Options { flags: "BCEIMNPQRSUWXfmnqrsuvwx", valued: "ADFHTObcdhilopy", optional: "at" };

/// Those of jitterdebugger.
pub(crate) const OF_JITTERDEBUGGER: Options =
    Options { flags: "Nvh", valued: "Dabcfilop", optional: "" };

impl Options {
    /// Whether a command asks for values in ns (`-N`, `--nsecs`), as getopt reads it; none where
    /// any word of it is not understood.
    pub(crate) fn is_in_ns(&self, words: &[String]) -> Option<bool> {
        let mut is_in_ns = false;
        let mut words = words.iter().skip(1).map(String::as_str).peekable();
        while let Some(word) = words.next() {
            if let Some(long) = word.strip_prefix("--") {
                match long {
                    "ns" | "nse" | "nsec" | "nsecs" => is_in_ns = true,
                    "" | "n" => return None,
                    // Its value may follow.
                    _ if !long.contains('=') => {
                        words.next_if(|next| !next.starts_with('-'));
                    }
                    _ => {}
                }
                continue;
            }
            let letters = word.strip_prefix('-').filter(|letters| !letters.is_empty())?;
            for (at, letter) in letters.char_indices() {
                let is_last = letters.len() == at + letter.len_utf8();
                if self.flags.contains(letter) {
                    is_in_ns |= letter == 'N';
                } else if self.valued.contains(letter) {
                    if is_last {
                        words.next()?;
                    }
                    break;
                } else if self.optional.contains(letter) {
                    if is_last {
                        words.next_if(|next| next.starts_with(|one: char| one.is_ascii_digit()));
                    }
                    break;
                } else {
                    return None;
                }
            }
        }
        Some(is_in_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Option<String> {
        command(line, "cyclictest").map(|words| words.join(" "))
    }

    #[test]
    fn a_command_is_a_line_of_its_own() {
        for line in [
            "cyclictest -N -q",
            "$ cyclictest -N -q",
            "root@board:~# cyclictest -N -q",
            "[root@board ~]# ./rt-tests/cyclictest -N -q",
            "# sudo taskset -c 1-3 chrt -f 80 /usr/bin/cyclictest -N -q",
            "cmd to run: cyclictest -N -q",
        ] {
            let found = words(line).unwrap_or_else(|| panic!("{line}"));
            assert_eq!(found.rsplit('/').next(), Some("cyclictest -N -q"), "{line}");
        }
        for line in [
            "We ran cyclictest -N -q",
            "as with cyclictest -N",
            "cyclictest -N is not used:",
            "the output of `cyclictest -N`",
            "$ cyclictest -N > log; cat log",
            "$ cyclictest -q | tee -a log",
            "$ cat log # cyclictest -N",
            "$ cyclictest -q # not -N",
            "$ cyclictest -q \\",
            "$ cyclictest $OPTIONS",
            "$ cat > cyclictest -N",
            "$ apt install cyclictest -N",
            "cyclictest: -N",
            "# cyclictest",
        ] {
            assert_eq!(words(line), None, "{line}");
        }
        assert!(names("see /opt/cyclictest, version 2", "cyclictest"));
        assert!(!names("cyclictest-csv", "cyclictest"));
    }

    #[test]
    fn values_in_ns_as_getopt_has_them() {
        let of = |options: &Options, line: &str| {
            options.is_in_ns(&line.split(' ').map(str::to_owned).collect::<Vec<_>>())
        };
        for (line, expected) in [
            ("cyclictest -mNp80 -q", Some(true)),
            ("cyclictest -qN -t2 -h 100000", Some(true)),
            ("cyclictest -t2 -p 80 -i 1000", Some(false)),
            ("cyclictest -t 2 -a 0-3 --prio 80 -S", Some(false)),
            ("cyclictest -FN -q", Some(false)),
            ("cyclictest -o N", Some(false)),
            ("cyclictest --nsec -q", Some(true)),
            ("cyclictest --ns", Some(true)),
            ("cyclictest --nsecs", Some(true)),
            ("cyclictest --n", None),
            ("cyclictest -q was run with -N", None),
            ("cyclictest -qZN", None),
            ("cyclictest -q -p", None),
        ] {
            assert_eq!(of(&OF_CYCLICTEST, line), expected, "{line}");
        }
        assert_eq!(of(&OF_JITTERDEBUGGER, "jitterdebugger -vNp 80"), Some(true));
        assert_eq!(of(&OF_JITTERDEBUGGER, "jitterdebugger -o N"), Some(false));
        assert_eq!(of(&OF_JITTERDEBUGGER, "jitterdebugger --nsec"), Some(true));
    }
}

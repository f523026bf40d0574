// SPDX-License-Identifier: MIT OR Apache-2.0
//! Words of several findings: lists, CPUs, one command for several, spelling.

use model::{Phrase, phrase};
use plan::{CpuId, CpuList, quoted};
use std::fmt::Display;

/// The words of a list: `a, b and c`.
pub(crate) fn listed<W: Into<Phrase>>(words: impl IntoIterator<Item = W>) -> Phrase {
    let mut words: Vec<Phrase> = words.into_iter().map(Into::into).collect();
    match words.pop() {
        Some(last) if !words.is_empty() => {
            phrase!("listed", others = Phrase::joined("comma", words), last)
        }
        last => last.unwrap_or_else(|| "".into()),
    }
}

pub(crate) fn cpu_words(cpus: &[CpuId]) -> Phrase {
    let list = CpuList::format(cpus);
    if cpus.len() == 1 { phrase!("cpu", list) } else { phrase!("cpus", list) }
}

/// How to start a program in the control group with this file.
pub(crate) fn from_shell_in(file: &str) -> Phrase {
    phrase!(
        "from-this-shell",
        command = format!("echo $$ | sudo tee {}", quoted(&format!("/{file}")))
    )
}

/// A command for each of these, which are numbers or words that are quoted for a shell. Words stand
/// as `"$i"` in the command, numbers as `$i`.
pub(crate) fn for_each<D: Display>(command: &str, ids: impl IntoIterator<Item = D>) -> String {
    const WORD: &str = "\"$i\"";
    let ids: Vec<String> = ids.into_iter().map(|id| id.to_string()).collect();
    match ids.as_slice() {
        // What a word brings is not replaced again.
        [one] if command.contains(WORD) => command.replace(WORD, one),
        [one] => command.replace("$i", one),
        _ => each_of("i", &ids, command),
    }
}

/// The command that makes these CPUs take part again.
pub(crate) fn bring_online(cpus: &[CpuId]) -> String {
    for_each("echo 1 | sudo tee /sys/devices/system/cpu/cpu$i/online", cpus)
}

/// A command in which a variable of the shell is each of these in turn.
pub(crate) fn each_of(variable: &str, values: &[impl Display], command: &str) -> String {
    let values: String = values.iter().map(|value| format!(" {value}")).collect();
    format!("for {variable} in{values}; do {command}; done")
}

/// Whether two words differ by one letter: another one, one more, one less, or two that changed
/// places.
pub(crate) fn is_one_off(one: &str, other: &str) -> bool {
    differ_by(one, other) == 1
}

/// By how many letters two words differ: others, more, less, or two that changed places.
pub(crate) fn differ_by(one: &str, other: &str) -> usize {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    // The rows of the table of all beginnings of both, the last two.
    let (mut before, mut last) = (Vec::new(), (0..=other.len()).collect::<Vec<usize>>());
    for (i, a) in one.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, b) in other.iter().enumerate() {
            let mut least = (last[j] + usize::from(a != b)).min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && (a, &one[i - 1]) == (&other[j - 1], b) {
                least = least.min(before[j - 1] + 1);
            }
            row.push(least);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A name with `$i` in it was once put into itself, outside of its quotes.
    #[test]
    fn names_from_files_are_one_word_of_a_command() {
        let remove =
            |names: &[&str]| for_each("rmdir /sys/\"$i\"", names.iter().map(|name| quoted(name)));
        assert_eq!(remove(&["a$i;id"]), "rmdir /sys/'a$i;id'");
        assert_eq!(remove(&["a b", "c"]), "for i in 'a b' c; do rmdir /sys/\"$i\"; done");
        assert_eq!(for_each("chrt -p $i", [7]), "chrt -p 7");
        let command = "echo $$ | sudo tee '/sys/fs/cgroup/a;id/tasks'";
        assert_eq!(
            from_shell_in("sys/fs/cgroup/a;id/tasks"),
            phrase!("from-this-shell", command = command)
        );
    }
}

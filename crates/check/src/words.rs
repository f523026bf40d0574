// SPDX-License-Identifier: MIT OR Apache-2.0
//! Words of several findings: lists, CPUs, one command for several, spelling.

use plan::{CpuId, CpuList};

/// The words of a list: `a, b and c`.
pub(crate) fn listed(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

pub(crate) fn cpu_words(cpus: &[CpuId]) -> String {
    let word = if cpus.len() == 1 { "CPU" } else { "CPUs" };
    format!("{word} {}", CpuList::format(cpus))
}

/// A command for each of these numbers.
pub(crate) fn for_each(command: &str, ids: &[String]) -> String {
    match ids {
        [one] => command.replace("\"$i\"", one).replace("$i", one),
        _ => format!("for i in {}; do {command}; done", ids.join(" ")),
    }
}

/// Whether two words differ by one letter: another one, one more, one less, or two that changed
/// places.
pub(crate) fn is_one_off(one: &str, other: &str) -> bool {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let (short, long) = if one.len() <= other.len() { (&one, &other) } else { (&other, &one) };
    if one == other || long.len() - short.len() > 1 {
        return false;
    }
    let same = short.iter().zip(long).take_while(|(a, b)| a == b).count();
    if short.len() == long.len() {
        let replaced = short[same + 1..] == long[same + 1..];
        let swapped = same + 1 < short.len()
            && (short[same], short[same + 1]) == (long[same + 1], long[same])
            && short[same + 2..] == long[same + 2..];
        replaced || swapped
    } else {
        short[same..] == long[same + 1..]
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which words stay as they are: numbers, and words of ours and of the kernel. Every other one may be a name.
//!
//! It is a list of what stays and not of what goes: a word that nobody thought of goes.

use std::collections::HashSet;
use std::sync::LazyLock;

/// Words of command lines, settings, tables of the kernel, drivers.
static TERMS: LazyLock<HashSet<&'static str>> = LazyLock::new(|| include_str!("terms.txt").split_whitespace().collect());
/// Words of the sentences in which teiji says what it found. They are English words, and could be names too.
static SENTENCES: LazyLock<HashSet<&'static str>> = LazyLock::new(|| include_str!("sentences.txt").split_whitespace().collect());
/// What may stand behind a number.
const UNITS: [&str; 33] = [
    "ns", "us", "µs", "ms", "s", "m", "h", "k", "K", "M", "G", "Ki", "Mi", "Gi", "KiB", "MiB", "GiB", "kB", "KB", "MB", "GB",
    "Hz", "kHz", "MHz", "GHz", "x", "q", "w", "H", "st", "th", "i", "u",
];
/// Letters beside numbers in names of devices and states: `nvme0n1`, `enp3s0`, `u8`, `C6`. None is a digit of usual hexadecimal
/// numbers.
const BETWEEN: [&str; 12] = ["n", "p", "q", "s", "u", "h", "v", "t", "r", "i", "N", "C"];

/// How much of a text is ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Vocabulary {
    /// Technical terms alone.
    Terms,
    /// Sentences too.
    Sentences,
}

/// Whether all of a text without white space is numbers, and words of ours and of the kernel.
pub(super) fn is_plain(text: &str, vocabulary: Vocabulary) -> bool {
    if is_address(text) {
        return false;
    }
    let rest = without_place(text);
    rest.split(|letter: char| letter.is_ascii_punctuation() || "…–—→≥≤×°".contains(letter))
        .all(|part| part.is_empty() || is_plain_part(part, vocabulary))
}

/// Addresses of networks and their cards.
pub(super) fn is_address(text: &str) -> bool {
    let parts = |separator: char| text.split(separator).collect::<Vec<_>>();
    let is_byte = |part: &str, radix: u32| !part.is_empty() && part.len() <= 3 && part.chars().all(|digit| digit.is_digit(radix));
    let dotted = parts('.');
    let last_is_port = |part: &&str| part.split(':').next().is_some_and(|byte| is_byte(byte, 10));
    let is_ip =
        dotted.len() == 4 && dotted.iter().take(3).all(|part| is_byte(part, 10)) && dotted.last().is_some_and(last_is_port);
    let is_mac = |separator| {
        let bytes = parts(separator);
        bytes.len() == 6 && bytes.iter().all(|part| part.len() == 2 && is_byte(part, 16))
    };
    is_ip || is_mac(':') || is_mac('-')
}

/// Without the place of a device, whose digits are hexadecimal: on PCI, `0000:00:1f.3`, or in memory, `fe00b880.mailbox`.
fn without_place(text: &str) -> String {
    const IN_MEMORY: usize = 8;
    if let Some((place, name)) = text.split_once('.')
        && place.len() == IN_MEMORY
        && place.chars().all(|digit| digit.is_ascii_digit() || ('a'..='f').contains(&digit))
    {
        return name.to_owned();
    }
    const FORM: &str = "xxxx:xx:xx.x";
    let is_of_form = |part: &str| {
        part.chars().zip(FORM.chars()).all(|(letter, form)| if form == 'x' { letter.is_ascii_hexdigit() } else { letter == form })
    };
    let found = (0..text.len())
        .find_map(|start| Some((start, text.get(start..start + FORM.len())?)).filter(|(_, part)| is_of_form(part)));
    found.map_or_else(
        || text.to_owned(),
        |(start, _)| format!("{} {}", &text[..start], &text[start + FORM.len()..]).replace(' ', "-"),
    )
}

fn is_plain_part(part: &str, vocabulary: Vocabulary) -> bool {
    if part.len() == 1
        || is_word(part, vocabulary)
        || part.strip_prefix("0x").is_some_and(|digits| digits.chars().all(|digit| digit.is_ascii_hexdigit()))
    {
        return true;
    }
    let runs = runs(part);
    match runs.as_slice() {
        [number] => is_number(number),
        [number, unit] if is_number(number) => UNITS.contains(unit),
        // A serial line's speed, `115200n8`.
        [number, "n", bits] => is_number(number) && bits.len() == 1,
        // `cpu0`, `nvme0n1`: a word, then numbers.
        [word, rest @ ..] if word.len() > 1 || BETWEEN.contains(word) => {
            let fits = |run: &&str| is_number(run) || BETWEEN.contains(run) || run.len() > 1 && is_word(run, Vocabulary::Terms);
            (word.len() == 1 || is_word(word, vocabulary)) && rest.iter().all(fits)
        }
        _ => false,
    }
}

fn is_word(word: &str, vocabulary: Vocabulary) -> bool {
    let lower = word.to_lowercase();
    let is_sentence = vocabulary == Vocabulary::Sentences && SENTENCES.contains(lower.as_str());
    TERMS.contains(lower.as_str()) || is_sentence
}

fn is_number(run: &str) -> bool {
    run.starts_with(|digit: char| digit.is_ascii_digit())
}

/// Digits and what is none, in turn.
fn runs(part: &str) -> Vec<&str> {
    let mut runs = Vec::new();
    let mut rest = part;
    while let Some(first) = rest.chars().next() {
        let end = rest.find(|letter: char| letter.is_ascii_digit() != first.is_ascii_digit()).unwrap_or(rest.len());
        let (run, behind) = rest.split_at(end);
        runs.push(run);
        rest = behind;
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_and_teiji_say_stays() {
        for text in [
            "0-3,8",
            "1ms",
            "50%",
            "LOC",
            "NET_RX",
            "IR-PCI-MSIX-0000:00:1f.6",
            "virtio1-req.0",
            "nvme0q1",
            "kworker/0:1H-kblockd",
            "kworker/u8:3-events_unbound",
            "irq/24-xhci_hcd",
            "rcu_preempt",
            "ttyS0,115200",
            "managed_irq,domain,2-3",
            "enp3s0-TxRx-0",
            "schedutil",
            "intel_pstate=passive",
            "0x7f00",
            "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
        ] {
            assert!(is_plain(text, Vocabulary::Terms), "{text}");
        }
    }

    #[test]
    fn a_name_a_number_of_a_machine_and_an_address_go() {
        for text in [
            "alice",
            "robot-3",
            "/home/alice/x",
            "3f2ac9d1",
            "be4f-12ab",
            "192.168.0.7",
            "192.168.0.7:80",
            "00:11:22:33:44:55",
            "enx001122aabbcc",
            "hunter2",
            "acme_motor",
            "Zürich",
            "x7",
            "b4dcafe",
        ] {
            assert!(!is_plain(text, Vocabulary::Sentences), "{text}");
        }
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which words stay as they are: numbers, and words of ours and of the kernel. Every other one may
//! be a name.
//!
//! It is a list of what stays and not of what goes: a word that nobody thought of goes.

use std::collections::HashSet;
use std::net::Ipv6Addr;
use std::sync::LazyLock;

/// Words of command lines, settings, tables of the kernel, drivers.
static TERMS: LazyLock<HashSet<&'static str>> =
    LazyLock::new(|| include_str!("terms.txt").split_whitespace().collect());
/// Words of the sentences in which teiji says what it found. They are English words, and could be
/// names too.
static SENTENCES: LazyLock<HashSet<&'static str>> =
    LazyLock::new(|| include_str!("sentences.txt").split_whitespace().collect());
/// What may stand behind a number.
const UNITS: [&str; 33] = [
    "ns", "us", "µs", "ms", "s", "m", "h", "k", "K", "M", "G", "Ki", "Mi", "Gi", "KiB", "MiB",
    "GiB", "kB", "KB", "MB", "GB", "Hz", "kHz", "MHz", "GHz", "x", "q", "w", "H", "st", "th", "i",
    "u",
];
/// Letters beside numbers in names of devices and states: `nvme0n1`, `enp3s0`, `u8`, `C6`. None is
/// a digit of usual hexadecimal numbers.
const BETWEEN: [&str; 12] = ["n", "p", "q", "s", "u", "h", "v", "t", "r", "i", "N", "C"];

/// How much of a text is ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Vocabulary {
    Terms,
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

/// Whether a part of a text is an address of a network or of its card. What may stand around one:
/// its key, user, port, prefix, path.
pub(super) fn is_address(text: &str) -> bool {
    let parts = || text.split(|letter: char| "/=@,;|%[]()_".contains(letter));
    parts().any(|part| {
        is_card(part) || part.split('-').any(|part| is_ip(part.trim_end_matches([':', '.'])))
    })
}

fn is_ip(text: &str) -> bool {
    let is_byte = |part: &str| {
        !part.is_empty() && part.len() <= 3 && part.chars().all(|digit| digit.is_ascii_digit())
    };
    let bytes: Vec<&str> = text.split(':').next().unwrap_or_default().split('.').collect();
    let is_long = || {
        text.parse::<Ipv6Addr>().is_ok() && text.contains(|digit: char| digit.is_ascii_hexdigit())
    };
    bytes.len() == 4 && bytes.iter().all(|byte| is_byte(byte)) || is_long()
}

/// Six bytes, or as many more as some networks have.
fn is_card(text: &str) -> bool {
    let is_of = |separator| {
        let bytes = || text.split(separator);
        bytes().count() >= 6
            && bytes()
                .all(|byte| byte.len() == 2 && byte.chars().all(|digit| digit.is_ascii_hexdigit()))
    };
    is_of(':') || is_of('-')
}

/// Without the place of a device, whose digits are hexadecimal: on PCI, `0000:00:1f.3`, or in
/// memory, `fe00b880.mailbox`.
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
        part.chars().zip(FORM.chars()).all(|(letter, form)| {
            if form == 'x' { letter.is_ascii_hexdigit() } else { letter == form }
        })
    };
    let found = (0..text.len()).find_map(|start| {
        Some((start, text.get(start..start + FORM.len())?)).filter(|(_, part)| is_of_form(part))
    });
    found.map_or_else(
        || text.to_owned(),
        |(start, _)| {
            format!("{} {}", &text[..start], &text[start + FORM.len()..]).replace(' ', "-")
        },
    )
}

fn is_plain_part(part: &str, vocabulary: Vocabulary) -> bool {
    if part.len() == 1
        || is_word(part, vocabulary)
        || part
            .strip_prefix("0x")
            .is_some_and(|digits| digits.chars().all(|digit| digit.is_ascii_hexdigit()))
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
            let fits = |run: &&str| {
                is_number(run)
                    || BETWEEN.contains(run)
                    || run.len() > 1 && is_word(run, Vocabulary::Terms)
            };
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
        let end = rest
            .find(|letter: char| letter.is_ascii_digit() != first.is_ascii_digit())
            .unwrap_or(rest.len());
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
            "0-7:1/2",
            "12:34:56",
            "6.1.0-56",
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
            "192.168.7.8/24",
            "192.168.0.2-192.168.0.9",
            "10.20.30.5:/srv",
            "rocky@10.0.0.5/x",
            "ip=192.168.0.8",
            "fe80::5054:ff:fe12:3456",
            "2001:470::5",
            "[2001:470::5]:80",
            "fe80::1%eth0",
            "::ffff:1.2.3.4",
            "00:11:22:33:44:55",
            "00-11-22-33-44-55",
            "52:54:00:12:34:56/x",
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

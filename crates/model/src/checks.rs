// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why each check of a machine matters for latency, in both languages, and what documents it.

use std::collections::BTreeMap;
use std::sync::LazyLock;

const TABLE: &str = include_str!("checks.txt");

/// What is known of a check without a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckText {
    pub why: &'static str,
    pub why_in_japanese: &'static str,
    pub reference: &'static str,
}

static TEXTS: LazyLock<BTreeMap<&str, CheckText>> = LazyLock::new(|| {
    let of_check = |block: &'static str| {
        let mut lines = block.lines();
        let [name, why, why_in_japanese, reference] = std::array::from_fn(|_| lines.next());
        Some((
            name?,
            CheckText { why: why?, why_in_japanese: why_in_japanese?, reference: reference? },
        ))
    };
    TABLE.split("\n\n").filter_map(of_check).collect()
});

/// By the check's name; none of one that is not known.
pub fn check_text(check: &str) -> Option<CheckText> {
    TEXTS.get(check).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_check_has_both_languages_and_a_reference() {
        let names: Vec<&str> =
            TABLE.split("\n\n").skip(1).filter_map(|check| check.lines().next()).collect();
        assert!(names.len() > 60, "{names:?}");
        for name in names {
            let text = check_text(name).unwrap();
            assert!(
                text.why.ends_with('.') && text.why.is_ascii() | text.why.contains('µ'),
                "{name}"
            );
            assert!(text.why_in_japanese.ends_with('。') && !text.reference.is_empty(), "{name}");
        }
        assert_eq!(check_text("of-a-later-version"), None);
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! Folded stacks: a line for each stack, outermost first, with its own ns. What flame graph
//! programs read.

use model::{Account, Span};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Bytes of all stacks that differ. A stack repeats the names of all that it is in, so a file that
/// somebody made for it, of a few megabytes, could become gigabytes.
const MAX_BYTES: usize = 128 << 20;

/// The stacks of these latencies together, with their whole timelines; none where they are longer
/// than any kernel's.
pub fn folded(accounts: &[Account]) -> Option<String> {
    let mut bytes = 0_usize;
    let mut stacks: BTreeMap<String, u64> = BTreeMap::new();
    for account in accounts {
        let timeline = &account.timeline;
        // What runs, outermost first: its end, its stack as text, and its time without what it
        // called.
        let mut open: Vec<(u64, String, u64)> = Vec::new();
        let close =
            |open: &mut Vec<(u64, String, u64)>, now: u64, stacks: &mut BTreeMap<String, u64>| {
                while let Some((_, stack, own)) = open.pop_if(|(end, _, _)| *end <= now) {
                    *stacks.entry(stack).or_default() += own;
                }
            };
        for span @ Span { begin_ns, length_ns, .. } in &timeline.spans {
            close(&mut open, *begin_ns, &mut stacks);
            let name = timeline.name(span).replace([';', ' ', '\n'], "_");
            let stack =
                open.last().map_or_else(|| name.clone(), |(_, above, _)| format!("{above};{name}"));
            if !stacks.contains_key(&stack) {
                bytes += stack.len();
                if bytes > MAX_BYTES {
                    return None;
                }
            }
            if let Some((_, _, own)) = open.last_mut() {
                *own = own.saturating_sub(*length_ns);
            }
            open.push((begin_ns.saturating_add(*length_ns), stack, *length_ns));
        }
        close(&mut open, u64::MAX, &mut stacks);
    }
    let mut text = String::new();
    for (stack, own) in stacks.into_iter().filter(|(_, own)| *own > 0) {
        let _ = writeln!(text, "{stack} {own}");
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Timeline;

    #[test]
    fn stacks_without_end_are_refused() {
        let of = |depth: u32| {
            let spans = (0..depth)
                .map(|depth| Span {
                    depth,
                    name: 0,
                    begin_ns: 0,
                    length_ns: u64::from(9_999 - depth),
                })
                .collect();
            let timeline = Timeline { names: vec!["f".repeat(1_000)], spans, left_out: None };
            let account = Account {
                thread: 0,
                activation: 0,
                latency_ns: 9_999,
                parts: Vec::new(),
                timeline,
                ..Account::default()
            };
            folded(&[account])
        };
        assert_eq!(of(100).map(|text| text.lines().count()), Some(100));
        assert_eq!(of(600), None);
    }
}

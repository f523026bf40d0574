// SPDX-License-Identifier: MIT OR Apache-2.0
//! Folded stacks: a line for each stack, outermost first, with its own ns. What flame graph
//! programs read.

use model::{Account, Span};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The stacks of these latencies together, with their whole timelines.
pub fn folded(accounts: &[Account]) -> String {
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
            if let Some((_, _, own)) = open.last_mut() {
                *own = own.saturating_sub(*length_ns);
            }
            open.push((begin_ns.saturating_add(*length_ns), stack, *length_ns));
        }
        close(&mut open, u64::MAX, &mut stacks);
    }
    stacks.into_iter().filter(|(_, own)| *own > 0).fold(String::new(), |mut text, (stack, own)| {
        let _ = writeln!(text, "{stack} {own}");
        text
    })
}

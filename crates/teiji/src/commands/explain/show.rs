// SPDX-License-Identifier: MIT OR Apache-2.0
//! Accounts as text and as JSON.

use crate::exit::Failure;
use explain::{Account, Part, PartKind};
use model::Recorded;
use serde_json::json;
use std::fmt::Write as _;

pub fn json(recorded: &Recorded, accounts: &[Account]) -> Result<String, Failure> {
    model::document_text(&json!({ "recording": recorded.path, "explained": accounts })).map_err(Failure::run_failed)
}

/// The field's words.
fn words(kind: PartKind) -> &'static str {
    match kind {
        PartKind::InterruptsOff => "interrupts off",
        PartKind::Idle => "idle until the timer interrupt",
        PartKind::TimerPending => "waiting for the timer interrupt",
        PartKind::HardInterrupt => "hard interrupt",
        PartKind::Softirq => "softirqs",
        PartKind::PreemptionOff => "not preemptible",
        PartKind::OtherThread => "another thread first",
        PartKind::LeavingIdle => "leaving idle",
        PartKind::Scheduling => "scheduling",
        PartKind::Switch => "context switch",
        PartKind::Return => "return to user space",
        PartKind::Thread => "the thread itself",
        PartKind::Unattributed => "not seen",
    }
}

fn micros(ns: u64) -> String {
    format!("{}.{:03}", ns / 1_000, ns % 1_000)
}

pub fn text(_: &Recorded, accounts: &[Account]) -> String {
    let mut text = String::new();
    for account in accounts {
        let _ = writeln!(text, "{}", sentence(account));
        for part in &account.parts {
            let _ = writeln!(text, "{}", line(part));
        }
        text.push('\n');
    }
    text.trim_end().to_owned()
}

fn sentence(account: &Account) -> String {
    let worst = account.parts.iter().max_by_key(|part| part.length_ns);
    let what = worst.map_or_else(String::new, |part| {
        let place = part.function.as_ref().map_or_else(String::new, |function| format!(" in {function}"));
        let called = if part.called_by.is_empty() { String::new() } else { format!(", called by {}", part.called_by.join(", ")) };
        let task = part.task.as_ref().map_or_else(String::new, |task| format!(", in task {task}"));
        format!("{} for {} µs{place}{called}{task}", words(part.kind), micros(part.length_ns))
    });
    format!("Activation {}: {} µs: {what}", account.activation, micros(account.latency_ns))
}

fn line(part: &Part) -> String {
    let mostly: Vec<String> = part.mostly.iter().map(|time| format!("{} {}", time.function, micros(time.own_ns))).collect();
    format!(
        "  {:>9} {:>9}  {:<31} {} < {} [{}>{}] intr {} off {:?} {:?} on {:?}; {}",
        micros(part.begin_ns),
        micros(part.length_ns),
        words(part.kind),
        part.function.as_deref().unwrap_or("?"),
        part.called_by.join(" < "),
        part.task.as_deref().unwrap_or("?"),
        part.next_task.as_deref().unwrap_or(""),
        part.interrupted.as_deref().unwrap_or(""),
        part.off_at,
        part.off_before_ns,
        part.on_at,
        mostly.join(", ")
    )
}

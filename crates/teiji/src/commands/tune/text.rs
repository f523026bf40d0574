// SPDX-License-Identifier: MIT OR Apache-2.0
//! What `teiji tune` says: plans as differences, and what became of them.

use crate::output;
use plan::{CpuId, CpuList};
use serde_json::{Value, json};
use std::path::Path;
use tune::{Change, ChangeResult, KilledTuning, TuningPlan};

/// What belongs to a change stands this far in.
pub const INDENT: usize = 4;

pub fn settings(count: usize) -> String {
    if count == 1 { "1 setting".to_owned() } else { format!("{count} settings") }
}

pub fn cpu_words(cpus: &[CpuId]) -> String {
    format!("{} {}", if cpus.len() == 1 { "CPU" } else { "CPUs" }, CpuList::format(cpus))
}

/// The flag that names a root, where it is not this machine's.
pub fn root_flag(root: &Path) -> String {
    if root == Path::new("/") { String::new() } else { format!(" --root {}", output::quoted(root)) }
}

pub fn paragraph(text: &str) -> String {
    output::indented(text, INDENT)
}

/// A paragraph behind an empty line.
pub fn separate(text: &str) -> String {
    format!("\n{}", output::indented(text, 0))
}

/// Each change, with its reason and its risk. The flags are those that make the same plan, beside
/// its CPUs.
pub fn plan(plan: &TuningPlan, flags: &str) -> String {
    let TuningPlan { cpus, changes, .. } = plan;
    let mut text = if changes.is_empty() {
        format!("Nothing to change for {}.\n", cpu_words(cpus))
    } else {
        let list = CpuList::format(cpus);
        format!(
            "{} to change for {}. Apply: sudo teiji tune --cpus {list}{flags}\n",
            settings(changes.len()),
            cpu_words(cpus)
        )
    };
    let mut check = "";
    for Change { file, subject, from, to, check: name, why, risk, .. } in changes {
        if *name != check {
            check = name;
            text += &format!("\n{name}\n{}{}", paragraph(why), paragraph(&format!("Risk: {risk}")));
        }
        let subject = if subject.is_empty() { String::new() } else { format!(" ({subject})") };
        text += &format!(
            "{:INDENT$}/{file}{subject}\n{:INDENT$}- {}\n{:INDENT$}+ {to}\n",
            "",
            "",
            from.trim(),
            ""
        );
    }
    if !plan.not_asked.is_empty() {
        text += &separate(&format!("Only when asked for: --also {}", plan.not_asked.join(",")));
    }
    if !plan.never.is_empty() {
        text += "\nNever changed on this machine\n";
        for never in &plan.never {
            text += &paragraph(&format!("{}: {}", never.setting, never.why));
        }
    }
    for note in &plan.notes {
        text += &separate(&format!("Note: {note}"));
    }
    text
}

/// What was changed, in a line.
pub fn applied(plan: &TuningPlan, results: &[ChangeResult], undo: &str) -> String {
    let changed = results.iter().filter(|result| result.obstacle.is_none()).count();
    let cpus = cpu_words(&plan.cpus);
    match (changed, results.len()) {
        (_, 0) => format!("Nothing to change for {cpus}."),
        (0, all) => format!("None of {} changed for {cpus}.", settings(all)),
        (changed, all) if changed == all => format!("{} changed for {cpus}.{undo}", settings(all)),
        (changed, all) => format!("{changed} of {} changed for {cpus}.{undo}", settings(all)),
    }
}

/// What any call says of a command that was killed.
pub fn killed(killed: KilledTuning, command: &str) -> String {
    let of = format!("of a {command} that was killed");
    match killed {
        KilledTuning::PutBack { back, left: 0 } => {
            format!("note: {} {of} put back", settings(back))
        }
        KilledTuning::PutBack { back, left } => {
            format!(
                "note: {back} of {} {of} put back. The others: sudo teiji tune --undo",
                settings(back + left)
            )
        }
        KilledTuning::NoRights(left) => {
            format!("note: {} {of} left. Put back: sudo teiji tune --undo", settings(left))
        }
    }
}

/// What was put back.
pub fn undone(results: &[ChangeResult], rebooted: bool, forced: bool) -> String {
    if rebooted {
        return "Nothing to put back: the machine was booted since, which undid every change.\n"
            .to_owned();
    }
    let failed = results.iter().filter(|result| result.obstacle.is_some()).count();
    match (results.len(), failed) {
        (0, _) => "Nothing to put back.\n".to_owned(),
        (all, 0) => format!("{} put back.\n", settings(all)),
        (all, failed) if forced => {
            format!("{} of {} put back. The others are forgotten.\n", all - failed, settings(all))
        }
        (all, failed) => output::indented(
            &format!(
                "{} of {} put back. The others stay in the journal: teiji tune --undo tries \
                 again, with --force it puts back what somebody else has changed, and forgets the \
                 rest.",
                all - failed,
                settings(all)
            ),
            0,
        ),
    }
}

pub fn change_as_json(change: &Change) -> Value {
    json!({
        "file": format!("/{}", change.file),
        "subject": (!change.subject.is_empty()).then_some(&change.subject),
        "from": change.from.trim(),
        "to": change.to,
        "check": change.check,
        "why": change.why,
        "risk": change.risk,
    })
}

pub fn plan_as_json(plan: &TuningPlan) -> Value {
    let never: Vec<Value> = plan
        .never
        .iter()
        .map(|never| json!({ "setting": never.setting, "why": never.why }))
        .collect();
    json!({
        "cpus": plan.cpus,
        "changes": plan.changes.iter().map(change_as_json).collect::<Vec<_>>(),
        "only_when_asked": plan.not_asked,
        "never": never,
        "notes": plan.notes,
    })
}

pub fn applied_as_json(plan: &TuningPlan, results: &[ChangeResult]) -> Value {
    let with_result = |(change, result): (&Change, &ChangeResult)| {
        let mut value = change_as_json(change);
        value["changed"] = json!(result.obstacle.is_none());
        value["error"] = json!(result.obstacle.as_ref().map(ToString::to_string));
        value
    };
    json!({
        "cpus": plan.cpus,
        "changes": plan.changes.iter().zip(results).map(with_result).collect::<Vec<_>>(),
    })
}

pub fn undone_as_json(results: &[ChangeResult], rebooted: bool) -> Value {
    let one = |result: &ChangeResult| {
        json!({
            "file": format!("/{}", result.file),
            "put_back": result.obstacle.is_none(),
            "error": result.obstacle.as_ref().map(ToString::to_string),
        })
    };
    json!({ "rebooted": rebooted, "settings": results.iter().map(one).collect::<Vec<_>>() })
}

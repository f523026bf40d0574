// SPDX-License-Identifier: MIT OR Apache-2.0
//! `teiji tune --boot`: the kernel's arguments, printed, written to where the boot loader has them,
//! and put back.

use super::text::{self, INDENT, cpu_words, paragraph, root_flag};
use super::{Args, Signals};
use crate::exit::{CommandResult, DONE, RUN_FAILED};
use crate::output;
use anyhow::anyhow;
use host::HostRoot;
use plan::CpuId;
use serde_json::{Value, json};
use tune::{BootArgument, BootPlan, LoaderError, LoaderFile, LoaderPlace, LoaderUndo, LoaderWrite};

/// A boot loader by its name.
pub fn place(name: &str) -> anyhow::Result<LoaderPlace> {
    crate::commands::named_so(&LoaderPlace::ALL, LoaderPlace::name, name, ("it is one of", ", "))
}

pub fn run(root: &HostRoot, args: &Args, cpus: Option<Vec<CpuId>>) -> CommandResult {
    let plan = BootPlan::new(root, cpus).map_err(|error| anyhow!(error))?;
    if args.write {
        return write(root, args, &plan);
    }
    let (written, place) = (plan.files_with(root), LoaderPlace::where_written(root));
    output::say(&if args.json {
        format!("{:#}\n", as_json(&plan, &written, place))
    } else {
        shown(&plan, &written, place)
    });
    Ok(DONE)
}

fn write(root: &HostRoot, args: &Args, plan: &BootPlan) -> CommandResult {
    // Asked to end, it ends when all is written.
    let _signals = Signals::catch(false)?;
    let written = plan.write(root, args.place)?;
    if args.json {
        say!("{:#}\n", written_as_json(&written));
        return Ok(DONE);
    }
    for note in written.notes.iter().chain(&plan.notes) {
        complain!("note: {note}");
    }
    output::say(&written_text(&written, &root_flag(&args.root)));
    Ok(DONE)
}

pub fn undo(root: &HostRoot, args: &Args) -> CommandResult {
    let _signals = Signals::catch(false)?;
    let undone = LoaderUndo::undo(root, args.force)?;
    for (_, error) in &undone.left {
        complain!("error: not put back: {error}");
    }
    output::say(&if args.json {
        format!("{:#}\n", undone_as_json(&undone))
    } else {
        undone_text(&undone, args.force)
    });
    Ok(if undone.left.is_empty() { DONE } else { RUN_FAILED })
}

/// Lines of a text that another one has not, in their order.
fn lines_without<'a>(text: &'a str, other: &str) -> Vec<&'a str> {
    text.lines().filter(|line| !other.lines().any(|own| own == *line)).collect()
}

/// Files, as what a sentence is about that goes on with what they have.
fn have(files: &[String]) -> String {
    let named: Vec<String> = files.iter().map(|file| format!("/{file}")).collect();
    format!("{} {}", named.join(" and "), if files.len() == 1 { "has" } else { "have" })
}

fn written_text(written: &LoaderWrite, root: &str) -> String {
    let mut text = String::new();
    for LoaderFile { file, backup, from, to } in &written.files {
        text += &output::indented(&format!("Written to /{file}. As it was: /{backup}"), 0);
        for (sign, line) in [('-', lines_without(from, to)), ('+', lines_without(to, from))] {
            text += &line
                .iter()
                .map(|line| format!("{:INDENT$}{sign} {line}\n", ""))
                .collect::<String>();
        }
    }
    // Of GRUB's files, those that need nothing are none of the reader's business.
    let is_said = written.files.is_empty() || written.place != Some(LoaderPlace::Grub);
    if is_said && !written.right.is_empty() {
        text += &output::indented(&format!("{} these arguments already.", have(&written.right)), 0);
    }
    if written.files.is_empty() && written.right.is_empty() {
        text += "Nothing to write: this kernel was booted with these arguments.\n";
    }
    match &written.run {
        Some(run) if written.files.is_empty() => {
            text += &format!("Run, if that was not done since: {run}\n")
        }
        Some(run) => text += &format!("Now run: {run}\n"),
        None => {}
    }
    if !written.files.is_empty() {
        text += &format!(
            "The arguments count from the next boot. Undo: sudo teiji tune --boot --undo{root}\n"
        );
    }
    text
}

fn undone_text(undone: &LoaderUndo, is_forced: bool) -> String {
    let mut text: String =
        undone.back.iter().map(|file| format!("/{file} is as it was.\n")).collect();
    if !undone.left.is_empty() && is_forced {
        text += "What was not put back is forgotten.\n";
    }
    if undone.back.is_empty() && undone.left.is_empty() {
        return "Nothing to put back.\n".to_owned();
    }
    undone.run.iter().for_each(|run| text += &format!("Now run: {run}\n"));
    if !undone.back.is_empty() {
        text += "This counts from the next boot.\n";
    }
    text
}

fn written_as_json(written: &LoaderWrite) -> Value {
    let path = |file: &String| format!("/{file}");
    let file = |one: &LoaderFile| {
        json!({
            "file": path(&one.file),
            "backup": path(&one.backup),
            "from": one.from,
            "to": one.to,
        })
    };
    json!({
        "place": written.place.map(LoaderPlace::name),
        "written": written.files.iter().map(file).collect::<Vec<_>>(),
        "right": written.right.iter().map(path).collect::<Vec<_>>(),
        "run": written.run,
        "notes": written.notes,
    })
}

fn undone_as_json(undone: &LoaderUndo) -> Value {
    let left = |(file, error): &(String, LoaderError)| {
        json!({
            "file": format!("/{file}"),
            "error": error.to_string(),
        })
    };
    json!({
        "put_back": undone.back.iter().map(|file| format!("/{file}")).collect::<Vec<_>>(),
        "not_put_back": undone.left.iter().map(left).collect::<Vec<_>>(),
        "run": undone.run,
    })
}

/// The kernel's arguments, as differences, and the files that have them already.
fn shown(plan: &BootPlan, written: &[String], place: Option<String>) -> String {
    let cpus = cpu_words(&plan.cpus);
    let intro = if plan.changes.is_empty() {
        format!("The kernel's arguments are right for {cpus}.")
    } else if !written.is_empty() {
        format!(
            "The kernel's arguments for {cpus}, against those of this boot. {} them already: \
             they count from the next boot.",
            have(written)
        )
    } else {
        format!(
            "The kernel's arguments for {cpus}, against those of this boot. Nothing is written \
             without --write."
        )
    };
    let mut text = output::indented(&intro, 0);
    for BootArgument { from, to, why } in &plan.changes {
        let from = from.iter().map(|from| format!("{:INDENT$}- {from}\n", "")).collect::<String>();
        text += &format!("\n{from}{:INDENT$}+ {to}\n{}", "", paragraph(why));
    }
    if !plan.kept.is_empty() {
        text += &text::separate(&format!("Right already: {}", plan.kept.join(" ")));
    }
    if !plan.changes.is_empty() && written.is_empty() {
        let place = place.unwrap_or_else(|| {
            "the configuration of this machine's boot loader, then reboot".to_owned()
        });
        text += &text::separate(&format!("Where: {place}"));
    }
    for note in &plan.notes {
        text += &text::separate(&format!("Note: {note}"));
    }
    text
}

fn as_json(plan: &BootPlan, written: &[String], place: Option<String>) -> Value {
    let change = |BootArgument { from, to, why }: &BootArgument| {
        json!({
            "from": from,
            "to": to,
            "why": why,
        })
    };
    json!({
        "cpus": plan.cpus,
        "changes": plan.changes.iter().map(change).collect::<Vec<_>>(),
        "kept": plan.kept,
        "where": place,
        "written": written.iter().map(|file| format!("/{file}")).collect::<Vec<_>>(),
        "notes": plan.notes,
    })
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! Accounts from the kernel's events, as the run itself made them.

use super::{Args, Which};
use crate::exit::{CommandResult, DONE};
use crate::output;
use model::{Account, Recorded, Warning, causes};
use report::Language;
use serde_json::json;

/// Prints what the recording keeps, of all latencies or of those that are asked for.
pub fn show(args: &Args, recorded: &Recorded) -> CommandResult {
    let name = recorded.path.display();
    let warnings = &recorded.document.warnings;
    let why_not = warnings.iter().find_map(|warning| match warning {
        Warning::NotWatched { error } => Some(error),
        _ => None,
    });
    let Some(watched) = &recorded.document.instrument.watched else {
        if let Some(error) = why_not {
            refuse!("{name} has no events of the kernel: {error}");
        }
        if recorded.document.run.explain_above_ns.is_some() {
            refuse!("{name} was cut off before what was explained had been kept");
        }
        refuse!(
            "{name} has no events of the kernel, and was not recorded in the lab, where the same \
             instructions can be run again. Measure with: teiji measure --explain"
        );
    };
    if args.vmlinux.is_some() {
        refuse!("--vmlinux is for recordings of the lab: events name no places in the kernel");
    }
    let explained = recording::read_explained(&recorded.path)?;
    let mut accounts = explained.map_or_else(Vec::new, |explained| explained.accounts);
    choose(&mut accounts, &args.which);
    if accounts.is_empty() && watched.accounted > 0 {
        refuse!(
            "{name} keeps accounts of {} latencies, and of none of these: see the last lines of \
             teiji explain",
            watched.kept
        );
    }
    if args.json {
        let shown = json!({
            "recording": recorded.path, "watched": watched, "causes": causes(&accounts),
            "accounts": accounts,
        });
        output::say(&model::document_text(&shown)?);
    } else {
        output::say(&report::watched_text(&accounts, &recorded.document, Language::English));
    }
    args.files.write(&accounts)?;
    Ok(DONE)
}

/// Keeps those that are asked for; they are the worst first.
fn choose(accounts: &mut Vec<Account>, which: &Which) {
    if let Some(above) = which.above {
        accounts.retain(|account| account.latency_ns > above.0.unsigned_abs());
    }
    if !which.activation.is_empty() {
        accounts.retain(|account| which.activation.contains(&account.activation));
    }
    if let Some(worst) = which.worst {
        accounts.truncate(worst.into());
    }
}

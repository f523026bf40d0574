// SPDX-License-Identifier: MIT OR Apache-2.0
//! `teiji plans`: the shipped plans, and what each measures.

use crate::commands::run;
use crate::exit::{CommandResult, DONE};
use crate::output;
use anyhow::anyhow;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub struct Args {
    /// Print this plan, for a copy to change: teiji plans NAME > my.toml
    #[arg(value_name = "NAME")]
    name: Option<PathBuf>,
}

/// Columns that what is said of a plan stands in.
const INDENT: usize = 4;

pub fn run(args: &Args) -> CommandResult {
    if let Some(name) = &args.name {
        let names = || run::SHIPPED.map(|(name, _)| name).join(", ");
        let text = run::shipped_text(name).ok_or_else(|| {
            anyhow!("unknown shipped plan '{}': expected one of {}", name.display(), names())
        })?;
        output::say(text);
        return Ok(DONE);
    }
    let mut text = String::new();
    // What keeps several from beginning is said once.
    let mut missing: Vec<String> = Vec::new();
    for (name, plan) in run::SHIPPED {
        let size = match run::size(Path::new(name)) {
            Ok((size, None)) => format!("{size}."),
            Ok((size, Some(why))) => {
                let place = missing.iter().position(|known| *known == why).unwrap_or_else(|| {
                    missing.push(why);
                    missing.len() - 1
                });
                format!("{size}. Cannot run here [{}].", place + 1)
            }
            Err(wrong) => format!("Cannot run yet: {wrong}."),
        };
        text += &format!("{name}\n");
        text += &output::indented(&run::about(plan), INDENT);
        text += &output::indented(&size, INDENT);
    }
    for (place, why) in missing.iter().enumerate() {
        text += &format!("\n{}", output::indented(&format!("[{}] {why}", place + 1), 0));
    }
    text += "\nRun one by its name: teiji run NAME\n";
    let flags = "--dry-run lists its runs, --quick is its short form, --here runs it on this \
                 machine";
    text += &output::indented(flags, 2);
    output::say(&text);
    Ok(DONE)
}

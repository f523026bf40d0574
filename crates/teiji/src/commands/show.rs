// SPDX-License-Identifier: MIT OR Apache-2.0
//! `teiji show`: the summary again, from disk, with histogram and claims; of a plan's folder, its table.

use crate::commands::run;
use crate::exit::{Failure, Outcome};
use crate::output;
use anyhow::anyhow;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(clap::Args)]
pub struct Args {
    /// Recordings (NAME.teiji), or the folder of a plan
    #[arg(required = true, value_name = "REC|DIR")]
    recordings: Vec<PathBuf>,
    /// Of a plan: comma-separated values, ns
    #[arg(long, group = "form")]
    csv: bool,
    /// Of a plan: a table of Markdown
    #[arg(long, group = "form")]
    md: bool,
    /// Of a plan: JSON
    #[arg(long, group = "form")]
    json: bool,
    /// Of a plan: lay beside it what others have measured under the same load, level, period and patch: `published` for the
    /// figures that come along (plans/published.csv), or a file like it
    #[arg(long, value_name = "published|FILE.csv")]
    beside: Option<PathBuf>,
}

pub fn run(args: &Args) -> Outcome {
    if let [folder] = args.recordings.as_slice()
        && run::is_folder(folder)
    {
        let mut matrix = run::table(folder, run::Wanted::Figures).map_err(Failure::bad_input)?;
        matrix.published = args.beside.as_deref().map(super::published).transpose().map_err(Failure::bad_input)?;
        output::say(&match (args.csv, args.md, args.json) {
            (true, ..) => matrix.csv(),
            (_, true, _) => matrix.markdown(),
            (.., true) => recording::document_text(&matrix.json()).map_err(Failure::not_carried_out)?,
            _ => matrix.text(),
        });
        return Ok(ExitCode::SUCCESS);
    }
    if args.csv || args.md || args.json || args.beside.is_some() {
        return Err(Failure::bad_input(anyhow!("--csv, --md, --json and --beside are for one folder of a plan")));
    }
    let recordings = super::read_with_claims(&args.recordings)?;
    for (position, (recorded, claims)) in recordings.iter().enumerate() {
        if recordings.len() > 1 {
            output::say(&format!("{}== {} ==", if position > 0 { "\n" } else { "" }, recorded.path.display()));
        }
        output::say(&report::terminal_summary(recorded));
        output::say(&report::terminal_claims(recorded, claims));
    }
    Ok(ExitCode::SUCCESS)
}

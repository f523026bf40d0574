// SPDX-License-Identifier: MIT OR Apache-2.0
//! `teiji report`: one offline page of any number of recordings, or of a plan.

use crate::commands::run as plans;
use crate::exit::{Failure, Outcome};
use crate::output;
use anyhow::{Context, anyhow};
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(clap::Args)]
pub struct Args {
    /// Recordings (NAME.teiji), several laid over one another; or the folder of a plan
    #[arg(required = true, value_name = "REC|DIR")]
    recordings: Vec<PathBuf>,
    /// The page
    #[arg(short, long, value_name = "FILE", default_value = "report.html")]
    output: PathBuf,
    /// Write the same charts as SVG files into this folder
    #[arg(long, value_name = "DIR")]
    svg: Option<PathBuf>,
    /// Of a plan: lay beside it what others have measured, as in `teiji show`
    #[arg(long, value_name = "published|FILE.csv")]
    beside: Option<PathBuf>,
}

/// What is written.
struct Report {
    page: String,
    charts: Vec<(String, String)>,
    verdict: String,
}

pub fn run(args: &Args) -> Outcome {
    let report = report(args)?;
    output::write_whole(&args.output, &report.page).map_err(Failure::bad_input)?;
    if let Some(folder) = &args.svg {
        std::fs::create_dir_all(folder)
            .with_context(|| format!("cannot make the folder {}", folder.display()))
            .map_err(Failure::bad_input)?;
        for (name, content) in report.charts {
            output::write_whole(&folder.join(name), &content).map_err(Failure::bad_input)?;
        }
    }
    output::say(&report.verdict);
    output::say(&format!("Report: {}", args.output.display()));
    Ok(ExitCode::SUCCESS)
}

fn report(args: &Args) -> Result<Report, Failure> {
    let command_line = output::command_line().join(" ");
    if let [folder] = args.recordings.as_slice()
        && plans::is_folder(folder)
    {
        let mut matrix = plans::table(folder).map_err(Failure::bad_input)?;
        matrix.published = args.beside.as_deref().map(super::published).transpose().map_err(Failure::bad_input)?;
        let plan = plans::text(folder).map_err(Failure::bad_input)?;
        let charts = if args.svg.is_some() { matrix.svg_charts() } else { Vec::new() };
        return Ok(Report { page: matrix.html(&plan, &command_line), charts, verdict: matrix.verdict() });
    }
    if args.beside.is_some() {
        return Err(Failure::bad_input(anyhow!("--beside is for one folder of a plan")));
    }
    if let Some(folder) = args.recordings.iter().find(|path| plans::is_folder(path)) {
        let name = folder.display();
        let error =
            anyhow!("{name} is the folder of a plan, and has a report of its own; beside others, name its runs: {name}/*.teiji");
        return Err(Failure::bad_input(error));
    }
    let (recordings, claims): (Vec<_>, Vec<_>) = super::read_with_claims(&args.recordings)?.into_iter().unzip();
    let charts = if args.svg.is_some() { ::report::svg_charts(&recordings, &claims) } else { Vec::new() };
    Ok(Report { page: ::report::html(&recordings, &claims, &command_line), charts, verdict: ::report::verdict(&recordings) })
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! `teiji show`: the summary again, from disk, with histogram and inferences; of a plan's folder,
//! its table.

use crate::commands::joint::table;
use crate::commands::plan_limits::{ended, judge_all};
use crate::commands::{compare, import, named, published, recordings, run};
use crate::exit::{CommandResult, Failure};
use crate::output;
use crate::suggestion::{Word, command};
use ::report::{ChartOptions, Figure, Language, Report};
use anyhow::Context;
use model::Recorded;
use plan::Limit;
use std::path::PathBuf;
use std::slice::from_ref;

#[derive(clap::Args)]
pub struct Args {
    /// Recordings (NAME.teiji) and folders of plans; with a folder among them, all in one table.
    /// Outputs of other programs too, as `teiji import` reads them
    #[arg(required = true, value_name = "REC|DIR|FILE")]
    recordings: Vec<PathBuf>,
    /// Comma-separated values, ns: a row per thread, or per combination of a plan
    #[arg(long, group = "form")]
    csv: bool,
    /// The same rows in tables of Markdown, µs
    #[arg(long, group = "form")]
    md: bool,
    /// JSON: run.json, or an array of them for several recordings, or the table of a plan
    #[arg(long, group = "form")]
    json: bool,
    /// One number per recording: min, mean, sd, max, peak-to-peak, p99.9 or any quantile, µs; due,
    /// on_time, late, skipped or lost. Latencies are those of the worst thread, counts of all
    /// threads, with skipped ones counted in, as in `teiji gate`. Jitter has its sign, as in
    /// tables; limits judge its size
    #[arg(long, value_name = "FIGURE", group = "form")]
    figure: Option<Figure>,
    /// Check every recording against this limit, such as 'max<100us'; may be given several times.
    /// Limits and exit code are those of `teiji gate`
    #[arg(long = "limit", value_name = "LIMIT")]
    limits: Vec<Limit>,
    /// For a plan: add published figures of the same load, level, period and patch: `published`
    /// for the shipped ones (plans/published.csv), or a file in that format
    #[arg(long, value_name = "published|FILE.csv")]
    beside: Option<PathBuf>,
    /// For a plan: the values of this factor side by side, and whether each differs significantly
    /// from the first. A factor that follows from it belongs to it, as a priority from a policy,
    /// and several can be named as one: kernel,append
    #[arg(long, value_name = "FACTOR", conflicts_with_all = ["form", "beside"])]
    by: Option<String>,
}

pub fn run(mut args: Args) -> CommandResult {
    let named = args.recordings.clone();
    let _made = import::in_place([&mut args.recordings], Default::default())?;
    let args = &args;
    let is_text = !(args.csv || args.md || args.json);
    if named::has_folder(&args.recordings) {
        if args.figure.is_some() {
            refuse!("--figure is for recordings: name those in the folder, DIR/*.teiji");
        }
        let gate = judge_all(&args.recordings, &args.limits)?;
        if !args.limits.is_empty() && is_text {
            output::say(&gate.text(Language::English));
        }
        let mut matrix = table(&args.recordings, run::TableDetail::Figures)?;
        matrix.published = published::asked(args.beside.as_deref())?;
        if let Some(factor) = &args.by {
            let (matrix, factor) = matrix.joined(factor);
            let text = matrix.by(&factor, Language::English).map_err(anyhow::Error::msg)?;
            let sets = matrix.alike_by(&factor, Language::English).map_err(anyhow::Error::msg)?;
            output::say(&text);
            for set in &sets {
                output::say("");
                output::say(&compare::brief(set)?);
            }
            return Ok(ended(&args.limits, &gate));
        }
        output::say(&match (args.csv, args.md, args.json) {
            (true, ..) => matrix.csv(),
            (_, true, _) => matrix.markdown(Language::English),
            (.., true) => model::document_text(&matrix.json())?,
            _ => matrix.painted(output::paint(), Language::English),
        });
        return Ok(ended(&args.limits, &gate));
    }
    if args.beside.is_some() || args.by.is_some() {
        // What cannot be read is said first.
        recordings::read(&args.recordings)?;
        refuse!("--beside and --by are for folders of plans");
    }
    if args.figure.is_some() || !is_text {
        let gate = judge_all(&args.recordings, &args.limits)?;
        let read = || recordings::read(&args.recordings);
        output::say(&match (args.figure, args.csv, args.md) {
            (Some(figure), ..) => one_figure(figure, &args.recordings)?,
            (_, true, _) => report::threads_csv(&read()?),
            (.., true) => report::threads_markdown(&read()?, Language::English),
            _ => documents(&read()?)?,
        });
        return Ok(ended(&args.limits, &gate));
    }
    let (recordings, gate) =
        recordings::read_and_judge(&args.recordings, &args.limits, &recordings::with_names)?;
    if !args.limits.is_empty() {
        output::say(&gate.text(Language::English));
    }
    let options = ChartOptions::default();
    for (position, (recorded, inferences)) in recordings.iter().enumerate() {
        if recordings.len() > 1 {
            say!("{}== {} ==", if position > 0 { "\n" } else { "" }, output::path(&recorded.path));
        }
        let report = Report::new(from_ref(recorded), from_ref(inferences), &options);
        output::say(&report.terminal_summary(output::paint(), Language::English));
        output::say(&report.terminal_inference(Language::English));
    }
    let mut words: Vec<&dyn Word> = vec![&"report"];
    words.extend(named.iter().map(|path| path as &dyn Word));
    say!("\nNext: {}", command(&words));
    Ok(ended(&args.limits, &gate))
}

/// What stands alone is not in an array.
fn documents(recordings: &[Recorded]) -> serde_json::Result<String> {
    let are_own = recordings.iter().all(|one| one.document.imported.is_none());
    match recordings {
        [one] if are_own => model::document_text(&one.document),
        [one] => model::document_text(&one.document.without_unknown()?),
        several if are_own => {
            model::document_text(&several.iter().map(|one| &one.document).collect::<Vec<_>>())
        }
        several => {
            let all = several.iter().map(|one| one.document.without_unknown());
            model::document_text(&all.collect::<serde_json::Result<Vec<_>>>()?)
        }
    }
}

fn one_figure(figure: Figure, paths: &[PathBuf]) -> Result<String, Failure> {
    let mut numbers = Vec::new();
    for examined in recordings::as_measured(paths, &figure.exact_request())? {
        let name = examined.recorded.path.display().to_string();
        if let Some(unit) = report::unit_assumed(&examined.recorded.document, Language::English) {
            complain!("{name}: {unit}");
        }
        let number = figure
            .value(&examined)
            .with_context(|| format!("{name} {}", figure.why_none(&examined)));
        numbers.push(number?);
    }
    Ok(numbers.join("\n"))
}

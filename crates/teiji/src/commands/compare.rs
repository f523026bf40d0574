// SPDX-License-Identifier: MIT OR Apache-2.0
//! `teiji compare`: what differs between recordings, with confidence, and what else differs between them.

use crate::exit::{Failure, Outcome};
use crate::output;
use ::report::{Comparisons, Language, Repeats, speaking, time_of_groups};
use anyhow::anyhow;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(clap::Args)]
pub struct Args {
    /// Recordings (NAME.teiji). Each is compared with the first; with --with, all of these are repeats of one another
    #[arg(required = true, value_name = "REC")]
    recordings: Vec<PathBuf>,
    /// Recordings that are repeats of one another, with commas between them, compared with those above; may be given several times
    #[arg(long, value_name = "REC,...", value_parser = paths)]
    with: Vec<Paths>,
    /// Compare though clocks, probes, intervals or kinds of time differ
    #[arg(long)]
    anyway: bool,
    /// Print JSON
    #[arg(long, group = "form")]
    json: bool,
    /// Print Markdown
    #[arg(long, group = "form")]
    md: bool,
    /// Write one offline page with the distributions laid over one another into this file
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Language of text, Markdown and page: en, or ja for Japanese; JSON is in English
    #[arg(long, value_name = "LANG", default_value = "en", value_parser = super::language)]
    lang: Language,
}

/// Recordings of one group.
#[derive(Clone)]
struct Paths(Vec<PathBuf>);

fn paths(text: &str) -> Result<Paths, String> {
    let paths: Vec<PathBuf> = text.split(',').filter(|path| !path.is_empty()).map(PathBuf::from).collect();
    if paths.is_empty() { Err("no recording is named".to_owned()) } else { Ok(Paths(paths)) }
}

pub fn run(args: &Args) -> Outcome {
    let groups = groups(args)?;
    if let Some(path) = &args.html {
        let page = speaking(args.lang, || Ok(compared(args, &groups)?.html(&groups, &output::command_line().join(" "))))?;
        output::write_whole(path, &page).map_err(Failure::bad_input)?;
    }
    // What programs read is in one language, whatever people read.
    let language = if args.json { Language::English } else { args.lang };
    let said = speaking(language, || {
        let compared = compared(args, &groups)?;
        match (args.json, args.md) {
            (true, _) => recording::document_text(&compared.json()).map_err(Failure::not_carried_out),
            (_, true) => Ok(compared.markdown()),
            _ => Ok(time_of_groups(&groups).into_iter().chain([compared.text()]).collect::<Vec<_>>().join("\n")),
        }
    })?;
    output::say(&said);
    Ok(ExitCode::SUCCESS)
}

fn compared(args: &Args, groups: &[Repeats]) -> Result<Comparisons, Failure> {
    Comparisons::of(groups, args.anyway).map_err(|why| Failure::bad_input(anyhow!(why)))
}

fn groups(args: &Args) -> Result<Vec<Repeats>, Failure> {
    if !args.with.is_empty() {
        let named = std::iter::once(&args.recordings).chain(args.with.iter().map(|Paths(paths)| paths));
        return named.map(|paths| super::examine(paths).map(Repeats::of)).collect();
    }
    if args.recordings.len() < 2 {
        return Err(Failure::bad_input(anyhow!("one recording has nothing to be compared with: name another")));
    }
    args.recordings.iter().map(|path| super::examine(std::slice::from_ref(path)).map(Repeats::of)).collect()
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! `teiji report`: one offline page of any number of recordings, or of a plan.

use crate::commands::run as plans;
use crate::exit::{Failure, Outcome};
use crate::output;
use ::report::{Language, speaking};
use anyhow::{Context, anyhow};
use std::path::{Path, PathBuf};
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
    /// Write the same content as Markdown, for an issue or a wiki, into this file; with --svg, its charts are linked
    #[arg(long, value_name = "FILE")]
    md: Option<PathBuf>,
    /// Of a plan: lay beside it what others have measured, as in `teiji show`
    #[arg(long, value_name = "published|FILE.csv")]
    beside: Option<PathBuf>,
    /// Language of the page: en, or ja for Japanese
    #[arg(long, value_name = "LANG", default_value = "en", value_parser = super::language)]
    lang: Language,
}

/// What is written.
struct Report {
    page: String,
    charts: Vec<(String, String)>,
    markdown: Option<String>,
    verdict: String,
}

pub fn run(args: &Args) -> Outcome {
    let report = speaking(args.lang, || report(args))?;
    let mut files = vec![(args.output.clone(), report.page)];
    if let Some(folder) = &args.svg {
        std::fs::create_dir_all(folder)
            .with_context(|| format!("cannot make the folder {}", folder.display()))
            .map_err(Failure::bad_input)?;
        files.extend(report.charts.into_iter().map(|(name, content)| (folder.join(name), content)));
    }
    files.extend(args.md.clone().zip(report.markdown));
    let files: Vec<(&Path, &str)> = files.iter().map(|(path, content)| (path.as_path(), content.as_str())).collect();
    output::write_together(&files).map_err(Failure::bad_input)?;
    output::say(&report.verdict);
    output::say(&format!("Report: {}", args.output.display()));
    Ok(ExitCode::SUCCESS)
}

fn report(args: &Args) -> Result<Report, Failure> {
    let command_line = output::command_line().join(" ");
    let pictures = pictures(args);
    if let [folder] = args.recordings.as_slice()
        && plans::is_folder(folder)
    {
        let mut matrix = plans::table(folder, plans::Wanted::Claims).map_err(Failure::bad_input)?;
        matrix.published = args.beside.as_deref().map(super::published).transpose().map_err(Failure::bad_input)?;
        let plan = plans::text(folder).map_err(Failure::bad_input)?;
        let charts = if args.svg.is_some() { matrix.svg_charts() } else { Vec::new() };
        let markdown = args.md.as_ref().map(|_| matrix.page_as_markdown(&plan, &command_line, pictures.as_deref()));
        return Ok(Report { page: matrix.html(&plan, &command_line), charts, markdown, verdict: matrix.verdict() });
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
    let markdown = args.md.as_ref().map(|_| ::report::markdown(&recordings, &claims, &command_line, pictures.as_deref()));
    let page = ::report::html(&recordings, &claims, &command_line);
    Ok(Report { page, charts, markdown, verdict: ::report::verdict(&recordings) })
}

/// A part of a link: what could end it, or is not the same everywhere, by its bytes.
fn encoded(part: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    part.bytes().map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

/// Where the charts lie, seen from the Markdown that links them.
fn pictures(args: &Args) -> Option<String> {
    let absolute = |path: &Path| std::path::absolute(path).ok();
    let (charts, text) = (absolute(args.svg.as_deref()?)?, absolute(args.md.as_deref()?)?);
    let folder = text.parent()?;
    let shared = charts.components().zip(folder.components()).take_while(|(one, other)| one == other).count();
    let up = folder.components().skip(shared).map(|_| "..".to_owned());
    let down = charts.components().skip(shared).map(|part| encoded(&part.as_os_str().to_string_lossy()));
    let link = up.chain(down).collect::<Vec<_>>().join("/");
    Some(if link.is_empty() { ".".to_owned() } else { link })
}

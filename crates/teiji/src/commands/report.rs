// SPDX-License-Identifier: MIT OR Apache-2.0
//! `teiji report`: one offline page of any number of recordings, or of a plan.

use crate::commands::chart_flags::ChartFlags;
use crate::commands::joint::table;
use crate::commands::plan_limits::{ended, judge_all};
use crate::commands::{anonymise, import, named, published, recordings, run as plans};
use crate::exit::{CommandResult, Failure};
use crate::output;
use crate::overwrite::{self, FileKind, marked};
use ::report::{ChartOptions, GateReport, Language};
use anyhow::Context;
use model::{Anonymiser, Explained, Pseudonyms};
use plan::Limit;
use recording::{Recording, RecordingError};
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub struct Args {
    /// Recordings (NAME.teiji), overlaid; with the folder of a plan among them, all in one table.
    /// Outputs of other programs too, as `teiji import` reads them
    #[arg(required = true, value_name = "REC|DIR|FILE")]
    recordings: Vec<PathBuf>,
    /// The page, HTML
    #[arg(short, long, value_name = "FILE.html", default_value = "report.html")]
    output: PathBuf,
    /// Replace any file; without this, only earlier output of the same kind
    #[arg(long)]
    force: bool,
    /// Write the same charts as SVG files into this folder
    #[arg(long, value_name = "DIR")]
    svg: Option<PathBuf>,
    /// Write the same content as Markdown, for an issue or a wiki, into this file; with --svg, its
    /// charts are linked
    #[arg(long, value_name = "FILE")]
    md: Option<PathBuf>,
    /// For a plan: add published figures, as in `teiji show`
    #[arg(long, value_name = "published|FILE.csv")]
    beside: Option<PathBuf>,
    /// Check every recording against this limit and draw it as a line, such as 'max<100us'; may be
    /// given several times. Limits and exit code are those of `teiji gate`
    #[arg(long = "limit", value_name = "LIMIT")]
    limits: Vec<Limit>,
    /// Replace names of hosts, users, processes and files by pseudonyms, as `teiji anonymise` does
    #[arg(long)]
    anonymous: bool,
    #[command(flatten)]
    charts: ChartFlags,
    /// Language of the page: en, or ja for Japanese
    #[arg(long, value_name = "LANG", default_value = "en", value_parser = super::language)]
    lang: Language,
}

/// What an anonymous page says it was made by, in the place of a command line with paths.
const ANONYMOUS: &str = "teiji report --anonymous";

/// What is written.
struct Report {
    page: String,
    charts: Vec<(String, String)>,
    markdown: Option<String>,
    headline: String,
    gate: GateReport,
    /// Whether a recording among them has names.
    has_names: bool,
}

pub fn run(mut args: Args) -> CommandResult {
    let _made = import::in_place([&mut args.recordings], Default::default())?;
    let args = &args;
    overwrite::check_page_name(&args.output)?;
    let page = (args.output.as_path(), FileKind::Page);
    let named =
        std::iter::once(page).chain(args.md.as_deref().map(|text| (text, FileKind::Markdown)));
    overwrite::refuse_foreign(named, args.force)?;
    let report = report(args)?;
    let mut files = vec![(args.output.clone(), report.page)];
    let new_folder = args.svg.as_ref().filter(|folder| !folder.exists());
    if let Some(folder) = &args.svg {
        std::fs::create_dir_all(folder)
            .with_context(|| format!("cannot make the folder {}", folder.display()))?;
        let charts =
            report.charts.into_iter().map(|(name, content)| (folder.join(name), marked(&content)));
        files.extend(charts);
        let charts = files.iter().skip(1).map(|(path, _)| (path.as_path(), FileKind::Chart));
        overwrite::refuse_foreign(charts, args.force)?;
    }
    files.extend(args.md.clone().zip(report.markdown.as_deref().map(marked)));
    let files: Vec<(&Path, &str)> =
        files.iter().map(|(path, content)| (path.as_path(), content.as_str())).collect();
    output::write_together(&files).inspect_err(|_| {
        // Empty: none of the charts is in it.
        let _ = new_folder.map(std::fs::remove_dir);
    })?;
    output::say(&report.headline);
    if !args.limits.is_empty() {
        output::say(&report.gate.text(args.lang));
    }
    output::say(&::report::page_is_in(&args.output, args.lang));
    if report.has_names {
        output::say(&::report::has_names("--anonymous", args.lang));
    }
    Ok(ended(&args.limits, &report.gate))
}

fn report(args: &Args) -> Result<Report, Failure> {
    let command_line =
        if args.anonymous { ANONYMOUS.to_owned() } else { output::command_line().join(" ") };
    let pictures = pictures(args);
    if named::has_folder(&args.recordings) {
        if args.anonymous {
            refuse!("--anonymous is for recordings: name those in the folder, DIR/*.teiji");
        }
        let mut matrix = table(&args.recordings, plans::TableDetail::Inference)?;
        matrix.published = published::asked(args.beside.as_deref())?;
        let gate = judge_all(&args.recordings, &args.limits)?;
        matrix.options = ChartOptions {
            gate: gate.gate.clone(),
            limits: if args.limits.is_empty() {
                matrix.limits.clone()
            } else {
                args.limits.clone()
            },
            ..args.charts.options()
        };
        let plan = plan_texts(&args.recordings)?;
        let charts = if args.svg.is_some() { matrix.svg_charts(args.lang) } else { Vec::new() };
        let markdown = args
            .md
            .as_ref()
            .map(|_| matrix.page_as_markdown(&plan, &command_line, pictures.as_deref(), args.lang));
        let page = matrix.html(&plan, &command_line, args.lang);
        let headline = matrix.headline_text(output::paint(), args.lang);
        return Ok(Report { page, charts, markdown, headline, gate, has_names: true });
    }
    if args.beside.is_some() {
        refuse!("--beside is for folders of plans");
    }
    let pseudonyms = if args.anonymous { Some(anonymise::pseudonyms()?) } else { None };
    let open = |path: &Path| match &pseudonyms {
        None => recordings::with_names(path),
        Some(pseudonyms) => Recording::open(path)
            .map(|one| (one.anonymous(pseudonyms), recording_name(path, pseudonyms))),
    };
    let (read, gate) = recordings::read_and_judge(&args.recordings, &args.limits, &open)?;
    let (mut recordings, inferences): (Vec<_>, Vec<_>) = read.into_iter().unzip();
    for (recorded, path) in recordings.iter_mut().zip(&args.recordings) {
        recorded.explained = explained_of(path, pseudonyms.as_ref());
    }
    let options = ChartOptions {
        limits: args.limits.clone(),
        gate: gate.gate.clone(),
        ..args.charts.options()
    };
    let has_names = recordings.iter().any(|recorded| !recorded.document.anonymous);
    let report = ::report::Report::new(&recordings, &inferences, &options);
    let charts = if args.svg.is_some() { report.svg_charts(args.lang) } else { Vec::new() };
    let markdown =
        args.md.as_ref().map(|_| report.markdown(&command_line, pictures.as_deref(), args.lang));
    let page = report.html(&command_line, args.lang);
    let headline = report.headline(output::paint(), args.lang);
    Ok(Report { page, charts, markdown, headline, gate, has_names })
}

/// What was explained of a recording. It is no part of what was measured: where it cannot be read
/// the rest is shown.
fn explained_of(path: &Path, pseudonyms: Option<&Pseudonyms>) -> Option<Explained> {
    let read = || {
        let explained = recording::read_explained(path)?;
        let Some(pseudonyms) = pseudonyms else { return Ok(explained) };
        let named = Recording::open(path)?;
        Ok(explained
            .map(|explained| Anonymiser::new(pseudonyms, named.document()).explained(explained)))
    };
    match read() {
        Ok(explained) => explained,
        Err::<_, RecordingError>(error) => {
            complain!("Not shown: {error}");
            None
        }
    }
}

/// What a recording is called where its name is not to be seen.
fn recording_name(path: &Path, pseudonyms: &Pseudonyms) -> PathBuf {
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
    format!("{}.teiji", pseudonyms.of("recording", &name)).into()
}

/// The plans as run; of several, each below its path.
fn plan_texts(paths: &[PathBuf]) -> Result<String, Failure> {
    let folders = named::plans(paths)?;
    let text = |folder: &PathBuf| {
        let text = plans::text(folder)?;
        Ok(if folders.len() > 1 { format!("# {}\n\n{text}\n", folder.display()) } else { text })
    };
    folders.iter().map(text).collect()
}

/// A part of a link: what could end it, or is not the same everywhere, by its bytes.
fn encoded(part: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    part.bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

/// Where the charts lie, seen from the Markdown that links them.
fn pictures(args: &Args) -> Option<String> {
    let absolute = |path: &Path| std::path::absolute(path).ok();
    let (charts, text) = (absolute(args.svg.as_deref()?)?, absolute(args.md.as_deref()?)?);
    let folder = text.parent()?;
    let shared = charts
        .components()
        .zip(folder.components())
        .take_while(|(one, other)| one == other)
        .count();
    let up = folder.components().skip(shared).map(|_| "..".to_owned());
    let down =
        charts.components().skip(shared).map(|part| encoded(&part.as_os_str().to_string_lossy()));
    let link = up.chain(down).collect::<Vec<_>>().join("/");
    Some(if link.is_empty() { ".".to_owned() } else { link })
}

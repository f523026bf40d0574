// SPDX-License-Identifier: MIT OR Apache-2.0
//! `teiji compare`: what differs between recordings, with confidence, and what else differs between
//! them.

use crate::commands::joint::{Alike, Joint, Row};
use crate::commands::run::{self, Begun};
use crate::commands::{import, named, recordings};
use crate::exit::{CommandResult, DONE, Failure};
use crate::output;
use crate::overwrite::{self, FileKind};
use crate::suggestion::{Word, command};
use ::report::{AlikeRows, Comparisons, Language, Repeats};
use anyhow::{anyhow, ensure};
use recording::{Recording, RecordingError};
use serde_json::json;
use stats::ExactRequest;
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct Args {
    /// Recordings (NAME.teiji). Each is compared with the first; with --with, all of these are
    /// repeats of one another. With folders of plans among them, runs are compared that differ
    /// in the kernel alone, or else in the first setting that differs. Outputs of other programs
    /// too, as `teiji import` reads them
    #[arg(required = true, value_name = "REC|DIR|FILE")]
    recordings: Vec<PathBuf>,
    /// Recordings that are repeats of one another, separated by commas, compared with those above;
    /// may be given several times
    #[arg(long, value_name = "REC,...", value_parser = paths)]
    with: Vec<Paths>,
    /// Compare even if clocks, probes, intervals or kinds of time differ
    #[arg(long)]
    anyway: bool,
    /// Print JSON
    #[arg(long, group = "form")]
    json: bool,
    /// Print Markdown
    #[arg(long, group = "form")]
    md: bool,
    /// Write one offline page with the distributions overlaid to this file
    #[arg(long, value_name = "FILE.html")]
    html: Option<PathBuf>,
    /// Replace any file; without this, only an earlier page of teiji's
    #[arg(long, requires = "html")]
    force: bool,
    /// Language of text, Markdown and page: en, or ja for Japanese; JSON is in English
    #[arg(long, value_name = "LANG", default_value = "en", value_parser = super::language)]
    lang: Language,
}

/// Recordings of one group.
#[derive(Clone)]
struct Paths(Vec<PathBuf>);

fn paths(text: &str) -> anyhow::Result<Paths> {
    let paths: Vec<PathBuf> =
        text.split(',').filter(|path| !path.is_empty()).map(PathBuf::from).collect();
    ensure!(!paths.is_empty(), "no recording is named");
    Ok(Paths(paths))
}

impl Args {
    /// Of what is wrong: a program that asks for JSON reads that in English too.
    fn language(&self) -> Language {
        if self.json { Language::English } else { self.lang }
    }
}

pub fn run(mut args: Args) -> CommandResult {
    let with = args.with.iter_mut().map(|Paths(paths)| paths);
    let _made =
        import::in_place(std::iter::once(&mut args.recordings).chain(with), Default::default())?;
    let args = &args;
    if let Some(path) = &args.html {
        overwrite::check_comparison_name(path)?;
        overwrite::refuse_foreign([(path.as_path(), FileKind::Page)], args.force)?;
    }
    if args.with.is_empty() && named::has_folder(&args.recordings) {
        return by_factor(args);
    }
    let groups = groups(args)?;
    let compared = compared(args, &groups, args.anyway)?.map_err(anyhow::Error::msg)?;
    output::say(&match (args.json, args.md) {
        (true, _) => model::document_text(&compared.json())?,
        (_, true) => compared.markdown(args.lang),
        _ => {
            let text = compared.painted(output::paint(), args.lang);
            let time = compared.what_time_is(args.lang).map(str::to_owned);
            std::iter::once(text).chain(time).chain(causes(args)).collect::<Vec<_>>().join("\n")
        }
    });
    Ok(DONE)
}

/// Of two recordings of which latencies were explained: which causes one has and the other lacks.
fn causes(args: &Args) -> Option<String> {
    let [one, other] = args.recordings.as_slice() else { return None };
    let explained = |path: &PathBuf| recording::read_explained(path).ok().flatten();
    let (one, other) = ((one, explained(one)?), (other, explained(other)?));
    let name = |path: &PathBuf| path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    ::report::compared_causes(
        (&name(one.0), &one.1.accounts),
        (&name(other.0), &other.1.accounts),
        args.lang,
    )
}

/// The comparison, and its page where one was asked for; `anyway`, whatever is against it, which is
/// said. Or why they cannot be compared.
fn compared(
    args: &Args,
    groups: &[Repeats],
    anyway: bool,
) -> Result<Result<Comparisons, String>, Failure> {
    let compared = match Comparisons::new(groups, anyway, args.language()) {
        Ok(compared) => compared,
        Err(why) => return Ok(Err(why)),
    };
    if let Some(path) = &args.html {
        let page = compared.html(groups, &output::command_line().join(" "), args.lang);
        output::write_whole(path, &page)?;
    }
    Ok(Ok(compared))
}

fn groups(args: &Args) -> Result<Vec<Repeats>, Failure> {
    if !args.with.is_empty() {
        let named =
            std::iter::once(&args.recordings).chain(args.with.iter().map(|Paths(paths)| paths));
        let of_one = |paths| {
            let found: Vec<PathBuf> =
                named::recordings(paths)?.0.into_iter().map(|one| one.path).collect();
            repeats(&found)
        };
        return named.map(|paths: &Vec<PathBuf>| of_one(paths)).collect();
    }
    if args.recordings.len() < 2 {
        refuse!("only one recording: name another to compare with");
    }
    args.recordings.iter().map(|path| repeats(std::slice::from_ref(path))).collect()
}

/// Those of these recordings that are phases of one run together.
fn repeats(found: &[PathBuf]) -> Result<Repeats, Failure> {
    let pools = recordings::pools(found)?;
    let examine = |pool: &Vec<PathBuf>| recordings::examine_pool(pool, &ExactRequest::default());
    pools.iter().map(examine).collect::<Result<_, _>>().map(Repeats::new)
}

/// What is significant between the rows of a plan and the first of them, in brief.
pub fn brief(alike: &AlikeRows<'_>) -> Result<String, Failure> {
    let group =
        |(name, recordings): &(String, &[PathBuf])| Ok(repeats(recordings)?.called(name.clone()));
    let groups: Vec<Repeats> = alike.rows.iter().map(group).collect::<Result<_, Failure>>()?;
    Ok(Comparisons::brief(&groups, alike.is_on_cores, Language::English))
}

/// A heading, in lines that fit a terminal.
fn headed(heading: &str) -> String {
    output::wrapped(&format!("== {heading} =="), 0).join("\n")
}

/// One comparison for each set of rows that differ in nothing but the first factor, such as the
/// kernel.
fn by_factor(args: &Args) -> CommandResult {
    let joint = Joint::read(&args.recordings)?;
    let bad = |why: String| refused(&why, &joint, args);
    let Some((factor, sets)) = joint.alike() else {
        refuse!("all recordings have the same settings: name some of another kernel, for example");
    };
    let (mut sets, single): (Vec<_>, Vec<_>) = sets.into_iter().partition(|set| set.rows.len() > 1);
    if sets.is_empty() {
        return Err(bad(format!(
            "nothing to compare by {factor}: no two recordings differ in it alone"
        )));
    }
    // A page of kernels is of their co-kernels where they have them.
    if args.html.is_some() && sets.len() == 2 && sets[0].of_cores && !sets[1].of_cores {
        sets.truncate(1);
    }
    if args.html.is_some() && sets.len() > 1 {
        let many = sets.len();
        return Err(bad(format!(
            "--html shows one comparison, and these are {many}: teiji report overlays any of them"
        )));
    }
    let mut documents = Vec::new();
    for (place, Alike { common, rows, of_cores }) in sets.iter().enumerate() {
        let group = |(value, row): &(&str, &Row)| {
            Ok(repeats(&row.recordings)?.called(format!("{factor}={value}")))
        };
        let groups: Vec<Repeats> = rows.iter().map(group).collect::<Result<_, Failure>>()?;
        let compared = match compared(args, &groups, args.anyway || *of_cores)? {
            Ok(compared) => compared,
            Err(why) => return Err(bad(why)),
        };
        if args.json {
            documents
                .push(json!({ "factor": factor, "where": common, "compared": compared.json() }));
            continue;
        }
        let heading = if common.is_empty() { factor } else { common.as_str() };
        output::say(&match args.md {
            true => format!("### {heading}\n\n{}", compared.markdown(args.lang)),
            false => format!(
                "{}{}\n{}",
                if place > 0 { "\n" } else { "" },
                headed(heading),
                compared.painted(output::paint(), args.lang)
            ),
        });
    }
    if args.json {
        output::say(&model::document_text(&documents)?);
    }
    for Alike { common, .. } in &single {
        complain!("{common}: only one value of {factor} is recorded, nothing to compare");
    }
    Ok(DONE)
}

/// As many pairs of each factor are named as can be compared.
const MAX_PAIRS: usize = 3;

/// Why these folders are not compared as they were named, and the commands that do compare what is
/// in them.
fn refused(why: &str, joint: &Joint, args: &Args) -> Failure {
    let commands = joint.alike_by_each().into_iter().flat_map(|(factor, sets)| {
        let pairs = sets.iter().flat_map(|set| {
            let (first, others) = set.rows.split_first().unzip();
            let first = first.map(|(_, row)| *row);
            let others = others.into_iter().flatten().map(|(_, row)| *row);
            first.into_iter().flat_map(move |first| others.clone().map(move |other| (first, other)))
        });
        let pairs = pairs.filter(|(first, other)| can_be_compared(first, other).unwrap_or(false));
        let mut commands: Vec<String> =
            pairs.take(MAX_PAIRS).map(|(first, other)| of_pair(first, other, args)).collect();
        if !commands.is_empty() && can_show_by(&args.recordings, factor) {
            let mut words: Vec<&dyn Word> = vec![&"show"];
            words.extend(args.recordings.iter().map(|path| path as &dyn Word));
            words.extend([&"--by" as &dyn Word, &factor]);
            commands.push(command(&words));
        }
        commands
    });
    let commands: Vec<String> = commands.collect();
    anyhow!(::report::refused_with_commands(why, &commands, args.language())).into()
}

/// Whether nothing is against a comparison of these, which a command can name: what was imported
/// for this call alone is not there afterwards.
fn can_be_compared(first: &Row, other: &Row) -> Result<bool, RecordingError> {
    let both = || first.recordings.iter().chain(&other.recordings);
    let opened: Vec<Recording> =
        both().map(|path| Recording::open(path)).collect::<Result<_, _>>()?;
    let are_there = both().zip(&opened).all(|(path, one)| one.shown_path() == *path);
    Ok(are_there
        && ::report::can_be_compared(&opened.iter().map(Recording::document).collect::<Vec<_>>()))
}

/// The command that compares these. A path with a comma in it is none for `--with`: then one
/// recording of each is compared.
fn of_pair(first: &Row, other: &Row, args: &Args) -> String {
    let has_comma = |path: &PathBuf| path.to_string_lossy().contains(',');
    let with: Vec<String> =
        other.recordings.iter().map(|path| path.to_string_lossy().into_owned()).collect();
    let with = with.join(",");
    let are_single = first.recordings.len() == 1 && other.recordings.len() == 1;
    let mut words: Vec<&dyn Word> = vec![&"compare"];
    if are_single || other.recordings.iter().any(has_comma) {
        words.extend([&first.recordings[0] as &dyn Word, &other.recordings[0]]);
    } else {
        words.extend(first.recordings.iter().map(|path| path as &dyn Word));
        words.extend([&"--with" as &dyn Word, &with]);
    }
    if let Some(page) = &args.html {
        words.extend([&"--html" as &dyn Word, page]);
    }
    command(&words)
}

/// Whether `teiji show` has these folders by this factor: of one plan by those that it varies.
fn can_show_by(folders: &[PathBuf], factor: &str) -> bool {
    match folders {
        [folder] if run::is_folder(folder) => {
            Begun::read(folder).is_ok_and(|begun| begun.keys.iter().any(|key| key == factor))
        }
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Settings that all of a set have made it as wide as they are long.
    #[test]
    fn a_heading_fits_a_terminal() {
        let heading = "append=isolcpus=managed_irq,domain,2-3 load=hackbench,groups=10 prio=98";
        assert_eq!(
            headed(&format!("{heading} interval=250us")),
            format!("== {heading}\ninterval=250us ==")
        );
        assert_eq!(headed("prio=10"), "== prio=10 ==");
    }
}

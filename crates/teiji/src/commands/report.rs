// SPDX-License-Identifier: MIT OR Apache-2.0
//! `teiji report`: one offline page of any number of recordings.

use crate::exit::{Failure, Outcome};
use crate::output;
use anyhow::Context;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(clap::Args)]
pub struct Args {
    /// Recordings (NAME.teiji); several are laid over one another
    #[arg(required = true, value_name = "REC")]
    recordings: Vec<PathBuf>,
    /// The page
    #[arg(short, long, value_name = "FILE", default_value = "report.html")]
    output: PathBuf,
    /// Write the same charts as SVG files into this folder
    #[arg(long, value_name = "DIR")]
    svg: Option<PathBuf>,
}

pub fn run(args: &Args) -> Outcome {
    let recordings = super::read(&args.recordings)?;
    let command_line = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ");
    write_whole(&args.output, &::report::html(&recordings, &command_line)).map_err(Failure::bad_input)?;
    if let Some(folder) = &args.svg {
        std::fs::create_dir_all(folder)
            .with_context(|| format!("cannot make the folder {}", folder.display()))
            .map_err(Failure::bad_input)?;
        for (name, content) in ::report::svg_charts(&recordings) {
            write_whole(&folder.join(name), &content).map_err(Failure::bad_input)?;
        }
    }
    output::say(&::report::verdict(&recordings));
    output::say(&format!("Report: {}", args.output.display()));
    Ok(ExitCode::SUCCESS)
}

/// All of the file or none of it.
fn write_whole(path: &Path, content: &str) -> anyhow::Result<()> {
    let mut name = path.file_name().with_context(|| format!("{} is no name for a file", path.display()))?.to_owned();
    name.push(".new");
    let new = path.with_file_name(name);
    std::fs::write(&new, content).and_then(|()| std::fs::rename(&new, path)).map_err(|error| {
        let _ = std::fs::remove_file(&new);
        anyhow::Error::new(error).context(format!("cannot write {}", path.display()))
    })
}

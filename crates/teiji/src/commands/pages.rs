// SPDX-License-Identifier: MIT OR Apache-2.0
//! `teiji pages`: what a package installs beside the program, written from its flags: a manual page
//! of the program and of each verb, and completions for shells.

use crate::Cli;
use crate::exit::{CommandResult, DONE};
use anyhow::Context;
use clap::{Command, CommandFactory, ValueEnum as _};
use clap_complete::Shell;
use std::fs::{create_dir_all, write};
use std::path::{Path, PathBuf};

/// What was said.
#[derive(clap::Args)]
pub struct Args {
    /// Folder to write into: man1/ and completions/
    #[arg(value_name = "DIR", conflicts_with = "shell")]
    folder: Option<PathBuf>,
    /// Print the completions for one shell instead
    #[arg(long, value_name = "SHELL")]
    shell: Option<Shell>,
}

/// Runs it.
pub fn run(args: &Args) -> CommandResult {
    let mut program = Cli::command()
        .disable_help_subcommand(true)
        .mut_subcommand("lab", |lab| lab.disable_help_subcommand(true));
    program.build();
    match (&args.folder, args.shell) {
        (_, Some(shell)) => crate::output::print(&completions(shell, &mut program)?),
        (Some(folder), None) => write_all(folder, &mut program)?,
        (None, None) => refuse!("name a folder, or a shell with --shell"),
    }
    Ok(DONE)
}

fn completions(shell: Shell, program: &mut Command) -> anyhow::Result<String> {
    let mut text = Vec::new();
    clap_complete::generate(shell, program, "teiji", &mut text);
    String::from_utf8(text).context("completions are no text")
}

fn write_all(folder: &Path, program: &mut Command) -> anyhow::Result<()> {
    let (pages, shells) = (folder.join("man1"), folder.join("completions"));
    for made in [&pages, &shells] {
        create_dir_all(made)
            .with_context(|| format!("cannot make {}", crate::output::path(made)))?;
    }
    let put = |path: PathBuf, bytes: &[u8]| {
        write(&path, bytes).with_context(|| format!("cannot write {}", crate::output::path(&path)))
    };
    clap_mangen::generate_to(program.clone(), &pages).context("cannot write the manual pages")?;
    for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
        let name = match shell {
            Shell::Zsh => "_teiji".to_owned(),
            Shell::Fish => "teiji.fish".to_owned(),
            _ => "teiji".to_owned(),
        };
        let kind = shell.to_possible_value().map(|value| value.get_name().to_owned());
        let of_shell = shells.join(kind.unwrap_or_default());
        create_dir_all(&of_shell)
            .with_context(|| format!("cannot make {}", crate::output::path(&of_shell)))?;
        put(of_shell.join(name), completions(shell, program)?.as_bytes())?;
    }
    Ok(())
}

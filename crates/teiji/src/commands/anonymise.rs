// SPDX-License-Identifier: MIT OR Apache-2.0
//! `teiji anonymise`: a recording once more, with pseudonyms in the place of names, to be sent.

use crate::exit::{CommandResult, DONE, Failure};
use crate::suggestion::command;
use crate::{key, output};
use anyhow::ensure;
use model::{Pseudonyms, Recorded};
use recording::Recording;
use std::path::PathBuf;

#[derive(clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    /// A recording (NAME.teiji)
    #[arg(value_name = "REC")]
    recording: PathBuf,
    /// The new recording's folder; must not exist
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
}

/// Below the flags.
const HELP: &str = "Hosts, users, processes, paths, titles, commands and kernel arguments that do \
                    not decide latency become pseudonyms. Kernel, CPU, drivers, settings, times \
                    and every figure stay. A name has the same pseudonym in all recordings that \
                    you anonymise; the key to them never leaves this machine";

pub fn run(args: &Args) -> CommandResult {
    let recording = Recording::open(&args.recording)?;
    let shown = args.recording.display();
    if recording.document().anonymous {
        refuse!("{shown} is anonymous already: send it as it is");
    }
    let pseudonyms = pseudonyms()?;
    let left_out = recording.write_anonymous(&args.output, &pseudonyms)?;
    if left_out.console_lines > 0 {
        let lines = output::counted(left_out.console_lines, "line");
        complain!("Left out of console.log: {lines} that the kernel did not write");
    }
    if !left_out.files.is_empty() {
        complain!("Left out, as no file of a recording: {}", left_out.files.join(", "));
    }
    say!("Anonymous recording: {}", args.output.display());
    let show = command(&[&"show", &"--json", &args.output]);
    say!("Look through it before you send it: {show}");
    Ok(DONE)
}

/// Refuses to make a run again of which it is not known any more what was asked.
pub fn check_settings_known(recorded: &Recorded) -> anyhow::Result<()> {
    let lost = recorded.document.settings_not_known();
    let name = recorded.path.display();
    ensure!(
        lost.is_empty(),
        "{name} is anonymous, and what it was run with is not known any more: {}. Name the \
         recording that it was made of",
        lost.join(", ")
    );
    Ok(())
}

/// The user's pseudonyms, and a word on them where they are for this call only.
pub fn pseudonyms() -> Result<Pseudonyms, Failure> {
    let (pseudonyms, note) = key::pseudonyms()?;
    note.iter().for_each(|note| complain!("Note: {note}"));
    Ok(pseudonyms)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Anonymiser, Document};
    use plan::{Nanos, Run};

    /// What a probe states of itself has no name in it, and comparisons are refused where it
    /// differs.
    #[test]
    fn what_every_probe_states_stays() {
        for probe in probe::PROBES {
            let run =
                Run { probe: probe.name.to_owned(), ..Run::example(Nanos::from_millis(1), 9) };
            let chosen = probe::choose(probe.name, &run.probe_settings).unwrap();
            let statement = chosen.statement(&run);
            let mut document: Document = serde_json::from_str(include_str!(
                "../../../../fuzz/corpus/run_json/complete.json"
            ))
            .unwrap();
            (document.probe, document.run) = (statement, run);
            let pseudonyms = Pseudonyms::new([7; 32]);
            let shown = Anonymiser::new(&pseudonyms, &document).document(document.clone());
            assert_eq!((shown.probe, shown.run), (document.probe, document.run), "{}", probe.name);
        }
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! What was explained: kept in the recording, printed, and written to files.

use super::Args;
use crate::exit::Failure;
use crate::output;
use crate::overwrite::{FileKind, marked, refuse_existing, refuse_foreign};
use explain::{folded, trace_events};
use model::{Account, EXPLAINED_VERSION, Explained, Recorded, causes};
use report::Language;
use serde_json::json;
use std::path::{Path, PathBuf};

/// Spans that are kept of each timeline, and of how many latencies: the recording stays small.
const KEPT_SPANS: usize = 1_500;
const KEPT_TIMELINES: usize = 10;

/// The files that were asked for.
#[derive(Default, clap::Args)]
pub struct Files {
    /// Write the functions of the worst one over time into this file, SVG
    #[arg(long, value_name = "FILE.svg")]
    svg: Option<PathBuf>,
    /// Write folded stacks into this file, a line for each with its ns, as flame graph programs
    /// read them
    #[arg(long, value_name = "FILE")]
    folded: Option<PathBuf>,
    /// Write a trace into this file, JSON, as Perfetto and Chrome's tracing page read it
    #[arg(long, value_name = "FILE.json")]
    trace: Option<PathBuf>,
    /// Replace any file; without this, only an earlier picture
    #[arg(long)]
    force: bool,
}

impl Files {
    /// Before the run is made again: whether they may be written.
    pub fn check(&self) -> anyhow::Result<()> {
        let files: Vec<&Path> = [&self.svg, &self.folded, &self.trace]
            .into_iter()
            .filter_map(Option::as_deref)
            .collect();
        output::check_places(&files)?;
        refuse_foreign(self.svg.as_deref().map(|path| (path, FileKind::Chart)), self.force)?;
        self.folded.iter().chain(&self.trace).try_for_each(|path| refuse_existing(path, self.force))
    }

    fn write(&self, accounts: &[Account]) -> Result<(), Failure> {
        let picture = self.svg.as_deref().zip(accounts.first());
        let picture = picture
            .map(|(path, worst)| (path, marked(&report::timeline_svg(worst, Language::English))));
        let folded = self.folded.as_deref().map(|path| (path, folded(accounts)));
        let trace =
            self.trace.as_deref().map(|path| (path, trace_events(accounts).to_string() + "\n"));
        let files: Vec<(&Path, String)> = picture.into_iter().chain(folded).chain(trace).collect();
        let files: Vec<(&Path, &str)> =
            files.iter().map(|(path, text)| (*path, text.as_str())).collect();
        output::write_together(&files).map_err(Failure::run_failed)
    }
}

/// Keeps, writes and prints.
pub fn show(args: &Args, recorded: &Recorded, accounts: &[Account]) -> Result<(), Failure> {
    let whole = accounts;
    let accounts = &kept(accounts.to_vec());
    if let Err(error) = keep(recorded, accounts) {
        // Of a recording that nobody may write to everything else is there.
        complain!("Not kept in the recording: {error}");
    }
    if args.json {
        let shown = json!({
            "recording": recorded.path, "lab": recorded.document.lab,
            "identical_samples": recorded.samples(), "causes": causes(accounts),
            "accounts": accounts,
        });
        output::say(&model::document_text(&shown)?);
    } else {
        output::say(&report::explained_text(
            accounts,
            recorded.document.lab.as_ref(),
            Language::English,
        ));
    }
    // Last: where that fails, the rest is there.
    args.files.write(whole)
}

/// Keeps these in the recording, and returns them as they are kept.
pub fn kept_in(recorded: &Recorded, accounts: &[Account]) -> Result<Vec<Account>, Failure> {
    let accounts = kept(accounts.to_vec());
    keep(recorded, &accounts).map_err(Failure::run_failed)?;
    Ok(accounts)
}

/// Puts them beside the samples, with those that were explained before.
fn keep(recorded: &Recorded, accounts: &[Account]) -> Result<(), recording::RecordingError> {
    let mut all = accounts.to_vec();
    let before = recording::read_explained(&recorded.path)
        .ok()
        .flatten()
        .map_or_else(Vec::new, |before| before.accounts);
    let is_new = |old: &Account| {
        !accounts.iter().any(|new| (new.thread, new.activation) == (old.thread, old.activation))
    };
    all.extend(before.into_iter().filter(is_new));
    let explained = Explained {
        version: EXPLAINED_VERSION,
        identical_samples: recorded.samples(),
        accounts: kept(all),
    };
    recording::write_explained(&recorded.path, &explained)
}

/// The worst first, with as much of their timelines as is kept.
fn kept(mut accounts: Vec<Account>) -> Vec<Account> {
    accounts.sort_by_key(|account| std::cmp::Reverse(account.latency_ns));
    for (place, account) in accounts.iter_mut().enumerate() {
        let most = if place < KEPT_TIMELINES { KEPT_SPANS } else { 0 };
        account.timeline = account.timeline.longest(most);
    }
    accounts
}

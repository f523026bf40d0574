// SPDX-License-Identifier: MIT OR Apache-2.0
//! What was explained: kept in the recording, printed, and written to files.

use super::Args;
use super::choose::Chosen;
use crate::exit::Failure;
use crate::output;
use crate::overwrite::{FileKind, marked, refuse_existing, refuse_foreign};
use anyhow::Context;
use explain::{folded, trace_events};
use model::{Account, EXPLAINED, EXPLAINED_VERSION, Explained, Recorded, causes};
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

    /// Those of these of which a file shows what ran when.
    fn drawn<'a>(&self, accounts: &'a [Account]) -> &'a [Account] {
        match (&self.svg, &self.folded, &self.trace) {
            (None, None, None) => &[],
            (Some(_), None, None) => &accounts[..accounts.len().min(1)],
            _ => accounts,
        }
    }

    pub(super) fn write(&self, accounts: &[Account]) -> Result<(), Failure> {
        let picture = self.svg.as_deref().zip(accounts.first());
        let picture = picture
            .map(|(path, worst)| (path, marked(&report::timeline_svg(worst, Language::English))));
        let folded = self.folded.as_deref().map(|path| {
            anyhow::Ok((path, folded(accounts).context("the stacks are longer than any kernel's")?))
        });
        let folded = folded.transpose()?;
        let trace =
            self.trace.as_deref().map(|path| (path, trace_events(accounts).to_string() + "\n"));
        let files: Vec<(&Path, String)> = picture.into_iter().chain(folded).chain(trace).collect();
        let files: Vec<(&Path, &str)> =
            files.iter().map(|(path, text)| (*path, text.as_str())).collect();
        output::write_together(&files).map_err(Failure::run_failed)
    }
}

/// Those that are asked for, the worst first, as the recording keeps them from when they were
/// explained; none where not all of them were. What the samples contradict was not explained.
pub fn kept_before(args: &Args, recorded: &Recorded, chosen: &Chosen) -> Option<Vec<Account>> {
    let before = recording::read_explained(&recorded.path).ok().flatten()?;
    if before.identical_samples != Some(recorded.samples()) {
        return None;
    }
    let of = |sample: &usize| {
        let asked = chosen.samples[*sample];
        let (thread, activation) = (asked.thread, asked.activation);
        let latency_ns = chosen.latency_ns(*sample);
        let mut seen = before.accounts.iter().filter(|account| !account.is_from_events());
        seen.find(|account| {
            (account.thread, account.activation, account.latency_ns)
                == (thread, activation, latency_ns)
        })
    };
    let accounts: Vec<Account> =
        chosen.worst_first.iter().map(|sample| of(sample).cloned()).collect::<Option<_>>()?;
    let has_timeline = |account: &&Account| !account.timeline.is_empty();
    let drawn = args.files.drawn(&accounts);
    (drawn.iter().filter(has_timeline).count() == drawn.len()).then_some(accounts)
}

/// Says that nothing was made again, and what that means for the files.
pub fn say_kept(args: &Args, accounts: &[Account]) {
    let drawn = args.files.drawn(accounts);
    let of = |account: &Account| account.timeline.left_out;
    complain!(
        "Explained before: this is what {EXPLAINED} in the recording says.\nWithout that file the \
         run is made again."
    );
    if drawn.iter().any(|account| of(account) != Some(0)) {
        complain!(
            "It has the {KEPT_SPANS} longest calls of each latency at most.\nThe time of shorter \
             ones counts as their callers'."
        );
    }
}

/// Keeps, writes and prints.
pub fn show(args: &Args, recorded: &Recorded, accounts: &[Account]) -> Result<(), Failure> {
    let kept = kept(accounts.to_vec());
    if let Err(error) = keep(recorded, &kept) {
        // Of a recording that nobody may write to everything else is there.
        complain!("Not kept in the recording: {error}");
    }
    print(args, recorded, &kept)?;
    // Last: where that fails, the rest is there.
    args.files.write(accounts)
}

/// The same of what was kept before.
pub fn show_kept(args: &Args, recorded: &Recorded, accounts: &[Account]) -> Result<(), Failure> {
    print(args, recorded, accounts)?;
    args.files.write(accounts)
}

fn print(args: &Args, recorded: &Recorded, accounts: &[Account]) -> Result<(), Failure> {
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
    Ok(())
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
        identical_samples: Some(recorded.samples()),
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

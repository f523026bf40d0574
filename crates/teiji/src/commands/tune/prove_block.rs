// SPDX-License-Identifier: MIT OR Apache-2.0
//! One block: a short run, and the figures of it that are kept when its recording is removed.

use super::signals::Signals;
use crate::exit::Failure;
use crate::live::{Display, Live};
use judge::came_to_its_end;
use model::Recorded;
use plan::Nanos;
use report::Language;
use runner::{PreparedRun, RunnerError, execute};
use stats::{Activations, Histogram, Level, Moments};
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

/// The figure of a block that judges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// A quantile of all CPUs together.
    Quantile(Level),
    /// The largest latency.
    Max,
}

impl FromStr for Quantity {
    type Err = String;

    fn from_str(text: &str) -> Result<Quantity, String> {
        let quantile = || text.strip_prefix('p').and_then(Level::percent).map(Quantity::Quantile);
        if text == "max" { Some(Quantity::Max) } else { quantile() }.ok_or_else(|| {
            format!("invalid quantity '{text}': expected a quantile such as p99.9, or max")
        })
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Quantity::Quantile(level) => level.fmt(f),
            Quantity::Max => f.write_str("max"),
        }
    }
}

/// A block that was measured.
pub struct Block {
    /// Whether the change was there.
    pub is_on: bool,
    /// The judged figure, ns; none where the block cannot be judged by it.
    pub judged_ns: Option<i64>,
    /// Quantiles of all CPUs together, skipped activations counted in, ns: those that it has
    /// latencies enough for.
    pub quantiles: Vec<(Level, i64)>,
    /// The largest latency, ns.
    pub max_ns: Option<i64>,
    /// What became of each activation.
    pub activations: Activations,
    /// Samples that were lost.
    pub lost: u64,
    /// Why it ended early.
    pub ended: Option<String>,
    /// What its figures must not be read without.
    pub caveats: Option<String>,
}

/// From a setting that was changed to the next block.
pub const PAUSE: Duration = Duration::from_millis(250);
/// The probability that any of the changes is said to have an effect, and none has one.
pub const ERROR: f64 = 0.05;
/// Of each block, beside measuring: the run's beginning and end.
const OVERHEAD: Nanos = Nanos::from_millis(100);

/// What changes are measured with, and everything that the figures depend on.
pub struct Measuring<'a> {
    pub order: PreparedRun,
    pub quantity: Quantity,
    pub changes: usize,
    /// Of each change.
    pub rounds: usize,
    /// Of their order.
    pub seed: u64,
    /// The recording of the block that is measured.
    pub recording: PathBuf,
    pub signals: &'a Signals,
    pub of_runner: runner::Signals,
}

impl Measuring<'_> {
    /// The signal that asked for the end.
    pub fn caught(&self) -> Option<&'static str> {
        self.signals.caught().or_else(|| self.of_runner.caught())
    }

    /// The probability that one change is said to have an effect, and has none.
    #[expect(clippy::cast_precision_loss, reason = "two dozen")]
    pub fn error(&self) -> f64 {
        ERROR / self.changes.max(1) as f64
    }

    /// About how long all of it takes.
    pub fn expected(&self) -> Nanos {
        let block = self.order.run.expected_ns().0.saturating_add(OVERHEAD.0);
        let pauses = 2 * Nanos::from(PAUSE).0;
        let rounds = i64::try_from(self.rounds * self.changes).unwrap_or(i64::MAX);
        Nanos(block.saturating_mul(4).saturating_add(pauses).saturating_mul(rounds))
    }

    /// Measures one; none where a signal came.
    pub fn block(&self, is_on: bool, hold_dma_latency: bool) -> Result<Option<Block>, Failure> {
        let mut order = PreparedRun { directory: self.recording.clone(), ..self.order.clone() };
        order.run.hold_dma_latency = hold_dma_latency;
        let result = execute(&order, &self.of_runner, &mut Live::new(Display::Nothing), None);
        let _ = std::fs::remove_dir_all(&order.directory);
        match result {
            _ if self.caught().is_some() => Ok(None),
            Err(RunnerError::Interrupted) => Ok(None),
            Err(error) => Err(error.into()),
            Ok(examined) => Ok(Some(figures(&examined.recorded, is_on, self.quantity))),
        }
    }
}

fn figures(recorded: &Recorded, is_on: bool, quantity: Quantity) -> Block {
    let (mut histogram, mut moments) = (Histogram::default(), Moments::default());
    let (mut activations, mut lost) = (Activations::default(), 0);
    for thread in &recorded.threads {
        let (of_thread, sums) = thread.of_all_due();
        histogram.merge(of_thread);
        moments.merge(sums);
        activations.merge(&thread.activations);
        lost += thread.lost;
    }
    let is_whole = came_to_its_end(&recorded.document);
    let judged_ns = match quantity {
        Quantity::Quantile(level) => histogram.quantile(level),
        Quantity::Max => moments.max(),
    };
    let has_enough = |level: &Level| histogram.total() >= stats::latencies_for(*level);
    let quantile = |level: Level| Some((level, histogram.quantile(level)?));
    Block {
        is_on,
        judged_ns: judged_ns.filter(|_| is_whole),
        quantiles: Level::ALL.into_iter().filter(has_enough).filter_map(quantile).collect(),
        max_ns: moments.max(),
        activations,
        lost,
        ended: report::cut_short(&recorded.document, Language::English).filter(|_| !is_whole),
        caveats: report::caveats(&recorded.document, Language::English),
    }
}

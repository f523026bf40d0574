// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the figures of `teiji tune --prove` depend on.

use super::prove_block::Quantity;
use super::prove_change::PAUSE;
use plan::Nanos;
use runner::PreparedRun;

/// The probability that any of the changes is said to have an effect, and none has one.
pub const ERROR: f64 = 0.05;
/// Of each block, beside measuring: the run's beginning and end.
const OVERHEAD: Nanos = Nanos::from_millis(100);

/// Everything that the figures depend on.
pub struct Conditions<'a> {
    pub order: &'a PreparedRun,
    pub quantity: Quantity,
    pub changes: usize,
    pub rounds: usize,
    pub seed: u64,
}

impl Conditions<'_> {
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
}

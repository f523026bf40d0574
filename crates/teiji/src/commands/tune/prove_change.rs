// SPDX-License-Identifier: MIT OR Apache-2.0
//! One change by itself, off and on in rounds of four blocks, each time through the journal.

use super::prove_block::{Block, Measuring, PAUSE};
use crate::exit::Failure;
use stats::{BLOCKS_OF_ROUND, Effect, Evidence, Round, RoundOrder};
use std::thread::sleep;
use tune::{ChangeResult, Tuning, TuningPlan};

/// What became of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is kept.
    Helps,
    /// It is not, and is named.
    Worse,
    /// Neither is shown.
    NoEvidence,
    /// It could not be made, or not be put back.
    NotJudged,
}

impl Verdict {
    /// As JSON has it.
    pub const fn name(self) -> &'static str {
        match self {
            Verdict::Helps => "helps",
            Verdict::Worse => "worse",
            Verdict::NoEvidence => "no-evidence",
            Verdict::NotJudged => "not-judged",
        }
    }
}

/// A change that was measured.
pub struct Proved {
    /// Its check.
    pub check: &'static str,
    /// Its settings.
    pub plan: TuningPlan,
    pub verdict: Verdict,
    /// None without a round.
    pub effect: Option<Effect>,
    /// In order of time.
    pub blocks: Vec<Block>,
    /// Whether /dev/cpu_dma_latency was held meanwhile.
    pub holds_dma_latency: bool,
    /// Settings that could not be changed when it was first on.
    pub refused: Vec<ChangeResult>,
    /// Settings that could not be put back.
    pub stuck: Vec<ChangeResult>,
    /// Settings that somebody else changed while they were on.
    pub changed_meanwhile: Vec<ChangeResult>,
    /// What became of its settings when it was last switched on.
    on: Vec<ChangeResult>,
}

/// Why a change's rounds ended.
enum End {
    Planned,
    /// None of the settings could be changed, or some not be put back or not stay.
    NotSwitched,
    Interrupted,
}

/// Measures a change; none where a signal came. It is off again when this returns, unless that is
/// said.
pub fn prove(
    tuning: &mut Tuning,
    check: &'static str,
    plan: TuningPlan,
    measuring: &Measuring<'_>,
    order: &mut RoundOrder,
) -> Result<Option<Proved>, Failure> {
    let mut proved = Proved {
        check,
        plan,
        verdict: Verdict::NotJudged,
        effect: None,
        blocks: Vec::new(),
        // Held, it allows no idle state at all.
        holds_dma_latency: measuring.order.run.hold_dma_latency && check != "idle-states",
        refused: Vec::new(),
        stuck: Vec::new(),
        changed_meanwhile: Vec::new(),
        on: Vec::new(),
    };
    let end = proved.measure(tuning, measuring, order);
    // However it ended.
    proved.switch_off(tuning)?;
    match end? {
        End::Interrupted => return Ok(None),
        End::NotSwitched => {}
        End::Planned => proved.judge(measuring.error()),
    }
    if !proved.stuck.is_empty() {
        proved.verdict = Verdict::NotJudged;
    }
    Ok(Some(proved))
}

impl Proved {
    fn measure(
        &mut self,
        tuning: &mut Tuning,
        measuring: &Measuring<'_>,
        order: &mut RoundOrder,
    ) -> Result<End, Failure> {
        let mut was_on = false;
        for is_on in order.take(measuring.rounds).flatten() {
            if is_on != was_on {
                if !self.switch(tuning, is_on, measuring)? {
                    return Ok(End::NotSwitched);
                }
                sleep(PAUSE);
                was_on = is_on;
            }
            if measuring.caught().is_some() {
                return Ok(End::Interrupted);
            }
            let Some(block) = measuring.block(is_on, self.holds_dma_latency)? else {
                return Ok(End::Interrupted);
            };
            self.blocks.push(block);
            if is_on {
                self.changed_meanwhile = tuning.changed_meanwhile(&self.plan, &self.on);
                if !self.changed_meanwhile.is_empty() {
                    return Ok(End::NotSwitched);
                }
            }
        }
        Ok(End::Planned)
    }

    /// Whether it is switched now.
    fn switch(
        &mut self,
        tuning: &mut Tuning,
        on: bool,
        measuring: &Measuring<'_>,
    ) -> Result<bool, Failure> {
        if !on {
            self.switch_off(tuning)?;
            return Ok(self.stuck.is_empty());
        }
        let results = tuning.apply(&self.plan, false, &|| measuring.caught().is_some())?;
        let (refused, changed): (Vec<_>, Vec<_>) =
            results.into_iter().partition(|result| result.obstacle.is_some());
        if self.refused.is_empty() {
            self.refused = refused;
        }
        self.on = changed;
        // Cut off by a signal it is noticed before the next block.
        Ok(!self.on.is_empty() || measuring.caught().is_some())
    }

    fn switch_off(&mut self, tuning: &mut Tuning) -> Result<(), Failure> {
        let of_this = |result: &ChangeResult| {
            self.plan.changes.iter().any(|change| change.file == result.file)
        };
        let results = tuning.undo_unfinished()?;
        self.stuck = results
            .into_iter()
            .filter(|result| result.obstacle.is_some() && of_this(result))
            .collect();
        Ok(())
    }

    fn judge(&mut self, error: f64) {
        let rounds: Vec<Round> = self.blocks.chunks(BLOCKS_OF_ROUND).filter_map(round).collect();
        self.effect = Effect::from_rounds(&rounds, error);
        self.verdict = match self.effect.map_or(Evidence::Neither, |effect| effect.evidence()) {
            Evidence::Helps => Verdict::Helps,
            Evidence::Worse => Verdict::Worse,
            Evidence::Neither => Verdict::NoEvidence,
        };
    }

    /// The middle of the judged figures of its blocks, ns.
    pub fn typical_ns(&self, is_on: bool) -> Option<i64> {
        let mut figures: Vec<i64> = self
            .blocks
            .iter()
            .filter(|block| block.is_on == is_on)
            .filter_map(|block| block.judged_ns)
            .collect();
        figures.sort_unstable();
        let last = figures.len().checked_sub(1)?;
        Some(i64::midpoint(figures[last / 2], figures[last.div_ceil(2)]))
    }
}

/// None where a block of it cannot be judged.
fn round(blocks: &[Block]) -> Option<Round> {
    let figures = |is_on: bool| {
        let of_kind = blocks.iter().filter(|block| block.is_on == is_on);
        of_kind.map(|block| block.judged_ns).collect::<Option<Vec<i64>>>()?.try_into().ok()
    };
    Some(Round { off: figures(false)?, on: figures(true)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(is_on: bool, judged_ns: Option<i64>) -> Block {
        let activations = stats::Activations::default();
        Block {
            is_on,
            judged_ns,
            quantiles: Vec::new(),
            max_ns: None,
            activations,
            lost: 0,
            ended: None,
            caveats: None,
        }
    }

    #[test]
    fn a_round_has_both_orders_and_every_figure_or_is_none() {
        let blocks = |order: [(bool, i64); 4]| order.map(|(is_on, ns)| block(is_on, Some(ns)));
        let first = round(&blocks([(false, 1), (true, 2), (true, 3), (false, 4)]));
        assert_eq!(first, Some(Round { off: [1, 4], on: [2, 3] }));
        let other = round(&blocks([(true, 1), (false, 2), (false, 3), (true, 4)]));
        assert_eq!(other, Some(Round { off: [2, 3], on: [1, 4] }));
        let mut one_lacks = blocks([(false, 1), (true, 2), (true, 3), (false, 4)]);
        one_lacks[2].judged_ns = None;
        assert_eq!(round(&one_lacks), None);
        assert_eq!(round(&one_lacks[..2]), None);
    }
}

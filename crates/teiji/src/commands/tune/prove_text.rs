// SPDX-License-Identifier: MIT OR Apache-2.0
//! What `teiji tune --prove` says.

use super::prove_block::{Block, ERROR, Measuring, PAUSE, Quantity};
use super::prove_change::{Proved, Verdict};
use super::text::{self, cpu_words, paragraph, settings};
use crate::output::{self, counted};
use plan::{CpuId, Nanos};
use report::Language;
use serde_json::{Map, Value, json};
use stats::BLOCKS_OF_ROUND;
use tune::{ChangeResult, TuningPlan};

/// Effects that outlast the setting, by check.
const LATE: &[(&str, &str)] = &[(
    "statistics-interval",
    "The kernel takes up a new interval when the old one has passed. Blocks without the change \
     still have its effect for up to 120 s.",
)];

fn late(check: &str) -> Option<&'static str> {
    LATE.iter().find(|(name, _)| *name == check).map(|(_, note)| *note)
}

/// A probability as a percentage: `95 %`, `99.67 %`.
fn percent(share: f64) -> String {
    let text = format!("{:.2}", 100.0 * share);
    format!("{} %", text.trim_end_matches('0').trim_end_matches('.'))
}

/// What is measured, with what, and about how long it takes.
pub fn beginning(cpus: &[CpuId], measuring: &Measuring<'_>) -> String {
    let Measuring { order, quantity, changes, rounds, .. } = measuring;
    if *changes == 0 {
        return format!("Nothing to change for {}.\n", cpu_words(cpus));
    }
    let run = &order.run;
    let blocks = format!(
        "{} of {BLOCKS_OF_ROUND} blocks of {}",
        counted(*rounds, "round"),
        run.measured_ns()
    );
    let length = report::span(measuring.expected(), Language::English);
    let scheduling = order.granted.scheduling;
    let prio = scheduling.prio.map(|prio| format!(" {prio}")).unwrap_or_default();
    let loads: Vec<String> = run.loads.iter().map(ToString::to_string).collect();
    let loads = if loads.is_empty() {
        "no load added".to_owned()
    } else {
        format!("load {}", loads.join(", "))
    };
    let idle = if run.hold_dma_latency {
        "/dev/cpu_dma_latency held at 0, except for idle-states"
    } else {
        "/dev/cpu_dma_latency not held"
    };
    let each = match changes {
        1 => String::new(),
        _ => format!(" for all changes together, {} for each", percent(1.0 - measuring.error())),
    };
    format!(
        "Measuring {} for {}, each by itself, off and on in turn: {blocks}. About \
         {length}.\nProbe {} every {}, {}{prio}, {loads}, {idle}. A block begins {} ms after a \
         setting and {} ms after its threads.\nJudged: {quantity} of each block, with {} \
         confidence{each}.\n",
        counted(*changes, "change"),
        cpu_words(cpus),
        run.probe,
        run.interval_ns,
        scheduling.policy.kernel_name(),
        PAUSE.as_millis(),
        run.whole_warmup_ns().0 / 1_000_000,
        percent(1.0 - ERROR),
    )
}

/// What became of one change.
pub fn change(one: &Proved, quantity: Quantity) -> String {
    let verdict = match one.verdict {
        Verdict::Helps => "helps",
        Verdict::Worse => "makes it worse",
        Verdict::NoEvidence => "no evidence either way",
        Verdict::NotJudged if !one.stuck.is_empty() => "not judged: it could not be put back",
        Verdict::NotJudged if !one.changed_meanwhile.is_empty() => {
            "not judged: somebody else changed it meanwhile"
        }
        Verdict::NotJudged => "not judged: it could not be changed",
    };
    let mut said = format!("{}: {verdict}\n", one.check);
    if let Some(effect) = one.effect {
        let ns =
            |is_on| one.typical_ns(is_on).map_or_else(|| "unknown".to_owned(), report::latency);
        let change = match effect.interval {
            Some((lower, upper)) => report::change_in_words(lower, upper, Language::English),
            None => format!(
                "{} too few for an interval",
                if effect.rounds == 1 {
                    "1 round is".to_owned()
                } else {
                    format!("{} rounds are", effect.rounds)
                }
            ),
        };
        said += &paragraph(&format!("{quantity} {} off, {} on: {change}", ns(false), ns(true)));
    }
    let unused = one.blocks.iter().filter(|block| block.judged_ns.is_none()).count();
    if unused > 0 {
        said += &paragraph(&format!(
            "{} without the judged figure. Their rounds do not count.",
            counted(unused, "block")
        ));
    }
    if !one.refused.is_empty() {
        let (refused, all) = (one.refused.len(), one.plan.changes.len());
        said += &paragraph(&format!("{refused} of {} could not be changed.", settings(all)));
    }
    said + &late(one.check).map(paragraph).unwrap_or_default()
}

/// Which changes are kept, and which are not.
pub fn ending(proved: &[Proved], kept: Option<&TuningPlan>, results: &[ChangeResult]) -> String {
    let names = |verdict: Verdict| {
        let of_it = proved.iter().filter(|one| one.verdict == verdict).map(|one| one.check);
        of_it.collect::<Vec<_>>().join(", ")
    };
    let mut said = String::new();
    for (what, verdict) in [
        ("Kept, because they help", Verdict::Helps),
        ("Not kept, because they make it worse", Verdict::Worse),
        ("Not kept, without evidence either way", Verdict::NoEvidence),
        ("Not judged", Verdict::NotJudged),
    ] {
        let names = names(verdict);
        if !names.is_empty() {
            said += &output::indented(&format!("{what}: {names}."), 0);
        }
    }
    if let Some(plan) = kept {
        said += &format!(
            "{}\n",
            text::applied(plan, results, " Undo: sudo teiji tune --undo. A reboot undoes it too.")
        );
    } else {
        said += "Nothing is kept.\n";
    }
    said
}

fn block_as_json(block: &Block, place: usize) -> Value {
    let quantiles: Map<String, Value> =
        block.quantiles.iter().map(|(level, ns)| (level.to_string(), json!(ns))).collect();
    json!({
        "round": place / BLOCKS_OF_ROUND + 1,
        "on": block.is_on,
        "judged_ns": block.judged_ns,
        "quantiles_ns": quantiles,
        "max_ns": block.max_ns,
        "due": block.activations.due,
        "on_time": block.activations.on_time,
        "late": block.activations.late,
        "skipped": block.activations.skipped,
        "lost": block.lost,
        "ended_early": block.ended,
        "caveats": block.caveats,
    })
}

fn failures(results: &[ChangeResult]) -> Vec<Value> {
    let one = |result: &ChangeResult| {
        json!({
            "file": format!("/{}", result.file),
            "error": result.obstacle.as_ref().map(ToString::to_string),
            "expected": result.is_expected,
        })
    };
    results.iter().map(one).collect()
}

fn change_as_json(one: &Proved) -> Value {
    let interval = one.effect.and_then(|effect| effect.interval);
    let blocks = one.blocks.iter().enumerate().map(|(place, block)| block_as_json(block, place));
    json!({
        "check": one.check,
        "verdict": one.verdict.name(),
        "kept": one.verdict == Verdict::Helps,
        "ratio": one.effect.map(|effect| effect.ratio),
        "interval": interval.map(|(lower, upper)| [lower, upper]),
        "rounds": one.effect.map_or(0, |effect| effect.rounds),
        "holds_dma_latency": one.holds_dma_latency,
        "note": late(one.check),
        "settings": one.plan.changes.iter().map(text::change_as_json).collect::<Vec<_>>(),
        "not_changed": failures(&one.refused),
        "not_put_back": failures(&one.stuck),
        "changed_meanwhile": failures(&one.changed_meanwhile),
        "blocks": blocks.collect::<Vec<_>>(),
    })
}

/// All of it. What was kept, unless a signal ended it.
pub fn as_json(
    cpus: &[CpuId],
    measuring: &Measuring<'_>,
    proved: &[Proved],
    kept: Option<(Option<&TuningPlan>, &[ChangeResult])>,
) -> Value {
    let Measuring { order, quantity, changes, rounds, seed, .. } = measuring;
    let run = &order.run;
    let kept_changes = kept
        .and_then(|(plan, results)| Some(text::applied_as_json(plan?, results)["changes"].clone()));
    let nothing = || json!([]);
    json!({
        "cpus": cpus,
        "conditions": {
            "probe": run.probe,
            "interval_ns": run.interval_ns,
            "policy": order.granted.scheduling.policy.kernel_name(),
            "prio": order.granted.scheduling.prio,
            "loads": run.loads.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "block_ns": run.measured_ns(),
            "warmup_ns": run.whole_warmup_ns(),
            "pause_ns": Nanos::from(PAUSE),
            "rounds": rounds,
            "blocks_of_each_change": rounds * BLOCKS_OF_ROUND,
            "quantity": quantity.to_string(),
            "changes": changes,
            "confidence": 1.0 - ERROR,
            "confidence_of_each_change": 1.0 - measuring.error(),
            "seed_of_order": seed,
        },
        "changes": proved.iter().map(change_as_json).collect::<Vec<_>>(),
        "is_whole": kept.is_some(),
        "kept": kept_changes.unwrap_or_else(nothing),
    })
}

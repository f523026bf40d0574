// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a search found, as text and as JSON.

use super::Args;
use super::explore::{Found, Instead, Tried, WORST};
use crate::suggestion::command;
use lab::Target;
use model::Account;
use plan::{Nanos, Run, Simpler};
use report::{Language, exact_micros};
use serde_json::{Value, json};
use std::path::Path;

/// The plan that makes the largest latency again, and everything that was tried.
pub const RECIPE: &str = "recipe.toml";
pub const EVERYTHING: &str = "search.json";

/// What is less than this below the largest, in parts of it, did not matter.
const SAME: f64 = 0.05;

pub struct Results<'r> {
    pub output: &'r Path,
    pub args: &'r Args,
    pub target: &'r Target,
    pub found: &'r Found,
    pub explained: Option<&'r [Account]>,
}

/// How large a latency is with one thing simpler.
enum Effect<'r> {
    /// About as large, or larger.
    Same(&'r Tried),
    Smaller(&'r Tried),
    /// The run failed, or there was no time for it.
    Unknown,
}

impl Results<'_> {
    fn worst(&self) -> &Tried {
        &self.found.tried[self.found.number]
    }

    fn largest_ns(&self) -> i64 {
        self.worst().largest_ns.unwrap_or(0)
    }

    /// On which thread, at which of its activations.
    fn place(&self) -> Option<(usize, u64)> {
        let probe = &self.found.worst.document.probe;
        self.found.worst.threads.iter().enumerate().find_map(|(thread, statistics)| {
            let is_largest = |latency: i64| probe.judged_size(latency) == self.largest_ns();
            let worst = statistics.worst.iter().find(|worst| is_largest(worst.latency_ns))?;
            Some((thread, worst.activation))
        })
    }

    /// The run that was changed in one thing each: the worst of those explored.
    fn changed(&self) -> &Tried {
        &self.found.tried[self.found.changed]
    }

    /// The largest latencies of the same run in other phases, as far as they were tried: what
    /// chance makes of it.
    fn other_phases(&self) -> Vec<i64> {
        let phases = self
            .found
            .instead
            .iter()
            .filter(|instead| matches!(instead.what, Simpler::OtherPhase(_)));
        phases.filter_map(|instead| self.found.tried.get(instead.tried?)?.largest_ns).collect()
    }

    /// Smaller is only what is smaller than chance makes it: than in any other phase.
    fn effect(&self, instead: &Instead) -> Effect<'_> {
        let tried = instead.tried.and_then(|number| self.found.tried.get(number));
        let same = self.changed().largest_ns.unwrap_or(0) as f64 * (1.0 - SAME);
        let by_chance =
            self.other_phases().into_iter().min().map_or(same, |least| same.min(least as f64));
        match tried.and_then(|tried| Some((tried, tried.largest_ns?))) {
            None => Effect::Unknown,
            Some((tried, largest)) if largest as f64 >= by_chance => Effect::Same(tried),
            Some((tried, _)) => Effect::Smaller(tried),
        }
    }

    pub fn text(&self) -> String {
        let (found, run) = (self.found, &self.worst().run);
        let mut out = String::new();
        let place = self
            .place()
            .map_or_else(String::new, |(_, activation)| format!(" at activation {activation}"));
        let largest = exact_micros(self.largest_ns());
        out += &format!(
            "{largest} µs{place} is the largest latency found, in {} of {}.\n",
            runs(found.tried.len()),
            self.target.kernel.name
        );
        out += "It is no bound: what was not tried may be worse.\n\n";
        out += &format!("Measured:  {}\n", conditions(run));
        out += &format!("Again:     {}\n", command(&[&"run", &self.output.join(RECIPE)]));
        out += &format!("Recording: {}\n", self.output.join(WORST).display());
        out += &self.differences();
        if let Some(accounts) = self.explained {
            out += &format!("\n{}", report::explained_text(accounts, None, Language::English));
        }
        out
    }

    /// What the largest latency is without each thing that the search chose.
    fn differences(&self) -> String {
        let mut mattered = Vec::new();
        let mut did_not = Vec::new();
        let mut unknown = Vec::new();
        let phases = self.other_phases();
        // What is simpler may turn out to be larger, and is the worst then.
        let whose = if self.found.number == self.found.changed {
            "this run".to_owned()
        } else {
            let largest = exact_micros(self.changed().largest_ns.unwrap_or(0));
            format!(
                "run {} ({largest} µs; {})",
                self.found.changed + 1,
                conditions(&self.changed().run)
            )
        };
        let of_phases = |instead: &&Instead| matches!(instead.what, Simpler::OtherPhase(_));
        for instead in self.found.instead.iter().filter(|instead| !of_phases(instead)) {
            let what = self.named(instead.what);
            let with = |tried: &Tried| exact_micros(tried.largest_ns.unwrap_or(0));
            match self.effect(instead) {
                Effect::Smaller(tried) => mattered.push((what, with(tried))),
                Effect::Same(tried) => did_not.push((what, with(tried))),
                Effect::Unknown => unknown.push(what),
            }
        }
        let mut out = String::new();
        if let Some((least, most)) = phases.iter().min().zip(phases.iter().max()) {
            let count = phases.len();
            let others = if count == 1 {
                "In another phase".to_owned()
            } else {
                format!("In {count} other phases")
            };
            let range = if least == most {
                exact_micros(*least)
            } else {
                format!("{} to {}", exact_micros(*least), exact_micros(*most))
            };
            out += &format!("\n{others} {whose} has {range} µs.\n");
        }
        for (title, rows) in
            [("What mattered to it", &mattered), ("What did not matter to it", &did_not)]
        {
            if !rows.is_empty() {
                out += &format!("{title}; the largest latency is then, µs:\n");
                let widths = rows.iter().fold((0, 0), |widths, (what, largest)| {
                    (widths.0.max(what.chars().count()), widths.1.max(largest.len()))
                });
                for (what, largest) in rows {
                    out += &format!("  {what:<0$}  {largest:>1$}\n", widths.0, widths.1);
                }
            }
        }
        if !unknown.is_empty() {
            out += &format!(
                "Not known, for lack of time or because the run failed: {}.\n",
                unknown.join("; ")
            );
        }
        out
    }

    fn named(&self, what: Simpler) -> String {
        let load = |load: usize| self.found.space.loads[load].spec.to_string();
        match what {
            Simpler::Without(place) => format!("without {}", load(place)),
            Simpler::Unlimited(place) => format!("{} at no level", load(place)),
            Simpler::FromBefore(place) => format!("{} from before measuring on", load(place)),
            Simpler::UntilAfter(place) => format!("{} until the end", load(place)),
            Simpler::Interval => "at the interval given".to_owned(),
            Simpler::Prio => "at the priority given".to_owned(),
            Simpler::OtherPhase(phase) => format!("phase {phase}"),
        }
    }

    pub fn json(&self) -> Value {
        let (found, place) = (self.found, self.place());
        let one = |(number, tried): (usize, &Tried)| {
            json!({
                "run": number + 1,
                "explored": number < found.explored,
                "phase": tried.run.phase,
                "loads": tried.run.loads,
                "interval_ns": tried.run.interval_ns,
                "prio": tried.run.scheduling.prio,
                "largest_ns": tried.largest_ns,
                "failure": tried.failure,
            })
        };
        let instead = |instead: &Instead| {
            let tried =
                instead.tried.and_then(|number| Some((number + 1, found.tried.get(number)?)));
            let matters = match self.effect(instead) {
                Effect::Same(_) => Some(false),
                Effect::Smaller(_) => Some(true),
                Effect::Unknown => None,
            };
            json!({
                "what": self.named(instead.what),
                "run": tried.map(|(number, _)| number),
                "largest_ns": tried.and_then(|(_, tried)| tried.largest_ns),
                "mattered": matters,
            })
        };
        json!({
            "kernel": self.target.kernel.name,
            "seed": self.args.seed,
            "took_ms": u64::try_from(found.took.as_millis()).unwrap_or(u64::MAX),
            "explored": found.explored,
            "worst": {
                "run": found.number + 1,
                "largest_ns": self.largest_ns(),
                "thread": place.map(|(thread, _)| thread),
                "activation": place.map(|(_, activation)| activation),
                "recording": self.output.join(WORST),
                "recipe": self.output.join(RECIPE),
                "explained": self.explained.is_some(),
            },
            "changed": {
                "run": found.changed + 1,
                "largest_ns": self.changed().largest_ns,
                "other_phases_ns": self.other_phases(),
            },
            "is_bound": false,
            "instead": found.instead.iter().map(instead).collect::<Vec<_>>(),
            "tried": found.tried.iter().enumerate().map(one).collect::<Vec<_>>(),
        })
    }
}

fn runs(count: usize) -> String {
    format!("{count} {}", if count == 1 { "run" } else { "runs" })
}

/// `every 1 ms, priority 90, phase 7, hackbench + mem-alloc@30%`.
fn conditions(run: &Run) -> String {
    let interval: Nanos = run.interval_ns;
    let prio = run.scheduling.prio.map_or_else(String::new, |prio| format!(", priority {prio}"));
    let loads: Vec<String> = run.loads.iter().map(ToString::to_string).collect();
    let loads = if loads.is_empty() { "no load".to_owned() } else { loads.join(" + ") };
    format!("every {interval}{prio}, phase {}, {loads}", run.phase)
}

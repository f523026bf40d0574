// SPDX-License-Identifier: MIT OR Apache-2.0
//! A plan in a few sentences: the largest and the smallest maximum of its combinations, and what
//! its first factor does.

use super::Matrix;
use super::cell_stats::CellStats;
use crate::alike::{each_once, grouped};
use crate::format::{count, counted, latency};
use crate::language::{Language, in_language, texts, tr};
use crate::sections::accounts;
use crate::sections::caveats;
use crate::sections::lab::{self, TimeKind};
use crate::sections::verdict;
use judge::Verdict;
use model::Quantity;
use plan::Limit;
use std::collections::BTreeMap;

/// Values of a factor that a sentence has room for.
const MAX_VALUES: usize = 4;

impl Matrix {
    /// Rows of which something was measured, the largest maximum first, of intervals those that
    /// vary most.
    pub(super) fn largest_first(&self) -> Vec<usize> {
        let mut rows: Vec<usize> =
            (0..self.rows.len()).filter(|row| self.rows[*row].stats.max().is_some()).collect();
        // Sorted stably: of equals, the first of the plan.
        rows.sort_by_key(|row| std::cmp::Reverse(self.rows[*row].extent()));
        rows
    }

    /// The kinds of time that figures are on, each once.
    pub(super) fn kinds(&self) -> Vec<TimeKind> {
        let mut kinds: Vec<TimeKind> = self.rows.iter().filter_map(|row| row.kind).collect();
        kinds.sort_unstable();
        kinds.dedup();
        kinds
    }

    /// What kinds of figure are judged, each once, in the rows' order.
    pub(super) fn quantities(&self) -> Vec<Quantity> {
        each_once(self.rows.iter().filter(|row| row.runs > 0).map(|row| row.quantity))
    }

    /// The largest first of one kind of time, and of the first quantity on it.
    pub(super) fn largest_of(&self, kind: TimeKind) -> Vec<usize> {
        let first = self
            .rows
            .iter()
            .find(|row| row.kind == Some(kind) && row.runs > 0)
            .map(|row| row.quantity);
        first.map_or_else(Vec::new, |quantity| self.largest_in(kind, quantity))
    }

    fn largest_in(&self, kind: TimeKind, quantity: Quantity) -> Vec<usize> {
        let is_one = |row: &usize| {
            self.rows[*row].kind == Some(kind) && self.rows[*row].quantity == quantity
        };
        self.largest_first().into_iter().filter(is_one).collect()
    }

    /// The figure of each limit of the plan, and what became of it in a row; none where nothing is
    /// recorded.
    pub(super) fn judged<'m>(
        &'m self,
        row: &'m CellStats,
    ) -> impl Iterator<Item = (String, Verdict)> + 'm {
        self.limits
            .iter()
            .filter_map(|limit| Some((self.figure_of(limit), row.judged(limit)?.verdict)))
    }

    /// The figure that a limit is on; the whole limit where several are on that figure, as of plans
    /// that differ in it.
    pub(super) fn figure_of(&self, limit: &Limit) -> String {
        let is_one = self.limits.iter().filter(|other| other.name() == limit.name()).count() == 1;
        if is_one { limit.name().to_owned() } else { limit.to_string() }
    }

    /// How many combinations have caveats of their own.
    pub(super) fn with_caveats(&self) -> usize {
        self.rows.iter().filter(|row| !row.texts().run_caveats.is_empty()).count()
    }

    /// In how many a load was off target.
    pub(super) fn off_target(&self) -> usize {
        self.rows.iter().filter(|row| row.off_target).count()
    }

    /// One line: how many combinations have caveats, then what the figures say, and what is
    /// missing.
    pub fn verdict(&self, language: Language) -> String {
        in_language(language, || self.sentences())
    }

    pub(super) fn sentences(&self) -> String {
        let of = |n: usize| counted(n as u64, texts::n_combinations);
        let (with_caveats, off_target) = (self.with_caveats(), self.off_target());
        let mut sentences: Vec<String> = Vec::new();
        sentences.extend((with_caveats > 0).then(|| tr!(caveats_in_rows, rows = of(with_caveats))));
        sentences.extend((off_target > 0).then(|| tr!(load_off_target_in, rows = of(off_target))));
        sentences.push(self.headline());
        let missing =
            || tr!(runs_plan_without_recording, runs = counted(self.missing(), texts::n_runs));
        sentences.extend((self.missing() > 0).then(missing));
        sentences.join(" ")
    }

    /// What the machines did meanwhile, the worst of each kind: `at worst steal 26.3 % in 2
    /// combinations`.
    fn caveats(&self) -> Option<String> {
        let rows = self.rows.iter().filter(|row| !row.texts().caveats.is_empty());
        let mut worst = Vec::new();
        rows.clone().for_each(|row| caveats::merge(&mut worst, row.texts().caveats.clone()));
        let short: Vec<&str> = worst.iter().map(|caveat| caveat.short.as_str()).collect();
        let rows = counted(rows.count() as u64, texts::n_combinations);
        (!short.is_empty())
            .then(|| tr!(worst_caveats_in_rows, rows, caveats = short.join(texts::comma.said())))
    }

    /// The caveats of all figures, what the ns are if they are not a machine's, the largest and the
    /// smallest maximum of each kind of time, and what became of all activations.
    pub(super) fn headline(&self) -> String {
        let kinds = self.kinds();
        if kinds.is_empty() || self.largest_first().is_empty() {
            let nothing = if kinds.is_empty() {
                texts::nothing_is_recorded_yet
            } else {
                texts::no_latency_was_measured
            }
            .said();
            return tr!(
                rows_and_nothing,
                rows = counted(self.rows.len() as u64, texts::n_combinations),
                nothing
            );
        }
        let rights = Some(self.rights()).filter(|rights| !rights.is_empty());
        let conditions: Vec<String> = rights.into_iter().chain(self.caveats()).collect();
        let conditions = if conditions.is_empty() {
            String::new()
        } else {
            verdict::capitalised(&tr!(
                before_conditions,
                conditions = conditions.join(texts::semicolon.said())
            ))
        };
        let before = conditions + lab::in_short_of(kinds.iter().copied()).unwrap_or_default();
        let several = kinds.len() > 1;
        let mut figures = before.clone();
        for (place, quantity) in self.quantities().into_iter().enumerate() {
            let extremes: Vec<String> =
                kinds.iter().filter_map(|kind| self.extremes(*kind, quantity, several)).collect();
            if extremes.is_empty() {
                continue;
            }
            let woke = match (quantity == Quantity::Latency, place == 0 && before.is_empty()) {
                (false, true) => texts::largest_peak_peak,
                (false, false) => texts::largest_peak_to_peak,
                (true, true) => texts::worst_latency_heading,
                (true, false) => texts::worst_latency,
            }
            .said();
            let and = if place == 0 { "" } else { texts::semicolon.said() };
            figures += &tr!(
                and_woke_extremes,
                and,
                woke,
                extremes = extremes.join(texts::semicolon.said())
            );
        }
        let text = tr!(figures_on_time, figures, on_time = on_time(&self.rows));
        text.replace(char::is_control, " ")
    }

    /// `at most 558 µs late with ... (the largest of 54 maxima), 3.75 µs with ... (the smallest)`.
    fn extremes(&self, kind: TimeKind, quantity: Quantity, several: bool) -> Option<String> {
        let latest: Vec<&CellStats> =
            self.largest_in(kind, quantity).into_iter().map(|row| &self.rows[row]).collect();
        let worst = latest.first()?;
        let max = |row: &CellStats| latency(row.extent().unwrap_or(0));
        let on = match kind {
            _ if !several => "",
            TimeKind::Machine => texts::on_machines_own_clock.said(),
            TimeKind::Virtual => texts::in_virtual_ns.said(),
            TimeKind::Emulated => texts::emulated.said(),
        };
        let with = |row: &CellStats| {
            if self.varied.is_empty() {
                String::new()
            } else {
                tr!(with_name, name = self.name(row))
            }
        };
        let mut text = tr!(max_on_with, max = max(worst), on, with = with(worst));
        if latest.len() > 1 {
            let n = count(latest.len() as u64);
            text += &match quantity {
                Quantity::Latency => tr!(largest_n_maxima, n),
                Quantity::Jitter | Quantity::Interval => tr!(the_largest_of_n, n),
            };
            // The smallest of what is there as it was asked for: half a run has a small maximum
            // too.
            if let Some(best) = latest[1..].iter().rev().find(|row| row.is_whole()) {
                text += &tr!(max_with_the_smallest, max = max(best), with = with(best));
            }
        }
        Some(text)
    }

    /// `No real-time rights (SCHED_OTHER instead of SCHED_FIFO 90) in 2 of 4 combinations`; empty
    /// where nothing is amiss.
    pub(super) fn rights(&self) -> String {
        let measured = self.rows.iter().filter(|row| row.runs > 0).count();
        let mut known = grouped(
            self.rows.iter().filter_map(|row| Some((row.texts().rights.as_deref()?, row.denied))),
        );
        // What was denied before what was asked for.
        known.sort_by_key(|(_, denied)| (!denied[0], std::cmp::Reverse(denied.len())));
        let of = |rows: usize| {
            if rows == measured {
                String::new()
            } else {
                tr!(in_rows_of_all, rows, all = counted(measured as u64, texts::n_combinations))
            }
        };
        let phrases: Vec<String> = known
            .iter()
            .take(MAX_VALUES)
            .map(|(how, denied)| format!("{how}{}", of(denied.len())))
            .collect();
        phrases.join(texts::semicolon.said())
    }

    /// What the first factor does where all else is equal, if a sentence can say it: `Largest
    /// latency by kernel: debian:amd64 560 µs, debian:rt-amd64 5.43 µs`. Only combinations that
    /// were measured with each of its values count.
    pub(super) fn by_first_factor(&self) -> Option<String> {
        let factor = *self.varied.first()?;
        let values: Vec<&str> =
            self.factors[factor].values.iter().flatten().map(String::as_str).collect();
        let quantities = self.quantities();
        if !(2..=MAX_VALUES).contains(&values.len())
            || self.kinds().len() > 1
            || quantities.len() > 1
        {
            return None;
        }
        let mut alike: BTreeMap<Vec<usize>, Vec<Option<i64>>> = BTreeMap::new();
        for row in &self.rows {
            let Some(value) = self
                .value(row, factor)
                .and_then(|value| values.iter().position(|known| *known == value))
            else {
                continue;
            };
            // Otherwise the Linux beside a co-kernel would stand for it.
            if self.is_beside(row) {
                continue;
            }
            let maxima =
                alike.entry(self.all_else(row, factor)).or_insert_with(|| vec![None; values.len()]);
            maxima[value] = maxima[value].max(row.extent());
        }
        let whole: Vec<Vec<i64>> =
            alike.into_values().filter_map(|maxima| maxima.into_iter().collect()).collect();
        let worst = |value: usize| whole.iter().map(|maxima| maxima[value]).max();
        let phrases: Vec<String> = values
            .iter()
            .enumerate()
            .map(|(place, value)| {
                Some(format!("{} {}", self.value_and_core(factor, value), latency(worst(place)?)))
            })
            .collect::<Option<_>>()?;
        let pairs = if whole.len() > 1 {
            tr!(all_else_equal_in, n = count(whole.len() as u64))
        } else {
            String::new()
        };
        let (factor, values) = (&self.factors[factor].name, phrases.join(texts::comma.said()));
        Some(match quantities.first() {
            Some(Quantity::Latency) | None => {
                tr!(largest_latency_factor_pairs, factor, pairs, values)
            }
            Some(_) => {
                tr!(largest_peak_peak_factor, factor, pairs, values)
            }
        })
    }
}

fn on_time(rows: &[CellStats]) -> String {
    let totals = || rows.iter().map(|row| &row.stats.totals);
    let mut text = accounts::in_words(totals().map(|totals| totals.activations));
    let lost: u64 = totals().map(|totals| totals.lost).sum();
    if lost > 0 {
        text += &tr!(samples_lost_after, samples = counted(lost, texts::n_samples));
    }
    text
}

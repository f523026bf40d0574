// SPDX-License-Identifier: MIT OR Apache-2.0
//! A plan in a few words: the largest and the smallest maximum of its combinations, its caveats,
//! and what its first factor does.

use super::cell_stats::CellStats;
use super::{Matrix, Resumption};
use crate::alike::{each_once, grouped};
use crate::format::{count, counted, latency, list};
use crate::language::{Language, filled, in_language, texts, tr};
use crate::overview::Overview;
use crate::paint::Paint;
use crate::sections::accounts;
use crate::sections::caveats::{self, Banner, Caveat, CaveatKind};
use crate::sections::lab;
use crate::sections::latencies::OrNothing;
use crate::sections::time_kind::TimeKind;
use crate::sections::verdict::{Headline, fitting, late, nothing_measured};
use crate::terminal::head;
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
        self.rows.iter().filter(|row| row.texts().of_runs().next().is_some()).count()
    }

    /// In how many a load was off target.
    pub(super) fn off_target(&self) -> usize {
        self.rows.iter().filter(|row| row.off_target).count()
    }

    /// The headline, what became of all activations, and the caveats, each in a line.
    pub fn headline_text(&self, paint: Paint, language: Language) -> String {
        in_language(language, || head::headline(&self.headline(), paint))
    }

    pub(super) fn headline(&self) -> Headline {
        let is_any = self.rows.iter().any(|row| row.runs > 0);
        let account = if is_any { on_time(&self.rows) } else { String::new() };
        Headline { sentence: self.sentence(), account, caveats: self.banners() }
    }

    /// The combinations whose figures the headline is about, the largest first: of figures that
    /// cannot be compared, a machine's are those that somebody has to live with.
    pub(super) fn largest_of_first_kind(&self) -> Vec<&CellStats> {
        let mut found = self.kinds().into_iter().map(|kind| self.largest_of(kind));
        let rows = found.find(|rows| !rows.is_empty()).unwrap_or_default();
        let rows: Vec<&CellStats> = rows.into_iter().map(|row| &self.rows[row]).collect();
        // Nobody knows where those of an unstated unit would be among the others.
        let known = rows.iter().copied().filter(|row| row.unstated_unit.is_none());
        let known: Vec<&CellStats> = known.collect();
        if known.is_empty() { rows } else { known }
    }

    /// The largest maximum with its combination, the smallest if there is room, and what its ns are
    /// if they are not a machine's.
    fn sentence(&self) -> String {
        let latest = self.largest_of_first_kind();
        let Some(worst) = latest.first() else {
            let nothing = if self.kinds().is_empty() {
                tr!(nothing_is_recorded_yet)
            } else {
                let runs = self.top_runs.iter().map(|one| Overview::new(&one.recorded));
                nothing_measured(&runs.collect::<Vec<_>>())
            };
            let rows = counted(self.rows.len() as u64, texts::n_combinations);
            return fitting([tr!(rows_and_nothing, rows, nothing)]);
        };
        let what = if worst.is_of_intervals() {
            texts::largest_peak_to_peak_figure
        } else {
            self.measured().pick(texts::worst_wake_up_figure, texts::worst_latency_figure)
        };
        let time = lab::in_short_of(worst.kind.into_iter()).map(str::to_owned);
        // Where they were read from is a factor if it differs.
        let is_named = self.varied.iter().any(|factor| self.factors[*factor].name == "from");
        let source = worst.texts().source.clone().filter(|_| !is_named);
        let with = |source: Option<String>| {
            let conditions: Vec<String> = source.into_iter().chain(time.clone()).collect();
            self.extremes(&latest).into_iter().map(move |figure| {
                let figure = filled(what, &[("figure", &figure)]);
                let parts: Vec<String> =
                    std::iter::once(figure).chain(conditions.clone()).collect();
                parts.join(texts::comma.said())
            })
        };
        fitting(with(source).chain(with(None)))
    }

    /// `558 µs with ... (the worst of 54 combinations), 3.75 µs with ... (the best)`, in words that
    /// become fewer: the conditions that say least go first.
    fn extremes(&self, latest: &[&CellStats]) -> Vec<String> {
        let [worst, others @ ..] = latest else { return Vec::new() };
        let max = |row: &CellStats| {
            let written = |ns| late(ns, row.unstated_unit);
            row.figures().due.written(row.ranked_by(), written).or_nothing()
        };
        let figure = |row: &CellStats, name: &str| {
            let with = if name.is_empty() { String::new() } else { tr!(with_name, name) };
            tr!(max_with, max = max(row), with)
        };
        let n = count(latest.len() as u64);
        let of_all = [tr!(worst_n_combinations, n), tr!(worst_of_n, n), String::new()];
        let of_all = if others.is_empty() { &of_all[2..] } else { &of_all[..] };
        // The smallest of what is there as it was asked for: half a run has a small maximum too.
        let best = others.iter().rev().find(|row| row.is_whole()).map(|best| {
            let name = self.conditions_of(best)[0].join(texts::comma.said());
            format!("{}{}", of_all[0], tr!(max_with_the_smallest, figure = figure(best, &name)))
        });
        let [full, short] = self.conditions_of(worst);
        let name = |conditions: &[String]| conditions.join(texts::comma.said());
        let mut all: Vec<String> =
            best.map(|best| format!("{}{best}", figure(worst, &name(&full)))).into_iter().collect();
        for kept in (0..=full.len()).rev() {
            for of_all in of_all {
                let with = |all: &Vec<String>| figure(worst, &name(&all[..kept]));
                all.extend([&full, &short].map(|conditions| with(conditions) + of_all));
            }
        }
        all
    }

    /// What a combination was measured under, the most telling first, in full and with the kernel
    /// in short: scheduling in force, load, kernel, then the plan's other factors. What is the same
    /// in all combinations is not said.
    fn conditions_of(&self, row: &CellStats) -> [Vec<String>; 2] {
        let factor = |factor: usize| self.factors[factor].name.as_str();
        let schedulings =
            each_once(self.rows.iter().filter_map(|row| row.texts().scheduling.as_ref()));
        let scheduling = row.texts().scheduling.as_ref().filter(|_| schedulings.len() > 1);
        let mut varied = self.varied.clone();
        varied.retain(|place| scheduling.is_none() || !matches!(factor(*place), "policy" | "prio"));
        varied.sort_by_key(|place| match factor(*place) {
            // The output of another program: of a folder of them no other factor is known of all.
            "source" => 0,
            "policy" | "prio" => 1,
            "load" => 2,
            "kernel" => 3,
            _ => 4,
        });
        let named = |in_short: bool| {
            let names = varied.iter().filter_map(|place| {
                let short = self.kernel_in_short(row, *place).filter(|_| in_short);
                short.map(str::to_owned).or_else(|| self.named(row, *place))
            });
            scheduling.cloned().into_iter().chain(names).collect()
        };
        [named(false), named(true)]
    }

    /// `debian:amd64` of `debian:amd64=6.1.0-56`, where no other kernel of the plan is called so.
    fn kernel_in_short(&self, row: &CellStats, factor: usize) -> Option<&str> {
        let short = |kernel: &str| kernel.split_once('=').map(|(name, _)| name.to_owned());
        let (name, _) = self.value(row, factor)?.split_once('=')?;
        let factor = &self.factors[factor];
        let alike = factor
            .values
            .iter()
            .flatten()
            .filter(|kernel| short(kernel).as_deref().unwrap_or(kernel) == name);
        (factor.name == "kernel" && alike.count() == 1).then_some(name)
    }

    /// The caveats, the worst first; the table's notes name each combination.
    fn banners(&self) -> Vec<Banner> {
        let rows = |n: usize| counted(n as u64, texts::n_combinations);
        let mut banners: Vec<Banner> = Vec::new();
        let rights = self.rights();
        if !rights.is_empty() {
            let kind = if self.rows.iter().any(|row| row.denied) {
                CaveatKind::RightsDenied
            } else {
                CaveatKind::OrdinaryScheduling
            };
            banners.push(Banner::new(kind, &rights));
        }
        let (with_caveats, off_target) = (self.with_caveats(), self.off_target());
        if with_caveats > 0 {
            let text = tr!(rows_see_below_table, rows = rows(with_caveats));
            banners.push(Banner::new(CaveatKind::Incomplete, &text));
        }
        if off_target > 0 {
            let text = tr!(rows_marked_in_table, rows = rows(off_target));
            banners.push(Banner::new(CaveatKind::LoadOffTarget, &text));
        }
        if self.missing() > 0 {
            let runs = counted(self.missing(), texts::n_runs);
            let text = match self.boots_missing.boots.len() as u64 {
                0 => match &self.resumption {
                    Resumption::Possible => tr!(runs_plan_without_recording_run, runs),
                    Resumption::Lacks(why) => {
                        tr!(runs_plan_cannot_be_made, runs, why = first_sentence(why))
                    }
                },
                boots => {
                    let boots = counted(boots, texts::n_boots);
                    tr!(runs_plan_without_recording_boots, runs, boots)
                }
            };
            banners.push(Banner::new(CaveatKind::CutShort, &text));
        }
        for (why, n) in self.reasons() {
            let (runs, why) = (counted(n, texts::n_runs), first_sentence(why));
            banners.push(Banner::new(CaveatKind::CutShort, &tr!(runs_left_out, runs, why)));
        }
        let mut worst = Vec::new();
        for row in &self.rows {
            caveats::merge(&mut worst, row.texts().caveats.clone());
        }
        for caveat in worst {
            let has_it = |row: &&CellStats| {
                row.texts().caveats.iter().any(|other| other.kind == caveat.kind)
            };
            let n = self.rows.iter().filter(has_it).count();
            let (caveats, rows) = (&caveat.short, rows(n));
            let text = if n > 1 && caveat.kind.has_share() {
                tr!(worst_caveats_in_rows, caveats, rows)
            } else {
                tr!(caveats_in_rows, caveats, rows)
            };
            banners.push(Banner::new(caveat.kind, &text));
        }
        banners.extend(self.of_sources());
        for kind in self.kinds() {
            let Some((caveat, mut text)) = caveats::of_time(kind) else { continue };
            if self.kinds().len() > 1 {
                let rows = self.rows.iter().filter(|row| row.kind == Some(kind)).count();
                let all = counted(self.measured_rows() as u64, texts::n_combinations);
                text += &tr!(rows_of_all_beside, rows, all);
            }
            banners.push(Banner::new(caveat, &text));
        }
        banners.sort_by_key(|banner| banner.kind);
        banners
    }

    /// That figures were measured elsewhere, and what is noted of it. Where outputs of several
    /// programs leave out different things, the table's notes have them.
    fn of_sources(&self) -> Vec<Banner> {
        let of_rows = |rows: &[&CellStats]| self.of_measured(rows.len());
        let banner = |(source, rows): &(Source<'_>, Vec<&CellStats>)| {
            Banner::new(source.kind, &format!("{}{}", source.phrase, of_rows(rows)))
        };
        let sources = self.sources();
        let (programs, others): (Vec<_>, Vec<_>) =
            sources.iter().partition(|(source, _)| !source.program.is_empty());
        let mut banners: Vec<Banner> = others.into_iter().take(MAX_VALUES).map(banner).collect();
        if programs.len() <= 1 {
            banners.extend(programs.into_iter().map(banner));
            return banners;
        }
        let rows = self
            .rows
            .iter()
            .filter(|row| row.texts().of_source.iter().any(|caveat| !caveat.short.is_empty()));
        let mut names = each_once(programs.iter().map(|(source, _)| source.program.to_owned()));
        let further = names.len().saturating_sub(MAX_VALUES);
        names.truncate(MAX_VALUES);
        names.extend((further > 0).then(|| tr!(n_more, n = further)));
        let of = of_rows(&rows.collect::<Vec<_>>());
        let text = tr!(measured_by_programs, programs = list(&names), of);
        banners.push(Banner::new(CaveatKind::MeasuredElsewhere, &text));
        banners
    }

    /// What is known of where figures came from that were measured elsewhere, with its rows.
    fn sources(&self) -> Vec<(Source<'_>, Vec<&CellStats>)> {
        let of_row = |row| CellStats::texts(row).of_source.iter().map(move |caveat| (caveat, row));
        let known = self.rows.iter().flat_map(of_row);
        grouped(known.map(|(caveat, row)| (Source::new(caveat), row)))
    }

    /// Whether the caveats do not have all of that.
    pub(super) fn has_more_sources(&self) -> bool {
        let sources = self.sources();
        let programs = sources.iter().filter(|(source, _)| !source.program.is_empty()).count();
        programs > 1 || sources.len() - programs > MAX_VALUES
    }

    /// Why runs were left out, each reason with how many runs it is of; none where that is said of
    /// all that is missing.
    fn reasons(&self) -> BTreeMap<&str, u64> {
        let mut reasons = BTreeMap::new();
        let is_said = self.boots_missing.boots.is_empty()
            && self.missing() > 0
            && self.resumption != Resumption::Possible;
        for why in self.left_out.iter().filter(|_| !is_said) {
            *reasons.entry(why.as_str()).or_default() += 1;
        }
        reasons
    }

    /// What has no room in the line of a caveat: whole sentences on what a machine lacks.
    pub(super) fn reasons_in_full(&self) -> Vec<String> {
        let is_longer = |why: &str| first_sentence(why) != why;
        let missing = match &self.resumption {
            Resumption::Lacks(why)
                if self.boots_missing.boots.is_empty() && self.missing() > 0 && is_longer(why) =>
            {
                let runs = counted(self.missing(), texts::n_runs);
                Some(tr!(runs_plan_cannot_be_made, runs, why))
            }
            _ => None,
        };
        let left_out = self.reasons().into_iter().filter(|(why, _)| is_longer(why));
        let left_out =
            left_out.map(|(why, n)| tr!(runs_left_out, runs = counted(n, texts::n_runs), why));
        missing.into_iter().chain(left_out).collect()
    }

    /// ` in 2 of 4 combinations`; empty where it is all that were measured.
    fn of_measured(&self, rows: usize) -> String {
        let measured = self.measured_rows();
        if rows == measured {
            String::new()
        } else {
            tr!(in_rows_of_all, rows, all = counted(measured as u64, texts::n_combinations))
        }
    }

    fn measured_rows(&self) -> usize {
        self.rows.iter().filter(|row| row.runs > 0).count()
    }

    /// `No real-time rights (SCHED_OTHER instead of SCHED_FIFO 90) in 2 of 4 combinations`; empty
    /// where nothing is amiss.
    fn rights(&self) -> String {
        let mut known = grouped(
            self.rows
                .iter()
                .filter_map(|row| Some((&row.texts().rights.as_ref()?.phrase, row.denied))),
        );
        // What was denied before what was asked for.
        known.sort_by_key(|(_, denied)| (!denied[0], std::cmp::Reverse(denied.len())));
        let phrases: Vec<String> = known
            .iter()
            .take(MAX_VALUES)
            .map(|(how, denied)| format!("{how}{}", self.of_measured(denied.len())))
            .collect();
        phrases.join(texts::semicolon.said())
    }

    /// The largest latency of each value of the first factor, if a sentence can say it: `Largest
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
            || self.rows.iter().any(|row| row.unstated_unit.is_some())
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
            tr!(equal_settings_in, n = count(whole.len() as u64))
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

/// What is known of where figures came from.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Source<'m> {
    kind: CaveatKind,
    phrase: &'m str,
    /// That measured them; empty of what is not of a program.
    program: &'m str,
}

impl<'m> Source<'m> {
    fn new(caveat: &'m Caveat) -> Source<'m> {
        Source { kind: caveat.kind, phrase: &caveat.phrase, program: &caveat.short }
    }
}

/// What a machine lacks, without what to do about it.
fn first_sentence(why: &str) -> &str {
    why.split_once(". ").map_or(why, |(first, _)| first)
}

fn on_time(rows: &[CellStats]) -> String {
    let totals = || rows.iter().map(|row| &row.stats.totals);
    let mut text = accounts::in_words(totals().map(|totals| totals.activations));
    let lost: u64 = totals().filter_map(|totals| totals.activations.lost()).sum();
    if lost > 0 {
        text += &tr!(samples_lost_after, samples = counted(lost, texts::n_samples));
    }
    text + texts::full_stop.said()
}

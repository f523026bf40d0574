// SPDX-License-Identifier: MIT OR Apache-2.0
//! One combination of a plan's factors, with all that was recorded of it: repeats as if they had
//! been one run.
//!
//! In the lab's virtual time a repeat is the first run over again. It shows that nothing else was
//! at work, and nothing more about latencies, so it is counted as a run and not as samples. So is a
//! copy of a recording.

use super::published::{MatchKey, Published, PublishedRun};
use crate::format;
use crate::language::{InEach, Text, texts, tr};
use crate::overview::{Overview, Totals};
use crate::sections::accounts::Accounts;
use crate::sections::caveats::{self, Caveat, CaveatKind};
use crate::sections::co_kernel;
use crate::sections::imported;
use crate::sections::inference::Inference;
use crate::sections::latencies::{self, Latencies};
use crate::sections::noise;
use crate::sections::time_kind::TimeKind;
use crate::sections::verdict::granted;
use judge::{Criterion, Judged, PhaseMaxima, PhaseMaximum};
use model::{CoKernel, Document, Examined, Quantity, RunIdentity, Thread};
use plan::{Limit, Nanos};
use stats::{Level, Statistics, Summary};
use std::path::PathBuf;
use std::sync::Arc;

#[derive(Debug, Default)]
pub(super) struct CellStats {
    /// Which of its values each factor has.
    pub(super) at: Vec<usize>,
    pub(super) runs: u32,
    /// Recordings of a run that an earlier recording is of: repeats in the lab, and copies.
    pub(super) identical: u32,
    /// Runs of the plan that have no recording.
    pub(super) missing: u32,
    /// Whether some of them cannot be made on their machine.
    pub(super) is_left_out: bool,
    pub(super) stats: CellFigures,
    /// The interval of all threads of all repeats, ns, while they share one.
    pub(super) interval_ns: Option<i64>,
    /// What kind of time is judged; of the first run.
    pub(super) quantity: Quantity,
    /// On what time the figures are; of the first run.
    pub(super) kind: Option<TimeKind>,
    /// The ns that 1 of an output is taken for which does not say its unit; of the first run.
    pub(super) unstated_unit: Option<i64>,
    /// Whether it was measured by the probe that is the default on Linux; of the first run.
    is_cyclic: bool,
    /// What its runs were measured on, each once; none: Linux.
    pub(super) cores: Vec<Option<CoKernel>>,
    /// The smallest and the largest CPU use that each load reached, percent, in the loads' order.
    pub(super) reached: Vec<(f64, f64)>,
    pub(super) off_target: bool,
    /// Whether it is not known of a run what load there was.
    is_load_unknown: bool,
    /// Samples that were lost, of all its runs.
    lost: u64,
    texts: InEach<Texts>,
    /// Whether real-time scheduling was asked for and not granted.
    pub(super) denied: bool,
    /// Its threads, where they have intervals of their own: figures of one are no figures of the
    /// other.
    pub(super) threads: Vec<CellThread>,
    pub(super) judged: Vec<Judged>,
    /// Of the first repeat; the others differ in nothing that is asked for.
    key: Option<MatchKey>,
    /// The largest latency of each phase, of runs in the lab.
    phases: PhaseMaxima,
    /// Where the recording of each distinct run is.
    paths: Vec<PathBuf>,
    /// What is inferred from all phases together; empty of any other row.
    pub(super) inferences: Vec<Inference>,
    distinct: Vec<RunIdentity>,
    /// Machine, kernel and program of the first repeat: those of the others have to be the same.
    made_by: Option<String>,
}

/// What a reader must know before the figures of a combination, made of each run before it is let
/// go.
#[derive(Debug, Default)]
pub(super) struct Texts {
    /// What the scheduler granted to the threads of the first run: `SCHED_FIFO 90`.
    pub(super) scheduling: Option<String>,
    /// Where times came from that another machine or program took; of the first run.
    pub(super) source: Option<String>,
    /// That they did, and what is known of it, each once.
    pub(super) of_source: Vec<Caveat>,
    /// Real-time scheduling that was asked for and not granted, or ordinary scheduling that was
    /// asked for.
    pub(super) rights: Option<Caveat>,
    /// How many samples were lost, of all its runs.
    lost: Option<Caveat>,
    /// What else a reader must know before the figures, each once.
    run_caveats: Vec<Caveat>,
    /// What was bad about the machine, each once.
    pub(super) set_up_badly: Vec<Caveat>,
    /// What is wrong with its runs in a few letters each, for a column of the table.
    marks: Vec<(CaveatKind, String)>,
    /// What else the machine did meanwhile: of each kind, the worst of all runs.
    pub(super) caveats: Vec<Caveat>,
}

fn polled_ns(thread: &Thread) -> i64 {
    thread.polling.map_or(0, |polling| polling.polled_ns)
}

/// What is summed up over repeats, of a combination or of one of its threads.
#[derive(Debug, Default)]
pub(super) struct CellFigures {
    pub(super) totals: Totals,
    /// How many threads of runs these are.
    threads: usize,
    /// Where it is one, its figures: with skipped activations counted in, and as measured.
    observed: Option<(Summary, Option<Summary>)>,
    /// The maximum of each repeat, ns.
    pub(super) maxima: Vec<i64>,
    /// How long loops polled, whose gaps they are, ns; 0 of all that do not poll.
    polled_ns: i64,
}

impl CellFigures {
    /// The largest latency, ns, skipped activations counted in: what tables, maps and verdicts call
    /// the maximum.
    pub(super) fn max(&self) -> Option<i64> {
        self.totals.due_moments.max()
    }

    fn observe(&mut self, threads: &[Statistics]) {
        for one in threads {
            self.threads += 1;
            let figures = one.latency_with_skipped.map(|due| (due, one.latency));
            self.observed = figures.filter(|_| self.threads == 1);
        }
    }

    /// Takes the figures of all its runs together for those that were observed one by one.
    fn pool(&mut self, threads: &[Statistics]) {
        (self.threads, self.observed) = (0, None);
        self.observe(threads);
    }

    pub(super) fn figures(&self) -> Figures<'_> {
        let (due, as_measured) =
            self.observed.as_ref().map(|(due, measured)| (due, measured.as_ref())).unzip();
        Figures {
            activations: &self.totals.activations,
            due: self.totals.due(due),
            as_measured: self.totals.measured(as_measured.flatten()),
            maxima: &self.maxima,
            polled_ns: self.polled_ns,
        }
    }
}

/// One thread of a combination, over all repeats.
#[derive(Debug)]
pub(super) struct CellThread {
    pub(super) index: usize,
    pub(super) interval_ns: Nanos,
    stats: CellFigures,
    key: Option<MatchKey>,
}

/// A figure of a combination, or of one of its threads.
#[derive(Clone, Copy)]
pub(super) enum Figure {
    Latency(latencies::Figure),
    Overruns,
    Skipped,
}

impl Figure {
    pub(super) const fn name(self) -> Text {
        match self {
            Figure::Latency(figure) => figure.name(),
            Figure::Overruns => texts::late,
            Figure::Skipped => texts::skipped,
        }
    }
}

/// The figures of a combination, or of one of its threads.
#[derive(Clone, Copy, Debug)]
pub(super) struct Figures<'p> {
    pub(super) activations: &'p Accounts,
    /// Skipped activations counted in.
    pub(super) due: Latencies<'p>,
    pub(super) as_measured: Latencies<'p>,
    maxima: &'p [i64],
    polled_ns: i64,
}

impl Figures<'_> {
    /// A latency to the nearest ns, or a count.
    pub(super) fn rounded(&self, figure: Figure) -> Option<i64> {
        let count = |n: Option<u64>| n.map(|n| i64::try_from(n).unwrap_or(i64::MAX));
        match figure {
            Figure::Latency(figure) => self.due.rounded(figure),
            Figure::Overruns => count(self.activations.late()),
            Figure::Skipped => count(self.activations.skipped()),
        }
    }

    /// What the gaps of polling loops are of the time polled, percent.
    pub(super) fn noise(&self) -> Option<f64> {
        noise::percent(self.polled_ns, self.as_measured.moments)
    }

    /// The smallest and the largest maximum of the repeats, ns.
    pub(super) fn spread(&self) -> Option<(i64, i64)> {
        Some((*self.maxima.iter().min()?, *self.maxima.iter().max()?))
    }
}

impl CellThread {
    /// `1: 1500us`.
    pub(super) fn label(&self) -> String {
        format!("{}: {}", self.index, self.interval_ns)
    }

    pub(super) fn figures(&self) -> Figures<'_> {
        self.stats.figures()
    }

    /// What others have measured under the same circumstances.
    pub(super) fn beside(&self, published: &Published) -> Vec<Arc<PublishedRun>> {
        self.key.as_ref().map_or_else(Vec::new, |key| published.beside(key))
    }
}

impl CellStats {
    /// A combination of which nothing is recorded yet.
    pub(super) fn new(at: Vec<usize>) -> Self {
        CellStats { at, ..CellStats::default() }
    }

    /// Whether intervals are judged, whose first figures are how much they vary.
    pub(super) fn is_of_intervals(&self) -> bool {
        self.quantity != Quantity::Latency
    }

    /// The figure that it is ranked by: of latencies the largest, of intervals from the
    /// shortest to the longest.
    pub(super) fn ranked_by(&self) -> latencies::Figure {
        use latencies::Figure::{Max, PeakToPeak};
        if self.is_of_intervals() { PeakToPeak } else { Max }
    }

    /// That figure, ns.
    pub(super) fn extent(&self) -> Option<i64> {
        self.figures().due.rounded(self.ranked_by())
    }

    /// What is said of the co-kernels its runs were measured on; none where all were on Linux.
    pub(super) fn on_cores(&self, say: impl Fn(&CoKernel) -> String) -> Option<String> {
        let is_any = self.cores.iter().any(Option::is_some);
        let said =
            self.cores.iter().map(|core| core.as_ref().map_or_else(|| "Linux".to_owned(), &say));
        is_any.then(|| said.collect::<Vec<_>>().join("; "))
    }

    /// The co-kernel that its threads ran on; none: Linux.
    pub(super) fn core(&self) -> Option<&CoKernel> {
        self.cores.iter().flatten().next()
    }

    /// Whether its threads ran on Linux, and were threads that sleep to a planned time, as those on
    /// a co-kernel are.
    pub(super) fn is_of_linux(&self) -> bool {
        self.runs > 0 && self.core().is_none() && self.is_cyclic
    }

    /// Adds a run; whether it is more than a copy or repeat of one before it.
    pub(super) fn add(&mut self, overview: &Overview<'_>) -> bool {
        let document = overview.document();
        let interval_ns = overview.interval_ns().filter(|_| document.has_intervals());
        if self.runs == 0 {
            self.interval_ns = interval_ns;
            self.quantity = document.probe.quantity;
            self.is_cyclic = document.probe.name == plan::DEFAULT_PROBE;
            self.kind = Some(TimeKind::from_document(document));
            self.unstated_unit = imported::unstated_unit(document);
            self.key = MatchKey::from_overview(overview);
        }
        self.interval_ns = self.interval_ns.filter(|ours| Some(*ours) == interval_ns);
        self.runs += 1;
        let core = co_kernel::of(document).map(|core| CoKernel { chosen: false, ..core.clone() });
        if !self.cores.contains(&core) {
            self.cores.push(core);
        }
        self.texts.each(|texts| caveats::merge(&mut texts.caveats, caveats::collect(document)));
        self.stats.maxima.extend(overview.totals.due_moments.max());
        let run = RunIdentity::from_recorded(overview.recorded);
        if self.distinct.contains(&run) {
            self.identical += 1;
            return false;
        }
        if let Some((phase, max_ns)) = run.phase().zip(overview.recorded.largest_ns()) {
            self.phases.add(PhaseMaximum { phase, place: self.paths.len(), max_ns });
        }
        self.paths.push(overview.recorded.path.clone());
        let differs = run.is_deterministic()
            && self.distinct.iter().any(|known| known.phase() == run.phase());
        self.distinct.push(run);
        let stats = &mut self.stats;
        stats.totals.merge(&overview.totals);
        stats.observe(&overview.recorded.threads);
        stats.polled_ns =
            document.threads.iter().map(polled_ns).fold(stats.polled_ns, i64::saturating_add);
        self.add_threads(overview);
        for (place, reached) in document.load.iter().filter_map(|load| load.reached).enumerate() {
            match self.reached.get_mut(place) {
                Some((low, high)) => {
                    (*low, *high) = (low.min(reached.mean), high.max(reached.mean))
                }
                None => self.reached.push((reached.mean, reached.mean)),
            }
        }
        self.off_target |= document.load_off_target;
        self.is_load_unknown |= document.known_off_target().is_none();
        self.add_caveats(overview, differs);
        true
    }

    /// Takes the figures of all its phases together, which are exact, for those that were added one
    /// by one.
    pub(super) fn pool(&mut self, examined: &Examined) {
        let threads = examined.statistics();
        self.stats.pool(threads);
        // Of jitter the analyses are those of its size, and what is drawn has its sign.
        if self.quantity != Quantity::Jitter {
            self.inferences = examined.analyses.iter().map(Inference::from_analysis).collect();
        }
        let indices = examined.recorded.document.threads.iter().map(|thread| thread.index);
        for (index, statistics) in indices.zip(threads) {
            if let Some(thread) = self.threads.iter_mut().find(|thread| thread.index == index) {
                thread.stats.pool(std::slice::from_ref(statistics));
            }
        }
    }

    /// The largest latency of each phase, if its runs are phases of one run; and where their
    /// recordings are.
    pub(super) fn phases(&self) -> Option<(&PhaseMaxima, &[PathBuf])> {
        let phases = &self.phases.of_each;
        phases
            .iter()
            .any(|one| one.phase != phases[0].phase)
            .then_some((&self.phases, self.paths.as_slice()))
    }

    /// Where the recording of each distinct run is.
    pub(super) fn recordings(&self) -> &[PathBuf] {
        &self.paths
    }

    /// Each thread by itself, unless all have one interval or none.
    fn add_threads(&mut self, overview: &Overview<'_>) {
        if overview.interval_ns().is_some() || !overview.document().has_intervals() {
            return;
        }
        let recorded = overview.recorded;
        for (thread, statistics) in recorded.document.threads.iter().zip(&recorded.threads) {
            let place =
                self.threads.iter().position(|known| known.index == thread.index).unwrap_or_else(
                    || {
                        self.threads.push(CellThread {
                            index: thread.index,
                            interval_ns: thread.interval_ns,
                            stats: CellFigures::default(),
                            key: MatchKey::from_thread(&recorded.document, thread),
                        });
                        self.threads.len() - 1
                    },
                );
            let pooled = &mut self.threads[place].stats;
            pooled.totals.add(&recorded.document, thread, statistics);
            pooled.observe(std::slice::from_ref(statistics));
            pooled.maxima.extend(Latencies::due(statistics).max());
            pooled.polled_ns = pooled.polled_ns.saturating_add(polled_ns(thread));
        }
    }

    /// Enters what became of its plan's limits in one more run: of each, the worst stays.
    pub(super) fn judge(&mut self, judged: Vec<Judged>) {
        for new in judged {
            match self.judged.iter_mut().find(|known| known.criterion == new.criterion) {
                Some(known) if new.is_worse_than(known) => *known = new,
                Some(_) => {}
                None => self.judged.push(new),
            }
        }
    }

    /// `differ`: a run of the lab is not what an equal one before it is.
    fn add_caveats(&mut self, overview: &Overview<'_>, differ: bool) {
        self.denied |= caveats::denied(overview.document()).is_some();
        let made_by = made_by(overview.document());
        let other = self.made_by.as_ref().is_some_and(|first| *first != made_by);
        self.made_by.get_or_insert(made_by);
        self.lost = self.lost.saturating_add(judge::samples_lost(overview.recorded));
        let lost = self.lost;
        self.texts.each(|texts| {
            texts.add(overview, other, differ);
            texts.lost = caveats::of_lost_samples(lost);
        });
    }

    /// In the current language.
    pub(super) fn texts(&self) -> &Texts {
        self.texts.get()
    }

    /// What its figures must not be read without, in a few letters each: `no real-time rights,
    /// steal 26.3 %`, the worst first.
    pub(super) fn in_short(&self) -> Vec<String> {
        let texts = self.texts();
        let caveats = texts.caveats.iter().map(|caveat| (caveat.kind, &caveat.short));
        let marks = texts.marks.iter().map(|(kind, mark)| (*kind, mark));
        let left_out = self.is_left_out.then(|| tr!(left_out));
        let left_out = left_out.iter().map(|mark| (CaveatKind::CutShort, mark));
        let mut all: Vec<(CaveatKind, &String)> = left_out.chain(marks).chain(caveats).collect();
        all.sort_by_key(|(kind, _)| *kind);
        all.into_iter().map(|(_, short)| short.clone()).collect()
    }

    /// The same in full.
    pub(super) fn caveats(&self) -> Vec<String> {
        let texts = self.texts();
        let mut all: Vec<&Caveat> =
            texts.rights.iter().chain(texts.of_runs()).chain(&texts.caveats).collect();
        all.sort_by_key(|caveat| caveat.kind);
        let left_out = self.is_left_out.then(|| tr!(left_out));
        left_out.into_iter().chain(all.into_iter().map(|caveat| caveat.phrase.clone())).collect()
    }

    /// Whether its figures are all that was asked for.
    pub(super) fn is_whole(&self) -> bool {
        self.runs > 0
            && self.missing == 0
            && self.texts().of_runs().next().is_none()
            && !self.off_target
            && !self.denied
    }

    pub(super) fn figures(&self) -> Figures<'_> {
        self.stats.figures()
    }

    /// On what time its figures are; of which nothing is recorded, a machine's.
    pub(super) fn time(&self) -> TimeKind {
        self.kind.unwrap_or(TimeKind::Machine)
    }

    /// One of its figures, or of one of its threads, as tables show it.
    pub(super) fn in_micros(&self, all: &Figures<'_>, figure: latencies::Figure) -> String {
        use latencies::Figure::{PeakToPeak, Sd};
        let is_spread = self.is_of_intervals() && matches!(figure, Sd | PeakToPeak);
        if is_spread && self.time() != TimeKind::Virtual {
            // Intervals vary by less than 1 µs on most machines.
            return all.due.text(figure, format::fine_micros);
        }
        all.due.in_micros(figure, self.time())
    }

    /// Whether any of its quantiles is not the observed one.
    pub(super) fn is_about(&self) -> bool {
        let is_about =
            |all: Figures<'_>| all.due.about() != "" && all.due.quantile(Level::P50).is_some();
        parts(self)
            .into_iter()
            .any(|part| is_about(part.map_or_else(|| self.figures(), CellThread::figures)))
    }

    /// Whether a load was off target, where that is known.
    pub(super) fn known_off_target(&self) -> Option<bool> {
        (self.off_target || !self.is_load_unknown).then_some(self.off_target)
    }

    /// Samples that were lost; none where nothing is recorded, or where that is not known.
    pub(super) fn samples_lost(&self) -> Option<u64> {
        self.stats.totals.activations.lost().filter(|_| self.runs > 0)
    }

    /// Whether any activation was skipped that could be counted in.
    pub(super) fn has_skipped(&self) -> bool {
        self.stats.totals.due_moments.count() > self.stats.totals.moments.count()
    }

    /// What became of a limit in its worst run; none where no run was held against it.
    pub(super) fn judged(&self, limit: &Limit) -> Option<&Judged> {
        self.judged
            .iter()
            .find(|judged| matches!(&judged.criterion, Criterion::Limit(known) if known == limit))
    }

    /// Whether no limit is named for what it measured.
    pub(super) fn has_no_limit(&self) -> bool {
        self.runs > 0 && self.judged.is_empty()
    }

    /// What others have measured under the same circumstances.
    pub(super) fn beside(&self, published: &Published) -> Vec<Arc<PublishedRun>> {
        self.key.as_ref().map_or_else(Vec::new, |key| published.beside(key))
    }
}

impl Texts {
    /// What a reader must know of the runs themselves, beside the rights they had.
    pub(super) fn of_runs(&self) -> impl Iterator<Item = &Caveat> {
        self.lost.iter().chain(&self.run_caveats)
    }

    /// Adds those of one more run: `other`, it comes from another machine than the first; `differ`,
    /// the lab's repeats differ.
    fn add(&mut self, overview: &Overview<'_>, other: bool, differ: bool) {
        let document = overview.document();
        let denied = caveats::denied(document).map(|how| {
            let phrase = format::capitalised(&tr!(no_real_time_rights_how, how));
            Caveat::in_full(CaveatKind::RightsDenied, phrase)
        });
        let ordinary = || caveats::of_ordinary(document);
        self.scheduling = self.scheduling.take().or_else(|| granted(document));
        self.source = self.source.take().or_else(|| overview.source());
        for mut caveat in caveats::of_source(document) {
            caveat.phrase = format::capitalised(&caveat.phrase);
            if !self.of_source.contains(&caveat) {
                self.of_source.push(caveat);
            }
        }
        self.rights = self.rights.take().or(denied).or_else(ordinary);
        if let Some(badly) = caveats::set_up_badly(document) {
            let badly = Caveat::in_full(badly.kind, format::capitalised(&badly.phrase));
            if !self.set_up_badly.contains(&badly) {
                self.set_up_badly.push(badly);
            }
        }
        let incomplete = |text: String| (CaveatKind::Incomplete, text);
        let marks = [
            other.then(|| incomplete(tr!(mixed_machines))),
            differ.then(|| incomplete(tr!(repeats_differ))),
        ];
        let faults = caveats::faults(overview.recorded);
        let short = faults.iter().map(|fault| (fault.kind, fault.short.clone()));
        for mark in short.chain(marks.into_iter().flatten()) {
            if !self.marks.contains(&mark) {
                self.marks.push(mark);
            }
        }
        // These have lines of their own.
        let has_line = |kind| {
            use CaveatKind::{LoadOffTarget, RightsDenied, SamplesLost};
            matches!(kind, RightsDenied | LoadOffTarget | SamplesLost)
        };
        let faults = faults.into_iter().filter(|fault| !has_line(fault.kind));
        let of_row = |phrase: String| Caveat::in_full(CaveatKind::Incomplete, phrase);
        let other = other.then(|| of_row(tr!(repeats_come_from_different)));
        let differ = differ.then(|| of_row(tr!(repeats_in_lab_differ)));
        for caveat in faults.chain([other, differ].into_iter().flatten()) {
            if self.run_caveats.iter().all(|known| known.phrase != caveat.phrase) {
                self.run_caveats.push(caveat);
            }
        }
    }
}

/// A row's threads where they have intervals of their own; otherwise the row as one.
pub(super) fn parts(row: &CellStats) -> Vec<Option<&CellThread>> {
    if row.threads.is_empty() { vec![None] } else { row.threads.iter().map(Some).collect() }
}

/// What others have measured under the same circumstances as such a part.
pub(super) fn beside(
    row: &CellStats,
    part: Option<&CellThread>,
    published: &Published,
) -> Vec<Arc<PublishedRun>> {
    part.map_or_else(|| row.beside(published), |part| part.beside(published))
}

/// What has to be the same of runs that are pooled: in the lab program and QEMU too, since every
/// byte of a guest moves its figures.
fn made_by(document: &Document) -> String {
    let before = &document.host.before;
    let lab = document
        .lab
        .as_ref()
        .map(|lab| (&lab.program.sha256, &lab.kernel.image.sha256, &lab.qemu.version));
    let core = co_kernel::of(document).map(format::co_kernel);
    format!(
        "{:?} {:?} {:?} {:?} {core:?} {lab:?}",
        before.hostname, before.cpu_model, before.kernel, before.preemption
    )
}

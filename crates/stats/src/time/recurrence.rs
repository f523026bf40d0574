// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether late wake-ups come at regular intervals, at any period from two activations to a third
//! of the run.
//!
//! The run is looked at in windows of 4,096 bins; a bin is one activation, 4, 16, 64 and so on, and
//! stands for the latest of them. At each width there are windows at the beginning of the run, and
//! after one, two, four, eight and so on of their lengths, so that any run takes a few dozen. In a
//! window the latest bins are taken, at several rarities from one in two to one in 512, and how
//! often two of them lie how far apart is counted. Spikes that recur make the count at their
//! period, and at its multiples, higher than at the distances around it; bursts and slow changes
//! make neighbouring distances alike.
//!
//! A distance is called a period if its count is higher than on *both* sides by more than chance
//! would do, anywhere in all that was tried, in one of 1,000 runs. How much the counts vary by
//! chance when latencies are correlated is Bartlett's formula (M. S. Bartlett, "On the theoretical
//! specification and sampling properties of autocorrelated time-series", JRSS Supplement 8
//! (1946) 27-41).

use super::distances::{BINS, Distances, RARITIES};
use super::places::{self, Bin, CLEARLY, NOTHING, Window, densest, median, off_place};
use crate::distribution::Counted;
use crate::rows::Chunk;

/// From this rarity on, late bins next to one another are one.
const SPARSE: usize = 32;
/// Fewer late bins than this are not looked at.
const MIN_EVENTS: usize = 5;
/// At a rarity of one in so many, a period is at least that many bins over this: what recurs more
/// often shows where more bins count as late.
const MIN_PERIOD: usize = 4;
/// What is late at fewer than this share of its places is not called a period.
const MIN_PRESENT: f64 = 0.1;
/// What recurs exactly is off its activation by up to half of one, as its place lies between two.
const EXACT: f64 = 0.5;
/// Half of the late ones lie within their jitter and nearly all within twice that, on either side:
/// where the period is no more than so many times the jitter, they cover half of it, and lie
/// anywhere.
const MIN_OF_JITTERS: f64 = 8.0;
/// As late are taken, however rare that makes them, at least so many bins.
const MIN_TAKEN: usize = 6;
/// Widths of a bin are powers of this.
const WIDER: u32 = 2;
/// Widths at most: the last has windows of 10^12 activations.
const MAX_WIDTHS: u32 = 15;
/// One false detection in so many runs.
const CHANCE: f64 = 1e-3;

/// All windows of one width.
#[derive(Clone, Debug)]
struct Width {
    log2: u32,
    /// Row that the window being filled begins at.
    begins: u64,
    bins: Vec<Bin>,
    by_rarity: [Distances; RARITIES.len()],
}

impl Width {
    fn new(log2: u32) -> Self {
        Width {
            log2,
            begins: 0,
            bins: Vec::new(),
            by_rarity: std::array::from_fn(|_| Distances::default()),
        }
    }

    const fn rows(&self) -> u64 {
        (BINS as u64) << self.log2
    }

    fn bin(&mut self, row: u64) -> Option<&mut Bin> {
        let index = usize::try_from((row.checked_sub(self.begins)?) >> self.log2).ok()?;
        if index >= self.bins.len() {
            self.bins.resize(index + 1, NOTHING);
        }
        self.bins.get_mut(index)
    }

    /// One activation that woke.
    fn one(&mut self, row: u64, latency_ns: i64) {
        self.make_way(row);
        if let Some(bin) = self.bin(row)
            && latency_ns > bin.latency_ns
        {
            *bin = Bin { latency_ns, activation: row };
        }
    }

    /// Activations that woke, the largest latency of which is given; they lie within one bin if
    /// bins are not narrower.
    fn add_chunk(&mut self, first: u64, chunk: Chunk<'_>, max: i64) {
        let last = first + chunk.values.len() as u64 - 1;
        if last < self.begins {
            return;
        }
        if first >> self.log2 == last >> self.log2 && first >= self.begins {
            self.make_way(first);
            if first < self.begins {
                return;
            }
            if let Some(bin) = self.bin(first)
                && max > bin.latency_ns
            {
                *bin = latest_of(first, chunk, max);
            }
        } else {
            (first..).zip(chunk.values).for_each(|(row, value)| self.one(row, i64::from(*value)));
        }
    }

    /// Ends the window where this row lies beyond it; the next begins at once, or as far on as the
    /// run has come.
    fn make_way(&mut self, row: u64) {
        while row >= self.begins + self.rows() {
            self.count();
            let ended = self.begins + self.rows();
            self.begins = if self.begins == 0 { ended } else { self.begins * 2 };
            self.bins.clear();
        }
    }

    /// Counts the distances of the window.
    fn count(&mut self) {
        let mut latencies: Vec<i64> = self
            .bins
            .iter()
            .map(|bin| bin.latency_ns)
            .filter(|latency| *latency > i64::MIN)
            .collect();
        let seen = latencies.len();
        let window = Window::new(self.begins, self.log2, &self.bins);
        for (rarity, distances) in RARITIES.into_iter().zip(&mut self.by_rarity) {
            let max = (seen / rarity).max(MIN_TAKEN);
            if max > seen / 2 || max > seen / 4 && rarity > RARITIES[0] {
                break;
            }
            let (_, above, _) = latencies.select_nth_unstable_by(max, |a, b| b.cmp(a));
            let late = events(&self.bins, *above, rarity);
            if late.len() >= MIN_EVENTS {
                distances.add(&late, self.bins.len());
                if late.len() > distances.latest.len() {
                    distances.latest = late.into_iter().map(|(_, bin)| bin).collect();
                    distances.window = window.clone();
                }
            }
        }
    }
}

/// The latest of successive activations, whose latency is known.
fn latest_of(first: u64, chunk: Chunk<'_>, max: i64) -> Bin {
    let within = chunk.values.iter().position(|value| i64::from(*value) == max).unwrap_or(0);
    Bin { latency_ns: max, activation: first + within as u64 }
}

/// Bins later than `above`, with their places; of neighbours only the latest, if they are to be
/// rare.
fn events(bins: &[Bin], above: i64, rarity: usize) -> Vec<(usize, Bin)> {
    let late = bins.iter().enumerate().filter(|(_, bin)| bin.latency_ns > above);
    let mut events: Vec<(usize, Bin)> = Vec::new();
    let mut last = None;
    for (place, bin) in late {
        let beside = rarity >= SPARSE && last.is_some_and(|last| place - last <= 1);
        last = Some(place);
        match events.last_mut() {
            Some(known) if beside => {
                if bin.latency_ns > known.1.latency_ns {
                    *known = (place, *bin);
                }
            }
            _ => events.push((place, *bin)),
        }
    }
    events
}

/// Late wake-ups that recur.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Period {
    /// Activations from one to the next.
    pub activations: f64,
    /// The number of the activation that the first of them is due at, or would be; below the
    /// period.
    pub first: f64,
    /// How far they lie off those places, activations: half of them at most so far.
    pub jitter: f64,
    /// Share of those places at which there is one.
    pub present: f64,
    /// How late they are, ns: half of them at least so late, estimated from all wake-ups at those
    /// places.
    pub latency_ns: i64,
    /// The probability that chance alone makes anything as regular in such a run.
    pub chance: f64,
}

/// What is counted while a run goes by.
#[derive(Clone, Debug)]
pub(crate) struct Recurrence {
    /// Of bins narrower than a group, then of the others.
    narrow: Vec<Width>,
    wide: Vec<Width>,
    /// The first row that a narrow window waits for.
    narrow_from: u64,
    /// The latest of the group that is going by: wide bins need no more of it.
    group: Bin,
    rows: u64,
}

/// log2 of the rows of a group: a power of a bin's.
const GROUP: u32 = 5 * WIDER;

/// A distance whose count stands out.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    log2: u32,
    rarity: usize,
    apart: usize,
    half: usize,
    chance: f64,
}

impl Recurrence {
    pub(crate) fn new() -> Self {
        let widths =
            |from: u32, to: u32| (from..to).map(|width| Width::new(width * WIDER)).collect();
        Recurrence {
            narrow: widths(0, GROUP / WIDER),
            wide: widths(GROUP / WIDER, MAX_WIDTHS),
            narrow_from: 0,
            group: NOTHING,
            rows: 0,
        }
    }

    pub(crate) fn woken(&mut self, first: u64, chunk: Chunk<'_>, max: i64) {
        self.rows = first + chunk.values.len() as u64;
        if self.rows > self.narrow_from {
            self.narrow.iter_mut().for_each(|width| width.add_chunk(first, chunk, max));
            self.narrow_from = self.narrow.iter().map(|width| width.begins).min().unwrap_or(0);
        }
        self.enter(first);
        if max > self.group.latency_ns {
            self.group = latest_of(first, chunk, max);
        }
    }

    pub(crate) fn woken_one(&mut self, activation: u64, latency_ns: i64) {
        self.rows = activation + 1;
        self.narrow
            .iter_mut()
            .filter(|width| activation >= width.begins)
            .for_each(|width| width.one(activation, latency_ns));
        self.enter(activation);
        if latency_ns > self.group.latency_ns {
            self.group = Bin { latency_ns, activation };
        }
    }

    /// Hands the group over if this row is of another. A chunk lies within one.
    fn enter(&mut self, row: u64) {
        if self.group.latency_ns > i64::MIN && self.group.activation >> GROUP != row >> GROUP {
            let Bin { activation, latency_ns } = std::mem::replace(&mut self.group, NOTHING);
            self.wide
                .iter_mut()
                .filter(|width| activation >= width.begins)
                .for_each(|width| width.one(activation, latency_ns));
        }
    }

    /// The periods, shortest first, at most three.
    pub(crate) fn finish(mut self) -> Vec<Period> {
        let rows = self.rows;
        self.enter(u64::MAX);
        self.narrow.append(&mut self.wide);
        let mut widths = self.narrow;
        // Wider bins than the run needs see nothing that narrower ones do not.
        widths.retain(|width| width.log2 == 0 || rows >= (BINS as u64 / 16) << width.log2);
        widths.iter_mut().for_each(Width::count);
        let tried: f64 =
            widths.iter().flat_map(|width| width.by_rarity.iter().map(Distances::tried)).sum();
        let mut found = Vec::new();
        for width in &widths {
            for (rarity, distances) in width.by_rarity.iter().enumerate() {
                let at = |(apart, half, chance)| Candidate {
                    log2: width.log2,
                    rarity,
                    apart,
                    half,
                    chance: chance * tried,
                };
                found.extend(
                    distances
                        .stand_out(RARITIES[rarity] / MIN_PERIOD, CHANCE / tried)
                        .into_iter()
                        .map(at),
                );
            }
        }
        distinct(&widths, &found)
    }
}

/// The fundamental ones: not a multiple of another, nor the same one seen in wider bins.
fn distinct(widths: &[Width], found: &[Candidate]) -> Vec<Period> {
    let mut refined: Vec<Period> = found.iter().filter_map(|one| refine(widths, *one)).collect();
    refined.sort_by(|a, b| a.activations.total_cmp(&b.activations));
    let mut periods: Vec<Period> = Vec::new();
    for period in refined.iter().filter(|period| !period.is_made_of(&refined)).copied() {
        let same = periods.iter_mut().find(|known| known.explains(&period));
        match same {
            // The same period, found twice: use the one that matches more of the places.
            Some(known) if (period.activations / known.activations).round() <= 1.0 => {
                if period.present > known.present {
                    *known = Period { chance: period.chance.min(known.chance), ..period };
                }
            }
            Some(_) => {}
            None => periods.push(period),
        }
    }
    periods.sort_by(|a, b| b.present.total_cmp(&a.present));
    periods.truncate(3);
    periods.sort_by(|a, b| a.activations.total_cmp(&b.activations));
    periods
}

/// Period and phase as exactly as the late activations allow, first from those one period apart,
/// then two, four and so on.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "activations of a window"
)]
fn refine(widths: &[Width], found: Candidate) -> Option<Period> {
    let width = widths.iter().find(|width| width.log2 == found.log2)?;
    let late = &width.by_rarity[found.rarity].latest;
    let bin = (1_u64 << found.log2) as f64;
    let mut period = found.apart as f64 * bin;
    let mut off = (found.half as f64 + 1.0) * bin;
    let places: Vec<f64> = late.iter().map(|bin| bin.activation as f64).collect();
    let span = places.last()? - places.first()?;
    let mut times = 1.0;
    while times * period <= span && times <= 4_096.0 {
        let mut differences = Vec::new();
        for (index, place) in places.iter().enumerate() {
            let rest = &places[index + 1..];
            let from = rest.partition_point(|other| other - place < times * period - off);
            let near = rest[from..]
                .iter()
                .map(|other| other - place)
                .take_while(|apart| *apart <= times * period + off);
            differences.extend(near);
        }
        if differences.len() < 3 {
            break;
        }
        // Others fall into the window too: the middle ones are those that recur, and how near they
        // are to one another says how wide the next window has to be.
        let middle = median(&mut differences);
        let mut around: Vec<f64> = differences.iter().map(|apart| (apart - middle).abs()).collect();
        period = middle / times;
        off = (6.0 * median(&mut around)).clamp(1.0, off.max(1.0)).min(period / 3.0);
        times *= 2.0;
    }
    // Most of those that recur lie within a window of their phase; what else is late lies anywhere.
    let near = off.max(1.0).min(period / 4.0);
    let phase = densest(&places, period, 2.0 * near);
    let mut on: Vec<&Bin> =
        late.iter().filter(|bin| off_place(bin.activation as f64, phase, period) <= near).collect();
    on.dedup_by_key(|bin| ((bin.activation as f64 - phase) / period).round() as i64);
    if on.len() < MIN_EVENTS {
        return None;
    }
    let jitter = median(
        &mut on
            .iter()
            .map(|bin| off_place(bin.activation as f64, phase, period))
            .collect::<Vec<_>>(),
    );
    let turns: Vec<u64> = on
        .iter()
        .map(|bin| ((bin.activation as f64 - phase) / period).round().max(0.0) as u64)
        .collect();
    let present = (turns.len() as f64 / (turns.last()? - turns.first()? + 1) as f64).min(1.0);
    if present < MIN_PRESENT || jitter > EXACT && jitter >= period / MIN_OF_JITTERS {
        return None;
    }
    let (from, to) = (on.first()?.activation as f64, on.last()?.activation as f64);
    let of = places::Period { activations: period, near, jitter, present };
    let latency_ns = width.by_rarity[found.rarity].window.clearly_later(&places, from, to, of)?;
    Some(Period {
        activations: period,
        first: phase,
        jitter,
        present,
        latency_ns,
        chance: found.chance,
    })
}

/// How much later a longer period's wake-ups have to be than those of one that it is a multiple of,
/// to be something else, and at how many of its places they have to be that late: the latest of any
/// that recur are some multiple apart.
const LATER: f64 = 1.3;
const MOSTLY: f64 = 0.6;
/// Other periods that are at this share of the places at which something is present leave nothing
/// of it, if they are present at so much more of their own.
const MORE_PRESENT: f64 = 0.2;
const NEARLY_ALL: f64 = 0.8;
/// At how many places that is looked for: in so many rounds of the longest other period, and so
/// many places.
const ROUNDS: f64 = 20.0;
const MIN_PLACES: f64 = 200.0;
const MAX_PLACES: f64 = 10_000.0;

impl Period {
    /// Whether what recurs is clearly above the rest: later than three quarters of it, and than its
    /// median by a tenth. What is regular without being later does not matter.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "ranks"
    )]
    pub(crate) fn stands_out_of(&self, all: &Counted) -> bool {
        // If it is above the rest, the rest are those below it.
        let rest = all.count() as f64 * (1.0 - self.present / self.activations);
        let of_rest = |share: f64| {
            all.at_rank(((rest * share).ceil() as u64).max(1)).map_or(0, |(_, upper)| upper)
        };
        self.latency_ns as f64 >= CLEARLY * of_rest(0.5) as f64 && self.latency_ns > of_rest(0.75)
    }

    /// Whether another is the same one, or every so many-th of its places and no later.
    #[expect(clippy::cast_precision_loss, reason = "ns")]
    fn explains(&self, other: &Period) -> bool {
        let times = (other.activations / self.activations).round().max(1.0);
        let off = (other.activations - times * self.activations).abs();
        let same = off
            <= (0.002 * other.activations)
                .max(self.jitter + other.jitter)
                .max((0.5 * times).clamp(1.0, (self.activations / 4.0).max(1.0)));
        let later =
            other.latency_ns as f64 >= LATER * self.latency_ns as f64 && other.present >= MOSTLY;
        same && (times <= 1.0 || !later)
    }

    /// Whether others, each at clearly more of its places, leave nothing of it: what recurs every
    /// 70 and what recurs every 100 is apart by multiples of 10, and together it is at a
    /// quarter of those places.
    fn is_made_of(&self, all: &[Period]) -> bool {
        let others: Vec<&Period> =
            all.iter().filter(|other| other.present >= self.present + MORE_PRESENT).collect();
        let longest = others.iter().map(|other| other.activations).fold(0.0, f64::max);
        if longest <= 0.0 {
            return false;
        }
        // Some rounds of the longest of them, few enough for inexact periods to stay on their
        // places.
        let places = (ROUNDS * longest / self.activations).clamp(MIN_PLACES, MAX_PLACES).ceil();
        let on = |place: f64, other: &&Period| {
            off_place(place, other.first, other.activations)
                <= 2.0 * (EXACT + self.jitter.max(other.jitter))
        };
        let (mut made, mut turn) = (0.0, 0.0);
        while turn < places {
            let place = self.first + turn * self.activations;
            made += if others.iter().any(|other| on(place, other)) { 1.0 } else { 0.0 };
            turn += 1.0;
        }
        made >= NEARLY_ALL * self.present * places
    }
}

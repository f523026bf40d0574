// SPDX-License-Identifier: MIT OR Apache-2.0
//! How late wake-ups are at the places of a period, and elsewhere: estimated from all of them, late
//! or not.
//!
//! Places are found from what is late, so that what is late lies at them in noise too. Each half of
//! a run is therefore looked at where the late wake-ups of the *other* half say that the places
//! are.

use std::sync::Arc;

/// The latest activation of a bin.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bin {
    pub(super) latency_ns: i64,
    pub(super) activation: u64,
}

pub(super) const NOTHING: Bin = Bin { latency_ns: i64::MIN, activation: 0 };

/// The latest of each bin of a window, ns.
#[derive(Clone, Debug, Default)]
pub(super) struct Window {
    begins: u64,
    log2: u32,
    latencies: Arc<[i64]>,
}

/// A period, and how far from its places a wake-up still belongs to them, activations.
#[derive(Clone, Copy, Debug)]
pub(super) struct Period {
    pub(super) activations: f64,
    pub(super) near: f64,
    pub(super) jitter: f64,
    /// Share of the places that have a late wake-up.
    pub(super) present: f64,
}

/// So many times what is elsewhere is clearly above it.
pub(super) const CLEARLY: f64 = 1.1;

/// The latest wake-ups around each place, and of all other ranges as wide, ns.
#[derive(Debug, Default)]
struct Seen {
    at: Vec<i64>,
    elsewhere: Vec<i64>,
}

impl Window {
    pub(super) fn new(begins: u64, log2: u32, bins: &[Bin]) -> Window {
        Window { begins, log2, latencies: bins.iter().map(|bin| bin.latency_ns).collect() }
    }

    /// How late those are that recur, ns: half of them at least so late. None where they are not
    /// clearly later than as many of as many elsewhere, and than three quarters of those.
    pub(super) fn clearly_later(
        &self,
        late: &[f64],
        from: f64,
        to: f64,
        period: Period,
    ) -> Option<i64> {
        let middle = f64::midpoint(from, to);
        let (before, after) = late.split_at(late.partition_point(|place| *place < middle));
        let mut seen = Seen::default();
        for (others, from, to) in [(after, from, middle), (before, middle, to)] {
            if !others.is_empty() {
                self.examine(
                    densest(others, period.activations, 2.0 * period.near),
                    from,
                    to,
                    period,
                    &mut seen,
                );
            }
        }
        seen.clearly_later(1.0 - period.present / 2.0)
    }

    /// Goes from place to place of this phase, from and up to these activations.
    fn examine(&self, phase: f64, from: f64, to: f64, period: Period, seen: &mut Seen) {
        // Half of them are off by the jitter at most, and nearly all by twice that; one whose place
        // lies between two activations is off by half of one.
        let off = (2.0 * period.jitter).max(0.5);
        let mut turn = ((from - off - phase) / period.activations).ceil();
        let place = |turn: f64| phase + turn * period.activations;
        while place(turn) - off < to {
            let (first, last) =
                (self.bin((place(turn) - off).ceil()), self.bin((place(turn) + off).floor()));
            let next = self.bin((place(turn + 1.0) - off).ceil()).min(self.latencies.len());
            seen.at.extend(self.latest(first, last + 1));
            let wide = last + 1 - first;
            let others = (last + 1..next).step_by(wide).filter(|other| other + wide <= next);
            seen.elsewhere.extend(others.filter_map(|other| self.latest(other, other + wide)));
            turn += 1.0;
        }
    }

    /// The bin of an activation; the first, if it lies before the window.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a number of an activation, saturating"
    )]
    fn bin(&self, activation: f64) -> usize {
        usize::try_from((activation as u64).saturating_sub(self.begins) >> self.log2)
            .unwrap_or(usize::MAX)
    }

    /// The latest of some bins, where something woke.
    fn latest(&self, from: usize, to: usize) -> Option<i64> {
        self.latencies.get(from..to)?.iter().copied().max().filter(|latency| *latency > i64::MIN)
    }
}

impl Seen {
    /// The latency that this share of those at the places is below, if it is clearly above what it
    /// is elsewhere.
    #[expect(clippy::cast_precision_loss, reason = "ns")]
    fn clearly_later(mut self, share: f64) -> Option<i64> {
        let typically = quantile(&mut self.at, share)?;
        let elsewhere = quantile(&mut self.elsewhere, share)?;
        let later = typically as f64 >= CLEARLY * elsewhere as f64
            && typically > quantile(&mut self.elsewhere, 0.75)?;
        later.then_some(typically)
    }
}

/// The smallest of the values that this share is not above; none of none.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a rank among thousands"
)]
fn quantile(values: &mut [i64], share: f64) -> Option<i64> {
    let rank = ((values.len() as f64 * share).ceil() as usize).clamp(1, values.len().max(1));
    (!values.is_empty()).then(|| *values.select_nth_unstable(rank - 1).1)
}

/// The middle one, or the later of the two; of at least one.
pub(super) fn median(values: &mut [f64]) -> f64 {
    let middle = values.len() / 2;
    *values.select_nth_unstable_by(middle, f64::total_cmp).1
}

/// The middle of the range of this width, on a circle of one period, that holds most places.
pub(super) fn densest(places: &[f64], period: f64, width: f64) -> f64 {
    let mut phases: Vec<f64> = places.iter().map(|place| place.rem_euclid(period)).collect();
    phases.sort_by(f64::total_cmp);
    let once_more: Vec<f64> = phases.iter().map(|phase| phase + period).collect();
    let round: Vec<f64> = phases.iter().copied().chain(once_more).collect();
    let within = |first: usize| {
        &round
            [first..first + round[first..].partition_point(|phase| *phase <= round[first] + width)]
    };
    let max = (0..phases.len())
        .max_by_key(|first| (within(*first).len(), std::cmp::Reverse(*first)))
        .unwrap_or(0);
    let mut on = within(max).to_vec();
    if on.is_empty() { 0.0 } else { median(&mut on).rem_euclid(period) }
}

/// How far a place lies off the nearest one of its phase.
pub(super) fn off_place(place: f64, phase: f64, period: f64) -> f64 {
    let over = (place - phase).rem_euclid(period);
    over.min(period - over)
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! What an output says of one thread: its samples, or its histogram and figures, which are held
//! against one another here.

use super::ImportError;
use plan::{CpuId, Nanos, Scheduling};
use stats::{Between, Bucket, Level, Places, Statistics, Summary};

/// Buckets of a thread at most, as many as a document holds.
const MAX_BUCKETS: usize = 5_000;
/// Beyond any latency, and far below overflow.
pub(crate) const MAX_NS: i64 = 1 << 53;

/// What an output says of one thread.
#[derive(Clone, Debug, Default)]
pub(crate) struct Measured {
    /// The CPU that it ran on and no other, where that is said.
    pub cpu: Option<CpuId>,
    pub interval: Option<Nanos>,
    pub scheduling: Option<Scheduling>,
    /// Where the output has a histogram; in any order.
    pub buckets: Vec<Bucket>,
    /// Values beyond the histogram: how many, and the smallest that they may have been, ns.
    pub beyond: Option<(u64, i64)>,
    pub stated: Stated,
    /// System management interrupts meanwhile.
    pub smis: Option<u64>,
    /// Its id, where that is said.
    pub tid: u64,
    /// Samples that are not on the disk yet, and times of events before them.
    pub(crate) kept: Vec<i64>,
    pub(crate) times: Vec<i64>,
    /// Those on the disk.
    pub(crate) written: u64,
}

/// Figures as an output states them, ns.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Stated {
    pub count: Option<u64>,
    pub min: Option<i64>,
    pub mean: Option<f64>,
    pub sd: Option<f64>,
    pub max: Option<i64>,
    /// The smallest and the largest may be so much less, ns: these are ends of buckets.
    pub within: i64,
    /// 50, 90, 99, 99.9 and 99.99 %.
    pub quantiles: [Option<i64>; 5],
    /// The last latency, which no recording has a place for.
    pub last: Option<i64>,
}

/// Whether values of so many, or of any number, may have this standard deviation beside the others,
/// which are known to within a resolution.
#[expect(clippy::cast_precision_loss, reason = "a bound of a rounded figure")]
pub(crate) fn is_possible_sd(stated: &Stated, resolution: i64) -> bool {
    let (Some(sd), Some(min), Some(max)) = (stated.sd, stated.min, stated.max) else {
        return true;
    };
    let (min, max) = (min as f64, (max.saturating_add(resolution)) as f64);
    // The largest there is: of values that are the smallest or the largest.
    let mean = stated.mean.map_or((min + max) / 2.0, |mean| mean.clamp(min, max));
    let count = stated.count.unwrap_or(2).max(2) as f64;
    let most = ((max - mean) * (mean - min) * count / (count - 1.0)).sqrt();
    (0.0..=most + resolution as f64 + 1.0).contains(&sd)
}

impl Measured {
    /// Adds a value of a histogram, ns.
    pub(crate) fn bucket(&mut self, value: i64, count: u64) {
        self.range(value, value, count);
    }

    /// Adds a range of values of a histogram, both ends in it, ns.
    pub(crate) fn range(&mut self, lower: i64, upper: i64, count: u64) {
        if count > 0 {
            self.buckets.push(Bucket { lower, upper, count });
        }
    }

    /// Whether a thread of this id is not the one that was here before. Ids of 0 are not known.
    pub(crate) fn is_another(&mut self, tid: u64) -> bool {
        let is_another = self.tid != 0 && tid != 0 && self.tid != tid;
        if tid != 0 && !is_another {
            self.tid = tid;
        }
        is_another
    }

    /// Whether anything is known of what it measured.
    pub(crate) fn is_empty(&self) -> bool {
        self.samples() == 0
            && self.buckets.is_empty()
            && self.beyond.is_none_or(|(count, _)| count == 0)
            && self.stated.count.unwrap_or(u64::MAX) == 0
    }

    /// How many samples it has.
    pub(crate) fn samples(&self) -> u64 {
        self.written + self.kept.len() as u64
    }
}

/// What buckets and what is stated beside them come to.
pub(crate) struct Found {
    pub(crate) figures: Option<Summary>,
    /// What it is of, what is stated, what buckets say.
    pub(crate) contradictions: Vec<(String, String, String)>,
    /// Whether it is not known how many are beyond its buckets, or how large.
    pub(crate) has_more: bool,
}

impl Measured {
    /// Puts buckets in order, no wider than what is stated beside them allows, and holds both
    /// against one another.
    pub(crate) fn put_in_order(
        &mut self,
        index: usize,
        line: u64,
        resolution: i64,
    ) -> Result<Found, ImportError> {
        let error = |why: String| ImportError::at(line, format!("thread {index}: {why}"));
        let (mut contradictions, mut has_more) = (Vec::new(), false);
        let stated = self.stated;
        self.buckets.sort_by_key(|bucket| (bucket.lower, bucket.upper));
        let mut buckets: Vec<Bucket> = Vec::with_capacity(self.buckets.len());
        for bucket in self.buckets.drain(..) {
            let Bucket { lower, upper, count } = bucket;
            if lower > upper || lower < -MAX_NS || upper > MAX_NS || count > 1 << 53 {
                return Err(error(format!("a bucket of {count} from {lower} to {upper} ns")));
            }
            match buckets.last_mut() {
                Some(last) if last.upper >= lower && (last.lower, last.upper) != (lower, upper) => {
                    return Err(error(format!("two buckets hold {lower} ns")));
                }
                Some(last) if last.lower == lower => last.count = last.count.saturating_add(count),
                _ => buckets.push(bucket),
            }
        }
        if let Some((count, from)) = self.beyond.filter(|(count, _)| *count > 0) {
            let last = buckets.last().map_or(i64::MIN, |bucket| bucket.upper);
            let lower = from.max(last.saturating_add(1));
            if lower > MAX_NS {
                return Err(error("no latency is so large".to_owned()));
            }
            let upper = match stated.max.filter(|max| *max >= lower) {
                Some(max) => max,
                None => {
                    has_more = true;
                    let stated = stated.max.map_or_else(|| "none".to_owned(), in_us);
                    contradictions.push((
                        "maximum".to_owned(),
                        stated,
                        format!("{count} values of {} or more", in_us(lower)),
                    ));
                    lower
                }
            };
            buckets.push(Bucket { lower, upper, count });
        }
        // As many digits as a µs has are enough for what a document can hold.
        if buckets.len() > MAX_BUCKETS - 2 {
            merge_neighbours(&mut buckets);
        }
        let (Some(first), Some(last)) = (buckets.first().copied(), buckets.last().copied()) else {
            return Err(error("the histogram is empty".to_owned()));
        };
        let count = buckets.iter().try_fold(0_u64, |sum, bucket| sum.checked_add(bucket.count));
        let Some(count) = count.filter(|count| *count <= 1 << 53) else {
            return Err(error("the histogram holds more than any run".to_owned()));
        };
        if let Some(stated) = stated.count.filter(|stated| *stated != count) {
            contradictions.push((
                "number of samples".to_owned(),
                stated.to_string(),
                count.to_string(),
            ));
        }
        // What buckets do not reach to was there at least once: it is judged, too.
        if let Some(max) = stated.max.filter(|max| *max > last.upper) {
            contradictions.push(("maximum".to_owned(), in_us(max), between(last)));
            has_more = true;
            buckets.push(Bucket { lower: max, upper: max, count: 1 });
        }
        if let Some(min) = stated.min.filter(|min| *min - stated.within < first.lower) {
            contradictions.push(("minimum".to_owned(), in_us(min), between(first)));
            buckets.insert(0, Bucket { lower: min - stated.within, upper: min, count: 1 });
        }
        let (first, last) = (buckets[0], buckets[buckets.len() - 1]);
        let count = buckets.iter().map(|bucket| bucket.count).fold(0, u64::saturating_add);
        let is_in = |bucket: Bucket, ns: &i64| (bucket.lower..=bucket.upper).contains(ns);
        let min = stated.min.filter(|ns| is_in(first, ns));
        if let (None, Some(stated)) = (min, stated.min) {
            contradictions.push(("minimum".to_owned(), in_us(stated), between(first)));
        }
        let max = stated.max.filter(|ns| is_in(last, ns));
        if let (None, Some(stated)) = (max, stated.max) {
            contradictions.push(("maximum".to_owned(), in_us(stated), between(last)));
        }
        if let (Some(min), Some(max)) = (min, max)
            && min > max
        {
            let why = format!("the smallest, {}, is above the largest, {}", in_us(min), in_us(max));
            return Err(error(why));
        }
        if let (Some(min), Some(bucket)) = (min, buckets.first_mut()) {
            bucket.lower = min - stated.within;
        }
        if let (Some(max), Some(bucket)) = (max, buckets.last_mut()) {
            bucket.upper = max;
        }
        self.buckets = buckets;
        let Some(own) = Statistics::from_histogram(&self.buckets).latency else {
            return Err(error("the histogram is empty".to_owned()));
        };
        let mean_of = |of: fn(&Bucket) -> i64| {
            let sum = |bucket: &Bucket| i128::from(of(bucket)) * i128::from(bucket.count);
            self.buckets.iter().map(sum).sum::<i128>() as f64 / count as f64
        };
        // A mean is printed to a ns at best.
        let tolerance = resolution as f64 + 1.0;
        let lowest = mean_of(|bucket| bucket.lower) - tolerance;
        let highest = mean_of(|bucket| bucket.upper) + tolerance;
        let mean = stated.mean.filter(|mean| (lowest..=highest).contains(mean));
        if let (None, Some(stated)) = (mean, stated.mean) {
            let found = format!("{:.3} to {:.3} us", lowest / 1e3, highest / 1e3);
            contradictions.push(("mean".to_owned(), mean_in_us(stated), found));
        }
        let is_stated = [min.is_some(), mean.is_some(), max.is_some()];
        let (min, max) = (min.unwrap_or(own.min), max.unwrap_or(own.max));
        if let Some(mean) = mean.filter(|mean| !(min as f64..=max as f64).contains(mean)) {
            let found = format!("{} to {}", in_us(min), in_us(max));
            contradictions.push(("mean".to_owned(), mean_in_us(mean), found));
        }
        let mean = mean.unwrap_or(own.mean).clamp(min as f64, max as f64);
        let places = Places::new(&self.buckets);
        let own_quantiles = own.quantiles().into_iter().zip(own.between.quantiles());
        let mut known = Vec::new();
        for ((stated, level), own) in stated.quantiles.iter().zip(Level::ALL).zip(own_quantiles) {
            let fits = stated.filter(|ns| places.can_be(level, *ns));
            // Those that are none of the histogram fall back to its own.
            known.push(if fits.is_some() { (fits, None) } else { own });
            if let (None, Some(stated)) = (fits, *stated) {
                let found = own.0.map_or_else(|| "none".to_owned(), in_us);
                contradictions.push((level.to_string(), in_us(stated), found));
            }
        }
        let of_all = Stated { min: Some(min), mean: Some(mean), max: Some(max), ..stated };
        let sd = stated.sd.filter(|_| is_possible_sd(&of_all, resolution));
        if let (None, Some(stated)) = (sd, stated.sd) {
            let found = format!("{} to {}", in_us(min), in_us(max));
            contradictions.push(("standard deviation".to_owned(), mean_in_us(stated), found));
        }
        let known: [_; 5] = std::array::from_fn(|place| known[place]);
        let [p50, p90, p99, p999, p9999] = known.map(|(ns, _)| ns);
        let mut between = own.between.with_quantiles(known.map(|(_, between)| between));
        let within = |ns: i64| {
            let most = Some(ns);
            (stated.within > 0).then_some(Between { least: ns - stated.within, most })
        };
        let of_stated = [within(min), None, within(max)];
        let ends = [&mut between.min, &mut between.mean, &mut between.max];
        for ((of, is_stated), known) in ends.into_iter().zip(is_stated).zip(of_stated) {
            *of = if is_stated { known } else { *of };
        }
        let figures = Summary { min, max, mean, sd, p50, p90, p99, p999, p9999, between, ..own };
        Ok(Found { figures: Some(figures), contradictions, has_more })
    }
}

/// Makes neighbours one until there are few enough, each as wide as it has to be.
fn merge_neighbours(buckets: &mut Vec<Bucket>) {
    while buckets.len() > MAX_BUCKETS - 2 {
        // The largest stay as they are, and those below them lose precision.
        let kept = MAX_BUCKETS / 4;
        let below = buckets.len() - kept;
        let mut merged: Vec<Bucket> = buckets[..below]
            .chunks(2)
            .map(|pair| Bucket {
                lower: pair[0].lower,
                upper: pair[pair.len() - 1].upper,
                count: pair.iter().map(|bucket| bucket.count).fold(0, u64::saturating_add),
            })
            .collect();
        merged.extend_from_slice(&buckets[below..]);
        *buckets = merged;
    }
}

pub(crate) fn in_us(ns: i64) -> String {
    format!("{:.3} us", ns as f64 / 1e3)
}

pub(crate) fn mean_in_us(ns: f64) -> String {
    format!("{:.3} us", ns / 1e3)
}

fn between(bucket: Bucket) -> String {
    if bucket.lower == bucket.upper {
        in_us(bucket.lower)
    } else {
        format!("{} to {}", in_us(bucket.lower), in_us(bucket.upper))
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! What each chart is, whatever is drawn in it: its axes with their names and how far they reach,
//! and the dashes of its lines. The SVG writer draws by these values, and the scripts of a page by
//! the same ones as JSON.

use crate::charts::options::{AxisScale, Heights, OverTime};
use crate::charts::svg::DASHES;
use crate::language::{Text, texts};
use crate::sections::columns::Measured;
use serde::Serialize;

/// One of the three charts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Chart {
    Histogram,
    Time,
    Exceedance,
}

impl Chart {
    pub(crate) const ALL: [Chart; 3] = [Chart::Histogram, Chart::Time, Chart::Exceedance];

    /// Name of its SVG file, without `.svg`.
    pub(crate) const fn file(self) -> &'static str {
        match self {
            Chart::Histogram => "histogram",
            Chart::Time => "latency-over-time",
            Chart::Exceedance => "exceedance",
        }
    }
}

#[derive(Debug, Serialize)]
pub(crate) struct Definition {
    pub(crate) histogram: Axes,
    pub(crate) latency: Axes,
    pub(crate) jitter: Axes,
    pub(crate) exceedance: Axes,
    pub(crate) load: Axes,
    pub(crate) steps: StepNames,
    /// A limit is seen, also where nothing came near it: the axis goes on to so many times its
    /// latency.
    pub(crate) beyond_limit: f64,
    /// Unit of the axis over time, ns.
    pub(crate) unit_ns: i64,
    /// What is added to values over time and to their limits, ns.
    pub(crate) shift_ns: i64,
    /// Whether values over time have two sides, and so no logarithm.
    pub(crate) two_sided: bool,
    /// Of the lines, in the order of the recordings: lengths drawn and left out; empty for a solid
    /// line.
    dashes: [&'static str; DASHES.len()],
}

#[derive(Debug, Serialize)]
pub(crate) struct Axes {
    pub(crate) x: Axis,
    pub(crate) y: Axis,
}

/// One axis, in the unit of its name.
#[derive(Debug, Serialize)]
pub(crate) struct Axis {
    /// On a page, where there is little room.
    pub(crate) name: &'static str,
    #[serde(skip)]
    pub(crate) full_name: &'static str,
    /// What is smaller lies at the edge of a logarithmic axis, which has no 0.
    floor: f64,
    /// How far a logarithmic axis reaches: so many times the smallest and the largest value.
    log: [f64; 2],
    /// How far a linear axis reaches beyond both: shares of the distance between them.
    linear: [f64; 2],
    /// That distance is taken to be at least so much.
    min_width: f64,
    /// Whether 0 is always on a linear axis.
    with_zero: bool,
}

/// What the steps of a histogram hold; the braces are for numbers.
#[derive(Debug, Serialize)]
pub(crate) struct StepNames {
    /// Bins of one width: as counts and as shares.
    bins: Names,
    /// Bins that grow with their values.
    growing: Names,
}

#[derive(Debug, Serialize)]
struct Names {
    counts: &'static str,
    shares: &'static str,
}

impl StepNames {
    /// Of bins of one width, such as `1 µs`, or else of those that grow by so many percent.
    pub(crate) fn name(&self, width: Option<&str>, percent: f64, heights: Heights) -> String {
        let names = if width.is_some() { &self.bins } else { &self.growing };
        let name = match heights {
            Heights::Counts => names.counts,
            Heights::Shares => names.shares,
        };
        name.replace("{width}", width.unwrap_or_default())
            .replace("{percent}", &percent.to_string())
    }
}

impl Axis {
    /// Ends where it begins and ends: on it lies what is drawn and no more.
    const fn tight(name: &'static str, full_name: &'static str) -> Axis {
        Axis {
            name,
            full_name,
            floor: 0.0,
            log: [1.0, 1.0],
            linear: [0.0, 0.0],
            min_width: 0.0,
            with_zero: false,
        }
    }

    /// From where to where it reaches if its values lie between these.
    pub(crate) fn range(&self, scale: AxisScale, min: f64, max: f64) -> (f64, f64) {
        match scale {
            AxisScale::Log => {
                (min.max(self.floor) * self.log[0], max.max(2.0 * self.floor) * self.log[1])
            }
            AxisScale::Linear => {
                let width = (max - min).max(self.min_width);
                let (from, to) =
                    if self.with_zero { (min.min(0.0), max.max(0.0)) } else { (min, max) };
                (from - self.linear[0] * width, to + self.linear[1] * width)
            }
        }
    }
}

impl Definition {
    /// Of charts of these, in the current language.
    pub(crate) fn new(measured: Measured) -> Definition {
        let of = |of_wake_ups: Text, of_others| measured.pick(of_wake_ups, of_others).said();
        let two_sided = measured.is_two_sided();
        let time = || {
            let name =
                if two_sided { texts::sample_number } else { texts::time_since_measuring_began }
                    .said();
            Axis::tight(name, name)
        };
        let jitter = texts::jitter_us.said();
        let latency = |floor| match measured {
            Measured::Jitter(_) => Axis { floor, ..Axis::tight(jitter, jitter) },
            _ => Axis {
                floor,
                ..Axis::tight(
                    measured.latency_us().said(),
                    measured.latency_us_logarithmic().said(),
                )
            },
        };
        let interval = texts::interval_us.said();
        let (size, share_of_sizes) =
            (texts::size_of_jitter_us.said(), texts::share_least_size_jitter.said());
        let load = texts::load_axis.said();
        Definition {
            histogram: Axes {
                x: latency(0.064),
                // Where even the smallest step is seen.
                y: Axis {
                    log: [0.5, 1.6],
                    linear: [0.0, 0.06],
                    with_zero: true,
                    ..Axis::tight("", "")
                },
            },
            latency: Axes {
                x: time(),
                y: if two_sided {
                    Axis { linear: [0.06, 0.06], min_width: 0.1, ..Axis::tight(interval, interval) }
                } else {
                    Axis {
                        floor: 0.1,
                        log: [0.8, 1.25],
                        linear: [0.0, 0.06],
                        min_width: 1.0,
                        with_zero: true,
                        ..Axis::tight("µs", measured.latency_us_logarithmic().said())
                    }
                },
            },
            jitter: Axes {
                x: time(),
                y: Axis {
                    linear: [0.06, 0.06],
                    min_width: 0.1,
                    with_zero: true,
                    ..Axis::tight(jitter, jitter)
                },
            },
            exceedance: Axes {
                x: if two_sided { Axis::tight(size, size) } else { latency(0.0) },
                y: Axis {
                    log: [0.7, 1.0],
                    ..if two_sided {
                        Axis::tight(share_of_sizes, share_of_sizes)
                    } else {
                        Axis::tight(
                            of(texts::activations_least_latency, texts::share_least_latency),
                            of(texts::share_activations_least_latency, texts::share_least_latency),
                        )
                    }
                },
            },
            // A little above all of a CPU, so that a line at 100 % is seen whole.
            load: Axes {
                x: time(),
                y: Axis { linear: [0.0, 0.05], with_zero: true, ..Axis::tight(load, load) },
            },
            steps: StepNames {
                bins: Names {
                    counts: of(texts::activations_in_bins_width, texts::latencies_in_bins_width),
                    shares: of(
                        texts::percent_activations_in_bins,
                        texts::percent_latencies_in_bins,
                    ),
                },
                growing: Names {
                    counts: of(
                        texts::activations_in_step_percent,
                        texts::latencies_in_step_percent,
                    ),
                    shares: of(
                        texts::percent_activations_in_step,
                        texts::percent_latencies_in_step,
                    ),
                },
            },
            beyond_limit: 1.05,
            unit_ns: if two_sided { measured.period_ns() } else { 1_000_000_000 },
            shift_ns: measured.period_ns(),
            two_sided,
            dashes: DASHES,
        }
    }

    /// The axes of what is drawn over time.
    pub(crate) const fn over_time(&self, what: OverTime) -> &Axes {
        match what {
            OverTime::Latency => &self.latency,
            OverTime::Jitter => &self.jitter,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::{Language, in_language};

    #[test]
    fn an_axis_reaches_beyond_its_values_as_defined() {
        let all = Definition::new(Measured::WakeUps);
        assert_eq!(all.latency.y.range(AxisScale::Log, -3.0, 100.0), (0.1 * 0.8, 125.0));
        assert_eq!(
            all.jitter.y.range(AxisScale::Linear, 0.0, 0.0),
            (-0.006, 0.006),
            "a line without jitter has some height"
        );
        assert_eq!(all.jitter.y.range(AxisScale::Linear, -10.0, 90.0), (-16.0, 96.0));
        assert_eq!(all.load.y.range(AxisScale::Linear, 0.0, 100.0), (0.0, 105.0));
        assert_eq!(all.histogram.x.range(AxisScale::Linear, 3.0, 5.0), (3.0, 5.0), "no 0");
    }

    #[test]
    fn steps_are_named_by_their_width() {
        let names = Definition::new(Measured::WakeUps).steps;
        assert_eq!(names.name(Some("1 µs"), 4.4, Heights::Counts), "activations in bins of 1 µs");
        assert_eq!(names.name(None, 4.4, Heights::Shares), "% of activations in a step of 4.4 %");
        let japanese = in_language(Language::Japanese, || {
            Definition::new(Measured::WakeUps).steps.name(None, 4.4, Heights::Counts)
        });
        let of_events =
            Definition::new(Measured::Other).steps.name(Some("1 µs"), 4.4, Heights::Counts);
        assert_eq!(of_events, "latencies in bins of 1 µs");
        assert_eq!(japanese, "4.4 % 刻みごとの起床回数");
    }
}

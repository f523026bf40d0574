// SPDX-License-Identifier: MIT OR Apache-2.0
//! A limit as users write it, for a gate, a plan or a bisection: `max<100us`, `p99.99<50us@95%`,
//! `rate(>80us)<1e-6@95%`, `sd<2us`, `peak-to-peak<50us`, `skipped==0`. Columns of a probe have
//! limits by their names: `done<5ms`, `missed==0`.

use crate::{Nanos, Unit};
use stats::{ExactRequest, Level};
use std::fmt;
use std::str::FromStr;

#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    text: String,
    /// What is limited, and to what.
    pub subject: Subject,
    pub relation: Relation,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Subject {
    /// A latency, ns.
    Latency {
        of: Figure,
        limit: Nanos,
        /// How sure it is to be; none: the observed figure counts.
        confidence: Option<f64>,
    },
    /// The share of activations beyond a latency.
    Rate {
        beyond: Nanos,
        /// The limit of that share.
        limit: f64,
        confidence: f64,
    },
    /// A number of activations.
    Count { of: Count, limit: u64 },
    /// The column of a probe that the limit names: of times the largest, of what is counted the
    /// sum. Which of them it is only the probe knows.
    Column {
        /// As a time, ns.
        time: Nanos,
        /// As a number, where it is written as one.
        number: Option<u64>,
    },
}

/// A figure of what a probe judges. Of jitter, largest, mean and quantiles are those of its size,
/// on either side of the period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    /// The largest.
    Max,
    Mean,
    Quantile(Level),
    /// The standard deviation, divisor n - 1.
    Sd,
    /// From the smallest to the largest.
    PeakToPeak,
}

impl Figure {
    /// By its name in limits: `max`, `p99.9`, `peak-to-peak`.
    pub fn named(name: &str) -> Option<Figure> {
        Some(match name {
            "max" => Figure::Max,
            "mean" => Figure::Mean,
            "sd" => Figure::Sd,
            "peak-to-peak" => Figure::PeakToPeak,
            _ => Figure::Quantile(name.strip_prefix('p').and_then(Level::percent)?),
        })
    }
}

/// Something that is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// Activations that never ran.
    Skipped,
    /// Activations that woke an interval late, or later.
    Late,
    /// Samples that found the ring full.
    Lost,
}

/// How a figure is compared with its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// `<`.
    Below,
    /// `<=`.
    AtMost,
    /// `==`.
    Equal,
}

impl Relation {
    /// The largest latency, ns, that this limit allows.
    pub const fn highest_allowed(self, limit: Nanos) -> i64 {
        match self {
            Relation::Below => limit.0.saturating_sub(1),
            Relation::AtMost | Relation::Equal => limit.0,
        }
    }

    /// Whether a figure stands so to a limit.
    pub fn holds<T: PartialOrd>(self, figure: T, limit: T) -> bool {
        match self {
            Relation::Below => figure < limit,
            Relation::AtMost => figure <= limit,
            Relation::Equal => figure == limit,
        }
    }
}

/// A limit that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LimitError {
    /// It has no form that is known.
    #[error(
        "invalid limit '{0}': expected for example max<100us, mean<20us, p99.99<50us, \
         p99.99<50us@95%, rate(>80us)<1e-6@95%, sd<2us, peak-to-peak<50us, skipped==0, late<3, \
         lost==0, or a column of the probe, such as missed==0 or done<5ms"
    )]
    Form(String),
    /// A count that would have to be less than nothing.
    #[error(
        "invalid limit '{text}': no count is below 0. To allow none: {name}==0 ({name} = \"==0\" \
         below [limits])"
    )]
    BelowZero { text: String, name: String },
    /// A limit that no recording can be judged by.
    #[error(
        "invalid limit '{text}': a maximum has no confidence, because it grows with the run's \
         length. Limit how often it is exceeded: rate(>{limit})<1e-6@95%"
    )]
    SureMaximum {
        text: String,
        /// The time in it.
        limit: String,
    },
    /// A confidence that says nothing.
    #[error("invalid limit '{0}': a confidence must be above 50 % and below 100 %, such as @95%")]
    Confidence(String),
    /// A rate that would be certain.
    #[error("invalid limit '{0}': a rate needs a confidence, such as {0}@95%")]
    CertainRate(String),
    /// A figure that has none.
    #[error("invalid limit '{0}': only quantiles and rates take a confidence")]
    NoConfidence(String),
}

impl Limit {
    /// These, each once, in the order in which they come.
    pub fn each_once<'l>(limits: impl Iterator<Item = &'l Limit>) -> Vec<Limit> {
        let mut all: Vec<Limit> = Vec::new();
        for limit in limits {
            if !all.contains(limit) {
                all.push(limit.clone());
            }
        }
        all
    }

    /// What is limited, as it was written: `max`, `rate(>80us)`, `skipped`.
    pub fn name(&self) -> &str {
        let after = self.text.find(')').unwrap_or(0);
        self.text[after..].find(['<', '=']).map_or(&self.text, |at| &self.text[..after + at])
    }

    /// Whether this is the column that is limited. An ending that says that it is a time may be
    /// left out: `thread_ns` is `thread` and `thread_latency`.
    pub fn names(&self, column: &str) -> bool {
        matches!(self.subject, Subject::Column { .. }) && bare(self.name()) == bare(column)
    }

    /// As a plan has it: `max = "100us"`, `max = "<=100us"`, `"rate(>80us)" = "1e-6@95%"`.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(crate) fn from_setting(name: &str, value: &str) -> Result<Limit, LimitError> {
        let relation = if value.trim_start().starts_with(['<', '=']) { "" } else { "<" };
        format!("{name}{relation}{value}").parse()
    }

    /// The value that a plan has for it.
    pub(crate) fn setting(&self) -> &str {
        let behind = &self.text[self.name().len()..];
        if self.relation == Relation::Below { behind.trim_start_matches('<') } else { behind }
    }

    /// What is to be known exactly of a recording's latencies to judge these limits.
    pub fn exact_request(limits: &[Limit]) -> ExactRequest {
        let mut exact = ExactRequest::default();
        for limit in limits {
            match limit.subject {
                Subject::Latency { of: Figure::Quantile(level), limit: max, .. } => {
                    exact.levels.push(level);
                    exact.limits_ns.push(limit.relation.highest_allowed(max));
                }
                Subject::Rate { beyond, .. } => exact.limits_ns.push(beyond.0),
                Subject::Latency { .. } | Subject::Count { .. } | Subject::Column { .. } => {}
            }
        }
        exact
    }
}

impl FromStr for Limit {
    type Err = LimitError;

    fn from_str(text: &str) -> Result<Self, LimitError> {
        let form = || LimitError::Form(text.to_owned());
        let plain: String = text.chars().filter(|c| !c.is_whitespace()).collect();
        let (comparison, confidence) = match plain.split_once('@') {
            Some((comparison, confidence)) => {
                let above_half = |share: &f64| *share > 0.5 && *share < 1.0;
                let wrong = || LimitError::Confidence(text.to_owned());
                (comparison, Some(share(confidence).filter(above_half).ok_or_else(wrong)?))
            }
            None => (plain.as_str(), None),
        };
        // The `>` of a rate stands before the relation and within brackets.
        let after = comparison.find(')').unwrap_or(0);
        let at = comparison[after..].find(['<', '=']).ok_or_else(form)? + after;
        let (figure, rest) = comparison.split_at(at);
        let (relation, value) = [
            ("<=", Relation::AtMost),
            ("==", Relation::Equal),
            ("<", Relation::Below),
            ("=", Relation::Equal),
        ]
        .into_iter()
        .find_map(|(sign, relation)| rest.strip_prefix(sign).map(|value| (relation, value)))
        .ok_or_else(form)?;
        let subject = subject(text, figure, value, confidence)?.ok_or_else(form)?;
        let is_count =
            matches!(subject, Subject::Count { .. } | Subject::Column { number: Some(_), .. });
        if relation == Relation::Equal && !is_count {
            return Err(form());
        }
        if relation == Relation::Below && matches!(subject, Subject::Count { limit: 0, .. }) {
            return Err(LimitError::BelowZero { text: text.to_owned(), name: figure.to_owned() });
        }
        Ok(Limit { text: plain, subject, relation })
    }
}

fn subject(
    text: &str,
    figure: &str,
    value: &str,
    confidence: Option<f64>,
) -> Result<Option<Subject>, LimitError> {
    let time = |text: &str| Nanos::parse(text, Unit::Microsecond).ok().filter(|time| time.0 >= 0);
    if let Some(beyond) = figure.strip_prefix("rate(>").and_then(|rest| rest.strip_suffix(')')) {
        let rate = value.parse::<f64>().ok().filter(|rate| *rate > 0.0 && *rate < 1.0);
        let Some(confidence) = confidence else {
            return Err(LimitError::CertainRate(text.to_owned()));
        };
        return Ok(time(beyond).zip(rate).map(|(beyond, limit)| Subject::Rate {
            beyond,
            limit,
            confidence,
        }));
    }
    if let Some(of) = Figure::named(figure) {
        let limit = time(value).filter(|limit| limit.0 > 0);
        return match of {
            Figure::Max if confidence.is_some() => {
                Err(LimitError::SureMaximum { text: text.to_owned(), limit: value.to_owned() })
            }
            Figure::Mean | Figure::Sd | Figure::PeakToPeak if confidence.is_some() => {
                Err(LimitError::NoConfidence(text.to_owned()))
            }
            _ => Ok(limit.map(|limit| Subject::Latency { of, limit, confidence })),
        };
    }
    let of = match figure {
        "skipped" => Some(Count::Skipped),
        "late" => Some(Count::Late),
        "lost" => Some(Count::Lost),
        column if is_column(column) => None,
        _ => return Ok(None),
    };
    if confidence.is_some() {
        return Err(LimitError::NoConfidence(text.to_owned()));
    }
    let number = value.parse().ok();
    Ok(match of {
        Some(of) => number.map(|limit| Subject::Count { of, limit }),
        None => time(value).map(|time| Subject::Column { time, number }),
    })
}

/// Whether it may be the name of a column, which no quantile is.
fn is_column(name: &str) -> bool {
    let is_quantile = name.strip_prefix('p').is_some_and(|rest| rest.starts_with(is_digit));
    name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_lowercase() || is_digit(c) || c == '_')
        && !is_quantile
}

fn is_digit(c: char) -> bool {
    c.is_ascii_digit()
}

/// A column's name without what says that it is a time.
fn bare(column: &str) -> &str {
    ["_ns", "_latency"].iter().find_map(|end| column.strip_suffix(end)).unwrap_or(column)
}

/// `10%` or `0.1`.
pub fn share(text: &str) -> Option<f64> {
    match text.strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().ok().map(|percent| percent / 100.0),
        None => text.parse().ok(),
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read() {
        let subject = |text: &str| text.parse::<Limit>().unwrap().subject;
        let (max, mean) = (Figure::Max, Figure::Mean);
        assert_eq!(
            subject("max<100us"),
            Subject::Latency { of: max, limit: Nanos(100_000), confidence: None }
        );
        assert_eq!(
            subject(" mean <= 2ms "),
            Subject::Latency { of: mean, limit: Nanos(2_000_000), confidence: None }
        );
        let level = Figure::Quantile(Level::P9999);
        assert_eq!(
            subject("p99.99<50us@95%"),
            Subject::Latency { of: level, limit: Nanos(50_000), confidence: Some(0.95) }
        );
        assert_eq!(
            subject("rate(>80us)<1e-6@0.99"),
            Subject::Rate { beyond: Nanos(80_000), limit: 1e-6, confidence: 0.99 }
        );
        let spread = |of| Subject::Latency { of, limit: Nanos(2_000), confidence: None };
        assert_eq!(
            [subject("sd<2us"), subject("peak-to-peak <= 2us")],
            [Figure::Sd, Figure::PeakToPeak].map(spread)
        );
        assert_eq!(subject("skipped==0"), Subject::Count { of: Count::Skipped, limit: 0 });
        let column = |time, number| Subject::Column { time: Nanos(time), number };
        assert_eq!(
            ["done < 5ms", "missed==0", "over_budget<=3"].map(subject),
            [column(5_000_000, None), column(0, Some(0)), column(3_000, Some(3))]
        );
        assert_eq!("late <= 3".parse::<Limit>().unwrap().relation, Relation::AtMost);
        assert_eq!("max < 1ms".parse::<Limit>().unwrap().to_string(), "max<1ms");
    }

    #[test]
    fn what_is_limited_has_a_name() {
        let name = |text: &str| text.parse::<Limit>().unwrap().name().to_owned();
        let named = [
            "max<1us",
            "p99.9 <= 1ms@95%",
            "rate(>80us)<1e-6@95%",
            "skipped==0",
            "peak-to-peak<=1us",
        ]
        .map(name);
        assert_eq!(named, ["max", "p99.9", "rate(>80us)", "skipped", "peak-to-peak"]);
    }

    #[test]
    fn a_column_goes_by_its_name_without_its_unit() {
        let names = |text: &str, column: &str| text.parse::<Limit>().unwrap().names(column);
        for (limit, column) in [
            ("thread_latency<50us", "thread_ns"),
            ("thread<50us", "thread_ns"),
            ("thread_ns<50us", "thread_ns"),
            ("latency<50us", "latency_ns"),
            ("missed==0", "missed"),
        ] {
            assert!(names(limit, column), "{limit} {column}");
        }
        for (limit, column) in
            [("max<50us", "max"), ("skipped==0", "skipped"), ("thread<50us", "threads")]
        {
            assert!(!names(limit, column), "{limit} {column}");
        }
    }

    #[test]
    fn a_plan_has_a_name_and_a_value() {
        for (name, value, text) in [
            ("peak-to-peak", "50us", "peak-to-peak<50us"),
            ("max", "100us", "max<100us"),
            ("late", "<=3", "late<=3"),
            ("rate(>80us)", "1e-6@95%", "rate(>80us)<1e-6@95%"),
            ("missed", "==0", "missed==0"),
        ] {
            let limit = Limit::from_setting(name, value).unwrap();
            assert_eq!(
                (limit.to_string().as_str(), limit.name(), limit.setting()),
                (text, name, value)
            );
        }
    }

    #[test]
    fn what_is_no_limit_says_why() {
        for wrong in [
            "",
            "max",
            "max>1us",
            "max<0us",
            "p101<1us",
            "max<",
            "skipped==-1",
            "rate(80us)<1e-6@95%",
            "rate(>80us)<2@95%",
            "max==1us",
            "sd==1us",
            "Peak<1us",
            "done==1us",
            "done<soon",
            "done>1us",
        ] {
            assert!(matches!(wrong.parse::<Limit>(), Err(LimitError::Form(_))), "{wrong}");
        }
        for none in ["late<0", "skipped < 0", "lost<0"] {
            let refused = none.parse::<Limit>();
            assert!(matches!(refused, Err(LimitError::BelowZero { .. })), "{none}");
        }
        assert!(Limit::from_setting("late", "0").is_err());
        assert_eq!(
            "late<0".parse::<Limit>().unwrap_err().to_string(),
            "invalid limit 'late<0': no count is below 0. To allow none: late==0 (late = \"==0\" \
             below [limits])"
        );
        assert!(matches!("max<1us@95%".parse::<Limit>(), Err(LimitError::SureMaximum { .. })));
        assert!(matches!("rate(>1us)<1e-6".parse::<Limit>(), Err(LimitError::CertainRate(_))));
        assert!(matches!("p99<1us@20%".parse::<Limit>(), Err(LimitError::Confidence(_))));
        assert!(matches!("sd<1us@95%".parse::<Limit>(), Err(LimitError::NoConfidence(_))));
        for count in ["skipped==0@95%", "missed==0@95%"] {
            assert!(matches!(count.parse::<Limit>(), Err(LimitError::NoConfidence(_))), "{count}");
        }
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! A judgement: the limit, the observed figure, and what evidence is missing. Values only; the
//! renderer has the words.

use crate::Incomplete;
use model::{Examined, Quantity, RowKind, WithoutPeriod};
use plan::{Limit, Nanos};
use serde::Serialize;
use stats::{Between, Level};
use std::path::PathBuf;

/// The verdict on a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    Pass,
    /// The recording does not show whether it does.
    NotEnough,
    /// It does not hold.
    Fail,
}

impl Verdict {
    /// As JSON, JUnit and TAP have it.
    pub const fn name(self) -> &'static str {
        match self {
            Verdict::Pass => "pass",
            Verdict::NotEnough => "not enough evidence",
            Verdict::Fail => "fail",
        }
    }
}

/// A limit judged by one recording.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    pub criterion: Criterion,
    /// The recording's path.
    pub recording: PathBuf,
    pub rows: RowKind,
    /// What kind of time it judges.
    pub quantity: Quantity,
    pub verdict: Verdict,
    /// The figure that decided.
    pub seen: Seen,
    /// How far the deciding figure lies below the limit, as a share of the limit; negative beyond
    /// it. None where there is no such figure, or the limit is 0.
    pub margin: Option<f64>,
    /// Why there is not enough evidence, and what would be.
    pub lacking: Option<Lacking>,
}

impl Judged {
    /// Whether this one, judged by the same criterion, is worse: by its verdict, and of one verdict
    /// by the figure that decided.
    pub fn is_worse_than(&self, other: &Judged) -> bool {
        let by_figure = || self.seen.size().total_cmp(&other.seen.size());
        self.verdict.cmp(&other.verdict).then_with(by_figure).is_gt()
    }
}

/// What came of a criterion.
pub(crate) struct Judgement {
    pub(crate) verdict: Verdict,
    pub(crate) seen: Seen,
    pub(crate) margin: Option<f64>,
    pub(crate) lacking: Option<Lacking>,
}

impl Judgement {
    /// Not enough evidence, and no figure that is off the limit.
    pub(crate) const fn not_enough(seen: Seen, lacking: Lacking) -> Judgement {
        let lacking = Some(lacking);
        Judgement { verdict: Verdict::NotEnough, seen, margin: None, lacking }
    }

    /// Of this criterion in what was examined.
    pub(crate) fn of(self, criterion: Criterion, examined: &Examined) -> Judged {
        let Judgement { verdict, seen, margin, lacking } = self;
        let probe = &examined.recorded.document.probe;
        let (recording, rows, quantity) = (examined.path(), probe.rows, probe.quantity);
        Judged { criterion, recording, rows, quantity, verdict, seen, margin, lacking }
    }
}

/// What a recording is judged by.
#[derive(Clone, Debug, PartialEq)]
pub enum Criterion {
    Limit(Limit),
    /// None, where others are judged by one.
    NoLimit,
    /// It is not worse than another recording.
    NotWorse {
        /// In this quantile; none: in any.
        level: Option<Level>,
        /// By more than this share.
        by: f64,
        than: PathBuf,
    },
}

/// What decided. Latencies in ns, of the thread that is worst in them: `thread` is none where there
/// is only one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Seen {
    Latency {
        ns: i64,
        /// Between what it lies, if it is not exactly known.
        between: Option<Between>,
        thread: Option<usize>,
    },
    /// A quantile, and the most it can be at the confidence asked for; none where that is not
    /// known.
    Quantile {
        observed_ns: i64,
        /// At most.
        upper_ns: Option<i64>,
        thread: Option<usize>,
    },
    /// More activations beyond the limit than a quantile allows, and there are too few of them for
    /// a verdict.
    Beyond { n: u64, of: u64, level: Level, thread: Option<usize> },
    /// Too few activations for a quantile.
    TooFew { of: u64 },
    /// The share of activations beyond a latency.
    Rate {
        n: u64,
        of: u64,
        beyond: Nanos,
        rate: f64,
        /// Whether that is the most it can be at the confidence asked for, or the one observed.
        is_bound: bool,
    },
    /// A number of activations.
    Count {
        n: u64,
        /// Of so many that were due.
        due: u64,
    },
    /// What a column adds up to.
    Sum {
        n: u64,
        /// In so many rows.
        rows: u64,
    },
    /// A quantile beside that of another recording.
    Change {
        /// This one's.
        ns: i64,
        /// Whether it is exactly the observed one; not so of several threads together.
        is_exact: bool,
        /// The other's.
        base_ns: i64,
        /// Whether that is exactly the observed one.
        base_is_exact: bool,
        /// The ratio is at least this.
        lower: f64,
        /// And at most this.
        upper: f64,
    },
    /// Nothing, because this thread measured nothing.
    ThreadWithoutRows(usize),
    /// Nothing, because no thread measured anything.
    NoRows,
    /// Nothing, because there are no threads.
    NoThreads,
    /// Nothing that could be compared.
    Nothing,
    /// Something that the recording does not contain.
    Unknown,
}

impl Seen {
    /// How large the figure is, of others of its kind; less than any where there is none.
    #[expect(clippy::cast_precision_loss, reason = "compared with others of its kind")]
    fn size(self) -> f64 {
        match self {
            Seen::Latency { ns, .. } => ns as f64,
            Seen::Quantile { observed_ns, upper_ns, .. } => upper_ns.unwrap_or(observed_ns) as f64,
            Seen::Beyond { n, of, .. } => n as f64 / of.max(1) as f64,
            Seen::Rate { rate, .. } => rate,
            Seen::Count { n, .. } | Seen::Sum { n, .. } => n as f64,
            Seen::Change { upper, .. } => upper,
            Seen::TooFew { .. }
            | Seen::ThreadWithoutRows(_)
            | Seen::NoRows
            | Seen::NoThreads
            | Seen::Nothing
            | Seen::Unknown => f64::NEG_INFINITY,
        }
    }
}

/// Why there is not enough evidence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Lacking {
    Figure,
    Limit,
    /// The recording does not show all that it should have.
    Whole(Incomplete),
    /// As many activations as this quantile takes.
    Activations(Level),
    /// Activations to bound this quantile at the confidence asked for.
    Bound(Level),
    /// A longer run, for a closer bound.
    CloserBound,
    /// So many more activations, none of them beyond the limit.
    MoreWithin(u64),
    LongerRun,
    LongerRuns,
    /// Samples: how latencies followed one another, and what became of each activation.
    Samples,
    /// A plan: events happen when they happen, and are neither late nor skipped.
    Unplanned,
    /// A column of this name that counts or is a time.
    Column,
    /// A column that is a time, or a number, as the limit is.
    ColumnUnit,
    /// A period of the program: without one nobody knows what it missed.
    Period,
    /// A period of these rows of the program.
    PeriodOf(WithoutPeriod),
    /// Values of so many skipped rows, which never ran.
    ValuesOfSkipped(u64),
    /// Independent wake-ups, to compare any quantile.
    Independent,
    /// Periods that the program which measured passed over without counting them.
    PassedOver,
    /// What became of rows without a value, which another program does not say.
    Others,
    /// The unit of the values.
    Unit,
    /// Where in a bucket of another program's histogram its values lie.
    Bucket,
    /// Values beyond the histogram that another program kept: where they are.
    Beyond,
    /// Digits: values may have been larger by less than this.
    Resolution(Nanos),
    /// The order of samples: without it nobody knows how they depend on one another.
    Order,
}

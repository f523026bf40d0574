// SPDX-License-Identifier: MIT OR Apache-2.0
//! Time as a whole number of nanoseconds, and the durations that users write.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// A point in time or a span, in ns. Which clock a point belongs to is said where it is stored.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Nanos(pub i64);

/// What a bare number means: cyclictest's users write `-i 200` for 200 µs and `-D 10` for ten
/// seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Nanoseconds, `ns`.
    Nanosecond,
    /// Microseconds, `us` or `µs`.
    Microsecond,
    /// Milliseconds, `ms`.
    Millisecond,
    /// Seconds, `s`.
    Second,
    /// Minutes, `m` or `min`.
    Minute,
    /// Hours, `h`.
    Hour,
    /// Days, `d`.
    Day,
}

impl Unit {
    pub(crate) const fn nanos(self) -> i64 {
        match self {
            Unit::Nanosecond => 1,
            Unit::Microsecond => 1_000,
            Unit::Millisecond => 1_000_000,
            Unit::Second => 1_000_000_000,
            Unit::Minute => 60_000_000_000,
            Unit::Hour => 3_600_000_000_000,
            Unit::Day => 86_400_000_000_000,
        }
    }

    pub(crate) fn from_suffix(suffix: &str) -> Option<Self> {
        Some(match suffix {
            "ns" => Unit::Nanosecond,
            "us" | "µs" | "μs" => Unit::Microsecond,
            "ms" => Unit::Millisecond,
            "s" => Unit::Second,
            "m" | "min" => Unit::Minute,
            "h" => Unit::Hour,
            "d" => Unit::Day,
            _ => return None,
        })
    }
}

/// Why a duration is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DurationError {
    #[error("'{0}' is not a duration: write a number and a unit, such as 200us, 1ms, 10s or 3h")]
    NotANumber(String),
    /// A number, then an unknown unit.
    #[error("'{text}' has an unknown unit '{suffix}': use ns, us, ms, s, m, h or d")]
    UnknownUnit { text: String, suffix: String },
    /// The same where a rate may stand too.
    #[error(
        "'{text}' has an unknown unit '{suffix}': use ns, us, ms, s, m, h or d, or Hz or kHz for \
         a rate"
    )]
    UnknownIntervalUnit { text: String, suffix: String },
    /// A ratio alone: it could be of seconds as well as of microseconds.
    #[error(
        "'{text}' needs a unit: write for example {text}s or {text}ms{}",
        rate.as_ref().map_or_else(String::new, |rate| format!(", or {rate} for a rate")),
    )]
    RatioWithoutUnit {
        text: String,
        /// The rate that may have been meant.
        rate: Option<String>,
    },
    /// A ratio over 0.
    #[error("'{0}' divides by 0: write for example 1/1024s")]
    DividedByZero(String),
    /// A rate of 0.
    #[error("'{0}' is not an interval: a rate must be above 0, such as 1kHz")]
    ZeroRate(String),
    #[error("'{0}' is negative: a duration cannot be")]
    Negative(String),
    /// More than fits 64 bits of nanoseconds, or a fraction of a nanosecond.
    #[error("'{0}' does not fit a whole number of nanoseconds below 292 years")]
    OutOfRange(String),
    /// More than [`Nanos::LONGEST`].
    #[error("'{0}' is too long: at most {longest} (10 years)", longest = Nanos::LONGEST)]
    TooLong(String),
}

impl Nanos {
    /// No time at all.
    pub const ZERO: Nanos = Nanos(0);
    /// The longest that anybody may write: a hundredth of what ns can say, so that sums of some of
    /// them do not overflow.
    pub const LONGEST: Nanos = Nanos::from_secs(3_650 * 86_400);

    /// A number of whole microseconds.
    pub const fn from_micros(us: i64) -> Self {
        Nanos(us * 1_000)
    }

    /// A number of whole milliseconds.
    pub const fn from_millis(ms: i64) -> Self {
        Nanos(ms * 1_000_000)
    }

    /// A number of whole seconds.
    pub const fn from_secs(s: i64) -> Self {
        Nanos(s * 1_000_000_000)
    }

    /// Reads `200us`, `1.5ms`, `10s`; a bare number counts in `bare`. Exact: decimals are never
    /// rounded.
    ///
    /// # Errors
    /// [`DurationError`] names the part that could not be read.
    pub fn parse(text: &str, bare: Unit) -> Result<Self, DurationError> {
        let trimmed = text.trim();
        if let Some(rest) = trimmed.strip_prefix('-')
            && rest.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        {
            return Err(DurationError::Negative(text.to_owned()));
        }
        let end =
            trimmed.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(trimmed.len());
        let (number, suffix) = trimmed.split_at(end);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if whole.is_empty() && fraction.is_empty() || fraction.contains('.') {
            return Err(DurationError::NotANumber(text.to_owned()));
        }
        let suffix = suffix.trim_start();
        let unit = if suffix.is_empty() {
            bare
        } else {
            Unit::from_suffix(suffix).ok_or_else(|| DurationError::UnknownUnit {
                text: text.to_owned(),
                suffix: suffix.to_owned(),
            })?
        };
        match exact_nanos(whole, fraction, unit) {
            Some(time) if time > Self::LONGEST => Err(DurationError::TooLong(text.to_owned())),
            time => time.ok_or_else(|| DurationError::OutOfRange(text.to_owned())),
        }
    }

    /// As a span of the standard library, which has none below 0: its size then.
    pub const fn duration(self) -> Duration {
        Duration::from_nanos(self.0.unsigned_abs())
    }

    /// Microseconds for display only.
    #[expect(clippy::cast_precision_loss, reason = "for reading; 2^53 ns are 104 days")]
    pub fn as_micros_f64(self) -> f64 {
        self.0 as f64 / 1e3
    }

    /// Seconds for display only.
    #[expect(clippy::cast_precision_loss, reason = "for reading; 2^53 ns are 104 days")]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

/// `12.5` as a whole number and the power of ten it is to be divided by: 125 and 10.
pub(crate) fn decimal(text: &str) -> Option<(i128, i128)> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = format!("{whole}{fraction}");
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let places = 10_i128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    plain.then(|| digits.parse().ok()).flatten().map(|value| (value, places))
}

/// `whole.fraction` units in ns, if that is a whole number that fits.
fn exact_nanos(whole: &str, fraction: &str, unit: Unit) -> Option<Nanos> {
    let whole: i64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let mut total = whole.checked_mul(unit.nanos())?;
    let fraction = fraction.trim_end_matches('0');
    if !fraction.is_empty() {
        let scale = 10_i128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
        let parts = fraction.parse::<i128>().ok()?.checked_mul(i128::from(unit.nanos()))?;
        if parts % scale != 0 {
            return None;
        }
        total = total.checked_add(i64::try_from(parts / scale).ok()?)?;
    }
    Some(Nanos(total))
}

/// The longest span there is, where it is longer.
impl From<Duration> for Nanos {
    fn from(span: Duration) -> Self {
        Nanos(i64::try_from(span.as_nanos()).unwrap_or(i64::MAX))
    }
}

impl fmt::Display for Nanos {
    /// In the largest unit that leaves a whole number: `200us`, `1ms`, `90s`. What it writes,
    /// [`Nanos::parse`] reads.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, suffix) = [
            (Unit::Hour, "h"),
            (Unit::Second, "s"),
            (Unit::Millisecond, "ms"),
            (Unit::Microsecond, "us"),
        ]
        .into_iter()
        .find(|(unit, _)| self.0 != 0 && self.0 % unit.nanos() == 0)
        .unwrap_or((Unit::Nanosecond, "ns"));
        write!(f, "{}{suffix}", self.0 / unit.nanos())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_what_people_write() {
        for (text, ns) in [
            ("200us", 200_000),
            ("200", 200_000),
            ("1ms", 1_000_000),
            ("1.5ms", 1_500_000),
            (".5s", 500_000_000),
            ("10s", 10_000_000_000),
            ("3h", 10_800_000_000_000),
            ("2 m", 120_000_000_000),
            ("0", 0),
            ("1.250", 1_250),
        ] {
            assert_eq!(Nanos::parse(text, Unit::Microsecond), Ok(Nanos(ns)), "{text}");
        }
    }

    #[test]
    fn says_what_is_wrong() {
        let read = |text| Nanos::parse(text, Unit::Microsecond).unwrap_err();
        assert_eq!(
            read("10xs"),
            DurationError::UnknownUnit { text: "10xs".into(), suffix: "xs".into() }
        );
        assert_eq!(read("-5"), DurationError::Negative("-5".into()));
        for text in ["", "ms", ".", "1.2.3", "abc"] {
            assert_eq!(read(text), DurationError::NotANumber(text.into()), "{text}");
        }
        for text in ["0.5ns", "99999999999999999999s", "0.0001us", "400000d"] {
            assert_eq!(read(text), DurationError::OutOfRange(text.into()), "{text}");
        }
        for text in ["9223372036s", "4000000000s", "3651d", "87600.1h"] {
            assert_eq!(read(text), DurationError::TooLong(text.into()), "{text}");
        }
        assert_eq!(read("3651d").to_string(), "'3651d' is too long: at most 87600h (10 years)");
        assert_eq!(Nanos::parse("3650d", Unit::Day), Ok(Nanos::LONGEST));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(ns in 0..=Nanos::LONGEST.0) {
            prop_assert_eq!(Nanos::parse(&Nanos(ns).to_string(), Unit::Day), Ok(Nanos(ns)));
        }

        #[test]
        fn no_text_panics(text in "\\PC*") {
            let _ = Nanos::parse(&text, Unit::Second);
        }
    }
}

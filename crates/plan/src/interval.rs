// SPDX-License-Identifier: MIT OR Apache-2.0
//! The interval of a periodic thread as users write it: a time (`200us`, `976.5625us`, `1/1024s`)
//! or a rate (`1024Hz`, `1kHz`).
//!
//! Rates are rarely a whole number of nanoseconds, so an interval is rounded to the nearest one,
//! and knows that it was. Other times are read exactly, by [`Nanos::parse`].

use crate::nanos::decimal;
use crate::{DurationError, Nanos, Unit};
use std::str::FromStr;

/// An interval, and what a reader should know about how it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interval {
    /// To the nearest nanosecond.
    pub nanos: Nanos,
    pub written: String,
    reading: Reading,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Reading {
    /// A whole number of nanoseconds, with its unit.
    Exact,
    /// A number alone, which counts microseconds.
    Bare,
    /// This many ns, of which the nearest whole number was taken.
    Rounded(String),
}

/// Units of a rate, in Hz.
const RATES: [(&str, i128); 3] = [("hz", 1), ("khz", 1_000), ("mhz", 1_000_000)];

impl Interval {
    /// What a reader should know: that a bare number was taken for microseconds, or what was
    /// rounded. None where the interval is what was written.
    pub fn note(&self) -> Option<String> {
        let (nanos, written) = (self.nanos, &self.written);
        match &self.reading {
            Reading::Exact => None,
            Reading::Bare => Some(format!(
                "Interval {nanos}: '{written}' has no unit, and a bare number counts \
                 microseconds. For milliseconds write {written}ms."
            )),
            Reading::Rounded(exact) => Some(format!(
                "Interval {} ns: '{written}' is {exact} ns, rounded to the nearest nanosecond.",
                nanos.0
            )),
        }
    }
}

impl FromStr for Interval {
    type Err = DurationError;

    fn from_str(text: &str) -> Result<Self, DurationError> {
        let interval =
            |nanos, reading| Interval { nanos, written: text.trim().to_owned(), reading };
        match Nanos::parse(text, Unit::Microsecond) {
            Ok(nanos) => {
                let bare =
                    nanos.0 != 0 && text.trim().ends_with(|c: char| c.is_ascii_digit() || c == '.');
                return Ok(interval(nanos, if bare { Reading::Bare } else { Reading::Exact }));
            }
            // A fraction of a nanosecond, a rate or a ratio: below.
            Err(DurationError::OutOfRange(_) | DurationError::UnknownUnit { .. }) => {}
            Err(error) => return Err(error),
        }
        let (numerator, denominator) = ratio(text)?;
        let out_of_range = || DurationError::OutOfRange(text.to_owned());
        let doubled = numerator
            .checked_mul(2)
            .and_then(|twice| twice.checked_add(denominator))
            .ok_or_else(out_of_range)?;
        let nearest = doubled / denominator.checked_mul(2).ok_or_else(out_of_range)?;
        let nanos =
            i64::try_from(nearest).ok().filter(|nanos| *nanos > 0).ok_or_else(out_of_range)?;
        let exact = numerator % denominator == 0;
        let reading = if exact {
            Reading::Exact
        } else {
            Reading::Rounded(to_four_places(numerator, denominator))
        };
        Ok(interval(Nanos(nanos), reading))
    }
}

/// The interval in ns as a ratio of whole numbers, the second above 0.
fn ratio(text: &str) -> Result<(i128, i128), DurationError> {
    let out_of_range = || DurationError::OutOfRange(text.to_owned());
    let not_a_number = || DurationError::NotANumber(text.to_owned());
    let (over, rest) =
        text.trim().split_once('/').map_or((None, text.trim()), |(over, rest)| (Some(over), rest));
    let end = rest.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(rest.len());
    let (number, suffix) =
        (decimal(&rest[..end]).ok_or_else(not_a_number)?, rest[end..].trim_start());
    let over_value = over.map(|over| decimal(over.trim()).ok_or_else(not_a_number)).transpose()?;
    let times = |(value, places): (i128, i128), unit: i128| {
        value.checked_mul(unit).map(|value| (value, places))
    };
    let unit = |bare: Option<Unit>| match suffix {
        "" => bare,
        _ => Unit::from_suffix(suffix),
    };
    let (numerator, denominator) =
        match (over_value, RATES.iter().find(|(name, _)| suffix.eq_ignore_ascii_case(name))) {
            (Some(_), _) if number.0 == 0 => {
                return Err(DurationError::DividedByZero(text.to_owned()));
            }
            (Some(_), None) if suffix.is_empty() => return Err(without_unit(text, over, rest)),
            // 1/1024s: one second over 1,024.
            (Some(over), None) => {
                let unit = unit(None).ok_or_else(|| unknown(text, suffix))?.nanos();
                let (over, over_places) = times(over, unit.into()).ok_or_else(out_of_range)?;
                let (under, under_places) = number;
                (over.checked_mul(under_places), over_places.checked_mul(under))
            }
            (None, Some(_)) if number.0 == 0 => {
                return Err(DurationError::ZeroRate(text.to_owned()));
            }
            (None, Some((_, hertz))) => {
                let (rate, places) = times(number, *hertz).ok_or_else(out_of_range)?;
                (places.checked_mul(Unit::Second.nanos().into()), Some(rate))
            }
            (Some(_), Some(_)) => return Err(unknown(text, suffix)),
            // A time with more digits than nanoseconds have.
            (None, None) => {
                let unit =
                    unit(Some(Unit::Microsecond)).ok_or_else(|| unknown(text, suffix))?.nanos();
                let (value, places) = times(number, unit.into()).ok_or_else(out_of_range)?;
                (Some(value), Some(places))
            }
        };
    numerator.zip(denominator).filter(|(_, denominator)| *denominator > 0).ok_or_else(out_of_range)
}

/// 1/3 of what? One over so many may have been meant as a rate.
fn without_unit(text: &str, over: Option<&str>, under: &str) -> DurationError {
    let is_rate = over.is_some_and(|over| over.trim() == "1");
    DurationError::RatioWithoutUnit {
        text: text.trim().to_owned(),
        rate: is_rate.then(|| format!("{}Hz", under.trim())),
    }
}

fn unknown(text: &str, suffix: &str) -> DurationError {
    DurationError::UnknownIntervalUnit { text: text.to_owned(), suffix: suffix.to_owned() }
}

/// `976562.5`, for reading.
fn to_four_places(numerator: i128, denominator: i128) -> String {
    let (whole, rest) = (numerator / denominator, numerator % denominator);
    let digits = rest.checked_mul(10_000).map_or(0, |rest| rest / denominator);
    let digits = format!("{digits:04}");
    let shown = digits.trim_end_matches('0');
    let about = if rest.checked_mul(10_000).is_some_and(|rest| rest % denominator == 0) {
        ""
    } else {
        "about "
    };
    if shown.is_empty() { format!("{about}{whole}") } else { format!("{about}{whole}.{shown}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> (i64, Option<String>) {
        let interval: Interval = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
        (interval.nanos.0, interval.note())
    }

    #[test]
    fn times_and_rates_as_people_write_them() {
        for (text, ns) in [
            ("200us", 200_000),
            ("1kHz", 1_000_000),
            ("1 khz", 1_000_000),
            ("250Hz", 4_000_000),
            ("1/250s", 4_000_000),
            ("1/4ms", 250_000),
            ("0.5 MHz", 2_000),
            ("2.5kHz", 400_000),
        ] {
            assert_eq!(read(text), (ns, None), "{text}");
        }
    }

    #[test]
    fn rounding_is_reported() {
        let error_text = |ns: i64, text: &str, exact: &str| {
            Some(format!(
                "Interval {ns} ns: '{text}' is {exact} ns, rounded to the nearest nanosecond."
            ))
        };
        for (text, ns, exact) in [
            ("1024Hz", 976_563, "976562.5"),
            ("1/1024s", 976_563, "976562.5"),
            ("976.5625us", 976_563, "976562.5"),
            ("3kHz", 333_333, "about 333333.3333"),
            ("1/3 ms", 333_333, "about 333333.3333"),
            ("44.1kHz", 22_676, "about 22675.7369"),
            ("1.0000001us", 1_000, "1000.0001"),
        ] {
            assert_eq!(read(text), (ns, error_text(ns, text, exact)), "{text}");
        }
    }

    #[test]
    fn a_bare_number_is_named() {
        let (ns, note) = read("1");
        assert_eq!(ns, 1_000);
        let note = note.unwrap();
        assert_eq!(
            note,
            "Interval 1us: '1' has no unit, and a bare number counts microseconds. For \
             milliseconds write 1ms."
        );
    }

    #[test]
    fn no_interval() {
        for text in [
            "0Hz",
            "1/0s",
            "1/1024",
            "0.1ns",
            "9GHz",
            "1/10Hz",
            "1/",
            "/3s",
            "Hz",
            "",
            "-1kHz",
            "1//3s",
            "99999999999999999999999Hz",
        ] {
            assert!(text.parse::<Interval>().is_err(), "{text}");
        }
        let error = "10xs".parse::<Interval>().unwrap_err().to_string();
        assert_eq!(
            error,
            "'10xs' has an unknown unit 'xs': use ns, us, ms, s, m, h or d, or Hz or kHz for a \
             rate"
        );
    }

    #[test]
    fn a_wrong_rate_or_ratio_is_named() {
        let error = |text: &str| text.parse::<Interval>().unwrap_err().to_string();
        assert_eq!(
            error("1/3"),
            "'1/3' needs a unit: write for example 1/3s or 1/3ms, or 3Hz for a rate"
        );
        assert_eq!(
            error("1/2.5"),
            "'1/2.5' needs a unit: write for example 1/2.5s or 1/2.5ms, or 2.5Hz for a rate"
        );
        assert_eq!(error("2/3"), "'2/3' needs a unit: write for example 2/3s or 2/3ms");
        assert_eq!(error("0Hz"), "'0Hz' is not an interval: a rate must be above 0, such as 1kHz");
        assert_eq!(
            error("0.0 kHz"),
            "'0.0 kHz' is not an interval: a rate must be above 0, such as 1kHz"
        );
        assert_eq!(error("1/0s"), "'1/0s' divides by 0: write for example 1/1024s");
        assert_eq!(error("1/0"), "'1/0' divides by 0: write for example 1/1024s");
        assert!(error("abc/3").starts_with("'abc/3' is not a duration"));
        assert_eq!(
            error("9GHz"),
            "'9GHz' has an unknown unit 'GHz': use ns, us, ms, s, m, h or d, or Hz or kHz for a \
             rate"
        );
    }

    proptest! {
        #[test]
        fn a_rate_is_its_period(hertz in 1_i64..=1_000_000) {
            let interval: Interval = format!("{hertz}Hz").parse().unwrap();
            let (twice, whole) = (2 * interval.nanos.0 * hertz, 2 * 1_000_000_000);
            prop_assert!((twice - whole).abs() <= hertz, "{} for {hertz} Hz", interval.nanos.0);
        }

        #[test]
        fn no_text_panics(text in "[0-9./ khmzuns]{0,30}") {
            let _ = text.parse::<Interval>();
        }
    }
}

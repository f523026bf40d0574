// SPDX-License-Identifier: MIT OR Apache-2.0
//! How numbers are written in a table that nobody says it of: whether a comma is a decimal one or
//! sets thousands apart. One way is taken for all of them, and only where one of them shows it.

use crate::numbers::decimal;

/// What a comma or a point is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    Decimal,
    Thousands,
}

/// What commas and points are, as far as it is known.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Notation {
    comma: Option<Mark>,
    point: Option<Mark>,
    /// Whether there was a number that may be read in two ways.
    is_asked: bool,
    /// What a comma is then, unless another number shows something else.
    else_comma: Option<Mark>,
}

/// What a number shows of its notation.
#[derive(Debug, PartialEq)]
struct Shown {
    comma: Option<Mark>,
    point: Option<Mark>,
    is_ambiguous: bool,
}

/// Whether it is a number, in whatever notation.
pub(crate) fn is_number(text: &str) -> bool {
    shown(text).is_some()
}

/// The digits and marks of a number, and its exponent.
fn parts(text: &str) -> Option<(&str, &str, i32)> {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let sign = &text[..text.len() - unsigned.len()];
    let (digits, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((digits, exponent)) => (digits, exponent.parse().ok()?),
        None => (unsigned, 0),
    };
    let is_of_number = |byte: u8| byte.is_ascii_digit() || byte == b',' || byte == b'.';
    let is_one = digits.bytes().all(is_of_number) && digits.bytes().any(|of| of.is_ascii_digit());
    (is_one && digits.len() <= 40).then_some((sign, digits, exponent))
}

fn shown(text: &str) -> Option<Shown> {
    let (_, digits, exponent) = parts(text)?;
    let marks: Vec<char> = digits.chars().filter(|of| !of.is_ascii_digit()).collect();
    let mut shown = Shown { comma: None, point: None, is_ambiguous: false };
    let (Some(first), Some(last)) = (marks.first().copied(), marks.last().copied()) else {
        return Some(shown);
    };
    let mut put = |mark: char, what: Mark| match mark {
        ',' => shown.comma = Some(what),
        _ => shown.point = Some(what),
    };
    let whole = if first == last { digits } else { digits.rsplit_once(last)?.0 };
    let mut groups = whole.split(first);
    let before = groups.next()?;
    let are_thousands = (1..=3).contains(&before.len())
        && !before.starts_with('0')
        && groups.all(|of| of.len() == 3);
    if first != last {
        // 1,234.5: the last is the decimal one.
        (are_thousands && marks.iter().filter(|mark| **mark == last).count() == 1).then_some(())?;
        put(first, Mark::Thousands);
        put(last, Mark::Decimal);
    } else if marks.len() > 1 {
        (are_thousands && exponent == 0).then_some(())?;
        put(first, Mark::Thousands);
    } else if first == '.' || exponent != 0 || !are_thousands {
        put(first, Mark::Decimal);
    } else {
        shown.is_ambiguous = true;
    }
    Some(shown)
}

impl Notation {
    /// Of files whose columns are set apart by a semicolon: because a comma is a decimal one.
    pub(crate) const WITH_DECIMAL_COMMA: Notation =
        Notation { comma: None, point: None, is_asked: false, else_comma: Some(Mark::Decimal) };

    /// Learns from a number.
    ///
    /// # Errors
    /// When it is none, or not written as those before.
    pub(crate) fn learn(&mut self, text: &str) -> Result<(), String> {
        let shown = shown(text).ok_or_else(|| format!("'{text}' is no number"))?;
        let mut learned = *self;
        learned.is_asked |= shown.is_ambiguous;
        learned.point = shown.point.or(self.point);
        learned.comma = shown.comma.or(self.comma);
        if shown.is_ambiguous && learned.comma.is_none() && learned.point.is_none() {
            learned.comma = self.else_comma;
        }
        let differs = |known: Option<Mark>, new: Option<Mark>| known.is_some() && known != new;
        if differs(self.comma, learned.comma)
            || differs(self.point, learned.point)
            || learned.comma.is_some() && learned.comma == learned.point
        {
            return Err(format!("'{text}' is written in another way than numbers above it"));
        }
        *self = learned;
        Ok(())
    }

    /// Whether there are numbers that may still be read in two ways.
    pub(crate) fn is_open(&self) -> bool {
        self.is_asked && self.comma.is_none()
    }

    /// A number of this unit, ns, and how many decimals it has.
    pub(crate) fn read(&self, text: &str, unit_ns: i64) -> Option<(i64, usize)> {
        let (sign, digits, exponent) = parts(text)?;
        let is_decimal = |letter: char| match letter {
            ',' => self.comma != Some(Mark::Thousands),
            _ => self.point != Some(Mark::Thousands),
        };
        let mut plain = sign.to_owned();
        for letter in digits.chars() {
            if letter.is_ascii_digit() {
                plain.push(letter);
            } else if is_decimal(letter) {
                plain.push('.');
            }
        }
        let decimals = plain.split_once('.').map_or(0, |(_, behind)| behind.len());
        if exponent == 0 {
            return Some((decimal(&plain, unit_ns)?, decimals));
        }
        let ns = plain.parse::<f64>().ok()? * 10_f64.powi(exponent) * unit_ns as f64;
        #[expect(clippy::cast_possible_truncation, reason = "below 2^53")]
        (ns.abs() < 9e15).then(|| (ns.round() as i64, 12))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notation(texts: &[&str]) -> Result<Notation, String> {
        let mut notation = Notation::default();
        texts.iter().try_for_each(|text| notation.learn(text)).map(|()| notation)
    }

    #[test]
    fn one_number_may_show_how_all_are_written() {
        let read = |texts: &[&str], text: &str| {
            let notation = notation(texts).unwrap();
            (!notation.is_open()).then(|| notation.read(text, 1_000_000).unwrap().0)
        };
        assert_eq!(read(&["1,533"], "1,533"), None, "open");
        assert_eq!(read(&["1,533", "0,7"], "1,533"), Some(1_533_000));
        assert_eq!(
            read(&["1,533", "0,712"], "1,533"),
            Some(1_533_000),
            "no thousands begin with 0"
        );
        assert_eq!(read(&["1,533", "1533,001"], "1,533"), Some(1_533_000));
        assert_eq!(read(&["1,533", "1,234,567"], "1,533"), Some(1_533_000_000));
        assert_eq!(read(&["1,533", "12.5"], "1,533"), None, "it may be of a list");
        assert_eq!(read(&["1,533.5"], "1,533"), Some(1_533_000_000));
        assert_eq!(read(&["1.533,5"], "1.533"), Some(1_533_000_000));
        assert_eq!(read(&["1.533"], "1.533"), Some(1_533_000));
        assert_eq!(read(&["-1.5e-3"], "-1.5e-3"), Some(-1_500));
        assert_eq!(read(&["12"], "+12"), Some(12_000_000));
    }

    #[test]
    fn a_semicolon_leaves_the_comma_to_decimals() {
        let mut notation = Notation::WITH_DECIMAL_COMMA;
        notation.learn("1,533").unwrap();
        assert_eq!((notation.is_open(), notation.read("1,533", 1_000)), (false, Some((1_533, 3))));
        let mut notation = Notation::WITH_DECIMAL_COMMA;
        notation.learn("1.5").unwrap();
        assert_eq!((notation.is_open(), notation.read("1.5", 1_000)), (false, Some((1_500, 1))));
        notation.learn("1,533").unwrap();
        assert!(notation.is_open());
    }

    #[test]
    fn what_is_written_in_two_ways_is_refused() {
        assert!(notation(&["0,5", "1,234,567"]).is_err());
        assert!(notation(&["0,5", "0.5"]).is_err());
        assert!(notation(&["1,234.5", "0,5"]).is_err());
        for text in
            ["", "-", ",", "1,23,456", "1.2.3", "0,123,456", "1e", "0x1", "nan", "1,234.5.6"]
        {
            assert!(!is_number(text), "{text}");
        }
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! Numbers of a stream, exact to 10^-9 of their unit.

/// A number in 10^-9 of its unit: as exact as a nanosecond is of a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Number(pub i128);

/// Digits of a fraction that count.
const DIGITS: usize = 9;
/// One of a number's unit.
pub(crate) const ONE: i128 = 1_000_000_000;
/// Whole numbers are below this, so that sums of very many cannot overflow.
const LIMIT: i128 = 1 << 64;

impl Number {
    /// A whole number; its size is below 2^64.
    pub(crate) const fn whole(number: i128) -> Self {
        Number(number * ONE)
    }
}

/// The number on a line: decimal, with a fraction or without, or hexadecimal with `0x`, between
/// spaces. What follows `#` is a comment. None if nothing else is there. Digits of a fraction
/// beyond the ninth are cut off.
///
/// # Errors
/// When there is something else.
pub(crate) fn text_number(line: &[u8]) -> Result<Option<Number>, ()> {
    let line = without_comment(line);
    if line.is_empty() {
        return Ok(None);
    }
    let (negative, digits) = match line {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, line),
    };
    let size = match digits {
        [b'0', b'x' | b'X', hex @ ..] => whole(hex, 16).map(|number| number * ONE),
        _ => decimal(digits),
    };
    size.map(|size| Some(Number(if negative { -size } else { size }))).ok_or(())
}

/// What a line says, without the blanks around it.
pub(crate) fn without_comment(line: &[u8]) -> &[u8] {
    line.split(|byte| *byte == b'#').next().unwrap_or_default().trim_ascii()
}

/// In 10^-9.
fn decimal(digits: &[u8]) -> Option<i128> {
    let mut parts = digits.splitn(2, |byte| *byte == b'.');
    let (before, after) = (parts.next().unwrap_or_default(), parts.next());
    let Some(after) = after else { return whole(before, 10).map(|number| number * ONE) };
    if before.is_empty() && after.is_empty() || !after.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let before = if before.is_empty() { 0 } else { whole(before, 10)? };
    let digits = after.iter().copied().chain(std::iter::repeat(b'0')).take(DIGITS);
    let fraction = digits.fold(0, |sum, digit| sum * 10 + i128::from(digit - b'0'));
    Some(before * ONE + fraction)
}

/// At least one digit, and nothing else.
fn whole(digits: &[u8], base: u32) -> Option<i128> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_i128, |sum, digit| {
        let sum = sum * i128::from(base) + i128::from(char::from(*digit).to_digit(base)?);
        (sum < LIMIT).then_some(sum)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> Result<Option<i128>, ()> {
        text_number(text.as_bytes()).map(|number| number.map(|Number(size)| size))
    }

    #[test]
    fn numbers_as_people_and_programs_write_them() {
        for (text, expected) in [
            ("976562", 976_562 * ONE),
            (" 976.562\t", 976_562_000_000),
            ("976.562 # RTC", 976_562_000_000),
            (".5\r", ONE / 2),
            ("5.", 5 * ONE),
            ("-3.000000001", -3_000_000_001),
            ("+7", 7 * ONE),
            ("0xff", 255 * ONE),
            ("0XfF", 255 * ONE),
            ("18446744073709551615", i128::from(u64::MAX) * ONE),
            ("0xFFFFFFFFFFFFFFFF", i128::from(u64::MAX) * ONE),
            ("0.1234567899", 123_456_789),
            ("007", 7 * ONE),
        ] {
            assert_eq!(read(text), Ok(Some(expected)), "{text}");
        }
        for text in ["", "  ", "# a comment", "\t# 5"] {
            assert_eq!(read(text), Ok(None), "{text}");
        }
        for text in [
            "x",
            "1 2",
            "1,5",
            "1e5",
            "0x",
            "-",
            ".",
            "1.2.3",
            "--1",
            "12a",
            "18446744073709551616",
            "1.-5",
            "0x1.8",
            "٣",
        ] {
            assert_eq!(read(text), Err(()), "{text}");
        }
        assert_eq!(text_number(b"\xff\xfe"), Err(()));
    }

    proptest! {
        #[test]
        fn every_number_is_read_exactly(
            whole in any::<u64>(),
            nanos in 0_u32..1_000_000_000,
            negative in any::<bool>(),
        ) {
            let sign = if negative { "-" } else { "" };
            let size = i128::from(whole) * ONE + i128::from(nanos);
            let expected = if negative { -size } else { size };
            prop_assert_eq!(read(&format!("{sign}{whole}.{nanos:09}")), Ok(Some(expected)));
            prop_assert_eq!(read(&format!(" {whole:#x} ")), Ok(Some(i128::from(whole) * ONE)));
        }

        #[test]
        fn any_bytes_are_a_number_or_not(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            if let Ok(Some(Number(size))) = text_number(&bytes) {
                prop_assert!(size.abs() < LIMIT * ONE);
            }
        }
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! Numbers as other programs print them.

/// A decimal number of this unit, ns, to the nearest ns: with a point or a comma, and a sign.
pub(crate) fn decimal(text: &str, unit_ns: i64) -> Option<i64> {
    let text = text.trim();
    let (negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let (whole, behind) = digits.split_once(['.', ',']).unwrap_or((digits, ""));
    let are_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if whole.len() + behind.len() == 0 || !are_digits(whole) || !are_digits(behind) {
        return None;
    }
    let whole: i64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    // Twelve digits of a second are a thousandth of a ns.
    let behind = &behind[..behind.len().min(12)];
    let scale = 10_i128.pow(u32::try_from(behind.len()).ok()?);
    let part: i128 = if behind.is_empty() { 0 } else { behind.parse().ok()? };
    let part = (part * i128::from(unit_ns) + scale / 2) / scale;
    let ns = whole.checked_mul(unit_ns)?.checked_add(i64::try_from(part).ok()?)?;
    Some(if negative { -ns } else { ns })
}

/// A mean, ns: as it is, not to the nearest ns.
pub(crate) fn mean(text: &str, unit_ns: i64) -> Option<f64> {
    let value: f64 = text.trim().replace(',', ".").parse().ok()?;
    #[expect(clippy::cast_precision_loss, reason = "a unit of at most a second")]
    let ns = value * unit_ns as f64;
    ns.is_finite().then_some(ns)
}

/// A whole number of digits alone.
pub(crate) fn whole(text: &str) -> Option<u64> {
    let text = text.trim();
    (!text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()))
        .then(|| text.parse().ok())
        .flatten()
}

/// Puts what is said of a figure. Not where it was said before, and differently: which of both
/// holds is not known.
pub(crate) fn is_said_once<T: PartialEq>(figure: &mut Option<T>, value: T) -> bool {
    figure.as_ref().is_none_or(|known| *known == value) && {
        *figure = Some(value);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_as_they_are_printed() {
        assert_eq!(decimal("15.888", 1_000), Some(15_888));
        assert_eq!(decimal(" 1,533 ", 1_000_000), Some(1_533_000));
        assert_eq!(decimal("-0.5", 1_000), Some(-500));
        assert_eq!(decimal("00027", 1_000), Some(27_000));
        assert_eq!(decimal(".0005", 1_000), Some(1), "to the nearest");
        assert_eq!(decimal("1.0000000000000001", 1_000), Some(1_000));
        for text in ["", "-", ".", "1e3", "1.2.3", "0x10", "9223372036854775807", "nan"] {
            assert_eq!(decimal(text, 1_000), None, "{text}");
        }
        assert_eq!(mean("7,62", 1_000), Some(7_620.0));
        assert_eq!((mean("-nan", 1_000), mean("inf", 1)), (None, None));
        assert_eq!((whole("00012"), whole("-1"), whole("1a")), (Some(12), None, None));
    }
}

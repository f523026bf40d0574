// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where a function is smallest, without its derivative.

/// The ratio of the golden section.
const GOLDEN: f64 = 0.618_033_988_749_894_8;

/// The smallest value of `function` on `points` equal steps from `low` to `high`, refined around
/// the best of them by golden section: the place and the value. A function with one valley between
/// neighbouring steps is found whatever lies elsewhere.
pub(crate) fn along(
    low: f64,
    high: f64,
    points: usize,
    function: impl Fn(f64) -> f64,
) -> (f64, f64) {
    #[expect(clippy::cast_precision_loss, reason = "a few dozen steps")]
    let step = (high - low) / (points.max(2) - 1) as f64;
    #[expect(clippy::cast_precision_loss, reason = "a few dozen steps")]
    let place = |index: usize| low + step * index as f64;
    let values: Vec<f64> = (0..points.max(2)).map(|index| function(place(index))).collect();
    let best = (0..values.len()).min_by(|a, b| values[*a].total_cmp(&values[*b])).unwrap_or(0);
    let (mut from, mut to) =
        (place(best.saturating_sub(1)), place((best + 1).min(values.len() - 1)));
    let (mut a, mut b) = (to - GOLDEN * (to - from), from + GOLDEN * (to - from));
    let (mut at_a, mut at_b) = (function(a), function(b));
    for _ in 0..60 {
        if (to - from).abs() <= 1e-9 * (1.0 + a.abs()) {
            break;
        }
        if at_a <= at_b {
            (to, b, at_b) = (b, a, at_a);
            a = to - GOLDEN * (to - from);
            at_a = function(a);
        } else {
            (from, a, at_a) = (a, b, at_b);
            b = from + GOLDEN * (to - from);
            at_b = function(b);
        }
    }
    let refined = if at_a <= at_b { (a, at_a) } else { (b, at_b) };
    // The best may lie on the rim, which golden section only approaches.
    if values[best] < refined.1 { (place(best), values[best]) } else { refined }
}

/// The smallest value of a function of N numbers near `start`, stepping `steps` wide at first: the
/// place and the value. Source: Nelder and Mead, "A simplex method for function minimization", The
/// Computer Journal 7 (1965) 308-313.
pub(crate) fn simplex<const N: usize>(
    start: [f64; N],
    steps: [f64; N],
    function: impl Fn(&[f64; N]) -> f64,
) -> ([f64; N], f64) {
    let mut corners: Vec<([f64; N], f64)> = vec![(start, function(&start))];
    for axis in 0..N {
        let mut corner = start;
        corner[axis] += steps[axis];
        corners.push((corner, function(&corner)));
    }
    for _ in 0..400 * N {
        corners.sort_by(|a, b| a.1.total_cmp(&b.1));
        let (best, worst) = (corners[0].1, corners[N].1);
        if (worst - best).abs() <= 1e-9 * (1.0 + best.abs()) {
            break;
        }
        #[expect(clippy::cast_precision_loss, reason = "a handful of axes")]
        let centre: [f64; N] = std::array::from_fn(|axis| {
            corners[..N].iter().map(|(c, _)| c[axis]).sum::<f64>() / N as f64
        });
        let from_worst = |far: f64| -> ([f64; N], f64) {
            let place = std::array::from_fn(|axis| {
                centre[axis] + far * (corners[N].0[axis] - centre[axis])
            });
            (place, function(&place))
        };
        let reflected = from_worst(-1.0);
        let next = if reflected.1 < best {
            let expanded = from_worst(-2.0);
            if expanded.1 < reflected.1 { Some(expanded) } else { Some(reflected) }
        } else if reflected.1 < corners[N - 1].1 {
            Some(reflected)
        } else {
            let contracted = if reflected.1 < worst { from_worst(-0.5) } else { from_worst(0.5) };
            (contracted.1 < worst.min(reflected.1)).then_some(contracted)
        };
        if let Some(next) = next {
            corners[N] = next;
        } else {
            let to = corners[0].0;
            for corner in &mut corners[1..] {
                corner.0 = std::array::from_fn(|axis| f64::midpoint(to[axis], corner.0[axis]));
                corner.1 = function(&corner.0);
            }
        }
    }
    corners.sort_by(|a, b| a.1.total_cmp(&b.1));
    corners[0]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn valleys_are_found() {
        let (place, value) = along(-3.0, 5.0, 9, |x| (x - 1.3).powi(2) + 2.0);
        assert!((place - 1.3).abs() < 1e-4 && (value - 2.0).abs() < 1e-8, "{place} {value}");
        // Smallest on the rim.
        assert!((along(0.0, 1.0, 5, |x| x).0).abs() < 1e-9);
    }

    #[test]
    fn a_bent_valley_is_followed() {
        // Rosenbrock's function.
        let (place, value) = simplex([-1.2, 1.0], [0.5, 0.5], |[x, y]| {
            (1.0 - x).powi(2) + 100.0 * (y - x * x).powi(2)
        });
        assert!(
            (place[0] - 1.0).abs() < 1e-3 && (place[1] - 1.0).abs() < 1e-3 && value < 1e-6,
            "{place:?} {value}"
        );
    }
}

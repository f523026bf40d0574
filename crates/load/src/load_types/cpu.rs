// SPDX-License-Identifier: MIT OR Apache-2.0
//! `cpu`: endless arithmetic, one task pinned on each of its CPUs.
//!
//! It makes no system call and touches no memory beyond its stack and its counter: what a measuring
//! thread suffers beside it is the scheduler's doing, and a warm or throttled core's.

use crate::load_types::{LoadType, on_each_cpu};
use crate::worker_pool::StartBarrier;
use std::convert::Infallible;
use std::hint::black_box;
use std::io;

pub(crate) const LOAD_TYPE: LoadType =
    LoadType { paced: true, ..LoadType::new("cpu", &["iterations"], |_| on_each_cpu(calculate)) };

/// Tens of microseconds of work: long beside the store that counts it, short beside a second.
const ITERATIONS: u64 = 10_000;

fn calculate(barrier: StartBarrier<'_>) -> io::Result<Infallible> {
    let mut worker = barrier.wait()?;
    let (mut whole, mut real) = (1_u64, 1.0_f64);
    loop {
        for _ in 0..ITERATIONS {
            (whole, real) = step(whole, real);
        }
        (whole, real) = black_box((whole, real));
        worker.add(0, ITERATIONS);
        worker.throttle();
    }
}

/// A step of Knuth's MMIX generator, and a floating-point one beside it, so that both kinds of unit
/// have something to do.
fn step(whole: u64, real: f64) -> (u64, f64) {
    let whole =
        whole.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (whole, real * 0.5 + (whole >> 11) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arithmetic_never_settles() {
        let mut state = (1, 1.0);
        for _ in 0..100_000 {
            let next = step(state.0, state.1);
            assert!(next.0 != state.0 && next.1.is_finite());
            state = next;
        }
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! Numbers that look random and are the same everywhere, so that results are reproducible.

/// A sequence, chosen by its seed. Source: Steele, Lea and Flood, "Fast splittable pseudorandom
/// number generators", OOPSLA 2014 (SplitMix64).
#[derive(Clone, Debug)]
pub struct Numbers(u64);

/// By which its state grows from one number to the next.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

impl Numbers {
    pub const fn new(seed: u64) -> Self {
        Numbers(seed)
    }

    /// The number at a place in the sequence of a seed, from 0.
    pub const fn at(seed: u64, place: u64) -> u64 {
        Numbers(seed.wrapping_add(STEP.wrapping_mul(place))).next()
    }

    pub const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// From 0 to below `end`, which is above 0.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the upper half of a product with `end` is below it"
    )]
    pub(crate) const fn below(&mut self, end: usize) -> usize {
        ((self.next() as u128 * end as u128) >> 64) as usize
    }
}

impl Numbers {
    /// Between 0 and 1, neither of them.
    #[expect(clippy::cast_precision_loss, reason = "52 bits fit")]
    pub(crate) const fn share(&mut self) -> f64 {
        ((self.next() >> 12) as f64 + 0.5) / (1_u64 << 52) as f64
    }
}

#[cfg(test)]
impl Numbers {
    pub(crate) fn exponential(&mut self) -> f64 {
        -self.share().ln()
    }

    pub(crate) fn normal(&mut self) -> f64 {
        (2.0 * self.exponential()).sqrt() * (std::f64::consts::TAU * self.share()).cos()
    }

    /// A generalised Pareto number of scale 1.
    pub(crate) fn pareto(&mut self, shape: f64) -> f64 {
        let exponential = self.exponential();
        if shape == 0.0 { exponential } else { (shape * exponential).exp_m1() / shape }
    }
}

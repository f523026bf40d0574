// SPDX-License-Identifier: MIT OR Apache-2.0
//! Numbers that follow from a seed, today and in ten years: a plan's order is part of its record,
//! and so are the shifts of a phase.

/// SplitMix64, by Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014.
#[derive(Debug)]
pub(crate) struct Chance(u64);

/// By which its state grows from one number to the next.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

impl Chance {
    pub(crate) const fn new(seed: u64) -> Self {
        Chance(seed)
    }

    pub(crate) const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// The number at a place in the sequence of a seed, from 0.
    pub(crate) const fn at(seed: u64, place: u64) -> u64 {
        Chance(seed.wrapping_add(STEP.wrapping_mul(place))).next()
    }

    /// From 0 to below this; numbers that would make some likelier than others are passed over.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        let bound = bound as u64;
        let fair = u64::MAX - u64::MAX % bound;
        loop {
            let number = self.next();
            if number < fair {
                return usize::try_from(number % bound).unwrap_or(0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against the published reference implementation, seed 1234567.
    #[test]
    fn the_sequence_is_that_of_splitmix64() {
        let expected = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
            4_593_380_528_125_082_431_u64,
        ];
        let mut chance = Chance::new(1_234_567);
        assert_eq!([(); 4].map(|()| chance.next()), expected);
        assert_eq!([0, 1, 2, 3].map(|place| Chance::at(1_234_567, place)), expected);
    }
}

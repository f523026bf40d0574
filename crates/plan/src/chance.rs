// SPDX-License-Identifier: MIT OR Apache-2.0
//! Numbers that follow from a seed, today and in ten years: a plan's order is part of its record,
//! and so are the shifts of a phase.

use stats::Numbers;

#[derive(Debug)]
pub(crate) struct Chance(Numbers);

impl Chance {
    pub(crate) const fn new(seed: u64) -> Self {
        Chance(Numbers::new(seed))
    }

    pub(crate) const fn next(&mut self) -> u64 {
        self.0.next()
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
        assert_eq!([0, 1, 2, 3].map(|place| Numbers::at(1_234_567, place)), expected);
    }
}

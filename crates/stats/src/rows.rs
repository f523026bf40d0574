// SPDX-License-Identifier: MIT OR Apache-2.0
//! The form in which samples reach this crate: one row per due activation, in order.

/// Successive rows of one thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Span<'a> {
    /// Activations that woke, with their latency in ns.
    Woken(&'a [i32]),
    /// One activation that woke with a latency that does not fit 32 bits, ns.
    Long(i64),
    /// So many activations without a sample: skipped after an overrun, or lost on the way to disk.
    Missing(u64),
}

/// Some of the latencies of a [`Span::Woken`], few enough to stay in the fastest cache while
/// several things are done with them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chunk<'a> {
    /// At least one latency, ns.
    pub(crate) values: &'a [i32],
    /// No value is below zero or above this, if it is below 2^31. Found much faster than the
    /// largest value, and enough to know of most chunks that nothing in them is remarkable.
    pub(crate) bits: u32,
}

impl<'a> Chunk<'a> {
    /// Small, so that one late activation makes few of its neighbours go the long way; large enough
    /// that what is done once per chunk does not count.
    pub(crate) const LENGTH: usize = 128;

    /// All of `values`, chunk by chunk.
    #[cfg(test)]
    pub(crate) fn each(values: &'a [i32]) -> impl Iterator<Item = Chunk<'a>> {
        values.chunks(Self::LENGTH).map(Chunk::new)
    }

    /// The same of rows from number `first` on; no chunk crosses a row whose number is a multiple
    /// of [`Chunk::LENGTH`], so that whatever divides a run at such rows need not divide
    /// chunks.
    pub(crate) fn each_from(first: u64, values: &'a [i32]) -> impl Iterator<Item = Chunk<'a>> {
        let length = Self::LENGTH as u64;
        let over = usize::try_from(first % length).unwrap_or(0);
        let (head, rest) =
            values.split_at(if over == 0 { 0 } else { (Self::LENGTH - over).min(values.len()) });
        head.chunks(Self::LENGTH).chain(rest.chunks(Self::LENGTH)).map(Chunk::new)
    }

    /// These values, at most [`Chunk::LENGTH`].
    pub(crate) fn new(values: &'a [i32]) -> Self {
        Chunk { values, bits: values.iter().fold(0, |bits, value| bits | value.cast_unsigned()) }
    }

    /// Whether all values surely lie from 0 to below `limit`.
    pub(crate) fn is_below(&self, limit: i64) -> bool {
        i64::from(self.bits) < limit.min(1 << 31)
    }
}

/// Rows that can be gone through more than once, such as a file. Exact quantiles of any number of
/// samples in bounded memory need two passes.
pub trait Rows {
    /// What can go wrong while reading.
    type Error;

    /// About how many rows there are, rather too few than too many; 0 if that is not known. What is
    /// made for many rows from the beginning need not grow.
    fn size_hint(&self) -> u64 {
        0
    }

    /// Hands every row to `visit`, in order.
    ///
    /// # Errors
    /// When the rows cannot be read.
    fn replay(&self, visit: &mut dyn FnMut(Span<'_>)) -> Result<(), Self::Error>;
}

/// The same rows with the size of each value in its place: what is judged where a value may be off
/// on either side.
#[derive(Clone, Copy, Debug)]
pub struct Sizes<'a, R: ?Sized>(pub &'a R);

impl<R: Rows + ?Sized> Rows for Sizes<'_, R> {
    type Error = R::Error;

    fn size_hint(&self) -> u64 {
        self.0.size_hint()
    }

    fn replay(&self, visit: &mut dyn FnMut(Span<'_>)) -> Result<(), Self::Error> {
        let mut sizes: Vec<i32> = Vec::new();
        self.0.replay(&mut |span| match span {
            Span::Woken(values) => {
                // The lowest of all has a size that does not fit 32 bits.
                for (place, part) in values.split(|value| *value == i32::MIN).enumerate() {
                    if place > 0 {
                        visit(Span::Long(i64::from(i32::MIN).abs()));
                    }
                    if !part.is_empty() {
                        sizes.clear();
                        sizes.extend(part.iter().map(|value| value.abs()));
                        visit(Span::Woken(&sizes));
                    }
                }
            }
            Span::Long(value) => visit(Span::Long(value.saturating_abs())),
            Span::Missing(rows) => visit(Span::Missing(rows)),
        })
    }
}

/// Rows in memory.
impl Rows for [Span<'_>] {
    type Error = std::convert::Infallible;

    fn replay(&self, visit: &mut dyn FnMut(Span<'_>)) -> Result<(), Self::Error> {
        self.iter().for_each(|span| visit(*span));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_the_values() {
        let rows = [
            Span::Woken(&[3, -4, i32::MIN, -5]),
            Span::Missing(2),
            Span::Long(i64::MIN),
            Span::Woken(&[i32::MIN]),
        ];
        let mut seen: Vec<Option<i64>> = Vec::new();
        let Ok(()) = Sizes(&rows[..]).replay(&mut |span| match span {
            Span::Woken(values) => seen.extend(values.iter().map(|value| Some(i64::from(*value)))),
            Span::Long(value) => seen.push(Some(value)),
            Span::Missing(rows) => seen.extend((0..rows).map(|_| None)),
        });
        let lowest = Some(1 << 31);
        assert_eq!(seen, [Some(3), Some(4), lowest, Some(5), None, None, Some(i64::MAX), lowest]);
    }
}

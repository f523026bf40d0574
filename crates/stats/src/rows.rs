// SPDX-License-Identifier: MIT OR Apache-2.0
//! The form in which samples reach this room: one row per due activation, in order.

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

/// Rows that can be gone through more than once, such as a file. Exact quantiles of any number of samples in bounded
/// memory need two passes.
pub trait Rows {
    /// What can go wrong while reading.
    type Error;

    /// Hands every row to `visit`, in order.
    ///
    /// # Errors
    /// When the rows cannot be read.
    fn replay(&self, visit: &mut dyn FnMut(Span<'_>)) -> Result<(), Self::Error>;
}

/// Rows in memory.
impl Rows for [Span<'_>] {
    type Error = std::convert::Infallible;

    fn replay(&self, visit: &mut dyn FnMut(Span<'_>)) -> Result<(), Self::Error> {
        self.iter().for_each(|span| visit(*span));
        Ok(())
    }
}

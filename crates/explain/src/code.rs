// SPDX-License-Identifier: MIT OR Apache-2.0
//! What runs: the code, and the frame that it runs in.

use crate::symbols::SymbolId;

/// A call of a function, or another way to come to code, by its place in
/// `Calls::frames`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct FrameId(pub(crate) usize);

/// What code runs in a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Code {
    /// A function of the kernel.
    Function(SymbolId),
    /// Code of the kernel without a symbol, which begins here as far as is known.
    Unnamed(u64),
    User,
}

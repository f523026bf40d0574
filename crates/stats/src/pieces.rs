// SPDX-License-Identifier: MIT OR Apache-2.0
//! A run in pieces of equal length, each with its own histogram: what correlation over time, change and resampling by blocks
//! are judged from.
//!
//! The number of rows need not be known: when the pieces run out, neighbours are joined and a piece covers twice the rows.

use crate::histogram::Counts;
use crate::rows::Chunk;

/// Pieces of a run at most; an even number.
pub(crate) const MAX_PIECES: usize = 256;

/// One stretch of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Piece {
    /// Its latencies, skipped activations counted in, by bucket of the histogram.
    pub counts: Counts,
    /// The largest of them, ns; none where nothing woke.
    pub max: Option<i64>,
}

impl Piece {
    /// Both together.
    #[must_use]
    pub fn join(&self, other: &Piece) -> Piece {
        Piece { counts: self.counts.merged(&other.counts), max: self.max.max(other.max) }
    }
}

/// Successive stretches of equal length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pieces {
    /// Rows of each but the last.
    rows_per_piece: u64,
    /// Rows so far of the piece that is being filled.
    rows: u64,
    /// The extremes so far of that piece, ns; of what woke, and of what was counted.
    max: Option<i64>,
    counted: Option<(i64, i64)>,
    list: Vec<Piece>,
}

impl Pieces {
    /// Nothing yet; `rows` may be known beforehand.
    pub(crate) fn for_rows(rows: u64) -> Self {
        let least = Chunk::LENGTH as u64;
        let rows_per_piece = rows.div_ceil(MAX_PIECES as u64).max(least).checked_next_power_of_two().unwrap_or(least);
        Pieces { rows_per_piece, rows: 0, max: None, counted: None, list: Vec::new() }
    }

    /// In order of time.
    #[must_use]
    pub fn list(&self) -> &[Piece] {
        &self.list
    }

    /// Activations that each piece but the last covers.
    #[must_use]
    pub(crate) const fn rows_per_piece(&self) -> u64 {
        self.rows_per_piece
    }

    /// Rows until the piece that is being filled is full; at least one.
    pub(crate) const fn room(&self) -> u64 {
        self.rows_per_piece - self.rows
    }

    /// Adds rows that woke, at most as many as there is room for, with their extremes. Whether that fills the piece.
    pub(crate) fn woken(&mut self, rows: u64, (min, max): (i64, i64)) -> bool {
        self.max = self.max.max(Some(max));
        self.widen(min, max);
        self.missing(rows)
    }

    /// Adds one row that was skipped, and how long it had waited.
    pub(crate) fn skipped(&mut self, waited_ns: i64) -> bool {
        self.widen(waited_ns, waited_ns);
        self.missing(1)
    }

    /// Adds rows of which nothing is known.
    pub(crate) const fn missing(&mut self, rows: u64) -> bool {
        self.rows += rows;
        self.rows >= self.rows_per_piece
    }

    fn widen(&mut self, min: i64, max: i64) {
        self.counted = Some(self.counted.map_or((min, max), |(least, most)| (least.min(min), most.max(max))));
    }

    /// Whether rows were added since the last piece was ended.
    pub(crate) const fn is_open(&self) -> bool {
        self.rows > 0
    }

    /// The extremes of what was counted since then, ns.
    pub(crate) const fn counted(&self) -> Option<(i64, i64)> {
        self.counted
    }

    /// Ends the piece.
    pub(crate) fn close(&mut self, counts: Counts) {
        self.list.push(Piece { counts, max: self.max.take() });
        (self.rows, self.counted) = (0, None);
        if self.list.len() == MAX_PIECES {
            self.list = joined(&self.list, 2);
            self.rows_per_piece *= 2;
        }
    }

    /// Joins neighbours until each piece has at least so many times the rows.
    #[must_use]
    pub fn coarser(&self, times: usize) -> Vec<Piece> {
        joined(&self.list, times.max(1))
    }
}

/// What several threads counted in the same stretches of a run, as many as the thread with the fewest pieces has.
pub(crate) fn aligned(threads: &[&[Piece]]) -> Vec<Counts> {
    let stretches = threads.iter().map(|pieces| pieces.len()).min().unwrap_or(0);
    let at = |pieces: &[Piece], stretch: usize| {
        let place = |stretch: usize| stretch * pieces.len() / stretches;
        pieces[place(stretch)..place(stretch + 1)].iter().fold(Counts::default(), |all, piece| all.merged(&piece.counts))
    };
    let all_at = |stretch| threads.iter().fold(Counts::default(), |all, pieces| all.merged(&at(pieces, stretch)));
    (0..stretches).map(all_at).collect()
}

fn joined(pieces: &[Piece], times: usize) -> Vec<Piece> {
    pieces.chunks(times).map(|some| some.iter().fold(Piece::default(), |all, piece| all.join(piece))).collect()
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! Collects rows for statistics and counts them block by block: of one run, or of several that are
//! pooled.

use crate::Extent;
use crate::accounting::Sink;
use crate::blocks::Blocks;
use crate::rows::Chunk;
use crate::summary::Collect;
use std::collections::HashMap;

/// What is collected of all rows, and of each block.
pub(crate) struct CollectInBlocks {
    collect: Collect,
    blocks: Blocks,
    /// What had been counted when the last block was ended, by bucket of the histogram.
    seen: HashMap<i32, u64>,
}

impl CollectInBlocks {
    pub(crate) fn new(collect: Collect, blocks: Blocks) -> Self {
        CollectInBlocks { collect, blocks, seen: HashMap::new() }
    }

    /// Activations that woke; returns their extremes.
    pub(crate) fn add_chunk(&mut self, first: u64, latencies: Chunk<'_>) -> Extent {
        let extent = self.collect.add_chunk(first, latencies);
        if self.blocks.woken(latencies.values.len() as u64, (extent.min, extent.max)) {
            self.end_block();
        }
        extent
    }

    /// The last run is at its end, and with it its last block.
    pub(crate) fn begin_run(&mut self) {
        self.end_open();
        self.blocks.begin_run();
    }

    pub(crate) fn finish(mut self) -> (Collect, Blocks) {
        self.end_open();
        (self.collect, self.blocks)
    }

    fn end_open(&mut self) {
        if self.blocks.is_open() {
            self.end_block();
        }
    }

    /// Ends the block: what was counted since the last one ended lies between its extremes.
    fn end_block(&mut self) {
        let mut counts = Vec::new();
        if let Some((min, max)) = self.blocks.counted() {
            self.collect.counted_between(min, max, |bucket, now| {
                let before = self.seen.entry(bucket).or_insert(0);
                counts.push((bucket, now - *before));
                *before = now;
            });
        }
        self.blocks.close(counts.into_iter().collect());
    }
}

impl Sink for CollectInBlocks {
    fn woken(&mut self, first: u64, latencies: Chunk<'_>) {
        self.add_chunk(first, latencies);
    }

    fn woken_one(&mut self, activation: u64, latency_ns: i64) {
        self.collect.woken_one(activation, latency_ns);
        if self.blocks.woken(1, (latency_ns, latency_ns)) {
            self.end_block();
        }
    }

    fn skipped(&mut self, waited_ns: i64) {
        self.collect.skipped(waited_ns);
        if self.blocks.skipped(waited_ns) {
            self.end_block();
        }
    }

    fn lost(&mut self, mut rows: u64) {
        self.collect.lost(rows);
        while rows > 0 {
            let now = self.blocks.rows_left().min(rows);
            if self.blocks.missing(now) {
                self.end_block();
            }
            rows -= now;
        }
    }
}

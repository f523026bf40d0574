// SPDX-License-Identifier: MIT OR Apache-2.0
//! `cache`: streams through a buffer larger than the last-level cache, one task pinned on each CPU.
//!
//! One pass reads the buffer, the next writes it, the next copies one half onto the other: whatever
//! the measured thread had in a cache that is shared, is gone.

use crate::load_types::{Generator, LoadType, on_each_cpu};
use crate::options::{Options, SpecError};
use crate::worker_pool::StartBarrier;
use std::convert::Infallible;
use std::fs;
use std::hint::black_box;
use std::io;

pub(crate) const LOAD_TYPE: LoadType =
    LoadType { keys: &["size"], paced: true, ..LoadType::new("cache", &["bytes"], read) };

/// Where no cache is described.
const USUAL_CACHE: u64 = 16 << 20;
/// Moved between two chances to sleep, in words of 8 bytes: tens of microseconds from memory.
const PIECE: usize = 16 << 10;

fn read(options: &Options<'_>) -> Result<Box<dyn Generator>, SpecError> {
    let bytes = options.memory("size", 2 * largest_cache().unwrap_or(USUAL_CACHE))?;
    let words = (bytes / size_of::<u64>()).max(2);
    on_each_cpu(move |barrier| stream(words, barrier))
}

/// The largest cache of the first CPU, bytes.
fn largest_cache() -> Option<u64> {
    let entries = fs::read_dir("/sys/devices/system/cpu/cpu0/cache").ok()?.flatten();
    entries
        .filter_map(|entry| {
            crate::limits::parse_size(fs::read_to_string(entry.path().join("size")).ok()?.trim())
        })
        .max()
}

fn stream(words: usize, barrier: StartBarrier<'_>) -> io::Result<Infallible> {
    let mut buffer = vec![1_u64; words];
    let mut worker = barrier.wait()?;
    let mut sum = 0_u64;
    loop {
        for piece in buffer.chunks(PIECE) {
            sum = black_box(piece.iter().fold(sum, |sum, word| sum.wrapping_add(*word)));
            worker.add(0, size_of_val(piece) as u64);
            worker.throttle();
        }
        for piece in buffer.chunks_mut(PIECE) {
            black_box(&mut *piece).fill(sum);
            worker.add(0, size_of_val(piece) as u64);
            worker.throttle();
        }
        let (first, second) = buffer.split_at_mut(words / 2);
        for (to, from) in second.chunks_mut(PIECE).zip(first.chunks(PIECE)) {
            let length = to.len().min(from.len());
            black_box(&mut to[..length]).copy_from_slice(black_box(&from[..length]));
            worker.add(0, 2 * size_of_val(&from[..length]) as u64);
            worker.throttle();
        }
    }
}

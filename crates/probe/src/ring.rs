// SPDX-License-Identifier: MIT OR Apache-2.0
//! Hands samples over from their thread: a ring with one producer and one consumer, made and
//! touched in advance.
//!
//! A slot is atomics, one for the row's number and one for each column, written relaxed and
//! published by the head with release, so the ring needs no unsafe code and on 64-bit machines
//! costs the producer a store for each, one more for the head, and a comparison. The producer reads
//! the consumer's position only when the ring looks full from what it last saw. A full ring
//! loses the newest row and counts it.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

/// A row: its number, and what was measured in it.
struct Slot<const N: usize> {
    row: AtomicU64,
    values: [AtomicI64; N],
}

/// A position on a cache line of its own, so that the two ends do not slow each other.
#[repr(align(128))]
struct Position(AtomicU64);

struct Shared<const N: usize> {
    slots: Box<[Slot<N>]>,
    /// Slots minus one; the number of slots is a power of two.
    mask: u64,
    head: Position,
    /// Samples ever taken out.
    tail: Position,
}

/// The measuring thread's end: rows of `N` columns.
pub(crate) struct Producer<const N: usize> {
    shared: Arc<Shared<N>>,
    /// Where the ring is full, as far as the consumer was seen to have come.
    full: u64,
    lost: u64,
}

/// The recorder's end, of any number of columns.
pub struct Consumer {
    source: Box<dyn Source>,
    /// Room for what is handed over: column after column.
    values: Vec<i64>,
}

/// The ring as the consumer sees it, whatever the number of its columns.
trait Source: Send {
    /// Puts the next successive rows into `values`, column after column: the number of the first
    /// and how many. None if there are none before `head`.
    fn copy(&self, head: u64, values: &mut Vec<i64>) -> Option<(u64, usize)>;
    fn head(&self) -> u64;
    /// Gives the slots of so many rows back to the producer.
    fn consumed(&mut self, rows: usize);
    fn slots(&self) -> u64;
    /// Rows written and not taken out.
    fn waiting(&self) -> u64;
}

struct Reader<const N: usize> {
    shared: Arc<Shared<N>>,
    /// How many of the N are handed over: the first ones.
    columns: usize,
    tail: u64,
}

/// Samples handed over in one call: few enough for the cache, many enough that what is done once
/// per call does not count.
const AT_A_TIME: usize = 256;

/// So many slots hold what a thread produces while the recorder is kept from running for eight
/// seconds.
pub(crate) fn slots_for(interval_ns: i64) -> u64 {
    let eight_seconds = 8_000_000_000 / interval_ns.max(1);
    u64::try_from(eight_seconds).unwrap_or(0).clamp(1 << 10, 1 << 20).next_power_of_two()
}

/// A ring of at least `slots` slots, all of its memory touched, that hands over the first `columns`
/// of each row.
pub(crate) fn ring<const N: usize>(slots: u64, columns: usize) -> (Producer<N>, Consumer) {
    let columns = columns.min(N);
    let slots = slots.clamp(1, 1 << 24).next_power_of_two();
    let fresh =
        |_| Slot { row: AtomicU64::new(0), values: std::array::from_fn(|_| AtomicI64::new(0)) };
    let fresh: Box<[Slot<N>]> = (0..slots).map(fresh).collect();
    // The allocator may hand out untouched zero pages; writing makes them ours.
    fresh.iter().for_each(|slot| slot.row.store(u64::MAX, Ordering::Relaxed));
    let shared = Arc::new(Shared {
        slots: fresh,
        mask: slots - 1,
        head: Position(AtomicU64::new(0)),
        tail: Position(AtomicU64::new(0)),
    });
    let producer = Producer { shared: Arc::clone(&shared), full: slots, lost: 0 };
    let values = Vec::with_capacity(columns * AT_A_TIME);
    (producer, Consumer { source: Box::new(Reader { shared, columns, tail: 0 }), values })
}

impl<const N: usize> Shared<N> {
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "masked: at most 2^24 slots")]
    fn slot(&self, position: u64) -> &Slot<N> {
        &self.slots[(position & self.mask) as usize]
    }

    /// The slots from one position towards another, as far as they lie side by side, and at most so
    /// many as are handed over in one call.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "masked, and at most 2^24 slots lie between two positions"
    )]
    fn ahead(&self, from: u64, to: u64) -> &[Slot<N>] {
        let first = (from & self.mask) as usize;
        let last = self.slots.len().min(first + AT_A_TIME.min((to - from) as usize));
        &self.slots[first..last]
    }
}

/// The first of these slots and those that follow it with successive rows. Their numbers ascend, so
/// the first and the last usually tell.
fn without_gap<const N: usize>(slots: &[Slot<N>]) -> &[Slot<N>] {
    let number = |slot: &Slot<N>| slot.row.load(Ordering::Relaxed);
    let first = number(&slots[0]);
    if number(&slots[slots.len() - 1]) - first == slots.len() as u64 - 1 {
        return slots;
    }
    let successive =
        (first..).zip(slots).take_while(|(expected, slot)| number(slot) == *expected).count();
    &slots[..successive]
}

impl<const N: usize> Producer<N> {
    /// Hands a row over. Wait-free; a row that finds the ring full is counted as lost.
    #[inline]
    pub(crate) fn push(&mut self, row: u64, values: [i64; N]) {
        // Nobody else writes it.
        let head = self.shared.head.0.load(Ordering::Relaxed);
        if head == self.full && !self.has_room(head) {
            self.lost += 1;
            return;
        }
        let slot = self.shared.slot(head);
        slot.row.store(row, Ordering::Relaxed);
        for (stored, value) in slot.values.iter().zip(values) {
            stored.store(value, Ordering::Relaxed);
        }
        self.shared.head.0.store(head + 1, Ordering::Release);
    }

    /// Looks how far the consumer has come.
    #[cold]
    fn has_room(&mut self, head: u64) -> bool {
        self.full = self.shared.tail.0.load(Ordering::Acquire) + self.shared.mask + 1;
        head < self.full
    }

    /// Whether the next row would be lost.
    #[inline]
    pub(crate) fn is_full(&mut self) -> bool {
        let head = self.shared.head.0.load(Ordering::Relaxed);
        head == self.full && !self.has_room(head)
    }

    /// Rows that found the ring full.
    pub(crate) const fn lost(&self) -> u64 {
        self.lost
    }
}

impl<const N: usize> Source for Reader<N> {
    fn copy(&self, head: u64, values: &mut Vec<i64>) -> Option<(u64, usize)> {
        if self.tail >= head {
            return None;
        }
        let slots = without_gap(self.shared.ahead(self.tail, head));
        values.resize(self.columns * slots.len(), 0);
        for (column, values) in values.chunks_exact_mut(slots.len()).enumerate() {
            for (value, slot) in values.iter_mut().zip(slots) {
                *value = slot.values[column].load(Ordering::Relaxed);
            }
        }
        Some((slots[0].row.load(Ordering::Relaxed), slots.len()))
    }

    fn head(&self) -> u64 {
        self.shared.head.0.load(Ordering::Acquire)
    }

    fn consumed(&mut self, rows: usize) {
        self.tail += rows as u64;
        self.shared.tail.0.store(self.tail, Ordering::Release);
    }

    fn slots(&self) -> u64 {
        self.shared.mask + 1
    }

    fn waiting(&self) -> u64 {
        self.head() - self.tail
    }
}

impl Consumer {
    /// Takes out what is there, in order: the number of a row, and the values of it and of those
    /// that follow it without a gap, column after column. Stops at the first error; what that
    /// call was given counts as taken.
    ///
    /// # Errors
    /// Whatever `take` returns.
    pub fn drain<E>(
        &mut self,
        mut take: impl FnMut(u64, &[i64]) -> Result<(), E>,
    ) -> Result<(), E> {
        let head = self.source.head();
        let mut result = Ok(());
        while result.is_ok()
            && let Some((first, rows)) = self.source.copy(head, &mut self.values)
        {
            result = take(first, &self.values);
            self.source.consumed(rows);
        }
        result
    }

    /// Whether rows wait in half of its slots or more: they come faster than they are taken out.
    pub fn is_half_full(&self) -> bool {
        self.source.waiting() >= self.source.slots() / 2
    }

    /// Slots in all.
    pub fn slots(&self) -> u64 {
        self.source.slots()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    fn take_all(consumer: &mut Consumer) -> Vec<u64> {
        let mut taken = Vec::new();
        let Ok(()) = consumer.drain(|first, latencies| {
            taken.extend((first..).take(latencies.len()));
            Ok::<_, Infallible>(())
        });
        taken
    }

    #[test]
    fn a_full_ring_counts_what_it_loses() {
        let (mut producer, mut consumer) = ring::<1>(4, 1);
        (0..7).for_each(|activation| producer.push(activation, [0]));
        assert_eq!((producer.lost(), take_all(&mut consumer)), (3, vec![0, 1, 2, 3]));
        producer.push(9, [0]);
        assert_eq!((producer.lost(), take_all(&mut consumer)), (3, vec![9]));
    }

    /// Whoever can wait sees it before a row is lost, and the recorder sees that it should come
    /// sooner.
    #[test]
    fn a_full_ring_is_seen_from_both_ends() {
        let (mut producer, mut consumer) = ring::<1>(4, 1);
        let mut seen = Vec::new();
        for row in 0..4 {
            seen.push((producer.is_full(), consumer.is_half_full()));
            producer.push(row, [0]);
        }
        assert_eq!(seen, [(false, false), (false, false), (false, true), (false, true)]);
        assert!(producer.is_full());
        assert_eq!(take_all(&mut consumer), [0, 1, 2, 3]);
        assert_eq!(
            (producer.is_full(), consumer.is_half_full(), producer.lost()),
            (false, false, 0)
        );
    }

    /// Columns arrive one after the other, as many as are recorded, and a gap in the numbers of
    /// rows ends what is handed over at once.
    #[test]
    fn rows_of_several_columns() {
        for (columns, expected) in [
            (3, [(0, vec![0, 1, 10, 10, -1, -1]), (5, vec![5, 10, -1])]),
            (2, [(0, vec![0, 1, 10, 10]), (5, vec![5, 10])]),
        ] {
            let (mut producer, mut consumer) = ring::<3>(8, columns);
            for row in [0, 1, 5] {
                producer.push(row, [row.cast_signed(), 10, -1]);
            }
            let mut taken = Vec::new();
            let Ok(()) = consumer.drain(|first, values| {
                taken.push((first, values.to_vec()));
                Ok::<_, Infallible>(())
            });
            assert_eq!(taken, expected);
        }
    }

    #[test]
    fn sizes_follow_the_interval() {
        assert_eq!(slots_for(1_000_000), 8_192);
        assert_eq!(slots_for(3_600_000_000_000), 1_024);
        assert_eq!(slots_for(1_000), 1 << 20);
    }

    /// Two threads, a ring far too small: what arrives is in order and whole, and with what was
    /// lost makes up all.
    #[test]
    fn nothing_vanishes_between_two_threads() {
        const SENT: u64 = 200_000;
        let (mut producer, mut consumer) = ring::<1>(64, 1);
        let sender = std::thread::spawn(move || {
            for activation in 0..SENT {
                producer.push(activation, [activation.cast_signed() * 3]);
                if activation % 50 == 0 {
                    std::thread::yield_now();
                }
            }
            producer.lost()
        });
        let (mut received, mut last) = (0_u64, None);
        loop {
            let done = sender.is_finished();
            let Ok(()) = consumer.drain(|first, latencies| {
                for (activation, latency_ns) in (first..).zip(latencies) {
                    assert!(last < Some(activation), "in order");
                    assert_eq!(*latency_ns, activation.cast_signed() * 3, "whole");
                    last = Some(activation);
                    received += 1;
                }
                Ok::<_, Infallible>(())
            });
            if done {
                break;
            }
        }
        assert_eq!(received + sender.join().unwrap(), SENT);
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! The way of a sample out of its thread: a ring with one producer and one consumer, made and touched in advance.
//!
//! A slot is two atomics, written relaxed and published by the head with release, so the ring needs no unsafe code and
//! on 64-bit machines costs the producer two stores, one more for the head, and a comparison. The producer reads the
//! consumer's position only when the ring looks full from what it last saw. A full ring loses the newest sample and
//! counts it.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

/// One activation that woke.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Its number, from 0.
    pub activation: u64,
    /// Actual minus planned wake-up time, ns.
    pub latency_ns: i64,
}

struct Slot {
    activation: AtomicU64,
    latency_ns: AtomicI64,
}

/// A position on a cache line of its own, so that the two ends do not slow each other.
#[repr(align(128))]
struct Position(AtomicU64);

struct Shared {
    slots: Box<[Slot]>,
    /// Slots minus one; the number of slots is a power of two.
    mask: u64,
    /// Samples ever written.
    head: Position,
    /// Samples ever taken out.
    tail: Position,
}

/// The measuring thread's end.
pub struct Producer {
    shared: Arc<Shared>,
    /// Where the ring is full, as far as the consumer was seen to have come.
    full: u64,
    lost: u64,
}

/// The recorder's end.
pub struct Consumer {
    shared: Arc<Shared>,
    tail: u64,
    /// Room for what is handed over, in order.
    latencies: Box<[i64; AT_A_TIME]>,
}

/// Samples handed over in one call: few enough for the cache, many enough that what is done once per call does not count.
const AT_A_TIME: usize = 256;

/// So many slots hold what a thread produces while the recorder is kept from running for eight seconds.
#[must_use]
pub(crate) fn slots_for(interval_ns: i64) -> u64 {
    let eight_seconds = 8_000_000_000 / interval_ns.max(1);
    u64::try_from(eight_seconds).unwrap_or(0).clamp(1 << 10, 1 << 20).next_power_of_two()
}

/// A ring of at least `slots` slots, all of its memory touched.
#[must_use]
pub fn ring(slots: u64) -> (Producer, Consumer) {
    let slots = slots.clamp(1, 1 << 24).next_power_of_two();
    let fresh: Box<[Slot]> = (0..slots).map(|_| Slot { activation: AtomicU64::new(0), latency_ns: AtomicI64::new(0) }).collect();
    // The allocator may hand out untouched zero pages; writing makes them ours.
    fresh.iter().for_each(|slot| slot.activation.store(u64::MAX, Ordering::Relaxed));
    let shared =
        Arc::new(Shared { slots: fresh, mask: slots - 1, head: Position(AtomicU64::new(0)), tail: Position(AtomicU64::new(0)) });
    let producer = Producer { shared: Arc::clone(&shared), full: slots, lost: 0 };
    (producer, Consumer { shared, tail: 0, latencies: Box::new([0; AT_A_TIME]) })
}

impl Shared {
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "masked: at most 2^24 slots")]
    fn slot(&self, position: u64) -> &Slot {
        &self.slots[(position & self.mask) as usize]
    }

    /// The slots from one position towards another, as far as they lie side by side, and at most so many as are handed over
    /// in one call.
    #[expect(clippy::cast_possible_truncation, reason = "masked, and at most 2^24 slots lie between two positions")]
    fn ahead(&self, from: u64, to: u64) -> &[Slot] {
        let first = (from & self.mask) as usize;
        let last = self.slots.len().min(first + AT_A_TIME.min((to - from) as usize));
        &self.slots[first..last]
    }
}

/// The first of these slots and those that follow it with successive activations. Their numbers ascend, so the first and
/// the last usually tell.
fn without_gap(slots: &[Slot]) -> &[Slot] {
    let number = |slot: &Slot| slot.activation.load(Ordering::Relaxed);
    let first = number(&slots[0]);
    if number(&slots[slots.len() - 1]) - first == slots.len() as u64 - 1 {
        return slots;
    }
    let successive = (first..).zip(slots).take_while(|(expected, slot)| number(slot) == *expected).count();
    &slots[..successive]
}

impl Producer {
    /// Hands a sample over. Wait-free; a sample that finds no room is counted as lost.
    #[inline]
    pub fn push(&mut self, sample: Sample) {
        // Nobody else writes it.
        let head = self.shared.head.0.load(Ordering::Relaxed);
        if head == self.full && !self.has_room(head) {
            self.lost += 1;
            return;
        }
        let slot = self.shared.slot(head);
        slot.activation.store(sample.activation, Ordering::Relaxed);
        slot.latency_ns.store(sample.latency_ns, Ordering::Relaxed);
        self.shared.head.0.store(head + 1, Ordering::Release);
    }

    /// Looks how far the consumer has come.
    #[cold]
    fn has_room(&mut self, head: u64) -> bool {
        self.full = self.shared.tail.0.load(Ordering::Acquire) + self.shared.mask + 1;
        head < self.full
    }

    /// Samples that found no room.
    #[must_use]
    pub const fn lost(&self) -> u64 {
        self.lost
    }
}

impl Consumer {
    /// Takes out what is there, in order: the number of an activation, its latency in ns, and those of the activations that
    /// follow it without a gap. Stops at the first error; what that call was given counts as taken.
    ///
    /// # Errors
    /// Whatever `take` returns.
    pub fn drain<E>(&mut self, mut take: impl FnMut(u64, &[i64]) -> Result<(), E>) -> Result<(), E> {
        let head = self.shared.head.0.load(Ordering::Acquire);
        let mut result = Ok(());
        while self.tail < head && result.is_ok() {
            let slots = without_gap(self.shared.ahead(self.tail, head));
            for (latency, slot) in self.latencies.iter_mut().zip(slots) {
                *latency = slot.latency_ns.load(Ordering::Relaxed);
            }
            result = take(slots[0].activation.load(Ordering::Relaxed), &self.latencies[..slots.len()]);
            self.tail += slots.len() as u64;
            self.shared.tail.0.store(self.tail, Ordering::Release);
        }
        result
    }

    /// Slots in all.
    #[must_use]
    pub fn slots(&self) -> u64 {
        self.shared.mask + 1
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
        let (mut producer, mut consumer) = ring(4);
        (0..7).for_each(|activation| producer.push(Sample { activation, latency_ns: 0 }));
        assert_eq!((producer.lost(), take_all(&mut consumer)), (3, vec![0, 1, 2, 3]));
        producer.push(Sample { activation: 9, latency_ns: 0 });
        assert_eq!((producer.lost(), take_all(&mut consumer)), (3, vec![9]));
    }

    #[test]
    fn sizes_follow_the_interval() {
        assert_eq!(slots_for(1_000_000), 8_192);
        assert_eq!(slots_for(3_600_000_000_000), 1_024);
        assert_eq!(slots_for(1_000), 1 << 20);
    }

    /// Two threads, a ring far too small: what arrives is in order and whole, and with what was lost makes up all.
    #[test]
    fn nothing_vanishes_between_two_threads() {
        const SENT: u64 = 200_000;
        let (mut producer, mut consumer) = ring(64);
        let sender = std::thread::spawn(move || {
            for activation in 0..SENT {
                producer.push(Sample { activation, latency_ns: activation.cast_signed() * 3 });
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

// SPDX-License-Identifier: MIT OR Apache-2.0
//! A trace for Perfetto: of each thread a track with a slice from the planned time of a large
//! latency to its wake-up, and a counter of all latencies. The numbers of fields are those of the
//! public `.proto` files.

use super::{ExportError, Source, varint};
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};
use std::io::{self, Write};

/// Slices where no threshold is given.
const SLICES: usize = 1_000;
/// Points of a counter at most.
const POINTS: u64 = 100_000;

/// A message of protobuf.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn number(mut self, field: u64, value: u64) -> Self {
        varint(&mut self.0, field << 3);
        varint(&mut self.0, value);
        self
    }

    fn bytes(mut self, field: u64, bytes: &[u8]) -> Self {
        varint(&mut self.0, field << 3 | 2);
        varint(&mut self.0, bytes.len() as u64);
        self.0.extend(bytes);
        self
    }

    /// As a packet of the trace.
    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(&Message::default().bytes(1, &self.0).0)
    }
}

/// `TrackEvent.Type`.
const BEGIN: u64 = 1;
const END: u64 = 2;
const COUNTER: u64 = 4;

/// `TracePacket`, at a time.
fn event(time_ns: i64, event: &Message) -> Message {
    let time = time_ns.max(0).cast_unsigned();
    Message::default().number(8, time).bytes(11, &event.0).number(10, 1)
}

fn of_type(kind: u64, track: u64) -> Message {
    Message::default().number(9, kind).number(11, track)
}

/// `TracePacket.track_descriptor`.
fn track(out: &mut dyn Write, descriptor: &Message) -> io::Result<()> {
    // The first of a sequence says that nothing came before it.
    Message::default().bytes(60, &descriptor.0).number(10, 1).number(13, 1).write(out)
}

/// The rows that have slices.
enum Chosen {
    Above(i64),
    /// By thread and number.
    These(BTreeSet<(usize, u64)>),
}

impl Chosen {
    fn has(&self, thread: usize, row: u64, latency_ns: i64) -> bool {
        match self {
            Chosen::Above(above) => latency_ns > *above,
            Chosen::These(rows) => rows.contains(&(thread, row)),
        }
    }
}

fn chosen(source: &Source<'_>) -> Result<Chosen, ExportError> {
    if let Some(above) = source.options.above_ns {
        return Ok(Chosen::Above(above));
    }
    let mut largest = BinaryHeap::new();
    for thread in 0..source.threads() {
        source.each_value(thread, |ns| ns, false, &mut |row, ns, _| {
            let Some(row) = row else { return };
            largest.push(Reverse((ns, thread, row)));
            if largest.len() > SLICES {
                largest.pop();
            }
        })?;
    }
    let rows = largest.into_iter().map(|Reverse((_, thread, row))| (thread, row));
    Ok(Chosen::These(rows.collect()))
}

/// The smallest and the largest of successive latencies, in their order.
#[derive(Default)]
struct Extremes(Option<[(i64, i64); 2]>);

impl Extremes {
    fn add(&mut self, time_ns: i64, ns: i64) {
        let new = (time_ns, ns);
        let [min, max] = self.0.unwrap_or([new, new]);
        self.0 = Some([if ns < min.1 { new } else { min }, if ns > max.1 { new } else { max }]);
    }

    fn write(&mut self, track: u64, out: &mut dyn Write) -> io::Result<()> {
        let Some(mut points) = self.0.take() else { return Ok(()) };
        points.sort_unstable();
        let n = if points[0] == points[1] { 1 } else { 2 };
        for (time, ns) in &points[..n] {
            let counter = of_type(COUNTER, track).number(30, ns.cast_unsigned());
            event(*time, &counter).write(out)?;
        }
        Ok(())
    }
}

pub(super) fn write(source: &Source<'_>, out: &mut dyn Write) -> Result<Vec<String>, ExportError> {
    let document = &source.recorded.document;
    let chosen = chosen(source)?;
    for (place, thread) in document.threads.iter().enumerate() {
        let slices = 2 * place as u64 + 1;
        let counter = slices + 1;
        let cpu = document.probe.cpu_text(thread);
        let on = if cpu.is_empty() { String::new() } else { format!(", CPU {cpu}") };
        let name = format!("thread {}{on}", thread.index);
        let described = Message::default().number(1, slices).bytes(2, name.as_bytes());
        track(out, &described)?;
        // Its unit is ns.
        let unit = Message::default().number(3, 1);
        let name = format!("latency of {name}");
        let described = Message::default().number(1, counter).bytes(2, name.as_bytes());
        track(out, &described.bytes(8, &unit.0))?;
        let rows = source.recorded.threads[place].latency.map_or(0, |latency| latency.count);
        let rows_of_a_block = if rows <= POINTS { 1 } else { (rows * 2).div_ceil(POINTS) };
        let (mut extremes, mut in_block) = (Extremes::default(), 0);
        // Slices of one track may not overlap, as they would where late activations are caught up.
        let mut free_from = i64::MIN;
        let mut failed: io::Result<()> = Ok(());
        source.each_value(place, |ns| ns, false, &mut |row, ns, _| {
            let Some(row) = row.filter(|_| failed.is_ok()) else { return };
            let number = i64::try_from(row).unwrap_or(i64::MAX);
            let since_start = number.saturating_mul(thread.interval_ns.0);
            let planned = thread.start_ns.0.saturating_add(since_start);
            let woke = planned.saturating_add(ns);
            let begins = planned.max(free_from);
            failed = (|| {
                if chosen.has(place, row, ns) && woke > begins {
                    let name = format!("{}.{:03} us", ns / 1_000, ns % 1_000);
                    let begin = of_type(BEGIN, slices).bytes(23, name.as_bytes());
                    event(begins, &begin).write(out)?;
                    event(woke, &of_type(END, slices)).write(out)?;
                    free_from = woke;
                }
                extremes.add(woke, ns);
                in_block += 1;
                if in_block < rows_of_a_block {
                    return Ok(());
                }
                in_block = 0;
                extremes.write(counter, out)
            })();
        })?;
        failed?;
        extremes.write(counter, out)?;
    }
    Ok(source.skipped_and_lost())
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a reader of the recording has to know of a stream: what could not be read, what was
//! missing, how it ended.

use super::input::Input;
use super::records::{Record, Records};
use model::Warning;
use plan::Nanos;

/// A stream that is silent for longer at the end of a run is said to be.
const SILENT_NS: i64 = 1_000_000_000;

/// Counted while the stream is read.
#[derive(Default)]
pub(crate) struct Findings {
    /// The stream's name.
    from: String,
    period_ns: Option<Nanos>,
    /// Numbers that were read.
    numbers: u64,
    unreadable: u64,
    /// Its place, and what was there.
    first_unreadable: Option<(Record, [u8; 24], usize)>,
    backwards: u64,
    /// Its place, and the longest of all, ns.
    first_backwards: u64,
    furthest_back_ns: i64,
    missed: i64,
    rows: u64,
    /// Since the last row: records that are no number, and steps backwards.
    trailing: (u64, u64),
    /// When reading began, when bytes came last, and when the stream ended, CLOCK_MONOTONIC.
    began: Option<Nanos>,
    arrived: Nanos,
    ended: Option<Nanos>,
}

impl Findings {
    pub(crate) fn new(from: &str, period_ns: Option<Nanos>) -> Self {
        Findings {
            from: if from == "-" { "standard input".to_owned() } else { from.to_owned() },
            period_ns,
            ..Findings::default()
        }
    }

    /// Reading began at this time, or before. Returns when.
    pub(crate) fn begun(&mut self, now: Nanos) -> Nanos {
        *self.began.get_or_insert_with(|| {
            self.arrived = now;
            now
        })
    }

    pub(crate) const fn arrived(&mut self, now: Nanos) {
        self.arrived = now;
    }

    /// When bytes came last, ns since reading began.
    pub(crate) fn arrived_after(&self) -> i64 {
        self.began.map_or(0, |began| self.arrived.0 - began.0)
    }

    pub(crate) const fn number(&mut self) {
        self.numbers += 1;
    }

    /// Why nothing was measured; none if something was.
    pub(crate) fn nothing_measured(&self, records: &Records) -> Option<&'static str> {
        match (self.rows, self.numbers) {
            (0, 0) if self.unreadable == 0 && records.half().is_none() => {
                Some("no number came from the stream")
            }
            (0, 0) if records.is_text() => Some(
                "no whole line of the stream is a number. If its numbers are binary, give --width \
                 32 or 64",
            ),
            (0, 0) => Some(
                "no record of the stream is a number of this kind. Check --kind, --width and \
                 --byte-order",
            ),
            (0, 1) if self.unreadable == 0 => {
                Some("one timestamp came from the stream, and an interval takes two")
            }
            (0, _) => Some(
                "no two successive timestamps of the stream make an interval. Check --unit, \
                 --width, --byte-order and --wrap",
            ),
            _ => None,
        }
    }

    /// The last of these records was no number.
    pub(crate) fn unreadable(&mut self, record: Record, records: &Records) {
        self.unreadable += 1;
        self.trailing.0 += 1;
        self.first_unreadable.get_or_insert_with(|| {
            let (quoted, length) = records.quoted();
            (record, quoted, length)
        });
    }

    pub(crate) fn backwards(&mut self, record: Record, by_ns: i64) {
        if self.backwards == 0 {
            self.first_backwards = record.position;
        }
        self.backwards += 1;
        self.trailing.1 += 1;
        self.furthest_back_ns = self.furthest_back_ns.max(by_ns);
    }

    /// A row, before which so many periods passed, or which makes up for some. Returns what came
    /// since the row before: records that are no number, and steps backwards.
    pub(crate) fn row(&mut self, missed: i64) -> (u64, u64) {
        self.rows += 1;
        self.missed = self.missed.saturating_add(missed);
        std::mem::take(&mut self.trailing)
    }

    pub(crate) const fn ended(&mut self, now: Nanos) {
        self.ended = Some(now);
    }

    /// All of it, at the end of reading. Of a file the end is no event, and what was left of it is
    /// known.
    pub(crate) fn warnings(&self, now: Nanos, records: &Records, input: &Input) -> Vec<Warning> {
        let (beyond, is_file) = (input.beyond(records.taken()), input.is_file());
        let from = || self.from.clone();
        let mut warnings = Vec::new();
        let since = |time: Nanos| Nanos(now.0 - time.0);
        if let Some((record, quoted, length)) = &self.first_unreadable {
            warnings.push(Warning::StreamUnreadable {
                from: from(),
                records: self.unreadable,
                numbers: self.numbers,
                first: record.position,
                first_offset: record.offset,
                text: quoted[..*length].escape_ascii().to_string(),
            });
        }
        let has_ended = self.ended.is_some();
        // Of a file that was not read to its end it is among the bytes that are left.
        if let Some((bytes, offset)) = records.half().filter(|_| has_ended || !is_file) {
            warnings.push(Warning::StreamHalfRecord {
                from: from(),
                bytes,
                offset,
                ended: has_ended,
            });
        }
        if self.backwards > 0 {
            let (steps, first, furthest_ns) =
                (self.backwards, self.first_backwards, Nanos(self.furthest_back_ns));
            warnings.push(Warning::StreamBackwards { from: from(), steps, first, furthest_ns });
        }
        if let (unreadable, backwards) = self.trailing
            && unreadable + backwards > 0
        {
            warnings.push(Warning::StreamTrailing { from: from(), unreadable, backwards });
        }
        let missed = self.missed.cast_unsigned();
        if let Some(period_ns) = self.period_ns.filter(|_| self.missed > 0) {
            warnings.push(Warning::StreamMissed { from: from(), missed, period_ns });
        }
        let began = self.began.unwrap_or(now);
        match self.ended {
            Some(ended) if !is_file || self.numbers == 0 => {
                let (numbers, after_ns) = (self.numbers, Nanos(ended.0 - began.0));
                // One from which nothing came is no whole one.
                let closed = input.is_pipe() && numbers > 0;
                warnings.push(Warning::StreamEnded { from: from(), numbers, after_ns, closed });
            }
            Some(_) => {}
            None if is_file => {
                warnings.extend(
                    beyond
                        .filter(|bytes| *bytes > 0)
                        .map(|bytes| Warning::StreamUnread { from: from(), bytes }),
                );
            }
            None if self.numbers == 0 || since(self.arrived).0 >= SILENT_NS => {
                warnings.push(Warning::StreamSilent {
                    from: from(),
                    numbers: self.numbers,
                    silent_ns: since(self.arrived),
                });
            }
            None => {}
        }
        warnings
    }
}

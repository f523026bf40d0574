// SPDX-License-Identifier: MIT OR Apache-2.0
//! One CPU's events as the kernel stores them (`trace_pipe_raw`): with their time in ns, where the
//! text has whole µs.
//!
//! The kernel hands out one page at a time. How a page is laid out is described in
//! `events/header_page` and `events/header_event`: a time, how many bytes follow, and events, each
//! with the time that passed since the one before it.

use crate::reader::nonblocking;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// The largest page that the kernel can be set to.
const MAX_PAGE_BYTES: usize = 64 << 10;
/// In front of the events: a time of 8 bytes, and their length in as many as a `long` has.
const LONG: usize = size_of::<usize>();
const HEAD: usize = 8 + LONG;
/// Events before this page were lost.
const MISSED: usize = 1 << 31;
/// How many stands behind the events.
const MISSED_STORED: usize = 1 << 30;
/// What is left of the field is the length.
const LENGTH: usize = MISSED_STORED - 1;

/// What is read from a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Raw<'a> {
    /// An event: its time on the clock of the session, ns, and its fields as its `format` lays them
    /// out.
    Event(i64, &'a [u8]),
    /// Before this time so many events were lost; where the kernel did not say how many, one.
    Lost(i64, u64),
}

/// Reads the events of one CPU, without waiting for any.
#[derive(Debug)]
pub struct RawReader {
    file: File,
    page: Box<[u8]>,
}

impl RawReader {
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        Ok(RawReader { file: nonblocking(path)?, page: vec![0; MAX_PAGE_BYTES].into() })
    }

    /// Takes what one page holds, in order; false if there is nothing now. Allocates nothing.
    ///
    /// # Errors
    /// What read(2) says.
    pub fn take(&mut self, each: impl FnMut(Raw<'_>)) -> io::Result<bool> {
        match self.file.read(&mut self.page) {
            Ok(0) => Ok(false),
            Ok(bytes) => {
                events_of(&self.page[..bytes], each);
                Ok(true)
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
            // What asks the thread to stop: it ends when all is read.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(true),
            Err(error) => Err(error),
        }
    }
}

fn number<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    number(bytes, at).map(u32::from_ne_bytes)
}

/// The events of a page. What does not fit into it is one lost event.
fn events_of(page: &[u8], mut each: impl FnMut(Raw<'_>)) {
    let head =
        number(page, 0).map(u64::from_ne_bytes).zip(number(page, 8).map(usize::from_ne_bytes));
    let Some((time, commit)) = head else { return each(Raw::Lost(0, 1)) };
    let time = time.cast_signed();
    let events = page.get(HEAD..HEAD + (commit & LENGTH));
    if commit & MISSED != 0 {
        let stored = (commit & MISSED_STORED != 0)
            .then(|| number(page, HEAD + (commit & LENGTH)).map(usize::from_ne_bytes));
        each(Raw::Lost(time, stored.flatten().map_or(1, |lost| lost as u64)));
    }
    if events.and_then(|events| each_event(events, time, &mut each)).is_none() {
        each(Raw::Lost(time, 1));
    }
}

/// None if an event does not end within them.
fn each_event(events: &[u8], mut time: i64, each: &mut impl FnMut(Raw<'_>)) -> Option<()> {
    let mut at = 0;
    while at < events.len() {
        let head = word(events, at)?;
        // A bit field: five bits of type or length, 27 of time.
        let (kind, delta) = if cfg!(target_endian = "big") {
            (head >> 27, head & 0x7ff_ffff)
        } else {
            (head & 0x1f, head >> 5)
        };
        let extended = |events| Some(i64::from(delta) + (i64::from(word(events, at + 4)?) << 27));
        let data = at + 4;
        match kind {
            // The rest of the page, or an event that was taken back.
            29 if delta == 0 => return Some(()),
            29 => {
                time += i64::from(delta);
                at = data + usize::try_from(word(events, data)?).ok()?;
            }
            30 => {
                time += extended(events)?;
                at += 8;
            }
            31 => {
                time = extended(events)?;
                at += 8;
            }
            0 => {
                time += i64::from(delta);
                let bytes = usize::try_from(word(events, data)?).ok()?;
                each(Raw::Event(time, events.get(data + 4..data.checked_add(bytes)?)?));
                at = data + bytes;
            }
            words => {
                time += i64::from(delta);
                let bytes = usize::try_from(words).ok()? * 4;
                each(Raw::Event(time, events.get(data..data + bytes)?));
                at = data + bytes;
            }
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const fn head(kind: u32, delta: u32) -> [u8; 4] {
        if cfg!(target_endian = "big") { kind << 27 | delta } else { delta << 5 | kind }
            .to_ne_bytes()
    }

    fn page(commit: usize, parts: &[&[u8]]) -> Vec<u8> {
        let events = parts.concat();
        [1_000_u64.to_ne_bytes().as_slice(), &(commit | events.len()).to_ne_bytes(), &events]
            .concat()
    }

    fn read(page: &[u8]) -> Vec<(i64, Result<Vec<u8>, u64>)> {
        let mut found = Vec::new();
        events_of(page, |raw| match raw {
            Raw::Event(time, bytes) => found.push((time, Ok(bytes.to_vec()))),
            Raw::Lost(time, lost) => found.push((time, Err(lost))),
        });
        found
    }

    #[test]
    fn every_kind_of_event() {
        let long = [head(0, 3).as_slice(), &12_u32.to_ne_bytes(), &[7; 8]].concat();
        let taken_back = [head(29, 2).as_slice(), &8_u32.to_ne_bytes(), &[0; 4]].concat();
        let later = [head(30, 1).as_slice(), &1_u32.to_ne_bytes()].concat();
        let absolute = [head(31, 5).as_slice(), &2_u32.to_ne_bytes()].concat();
        let short = [head(2, 4).as_slice(), &[9; 8]].concat();
        let rest = [head(29, 0).as_slice(), &[0xff; 40]].concat();
        let read =
            read(&page(0, &[&short, &long, &taken_back, &later, &short, &absolute, &short, &rest]));
        let expected = [
            (1_004, Ok(vec![9; 8])),
            (1_007, Ok(vec![7; 8])),
            (1_007 + 2 + 1 + (1 << 27) + 4, Ok(vec![9; 8])),
            (5 + (2 << 27) + 4, Ok(vec![9; 8])),
        ];
        assert_eq!(read, expected);
    }

    #[test]
    fn lost_events_are_counted() {
        let short = [head(1, 4).as_slice(), &[9; 4]].concat();
        assert_eq!(read(&page(MISSED, &[&short]))[0], (1_000, Err(1)));
        let mut stored = page(MISSED | MISSED_STORED, &[&short]);
        stored.extend(17_usize.to_ne_bytes());
        assert_eq!(read(&stored)[0], (1_000, Err(17)));
        assert_eq!(read(&page(0, &[&short[..6]])), [(1_000, Err(1))]);
    }

    proptest! {
        #[test]
        fn whatever_a_page_holds(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            read(&bytes);
        }
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! A log of HdrHistogram with one interval of each thread, in its V2 compressed encoding. Values
//! are ns in three significant digits.

use super::{ExportError, Source, counted};
use flate2::Compression;
use flate2::write::ZlibEncoder;
use std::io::{self, Write};
use std::time::{Duration, SystemTime};

/// Of the encoding, and of what is compressed.
const V2_COMPRESSED: u32 = 0x1c84_9314;
const V2: u32 = 0x1c84_9313;
const DIGITS: u32 = 3;
/// A range that doubles has half as many buckets; the first has all.
const SUB_BUCKETS_LOG2: u32 = 11;

/// The index of a value's bucket.
fn index(value: u64) -> u64 {
    let mask = (1_u64 << SUB_BUCKETS_LOG2) - 1;
    let range = u64::BITS - (value | mask).leading_zeros() - SUB_BUCKETS_LOG2;
    (u64::from(range) << (SUB_BUCKETS_LOG2 - 1)) + (value >> range)
}

fn bucket(ns: i64) -> i64 {
    index(ns.max(0).cast_unsigned()).cast_signed()
}

/// One histogram.
#[derive(Default)]
struct Hdr {
    counts: Vec<u64>,
    max: i64,
    /// Values below 0, which are in the first bucket.
    early: u64,
}

impl Hdr {
    fn add(&mut self, ns: i64, n: u64) {
        if ns < 0 {
            self.early = self.early.saturating_add(n);
        }
        self.max = self.max.max(ns);
        let at = usize::try_from(bucket(ns)).unwrap_or(0);
        if self.counts.len() <= at {
            self.counts.resize(at + 1, 0);
        }
        self.counts[at] = self.counts[at].saturating_add(n);
    }

    /// In base64.
    fn encoded(&self) -> io::Result<String> {
        let mut payload = Vec::new();
        let mut at = 0;
        while at < self.counts.len() {
            let zeros = self.counts[at..].iter().take_while(|count| **count == 0).count();
            if zeros > 1 {
                put(&mut payload, -i64::try_from(zeros).unwrap_or(i64::MAX));
            } else {
                put(&mut payload, i64::try_from(self.counts[at]).unwrap_or(i64::MAX));
            }
            at += zeros.max(1);
        }
        // Of all values that the last range holds.
        let highest =
            (self.max.max(2 << SUB_BUCKETS_LOG2).cast_unsigned() + 1).next_power_of_two() - 1;
        let mut plain = Vec::new();
        for word in [V2, length(&payload), 0, DIGITS] {
            plain.extend(word.to_be_bytes());
        }
        plain.extend(1_u64.to_be_bytes());
        plain.extend(highest.to_be_bytes());
        plain.extend(1_f64.to_be_bytes());
        plain.append(&mut payload);
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(&plain)?;
        let compressed = encoder.finish()?;
        let mut all = V2_COMPRESSED.to_be_bytes().to_vec();
        all.extend(length(&compressed).to_be_bytes());
        all.extend(compressed);
        Ok(base64(&all))
    }
}

fn length(bytes: &[u8]) -> u32 {
    u32::try_from(bytes.len()).unwrap_or(u32::MAX)
}

/// A count, or so many counts of 0 as a number below 0: `ZigZag` in LEB128 of at most 9 bytes.
fn put(out: &mut Vec<u8>, value: i64) {
    let mut rest = ((value << 1) ^ (value >> 63)).cast_unsigned();
    for _ in 0..8 {
        let low = rest.to_le_bytes()[0] & 0x7f;
        rest >>= 7;
        if rest == 0 {
            out.push(low);
            return;
        }
        out.push(low | 0x80);
    }
    out.push(rest.to_le_bytes()[0]);
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let byte = |at: usize| u32::from(three.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for letter in 0..4 {
            let is_there = letter <= three.len();
            let at = (bits >> (18 - 6 * letter) & 63) as usize;
            text.push(if is_there { char::from(LETTERS[at]) } else { '=' });
        }
    }
    text
}

pub(super) fn write(source: &Source<'_>, out: &mut dyn Write) -> Result<Vec<String>, ExportError> {
    let document = &source.recorded.document;
    let time = |text: &str| humantime::parse_rfc3339(text).ok();
    let started = time(&document.started_at);
    let ended = document.ended_at.as_deref().and_then(time);
    let seconds = |from, to: SystemTime| {
        to.duration_since(from).unwrap_or(Duration::ZERO).as_millis() as f64 / 1e3
    };
    let length = started.zip(ended).map(|(started, ended)| seconds(started, ended));
    writeln!(out, "#[Histogram log format version 1.3]")?;
    if let Some(started) = started {
        let since = seconds(SystemTime::UNIX_EPOCH, started);
        let text = humantime::format_rfc3339_millis(started);
        writeln!(out, "#[StartTime: {since:.3} (seconds since epoch), {text}]")?;
    }
    writeln!(
        out,
        "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\
         \"Interval_Compressed_Histogram\""
    )?;
    let mut early = 0;
    for (place, thread) in document.threads.iter().enumerate() {
        let mut hdr = Hdr::default();
        source.each_value(place, bucket, false, &mut |_, ns, n| hdr.add(ns, n))?;
        early += hdr.early;
        // The maximum is in ms.
        writeln!(
            out,
            "Tag=thread{},0.000,{:.3},{:.6},{}",
            thread.index,
            length.unwrap_or_default(),
            hdr.max as f64 / 1e6,
            hdr.encoded()?
        )?;
    }
    let mut left_out = source.skipped_and_lost();
    let below = counted(early, "value below 0 (0 there)", "values below 0 (0 there)");
    left_out.extend(below);
    left_out
        .extend(length.is_none().then(|| "the length of the run, which is not known".to_owned()));
    Ok(left_out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_of_each_length() {
        let texts = ["", "f", "fo", "foo", "foob"].map(|text| base64(text.as_bytes()));
        assert_eq!(texts, ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg=="]);
    }

    #[test]
    fn numbers_of_each_length() {
        let bytes = |value| {
            let mut out = Vec::new();
            put(&mut out, value);
            out
        };
        assert_eq!(bytes(0), [0]);
        assert_eq!(bytes(-1), [1]);
        assert_eq!(bytes(63), [126]);
        assert_eq!(bytes(64), [0x80, 1]);
        assert_eq!(bytes(i64::MIN), [0xff; 9]);
    }

    /// Below 2,048 each value has its own; then 2, 4, 8 share one.
    #[test]
    fn buckets_of_values() {
        assert_eq!(
            [0, 1, 2_047, 2_048, 2_049, 2_050].map(index),
            [0, 1, 2_047, 2_048, 2_048, 2_049]
        );
        assert_eq!([4_095, 4_096, 4_099, 4_100].map(index), [3_071, 3_072, 3_072, 3_073]);
    }
}

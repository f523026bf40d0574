// SPDX-License-Identifier: MIT OR Apache-2.0
//! The channel from a guest to the lab: frames on a serial line, each with its length and hash.
//!
//! A serial line is what every kernel has, with no module and no bus. It may lose and garble bytes,
//! and a kernel may print on it, so a frame says how long it is and what it hashes to, and what
//! lies between frames is skipped. The lab reads from a file that the emulator appends to, which
//! can never make the guest wait.
//!
//! ```text
//! "\nteiji-f1"  kind: u8  length: u64, little endian
//!               SHA-256 of kind, length and payload: 32 bytes  payload
//! ```

use sha2::{Digest, Sha256};
use std::io::{self, Write};

const MAGIC: &[u8; 9] = b"\nteiji-f1";
const KIND_AT: usize = MAGIC.len();
const LENGTH_AT: usize = KIND_AT + 1;
const HASH_AT: usize = LENGTH_AT + 8;
/// Bytes before a payload.
pub(crate) const HEADER: usize = HASH_AT + 32;
/// More than any guest's memory holds of results.
const MAX_PAYLOAD: u64 = 8 << 30;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameKind {
    /// The guest's init runs: the kernel has booted.
    Begun,
    /// The files of a recording: an archive.
    Results,
    /// The run failed: a [`crate::order::Refusal`] as JSON.
    Refused,
    /// The guest cannot stop for a snapshot, and says why: text.
    NoSnapshot,
    /// The guest runs again after its stop: how much time was skipped meanwhile, digits.
    Continued,
}

impl FrameKind {
    const fn code(self) -> u8 {
        match self {
            FrameKind::Begun => b'b',
            FrameKind::Results => b'r',
            FrameKind::Refused => b'x',
            FrameKind::NoSnapshot => b'n',
            FrameKind::Continued => b'c',
        }
    }

    fn from_code(code: u8) -> Option<Self> {
        use FrameKind::{Begun, Continued, NoSnapshot, Refused, Results};
        [Begun, Results, Refused, NoSnapshot, Continued]
            .into_iter()
            .find(|kind| kind.code() == code)
    }
}

pub(crate) fn send(to: &mut impl Write, kind: FrameKind, payload: &[u8]) -> io::Result<()> {
    let length = (payload.len() as u64).to_le_bytes();
    let mut header = MAGIC.to_vec();
    header.push(kind.code());
    header.extend_from_slice(&length);
    header.extend_from_slice(&hash(kind.code(), &length, payload));
    to.write_all(&header)?;
    to.write_all(payload)
}

fn hash(kind: u8, length: &[u8], payload: &[u8]) -> [u8; 32] {
    Sha256::new().chain_update([kind]).chain_update(length).chain_update(payload).finalize().into()
}

/// What stands in a stream of bytes so far.
#[derive(Debug, PartialEq, Eq)]
pub enum Scanned<'a> {
    /// A whole frame, and how many bytes it and what lay before it took.
    Frame { kind: FrameKind, payload: &'a [u8], end: usize },
    /// Nothing yet, or the beginning of a frame: so many bytes of so many.
    Part {
        /// Bytes of the payload that are there.
        received: u64,
        /// Bytes of the payload in all; 0 if not even the header is there.
        of: u64,
    },
    /// A frame that is not what was sent.
    Damaged {
        why: &'static str,
        /// Bytes up to where the next frame may be looked for.
        end: usize,
    },
}

/// Looks for the first frame.
pub fn find(bytes: &[u8]) -> Scanned<'_> {
    let nothing = Scanned::Part { received: 0, of: 0 };
    let Some(start) = bytes.windows(MAGIC.len()).position(|window| window == MAGIC) else {
        return nothing;
    };
    let frame = &bytes[start..];
    let Some(header) = frame.get(..HEADER) else { return nothing };
    let end = start + MAGIC.len();
    let mut length = [0; 8];
    length.copy_from_slice(&header[LENGTH_AT..HASH_AT]);
    let length = u64::from_le_bytes(length);
    let Some(kind) = FrameKind::from_code(header[KIND_AT]) else {
        return Scanned::Damaged { why: "its kind is unknown", end };
    };
    if length > MAX_PAYLOAD {
        return Scanned::Damaged { why: "its length is impossible", end };
    }
    let rest = &frame[HEADER..];
    let payload = usize::try_from(length).ok().and_then(|length| rest.get(..length));
    let Some(payload) = payload else {
        return Scanned::Part { received: rest.len() as u64, of: length };
    };
    if hash(header[KIND_AT], &header[LENGTH_AT..HASH_AT], payload) != header[HASH_AT..HEADER] {
        return Scanned::Damaged {
            why: "its content does not have the hash it was sent with",
            end,
        };
    }
    Scanned::Frame { kind, payload, end: start + HEADER + payload.len() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn frame(kind: FrameKind, payload: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        send(&mut bytes, kind, payload).unwrap();
        bytes
    }

    #[test]
    fn frames_are_found_among_noise() {
        let mut bytes = b"[   0.1] a kernel that prints here\n".to_vec();
        bytes.extend(frame(FrameKind::Begun, b""));
        bytes.extend(b"more noise \nteiji-f");
        let results = bytes.len();
        bytes.extend(frame(FrameKind::Results, b"\nteiji-f1 within a payload is no frame"));
        let Scanned::Frame { kind: FrameKind::Begun, payload: b"", end } = find(&bytes) else {
            panic!("{:?}", find(&bytes))
        };
        let Scanned::Frame { kind: FrameKind::Results, payload, end: behind } = find(&bytes[end..])
        else {
            panic!()
        };
        assert_eq!(payload, b"\nteiji-f1 within a payload is no frame");
        assert_eq!(end + behind, bytes.len());
        assert!(results > end);
    }

    #[test]
    fn a_frame_that_is_still_coming() {
        let bytes = frame(FrameKind::Results, &[7; 1_000]);
        assert_eq!(find(&bytes[..HEADER - 1]), Scanned::Part { received: 0, of: 0 });
        assert_eq!(find(&bytes[..HEADER + 400]), Scanned::Part { received: 400, of: 1_000 });
    }

    #[test]
    fn any_damaged_byte_is_noticed() {
        let good = frame(FrameKind::Results, b"eighteen late");
        for at in MAGIC.len()..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 0x10;
            match find(&bad) {
                Scanned::Damaged { .. } => {}
                // A longer length: still waiting for what never comes, and that is noticed by time.
                Scanned::Part { of, .. } if (LENGTH_AT..HASH_AT).contains(&at) => assert!(of > 13),
                other => panic!("byte {at}: {other:?}"),
            }
        }
    }

    #[test]
    fn a_lost_byte_is_noticed() {
        let mut bytes = frame(FrameKind::Results, b"eighteen late");
        bytes.remove(HEADER + 3);
        bytes.extend(frame(FrameKind::Begun, b""));
        let Scanned::Damaged { end, .. } = find(&bytes) else { panic!("{:?}", find(&bytes)) };
        assert!(
            matches!(find(&bytes[end..]), Scanned::Frame { kind: FrameKind::Begun, .. }),
            "what follows is found"
        );
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let mut stream = MAGIC.to_vec();
            stream.extend(bytes);
            let _ = find(&stream);
        }
    }
}

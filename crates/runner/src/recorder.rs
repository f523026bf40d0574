// SPDX-License-Identifier: MIT OR Apache-2.0
//! From the rings to the disk, at ordinary priority.

use crate::live::Tally;
use plan::Nanos;
use probe::Consumer;
use recording::{Document, Folder, RecordingError, SampleWriter};

/// Takes samples out of the rings and writes them down.
pub(crate) struct Recorder {
    tracks: Vec<Track>,
    flushed: Nanos,
    /// The first thing that kept a sample from the disk. From then on nothing is written any more.
    failed: Option<RecordingError>,
}

struct Track {
    consumer: Consumer,
    writer: SampleWriter,
    /// Only if somebody looks on.
    tally: Option<Tally>,
}

/// What is not on disk may be lost with the process: at most this much, and half of the promised second.
const FLUSH_EVERY: Nanos = Nanos::from_millis(500);

impl Recorder {
    /// Opens a samples file for each thread of the document; `shown` says whether anybody looks on.
    pub(crate) fn open(
        folder: &Folder,
        document: &Document,
        consumers: Vec<Consumer>,
        now: Nanos,
        shown: bool,
    ) -> Result<Self, RecordingError> {
        let open = |(thread, consumer): (&recording::Thread, Consumer)| {
            let writer = folder.samples(thread.index, thread.cpu, thread.start_ns, thread.interval_ns)?;
            Ok(Track { consumer, writer, tally: shown.then(|| Tally::new(thread.cpu, thread.interval_ns.0)) })
        };
        let tracks = document.threads.iter().zip(consumers).map(open).collect::<Result<_, _>>()?;
        Ok(Recorder { tracks, flushed: now, failed: None })
    }

    /// Empties the rings, and writes if it is time. Does not fail: what could not be written is remembered.
    pub(crate) fn take(&mut self, now: Nanos) {
        let flush = now.0 - self.flushed.0 >= FLUSH_EVERY.0;
        if flush {
            self.flushed = now;
        }
        for track in &mut self.tracks {
            let mut failed = track.take(self.failed.is_none()).err();
            if flush && failed.is_none() && self.failed.is_none() {
                failed = track.writer.flush().err();
            }
            self.failed = self.failed.take().or(failed);
        }
    }

    /// Writes the rest; `due` is what each thread's accounting says.
    pub(crate) fn finish(&mut self, due: &[u64]) {
        for (track, due) in self.tracks.iter_mut().zip(due) {
            if self.failed.is_none() {
                self.failed = track.writer.finish(*due).err();
            }
        }
    }

    pub(crate) const fn failed(&self) -> Option<&RecordingError> {
        self.failed.as_ref()
    }

    /// What there is to look at.
    pub(crate) fn tallies(&self) -> impl Iterator<Item = &Tally> {
        self.tracks.iter().filter_map(|track| track.tally.as_ref())
    }
}

impl Track {
    /// Empties the ring, up to the first sample that cannot be written.
    fn take(&mut self, write: bool) -> Result<(), RecordingError> {
        let Track { consumer, writer, tally } = self;
        consumer.drain(|first, latencies| {
            if let Some(tally) = tally {
                tally.take(first, latencies);
            }
            if write { writer.extend(first, latencies) } else { Ok(()) }
        })
    }
}

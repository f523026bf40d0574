// SPDX-License-Identifier: MIT OR Apache-2.0
//! From the rings to the disk, on a thread of its own at ordinary priority: what else a run waits
//! for (a terminal, loads, signals) must not keep samples waiting, and a disk that stalls must keep
//! nothing else waiting.

use crate::live::{LiveThread, Tally};
use crate::syncer::Syncer;
use model::Document;
use model::FLUSH_INTERVAL;
use plan::Nanos;
use probe::{Consumer, Monotonic};
use recording::{Folder, RecordingError, SampleWriter};
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// A batch is encoded on it.
const STACK_BYTES: usize = 256 * 1024;

/// Between two times that the rings are emptied, while one is found half full: what does not come
/// in real time, as events of a file, waits for the recorder.
const PRESSED: Duration = Duration::from_millis(1);
/// So long after one was found so: a ring that was just emptied is not half full yet.
const STAYS_PRESSED: Nanos = Nanos::from_secs(1);

/// The recorder at work. Dropped, it ends: a run that does not begin after all leaves no thread to
/// the next one.
pub(crate) struct Recorder {
    shared: Arc<Shared>,
    /// None once it has been waited for.
    thread: Option<JoinHandle<Tracks>>,
}

#[derive(Default)]
struct Shared {
    ended: AtomicBool,
    failed: AtomicBool,
    shown: Mutex<Vec<LiveThread>>,
}

impl Recorder {
    /// Begins to empty the rings, every so often.
    ///
    /// # Errors
    /// When the thread cannot be made.
    pub(crate) fn start(mut tracks: Tracks, every: Duration) -> io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let state = Arc::clone(&shared);
        *shared.shown.lock().unwrap_or_else(PoisonError::into_inner) = tracks.show(Monotonic.now());
        let mut pressed_until = Nanos::ZERO;
        let record = move || {
            while !state.ended.load(Ordering::Acquire) {
                let now = Monotonic.now();
                if tracks.is_pressed() {
                    pressed_until = Nanos(now.0 + STAYS_PRESSED.0);
                }
                tracks.drain(now);
                state.failed.store(tracks.failed.is_some(), Ordering::Relaxed);
                if tracks.shown.is_some() {
                    let shown = tracks.show(now);
                    *state.shown.lock().unwrap_or_else(PoisonError::into_inner) = shown;
                }
                std::thread::park_timeout(if now < pressed_until {
                    PRESSED.min(every)
                } else {
                    every
                });
            }
            tracks.drain(Monotonic.now());
            tracks
        };
        let thread =
            Builder::new().name("teiji-recorder".into()).stack_size(STACK_BYTES).spawn(record)?;
        Ok(Recorder { shared, thread: Some(thread) })
    }

    /// Whether something kept a sample from the disk.
    pub(crate) fn has_failed(&self) -> bool {
        self.shared.failed.load(Ordering::Relaxed)
    }

    /// What there is to observe.
    pub(crate) fn shown(&self) -> Vec<LiveThread> {
        self.shared.shown.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Takes what is left in the rings. To be called when nothing more comes.
    ///
    /// # Errors
    /// When the recorder itself broke.
    pub(crate) fn stop(mut self) -> Result<Tracks, RecordingError> {
        self.join().ok_or_else(|| RecordingError::Io {
            doing: "record",
            path: Path::new("samples").into(),
            source: io::Error::other("the recorder panicked"),
        })
    }

    /// Has the thread end, and waits for it. None if it panicked, or has been waited for before.
    fn join(&mut self) -> Option<Tracks> {
        let thread = self.thread.take()?;
        self.shared.ended.store(true, Ordering::Release);
        thread.thread().unpark();
        thread.join().ok()
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.join();
    }
}

/// Is given each row beside the recording: thread, number of the first, and columns of successive
/// rows one after the other.
pub type RowSink = Box<dyn FnMut(usize, u64, &[i64]) + Send>;

/// What whoever observes the run wants of its threads.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shown {
    Figures,
    /// Their histories too, with the run's threshold for spikes.
    Histories(Option<Nanos>),
}

/// Takes samples out of the rings and writes them down.
pub(crate) struct Tracks {
    tracks: Vec<Track>,
    flushed: Nanos,
    shown: Option<Shown>,
    beside: Vec<RowSink>,
    syncer: Option<Syncer>,
    /// The first thing that kept a sample from the disk. From then on nothing is written any more.
    failed: Option<RecordingError>,
}

struct Track {
    consumer: Consumer,
    /// None before the files have been opened.
    writer: Option<SampleWriter>,
    /// Files of the writer that the syncer has.
    known_files: usize,
    /// Only if the run is observed.
    tally: Option<Tally>,
}

impl Tracks {
    /// What comes out of these rings is to be recorded; `shown` says what of it is observed.
    ///
    /// # Errors
    /// When a thread cannot be made.
    pub(crate) fn new(
        folder: &Folder,
        document: &Document,
        consumers: Vec<Consumer>,
        shown: Option<Shown>,
        beside: Vec<RowSink>,
    ) -> io::Result<Self> {
        let track = |consumer| Track { consumer, writer: None, known_files: 0, tally: None };
        let mut syncer = None;
        let directory = File::open(folder.path()).ok();
        if document.run.sync && !directory.as_ref().is_some_and(is_in_memory) {
            let started = Syncer::start()?;
            // The names of files: of the document, which is replaced, and of samples.
            directory.into_iter().for_each(|directory| started.add(directory));
            syncer = Some(started);
        }
        let tracks = consumers.into_iter().map(track).collect();
        Ok(Tracks { tracks, flushed: Monotonic.now(), shown, beside, syncer, failed: None })
    }

    /// Opens a samples file for each thread of the document, in the place of any opened before.
    ///
    /// # Errors
    /// When a file cannot be made.
    pub(crate) fn open(
        &mut self,
        folder: &Folder,
        document: &Document,
    ) -> Result<(), RecordingError> {
        for (track, thread) in self.tracks.iter_mut().zip(&document.threads) {
            track.writer = Some(folder.samples(thread, &document.probe)?);
            track.tally = self.shown.map(|shown| match shown {
                Shown::Figures => Tally::new(thread, &document.probe),
                Shown::Histories(above) => Tally::with_history(thread, &document.probe, above),
            });
        }
        self.flushed = Monotonic.now();
        Ok(())
    }

    /// Whether rows come faster than they are taken out.
    fn is_pressed(&self) -> bool {
        self.tracks.iter().any(|track| track.consumer.is_half_full())
    }

    /// Empties the rings, and writes if it is time. Does not fail: what could not be written is
    /// remembered.
    fn drain(&mut self, now: Nanos) {
        let flush = now.0 - self.flushed.0 >= FLUSH_INTERVAL.0;
        if flush {
            self.flushed = now;
        }
        for (thread, track) in self.tracks.iter_mut().enumerate() {
            let beside = &mut self.beside;
            let mut failed = track.drain(now, self.failed.is_none(), thread, beside).err();
            if flush && failed.is_none() && self.failed.is_none() {
                failed = track.writer.as_mut().and_then(|writer| writer.flush().err());
            }
            self.failed = self.failed.take().or(failed);
        }
        let Some(syncer) = &self.syncer else { return };
        if flush {
            for track in &mut self.tracks {
                track.register_files(syncer);
            }
            syncer.written(now);
        }
        // What a disk has once refused it may have lost: what comes after is worth nothing without
        // it.
        self.failed = self.failed.take().or(syncer.refused().map(not_synced));
    }

    /// Writes the rest; `due` is what each thread's accounting says. Returns the longest time until
    /// the disk had what was written, where that was asked for.
    pub(crate) fn finish(&mut self, due: &[u64]) -> Option<Nanos> {
        for (track, due) in self.tracks.iter_mut().zip(due) {
            if self.failed.is_none() {
                self.failed = track.writer.as_mut().and_then(|writer| writer.finish(*due).err());
            }
        }
        let (longest, refused) = self.syncer.take()?.end();
        self.failed = self.failed.take().or(refused.map(not_synced));
        Some(longest)
    }

    pub(crate) const fn failed(&self) -> Option<&RecordingError> {
        self.failed.as_ref()
    }

    fn show(&mut self, now: Nanos) -> Vec<LiveThread> {
        let tallies = self.tracks.iter_mut().filter_map(|track| track.tally.as_mut());
        tallies.map(|tally| tally.show(now)).collect()
    }
}

/// Whether a file's system lies in memory, where nothing can be forced to a disk.
fn is_in_memory(file: &File) -> bool {
    /// Of tmpfs, as statfs(2) has it.
    const TMPFS_MAGIC: rustix::fs::FsWord = 0x0102_1994;
    rustix::fs::fstatfs(file).is_ok_and(|found| found.f_type == TMPFS_MAGIC)
}

fn not_synced(source: io::Error) -> RecordingError {
    RecordingError::Io { doing: "force to the disk", path: "samples".into(), source }
}

impl Track {
    /// Has the syncer know of files it does not know yet.
    fn register_files(&mut self, syncer: &Syncer) {
        let Some(writer) = &self.writer else { return };
        let files = writer.files().count();
        if files == self.known_files {
            return;
        }
        for file in writer.files().take(files - self.known_files) {
            if let Ok(file) = file.try_clone() {
                syncer.add(file);
            }
        }
        self.known_files = files;
    }

    /// Empties the ring, up to the first sample that cannot be written.
    fn drain(
        &mut self,
        now: Nanos,
        write: bool,
        thread: usize,
        beside: &mut [RowSink],
    ) -> Result<(), RecordingError> {
        let Track { consumer, writer, tally, .. } = self;
        consumer.drain(|first, values| {
            if let Some(tally) = tally {
                tally.add_rows(now, first, values);
            }
            beside.iter_mut().for_each(|sink| sink(thread, first, values));
            match writer {
                Some(writer) if write => writer.extend(first, values),
                _ => Ok(()),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recorder_that_is_dropped_leaves_no_thread() {
        let tracks = Tracks {
            tracks: Vec::new(),
            flushed: Nanos::ZERO,
            shown: None,
            beside: Vec::new(),
            syncer: None,
            failed: None,
        };
        let recorder = Recorder::start(tracks, Duration::from_millis(1)).unwrap();
        let shared = Arc::clone(&recorder.shared);
        drop(recorder);
        // The thread had its share.
        assert_eq!(Arc::strong_count(&shared), 1);
    }

    /// Nothing there can be forced to a disk.
    #[test]
    fn a_file_system_in_memory_is_known() {
        let is = |place: &str| is_in_memory(&File::open(place).unwrap());
        assert!(is("/dev/shm") && !is("/proc"));
    }
}

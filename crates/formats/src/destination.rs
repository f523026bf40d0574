// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where an output goes that is read: into a recording. Importers know nothing of it.

use model::{Document, ProbeStatement, Recorded, Thread};
use recording::{Folder, Recording, RecordingError, SampleWriter};
use std::path::PathBuf;

/// Takes the samples of one output as they are read, and then its document.
pub(crate) trait Destination {
    /// Takes successive rows of a thread: times of events in front, then values, ns. Rows between
    /// them and those before have no sample.
    ///
    /// # Errors
    /// When they cannot be kept.
    fn extend(
        &mut self,
        thread: &Thread,
        probe: &ProbeStatement,
        first_row: u64,
        rows: &[i64],
    ) -> Result<(), RecordingError>;

    /// Ends the samples of a thread, with what is known of it by now; it has so many rows.
    ///
    /// # Errors
    /// When they cannot be kept.
    fn finish(&mut self, thread: &Thread, rows: u64) -> Result<(), RecordingError>;

    /// What the samples that were taken come to, by the document as it is so far.
    ///
    /// # Errors
    /// When they cannot be read.
    fn summarise(&mut self, document: Document) -> Result<Recorded, RecordingError>;

    /// Takes the document. Returns where the recording is.
    ///
    /// # Errors
    /// When it cannot be kept.
    fn put_down(self: Box<Self>, document: &Document) -> Result<PathBuf, RecordingError>;
}

/// A recording on the disk. It is a folder as soon as there is something to put there.
pub(crate) struct OnDisk {
    place: PathBuf,
    folder: Option<Folder>,
    writers: Vec<Option<SampleWriter>>,
}

impl OnDisk {
    pub(crate) const fn new(place: PathBuf) -> OnDisk {
        OnDisk { place, folder: None, writers: Vec::new() }
    }

    fn folder(&mut self) -> Result<&Folder, RecordingError> {
        Ok(match &mut self.folder {
            Some(folder) => folder,
            none => none.insert(Folder::part(&self.place)?),
        })
    }
}

impl Destination for OnDisk {
    fn extend(
        &mut self,
        thread: &Thread,
        probe: &ProbeStatement,
        first_row: u64,
        rows: &[i64],
    ) -> Result<(), RecordingError> {
        if self.writers.len() <= thread.index {
            self.writers.resize_with(thread.index + 1, || None);
        }
        if self.writers[thread.index].is_none() {
            self.writers[thread.index] = Some(self.folder()?.samples(thread, probe)?);
        }
        let Some(writer) = &mut self.writers[thread.index] else { return Ok(()) };
        writer.extend(first_row, rows)?;
        writer.flush()
    }

    fn finish(&mut self, thread: &Thread, rows: u64) -> Result<(), RecordingError> {
        if let Some(writer) = self.writers.get_mut(thread.index).and_then(Option::take) {
            let mut writer = writer;
            // Lines below the samples may have said more of the thread.
            writer.relabel(thread);
            writer.finish(rows)?;
        }
        Ok(())
    }

    fn summarise(&mut self, document: Document) -> Result<Recorded, RecordingError> {
        Recording::from_document(self.folder()?.path(), document).summarise()
    }

    fn put_down(mut self: Box<Self>, document: &Document) -> Result<PathBuf, RecordingError> {
        self.folder()?;
        if let Some(folder) = self.folder {
            folder.put_down(document, &self.place)?;
        }
        Ok(self.place)
    }
}

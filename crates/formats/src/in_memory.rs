// SPDX-License-Identifier: MIT OR Apache-2.0
//! Outputs that become recordings in memory, for the fuzzer: files would take most of its time.

use super::destination::Destination;
use super::{
    FORMATS, FoundOutput, ImportError, ImportOptions, Lines, Reads, archive, begins_here,
    import_from_to,
};
use model::{Beside, Document, ProbeStatement, Recorded, RowKind, Thread, document_text};
use recording::{Recording, RecordingError, parse};
use stats::{AfterOverrun, Rows, Span, Statistics, summarise};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// What each output comes to, read from its document as any reader would.
///
/// # Errors
/// As [`super::import`].
pub fn import_in_memory(
    mut bytes: &[u8],
    options: ImportOptions,
) -> Result<Vec<Recorded>, ImportError> {
    let made: Rc<RefCell<Vec<Recorded>>> = Rc::default();
    let to = |_| -> Box<dyn Destination> {
        Box::new(InMemory { threads: BTreeMap::new(), made: Rc::clone(&made) })
    };
    let found: Vec<FoundOutput> =
        import_from_to(&mut bytes, "output.txt".to_owned(), &to, "0.0.0", options)?;
    let made = made.take();
    assert_eq!(found.len(), made.len(), "each output is a recording");
    Ok(made)
}

/// How many lines an output may begin at, each looked at as if nobody knew those before it. Nothing
/// is read of any.
///
/// # Errors
/// As [`super::import`], where lines cannot be read.
pub fn recognise(mut bytes: &[u8]) -> Result<usize, ImportError> {
    let whole = FORMATS.iter().filter(|format| match format.reads {
        Reads::Bytes { is, .. } => is(bytes),
        Reads::Lines { .. } | Reads::BareLines { .. } => false,
    });
    let mut found = whole.count() + usize::from(archive::kind(bytes).is_some());
    let mut lines = Lines::new(&mut bytes);
    while lines.peek()?.is_some() {
        found += usize::from(begins_here(&mut lines, None)?.is_some());
        lines.advance();
    }
    Ok(found)
}

/// What a recording that is nowhere is known by.
fn place(number: usize) -> PathBuf {
    PathBuf::from(format!("in memory/{number}"))
}

struct InMemory {
    threads: BTreeMap<usize, Samples>,
    made: Rc<RefCell<Vec<Recorded>>>,
}

/// The samples of a thread.
#[derive(Default)]
struct Samples {
    /// Rows that follow one another: the first, and where its value is.
    begins: Vec<(u64, usize)>,
    /// ns.
    values: Vec<i64>,
    /// Of each value, when it was, ns; empty where that is not known.
    times: Vec<i64>,
    rows: u64,
}

impl Rows for Samples {
    type Error = Infallible;

    fn replay(&self, visit: &mut dyn FnMut(Span<'_>)) -> Result<(), Infallible> {
        let mut next = 0;
        let ends = self.begins.iter().skip(1).map(|(_, begin)| *begin).chain([self.values.len()]);
        for ((row, begin), end) in self.begins.iter().zip(ends) {
            if *row > next {
                visit(Span::Missing(row - next));
            }
            for value in &self.values[*begin..end] {
                match i32::try_from(*value) {
                    Ok(near) if near != i32::MIN && near != i32::MAX => visit(Span::Woken(&[near])),
                    _ => visit(Span::Long(*value)),
                }
            }
            next = row + (end - begin) as u64;
        }
        if self.rows > next {
            visit(Span::Missing(self.rows - next));
        }
        Ok(())
    }
}

/// Steps over time, of which nothing is drawn.
const STEPS: usize = 64;

impl Samples {
    fn summarise(&self, thread: &Thread, probe: &ProbeStatement) -> (Statistics, Beside) {
        let Ok(statistics) = summarise(self, thread.interval_ns.0, AfterOverrun::Unknown, STEPS);
        let mut beside = Beside::default();
        if probe.rows == RowKind::Events {
            let time = |worst: &stats::Worst| {
                let next = self.begins.partition_point(|(row, _)| *row <= worst.activation);
                let (row, begin) = self.begins[next - 1];
                let behind = usize::try_from(worst.activation - row).unwrap_or(usize::MAX);
                self.times.get(begin.saturating_add(behind)).copied().unwrap_or(0)
            };
            beside.worst_times_ns = statistics.worst.iter().map(time).collect();
        }
        (statistics, beside)
    }
}

impl Destination for InMemory {
    fn extend(
        &mut self,
        thread: &Thread,
        probe: &ProbeStatement,
        first_row: u64,
        rows: &[i64],
    ) -> Result<(), RecordingError> {
        let is_timed = probe.rows == RowKind::Events;
        let (times, values) = rows.split_at(if is_timed { rows.len() / 2 } else { 0 });
        let of = self.threads.entry(thread.index).or_default();
        let follows = |(row, begin): &(u64, usize)| row + (of.values.len() - begin) as u64;
        if of.begins.last().is_none_or(|last| follows(last) != first_row) {
            of.begins.push((first_row, of.values.len()));
        }
        of.values.extend(values);
        of.times.extend(times);
        Ok(())
    }

    fn finish(&mut self, thread: &Thread, rows: u64) -> Result<(), RecordingError> {
        if let Some(of) = self.threads.get_mut(&thread.index) {
            of.rows = rows;
        }
        Ok(())
    }

    fn summarise(&mut self, document: Document) -> Result<Recorded, RecordingError> {
        if self.threads.is_empty() {
            return Recording::from_document(Path::new("output"), document).summarise();
        }
        let of = |thread: &Thread| self.threads[&thread.index].summarise(thread, &document.probe);
        let (threads, beside) = document.threads.iter().map(of).unzip();
        Ok(Recorded { path: "output".into(), document, threads, beside, explained: None })
    }

    fn put_down(mut self: Box<Self>, document: &Document) -> Result<PathBuf, RecordingError> {
        let read = document_text(document).map_err(|error| error.to_string());
        let read = read.and_then(|text| parse(&text));
        let read = read.unwrap_or_else(|why| panic!("what was made cannot be read: {why}"));
        let recorded = self.summarise(read)?;
        let mut made = self.made.borrow_mut();
        made.push(recorded);
        Ok(place(made.len() - 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::of_file;
    use std::fs;

    /// The fuzzer sees what a user gets.
    #[test]
    fn in_memory_as_on_disk() {
        let mut outputs = 0;
        for folder in ["src/samples", "../../fuzz/corpus/import"] {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let bytes = fs::read(&path).unwrap();
                let in_memory = import_in_memory(&bytes, ImportOptions::default());
                let on_disk = of_file(&bytes, ImportOptions::default());
                let path = path.display();
                match (in_memory, on_disk) {
                    (Ok(in_memory), Ok(on_disk)) => {
                        assert_eq!(in_memory.len(), on_disk.len(), "{path}");
                        for (one, other) in in_memory.iter().zip(&on_disk) {
                            let texts = [one, other].map(|one| document_text(&one.document));
                            let [one, other] = texts.map(Result::unwrap);
                            assert!(one == other, "{path}: {one}\n{other}");
                        }
                        assert!(recognise(&bytes).is_ok_and(|known| known > 0), "{path}");
                        outputs += in_memory.len();
                    }
                    (Err(one), Err(other)) => {
                        assert_eq!(one.to_string(), other.to_string(), "{path}");
                    }
                    (one, other) => panic!("{path}: {} or {}", one.is_ok(), other.is_ok()),
                }
            }
        }
        assert!(outputs > 100, "{outputs}");
    }
}

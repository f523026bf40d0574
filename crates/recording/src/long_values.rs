// SPDX-License-Identifier: MIT OR Apache-2.0
//! Values of a samples file that do not fit 32 bits, which lie in a file beside it: all of one
//! column in memory.

use crate::RecordingError;
use crate::checked::checked;
use crate::column::{Column, Values};
use crate::decoder::Broken;
use std::path::Path;

/// Of one thread and column, 32 MB. At 2.1 s each, they are 48 days of skipping and a minute of a
/// loop that catches up at 30 kHz.
const MAX_VALUES: usize = 1 << 21;

/// Row and value, in the order of rows.
#[derive(Clone, Debug, Default)]
pub(crate) struct LongValues(Vec<(u64, i64)>);

impl LongValues {
    /// Reads those of one column; of a file that was cut off, as far as it goes.
    pub(crate) fn read(path: &Path, column: usize, cut: bool) -> Result<Self, RecordingError> {
        let mut all: Vec<(u64, i64)> = Vec::new();
        let read = checked(path, u64::MAX, cut)?.and_then(|mut stream| {
            while let Some(columns) = stream.next()? {
                let columns: &[Column; 3] = columns
                    .try_into()
                    .map_err(|_| "three columns, row, column and value, expected")?;
                let [Values::Int64(rows), Values::Int64(of), Values::Int64(values)] =
                    columns.each_ref().map(|column| &column.values)
                else {
                    return Err("three Int64 columns, row, column and value, expected".into());
                };
                let rows = rows.iter().map(|row| row.cast_unsigned()).zip(of.iter().zip(values));
                for (row, (_, value)) in
                    rows.filter(|(_, (of, _))| usize::try_from(**of) == Ok(column))
                {
                    if all.last().is_some_and(|(before, _)| *before >= row) {
                        return Err(
                            format!("row {row} does not come after the one before it").into()
                        );
                    }
                    if all.len() == MAX_VALUES {
                        return Err(format!(
                            "it has more than {MAX_VALUES} values of a column, the most that are \
                             read"
                        )
                        .into());
                    }
                    all.push((row, *value));
                }
            }
            Ok(())
        });
        match read {
            Ok(()) => Ok(LongValues(all)),
            Err(Broken::Unfinished(_)) if cut => Ok(LongValues(all)),
            Err(broken) => Err(RecordingError::Samples {
                path: path.to_owned(),
                rows: all.len() as u64,
                why: broken.why(),
            }),
        }
    }

    /// The value of a row, if it is one of these.
    pub(crate) fn of_row(&self, row: u64) -> Option<i64> {
        self.0.binary_search_by_key(&row, |(row, _)| *row).ok().map(|place| self.0[place].1)
    }

    pub(crate) fn of_rows(&self, first: u64, rows: usize) -> &[(u64, i64)] {
        let from = self.0.partition_point(|(row, _)| *row < first);
        let to = self.0.partition_point(|(row, _)| *row < first.saturating_add(rows as u64));
        &self.0[from..to]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_by_their_rows() {
        let values = LongValues(vec![(3, 30), (7, 70), (8, 80)]);
        assert_eq!([2, 3, 7, 9].map(|row| values.of_row(row)), [None, Some(30), Some(70), None]);
        assert_eq!(values.of_rows(3, 5), [(3, 30), (7, 70)]);
        assert_eq!(values.of_rows(8, 0), []);
        assert_eq!(values.of_rows(u64::MAX, usize::MAX), []);
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! Comma-separated values, RFC 4180.

use std::borrow::Cow;

/// Rows of cells, written into memory.
pub(crate) struct CsvRows(csv::Writer<Vec<u8>>);

impl CsvRows {
    pub(crate) fn new() -> CsvRows {
        let mut builder = csv::WriterBuilder::new();
        CsvRows(builder.terminator(csv::Terminator::CRLF).from_writer(Vec::new()))
    }

    pub(crate) fn push(&mut self, cells: impl IntoIterator<Item = String>) {
        // Each row is as long as the first: nothing can fail.
        drop(self.0.write_record(cells.into_iter().map(|cell| csv_cell(&cell).into_owned())));
    }

    pub(crate) fn text(self) -> String {
        self.0.into_inner().ok().and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default()
    }
}

/// A cell that no spreadsheet takes for a formula: text from outside may begin as one does.
pub fn csv_cell(text: &str) -> Cow<'_, str> {
    let is_formula =
        text.starts_with(['=', '+', '-', '@', '\t', '\r']) && text.parse::<f64>().is_err();
    if is_formula { Cow::Owned(format!("'{text}")) } else { Cow::Borrowed(text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_cell_is_a_formula() {
        for (text, cell) in [
            ("=1+1", "'=1+1"),
            ("@x", "'@x"),
            ("-5", "-5"),
            ("+1.5", "+1.5"),
            ("-x", "'-x"),
            ("a=b", "a=b"),
        ] {
            assert_eq!(csv_cell(text), cell);
        }
    }
}

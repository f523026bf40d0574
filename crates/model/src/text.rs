// SPDX-License-Identifier: MIT OR Apache-2.0
//! `run.json` as text: objects on several lines, to be readable, lists on one, or a histogram would
//! fill pages.

use serde::Serialize;
use serde_json::ser::{Formatter, PrettyFormatter, Serializer};
use std::io;

/// Pretty objects, flat lists.
#[derive(Default)]
struct FlatLists {
    objects: PrettyFormatter<'static>,
}

impl Formatter for FlatLists {
    fn begin_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.objects.begin_object(writer)
    }
    fn end_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.objects.end_object(writer)
    }
    fn begin_object_key<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.objects.begin_object_key(writer, first)
    }
    fn begin_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.objects.begin_object_value(writer)
    }
    fn end_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.objects.end_object_value(writer)
    }
}

/// A document, or a part of one, as it is written to disk and to standard output.
///
/// # Errors
/// Never for the structs of this crate; a map with keys that are no text would be one.
pub fn document_text<T: Serialize>(value: &T) -> serde_json::Result<String> {
    let mut bytes = Vec::new();
    value.serialize(&mut Serializer::with_formatter(&mut bytes, FlatLists::default()))?;
    bytes.push(b'\n');
    String::from_utf8(bytes).map_err(serde::ser::Error::custom)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_on_lines_lists_on_one() {
        let value = serde_json::json!({"a": [[1, 2], [3, 4]], "b": {"c": "x"}});
        assert_eq!(
            document_text(&value).unwrap(),
            "{\n  \"a\": [[1,2],[3,4]],\n  \"b\": {\n    \"c\": \"x\"\n  }\n}\n"
        );
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! The part of Flatbuffers that Arrow's messages are made of: tables, vectors and texts, each found
//! by an offset.
//!
//! No offset is trusted: all that is read is looked up among the bytes there are, and a buffer in
//! which much is said by few bytes, because many offsets lead to the same place, is refused. A
//! buffer is built as Google's library builds it, byte for byte. Format:
//! <https://flatbuffers.dev/internals/>.

use std::cell::Cell;
use std::ops::Range;

/// Bytes that may be looked up in a buffer. A schema takes thousands, and a batch hundreds.
const MAX_READ: usize = 16 << 20;

/// An offset that leads out of its buffer, or a text that is not UTF-8.
#[derive(Debug)]
pub(crate) struct Malformed;

type Result<T> = std::result::Result<T, Malformed>;

/// The bytes of a buffer.
pub(crate) struct Buffer<'a> {
    bytes: &'a [u8],
    may_read: Cell<usize>,
}

impl<'a> Buffer<'a> {
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Buffer { bytes, may_read: Cell::new(MAX_READ) }
    }

    pub(crate) fn root(&'a self) -> Result<Table<'a>> {
        self.table(self.follow(0)?)
    }

    fn get(&self, range: Range<usize>) -> Result<&'a [u8]> {
        let left = self.may_read.get().checked_sub(range.len()).ok_or(Malformed)?;
        self.may_read.set(left);
        self.bytes.get(range).ok_or(Malformed)
    }

    fn number<const SIZE: usize>(&self, place: usize) -> Result<[u8; SIZE]> {
        let end = place.checked_add(SIZE).ok_or(Malformed)?;
        self.get(place..end)?.try_into().map_err(|_| Malformed)
    }

    fn size(&self, place: usize) -> Result<usize> {
        usize::try_from(u32::from_le_bytes(self.number(place)?)).map_err(|_| Malformed)
    }

    /// Where the offset at this place leads.
    fn follow(&self, place: usize) -> Result<usize> {
        place.checked_add(self.size(place)?).ok_or(Malformed)
    }

    fn table(&'a self, place: usize) -> Result<Table<'a>> {
        let back =
            isize::try_from(i32::from_le_bytes(self.number(place)?)).map_err(|_| Malformed)?;
        let layout = place.checked_sub_signed(back).ok_or(Malformed)?;
        let length = usize::from(u16::from_le_bytes(self.number(layout)?));
        // Its own length and the table's stand in front.
        let (offsets, _) = self.get(layout + 4..layout + length)?.as_chunks();
        Ok(Table { buffer: self, place, offsets })
    }

    /// The bytes of a vector's elements, each of which takes so many.
    fn vector(&self, place: usize, element_size: usize) -> Result<&'a [u8]> {
        let length = self.size(place)?.checked_mul(element_size).ok_or(Malformed)?;
        self.get(place + 4..(place + 4).checked_add(length).ok_or(Malformed)?)
    }
}

/// A table, whose fields are known by their number. One that is not there has its default.
#[derive(Clone, Copy)]
pub(crate) struct Table<'a> {
    buffer: &'a Buffer<'a>,
    place: usize,
    offsets: &'a [[u8; 2]],
}

impl<'a> Table<'a> {
    fn place_of(self, field: usize) -> Option<usize> {
        let offset = u16::from_le_bytes(*self.offsets.get(field)?);
        (offset != 0).then(|| self.place + usize::from(offset))
    }

    /// Where the offset in a field leads.
    fn follow(self, field: usize) -> Result<Option<usize>> {
        self.place_of(field).map(|place| self.buffer.follow(place)).transpose()
    }

    fn number<const SIZE: usize>(self, field: usize) -> Result<[u8; SIZE]> {
        self.place_of(field).map_or(Ok([0; SIZE]), |place| self.buffer.number(place))
    }

    pub(crate) fn byte(self, field: usize) -> Result<u8> {
        self.number(field).map(u8::from_le_bytes)
    }

    pub(crate) fn short(self, field: usize) -> Result<i16> {
        self.number(field).map(i16::from_le_bytes)
    }

    pub(crate) fn int(self, field: usize) -> Result<i32> {
        self.number(field).map(i32::from_le_bytes)
    }

    pub(crate) fn long(self, field: usize) -> Result<i64> {
        self.number(field).map(i64::from_le_bytes)
    }

    pub(crate) fn table(self, field: usize) -> Result<Option<Table<'a>>> {
        self.follow(field)?.map(|place| self.buffer.table(place)).transpose()
    }

    /// Empty where it is not there.
    pub(crate) fn text(self, field: usize) -> Result<&'a str> {
        let Some(place) = self.follow(field)? else { return Ok("") };
        str::from_utf8(self.buffer.vector(place, 1)?).map_err(|_| Malformed)
    }

    /// None where it is not there.
    pub(crate) fn tables(self, field: usize) -> Result<impl Iterator<Item = Result<Table<'a>>>> {
        let first = self.follow(field)?;
        let length = first.map_or(Ok(0), |place| Ok(self.buffer.vector(place, 4)?.len()))?;
        let offsets = first.map_or(0, |place| place + 4);
        Ok((offsets..offsets + length)
            .step_by(4)
            .map(move |place| self.buffer.table(self.buffer.follow(place)?)))
    }

    /// A vector of structures of two whole numbers.
    pub(crate) fn pairs(
        self,
        field: usize,
    ) -> Result<impl ExactSizeIterator<Item = (i64, i64)> + Clone> {
        let place = self.follow(field)?;
        let bytes = place.map_or(Ok(&[][..]), |place| self.buffer.vector(place, 16))?;
        let (pairs, _) = bytes.as_chunks().0.as_chunks();
        Ok(pairs.iter().map(|[one, other]| (i64::from_le_bytes(*one), i64::from_le_bytes(*other))))
    }
}

/// The value of a field of a table that is built.
#[derive(Clone, Copy)]
pub(crate) enum Value {
    Byte(u8),
    Short(i16),
    Int(i32),
    Long(i64),
    At(Place),
}

/// Where something stands that a table or a vector can lead to: so many bytes before the end.
#[derive(Clone, Copy)]
pub(crate) struct Place(usize);

/// Builds a buffer from its end, because what is led to stands behind what leads there.
#[derive(Default)]
pub(crate) struct Builder {
    backwards: Vec<u8>,
    /// Layouts of tables, and where each stands: tables of the same layout share it.
    layouts: Vec<(Vec<u8>, usize)>,
    alignment: usize,
}

impl Builder {
    /// Pads, so that after so many bytes more there is a multiple of this.
    fn align(&mut self, length: usize, alignment: usize) {
        self.alignment = self.alignment.max(alignment);
        let end = (self.backwards.len() + length).next_multiple_of(alignment);
        self.backwards.resize(end - length, 0);
    }

    fn push(&mut self, bytes: &[u8]) {
        self.backwards.extend(bytes.iter().rev());
    }

    fn push_number(&mut self, bytes: &[u8]) {
        self.align(bytes.len(), bytes.len());
        self.push(bytes);
    }

    fn push_size(&mut self, size: usize) -> Place {
        self.push_number(&u32::try_from(size).unwrap_or(u32::MAX).to_le_bytes());
        Place(self.backwards.len())
    }

    fn push_offset(&mut self, to: Place) {
        self.align(4, 4);
        self.push_size(self.backwards.len() + 4 - to.0);
    }

    pub(crate) fn text(&mut self, text: &str) -> Place {
        self.align(text.len() + 1, 4);
        self.push(&[0]);
        self.push(text.as_bytes());
        self.push_size(text.len())
    }

    pub(crate) fn tables(&mut self, tables: &[Place]) -> Place {
        self.align(4 * tables.len(), 4);
        tables.iter().rev().for_each(|table| self.push_offset(*table));
        self.push_size(tables.len())
    }

    pub(crate) fn pairs(&mut self, pairs: &[(i64, i64)]) -> Place {
        self.align(16 * pairs.len(), 8);
        for (one, other) in pairs.iter().rev() {
            self.push(&other.to_le_bytes());
            self.push(&one.to_le_bytes());
        }
        self.push_size(pairs.len())
    }

    /// A table of these fields, each with its number; the last stands first.
    pub(crate) fn table(&mut self, fields: &[(usize, Value)]) -> Place {
        let tail = self.backwards.len();
        let fields: Vec<(usize, usize)> = fields
            .iter()
            .map(|(number, value)| {
                match value {
                    Value::Byte(value) => self.push_number(&value.to_le_bytes()),
                    Value::Short(value) => self.push_number(&value.to_le_bytes()),
                    Value::Int(value) => self.push_number(&value.to_le_bytes()),
                    Value::Long(value) => self.push_number(&value.to_le_bytes()),
                    Value::At(place) => self.push_offset(*place),
                }
                (*number, self.backwards.len())
            })
            .collect();
        self.align(4, 4);
        let place = self.backwards.len() + 4;
        let mut offsets = vec![0; fields.iter().map(|(number, _)| number + 1).max().unwrap_or(0)];
        fields.iter().for_each(|(number, field)| offsets[*number] = place - field);
        let layout: Vec<u8> = [2 * (offsets.len() + 2), place - tail]
            .iter()
            .chain(&offsets)
            .flat_map(|number| u16::try_from(*number).unwrap_or(u16::MAX).to_le_bytes())
            .collect();
        let known = self.layouts.iter().find(|(known, _)| *known == layout);
        let (at, is_new) = known.map_or((place + layout.len(), true), |(_, at)| (*at, false));
        // To the front, or to the back where it stands behind the table.
        let back = at.cast_signed() - place.cast_signed();
        self.push(&i32::try_from(back).unwrap_or(i32::MAX).to_le_bytes());
        if is_new {
            self.push(&layout);
            self.layouts.push((layout, at));
        }
        Place(place)
    }

    /// The buffer, with this table as its root.
    pub(crate) fn finish(mut self, root: Place) -> Vec<u8> {
        self.align(4, self.alignment);
        self.push_offset(root);
        self.backwards.reverse();
        self.backwards
    }
}

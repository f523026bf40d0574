// SPDX-License-Identifier: MIT OR Apache-2.0
//! How the fields of an event lie in memory, as its `format` file says. They differ between kernels
//! and processors.

/// The layout of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Format {
    /// Its number, which is the first field of each event.
    pub id: u16,
    fields: Vec<(String, Field)>,
    texts: Vec<(String, TextField)>,
}

/// Where a text lies: in so many bytes of the event, or somewhere behind, which a number says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextField {
    Fixed { offset: usize, size: usize },
    Elsewhere(Field),
}

/// Where a whole number lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    offset: usize,
    size: usize,
    is_signed: bool,
}

impl Format {
    /// Reads a `format` file; none if it is not one.
    pub fn parse(text: &str) -> Option<Self> {
        let id = text.lines().find_map(|line| line.strip_prefix("ID:"))?.trim().parse().ok()?;
        let fields = text
            .lines()
            .filter_map(|line| line.trim().strip_prefix("field:"))
            .filter_map(field)
            .collect();
        let texts = text
            .lines()
            .filter_map(|line| line.trim().strip_prefix("field:"))
            .filter_map(text_field)
            .collect();
        Some(Format { id, fields, texts })
    }

    /// A field that is a text.
    pub fn text(&self, name: &str) -> Option<TextField> {
        self.texts.iter().find(|(known, _)| known == name).map(|(_, field)| *field)
    }

    /// A field that is a whole number.
    pub fn field(&self, name: &str) -> Option<Field> {
        self.fields
            .iter()
            .find(|(known, field)| known == name && matches!(field.size, 1 | 2 | 4 | 8))
            .map(|(_, field)| *field)
    }
}

fn field(text: &str) -> Option<(String, Field)> {
    let mut parts = text.split(';').map(str::trim);
    let declared = parts.next()?;
    let mut value =
        |key: &str| parts.next()?.strip_prefix(key)?.strip_prefix(':')?.parse::<usize>().ok();
    let (offset, size, is_signed) = (value("offset")?, value("size")?, value("signed")? == 1);
    let name = declared.rsplit([' ', '*']).next()?;
    Some((name.split('[').next()?.to_owned(), Field { offset, size, is_signed }))
}

fn text_field(text: &str) -> Option<(String, TextField)> {
    let declared = text.split(';').next()?;
    let (name, field) = field(text)?;
    let field = if declared.starts_with("__data_loc char[]") {
        TextField::Elsewhere(field)
    } else if declared.starts_with("char ") && declared.ends_with(']') {
        TextField::Fixed { offset: field.offset, size: field.size }
    } else {
        return None;
    };
    Some((name, field))
}

impl TextField {
    /// Its bytes in an event, up to the first 0. None where the event is shorter.
    pub fn of(self, event: &[u8]) -> Option<&[u8]> {
        let (offset, size) = match self {
            TextField::Fixed { offset, size } => (offset, size),
            // Of 32 bits, half says where and half how long.
            TextField::Elsewhere(place) => {
                let place = u32::try_from(place.of(event)? & 0xffff_ffff).ok()?;
                (usize::try_from(place & 0xffff).ok()?, usize::try_from(place >> 16).ok()?)
            }
        };
        let bytes = event.get(offset..offset.checked_add(size)?)?;
        bytes.split(|byte| *byte == 0).next()
    }
}

impl Field {
    /// Its value in an event; of an unsigned one of 64 bits, the same bits. None where the event is
    /// shorter.
    pub fn of(self, event: &[u8]) -> Option<i64> {
        let bytes = event.get(self.offset..self.offset.checked_add(self.size)?)?;
        let join = |bits: u64, byte: &u8| bits << 8 | u64::from(*byte);
        let bits = if cfg!(target_endian = "big") {
            bytes.iter().fold(0, join)
        } else {
            bytes.iter().rev().fold(0, join)
        };
        // To the top and back, by which the sign is spread.
        let unused = u64::BITS - u32::try_from(8 * bytes.len()).ok()?;
        let top = bits << unused;
        Some(if self.is_signed { top.cast_signed() >> unused } else { bits.cast_signed() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "name: hrtimer_start\nID: 297\nformat:\n\tfield:unsigned short \
                        common_type;\toffset:0;\tsize:2;\tsigned:0;\n\tfield:int \
                        common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n\tfield:void * \
                        hrtimer;\toffset:8;\tsize:8;\tsigned:0;\n\tfield:char \
                        comm[16];\toffset:16;\tsize:16;\tsigned:0;\n\nprint fmt: \"x\", \
                        REC->hrtimer\n";

    #[test]
    fn fields_of_an_event() {
        let format = Format::parse(TEXT).unwrap();
        let mut event = [0_u8; 32];
        event[4..8].copy_from_slice(&(-5_i32).to_ne_bytes());
        event[8..16].copy_from_slice(&u64::MAX.to_ne_bytes());
        let of = |name| format.field(name).and_then(|field| field.of(&event));
        assert_eq!((format.id, of("common_pid"), of("hrtimer")), (297, Some(-5), Some(-1)));
        assert_eq!(
            (of("comm"), of("nosuch"), format.field("hrtimer").unwrap().of(&event[..12])),
            (None, None, None)
        );
        assert_eq!(Format::parse("name: x\n"), None);
    }

    #[test]
    fn texts_of_an_event() {
        let format = Format::parse(
            "ID: 5\n\tfield:char comm[4];\toffset:8;\tsize:4;\tsigned:0;\n\tfield:__data_loc \
             char[] name;\toffset:12;\tsize:4;\tsigned:0;\n\tfield:int \
             irq;\toffset:0;\tsize:4;\tsigned:1;\n",
        )
        .unwrap();
        let mut event = *b"........ab\0x....eth0\0";
        event[12..16].copy_from_slice(&(16_u32 | 5 << 16).to_ne_bytes());
        let of = |name, event: &[u8]| format.text(name)?.of(event).map(<[u8]>::to_vec);
        assert_eq!(of("comm", &event), Some(b"ab".to_vec()));
        assert_eq!(of("name", &event), Some(b"eth0".to_vec()));
        // What an event says of itself is not believed.
        event[12..16].copy_from_slice(&(16_u32 | 50 << 16).to_ne_bytes());
        assert_eq!((of("name", &event), of("irq", &event)), (None, None));
    }
}

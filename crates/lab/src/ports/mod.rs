// SPDX-License-Identifier: MIT OR Apache-2.0
//! The guest's side of a snapshot: stopping the machine at an instruction of its own choice, and
//! reading the order afterwards.
//!
//! Both have to happen between two instructions and nowhere else. A serial line or a disk delivers
//! when the host gets to it. An I/O port of QEMU answers within the instruction that asks. Of a PC
//! only: other machines have no I/O ports.
//!
//! The configuration device is described in QEMU's documentation (docs/specs/fw_cfg.rst), the other
//! in docs/specs/pvpanic.rst.

#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "instructions for I/O ports; see the file's head")]
mod sys;

use std::io;

/// What the host calls the file with the order.
pub(crate) const ORDER_FILE: &str = "opt/teiji/order";

/// Stops the machine. It continues in another emulator, or in the same once it has been saved. What
/// the machine's clock skipped meanwhile: nothing, or the emulator found time to skip to the next
/// timer between the guest's stop and its own.
#[cfg(target_arch = "x86_64")]
pub(crate) fn stop() -> io::Result<u64> {
    const PANICKED: u8 = 1;
    let ports = sys::Ports::allow()?;
    // An event of nothing, as a measure; by the second time no page is missing.
    ports.panic(0);
    let usual = ports.panic(0);
    Ok(ports.panic(PANICKED).abs_diff(usual))
}

/// Whether [`stop`] may be called at all.
#[cfg(target_arch = "x86_64")]
pub(crate) fn can_stop() -> io::Result<()> {
    sys::Ports::allow().map(|_| ())
}

/// The bytes of the order.
#[cfg(target_arch = "x86_64")]
pub(crate) fn order() -> io::Result<Vec<u8>> {
    let ports = sys::Ports::allow()?;
    file(ORDER_FILE, &mut |item| ports.select(item), &mut || ports.next())
        .ok_or_else(|| io::Error::other(format!("QEMU gives no file {ORDER_FILE}")))
}

/// Writes this file over the machine's memory at each of these addresses, the kernel's own among
/// them. QEMU translates anew what it had translated of it.
#[cfg(target_arch = "x86_64")]
pub(crate) fn write_memory(name: &str, places: &[u64]) -> io::Result<()> {
    let ports = sys::Ports::allow_memory_access()?;
    let none = || io::Error::other(format!("QEMU gives no file {name}"));
    let (item, size) =
        find(name, &mut |item| ports.select(item), &mut || ports.next()).ok_or_else(none)?;
    places.iter().try_for_each(|place| ports.write_memory(item, size, *place))
}

#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn stop() -> io::Result<u64> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn can_stop() -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn order() -> io::Result<Vec<u8>> {
    Err(io::ErrorKind::Unsupported.into())
}

/// The item that lists the files.
#[cfg(any(test, target_arch = "x86_64"))]
const DIRECTORY: u16 = 0x19;
/// Bytes of a file's name, zeros after it.
#[cfg(any(test, target_arch = "x86_64"))]
const NAME: usize = 56;

/// Reads a file of the configuration device. Its directory is a count, and for each file its size,
/// its item, two bytes without meaning, and its name; numbers have their highest byte first.
#[cfg(any(test, target_arch = "x86_64"))]
fn file(
    name: &str,
    select: &mut impl FnMut(u16),
    next: &mut impl FnMut() -> u8,
) -> Option<Vec<u8>> {
    let (item, size) = find(name, select, next)?;
    select(item);
    Some((0..size).map(|_| next()).collect())
}

/// The item of a file of the configuration device, and its size in bytes.
#[cfg(any(test, target_arch = "x86_64"))]
fn find(
    name: &str,
    select: &mut impl FnMut(u16),
    next: &mut impl FnMut() -> u8,
) -> Option<(u16, u32)> {
    let number = |bytes: u32, next: &mut dyn FnMut() -> u8| {
        (0..bytes).fold(0_u32, |value, _| value << 8 | u32::from(next()))
    };
    select(DIRECTORY);
    let count = number(4, next);
    for _ in 0..count {
        let size = number(4, next);
        let item = u16::try_from(number(2, next)).ok()?;
        number(2, next);
        let named: Vec<u8> = (0..NAME).map(|_| next()).collect();
        if named.split(|byte| *byte == 0).next() == Some(name.as_bytes()) {
            return Some((item, size));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// A configuration device with these files, items from 0x20.
    fn read(files: &[(&str, &[u8])], name: &str) -> Option<Vec<u8>> {
        let mut directory = u32::try_from(files.len()).unwrap().to_be_bytes().to_vec();
        for (index, (name, content)) in files.iter().enumerate() {
            directory.extend(u32::try_from(content.len()).unwrap().to_be_bytes());
            directory.extend(u16::try_from(0x20 + index).unwrap().to_be_bytes());
            directory.extend([0, 0]);
            let mut padded = name.as_bytes().to_vec();
            padded.resize(NAME, 0);
            directory.extend(padded);
        }
        let (item, place) = (Cell::new(0_u16), Cell::new(0_usize));
        let mut select = |selected| {
            item.set(selected);
            place.set(0);
        };
        let mut next = || {
            let content = if item.get() == DIRECTORY {
                &directory[..]
            } else {
                files[usize::from(item.get()) - 0x20].1
            };
            place.set(place.get() + 1);
            content.get(place.get() - 1).copied().unwrap_or(0)
        };
        file(name, &mut select, &mut next)
    }

    #[test]
    fn a_file_is_found_by_its_whole_name() {
        let files: [(&str, &[u8]); 3] =
            [("etc/e820", &[1; 20]), ("opt/teiji/order-2", b"no"), (ORDER_FILE, b"{}\xff")];
        assert_eq!(read(&files, ORDER_FILE).as_deref(), Some(&b"{}\xff"[..]));
        assert_eq!(read(&files[..2], ORDER_FILE), None);
        assert_eq!(read(&[], ORDER_FILE), None);
    }
}

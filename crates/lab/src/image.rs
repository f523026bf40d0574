// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a kernel image is, from its own header: its processor, and whether all of it is there. An
//! emulator given the wrong one or half of one hangs without a message, so this is checked first.
//!
//! Sources: Documentation/arch/x86/boot.rst, Documentation/arch/arm64/booting.rst and the head of
//! arch/arm's zImage; for images that are also EFI programs, the section table of the PE format.

use crate::file_error::FileError;
use plan::Machine;
use std::fs;
use std::path::{Path, PathBuf};

/// The processor a kernel is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Processor {
    /// 64-bit PC.
    X86_64,
    /// 64-bit ARM.
    Arm64,
    /// 32-bit ARM.
    Arm,
}

impl Processor {
    pub(crate) const fn for_machine(machine: Machine) -> Self {
        match machine {
            Machine::X86_64 => Processor::X86_64,
            Machine::Aarch64 | Machine::Raspi3b => Processor::Arm64,
            Machine::Armv7 => Processor::Arm,
        }
    }

    pub const fn name(self) -> &'static str {
        match self {
            Processor::X86_64 => "x86_64",
            Processor::Arm64 => "aarch64",
            Processor::Arm => "32-bit ARM",
        }
    }
}

/// Why a file is not a bootable kernel.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    #[error(transparent)]
    File(#[from] FileError),
    #[error("{} is not a bootable kernel: {what}", path.display())]
    Unknown { path: PathBuf, what: &'static str },
    /// A part of it is missing.
    #[error(
        "the kernel {} is truncated: its header says {needed} bytes, but it has {length}. \
         Copy it again",
        path.display(),
    )]
    Truncated { path: PathBuf, needed: u64, length: u64 },
    /// It is for another processor.
    #[error(
        "the kernel {} is for {}, and the machine {machine} has {}: {}",
        path.display(), found.name(), Processor::for_machine(*machine).name(), remedy(*found)
    )]
    OtherProcessor { path: PathBuf, found: Processor, machine: Machine },
}

fn remedy(found: Processor) -> &'static str {
    match found {
        Processor::X86_64 => "use --machine x86_64",
        Processor::Arm64 => "use --machine aarch64 or raspi3b",
        Processor::Arm => "use --machine armv7",
    }
}

/// Reads the image of a kernel for this machine.
///
/// # Errors
/// When it is none, none for this machine, or not a whole one.
pub fn read(path: &Path, machine: Machine) -> Result<Vec<u8>, ImageError> {
    let bytes = fs::read(path).map_err(FileError::of("read the kernel", path))?;
    let found = inspect_image(&bytes).map_err(|wrong| match wrong {
        Wrong::Unknown(what) => ImageError::Unknown { path: path.to_owned(), what },
        Wrong::Truncated { needed } => {
            ImageError::Truncated { path: path.to_owned(), needed, length: bytes.len() as u64 }
        }
    })?;
    if found != Processor::for_machine(machine) {
        return Err(ImageError::OtherProcessor { path: path.to_owned(), found, machine });
    }
    Ok(bytes)
}

/// What is wrong with bytes that are no image.
#[derive(Debug, PartialEq, Eq)]
pub enum Wrong {
    /// Something else; what it is.
    Unknown(&'static str),
    Truncated {
        needed: u64,
    },
}

/// Reads an image's header: the processor that it is for.
///
/// # Errors
/// When it is none, or not a whole one.
pub fn inspect_image(bytes: &[u8]) -> Result<Processor, Wrong> {
    if bytes.is_empty() {
        return Err(Wrong::Unknown("it is empty"));
    }
    if bytes.starts_with(b"\x7fELF") {
        return Err(Wrong::Unknown(
            "it is an ELF file, as a vmlinux is. Give the bzImage or Image made from it",
        ));
    }
    if bytes.starts_with(&[0x1f, 0x8b]) {
        return Err(Wrong::Unknown(
            "it is compressed with gzip, as an Image.gz is. Unpack it with gunzip",
        ));
    }
    if at(bytes, 4, *b"zimg") {
        return Err(Wrong::Unknown(
            "it is a compressed EFI image, which QEMU 7 cannot unpack. Give the Image inside",
        ));
    }
    if at(bytes, 0x202, *b"HdrS") {
        pc(bytes)
    } else if at(bytes, 56, *b"ARM\x64") {
        let needed = efi_size(bytes).unwrap_or(64);
        check_length(bytes, needed).map(|()| Processor::Arm64)
    } else if number(bytes, 0x24, 4) == Some(0x016f_2818) {
        let span = number(bytes, 0x2c, 4)
            .zip(number(bytes, 0x28, 4))
            .and_then(|(end, start)| end.checked_sub(start));
        let needed = span.ok_or(Wrong::Unknown("the header of its zImage is invalid"))?;
        check_length(bytes, needed).map(|()| Processor::Arm)
    } else {
        Err(Wrong::Unknown(
            "it has the header of neither a bzImage (x86_64), an Image (aarch64) nor a zImage \
             (32-bit ARM)",
        ))
    }
}

/// Setup code, then the kernel proper in units of 16 bytes.
fn pc(bytes: &[u8]) -> Result<Processor, Wrong> {
    let sectors =
        bytes.get(0x1f1).map_or(4, |sectors| if *sectors == 0 { 4 } else { u64::from(*sectors) });
    let needed = (sectors + 1) * 512 + number(bytes, 0x1f4, 4).unwrap_or(0) * 16;
    check_length(bytes, needed)?;
    // Where the kernel can be entered in 64-bit mode.
    if number(bytes, 0x236, 2).is_none_or(|flags| flags & 1 == 0) {
        return Err(Wrong::Unknown("it is for 32-bit PCs"));
    }
    Ok(Processor::X86_64)
}

/// Where the last section of a PE program ends.
fn efi_size(bytes: &[u8]) -> Option<u64> {
    if !bytes.starts_with(b"MZ") {
        return None;
    }
    let pe = usize::try_from(number(bytes, 0x3c, 4)?).ok()?;
    if !at(bytes, pe, *b"PE\0\0") {
        return None;
    }
    let sections = usize::try_from(number(bytes, pe + 6, 2)?).ok()?;
    let table = pe + 24 + usize::try_from(number(bytes, pe + 20, 2)?).ok()?;
    let end = |section: usize| {
        let entry = table + section * 40;
        Some(number(bytes, entry + 16, 4)? + number(bytes, entry + 20, 4)?)
    };
    (0..sections).map(end).collect::<Option<Vec<u64>>>()?.into_iter().max()
}

fn check_length(bytes: &[u8], needed: u64) -> Result<(), Wrong> {
    if (bytes.len() as u64) < needed { Err(Wrong::Truncated { needed }) } else { Ok(()) }
}

fn at<const N: usize>(bytes: &[u8], offset: usize, expected: [u8; N]) -> bool {
    bytes.get(offset..).is_some_and(|rest| rest.starts_with(&expected))
}

/// So many bytes, little endian.
pub(crate) fn number(bytes: &[u8], offset: usize, length: usize) -> Option<u64> {
    let field = bytes.get(offset..)?.get(..length)?;
    Some(field.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn put(bytes: &mut [u8], offset: usize, value: &[u8]) {
        bytes[offset..offset + value.len()].copy_from_slice(value);
    }

    fn bz_image() -> Vec<u8> {
        let mut bytes = vec![0; 2 * 512 + 64 * 16];
        bytes[0x1f1] = 1;
        put(&mut bytes, 0x1f4, &64_u32.to_le_bytes());
        put(&mut bytes, 0x202, b"HdrS");
        put(&mut bytes, 0x236, &0x3f_u16.to_le_bytes());
        bytes
    }

    fn arm64_image() -> Vec<u8> {
        let mut bytes = vec![0; 4_096];
        put(&mut bytes, 0, b"MZ");
        put(&mut bytes, 56, b"ARM\x64");
        put(&mut bytes, 0x3c, &64_u32.to_le_bytes());
        put(&mut bytes, 64, b"PE\0\0");
        put(&mut bytes, 70, &1_u16.to_le_bytes());
        put(&mut bytes, 84, &160_u16.to_le_bytes());
        put(&mut bytes, 64 + 24 + 160 + 16, &3_000_u32.to_le_bytes());
        put(&mut bytes, 64 + 24 + 160 + 20, &1_096_u32.to_le_bytes());
        bytes
    }

    fn z_image() -> Vec<u8> {
        let mut bytes = vec![0; 1_000];
        put(&mut bytes, 0x24, &0x016f_2818_u32.to_le_bytes());
        put(&mut bytes, 0x2c, &1_000_u32.to_le_bytes());
        bytes
    }

    #[test]
    fn each_kind_is_known() {
        assert_eq!(inspect_image(&bz_image()), Ok(Processor::X86_64));
        assert_eq!(inspect_image(&arm64_image()), Ok(Processor::Arm64));
        assert_eq!(inspect_image(&z_image()), Ok(Processor::Arm));
    }

    #[test]
    fn a_missing_last_byte_is_noticed() {
        for whole in [bz_image(), arm64_image(), z_image()] {
            let needed = whole.len() as u64;
            assert_eq!(inspect_image(&whole[..whole.len() - 1]), Err(Wrong::Truncated { needed }));
        }
    }

    #[test]
    fn what_is_no_kernel_is_named() {
        let what = |bytes: &[u8]| match inspect_image(bytes) {
            Err(Wrong::Unknown(what)) => what,
            other => panic!("{other:?}"),
        };
        assert!(what(b"").contains("empty"));
        assert!(what(b"\x7fELF and so on").contains("vmlinux"));
        assert!(what(&[0x1f, 0x8b, 8]).contains("gunzip"));
        assert!(what(b"MZ\0\0zimg").contains("EFI"));
        assert!(what(b"#!/bin/sh\n").contains("neither"));
        let mut old = bz_image();
        put(&mut old, 0x236, &[0, 0]);
        assert!(what(&old).contains("32-bit"));
    }

    #[test]
    fn another_processor_says_which_machine_fits() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("Image");
        fs::write(&path, arm64_image()).unwrap();
        let error = read(&path, Machine::X86_64).unwrap_err().to_string();
        assert!(
            error.ends_with(
                "is for aarch64, and the machine x86_64 has x86_64: use --machine aarch64 or \
                 raspi3b"
            ),
            "{error}"
        );
        assert!(read(&path, Machine::Raspi3b).is_ok());
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(
            start in 0_usize..3,
            at in 0_usize..400,
            value in prop::collection::vec(any::<u8>(), 1..8),
        ) {
            let mut bytes = [bz_image(), arm64_image(), z_image()][start].clone();
            put(&mut bytes, at, &value);
            let _ = inspect_image(&bytes);
            let _ = inspect_image(&bytes[..at + 1]);
        }
    }
}

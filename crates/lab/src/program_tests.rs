// SPDX-License-Identifier: MIT OR Apache-2.0
use super::*;

pub(crate) fn elf(class: u8, processor: u16, segment: u32) -> Vec<u8> {
    let mut bytes = vec![0; 128];
    bytes[..4].copy_from_slice(b"\x7fELF");
    bytes[4] = class;
    bytes[18..20].copy_from_slice(&processor.to_le_bytes());
    let (table, entry, count) = if class == 2 { (32, 54, 56) } else { (28, 42, 44) };
    bytes[table] = 64;
    bytes[entry] = 32;
    bytes[count] = 1;
    bytes[64..68].copy_from_slice(&segment.to_le_bytes());
    bytes
}

#[test]
fn programs_for_guests_lie_next_to_an_installed_one() {
    let all = candidates(Path::new("/usr/local/bin/teiji"), "aarch64-unknown-linux-musl");
    for path in [
        "/usr/local/bin/teiji-aarch64-unknown-linux-musl",
        "/usr/local/lib/teiji/teiji-aarch64-unknown-linux-musl",
    ] {
        assert!(all.contains(&PathBuf::from(path)), "{all:?}");
    }
    assert_eq!(all[0], Path::new("/usr/local/bin/teiji"));
}

#[test]
fn static_programs_for_the_processor_fit() {
    assert_eq!(check(&elf(2, 62, 1), Machine::X86_64), Ok(()));
    assert_eq!(check(&elf(2, 183, 1), Machine::Raspi3b), Ok(()));
    assert_eq!(check(&elf(1, 40, 1), Machine::Armv7), Ok(()));
    assert!(check(&elf(2, 62, 3), Machine::X86_64).unwrap_err().contains("not static"));
    assert!(check(&elf(2, 62, 1), Machine::Aarch64).unwrap_err().contains("another processor"));
    assert!(check(b"#!/bin/sh", Machine::X86_64).unwrap_err().contains("not an ELF"));
    assert!(check(&elf(2, 62, 1)[..60], Machine::X86_64).is_err());
}

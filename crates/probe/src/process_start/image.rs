// SPDX-License-Identifier: MIT OR Apache-2.0
//! A static program of a few instructions as an ELF file: no linker, no interpreter, one segment.
//! An exec of it costs the kernel's own work and little else.

/// Where the file is mapped: above any `vm.mmap_min_addr`, and a multiple of any page size.
const ADDRESS: usize = 0x40_0000;
/// The largest page size of the supported processors.
const ALIGNMENT: usize = 0x1_0000;

const IS_64_BIT: bool = size_of::<usize>() == 8;
/// Bytes of an ELF header and of a program header.
const HEADER: u16 = if IS_64_BIT { 64 } else { 52 };
const PROGRAM_HEADER: u16 = if IS_64_BIT { 56 } else { 32 };
/// The segment that is loaded, and the word that the stack need not be executable.
const PROGRAM_HEADERS: u16 = 2;
const CODE: usize = HEADER as usize + (PROGRAM_HEADERS * PROGRAM_HEADER) as usize;

/// The processor's number, and the flags its kernels check or its tools expect
/// (include/uapi/linux/elf-em.h).
#[cfg(target_arch = "x86_64")]
const MACHINE: (u16, u32) = (62, 0);
#[cfg(target_arch = "aarch64")]
const MACHINE: (u16, u32) = (183, 0);
/// Version 5 of the ABI: the kernel refuses to run a program of an unknown one.
#[cfg(target_arch = "arm")]
const MACHINE: (u16, u32) = (40, 0x0500_0000);
/// Compressed instructions, double-precision floats.
#[cfg(target_arch = "riscv64")]
const MACHINE: (u16, u32) = (243, 0x5);

const READ: u32 = 4;
const WRITE: u32 = 2;
const EXECUTE: u32 = 1;

/// The file. Execution begins at the first byte of the code.
pub(super) fn image(code: &[u8]) -> Vec<u8> {
    let length = CODE + code.len();
    let mut file = File(Vec::with_capacity(length));
    file.bytes(&[
        0x7f,
        b'E',
        b'L',
        b'F',
        if IS_64_BIT { 2 } else { 1 },
        if cfg!(target_endian = "little") { 1 } else { 2 },
        1,
    ]);
    file.bytes(&[0; 9]);
    // An executable at a fixed address.
    file.half(2);
    file.half(MACHINE.0);
    file.int(1);
    file.word(ADDRESS + CODE);
    file.word(HEADER.into());
    // No sections.
    file.word(0);
    file.int(MACHINE.1);
    [HEADER, PROGRAM_HEADER, PROGRAM_HEADERS, 0, 0, 0].into_iter().for_each(|half| file.half(half));
    file.program_header(1, READ | EXECUTE, ADDRESS, length, ALIGNMENT);
    // PT_GNU_STACK.
    file.program_header(0x6474_e551, READ | WRITE, 0, 0, 16);
    file.bytes(code);
    file.0
}

/// Bytes in the order of this processor.
struct File(Vec<u8>);

impl File {
    fn bytes(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    fn half(&mut self, value: u16) {
        self.bytes(&value.to_ne_bytes());
    }

    fn int(&mut self, value: u32) {
        self.bytes(&value.to_ne_bytes());
    }

    fn word(&mut self, value: usize) {
        self.bytes(&value.to_ne_bytes());
    }

    /// The flags have another place in 64 bits, where they fill what alignment would leave empty.
    fn program_header(
        &mut self,
        kind: u32,
        flags: u32,
        address: usize,
        length: usize,
        alignment: usize,
    ) {
        self.int(kind);
        if IS_64_BIT {
            self.int(flags);
        }
        let offset = 0;
        [offset, address, address, length, length].into_iter().for_each(|word| self.word(word));
        if !IS_64_BIT {
            self.int(flags);
        }
        self.word(alignment);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_code_stands_where_the_header_says() {
        let file = image(&[0xaa; 8]);
        assert_eq!((file.len(), &file[CODE..]), (CODE + 8, &[0xaa; 8][..]));
        let entry = usize::from_ne_bytes(file[24..24 + size_of::<usize>()].try_into().unwrap());
        assert_eq!(entry - ADDRESS, CODE);
        // Instructions of four bytes.
        assert_eq!(entry % 4, 0);
    }
}

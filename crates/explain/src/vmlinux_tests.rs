// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lines of two files as a kernel's build would leave them, with three functions. They are what the
//! fuzzer begins with, too.
//!
//! `init/main.c` has a line for each of these: `called` ends at line 11, `start_kernel` calls it at
//! line 16, and at line 17 it has the function `inlined`, of line 6. `gcc -g -O1 -fno-pic -no-pie
//! -nostdlib -static -mcmodel=kernel -Wl,-Ttext=0xffffffff81000000`, with `-gz=zlib` for the second
//! one.

use crate::Vmlinux;
use model::{Inlined, Source};
use std::io::Cursor;

const SMALL: &[u8] = include_bytes!("../../../fuzz/corpus/vmlinux/small");
const COMPRESSED: &[u8] = include_bytes!("../../../fuzz/corpus/vmlinux/compressed");
const CALLED: u64 = 0xffff_ffff_8100_0000;
const START_KERNEL: u64 = CALLED + 6;
const START: u64 = CALLED + 0x1a;

fn vmlinux(bytes: &[u8]) -> Vmlinux {
    Vmlinux::read(Cursor::new(bytes)).unwrap()
}

/// What a guest with this kernel would list, and a module with a function of the same name.
fn kallsyms(moved: u64) -> String {
    let lines =
        [(CALLED, "t called"), (START_KERNEL, "T start_kernel"), (START + moved, "T _start")];
    let lines: String =
        lines.iter().map(|(address, name)| format!("{address:016x} {name}\n")).collect();
    lines
        + "ffffffff82000000 D _start\nffffffff81000030 t another\nffffffffc0000000 t \
           called\t[some]\n"
}

#[test]
fn an_address_has_its_line_and_what_was_inlined() {
    for bytes in [SMALL, COMPRESSED] {
        let vmlinux = vmlinux(bytes);
        let lines = vmlinux.lines().unwrap();
        let at = |line, inlined: &[Inlined]| {
            Some(Source { file: "init/main.c".to_owned(), line, inlined: inlined.to_vec() })
        };
        assert_eq!(lines.find(CALLED + 2), at(11, &[]));
        // The call itself, as it is found from where it returns to.
        assert_eq!(lines.find(START_KERNEL + 4), at(16, &[]));
        let inlined =
            Inlined { function: "inlined".to_owned(), file: "init/main.c".to_owned(), line: 6 };
        assert_eq!(lines.find(START_KERNEL + 8), at(17, &[inlined]));
        assert_eq!(
            [lines.find(START + 2), lines.find(0), lines.find(u64::MAX)],
            [None, None, None]
        );
    }
}

#[test]
fn only_the_kernel_with_the_same_functions_is_accepted() {
    let vmlinux = vmlinux(SMALL);
    vmlinux.check(&kallsyms(0)).unwrap();
    // A single one is enough.
    let moved = vmlinux.check(&kallsyms(16)).unwrap_err();
    assert_eq!(
        moved.to_string(),
        "not the guest's kernel: 1 of 3 functions have another address, for example _start: \
         0xffffffff8100001a in the file, 0xffffffff8100002a in the guest"
    );
    let other =
        vmlinux.check("ffffffff81000000 t called\nffffffff81000006 t resume_kernel\n").unwrap_err();
    assert_eq!(
        other.to_string(),
        "not the guest's kernel: of the file's 3 functions the guest has 1"
    );
}

fn error(bytes: &[u8]) -> String {
    Vmlinux::read(Cursor::new(bytes)).err().map_or_else(String::new, |error| error.to_string())
}

/// With one text replaced by another of the same length.
fn replaced(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let place = bytes.windows(from.len()).position(|at| at == from).unwrap();
    bytes[place..place + to.len()].copy_from_slice(to);
    bytes
}

#[test]
fn what_is_no_vmlinux_or_lacks_lines_says_why() {
    assert!(error(b"").starts_with("not a vmlinux"));
    assert!(
        error(b"MZ a compressed kernel, which begins as programs of another system do")
            .starts_with("not a vmlinux")
    );
    assert!(
        error(&SMALL[..SMALL.len() - 1]).starts_with("not a vmlinux"),
        "its table of sections is at its end"
    );
    let mut other = SMALL.to_vec();
    other[18] = 183;
    assert!(error(&other).starts_with("not a vmlinux"), "for aarch64");
    assert!(
        error(&replaced(SMALL, b".debug_line\0", b".debug_xxxx\0"))
            .starts_with("no debug information in it")
    );
    assert!(
        error(&replaced(SMALL, b".debug_info\0", b".debug_xxxx\0"))
            .starts_with("no debug information in it")
    );
    // As compressed by another method, of which the header in front of a section tells.
    let zlib = [1_u32, 0].map(u32::to_le_bytes).concat();
    let place =
        COMPRESSED.windows(25).position(|at| at.starts_with(&zlib) && at[24] == 0x78).unwrap();
    let mut zstd = COMPRESSED.to_vec();
    zstd[place] = 2;
    assert!(error(&zstd).contains("objcopy --decompress-debug-sections"), "{}", error(&zstd));
}

/// Bytes that were changed are refused, or give wrong lines, and nothing else happens.
#[test]
fn damage_is_refused_or_harmless() {
    for original in [SMALL, COMPRESSED] {
        for place in 0..original.len() {
            let mut bytes = original.to_vec();
            bytes[place] ^= [1, 0x80, 0xff][place % 3];
            if let Ok(damaged) = Vmlinux::read(Cursor::new(bytes)) {
                let _ = damaged.check(&kallsyms(0));
                let _ = damaged.lines().map(|lines| {
                    (CALLED..CALLED + 32).filter_map(|address| lines.find(address)).count()
                });
            }
            assert!(Vmlinux::read(Cursor::new(&original[..place])).is_err());
        }
    }
}

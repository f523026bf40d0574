// SPDX-License-Identifier: MIT OR Apache-2.0
//! A file that claims to be a kernel with debug information: refused, or lines of whatever it says.
#![no_main]

use explain::Vmlinux;
use libfuzzer_sys::fuzz_target;
use std::io::Cursor;

fuzz_target!(|bytes: &[u8]| {
    let Ok(vmlinux) = Vmlinux::read(Cursor::new(bytes)) else { return };
    let _ = vmlinux.check("ffffffff81000000 T _text\n");
    let Ok(lines) = vmlinux.lines() else { return };
    for (address, _) in vmlinux.functions().take(16) {
        for offset in [0, 1, 16] {
            let _ = lines.find(address.wrapping_add(offset));
        }
    }
});

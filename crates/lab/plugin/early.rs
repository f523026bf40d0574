// SPDX-License-Identifier: MIT OR Apache-2.0
//! Code of an aarch64 kernel that ran before the kernel had its addresses.
//!
//! A kernel boots at physical addresses, and switches to its own once it has mapped itself. QEMU
//! keeps what it translated by where the code lies in memory, and executes it for either address:
//! `memset`, say, has its physical one as long as the guest runs.

/// What was translated up to the first block at one of the kernel's addresses.
#[derive(Default)]
pub struct Early {
    /// How far the guest's memory is from its physical address, in QEMU's.
    host_apart: u64,
    /// How far the kernel's addresses are from the physical ones, once there is one.
    apart: Option<u64>,
}

impl Early {
    /// Whether a block that is translated is such code. It lies there in QEMU's memory.
    pub fn is_early(&mut self, address: u64, host: u64) -> bool {
        if self.apart.is_some() {
            return false;
        }
        if address >> 63 == 1 {
            self.apart = Some(address.wrapping_sub(host).wrapping_add(self.host_apart));
            return false;
        }
        self.host_apart = host.wrapping_sub(address);
        true
    }

    /// The kernel's address of such code.
    pub fn address(&self, physical: u64) -> u64 {
        physical.wrapping_add(self.apart.unwrap_or(0))
    }
}

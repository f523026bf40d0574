// SPDX-License-Identifier: MIT OR Apache-2.0
//! What of the turns takes more than files: registers of the HPET, in memory. Nothing unsafe leaves this file.

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::fs::File;
use std::io;
use std::ptr::{self, NonNull};

/// Where a PC has its HPET.
const PLACE: u64 = 0xfed0_0000;
/// Bytes of its registers, 32 comparators included, in whole pages.
const BYTES: usize = 4_096;

/// The HPET's registers.
#[derive(Debug)]
pub(super) struct Hpet(NonNull<u32>);

impl Hpet {
    /// Maps them from `/dev/mem`.
    ///
    /// # Errors
    /// Without `iomem=relaxed`, or without `/dev/mem`.
    pub(super) fn map(memory: &File) -> io::Result<Self> {
        let (access, kind) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED);
        // SAFETY: no address is asked for, so that nothing of this process is replaced, and the mapping is of a device: no
        // memory of this process or of the kernel's lies there.
        let mapped = unsafe { mmap(ptr::null_mut(), BYTES, access, kind, memory, PLACE) }?;
        NonNull::new(mapped.cast()).map(Hpet).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    /// Reads the register at this offset, a multiple of 4.
    pub(super) fn read(&self, offset: usize) -> u32 {
        assert!(offset < BYTES && offset.is_multiple_of(4), "no register");
        // SAFETY: the assertion keeps it within the mapping, which lives as long as `self`.
        let register = unsafe { self.0.byte_add(offset) };
        // SAFETY: it is mapped for reading, aligned by the assertion, and a device's: nothing else holds a reference to it.
        unsafe { register.read_volatile() }
    }

    /// Writes it.
    pub(super) fn write(&self, offset: usize, value: u32) {
        assert!(offset < BYTES && offset.is_multiple_of(4), "no register");
        // SAFETY: the assertion keeps it within the mapping, which lives as long as `self`.
        let register = unsafe { self.0.byte_add(offset) };
        // SAFETY: it is mapped for writing, aligned by the assertion, and a device's: nothing else holds a reference to it.
        unsafe { register.write_volatile(value) };
    }
}

impl Drop for Hpet {
    fn drop(&mut self) {
        // SAFETY: it is the whole mapping, made by `map`, and with `self` the last that could use it is gone.
        let _ = unsafe { munmap(self.0.as_ptr().cast(), BYTES) };
    }
}

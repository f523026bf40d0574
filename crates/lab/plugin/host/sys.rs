// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory and files of the host, by system calls: a plugin must not depend on the C library that
//! QEMU happens to run on.

use core::arch::asm;
use core::ffi::CStr;
use core::{ptr, slice};

#[cfg(target_arch = "x86_64")]
mod number {
    pub const WRITE: usize = 1;
    pub const CLOSE: usize = 3;
    pub const MMAP: usize = 9;
    pub const READ: usize = 0;
    pub const OPENAT: usize = 257;
    pub const EXIT_GROUP: usize = 231;
}
#[cfg(target_arch = "aarch64")]
mod number {
    pub const WRITE: usize = 64;
    pub const CLOSE: usize = 57;
    pub const MMAP: usize = 222;
    pub const READ: usize = 63;
    pub const OPENAT: usize = 56;
    pub const EXIT_GROUP: usize = 94;
}

const AT_FDCWD: usize = (-100_isize).cast_unsigned();
const O_WRONLY: usize = 0o1;
const PROT_READ_WRITE: usize = 3;
const MAP_PRIVATE_ANONYMOUS: usize = 0x22;
/// What the arena takes from the host at a time.
const CHUNK: usize = 4 << 20;

/// A system call; negative numbers of errors are the largest results.
///
/// # Safety
/// The arguments must be what the call takes: pointers among them to live memory of the length that
/// the call is told.
unsafe fn call(number: usize, arguments: [usize; 6]) -> Option<usize> {
    let [a, b, c, d, e, f] = arguments;
    let result: usize;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the registers are those of the system call convention, and it overwrites rcx and r11,
    // which are named; that the arguments are right is the caller's promise.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number => result,
            in("rdi") a,
            in("rsi") b,
            in("rdx") c,
            in("r10") d,
            in("r8") e,
            in("r9") f,
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack),
        );
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: the registers are those of the system call convention; that the arguments are right
    // is the caller's promise.
    unsafe {
        asm!(
            "svc 0",
            in("x8") number,
            inlateout("x0") a => result,
            in("x1") b,
            in("x2") c,
            in("x3") d,
            in("x4") e,
            in("x5") f,
            options(nostack),
        );
    }
    (result < 4_095_usize.wrapping_neg()).then_some(result)
}

/// Zeroed memory that stays as long as the process.
fn map(bytes: usize) -> Option<*mut u8> {
    let fd = usize::MAX;
    // SAFETY: an anonymous mapping at an address of the kernel's choice touches no memory that is
    // in use.
    let address =
        unsafe { call(number::MMAP, [0, bytes, PROT_READ_WRITE, MAP_PRIVATE_ANONYMOUS, fd, 0]) }?;
    Some(ptr::with_exposed_provenance_mut(address))
}

/// Values that the zero bytes of new memory are a valid one of.
///
/// # Safety
/// Zero bytes must be a value of the type.
pub unsafe trait Zeroed: Copy {}
// SAFETY: every pattern of bits is a number.
unsafe impl Zeroed for u8 {}
// SAFETY: as above.
unsafe impl Zeroed for u32 {}

/// So many zeroed values, which stay as long as the process.
pub fn zeroed<T: Zeroed>(count: usize) -> Option<&'static mut [T]> {
    let at = map(count.checked_mul(size_of::<T>())?)?.cast();
    // SAFETY: as many bytes were just mapped there, beginning with a page, and zeroed; nothing else
    // refers to them, and they stay.
    Some(unsafe { slice::from_raw_parts_mut(at, count) })
}

/// Small pieces of memory that are never given back.
pub struct Arena {
    left: &'static mut [u8],
}

impl Arena {
    pub const fn new() -> Self {
        Arena { left: &mut [] }
    }

    /// Zero bytes, aligned to 8.
    pub fn bytes(&mut self, count: usize) -> Option<&'static mut [u8]> {
        let whole = count.next_multiple_of(8);
        if whole > self.left.len() {
            self.left = zeroed(whole.max(CHUNK))?;
        }
        let (piece, left) = core::mem::take(&mut self.left).split_at_mut(whole);
        self.left = left;
        piece.get_mut(..count)
    }

    /// Keeps a value that needs no better alignment than a pointer.
    pub fn keep<T>(&mut self, value: T) -> Option<&'static T> {
        const { assert!(align_of::<T>() <= 8) };
        let at: *mut T = self.bytes(size_of::<T>())?.as_mut_ptr().cast();
        // SAFETY: so many bytes were taken for it, aligned to 8, and nothing else refers to them.
        unsafe { at.write(value) };
        // SAFETY: it was just written, and stays.
        Some(unsafe { &*at })
    }
}

/// A whole file of no more than `limit` bytes.
pub fn read(path: &CStr, limit: usize) -> Option<&'static [u8]> {
    let buffer: &'static mut [u8] = zeroed(limit)?;
    // SAFETY: the path ends with a zero byte and lives through the call.
    let fd =
        unsafe { call(number::OPENAT, [AT_FDCWD, path.as_ptr().expose_provenance(), 0, 0, 0, 0]) }?;
    let mut length = 0;
    while let Some(rest) = buffer.get_mut(length..).filter(|rest| !rest.is_empty()) {
        // SAFETY: the rest of the buffer is writable for as many bytes as the call is told.
        let got = unsafe {
            call(number::READ, [fd, rest.as_mut_ptr().expose_provenance(), rest.len(), 0, 0, 0])
        }?;
        if got == 0 {
            break;
        }
        length += got;
    }
    // SAFETY: only a number; the file is not used any more.
    let _ = unsafe { call(number::CLOSE, [fd, 0, 0, 0, 0, 0]) };
    buffer.get(..length)
}

/// A file that is written, through a buffer. After an error nothing more is written, so that its
/// last section is missing.
pub struct Output {
    fd: usize,
    buffer: &'static mut [u8],
    length: usize,
    failed: bool,
}

const BUFFER: usize = 1 << 16;

impl Output {
    /// Opens a file that is there, and empty: QEMU may make none.
    pub fn open(path: &CStr) -> Option<Self> {
        let buffer = zeroed(BUFFER)?;
        let path = path.as_ptr().expose_provenance();
        // SAFETY: the path ends with a zero byte and lives through the call.
        let fd = unsafe { call(number::OPENAT, [AT_FDCWD, path, O_WRONLY, 0, 0, 0]) }?;
        Some(Output { fd, buffer, length: 0, failed: false })
    }

    pub fn put(&mut self, bytes: &[u8]) {
        for part in bytes.chunks(BUFFER) {
            if self.length + part.len() > BUFFER {
                self.flush();
            }
            if let Some(place) = self.buffer.get_mut(self.length..self.length + part.len()) {
                place.copy_from_slice(part);
            }
            self.length += part.len();
        }
    }

    pub fn put_u32(&mut self, value: u32) {
        self.put(&value.to_le_bytes());
    }

    pub fn put_u64(&mut self, value: u64) {
        self.put(&value.to_le_bytes());
    }

    fn flush(&mut self) {
        let mut written = 0;
        while let Some(rest) =
            self.buffer.get(written..self.length).filter(|rest| !rest.is_empty() && !self.failed)
        {
            // SAFETY: the rest is readable for as many bytes as the call is told.
            match unsafe {
                call(
                    number::WRITE,
                    [self.fd, rest.as_ptr().expose_provenance(), rest.len(), 0, 0, 0],
                )
            } {
                Some(bytes) if bytes > 0 => written += bytes,
                _ => self.failed = true,
            }
        }
        self.length = 0;
    }

    pub fn close(&mut self) {
        self.flush();
        self.failed = true;
        // SAFETY: only a number; it is not used any more.
        let _ = unsafe { call(number::CLOSE, [self.fd, 0, 0, 0, 0, 0]) };
    }
}

pub fn die() -> ! {
    loop {
        // SAFETY: the call takes a number and does not return.
        let _ = unsafe { call(number::EXIT_GROUP, [121, 0, 0, 0, 0, 0]) };
    }
}

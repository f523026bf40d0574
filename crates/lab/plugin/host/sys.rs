// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory and files of the host, by system calls: a plugin must not depend on the C library that QEMU happens to run on.

use core::arch::asm;
use core::ffi::CStr;
use core::ptr;

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

const AT_FDCWD: usize = -100_isize as usize;
const O_WRONLY_CREAT_EXCL: usize = 0o1 | 0o100 | 0o200;
const PROT_READ_WRITE: usize = 3;
const MAP_PRIVATE_ANONYMOUS: usize = 0x22;
/// What the arena takes from the host at a time.
const CHUNK: usize = 4 << 20;

/// A system call; negative numbers of errors are the largest results.
///
/// # Safety
/// The arguments must be what the call takes: pointers among them to live memory of the length that the call is told.
unsafe fn call(number: usize, arguments: [usize; 6]) -> Option<usize> {
    let [a, b, c, d, e, f] = arguments;
    let result: usize;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the registers are those of the system call convention, and it overwrites rcx and r11, which are named; that the
    // arguments are right is the caller's promise.
    unsafe {
        asm!("syscall", inlateout("rax") number => result, in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d, in("r8") e,
            in("r9") f, lateout("rcx") _, lateout("r11") _, options(nostack));
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: the registers are those of the system call convention; that the arguments are right is the caller's promise.
    unsafe {
        asm!("svc 0", in("x8") number, inlateout("x0") a => result, in("x1") b, in("x2") c, in("x3") d, in("x4") e, in("x5") f,
            options(nostack));
    }
    (result < 4_095_usize.wrapping_neg()).then_some(result)
}

/// Zeroed memory that stays as long as the process.
pub fn map(bytes: usize) -> Option<*mut u8> {
    let fd = usize::MAX;
    // SAFETY: an anonymous mapping at an address of the kernel's choice touches no memory that is in use.
    let address = unsafe { call(number::MMAP, [0, bytes, PROT_READ_WRITE, MAP_PRIVATE_ANONYMOUS, fd, 0]) }?;
    Some(ptr::with_exposed_provenance_mut(address))
}

/// Small pieces of memory that are never given back.
pub struct Arena {
    next: *mut u8,
    left: usize,
}

impl Arena {
    pub const fn new() -> Self {
        Arena { next: ptr::null_mut(), left: 0 }
    }

    /// Zeroed memory of so many bytes, aligned to 8.
    pub fn take(&mut self, bytes: usize) -> Option<*mut u8> {
        let bytes = bytes.next_multiple_of(8);
        if bytes > self.left {
            let chunk = bytes.max(CHUNK);
            (self.next, self.left) = (map(chunk)?, chunk);
        }
        let piece = self.next;
        // SAFETY: `left` bytes from `next` on are mapped, and `bytes` is no more than that.
        self.next = unsafe { self.next.add(bytes) };
        self.left -= bytes;
        Some(piece)
    }
}

/// A whole file, which may be of no more than `limit` bytes.
pub fn read(path: &CStr, limit: usize) -> Option<(*mut u8, usize)> {
    let buffer = map(limit)?;
    // SAFETY: the path ends with a zero byte and lives through the call.
    let fd = unsafe { call(number::OPENAT, [AT_FDCWD, path.as_ptr().expose_provenance(), 0, 0, 0, 0]) }?;
    let mut length = 0;
    while length < limit {
        // SAFETY: `limit` bytes are mapped at `buffer`, and `length` is less.
        let at = unsafe { buffer.add(length) };
        // SAFETY: `limit - length` bytes are mapped from `at` on, and nothing refers to them.
        let got = unsafe { call(number::READ, [fd, at.expose_provenance(), limit - length, 0, 0, 0]) }?;
        if got == 0 {
            break;
        }
        length += got;
    }
    // SAFETY: only a number; the file is not used any more.
    let _ = unsafe { call(number::CLOSE, [fd, 0, 0, 0, 0, 0]) };
    Some((buffer, length))
}

/// A file that is written, through a buffer. An error is remembered and ends the file without its last section.
pub struct Output {
    fd: Option<usize>,
    buffer: *mut u8,
    length: usize,
    failed: bool,
}

const BUFFER: usize = 1 << 16;

impl Output {
    /// Makes a file that was not there.
    pub fn create(path: &CStr) -> Option<Self> {
        let buffer = map(BUFFER)?;
        let path = path.as_ptr().expose_provenance();
        // SAFETY: the path ends with a zero byte and lives through the call.
        let fd = unsafe { call(number::OPENAT, [AT_FDCWD, path, O_WRONLY_CREAT_EXCL, 0o600, 0, 0]) }?;
        Some(Output { fd: Some(fd), buffer, length: 0, failed: false })
    }

    pub fn put(&mut self, bytes: &[u8]) {
        for part in bytes.chunks(BUFFER) {
            if self.length + part.len() > BUFFER {
                self.flush();
            }
            // SAFETY: BUFFER bytes are mapped at `buffer`, of which `length` are in use, and the part fits behind them.
            let to = unsafe { self.buffer.add(self.length) };
            // SAFETY: as above; the part is not in this buffer, which nobody else refers to.
            unsafe { ptr::copy_nonoverlapping(part.as_ptr(), to, part.len()) };
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
        while let Some(fd) = self.fd.filter(|_| !self.failed && written < self.length) {
            // SAFETY: `length` bytes of the buffer are in use, and `written` is less.
            let from = unsafe { self.buffer.add(written) };
            // SAFETY: so many bytes are in use from there on.
            match unsafe { call(number::WRITE, [fd, from.expose_provenance(), self.length - written, 0, 0, 0]) } {
                Some(bytes) if bytes > 0 => written += bytes,
                _ => self.failed = true,
            }
        }
        self.length = 0;
    }

    pub fn close(&mut self) {
        self.flush();
        if let Some(fd) = self.fd.take() {
            // SAFETY: only a number; it is not used any more.
            let _ = unsafe { call(number::CLOSE, [fd, 0, 0, 0, 0, 0]) };
        }
    }
}

/// Ends the process.
pub fn die() -> ! {
    loop {
        // SAFETY: the call takes a number and does not return.
        let _ = unsafe { call(number::EXIT_GROUP, [121, 0, 0, 0, 0, 0]) };
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! Instructions that read and write I/O ports, for the few ports that the lab uses. Nothing unsafe
//! leaves this file.

use std::arch::asm;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicU32, Ordering};

/// The port of QEMU's device by which a guest says that it has panicked.
const PANIC: u16 = 0x505;
/// QEMU's configuration device: which item is read next, 16 bits.
const SELECTOR: u16 = 0x510;
/// The item's next byte.
const DATA: u16 = 0x511;
/// Where the device's access to memory is described: the address's upper half, then its lower one,
/// which starts it. Both have their highest byte first.
const MEMORY_ACCESS: u16 = 0x514;

/// What the configuration device reads of memory to know what it is to do; highest bytes first.
/// Never across two pages.
#[derive(Debug)]
#[repr(C, align(16))]
struct MemoryRequest {
    /// What is to be done. The device puts 0 here once it is.
    control: AtomicU32,
    bytes: AtomicU32,
    place_high: AtomicU32,
    place_low: AtomicU32,
}

impl MemoryRequest {
    /// To select this item, and to read `bytes` of it to this place in the machine's memory.
    fn new(item: u16, bytes: u32, place: u64) -> Self {
        const READ: u32 = 2;
        const SELECT: u32 = 8;
        let big =
            |value: u64| AtomicU32::new(u32::try_from(value & 0xffff_ffff).unwrap_or(0).to_be());
        MemoryRequest {
            control: big(u64::from(item) << 16 | u64::from(SELECT | READ)),
            bytes: big(bytes.into()),
            place_high: big(place >> 32),
            place_low: big(place),
        }
    }
}

/// Leave to use these ports, which a thread has to itself.
#[derive(Debug)]
pub(super) struct Ports {
    /// The first port of each range, and how many.
    ranges: &'static [(u16, libc::c_ulong)],
    not_to_be_sent: std::marker::PhantomData<*const ()>,
}

impl Ports {
    /// Asks the kernel for them.
    ///
    /// # Errors
    /// Without the rights, in a locked-down kernel, and in one built without
    /// CONFIG_X86_IOPL_IOPERM.
    pub(super) fn allow() -> io::Result<Self> {
        Ports::ask_for(&[(PANIC, 1), (SELECTOR, 2)])
    }

    /// The same of the ports by which a file is written over the machine's memory.
    ///
    /// # Errors
    /// As `allow`.
    pub(super) fn allow_memory_access() -> io::Result<Self> {
        Ports::ask_for(&[(SELECTOR, 2), (MEMORY_ACCESS, 8)])
    }

    fn ask_for(ranges: &'static [(u16, libc::c_ulong)]) -> io::Result<Self> {
        ranges.iter().try_for_each(|(first, count)| ask(*first, *count, true))?;
        Ok(Ports { ranges, not_to_be_sent: std::marker::PhantomData })
    }

    /// Says what happened to the guest, which stops it if that is a panic; 0 is nothing. How far
    /// the time stamp counter advances meanwhile.
    pub(super) fn panic(&self, event: u8) -> u64 {
        let before = time_stamp();
        // SAFETY: the port is this thread's to use, as `self` shows; the device behind it stops the
        // machine or does nothing, and reads and writes no memory; the instruction changes
        // no flag and no register.
        unsafe {
            asm!(
                "out dx, al",
                in("dx") PANIC,
                in("al") event,
                options(nomem, nostack, preserves_flags),
            )
        };
        time_stamp() - before
    }

    /// Selects an item of the configuration device, to be read from its beginning.
    pub(super) fn select(&self, item: u16) {
        // SAFETY: the port is this thread's to use, as `self` shows; writing to it only chooses
        // what the next port gives, and touches no memory; the instruction changes no flag
        // and no register.
        unsafe {
            asm!(
                "out dx, ax",
                in("dx") SELECTOR,
                in("ax") item,
                options(nomem, nostack, preserves_flags),
            )
        };
    }

    /// Has the device write so many bytes of this item over the machine's memory, the kernel's own
    /// among it. No process can do that otherwise; as with a file such as `/proc/self/mem`,
    /// what then happens is for the caller to know.
    ///
    /// # Errors
    /// When the device cannot, or the kernel does not tell where this process's own memory lies.
    pub(super) fn write_memory(&self, item: u16, bytes: u32, place: u64) -> io::Result<()> {
        let request = MemoryRequest::new(item, bytes, place);
        let physical = physical_address(std::ptr::from_ref(&request).addr())?;
        for (port, half) in
            [(MEMORY_ACCESS, physical >> 32), (MEMORY_ACCESS + 4, physical & 0xffff_ffff)]
        {
            let half = u32::try_from(half).unwrap_or(0).swap_bytes();
            // SAFETY: the port is this thread's to use, as `self` shows. The second write lets the
            // device read the request, which was just found to lie there: in the
            // stack's page, which the kernel has no reason to move, as nothing else runs in the
            // guest yet. Of this process the device changes only the request's own atomics.
            unsafe {
                asm!(
                    "out dx, eax",
                    in("dx") port,
                    in("eax") half,
                    options(nostack, preserves_flags),
                )
            };
        }
        match request.control.load(Ordering::Relaxed) {
            0 => Ok(()),
            _ => Err(io::Error::other("QEMU's configuration device cannot write to memory")),
        }
    }

    /// The next byte of the selected item; 0 behind its end.
    pub(super) fn next(&self) -> u8 {
        let byte: u8;
        // SAFETY: the port is this thread's to use, as `self` shows; reading it moves the device's
        // own position and touches no memory; the instruction changes `al` alone, which is
        // declared as its output, and no flag.
        unsafe {
            asm!(
                "in al, dx",
                in("dx") DATA,
                out("al") byte,
                options(nomem, nostack, preserves_flags),
            )
        };
        byte
    }
}

/// A thread that may use a port, and each thread and process that it starts, has its list of ports
/// copied at every switch to it: some 50 instructions that a measurement would count.
impl Drop for Ports {
    fn drop(&mut self) {
        for (first, count) in self.ranges {
            let _ = ask(*first, *count, false);
        }
    }
}

/// Gets or gives back leave to use ports.
fn ask(first: u16, count: libc::c_ulong, leave: bool) -> io::Result<()> {
    // SAFETY: the call takes three numbers by value and changes only which ports this thread may
    // use; the thread has to be the one that uses them, and `Ports` cannot be sent to another.
    let result = unsafe { libc::ioperm(first.into(), count, leave.into()) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Never inlined, so that as many instructions lie between any two readings.
#[inline(never)]
fn time_stamp() -> u64 {
    // SAFETY: reading the counter has no condition on this processor, and touches no memory.
    unsafe { std::arch::x86_64::_rdtsc() }
}

/// Where this process's memory lies in the machine's.
fn physical_address(address: usize) -> io::Result<u64> {
    const PAGE: u64 = 4_096;
    /// The bits that are the page's number, where the page is in memory.
    const NUMBER: u64 = (1 << 55) - 1;
    let address = address as u64;
    let mut entry = [0; 8];
    File::open("/proc/self/pagemap")?.read_exact_at(&mut entry, address / PAGE * 8)?;
    match u64::from_le_bytes(entry) & NUMBER {
        0 => Err(io::Error::other("the kernel does not tell where memory lies")),
        number => Ok(number * PAGE + address % PAGE),
    }
}

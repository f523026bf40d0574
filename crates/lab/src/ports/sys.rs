// SPDX-License-Identifier: MIT OR Apache-2.0
//! Instructions that read and write I/O ports, for the few ports that the lab uses. Nothing unsafe leaves this file.

use std::arch::asm;
use std::io;

/// The port of QEMU's device by which a guest says that it has panicked.
const PANIC: u16 = 0x505;
/// QEMU's configuration device: which item is read next, 16 bits.
const SELECTOR: u16 = 0x510;
/// The item's next byte.
const DATA: u16 = 0x511;

/// Leave to use these ports, which a thread has to itself.
#[derive(Debug)]
pub(super) struct Ports(std::marker::PhantomData<*const ()>);

impl Ports {
    const ALL: [(u16, libc::c_ulong); 2] = [(PANIC, 1), (SELECTOR, 2)];

    /// Asks the kernel for them.
    ///
    /// # Errors
    /// Without the rights, in a locked-down kernel, and in one built without CONFIG_X86_IOPL_IOPERM.
    pub(super) fn allow() -> io::Result<Self> {
        Ports::ALL.into_iter().try_for_each(|(first, count)| ask(first, count, true))?;
        Ok(Ports(std::marker::PhantomData))
    }

    /// Says what happened to the guest, which stops it if that is a panic; 0 is nothing. How far the time stamp counter advances
    /// meanwhile.
    pub(super) fn panic(&self, event: u8) -> u64 {
        let before = time_stamp();
        // SAFETY: the port is this thread's to use, as `self` shows; the device behind it stops the machine or does nothing, and
        // reads and writes no memory; the instruction changes no flag and no register.
        unsafe { asm!("out dx, al", in("dx") PANIC, in("al") event, options(nomem, nostack, preserves_flags)) };
        time_stamp() - before
    }

    /// Selects an item of the configuration device, to be read from its beginning.
    pub(super) fn select(&self, item: u16) {
        // SAFETY: the port is this thread's to use, as `self` shows; writing to it only chooses what the next port gives, and
        // touches no memory; the instruction changes no flag and no register.
        unsafe { asm!("out dx, ax", in("dx") SELECTOR, in("ax") item, options(nomem, nostack, preserves_flags)) };
    }

    /// The next byte of the selected item; 0 behind its end.
    pub(super) fn next(&self) -> u8 {
        let byte: u8;
        // SAFETY: the port is this thread's to use, as `self` shows; reading it moves the device's own position and touches no
        // memory; the instruction changes `al` alone, which is declared as its output, and no flag.
        unsafe { asm!("in al, dx", in("dx") DATA, out("al") byte, options(nomem, nostack, preserves_flags)) };
        byte
    }
}

/// A thread that may use a port, and each thread and process that it starts, has its list of ports copied at every switch to it: some
/// 50 instructions that a measurement would count.
impl Drop for Ports {
    fn drop(&mut self) {
        for (first, count) in Ports::ALL {
            let _ = ask(first, count, false);
        }
    }
}

/// Gets or gives back leave to use ports.
fn ask(first: u16, count: libc::c_ulong, leave: bool) -> io::Result<()> {
    // SAFETY: the call takes three numbers by value and changes only which ports this thread may use; the thread has to be the one
    // that uses them, and `Ports` cannot be sent to another.
    let result = unsafe { libc::ioperm(first.into(), count, leave.into()) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Never inlined, so that as many instructions lie between any two readings.
#[inline(never)]
fn time_stamp() -> u64 {
    // SAFETY: reading the counter has no condition on this processor, and touches no memory.
    unsafe { std::arch::x86_64::_rdtsc() }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! The requests that `/dev/rtc*` and `/dev/hpet` take, each wrapped so that nothing unsafe leaves
//! this file.

use rustix::fd::{AsRawFd, OwnedFd};
use rustix::ioctl::Opcode;
use rustix::ioctl::opcode::{none, write};
use std::io;

/// What such a device can be asked for: include/uapi/linux/rtc.h, include/uapi/linux/hpet.h.
#[derive(Clone, Copy)]
pub(super) struct Request(Opcode);

/// So many interrupts a second (RTC_IRQP_SET).
pub(super) const RTC_RATE: Request = Request(write::<libc::c_ulong>(b'p', 0x0c));
pub(super) const RTC_ON: Request = Request(none(b'p', 0x05));
pub(super) const RTC_OFF: Request = Request(none(b'p', 0x06));
/// So many interrupts a second (HPET_IRQFREQ).
pub(super) const HPET_RATE: Request = Request(write::<libc::c_ulong>(b'h', 0x06));
/// Again and again, and not once (HPET_EPI).
pub(super) const HPET_PERIODIC: Request = Request(none(b'h', 0x04));
pub(super) const HPET_ON: Request = Request(none(b'h', 0x01));
pub(super) const HPET_OFF: Request = Request(none(b'h', 0x02));

/// Asks a device for something; `value` is 0 where the request has none.
pub(super) fn ask(device: &OwnedFd, Request(number): Request, value: u32) -> io::Result<()> {
    #[allow(
        clippy::cast_possible_wrap,
        clippy::cast_lossless,
        reason = "below 2^31; the type has other widths on other targets"
    )]
    let number = number as libc::Ioctl;
    // SAFETY: each of these requests takes its argument by value, so the kernel reads and writes no
    // memory of ours; the descriptor is open, as its owner is borrowed; a device that does not
    // know the request refuses it.
    system::done(
        unsafe { libc::ioctl(device.as_raw_fd(), number, libc::c_ulong::from(value)) }.into(),
    )
}

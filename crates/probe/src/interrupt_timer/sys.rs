// SPDX-License-Identifier: MIT OR Apache-2.0
//! The requests that `/dev/rtc*` and `/dev/hpet` take, each wrapped so that nothing unsafe leaves
//! this file.

use rustix::fd::{AsRawFd, OwnedFd};
use std::io;

/// What such a device can be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Request {
    /// So many interrupts a second (RTC_IRQP_SET).
    RtcRate,
    RtcOn,
    RtcOff,
    /// So many interrupts a second (HPET_IRQFREQ).
    HpetRate,
    /// Again and again, and not once (HPET_EPI).
    HpetPeriodic,
    HpetOn,
    HpetOff,
}

impl Request {
    /// As the kernel numbers it (include/uapi/linux/rtc.h, include/uapi/linux/hpet.h); the same on
    /// x86, Arm and RISC-V.
    const fn number(self) -> u32 {
        /// _IO and _IOW of include/uapi/asm-generic/ioctl.h; what is written is an unsigned long.
        const fn plain(kind: u8, number: u32) -> u32 {
            (kind as u32) << 8 | number
        }
        const fn writes_a_long(kind: u8, number: u32) -> u32 {
            1 << 30 | (libc::c_ulong::BITS / 8) << 16 | plain(kind, number)
        }
        match self {
            Request::RtcRate => writes_a_long(b'p', 0x0c),
            Request::RtcOn => plain(b'p', 0x05),
            Request::RtcOff => plain(b'p', 0x06),
            Request::HpetRate => writes_a_long(b'h', 0x06),
            Request::HpetPeriodic => plain(b'h', 0x04),
            Request::HpetOn => plain(b'h', 0x01),
            Request::HpetOff => plain(b'h', 0x02),
        }
    }
}

/// Asks a device for something; `value` is 0 where the request has none.
pub(super) fn ask(device: &OwnedFd, request: Request, value: u32) -> io::Result<()> {
    #[allow(
        clippy::cast_possible_wrap,
        clippy::cast_lossless,
        reason = "below 2^31; the type has other widths on other targets"
    )]
    let number = request.number() as libc::Ioctl;
    // SAFETY: each of these requests takes its argument by value, so the kernel reads and writes no
    // memory of ours; the descriptor is open, as its owner is borrowed; a device that does not
    // know the request refuses it.
    system::done(
        unsafe { libc::ioctl(device.as_raw_fd(), number, libc::c_ulong::from(value)) }.into(),
    )
}

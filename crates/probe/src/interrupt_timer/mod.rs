// SPDX-License-Identifier: MIT OR Apache-2.0
//! Devices that interrupt at a fixed rate and whose file counts the interrupts: the real-time clock
//! and the HPET.
//!
//! Rate and start are asked for, and the end is, while the caller has ordinary scheduling. The
//! kernel makes the real-time clock's interrupt from a timer of its own, and waits for that timer's
//! handler by spinning. Under PREEMPT_RT the handler runs in a thread of priority 1: a real-time
//! thread that stops or restarts the clock while it has preempted that handler spins for ever on
//! its CPU.

#[expect(unsafe_code, reason = "ioctl has no safe interface; see the file's head")]
mod sys;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::io;
use std::path::Path;
use sys::{HPET_OFF, HPET_ON, HPET_PERIODIC, HPET_RATE, RTC_OFF, RTC_ON, RTC_RATE, ask};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Device {
    /// `/dev/rtc0` and its like.
    RealTimeClock,
    /// `/dev/hpet`.
    Hpet,
}

/// A device that interrupts at a fixed rate; it is switched off when this is dropped.
pub(crate) struct InterruptTimer {
    file: OwnedFd,
    device: Device,
}

/// What could not be done, and the kernel's reason.
#[derive(Debug)]
pub(crate) struct TimerError {
    pub(crate) doing: &'static str,
    pub(crate) error: io::Error,
}

impl InterruptTimer {
    /// Opens a device, which can be had once at a time, and lets it interrupt so many times a
    /// second.
    pub(crate) fn start(
        device: Device,
        path: &Path,
        hertz: u32,
    ) -> Result<InterruptTimer, TimerError> {
        let failed = |doing| move |error: io::Error| TimerError { doing, error };
        let file = rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty());
        let file = file.map_err(|error| failed("open")(error.into()))?;
        match device {
            Device::RealTimeClock => {
                ask(&file, RTC_RATE, hertz).map_err(failed("RTC_IRQP_SET"))?;
                ask(&file, RTC_ON, 0).map_err(failed("RTC_PIE_ON"))?;
            }
            Device::Hpet => {
                ask(&file, HPET_RATE, hertz).map_err(failed("HPET_IRQFREQ"))?;
                ask(&file, HPET_PERIODIC, 0).map_err(failed("HPET_EPI"))?;
                ask(&file, HPET_ON, 0).map_err(failed("HPET_IE_ON"))?;
            }
        }
        Ok(InterruptTimer { file, device })
    }

    /// Waits for an interrupt, so many ms at most: whether one came.
    pub(crate) fn comes_within(&self, millis: u32) -> Result<bool, Errno> {
        let timeout = Timespec {
            tv_sec: i64::from(millis / 1_000),
            tv_nsec: i64::from(millis % 1_000) * 1_000_000,
        };
        Ok(poll(&mut [PollFd::new(&self.file, PollFlags::IN)], Some(&timeout))? > 0)
    }

    /// Waits for an interrupt: how many there were since the last one that was waited for.
    #[inline]
    pub(crate) fn wait(&self) -> Result<u64, Errno> {
        let mut read = [0; size_of::<libc::c_ulong>()];
        if rustix::io::read(&self.file, &mut read)? != read.len() {
            return Err(Errno::IO);
        }
        #[allow(
            clippy::useless_conversion,
            reason = "an unsigned long has other widths on other targets"
        )]
        let read = u64::from(libc::c_ulong::from_ne_bytes(read));
        Ok(match self.device {
            // The lowest byte says of what kind they were.
            Device::RealTimeClock => read >> 8,
            Device::Hpet => read,
        })
    }
}

impl Drop for InterruptTimer {
    fn drop(&mut self) {
        let off = match self.device {
            Device::RealTimeClock => RTC_OFF,
            Device::Hpet => HPET_OFF,
        };
        // What closing the file does too.
        let _ = ask(&self.file, off, 0);
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rtc` and `hpet`: the jitter of periodic interrupts, by the method of rtc_wakeup: the time
//! between two successive returns of a read that waits for the next interrupt.
//!
//! The device runs by itself, so nothing is planned but its period. How many interrupts passed
//! unseen the read says.

use super::probe::{Probe, SetProbe, SettingConflict, conflict};
use super::setting::{ProbeSetting, SettingValues};
use crate::Monotonic;
use crate::attachment::{Attachment, Linux};
use crate::clock::NANOS_PER_SEC;
use crate::interrupt_timer::{Device, InterruptTimer, TimerError};
use crate::outcome::{SampleError, Woken};
use crate::sampler::{Overrun, Sampler};
use crate::thread::{Launched, ThreadConfig};
use model::{Column, ProbeStatement, Quantity};
use plan::{Nanos, OverrunPolicy, Run, Scheduling};
use rustix::fs::Access;
use rustix::io::Errno;
use std::io;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// 1/1024 s, to the nearest ns.
const DEFAULT_INTERVAL: Nanos = Nanos(976_563);

/// Interrupts a second of the real-time clock, as the kernel takes them.
const RTC_RATES: RangeInclusive<u32> = 2..=8_192;
/// The same of the HPET: the kernel takes more, and no reader follows.
const HPET_RATES: RangeInclusive<u32> = 2..=100_000;

pub(super) const RTC: Probe = Probe {
    needs: "a real-time clock (/dev/rtc0), and CAP_SYS_RESOURCE above 64 interrupts a second",
    settings: &[DEVICE],
    default_interval: DEFAULT_INTERVAL,
    ..Probe::new("rtc", "jitter of the real-time clock's periodic interrupt", |settings| {
        let path = DEVICE.text(settings).into();
        Arc::new(Settings { device: Device::RealTimeClock, path, rates: RTC_RATES })
    })
};

pub(super) const HPET: Probe = Probe {
    needs: "an HPET with a timer to spare (/dev/hpet), and CAP_SYS_RESOURCE above 64 interrupts a \
            second",
    default_interval: DEFAULT_INTERVAL,
    ..Probe::new("hpet", "jitter of the HPET's periodic interrupt, which a device makes", |_| {
        let path = "/dev/hpet".into();
        Arc::new(Settings { device: Device::Hpet, path, rates: HPET_RATES })
    })
};

const DEVICE: ProbeSetting =
    ProbeSetting::new("device", "The real-time clock", SettingValues::Text("PATH"), "/dev/rtc0");

struct Settings {
    device: Device,
    path: PathBuf,
    rates: RangeInclusive<u32>,
}

impl Settings {
    /// Between two interrupts. That of the kernel's timer is in whole nanoseconds, rounded down.
    fn period(&self, interval: Nanos) -> Nanos {
        match self.device {
            Device::RealTimeClock => rtc_period(interval),
            Device::Hpet => interval,
        }
    }
}

impl SetProbe for Settings {
    fn statement(&self, run: &Run) -> ProbeStatement {
        let measuring_point = match self.device {
            Device::RealTimeClock => {
                "between two successive returns of read from the real-time clock, in user space. \
                 Since Linux 2.6.38 the clock's periodic interrupt is made by a high-resolution \
                 timer of the kernel"
            }
            Device::Hpet => {
                "between two successive returns of read from the HPET, one of whose timers \
                 interrupts, in user space"
            }
        };
        ProbeStatement {
            columns: vec![
                Column::ns(
                    "jitter_ns",
                    "from one return of read to the next, each for an interrupt, minus the period",
                ),
                Column::count(
                    Column::MISSED,
                    "interrupts since the one before that no read returned for",
                ),
            ],
            overrun_column: Some(MISSED),
            measuring_point: measuring_point.into(),
            quantity: Quantity::Jitter,
            period_ns: Some(self.period(run.interval_ns)),
            ..ProbeStatement::cyclic()
        }
    }

    fn conflict(&self, run: &Run) -> Option<SettingConflict> {
        let (interval, rates) = (run.interval_ns, &self.rates);
        if hertz(interval, rates).is_none() {
            let (first, last, nearest) =
                (rates.start(), rates.end(), nearest_rate(interval, rates));
            return conflict(
                "interval",
                format!(
                    "the device interrupts a whole number of times in a second, {first} to {last}, \
                     not once in {interval}. The nearest is 1/{nearest}s"
                ),
            );
        }
        if run.overrun_policy == OverrunPolicy::CatchUp {
            return conflict("catch-up", "an interrupt that was missed does not come again");
        }
        None
    }

    fn max_threads(&self) -> Option<usize> {
        Some(1)
    }

    /// Tried at the rate that is to be measured: not everybody may have any.
    fn lacks(&self, interval: Nanos, _: Scheduling) -> Option<String> {
        let hertz = nearest_rate(interval, &self.rates);
        let error = InterruptTimer::start(self.device, &self.path, hertz).err()?;
        Some(explained(self.device, &self.path, hertz, &error))
    }

    /// An open device is nobody else's, such as hwclock's, and its interrupts run.
    fn seen_to_lack(&self, _: Nanos, _: Scheduling) -> Option<String> {
        let error = rustix::fs::access(&self.path, Access::READ_OK).err()?;
        let error = TimerError { doing: "open", error: error.into() };
        Some(explained(self.device, &self.path, 0, &error))
    }

    fn is_tried_by_measuring(&self) -> bool {
        true
    }

    fn launch(&self, config: ThreadConfig) -> io::Result<Launched> {
        let Settings { device, path, rates } = self;
        let hertz = nearest_rate(config.cycle.interval, rates);
        let timer = InterruptTimer::start(*device, path, hertz).map_err(|error| {
            io::Error::new(error.error.kind(), explained(*device, path, hertz, &error))
        })?;
        // Here and not in the measuring thread, which would wait at its priority.
        if !timer.comes_within(SILENT_MS)? {
            return Err(io::Error::other(format!(
                "{} has not interrupted for {} s",
                path.display(),
                SILENT_MS / 1_000
            )));
        }
        let period = self.period(config.cycle.interval).0;
        config.launch(Linux, Interrupts { timer, period, returned: 0, interval: 0, missed: 0 })
    }
}

/// The column of `missed`.
const MISSED: usize = 1;

fn rtc_period(interval: Nanos) -> Nanos {
    Nanos(NANOS_PER_SEC / i64::from(nearest_rate(interval, &RTC_RATES)))
}

/// Interrupts a second at this interval; none where it is not a whole number of them that the
/// device can make.
fn hertz(interval: Nanos, rates: &RangeInclusive<u32>) -> Option<u32> {
    let nearest = nearest_rate(interval, rates);
    // An interval is written to the nearest ns.
    let period = i64::from(nearest);
    ((NANOS_PER_SEC - interval.0 * period).abs() <= period).then_some(nearest)
}

fn nearest_rate(interval: Nanos, rates: &RangeInclusive<u32>) -> u32 {
    let interval = interval.0.max(1);
    let rounded = (NANOS_PER_SEC + interval / 2) / interval;
    u32::try_from(rounded).unwrap_or(u32::MAX).clamp(*rates.start(), *rates.end())
}

/// Where the kernel has the rate that anybody may ask for. A device may be named by a link, such as
/// `/dev/rtc`.
fn limit_of(device: Device, path: &Path) -> String {
    if device == Device::Hpet {
        return "/proc/sys/dev/hpet/max-user-freq".to_owned();
    }
    let device = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    format!("/sys/class/rtc/{}/max_user_freq", device.file_name().unwrap_or_default().display())
}

fn explained(
    device: Device,
    path: &Path,
    hertz: u32,
    TimerError { doing, error }: &TimerError,
) -> String {
    let (what, option) = match device {
        Device::RealTimeClock => {
            ("a real-time clock", "CONFIG_RTC_INTF_DEV and a driver such as CONFIG_RTC_DRV_CMOS")
        }
        Device::Hpet => ("an HPET", "CONFIG_HPET, and a machine that has one"),
    };
    let place = path.display();
    match error.raw_os_error() {
        Some(libc::ENOENT | libc::ENXIO | libc::ENODEV) if *doing == "open" => {
            format!("there is no {place}. It takes {what}: {option}")
        }
        Some(libc::EACCES) if *doing != "open" => {
            let limit = limit_of(device, path);
            format!(
                "{hertz} interrupts a second from {place} need CAP_SYS_RESOURCE. Run as root, or \
                 raise {limit}"
            )
        }
        Some(libc::EACCES | libc::EPERM) => format!("no right to open {place}. Run as root"),
        Some(libc::EBUSY) => {
            format!("{place} is in use by another program, or has no timer to spare")
        }
        Some(libc::EIO) if device == Device::Hpet => {
            format!("the timer of {place} that is to spare has no interrupt on this machine")
        }
        Some(libc::ENOTTY | libc::EINVAL) => {
            format!("{place} is not {what} that interrupts periodically ({doing}: {error})")
        }
        _ => format!("{place} does not interrupt periodically ({doing}: {error})"),
    }
}

struct Interrupts {
    timer: InterruptTimer,
    /// Between two interrupts, ns.
    period: i64,
    /// When the last read returned, ns.
    returned: i64,
    /// From the read before to that one, ns.
    interval: i64,
    /// Interrupts between the two.
    missed: i64,
}

/// A device that is silent for so long will not begin to interrupt. More than two periods of the
/// slowest.
const SILENT_MS: u32 = 2_000;

impl Interrupts {
    fn wait_for_next(&mut self) -> Result<(), Errno> {
        let interrupts = self.timer.wait()?;
        let now = Monotonic.now().0;
        self.interval = now - self.returned;
        self.missed = interrupts.saturating_sub(1).cast_signed();
        self.returned = now;
        Ok(())
    }
}

impl<A: Attachment> Sampler<A, 2> for Interrupts {
    const OVERRUN: Overrun = Overrun::Missed(MISSED);

    /// Waits for the time of the first row, and for an interrupt, from which the first interval
    /// runs.
    fn begin(
        &mut self,
        attachment: &mut A,
        first: Nanos,
        interval: Nanos,
    ) -> Result<(), SampleError> {
        if attachment.sleep_until(Nanos(first.0 - interval.0)) != Woken::OnTime {
            // The run is being stopped, as the first wait finds.
            return Ok(());
        }
        let failed = |errno: Errno| SampleError {
            doing: "waiting for the first interrupt",
            errno: errno.raw_os_error(),
        };
        let begun = self.wait_for_next();
        if begun == Err(Errno::INTR) { Ok(()) } else { begun.map_err(failed) }
    }

    #[inline]
    fn wait(&mut self, _attachment: &mut A, _planned: Nanos) -> Woken {
        match self.wait_for_next() {
            Ok(()) => Woken::OnTime,
            Err(error) => error.into(),
        }
    }

    fn wait_call(&self) -> &'static str {
        "read of the interrupting device"
    }

    fn sample(&mut self, _attachment: &mut A, _planned: Nanos) -> Result<[i64; 2], SampleError> {
        Ok([self.interval - self.period, self.missed])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_runs::test_run;

    #[test]
    fn an_interval_is_a_whole_number_of_interrupts_in_a_second() {
        for (interval, expected) in [
            (976_563, Some(1_024)),
            (976_562, Some(1_024)),
            (1_000_000, Some(1_000)),
            (122_070, Some(8_192)),
            (500_000_000, Some(2)),
            // Between two rates, and beyond both ends.
            (300_000, None),
            (3_000_000, None),
            (100_000, None),
            (1_000_000_000, None),
        ] {
            assert_eq!(hertz(Nanos(interval), &RTC_RATES), expected, "{interval}");
        }
        assert_eq!(
            (rtc_period(Nanos(976_563)), rtc_period(Nanos(333_333))),
            (Nanos(976_562), Nanos(333_333))
        );
    }

    fn rtc(path: &Path) -> Settings {
        Settings { device: Device::RealTimeClock, path: path.into(), rates: RTC_RATES }
    }

    fn error(change: impl Fn(&mut Run)) -> Option<String> {
        let mut run = test_run(RTC.default_interval, 5);
        run.cpus.truncate(1);
        run.probe = "rtc".to_owned();
        change(&mut run);
        crate::test_runs::statement(&run).err().map(|error| format!("{}: {error}", error.setting()))
    }

    #[test]
    fn a_device_is_listed_without_being_opened() {
        use rustix::fs::{CWD, FileType, Mode, inotify, mknodat};
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rtc0");
        let clock = rtc(&path);
        let lacks = clock.seen_to_lack(DEFAULT_INTERVAL, Scheduling::DEFAULT).unwrap();
        assert!(
            lacks.starts_with("there is no ") && lacks.contains("It takes a real-time clock"),
            "{lacks}"
        );
        mknodat(CWD, &path, FileType::Fifo, Mode::RWXU, 0).unwrap();
        let watch = inotify::init(inotify::CreateFlags::NONBLOCK).unwrap();
        inotify::add_watch(&watch, &path, inotify::WatchFlags::OPEN).unwrap();
        assert_eq!(clock.seen_to_lack(DEFAULT_INTERVAL, Scheduling::DEFAULT), None);
        assert_eq!(rustix::io::read(&watch, &mut [0_u8; 512]), Err(Errno::AGAIN), "it was opened");
    }

    #[test]
    fn what_a_clock_cannot_do_names_its_setting() {
        assert_eq!(error(|_| ()), None);
        let found = error(|run| run.interval_ns = Nanos::from_micros(300)).unwrap();
        assert!(
            found.starts_with("interval: ")
                && found.ends_with("not once in 300us. The nearest is 1/3333s"),
            "{found}"
        );
        let found = error(|run| run.overrun_policy = OverrunPolicy::CatchUp).unwrap();
        assert!(
            found.starts_with("catch-up: ") && found.ends_with("does not come again"),
            "{found}"
        );
        let found = error(|run| run.cpus.push(run.cpus[0])).unwrap();
        assert!(
            found.starts_with("threads: the probe rtc measures with at most 1 thread"),
            "{found}"
        );
    }

    #[test]
    fn what_lacks_is_named_with_what_to_do() {
        let said = |device, doing, errno| {
            explained(
                device,
                Path::new("/dev/x"),
                1_024,
                &TimerError { doing, error: io::Error::from_raw_os_error(errno) },
            )
        };
        for (device, doing, errno, expected) in [
            (
                Device::RealTimeClock,
                "open",
                libc::ENOENT,
                "there is no /dev/x. It takes a real-time clock: CONFIG_RTC_INTF_DEV",
            ),
            (
                Device::Hpet,
                "open",
                libc::ENOENT,
                "there is no /dev/x. It takes an HPET: CONFIG_HPET",
            ),
            (Device::RealTimeClock, "open", libc::EACCES, "no right to open /dev/x. Run as root"),
            (Device::RealTimeClock, "open", libc::EBUSY, "/dev/x is in use by another program"),
            (
                Device::RealTimeClock,
                "RTC_IRQP_SET",
                libc::EACCES,
                "1024 interrupts a second from /dev/x need CAP_SYS_RESOURCE. Run as root, or \
                 raise /sys/class/rtc/x/max_user_freq",
            ),
            (
                Device::RealTimeClock,
                "RTC_PIE_ON",
                libc::ENOTTY,
                "/dev/x is not a real-time clock that interrupts periodically",
            ),
            (
                Device::Hpet,
                "HPET_IE_ON",
                libc::EIO,
                "the timer of /dev/x that is to spare has no interrupt on this machine",
            ),
        ] {
            let said = said(device, doing, errno);
            assert!(said.starts_with(expected), "{said}");
        }
        // A file that is no device at all.
        assert!(
            rtc(Path::new("/dev/null"))
                .lacks(Nanos(NANOS_PER_SEC / 64), Scheduling::DEFAULT)
                .unwrap()
                .starts_with("/dev/null is not a real-time clock")
        );
        // A link to another device.
        let folder = std::env::temp_dir().join(format!("teiji-rtc-{}", std::process::id()));
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("rtc1"), "").unwrap();
        std::os::unix::fs::symlink("rtc1", folder.join("rtc")).unwrap();
        let limit = limit_of(Device::RealTimeClock, &folder.join("rtc"));
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(limit, "/sys/class/rtc/rtc1/max_user_freq");
    }
}

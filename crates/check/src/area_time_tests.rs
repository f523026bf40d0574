// SPDX-License-Identifier: MIT OR Apache-2.0
//! Services that set the time of day, by their processes and files.

use crate::Status;
use crate::one_finding::{OneFinding, finding};
use crate::tests::files::lay;
use rustix::fs::{CWD, FileType, Mode, inotify, mknodat};
use rustix::io::Errno;

fn stat(process: &str) -> String {
    format!(
        "7 ({process}) S 1 7 7 0 -1 4194304 0 0 0 0 0 0 0 0 20 0 1 0 9 0 0 0 0 0 0 0 0 0 0 0 0 0 \
         0 0 17 0 0 0 0 0 0"
    )
}

/// With a service of this name, started so, and these files.
fn seen(id: &str, process: &str, line: &str, files: &[(&str, &str)]) -> Option<OneFinding> {
    let stat = stat(process);
    let process = [("proc/7/task/7/stat", stat.as_str()), ("proc/7/cmdline", line)];
    let (_dir, root) = lay(&[files, &process].concat());
    finding(&root, id, None)
}

fn stepping(process: &str, line: &str, files: &[(&str, &str)]) -> (Status, String) {
    let finding = seen("time-stepping", process, line, files).unwrap();
    (finding.status, finding.found)
}

const CHRONY: &str = "etc/chrony/chrony.conf";

#[test]
fn chrony_steps_as_its_configuration_says() {
    for (config, status, expected) in [
        ("pool x\nmakestep 1 3\n", Status::Ok, "chronyd steps it in its first 3 updates only"),
        ("# makestep 1 -1\npool x\n", Status::Ok, "chronyd steps it never"),
        (
            "makestep 1 3\nmakestep 0.1 -1\n",
            Status::Warn,
            "chronyd steps it at any time ('makestep 0.1 -1')",
        ),
    ] {
        assert_eq!(
            stepping("chronyd", "/usr/sbin/chronyd\0-F\0on\0", &[(CHRONY, config)]),
            (status, expected.to_owned())
        );
    }
    let folder = [
        (CHRONY, "confdir /etc/chrony/conf.d\n"),
        ("etc/chrony/conf.d/step.conf", "makestep 1 -1\n"),
    ];
    assert_eq!(stepping("chronyd", "chronyd\0", &folder).0, Status::Warn);
    let elsewhere = [(CHRONY, "makestep 1 -1\n"), ("etc/other.conf", "makestep 1 3\n")];
    assert_eq!(stepping("chronyd", "chronyd\0-f\0/etc/other.conf\0", &elsewhere).0, Status::Ok);
    assert_eq!(stepping("chronyd", "chronyd\0", &[]).0, Status::Unknown);
    let action = seen("time-stepping", "chronyd", "chronyd\0", &[(CHRONY, "makestep 1 -1\n")])
        .unwrap()
        .action;
    let expected = "write 'makestep 1 3' for 'makestep 1 -1' in /etc/chrony/chrony.conf, then \
                    sudo systemctl restart chronyd";
    assert_eq!(action, expected);
}

#[test]
fn the_others_step_by_their_options() {
    for (process, line, files, status) in [
        ("systemd-timesyn", "/lib/systemd/systemd-timesyncd\0", &[][..], Status::Warn),
        ("ntpd", "ntpd\0-g\0", &[("etc/ntp.conf", "driftfile x\n")], Status::Warn),
        ("ntpd", "ntpd\0-g\0-x\0", &[("etc/ntp.conf", "driftfile x\n")], Status::Ok),
        ("ntpd", "ntpd\0-g\0", &[("etc/ntpsec/ntp.conf", "tinker step 0\n")], Status::Ok),
        ("ntpd", "ntpd\0-n\0", &[], Status::Unknown),
        ("phc2sys", "phc2sys\0-a\0-r\0", &[], Status::Ok),
        ("phc2sys", "phc2sys\0-a\0-S.5\0", &[], Status::Warn),
        (
            "ptp4l",
            "ptp4l\0-f\0/etc/ptp.conf\0",
            &[("etc/ptp.conf", "[global]\nstep_threshold 1.0\n")],
            Status::Warn,
        ),
        ("ptp4l", "ptp4l\0-f\0/etc/ptp.conf\0", &[("etc/ptp.conf", "[global]\n")], Status::Ok),
        ("ptp4l", "ptp4l\0-f\0/etc/ptp.conf\0", &[], Status::Unknown),
        ("ptp4l", "", &[], Status::Unknown),
    ] {
        assert_eq!(stepping(process, line, files).0, status, "{line:?} {files:?}");
    }
}

#[test]
fn whether_the_time_is_right_is_said_where_a_file_says_it() {
    const ID: &str = "time-synchronisation";
    const FILE: &str = "run/systemd/timesync/synchronized";
    let timesync =
        |files| seen(ID, "systemd-timesyn", "systemd-timesyncd\0", files).unwrap().status;
    assert_eq!(timesync(&[(FILE, "")]), Status::Ok);
    assert_eq!(timesync(&[("run/systemd/timesync/other", "")]), Status::Warn);
    assert_eq!(timesync(&[]), Status::Unknown);
    let chrony = seen(ID, "chronyd", "chronyd\0", &[]).unwrap();
    assert_eq!((chrony.status, chrony.action.as_str()), (Status::Unknown, "chronyc tracking"));
    assert_eq!(seen(ID, "other", "other\0", &[]).unwrap().status, Status::Ok);
    assert_eq!(
        seen(ID, "other", "other\0", &[(".dockerenv", "")]).unwrap().status,
        Status::Unknown
    );
}

#[test]
fn without_a_service_nothing_steps() {
    assert!(seen("time-stepping", "other", "other\0", &[]).is_none());
}

/// Anybody may start a program of this name. Opening /dev/watchdog would restart the machine a
/// minute later.
#[test]
fn a_device_that_a_service_names_is_not_opened() {
    let (dir, root) = lay(&[
        ("proc/7/task/7/stat", &stat("chronyd")),
        ("proc/7/cmdline", "chronyd\0-f\0/dev/watchdog\0"),
    ]);
    std::fs::create_dir(dir.path().join("dev")).unwrap();
    let device = dir.path().join("dev/watchdog");
    mknodat(CWD, &device, FileType::Fifo, Mode::RWXU, 0).unwrap();
    let watch = inotify::init(inotify::CreateFlags::NONBLOCK).unwrap();
    inotify::add_watch(&watch, &device, inotify::WatchFlags::OPEN).unwrap();
    let found = finding(&root, "time-stepping", None).unwrap();
    assert_eq!(
        (found.status, found.found.as_str()),
        (Status::Unknown, "chronyd steps it as a configuration says that cannot be read")
    );
    assert_eq!(rustix::io::read(&watch, &mut [0_u8; 512]), Err(Errno::AGAIN), "it was opened");
}

/// Reading /proc/kmsg takes the kernel's messages from whoever they are for, and a folder of the
/// user's may hold links to anything.
#[test]
fn a_service_of_anybodys_names_no_file_outside_the_systems() {
    for path in ["/proc/kmsg", "/run/user/1000/x.conf", "/tmp/x.conf", "/etc/../proc/kmsg", "etc"] {
        let line = format!("chronyd\0-f\0{path}\0");
        let (_dir, root) = lay(&[
            ("proc/7/task/7/stat", &stat("chronyd")),
            ("proc/7/cmdline", line.as_str()),
            ("proc/kmsg", "makestep 1 -1\n"),
            ("run/user/1000/x.conf", "makestep 1 -1\n"),
            ("tmp/x.conf", "makestep 1 -1\n"),
        ]);
        assert_eq!(
            finding(&root, "time-stepping", None).unwrap().status,
            Status::Unknown,
            "{path}"
        );
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the end of a run takes of memory. `benches/promises/memory.py` holds the program as it is
//! shipped against its promise.

use crate::support::{TEIJI, TestFolder, beside_others};
use std::io::Read;
use std::os::fd::AsFd;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

/// Peak of a process's resident memory, KiB.
fn peak(child: &Child) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().strip_suffix(" kB").unwrap().parse().unwrap()
}

/// Summing up took 4 MB for each thread that is summed up at a time, while the rings were still
/// there.
#[test]
fn the_end_of_a_run_takes_little_more_than_the_run() {
    let _turn = beside_others();
    let place = TestFolder::new();
    let mut command: Command = place.command(TEIJI);
    command
        .args(["measure", "-i", "200us", "-d", "3s", "--json", "-o", "x.teiji"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let mut out = child.stdout.take().unwrap();
    // A page is full before the document is out, so the program waits with its last write until
    // somebody reads.
    rustix::pipe::fcntl_setpipe_size(out.as_fd(), 4096).unwrap();
    sleep(Duration::from_millis(2_000));
    let measuring = peak(&child);
    sleep(Duration::from_millis(4_000));
    let whole = peak(&child);
    let mut document = String::new();
    out.read_to_string(&mut document).unwrap();
    assert!(child.wait().unwrap().success());
    let threads = place.document("x.teiji").threads().len().min(4) as u64;
    // The kernel's count is one of several CPUs, and may come out a few pages lower the second
    // time.
    let more = whole.saturating_sub(measuring);
    assert!(more <= 500 + 1_600 * threads, "{more} KiB more at the end, of {measuring}");
}

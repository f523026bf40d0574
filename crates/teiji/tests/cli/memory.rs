// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the end of a run takes of memory. `benches/promises/memory.py` holds the program as it is
//! shipped against its promise.

use crate::support::{Running, TEIJI, TestFolder, beside_others};
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

/// As many threads as are read, each with buckets of a µs. A gate has to have all of them at a
/// time, and took twice as much.
#[test]
fn histograms_of_many_threads() {
    let place = TestFolder::new();
    const THREADS: usize = 1_024;
    let column = |text: &str| vec![text; THREADS].join("\t");
    let line = |name: &str, value: &str| format!("# {name}: {}\n", vec![value; THREADS].join(" "));
    let rows: String = (1..400).map(|us| format!("{us:06} {}\n", column("000020"))).collect();
    let trailer = line("Min Latencies", "00001")
        + &line("Avg Latencies", "00200")
        + &line("Max Latencies", "00399")
        + &line("Histogram Overflows", "00000");
    std::fs::write(place.join("many.txt"), format!("# Histogram\n{rows}{trailer}")).unwrap();
    for (words, megabytes) in [
        ("import many.txt --unit us -o imported", 120),
        ("show imported/many.txt.teiji", 160),
        ("gate imported/many.txt.teiji --limit max<1ms", 320),
    ] {
        let mut command = place.command("prlimit");
        command.arg(format!("--data={}", megabytes << 20)).arg(TEIJI).args(words.split(' '));
        let output = Running::start(command).end();
        assert_eq!(output.code, Some(0), "{words}: {}", output.err);
    }
}

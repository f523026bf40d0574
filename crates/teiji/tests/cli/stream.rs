// SPDX-License-Identifier: MIT OR Apache-2.0
//! The probe `stream`, fed with known series through a file, a FIFO, a terminal and sockets: the
//! figures are exactly theirs.

use crate::support::document::Document;
use crate::support::{MILLISECOND, Running, TEIJI, TestFolder, beside_others, soon};
use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, tcgetattr};
use serde_json::Value;
use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

/// Intervals of a 1,024 Hz interrupt, ns: two of them late, and what follows each is early.
const INTERVALS: [i64; 8] =
    [976_562, 976_563, 1_101_562, 851_562, 976_562, 976_000, 977_125, 976_562];
pub const PERIOD: &str = "--period 976562ns";
/// By how much they differ from it.
pub const JITTER: [i64; 8] = [0, 1, 125_000, -125_000, 0, -562, 563, 0];

/// Timestamps with these intervals, the first at `start`.
pub fn timestamps(start: u64) -> Vec<u64> {
    let step = |at: &mut u64, interval: &i64| {
        *at = at.wrapping_add_signed(*interval);
        Some(*at)
    };
    [start].into_iter().chain(INTERVALS.iter().scan(start, step)).collect()
}

pub fn lines(numbers: impl IntoIterator<Item = impl std::fmt::Display>) -> Vec<u8> {
    let mut text = String::new();
    numbers.into_iter().for_each(|number| writeln!(text, "{number}").unwrap());
    text.into_bytes()
}

/// The lowest four or all eight bytes of each.
fn integers(numbers: &[u64], width: usize, big: bool) -> Vec<u8> {
    let little = |number: &u64| number.to_le_bytes()[..width].to_vec();
    numbers
        .iter()
        .map(little)
        .flat_map(|bytes| if big { bytes.into_iter().rev().collect() } else { bytes })
        .collect()
}

/// A terminal: what types, the device, which keeps the settings while nobody else has it open, and
/// the path of it.
fn terminal() -> (OwnedFd, File, String) {
    let port = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
    grantpt(&port).unwrap();
    unlockpt(&port).unwrap();
    let path = ptsname(&port, Vec::new()).unwrap().into_string().unwrap();
    let device = OpenOptions::new().read(true).write(true).open(&path).unwrap();
    (port, device, path)
}

/// It waited without a word, and seemed to hang.
#[test]
fn it_is_said_that_numbers_are_read_from_the_terminal() {
    let _turn = beside_others();
    let place = TestFolder::new();
    for (flags, said) in [
        (
            "",
            "Reads numbers from this terminal, one a line, for 30s or until Ctrl-D. To read a \
             file: --from FILE\n",
        ),
        ("-q", ""),
    ] {
        let (port, device, _) = terminal();
        let words = format!("measure --probe stream {flags} -d 30s -o typed{flags}.teiji");
        let mut command = place.command(TEIJI);
        command.args(words.split_whitespace()).stdin(device);
        let running = Running::start(command);
        rustix::io::write(&port, b"1000\n2000\n\x04").unwrap();
        let output = running.end();
        assert_eq!((output.code, output.err.as_str()), (Some(0), said), "{output:?}");
    }
}

pub fn fifo(path: &Path) {
    mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
}

/// Opens a FIFO for writing as soon as the program reads it.
pub fn writer(path: &Path) -> File {
    let mut opened = None;
    soon("the FIFO is read", || {
        let file = rustix::fs::open(path, OFlags::WRONLY | OFlags::NONBLOCK, Mode::empty());
        opened = file.ok();
        opened.is_some()
    });
    File::from(opened.unwrap())
}

/// What `show --json` says of a recording, which is then removed.
pub fn shown(place: &TestFolder, name: &str) -> Document {
    place.well(&format!("verify {name}"));
    let document = Document::parse(&place.well(&format!("show {name} --json")).out);
    std::fs::remove_dir_all(place.join(name)).unwrap();
    document
}

/// The rows of a recording: time since its start and columns.
pub fn rows(place: &TestFolder, name: &str) -> Vec<Vec<i64>> {
    let start = place.document(name).whole("/threads/0/start_ns");
    let output = place.well(&format!("export {name} --samples")).out;
    let row = |line: &str| {
        let cells: Vec<i64> = line.split(',').skip(3).map(|cell| cell.parse().unwrap()).collect();
        [cells[0] - start].into_iter().chain(cells[1..].iter().copied()).collect()
    };
    output.lines().skip(1).map(row).collect()
}

/// The statistics of these values are those of the thread, to the last digit of whole numbers.
pub fn assert_figures(document: &Document, values: &[i64], what: &str) {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    let figures = |name: &str| document.whole(&format!("/threads/0/latency_ns/{name}"));
    let count = i64::try_from(values.len()).unwrap();
    let middle = sorted[sorted.len().div_ceil(2) - 1];
    assert_eq!(
        [figures("count"), figures("min"), figures("p50"), figures("max")],
        [count, sorted[0], middle, sorted[sorted.len() - 1]],
        "{what}"
    );
    let mean = values.iter().sum::<i64>() as f64 / values.len() as f64;
    let squares: f64 = values.iter().map(|value| (*value as f64 - mean).powi(2)).sum();
    let sd = (squares / (values.len() - 1) as f64).sqrt();
    for (name, expected) in [("mean", mean), ("sd", sd)] {
        let figure = document.number(&format!("/threads/0/latency_ns/{name}"));
        assert!(
            (figure - expected).abs() < 1e-6 * expected.abs().max(1.0),
            "{what}: {name} {figure}, not {expected}"
        );
    }
}

pub fn warning(document: &Document, code: &str) -> Document {
    let all = document.list("/warnings");
    all.into_iter()
        .find(|one| one.text("/code") == code)
        .unwrap_or_else(|| panic!("no {code} in {document:?}"))
}

/// Every form of the same series, through a FIFO whose writer comes after the program has opened
/// it. The first timestamp lies before the end of the counter, so that it wraps around; of 866 MHz
/// as in the article the ticks are exact to the nanosecond.
#[test]
fn known_series_in_every_form() {
    let _turn = beside_others();
    let place = TestFolder::new();
    fifo(&place.join("in"));
    let hex =
        |numbers: Vec<u64>| lines(numbers.iter().map(|number| format!("  {number:#x}\t# RTC\r")));
    let micros = |numbers: Vec<u64>| {
        lines(numbers.iter().map(|ns| format!("{}.{:03}", ns / 1_000, ns % 1_000)))
    };
    let wrapped =
        |start: u64| timestamps(start).into_iter().map(|at| at & 0xffff_ffff).collect::<Vec<_>>();
    let (near_32, near_64) = ((1_u64 << 32) - 3_000_000, u64::MAX - 3_000_000);
    // Ticks of 2 GHz are two to the nanosecond.
    let ticks = |start: u64| {
        timestamps(0).into_iter().map(|at| start.wrapping_add(2 * at)).collect::<Vec<_>>()
    };
    let given: Vec<u64> = INTERVALS.iter().map(|interval| interval.unsigned_abs()).collect();
    let early: Vec<u64> = INTERVALS.iter().map(|value| (value - 976_562).cast_unsigned()).collect();
    // With a period, an interval is judged by how much it differs from it.
    let cases: Vec<(&str, Vec<u8>, &[i64])> = vec![
        ("", lines(timestamps(1_000_000)), &JITTER),
        ("--unit us", micros(timestamps(5_000_001)), &JITTER),
        ("--wrap 32", lines(wrapped(near_32)), &JITTER),
        ("", hex(timestamps(12)), &JITTER),
        ("--wrap 64", lines(timestamps(near_64)), &JITTER),
        ("--width 32", integers(&timestamps(near_32), 4, false), &JITTER),
        ("--width 32 --byte-order big", integers(&timestamps(near_32), 4, true), &JITTER),
        ("--width 64", integers(&timestamps(near_64), 8, false), &JITTER),
        ("--width 64 --byte-order big", integers(&timestamps(7), 8, true), &JITTER),
        (
            "--unit tsc --hz 2000000000 --width 64",
            integers(&ticks(u64::MAX - 9), 8, false),
            &JITTER,
        ),
        (
            "--unit tsc --hz 2000000000 --width 32",
            integers(&ticks(u64::MAX - 9), 4, false),
            &JITTER,
        ),
        ("--unit tsc --hz 2000000000", lines(ticks(0)), &JITTER),
        ("--kind interval", lines(given.clone()), &JITTER),
        ("--kind interval --unit us", micros(given.clone()), &JITTER),
        ("--kind interval --width 32 --byte-order big", integers(&given, 4, true), &JITTER),
        ("--kind latency", lines(JITTER), &JITTER),
        ("--kind latency --width 32 --sign signed", integers(&early, 4, false), &JITTER),
        (
            "--kind latency --width 64 --sign signed --byte-order big",
            integers(&early, 8, true),
            &JITTER,
        ),
    ];
    for (flags, bytes, expected) in cases {
        let running = place
            .start(&format!("measure --probe stream --from in {PERIOD} {flags} -q -o x.teiji"));
        let mut writer = writer(&place.join("in"));
        // In two portions that end within a record.
        writer.write_all(&bytes[..13]).unwrap();
        sleep(Duration::from_millis(5));
        writer.write_all(&bytes[13..]).unwrap();
        drop(writer);
        let output = running.end();
        assert_eq!(output.code, Some(0), "{flags}: {output:?}");
        let rows = rows(&place, "x.teiji");
        let judged: Vec<i64> = rows.iter().map(|row| row[1]).collect();
        assert_eq!(judged, expected, "{flags}");
        assert!(
            rows.iter().all(|row| row[2..].iter().all(|other| *other == 0)),
            "{flags}: {rows:?}"
        );
        let times: Vec<i64> = rows.iter().map(|row| row[0]).collect();
        let ends = INTERVALS.iter().scan(0, |sum, interval| {
            *sum += interval;
            Some(*sum)
        });
        let is_latency = flags.contains("latency");
        let expected_times: Vec<i64> =
            if is_latency { (0..8).map(|k| k * 976_562).collect() } else { ends.collect() };
        assert_eq!(times, expected_times, "{flags}");
        let document = shown(&place, "x.teiji");
        document.assert_adds_up();
        assert_figures(&document, expected, flags);
        assert_eq!((document.text("/state"), document.text("/end/reason")), ("complete", "done"));
        assert_eq!(
            document.0.pointer("/probe/period_ns").and_then(Value::as_i64),
            (!is_latency).then_some(976_562),
            "{flags}"
        );
        let column = document.list("/probe/columns")[0].text("/name").to_owned();
        assert_eq!(column, if is_latency { "latency_ns" } else { "jitter_ns" }, "{flags}");
        let numbers = if flags.contains("kind") { 8 } else { 9 };
        let ended = warning(&document, "stream-ended");
        assert_eq!((ended.whole("/numbers"), ended.0["closed"].as_bool()), (numbers, Some(true)));
        assert_eq!(
            document.list("/warnings").len(),
            1,
            "{flags}: {:?}",
            document.list("/warnings")
        );
    }
}

/// What cannot be read, steps backwards and periods without a record: counted, said with their
/// place, and in the rows they stand before.
#[test]
fn nothing_of_a_broken_stream_vanishes() {
    let _turn = beside_others();
    let place = TestFolder::new();
    let text = "# a log\n1000\n2000\nrubb\u{e9}sh\n\n4000\n5000 6000\n5010\n3000\n4000\n9001\n1234";
    std::fs::write(place.join("log"), text).unwrap();
    place.well("measure --probe stream --from log --period 1us -q -o x.teiji");
    // Time, interval minus period, unreadable, backwards, missed.
    let expected = [
        [1_000, 0, 0, 0, 0],
        [3_000, 1_000, 1, 0, 1],
        [4_010, 10, 1, 0, 0],
        [5_010, 0, 0, 1, 0],
        [10_011, 4_001, 0, 0, 4],
    ];
    assert_eq!(rows(&place, "x.teiji"), expected);
    let said = place.well("show x.teiji").out.split_whitespace().collect::<Vec<_>>().join(" ");
    for text in [
        "2 records of log could not be read as a number",
        "log ended within a record",
        "The timestamps of log step backwards 1 time",
        "5 periods of log passed without a record",
        "Measured elsewhere",
    ] {
        assert!(said.contains(text), "{text} in {said}");
    }
    for text in ["Ordinary scheduling", "other work", "steal"] {
        assert!(!said.contains(text), "{text} in {said}");
    }
    let document = shown(&place, "x.teiji");
    assert_figures(&document, &[0, 1_000, 10, 0, 4_001], "log");
    let unreadable = warning(&document, "stream-unreadable");
    let figures = ["records", "numbers", "first", "first_offset"]
        .map(|name| unreadable.whole(&format!("/{name}")));
    assert_eq!((figures, unreadable.text("/text")), ([2, 7, 4, 18], "rubb\\xc3\\xa9sh"));
    let half = warning(&document, "stream-half-record");
    assert_eq!(
        (half.whole("/bytes"), half.whole("/offset")),
        (4, i64::try_from(text.len()).unwrap() - 4)
    );
    let backwards = warning(&document, "stream-backwards");
    assert_eq!(
        ["steps", "first", "furthest_ns"].map(|name| backwards.whole(&format!("/{name}"))),
        [1, 9, 2_010]
    );
    assert_eq!(warning(&document, "stream-missed").whole("/missed"), 5);
    assert_eq!(document.list("/warnings").len(), 4, "{:?}", document.list("/warnings"));
    // Half an integer.
    std::fs::write(place.join("half"), &integers(&timestamps(0), 8, false)[..70]).unwrap();
    place.well("measure --probe stream --from half --width 64 -q -o x.teiji");
    let document = shown(&place, "x.teiji");
    assert_figures(&document, &INTERVALS[..7], "half");
    let half = warning(&document, "stream-half-record");
    assert_eq!((half.whole("/bytes"), half.whole("/offset")), (6, 64));
    // Without a period it is not said that none is missing.
    let meaning = document.list("/probe/columns")[0].text("/meaning").to_owned();
    assert!(meaning.contains("unknown how many"), "{meaning}");
}

/// A loop that was preempted and then ran once for each period that had passed has missed none. The
/// verdict, the page and a gate say so of the same rows.
#[test]
fn a_loop_that_catches_up_has_missed_no_period() {
    let _turn = beside_others();
    let place = TestFolder::new();
    let caught_up = [1_000_000, 6_116_648, 89_013, 26_079, 31_204, 28_411, 27_645, 681_000];
    std::fs::write(place.join("log"), lines(caught_up.iter().chain(&[1_000_000; 9]))).unwrap();
    let measure = "measure --probe stream --kind interval --period 1ms -q";
    let output = place.well(&format!("{measure} --from log -o x.teiji --limit missed==0"));
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let said = words(&output.out);
    assert!(
        said.contains(", read from log 17 events. ")
            && said.contains(" pass missed==0 0 in 17 events"),
        "{said}"
    );
    let missed: Vec<i64> = rows(&place, "x.teiji").iter().map(|row| row[3]).collect();
    assert_eq!(missed[..8], [0, 5, -1, -1, -1, -1, -1, 0]);
    place.well("report x.teiji -o x.html --md x.md");
    for text in [place.read("x.html"), place.read("x.md")] {
        assert!(!text.contains("no load added") && !text.contains("periods missed"), "{text}");
    }
    // Without the rest of them, three were not made up for.
    std::fs::write(place.join("log"), lines([1_000_000, 6_116_648, 89_013, 26_079, 1_000_000]))
        .unwrap();
    let output = place.teiji(&format!("{measure} --from log -o y.teiji --limit missed==0"));
    assert!(
        output.code == Some(1) && words(&output.out).contains("5 events, 3 periods missed."),
        "{output:?}"
    );
}

/// A source of nothing but junk is no measurement, and half a record passes no gate.
#[test]
fn streams_without_an_end() {
    let place = TestFolder::new();
    let output = place.teiji("measure --probe stream --from /dev/zero -d 300ms -q -o zero.teiji");
    assert_eq!(
        (output.code, output.out.contains("✗ Holds nothing: ")),
        (Some(4), true),
        "{output:?}"
    );
    let half = "measure --probe stream --from half.txt --unit us --period 1ms -q -o half.teiji \
                --limit lost==0";
    std::fs::write(place.join("half.txt"), "1000\n2000\n3000\n9").unwrap();
    let output = place.teiji(half);
    assert_eq!(output.code, Some(3), "half a record is in no figure: {output:?}");
}

/// What was taken from a pipe is nowhere else: its records are rows, also those that came when the
/// time was over.
#[test]
fn what_was_read_of_a_pipe_is_recorded() {
    let place = TestFolder::new();
    fifo(&place.join("in"));
    // Open for both, so that neither end waits for the other. What is in it afterwards was not
    // taken.
    let mut pipe =
        std::fs::OpenOptions::new().read(true).write(true).open(place.join("in")).unwrap();
    let mut writer = pipe.try_clone().unwrap();
    let filling = std::thread::spawn(move || {
        let zeros = vec![0; 4 << 20];
        std::io::Write::write_all(&mut writer, &zeros).unwrap();
        zeros.len() as u64
    });
    place.well(
        "measure --probe stream --from in --width 32 --unit us --kind latency -d 2ms -q -o x.teiji",
    );
    let rows =
        u64::try_from(shown(&place, "x.teiji").whole("/threads/0/latency_ns/count")).unwrap();
    let mut left = vec![0; (4 << 20) - usize::try_from(4 * rows).unwrap()];
    std::io::Read::read_exact(&mut pipe, &mut left).unwrap();
    assert_eq!(filling.join().unwrap(), 4 * rows + left.len() as u64);
}

/// A million records of a file are read much faster than the rings are emptied, and none is lost.
#[test]
fn a_file_is_read_to_its_end() {
    const RECORDS: u64 = 1_000_000;
    let _turn = beside_others();
    let place = TestFolder::new();
    let bytes = integers(&(0..=RECORDS).map(|k| k * 976_562).collect::<Vec<_>>(), 8, false);
    std::fs::write(place.join("many"), bytes).unwrap();
    place.well(&format!(
        "measure --probe stream --from many --width 64 {PERIOD} -d 50s -q -o x.teiji"
    ));
    let document = shown(&place, "x.teiji");
    let figures = ["count", "min", "max"]
        .map(|name| document.whole(&format!("/threads/0/latency_ns/{name}")));
    assert_eq!(figures, [1_000_000, 0, 0]);
    assert_eq!(document.whole("/threads/0/evidence/samples_lost"), 0);
    assert_eq!(document.list("/warnings").len(), 0, "{:?}", document.list("/warnings"));
    // What a shorter run leaves unread is said.
    place.well("measure --probe stream --from many --width 64 -d 1ms -q -o x.teiji");
    let document = shown(&place, "x.teiji");
    let events = document.whole("/threads/0/activations/due");
    let left = warning(&document, "stream-unread").whole("/bytes");
    assert_eq!((left % 8, events), (0, (1_000_001 - left / 8 - 1).max(0)), "{left}");
    // Standard input may be a file that others have read from: what they took is not counted as
    // left.
    let mut input = File::open(place.join("many")).unwrap();
    std::io::Seek::seek(&mut input, std::io::SeekFrom::Start(4_000_000)).unwrap();
    let mut command = place.command(TEIJI);
    command
        .args(["measure", "--probe", "stream", "--width", "64", "-d", "1ms", "-q", "-o", "x.teiji"])
        .stdin(input);
    let output = Running::start(command).end();
    assert_eq!(output.code, Some(0), "{output:?}");
    let document = shown(&place, "x.teiji");
    let events = document.whole("/threads/0/activations/due");
    let left = warning(&document, "stream-unread").whole("/bytes");
    assert_eq!((left % 8, events), (0, (500_001 - left / 8 - 1).max(0)), "{left}");
}

/// A serial port is read raw, and is afterwards as it was. Its other end hangs up in the middle of
/// a line.
#[test]
fn a_terminal_is_read_and_given_back() {
    let _turn = beside_others();
    let place = TestFolder::new();
    for (flags, bytes) in [
        ("--baud 115200", lines(timestamps(3))),
        // Bytes that a terminal in its usual mode would change or act upon.
        ("--width 64", integers(&timestamps(0x0304_0d0a_1a1c_1113), 8, false)),
    ] {
        let (port, device, from) = terminal();
        let before = tcgetattr(&device).unwrap();
        let running = place.start(&format!(
            "measure --probe stream --from {from} {PERIOD} {flags} -d 2s -q -o x.teiji"
        ));
        let is_raw = || !tcgetattr(&device).unwrap().local_modes.contains(LocalModes::ICANON);
        soon("the terminal is raw", is_raw);
        if flags.contains("baud") {
            assert_eq!(tcgetattr(&device).unwrap().input_speed(), 115_200);
        }
        for portion in bytes.chunks(11) {
            assert_eq!(rustix::io::write(&port, portion), Ok(portion.len()));
            sleep(Duration::from_millis(1));
        }
        let output = running.end();
        assert_eq!(output.code, Some(0), "{output:?}");
        let after = tcgetattr(&device).unwrap();
        assert_eq!(
            (
                after.input_modes,
                after.output_modes,
                after.control_modes,
                after.local_modes,
                after.input_speed()
            ),
            (
                before.input_modes,
                before.output_modes,
                before.control_modes,
                before.local_modes,
                before.input_speed()
            )
        );
        let document = shown(&place, "x.teiji");
        assert_figures(&document, &JITTER, flags);
        // It stayed open and said nothing for the rest of the run.
        assert!(warning(&document, "stream-silent").whole("/silent_ns") > 1_000 * MILLISECOND);

        let running = place.start(&format!(
            "measure --probe stream --from {from} {PERIOD} {flags} -d 30s -q -o x.teiji"
        ));
        soon("the terminal is raw", is_raw);
        assert_eq!(rustix::io::write(&port, &bytes[..bytes.len() - 3]), Ok(bytes.len() - 3));
        // What a hung-up terminal holds is gone with it.
        running.begun("x.teiji");
        sleep(Duration::from_secs(1));
        drop(port);
        let output = running.end();
        assert_eq!(output.code, Some(0), "{output:?}");
        let document = shown(&place, "x.teiji");
        assert_figures(&document, &JITTER[..7], flags);
        assert!(
            document.warns_of("stream-ended") && document.warns_of("stream-half-record"),
            "{document:?}"
        );
    }
}

#[test]
fn sockets_are_read() {
    let _turn = beside_others();
    let place = TestFolder::new();
    let bytes = lines(timestamps(3));
    let unix = UnixListener::bind(place.join("socket")).unwrap();
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = tcp.local_addr().unwrap().port();
    for from in ["unix:socket".to_owned(), format!("tcp:127.0.0.1:{port}")] {
        let running =
            place.start(&format!("measure --probe stream --from {from} {PERIOD} -q -o x.teiji"));
        if from.starts_with("unix") {
            unix.accept().unwrap().0.write_all(&bytes).unwrap();
        } else {
            tcp.accept().unwrap().0.write_all(&bytes).unwrap();
        }
        let output = running.end();
        assert_eq!(output.code, Some(0), "{output:?}");
        let document = shown(&place, "x.teiji");
        assert_figures(&document, &JITTER, &from);
        // Whoever was connected may have had more to say.
        assert!(!warning(&document, "stream-ended").has("/closed"));
    }
}

/// Of a file it was shown as if it had been measured. Of a pipe, which may go on, it is a setting.
#[test]
fn the_length_of_a_run_says_nothing_of_a_file() {
    let _turn = beside_others();
    let place = TestFolder::new();
    std::fs::write(place.join("many"), lines((0..2_000_000_u64).map(|k| k * 1_000))).unwrap();
    std::fs::write(place.join("log"), lines((0..5_000).map(|k| k * 5_000_000_u64))).unwrap();
    for (name, line, is_file) in [
        ("named", "\"$@\" --from log", true),
        ("redirected", "\"$@\" < log", true),
        ("piped", "cat log | \"$@\"", false),
    ] {
        let file = format!("{name}.teiji");
        let mut command = place.command("sh");
        let words = format!("measure --probe stream -q -d 20s -o {file}");
        command.args(["-c", line, "sh", TEIJI]).args(words.split_whitespace());
        let output = Running::start(command).end();
        assert_eq!(output.code, Some(0), "{output:?}");
        let stated = place.document(&file);
        assert_eq!(stated.has("/probe/from_file"), is_file, "{name}");
        place.well(&format!("report {file} -o x.html --md x.md"));
        let (summary, page) = (place.well(&format!("show {file}")).out, place.read("x.md"));
        assert_eq!(summary.contains("20 s planned"), !is_file, "{summary}");
        assert_eq!(page.contains("| Length | 20 s |"), !is_file, "{page}");
    }
    // Where some of it was left, the run's length says why.
    place.well("measure --probe stream --from many -q -d 1ms -o left.teiji");
    assert!(place.well("show left.teiji").out.contains("1 ms planned"));
    place.well("report named.teiji piped.teiji -o x.html --md x.md");
    assert!(place.read("x.md").contains("| Length | – | 20 s |"), "{}", place.read("x.md"));
}

/// A plan measures a stream for each repeat, and of the page nothing says that this machine made
/// the figures.
#[test]
fn a_plan_and_a_page_of_a_stream() {
    let _turn = beside_others();
    let place = TestFolder::new();
    std::fs::write(place.join("log"), lines((0..5_000).map(|k| k * 5_000_000_u64))).unwrap();
    let log = place.join("log");
    let plan = format!(
        "[measure]\nprobe = 'stream'\nfrom = '{}'\nperiod = '5ms'\nduration = '10s'\n",
        log.display()
    );
    std::fs::write(place.join("plan.toml"), plan).unwrap();
    place.well("run plan.toml -q -o out");
    let found = place.listing().into_iter().find(|name| name.ends_with(".teiji")).unwrap();
    place.well(&format!("report {found} -o x.html --md x.md"));
    let (page, markdown) = (place.read("x.html"), place.read("x.md"));
    for text in [&page, &markdown] {
        assert!(text.contains("Measured elsewhere: ") && text.contains("of the stream"), "{text}");
        for untrue in [
            "Ordinary scheduling",
            "Memory locked",
            "/dev/cpu_dma_latency",
            "Preempted while measuring",
        ] {
            assert!(!text.contains(untrue), "{untrue} in {text}");
        }
    }
    // The chart covers the stream's own 25 s, not the second that reading took.
    assert!(markdown.contains(" 25.00 s |"), "{markdown}");
}

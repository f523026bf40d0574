// SPDX-License-Identifier: MIT OR Apache-2.0
//! Each file and device that the program opens without being asked has a row in
//! docs/opened-files.md, which says what looking at it can do.

use crate::support::machine::lay_out;
use crate::support::skipped::{Need, skipped};
use crate::support::{TEIJI, TestFolder, beside_others};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::Stdio;

/// Commands that name no file outside of the test's folder. Each probe here needs nothing.
const COMMANDS: &[&str] = &[
    "check",
    "check --advise --watch 50ms",
    "probes",
    "plans",
    "lab kernels",
    "tune --plan",
    "load -d 100ms fork",
    "load -d 100ms dev-zero",
    "measure -n 20 -o auto.teiji",
    "measure -n 20 --probe cyclic --load cache -o cyclic.teiji",
    "measure -n 20 --probe wakeup -o wakeup.teiji",
    "measure -n 5 --probe wakeup --by semaphore -o semaphore.teiji",
    "measure -n 5 --probe spawn -o spawn.teiji",
    "measure -d 100ms --probe noise -o noise.teiji",
    "show auto.teiji",
    "report auto.teiji -o page.html",
    "anonymise auto.teiji -o sent.teiji",
    "verify auto.teiji",
    "compare auto.teiji cyclic.teiji",
    "gate auto.teiji --limit max<1h",
    "export auto.teiji --samples",
];

/// Other machines, as trees of files. These commands read all that `check` and `tune` know to look
/// for there.
const MACHINES: &[&str] = &[
    "laptop",
    "pi-3-document-002",
    "pi-4-throttled",
    "lab-cobalt",
    "lab-evl",
    "lab-rt",
    "container-with-quota",
    "arguments-misspelled",
    "telco-timers-and-limits",
];
const OF_MACHINES: &[&str] = &[
    "check --root",
    "check --for telco --root",
    "check --advise --root",
    "tune --plan --cpus 0 --root",
    "tune --boot --cpus 0 --root",
];

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_owned()
}

/// The patterns in the first cells of the page's tables.
fn patterns() -> Vec<String> {
    let page = fs::read_to_string(workspace().join("docs/opened-files.md")).unwrap();
    let cells = page.lines().filter_map(|line| line.strip_prefix("| `")?.split(" | ").next());
    cells
        .flat_map(|cell| {
            cell.split(", `")
                .flat_map(|one| alternatives(one.trim_matches('`')))
                .collect::<Vec<_>>()
        })
        .collect()
}

/// `a{b,c}` as `ab` and `ac`.
fn alternatives(pattern: &str) -> Vec<String> {
    let Some((before, rest)) = pattern.split_once('{') else { return vec![pattern.to_owned()] };
    let (choices, after) = rest.split_once('}').unwrap();
    choices
        .split(',')
        .flat_map(|choice| alternatives(&format!("{before}{choice}{after}")))
        .collect()
}

fn covers(pattern: &str, path: &str) -> bool {
    let any = |rest: &str, is_in: &dyn Fn(&str) -> bool| {
        let ends = path.char_indices().map(|(place, _)| place).chain([path.len()]);
        ends.take_while(|end| is_in(&path[..*end])).any(|end| covers(rest, &path[end..]))
    };
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if let Some(rest) = pattern.strip_prefix("**") {
        return any(rest, &|_| true);
    }
    if let Some(rest) = pattern.strip_prefix('*') {
        return any(rest, &|text| !text.contains('/'));
    }
    if let Some(rest) = pattern.strip_prefix("[n]") {
        return path.starts_with(|first: char| first.is_ascii_digit()) && any(rest, &is_number);
    }
    if let Some(rest) = pattern.strip_prefix("[pid]") {
        let own = path.strip_prefix("self").is_some_and(|after| covers(rest, after));
        return own || covers(&format!("[n]{rest}"), path);
    }
    match (pattern.chars().next(), path.chars().next()) {
        (None, None) => true,
        (Some(expected), Some(found)) => {
            expected == found && covers(&pattern[expected.len_utf8()..], &path[found.len_utf8()..])
        }
        _ => false,
    }
}

/// The path of a call that opens or executes a file, in a line of strace.
fn path_of(line: &str, place: &Path) -> Option<PathBuf> {
    const CALLS: [&str; 6] = ["open(", "openat(", "openat2(", "creat(", "execve(", "execveat("];
    let arguments = CALLS.iter().find_map(|call| {
        let (before, arguments) = line.split_once(call)?;
        before.chars().all(|letter| letter.is_ascii_digit() || letter == ' ').then_some(arguments)
    })?;
    let (of, rest) = arguments.split_once('"')?;
    let path = rest.split_once('"')?.0;
    // strace -y names the folder that a path is relative to.
    let folder = of
        .split_once('<')
        .and_then(|(_, rest)| rest.split_once('>'))
        .map_or(place, |(folder, _)| Path::new(folder));
    let plain: PathBuf =
        folder.join(path).components().filter(|part| *part != Component::CurDir).collect();
    Some(plain)
}

/// The path as the page writes it. None below the test's folder, where all is asked for.
fn written(path: &Path, place: &TestFolder) -> Option<String> {
    let prefix = Path::new(TEIJI).ancestors().nth(3).unwrap();
    if let Ok(below) = path.strip_prefix(place.join("home")) {
        return Some(format!("~/{}", below.display()));
    }
    if let Ok(below) = path.strip_prefix(place.join("machine")) {
        return Some(format!("/{}", below.display()));
    }
    if path.starts_with(place.path()) || path.as_os_str().is_empty() {
        return None;
    }
    Some(path.strip_prefix(prefix).map_or_else(
        |_| path.display().to_string(),
        |below| format!("[prefix]/{}", below.display()),
    ))
}

/// What the program opened with these words, and its exit code; none where it cannot be traced.
fn opened(place: &TestFolder, words: &str) -> Option<(BTreeSet<String>, i32)> {
    let mut traced = place.command("strace");
    traced.args([
        "-f",
        "-qq",
        "-y",
        "-e",
        "trace=open,openat,openat2,creat,execve,execveat",
        "-e",
        "signal=none",
        "-o",
        "trace",
    ]);
    traced
        .arg(TEIJI)
        .args(words.split(' '))
        .env_remove("XDG_CACHE_HOME")
        .env_remove("LD_LIBRARY_PATH")
        .env("HOME", place.join("home"));
    let status = traced.stdout(Stdio::null()).stderr(Stdio::null()).status().ok()?;
    let trace = fs::read_to_string(place.join("trace")).ok()?;
    // Without the right to trace nothing is executed.
    let is_traced = trace.lines().any(|line| line.contains("execve(") && line.ends_with("= 0"));
    let opened =
        trace.lines().filter_map(|line| written(&path_of(line, place.path())?, place)).collect();
    is_traced.then(|| (opened, status.code().unwrap()))
}

/// Those of them that no row is about.
fn without_row(opened: &BTreeSet<String>, patterns: &[String]) -> Vec<String> {
    opened
        .iter()
        .filter(|path| !patterns.iter().any(|pattern| covers(pattern, path)))
        .cloned()
        .collect()
}

#[test]
fn each_file_that_is_opened_unasked_has_a_row() {
    let _turn = beside_others();
    let place = TestFolder::new();
    fs::create_dir(place.join("home")).unwrap();
    let patterns = patterns();
    for words in COMMANDS {
        let Some((opened, code)) = opened(&place, words) else {
            return skipped(Need::Strace, "strace cannot trace a program here");
        };
        // 1: something is bad for latency.
        assert!(code <= 1, "teiji {words}: exit code {code}");
        assert!(
            opened.iter().any(|path| path.starts_with("[prefix]/")),
            "the program itself: {opened:?}"
        );
        assert_eq!(
            without_row(&opened, &patterns),
            [""; 0],
            "teiji {words} opens what docs/opened-files.md does not have"
        );
    }
}

#[test]
fn each_file_of_another_machine_that_is_opened_has_a_row() {
    let patterns = patterns();
    for name in MACHINES {
        let place = TestFolder::new();
        fs::create_dir(place.join("home")).unwrap();
        lay_out(&place.join("machine"), name);
        for words in OF_MACHINES {
            let words = format!("{words} machine");
            let Some((opened, _)) = opened(&place, &words) else {
                return skipped(Need::Strace, "strace cannot trace a program here");
            };
            assert!(opened.contains("/proc/cmdline"), "teiji {words} ({name}): {opened:?}");
            assert_eq!(
                without_row(&opened, &patterns),
                [""; 0],
                "teiji {words} ({name}) opens what docs/opened-files.md does not have"
            );
        }
    }
}

/// A row that nothing reads any more would stay for ever.
#[test]
fn each_setting_with_a_row_is_named_in_the_source() {
    let mut source = String::new();
    let mut folders = vec![workspace().join("crates")];
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() && !path.ends_with("tests") {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                source += &fs::read_to_string(path).unwrap();
            }
        }
    }
    for pattern in patterns()
        .iter()
        .filter(|pattern| pattern.starts_with("/sys/") || pattern.starts_with("/proc/sys/"))
    {
        let mut literals = pattern.split(['/', '*', ']', '[']).filter(|part| part.len() > 2);
        let name = literals.next_back().unwrap();
        // The first word of some is a variable.
        let is_read = source.contains(name)
            || name.split_once('_').is_some_and(|(_, end)| source.contains(end));
        assert!(is_read, "nothing reads {pattern}: '{name}' is nowhere in the source");
    }
}

#[test]
fn patterns_are_of_paths() {
    for (pattern, path, expected) in [
        ("/proc/[pid]/stat", "/proc/17/stat", true),
        ("/proc/[pid]/stat", "/proc/self/stat", true),
        ("/proc/[pid]/stat", "/proc/17/task/17/stat", false),
        ("/sys/cpu[n]/*/size", "/sys/cpu12/index0/size", true),
        ("/sys/cpu[n]/*/size", "/sys/cpu/index0/size", false),
        ("/boot/config-*", "/boot/config-6.1/x", false),
        ("/run/teiji/**", "/run/teiji/a/b", true),
        ("/dev/null", "/dev/null0", false),
    ] {
        assert_eq!(covers(pattern, path), expected, "{pattern} {path}");
    }
    assert_eq!(alternatives("/{a,b}/{c,d}"), ["/a/c", "/a/d", "/b/c", "/b/d"]);
    let place = Path::new("/place");
    let path = |line: &str| path_of(line, place).map(|path| path.display().to_string());
    assert_eq!(
        path("7  openat(AT_FDCWD</elsewhere>, \"a\", O_RDONLY) = 3").as_deref(),
        Some("/elsewhere/a")
    );
    assert_eq!(path("7  open(\"./a\", O_RDONLY <unfinished ...>").as_deref(), Some("/place/a"));
    assert_eq!(path("7  <... openat resumed>) = 3"), None);
}

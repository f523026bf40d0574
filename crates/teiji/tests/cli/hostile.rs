// SPDX-License-Identifier: MIT OR Apache-2.0
//! Recordings made by somebody who means harm, held against every verb that reads one: what each
//! opens and starts is looked at, how much memory it takes, how long, and what it prints.

use crate::sessions::synthetic::{self, Numbers};
use crate::support::skipped::{Need, skipped};
use crate::support::{Output, Running, TEIJI, TestFolder, copy_recording};
use rustix::fs::{CWD, FileType, Mode, makedev, mknodat};
use serde_json::{Value, json};
use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Each verb that reads a recording; `REC` stands for it, and for `OUT` it may write.
const VERBS: [&str; 21] = [
    "show REC",
    "show REC --md",
    "show REC --csv",
    "show REC --json",
    "show REC --figure max",
    "verify REC",
    "report REC -o OUT/page.html --md OUT/page.md --svg OUT/charts",
    "compare REC good.teiji",
    "compare good.teiji REC --html OUT/compared.html --json",
    "gate REC --limit max<1s --limit p99.9<1s",
    "export REC --samples -o OUT/samples.csv",
    "export REC --histogram",
    "export REC --as cyclictest-json -o OUT/cyclictest.json",
    "export REC --as hdrhistogram",
    "export REC --as openmetrics",
    "export REC --as perfetto -o OUT/trace",
    "report REC -o OUT/anonymous.html --anonymous",
    "anonymise REC -o OUT/anonymous.teiji",
    "explain REC",
    "lab rerun REC",
    "run --resume PLAN",
];
/// Bytes of writable memory, threads' stacks among it.
const MEMORY: &str = "268435456";
/// By the clock: who waits for a FIFO takes no CPU time.
const TIME: Duration = Duration::from_secs(10);
/// Seconds of CPU time, which other work does not lengthen.
const CPU_TIME: &str = "10";
/// What each program here is made of and looks at, for reading.
const SYSTEM: [&str; 8] = [
    "/proc/",
    "/sys/",
    "/lib",
    "/usr/lib",
    "/etc/ld.so",
    "/dev/null",
    "/dev/urandom",
    "/etc/localtime",
];

/// A recording that is meant to do harm, and one beside it that is not; what must not be opened
/// lies in `outside`.
struct Trap {
    place: TestFolder,
    name: String,
}

impl Trap {
    /// An ordinary recording, to be changed.
    fn new() -> Self {
        let place = TestFolder::new();
        synthetic::write(&place.join("good.teiji"), 2, 500, Numbers::tailed_ns).unwrap();
        copy_recording(&place.join("good.teiji"), &place.join("rec.teiji"));
        for folder in ["outside", "out", "tmp"] {
            fs::create_dir(place.join(folder)).unwrap();
        }
        copy_recording(&place.join("good.teiji"), &place.join("outside/other.teiji"));
        Trap { place, name: "rec.teiji".to_owned() }
    }

    /// One whose document says something else.
    fn saying(change: impl Fn(&mut Value)) -> Self {
        let trap = Trap::new();
        let mut document: Value =
            serde_json::from_slice(&fs::read(trap.file("run.json")).unwrap()).unwrap();
        change(&mut document);
        fs::write(trap.file("run.json"), document.to_string()).unwrap();
        trap
    }

    /// One of whose files nothing is left.
    fn without(file: &str) -> (Self, PathBuf) {
        let trap = Trap::new();
        let path = trap.file(file);
        let _ = fs::remove_file(&path);
        (trap, path)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.place.join(&self.name).join(name)
    }

    /// Tries each verb, and hands what it printed to `look`.
    #[track_caller]
    fn spring(&self, look: impl Fn(&str, &Output)) {
        self.spring_by(&VERBS, look);
    }

    #[track_caller]
    fn spring_by(&self, verbs: &[&str], look: impl Fn(&str, &Output)) {
        for verb in verbs {
            // What the last one wrote is in nobody's way.
            let out = self.place.join("out");
            fs::remove_dir_all(&out).unwrap();
            fs::create_dir(&out).unwrap();
            let words: Vec<String> = verb
                .split(' ')
                .map(|word| match word {
                    "REC" | "PLAN" => self.name.clone(),
                    word => word.replace("OUT", "out"),
                })
                .collect();
            let mut command = self.place.command("prlimit");
            command.args([format!("--data={MEMORY}"), format!("--cpu={CPU_TIME}")]).args([
                "strace",
                "-f",
                "-qq",
                "-o",
                "strace.txt",
                "-s",
                "4096",
            ]);
            command
                .args(["-e", "trace=execve,execveat,open,openat,openat2,creat"])
                .arg(TEIJI)
                .args(&words);
            // Cargo has it name folders of the build.
            command
                .env("TMPDIR", self.place.join("tmp"))
                .env_remove("LD_LIBRARY_PATH")
                .env("TEIJI_STATE", self.place.join("teiji"));
            let began = Instant::now();
            let output = Running::start(command).end();
            assert!(began.elapsed() < TIME, "{verb}: {:?}", began.elapsed());
            assert!(matches!(output.code, Some(0..=4)), "{verb}: {output:?}");
            self.assert_opened_nothing_else(verb);
            look(verb, &output);
        }
    }

    #[track_caller]
    fn assert_opened_nothing_else(&self, verb: &str) {
        let own = |path: &str| self.place.path().join(path);
        for line in self.place.read("strace.txt").lines() {
            let (_, call) = line.split_once(' ').unwrap_or_default();
            let call = call.trim_start();
            if call.starts_with("execve") {
                assert!(
                    call.contains(TEIJI) || call.contains("\"/proc/self/exe\""),
                    "{verb}: {line}"
                );
                continue;
            }
            let quoted = call
                .split('"')
                .nth(1)
                .filter(|_| call.starts_with("open") || call.starts_with("creat"));
            let Some(path) = quoted.map(unescaped) else { continue };
            let path = path.as_str();
            let writes =
                ["O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC"].iter().any(|flag| call.contains(flag));
            let full = own(path);
            let within = |folder: &str| full.starts_with(own(folder)) && !path.contains("..");
            // The state folder is the user's own: the key of pseudonyms lies there.
            let may_write = ["out", "tmp", "teiji"].into_iter().any(within);
            let may_read = may_write
                || [self.name.as_str(), "good.teiji"].into_iter().any(within)
                || full == self.place.path()
                // Programs for guests lie beside its own.
                || Path::new(TEIJI).ancestors().nth(3).is_some_and(|build| full.starts_with(build))
                || SYSTEM.iter().any(|system| path.starts_with(system));
            assert!(if writes { may_write } else { may_read }, "{verb} opens {path}: {line}");
        }
    }
}

/// A path as strace writes it.
fn unescaped(quoted: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = quoted.as_bytes();
    while let [first, after @ ..] = rest {
        let octal = after.iter().take(3).take_while(|c| (b'0'..=b'7').contains(*c)).count();
        let (byte, length) = match (first, after) {
            (b'\\', _) if octal > 0 => {
                let digits = std::str::from_utf8(&after[..octal]).unwrap();
                (u8::from_str_radix(digits, 8).unwrap(), octal + 1)
            }
            (b'\\', [b'n', ..]) => (b'\n', 2),
            (b'\\', [c, ..]) => (*c, 2),
            _ => (*first, 1),
        };
        bytes.push(byte);
        rest = &rest[length..];
    }
    String::from_utf8(bytes).unwrap()
}

/// Whether what is opened can be seen here.
fn can_look() -> bool {
    let seen =
        std::process::Command::new("strace").args(["-qq", "-o", "/dev/null", "true"]).status();
    let can = seen.is_ok_and(|status| status.success());
    if !can {
        skipped(Need::Strace, "strace cannot trace here");
    }
    can
}

fn anything(_: &str, _: &Output) {}

/// A verb that needs what is not there says so.
#[track_caller]
fn refused(says: &'static str) -> impl Fn(&str, &Output) {
    move |verb, output| {
        let reads =
            !verb.starts_with("run") && !verb.contains("explain") && !verb.contains("rerun");
        assert!(
            !reads || output.code == Some(2) && output.err.contains(says),
            "{verb}: {output:?}"
        );
    }
}

#[test]
fn samples_that_are_named_elsewhere() {
    if !can_look() {
        return;
    }
    for name in [
        "../outside/other.teiji/samples-0.arrows",
        "/dev/zero",
        "..",
        "",
        "/",
        "../../../../../../../../etc/passwd",
        "/dev/stdin",
    ] {
        Trap::saying(|document| document["threads"][0]["samples_file"] = json!(name))
            .spring(anything);
    }
}

#[test]
fn links_that_lead_out() {
    if !can_look() {
        return;
    }
    for file in ["run.json", "samples-0.arrows"] {
        let (trap, path) = Trap::without(file);
        symlink(format!("../outside/other.teiji/{file}"), &path).unwrap();
        trap.spring(refused("is a link to ../outside/other.teiji/"));
    }
    for file in [
        "explain.json",
        "samples-0-long.arrows",
        "samples-0.sums",
        "console.log",
        "host-before.json",
    ] {
        let (trap, path) = Trap::without(file);
        symlink("/etc/passwd", &path).unwrap();
        trap.spring(|verb, output| {
            assert!(
                !output.out.contains("root:") && !output.err.contains("root:"),
                "{verb}: {output:?}"
            )
        });
    }
}

#[test]
fn what_is_no_file() {
    if !can_look() {
        return;
    }
    for file in [
        "run.json",
        "samples-0.arrows",
        "samples-0-long.arrows",
        "samples-0.sums",
        "explain.json",
        "console.log",
    ] {
        let (trap, path) = Trap::without(file);
        mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        trap.spring(anything);
        let (trap, path) = Trap::without(file);
        fs::create_dir(path).unwrap();
        trap.spring(anything);
    }
    // A device, which opening alone may set off: seen by what strace shows of this one.
    let (trap, path) = Trap::without("samples-0.arrows");
    if mknodat(CWD, &path, FileType::CharacterDevice, Mode::RUSR, makedev(1, 5)).is_ok() {
        trap.spring(|verb, output| {
            refused("is a device")(verb, output);
            let calls = trap.place.read("strace.txt");
            let opened = calls.lines().find(|call| {
                call.contains("rec.teiji/samples-0.arrows\", O_RDONLY") && !call.contains("O_PATH")
            });
            assert_eq!(opened, None, "{verb}");
        });
    }
}

#[test]
fn files_that_are_too_large() {
    if !can_look() {
        return;
    }
    for (file, bytes) in [
        ("run.json", 150 << 20),
        ("run.json", 1 << 30),
        ("explain.json", 1 << 30),
        ("console.log", 1 << 30),
    ] {
        let (trap, path) = Trap::without(file);
        File::create(&path).unwrap().set_len(bytes).unwrap();
        if file == "run.json" {
            trap.spring(refused("is larger than 32 MB"));
        } else {
            trap.spring(anything);
        }
    }
    for file in ["samples-0.arrows", "samples-0-long.arrows", "samples-0.sums"] {
        let (trap, path) = Trap::without(file);
        File::create(&path).unwrap().set_len(1 << 30).unwrap();
        trap.spring(anything);
    }
}

#[test]
fn more_than_any_machine_has() {
    if !can_look() {
        return;
    }
    let many = |threads: usize| {
        Trap::saying(move |document| {
            let one = document["threads"][0].clone();
            document["threads"] = (0..threads)
                .map(|index| {
                    let mut thread = one.clone();
                    thread["index"] = json!(index);
                    // As small as a thread can be.
                    (thread["histogram_ns"]["buckets"], thread["worst"]) = (json!([]), json!([]));
                    thread
                })
                .collect();
        })
    };
    many(200_000).spring(refused("is larger than 32 MB"));
    many(9_000).spring(refused("it has 9000 threads"));
    for number in [json!(1_000_000_000), json!(i64::MAX)] {
        for place in [
            "/threads/0/index",
            "/threads/0/cpu",
            "/threads/0/interval_ns",
            "/threads/0/activations/due",
            "/threads/0/start_ns",
            "/run/interval_ns",
            "/run/extent/samples",
            "/probe/period_ns",
        ] {
            Trap::saying(|document| {
                if let Some(value) = document.pointer_mut(place) {
                    *value = number.clone();
                }
            })
            .spring_by(
                &["verify REC", "report REC -o OUT/page.html", "gate REC --limit max<1s"],
                anything,
            );
        }
    }
    let values = |key: &'static str, value: &'static str, times: usize| {
        let trap = Trap::new();
        let text = trap.place.read("rec.teiji/run.json");
        let all = vec![value; times].join(",");
        fs::write(trap.file("run.json"), text.replacen('{', &format!("{{\"{key}\":[{all}],"), 1))
            .unwrap();
        trap
    };
    values("more", "{}", 1_000_000).spring(refused("values, the most that are read"));
    // Evidence does not grow by being named twice.
    Trap::saying(|document| document["threads"][1]["samples_file"] = json!("samples-0.arrows"))
        .spring(refused("has the samples of another one"));
    let (trap, path) = Trap::without("run.json");
    fs::write(path, "[".repeat(1 << 20)).unwrap();
    trap.spring(refused("cannot be understood"));
}

/// What a terminal obeys, what a page obeys, and what ends a line.
const STEERING: &str =
    "\u{1b}]0;owned\u{7}\u{1b}[2J\u{9b}2J\u{202e}<script>alert(1)</script>|`*\n# PASS";

/// Puts it into every text of a document that can hold any.
fn steer(value: &mut Value) {
    /// These are names of something, which nothing else can be.
    const NAMED: [&str; 20] = [
        "format",
        "state",
        "kind",
        "policy",
        "unit",
        "code",
        "sleep",
        "clock",
        "quantity",
        "rows",
        "reason",
        "mode",
        "detail",
        "overrun_policy",
        "machine",
        "origin",
        "samples_file",
        "started_at",
        "ended_at",
        "name",
    ];
    match value {
        Value::Object(map) => {
            for (key, value) in map.iter_mut() {
                match value {
                    Value::String(text) if !NAMED.contains(&key.as_str()) => {
                        text.push_str(STEERING)
                    }
                    Value::String(_) => {}
                    value => steer(value),
                }
            }
        }
        Value::Array(list) => list.iter_mut().for_each(|value| match value {
            Value::String(text) => text.push_str(STEERING),
            value => steer(value),
        }),
        _ => {}
    }
}

#[track_caller]
fn assert_harmless(trap: &Trap, verb: &str, Output { out, err, .. }: &Output) {
    let steers = |c: char| c.is_control() && !matches!(c, '\n' | '\t' | '\r') || c == '\u{202e}';
    let printed = [("standard output", out), ("standard error", err)];
    for (name, text) in printed {
        assert!(!text.contains(steers), "{verb} steers the terminal on {name}: {text:?}");
    }
    assert!(!verb.contains("--md") || !outside_code(out).contains("<script>"), "{verb}: {out}");
    for (file, holds) in [
        ("out/page.html", "<script>alert(1)"),
        ("out/page.md", "<script>"),
        ("out/compared.html", "<script>alert(1)"),
        ("out/anonymous.html", "<script>alert(1)"),
    ] {
        let text = fs::read_to_string(trap.place.join(file)).unwrap_or_default();
        assert!(!text.contains(steers), "{verb}: {file} holds what steers");
        let text = if file.ends_with(".md") { outside_code(&text) } else { text };
        assert!(!text.contains(holds), "{verb}: {file} holds {holds}");
    }
    for entry in
        fs::read_dir(trap.place.join("out/charts")).into_iter().flatten().map(Result::unwrap)
    {
        assert!(
            !fs::read_to_string(entry.path()).unwrap().contains("<script>"),
            "{verb}: {:?}",
            entry.path()
        );
    }
}

/// Markdown without its code, in which nothing means anything: what stands between as many
/// backticks as before it.
fn outside_code(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(begin) = rest.find('`') {
        let fence = rest[begin..].len() - rest[begin..].trim_start_matches('`').len();
        let after = &rest[begin + fence..];
        let ends = |place: &usize| {
            let same =
                after[*place..].len() - after[*place..].trim_start_matches('`').len() == fence;
            same && !after[..*place].ends_with('`')
        };
        let end = after.match_indices('`').map(|(place, _)| place).find(ends);
        out.push_str(&rest[..begin]);
        rest = end.map_or("", |end| &after[end + fence..]);
    }
    out + rest
}

#[test]
fn texts_that_steer_a_terminal_or_a_page() {
    if !can_look() {
        return;
    }
    let all = Trap::saying(steer);
    all.spring(|verb, output| assert_harmless(&all, verb, output));
    // What can be read as a whole, with one text each.
    for place in [
        "/run/title",
        "/probe/columns/0/name",
        "/probe/columns/0/meaning",
        "/probe/name",
        "/host/before/kernel/release",
        "/host/before/host_name",
        "/teiji",
        "/command_line",
    ] {
        let trap = Trap::saying(|document| {
            let (above, key) = place.rsplit_once('/').unwrap();
            if let Some(Value::Object(map)) = document.pointer_mut(above) {
                map.insert(
                    key.to_owned(),
                    if key == "command_line" {
                        json!(["teiji", STEERING])
                    } else {
                        json!(STEERING)
                    },
                );
            }
        });
        trap.spring(|verb, output| assert_harmless(&trap, verb, output));
    }
}

#[test]
fn names_that_steer_and_names_that_are_long() {
    if !can_look() {
        return;
    }
    let names = [
        "\u{1b}[2J\u{9b}2J<script>alert(1)<\u{2044}script>\n# PASS.teiji".to_owned(),
        format!("{}.teiji", "n".repeat(249)),
    ];
    for name in names {
        let mut trap = Trap::new();
        fs::rename(trap.place.join("rec.teiji"), trap.place.join(&name)).unwrap();
        trap.name = name;
        trap.spring(|verb, output| {
            assert_harmless(&trap, verb, output);
            let reads =
                !verb.starts_with("run") && !verb.contains("explain") && !verb.contains("rerun");
            assert!(!reads || matches!(output.code, Some(0 | 3)), "{verb}: {output:?}");
        });
        fs::remove_file(trap.file("samples-0.arrows")).unwrap();
        trap.spring(|verb, output| assert_harmless(&trap, verb, output));
    }
}

/// The folder of a plan of two runs, to be changed.
fn folder_of_a_plan() -> Trap {
    let mut trap = Trap::new();
    fs::write(
        trap.place.join("p.toml"),
        "[measure]\npolicy = \"other\"\nsamples = 20\n[vary]\ninterval = [\"1ms\", \"2ms\"]\n",
    )
    .unwrap();
    trap.place.well("run -q p.toml -o plan");
    trap.name = "plan".to_owned();
    trap
}

/// Verbs that take one.
const OF_PLANS: [&str; 6] = [
    "show REC",
    "report REC -o OUT/page.html",
    "compare REC",
    "gate REC --limit max<1s",
    "run --resume PLAN",
    "show REC --by interval",
];

#[test]
fn folders_of_plans_that_point_elsewhere() {
    if !can_look() {
        return;
    }
    let recording = |trap: &Trap| {
        let names =
            fs::read_dir(trap.place.join("plan")).unwrap().map(|entry| entry.unwrap().file_name());
        names
            .filter_map(|name| name.into_string().ok())
            .find(|name| name.starts_with("01"))
            .unwrap()
    };
    let trap = folder_of_a_plan();
    let first = trap.file(&recording(&trap));
    fs::remove_dir_all(&first).unwrap();
    symlink("../outside/other.teiji", &first).unwrap();
    trap.spring_by(&OF_PLANS, |verb, output| {
        assert!(
            output.code == Some(2) && output.err.contains("is a link to ../outside/other.teiji"),
            "{verb}: {output:?}"
        );
    });
    // A recording that is cut off is put aside by --resume: not through a link.
    let trap = folder_of_a_plan();
    fs::write(trap.file(&recording(&trap)).join("run.json"), "{").unwrap();
    symlink("../outside", trap.file("incomplete")).unwrap();
    trap.spring_by(&OF_PLANS, anything);
    assert_eq!(fs::read_dir(trap.place.join("outside")).unwrap().count(), 1);
    // Files of its own.
    for file in ["plan.toml", "index.json"] {
        for make in [0, 1, 2] {
            let trap = folder_of_a_plan();
            let path = trap.file(file);
            fs::remove_file(&path).unwrap();
            match make {
                0 => symlink("/etc/passwd", &path).unwrap(),
                1 => mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap(),
                _ => File::create(&path).unwrap().set_len(1 << 30).unwrap(),
            }
            trap.spring_by(&OF_PLANS, |verb, output| {
                assert!(
                    !output.out.contains("root:") && !output.err.contains("root:"),
                    "{verb}: {output:?}"
                );
            });
        }
    }
    let trap = folder_of_a_plan();
    fs::write(trap.file("plan.toml"), "include = \"/etc/passwd\"\n").unwrap();
    trap.spring_by(&OF_PLANS, |verb, output| {
        assert!(
            output.code == Some(2) && output.err.contains("includes no other file"),
            "{verb}: {output:?}"
        );
    });
}

#[test]
fn a_folder_of_recordings_that_points_elsewhere() {
    if !can_look() {
        return;
    }
    let mut trap = Trap::new();
    fs::create_dir(trap.place.join("all")).unwrap();
    copy_recording(&trap.place.join("good.teiji"), &trap.place.join("all/a.teiji"));
    symlink("../outside/other.teiji", trap.place.join("all/b.teiji")).unwrap();
    trap.name = "all".to_owned();
    trap.spring_by(&OF_PLANS[..4], |verb, output| {
        assert!(
            output.code == Some(2) && output.err.contains("is a link to ../outside/other.teiji"),
            "{verb}: {output:?}"
        );
    });
}

/// Figures of others, by whoever sent them.
#[test]
fn figures_of_others_that_do_not_end() {
    let trap = folder_of_a_plan();
    mknodat(CWD, trap.place.join("fifo.csv"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    File::create(trap.place.join("large.csv")).unwrap().set_len(1 << 30).unwrap();
    for (file, says) in [("fifo.csv", "it is not a file"), ("large.csv", "larger than 2 MB")] {
        let mut command = trap.place.command("prlimit");
        command.arg(format!("--data={MEMORY}")).arg(TEIJI).args(["show", "plan", "--beside", file]);
        let output = Running::start(command).end();
        assert!(output.code == Some(2) && output.err.contains(says), "{output:?}");
    }
}

/// A dry run of one took all memory, or waited for ever.
#[test]
fn plans_that_are_no_files() {
    let place = TestFolder::new();
    std::os::unix::fs::symlink("/dev/zero", place.join("zero.toml")).unwrap();
    mknodat(CWD, place.join("fifo.toml"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    std::fs::write(place.join("on-top.toml"), "include = \"zero.toml\"\n").unwrap();
    std::fs::write(place.join("large.toml"), "#".repeat(5 << 20)).unwrap();
    let no_file = "it is a device, a FIFO or a socket, and no file";
    for (plan, why) in [
        ("zero.toml", no_file),
        ("fifo.toml", no_file),
        ("on-top.toml", no_file),
        ("large.toml", "it is larger than 4 MiB"),
    ] {
        let output = place.teiji(&format!("run --dry-run {plan}"));
        assert_eq!(output.code, Some(2), "{output:?}");
        assert!(output.err.contains(why), "{output:?}");
    }
}

/// A guest's conditions that name what lies in the recording itself and leaves a mark when it is
/// started.
#[test]
fn programs_that_a_recording_brings_along() {
    if !can_look() {
        return;
    }
    for (origin, kernel) in [
        ("path", "REC/kernel"),
        ("system", "REC/kernel"),
        ("path", "debian:amd64:../../../REC"),
        ("pinned", "debian:amd64"),
    ] {
        let trap = Trap::new();
        let own = |name: &str| trap.file(name).display().to_string();
        for name in ["qemu", "kernel", "program", "modules", "dtb"] {
            fs::write(trap.file(name), format!("#!/bin/sh\ntouch {}\n", own("mark"))).unwrap();
            fs::set_permissions(trap.file(name), fs::Permissions::from_mode(0o755)).unwrap();
        }
        let mut document: Value =
            serde_json::from_slice(&fs::read(trap.file("run.json")).unwrap()).unwrap();
        let file = |name: &str| json!({ "path": own(name), "sha256": "00" });
        document["lab"] = json!({
            "guest": {
                "machine": "x86_64", "memory_mib": 512, "cpus": 1,
                "time": { "mode": "virtual", "shift": 0 }, "kernel_args": "",
            },
            "ns_per_instruction": 1, "deterministic": true, "accelerator": "tcg",
            "kernel": {
                "name": kernel.replace("REC", &trap.place.join("rec.teiji").display().to_string()),
                "image": file("kernel"), "modules": own("modules"),
            },
            "device_tree": file("dtb"), "program": file("program"), "modules": [],
            "initramfs_sha256": "00",
            "qemu": { "version": "0", "origin": origin, "command_line": [own("qemu"), "-M", "pc"] },
            "host_ms": 1,
        });
        fs::write(trap.file("run.json"), document.to_string()).unwrap();
        trap.spring(|verb, output| {
            assert!(!Path::new(&own("mark")).exists(), "{verb}: {output:?}");
            let opened = trap.place.read("strace.txt");
            for name in ["qemu", "kernel", "program", "dtb"] {
                assert!(!opened.contains(&format!("\"{}\"", own(name))), "{verb} opens {name}");
            }
        });
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! A program with file capabilities: whoever may run it gets real-time priority for teiji's own
//! threads, and nothing else.
//!
//! Each test has a copy of the program as README describes it, for one group, and one capability
//! more. The tables of docs/rights.md are read, so that what is written there was tried.

use crate::ordinary_user::public;
use crate::support::skipped::{Need, skipped};
use crate::support::{Output, Running, TestFolder, beside_others, exclusive, is_root, soon};
use rustix::fs::StatVfsMountFlags;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{PipeReader, Write};
use std::os::unix::fs::{PermissionsExt, chown};
use std::process::Command;

/// The group of the copy. It needs no name.
const GROUP: u32 = 64_999;
const NOBODY: u32 = 65_534;
/// `CAP_IPC_LOCK` and `CAP_SYS_NICE`, as /proc shows them.
const REAL_TIME: &str = "0000000000804000";
const NONE: &str = "0000000000000000";
const HARMLESS: [&str; 7] =
    ["TERM", "NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLUMNS", "LINES", "TEIJI_AS_VERSION"];

/// The private copy of README, with one capability more than there. None where it cannot be made.
fn copy() -> Option<TestFolder> {
    if !is_root() {
        skipped(Need::FileCapabilities, "only root gives a file capabilities");
        return None;
    }
    let place = public();
    let are_heeded =
        !rustix::fs::statvfs(place.path()).unwrap().f_flag.contains(StatVfsMountFlags::NOSUID);
    if !are_heeded || rustix::thread::no_new_privs() == Ok(true) {
        skipped(Need::FileCapabilities, "exec heeds no capabilities here: nosuid, or no_new_privs");
        return None;
    }
    let program = place.join("teiji");
    chown(&program, Some(0), Some(GROUP)).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o750)).unwrap();
    let set = place
        .command("setcap")
        .arg("cap_sys_nice,cap_ipc_lock,cap_dac_override=ep")
        .arg(&program)
        .status();
    if !set.as_ref().is_ok_and(std::process::ExitStatus::success) {
        skipped(Need::FileCapabilities, format!("setcap: {set:?}"));
        return None;
    }
    Some(place)
}

/// A user without rights of his own runs the copy.
fn user(place: &TestFolder, groups: &str) -> Command {
    let mut command = place.command("setpriv");
    command.args(["--reuid=65534", "--regid=65534", groups, "--inh-caps=-all"]);
    // Executed by that user already, while setpriv still has capabilities of root.
    command.args(["prlimit", "--rtprio=0:0", "--memlock=65536:65536"]).arg(place.join("teiji"));
    command
}

/// One of the group.
fn member(place: &TestFolder) -> Command {
    user(place, &format!("--groups={GROUP}"))
}

fn output(place: &TestFolder, words: &[&str]) -> Output {
    let mut command = member(place);
    command.args(words);
    Running::start(command).end()
}

/// A row of the table in docs/rights.md: a verb, and its other cells.
fn table() -> BTreeMap<String, Vec<String>> {
    let page = include_str!("../../../../docs/rights.md");
    let rows = page.lines().filter(|line| line.starts_with("| `"));
    let cells = |row: &str| {
        row.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>()
    };
    rows.map(|row| {
        let mut cells = cells(row);
        (cells.remove(0).trim_matches('`').to_owned(), cells)
    })
    .collect()
}

/// A command line of each verb that soon prints something.
fn command_line(verb: &str, place: &TestFolder) -> Vec<String> {
    let words = match verb {
        "measure" => "measure -n 10 -o open/measured.teiji".to_owned(),
        "load" => "load cpu -d 100ms".to_owned(),
        "hackbench" => "hackbench -g 1 -l 1".to_owned(),
        "cyclictest" => "cyclictest -q -l 5".to_owned(),
        "plan-length" => "plan-length --rate 1e-6".to_owned(),
        "plans" | "probes" | "check" | "lab-init" => verb.to_owned(),
        "lab-emulator" => format!("lab-emulator {} /nonexistent", std::process::id()),
        "tune" => "tune --plan".to_owned(),
        "pages" => "pages --shell bash".to_owned(),
        "lint" => "lint cyclictest -t".to_owned(),
        "lab" => format!("lab rerun {}/nothing", place.path().display()),
        "export" => format!("export --samples {}/nothing", place.path().display()),
        "import" => format!("import {0}/nothing -o {0}/open/made", place.path().display()),
        "gate" => format!("gate {}/nothing --limit max<1ms", place.path().display()),
        "anonymise" => {
            format!("anonymise {0}/nothing -o {0}/open/sent.teiji", place.path().display())
        }
        "report" => format!("report {0}/nothing -o {0}/open/report.html", place.path().display()),
        "load-worker" | "run" | "show" | "verify" | "compare" | "explain" => {
            format!("{verb} {}/nothing", place.path().display())
        }
        other => {
            panic!("docs/rights.md has the verb {other}, and this test has no command line for it")
        }
    };
    words.split(' ').map(str::to_owned).collect()
}

/// A process that cannot print, and so stands still.
struct Stuck {
    pid: Pid,
    running: Running,
    _unread: PipeReader,
}

impl Stuck {
    fn start(mut command: Command) -> Self {
        let (unread, mut full) = std::io::pipe().unwrap();
        let bytes = rustix::pipe::fcntl_setpipe_size(&full, 4_096).unwrap();
        full.write_all(&vec![b'x'; bytes]).unwrap();
        command.stdout(full.try_clone().unwrap()).stderr(full);
        let running = Running::start_as_is(command);
        let pid = running.pid();
        let stuck = Stuck { pid, running, _unread: unread };
        soon("it prints", || stuck.file("wchan").contains("pipe_write"));
        stuck
    }

    fn file(&self, name: &str) -> String {
        fs::read_to_string(format!("/proc/{}/{name}", self.pid.as_raw_nonzero()))
            .unwrap_or_default()
    }

    /// Whether it still prints: what follows was so while it did.
    fn is_stuck(&mut self) -> bool {
        self.running.runs() && self.file("wchan").contains("pipe_write")
    }

    fn environment(&self) -> Vec<String> {
        self.file("environ").split_terminator('\0').map(str::to_owned).collect()
    }
}

/// A value of /proc/PID/status.
fn status(text: &str, name: &str) -> String {
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    value.unwrap_or_else(|| panic!("no {name} in {text}")).trim().to_owned()
}

fn assert_rights(what: &str, text: &str, capabilities: &str, no_new_privs: &str) {
    for set in ["CapPrm", "CapEff"] {
        assert_eq!(status(text, set), capabilities, "{what}: {set}");
    }
    for set in ["CapInh", "CapAmb"] {
        assert_eq!(status(text, set), NONE, "{what}: {set}");
    }
    assert_eq!(status(text, "NoNewPrivs"), no_new_privs, "{what}");
    assert_eq!(status(text, "Uid"), [NOBODY; 4].map(|id| id.to_string()).join("\t"), "{what}");
}

#[test]
fn who_is_outside_the_group_cannot_run_it() {
    let Some(place) = copy() else { return };
    for verb in table().keys() {
        let mut command = user(&place, "--clear-groups");
        command.args(command_line(verb, &place));
        let output = Running::start(command).end();
        assert!(
            output.code != Some(0)
                && output.err.contains("Permission denied")
                && output.out.is_empty(),
            "{verb}: {output:?}"
        );
    }
}

/// The columns of capabilities and of the environment.
#[test]
fn each_verb_has_the_rights_and_the_environment_of_the_table() {
    let _turn = beside_others();
    let Some(place) = copy() else { return };
    let evil = place.join("open");
    let variables = [
        "TEIJI_STATE",
        "TEIJI_SEED",
        "HOME",
        "XDG_CACHE_HOME",
        "TMPDIR",
        "PATH_",
        "RUST_BACKTRACE",
        "LANG",
    ];
    for (verb, cells) in table() {
        let mut command = member(&place);
        command.args(command_line(&verb, &place)).env("TERM", "dumb").env("COLUMNS", "80");
        command.envs(variables.map(|name| (name, &evil)));
        let mut stuck = Stuck::start(command);
        let (capabilities, no_new_privs) = match cells[0].as_str() {
            "`CAP_SYS_NICE`, `CAP_IPC_LOCK`" => (REAL_TIME, "0"),
            "none" => (NONE, "1"),
            other => panic!("{verb}: {other}"),
        };
        assert_rights(&verb, &stuck.file("status"), capabilities, no_new_privs);
        let environment = stuck.environment();
        match cells[1].as_str() {
            "how to print" => {
                let is_harmless = |variable: &String| {
                    HARMLESS.iter().any(|name| variable.starts_with(&format!("{name}=")))
                };
                assert!(environment.iter().all(is_harmless), "{verb}: {environment:?}");
                assert!(environment.contains(&"COLUMNS=80".to_owned()), "{verb}: {environment:?}");
            }
            "caller's" => {
                let state = format!("TEIJI_STATE={}", evil.display());
                assert!(
                    environment.contains(&state)
                        && environment.iter().any(|one| one.starts_with("PATH=")),
                    "{verb}"
                );
            }
            other => panic!("{verb}: {other}"),
        }
        assert!(stuck.is_stuck(), "{verb}");
        kill_process(stuck.pid, Signal::KILL).unwrap();
    }
}

/// A thread with the priority 50, which is not the user's.
struct Victim(std::process::Child);

impl Victim {
    fn start(place: &TestFolder) -> Self {
        Victim(place.command("chrt").args(["-f", "50", "sleep", "600"]).spawn().unwrap())
    }

    /// The fields of its `stat` after its name.
    fn fields(&self) -> Vec<String> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.0.id())).unwrap();
        stat.rsplit_once(')').unwrap().1.split_ascii_whitespace().map(str::to_owned).collect()
    }

    fn priority(&self) -> String {
        self.fields()[37].clone()
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// As a killed tuning of that user would have left it, had it been allowed to.
fn lay_journal(state: &std::path::Path, victim: &Victim) {
    let (pid, started) = (victim.0.id(), victim.fields()[19].parse::<u64>().unwrap());
    let entry = json!({
        "file": format!("proc/{pid}/task/{pid}/stat"), "form": {"priority": {"started": started}},
        "from": "1", "to": "50", "comes_and_goes": true,
    });
    let boot_id = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let journal =
        json!({"version": 2, "boot_id": boot_id.trim(), "phase": "unfinished", "entries": [entry]});
    fs::create_dir_all(state).unwrap();
    fs::write(state.join("journal.json"), journal.to_string()).unwrap();
    for path in [state.to_owned(), state.join("journal.json")] {
        chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
    }
}

/// The column of journals: with file capabilities, TEIJI_STATE and a made-up journal set a thread
/// of root from FIFO 50 to 1.
#[test]
fn a_made_up_journal_changes_no_priority() {
    let _turn = exclusive();
    let Some(place) = copy() else { return };
    let victim = Victim::start(&place);
    soon("it has its priority", || victim.priority() == "50");
    let state = place.join("open/state");
    for (verb, cells) in table() {
        lay_journal(&state, &victim);
        let mut command = member(&place);
        command.args(command_line(&verb, &place)).env("TEIJI_STATE", &state);
        let output = Running::start(command).end();
        assert_eq!(victim.priority(), "50", "{verb}: {output:?}");
        // What teiji starts itself never looks.
        let looks =
            cells[2] == "caller's rights" && !["lab-init", "lab-emulator"].contains(&verb.as_str());
        assert_eq!(
            output.err.contains("of a teiji tune that was killed put back"),
            looks,
            "{verb}: {output:?}"
        );
        assert!(state.join("journal.json").exists(), "{verb}");
    }
}

/// Not even where the folder of the machine is the user's.
#[test]
fn a_journal_in_the_usual_folder_changes_no_priority() {
    let _turn = beside_others();
    let Some(place) = copy() else { return };
    let victim = Victim::start(&place);
    soon("it has its priority", || victim.priority() == "50");
    lay_journal(&place.join("open/state"), &victim);
    // In a namespace of its own, where others do not find the journal.
    let script = "mount -t tmpfs none /var/lib && mkdir /var/lib/teiji && cp -rp \"$0\" \
                  /var/lib/teiji/tune && exec \"$@\"";
    for (verb, cells) in table() {
        let mut command = place.command("unshare");
        command.args(["--mount", "sh", "-c", script]).arg(place.join("open/state"));
        let member = member(&place);
        command.arg(member.get_program()).args(member.get_args()).args(command_line(&verb, &place));
        let output = Running::start(command).end();
        if output.err.contains("unshare: ") || output.err.contains("mount: ") {
            return skipped(Need::Mount, output.err);
        }
        assert_eq!(victim.priority(), "50", "{verb}: {output:?}");
        assert!(cells[2] != "ignored" || !output.err.contains("tune"), "{verb}: {output:?}");
    }
}

const REFUSED: &str = "this teiji has rights that you lack, by capabilities of its file, and \
                       starts no other program. Start it yourself beside teiji.";

/// The last column, of verbs that keep the rights: with file capabilities, any program ran at FIFO
/// 60.
#[test]
fn no_program_starts_with_lent_rights() {
    let _turn = beside_others();
    let Some(place) = copy() else { return };
    let mark = place.join("open/started");
    let script = place.join("open/script");
    fs::write(&script, format!("#!/bin/sh\necho > {}\nsleep 5\n", mark.display())).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let script = script.display();
    let cmd = format!("cmd:\"{script}\",policy=fifo,prio=60");
    let plan = |name: &str, text: &str| {
        fs::write(place.join(name), text).unwrap();
        place.join(name).display().to_string()
    };
    let with_cmd =
        plan("cmd.toml", &format!("[measure]\nsamples = 10\nload = 'cmd:\"{script}\"'\n"));
    let with_app = plan(
        "app.toml",
        &format!("[measure]\nduration = \"1s\"\nprobe = \"app\"\ncommand = \"{script}\"\n"),
    );
    let with_kernel = plan("kernel.toml", "[measure]\nsamples = 10\nkernel = \"debian:amd64\"\n");
    let order = |parent: u32| {
        json!({"spec": cmd, "cpus": [0], "memory": 1 << 20, "loads": 1, "parent": parent})
            .to_string()
    };
    let by_hand = order(std::process::id());
    let script = script.to_string();
    let lines: [(&str, Vec<&str>); 8] = [
        ("load", vec![&cmd, "-d", "1s"]),
        ("measure", vec!["--load", &cmd, "-n", "10", "-o", "open/x.teiji"]),
        ("measure", vec!["--probe", "app", "-o", "open/y.teiji", "--", &script]),
        ("run", vec![&with_cmd, "-o", "open/cmd"]),
        ("run", vec![&with_app, "-o", "open/app"]),
        ("run", vec![&with_kernel, "-o", "open/kernel"]),
        ("run", vec!["--dry-run", &with_kernel]),
        ("load-worker", vec![&by_hand]),
    ];
    for (verb, words) in &lines {
        let output = output(&place, &[&[*verb][..], words].concat());
        let said = if *verb == "load-worker" { &output.out } else { &output.err };
        assert!(said.contains(REFUSED), "{verb} {words:?}: {output:?}");
        assert_eq!(
            output.code,
            Some(if *verb == "load-worker" { 1 } else { 2 }),
            "{verb} {words:?}: {output:?}"
        );
        assert!(!mark.exists(), "{verb} {words:?}: {output:?}");
    }
    let refuse: Vec<String> = table()
        .into_iter()
        .filter(|(_, cells)| cells[3].starts_with("refused"))
        .map(|(verb, _)| verb)
        .collect();
    assert_eq!(refuse, ["load", "load-worker", "measure", "run"]);
}

/// The last column, of verbs that have none: what they start has none either, and gets none.
#[test]
fn what_the_others_start_has_no_rights() {
    let _turn = exclusive();
    let Some(place) = copy() else { return };
    let report = "cat /proc/self/status";
    let parent = std::process::id().to_string();
    let mut emulator = member(&place);
    // What it may do, as the lab says it: bytes of files and of memory, no KVM, and these folders
    // to run.
    let may = ["1000000000", "8000000000", "false", "x/bin", "x/usr", "x/lib", "x/lib64", "--"];
    emulator.args(["lab-emulator", &parent]).args(may).args(["/bin/sleep", "60"]);
    let emulator = Running::start(emulator);
    let status = || {
        fs::read_to_string(format!("/proc/{}/status", emulator.pid().as_raw_nonzero()))
            .unwrap_or_default()
    };
    let mut text = String::new();
    soon("it is another program", || {
        text = status();
        text.starts_with("Name:\tsleep\n")
    });
    assert_rights("lab-emulator", &text, NONE, "1");
    drop(emulator);
    let mut tune = member(&place);
    tune.env("TEIJI_STATE", place.join("open/state"));
    tune.args([
        "tune",
        "--cpus",
        "0",
        "--only",
        "transparent-hugepages",
        "--",
        "/bin/sh",
        "-c",
        report,
    ]);
    let tune = Running::start(tune).end();
    assert_rights(
        "tune",
        &tune.out[tune.out.find("Name:").unwrap_or_else(|| panic!("{tune:?}"))..],
        NONE,
        "1",
    );
}

/// What the rights are lent for: no thread has a capability more, and no process is another
/// program.
#[test]
fn own_threads_have_real_time_priority() {
    let _turn = beside_others();
    let Some(place) = copy() else { return };
    let plan = "[measure]\nduration = \"60s\"\nload = \"cpu,policy=fifo,prio=20\"\n";
    fs::write(place.join("plan.toml"), plan).unwrap();
    for words in [
        "measure -i 10ms -d 60s -q --load cpu,policy=fifo,prio=20 -o open/x.teiji",
        "run plan.toml -q -o open/plan",
        "load cpu,policy=fifo,prio=20 -q -d 60s",
        "hackbench -F -g 1 -l 100000000",
    ] {
        let mut command = member(&place);
        command.args(words.split(' '));
        let running = Running::start(command);
        soon(words, || real_time_threads(&running) > 0);
        if words.starts_with("measure") {
            let document = running.begun("open/x.teiji");
            assert_eq!(document.threads()[0].text("/scheduling/policy"), "fifo");
            assert!(
                document.at("/instrument/memory_locked") == true
                    && !document.warns_of("no-real-time")
            );
        }
        assert_only_teiji(words, &running);
        running.signal(Signal::INT);
        let output = running.end();
        assert!(output.code.is_some_and(|code| [0, 1, 4].contains(&code)), "{words}: {output:?}");
    }
}

/// The process and what it has started.
fn processes(running: &Running) -> impl Iterator<Item = i32> {
    let pids = std::iter::once(running.pid())
        .chain(running.descendants().into_iter().map(|process| process.pid()));
    pids.map(|pid| pid.as_raw_nonzero().get())
}

/// A file of each thread. One that has ended meanwhile has none.
fn of_threads(running: &Running, file: &str) -> Vec<String> {
    let threads = processes(running)
        .flat_map(|pid| fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten());
    threads.filter_map(|thread| fs::read_to_string(thread.path().join(file)).ok()).collect()
}

fn real_time_threads(running: &Running) -> usize {
    of_threads(running, "stat").iter().filter(|stat| is_real_time(stat)).count()
}

fn assert_only_teiji(words: &str, running: &Running) {
    let programs: BTreeSet<_> = processes(running)
        .filter_map(|pid| fs::read_link(format!("/proc/{pid}/exe")).ok())
        .collect();
    assert!(
        programs.len() == 1 && programs.iter().all(|program| program.ends_with("teiji")),
        "{words}: {programs:?}"
    );
    // A load that is just being executed has all of the file's capabilities for an instant.
    let is_settled = |text: &String| status(text, "CapPrm") == REAL_TIME;
    soon(words, || of_threads(running, "status").iter().all(is_settled));
    let threads = of_threads(running, "status");
    assert!(threads.len() > 1, "{words}");
    threads.iter().for_each(|text| assert_rights(words, text, REAL_TIME, "0"));
}

fn is_real_time(stat: &str) -> bool {
    stat.rsplit_once(')')
        .is_some_and(|(_, fields)| fields.split_ascii_whitespace().nth(37) != Some("0"))
}

/// With another user's rights there is no verb that needs them.
#[test]
fn a_set_user_id_copy_does_not_run() {
    let Some(place) = copy() else { return };
    let program = place.join("teiji");
    for (owner, mode) in [(0, 0o4755), (12_345, 0o4755), (0, 0o2755)] {
        chown(&program, Some(owner), Some(GROUP + 1)).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(mode)).unwrap();
        for verb in table().keys() {
            let mut command = user(&place, "--clear-groups");
            command.args(command_line(verb, &place));
            let output = Running::start(command).end();
            let said = format!("error: {} is set-user-ID or set-group-ID", program.display());
            assert!(
                output.code == Some(4) && output.err.starts_with(&said) && output.out.is_empty(),
                "{verb}: {output:?}"
            );
        }
    }
}

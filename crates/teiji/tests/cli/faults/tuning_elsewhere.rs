// SPDX-License-Identifier: MIT OR Apache-2.0
//! A tuning of this machine, and calls of the program from where the machine looks otherwise: in
//! other namespaces, as in a container.

use super::tuning::{PutBack, harmless};
use crate::support::machine::{contents, lay_out};
use crate::support::skipped::{Need, skipped};
use crate::support::{Output, Running, TEIJI, TestFolder, exclusive, is_root};
use std::fs;

pub const INTERVAL: &str = "/proc/sys/vm/stat_interval";

/// This machine, with a value that there is something to change of.
pub struct Machine {
    pub place: TestFolder,
    _restored: PutBack,
}

impl Machine {
    /// None without the right to change it.
    pub fn new() -> Option<Machine> {
        if !is_root() {
            skipped(Need::RealTime, "only root may change the kernel's settings");
            return None;
        }
        let restored = PutBack(harmless());
        fs::write(INTERVAL, "3").unwrap();
        Some(Machine { place: TestFolder::on_disk(), _restored: restored })
    }

    pub fn call(&self, program: &str, words: &[&str]) -> Output {
        let mut command = self.place.command(program);
        command.env("TEIJI_STATE", self.place.join("state")).args(words);
        Running::start(command).end()
    }

    pub fn teiji(&self, words: &str) -> Output {
        self.call(TEIJI, &words.split_whitespace().collect::<Vec<_>>())
    }

    pub fn has_journal(&self) -> bool {
        self.place.join("state/journal.json").exists()
    }

    /// A script in namespaces of its own. None where they are refused.
    fn unshared(&self, flags: &[&str], script: &str) -> Option<Output> {
        let output = self
            .call("unshare", &[flags, &["sh", "-c", &format!("echo begun; {script}")]].concat());
        if !output.out.starts_with("begun\n") {
            skipped(Need::Mount, output.err);
            return None;
        }
        Some(output)
    }
}

pub fn interval() -> String {
    fs::read_to_string(INTERVAL).unwrap().trim().to_owned()
}

/// The id of the boot hidden, or a file of somebody else in its place: that is no reboot, and
/// nothing is forgotten.
#[test]
fn another_id_of_the_boot_in_a_container_is_no_reboot() {
    let _turn = exclusive();
    let Some(machine) = Machine::new() else { return };
    assert_eq!(machine.teiji("tune --cpus 0 --only statistics-interval").code, Some(0));
    fs::write(machine.place.join("id"), "00000000-0000-4000-8000-000000000000\n").unwrap();
    for hidden in [
        "mount -t proc -o subset=pid proc /proc",
        "mount --bind id /proc/sys/kernel/random/boot_id",
    ] {
        let script = format!("{hidden} || exit 77; {TEIJI} plans >/dev/null; {TEIJI} tune --undo");
        let Some(output) = machine.unshared(&["--mount"], &script) else { return };
        if output.code == Some(77) {
            return skipped(Need::Mount, output.err);
        }
        assert_eq!(output.code, Some(4), "{hidden}: {output:?}");
        assert!(output.err.contains("is not known. Nothing was changed."), "{hidden}: {output:?}");
        assert!(machine.has_journal(), "{hidden}");
        assert_eq!(interval(), "120", "{hidden}");
    }
    assert_eq!(machine.teiji("tune --undo").out, "1 setting put back.\n");
    assert_eq!(interval(), "3");
}

/// The number of a thread is another one's there. What is to be put back stays known, until it is
/// undone where it was changed.
#[test]
fn a_thread_of_another_pid_namespace_is_not_forgotten() {
    let _turn = exclusive();
    let Some(machine) = Machine::new() else { return };
    let undo = format!("{TEIJI} tune --undo");
    let script = format!(
        "chrt -f 95 sleep 60 & sleep 0.5; chrt -p $! || exit 77; {TEIJI} tune --cpus 0 --only \
         threads-above || exit 1; unshare --pid --fork --mount-proc {undo}; echo there $?; chrt \
         -p $!; {undo}; echo here $?; chrt -p $!; kill $!"
    );
    let Some(output) = machine.unshared(&["--pid", "--fork", "--mount-proc"], &script) else {
        return;
    };
    if output.code == Some(77) {
        return skipped(Need::RealTime, output.err);
    }
    let said: Vec<&str> = output.out.lines().filter(|line| !line.contains("policy")).collect();
    let priority = |line: &str| line.rsplit(' ').next().unwrap().to_owned();
    let place = |start: &str| {
        said.iter().position(|line| line.starts_with(start)).unwrap_or_else(|| panic!("{output:?}"))
    };
    let (there, here) = (place("there 4"), place("here 0"));
    assert_eq!(
        (priority(said[there + 1]), priority(said[here + 1])),
        ("89".to_owned(), "95".to_owned()),
        "{output:?}"
    );
    assert!(output.err.contains("it was changed in another namespace"), "{output:?}");
    assert!(!machine.has_journal());
}

/// As a disk is after an error. The settings are no part of it.
#[test]
fn where_the_journal_cannot_be_written_the_settings_are_put_back() {
    let _turn = exclusive();
    let Some(machine) = Machine::new() else { return };
    fs::create_dir(machine.place.join("state")).unwrap();
    let script = format!(
        "mount -t tmpfs -o mode=755 none state || exit 77; {TEIJI} tune --cpus 0 --only \
         statistics-interval && mount -o remount,ro state && {TEIJI} tune --undo; echo code $?; \
         cat {INTERVAL}"
    );
    let Some(output) = machine.unshared(&["--mount"], &script) else { return };
    if output.code == Some(77) {
        return skipped(Need::Mount, output.err);
    }
    assert!(output.out.ends_with("code 4\n3\n"), "{output:?}");
    assert!(output.err.contains("note: 1 of 1 setting put back\n"), "{output:?}");
    assert!(output.err.contains("Read-only file system"), "{output:?}");
}

/// Settings that may be seen and not written, as in a container: a value on top of one that stays
/// is still ours, and whoever may write puts it back.
#[test]
fn where_settings_cannot_be_written_what_is_on_top_is_kept() {
    let _turn = exclusive();
    let Some(machine) = Machine::new() else { return };
    lay_out(&machine.place.join("m"), "laptop");
    fs::create_dir_all(machine.place.join("m/proc/irq")).unwrap();
    fs::write(machine.place.join("m/proc/irq/default_smp_affinity"), "f\n").unwrap();
    let before = contents(&machine.place.join("m"));
    let tune = format!("{TEIJI} tune --root m --only interrupt-default");
    let script = format!(
        "{tune} --cpus 2 || exit 1; {tune} --cpus 1-3 -- sh -c 'kill -9 $PPID'; mount --bind \
         m/proc m/proc && mount -o remount,bind,ro m/proc || exit 77; {TEIJI} tune --root m \
         --undo; echo code $?"
    );
    let Some(output) = machine.unshared(&["--mount"], &script) else { return };
    if output.code == Some(77) {
        return skipped(Need::Mount, output.err);
    }
    assert!(
        output.out.ends_with("code 4\n") && output.err.contains("Read-only file system"),
        "{output:?}"
    );
    let output = machine.teiji("tune --root m --undo");
    assert_eq!((output.code, output.err.as_str()), (Some(0), ""), "{output:?}");
    assert_eq!(contents(&machine.place.join("m")), before);
}

/// Two folders are one machine.
#[test]
fn another_folder_of_the_journal_does_not_make_another_machine() {
    let _turn = exclusive();
    let Some(machine) = Machine::new() else { return };
    let script =
        format!("TEIJI_STATE=other {TEIJI} tune --cpus 0 --only statistics-interval; echo code $?");
    let words = ["tune", "--cpus", "0", "--only", "statistics-interval", "--", "sh", "-c", &script];
    let output = machine.call(TEIJI, &words);
    assert!(
        output.out.contains("code 4") && output.err.contains("teiji tune runs already (process "),
        "{output:?}"
    );
    assert_eq!(interval(), "3");
}

/// An ordinary user was sent to TEIJI_STATE, and then told that nothing is to be put back.
#[test]
fn an_ordinary_user_is_told_that_it_takes_root() {
    let _turn = exclusive();
    let Some(machine) = Machine::new() else { return };
    let user = "setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all";
    let undo = format!("{TEIJI} tune --undo");
    let script = format!(
        "unset TEIJI_STATE; mount -t tmpfs -o mode=755 none /var/lib
         {user} {TEIJI} tune --cpus 0 --only statistics-interval
         {TEIJI} tune --cpus 0 --only statistics-interval >&2
         {user} {undo}; echo code $?
         {user} env TEIJI_STATE=/tmp/nowhere {undo}; echo code $?
         {undo}; echo code $?"
    );
    let Some(output) = machine.unshared(&["--mount"], &script) else { return };
    assert_eq!(
        output.out,
        "begun\ncode 4\nNothing to put back.\ncode 0\n1 setting put back.\ncode 0\n"
    );
    let refused = "error: cannot use the journal in /var/lib/teiji/tune: Permission denied (os \
                   error 13). Nothing was changed. It takes root: run it with sudo\n";
    let passed_over = "note: what teiji tune changed by the journal in /var/lib/teiji/tune stays. \
                       Put back: sudo teiji tune --undo, without TEIJI_STATE\n";
    let (first, rest) = output.err.split_at(refused.len());
    assert_eq!(first, refused);
    assert!(rest.ends_with(&format!("{refused}{passed_over}")), "{rest}");
    assert_eq!(interval(), "3");
}

/// Whoever looks may know, whatever the umask of root was, and nobody may write.
#[test]
fn the_umask_does_not_decide_who_may_look_and_write() {
    use std::os::unix::fs::MetadataExt as _;
    let _turn = exclusive();
    let Some(machine) = Machine::new() else { return };
    for umask in ["0", "077"] {
        let script = format!("umask {umask}; {TEIJI} tune --cpus 0 --only statistics-interval");
        assert_eq!(machine.call("sh", &["-c", &script]).code, Some(0));
        let mode = |name: &str| fs::metadata(machine.place.join(name)).unwrap().mode() & 0o777;
        assert_eq!(
            (mode("state"), mode("state/journal.json"), mode("state/lock")),
            (0o755, 0o644, 0o600),
            "{umask}"
        );
        assert_eq!(machine.teiji("tune --undo").code, Some(0));
        fs::remove_dir_all(machine.place.join("state")).unwrap();
    }
}

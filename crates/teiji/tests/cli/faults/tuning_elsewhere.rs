// SPDX-License-Identifier: MIT OR Apache-2.0
//! A tuning of this machine, and calls of the program from where the machine looks otherwise: in other namespaces, as in a container.

use super::tuning::{PutBack, harmless};
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
        Some(Machine { place: TestFolder::new(), _restored: restored })
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
        let output = self.call("unshare", &[flags, &["sh", "-c", &format!("echo begun; {script}")]].concat());
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

/// The id of the boot hidden, or a file of somebody else in its place: that is no reboot, and nothing is forgotten.
#[test]
fn another_id_of_the_boot_in_a_container_is_no_reboot() {
    let _turn = exclusive();
    let Some(machine) = Machine::new() else { return };
    assert_eq!(machine.teiji("tune --cpus 0 --only statistics-interval").code, Some(0));
    fs::write(machine.place.join("id"), "00000000-0000-4000-8000-000000000000\n").unwrap();
    for hidden in ["mount -t proc -o subset=pid proc /proc", "mount --bind id /proc/sys/kernel/random/boot_id"] {
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

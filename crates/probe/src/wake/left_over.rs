// SPDX-License-Identifier: MIT OR Apache-2.0
//! SysV semaphores outlive the process that made them. A run removes its own however it ends,
//! unless it is killed by SIGKILL: then the next run that needs a semaphore does.

use super::sys;
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

/// Removes the semaphores of runs whose process is gone.
pub(super) fn remove() {
    let Ok(list) = std::fs::read_to_string("/proc/sysvipc/sem") else { return };
    for id in private_sets(&list) {
        if sys::owner_of_marked(id).is_some_and(is_gone) {
            sys::remove_set(id);
        }
    }
}

/// The sets that look like ours in the kernel's list: without a key, of as many semaphores.
fn private_sets(list: &str) -> impl Iterator<Item = libc::c_int> {
    list.lines().skip(1).filter_map(|line| {
        let mut fields = line.split_whitespace();
        let (key, id, _permissions, semaphores) =
            (fields.next()?, fields.next()?, fields.next()?, fields.next()?);
        let is_alike = key == "0" && semaphores.parse() == Ok(sys::SEMAPHORES);
        is_alike.then(|| id.parse().ok()).flatten()
    })
}

fn is_gone(process: Pid) -> bool {
    test_kill_process(process) == Err(Errno::SRCH)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wake::Way;

    #[test]
    fn only_sets_that_look_like_ours() {
        let list = "       key      semid perms      nsems   uid   gid  cuid  cgid      otime      \
             ctime\n0          3   600          3     0     0     0     0          0 \
             1764020000\n0          4   600          1     0     0     0     0          0 \
             1764020000\n5678234          5   600          3     0     0     0     0          0 \
             1764020000\n";
        assert_eq!(private_sets(list).collect::<Vec<_>>(), [3]);
        assert_eq!(private_sets("").count(), 0);
    }

    /// That of a living process stays, whoever looks.
    #[test]
    fn what_is_in_use_stays() {
        let semaphore = sys::Semaphore::new().unwrap();
        remove();
        assert!(semaphore.wake().is_ok());
        semaphore.remove();
        assert!(semaphore.wake().is_err());
    }

    /// The set of a process that was killed: of a child that ended without removing it.
    #[test]
    fn what_a_killed_run_left_is_removed() {
        // Another test may look at the same time, and remove it as well.
        let id = sys::left_by_a_dead_process();
        remove();
        assert_eq!(sys::owner_of_marked(id), None);
    }
}

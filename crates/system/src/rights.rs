// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lent rights: those that this program has and its caller lacks, as where its file has
//! capabilities (`setcap`).
//!
//! They are lent for one thing: real-time priority and locked memory of teiji's own measuring and
//! load threads. [`settle`] is called before anything else is read. It ends in one of two ways:
//!
//! - The verb needs them: only `CAP_SYS_NICE` and `CAP_IPC_LOCK` are left, and of the environment
//!   only what says how to print. No journal is replayed, and no other program is started
//!   ([`may_start_programs`]).
//! - The verb does not: the program executes itself again under `no_new_privs`. Then it is the
//!   program without capabilities in its file, and everything is as it is for its caller.
//!
//! What it starts of itself decides the same for itself: exec lends it the rights anew.
//!
//! It touches no files.

use crate::sys;
use rustix::process::{getegid, geteuid, getgid, getuid};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, clear_ambient_capability_set, no_new_privs,
    set_capabilities, set_no_new_privs,
};
use std::env::{args_os, vars_os};
use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

/// What is kept for a verb that needs it.
const KEPT: CapabilitySet = CapabilitySet::SYS_NICE.union(CapabilitySet::IPC_LOCK);

/// The environment beside lent rights: how to print. Nothing in it names a folder, a file or a
/// program.
const HARMLESS: [&str; 7] =
    ["TERM", "NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLUMNS", "LINES", "TEIJI_AS_VERSION"];

/// Why the program cannot go on with the rights it was given.
#[derive(Debug, thiserror::Error)]
pub enum RightsError {
    /// They are another user's or another group's.
    #[error(
        "{program} is set-user-ID or set-group-ID, and runs only with its \
         caller's own user and group: chmod ug-s {program}",
        program = .0.display()
    )]
    AnothersId(PathBuf),
    /// They cannot be given up.
    #[error("cannot give up the rights that this program has by its file: {0}")]
    NotGivenUp(io::Error),
}

/// No program is started with lent rights.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error(
    "this teiji has rights that you lack, by capabilities of its file, and starts no other \
     program. Start it yourself beside teiji. Or use a teiji without capabilities, as setpriv \
     --no-new-privs teiji does, and get real-time rights by a group with rtprio"
)]
pub struct NoPrograms;

/// Whether this program has rights that its caller lacks. Under `no_new_privs` exec lends none,
/// whatever it says.
pub fn are_lent() -> bool {
    static LENT: OnceLock<bool> = OnceLock::new();
    *LENT.get_or_init(|| {
        lends(sys::gained_by_exec(), no_new_privs() == Ok(true), getuid().is_root())
    })
}

/// A security module says of root's programs too that they gained rights, and root lacks none.
const fn lends(gained_by_exec: bool, no_new_privs: bool, is_of_root: bool) -> bool {
    gained_by_exec && !no_new_privs && !is_of_root
}

/// Whether another program may be started.
///
/// # Errors
/// With lent rights.
pub fn may_start_programs() -> Result<(), NoPrograms> {
    if are_lent() { Err(NoPrograms) } else { Ok(()) }
}

/// Keeps of the lent rights what real-time threads need, or none where the verb has no such
/// threads: then this does not return, and the program begins anew. Without lent rights it does
/// nothing. To be called first, while there is one thread.
///
/// # Errors
/// When they are of a kind that is never used, or cannot be given up. Then the program must not go
/// on.
pub fn settle(needs_real_time: bool) -> Result<(), RightsError> {
    if !are_lent() {
        return Ok(());
    }
    if getuid() != geteuid() || getgid() != getegid() {
        return Err(RightsError::AnothersId(
            std::env::current_exe().unwrap_or_else(|_| "teiji".into()),
        ));
    }
    let done = if needs_real_time { keep_real_time() } else { Err(give_up()) };
    done.map_err(RightsError::NotGivenUp)
}

fn keep_real_time() -> io::Result<()> {
    let is_harmless =
        |(name, _): &(OsString, OsString)| HARMLESS.iter().any(|harmless| name == harmless);
    if !vars_os().all(|variable| is_harmless(&variable)) {
        // Not removed here, which is unsafe: the same program with what is left, which exec lends
        // the same rights.
        return Err(execute_again(|command| {
            command.env_clear().envs(vars_os().filter(is_harmless));
        }));
    }
    limit_to(KEPT)
}

/// The error, if it returns.
fn give_up() -> io::Error {
    match set_no_new_privs(true)
        .map_err(io::Error::from)
        .and_then(|()| limit_to(CapabilitySet::empty()))
    {
        Ok(()) => execute_again(|_| ()),
        Err(error) => error,
    }
}

/// Capabilities of the calling thread: of those it has, these, for itself. What it starts inherits
/// none.
fn limit_to(kept: CapabilitySet) -> io::Result<()> {
    let kept = capabilities(None)?.permitted & kept;
    // Linux before 4.3 has no ambient ones.
    let _ = clear_ambient_capability_set();
    Ok(set_capabilities(
        None,
        CapabilitySets { effective: kept, permitted: kept, inheritable: CapabilitySet::empty() },
    )?)
}

/// The error, if it returns. By its path first, which gives the process its name; whatever lies
/// there by now gets no rights from here.
fn execute_again(change: impl Fn(&mut Command)) -> io::Error {
    let execute = |program: PathBuf| {
        let mut command = Command::new(program);
        let mut words = args_os();
        if let Some(name) = words.next() {
            command.arg0(name);
        }
        change(command.args(words));
        command.exec()
    };
    let _ = std::env::current_exe().map(execute);
    execute("/proc/self/exe".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A service under SELinux gains by exec, by what the kernel says. `teiji tune` there would
    /// lose the rights of root.
    #[test]
    fn rights_are_lent_to_who_lacks_them() {
        assert!(lends(true, false, false));
        assert!(!lends(true, false, true));
        assert!(!lends(true, true, false));
        assert!(!lends(false, false, false));
        assert!(!are_lent());
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! What only the C library says: what the kernel handed to this program when it was executed.

/// Whether exec gave this program rights, AT_SECURE: by file capabilities, set-user-ID,
/// set-group-ID or a security module.
pub(crate) fn gained_by_exec() -> bool {
    // SAFETY: getauxval takes a number and reads the vector that the kernel wrote at exec, which
    // stays as long as the process.
    let secure = unsafe { libc::getauxval(libc::AT_SECURE) };
    secure != 0
}

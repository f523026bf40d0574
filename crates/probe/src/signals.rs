// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a process inherits of signals from whoever starts it.

use crate::sys;

/// Lets signals through to the calling thread, whoever blocked them.
pub fn unblock_signals(signals: &[i32]) {
    sys::unblock(signals);
}

/// Whether the process ignores a signal, as under `nohup`, or in the background of a shell without
/// job control.
pub fn ignores_signal(signal: i32) -> bool {
    std::fs::read_to_string("/proc/self/status").is_ok_and(|status| is_in_ignored(&status, signal))
}

fn is_in_ignored(status: &str, signal: i32) -> bool {
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    let bit = u32::try_from(signal - 1).ok().and_then(|bit| 1_u64.checked_shl(bit));
    mask.zip(bit).is_some_and(|(mask, bit)| mask & bit != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_mask_begins_with_signal_1() {
        let status = "Name:\tteiji\nSigBlk:\tffffffffffffffff\nSigIgn:\t0000000000001001\n";
        let ignored = |signal: &i32| is_in_ignored(status, *signal);
        assert_eq!((-1..70).filter(ignored).collect::<Vec<i32>>(), [1, 13]);
        assert!(!is_in_ignored("", 1));
    }
}

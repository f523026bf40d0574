// SPDX-License-Identifier: MIT OR Apache-2.0
//! Faults, made on purpose: system calls that fail or take long, disks that stall, fill up or lose
//! their power, a program that is killed, a CPU that is taken away, a recorder that stands still.
//! `scripts/test.sh faults` runs these alone.

mod boot_writing;
mod disk;
mod full_disk;
mod injected;
mod killed;
mod recorder;
mod stall;
mod tuning;
mod tuning_elsewhere;
mod tuning_injected;
mod tuning_put_right;
mod tuning_signals;

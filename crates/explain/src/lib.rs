// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where each nanosecond of a latency went, from the instructions that were executed.
//!
//! In the lab the same run can be made again, with a plugin in QEMU that keeps every block of
//! instructions. From these follow who called whom (`calls.rs`), when interrupts were off, and when
//! each instruction ran: time is instructions. Every ns from the planned time to the reading of the
//! clock goes to one part (`account.rs`, `parts.rs`).
//!
//! In: what the plugin wrote, the kernel's symbols, the latencies that were recorded, and a
//! kernel's `vmlinux` for lines of its source (`vmlinux.rs`). Out: accounts. Must not touch: files
//! that it is not given, clocks, processes. Names of the kernel's functions stand in `kernel.rs`
//! only.
#![forbid(unsafe_code)]

mod account;
mod arm64;
mod calls;
mod code;
mod dump;
mod effect;
mod flags;
mod folded;
mod kernel;
mod other_cpu;
mod parts;
mod places;
mod processor;
mod runs;
mod symbols;
mod timed;
mod timeline;
mod trace;
mod vmlinux;
mod wakes;
mod x86;

pub use account::account;
pub use dump::{Block, Dump, DumpError, Entry, TaskSwitch, Wake, Window};
pub use effect::Effect;
pub use folded::folded;
pub use kernel::{FindSource, Kernel};
pub use processor::Processor;
pub use symbols::{SymbolId, Symbols, SymbolsError};
pub use timed::Asked;
pub use trace::trace_events;
pub use vmlinux::{Lines, Vmlinux, VmlinuxError};
pub use wakes::{Rate, WakesError, Woken, align};
#[cfg(test)]
mod account_tests;
#[cfg(test)]
mod arm64_tests;
#[cfg(test)]
mod interrupts_tests;
#[cfg(test)]
mod other_cpu_tests;
#[cfg(test)]
mod scene_tests;
#[cfg(test)]
mod vmlinux_tests;

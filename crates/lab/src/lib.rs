// SPDX-License-Identifier: MIT OR Apache-2.0
//! Real kernels in an emulator, with time counted in instructions.
//!
//! A run in the lab is the same run as anywhere else, executed by this same program as the only
//! process of a kernel that QEMU boots. In virtual time each instruction takes a fixed number of
//! ns, so a kernel's latency becomes a computation with one result: the same kernel, run and
//! program give the same samples, bit by bit, however busy the host is. The lengths of the kernel's
//! paths, its locks and its preemption points are real; caches, buses and firmware are not there.
//!
//! ```text
//! plan::Run + plan::Guest -> kernels (with their cache), debian
//!     -> initramfs: this program, the order, modules
//!     -> QEMU (emulator, board, boot, running; confine: what its process may do here)
//!            guest: init -> runner::execute -> recording -> channel: frames with length and hash
//!     -> session: NAME.teiji, its document with the lab's part, console.log
//! ```
//!
//! In: runs, machines and names of kernels. Out: recordings, or errors with the last lines of the
//! guest's console. Must not touch: terminals; who wants to see it passes a [`GuestObserver`].
//!
//! Two of the program's hidden verbs have their bodies here: [`init`], the guest's first process,
//! and [`become_emulator`], the process that turns into QEMU. A new machine is an entry in
//! `board.rs`, and its name in `plan`.
#![deny(unsafe_code)]

mod again;
mod archive;
mod board;
mod boot;
mod boot_error;
mod cache;
mod cached;
mod channel;
mod confine;
mod console;
mod debian;
mod emulator;
mod error;
mod file_error;
mod guest_limits;
mod guest_run;
mod hash;
mod identical;
mod image;
mod init;
mod initramfs;
mod instruction_count;
mod kernels;
mod kvm;
mod modules;
mod monitor;
mod order;
mod pinned;
mod pinned_fetch;
mod plugin;
mod ports;
mod prepared;
mod program;
mod progress;
mod qcow2;
mod results;
mod running;
mod session;
mod snapshot;
mod snapshot_cache;
mod snapshots;
mod stall;
mod symbols;
mod target;
mod timeouts;
mod took;
mod turns;
mod verbs;

pub use again::{Changed, Named, again, changed_files, differences, qemu_of};
pub use archive::{ArchiveError, files as archive_files};
pub use board::Accelerator;
pub use boot_error::{BootError, BootFailure};
pub use cached::{CacheContents, Cached, cached, remove_cached};
pub use channel::{Scanned, find as find_frame};
pub use debian::fetch;
pub use emulator::{EmulatorError, become_emulator};
pub use error::{LabError, NotNamed};
pub use file_error::FileError;
pub use guest_limits::{GuestLimits, MAX_EXPECTED, MAX_MEMORY_MIB, TooMuch};
pub use hash::sha256;
pub use identical::{Divergence, first_divergence};
pub use image::{ImageError, Processor, inspect_image};
pub use init::init;
pub use instruction_count::{
    CommandCost, READ, REST, SPIN, read, rest, run as execute, spin, time_here,
};
pub use kernels::{Cache, FLAVOURS, Flavour, Kernel, KernelError, KernelName};
pub use order::GuestCommand;
pub use pinned::{PinnedError, QemuPart};
pub use pinned_fetch::{choose_qemu, fetch_qemu};
pub use plugin::Plugin;
pub use program::ProgramError;
pub use progress::{GuestObserver, GuestProgress, Stage};
pub use session::{can_begin, replay, run_each_in_guest, run_in_guests};
pub use stall::{STALL, stall};
pub use symbols::symbols;
pub use target::{LabRun, Target};
pub use timeouts::BOOT_TIMEOUT;
pub use took::{
    Expected, Slowdown, expected, expected_again, expected_of_boots, expected_of_commands,
    expected_to_explain,
};
pub use verbs::{EMULATOR_VERB, INIT_VERB};

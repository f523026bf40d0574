// SPDX-License-Identifier: MIT OR Apache-2.0
//! How many instructions were counted when a block begins, of all CPUs together.
//!
//! Of one CPU, code that QEMU adds to each block counts, one in front of each instruction. Of
//! several, whose turns end with blocks, such code would change what blocks QEMU makes, and so what
//! is recorded: there QEMU's own count is read.

use super::host;
use crate::qemu::{Cpus, Insn, function};
use core::ffi::{c_int, c_uint, c_void};
use core::ptr;

/// A counter of each CPU, as QEMU's translated code finds it.
#[repr(C)]
#[derive(Clone, Copy)]
struct PerCpu {
    board: *mut c_void,
    offset: usize,
}

type CountInline = unsafe extern "C" fn(*mut Insn, c_int, *mut u64, u64);
type CountPerCpu = unsafe extern "C" fn(*mut Insn, c_int, PerCpu, u64);
type GetCount = unsafe extern "C" fn() -> i64;
type ToNanos = unsafe extern "C" fn(i64) -> i64;
type GetSize = unsafe extern "C" fn(*mut c_void) -> usize;

enum Counter {
    Inline(CountInline, *mut u64),
    PerCpu(CountPerCpu, PerCpu),
    ByQemu(ByQemu),
}

/// How many instructions were counted, and which CPU executes.
pub struct Clock {
    counter: Counter,
    halted: Halted,
    count: usize,
    /// The CPUs, and what translated code counts with. None before the first block.
    first: Option<(Cpus, *const u64)>,
}

impl Clock {
    /// For so many CPUs. To be called while the plugin is being installed.
    pub fn new(count: usize) -> Option<Self> {
        let new =
            function!(c"qemu_plugin_scoreboard_new" as unsafe extern "C" fn(usize) -> *mut c_void);
        let counter = match new {
            _ if count > 1 => Counter::ByQemu(ByQemu::new()?),
            Some(new) => {
                let count = function!(
                    c"qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu" as CountPerCpu
                )?;
                // SAFETY: it may be called once the plugin is being installed.
                let board = unsafe { new(size_of::<u64>()) };
                Counter::PerCpu(count, PerCpu { board, offset: 0 })
            }
            None => {
                let own = host::zeroed::<u8>(size_of::<u64>())?.as_mut_ptr().cast();
                Counter::Inline(
                    function!(c"qemu_plugin_register_vcpu_insn_exec_inline" as CountInline)?,
                    own,
                )
            }
        };
        Some(Clock { counter, halted: Halted::new()?, count, first: None })
    }

    /// Whether instructions are counted that were begun, of which one that faults, or that QEMU
    /// begins again, was not done; otherwise those that were.
    pub const fn counts_begun(&self) -> bool {
        !matches!(self.counter, Counter::ByQemu(_))
    }

    /// Has this instruction, which is being translated, counted.
    pub fn count(&self, insn: *mut Insn) {
        match self.counter {
            // SAFETY: the instruction is being translated, and the counter stays as long as the
            // process.
            Counter::Inline(count, own) => unsafe { count(insn, 0, own, 1) },
            // SAFETY: as above.
            Counter::PerCpu(count, per_cpu) => unsafe { count(insn, 0, per_cpu, 1) },
            Counter::ByQemu(_) => {}
        }
    }

    /// A block of so many instructions begins. Returns how many were counted before, and the CPU
    /// that executes it.
    pub fn begin(&mut self, instructions: u32) -> Option<(u64, usize)> {
        let (cpus, counted) = match self.first {
            Some(first) => first,
            None => *self.first.insert((Cpus::new(self.count)?, self.counter()?)),
        };
        let counted = match &mut self.counter {
            Counter::ByQemu(by_qemu) => by_qemu.begin(&cpus, instructions),
            // SAFETY: what counts does so there, on this thread.
            _ => unsafe { counted.read_volatile() },
        };
        Some((counted, cpus.executing()))
    }

    /// How long all CPUs have halted until now, virtual ns. To be called once a block has begun.
    pub fn halted_ns(&self) -> u64 {
        self.first.map_or(0, |(cpus, _)| self.halted.ns(&cpus))
    }

    /// What translated code counts with.
    fn counter(&self) -> Option<*const u64> {
        Some(match self.counter {
            Counter::Inline(_, own) => own,
            Counter::PerCpu(_, per_cpu) => {
                let find = function!(
                    c"qemu_plugin_scoreboard_find"
                        as unsafe extern "C" fn(*mut c_void, c_uint) -> *mut c_void
                )?;
                // SAFETY: the board is one that QEMU made, and there is a first CPU.
                unsafe { find(per_cpu.board, 0) }.cast()
            }
            Counter::ByQemu(_) => ptr::null(),
        })
    }

    /// Ends the turn of the CPU that executes with `end`.
    pub fn end_turn(&mut self, end: impl FnOnce()) {
        match (&mut self.counter, self.first) {
            (Counter::ByQemu(by_qemu), Some((cpus, _))) if by_qemu.left.is_none() => {
                by_qemu.find_left(cpus.current(), end)
            }
            _ => end(),
        }
    }
}

/// What a CPU's own part of QEMU's memory is searched for, at most.
const CPU_BYTES: usize = 1 << 16;
/// What asks a CPU to leave off, in the upper half of the word whose lower half is how many
/// instructions it has left.
const LEAVE_OFF: u32 = 0xffff_0000;
/// Turns after which that word must have been found. Another thread of QEMU's may ask the same in
/// the same moment.
const MAX_TRIES: u32 = 100;

/// QEMU's virtual clock: what the instructions it counted take, and beside it the time that it went
/// on while all CPUs halted.
struct Halted {
    clock: GetCount,
    count: GetCount,
    to_ns: ToNanos,
}

impl Halted {
    fn new() -> Option<Self> {
        Some(Halted {
            clock: function!(c"icount_get" as GetCount)?,
            count: function!(c"icount_get_raw" as GetCount)?,
            to_ns: function!(c"icount_to_ns" as ToNanos)?,
        })
    }

    /// Neither the clock nor the count has what the CPU executed in its turn: their difference is
    /// what it is without that.
    fn ns(&self, cpus: &Cpus) -> u64 {
        let (clock, counted) = cpus.while_none(|| {
            // SAFETY: it may be called on any thread.
            let clock = unsafe { (self.clock)() };
            // SAFETY: as above; nothing was counted in between, on this thread that counts.
            (clock, unsafe { (self.count)() })
        });
        // SAFETY: it only calculates.
        (clock - unsafe { (self.to_ns)(counted) }).unsigned_abs()
    }
}

/// What QEMU counted. It adds what a CPU has executed once its turn ends, or once it looks at the
/// clock. Until then it takes a block's instructions off those that the CPU has left, before the
/// block begins, and gives back what the block does not execute.
struct ByQemu {
    count: GetCount,
    size: GetSize,
    /// Where a CPU keeps how many instructions it has left, bytes from its beginning; none before
    /// its first turn was ended.
    left: Option<usize>,
    /// The last block: which CPU began to execute it, how many instructions it has, and how many
    /// were executed before.
    cpu: *mut c_void,
    instructions: i64,
    before: i64,
    /// QEMU's count then, and what the CPU had left before the block with which it began to have
    /// that.
    of_qemu: i64,
    had_left: i64,
    tries: u32,
    /// Words of a CPU.
    words: &'static mut [u32],
}

impl ByQemu {
    fn new() -> Option<Self> {
        Some(ByQemu {
            count: function!(c"icount_get_raw" as GetCount)?,
            size: function!(c"malloc_usable_size" as GetSize)?,
            left: None,
            cpu: ptr::null_mut(),
            instructions: 0,
            before: 0,
            of_qemu: 0,
            had_left: 0,
            tries: 0,
            words: host::zeroed(CPU_BYTES / size_of::<u32>())?,
        })
    }

    /// The CPU that executes begins a block of so many instructions. Returns how many were counted
    /// before.
    fn begin(&mut self, cpus: &Cpus, instructions: u32) -> u64 {
        let (cpu, instructions) = (cpus.current(), i64::from(instructions));
        // What QEMU has not added yet, it would add now if it knew the CPU.
        // SAFETY: it may be called on any thread.
        let of_qemu = cpus.while_none(|| unsafe { (self.count)() });
        let left = self.left.map(|at| i64::from(word(cpu, at) & !LEAVE_OFF) + instructions);
        let executed = if cpu == self.cpu && of_qemu == self.of_qemu {
            left.map_or(self.instructions, |left| of_qemu + self.had_left - left - self.before)
        } else {
            of_qemu - self.before
        };
        // Otherwise the turn is another one, in the last of which nothing was executed.
        let in_turn = (0..=self.instructions).contains(&executed);
        let before = if in_turn { self.before + executed } else { of_qemu };
        if cpu != self.cpu || of_qemu != self.of_qemu || !in_turn {
            self.had_left = left.unwrap_or(0);
        }
        (self.cpu, self.instructions, self.before, self.of_qemu) =
            (cpu, instructions, before, of_qemu);
        before.unsigned_abs()
    }

    /// Ends a turn of this CPU with `end`, and finds where that is asked for.
    fn find_left(&mut self, cpu: *mut c_void, end: impl FnOnce()) {
        // SAFETY: QEMU allocated the CPU's memory with the allocator that this function belongs to.
        let bytes = unsafe { (self.size)(cpu) }.min(CPU_BYTES);
        let words = self
            .words
            .iter_mut()
            .zip((0..).step_by(size_of::<u32>()))
            .take(bytes / size_of::<u32>());
        for (before, at) in words {
            *before = word(cpu, at);
        }
        end();
        let words =
            self.words.iter().zip((0..).step_by(size_of::<u32>())).take(bytes / size_of::<u32>());
        let mut found = words
            .filter(|(before, at)| **before < 1 << 16 && word(cpu, *at) == **before | LEAVE_OFF);
        if let (Some((_, at)), None) = (found.next(), found.next()) {
            self.left = Some(at);
        }
        self.tries += 1;
        if self.left.is_none() && self.tries == MAX_TRIES {
            host::die();
        }
    }
}

/// A word of a CPU's own part of QEMU's memory.
fn word(cpu: *mut c_void, at: usize) -> u32 {
    // SAFETY: the place lies in the CPU's memory, at a multiple of 4, and QEMU's other threads at
    // most ask the CPU to leave off.
    unsafe { cpu.byte_add(at).cast::<u32>().read_volatile() }
}

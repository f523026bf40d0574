// SPDX-License-Identifier: MIT OR Apache-2.0
//! The plugin that QEMU loads. It does two things, and either without the other:
//!
//! - It keeps the turns of several CPUs even, from where the guest asks for that: `keeper.rs` and
//!   `turns.rs`.
//! - It records which blocks the guest executed, and when. This changes nothing in a guest of one
//!   CPU; of several, see 0038.
//!
//! In: QEMU's calls, and `key=value` words. Out: one file, which `crates/explain/src/dump.rs`
//! reads. It runs in QEMU's process, on the one thread that executes the guest's CPUs in turn, and
//! needs only what is in that process anyway: QEMU's functions, `dlsym`, `memcpy`, and the kernel.
//!
//! Time is instructions, of all CPUs together. The file says whether those are counted that were
//! begun, as with one CPU: of these, one that faults, or that QEMU begins again, was not done. Who
//! reads the file takes that back: only what followed shows it.
//!
//! Words: `cpus=N`, how many execute, of which several have even turns; `out=FILE`, without which
//! nothing is recorded; `ends=FILE`, pairs of 64-bit numbers, the count of instructions at which a
//! window ends and the blocks it is to hold, ascending; `ring=N`, the most blocks of a window, as a
//! power of two; `switched=`, `current=`, `percpu=`, `init=`, addresses of the kernel: where its
//! code goes on once another task runs, the pointer to that task, the numbers that are added to the
//! pointer's address, one for each CPU, and the first task. Of an aarch64 guest `switched=` is
//! enough: the function that switches, whose arguments are the two tasks.
#![no_std]

mod begin;
#[path = "count/sys.rs"]
mod count;
mod early;
#[path = "host/sys.rs"]
mod host;
mod keeper;
mod processor;
#[path = "qemu/sys.rs"]
mod qemu;
mod tasks;
mod turns;
mod windows;

use core::cell::{Cell, UnsafeCell};
use core::ffi::{CStr, c_char, c_int, c_uint, c_void};
use core::ptr;
use core::sync::atomic::{AtomicI32, Ordering};
use count::Clock;
use early::Early;
use host::{Arena, Output, Zeroed};
use keeper::{Keeper, Shared};
use processor::Processor;
use qemu::{Functions, Info, Tb};

/// Marks the file and its form.
const MAGIC: [u8; 8] = *b"TEIJIBB4";
/// Kinds of sections. Each begins with its kind and the length of what follows, 32 bits both.
const WAKE: u32 = 1;
const TASK: u32 = 2;
const BLOCK: u32 = 3;
const WINDOW: u32 = 4;
const END: u32 = 5;

/// The longest instruction, and its length in front of it.
const INSN: usize = 16;
/// More than the instructions of one block take: QEMU translates 512 at most.
const SPACE: usize = 1 << 16;
const CPUS: usize = 4;
/// From this bit on, the number of a block in a window is the CPU that executed it.
const CPU_BIT: u32 = 28;
/// Switches of tasks that are remembered.
const TASKS: usize = 1 << 14;
/// Windows that may be asked for.
const MAX_WINDOWS: usize = 1 << 14;
/// The length of a task's name in the kernel.
const COMM: usize = 16;
/// How much of the first task is searched for its name.
const TASK_BYTES: u64 = 1 << 14;

/// User code that a system call returns to.
const RETURNED: u32 = 1;
/// User code that ends with a system call.
const CALLS: u32 = 2;
/// User code that ends with a reading of the clock's counter.
const READS_CLOCK: u32 = 4;
/// Where the kernel has another task.
const SWITCHED: u32 = 8;

struct Block {
    address: u64,
    /// Of its last instruction.
    last: u64,
    instructions: u32,
    roles: u32,
    /// Whether the address is a physical one of the kernel's.
    is_early: bool,
    /// The length of each instruction, and its bytes.
    code: &'static [u8],
    /// Its number in the file, from 1 on; 0 while it is not there.
    number: Cell<u32>,
}

/// An executed block, and how many instructions were counted before it.
#[derive(Clone, Copy)]
struct Executed {
    block: Option<&'static Block>,
    before: u64,
    cpu: usize,
}
// SAFETY: no block is a null pointer, and the rest is a number.
unsafe impl Zeroed for Executed {}

/// A task that began to run.
#[derive(Clone, Copy)]
struct Task {
    before: u64,
    cpu: usize,
    address: u64,
    comm: [u8; COMM],
}
// SAFETY: numbers.
unsafe impl Zeroed for Task {}

/// A window to write: at how many instructions it ends, and how many blocks it holds.
#[derive(Clone, Copy)]
struct Window {
    end: u64,
    blocks: u64,
}

/// Addresses of the kernel, 0 where nothing is known.
#[derive(Default)]
struct Kernel {
    switched: u64,
    current: u64,
    per_cpu: u64,
    init: u64,
    /// Where the name lies within a task, once it was found.
    comm: Option<u64>,
}

/// Where the last system call of a CPU returned to, and when; 0 once another began.
#[derive(Clone, Copy, Default)]
struct Returned {
    address: u64,
    at: u64,
}

struct State {
    qemu: Functions,
    processor: Processor,
    early: Early,
    clock: Clock,
    cpus: usize,
    arena: Arena,
    /// For the instructions of one block.
    space: &'static mut [u8],
    output: Output,
    /// As long as a power of two.
    ring: &'static mut [Executed],
    pushed: usize,
    /// What `ends` holds, pairs of numbers.
    windows: &'static [u8],
    next_window: usize,
    /// When the next one ends.
    next_end: u64,
    blocks: u32,
    returned: [Returned; CPUS],
    kernel: Kernel,
    tasks: &'static mut [Task],
    n_tasks: usize,
}

struct Global<T>(UnsafeCell<Option<T>>);
// SAFETY: QEMU installs the plugin before there is a CPU, calls it from the one thread that
// executes CPUs, and ends it when that has stopped.
unsafe impl<T> Sync for Global<T> {}
static STATE: Global<State> = Global(UnsafeCell::new(None));
static KEEPER: Global<Keeper> = Global(UnsafeCell::new(None));

/// QEMU asks for it by this name, before anything is called.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals)]
pub static qemu_plugin_version: AtomicI32 = AtomicI32::new(1);

/// Called as the plugin is loaded: QEMU's versions take different ones for granted.
extern "C" fn loaded() {
    qemu_plugin_version.store(qemu::version(), Ordering::Relaxed);
}

#[used]
#[unsafe(link_section = ".init_array")]
static LOADED: extern "C" fn() = loaded;

// The core library names it in its tables for unwinding, which are left out.
core::arch::global_asm!(
    ".globl rust_eh_personality",
    ".hidden rust_eh_personality",
    "rust_eh_personality:"
);

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    host::die()
}

/// QEMU calls it once, before the machine runs.
///
/// # Safety
/// Only for QEMU: `info` points to what it says of itself, `argv` to `argc` strings.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qemu_plugin_install(
    id: u64,
    info: *const Info,
    argc: c_int,
    argv: *const *const c_char,
) -> c_int {
    // SAFETY: QEMU's promise.
    let info = unsafe { &*info };
    // SAFETY: QEMU's promise: so many pointers.
    let words = unsafe { core::slice::from_raw_parts(argv, usize::try_from(argc).unwrap_or(0)) };
    let words = words.iter().map(|word| {
        // SAFETY: QEMU's promise: each is a string, which lives as long as the plugin is loaded.
        unsafe { CStr::from_ptr(*word) }
    });
    // SAFETY: nothing else uses the state yet.
    let state = unsafe { &mut *STATE.0.get() };
    // SAFETY: nor this.
    let keeper = unsafe { &mut *KEEPER.0.get() };
    if install(info, words, state, keeper).is_none() {
        return 1;
    }
    qemu::register(id, translated, ended);
    0
}

/// Makes what the words ask for.
fn install(
    info: &Info,
    words: impl Iterator<Item = &'static CStr> + Clone,
    state: &mut Option<State>,
    keeper: &mut Option<Keeper>,
) -> Option<()> {
    let cpus = words.clone().find_map(|word| value(word, b"cpus")).map_or(Some(1), number)?;
    let cpus = usize::try_from(cpus).ok().filter(|cpus| (1..=CPUS).contains(cpus))?;
    if cpus > 1 {
        *keeper = Some(Keeper::new(info, cpus)?);
    }
    if let Some(out) = words.clone().find_map(|word| value(word, b"out")) {
        *state = Some(State::new(info, out, cpus, words)?);
    }
    Some(())
}

/// What follows `key=` in a word.
fn value<'a>(word: &'a CStr, key: &[u8]) -> Option<&'a CStr> {
    let rest = word.to_bytes_with_nul().strip_prefix(key)?.strip_prefix(b"=")?;
    CStr::from_bytes_with_nul(rest).ok()
}

fn number(text: &CStr) -> Option<u64> {
    core::str::from_utf8(text.to_bytes()).ok()?.parse().ok()
}

impl State {
    fn new(
        info: &Info,
        out: &CStr,
        cpus: usize,
        words: impl Iterator<Item = &'static CStr>,
    ) -> Option<State> {
        let (mut ends, mut ring, mut kernel) = (None, 0, Kernel::default());
        for word in words {
            ends = value(word, b"ends").or(ends);
            ring = value(word, b"ring").and_then(number).unwrap_or(ring);
            for (key, place) in [
                (&b"switched"[..], &mut kernel.switched),
                (b"current", &mut kernel.current),
                (b"percpu", &mut kernel.per_cpu),
                (b"init", &mut kernel.init),
            ] {
                *place = value(word, key).and_then(number).unwrap_or(*place);
            }
        }
        let clock = Clock::new(cpus)?;
        let mut output = Output::open(out)?;
        output.put(&MAGIC);
        output.put_u32(clock.counts_begun().into());
        let mut state = State {
            qemu: Functions::new(info)?,
            processor: qemu::target(info).and_then(Processor::named)?,
            early: Early::default(),
            clock,
            cpus,
            arena: Arena::new(),
            space: host::zeroed(SPACE)?,
            output,
            ring: host::zeroed(1_usize.checked_shl(u32::try_from(ring).ok()?)?)?,
            pushed: 0,
            windows: match ends {
                Some(path) => host::read(path, MAX_WINDOWS * size_of::<Window>())?,
                None => &[],
            },
            next_window: 0,
            next_end: u64::MAX,
            blocks: 0,
            returned: [Returned::default(); CPUS],
            kernel,
            tasks: host::zeroed(TASKS)?,
            n_tasks: 0,
        };
        state.next_end = state.window().map_or(u64::MAX, |window| window.end);
        Some(state)
    }

    fn window(&self) -> Option<Window> {
        let pair = self.windows.chunks_exact(size_of::<Window>()).nth(self.next_window)?;
        let (end, blocks) = pair.split_first_chunk()?;
        Some(Window {
            end: u64::from_le_bytes(*end),
            blocks: u64::from_le_bytes(*blocks.first_chunk()?),
        })
    }

    /// Keeps a block that is being translated, and has its instructions counted. Returns the block,
    /// if it is to be recorded.
    fn translated(&mut self, tb: *mut Tb) -> Option<Option<&'static Block>> {
        let (address, instructions) = qemu::extent(tb);
        let space = core::mem::take(&mut self.space);
        let mut used = 0;
        let mut last = 0..0;
        let (mut last_address, mut next_address) = (address, address);
        for index in 0..instructions {
            let insn = qemu::instruction(tb, index);
            let size = self.qemu.data.bytes(insn, space.get_mut(used + 1..used + INSN)?);
            // At most INSN - 1.
            *space.get_mut(used)? = u8::try_from(size).ok()?;
            last = used + 1..used + 1 + size;
            used = last.end;
            last_address = next_address;
            next_address = next_address.wrapping_add(size as u64);
            self.clock.count(insn);
        }
        let code = space.get(..used)?;
        let mut roles = if address != 0 && address == self.kernel.switched { SWITCHED } else { 0 };
        let is_early = matches!(self.processor, Processor::Aarch64)
            && self.early.is_early(address, qemu::host_address(tb));
        // A program's.
        if address >> 63 == 0 && !is_early {
            let (last, system_call) = (code.get(last)?, self.processor.system_call());
            if last == system_call {
                roles |= CALLS;
            } else if self.processor.reads_clock(last) {
                roles |= READS_CLOCK;
            }
            let mut space = [0; INSN];
            let before = space.get_mut(..system_call.len())?;
            if self.qemu.read(address.wrapping_sub(before.len() as u64), before)
                && before == system_call
            {
                roles |= RETURNED;
            }
        }
        // Where nothing is to be kept, only what shows wake-ups is worth a call.
        let mut recorded = None;
        if !self.windows.is_empty() || roles & !SWITCHED != 0 {
            let kept = self.arena.bytes(used)?;
            kept.copy_from_slice(code);
            let (instructions, code) = (u32::try_from(instructions).ok()?, kept);
            let block = Block {
                address,
                last: last_address,
                instructions,
                roles,
                is_early,
                code,
                number: Cell::new(0),
            };
            recorded = Some(self.arena.keep(block)?);
        }
        self.space = space;
        Some(recorded)
    }

    /// A block of so many instructions begins, which may be one to record.
    fn executed(&mut self, instructions: u32, block: Option<&'static Block>) {
        let Some((before, cpu)) = self.clock.begin(instructions) else { host::die() };
        let Some(block) = block else { return };
        while before >= self.next_end {
            self.write_window(before);
        }
        if block.roles != 0 {
            self.note(block, before, cpu);
        }
        let place = self.pushed & (self.ring.len() - 1);
        if let Some(place) = self.ring.get_mut(place) {
            *place = Executed { block: Some(block), before, cpu };
        }
        self.pushed += 1;
    }

    #[cold]
    fn note(&mut self, block: &Block, before: u64, cpu: usize) {
        let Some(returned) = self.returned.get_mut(cpu) else { return };
        if block.roles & RETURNED != 0 {
            *returned = Returned { address: block.address, at: before };
        }
        if block.roles & CALLS != 0 {
            returned.address = 0;
        }
        if block.roles & READS_CLOCK != 0 && returned.address != 0 {
            let Returned { address, at } = core::mem::take(returned);
            self.section(WAKE, 48);
            self.output.put_u64(before + u64::from(block.instructions));
            self.output.put_u64(address);
            self.output.put_u64(at);
            // Not where the block begins: it may have been cut at the end of a turn.
            self.output.put_u64(block.last);
            self.output.put_u64(cpu as u64);
            self.output.put_u64(self.clock.halted_ns());
        }
        if block.roles & SWITCHED != 0 {
            self.switched(before, cpu);
        }
    }
}

unsafe extern "C" fn translated(_: u64, tb: *mut Tb) {
    let mut block = None;
    // SAFETY: see `Global`.
    if let Some(state) = unsafe { &mut *STATE.0.get() } {
        let Some(recorded) = state.translated(tb) else { host::die() };
        block = recorded;
    }
    // SAFETY: see `Global`.
    if let Some(keeper) = unsafe { &mut *KEEPER.0.get() } {
        let Some(shared) = keeper.translated(tb, block) else { host::die() };
        qemu::observe(tb, shared_executed, ptr::from_ref(shared).cast_mut().cast());
    } else if let Some(block) = block {
        qemu::observe(tb, executed, ptr::from_ref(block).cast_mut().cast());
    }
}

/// Called before a block where CPUs take turns.
unsafe extern "C" fn shared_executed(_: c_uint, shared: *mut c_void) {
    // SAFETY: what the keeper keeps of a block since it was translated.
    let shared = unsafe { &*shared.cast::<Shared>() };
    // SAFETY: see `Global`.
    let mut state = unsafe { &mut *STATE.0.get() }.as_mut();
    if let Some(state) = &mut state {
        state.executed(shared.instructions, shared.block);
    }
    // SAFETY: see `Global`.
    if let Some(keeper) = unsafe { &mut *KEEPER.0.get() }
        && keeper.execute(shared)
    {
        match state {
            Some(state) => state.clock.end_turn(|| keeper.end_turn()),
            None => keeper.end_turn(),
        }
    }
}

unsafe extern "C" fn executed(_: c_uint, block: *mut c_void) {
    // SAFETY: a block that was kept when it was translated, and stays.
    let block = unsafe { &*block.cast::<Block>() };
    // SAFETY: see `Global`.
    if let Some(state) = unsafe { &mut *STATE.0.get() } {
        state.executed(block.instructions, Some(block));
    }
}

unsafe extern "C" fn ended(_: u64, _: *mut c_void) {
    // SAFETY: see `Global`.
    if let Some(state) = unsafe { &mut *STATE.0.get() } {
        state.section(END, 0);
        state.output.close();
    }
}

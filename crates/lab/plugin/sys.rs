// SPDX-License-Identifier: MIT OR Apache-2.0
//! The plugin that QEMU loads: which blocks of instructions the guest executed, and when.
//!
//! In: QEMU's calls, and `key=value` words. Out: one file, which `crates/explain/src/dump.rs` reads. It runs in QEMU's process, on the
//! thread of the guest's one CPU, and needs only what is in that process anyway: QEMU's functions for plugins, `dlsym`, `memcpy`, and
//! the kernel. It changes nothing in the guest.
//!
//! Time is instructions: one is counted in front of each. One that faults, or that QEMU begins again, was counted before it was done.
//! Who reads the file takes that back: only what followed shows it.
//!
//! Words: `out=FILE`; `ends=FILE`, pairs of 64-bit numbers, the count of instructions at which a window ends and the blocks it is to
//! hold, ascending; `ring=N`, the most blocks of a window, as a power of two; `switched=`, `current=`, `percpu=`, `init=`, addresses
//! of the kernel: where its code goes on once another task runs, the pointer to that task, the number that is added to the pointer's
//! address, and the first task.
#![no_std]

#[path = "host/sys.rs"]
mod host;
#[path = "qemu/sys.rs"]
mod qemu;

use core::cell::UnsafeCell;
use core::ffi::{CStr, c_char, c_int, c_uint, c_void};
use core::ptr;
use core::sync::atomic::{AtomicI32, Ordering};
use host::{Arena, Output};
use qemu::{Functions, Info, Tb};

/// Marks the file and its form.
const MAGIC: [u8; 8] = *b"TEIJIBB1";
/// Kinds of sections. Each begins with its kind and the length of what follows, 32 bits both.
const WAKE: u32 = 1;
const TASK: u32 = 2;
const BLOCK: u32 = 3;
const WINDOW: u32 = 4;
const END: u32 = 5;

/// The longest instruction, and its length in front of it.
const INSN: usize = 16;
/// Switches of tasks that are remembered.
const TASKS: u64 = 1 << 14;
/// The length of a task's name in the kernel.
const COMM: usize = 16;
/// How much of the first task is searched for its name.
const TASK_BYTES: usize = 1 << 14;
/// The instruction that makes a system call.
const SYSCALL: [u8; 2] = [0x0f, 0x05];

/// User code that a system call returns to.
const RETURNED: u32 = 1;
/// User code that ends with a system call.
const CALLS: u32 = 2;
/// User code that ends with a reading of the time stamp counter.
const READS_CLOCK: u32 = 4;
/// Where the kernel has another task.
const SWITCHED: u32 = 8;

/// A translated block. Behind it lie its instructions: the length of each, and its bytes.
#[repr(C)]
struct Block {
    address: u64,
    instructions: u32,
    bytes: u32,
    roles: u32,
    /// Its number in the file, from 1 on; 0 while it is not there.
    number: u32,
}

/// An executed block, and how many instructions were counted before it.
#[repr(C)]
#[derive(Clone, Copy)]
struct Executed {
    block: *mut Block,
    before: u64,
}

/// A task that began to run.
#[repr(C)]
#[derive(Clone, Copy)]
struct Task {
    before: u64,
    address: u64,
    comm: [u8; COMM],
}

/// A window to write: at how many instructions it ends, and how many blocks it holds.
#[repr(C)]
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

struct State {
    qemu: Functions,
    counted: *const u64,
    arena: Arena,
    output: Output,
    ring: *mut Executed,
    mask: u64,
    pushed: u64,
    windows: *const Window,
    n_windows: usize,
    next_window: usize,
    /// When the next one ends.
    next_end: u64,
    blocks: u32,
    /// Where the last system call returned to, and when; 0 once another began.
    returned: u64,
    returned_at: u64,
    kernel: Kernel,
    tasks: *mut Task,
    n_tasks: u64,
}

struct Global(UnsafeCell<Option<State>>);
// SAFETY: QEMU installs the plugin before there is a CPU, calls it from the thread of the one CPU, and ends it when that has stopped.
unsafe impl Sync for Global {}
static STATE: Global = Global(UnsafeCell::new(None));

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
core::arch::global_asm!(".globl rust_eh_personality", ".hidden rust_eh_personality", "rust_eh_personality:");

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    host::die()
}

/// QEMU calls it once, before the machine runs.
///
/// # Safety
/// Only for QEMU: `info` points to what it says of itself, `argv` to `argc` strings.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qemu_plugin_install(id: u64, info: *const Info, argc: c_int, argv: *const *const c_char) -> c_int {
    // SAFETY: QEMU's promise, and nothing else uses the state yet.
    let (info, state) = unsafe { (&*info, &mut *STATE.0.get()) };
    let words = (0..usize::try_from(argc).unwrap_or(0)).map(|index| {
        // SAFETY: QEMU's promise: so many strings.
        unsafe { CStr::from_ptr(*argv.add(index)) }
    });
    match State::new(info, words) {
        Some(new) => *state = Some(new),
        None => return 1,
    }
    qemu::register(id, translated, ended);
    0
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
    fn new(info: &Info, words: impl Iterator<Item = &'static CStr>) -> Option<State> {
        let own = host::map(size_of::<u64>())?.cast();
        let (mut out, mut ends, mut ring, mut kernel) = (None, None, 0, Kernel::default());
        for word in words {
            out = value(word, b"out").or(out);
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
        let (windows, bytes) = match ends {
            Some(path) => host::read(path, 1 << 20)?,
            None => (ptr::null_mut(), 0),
        };
        let windows: *const Window = windows.cast();
        let n_windows = bytes / size_of::<Window>();
        let blocks = 1_usize.checked_shl(u32::try_from(ring).ok()?)?;
        let mut output = Output::create(out?)?;
        output.put(&MAGIC);
        let mut state = State {
            qemu: Functions::new(info, own)?,
            counted: ptr::null(),
            arena: Arena::new(),
            output,
            ring: host::map(blocks.checked_mul(size_of::<Executed>())?)?.cast(),
            mask: blocks as u64 - 1,
            pushed: 0,
            windows,
            n_windows,
            next_window: 0,
            next_end: u64::MAX,
            blocks: 0,
            returned: 0,
            returned_at: 0,
            kernel,
            tasks: host::map(size_of::<Task>() * TASKS as usize)?.cast(),
            n_tasks: 0,
        };
        state.expect_next();
        Some(state)
    }

    /// When the next window ends.
    fn expect_next(&mut self) {
        self.next_end = match self.next_window < self.n_windows {
            // SAFETY: `n_windows` of them were read to there.
            true => unsafe { (*self.windows.add(self.next_window)).end },
            false => u64::MAX,
        };
    }

    /// Keeps a block that is being translated, and has its instructions counted.
    fn translated(&mut self, tb: *mut Tb) -> Option<()> {
        let (address, instructions) = qemu::extent(tb);
        let block: *mut Block = self.arena.take(size_of::<Block>() + instructions * INSN)?.cast();
        // SAFETY: as many bytes were taken for it and, behind it, for so many instructions.
        let code = unsafe { core::slice::from_raw_parts_mut(block.add(1).cast::<u8>(), instructions * INSN) };
        let mut bytes = 0;
        let mut last = (0, 0);
        for index in 0..instructions {
            let insn = qemu::instruction(tb, index);
            let size = self.qemu.bytes(insn, &mut code[bytes + 1..bytes + INSN]);
            code[bytes] = size as u8;
            last = (bytes + 1, size);
            bytes += 1 + size;
            self.qemu.count(insn);
        }
        let is_user = address >> 63 == 0;
        let mut roles = if address != 0 && address == self.kernel.switched { SWITCHED } else { 0 };
        if is_user {
            roles |= match code[last.0..last.0 + last.1] {
                [0x0f, 0x05] => CALLS,
                [0x0f, 0x31] | [0x0f, 0x01, 0xf9] => READS_CLOCK,
                _ => 0,
            };
            let mut before = [0; SYSCALL.len()];
            if self.qemu.read(address.wrapping_sub(before.len() as u64), &mut before) && before == SYSCALL {
                roles |= RETURNED;
            }
        }
        let kept = Block { address, instructions: instructions as u32, bytes: bytes as u32, roles, number: 0 };
        // SAFETY: the memory was taken for it.
        unsafe { block.write(kept) };
        // Where nothing is to be kept, only what shows wake-ups is worth a call.
        if self.n_windows > 0 || roles & !SWITCHED != 0 {
            qemu::observe(tb, executed, block.cast());
        }
        Some(())
    }

    fn executed(&mut self, block: *mut Block) {
        if self.counted.is_null() {
            let Some(counted) = self.qemu.counted() else { host::die() };
            self.counted = counted;
        }
        // SAFETY: QEMU's translated code counts there, on this thread.
        let before = unsafe { self.counted.read_volatile() };
        if before >= self.next_end {
            self.write_windows(before);
        }
        // SAFETY: the block is one that was kept when it was translated, and stays as long as the process.
        let roles = unsafe { (*block).roles };
        if roles != 0 {
            self.note(block, roles, before);
        }
        // SAFETY: the ring has `mask + 1` entries.
        unsafe { self.ring.add((self.pushed & self.mask) as usize).write(Executed { block, before }) };
        self.pushed += 1;
    }

    #[cold]
    fn note(&mut self, block: *const Block, roles: u32, before: u64) {
        // SAFETY: as in `executed`.
        let block = unsafe { &*block };
        if roles & RETURNED != 0 {
            (self.returned, self.returned_at) = (block.address, before);
        }
        if roles & CALLS != 0 {
            self.returned = 0;
        }
        if roles & READS_CLOCK != 0 && self.returned != 0 {
            self.section(WAKE, 32);
            self.output.put_u64(before + u64::from(block.instructions));
            self.output.put_u64(self.returned);
            self.output.put_u64(self.returned_at);
            self.output.put_u64(block.address);
            self.returned = 0;
        }
        if roles & SWITCHED != 0 {
            self.switched(before);
        }
    }

    fn section(&mut self, kind: u32, length: usize) {
        self.output.put_u32(kind);
        self.output.put_u32(length as u32);
    }

    fn read_u64(&self, address: u64) -> Option<u64> {
        let mut bytes = [0; 8];
        self.qemu.read(address, &mut bytes).then(|| u64::from_le_bytes(bytes))
    }

    /// Remembers the task that runs from now on.
    fn switched(&mut self, before: u64) -> Option<()> {
        let offset = if self.kernel.per_cpu == 0 { 0 } else { self.read_u64(self.kernel.per_cpu)? };
        let address = self.read_u64(self.kernel.current.wrapping_add(offset))?;
        let mut task = Task { before, address, comm: [0; COMM] };
        if let Some(comm) = self.name_offset() {
            self.qemu.read(address.wrapping_add(comm), &mut task.comm);
        }
        // SAFETY: there is memory for TASKS of them.
        unsafe { self.tasks.add((self.n_tasks % TASKS) as usize).write(task) };
        self.n_tasks += 1;
        Some(())
    }

    /// Where the name lies within a task: that of the first one is known.
    fn name_offset(&mut self) -> Option<u64> {
        if self.kernel.comm.is_none() && self.kernel.init != 0 {
            let mut part = [0; 256];
            let swapper = |name: &[u8]| name.starts_with(b"swapper\0") || name.starts_with(b"swapper/0\0");
            for start in (0..TASK_BYTES).step_by(part.len() - COMM) {
                if !self.qemu.read(self.kernel.init + start as u64, &mut part) {
                    break;
                }
                if let Some(at) = part.windows(COMM).position(swapper) {
                    self.kernel.comm = Some((start + at) as u64);
                    break;
                }
            }
            self.kernel.init = 0;
        }
        self.kernel.comm
    }

    #[cold]
    fn write_windows(&mut self, now: u64) {
        while now >= self.next_end {
            // SAFETY: `next_end` is of a window that is there.
            let window = unsafe { *self.windows.add(self.next_window) };
            self.write_window(window.blocks, now);
            self.next_window += 1;
            self.expect_next();
        }
    }

    fn write_window(&mut self, blocks: u64, now: u64) {
        let kept = self.pushed.min(self.mask + 1).min(blocks);
        let range = self.pushed - kept..self.pushed;
        // SAFETY: the ring has `mask + 1` entries, and the last `kept` of them were written.
        let entry = |ring: *mut Executed, mask: u64, index: u64| unsafe { ring.add((index & mask) as usize).read() };
        let begin = if kept == 0 { now } else { entry(self.ring, self.mask, range.start).before };
        for index in range.clone() {
            // SAFETY: the block is one that was kept; nothing else refers to it now.
            let block = unsafe { &mut *entry(self.ring, self.mask, index).block };
            if block.number == 0 {
                self.blocks += 1;
                block.number = self.blocks;
                self.write_block(block);
            }
        }
        // The switches since it begins, and the one before.
        let first = self.n_tasks.saturating_sub(TASKS);
        // SAFETY: the last TASKS of them, as far as there are any, were written.
        let task = |tasks: *mut Task, index: u64| unsafe { tasks.add((index % TASKS) as usize).read() };
        let mut since = self.n_tasks;
        while since > first && (since == self.n_tasks || task(self.tasks, since).before >= begin) {
            since -= 1;
        }
        for index in since..self.n_tasks {
            let Task { before, address, comm } = task(self.tasks, index);
            self.section(TASK, 16 + COMM);
            self.output.put_u64(before);
            self.output.put_u64(address);
            self.output.put(&comm);
        }
        self.section(WINDOW, 24 + kept as usize * 8);
        self.output.put_u64(self.next_window as u64);
        self.output.put_u64(begin);
        self.output.put_u64(now);
        let mut previous = begin;
        for index in range {
            let Executed { block, before } = entry(self.ring, self.mask, index);
            // SAFETY: as above.
            self.output.put_u32(unsafe { (*block).number });
            self.output.put_u32((before - previous) as u32);
            previous = before;
        }
    }

    fn write_block(&mut self, block: &Block) {
        let length = block.bytes as usize;
        // SAFETY: so many bytes lie behind a block.
        let code = unsafe { core::slice::from_raw_parts(ptr::from_ref(block).add(1).cast::<u8>(), length) };
        self.section(BLOCK, 8 + length);
        self.output.put_u64(block.address);
        self.output.put(code);
    }
}

unsafe extern "C" fn translated(_: u64, tb: *mut Tb) {
    // SAFETY: see `Global`.
    let state = unsafe { &mut *STATE.0.get() };
    if state.as_mut().and_then(|state| state.translated(tb)).is_none() {
        host::die();
    }
}

unsafe extern "C" fn executed(_: c_uint, block: *mut c_void) {
    // SAFETY: see `Global`.
    if let Some(state) = unsafe { &mut *STATE.0.get() } {
        state.executed(block.cast());
    }
}

unsafe extern "C" fn ended(_: u64, _: *mut c_void) {
    // SAFETY: see `Global`.
    if let Some(state) = unsafe { &mut *STATE.0.get() } {
        state.section(END, 0);
        state.output.close();
    }
}

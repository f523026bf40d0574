// SPDX-License-Identifier: MIT OR Apache-2.0
//! QEMU's functions for plugins, found by name in its process: which there are depends on its
//! version, and a function that is asked for and not there would keep QEMU from loading the plugin
//! at all.

use super::CPUS;
use core::ffi::{CStr, c_char, c_int, c_uint, c_void};
use core::ptr;

/// What QEMU says of itself: the beginning of its `qemu_info_t`.
#[repr(C)]
pub struct Info {
    pub target: *const c_char,
    pub oldest_version: c_int,
    pub version: c_int,
}

/// A block as it is translated; QEMU's.
#[repr(C)]
pub struct Tb(c_void);

/// An instruction of one; QEMU's.
#[repr(C)]
pub struct Insn(c_void);

/// The beginning of GLib's growing arrays of bytes.
#[repr(C)]
struct ByteArray {
    data: *mut u8,
    length: c_uint,
}

pub type Translated = unsafe extern "C" fn(u64, *mut Tb);
pub type Executed = unsafe extern "C" fn(c_uint, *mut c_void);
pub type Ended = unsafe extern "C" fn(u64, *mut c_void);

unsafe extern "C" {
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
    fn qemu_plugin_register_vcpu_tb_trans_cb(id: u64, callback: Translated);
    fn qemu_plugin_register_vcpu_tb_exec_cb(
        tb: *mut Tb,
        callback: Executed,
        flags: c_int,
        data: *mut c_void,
    );
    fn qemu_plugin_register_atexit_cb(id: u64, callback: Ended, data: *mut c_void);
    fn qemu_plugin_tb_n_insns(tb: *const Tb) -> usize;
    fn qemu_plugin_tb_vaddr(tb: *const Tb) -> u64;
    fn qemu_plugin_tb_get_insn(tb: *const Tb, index: usize) -> *mut Insn;
    fn qemu_plugin_insn_size(insn: *const Insn) -> usize;
    fn qemu_plugin_insn_haddr(insn: *const Insn) -> *const c_void;
}

/// Any function of this process. The first handle, null, stands for all that is loaded.
pub fn find(name: &CStr) -> Option<*mut c_void> {
    // SAFETY: the name ends with a zero byte, and looking for it changes nothing.
    let found = unsafe { dlsym(ptr::null_mut(), name.as_ptr()) };
    (!found.is_null()).then_some(found)
}

macro_rules! function {
    ($name:literal as $kind:ty) => {
        // SAFETY: QEMU, and GLib, declare the function of this name with this type in every version
        // that has it.
        $crate::qemu::find($name)
            .map(|found| unsafe { core::mem::transmute::<*mut core::ffi::c_void, $kind>(found) })
    };
}
pub(crate) use function;

/// Versions of the interface from which counters are each CPU's own.
const PER_CPU: c_int = 2;
/// From which on the bytes of an instruction are copied.
const COPIED: c_int = 3;

/// The version of the interface that this plugin is written for, as far as QEMU has it.
pub fn version() -> c_int {
    if find(c"qemu_plugin_scoreboard_new").is_some() { PER_CPU } else { 1 }
}

type DataPointer = unsafe extern "C" fn(*const Insn) -> *const u8;
type DataCopied = unsafe extern "C" fn(*const Insn, *mut u8, usize) -> usize;
type ReadMemory = unsafe extern "C" fn(u64, *mut ByteArray, usize) -> bool;
type GetCpu = unsafe extern "C" fn(c_int) -> *mut c_void;
type ExitCpu = unsafe extern "C" fn(*mut c_void);
type ReadDebug = unsafe extern "C" fn(*mut c_void, u64, *mut u8, usize, bool) -> c_int;

type ReadRegister = unsafe extern "C" fn(*mut c_void, *mut ByteArray, c_int) -> c_int;

/// How QEMU gives the bytes of an instruction.
#[derive(Clone, Copy)]
pub enum Data {
    Pointer(DataPointer),
    Copied(DataCopied),
}

impl Data {
    pub fn new(info: &Info) -> Option<Self> {
        Some(if info.version >= COPIED {
            Data::Copied(function!(c"qemu_plugin_insn_data" as DataCopied)?)
        } else {
            Data::Pointer(function!(c"qemu_plugin_insn_data" as DataPointer)?)
        })
    }

    /// Copies the bytes of an instruction, and returns how many there are.
    pub fn bytes(&self, insn: *const Insn, into: &mut [u8]) -> usize {
        // SAFETY: the instruction is being translated.
        let size = unsafe { qemu_plugin_insn_size(insn) }.min(into.len());
        match self {
            Data::Pointer(data) => {
                // SAFETY: the instruction is being translated.
                let from = unsafe { data(insn) };
                // SAFETY: QEMU says that so many bytes lie there, and they are its own.
                unsafe { ptr::copy_nonoverlapping(from, into.as_mut_ptr(), size) };
                size
            }
            // SAFETY: the buffer is writable for as many bytes as QEMU is told.
            Data::Copied(data) => unsafe { data(insn, into.as_mut_ptr(), size) }.min(size),
        }
    }
}

#[derive(Clone, Copy)]
enum Memory {
    Plugin(ReadMemory, *mut ByteArray),
    Debug(GetCpu, ReadDebug),
    None,
}

/// QEMU's CPUs, and which of them this thread executes. QEMU tells a plugin the one that the code
/// was translated for.
#[derive(Clone, Copy)]
pub struct Cpus {
    all: [*mut c_void; CPUS],
    /// QEMU's own pointer to the one that executes.
    current: *mut *mut c_void,
    exit: Option<ExitCpu>,
}

impl Cpus {
    /// Whether this QEMU has what is asked of several.
    pub fn can_be_told_apart() -> bool {
        [c"qemu_get_cpu", c"current_cpu", c"cpu_exit"].into_iter().all(|name| find(name).is_some())
    }

    /// So many. To be called by what QEMU calls for a CPU, once all are there.
    pub fn new(count: usize) -> Option<Self> {
        let current = find(c"current_cpu")?.cast();
        let mut cpus = Cpus { all: [ptr::null_mut(); CPUS], current, exit: None };
        if count > 1 {
            let get = function!(c"qemu_get_cpu" as GetCpu)?;
            for (index, cpu) in (0..).zip(&mut cpus.all).take(count) {
                // SAFETY: it looks for a CPU of this number, and returns null where there is none.
                *cpu = unsafe { get(index) };
            }
            cpus.exit = function!(c"cpu_exit" as ExitCpu);
        }
        Some(cpus)
    }

    /// The one that executes, as QEMU points to it.
    pub fn current(&self) -> *mut c_void {
        // SAFETY: a variable of QEMU's that belongs to this thread, which lives as long as QEMU.
        unsafe { self.current.read_volatile() }
    }

    /// Does this while QEMU finds that the thread executes none.
    pub fn while_none<T>(&self, call: impl FnOnce() -> T) -> T {
        let current = self.current();
        // SAFETY: a variable of QEMU's that belongs to this thread, and is as it was when QEMU goes
        // on.
        unsafe { self.current.write_volatile(ptr::null_mut()) };
        let result = call();
        // SAFETY: as above.
        unsafe { self.current.write_volatile(current) };
        result
    }

    /// The number of the one that executes.
    pub fn executing(&self) -> usize {
        let current = self.current();
        self.all.iter().position(|cpu| *cpu == current).unwrap_or(0)
    }

    /// Has the one that executes leave off before its next block, so that QEMU goes on to the next
    /// CPU.
    pub fn end_turn(&self) {
        if let Some(exit) = self.exit {
            // SAFETY: the CPU that this thread executes; QEMU calls this for it from any thread.
            unsafe { exit(self.current()) };
        }
    }
}

/// What differs between versions of QEMU.
pub struct Functions {
    pub data: Data,
    memory: Memory,
    registers: Option<Registers>,
}

/// How QEMU's debuggers read the registers of an aarch64 processor. What it has for plugins is
/// there from version 9 on.
struct Registers {
    cpu: GetCpu,
    read: ReadRegister,
    array: *mut ByteArray,
}

impl Functions {
    pub fn new(info: &Info) -> Option<Self> {
        Some(Functions { data: Data::new(info)?, memory: memory(), registers: registers() })
    }

    /// Reads the guest's memory as the kernel sees it now.
    pub fn read(&self, address: u64, into: &mut [u8]) -> bool {
        match self.memory {
            Memory::Plugin(read, array) => {
                // SAFETY: on a CPU's thread; the array is one that GLib made.
                if !unsafe { read(address, array, into.len()) } {
                    return false;
                }
                // SAFETY: nobody else refers to the array, which GLib made.
                let array = unsafe { &*array };
                if (array.length as usize) < into.len() {
                    return false;
                }
                // SAFETY: the array holds at least so many bytes.
                unsafe { ptr::copy_nonoverlapping(array.data, into.as_mut_ptr(), into.len()) };
                true
            }
            Memory::Debug(cpu, read) => {
                // SAFETY: there is a first CPU, and this is its thread.
                let cpu = unsafe { cpu(0) };
                // SAFETY: the buffer is writable for as many bytes as QEMU is told, and it is to
                // read only.
                !cpu.is_null()
                    && unsafe { read(cpu, address, into.as_mut_ptr(), into.len(), false) } == 0
            }
            Memory::None => false,
        }
    }
}

impl Functions {
    /// A general register of the first CPU of an aarch64 guest. To be called as a block begins:
    /// within one QEMU may hold it elsewhere.
    pub fn register(&self, number: c_int) -> Option<u64> {
        let Registers { cpu, read, array } = self.registers.as_ref()?;
        // SAFETY: it looks for the first CPU, which this thread executes.
        let cpu = unsafe { cpu(0) };
        if cpu.is_null() {
            return None;
        }
        // SAFETY: nobody else refers to the array, which GLib made; what is read is appended.
        unsafe { (**array).length = 0 };
        // SAFETY: the CPU is of the kind that the function is for, since QEMU has it for that kind
        // only.
        unsafe { read(cpu, *array, number) };
        // SAFETY: as above.
        let array = unsafe { &**array };
        let mut bytes = [0; size_of::<u64>()];
        if (array.length as usize) < bytes.len() {
            return None;
        }
        // SAFETY: the array holds at least so many bytes.
        unsafe { ptr::copy_nonoverlapping(array.data, bytes.as_mut_ptr(), bytes.len()) };
        Some(u64::from_le_bytes(bytes))
    }
}

/// What reads registers, if QEMU exports it.
fn registers() -> Option<Registers> {
    let cpu = function!(c"qemu_get_cpu" as GetCpu)?;
    let read = function!(c"aarch64_cpu_gdb_read_register" as ReadRegister)?;
    Some(Registers { cpu, read, array: new_array()? })
}

/// One of GLib's, empty.
fn new_array() -> Option<*mut ByteArray> {
    let new = function!(c"g_byte_array_new" as unsafe extern "C" fn() -> *mut ByteArray)?;
    // SAFETY: it may be called at any time.
    Some(unsafe { new() })
}

/// The function for plugins where there is one, else what QEMU's debuggers read with, if it is
/// exported.
fn memory() -> Memory {
    let plugin = function!(c"qemu_plugin_read_memory_vaddr" as ReadMemory);
    if let (Some(read), Some(array)) = (plugin, new_array()) {
        return Memory::Plugin(read, array);
    }
    match (function!(c"qemu_get_cpu" as GetCpu), function!(c"cpu_memory_rw_debug" as ReadDebug)) {
        (Some(cpu), Some(read)) => Memory::Debug(cpu, read),
        _ => Memory::None,
    }
}

/// What kind of processor it emulates.
pub fn target(info: &Info) -> Option<&CStr> {
    // SAFETY: QEMU's promise: a string, which lives as long as what it says of itself.
    (!info.target.is_null()).then(|| unsafe { CStr::from_ptr(info.target) })
}

/// Registers what is called for each translation and at the end.
pub fn register(id: u64, translated: Translated, ended: Ended) {
    // SAFETY: the plugin is being installed, and the function stays as long as the process.
    unsafe { qemu_plugin_register_vcpu_tb_trans_cb(id, translated) };
    // SAFETY: as above.
    unsafe { qemu_plugin_register_atexit_cb(id, ended, ptr::null_mut()) };
}

/// Has `executed` called before each execution of this block.
pub fn observe(tb: *mut Tb, executed: Executed, data: *mut c_void) {
    // SAFETY: the block is being translated; 0 says that no register is looked at.
    unsafe { qemu_plugin_register_vcpu_tb_exec_cb(tb, executed, 0, data) };
}

/// Address and number of instructions of a block that is being translated.
pub fn extent(tb: *const Tb) -> (u64, usize) {
    // SAFETY: the block is being translated.
    let address = unsafe { qemu_plugin_tb_vaddr(tb) };
    // SAFETY: as above.
    (address, unsafe { qemu_plugin_tb_n_insns(tb) })
}

/// Where a block that is being translated lies in QEMU's own memory.
pub fn host_address(tb: *const Tb) -> u64 {
    let first = instruction(tb, 0);
    // SAFETY: the instruction is being translated.
    unsafe { qemu_plugin_insn_haddr(first) }.addr() as u64
}

/// An instruction of a block that is being translated.
pub fn instruction(tb: *const Tb, index: usize) -> *mut Insn {
    // SAFETY: the block is being translated, and the index is below its number of instructions.
    unsafe { qemu_plugin_tb_get_insn(tb, index) }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! Windows made up for tests: a small kernel, and code that runs in it, instruction by instruction.

use crate::dump::{Dump, Entry, TaskSwitch, Window};
use crate::processor::Processor;
use crate::symbols::Symbols;

/// Where the functions of the made-up kernel begin, this far apart.
const KERNEL: u64 = 0xffff_ffff_8100_0000;
const APART: u64 = 0x1000;
/// A program's code.
const USER: u64 = 0x5555_0000_0000;
const NAMES: [&str; 22] = [
    "entry_SYSCALL_64",
    "do_syscall_64",
    "vfs_read",
    "free_bulk",
    "_raw_spin_lock_irqsave",
    "_raw_spin_unlock_irqrestore",
    "asm_sysvec_apic_timer_interrupt",
    "hrtimer_interrupt",
    "try_to_wake_up",
    "tick_sched_timer",
    "__do_softirq",
    "net_rx_action",
    "__schedule",
    "__switch_to_asm",
    "finish_task_switch.isra.0",
    "do_nanosleep",
    "do_idle",
    "default_idle",
    "asm_exc_page_fault",
    "exc_page_fault",
    "native_queued_spin_lock_slowpath",
    "ret_from_fork",
];

/// What an arm64 kernel has beside these.
const ARM64_NAMES: [&str; 10] = [
    "vectors",
    "el1h_64_irq",
    "el1h_64_sync",
    "el0t_64_sync",
    "el0_svc",
    "el1_abort",
    "ret_to_user",
    "__switch_to",
    "cpu_switch_to",
    "cpu_do_idle",
];

pub(crate) const NOP: &[u8] = &[0x90];
pub(crate) const CALL: &[u8] = &[0xe8, 0, 0, 0, 0];
pub(crate) const RET: &[u8] = &[0xc3];
pub(crate) const CLI: &[u8] = &[0xfa];
pub(crate) const STI: &[u8] = &[0xfb];
pub(crate) const HLT: &[u8] = &[0xf4];
pub(crate) const IRET: &[u8] = &[0x48, 0xcf];
pub(crate) const SYSCALL: &[u8] = &[0x0f, 0x05];
pub(crate) const SYSRET: &[u8] = &[0x48, 0x0f, 0x07];
pub(crate) const RDTSC: &[u8] = &[0x0f, 0x31];
pub(crate) const JMP: &[u8] = &[0xeb, 0xfe];

/// The same of arm64.
pub(crate) mod arm64 {
    pub(crate) const NOP: &[u8] = &0xd503_201f_u32.to_le_bytes();
    pub(crate) const BL: &[u8] = &0x9400_0000_u32.to_le_bytes();
    pub(crate) const B: &[u8] = &0x1400_0000_u32.to_le_bytes();
    pub(crate) const RET: &[u8] = &0xd65f_03c0_u32.to_le_bytes();
    pub(crate) const SVC: &[u8] = &0xd400_0001_u32.to_le_bytes();
    pub(crate) const BRK: &[u8] = &0xd421_0000_u32.to_le_bytes();
    pub(crate) const ERET: &[u8] = &0xd69f_03e0_u32.to_le_bytes();
    pub(crate) const WFI: &[u8] = &0xd503_207f_u32.to_le_bytes();
    pub(crate) const DAIFSET: &[u8] = &0xd503_43df_u32.to_le_bytes();
    pub(crate) const DAIFCLR: &[u8] = &0xd503_43ff_u32.to_le_bytes();
    pub(crate) const MRS_DAIF: &[u8] = &0xd53b_4220_u32.to_le_bytes();
    pub(crate) const MSR_DAIF: &[u8] = &0xd51b_4220_u32.to_le_bytes();
    pub(crate) const MSR_DAIF_XZR: &[u8] = &0xd51b_423f_u32.to_le_bytes();
    pub(crate) const MRS_CNTVCT: &[u8] = &0xd53b_e040_u32.to_le_bytes();
}

/// The made-up kernel's symbols.
pub fn symbols() -> Symbols {
    listed(&NAMES)
}

/// Those of the one for arm64.
pub(crate) fn arm64_symbols() -> Symbols {
    listed(&[&NAMES[..], &ARM64_NAMES].concat())
}

fn listed(names: &[&str]) -> Symbols {
    let line =
        |(place, name): (usize, &&str)| format!("{:x} t {name}\n", KERNEL + place as u64 * APART);
    Symbols::parse(&names.iter().enumerate().map(line).collect::<String>()).unwrap()
}

/// A window in the making.
pub struct Scene {
    processor: Processor,
    bytes: Vec<u8>,
    blocks: u32,
    entries: Vec<(u32, u64)>,
    tasks: Vec<TaskSwitch>,
    count: u64,
    /// Which CPU runs.
    pub cpu: usize,
    /// Whether instructions are counted that were begun.
    pub counts_begun: bool,
}

impl Default for Scene {
    fn default() -> Self {
        Scene::of(Processor::X86_64)
    }
}

impl Scene {
    /// One on such a processor.
    pub fn of(processor: Processor) -> Self {
        Scene {
            processor,
            bytes: Vec::new(),
            blocks: 0,
            entries: Vec::new(),
            tasks: Vec::new(),
            count: 0,
            cpu: 0,
            counts_begun: true,
        }
    }

    /// Where a function, or with an offset some code in it, lies; a program's for an unknown name.
    pub fn address(function: &str, offset: u64) -> u64 {
        NAMES
            .iter()
            .chain(&ARM64_NAMES)
            .position(|name| *name == function)
            .map_or(USER, |place| KERNEL + place as u64 * APART)
            + offset
    }

    /// So many instructions of a function from an offset on, the last of which is this one. Returns
    /// where the block ends.
    pub fn run(&mut self, function: &str, offset: u64, instructions: usize, last: &[u8]) -> u64 {
        self.cut(function, offset, instructions, last, instructions)
    }

    /// The same, but only so many of them are counted.
    pub fn cut(
        &mut self,
        function: &str,
        offset: u64,
        instructions: usize,
        last: &[u8],
        counted: usize,
    ) -> u64 {
        let address = Self::address(function, offset);
        let mut code = Vec::new();
        for index in 0..instructions {
            let insn = match self.processor {
                _ if index + 1 == instructions => last,
                Processor::X86_64 => NOP,
                Processor::Aarch64 => arm64::NOP,
            };
            code.push(u8::try_from(insn.len()).unwrap());
            code.extend_from_slice(insn);
        }
        self.section(3, &[&address.to_le_bytes()[..], &code].concat());
        self.blocks += 1;
        let cpu = u32::try_from(self.cpu).unwrap() << 28;
        self.entries.push((self.blocks | cpu, self.count));
        self.count += counted as u64;
        address + (code.len() - instructions) as u64
    }

    /// This task runs from now on.
    pub fn task(&mut self, address: u64, name: &str) {
        self.tasks.push(TaskSwitch {
            before: self.count,
            cpu: self.cpu,
            address,
            name: name.to_owned(),
        });
    }

    fn section(&mut self, kind: u32, content: &[u8]) {
        self.bytes.extend(kind.to_le_bytes());
        self.bytes.extend(u32::try_from(content.len()).unwrap().to_le_bytes());
        self.bytes.extend_from_slice(content);
    }

    /// As the plugin would have written it.
    pub fn bytes(mut self) -> Vec<u8> {
        for task in std::mem::take(&mut self.tasks) {
            let mut name = task.name.into_bytes();
            name.resize(16, 0);
            self.section(
                2,
                &[
                    &task.before.to_le_bytes()[..],
                    &(task.cpu as u64).to_le_bytes(),
                    &task.address.to_le_bytes(),
                    &name,
                ]
                .concat(),
            );
        }
        let begin = self.entries.first().map_or(self.count, |(_, before)| *before);
        let mut content = [0_u64, begin, self.count].map(u64::to_le_bytes).concat();
        let mut previous = begin;
        for (block, before) in std::mem::take(&mut self.entries) {
            content.extend(block.to_le_bytes());
            content.extend(u32::try_from(before - previous).unwrap().to_le_bytes());
            previous = before;
        }
        self.section(4, &content);
        self.section(5, &[]);
        [b"TEIJIBB4", &u32::from(self.counts_begun).to_le_bytes()[..], &self.bytes].concat()
    }

    /// Read back: what was executed, and the window.
    pub fn dump(self) -> Dump {
        let processor = self.processor;
        Dump::parse(&self.bytes(), processor).unwrap()
    }
}

#[test]
fn a_window_is_read_as_it_was_written() {
    let mut scene = Scene::default();
    scene.task(7, "hackbench");
    scene.run("vfs_read", 0, 3, CALL);
    scene.cut("free_bulk", 0, 5, RET, 2);
    let dump = scene.dump();
    let [Window { entries, end, tasks, .. }] = dump.windows.as_slice() else { panic!("{dump:?}") };
    assert_eq!(
        (entries.as_slice(), *end),
        (&[Entry { block: 0, before: 0, cpu: 0 }, Entry { block: 1, before: 3, cpu: 0 }][..], 5)
    );
    assert_eq!(
        (tasks[0].name.as_str(), dump.blocks[0].len(), dump.blocks[1].len()),
        ("hackbench", 3, 5)
    );
}

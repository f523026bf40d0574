// SPDX-License-Identifier: MIT OR Apache-2.0
//! What QEMU's plugin writes: wake-ups, executed blocks, their code, and the tasks that ran. The
//! other side of `crates/lab/plugin/sys.rs`.
//!
//! After the mark comes whether instructions are counted that were begun, 1, or that were done, 0.
//! Then come sections: kind, length of what follows, content; all numbers little-endian. A file
//! without its last section was cut off.

use crate::effect::Effect;
use crate::processor::Processor;

/// Marks the file and its form.
const MAGIC: &[u8] = b"TEIJIBB4";
const WAKE: u32 = 1;
const TASK: u32 = 2;
const BLOCK: u32 = 3;
const WINDOW: u32 = 4;
const END: u32 = 5;

/// From this bit on, the number of a block in a window is the CPU that executed it.
const CPU_BIT: u32 = 28;
/// The most CPUs that a guest has.
const MAX_CPUS: usize = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DumpError {
    /// Something else, or nothing.
    #[error("QEMU's plugin wrote nothing that can be read")]
    NotADump,
    #[error("what QEMU's plugin wrote is cut off: QEMU did not end by itself, or the disk is full")]
    CutOff,
    /// A section that contradicts itself.
    #[error("what QEMU's plugin wrote is damaged at byte {0}")]
    Damaged(usize),
}

/// User code that read the clock after a system call had returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wake {
    /// Instructions counted up to the reading, itself included.
    pub count: u64,
    /// Where the system call returned to.
    pub returned: u64,
    /// Instructions counted before that.
    pub returned_at: u64,
    /// The instruction that read the clock.
    pub reader: u64,
    /// The CPU that executed it.
    pub cpu: usize,
    /// How long all CPUs had halted until then, virtual ns: from when is not known.
    pub halted_ns: u64,
}

/// A task that runs from some moment on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskSwitch {
    /// Instructions counted before.
    pub before: u64,
    /// The CPU that it runs on.
    pub cpu: usize,
    /// Where the kernel keeps the task.
    pub address: u64,
    /// Its name, empty where it is not known.
    pub name: String,
}

/// A block of instructions as QEMU translated it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    pub address: u64,
    /// Where each instruction begins, and at last where the block ends.
    pub bounds: Vec<u64>,
    /// The instructions that change what runs: their index, and what they do.
    pub effects: Vec<(usize, Effect)>,
}

impl Block {
    /// Instructions in it.
    pub fn len(&self) -> u64 {
        self.bounds.len() as u64 - 1
    }

    pub fn is_empty(&self) -> bool {
        self.bounds.len() < 2
    }

    /// What its last instruction does.
    pub fn last(&self) -> Effect {
        let last = self.bounds.len() - 2;
        self.effects
            .last()
            .filter(|(index, _)| *index == last)
            .map_or(Effect::None, |(_, effect)| *effect)
    }

    /// Whether the kernel's code is in it: the upper half of the addresses.
    pub const fn is_kernel(&self) -> bool {
        self.address >> 63 == 1
    }

    fn new(address: u64, mut code: &[u8], processor: Processor) -> Option<Self> {
        let mut bounds = vec![address];
        let mut effects = Vec::new();
        while let Some((&length, rest)) = code.split_first() {
            let (bytes, after) = rest.split_at_checked(length.into())?;
            match processor.effect(bytes) {
                Effect::None => {}
                effect => effects.push((bounds.len() - 1, effect)),
            }
            bounds.push(bounds[bounds.len() - 1].checked_add(length.into())?);
            code = after;
        }
        (bounds.len() > 1).then_some(Block { address, bounds, effects })
    }
}

/// A block that began to execute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Which: an index into [`Dump::blocks`].
    pub block: u32,
    /// Instructions counted before.
    pub before: u64,
    /// The CPU that executed it.
    pub cpu: usize,
}

/// What was executed up to some moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// Which of those that were asked for.
    pub index: u64,
    /// Blocks in their order.
    pub entries: Vec<Entry>,
    /// Instructions counted when it ended.
    pub end: u64,
    /// Tasks that began to run in it, and the one before, ascending.
    pub tasks: Vec<TaskSwitch>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dump {
    /// Whether instructions are counted that were begun, of which not all were done.
    pub counts_begun: bool,
    /// Wake-ups, ascending.
    pub wakes: Vec<Wake>,
    /// Windows as they were asked for.
    pub windows: Vec<Window>,
    /// Blocks that windows hold.
    pub blocks: Vec<Block>,
}

impl Dump {
    /// Reads what the plugin wrote in a guest with such a processor.
    ///
    /// # Errors
    /// When it is something else, cut off or damaged.
    pub fn parse(bytes: &[u8], processor: Processor) -> Result<Self, DumpError> {
        let mut rest = Bytes(bytes.strip_prefix(MAGIC).ok_or(DumpError::NotADump)?);
        let counts_begun = match rest.u32().ok_or(DumpError::CutOff)? {
            0 => false,
            1 => true,
            _ => return Err(DumpError::Damaged(MAGIC.len())),
        };
        let mut dump = Dump { counts_begun, ..Dump::default() };
        let mut tasks = Vec::new();
        loop {
            let at = bytes.len() - rest.0.len();
            let kind = rest.u32().ok_or(DumpError::CutOff)?;
            let length = rest.u32().ok_or(DumpError::CutOff)? as usize;
            let (content, after) = rest.0.split_at_checked(length).ok_or(DumpError::CutOff)?;
            rest = Bytes(after);
            if kind == END {
                return if length == 0 && after.is_empty() {
                    Ok(dump)
                } else {
                    Err(DumpError::Damaged(at))
                };
            }
            dump.section(kind, Bytes(content), &mut tasks, processor)
                .ok_or(DumpError::Damaged(at))?;
        }
    }

    fn section(
        &mut self,
        kind: u32,
        mut content: Bytes<'_>,
        tasks: &mut Vec<TaskSwitch>,
        processor: Processor,
    ) -> Option<()> {
        match kind {
            WAKE => {
                let [count, returned, returned_at, reader] =
                    [content.u64()?, content.u64()?, content.u64()?, content.u64()?];
                let (cpu, halted_ns) = (content.cpu()?, content.u64()?);
                self.wakes.push(Wake { count, returned, returned_at, reader, cpu, halted_ns });
                content.end()?;
            }
            TASK => {
                let (before, cpu, address) = (content.u64()?, content.cpu()?, content.u64()?);
                let name = content.0.split(|byte| *byte == 0).next().unwrap_or_default();
                tasks.push(TaskSwitch {
                    before,
                    cpu,
                    address,
                    name: String::from_utf8_lossy(name).into_owned(),
                });
            }
            BLOCK => {
                let address = content.u64()?;
                self.blocks.push(Block::new(address, content.0, processor)?);
            }
            WINDOW => {
                let (index, begin, end) = (content.u64()?, content.u64()?, content.u64()?);
                let mut window = Window {
                    index,
                    entries: Vec::with_capacity(content.0.len() / 8),
                    end,
                    tasks: Vec::new(),
                };
                let mut before = begin;
                while !content.0.is_empty() {
                    let (number, after_previous) = (content.u32()?, content.u32()?);
                    before = before.checked_add(after_previous.into())?;
                    let (number, cpu) =
                        (number & ((1 << CPU_BIT) - 1), (number >> CPU_BIT) as usize);
                    let block = number
                        .checked_sub(1)
                        .filter(|block| (*block as usize) < self.blocks.len() && cpu < MAX_CPUS)?;
                    window.entries.push(Entry { block, before, cpu });
                }
                window.tasks = std::mem::take(tasks);
                let is_ascending = window.tasks.is_sorted_by_key(|task| task.before);
                (end >= before && is_ascending).then(|| self.windows.push(window))?;
            }
            _ => return None,
        }
        Some(())
    }
}

struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn u32(&mut self) -> Option<u32> {
        let (number, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u32::from_le_bytes(*number))
    }

    fn u64(&mut self) -> Option<u64> {
        let (number, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*number))
    }

    fn cpu(&mut self) -> Option<usize> {
        usize::try_from(self.u64()?).ok().filter(|cpu| *cpu < MAX_CPUS)
    }

    fn end(&self) -> Option<()> {
        self.0.is_empty().then_some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene_tests::{NOP, Scene};
    use proptest::prelude::*;

    #[test]
    fn a_file_that_is_cut_off_is_refused() {
        let mut scene = Scene::default();
        scene.task(1, "some");
        scene.run("vfs_read", 0, 3, NOP);
        let bytes = scene.bytes();
        assert!(Dump::parse(&bytes, Processor::X86_64).is_ok());
        for length in 0..bytes.len() {
            let expected =
                if length < MAGIC.len() { DumpError::NotADump } else { DumpError::CutOff };
            assert_eq!(Dump::parse(&bytes[..length], Processor::X86_64), Err(expected), "{length}");
        }
        assert!(matches!(
            Dump::parse(&[bytes.as_slice(), &[0]].concat(), Processor::X86_64),
            Err(DumpError::Damaged(_))
        ));
    }

    /// Otherwise fuzzing would begin with nothing that is read.
    #[test]
    fn the_fuzzers_window_has_this_form() {
        let dump =
            Dump::parse(include_bytes!("../../../fuzz/corpus/explain/window"), Processor::X86_64)
                .unwrap();
        assert!(dump.windows.iter().any(|window| window.entries.len() > 10));
    }

    proptest! {
        #[test]
        fn whatever_is_in_a_file_is_read_or_refused(
            rest in proptest::collection::vec(any::<u8>(), 0..200),
        ) {
            let bytes = [MAGIC, &1_u32.to_le_bytes(), &rest].concat();
            let _ = Dump::parse(&bytes, Processor::X86_64);
            let _ = Dump::parse(&bytes, Processor::Aarch64);
        }
    }
}

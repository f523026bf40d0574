// SPDX-License-Identifier: MIT OR Apache-2.0
//! The windows, as they are written. Sections begin with their kind and their length.

use super::{BLOCK, CPU_BIT, Executed, State, WINDOW};

impl State {
    pub fn section(&mut self, kind: u32, length: usize) {
        self.output.put_u32(kind);
        // No window holds so many blocks.
        self.output.put_u32(u32::try_from(length).unwrap_or(u32::MAX));
    }

    /// What was executed up to now.
    #[cold]
    pub fn write_window(&mut self, now: u64) {
        let blocks = self.window().map_or(0, |window| window.blocks);
        let kept =
            self.pushed.min(self.ring.len()).min(usize::try_from(blocks).unwrap_or(usize::MAX));
        let first = self.pushed - kept;
        let begin = if kept == 0 { now } else { self.entry(first).before };
        for index in first..self.pushed {
            if let Some(block) = self.entry(index).block.filter(|block| block.number.get() == 0) {
                self.blocks += 1;
                block.number.set(self.blocks);
                self.section(BLOCK, 8 + block.code.len());
                self.output.put_u64(if block.is_early {
                    self.early.address(block.address)
                } else {
                    block.address
                });
                self.output.put(block.code);
            }
        }
        self.write_tasks(begin);
        self.section(WINDOW, 24 + kept * 8);
        self.output.put_u64(u64::try_from(self.next_window).unwrap_or(u64::MAX));
        self.output.put_u64(begin);
        self.output.put_u64(now);
        let mut previous = begin;
        for index in first..self.pushed {
            let Executed { block, before, cpu } = self.entry(index);
            let cpu = u32::try_from(cpu).unwrap_or(0) << CPU_BIT;
            self.output.put_u32(block.map_or(0, |block| block.number.get()) | cpu);
            // Between two blocks are the instructions of one.
            self.output.put_u32(u32::try_from(before - previous).unwrap_or(u32::MAX));
            previous = before;
        }
        self.next_window += 1;
        self.next_end = self.window().map_or(u64::MAX, |window| window.end);
    }

    /// One of the last that were pushed.
    fn entry(&self, index: usize) -> Executed {
        self.ring.get(index & (self.ring.len() - 1)).copied().unwrap_or(Executed {
            block: None,
            before: 0,
            cpu: 0,
        })
    }
}

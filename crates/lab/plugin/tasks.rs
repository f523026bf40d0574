// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which task runs, read from the kernel's memory.

use super::processor::Processor;
use super::{COMM, CPUS, State, TASK, TASK_BYTES, TASKS, Task};

impl State {
    fn read_u64(&self, address: u64) -> Option<u64> {
        let mut bytes = [0; 8];
        self.qemu.read(address, &mut bytes).then(|| u64::from_le_bytes(bytes))
    }

    /// The task that the kernel's pointer leads to.
    fn current(&self, cpu: usize) -> Option<u64> {
        let offset = if self.kernel.per_cpu == 0 {
            0
        } else {
            self.read_u64(self.kernel.per_cpu + 8 * cpu as u64)?
        };
        self.read_u64(self.kernel.current.wrapping_add(offset))
    }

    /// The task that is switched to: the pointer is in a register, and so it is the second argument
    /// of the function that switches. The first is the task before, and of all switches of a
    /// guest the first is from the first task.
    fn next(&mut self) -> Option<u64> {
        if self.n_tasks == 0 {
            self.kernel.init = self.qemu.register(0)?;
        }
        self.qemu.register(1)
    }

    /// Remembers the task that runs on this CPU from now on.
    pub fn switched(&mut self, before: u64, cpu: usize) -> Option<()> {
        let address = match self.processor {
            Processor::X86_64 => self.current(cpu)?,
            Processor::Aarch64 => self.next()?,
        };
        let mut task = Task { before, cpu, address, comm: [0; COMM] };
        if let Some(comm) = self.name_offset() {
            self.qemu.read(address.wrapping_add(comm), &mut task.comm);
        }
        *self.tasks.get_mut(self.n_tasks % TASKS)? = task;
        self.n_tasks += 1;
        Some(())
    }

    /// Where the name lies within a task: that of the first one is known.
    fn name_offset(&mut self) -> Option<u64> {
        if self.kernel.comm.is_none() && self.kernel.init != 0 {
            let mut part = [0; 256];
            let swapper =
                |name: &[u8]| name.starts_with(b"swapper\0") || name.starts_with(b"swapper/0\0");
            let mut start = 0;
            while start < TASK_BYTES && self.qemu.read(self.kernel.init + start, &mut part) {
                if let Some(at) = part.windows(COMM).position(swapper) {
                    self.kernel.comm = Some(start + u64::try_from(at).ok()?);
                    break;
                }
                // They overlap by a name.
                start += 240;
            }
            self.kernel.init = 0;
        }
        self.kernel.comm
    }

    /// The switches since then, and the one before on each CPU.
    pub fn write_tasks(&mut self, begin: u64) {
        let task = |tasks: &[Task], index: usize| tasks.get(index % TASKS).copied();
        let mut missing = [true; CPUS];
        let mut since = self.n_tasks;
        while since > self.n_tasks.saturating_sub(TASKS)
            && missing.iter().take(self.cpus).any(|missing| *missing)
        {
            since -= 1;
            if let Some(Task { before, cpu, .. }) = task(self.tasks, since)
                && before < begin
                && let Some(missing) = missing.get_mut(cpu)
            {
                *missing = false;
            }
        }
        for index in since..self.n_tasks {
            if let Some(Task { before, cpu, address, comm }) = task(self.tasks, index) {
                self.section(TASK, 24 + COMM);
                self.output.put_u64(before);
                self.output.put_u64(cpu as u64);
                self.output.put_u64(address);
                self.output.put(&comm);
            }
        }
    }
}

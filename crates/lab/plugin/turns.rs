// SPDX-License-Identifier: MIT OR Apache-2.0
//! Even turns of a guest's CPUs: whose is over, by the instructions that each has executed. Nothing
//! of QEMU's, so that it can be tested without it.
//!
//! QEMU runs one CPU after the other, always in the same order, and begins again with the first: a
//! cycle. How long it lets each run differs: a CPU may execute nothing in its turn, if a timer
//! falls due before. So what counts is the sum. A turn is over once the CPU has executed as many
//! instructions as all are to have, and that goal goes up once the last one has reached it: to
//! where the first one is, or beyond. What a CPU has executed beyond the goal, or lacks, counts in
//! its next turn. A CPU that is ahead executes one block in a turn.

use super::CPUS;

/// Instructions by which the goal goes up. A wake-up may wait for the turns of the others, which is
/// what this keeps short.
const QUANTUM: u64 = 25;
/// Cycles without an instruction after which a CPU does not execute, and the others do not wait for
/// it. Where timers fall due, a CPU has lost a turn or two.
const MAX_ABSENT: u32 = 100;

/// The turns of so many CPUs.
pub struct Turns {
    cpus: usize,
    /// Instructions of each since the turns began.
    executed: [u64; CPUS],
    /// For how many cycles each has executed nothing.
    absent: [u32; CPUS],
    goal: u64,
    last: usize,
    /// Whether that turn is over.
    is_over: bool,
}

impl Turns {
    pub const fn new(cpus: usize) -> Self {
        Turns {
            cpus,
            executed: [0; CPUS],
            absent: [0; CPUS],
            goal: QUANTUM,
            last: 0,
            is_over: false,
        }
    }

    /// This CPU begins to execute so many instructions. Returns whether its turn is over after
    /// them.
    pub fn execute(&mut self, cpu: usize, instructions: u64) -> bool {
        if cpu < self.last || cpu == self.last && self.is_over {
            self.begin_cycle();
        }
        self.last = cpu;
        let (Some(executed), Some(absent)) = (self.executed.get_mut(cpu), self.absent.get_mut(cpu))
        else {
            return false;
        };
        *absent = 0;
        *executed += instructions;
        self.is_over = *executed >= self.goal;
        self.is_over
    }

    fn begin_cycle(&mut self) {
        let most = self.executed.iter().copied().max().unwrap_or(0);
        let mut least = most;
        for (executed, absent) in self.executed.iter_mut().zip(&mut self.absent).take(self.cpus) {
            *absent += 1;
            if *absent > MAX_ABSENT {
                *executed = most;
            }
            least = least.min(*executed);
        }
        if least >= self.goal {
            // What is ahead goes further with each block, however long that is.
            self.goal = most.max(least + QUANTUM);
        }
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether interrupts are on, and the steps that a run is divided into where they are switched.

use super::{Frame, Step, Switched, Walk, Way};
use crate::code::FrameId;
use crate::effect::Effect;
use crate::kernel::{Entrance, Role};
use crate::runs::Run;

pub(super) struct Guess {
    step: usize,
    switched: Switched,
}

impl Walk<'_> {
    /// A return from an interrupt, an exception or a system call switches them on.
    pub(super) fn returned_with_interrupts(&mut self, previous: &Run) {
        let block = &self.dump.blocks[previous.block];
        if matches!(block.last(), Effect::InterruptReturn | Effect::SystemReturn) {
            let at = (previous.begin + previous.done).saturating_sub(1);
            self.calls.switched.push(Switched {
                at,
                on: true,
                address: block.bounds[block.bounds.len() - 2],
            });
            self.flags.switched_on();
        }
    }

    /// What was done, divided where interrupts are switched.
    pub(super) fn steps(&mut self, run: &Run) {
        let block = &self.dump.blocks[run.block];
        let halts = run.done == block.len() && block.last() == Effect::Halt;
        let mut from = 0;
        if std::mem::take(&mut self.on_next) && self.interrupts == Some(false) && run.done > 0 {
            self.step(run.begin, 1, halts && run.done == 1);
            self.interrupts = Some(true);
            from = 1;
        }
        for (index, effect) in &block.effects {
            let index = *index as u64;
            if index >= run.done {
                break;
            }
            let interrupts = match effect {
                Effect::InterruptsOff | Effect::AllOff => Some(false),
                Effect::InterruptsOn | Effect::InterruptsOnAfterNext => Some(true),
                Effect::FlagsRestored => self.restored(),
                effect => {
                    self.passed(*effect);
                    continue;
                }
            };
            self.step(run.begin + from, index + 1 - from.min(index + 1), false);
            from = index + 1;
            // QEMU's blocks end with it.
            self.on_next =
                *effect == Effect::InterruptsOnAfterNext && self.interrupts == Some(false);
            let address = block.bounds[usize::try_from(index).unwrap_or(0)];
            self.switch(
                *effect,
                interrupts,
                Switched { at: run.begin + index, on: interrupts == Some(true), address },
            );
            if !self.on_next {
                self.interrupts = interrupts;
            }
        }
        self.step(run.begin + from, run.done.saturating_sub(from), halts);
    }

    /// An instruction that leaves interrupts as they are.
    fn passed(&mut self, effect: Effect) {
        match effect {
            Effect::FlagsSaved => self.flags.save(self.owner(), self.interrupts),
            Effect::Jump => {}
            _ => self.flags.done(),
        }
    }

    /// Interrupts are switched by an instruction.
    fn switch(&mut self, effect: Effect, interrupts: Option<bool>, switched: Switched) {
        // With x86 they are switched off without a look at whether they are.
        let shows =
            effect == Effect::InterruptsOff && self.flags.switched_off(self.kernel.has_vectors());
        if shows {
            self.were_on();
        }
        if effect == Effect::AllOff {
            self.flags.all_off();
        }
        if interrupts == Some(true) {
            self.flags.switched_on();
        }
        self.guess = None;
        if effect == Effect::FlagsRestored {
            self.guess = Some(Guess {
                step: self.calls.steps.len(),
                switched: Switched { on: true, ..switched },
            });
        }
        // Off already is not switched off, whether by an inner lock or by flags that are restored.
        let is_switched = shows || self.interrupts != Some(false) || switched.on;
        if interrupts.is_some() && is_switched && (effect != Effect::FlagsRestored || switched.on) {
            self.calls.switched.push(switched);
        }
    }

    /// Interrupts are on, as what follows shows: since flags were restored, if they were.
    pub(super) fn were_on(&mut self) {
        if let Some(guess) = self.guess.take()
            && self.interrupts != Some(true)
        {
            self.calls
                .steps
                .iter_mut()
                .skip(guess.step)
                .for_each(|step| step.interrupts = Some(true));
            self.calls.switched.push(guess.switched);
            self.interrupts = Some(true);
            self.flags.switched_on();
        }
    }

    /// Whose flags the current function saves and restores.
    fn owner(&self) -> FrameId {
        self.calls
            .chain(self.current)
            .find(|(_, frame)| self.kernel.role(frame.code) != Some(Role::Helper))
            .map_or(self.current, |(id, _)| id)
    }

    /// Whether interrupts are on once flags are restored.
    fn restored(&mut self) -> Option<bool> {
        let chain: Vec<FrameId> = self.calls.chain(self.current).map(|(id, _)| id).collect();
        let owner = self.owner();
        if let Some(on) = self.flags.restore(owner, |frame| chain.contains(&frame)) {
            return on;
        }
        // Who was interrupted may have saved them, and whoever handles it takes them over.
        let entered = chain.iter().find_map(|id| match self.calls.frame(*id) {
            Frame { way: Way::Entrance(entrance), interrupts, .. } => {
                Some((*entrance, *interrupts))
            }
            _ => None,
        });
        match entered? {
            (Entrance::Interrupt, _) => Some(false),
            (_, before) => before,
        }
    }

    fn step(&mut self, begin: u64, done: u64, halts: bool) {
        let step = Step {
            begin,
            end: begin + done,
            frame: self.current,
            interrupts: self.interrupts,
            task: self.task,
            halts,
        };
        let is_apart =
            self.guess.as_ref().is_some_and(|guess| guess.step == self.calls.steps.len());
        match self.calls.steps.last_mut().filter(|_| !is_apart) {
            Some(last)
                if !last.halts
                    && (last.frame, last.interrupts, last.task)
                        == (step.frame, step.interrupts, step.task) =>
            {
                last.end = step.end;
                last.halts = halts;
            }
            _ if done == 0 => {}
            _ => self.calls.steps.push(step),
        }
    }
}

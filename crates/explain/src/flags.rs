// SPDX-License-Identifier: MIT OR Apache-2.0
//! What restored flags say of interrupts, where they come from a register (arm64) or from the stack
//! (x86 before Linux 5.12), whose value is not known.
//!
//! Functions that save and restore do so in the order of a stack, and the one that takes a lock
//! leaves the flags to its caller. A save that switches interrupts off does it because they were
//! on: Linux looks first.

use crate::code::FrameId;

/// Flags that somebody saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Saved {
    /// Whose they are: the innermost function that is not there for locks only.
    owner: FrameId,
    /// Whether interrupts were on, as far as is known.
    on: Option<bool>,
    /// Whether interrupts were on at any time since.
    is_old: bool,
}

/// The flags that are saved and not restored yet.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flags {
    saved: Vec<Saved>,
    /// Whether the last that happened was a save.
    is_fresh: bool,
}

/// More are not kept: whoever only looks at the flags restores none.
const MOST: usize = 256;

impl Flags {
    pub(crate) fn save(&mut self, owner: FrameId, on: Option<bool>) {
        self.done();
        if self.saved.len() == MOST {
            self.saved.remove(0);
        }
        self.saved.push(Saved { owner, on, is_old: false });
        self.is_fresh = true;
    }

    /// Interrupts are switched off, by a kernel that looks first or by one that does not. Returns
    /// whether that shows that they were on.
    pub(crate) fn switched_off(&mut self, looks: bool) -> bool {
        let shows = std::mem::take(&mut self.is_fresh) && looks;
        if let Some(last) = self.saved.last_mut().filter(|_| shows) {
            last.on = Some(true);
        }
        shows
    }

    /// Everything is switched off, as the way in and out of the kernel does it without looking.
    pub(crate) fn all_off(&mut self) {
        self.is_fresh = false;
    }

    /// Interrupts are on. Flags saved while they were off are nobody's but their owner's.
    pub(crate) fn switched_on(&mut self) {
        self.done();
        self.saved.iter_mut().for_each(|saved| saved.is_old = true);
    }

    /// Something else was done since the save. With interrupts on, one that does not switch them
    /// off only looks.
    pub(crate) fn done(&mut self) {
        if std::mem::take(&mut self.is_fresh)
            && self.saved.last().is_some_and(|last| last.on == Some(true))
        {
            self.saved.pop();
        }
    }

    /// This function restores flags: its own, or those of one that has ended. Returns whether
    /// interrupts are on, if flags that were saved are known at all.
    pub(crate) fn restore(
        &mut self,
        owner: FrameId,
        runs: impl Fn(FrameId) -> bool,
    ) -> Option<Option<bool>> {
        self.done();
        let own = self.saved.iter().rposition(|saved| saved.owner == owner);
        let left = || self.saved.iter().rposition(|saved| !saved.is_old && !runs(saved.owner));
        let found = own.or_else(left)?;
        Some(self.saved.remove(found).on)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_saved_last_is_restored_first() {
        let (mut flags, outer, inner) = (Flags::default(), FrameId(1), FrameId(2));
        flags.save(outer, None);
        assert!(flags.switched_off(true));
        flags.save(inner, Some(false));
        flags.done();
        assert_eq!(flags.restore(inner, |_| true), Some(Some(false)));
        assert_eq!(flags.restore(outer, |_| true), Some(Some(true)));
        assert_eq!(flags.restore(outer, |_| true), None);
    }

    #[test]
    fn all_is_switched_off_without_looking() {
        let (mut flags, owner) = (Flags::default(), FrameId(1));
        flags.save(owner, Some(false));
        flags.all_off();
        assert_eq!(flags.restore(owner, |_| true), Some(Some(false)));
    }

    #[test]
    fn who_only_looks_saves_nothing() {
        let (mut flags, owner) = (Flags::default(), FrameId(1));
        flags.save(owner, Some(true));
        flags.done();
        assert!(!flags.switched_off(true));
        assert_eq!(flags.restore(owner, |_| true), None);
    }

    #[test]
    fn flags_of_a_function_that_has_ended_are_the_last_ones() {
        let (mut flags, locker, caller) = (Flags::default(), FrameId(1), FrameId(2));
        flags.save(locker, Some(true));
        assert!(flags.switched_off(true));
        assert_eq!(flags.restore(caller, |frame| frame == locker), None);
        assert_eq!(flags.restore(caller, |_| false), Some(Some(true)));
        flags.save(locker, Some(false));
        flags.switched_on();
        assert_eq!(flags.restore(caller, |_| false), None);
    }
}

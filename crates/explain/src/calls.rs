// SPDX-License-Identifier: MIT OR Apache-2.0
//! Who called whom, and whether interrupts were on: followed from calls, returns and the
//! instructions that switch interrupts.
//!
//! The stacks at the beginning of a window are not known. A function whose caller is not known yet
//! gets it when it returns there, also for the time before. After the processor has gone to another
//! thread, that thread's stack is the one it had when it was left, if the window holds that, and
//! else begins anew.

mod interrupts;

use crate::code::{Code, FrameId};
use crate::dump::{Dump, Window};
use crate::effect::Effect;
use crate::flags::Flags;
use crate::kernel::{Entrance, Kernel, Role};
use crate::runs::{Run, runs};
use interrupts::Guess;
use std::collections::HashMap;

/// How the processor came to a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// It was there when the window began, or its thread was taken up again.
    Before,
    /// By a call, which returns to this address.
    Call(u64),
    /// By an interrupt, an exception or a system call.
    Entrance(Entrance),
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    pub code: Code,
    pub way: Way,
    pub parent: Option<FrameId>,
    /// The function that this one ended with instead of returning, if it did.
    ends_in: Option<FrameId>,
    /// Whether interrupts were on where it was entered, if that is to be restored.
    interrupts: Option<bool>,
    /// What ran before it, if it was not called: where that was to go is gone to once it is left.
    pub interrupted: Option<Run>,
    /// Where it returned to, if that shows who called it.
    pub returned_to: Option<u64>,
}

impl Frame {
    const fn new(code: Code, way: Way, parent: Option<FrameId>) -> Self {
        Frame {
            code,
            way,
            parent,
            ends_in: None,
            interrupts: None,
            interrupted: None,
            returned_to: None,
        }
    }
}

/// Some time in which frame, interrupts and task stayed the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    /// Instructions done before it, by all CPUs.
    pub begin: u64,
    /// The same after its last instruction.
    pub end: u64,
    pub frame: FrameId,
    /// Whether interrupts are on, as far as is known.
    pub interrupts: Option<bool>,
    /// Which task runs: an index into [`Window::tasks`].
    pub task: Option<usize>,
    /// Whether the processor halts at its end.
    pub halts: bool,
}

/// A place in the code at which interrupts were switched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Switched {
    /// Instructions done before.
    pub at: u64,
    pub on: bool,
    pub address: u64,
}

/// All that one CPU did in a window.
#[derive(Clone, Debug, Default)]
pub(crate) struct Calls {
    pub frames: Vec<Frame>,
    pub steps: Vec<Step>,
    pub switched: Vec<Switched>,
    /// Instructions done in all.
    pub end: u64,
    /// Whether another CPU executed some of them.
    pub has_others: bool,
    /// When the processor last went to another thread.
    pub thread_changed: Vec<u64>,
    /// When a thread was made runnable, and by which frame.
    pub woken: Vec<(u64, FrameId)>,
    /// The blocks, in order.
    pub runs: Vec<Run>,
}

impl Calls {
    pub fn follow(dump: &Dump, window: &Window, kernel: &Kernel<'_>, cpu: usize) -> Calls {
        let mut runs = runs(dump, window, kernel);
        let end = runs.last().map_or(0, |last| last.begin + last.done);
        let has_others = runs.iter().any(|run| run.cpu != cpu);
        runs.retain(|run| run.cpu == cpu);
        let mut walk = Walk {
            dump,
            window,
            kernel,
            cpu,
            calls: Calls { end, has_others, ..Calls::default() },
            current: FrameId(0),
            interrupts: None,
            on_next: false,
            flags: Flags::default(),
            guess: None,
            task: None,
            next_task: 0,
            users: HashMap::new(),
            left: HashMap::new(),
        };
        walk.calls.frames.push(Frame::new(Code::Unnamed(0), Way::Before, None));
        for (index, run) in runs.iter().enumerate() {
            walk.run(index.checked_sub(1).map(|before| &runs[before]), run);
        }
        walk.calls.share_parents();
        walk.calls.runs = runs;
        walk.calls
    }

    /// A function that ended with another one has the caller that was learned of that one.
    fn share_parents(&mut self) {
        for index in (0..self.frames.len()).rev() {
            if let (None, Some(last)) = (self.frames[index].parent, self.frames[index].ends_in) {
                (self.frames[index].parent, self.frames[index].returned_to) =
                    (self.frames[last.0].parent, self.frames[last.0].returned_to);
            }
        }
    }

    pub fn frame(&self, id: FrameId) -> &Frame {
        &self.frames[id.0]
    }

    /// A frame, and those that led to it, innermost first.
    pub fn chain(&self, id: FrameId) -> impl Iterator<Item = (FrameId, &Frame)> {
        let mut next = Some(id);
        // No stack is deeper; a ring of frames would be a defect.
        (0..MAX_DEPTH).map_while(move |_| {
            let id = next?;
            let frame = self.frame(id);
            next = frame.parent;
            Some((id, frame))
        })
    }

    /// The innermost frame that all of these are in.
    pub fn common(&self, mut frames: impl Iterator<Item = FrameId>) -> Option<FrameId> {
        let first = frames.next()?;
        let mut shared: Vec<FrameId> = self.chain(first).map(|(id, _)| id).collect();
        shared.reverse();
        let mut previous = first;
        for id in frames {
            if id == previous {
                continue;
            }
            previous = id;
            let mut chain: Vec<FrameId> = self.chain(id).map(|(id, _)| id).collect();
            chain.reverse();
            let same = shared.iter().zip(&chain).take_while(|(one, other)| one == other).count();
            shared.truncate(same);
        }
        shared.pop()
    }
}

const MAX_DEPTH: usize = 512;

struct Walk<'a> {
    dump: &'a Dump,
    window: &'a Window,
    kernel: &'a Kernel<'a>,
    cpu: usize,
    calls: Calls,
    current: FrameId,
    interrupts: Option<bool>,
    /// Whether interrupts are on after the next instruction.
    on_next: bool,
    /// Flags that are to be restored.
    flags: Flags,
    /// Where interrupts became what they are believed to be, if that follows from flags that were
    /// restored.
    guess: Option<Guess>,
    task: Option<usize>,
    /// The first of the window's tasks that does not run yet.
    next_task: usize,
    /// Each task's program.
    users: HashMap<Option<u64>, FrameId>,
    /// Where each task was left.
    left: HashMap<u64, FrameId>,
}

impl Walk<'_> {
    fn run(&mut self, previous: Option<&Run>, run: &Run) {
        let block = &self.dump.blocks[run.block];
        let address = block.address;
        // The tasks of before the window began: more than one where the other CPU kept one for
        // longer.
        if self.next_task == 0 {
            let is_before = |task: &usize| self.window.tasks[*task].before <= run.counted;
            while let Some(before) = self.task_from(self.next_task).filter(is_before) {
                self.task = Some(before);
                self.next_task = before + 1;
            }
        }
        let before = self.interrupts;
        match (run.entrance, previous) {
            (Some(entrance), _) => self.enter(entrance, address, run.begin, previous.copied()),
            (None, None) => self.begin(address),
            (None, Some(previous)) => self.go_on(previous, address),
        }
        if self.role(address) == Some(Role::SwitchesStack) {
            self.change_thread(run);
        }
        if self.role(address) == Some(Role::Wakes) && self.is_begin(address) {
            self.calls.woken.push((run.begin, self.current));
        }
        if !block.is_kernel() {
            self.interrupts = Some(true);
        }
        if let Some(previous) =
            previous.filter(|_| self.interrupts == Some(true) && before != Some(true))
        {
            self.returned_with_interrupts(previous);
        }
        self.steps(run);
    }

    fn code(&self, address: u64) -> Code {
        if address >> 63 == 0 {
            return Code::User;
        }
        self.kernel.symbols().find(address).map_or(Code::Unnamed(address), Code::Function)
    }

    fn role(&self, address: u64) -> Option<Role> {
        self.kernel.role(self.code(address))
    }

    /// Whether a function begins here.
    fn is_begin(&self, address: u64) -> bool {
        matches!(
            self.code(address),
            Code::Function(id) if self.kernel.symbols().begin(id) == address,
        )
    }

    fn push(&mut self, frame: Frame) {
        self.calls.frames.push(frame);
        self.current = FrameId(self.calls.frames.len() - 1);
    }

    fn begin(&mut self, address: u64) {
        let code = self.code(address);
        self.calls.frames[0].code = code;
        if code == Code::User {
            self.users.insert(self.task_address(), self.current);
        }
    }

    /// The next of this CPU's tasks, from this one on.
    fn task_from(&self, index: usize) -> Option<usize> {
        (index..self.window.tasks.len()).find(|task| self.window.tasks[*task].cpu == self.cpu)
    }

    fn task_address(&self) -> Option<u64> {
        self.task.map(|task| self.window.tasks[task].address)
    }

    fn go_to_user(&mut self) {
        let task = self.task_address();
        match self.users.get(&task) {
            Some(frame) => self.current = *frame,
            None => {
                self.push(Frame::new(Code::User, Way::Before, None));
                self.users.insert(task, self.current);
            }
        }
    }

    fn enter(&mut self, entrance: Entrance, address: u64, at: u64, interrupted: Option<Run>) {
        let mut interrupted = interrupted;
        if self.kernel.is_entered_from_user(address)
            && self.calls.frame(self.current).code != Code::User
        {
            // It came as soon as the program was to go on.
            if let Some(previous) = &interrupted {
                self.returned_with_interrupts(previous);
            }
            self.leave_to_user();
            self.interrupts = Some(true);
        } else if !self.kernel.has_vectors()
            && let Some(previous) = interrupted
        {
            interrupted = self.has_returned(previous);
        }
        let interrupts = match entrance {
            // There would have been none.
            Entrance::Interrupt | Entrance::SystemCall => Some(true),
            Entrance::Fault | Entrance::Trap => self.interrupts,
        };
        let code = self.code(address);
        if entrance == Entrance::Interrupt {
            self.were_on();
        }
        if interrupts != Some(false) {
            self.calls.switched.push(Switched { at, on: false, address });
        }
        self.guess = None;
        let (way, parent) = (Way::Entrance(entrance), Some(self.current));
        self.push(Frame { interrupts, interrupted, ..Frame::new(code, way, parent) });
        self.interrupts = Some(false);
    }

    /// An interrupt or a fault may come as soon as an x86 kernel has returned, before anything is
    /// done there. Returns what it interrupted.
    fn has_returned(&mut self, previous: Run) -> Option<Run> {
        let block = &self.dump.blocks[previous.block];
        if previous.done < block.len() {
            return Some(previous);
        }
        let mut interrupted = Some(previous);
        let before = self.interrupts;
        match block.last() {
            Effect::SystemReturn => {
                self.leave_to_user();
                self.interrupts = Some(true);
            }
            Effect::InterruptReturn => {
                let entrance = self
                    .calls
                    .chain(self.current)
                    .find(|(_, frame)| matches!(frame.way, Way::Entrance(_)));
                let Some((parent, frame)) =
                    entrance.and_then(|(_, frame)| Some((frame.parent?, *frame)))
                else {
                    return interrupted;
                };
                (self.current, self.interrupts, interrupted) =
                    (parent, frame.interrupts, frame.interrupted);
            }
            _ => {}
        }
        if self.interrupts == Some(true) && before != Some(true) {
            self.returned_with_interrupts(&previous);
        }
        interrupted
    }

    fn go_on(&mut self, previous: &Run, address: u64) {
        let before = &self.dump.blocks[previous.block];
        if address >> 63 == 0 {
            if self.calls.frame(self.current).code != Code::User {
                self.leave_to_user();
            }
            return;
        }
        if previous.done < before.len() {
            // QEMU began the rest of the block again.
            return;
        }
        match before.last() {
            // A call within a function fills the processor's buffer of returns, or hides a jump
            // from it.
            Effect::Call
                if !self.is_begin(address) && self.code(address) == self.code(before.address) => {}
            Effect::Call => {
                let returns = before.bounds[before.bounds.len() - 1];
                let code = self.code(address);
                self.push(Frame::new(code, Way::Call(returns), Some(self.current)));
            }
            Effect::Return => self.return_to(address),
            Effect::InterruptReturn | Effect::SystemReturn => self.leave_entrance(address),
            _ => self.jump_to(address),
        }
    }

    /// A return from an interrupt, an exception or a system call to a program.
    fn leave_to_user(&mut self) {
        let entered = self.calls.chain(self.current).last().map(|(id, frame)| (id, frame.code));
        self.go_to_user();
        if let Some((outermost, code)) = entered
            && code != Code::User
            && outermost != self.current
        {
            self.calls.frames[outermost.0].parent = Some(self.current);
        }
    }

    fn leave_entrance(&mut self, address: u64) {
        self.guess = None;
        let entrance =
            self.calls.chain(self.current).find(|(_, frame)| matches!(frame.way, Way::Entrance(_)));
        match entrance.map(|(id, frame)| (id, *frame)) {
            Some((_, frame)) if frame.parent.is_some() => {
                self.interrupts = frame.interrupts;
                self.current = frame.parent.unwrap_or(self.current);
                if let Some(interrupted) = frame.interrupted {
                    self.go_on(&interrupted, address);
                }
            }
            found => {
                self.interrupts = found.map_or(Some(true), |(_, frame)| frame.interrupts);
                self.learn_parent(address);
            }
        }
    }

    fn return_to(&mut self, address: u64) {
        let is_call = |frame: &Frame| matches!(frame.way, Way::Call(_));
        let found = self.calls.chain(self.current).take_while(|(_, frame)| is_call(frame));
        let found = found.map(|(_, frame)| *frame).find(|frame| frame.way == Way::Call(address));
        if let Some(parent) = found.and_then(|frame| frame.parent) {
            self.current = parent;
            return;
        }
        match *self.calls.frame(self.current) {
            // A jump that is hidden as a return.
            _ if self.is_begin(address) => self.jump_to(address),
            Frame { way: Way::Call(_), parent: Some(parent), .. } => self.current = parent,
            Frame { way: Way::Before, parent: None, .. } => self.learn_parent(address),
            _ => self.jump_to(address),
        }
    }

    /// Now it shows who called the outermost frame that is known.
    fn learn_parent(&mut self, address: u64) {
        let outermost = self.calls.chain(self.current).last().map_or(self.current, |(id, _)| id);
        let code = self.code(address);
        if code == Code::User {
            self.leave_to_user();
            return;
        }
        self.push(Frame::new(code, Way::Before, None));
        let outermost = &mut self.calls.frames[outermost.0];
        (outermost.parent, outermost.returned_to) = (Some(self.current), Some(address));
    }

    /// To other code, without a return: a function that ends by calling another, or only another
    /// part of the same.
    fn jump_to(&mut self, address: u64) {
        let frame = *self.calls.frame(self.current);
        let code = self.code(address);
        let is_entrance = matches!(frame.way, Way::Entrance(_));
        if is_entrance && self.kernel.is_vectors(frame.code) {
            // The table only leads there.
            self.calls.frames[self.current.0].code = code;
        }
        if code == frame.code
            || is_entrance
            || matches!(self.role(address), Some(Role::ReturnThunk | Role::Entry))
            || !self.is_begin(address)
        {
            return;
        }
        let left = self.current;
        self.push(Frame { code, ..frame });
        self.calls.frames[left.0].ends_in = Some(self.current);
    }

    /// The stack is another thread's from here on.
    fn change_thread(&mut self, run: &Run) {
        if !self.is_begin(self.dump.blocks[run.block].address) {
            return;
        }
        if let Some(task) = self.task_address() {
            self.left.insert(task, self.current);
        }
        let code = self.calls.frame(self.current).code;
        let is_before = |task: &usize| self.window.tasks[*task].before < run.counted;
        while let Some(before) = self.task_from(self.next_task).filter(is_before) {
            self.next_task = before + 1;
        }
        self.task = self.task_from(self.next_task);
        self.next_task = self.task.map_or(self.window.tasks.len(), |task| task + 1);
        self.calls.thread_changed.push(run.begin);
        match self.task_address().and_then(|task| self.left.get(&task)) {
            Some(frame) => self.current = *frame,
            None => self.push(Frame::new(code, Way::Before, None)),
        }
    }
}

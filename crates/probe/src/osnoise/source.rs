// SPDX-License-Identifier: MIT OR Apache-2.0
//! A polling loop, whose gaps are accounted for when it is not polling.

use super::account::{Account, Gap, PARTS};
use super::event::{Event, Layout};
use super::kernel::trace;
use crate::attachment::Attachment;
use crate::outcome::SampleError;
use crate::probes::Noise;
use crate::sampler::{Awaited, EventSource};
use crate::thread::Outlives;
use crate::tracer::Tracer;
use model::{Polling, Warning};
use plan::{CpuId, Nanos};
use std::io;
use std::sync::Arc;
use trace::{Raw, RawReader, TraceError};

/// The gap, its parts, what is unexplained, and the events that were lost.
pub(crate) const COLUMNS: usize = 1 + PARTS + 2;

/// Gaps of one time to poll. If there are more, they are accounted for before it is over.
const GAPS: usize = 1 << 14;

/// The loop and its account.
pub(crate) struct Accounted {
    cpu: CpuId,
    noise: Noise,
    reader: RawReader,
    layout: Layout,
    account: Account,
    /// The gap that is handed over next, while any is.
    next: Option<usize>,
    /// The loop's own thread as the kernel counts.
    thread: i64,
    /// Readings of the loop when the events were last read.
    readings: u64,
    /// Ends after the reader: fields are dropped in this order.
    tracer: Arc<Tracer>,
}

impl Accounted {
    /// Accounts for a loop that will run on this CPU.
    pub(crate) fn on(cpu: CpuId, noise: Noise) -> Result<Self, TraceError> {
        let tracer = trace(cpu)?;
        let reader = tracer.lock().session.raw_reader(cpu)?;
        let layout = Layout::of(&tracer.lock().session)?;
        Ok(Accounted {
            cpu,
            noise,
            reader,
            layout,
            account: Account::new(GAPS),
            next: None,
            thread: 0,
            readings: 0,
            tracer,
        })
    }

    /// The tracer, which ends with the last reference.
    pub(crate) fn tracer(&self) -> Outlives {
        Arc::clone(&self.tracer) as Outlives
    }

    /// Reads what the kernel recorded until now.
    fn settle(&mut self) -> io::Result<()> {
        let Accounted { reader, layout, account, thread, .. } = self;
        let mut taken = |raw: Raw<'_>| match raw {
            Raw::Lost(time, events) => account.lost(time, events),
            Raw::Event(time, bytes) => match layout.decode(bytes) {
                Some(Event::Ran { thread: Some(of), .. }) if of == *thread => {}
                Some(Event::Ran { source, duration, .. }) => account.ran(time, source, duration),
                Some(Event::Marked { thread: of }) => *thread = of,
                None => {}
            },
        };
        while reader.take(&mut taken)? {}
        (self.next, self.readings) = (Some(0), self.noise.readings());
        Ok(())
    }

    /// The next gap that is accounted for.
    fn hand_over(&mut self) -> Option<Gap> {
        let number = self.next?;
        let gap = self.account.get(number);
        self.next = gap.map(|_| number + 1);
        if gap.is_none() {
            self.account.clear();
        }
        gap
    }
}

fn columns(gap: &Gap) -> [i64; COLUMNS] {
    let [nmi, irq, softirq, thread] = gap.parts;
    [
        gap.end - gap.begin,
        nmi,
        irq,
        softirq,
        thread,
        gap.unexplained(),
        i64::try_from(gap.lost).unwrap_or(i64::MAX),
    ]
}

impl<A: Attachment> EventSource<A, COLUMNS> for Accounted {
    fn begin(&mut self, attachment: &mut A, start: Nanos, interval: Nanos) {
        // By this the thread finds its own events among those of others.
        let marked = self.tracer.lock().session.write("trace_marker", "teiji");
        let marked = marked.is_ok() && self.settle().is_ok();
        if !marked || self.thread == 0 {
            self.thread = rustix::thread::gettid().as_raw_nonzero().get().into();
        }
        self.next = None;
        EventSource::<A, 1>::begin(&mut self.noise, attachment, start, interval);
        self.readings = 0;
    }

    fn next(&mut self, attachment: &mut A, until: Nanos) -> Awaited<COLUMNS> {
        if let Some(gap) = self.hand_over() {
            return Awaited::Event(Nanos(gap.begin), columns(&gap));
        }
        match self.noise.next(attachment, until) {
            Awaited::Event(begin, [length]) => self.account.gap(begin.0, begin.0 + length),
            Awaited::Failed(error) => return Awaited::Failed(error),
            Awaited::Recorded(..)
            | Awaited::More
            | Awaited::Lost(_)
            | Awaited::Ended
            | Awaited::Nothing => {}
        }
        // It reads when the time to poll is over, and not again after the sleep.
        let is_read = self.noise.readings() == self.readings;
        if is_read || self.noise.is_polling() && !self.account.is_full() {
            return Awaited::Nothing;
        }
        if let Err(error) = self.settle() {
            return Awaited::Failed(SampleError::new("read of trace_pipe_raw", &error));
        }
        self.hand_over()
            .map_or(Awaited::Nothing, |gap| Awaited::Event(Nanos(gap.begin), columns(&gap)))
    }

    fn left(&mut self, _attachment: &mut A) -> Option<Awaited<COLUMNS>> {
        if self.next.is_none() {
            self.settle().ok()?;
        }
        self.hand_over().map(|gap| Awaited::Event(Nanos(gap.begin), columns(&gap)))
    }

    fn findings(&self, _attachment: &mut A) -> Vec<Warning> {
        let (events, rows) = self.account.total_lost();
        let lost =
            (events > 0).then_some(Warning::AccountEventsLost { cpu: self.cpu, events, rows });
        lost.into_iter().collect()
    }

    fn polled(&self) -> Option<Polling> {
        EventSource::<A, 1>::polled(&self.noise)
    }
}

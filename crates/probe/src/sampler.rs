// SPDX-License-Identifier: MIT OR Apache-2.0
//! The interface by which the engine asks a probe for each row.

use crate::attachment::Attachment;
use crate::outcome::{SampleError, Woken};
use model::{Polling, Smis, Warning, WithoutPeriod};
use plan::Nanos;

/// Rows that a trace of the kernel does not show as a whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Untraced {
    pub rows: u64,
    /// Of these, wake-ups without a switch to the thread, although no event was lost.
    pub without_switch: u64,
}

/// The column that shows overruns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Overrun {
    /// From the planned time until the thread is free for the next row, ns: an interval or more is
    /// late, and each whole interval in it has passed one row.
    Time(usize),
    /// How many rows passed unseen before this one was taken: one or more is late.
    Missed(usize),
}

impl Overrun {
    pub(crate) const fn column(self) -> usize {
        match self {
            Overrun::Time(column) | Overrun::Missed(column) => column,
        }
    }

    /// What one row that passed amounts to in it.
    pub(crate) const fn unit(self, interval_ns: i64) -> i64 {
        match self {
            Overrun::Time(_) => interval_ns,
            Overrun::Missed(_) => 1,
        }
    }
}

/// Measures planned rows of up to `N` columns: activations or trials. The first column is the one
/// that is judged.
pub(crate) trait Sampler<A: Attachment, const N: usize>: Send + 'static {
    /// The column that shows overruns.
    const OVERRUN: Overrun;

    /// Makes ready for rows that are planned from this time on, one in each interval. Called by the
    /// measuring thread, once before it warms up and once before row 0.
    ///
    /// # Errors
    /// Why nothing can be measured: the run ends with it.
    fn begin(
        &mut self,
        _attachment: &mut A,
        _first: Nanos,
        _interval: Nanos,
    ) -> Result<(), SampleError> {
        Ok(())
    }

    /// Waits for the planned time of a row, or for whatever begins it.
    #[inline]
    fn wait(&mut self, attachment: &mut A, planned: Nanos) -> Woken {
        attachment.sleep_until(planned)
    }

    /// What it waits by, for errors.
    fn wait_call(&self) -> &'static str {
        "clock_nanosleep"
    }

    /// Measures one row. Called when the thread has waited for it.
    ///
    /// # Errors
    /// Why nothing can be measured: the run ends with it.
    fn sample(&mut self, attachment: &mut A, planned: Nanos) -> Result<[i64; N], SampleError>;

    /// How many rows passed while this one, which was late, was measured, and will not be run: from
    /// the column that shows overruns and what one row amounts to in it.
    fn passed(&mut self, overrun: i64, unit: i64) -> i64 {
        overrun / unit
    }

    /// How many rows came after this one, and after those that it passed, whose values were lost on
    /// their way here. They count as run, and their samples as lost. Where rows passed, as many
    /// of them as can have been late count as late.
    #[inline]
    fn lost(&mut self) -> u64 {
        0
    }

    /// Those of the lost ones so far that a trace of the kernel does not show, asked after the last
    /// row.
    fn untraced(&self) -> Untraced {
        Untraced::default()
    }
}

/// What a wait for an event ended with.
pub(crate) enum Awaited<const N: usize> {
    /// An event: when it happened, and its columns. The first is the one that is judged.
    Event(Nanos, [i64; N]),
    /// An event that was recorded elsewhere: when it happened, ns since the first, by a clock of
    /// its own, and its columns. It can wait until the recorder has taken those before it.
    Recorded(Nanos, [i64; N]),
    /// Nothing yet, and there may be rows of what was read before the time to wait until: it is to
    /// be asked again.
    More,
    /// So many are missing here.
    Lost(u64),
    /// No event will come any more: the thread has done its work.
    Ended,
    /// The time to wait until came first, or a signal.
    Nothing,
    /// Why nothing can be measured: the run ends with it.
    Failed(SampleError),
}

impl<const N: usize> Awaited<N> {
    /// What a sleep that ended so means for who waits; none where it ended on time.
    pub(crate) const fn after_sleep(woken: Woken) -> Option<Self> {
        match woken {
            Woken::OnTime => None,
            Woken::Interrupted => Some(Awaited::Nothing),
            Woken::Failed(errno) => {
                Some(Awaited::Failed(SampleError { doing: "clock_nanosleep", errno }))
            }
        }
    }
}

/// Waits for events, which come at irregular times, with `N` columns each.
pub(crate) trait EventSource<A: Attachment, const N: usize>: Send + 'static {
    /// Makes ready for events from this time on, by the measuring thread before that time.
    fn begin(&mut self, _attachment: &mut A, _start: Nanos, _interval: Nanos) {}
    /// Waits for the next event, until this time at most. A signal ends the wait, so that a run can
    /// be stopped.
    fn next(&mut self, attachment: &mut A, until: Nanos) -> Awaited<N>;

    /// What had been taken, or had happened, and was not handed over when the run ended or was
    /// stopped: asked until there is none. It is an event, one that was recorded elsewhere, or
    /// a number of them that are missing.
    fn left(&mut self, _attachment: &mut A) -> Option<Awaited<N>> {
        None
    }

    /// Whether what happens is kept for it, as in the kernel's buffers, so that it can wait until
    /// the recorder has taken the events before.
    fn keeps_events(&self) -> bool {
        false
    }

    /// How long it polled, if it is a loop that polls.
    fn polled(&self) -> Option<Polling> {
        None
    }

    /// System management interrupts of the measured CPU since `begin`, if it asks for them, after
    /// the last event.
    fn smis(&self) -> Option<Smis> {
        None
    }

    /// Those of the missing ones that a trace of the kernel does not show, asked after the last
    /// one.
    fn untraced(&self) -> Untraced {
        Untraced::default()
    }

    /// How many events are of a period that is known, and those of which none is, if it looks for
    /// one, asked after the last one.
    fn periodic_rows(&self) -> Option<(u64, WithoutPeriod)> {
        None
    }

    /// What a reader has to know of the events, asked after the last one.
    fn findings(&self, _attachment: &mut A) -> Vec<Warning> {
        Vec::new()
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! Probes of every kind of row that the seam allows, for tests of everything behind it. Not in the
//! released program.

use super::probe::{Probe, SetProbe};
use super::setting::{ProbeSetting, SettingValues};
use crate::attachment::{Attachment, Linux};
use crate::outcome::{SampleError, Woken};
use crate::sampler::{Awaited, EventSource, Overrun, Sampler};
use crate::thread::{Launched, ThreadConfig};
use model::{Column, ProbeStatement, RowKind};
use plan::{Nanos, Run};
use std::io;
use std::sync::Arc;

/// Three columns of one activation, one of them no time.
pub(super) const COLUMNS: Probe =
    Probe::new("example-columns", "an example of activations with three columns", |_| {
        Arc::new(SetColumns)
    });

struct SetColumns;

impl SetProbe for SetColumns {
    fn statement(&self, _: &Run) -> ProbeStatement {
        let mut columns = ProbeStatement::cyclic().columns;
        columns.extend([
            Column::ns(
                "second_read_ns",
                "from the planned time until the clock was read once more",
            ),
            Column::count("parity", "0 or 1, in turn"),
        ]);
        ProbeStatement { columns, overrun_column: Some(1), ..ProbeStatement::cyclic() }
    }

    fn launch(&self, config: ThreadConfig) -> io::Result<Launched> {
        config.launch(Linux, Columns { parity: 0 })
    }
}

struct Columns {
    parity: i64,
}

impl<A: Attachment> Sampler<A, 3> for Columns {
    const OVERRUN: Overrun = Overrun::Time(1);

    fn sample(&mut self, attachment: &mut A, planned: Nanos) -> Result<[i64; 3], SampleError> {
        let woken = attachment.now().0 - planned.0;
        self.parity = 1 - self.parity;
        Ok([woken, attachment.now().0 - planned.0, 1 - self.parity])
    }
}

/// Activations of a timer that counts what was missed: two in every tenth row, whatever the machine
/// does.
pub(super) const MISSED: Probe =
    Probe::new("example-missed", "an example of activations that were missed", |_| {
        Arc::new(SetMissed)
    });

struct SetMissed;

impl SetProbe for SetMissed {
    fn statement(&self, _: &Run) -> ProbeStatement {
        let mut columns = ProbeStatement::cyclic().columns;
        columns.push(Column::count(Column::MISSED, "0, and in every tenth row 2"));
        ProbeStatement { columns, overrun_column: Some(1), ..ProbeStatement::cyclic() }
    }

    fn max_threads(&self) -> Option<usize> {
        Some(1)
    }

    fn launch(&self, config: ThreadConfig) -> io::Result<Launched> {
        config.launch(Linux, Missed { row: 0 })
    }
}

struct Missed {
    row: i64,
}

impl<A: Attachment> Sampler<A, 2> for Missed {
    const OVERRUN: Overrun = Overrun::Missed(1);

    fn begin(&mut self, _: &mut A, _: Nanos, _: Nanos) -> Result<(), SampleError> {
        self.row = 0;
        Ok(())
    }

    fn sample(&mut self, attachment: &mut A, planned: Nanos) -> Result<[i64; 2], SampleError> {
        self.row += 1;
        Ok([attachment.now().0 - planned.0, if self.row % 10 == 0 { 2 } else { 0 }])
    }
}

const PERIOD: ProbeSetting =
    ProbeSetting::new("period", "Time between two events", SettingValues::Time, "3ms");

/// Events with a duration and a number.
pub(super) const EVENTS: Probe = Probe {
    settings: &[PERIOD],
    ..Probe::new("example-events", "an example of events at irregular times", |settings| {
        let period = PERIOD.time(settings).unwrap_or(Nanos::from_millis(3));
        Arc::new(SetEvents { period })
    })
};

struct SetEvents {
    period: Nanos,
}

impl SetProbe for SetEvents {
    fn statement(&self, _: &Run) -> ProbeStatement {
        ProbeStatement {
            rows: RowKind::Events,
            columns: vec![
                Column::ns("length_ns", "how long the event took"),
                Column::count("number", "of the event, from 0"),
            ],
            overrun_column: None,
            measuring_point: "between two readings of the clock".into(),
            ..ProbeStatement::cyclic()
        }
    }

    fn launch(&self, config: ThreadConfig) -> io::Result<Launched> {
        let events = Events { period: self.period, next: None, number: 0 };
        config.launch_events::<_, 2, 3>(Linux, events)
    }
}

struct Events {
    period: Nanos,
    next: Option<Nanos>,
    number: i64,
}

impl<A: Attachment> EventSource<A, 2> for Events {
    fn next(&mut self, attachment: &mut A, until: Nanos) -> Awaited<2> {
        let now = attachment.now();
        // Every other one comes after twice the time.
        let wait = self.period.0 * (1 + self.number % 2);
        let next = *self.next.get_or_insert(Nanos(now.0 + wait));
        match attachment.sleep_until(next.min(until)) {
            Woken::OnTime if next < until => {
                let (began, ended) = (attachment.now().0, attachment.now().0);
                (self.next, self.number) = (None, self.number + 1);
                Awaited::Event(Nanos(began), [ended - began, self.number - 1])
            }
            woken => Awaited::after_sleep(woken).unwrap_or(Awaited::Nothing),
        }
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the other CPU did while this one waited for it.

use crate::dump::{Dump, Window};
use crate::kernel::Kernel;
use crate::parts::Accountant;
use crate::timed::{Asked, Timed};
use model::{OtherCpu, Part, PartKind};

/// Names it in each part in which this CPU waits. Of several others nothing says which one it waits
/// for.
pub(crate) fn name(
    parts: &mut [Part],
    dump: &Dump,
    window: &Window,
    kernel: &Kernel<'_>,
    asked: &Asked,
) {
    if parts.iter().all(|part| part.kind != PartKind::OtherCpu) {
        return;
    }
    let Some(other) = only_other(window, asked.cpu) else { return };
    let timed = Timed::new(dump, window, kernel, asked, other);
    let accountant = Accountant::new(&timed, window, kernel, None);
    for part in parts.iter_mut().filter(|part| part.kind == PartKind::OtherCpu) {
        let (begin, end) =
            (part.begin_ns.cast_signed(), (part.begin_ns + part.length_ns).cast_signed());
        let first = timed.times.partition_point(|time| *time <= begin).saturating_sub(1);
        let last = timed.times.partition_point(|time| *time < end).min(timed.calls.steps.len());
        if first < last {
            // A step may have begun before this CPU waited, and go on after.
            let within = |step: usize| {
                timed.times[step + 1].min(end).saturating_sub(timed.times[step].max(begin)).max(0)
            };
            let lengths = (first..last).map(|step| within(step).unsigned_abs()).collect();
            // Where most of it ran, as of code that goes on although another thread is runnable.
            let meanwhile = accountant.part_of(PartKind::PreemptionOff, first..last, lengths);
            part.other_cpu = Some(OtherCpu {
                function: meanwhile.function,
                called_by: meanwhile.called_by,
                task: meanwhile.task,
            });
        }
    }
}

/// The other CPU, where there is one and no third.
fn only_other(window: &Window, cpu: usize) -> Option<usize> {
    let mut others = window.entries.iter().map(|entry| entry.cpu).filter(|other| *other != cpu);
    let first = others.next()?;
    others.all(|other| other == first).then_some(first)
}

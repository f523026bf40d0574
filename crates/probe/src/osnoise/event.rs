// SPDX-License-Identifier: MIT OR Apache-2.0
//! The tracer's events out of the bytes that the kernel stores.

use super::account::Source;
use trace::{Field, Format, Session, TraceError};

/// The events, and what each is of.
const EVENTS: [(&str, Source); 4] = [
    ("osnoise/nmi_noise", Source::Nmi),
    ("osnoise/irq_noise", Source::Irq),
    ("osnoise/softirq_noise", Source::Softirq),
    ("osnoise/thread_noise", Source::Thread),
];
/// What a write to `trace_marker` makes.
const MARKER: &str = "ftrace/print";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// Of a source, how long it ran; of threads, which.
    Ran { source: Source, duration: i64, thread: Option<i64> },
    /// This thread wrote a marker: its number as the kernel counts, which is another one in a PID
    /// namespace.
    Marked { thread: i64 },
}

/// How the events lie in memory.
#[derive(Debug)]
pub(crate) struct Layout {
    number: Field,
    thread: Field,
    marker: u16,
    kinds: Vec<Kind>,
}

#[derive(Debug)]
struct Kind {
    id: u16,
    source: Source,
    duration: Field,
    pid: Option<Field>,
}

impl Layout {
    pub(crate) fn of(session: &Session) -> Result<Self, TraceError> {
        let marker = session.format(MARKER)?;
        let mut formats = Vec::new();
        for (event, source) in EVENTS {
            formats.push((source, session.format(event)?));
        }
        Self::from_formats(&marker, &formats).ok_or_else(|| {
            TraceError::Missing("this kernel's events of osnoise have no duration".to_owned())
        })
    }

    fn from_formats(marker: &Format, formats: &[(Source, Format)]) -> Option<Self> {
        let kind = |(source, format): &(Source, Format)| {
            let pid = format.field("pid");
            let duration = format.field("duration")?;
            (*source != Source::Thread || pid.is_some()).then_some(Kind {
                id: format.id,
                source: *source,
                duration,
                pid,
            })
        };
        let kinds = formats.iter().map(kind).collect::<Option<Vec<_>>>()?;
        Some(Layout {
            number: marker.field("common_type")?,
            thread: marker.field("common_pid")?,
            marker: marker.id,
            kinds,
        })
    }

    /// An event, if it is one of these.
    pub(crate) fn decode(&self, bytes: &[u8]) -> Option<Event> {
        let id = u16::try_from(self.number.of(bytes)?).ok()?;
        if id == self.marker {
            return Some(Event::Marked { thread: self.thread.of(bytes)? });
        }
        let kind = self.kinds.iter().find(|kind| kind.id == id)?;
        let thread =
            kind.pid.and_then(|pid| pid.of(bytes)).filter(|_| kind.source == Source::Thread);
        Some(Event::Ran { source: kind.source, duration: kind.duration.of(bytes)?, thread })
    }
}

/// Records the events from now on.
pub(crate) fn enable(session: &Session) -> Result<(), TraceError> {
    EVENTS.iter().try_for_each(|(event, _)| session.enable(event, None))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn format(id: u16, fields: &str) -> Format {
        let common = "\tfield:unsigned short \
                      common_type;\toffset:0;\tsize:2;\tsigned:0;\n\tfield:int \
                      common_pid;\toffset:4;\tsize:4;\tsigned:1;\n";
        Format::parse(&format!("ID: {id}\nformat:\n{common}{fields}")).unwrap()
    }

    fn layout() -> Option<Layout> {
        let duration = "\tfield:u64 duration;\toffset:16;\tsize:8;\tsigned:0;\n";
        let pid = "\tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n";
        let irq = (Source::Irq, format(449, duration));
        Layout::from_formats(
            &format(5, ""),
            &[irq, (Source::Thread, format(451, &format!("{duration}{pid}")))],
        )
    }

    fn bytes(id: u16, by: i32, duration: u64, pid: i32) -> Vec<u8> {
        let mut bytes = vec![0; 28];
        bytes[..2].copy_from_slice(&id.to_ne_bytes());
        bytes[4..8].copy_from_slice(&by.to_ne_bytes());
        bytes[16..24].copy_from_slice(&duration.to_ne_bytes());
        bytes[24..28].copy_from_slice(&pid.to_ne_bytes());
        bytes
    }

    #[test]
    fn events_as_they_are_stored() {
        let layout = layout().unwrap();
        let ran = |source, duration, thread| Some(Event::Ran { source, duration, thread });
        assert_eq!(layout.decode(&bytes(449, 7, 3_025, 9)), ran(Source::Irq, 3_025, None));
        assert_eq!(layout.decode(&bytes(451, 7, 4_391, 9)), ran(Source::Thread, 4_391, Some(9)));
        assert_eq!(layout.decode(&bytes(5, 7, 0, 0)), Some(Event::Marked { thread: 7 }));
        assert_eq!(
            (layout.decode(&bytes(4, 7, 0, 0)), layout.decode(&bytes(449, 7, 1, 1)[..20])),
            (None, None)
        );
    }

    #[test]
    fn a_layout_without_a_duration_is_refused() {
        assert!(Layout::from_formats(&format(5, ""), &[(Source::Nmi, format(448, ""))]).is_none());
    }
}

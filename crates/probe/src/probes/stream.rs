// SPDX-License-Identifier: MIT OR Apache-2.0
//! `stream`: timestamps, intervals or latencies that were measured elsewhere, as they come from a
//! file, FIFO, serial port or socket.
//!
//! The thread only reads. Each row is an event at the stream's own time, with what stood between it
//! and the row before: records that are no number, steps backwards, periods without a record. Rows
//! are no activations: those are planned at multiples of an interval on this machine's clock, which
//! another clock leaves in time, and the period of a stream may be unknown.

use super::probe::{Probe, SetProbe, SettingConflict, conflict};
use super::setting::{ProbeSetting, SettingValues};
use crate::attachment::{Attachment, Linux};
use crate::outcome::SampleError;
use crate::sampler::{Awaited, EventSource};
use crate::stream::{
    Findings, Format, Input, Kind, Read, Record, Records, Series, Taken, absent, is_file,
    place_error,
};
use crate::thread::{Launched, ThreadConfig};
use model::{Column, ProbeStatement, Quantity, RowKind, Warning};
use plan::{Interval, Length, Nanos, ProbeSettings, Run, Scheduling};
use std::io::{self, IsTerminal};
use std::sync::Arc;

pub(super) const PROBE: Probe = Probe {
    needs: "numbers to read: from standard input, or from what --from names",
    example: Some((FROM, "numbers.txt")),
    settings: &[FROM, KIND, UNIT, HZ, PERIOD, WIDTH, BYTE_ORDER, SIGN, WRAP, BAUD],
    default_scheduling: Scheduling::OTHER,
    ..Probe::new(
        "stream",
        "timestamps made elsewhere, from a file, FIFO, serial port or socket",
        |settings| Arc::new(Settings::from(settings)),
    )
};

const READS_ONLY: &str = "its thread only reads what was measured elsewhere";

const FROM: ProbeSetting = ProbeSetting::new(
    "from",
    "Where the numbers come from: a file, FIFO, device or serial port, unix:PATH, tcp:HOST:PORT, \
     or - for standard input",
    SettingValues::Text("PATH"),
    "-",
);
const KIND: ProbeSetting =
    ProbeSetting::one_of("kind", "What a number is", &["timestamp", "interval", "latency"]);
const UNIT: ProbeSetting = ProbeSetting::one_of(
    "unit",
    "What numbers count, tsc being ticks of --hz",
    &["ns", "us", "ms", "s", "tsc"],
);
const HZ: ProbeSetting = ProbeSetting::new(
    "hz",
    "Ticks per second, with --unit tsc",
    SettingValues::Number(1, 1_000_000_000_000),
    "",
);
const PERIOD: ProbeSetting = ProbeSetting::new("period", PERIOD_HELP, SettingValues::Period, "");
const PERIOD_HELP: &str = "Nominal time between two events, such as 1ms or 1/1024s, or their \
                           rate, such as 1024Hz; a bare number counts microseconds. Events \
                           without a record are then counted";
const WIDTH: ProbeSetting = ProbeSetting::new(
    "width",
    "Read integers of so many bits, not lines of text",
    SettingValues::OneOf(&["32", "64"]),
    "",
);
const BYTE_ORDER: ProbeSetting =
    ProbeSetting::one_of("byte-order", "Of these integers", &["little", "big"])
        .default_not_recorded();
const SIGN: ProbeSetting =
    ProbeSetting::one_of("sign", "Of these integers", &["unsigned", "signed"])
        .default_not_recorded();
const WRAP: ProbeSetting = ProbeSetting::new(
    "wrap",
    "Bits of the counter that timestamps come from, if they are not those of --width",
    SettingValues::Number(8, 64),
    "",
);
const BAUD: ProbeSetting = ProbeSetting::new(
    "baud",
    "Bits per second of a serial port",
    SettingValues::Number(50, 4_000_000),
    "",
);

struct Settings {
    from: String,
    kind: Kind,
    format: Format,
    /// 10^-9 of the unit in a nanosecond.
    per_ns: u64,
    period: Option<Nanos>,
    /// Bits of the counter that timestamps come from.
    wrap: Option<u32>,
    baud: Option<u32>,
    /// Those of them that contradict one another, if any do.
    contradiction: Option<(&'static str, &'static str)>,
}

impl From<&ProbeSettings> for Settings {
    fn from(settings: &ProbeSettings) -> Self {
        let kind = match KIND.text(settings) {
            "interval" => Kind::Interval,
            "latency" => Kind::Latency,
            _ => Kind::Timestamp,
        };
        let per_ns = match UNIT.text(settings) {
            "us" => 1_000_000,
            "ms" => 1_000,
            "s" => 1,
            "tsc" => HZ.number(settings).unwrap_or(1),
            _ => 1_000_000_000,
        };
        let bits: Option<u32> = WIDTH.number(settings);
        let format = match bits {
            None => Format::Text,
            Some(bits) => Format::Binary {
                bytes: bits as usize / 8,
                big_endian: BYTE_ORDER.text(settings) == "big",
                signed: SIGN.text(settings) == "signed",
            },
        };
        Settings {
            from: FROM.text(settings).to_owned(),
            kind,
            format,
            per_ns,
            period: PERIOD.number(settings).map(|interval: Interval| interval.nanos),
            wrap: WRAP.number(settings).or(bits),
            baud: BAUD.number(settings),
            contradiction: contradiction(settings, kind),
        }
    }
}

/// A setting that is impossible beside the others, and why.
fn contradiction(settings: &ProbeSettings, kind: Kind) -> Option<(&'static str, &'static str)> {
    let is_set = |setting: &ProbeSetting| setting.text(settings) != setting.default;
    match (UNIT.text(settings) == "tsc", is_set(&HZ)) {
        (true, false) => {
            return Some(("unit", "ticks need their rate: add --hz N, such as --hz 866000000"));
        }
        (false, true) => return Some(("hz", "it is the rate of ticks: add --unit tsc")),
        _ => {}
    }
    let text = !is_set(&WIDTH);
    if let Some(setting) = [BYTE_ORDER, SIGN].iter().find(|setting| text && is_set(setting)) {
        return Some((setting.name, "lines of text have none: add --width 32 or 64"));
    }
    if is_set(&WRAP) && kind != Kind::Timestamp {
        return Some(("wrap", "only timestamps wrap around"));
    }
    let bits = |setting: &ProbeSetting| setting.number::<u32>(settings);
    if !text && bits(&WRAP) > bits(&WIDTH) {
        return Some(("wrap", "an integer of --width has fewer bits"));
    }
    (is_set(&SIGN) && kind == Kind::Timestamp)
        .then_some(("sign", "timestamps of a fixed width are counters, which have none"))
}

const BETWEEN: &str = "between two successive timestamps of the stream, minus the period";
const BETWEEN_UNCOUNTED: &str = "between two successive timestamps of the stream. Without a \
                                 period it is unknown how many events have no record";
const GIVEN: &str = "interval, as the stream gives it, minus the period";
const GIVEN_UNCOUNTED: &str = "interval, as the stream gives it. Without a period it is unknown \
                               how many events have no record";

impl Settings {
    /// Of intervals, what they are compared with; then periods without a record are counted.
    fn counted_period(&self) -> Option<Nanos> {
        self.period.filter(|_| self.kind != Kind::Latency)
    }

    /// What to type at a terminal, and until when.
    fn request(&self, length: Length) -> String {
        let numbers = match self.format {
            Format::Text => "numbers from this terminal, one a line,".to_owned(),
            Format::Binary { bytes, .. } => {
                format!("integers of {} bits from this terminal", bytes * 8)
            }
        };
        let end = match length {
            Length::Samples(rows) => format!("for {rows} rows or until Ctrl-D"),
            Length::DurationNs(duration) => format!("for {duration} or until Ctrl-D"),
            Length::Forever => "until Ctrl-D".to_owned(),
        };
        format!("Reads {numbers} {end}. To read a file: --from FILE")
    }
}

impl SetProbe for Settings {
    fn statement(&self, _: &Run) -> ProbeStatement {
        let period_ns = self.counted_period();
        let is_counted = period_ns.is_some();
        let name = if is_counted { "jitter_ns" } else { "interval_ns" };
        let elsewhere = "elsewhere, as the stream says";
        let (judged, measuring_point) = match self.kind {
            Kind::Timestamp => (
                Column::ns(name, if is_counted { BETWEEN } else { BETWEEN_UNCOUNTED }),
                "between two timestamps, which were taken elsewhere, as the stream says",
            ),
            Kind::Interval => {
                (Column::ns(name, if is_counted { GIVEN } else { GIVEN_UNCOUNTED }), elsewhere)
            }
            Kind::Latency => {
                (Column::ns("latency_ns", "latency, as the stream gives it"), elsewhere)
            }
        };
        let mut columns = vec![
            judged,
            Column::count("unreadable", "records since the row before that are no number"),
        ];
        if self.kind == Kind::Timestamp {
            columns.push(Column::count(
                "backwards",
                "steps backwards of the timestamps since the row before",
            ));
        }
        if is_counted {
            columns.push(Column::count(
                Column::MISSED,
                "periods without a record since the row before; below 0 where the row makes up \
                 for some",
            ));
        }
        ProbeStatement {
            rows: RowKind::Events,
            columns,
            overrun_column: None,
            clock: ProbeStatement::CLOCK_OF_STREAM.into(),
            measuring_point: measuring_point.into(),
            quantity: match self.kind {
                Kind::Latency => Quantity::Latency,
                _ if is_counted => Quantity::Jitter,
                _ => Quantity::Interval,
            },
            period_ns,
            only_observes: true,
            from_file: is_file(&self.from),
            ..ProbeStatement::cyclic()
        }
    }

    fn conflict(&self, _: &Run) -> Option<SettingConflict> {
        let place = place_error(&self.from).map(|error| (FROM.name, error));
        let (setting, reason) = place.or(self.contradiction)?;
        conflict(setting, reason)
    }

    /// A stream is read once.
    fn max_threads(&self) -> Option<usize> {
        Some(1)
    }

    fn without_meaning(&self) -> &'static [(&'static str, &'static str)] {
        &[
            (
                "interval",
                "its times come when they come. The time that they are compared with is --period",
            ),
            ("prio", READS_ONLY),
            ("policy", READS_ONLY),
        ]
    }

    fn lacks(&self, _: Nanos, _: Scheduling) -> Option<String> {
        absent(&self.from, self.baud)
    }

    fn waits_for(&self, run: &Run) -> Option<String> {
        let asks = self.from == FROM.default && io::stdin().is_terminal();
        asks.then(|| self.request(run.length))
    }

    fn launch(&self, config: ThreadConfig) -> io::Result<Launched> {
        let input = Input::open(&self.from, self.baud)?;
        config.launch_events::<_, 4, 5>(Linux, Stream::new(self, input))
    }
}

/// A stream that is being read.
struct Stream {
    input: Input,
    records: Records,
    series: Series,
    kind: Kind,
    /// Of intervals, what they are compared with, ns; then periods without a record are counted.
    period_ns: Option<i64>,
    findings: Findings,
    has_read: bool,
}

/// One wait takes no longer.
const MAX_WAIT_NS: i64 = 1_000_000_000;

impl Stream {
    fn new(settings: &Settings, input: Input) -> Self {
        let Settings { kind, format, per_ns, wrap, period, .. } = *settings;
        let counted = settings.counted_period();
        Stream {
            input,
            records: Records::new(format),
            series: Series::new(kind, per_ns, wrap, period.map(|period| period.0)),
            kind,
            period_ns: counted.map(|period| period.0),
            findings: Findings::new(&settings.from, counted),
            has_read: false,
        }
    }

    /// The end of the stream or of the run, which fails if nothing was measured.
    fn end(&self, otherwise: Awaited<4>) -> Awaited<4> {
        let nothing = self.findings.nothing_measured(&self.records);
        nothing.map_or(otherwise, |doing| Awaited::Failed(SampleError { doing, errno: 0 }))
    }

    /// The row that a record makes, if it makes one.
    fn row(&mut self, record: Record) -> Option<Awaited<4>> {
        match record.number.map(|number| self.series.take(number)) {
            Some(Ok(taken)) => {
                self.findings.number();
                match taken {
                    Taken::First => None,
                    Taken::Backwards(by_ns) => {
                        self.findings.backwards(record, by_ns);
                        None
                    }
                    Taken::Event { time_ns, value_ns, missed } => {
                        let time = time_ns.unwrap_or_else(|| self.findings.arrived_after());
                        Some(Awaited::Recorded(Nanos(time), self.columns_of(value_ns, missed)))
                    }
                }
            }
            Some(Err(_)) | None => {
                self.findings.unreadable(record, &self.records);
                None
            }
        }
    }

    fn columns_of(&mut self, value_ns: i64, missed: i64) -> [i64; 4] {
        let (unreadable, backwards) = self.findings.row(missed);
        let [unreadable, backwards] =
            [unreadable, backwards].map(|count| i64::try_from(count).unwrap_or(i64::MAX));
        let value_ns = value_ns - self.period_ns.unwrap_or(0);
        if self.kind == Kind::Timestamp {
            [value_ns, unreadable, backwards, missed]
        } else {
            [value_ns, unreadable, missed, 0]
        }
    }
}

impl<A: Attachment> EventSource<A, 4> for Stream {
    fn next(&mut self, attachment: &mut A, until: Nanos) -> Awaited<4> {
        while let Some(record) = self.records.next_record() {
            if let Some(row) = self.row(record) {
                return row;
            }
        }
        let now = attachment.now();
        self.findings.begun(now);
        // At least once: a run may be as short as it likes.
        if now >= until && self.has_read {
            return self.end(Awaited::Nothing);
        }
        self.has_read = true;
        match self.input.read(self.records.free(), (until.0 - now.0).min(MAX_WAIT_NS)) {
            Read::Bytes(bytes) => {
                self.records.filled(bytes);
                self.findings.arrived(attachment.now());
                Awaited::More
            }
            // A signal that stops the run comes before its end.
            Read::Nothing if attachment.now() >= until => self.end(Awaited::Nothing),
            Read::Nothing => Awaited::Nothing,
            Read::Ended => {
                self.findings.ended(attachment.now());
                self.end(Awaited::Ended)
            }
            Read::Failed(doing, errno) => Awaited::Failed(SampleError { doing, errno }),
        }
    }

    /// What had been read when the run was stopped is nowhere else.
    fn left(&mut self, _attachment: &mut A) -> Option<Awaited<4>> {
        loop {
            let record = self.records.next_record()?;
            if let Some(row) = self.row(record) {
                return Some(row);
            }
        }
    }

    fn findings(&self, attachment: &mut A) -> Vec<Warning> {
        self.findings.warnings(attachment.now(), &self.records, &self.input)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_runs::test_run;

    fn error(settings: &[(&str, &str)]) -> Option<String> {
        let mut run = test_run(Nanos::from_millis(1), 5);
        run.cpus.truncate(1);
        run.length = plan::Length::DurationNs(Nanos::from_secs(1));
        run.probe = PROBE.name.to_owned();
        run.probe_settings = settings
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        crate::test_runs::statement(&run).err().map(|error| format!("{}: {error}", error.setting()))
    }

    /// It said `until Ctrl-D` of a run that ended by itself, and `one a line` of integers that have
    /// no lines.
    #[test]
    fn a_terminal_is_told_what_to_type_and_until_when() {
        let of = |settings: &[(&str, &str)], length| {
            let settings = settings.iter().map(|(name, value)| ((*name).into(), (*value).into()));
            Settings::from(&settings.collect::<ProbeSettings>()).request(length)
        };
        let lines = "Reads numbers from this terminal, one a line,";
        for (length, end) in [
            (Length::DurationNs(Nanos::from_secs(10)), "for 10s or until Ctrl-D"),
            (Length::Samples(300), "for 300 rows or until Ctrl-D"),
            (Length::Forever, "until Ctrl-D"),
        ] {
            assert_eq!(of(&[], length), format!("{lines} {end}. To read a file: --from FILE"));
        }
        assert_eq!(
            of(&[("width", "32")], Length::Forever),
            "Reads integers of 32 bits from this terminal until Ctrl-D. To read a file: --from FILE"
        );
    }

    #[test]
    fn what_is_impossible_together() {
        for (settings, setting, reason) in [
            (&[("unit", "tsc")][..], "unit", "add --hz N"),
            (&[("hz", "1000")], "hz", "add --unit tsc"),
            (&[("from", "tcp:host")], "from", "such as tcp:192.168.0.5:4000"),
            (&[("byte-order", "big")], "byte-order", "add --width 32 or 64"),
            (&[("sign", "signed"), ("kind", "latency")], "sign", "add --width 32 or 64"),
            (&[("wrap", "32"), ("kind", "interval")], "wrap", "only timestamps"),
            (&[("wrap", "40"), ("width", "32")], "wrap", "has fewer bits"),
            (&[("width", "32"), ("sign", "signed")], "sign", "are counters"),
        ] {
            let found = error(settings).unwrap_or_default();
            assert!(
                found.starts_with(&format!("{setting}: ")) && found.contains(reason),
                "{settings:?}: {found}"
            );
        }
        for settings in [
            &[][..],
            &[("unit", "tsc"), ("hz", "866000000"), ("width", "64"), ("period", "976562ns")],
            &[("kind", "latency"), ("width", "32"), ("sign", "signed"), ("byte-order", "big")],
            &[("wrap", "32"), ("unit", "us"), ("from", "/dev/ttyUSB0"), ("baud", "115200")],
        ] {
            assert_eq!(error(settings), None);
        }
    }

    #[test]
    fn a_period_is_a_time_or_a_rate() {
        let period = |text: &str| {
            let settings = ProbeSettings::from([("period".to_owned(), text.to_owned())]);
            error(&[("period", text)])
                .map_or_else(|| Ok(Settings::from(&settings).period.map(|period| period.0)), Err)
        };
        for (text, ns) in [
            ("1kHz", 1_000_000),
            ("1024Hz", 976_563),
            ("1/1024s", 976_563),
            ("976562ns", 976_562),
            ("250", 250_000),
        ] {
            assert_eq!(period(text), Ok(Some(ns)), "{text}");
        }
        for (text, reason) in [
            ("0Hz", "a rate must be above 0"),
            ("1024 Hertz", "or Hz or kHz for a rate"),
            ("1/1024", "write for example 1/1024s or 1/1024ms, or 1024Hz for a rate"),
            ("0", "above 0"),
        ] {
            let found = period(text).err().unwrap_or_default();
            assert!(found.starts_with("period: ") && found.contains(reason), "{text}: {found}");
        }
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! Figures of recordings for programs and for other texts: a row for each thread, or one figure
//! alone.

use crate::alike::each_once;
use crate::csv_rows::CsvRows;
use crate::format;
use crate::language::{Language, Text, in_language, texts, tr};
use crate::overview::Overview;
use crate::page::localised::markdown as in_markdown;
use crate::page::rendered;
use crate::sections::accounts::Accounts;
use crate::sections::columns::{ColumnRow, Probes};
use crate::sections::latencies::{FEW, Figure, Latencies, MANY, OrNothing, bounded};
use crate::sections::{cautions, caveats};
use crate::sections::{co_kernel, columns};
use askama::Template;
use model::{ColumnUnit, Examined, ProbeStatement, Recorded, TakenBy, Thread};
use plan::Count;
use serde_json::{Map, Value};
use stats::{ExactRequest, Statistics};
use std::str::FromStr;

/// What is known of a thread before its latencies.
const OF_THREAD: [&str; 9] =
    ["recording", "thread", "cpu", "interval_ns", "due", "on_time", "late", "skipped", "lost"];

/// What is known of the whole run.
const OF_RUN: [&str; 5] = ["probe", "co_kernel", "gravity", "load_off_target", "caveats"];

/// Between what figures lie that are not exactly known.
pub(crate) const BETWEEN: &str = "between_ns";

fn text<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

/// How many there are, and a column for each figure; empty where there are too few latencies for
/// it.
fn latencies(of: Option<Latencies<'_>>) -> impl Iterator<Item = String> {
    let of = of.filter(|of| of.count() > 0);
    let figures = MANY.map(|figure| text(of.and_then(|of| of.figure(figure))));
    std::iter::once(text(of.and_then(|of| of.known_count()))).chain(figures)
}

/// What those columns are called behind `lead`; `unit` is that of figures.
fn names(lead: &str, unit: &str) -> impl Iterator<Item = String> + use<> {
    let figures = MANY.map(|figure| format!("{lead}{}{unit}", figure.key()));
    std::iter::once(format!("{lead}count")).chain(figures)
}

/// Those by their keys: `max 310000..319000; p50 0..9000`.
pub(crate) fn in_a_cell(between: &Map<String, Value>) -> String {
    let end = |of: &Value| if of.is_null() { String::new() } else { of.to_string() };
    let one = |(key, of): (&String, &Value)| format!("{key} {}..{}", end(&of[0]), end(&of[1]));
    between.iter().map(one).collect::<Vec<_>>().join("; ")
}

fn threads(recorded: &Recorded) -> impl Iterator<Item = (&Thread, &Statistics)> {
    recorded.document.threads.iter().zip(&recorded.threads)
}

/// A further column, by name and unit. Its figures are named as those of latencies: `done_min_ns`,
/// `parity_min`.
type FurtherColumn<'a> = (&'a str, ColumnUnit);

/// Further columns of all these recordings, in the order in which they are met. Names have no
/// figures.
fn further_columns(recordings: &[Recorded]) -> Vec<FurtherColumn<'_>> {
    let others = recordings.iter().flat_map(|recorded| recorded.document.probe.others());
    let others = others.filter(|(_, column)| !column.is_of_names());
    each_once(others.map(|(_, column)| (column.name.as_ref(), column.unit)))
}

fn names_of_figures((name, unit): &FurtherColumn<'_>) -> impl Iterator<Item = String> + use<> {
    match unit {
        ColumnUnit::Nanoseconds => {
            names(&format!("{}_", name.strip_suffix("_ns").unwrap_or(name)), "_ns")
        }
        ColumnUnit::Count => names(&format!("{name}_"), ""),
    }
}

/// As comma-separated values, RFC 4180: a row for each thread of each recording, times in ns.
/// Figures of further columns, the probe, what it ran on, and what is true of the whole run come
/// last.
pub fn threads_csv(recordings: &[Recorded]) -> String {
    in_language(Language::English, || csv(recordings))
}

fn csv(recordings: &[Recorded]) -> String {
    let mut rows = CsvRows::new();
    let further = further_columns(recordings);
    rows.push(
        OF_THREAD
            .map(str::to_owned)
            .into_iter()
            .chain(names("", "_ns"))
            .chain(names("as_measured_", "_ns"))
            .chain(further.iter().flat_map(names_of_figures))
            .chain(OF_RUN.iter().chain([&BETWEEN]).map(|&name| name.to_owned())),
    );
    for recorded in recordings {
        let probe = &recorded.document.probe;
        let caveats = caveats::phrases(recorded).join("; ");
        for (place, (thread, statistics)) in threads(recorded).enumerate() {
            let mut cells = vec![
                recorded.path.display().to_string(),
                thread.index.to_string(),
                probe.cpu_text(thread),
            ];
            // What no thread planned has no interval, and another program's may not be known.
            cells.push(text(recorded.document.known_interval(thread).map(|interval| interval.0)));
            let accounts = Accounts::from_thread(thread, &recorded.document, statistics);
            cells.extend(accounts.all().into_iter().chain([accounts.lost()]).map(text));
            for of in [Latencies::due(statistics), Latencies::measured(statistics)] {
                let is_counted = recorded.document.known_count(of.count()).is_some();
                cells.extend(latencies(Some(Latencies { is_counted, ..of })));
            }
            for column in &further {
                let at = probe
                    .others()
                    .position(|(_, known)| (known.name.as_ref(), known.unit) == *column);
                let known = at.and_then(|at| recorded.beside.get(place)?.columns.get(at));
                cells.extend(latencies(known.map(Latencies::measured)));
            }
            cells.push(columns::probe_without(&recorded.document, ""));
            let core = co_kernel::of(&recorded.document);
            cells.extend([
                text(core.map(format::co_kernel_without_gravity)),
                text(core.and_then(|core| core.gravity.clone())),
                text(recorded.document.known_off_target()),
                caveats.clone(),
                in_a_cell(&Latencies::due(statistics).between_by_key()),
            ]);
            rows.push(cells);
        }
    }
    rows.text()
}

/// As a table of Markdown: a row for each thread of each recording, latencies in µs, and below it
/// one as measured where activations were skipped.
pub fn threads_markdown(recordings: &[Recorded], language: Language) -> String {
    in_language(language, || {
        let all = Overview::all(recordings);
        let (rows, _) = columns::rows(&all, usize::MAX);
        rendered(&Markdown {
            lead: Probes::from_overviews(&all).population(all.iter().any(Overview::has_skipped)),
            // That what wakes up on time is cyclic goes without saying.
            names_probes: all.iter().any(|one| one.document().probe != ProbeStatement::cyclic()),
            rows,
            all: &all,
        })
    })
}

#[derive(Template)]
#[template(path = "threads.md")]
struct Markdown<'r> {
    all: &'r [Overview<'r>],
    /// Of which activations its latencies are.
    lead: String,
    names_probes: bool,
    /// Of further columns.
    rows: Vec<ColumnRow>,
}

impl<'r> Markdown<'r> {
    fn head(&self) -> impl Iterator<Item = Text> + use<> {
        let head = [texts::recording, texts::thread, texts::cpu_heading];
        let due = Probes::from_overviews(self.all).due();
        let counts = [due, texts::late, texts::skipped];
        head.into_iter().chain(counts).chain(FEW.map(Figure::name))
    }

    fn threads(&self, of: &Overview<'r>) -> impl Iterator<Item = (&'r Thread, &'r Statistics)> {
        threads(of.recorded)
    }

    fn counts(&self, of: &Overview<'_>, thread: &Thread, statistics: &Statistics) -> [String; 3] {
        let accounts = Accounts::from_thread(thread, of.document(), statistics);
        let accounts = accounts.shown(of.document(), Latencies::due(statistics).count());
        let [due, _, late, skipped] = accounts.map(|n| n.map(format::count).or_nothing());
        [due, late, skipped]
    }

    /// What the thread got. Of one that only reads it is no condition of the figures.
    fn scheduling(&self, of: &Overview<'_>, thread: &Thread) -> String {
        let measures = of.document().probe.taken_by() == TakenBy::OwnThreads;
        measures.then(|| thread.granted()).or_nothing()
    }

    fn as_measured(&self, of: &Overview<'_>) -> String {
        tr!(name_as_measured, name = in_markdown(&of.name))
    }
}

/// One figure of a recording, over all its threads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OneFigure(Which);

#[derive(Clone, Copy, Debug, PartialEq)]
enum Which {
    Min,
    Latency(plan::Figure),
    Due,
    OnTime,
    Count(Count),
}

impl FromStr for OneFigure {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let which = match text {
            "min" => Some(Which::Min),
            "due" => Some(Which::Due),
            "on_time" => Some(Which::OnTime),
            "late" => Some(Which::Count(Count::Late)),
            "skipped" => Some(Which::Count(Count::Skipped)),
            "lost" => Some(Which::Count(Count::Lost)),
            _ => plan::Figure::named(text).map(Which::Latency),
        };
        which.map(OneFigure).ok_or_else(|| {
            "it is min, mean, sd, max, peak-to-peak, a quantile such as p99.9, due, on_time, late, \
             skipped or lost"
                .to_owned()
        })
    }
}

impl OneFigure {
    /// What is to be known exactly of a recording's latencies before this is asked of it.
    pub fn exact_request(self) -> ExactRequest {
        let levels = if let Which::Latency(plan::Figure::Quantile(level)) = self.0 {
            vec![level]
        } else {
            Vec::new()
        };
        ExactRequest { levels, ..ExactRequest::default() }
    }

    /// Its value, as a gate sees it: latencies in µs, with skipped activations counted in, those of
    /// the thread that is worst in it; counts of all threads together. None where the recording
    /// does not carry it.
    pub fn value(self, examined: &Examined) -> Option<String> {
        let recorded = &examined.recorded;
        let counts = || Overview::new(recorded).totals.activations;
        let of_latencies = match self.0 {
            Which::Min => None,
            Which::Latency(figure) => Some(figure),
            Which::Due => return counts().due().map(|n| n.to_string()),
            Which::OnTime => return counts().on_time().map(|n| n.to_string()),
            Which::Count(of) => return counts().of(of).map(|n| n.to_string()),
        };
        let (ns, between) = match of_latencies {
            None => {
                let min = |thread| {
                    let due = Latencies::due(thread);
                    Some((due.min()?, due.between(Figure::Min)))
                };
                let all: Option<Vec<_>> = recorded.threads.iter().map(min).collect();
                all?.into_iter().min_by_key(|(ns, _)| *ns)
            }
            Some(figure) => judge::figure(examined, figure),
        }?;
        Some(bounded(between, ns, |ns| {
            let sign = if ns < 0 { "-" } else { "" };
            format!("{sign}{}.{:03}", ns.unsigned_abs() / 1_000, ns.unsigned_abs() % 1_000)
        }))
    }

    /// Why a recording has no such value, as the end of a sentence that begins with its name.
    pub fn why_none(self, examined: &Examined) -> String {
        let of = |thread: &Statistics| Latencies::due(thread).count();
        let fewest = examined.recorded.threads.iter().map(of).min().unwrap_or(0);
        match self.0 {
            Which::Latency(plan::Figure::Quantile(level)) if fewest < level.needs() => format!(
                "has too few samples for {level}: {} of a thread, and it needs {}",
                format::counted_in_english(fewest, "sample"),
                format::count(level.needs())
            ),
            _ => "does not contain that figure".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sections::accounts::in_words;
    use crate::synthetic::Synthetic;
    use model::{Beside, Column, RowCounts, RowKind};
    use plan::{Policy, Scheduling};
    use stats::{Activations, AfterOverrun, Span, analyse};

    #[test]
    fn a_row_for_each_thread() {
        let recordings = [
            Synthetic::idle().threads(2).build(),
            Synthetic::idle().threads(1).samples(&[1_000, 2_500]).title("few | here").build(),
        ];
        let csv = threads_csv(&recordings);
        let lines: Vec<&str> = csv.lines().collect();
        assert_eq!(lines.len(), 4);
        assert!(
            lines[0].starts_with(
                "recording,thread,cpu,interval_ns,due,on_time,late,skipped,lost,count,min_ns,"
            ),
            "{csv}"
        );
        assert!(
            lines[0].ends_with(",probe,co_kernel,gravity,load_off_target,caveats,between_ns"),
            "{csv}"
        );
        assert!(
            lines[3].contains(",2,1000,1750,") && lines[3].contains(",1000,,,,,2500,"),
            "p90 and more are not known: {csv}"
        );
        let cells = |line: &str| line.matches(',').count();
        assert!(lines.iter().all(|line| cells(line) == cells(lines[0])), "{csv}");
        let table = threads_markdown(&recordings, Language::English);
        assert!(
            table.contains("| few \\| here | 0 | ")
                && table.ends_with(" | 1.0 | 1.8 | 1.0 | – | – | 2.5 | SCHED_FIFO 90 |\n"),
            "{table}"
        );
    }

    #[test]
    fn further_columns_and_probes_come_last() {
        let mut three =
            Synthetic::idle().threads(1).samples(&[1_000, 2_500]).title("three").build();
        let parity =
            Column { name: "parity".into(), unit: ColumnUnit::Count, meaning: "0 or 1".into() };
        three.document.probe.columns.extend([Column::ns("done_ns", "to the end"), parity]);
        three.document.probe.name = "spawn".into();
        three.document.run.probe_settings = [("method".to_owned(), "fork".to_owned())].into();
        let of = |values: &[i32]| {
            let Ok(statistics) =
                stats::summarise(&[Span::Woken(values)][..], 1_000_000, AfterOverrun::Unknown, 2);
            statistics
        };
        three.beside = vec![Beside {
            columns: vec![of(&[1_500, 3_500]), of(&[0, 1])],
            worst_times_ns: Vec::new(),
        }];
        let recordings = [Synthetic::idle().threads(1).title("idle").build(), three];
        let csv = threads_csv(&recordings);
        let rows: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
        let cell = |row: usize, name: &str| {
            rows[row][rows[0].iter().position(|heading| *heading == name).unwrap()]
        };
        assert_eq!(
            [cell(2, "done_min_ns"), cell(2, "done_max_ns"), cell(2, "done_mean_ns")],
            ["1500", "3500", "2500"]
        );
        assert_eq!(
            [cell(2, "parity_count"), cell(2, "parity_max"), cell(2, "probe")],
            ["2", "1", "spawn (method fork)"]
        );
        assert_eq!(
            [cell(1, "done_min_ns"), cell(1, "parity_max"), cell(1, "probe")],
            ["", "", "cyclic"]
        );
        let table = threads_markdown(&recordings, Language::English);
        assert!(
            table.contains("| max | Scheduling | Probe |\n")
                && table.contains(" | 2.5 | SCHED_FIFO 90 | spawn (method fork) |\n"),
            "{table}"
        );
        assert!(table.contains("| recording | thread | column | min | mean |"), "{table}");
        assert!(
            table.contains("| three | 0 | done, µs | 1.5 | 2.5 | 1.5 | – | – | 3.5 |\n"),
            "{table}"
        );
        let cyclic = threads_markdown(&recordings[..1], Language::English);
        assert!(!cyclic.contains("Probe") && !cyclic.contains("column"), "{cyclic}");
    }

    /// A CPU's number had a mean, and events the interval of the thread that read them.
    #[test]
    fn names_have_no_figures_and_events_no_interval() {
        let mut events = Synthetic::idle().threads(1).samples(&[1_000, 2_500]).build();
        let probe = &mut events.document.probe;
        (probe.rows, probe.overrun_column) = (RowKind::Events, None);
        let on_cpu =
            Column { name: Column::ON_CPU.into(), unit: ColumnUnit::Count, meaning: "CPU".into() };
        probe.columns.push(on_cpu);
        let csv = threads_csv(&[events]);
        let rows: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
        assert!(rows[0].iter().all(|heading| !heading.starts_with(Column::ON_CPU)), "{csv}");
        assert_eq!((rows[0][3], rows[1][3]), ("interval_ns", ""));
    }

    /// What threads got, and not what was asked for. Of a thread that only reads it says nothing.
    #[test]
    fn a_row_names_its_policy_and_priority() {
        let row = |scheduling, only_observes| {
            let mut recorded = Synthetic::idle().threads(1).samples(&[1_000, 2_500]).build();
            recorded.document.threads[0].scheduling = scheduling;
            recorded.document.probe.only_observes = only_observes;
            let table = threads_markdown(&[recorded], Language::English);
            table.trim_end().rsplit(" | 2.5 | ").next().unwrap().to_owned()
        };
        assert_eq!(row(Scheduling { policy: Policy::Rr, prio: Some(7) }, false), "SCHED_RR 7 |");
        assert_eq!(row(Scheduling::OTHER, false), "SCHED_OTHER |");
        assert!(row(Scheduling::OTHER, true).starts_with("– | cyclic"));
    }

    #[test]
    fn one_figure_is_one_number() {
        let latencies = [1_000, 2_500, -300];
        let recorded = Synthetic::idle().threads(1).samples(&latencies).build();
        let Ok(analysis) = analyse(
            &[Span::Woken(&latencies)][..],
            1_000_000,
            AfterOverrun::Skip,
            64,
            &ExactRequest::default(),
        );
        let examined = Examined { recorded, analyses: vec![analysis], pool: None };
        let figure = |name: &str| name.parse::<OneFigure>().unwrap().value(&examined);
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(
            [figure("max"), figure("min"), figure("p50")],
            [some("2.500"), some("-0.300"), some("1.000")]
        );
        assert_eq!(
            [figure("due"), figure("skipped"), figure("mean")],
            [some("3"), some("0"), some("1.067")]
        );
        assert_eq!(figure("p99"), None, "three latencies have no 99th percentile");
        let why = |name: &str| name.parse::<OneFigure>().unwrap().why_none(&examined);
        let too_few = "has too few samples for p99.99: 3 samples of a thread, and it needs 10,000";
        assert_eq!(why("p99.99"), too_few);
        assert_eq!(why("sd"), "does not contain that figure");
        for wrong in ["", "p", "p101", "median", "Max"] {
            assert!(wrong.parse::<OneFigure>().is_err(), "{wrong}");
        }
    }

    /// As a plan's rows say it.
    #[test]
    fn each_row_has_its_runs_caveats() {
        let mut recorded = Synthetic::idle().threads(2).build();
        recorded.document.load_off_target = true;
        recorded.document.state = model::State::Stopped;
        recorded.document.end = Some(model::End::Signal { name: "SIGINT".to_owned() });
        let csv = threads_csv(std::slice::from_ref(&recorded));
        let rows = || csv.lines().skip(1);
        assert!(rows().all(|row| row.ends_with(",,,true,stopped early by SIGINT,")), "{csv}");
        assert_eq!(rows().count(), 2);
    }

    /// The headline and the row had the thread's own counts, `--figure` and `gate` those of the
    /// samples where they were more.
    #[test]
    fn counts_are_the_same_everywhere_and_add_up_where_samples_were_lost() {
        let mut recorded =
            Synthetic::idle().threads(1).samples(&[2_500_000, 10_000, 12_000]).due(8).build();
        recorded.threads[0].lost = 3;
        let thread = &mut recorded.document.threads[0];
        thread.evidence.samples_lost = 2;
        let counted = Activations { due: 8, on_time: 5, late: 0, skipped: 3 };
        thread.activations = Some(RowCounts::Planned(counted));
        let csv = threads_csv(std::slice::from_ref(&recorded));
        let cells: Vec<&str> = csv.lines().nth(1).unwrap().split(',').collect();
        assert_eq!(cells[4..9], ["8", "4", "1", "3", "2"]);
        assert_eq!(
            in_words(std::iter::once(Overview::new(&recorded).totals.activations)),
            "4 of 8 activations on time, 1 late, 3 skipped"
        );
        let examined = Examined { recorded, analyses: Vec::new(), pool: None };
        let figures = ["due", "on_time", "late", "skipped", "lost"]
            .map(|name| name.parse::<OneFigure>().unwrap().value(&examined).unwrap());
        assert_eq!(figures[..], cells[4..9]);
        for (count, n) in [("late", 1), ("skipped", 3), ("lost", 2)] {
            let judged = judge::judge(&format!("{count}==0").parse().unwrap(), &examined);
            assert_eq!(judged.seen, judge::Seen::Count { n, due: 8 }, "{count}");
        }
    }

    #[test]
    fn a_figure_is_the_one_that_a_gate_sees() {
        let latencies: [&[i32]; 2] = [&[1_000, 2_500, 9_000], &[4_000, 4_100, 4_200]];
        let analysis = |latencies: &[i32]| {
            let Ok(analysis) = analyse(
                &[Span::Woken(latencies)][..],
                1_000_000,
                AfterOverrun::Skip,
                64,
                &ExactRequest::default(),
            );
            analysis
        };
        let recorded = Synthetic::idle().threads(2).samples(latencies[0]).build();
        let examined = Examined {
            recorded,
            analyses: latencies.into_iter().map(analysis).collect(),
            pool: None,
        };
        let spread = |name: &str| name.parse::<OneFigure>().unwrap().value(&examined).unwrap();
        assert_eq!([spread("sd"), spread("peak-to-peak")], ["4.252", "8.000"]);
        for (figure, thread) in [("max", 0), ("mean", 0), ("p50", 1)] {
            let judge::Seen::Latency { ns, thread: Some(of), .. } =
                judge::judge(&format!("{figure}<1ns").parse().unwrap(), &examined).seen
            else {
                panic!("{figure} is a latency")
            };
            let shown = figure.parse::<OneFigure>().unwrap().value(&examined).unwrap();
            assert_eq!(
                (format::exact_micros(ns).replace(',', ""), of),
                (shown, thread),
                "{figure}"
            );
        }
    }
}

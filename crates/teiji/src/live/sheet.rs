// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a screen shows of something that runs, made of the figures that it gives out. How it looks
//! is `view`'s.

use super::lines::{COLUMNS, how_far, load_line, thread_line};
use plan::Nanos;
use report::{Language, Paint, cause_of_latency, latency, shown};
use runner::{History, LiveCause, LiveThread, Progress, QUARTERS};
use stats::Histogram;

/// Spikes that are listed.
const MAX_LISTED: usize = 16;

/// What comes next onto the terminal.
pub enum Next {
    /// These lines instead of the last ones.
    Lines(Vec<String>),
    /// The same of a screen.
    Sheet(Box<Sheet>),
    /// This line for good, above whatever is drawn.
    Above(String),
}

/// All that a screen shows.
#[derive(Clone, Debug, Default)]
pub struct Sheet {
    /// How far a plan is, if it is one's run.
    pub heading: Option<String>,
    pub how_far: String,
    pub unit: &'static str,
    /// Above the rows.
    pub columns: String,
    /// One for each thread, load or guest.
    pub rows: Vec<Row>,
    /// What the charts show of all rows together, where that means something.
    pub all: Option<Charts>,
    /// What a row is called.
    pub of: &'static str,
    /// Loads of a run.
    pub below: Vec<String>,
    /// A list's title and its lines, the first the most important.
    pub list: Option<(String, Vec<String>)>,
}

#[derive(Clone, Debug, Default)]
pub struct Row {
    pub text: String,
    /// In the titles of its charts.
    pub name: String,
    /// None: there is nothing to chart.
    pub charts: Option<Charts>,
}

#[derive(Clone, Debug, Default)]
pub struct Charts {
    /// Of latencies, ns.
    pub histogram: Option<Histogram>,
    /// What `minute` has.
    pub title: &'static str,
    /// One value for each step of the last minute, the newest last.
    pub minute: Vec<Option<f64>>,
    /// Steps of a whole minute.
    pub steps: usize,
    /// What the chart reaches to at least, so that a percentage is one.
    pub full: Option<f64>,
    /// What was asked for, of these values.
    pub asked: Option<f64>,
}

/// A run's, under a line such as how far its plan is.
pub fn of_run(progress: &Progress, heading: Option<String>) -> Sheet {
    let rows: Vec<Row> = (progress.threads.iter().enumerate())
        .map(|(index, thread)| Row {
            text: thread_line(index, thread),
            name: format!("thread {index}"),
            charts: thread.history.as_ref().map(of_history),
        })
        .collect();
    Sheet {
        heading,
        how_far: how_far(progress),
        unit: "latency in µs",
        columns: COLUMNS.to_owned(),
        all: (rows.len() > 1).then(|| of_history(&together(&progress.threads))),
        rows,
        of: "thread",
        below: progress
            .loads
            .iter()
            .map(|load| shown(&load_line(load), Paint::Plain).into())
            .collect(),
        list: Some(spikes(progress)),
    }
}

fn of_history(history: &History) -> Charts {
    Charts {
        histogram: Some(history.histogram.clone()),
        title: "Largest latencies of the last minute, µs",
        minute: history.worst.iter().map(|worst| worst.map(micros)).collect(),
        steps: QUARTERS,
        full: None,
        asked: None,
    }
}

fn micros(ns: i64) -> f64 {
    Nanos(ns).as_micros_f64()
}

/// One history of all threads.
fn together(threads: &[LiveThread]) -> History {
    let mut all = History::default();
    for history in threads.iter().filter_map(|thread| thread.history.as_ref()) {
        all.histogram.merge(&history.histogram);
        // Threads begin less than an interval after one another: the newest quarter is that of all.
        for (back, worst) in history.worst.iter().rev().enumerate() {
            match all.worst.iter_mut().rev().nth(back) {
                Some(known) => *known = (*known).max(*worst),
                None => all.worst.push_front(*worst),
            }
        }
    }
    all
}

/// What is said of latencies one by one.
fn spikes(progress: &Progress) -> (String, Vec<String>) {
    let of = |(index, thread): (usize, &LiveThread)| {
        let spikes = thread.history.as_ref().map(|history| history.spikes.clone());
        spikes.unwrap_or_default().into_iter().map(move |spike| (index, spike))
    };
    let mut spikes: Vec<_> = progress.threads.iter().enumerate().flat_map(of).collect();
    let title = match (progress.explain_above, &progress.causes) {
        (None, _) => {
            spikes.sort_by_key(|(_, spike)| std::cmp::Reverse(spike.latency_ns));
            "Largest latencies (what caused them: --explain)".to_owned()
        }
        (Some(above), causes) => {
            spikes.sort_by_key(|(_, spike)| std::cmp::Reverse(spike.at_ns));
            let without =
                if causes.is_some() { "" } else { ". Their causes cannot be recorded here" };
            format!("Latencies above {}, the latest first{without}", latency(above.0))
        }
    };
    spikes.truncate(MAX_LISTED);
    let causes = progress.causes.as_deref();
    let line = |(index, spike): &(usize, runner::LiveSpike)| {
        let is_its =
            |cause: &&LiveCause| (cause.thread, cause.activation) == (*index, spike.activation);
        let cause = causes.map(|causes| cause(causes.iter().find(is_its))).unwrap_or_default();
        format!(
            "{:>7.1} s  thread {index:<2} {:>9.1} µs  {cause}",
            spike.at_ns.0 as f64 / 1e9,
            micros(spike.latency_ns)
        )
    };
    (title, spikes.iter().map(line).collect())
}

fn cause(known: Option<&LiveCause>) -> String {
    let account = match known {
        None => return "not explained yet".to_owned(),
        Some(cause) => cause.account.as_ref(),
    };
    let cause = account.and_then(|account| cause_of_latency(account, Language::English));
    cause.map_or_else(|| "no account".to_owned(), |cause| shown(&cause, Paint::Plain).into())
}

/// Of a minute, for what has a value a second.
pub const SECONDS: usize = 60;

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Account, Part, PartKind};
    use plan::CpuId;
    use runner::LiveSpike;

    fn thread(cpu: u32, worst: &[Option<i64>], spikes: &[LiveSpike]) -> LiveThread {
        let mut histogram = Histogram::default();
        worst.iter().flatten().for_each(|latency| histogram.record(*latency));
        let max = worst.iter().flatten().max().copied();
        LiveThread {
            cpu: Some(CpuId(cpu)),
            min: max,
            last: max,
            mean: None,
            p99: max,
            max,
            late: 0,
            skipped: 0,
            history: Some(History {
                histogram,
                worst: worst.iter().copied().collect(),
                spikes: spikes.to_vec(),
            }),
        }
    }

    fn spike(activation: u64, latency_ns: i64) -> LiveSpike {
        LiveSpike { activation, at_ns: Nanos::from_millis(activation.cast_signed()), latency_ns }
    }

    fn progress(explain_above: Option<Nanos>, causes: Option<Vec<LiveCause>>) -> Progress {
        Progress {
            elapsed_ns: Nanos::from_secs(2),
            expected_ns: Some(Nanos::from_secs(10)),
            threads: vec![
                thread(0, &[Some(5_000), None], &[spike(1_500, 90_000), spike(1_700, 60_000)]),
                thread(1, &[Some(1), Some(4_000), Some(7_000)], &[spike(1_600, 70_000)]),
            ],
            loads: Vec::new(),
            explain_above,
            causes,
        }
    }

    #[test]
    fn all_threads_together_have_the_largest_of_each_moment() {
        let sheet = of_run(&progress(None, None), None);
        let all = sheet.all.unwrap();
        assert_eq!(all.minute, [Some(0.001), Some(5.0), Some(7.0)]);
        assert_eq!(all.histogram.unwrap().total(), 4);
        assert_eq!(sheet.rows[0].charts.as_ref().unwrap().minute, [Some(5.0), None]);
    }

    #[test]
    fn the_largest_latencies_without_an_explanation() {
        let (title, lines) = of_run(&progress(None, None), None).list.unwrap();
        assert_eq!(title, "Largest latencies (what caused them: --explain)");
        assert_eq!(
            lines,
            [
                "    1.5 s  thread 0       90.0 µs  ",
                "    1.6 s  thread 1       70.0 µs  ",
                "    1.7 s  thread 0       60.0 µs  ",
            ]
        );
    }

    #[test]
    fn spikes_have_their_causes_once_these_are_known() {
        let parts = vec![
            Part {
                kind: PartKind::PreemptionOff,
                length_ns: 80_000,
                function: Some("slow".into()),
                ..Part::default()
            },
            Part { kind: PartKind::Switch, length_ns: 10_000, ..Part::default() },
        ];
        let (thread, activation) = (0, 1_500);
        let account = Account {
            thread,
            activation,
            latency_ns: 90_000,
            parts,
            timeline: model::Timeline::default(),
            ..Account::default()
        };
        let causes = vec![
            LiveCause { thread, activation, account: Some(account) },
            LiveCause { thread: 1, activation: 1_600, account: None },
        ];
        let list = |causes| of_run(&progress(Some(Nanos(50_000)), causes), None).list.unwrap();
        let (title, lines) = list(Some(causes));
        assert_eq!(title, "Latencies above 50.0 µs, the latest first");
        assert_eq!(
            lines,
            [
                "    1.7 s  thread 0       60.0 µs  not explained yet",
                "    1.6 s  thread 1       70.0 µs  no account",
                "    1.5 s  thread 0       90.0 µs  preemption off in slow",
            ]
        );
        let (title, lines) = list(None);
        assert!(title.ends_with(". Their causes cannot be recorded here"), "{title}");
        assert!(lines[0].ends_with(" µs  "), "{lines:?}");
    }
}

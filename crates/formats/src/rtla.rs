// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the outputs of rtla have in common: what it measures, its command line, and what it prints
//! below its figures.

use super::numbers::whole;
use super::{Import, ImportError, Lines, Output, Program};
use model::{Column, ProbeStatement, RowKind};
use plan::{Nanos, Policy, Scheduling};

/// Time from when the timer of timerlat was due until its interrupt is handled.
static IRQ: Program = timerlat(
    "timerlat-irq",
    "from the time at which timerlat's timer was due until its interrupt handler has read the \
     clock",
    "from the planned time until the interrupt is handled",
);

static THREAD: Program = timerlat(
    "timerlat-thread",
    "from the time at which timerlat's timer was due until its thread has read the clock in the \
     kernel",
    ProbeStatement::UNTIL_IT_RUNS,
);

static USER: Program = timerlat(
    "timerlat-user",
    "from the time at which timerlat's timer was due until its thread has returned from user space \
     to the kernel",
    "from the planned time until the thread has run in user space and is back in the kernel",
);

const fn timerlat(name: &'static str, point: &'static str, meaning: &'static str) -> Program {
    Program {
        name,
        measuring_point: point,
        column: Column::ns("latency_ns", meaning),
        rows: RowKind::Activations,
        is_planned: true,
        passes_over: true,
        resolution_ns: 1_000,
    }
}

/// What timerlat measures at the same time, in the order of its columns.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Irq,
    Thread,
    User,
}

impl Kind {
    pub(super) const ALL: [Kind; 3] = [Kind::Irq, Kind::Thread, Kind::User];

    pub(super) const fn program(self) -> &'static Program {
        match self {
            Kind::Irq => &IRQ,
            Kind::Thread => &THREAD,
            Kind::User => &USER,
        }
    }

    pub(super) const fn part(self) -> &'static str {
        match self {
            Kind::Irq => "irq",
            Kind::Thread => "thread",
            Kind::User => "user",
        }
    }

    /// Its name above columns.
    pub(super) const fn column(self) -> &'static str {
        match self {
            Kind::Irq => "IRQ",
            Kind::Thread => "Thr",
            Kind::User => "Usr",
        }
    }
}

/// What the command line says.
#[derive(Default)]
pub(super) struct Command {
    words: Vec<String>,
}

impl Command {
    pub(super) fn before(import: &Import<'_>, line: u64) -> Command {
        let called = |program| import.command(program, line);
        let words = called("rtla").or_else(|| called("timerlat")).or_else(|| called("osnoise"));
        Command { words: words.unwrap_or_default() }
    }

    /// The value of an option.
    fn option(&self, short: &str, long: &str) -> Option<&str> {
        for (at, word) in self.words.iter().enumerate() {
            if word == short || word == long {
                return self.words.get(at + 1).map(String::as_str);
            }
            let glued = word.strip_prefix(long).and_then(|rest| rest.strip_prefix('='));
            let glued = glued.or_else(|| word.strip_prefix(short).filter(|_| !is_long(word)));
            if let Some(value) = glued {
                return Some(value);
            }
        }
        None
    }

    pub(super) fn bucket_size(&self) -> Option<u64> {
        whole(self.option("-b", "--bucket-size")?)
    }

    /// Puts what it says into an output.
    pub(super) fn put(&self, output: &mut Output) {
        output.command_line.clone_from(&self.words);
        let period = self.option("-p", "--period").and_then(whole);
        let period = period.and_then(|us| i64::try_from(us).ok()?.checked_mul(1_000));
        output.interval = period.map(Nanos);
        output.scheduling = self.option("-P", "--priority").and_then(scheduling);
    }
}

fn is_long(word: &str) -> bool {
    word.starts_with("--")
}

/// `f:95`, `o:0`, `r:1` or `d:100us:1ms`.
fn scheduling(text: &str) -> Option<Scheduling> {
    let (policy, rest) = text.split_once(':')?;
    let policy = match policy {
        "f" | "F" => Policy::Fifo,
        "r" | "R" => Policy::Rr,
        "o" | "O" => return Some(Scheduling::OTHER),
        "d" | "D" => return Some(Scheduling { policy: Policy::Deadline, prio: None }),
        _ => return None,
    };
    Some(Scheduling { policy, prio: Some(u8::try_from(whole(rest)?).ok()?) })
}

/// Keeps what stands below figures: events that were missed, why the run was stopped, and what
/// rtla makes of it.
pub(super) fn below(lines: &mut Lines<'_>, outputs: &mut [Output]) -> Result<(), ImportError> {
    let mut say = |what: &str, text: &str| {
        for output in &mut *outputs {
            output.say(what, text);
        }
    };
    // The CPU that is analysed, and what its next lines belong to.
    let (mut cpu, mut heading) = (String::new(), String::new());
    let mut listed: Vec<String> = Vec::new();
    let mut is_stopped = false;
    while let Some(line) = lines.peek()? {
        let text = line.trim();
        let is_listed =
            text.starts_with("-> ") || (line.starts_with(char::is_whitespace) && is_item(text));
        if !is_listed && !listed.is_empty() {
            say(&format!("{cpu}{heading}"), &listed.join(", "));
            listed.clear();
        }
        if is_listed && !cpu.is_empty() {
            if listed.len() < MAX_LISTED {
                listed.push(text.split_whitespace().collect::<Vec<_>>().join(" "));
            }
        } else if let Some(rest) = text.strip_prefix("## CPU ") {
            cpu = format!("CPU {}: ", rest.split(' ').next().unwrap_or_default());
            heading.clear();
        } else if text.contains(" hit stop tracing") || text.ends_with("missed events") {
            say("rtla", text);
            is_stopped |= text.contains(" hit stop tracing");
        } else if let Some(rest) = text.strip_prefix("Max timerlat IRQ latency from idle:") {
            say("Max timerlat IRQ latency from idle", rest);
        } else if text.starts_with("Saving trace to ") || text.starts_with("Printing CPU tasks") {
            heading = String::from("tasks");
            cpu = if text.starts_with('P') { String::from("all CPUs: ") } else { String::new() };
        } else if let Some((what, figure)) = analysis(text).filter(|_| !cpu.is_empty()) {
            what.clone_into(&mut heading);
            if !figure.is_empty() {
                say(&format!("{cpu}{what}"), figure);
            }
        } else if !(text.is_empty()
            || text.starts_with("-----")
            || text == "The system has exit from idle latency!")
        {
            break;
        }
        lines.advance();
    }
    if !listed.is_empty() {
        say(&format!("{cpu}{heading}"), &listed.join(", "));
    }
    outputs.iter_mut().for_each(|output| output.is_broken_off |= is_stopped);
    Ok(())
}

/// Lines of a list that are kept.
const MAX_LISTED: usize = 100;

/// `objtool:49256   3.79 us`, or a task of a CPU: `[000]  comm:pid`.
fn is_item(text: &str) -> bool {
    let Some((_, behind)) = text.rsplit_once(':') else { return false };
    let mut words = behind.split_whitespace();
    let is_number = words.next().and_then(whole).is_some();
    text.starts_with('[') || (is_number && words.next().is_some())
}

/// A line of rtla's analysis of one latency: what, and how long.
fn analysis(text: &str) -> Option<(&str, &str)> {
    const NAMES: [&str; 13] = [
        "Previous IRQ interference",
        "IRQ handler delay",
        "IRQ latency",
        "Timerlat IRQ duration",
        "Blocking thread stack trace",
        "Blocking thread stacktrace",
        "Blocking thread",
        "NMI interference",
        "IRQ interference",
        "Softirq interference",
        "Thread interference",
        "Thread latency",
        "Timer IRQ latency",
    ];
    let name = NAMES.into_iter().find(|name| text.starts_with(name))?;
    Some((name, text[name.len()..].trim_start_matches(':').trim()))
}

/// The unit in brackets, ns: `(us)`.
pub(super) fn unit_ns(text: &str) -> Option<i64> {
    match text.trim_end().rsplit_once('(')?.1.trim_end_matches(')') {
        "us" => Some(1_000),
        "ns" => Some(1),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{figures, imported};

    #[test]
    fn options_in_every_spelling() {
        let command =
            |text: &str| Command { words: text.split_whitespace().map(str::to_owned).collect() };
        let all = command("rtla timerlat hist -p 500 -P f:95 --bucket-size=10");
        assert_eq!((all.bucket_size(), all.option("-p", "--period")), (Some(10), Some("500")));
        assert_eq!(command("rtla osnoise hist -b5").bucket_size(), Some(5));
        assert_eq!(command("rtla osnoise hist").bucket_size(), None);
        let policies = ["f:95", "r:1", "o:0", "d:100us:1ms", "x:1", "f:999"].map(scheduling);
        assert_eq!(
            policies.map(|one| one.map(|one| one.to_string())),
            [
                Some("SCHED_FIFO 95".to_owned()),
                Some("SCHED_RR 1".to_owned()),
                Some("SCHED_OTHER".to_owned()),
                Some("SCHED_DEADLINE".to_owned()),
                None,
                None
            ]
        );
    }
    /// As rtla prints it into a terminal: the screen is cleared, titles and headings have colours.
    fn in_a_terminal(text: &str) -> String {
        let drawn = |line: &str| {
            let is_title = line.trim_end().ends_with("Latency") || line.contains("Noise  ");
            let colour = match line {
                _ if line.starts_with("CPU ") => "\x1b[2;30;47m",
                _ if is_title && line.starts_with(' ') => "\x1bc\x1b[2;37;40m",
                _ => return format!("{line}\r\n"),
            };
            format!("{colour}{line}\x1b[0;0;0m\r\n")
        };
        text.lines().map(drawn).collect()
    }

    /// Each table and histogram that rtla prints, alone and in a terminal, exact.
    #[test]
    fn each_shape_is_known() {
        type Expected<'a> = &'a [(&'a str, &'a [(u64, i64, f64, i64)])];
        const TOP: &str = include_str!("samples/rtla-timerlat-top.txt");
        const TOP_USER: &str = include_str!("samples/rtla-timerlat-top-u-ns.txt");
        const NOISE: &str = include_str!("samples/rtla-osnoise-top.txt");
        const HARDWARE: &str = include_str!("samples/rtla-hwnoise.txt");
        const HIST_USER: &str = include_str!("samples/rtla-timerlat-hist-u-bucket10.txt");
        const HIST_NOISE: &str = include_str!("samples/rtla-osnoise-hist.txt");
        let once = TOP.split("rtla timerlat hit").next().unwrap();
        let first: String = TOP.lines().take(5).map(|line| format!("{line}\n")).collect();
        let old_top = once.lines().filter(|line| !line.starts_with("ALL") && !line.contains("--"));
        let old_top: String = old_top.map(|line| format!("{line}\n")).collect();
        let one_cpu = |heading: &str, rows: &str| {
            format!(
                "# RTLA timerlat histogram\n# Time unit is microseconds (us)\n# Duration:   0 \
                 00:00:01\n{heading}\n{rows}"
            )
        };
        let summary = "over: 0 1\ncount: 8 8\nmin: 0 1\navg: 0 2\nmax: 1 99\n";
        let kernel =
            one_cpu("Index   IRQ-000   Thr-000", &format!("0 5 0\n1 3 4\n2 0 2\n4 0 1\n{summary}"));
        let no_index =
            one_cpu("   IRQ-000   Thr-000", "5 0\n3 4\n0 2\n0 0\n0 1\n0 1\n8 8\n0 1\n0 2\n1 99\n");
        let no_irq =
            one_cpu("Index   Thr-007", "1 4\n2 4\nover: 0\ncount: 8\nmin: 1\navg: 1\nmax: 2\n");
        let no_summary = one_cpu("Index   IRQ-000   Thr-000", "0 5 0\n1 3 4\n2 0 2\nover: 0 0\n");
        let old_hist = HIST_USER.split("ALL:").next().unwrap();
        let irq_of_top: &[_] = &[(12_322, 0, 1_000.0, 15_000), (12_320, 0, 1_000.0, 28_000)];
        let of_top: &[_] = &[(12_322, 3_000, 9_000.0, 31_000), (12_320, 2_000, 11_000.0, 42_000)];
        let of_user: Expected<'_> = &[
            ("timerlat-irq", &[(1_000, 0, 1_000.0, 7_000), (999, 0, 0.0, 3_000)]),
            ("timerlat-thread", &[(1_000, 3_000, 7_000.0, 21_000), (999, 2_000, 2_000.0, 12_000)]),
            ("timerlat-user", &[(1_000, 4_000, 10_000.0, 24_000), (999, 3_000, 3_000.0, 15_000)]),
        ];
        let of_kernel: Expected<'_> = &[
            ("timerlat-irq", &[(8, 0, 0.0, 1_000)]),
            ("timerlat-thread", &[(8, 1_000, 2_000.0, 99_000)]),
        ];
        // The row of all CPUs, which rtla 6.1 has not, states a larger one.
        let of_old_top: &[_] = &[of_top[0], (12_320, 2_000, 11_000.0, 41_000)];
        let both = [("timerlat-irq", irq_of_top), ("timerlat-thread", of_top)];
        let both_of_old = [("timerlat-irq", irq_of_top), ("timerlat-thread", of_old_top)];
        let shapes: [(&str, &str, Expected<'_>); 13] = [
            ("timerlat top", once, &both),
            ("timerlat top of rtla 6.1", &old_top, &both_of_old),
            (
                "timerlat top, one table",
                &first,
                &[
                    ("timerlat-irq", &[(1_001, 0, 1_000.0, 7_000), (1_000, 0, 1_000.0, 9_000)]),
                    (
                        "timerlat-thread",
                        &[(1_001, 3_000, 9_000.0, 21_000), (1_000, 3_000, 9_000.0, 30_000)],
                    ),
                ],
            ),
            (
                "timerlat top -u -n",
                TOP_USER,
                &[
                    ("timerlat-irq", &[(1, 54, 54.0, 54)]),
                    ("timerlat-thread", &[(1, 161, 161.0, 161)]),
                    ("timerlat-user", &[(1, 70, 70.0, 70)]),
                ],
            ),
            (
                "osnoise top",
                NOISE,
                &[(
                    "osnoise-period",
                    &[
                        (59, 0, 304_896_000.0 / 59.0, 6_978_000),
                        (59, 0, 204_935_000.0 / 59.0, 6_251_000),
                    ],
                )],
            ),
            (
                "hwnoise",
                HARDWARE,
                &[("hwnoise-period", &[(599, 0, 138_000.0 / 599.0, 3_000), (599, 0, 0.0, 0)])],
            ),
            ("timerlat hist -u -b 10", HIST_USER, of_user),
            ("timerlat hist -u of an older rtla", old_hist, of_user),
            ("timerlat hist", &kernel, of_kernel),
            ("timerlat hist --no-index", &no_index, of_kernel),
            (
                "timerlat hist --no-irq",
                &no_irq,
                &[("timerlat-thread", &[(8, 1_000, 1_000.0, 2_000)])],
            ),
            (
                "timerlat hist --no-summary",
                &no_summary,
                &[
                    ("timerlat-irq", &[(8, 0, 375.0, 1_000)]),
                    ("timerlat-thread", &[(6, 1_000, 4_000.0 / 3.0, 2_000)]),
                ],
            ),
            (
                "osnoise hist",
                HIST_NOISE,
                &[(
                    "osnoise",
                    &[
                        (55_214, 9_000, 11_216.829_065_092_186, 29_000),
                        (55_444, 9_000, 12_438.785_080_441_527, 319_000),
                    ],
                )],
            ),
        ];
        for (shape, text, expected) in shapes {
            for text in [text.to_owned(), in_a_terminal(text)] {
                let all = imported(&text);
                let found: Vec<_> = all.iter().map(|one| figures(&one.document)).collect();
                let names: Vec<&str> =
                    all.iter().map(|one| one.document.run.probe.as_str()).collect();
                let (known, of): (Vec<&str>, Vec<_>) =
                    expected.iter().map(|(name, of)| (*name, of.to_vec())).unzip();
                assert_eq!((names, found), (known, of), "{shape}: {text}");
            }
        }
    }
}

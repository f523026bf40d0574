// SPDX-License-Identifier: MIT OR Apache-2.0
//! cyclictest of every version: the lines it draws again and again, its histogram, the samples of
//! `-v`, and what it prints beside them. All of one run is one output.

use super::command_line::{Asked, OF_CYCLICTEST, names};
use super::histogram::{histogram, is_histogram, is_of_histogram, row};
use super::numbers::{decimal, whole};
use super::output::of_thread;
use super::thread_line::{Broken, ThreadLine, read_all};
use super::{Import, ImportError, Lines, Output, Program};
use super::{cyclicdeadline, signaltest};
use model::{Column, ProbeStatement, RowKind};
use plan::{Nanos, Policy};

pub(crate) static CYCLICTEST: Program = Program {
    name: "cyclictest",
    measuring_point: "from the planned time of a cycle until the thread of cyclictest has read the \
                      clock",
    column: Column::ns("latency_ns", ProbeStatement::UNTIL_IT_RUNS),
    rows: RowKind::Activations,
    is_planned: true,
    passes_over: true,
    resolution_ns: 1_000,
};

/// Whether an output of cyclictest begins here.
pub(crate) fn begins(lines: &[&str]) -> bool {
    let Some(first) = lines.first() else { return false };
    if policy(first).is_some() {
        return lines.iter().any(|line| is_thread_line(line));
    }
    let next = || lines[1..].iter().find(|line| !line.trim().is_empty());
    is_thread_line(first)
        || first.starts_with("Max CPUs = ")
        || (is_histogram(first) && next().is_some_and(|line| is_of_histogram(line)))
        || (padded(first).is_some() && are_samples(lines))
}

/// Reads it.
pub(crate) fn read(lines: &mut Lines<'_>, import: &mut Import<'_>) -> Result<(), ImportError> {
    if import.command("cyclicdeadline", lines.number()).is_some() {
        return cyclicdeadline::read(lines, import);
    }
    let earlier = continued(lines, import)?;
    let (mut output, unit_ns, mut is_live) = match earlier {
        Some(Drawn { output, unit_ns, is_live }) => (output, unit_ns, is_live),
        None => {
            let (output, unit_ns) = begun(lines, import);
            (output, unit_ns, false)
        }
    };
    let (mut scheduling, mut has_histogram, mut has_samples) = (None, false, false);
    let (mut has_head, mut has_lines, mut is_asked) = (false, false, false);
    let mut broken = Broken::default();
    // Printed by -v: of each thread its interval and that to the next.
    let mut printed: Vec<i64> = Vec::new();
    while let Some(line) = lines.peek()? {
        let is_sample: fn(&str) -> Option<Sample> = if has_head { sample } else { padded };
        has_head |= line.starts_with("Max CPUs = ") || interval_of_thread(line).is_some();
        is_live |= policy(line).is_some();
        is_asked |= is_status(line);
        // What SIGUSR1 asks for may stand above the head, which is printed to another file.
        let has_any = has_lines && (is_live || !is_asked) || has_histogram || has_samples;
        if has_any && is_head(line) {
            break;
        }
        if let Some(of_all) = policy(line) {
            if has_histogram || has_samples {
                break;
            }
            scheduling = of_all;
            lines.advance();
        } else if is_thread_line(line) {
            if has_histogram || !read_all(lines, &mut output, unit_ns, scheduling)? {
                break;
            }
            has_lines = true;
        } else if is_histogram(line) {
            if has_histogram {
                break;
            }
            lines.advance();
            histogram(lines, &mut output, unit_ns, row)?;
            has_histogram = true;
        } else if is_sample(line).is_some() {
            if has_samples {
                break;
            }
            intervals(&mut output, &printed)?;
            samples(lines, &mut output, unit_ns, is_sample)?;
            has_samples = true;
            if lines.peek()?.is_some_and(signaltest::is_thread_line) {
                return Err(lines.error(
                    "the samples above are signaltest's (-v), which prints one that it did not \
                     take: give its lines below alone",
                ));
            }
        } else if let Some(interval) = interval_of_thread(line) {
            printed.push(interval);
            lines.advance();
        } else if beside(line, &mut output) || line.trim().is_empty() {
            broken.read(line, unit_ns);
            lines.advance();
        } else {
            break;
        }
    }
    if lines.peek()?.is_some_and(is_of_redraw) && lines.is_unended() {
        output.cut_at = Some(lines.number());
    }
    if output.threads.iter().any(|thread| !thread.is_empty()) {
        broken.put(&mut output);
        let has_ended = has_histogram || broken.is_any() || output.cut_at.is_some();
        if (is_live || is_asked) && !has_samples && !has_ended {
            import.drawn = Some(Drawn { output, unit_ns, is_live });
            return Ok(());
        }
        // Samples are on the disk already, of threads as they were known then.
        return import.add(finished(output, !has_samples));
    }
    if broken.is_any() {
        import.pass_over(output.line, "cyclictest stopped (-b) before its lines had a value");
    }
    Ok(())
}

/// A run of which there were but lines that it draws again, maybe further down in the same log.
pub(crate) struct Drawn {
    output: Output,
    unit_ns: i64,
    /// Whether it draws them by itself, and not because somebody asked (SIGUSR1).
    is_live: bool,
}

impl Drawn {
    /// Whether a line that no output has shows that another run follows: the lines of one that goes
    /// on have none of its kind among them.
    pub(crate) fn ends_before(&self, line: &str) -> bool {
        (self.is_live && is_head(line)) || (names(line, "cyclictest") && !is_status(line))
    }

    /// Nothing more is said of it.
    pub(crate) fn into_output(self) -> Output {
        finished(self.output, true)
    }
}

/// What follows from the lines of threads, and of the command line what they do not say.
fn finished(mut output: Output, fills: bool) -> Output {
    let smis = output.threads.iter().map(|thread| thread.smis);
    let smis: Vec<(usize, Option<u64>)> = smis.enumerate().collect();
    for (index, smis) in smis {
        if let Some(smis) = smis {
            output.say(&of_thread(index, "SMIs"), &smis.to_string());
        }
    }
    if fills && !output.command_line.is_empty() {
        Asked::from_words(&output.command_line).fill(&mut output);
    }
    output
}

/// An output that begins here, and the unit of its values.
fn begun(lines: &Lines<'_>, import: &mut Import<'_>) -> (Output, i64) {
    let mut output = import.output(&CYCLICTEST, lines.number());
    let mut unit_ns = import.unit_ns(1_000);
    output.is_of_unknown_unit = import.is_unit_open();
    if let Some(words) = import.command("cyclictest", lines.number()) {
        if import.is_unit_open()
            && let Some(is_in_ns) = OF_CYCLICTEST.is_in_ns(&words)
        {
            unit_ns = if is_in_ns { 1 } else { 1_000 };
            output.is_of_unknown_unit = false;
        }
        output.command_line = words;
    }
    output.resolution_ns = unit_ns;
    (output, unit_ns)
}

/// The run that the next line of a thread continues, as it was read so far. What was drawn of
/// another ends here.
fn continued(lines: &mut Lines<'_>, import: &mut Import<'_>) -> Result<Option<Drawn>, ImportError> {
    let Some(drawn) = import.drawn.take() else { return Ok(None) };
    for behind in 0..LINES_OF_HEAD {
        let Some(line) = lines.peek_behind(behind)? else { break };
        if let Some(line) = ThreadLine::parse(line) {
            let thread = drawn.output.threads.get(line.index);
            if thread.is_some_and(|thread| line.continues(thread, drawn.unit_ns)) {
                return Ok(Some(drawn));
            }
            break;
        }
        if policy(line).is_none() && !line.trim().is_empty() {
            break;
        }
    }
    import.add(drawn.into_output())?;
    Ok(None)
}

/// Whether a line is printed once, above the output of a run.
fn is_head(line: &str) -> bool {
    line.starts_with("# /dev/cpu_dma_latency") || line.starts_with("Max CPUs = ")
}

/// Whether it stands above the lines that SIGUSR1 asks for.
fn is_status(line: &str) -> bool {
    line.starts_with("# cyclictest current status")
}

/// Lines from that of the policy to that of a thread.
const LINES_OF_HEAD: usize = 3;

fn is_thread_line(line: &str) -> bool {
    ThreadLine::parse(line)
        .is_some_and(|line| ["P", "I", "C", "Max"].iter().all(|name| line.get(name).is_some()))
}

/// Whether it begins as the lines that are drawn again do.
fn is_of_redraw(line: &str) -> bool {
    line.trim_start().starts_with("T:") || line.starts_with("policy: ")
}

/// The policy of the line above those of threads: none in it where it is the default one, or
/// unknown.
fn policy(line: &str) -> Option<Option<Policy>> {
    let (name, _) = line.strip_prefix("policy: ")?.split_once(": loadavg:")?;
    Some(match name.trim_end_matches("/other") {
        "fifo" => Some(Policy::Fifo),
        "rr" => Some(Policy::Rr),
        "batch" => Some(Policy::Batch),
        "idle" => Some(Policy::Idle),
        _ => None,
    })
}

/// `Thread 0 Interval: 1500`, of -v, µs. It was printed after the distance to the next was added.
fn interval_of_thread(line: &str) -> Option<i64> {
    let (thread, interval) = line.strip_prefix("Thread ")?.split_once(" Interval:")?;
    whole(thread)?;
    decimal(interval, 1_000)
}

/// Gives each thread the interval that it really had, where that follows from what was printed.
fn intervals(output: &mut Output, printed: &[i64]) -> Result<(), ImportError> {
    if let [first, second, ..] = printed {
        let distance = second.checked_sub(*first);
        for (index, interval) in printed.iter().enumerate() {
            let real = distance.and_then(|distance| interval.checked_sub(distance));
            output.thread(index)?.interval = real.filter(|ns| *ns > 0).map(Nanos);
        }
    } else if let [only] = printed {
        output.say("Thread 0 Interval, which is larger by the distance", &only.to_string());
    }
    Ok(())
}

/// A thread, its cycle, and the value.
type Sample = (usize, u64, i64);

/// Digits and blanks of each of the three at least, as `-v` prints them.
const WIDTH: usize = 8;

/// A sample as `-v` prints it, with blanks before its numbers: times of day have none.
fn padded(line: &str) -> Option<Sample> {
    let (thread, behind) = line.split_once(':')?;
    let (cycle, value) = behind.split_once(':')?;
    let digits = value.trim_start_matches(' ');
    let end = digits.find(' ').unwrap_or(digits.len()) + value.len() - digits.len();
    let is_padded =
        |text: &str| text.len() == WIDTH || text.len() > WIDTH && !text.starts_with(' ');
    let is_one =
        thread.starts_with(' ') && [thread, cycle, &value[..end]].into_iter().all(is_padded);
    is_one.then(|| sample(line)).flatten()
}

/// Whether the first lines are samples, cycles of each thread after one another.
fn are_samples(lines: &[&str]) -> bool {
    let lines = || lines.iter().filter(|line| !line.trim().is_empty());
    let found: Vec<Sample> = lines().map_while(|line| padded(line)).collect();
    // Another run may begin, without anything between.
    let follows = |two: &[Sample]| two[0].0 != two[1].0 || two[0].1 < two[1].1 || two[1].1 == 0;
    found.len() >= 2 && found.windows(2).all(follows)
}

/// `thread:cycle:value`, of -v; with --smi a fourth number behind it.
fn sample(line: &str) -> Option<Sample> {
    let bytes = line.as_bytes();
    let mut at = 0;
    let mut field = |end: Option<u8>| -> Option<i64> {
        while bytes.get(at) == Some(&b' ') {
            at += 1;
        }
        let negative = bytes.get(at) == Some(&b'-');
        at += usize::from(negative);
        let (mut value, begin) = (0_i64, at);
        while let Some(digit) = bytes.get(at).filter(|byte| byte.is_ascii_digit()) {
            value = value.checked_mul(10)?.checked_add(i64::from(digit - b'0'))?;
            at += 1;
        }
        let is_ended = match end {
            Some(end) => bytes.get(at) == Some(&end),
            None => matches!(bytes.get(at), None | Some(b' ')),
        };
        // As in 00:12:31.
        let has_zeros = at > begin + 1 && bytes[begin] == b'0';
        at += 1;
        (at > begin + 1 && is_ended && !has_zeros).then_some(if negative { -value } else { value })
    };
    let (thread, cycle) = (field(Some(b':'))?, field(Some(b':'))?);
    let value = field(None)?;
    let rest = bytes.get(at.min(bytes.len())..).unwrap_or_default();
    let is_smi = rest.iter().all(|byte| byte.is_ascii_digit() || *byte == b' ');
    is_smi.then_some((usize::try_from(thread).ok()?, u64::try_from(cycle).ok()?, value))
}

/// Rows to each sample at most, beside those that so many samples more would have: others are lost.
const MAX_ROWS_OF_SAMPLE: u64 = 16;
const MAX_LOST: u64 = 10_000;

/// Reads the samples of -v, which are written so.
fn samples(
    lines: &mut Lines<'_>,
    output: &mut Output,
    unit_ns: i64,
    is_sample: fn(&str) -> Option<Sample>,
) -> Result<(), ImportError> {
    // Of each thread the cycle of its row 0, the next cycle, and how many samples there are.
    let mut cycles: Vec<Option<(u64, u64, u64)>> = Vec::new();
    while let Some((thread, cycle, value)) = lines.peek()?.and_then(is_sample) {
        if cycles.len() <= thread {
            output.thread(thread)?;
            cycles.resize(thread + 1, None);
        }
        let (first, next, taken) = cycles[thread].unwrap_or((cycle, cycle, 0));
        if cycle < next {
            // Another run begins, without anything between.
            if cycle == 0 {
                return Ok(());
            }
            return Err(lines.error(format!("cycle {cycle} does not follow {}", next - 1)));
        }
        if cycle > next {
            if next == first + 1 {
                let n = cycle + 1 - next;
                return Err(lines.error(format!(
                    "each value is the largest of {n} cycles (-o {n}): they are no samples"
                )));
            }
            let rows = cycle - first;
            if rows / MAX_ROWS_OF_SAMPLE > taken + MAX_LOST {
                return Err(lines.error(format!("nearly all of the {rows} samples above are lost")));
            }
            output.lose(thread, rows)?;
        }
        let Some(ns) = value.checked_mul(unit_ns) else {
            return Err(lines.error("no latency is so large"));
        };
        output.sample(thread, ns)?;
        cycles[thread] = Some((first, cycle.saturating_add(1), taken + 1));
        lines.advance();
    }
    if lines.peek()?.is_some_and(|line| sample(line).is_some()) {
        return Err(lines.error("the sample is not written as those above"));
    }
    Ok(())
}

/// Lines beside the figures. What they say is kept.
fn beside(line: &str, output: &mut Output) -> bool {
    if let Some((what, text)) = line.trim().trim_start_matches("# ").split_once([':', '=']) {
        let what = what.trim();
        if ["Thread Ids", "Break thread", "Break value", "spikes", "Max CPUs", "Online CPUs"]
            .contains(&what)
        {
            output.say(what, text);
            return true;
        }
    }
    if line.starts_with("T:") && line.contains(" Spike:") {
        output.say("Spike", line);
        return true;
    }
    if let Some(text) = line.strip_prefix("WARN: ") {
        output.say("WARN", text);
        return true;
    }
    line.starts_with("#---") || is_status(line) || is_head(line) || line.starts_with("INFO: ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{figures, imported, refused};
    use model::{End, Recorded, State, Unknown};

    /// Only the unit was read of it.
    #[test]
    fn a_command_line_fills_what_its_output_does_not_say() {
        let of = |flags: &str| {
            let text = format!(
                "$ cyclictest {flags}\n# Histogram\n000003 000002\t000005\n# Min Latencies: 00003 \
                 00003\n# Avg Latencies: 00003 00003\n# Max Latencies: 00003 00003\n"
            );
            imported(&text).remove(0).document
        };
        let document = of("-p 80 -i 200 -h 100 -t 2 -a 1,3 -c 1");
        let source = document.imported.as_ref().unwrap();
        assert!(!source.lacks(Unknown::Interval) && !source.lacks(Unknown::Scheduling));
        let threads: Vec<_> = document
            .threads
            .iter()
            .map(|one| (one.interval_ns.0, one.scheduling.to_string(), one.cpu.0, one.pinned))
            .collect();
        let thread = |cpu| (200_000, "SCHED_FIFO 80".to_owned(), cpu, true);
        assert_eq!(threads, [thread(1), thread(3)]);
        let said = source.says.iter().find(|said| said.what == "from the command line").unwrap();
        assert_eq!(said.text, "SCHED_FIFO 80; interval 200us; CPU 1, 3; CLOCK_REALTIME");
        let other = of("--policy=rr -p9 -h100 -a 0-1");
        assert_eq!(other.threads[1].scheduling.to_string(), "SCHED_RR 9");
        assert_eq!(other.threads[1].cpu.0, 1);
        assert!(of("-h 100 -i 500").imported.unwrap().lacks(Unknown::Scheduling));
    }

    #[test]
    fn a_sample_is_three_numbers() {
        assert_eq!(sample("       1:       2:     235"), Some((1, 2, 235)));
        assert_eq!(sample("       0:      12:      -5"), Some((0, 12, -5)));
        assert_eq!(sample("0:1:2       4"), Some((0, 1, 2)));
        for line in ["0:1", "a:1:2", "0:1:", "0:1:2x", "12:00:01 x", "0:1:2:3", ":1:2", "0:12:07"] {
            assert_eq!(sample(line), None, "{line}");
        }
    }

    /// What `-v` prints of these cycles.
    fn v(cycles: &[(u64, i64)]) -> String {
        cycles.iter().map(|(cycle, value)| format!("{:8}:{cycle:8}:{value:8}\n", 0)).collect()
    }

    #[test]
    fn times_of_day_are_no_samples() {
        let none = "no output of a known format is in it";
        for line in [
            "12:10:31",
            "00:12:31",
            "elapsed 1:10:10",
            "   1234 10:11:12",
            "backup 3:14:15",
            "       1 1:02:03",
        ] {
            assert_eq!(refused(&format!("{line}\n").repeat(8)), none, "{line}");
        }
        let text = v(&[(0, 7), (1, 8), (2, 9)]);
        let in_log: String = text.lines().map(|line| format!("Nov 20 host: {line}\n")).collect();
        for text in [&text, &in_log] {
            assert_eq!(imported(text)[0].document.threads[0].latency_ns.unwrap().count, 3);
        }
        // Where their head shows that they are samples they may have lost their blanks.
        let head = "Max CPUs = 2\nThread 0 Interval: 1500\n0:0:7\n0:1:8\n";
        assert_eq!(imported(head)[0].document.threads[0].latency_ns.unwrap().count, 2);
        assert_eq!(
            refused(&(text + "0:3:4\n")),
            "line 4: the sample is not written as those above"
        );
    }

    /// A log of a run that goes on, or that was killed: what was drawn before stands, and that the
    /// run came to its end is not said.
    #[test]
    fn a_log_that_is_cut_within_a_line_has_no_end() {
        let line = |cycles: u32| {
            format!("T: 0 (1) P:80 I:1000 C:{cycles:7} Min: 8 Act: 15 Avg: 51 Max: 72")
        };
        let head = "policy: fifo: loadavg: 1.53 1.62 1.35 6/111 12000          \n\n";
        let drawn = format!("{head}{}\n", line(1_300));
        let is_cut = |text: &str| {
            let all = imported(text);
            assert_eq!(all.len(), 1, "{text}");
            assert_eq!(all[0].document.threads[0].latency_ns.unwrap().count, 1_300, "{text}");
            let at = text.lines().count();
            let cut = End::RecordingFailed { error: format!("the file ends within line {at}") };
            let document = &all[0].document;
            assert_eq!(document.state == State::Complete, document.end == Some(End::Done));
            document.end == Some(cut)
        };
        for cut in ["Min", "Min: ", "Max: "] {
            let next = line(1_310);
            let until = next.find(cut.trim_end()).unwrap() + cut.len();
            let text = format!("{drawn}{head}{}", &next[..until]);
            assert!(is_cut(&text), "{text}");
        }
        assert!(is_cut(&format!("{drawn}policy: fi")));
        for whole in [drawn.clone(), format!("{drawn}root@board:~# ")] {
            assert!(!is_cut(&whole), "{whole}");
        }
    }

    #[test]
    fn lines_that_are_drawn_again() {
        let text = "$ cyclictest -t2 -p 80 -i 1000\n# /dev/cpu_dma_latency set to 0us\n\
                    policy: fifo: loadavg: 1.53 1.62 1.35 6/111 12000          \n\n\
                    T: 0 (11999) P:80 I:1000 C:  9 Min: 20 Act:   20 Avg:  109 Max:     192\n\
                    T: 1 (12000) P:79 I:1500 C:  4 Min: 27 Act:   27 Avg:   47 Max:      74\n\
                    \x1b[4Apolicy: fifo: loadavg: 1.53 1.62 1.35 6/111 12000          \n\n\
                    T: 0 (11999) P:80 I:1000 C: 19 Min: 20 Act:   20 Avg:   60 Max:     292\n\
                    T: 1 (12000) P:79 I:1500 C: 12 Min: 17 Act:   27 Avg:   47 Max:      74\n";
        let all = imported(text);
        assert_eq!(all.len(), 1);
        let document = &all[0].document;
        let figures = |thread: usize| {
            let of = document.threads[thread].latency_ns.unwrap();
            (of.count, of.min, of.mean, of.max)
        };
        assert_eq!(figures(0), (19, 20_000, 60_000.0, 292_000));
        assert_eq!(figures(1), (12, 17_000, 47_000.0, 74_000));
        assert_eq!(document.threads[1].scheduling.to_string(), "SCHED_FIFO 79");
        assert_eq!(
            (document.run.interval_ns, document.run.distance_ns),
            (Nanos(1_000_000), Nanos(500_000))
        );
        assert_eq!(document.command_line[..2], ["cyclictest", "-t2"]);
        let source = document.imported.as_ref().unwrap();
        assert_eq!((source.line, source.format.as_str()), (3, "cyclictest"));
    }

    #[test]
    fn histograms_of_several_versions() {
        let old = "# Histogram\n000010 000002\t000000\t000002\n000014 000056\t000023\t000079\n\
                   000015 000000\t000000\t000000\n# Total: 000000058 000000023 000000081\n\
                   # Min Latencies: 00010 00014\n# Avg Latencies: 00042 00032\n\
                   # Max Latencies: 11448 00014 11448\n# Histogram Overflows: 00002 00000 00002\n\
                   # Histogram Overflow at cycle number:\n# Thread 0: 00000 00001\n# Thread 1:\n\n";
        let all = imported(old);
        let threads = &all[0].document.threads;
        assert_eq!(threads.len(), 2);
        let buckets: Vec<(i64, i64, u64)> = threads[0]
            .histogram_ns
            .buckets
            .iter()
            .map(|bucket| (bucket.lower, bucket.upper, bucket.count))
            .collect();
        assert_eq!(buckets, [(10_000, 10_000, 2), (14_000, 14_000, 56), (16_000, 11_448_000, 2)]);
        let of = threads[0].latency_ns.unwrap();
        assert_eq!((of.count, of.min, of.mean, of.max), (60, 10_000, 42_000.0, 11_448_000));
        let contradicts = format!("{:?}", all[0].document.warnings);
        assert!(contradicts.contains("thread 1: mean"), "{contradicts}");
        assert_eq!(all[0].document.warnings.len(), 1, "{contradicts}");
    }

    #[test]
    fn samples_keep_their_order_and_what_is_missing() {
        let text = "Max CPUs = 2\nOnline CPUs = 2\nThread 0 Interval: 1500\nThread 1 Interval: \
                    2000\n       0:       0:      25\n       1:       0:     235\n       0:       \
                    1:      26\n       0:       2:      27\n       0:       5:      29\n       \
                    1:       1:       3\n";
        let all = imported(text);
        let document = &all[0].document;
        assert_eq!(
            document.threads.iter().map(|thread| thread.interval_ns.0).collect::<Vec<_>>(),
            [1_000_000, 1_500_000]
        );
        assert_eq!(document.threads[0].latency_ns.unwrap().count, 4);
        assert_eq!(document.threads[0].evidence.samples_lost, 2);
        assert_eq!(document.threads[1].latency_ns.unwrap().max, 235_000);
    }

    /// What 2.4 printed here, and 2.10.
    #[test]
    fn outputs_of_many_options() {
        let one = |text: &str| {
            let mut all = imported(text);
            assert_eq!(all.len(), 1);
            let document = all.remove(0).document;
            assert_eq!(document.warnings, Vec::new());
            document
        };
        let of = |text: &str| figures(&one(text));
        // Read through a FIFO, and after SIGUSR1 and SIGUSR2, the second time with NULs before it.
        let usr1 = [(3_999, 13_000, 25_000.0, 1_133_000), (2_664, 15_000, 32_000.0, 1_977_000)];
        assert_eq!(of(include_str!("samples/cyclictest-2.4-usr1.txt")), usr1);
        let usr2 = [(3_607, 13_000, 25_000.0, 1_133_000), (2_402, 15_000, 32_000.0, 1_977_000)];
        assert_eq!(of(include_str!("samples/cyclictest-2.4-usr2.txt")), usr2);
        let fifo = [(991, 14_000, 31_000.0, 6_757_000), (667, 11_000, 30_000.0, 82_000)];
        assert_eq!(of(include_str!("samples/cyclictest-2.4-fifo.txt")), fifo);
        // A sum of all threads (-H), lines and a histogram below, a histogram of 2.10.
        let sum = one(include_str!("samples/cyclictest-2.4-H.txt"));
        assert_eq!(
            figures(&sum),
            [(300, 17_000, 28_000.0, 65_000), (300, 15_000, 27_000.0, 93_000)]
        );
        let live = [(300, 16_000, 28_000.0, 62_000), (300, 17_000, 29_000.0, 74_000)];
        assert_eq!(of(include_str!("samples/cyclictest-2.4-hlive.txt")), live);
        let new = [(300, 18_000, 31_000.0, 43_000), (300, 14_000, 26_000.0, 66_000)];
        assert_eq!(of(include_str!("samples/cyclictest-2.10-h.txt")), new);
        // --policy=idle, --spike, -R -v, -v.
        let idle = one(include_str!("samples/cyclictest-2.4-idle.txt"));
        assert_eq!(figures(&idle), [(100, 68_000, 76_000.0, 153_000)]);
        assert_eq!(idle.threads[0].scheduling.to_string(), "SCHED_IDLE");
        let spikes = one(include_str!("samples/cyclictest-2.4-spike.txt"));
        let says = &spikes.imported.as_ref().unwrap().says;
        assert_eq!(says[0].text, "T: 0 Spike:      31: TS:   3384623929");
        assert_eq!(of(include_str!("samples/cyclictest-2.4-rv.txt"))[0].0, 30);
        let samples = one(include_str!("samples/cyclictest-2.4-v.txt"));
        assert_eq!((samples.threads.len(), figures(&samples)[0].0), (2, 200));
        let smi = "T: 0 (1) P:80 I:1000 C: 9 Min: 2 Act: 2 Avg: 3 Max: 4 SMI:       7\n";
        assert_eq!(one(smi).imported.as_ref().unwrap().says[0].text, "7");
    }

    #[test]
    fn histogram_of_a_board() {
        let all = imported(include_str!("samples/cyclictest-field-h60.txt"));
        let document = &all[0].document;
        assert_eq!(
            figures(document),
            [
                (8_476_223, 4_000, 5_000.0, 27_000),
                (9_126_242, 4_000, 5_000.0, 83_000),
                (5_922_320, 4_000, 6_000.0, 19_000),
                (14_378_775, 4_000, 5_000.0, 27_000)
            ]
        );
        assert_eq!(document.warnings, Vec::new());
    }

    #[test]
    fn intervals_that_are_none() {
        let text = "Thread 0 Interval: -9000000000000000\nThread 1 Interval: 9000000000000000\n\
                    \x20      0:       0:      25\n       0:       1:      26\n\
                    \x20      1:       0:      25\n       1:       1:      26\n";
        let document = imported(&format!("Max CPUs = 2\n{text}")).remove(0).document;
        assert!(document.imported.as_ref().unwrap().lacks(model::Unknown::Interval));
    }

    #[test]
    fn a_maximum_that_the_histogram_does_not_have() {
        let text = "# Histogram\n000010 000002\n000014 000056\n# Min Latencies: 00004\n\
                    # Avg Latencies: 00012\n# Max Latencies: 11448\n";
        let document = imported(text).remove(0).document;
        let of = figures(&document)[0];
        assert_eq!((of.1, of.3), (4_000, 11_448_000));
        assert!(document.imported.as_ref().unwrap().lacks(model::Unknown::Beyond));
        let warnings = format!("{:?}", document.warnings);
        assert!(warnings.contains("thread 0: maximum"), "{warnings}");
        assert!(warnings.contains("thread 0: minimum"), "{warnings}");
    }

    #[test]
    fn a_mean_above_the_maximum() {
        let line = "T: 0 (1) P:80 I:1000 C: 9 Min: 2 Act: 2 Avg: 8 Max: 7\n";
        let document = imported(line).remove(0).document;
        assert_eq!(figures(&document), [(9, 2_000, 7_000.0, 7_000)]);
        assert!(format!("{:?}", document.warnings).contains("thread 0: mean"));
    }

    /// Nothing but the command line says that values are in ns.
    #[test]
    fn values_in_ns() {
        let text = include_str!("samples/cyclictest-2.4-nh.txt");
        for prose in ["without cyclictest -N\n", "cyclictest -q\n$ cyclictest -qN\n"] {
            let document = imported(&format!("{prose}{text}")).remove(0).document;
            assert!(document.imported.as_ref().unwrap().lacks(model::Unknown::Unit), "{prose}");
        }
        let document =
            imported(&format!("# cyclictest -qN -t2 -h 100000\n{text}")).remove(0).document;
        assert_eq!(
            figures(&document),
            [(200, 19_266, 28_466.0, 85_105), (200, 17_185, 31_368.0, 41_610)]
        );
        assert_eq!(document.warnings, Vec::new());
    }

    #[test]
    fn runs_one_after_the_other() {
        let all = imported(include_str!("samples/cyclictest-2.4-two-q.txt"));
        let of: Vec<_> = all.iter().map(|one| figures(&one.document)).collect();
        assert_eq!(
            of,
            [
                [(300, 16_000, 26_000.0, 41_000), (207, 16_000, 45_000.0, 1_317_000)],
                [(300, 15_000, 25_000.0, 63_000), (209, 16_000, 23_000.0, 38_000)]
            ]
        );
        let line = |at: usize| all[at].document.imported.as_ref().unwrap().line;
        assert_eq!((line(0), line(1)), (2, 5));
    }

    fn line(index: usize, tid: u32, cycles: u32, max: u32) -> String {
        format!("T: {index} ({tid}) P:80 I:1000 C: {cycles} Min: 2 Act: 2 Avg: 3 Max: {max}\n")
    }

    /// Of each run and thread the cycles and the largest, ns.
    fn counts(text: &str) -> Vec<Vec<(u64, i64)>> {
        let figures =
            |one: &Recorded| figures(&one.document).iter().map(|of| (of.0, of.3)).collect();
        imported(text).iter().map(figures).collect()
    }

    /// A log has other lines between those of one run.
    #[test]
    fn lines_drawn_once_more_are_of_the_same_run() {
        let policy = "policy: fifo: loadavg: 1.53 1.62 1.35 6/111 12000          \n\n";
        let first =
            format!("$ cyclictest -N -t2\n{policy}{}{}", line(0, 10, 9, 5), line(1, 11, 8, 6));
        let again = format!("some text\n{policy}{}", line(0, 10, 30, 7));
        // In ns, as the command above the first lines says; the other thread is as it was.
        assert_eq!(counts(&format!("{first}{again}")), [[(30, 7), (8, 6)]]);
        let third = format!("more\nof it\n{policy}{}{}", line(0, 10, 30, 7), line(1, 11, 31, 9));
        assert_eq!(counts(&format!("{first}{again}{third}")), [[(30, 7), (31, 9)]]);
        let asked = format!("# cyclictest current status:\n{}", line(0, 10, 30, 7));
        assert_eq!(counts(&format!("{first}some text\n{asked}")), [[(30, 7), (8, 6)]]);
        // The count goes back, or it is another thread: another run.
        let back = format!("some text\n{policy}{}", line(0, 10, 4, 7));
        assert_eq!(counts(&format!("{first}{back}")).len(), 2);
        let other = format!("some text\n{policy}{}", line(0, 20, 30, 7));
        assert_eq!(counts(&format!("{first}{other}")).len(), 2);
        // Each has a head of its own, whatever its figures.
        let head = "# /dev/cpu_dma_latency set to 0us\n";
        let in_container = "+ docker run rt cyclictest -t2\n";
        for head in [head, in_container] {
            assert_eq!(counts(&format!("{first}{head}{policy}{}", line(0, 10, 30, 7))).len(), 2);
        }
    }

    /// In a container each has the same id, and nearly as many cycles.
    #[test]
    fn runs_of_the_same_thread_id() {
        let (one, more) = (line(0, 8, 9_998, 5), line(0, 8, 9_999, 50));
        for between in ["\n== load\n", "# /dev/cpu_dma_latency set to 0us\n"] {
            let of = counts(&format!("{one}{between}{more}"));
            assert_eq!(of, [[(9_998, 5_000)], [(9_999, 50_000)]], "{between}");
            assert_eq!(counts(&format!("{one}{between}{one}")).len(), 2, "{between}");
        }
        // Nothing stands between them, and they cannot be of one run.
        for (first, second) in [(5, 50), (50, 5)] {
            let text = format!("{}{}", line(0, 8, 99, first), line(0, 8, 99, second));
            assert_eq!(counts(&text).len(), 2);
        }
        let rises = line(0, 8, 999, 50).replace("Min: 2", "Min: 3");
        assert_eq!(counts(&format!("{one}{rises}").replace("C: 9998", "C: 99")).len(), 2);
    }

    /// Each of them was a folder on the disk until the next.
    #[test]
    fn a_run_is_written_once() {
        let policy = "policy: fifo: loadavg: 1.53 1.62 1.35 6/111 12000          \n\n";
        let text: String =
            (1..20_000).map(|cycle| format!("{policy}{}x\n", line(0, 8, cycle, 50))).collect();
        let begun = std::time::Instant::now();
        assert_eq!(counts(&text), [[(19_999, 50_000)]]);
        assert!(begun.elapsed().as_secs() < 20, "{:?}", begun.elapsed());
    }

    /// Lines of spikes are many, and stand above how many there were.
    #[test]
    fn how_many_spikes_there_were() {
        let spikes: String =
            (0..300).map(|at| format!("T: 0 Spike:      31: TS: {:12}\n", 780 + at)).collect();
        let text = format!("{}\n{spikes}spikes = 412\n\n", line(0, 8, 999, 50));
        let document = imported(&text).remove(0).document;
        let says = &document.imported.as_ref().unwrap().says;
        let of = |what: &str| says.iter().filter(|said| said.what == what).collect::<Vec<_>>();
        assert_eq!(of("spikes")[0].text, "412");
        assert_eq!(of("Spike").len(), 65);
        assert_eq!(of("Spike")[64].text, "236 more of them are left out");
    }

    /// The latency that ended the run came after its lines were drawn for the last time.
    #[test]
    fn latency_that_ended_the_run() {
        let line = |tid: u32| {
            format!("T: {} ({tid}) P:80 I:1000 C: 9 Min: 2 Act: 2 Avg: 3 Max: 7\n", tid % 2)
        };
        let lines = format!("{}{}", line(10), line(11));
        let text =
            format!("{lines}# Thread Ids: 00010 00011\n# Break thread: 10\n# Break value: 220\n");
        let document = imported(&text).remove(0).document;
        assert_eq!(figures(&document), [(9, 2_000, 3_000.0, 220_000), (9, 2_000, 3_000.0, 7_000)]);
        let warnings = format!("{:?}", document.warnings);
        assert!(warnings.contains(r#"stated: "7.000 us", found: "220.000 us""#), "{warnings}");
        let document = imported(&text.replace("220", "7")).remove(0).document;
        assert_eq!(document.warnings, Vec::new());
    }

    #[test]
    fn an_interval_that_stands_below_lost_samples() {
        let sample = |cycle: u64, value: i64| format!("{:8}:{cycle:8}:{value:8}\n", 0);
        let samples =
            [(0, 25), (1, 26), (5, 27), (6, 28)].map(|(cycle, value)| sample(cycle, value));
        let line = "T: 0 (7) P:80 I:1500 C: 7 Min: 25 Act: 28 Avg: 26 Max: 28\n";
        let text = &format!("{}{line}", samples.concat());
        let document = imported(text).remove(0).document;
        assert_eq!(document.threads[0].interval_ns, Nanos(1_500_000));
        assert_eq!(document.threads[0].latency_ns.unwrap().count, 4);
    }

    #[test]
    fn printed_intervals_too_far_apart() {
        let text = "Max CPUs = 2\nThread 0 Interval: -9000000000000000\nThread 1 Interval: \
                    9000000000000000\n 0: 0: 25\n 1: 0: 235\n 0: 1: 26\n 1: 1: 26\n";
        let document = imported(text).remove(0).document;
        assert!(document.imported.as_ref().unwrap().lacks(Unknown::Interval));
    }

    #[test]
    fn outputs_that_end_too_early() {
        assert_eq!(
            refused(include_str!("samples/cyclictest-2.4-break.txt")),
            "line 2: cyclictest stopped (-b) before its lines had a value"
        );
        let whole = include_str!("samples/cyclictest-2.4-H.txt");
        let cut = |at: &str| whole.split_once(at).unwrap().0.to_owned();
        assert_eq!(refused(&cut("000055")), "line 58: the histogram ends before its Max Latencies");
        assert_eq!(refused(&cut("# Max")), "line 66: the histogram ends before its Max Latencies");
    }

    #[test]
    fn what_is_damaged_is_named_with_its_line() {
        assert_eq!(
            refused("# Histogram\n000001 000002\n000001 000003\n"),
            "line 3: the bucket does not follow the one above"
        );
        assert_eq!(
            refused("# Histogram\n000001 000002\n000002 000003 000004\n"),
            "line 3: the row has another number of columns than those above"
        );
        assert_eq!(
            refused(&v(&[(0, 7), (1, 8), (999_999_999_999, 8)])),
            "line 3: nearly all of the 999999999999 samples above are lost"
        );
        assert_eq!(
            refused(&v(&[(4, 7), (9, 8), (14, 8)])),
            "line 2: each value is the largest of 5 cycles (-o 5): they are no samples"
        );
    }
}

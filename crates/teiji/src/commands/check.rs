// SPDX-License-Identifier: MIT OR Apache-2.0
//! `teiji check`: what about this machine costs latency, and what to do about it.

use crate::commands::tune::{cpu_words, host_root, root_flag};
use crate::exit::{CommandResult, DONE};
use crate::output;
use anyhow::{anyhow, ensure};
use check::{
    Activity, Advice, CheckOptions, CpuTime, Finding, KernelConfig, Purpose, Status, Watched,
};
use plan::{CpuId, CpuList, Nanos, Unit};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::time::Duration;

#[derive(clap::Args)]
pub struct Args {
    /// What the machine is used for, which decides what is bad about it: audio, robotics, telco or
    /// measure
    #[arg(long = "for", value_name = "USE", default_value = "measure", value_parser = purpose)]
    purpose: Purpose,

    /// CPUs that are to be on time [default: those that are set apart, or all]
    #[arg(short = 'a', long, value_name = "LIST")]
    cpus: Option<CpuList>,

    /// The real-time priority that is to be on time
    #[arg(
        short,
        long,
        value_name = "PRIO",
        default_value_t = 90,
        value_parser = clap::value_parser!(u8).range(1..=99),
    )]
    prio: u8,

    /// A kernel configuration to look at instead of this machine
    #[arg(long, value_name = "FILE")]
    kernel_config: Option<PathBuf>,

    /// The same, out of a kernel image that was built with IKCONFIG
    #[arg(long, value_name = "FILE", conflicts_with = "kernel_config")]
    kernel_image: Option<PathBuf>,

    /// Say which CPUs to isolate and to measure, with the kernel's arguments
    #[arg(long)]
    advise: bool,

    /// Say what runs on these CPUs within a time, such as 1s
    #[arg(long, value_name = "TIME", value_parser = watch_time)]
    watch: Option<Duration>,

    /// Files of another machine, below a directory that stands for its /
    #[arg(long, value_name = "DIR", default_value = "/")]
    root: PathBuf,

    /// Print JSON instead
    #[arg(long)]
    json: bool,
}

/// A purpose by its word.
fn purpose(word: &str) -> anyhow::Result<Purpose> {
    super::named_so(&Purpose::ALL, Purpose::word, word, ("it is one of", ", "))
}

fn watch_time(text: &str) -> anyhow::Result<Duration> {
    let time = Nanos::parse(text, Unit::Second)?;
    ensure!(time.0 > 0 && time <= MAX_WATCH, "it is more than 0 and at most 1h");
    Ok(time.duration())
}

/// Longer than anybody waits for it.
const MAX_WATCH: Nanos = Nanos::from_secs(3_600);

/// Something is bad.
const BAD: u8 = 1;

pub fn run(args: &Args) -> CommandResult {
    let root = host_root(&args.root)?;
    if args.watch.is_some() && !root.is_running() {
        refuse!(
            "{} has files of a machine that does not run: nothing can be watched",
            args.root.display()
        );
    }
    let file = args.kernel_config.as_deref().or(args.kernel_image.as_deref());
    let config = file.map(KernelConfig::from_file).transpose().map_err(|error| anyhow!(error))?;
    let cpus = args.cpus.as_ref().map(|list| list.resolve(&root.online_cpus())).transpose()?;
    let options = CheckOptions {
        purpose: args.purpose,
        cpus,
        priority: args.prio,
        config,
        output_flags: output_flags(args),
    };
    let findings = tune::findings(&root, &options);
    let advice = args.advise.then(|| Advice::for_machine(&root, options.config.clone()));
    let watched = args.watch.map(|time| Watched::watch(&root, options.cpus.as_deref(), time));
    if args.json {
        let mut document = as_json(&options, &findings);
        if let Some(advice) = &advice {
            document["advice"] = advice.as_ref().map_or(Value::Null, advice_json);
        }
        if let Some(watched) = &watched {
            document["cpu_time"] = watched.cpu_time.iter().map(cpu_time_json).collect();
            document["watched"] = watched.activities.iter().map(activity_json).collect();
        }
        say!("{document:#}\n");
    } else {
        let tuned = check::cpus_on_time(&root, options.cpus.clone());
        let advice = advice.map(|advice| advice_text(advice.as_ref())).unwrap_or_default();
        let watched = watched.map(|watched| watched_text(&watched)).unwrap_or_default();
        let tune = TuneCommand { cpus: tuned, root: root.is_running().then_some(&args.root) };
        say!("{}{advice}{watched}", as_text(&options, &findings, &tune));
    }
    let is_bad = findings.iter().any(|finding| finding.status == Status::Bad);
    Ok(if is_bad { BAD } else { DONE })
}

/// As they were given: an advised command is to print the same.
fn output_flags(args: &Args) -> Vec<String> {
    let mut flags = Vec::new();
    if args.advise {
        flags.push("--advise".to_owned());
    }
    if let Some(time) = args.watch {
        flags.extend(["--watch".to_owned(), Nanos::from(time).to_string()]);
    }
    if args.json {
        flags.push("--json".to_owned());
    }
    flags
}

/// Those of a status, the worst first.
const ORDER: [Status; 4] = [Status::Bad, Status::Warn, Status::Unknown, Status::Ok];
/// Columns of a status, and of a name.
const STATUS: usize = 8;
const NAME: usize = 28;
/// Letters that a line has room for beside a name.
const FOUND: usize = 44;

/// What was found, the worst first.
fn as_text(options: &CheckOptions, findings: &[Finding], tune: &TuneCommand<'_>) -> String {
    let count = |status| findings.iter().filter(|finding| finding.status == status).count();
    let counts = ORDER.map(|status| format!("{} {}", count(status), status.word())).join(", ");
    let on = options.cpus.as_ref().map(|cpus| format!(", {}", cpu_words(cpus))).unwrap_or_default();
    let of = if options.config.is_some() {
        " a kernel's configuration, and nothing of this machine,"
    } else {
        ""
    };
    let mut text = format!(
        "{counts}. Checked{of} for {}{on}, priority {}.\n\n",
        options.purpose.word(),
        options.priority
    );
    for finding in ORDER
        .iter()
        .flat_map(|status| findings.iter().filter(move |finding| finding.status == *status))
    {
        text += &found_text(finding);
        if finding.status == Status::Ok {
            continue;
        }
        text += &output::indented(finding.text.why, STATUS);
        if let Some(action) = &finding.action {
            text += &action_text("Do", &action.to_string());
            if finding.tunable {
                let label = if tune.root.is_some() { "Or" } else { "Or on that machine" };
                text += &action_text(label, &tune.for_check(finding.id));
            }
        }
    }
    text
}

/// What is to be done, step by step. A command line stays on one line and alone, to be copied;
/// sentences are wrapped.
fn action_text(before: &str, action: &str) -> String {
    let mut text = String::new();
    let (mut label, mut rest) = (before, action);
    while let Some((step, next, after)) = first_step(rest) {
        text += &step_text(label, step);
        (label, rest) = (next, after);
    }
    text + &step_text(label, rest)
}

/// The first step of several of which either is a command, what the next begins with, and
/// that.
fn first_step(action: &str) -> Option<(&str, &'static str, &str)> {
    const JOINS: [(&str, &str); 4] =
        [(", and for now: ", "For now"), (", and ", "And"), (", or ", "Or"), (" (or ", "Or")];
    (0..action.len()).filter(|&place| action.is_char_boundary(place)).find_map(|place| {
        let (step, rest) = action.split_at(place);
        let (join, next) = JOINS.iter().find(|(join, _)| rest.starts_with(join))?;
        let rest = &rest[join.len()..];
        (is_command(step) || is_command(rest)).then_some((step, *next, rest))
    })
}

fn is_command(step: &str) -> bool {
    step.contains("; do ") || ["sudo ", "echo ", "teiji "].iter().any(|word| step.starts_with(word))
}

fn step_text(label: &str, step: &str) -> String {
    let line = format!("{label}: {step}");
    if is_command(step) {
        format!("{:STATUS$}{line}\n", "")
    } else {
        output::indented(&line, STATUS)
    }
}

/// `teiji tune`, as it would be asked to change what was found.
struct TuneCommand<'a> {
    cpus: Vec<CpuId>,
    /// None: the files are copies, and it is for the machine that they are of.
    root: Option<&'a PathBuf>,
}

impl TuneCommand<'_> {
    fn for_check(&self, check: &str) -> String {
        let also = if tune::is_tuned_only_when_asked(check) {
            format!(" --also {check}")
        } else {
            String::new()
        };
        let root = self.root.map_or_else(String::new, |root| root_flag(root));
        format!("sudo teiji tune{root} --cpus {}{also}", CpuList::format(&self.cpus))
    }
}

/// Beside its name, or below it where one of the two is long.
fn found_text(finding: &Finding) -> String {
    let head = format!("{:<STATUS$}{:<NAME$}", finding.status.word(), finding.id);
    let found = finding.found.to_string();
    if finding.id.len() < NAME && found.chars().count() <= FOUND {
        return format!("{head}{found}\n");
    }
    format!("{}\n{}", head.trim_end(), shortened(&found, finding.action.is_some()))
}

/// Lines of what was found, where there is an action for all of it.
const LINES: usize = 8;

/// What was found, all of it where it is not long. What follows then is covered by the action, and
/// is in the JSON.
fn shortened(found: &str, has_action: bool) -> String {
    let lines = output::wrapped(found, STATUS);
    let is_cut = has_action && lines.len() > LINES + 1;
    let shown = if is_cut { &lines[..LINES] } else { &lines[..] };
    let mut text: String = shown.iter().map(|line| format!("{:STATUS$}{line}\n", "")).collect();
    if is_cut {
        text += &format!(
            "{:STATUS$}and {} lines more, which the action covers (--json has all)\n",
            "",
            lines.len() - LINES
        );
    }
    text
}

fn advice_text(advice: Option<&Advice>) -> String {
    let Some(advice) = advice else {
        return "\nThis machine has one core: no CPU can be isolated.\n".to_owned();
    };
    let mut text = format!(
        "\nIsolate {}, and measure CPU {}.\n",
        cpu_words(&advice.isolated),
        advice.measured
    );
    text.extend(
        advice.reasons.iter().map(|reason| output::indented(&format!("{reason}."), STATUS)),
    );
    text + &format!("Boot with: {}\n", advice.arguments)
}

fn advice_json(advice: &Advice) -> Value {
    json!({
        "housekeeping": advice.housekeeping,
        "isolated": advice.isolated,
        "measured": advice.measured,
        "idle": advice.idle,
        "reasons": advice.reasons,
        "arguments": advice.arguments,
    })
}

fn watched_text(Watched { cpu_time, activities }: &Watched) -> String {
    let times = cpu_time_text(cpu_time);
    if activities.is_empty() {
        return format!("{times}\nNothing ran on these CPUs meanwhile.\n");
    }
    let mut text = format!("{times}\ncpu  kind       count     ran ms  what\n");
    for Activity { cpu, kind, name, count, ran_ns } in activities {
        let ran = ran_ns
            .map_or_else(String::new, |ns| format!("{}.{:03}", ns / 1_000_000, ns / 1_000 % 1_000));
        text += &format!("{cpu:>3}  {kind:<9}  {count:>6}  {ran:>8}  {name}\n");
    }
    text
}

/// The names of the shares of a CPU's time, with each.
fn named_shares(time: &CpuTime) -> [(&'static str, u64); 6] {
    let CpuTime { user, system, irq, softirq, steal, idle, .. } = *time;
    [
        ("user", user),
        ("system", system),
        ("irq", irq),
        ("softirq", softirq),
        ("steal", steal),
        ("idle", idle),
    ]
}

fn cpu_time_text(times: &[CpuTime]) -> String {
    let Some(first) = times.first() else { return String::new() };
    let heads: String = named_shares(first)
        .iter()
        .map(|(name, _)| format!("  {:>8}", format!("%{name}")))
        .collect();
    let mut text = format!("\ncpu{heads}\n");
    for time in times {
        let shares = named_shares(time)
            .map(|(_, share)| format!("  {:>8}", format!("{}.{}", share / 10, share % 10)));
        text += &format!("{:>3}{}\n", time.cpu, shares.concat());
    }
    text
}

/// In percent.
fn cpu_time_json(time: &CpuTime) -> Value {
    let percent = |share: u64| u32::try_from(share).map(|share| f64::from(share) / 10.0).ok();
    let mut document = json!({ "cpu": time.cpu });
    for (name, share) in named_shares(time) {
        document[name] = json!(percent(share));
    }
    document
}

fn activity_json(activity: &Activity) -> Value {
    json!({
        "cpu": activity.cpu,
        "kind": activity.kind,
        "name": activity.name,
        "count": activity.count,
        "ran_ns": activity.ran_ns,
    })
}

fn as_json(options: &CheckOptions, findings: &[Finding]) -> Value {
    let finding = |finding: &Finding| {
        json!({
            "id": finding.id,
            "status": finding.status.word(),
            "found": finding.found.to_string(),
            "why": finding.text.why,
            "action": finding.action.as_ref().map(ToString::to_string),
            "tunable": finding.tunable,
            "reference": finding.text.reference,
        })
    };
    json!({
        "for": options.purpose.word(),
        "cpus": options.cpus,
        "priority": options.priority,
        "findings": findings.iter().map(finding).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser as _;

    #[derive(clap::Parser)]
    struct Typed {
        #[command(flatten)]
        args: Args,
    }

    /// The command for root printed a text where JSON was asked for.
    #[test]
    fn an_advised_command_prints_what_was_asked_for() {
        let output_flags = |line: &str| {
            let typed = Typed::parse_from(std::iter::once("check").chain(line.split(' ')));
            output_flags(&typed.args).join(" ")
        };
        assert_eq!(output_flags("--json --watch 1 --advise"), "--advise --watch 1s --json");
        assert_eq!(output_flags("--watch 1500ms -p 42"), "--watch 1500ms");
    }

    /// Pasted with what followed it, a command wrote files of the names `and`, `log` and `in`.
    #[test]
    fn a_command_stands_alone_on_its_line() {
        let lines = |action: &str| -> Vec<String> {
            action_text("Do", action).lines().map(|line| line.trim().to_owned()).collect()
        };
        assert_eq!(
            lines("echo x | sudo tee -a /etc/a.conf, and log in anew"),
            ["Do: echo x | sudo tee -a /etc/a.conf", "And: log in anew"]
        );
        assert_eq!(
            lines("boot with nowatchdog, and for now: sudo sysctl kernel.watchdog=0"),
            ["Do: boot with nowatchdog", "For now: sudo sysctl kernel.watchdog=0"]
        );
        assert_eq!(
            lines("for i in 1 2; do sudo chrt -f -p 79 $i; done, or run it lower"),
            ["Do: for i in 1 2; do sudo chrt -f -p 79 $i; done", "Or: run it lower"]
        );
        assert_eq!(
            lines("boot with a=1, and b=2, or none"),
            ["Do: boot with a=1, and b=2, or none"]
        );
    }

    #[test]
    fn what_was_found_is_apart_from_its_name() {
        for (id, line) in [
            ("irqbalance", "unknown irqbalance                  the processor counts them\n"),
            (
                "system-management-interrupts",
                "unknown system-management-interrupts\n        the processor counts them\n",
            ),
        ] {
            let finding = Finding {
                id,
                status: Status::Unknown,
                found: "the processor counts them".to_owned().into(),
                text: model::check_text(id).unwrap(),
                action: None,
                tunable: false,
            };
            assert_eq!(found_text(&finding), line);
        }
    }
}

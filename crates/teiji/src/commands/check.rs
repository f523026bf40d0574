// SPDX-License-Identifier: MIT OR Apache-2.0
//! `teiji check`: what about this machine costs latency, and what to do about it.

use crate::commands::plans;
use crate::exit::{CommandResult, Failure};
use crate::output;
use anyhow::anyhow;
use host::{CheckOptions, Finding, HostRoot, KernelConfig, Purpose, Status};
use plan::{CpuId, CpuList};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(clap::Args)]
pub struct Args {
    /// What the machine is used for, which decides what is bad about it: audio, robotics, telco or measure
    #[arg(long = "for", value_name = "USE", default_value = "measure", value_parser = purpose)]
    purpose: Purpose,

    /// CPUs that are to be on time [default: those that are isolated, or all]
    #[arg(short = 'a', long, value_name = "LIST")]
    cpus: Option<CpuList>,

    /// The real-time priority that is to be on time
    #[arg(short, long, value_name = "PRIO", default_value_t = 90, value_parser = clap::value_parser!(u8).range(1..=99))]
    prio: u8,

    /// A kernel configuration to look at instead of the running kernel's
    #[arg(long, value_name = "FILE")]
    kernel_config: Option<PathBuf>,

    /// Files of another machine, below a directory that stands for its /
    #[arg(long, value_name = "DIR", default_value = "/")]
    root: PathBuf,

    /// Print JSON instead
    #[arg(long)]
    json: bool,
}

/// A purpose by its word.
fn purpose(word: &str) -> Result<Purpose, String> {
    let words = || Purpose::ALL.map(Purpose::word).join(", ");
    Purpose::ALL.into_iter().find(|purpose| purpose.word() == word).ok_or_else(|| format!("it is one of {}", words()))
}

/// Something is bad.
const BAD: u8 = 1;

pub fn run(args: &Args) -> CommandResult {
    let root = HostRoot::at(&args.root);
    if !root.path("proc").is_dir() {
        return Err(Failure::bad_input(anyhow!("{} has no proc: it is not the / of a machine", args.root.display())));
    }
    let config = args
        .kernel_config
        .as_deref()
        .map(KernelConfig::from_file)
        .transpose()
        .map_err(|error| Failure::bad_input(anyhow!(error)))?;
    let cpus = args.cpus.as_ref().map(|list| list.resolve(&root.online_cpus())).transpose().map_err(Failure::bad_input)?;
    let options = CheckOptions { purpose: args.purpose, cpus, priority: args.prio, config };
    let findings = root.check(&options);
    if args.json {
        output::say(&format!("{:#}\n", as_json(&options, &findings)));
    } else {
        output::say(&as_text(&options, &findings));
    }
    let is_bad = findings.iter().any(|finding| finding.status == Status::Bad);
    Ok(if is_bad { ExitCode::from(BAD) } else { ExitCode::SUCCESS })
}

/// Those of a status, the worst first.
const ORDER: [Status; 4] = [Status::Bad, Status::Warn, Status::Unknown, Status::Ok];
/// Columns of a status, and of a name.
const STATUS: usize = 8;
const NAME: usize = 28;

fn as_text(options: &CheckOptions, findings: &[Finding]) -> String {
    let count = |status| findings.iter().filter(|finding| finding.status == status).count();
    let counts = ORDER.map(|status| format!("{} {}", count(status), status.word())).join(", ");
    let on = options.cpus.as_ref().map(|cpus: &Vec<CpuId>| format!(", CPUs {}", CpuList::format(cpus))).unwrap_or_default();
    let mut text = format!("{counts}. Checked for {}{on}, priority {}.\n\n", options.purpose.word(), options.priority);
    for finding in ORDER.iter().flat_map(|status| findings.iter().filter(move |finding| finding.status == *status)) {
        text += &format!("{:<STATUS$}{:<NAME$}{}\n", finding.status.word(), finding.id, finding.found);
        if finding.status == Status::Ok {
            continue;
        }
        let action = finding.action.as_ref().map(|action| format!("Do: {action}"));
        for paragraph in std::iter::once(finding.why.to_owned()).chain(action) {
            for line in plans::wrapped(&paragraph) {
                text += &format!("{:STATUS$}{line}\n", "");
            }
        }
    }
    text
}

fn as_json(options: &CheckOptions, findings: &[Finding]) -> Value {
    let finding = |finding: &Finding| {
        json!({
            "id": finding.id,
            "status": finding.status.word(),
            "found": finding.found,
            "why": finding.why,
            "action": finding.action,
            "tunable": finding.tunable,
            "reference": finding.reference,
        })
    };
    json!({
        "for": options.purpose.word(),
        "cpus": options.cpus,
        "priority": options.priority,
        "findings": findings.iter().map(finding).collect::<Vec<_>>(),
    })
}

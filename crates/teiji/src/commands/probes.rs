// SPDX-License-Identifier: MIT OR Apache-2.0
//! `teiji probes`: what can be measured, what each probe needs, and whether this machine has it.

use crate::commands::probe_flags;
use crate::exit::{CommandResult, DONE};
use crate::output;
use plan::Scheduling;
use probe::{PROBES, Probe, ProbeSetting};
use report::{Language, warning_text};
use runner::{Granted, grant};
use serde_json::{Value, json};

#[derive(clap::Args)]
pub struct Args {
    /// Describe this probe and its options
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// Print JSON instead
    #[arg(long)]
    json: bool,
}

/// Columns of a name.
const NAME: usize = 10;

pub fn run(args: &Args) -> CommandResult {
    let all: Vec<&'static Probe> = match &args.name {
        None => PROBES.iter().filter(|probe| !probe_flags::is_example(probe)).collect(),
        Some(name) => vec![probe::find(name)?],
    };
    let Granted { scheduling, warning: refused } = grant(Scheduling::DEFAULT);
    if args.json {
        let all: Vec<Value> = all.into_iter().map(as_json).collect();
        say!("{:#}\n", json!({ "probes": all, "refused": refused }));
        return Ok(DONE);
    }
    let mut text: String = all.iter().map(|probe| as_text(probe)).collect();
    if let Some(warning) = refused {
        let said = warning_text(&warning, Language::English);
        let (asked, evidence, next) = (Scheduling::DEFAULT, said.evidence, said.next_step);
        let paragraph = format!("Threads get {scheduling} here, not {asked}: {evidence}. {next}");
        text += &format!("\n{}", output::indented(&paragraph, 0));
    }
    let (name, example) = match all[..] {
        [one] => {
            text += "\n";
            text += &probe_flags::options(one, output::WIDTH);
            (one.name, one.example.as_ref())
        }
        _ => {
            text += "\nThe options of one: teiji probes NAME\n";
            ("NAME", None)
        }
    };
    text += &probe_flags::usage(name, example);
    output::say(&text);
    Ok(DONE)
}

/// What it measures, which options it has, what it needs, and whether that is here.
fn as_text(probe: &Probe) -> String {
    let summary = output::indented(probe.summary, NAME);
    let mut text = format!("{:<NAME$}{}", probe.name, &summary[NAME..]);
    let needs = format!("needs {}", probe.needs);
    let here = match probe.seen_to_lack() {
        Some(what) => format!("cannot measure here: {what}"),
        None if probe.is_tried_by_measuring() => {
            "its device is here, and is opened only to measure".to_owned()
        }
        None => "can measure here".to_owned(),
    };
    let options = probe.settings.iter().map(|setting| format!("--{}", setting.name));
    let options = options.collect::<Vec<_>>().join(", ");
    text.extend([options, needs, here].iter().map(|text| output::indented(text, NAME)));
    text
}

fn as_json(probe: &Probe) -> Value {
    let setting = |setting: &ProbeSetting| {
        json!({
            "name": setting.name,
            "meaning": setting.help,
            "values": probe_flags::choices(setting),
            "default": setting.default,
        })
    };
    let lacks = probe.seen_to_lack();
    json!({
        "name": probe.name,
        "measures": probe.summary,
        "needs": probe.needs,
        "available": lacks.is_none(),
        "missing": lacks,
        "settings": probe.settings.iter().map(setting).collect::<Vec<_>>(),
    })
}

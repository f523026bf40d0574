// SPDX-License-Identifier: MIT OR Apache-2.0
//! `teiji probes`: what can be measured, what each probe needs, and whether this machine has it.

use crate::commands::{plans, probe_flags};
use crate::exit::{CommandResult, DONE};
use crate::output;
use probe::{PROBES, Probe, ProbeSetting};
use serde_json::{Value, json};

#[derive(clap::Args)]
pub struct Args {
    /// Print JSON instead
    #[arg(long)]
    json: bool,
}

/// Columns of a name.
const NAME: usize = 10;

pub fn run(args: &Args) -> CommandResult {
    let all: Vec<&Probe> = PROBES.iter().filter(|probe| !probe_flags::is_example(probe)).collect();
    if args.json {
        let all: Vec<Value> = all.into_iter().map(as_json).collect();
        say!("{:#}\n", json!({ "probes": all }));
        return Ok(DONE);
    }
    let mut text: String = all.into_iter().map(as_text).collect();
    text += "\nMeasure by one of them: teiji measure --probe NAME; in a plan: probe = \"NAME\"\n";
    output::say(&text);
    Ok(DONE)
}

fn as_text(probe: &Probe) -> String {
    let mut text = format!("{:<NAME$}{}\n", probe.name, probe.summary);
    let settings = probe.settings.iter().map(|setting| {
        let values = probe_flags::choices(setting)
            .map_or_else(|| probe_flags::value_name(setting).to_owned(), |words| words.join(", "));
        let default = if setting.default.is_empty() {
            String::new()
        } else {
            format!(" [default: {}]", setting.default)
        };
        format!("--{} {values}{default}", setting.name)
    });
    let needs = format!("needs {}", probe.needs);
    let here = match probe.seen_to_lack() {
        Some(what) => format!("cannot measure here: {what}"),
        None if probe.is_tried_by_measuring() => {
            "its device is here, and is opened only to measure".to_owned()
        }
        None => "can measure here".to_owned(),
    };
    text.extend(settings.chain([needs, here]).map(|text| plans::indented(&text, NAME)));
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

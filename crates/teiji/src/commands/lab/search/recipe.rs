// SPDX-License-Identifier: MIT OR Apache-2.0
//! The plan that makes the worst run again: the flags as they were given, with what the search
//! chose.

use super::explore::Found;
use crate::commands::lab::again;
use crate::commands::run::settings;
use crate::output;
use anyhow::{Context, anyhow, ensure};
use lab::{KernelName, Target};
use plan::{CpuId, Plan, ProcessCpus, Run, Value, in_toml};
use std::fmt::Write as _;
use std::path::Path;

/// Settings whose value is a path: a plan may be run from anywhere.
const PATHS: [&str; 4] = ["modules", "dtb", "program", "qemu"];

/// Writes the plan, and makes sure that it says what was run.
pub fn write(path: &Path, found: &Found, target: &Target) -> anyhow::Result<()> {
    let text = text(found, target)?;
    let plan = Plan::read(path, &mut |_| Ok(text.clone()))?;
    let cpus: Vec<CpuId> = (0..target.guest.cpus).map(CpuId).collect();
    let of_guest = ProcessCpus { inherited: cpus.clone(), usable: cpus, ..ProcessCpus::default() };
    let points = settings::points(&plan, &of_guest)?;
    let asked = &found.tried[found.number].run;
    let again = points.first().and_then(|point| point.run.clone());
    let same = again.map(|again| Run { title: asked.title.clone(), ..again });
    let guest = points
        .first()
        .map(|point| point.guest.target(target.kernel.clone()))
        .transpose()?
        .map(|target| target.guest);
    let is_same = same.as_ref() == Some(asked) && guest.as_ref() == Some(&target.guest);
    ensure!(
        is_same,
        "the plan {} would run something else: please report this as a defect of teiji",
        path.display()
    );
    output::write_whole(path, &text)
}

fn text(found: &Found, target: &Target) -> anyhow::Result<String> {
    let tried = &found.tried[found.number];
    let run = &tried.run;
    let mut settings = again::settings(&tried.flags.probe.name, run);
    let mut set = |key: &str, value: Option<Vec<String>>| {
        settings.retain(|(known, _)| known != key);
        settings.extend(value.map(|words| (key.to_owned(), Value::Words(words))));
    };
    set("kernel", Some(vec![kernel(target)?]));
    set(
        "load",
        Some(run.loads.iter().map(ToString::to_string).collect())
            .filter(|loads: &Vec<_>| !loads.is_empty()),
    );
    set("phase", Some(vec![run.phase.to_string()]));
    if found.candidate.interval.is_some() {
        set("interval", Some(vec![run.interval_ns.to_string()]));
    }
    if let Some(prio) = found.candidate.prio {
        set("prio", Some(vec![prio.to_string()]));
    }
    if let Some(length) = tried.flags.chosen_length {
        set("duration", Some(vec![length.to_string()]));
    }
    let largest = report::exact_micros(tried.largest_ns.unwrap_or(0));
    let mut text = String::new();
    writeln!(
        text,
        "# The largest latency that a search found: {largest} µs. The same teiji, kernel and QEMU \
         give it again:"
    )?;
    writeln!(text, "#   teiji run {}", super::results::RECIPE)?;
    writeln!(
        text,
        "title = {}\n\n[measure]",
        in_toml(&format!("The largest latency found: {largest} µs"))
    )?;
    for (key, mut value) in settings {
        if let Value::Words(words) = &mut value
            && PATHS.contains(&key.as_str())
        {
            let paths = words.iter_mut().filter(|word| key != "qemu" || word.contains('/'));
            for path in paths {
                *path = absolute(path)?;
            }
        }
        writeln!(text, "{key} = {}", value.in_toml())?;
    }
    Ok(text)
}

/// The kernel's full name, or where it is.
fn kernel(target: &Target) -> anyhow::Result<String> {
    let name = &target.kernel.name;
    Ok(match name.parse::<KernelName>() {
        Ok(KernelName::Debian { .. }) => name.clone(),
        _ => absolute(name)?,
    })
}

fn absolute(path: &str) -> anyhow::Result<String> {
    let whole = std::path::absolute(path).with_context(|| format!("cannot find {path}"))?;
    whole
        .into_os_string()
        .into_string()
        .map_err(|_| anyhow!("the path {path} cannot be written in a plan: it is no UTF-8"))
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! The same run again, with QEMU's plugin, and whether it is the same.

use super::not_made_again;
use crate::commands::lab::{Show, again_folder, why_different};
use crate::exit::Failure;
use anyhow::{Context, anyhow};
use explain::{Processor, Rate, Symbols};
use lab::{LabRun, Plugin, Target, first_divergence};
use model::{Lab, Recorded};
use runner::Signals;

/// The file of the windows, in the guest's folder.
const ENDS: &str = "ends";

/// What is made again.
pub struct Again<'a> {
    pub recorded: &'a Recorded,
    pub facts: &'a Lab,
    pub target: Target,
    pub signals: &'a Signals,
    pub show: &'a mut Show,
}

/// What the plugin needs to know of the kernel to see which task runs.
pub fn addresses(symbols: &Symbols, processor: Processor) -> Vec<String> {
    let address = |name| symbols.address(name);
    let all = match processor {
        Processor::X86_64 => vec![
            ("switched", symbols.variant("finish_task_switch")),
            ("current", address("current_task").or_else(|| address("pcpu_hot"))),
            ("percpu", address("__per_cpu_offset")),
            ("init", address("init_task")),
        ],
        // The tasks are its arguments. Debian's kernels for arm64 list no variables.
        Processor::Aarch64 => vec![("switched", address("cpu_switch_to"))],
    };
    all.into_iter().filter_map(|(key, address)| Some(format!("{key}={}", address?))).collect()
}

impl Again<'_> {
    /// How the guest's clock goes. Its kernel measures its time stamp counter, which counts virtual
    /// ns, when it boots, and takes what it measured for its rate.
    pub fn rate(&self, processor: Processor) -> Rate {
        #[expect(clippy::cast_precision_loss, reason = "small numbers")]
        let virtual_ns =
            self.facts.ns_per_instruction.unwrap_or(1) as f64 / f64::from(self.facts.guest.cpus);
        let console = recording::read_console(&self.recorded.path);
        let ns_per_virtual_ns = console.lines().rev().find_map(ns_per_tick).unwrap_or(1.0);
        Rate {
            ns_per_instruction: virtual_ns * ns_per_virtual_ns,
            ns_per_virtual_ns,
            step_ns: processor.clock_step_ns(),
        }
    }

    /// Makes it again, and returns what the plugin wrote.
    pub fn run(
        &mut self,
        windows: &[(u64, u64)],
        words: &[String],
        heading: &str,
    ) -> Result<Vec<u8>, Failure> {
        let without = "this teiji was built for a processor that QEMU's plugin was not written \
                       for: explain on x86_64 or aarch64";
        let mut plugin = Plugin::recorder().context(without).map_err(Failure::run_failed)?;
        let most = windows.iter().map(|(_, blocks)| *blocks).max().unwrap_or(1);
        plugin.words.push(format!("ring={}", most.next_power_of_two().trailing_zeros()));
        plugin.words.extend_from_slice(words);
        if !windows.is_empty() {
            plugin.words.push(format!("ends={ENDS}"));
            let bytes = windows
                .iter()
                .flat_map(|(end, blocks)| [*end, *blocks])
                .flat_map(u64::to_le_bytes)
                .collect();
            plugin.files.push((ENDS.to_owned(), bytes));
        }
        let scratch = again_folder()?;
        let directory = scratch.path().join("again.teiji");
        let target = Target { plugin: Some(plugin), ..self.target.clone() };
        let again = LabRun::again(self.recorded, self.facts, target, directory);
        self.show.heading = Some(heading.to_owned());
        let replayed = lab::replay(&again, self.signals, self.show);
        let (repeated, written) = replayed.map_err(not_made_again)?;
        match first_divergence(self.recorded, &repeated)? {
            None => Ok(written),
            Some(divergence) => {
                let changed = repeated
                    .document
                    .lab
                    .as_ref()
                    .map(|now| lab::differences(self.facts, now))
                    .unwrap_or_default();
                // The plugin is an option that was not there.
                let changed: Vec<&str> =
                    changed.into_iter().filter(|what| *what != "QEMU's options").collect();
                let why = why_different(&changed);
                let name = self.recorded.path.display();
                Err(Failure::run_failed(anyhow!(
                    "{name} was made again, and is not the same, so nothing of it is explained: \
                     {divergence}. {why}"
                )))
            }
        }
    }
}

/// Of a line such as `tsc: Detected 999.993 MHz processor`: what a tick takes, ns.
fn ns_per_tick(line: &str) -> Option<f64> {
    let (_, said) = line.split_once("tsc: ")?;
    let (before, _) = said.split_once(" MHz")?;
    let rate: f64 = before.rsplit(' ').next()?.parse().ok()?;
    (100.0..100_000.0).contains(&rate).then(|| 1_000.0 / rate)
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! How the kernel can be preempted.

use super::arguments::Arguments;
use super::config::KernelConfig;
use super::files::Files;
use super::machine::Machine;
use host::HostRoot;
use host::kernel::{self, PREEMPT_DYNAMIC};
use model::{VOLUNTARY_OR_NONE, kernel_version};
use std::cell::OnceCell;

/// How the kernel of a machine can be preempted, as far as it is known: what a recording has, and
/// what the checks go by.
pub fn preemption(root: &HostRoot) -> Option<String> {
    let config = OnceCell::new();
    Kernel {
        files: &Files::new(root),
        config: &|| config.get_or_init(|| KernelConfig::of_machine(root)).as_ref().ok(),
    }
    .model()
}

/// The same of a machine that is checked.
pub(crate) fn model(machine: &Machine<'_>) -> Option<String> {
    // A configuration that is asked about says it by itself.
    match &machine.options.config {
        Some(config) => Some(configured_model(config)),
        None => Kernel { files: machine, config: &|| machine.config().ok() }.model(),
    }
}

/// The modes that a kernel knows, for root alone.
pub(crate) const MODES_OF_KERNEL: &str = "sys/kernel/debug/sched/preempt";
/// Modes that `preempt=` has had a name for.
pub(crate) const MODES: [&str; 4] = ["none", "voluntary", "full", LAZY];
/// One that some kernels know: the version does not say which. Processors came to it one by one,
/// and distributions bring it to older kernels.
const LAZY: &str = "lazy";
/// Since then a kernel that knows `lazy` knows no mode but that and `full`.
const WITHOUT_OLD_MODES: (u32, u32) = (7, 0);

/// Whether the kernel knows a mode, where that can be found out.
pub(crate) fn knows_mode(machine: &Machine<'_>, mode: &str) -> Option<bool> {
    Kernel { files: machine, config: &|| machine.config().ok() }.knows(mode)
}

/// A running kernel: its files, and its configuration, which is read only where it is needed.
struct Kernel<'f, 'c> {
    files: &'f Files<'f>,
    config: &'f dyn Fn() -> Option<&'c KernelConfig>,
}

impl Kernel<'_, '_> {
    fn model(&self) -> Option<String> {
        let text = |path: &str| self.files.text(path);
        let (version, realtime) = (text("proc/version"), text("sys/kernel/realtime"));
        let model = kernel::preemption(version.as_deref(), realtime.as_deref())?;
        if model == "PREEMPT_RT" {
            return Some(model.to_owned());
        }
        // Linux 5.12 to 5.17 have modes too, and call themselves PREEMPT.
        if let Some(mode) = text(MODES_OF_KERNEL).as_deref().and_then(kernel::dynamic_mode) {
            return Some(format!("{PREEMPT_DYNAMIC} ({mode})"));
        }
        if model != PREEMPT_DYNAMIC {
            return Some(model.to_owned());
        }
        // What was asked for at boot may have been changed since, so it is called that.
        let line = text("proc/cmdline").unwrap_or_default();
        // Its version makes no difference for this argument.
        if let Some(mode) = self.booted_mode(&Arguments::of(&line, None)) {
            return Some(format!("{model} (booted with preempt={mode})"));
        }
        // Without an argument it is what the kernel was built with.
        Some((self.config)().map_or_else(|| model.to_owned(), configured_model))
    }

    /// The mode that the kernel was booted with: that of the last `preempt=` that it knows. None
    /// where there is none, or where it is not known whether the kernel knows it.
    fn booted_mode<'l>(&self, arguments: &'l Arguments) -> Option<&'l str> {
        let mut known = arguments.values("preempt").rev().map(|mode| (mode, self.knows(mode)));
        let (mode, is_known) = known.find(|(_, is_known)| *is_known != Some(false))?;
        is_known.map(|_| mode)
    }

    fn knows(&self, mode: &str) -> Option<bool> {
        // A copy of a file that could not be read is empty.
        let list = self.files.text(MODES_OF_KERNEL).filter(|list| !list.trim().is_empty());
        if let Some(list) = list {
            let mut listed = list.split_ascii_whitespace();
            return Some(listed.any(|one| one.trim_matches(['(', ')']) == mode));
        }
        let has_lazy = || {
            let config = (self.config)()?;
            let options = ["ARCH_HAS_PREEMPT_LAZY", "PREEMPT_LAZY"];
            Some(options.iter().any(|option| config.has(option)))
        };
        match mode {
            LAZY => has_lazy(),
            "none" | "voluntary" => {
                let version = self.files.text("proc/sys/kernel/osrelease");
                let version = version.and_then(|release| kernel_version(&release));
                if version.is_some_and(|version| version >= WITHOUT_OLD_MODES) {
                    has_lazy().map(|has_lazy| !has_lazy)
                } else {
                    Some(true)
                }
            }
            mode => Some(mode == "full"),
        }
    }
}

/// Whether the kernel cannot choose at boot how it is preempted, and passes `preempt=` over. False
/// where that is not known: some that can call themselves `PREEMPT` or `PREEMPT_RT`.
pub(crate) fn is_fixed(machine: &Machine<'_>) -> bool {
    let Some(model) = model(machine) else { return false };
    if dynamic_mode(&model).is_some() {
        return false;
    }
    model == VOLUNTARY_OR_NONE
        || machine.config().is_ok_and(|config| !config.has("PREEMPT_DYNAMIC"))
}

pub(crate) fn configured_model(config: &KernelConfig) -> String {
    let first_of =
        |options: &[&'static str]| options.iter().find(|option| config.has(option)).copied();
    match first_of(&["PREEMPT_RT", "PREEMPT_RT_FULL", "PREEMPT_DYNAMIC", "PREEMPT_LAZY", "PREEMPT"])
    {
        Some("PREEMPT_RT" | "PREEMPT_RT_FULL") => "PREEMPT_RT".to_owned(),
        Some("PREEMPT_DYNAMIC") => {
            let mode = match first_of(&["PREEMPT_NONE", "PREEMPT_VOLUNTARY", "PREEMPT_LAZY"]) {
                Some("PREEMPT_NONE") => "none",
                Some("PREEMPT_VOLUNTARY") => "voluntary",
                Some(_) => "lazy",
                None => "full",
            };
            format!("PREEMPT_DYNAMIC ({mode} by default)")
        }
        Some(model) => model.to_owned(),
        None => VOLUNTARY_OR_NONE.to_owned(),
    }
}

/// The mode of a kernel that can choose it at boot: empty where it is not known. None where it
/// cannot.
pub(crate) fn dynamic_mode(model: &str) -> Option<&str> {
    let mode = model.strip_prefix("PREEMPT_DYNAMIC")?.trim_start().trim_matches(['(', ')']);
    mode.strip_prefix("booted with preempt=").or_else(|| mode.split(' ').next())
}

/// In the mode `lazy` a thread of ordinary priority waits for the tick, and a real-time one
/// preempts at once, as in the mode `full`.
pub(crate) fn is_preempted_at_once(mode: &str) -> bool {
    mode == "full" || mode == "lazy"
}

/// Whether a kernel that can choose it at boot lets a real-time thread preempt it in most places.
/// None where there is no choice.
pub(crate) fn preempts_fully(machine: &Machine<'_>) -> Option<bool> {
    Some(is_preempted_at_once(dynamic_mode(&model(machine)?)?))
}

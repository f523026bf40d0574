// SPDX-License-Identifier: MIT OR Apache-2.0
//! The order that the lab sends to a guest, and the refusal that a guest sends back. Both sides are the same program, so the form may
//! change with it.

use crate::instruction_count::GuestCommand;
use plan::{AUTO_PROBE, CpuId, GuestTime, MachineTime, Run};
use serde::{Deserialize, Serialize};

/// Where the order lies in the initramfs.
pub(crate) const ORDER: &str = "order.json";
/// Where the modules lie in it.
pub(crate) const MODULES: &str = "modules";

/// What a guest is to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Order {
    /// The serial line that takes frames.
    pub channel: String,
    /// Files below `/modules`, in the order to be loaded.
    pub modules: Vec<String>,
    /// Its CPUs, where they take turns: several in virtual time.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub turns: Option<u32>,
    /// What to do once the machine is ready. None: the machine stops then for its snapshot, and whoever continues from there
    /// gives a task to read.
    pub task: Option<Task>,
}

/// What a guest is there for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Task {
    /// A run, whose recording is to come back. What the host knows better, such as what was typed, is filled in there: a guest
    /// that held it would be another guest for every name of an output folder.
    Measure {
        /// The run, without its title.
        run: Box<Run>,
        /// Set if no CPUs were named, where there are several: only the guest's kernel knows which are isolated.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        default_cpus: Option<DefaultCpus>,
        /// What the guest's clocks count: inside nothing shows that they are an emulator's.
        time: MachineTime,
    },
    /// Programs, one after the other, each with what it cost; see [`crate::CommandCost`].
    Execute {
        /// In order.
        commands: Vec<GuestCommand>,
    },
}

impl Task {
    /// A run in a guest of this time.
    pub(crate) fn measure(run: &Run, default_cpus: Option<DefaultCpus>, time: GuestTime) -> Self {
        Task::Measure { run: Box::new(Run { title: None, ..run.clone() }), default_cpus, time: time.into() }
    }

    /// Whether it measures interrupts of the HPET.
    pub(crate) fn takes_hpet(&self) -> bool {
        matches!(self, Task::Measure { run, .. } if run.probe == "hpet")
    }

    /// Whether the guest is to choose the probe, and looks for a co-kernel for that.
    pub(crate) fn leaves_probe_open(&self) -> bool {
        matches!(self, Task::Measure { run, .. } if run.probe == AUTO_PROBE)
    }
}

/// The default CPUs: those on which the guest's first process runs, as anywhere else. Isolated ones are not among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DefaultCpus {
    /// How many threads take turns on them; none: one on each.
    pub threads: Option<usize>,
}

impl DefaultCpus {
    /// Each thread's CPU, of those where the process runs.
    pub(crate) fn assign(self, inherited: &[CpuId]) -> Vec<CpuId> {
        inherited.iter().copied().cycle().take(self.threads.unwrap_or(inherited.len())).collect()
    }
}

/// Why a guest did not do it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// A sentence.
    pub error: String,
    /// Whether what was asked is at fault, not the guest.
    pub bad_input: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_states_virtual_time() {
        let run = r#"{"title": "mine", "probe": "cyclic", "interval_ns": 1000, "distance_ns": 0, "length": {"samples": 1},
            "cpus": [0], "scheduling": {"policy": "fifo", "prio": 90}, "warmup_ns": 0, "overrun_policy": "skip",
            "hold_dma_latency": true, "sync": true, "settle": "auto", "loads": []}"#;
        let run: Run = serde_json::from_str(run).unwrap();
        for (time, expected) in [(GuestTime::Virtual { shift: 3 }, "virtual"), (GuestTime::Host, "real")] {
            let order = serde_json::to_value(Task::measure(&run, None, time)).unwrap();
            assert_eq!((&order["measure"]["time"], &order["measure"]["run"]["title"]), (&expected.into(), &().into()), "{order}");
        }
    }

    #[test]
    fn cpus_that_nobody_named_are_those_where_the_guest_runs() {
        let inherited = [CpuId(0), CpuId(2)];
        assert_eq!(DefaultCpus { threads: None }.assign(&inherited), inherited);
        assert_eq!(DefaultCpus { threads: Some(3) }.assign(&inherited), [CpuId(0), CpuId(2), CpuId(0)]);
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! The order that the lab sends to a guest, and the refusal that a guest sends back. Both sides are
//! the same program, so the form may change with it.

use model::DefaultCpus;
use plan::{AUTO_PROBE, CpuId, GuestTime, MachineTime, Run};
use serde::{Deserialize, Serialize};

/// Where the order lies in the initramfs.
pub(crate) const ORDER: &str = "order.json";
/// Where the modules lie in it.
pub(crate) const MODULES: &str = "modules";

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Order {
    /// The serial line that takes frames.
    pub channel: String,
    /// Files below `/modules`, in the order to be loaded.
    pub modules: Vec<String>,
    /// Its CPUs, where they take turns: several in virtual time.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub turns: Option<u32>,
    /// What to do once the machine is ready. None: the machine stops then for its snapshot, and
    /// whoever continues from there gives a task to read.
    pub task: Option<Task>,
}

/// What a guest is there for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Task {
    /// A run, whose recording is to come back. What the host knows better, such as what was typed,
    /// is filled in there: a guest that held it would be another guest for every name of an
    /// output folder.
    Measure {
        /// The run, without its title.
        run: Box<Run>,
        /// Set if no CPUs were named, where there are several: only the guest's kernel knows which
        /// are isolated.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        default_cpus: Option<DefaultCpus>,
        /// What the guest's clocks count: inside nothing shows that they are an emulator's.
        time: MachineTime,
    },
    /// Programs, one after the other, each with what it cost; see [`crate::CommandCost`].
    Execute {
        /// In order.
        commands: Vec<GuestCommand>,
        /// What the guest's clocks count.
        time: MachineTime,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuestCommand {
    /// Its command line, the program by its full path in the guest.
    pub words: Vec<String>,
    /// Whether instructions are counted, which keeps the processor from being idle meanwhile.
    pub counted: bool,
}

impl Task {
    /// A run in a guest of this time.
    pub(crate) fn measure(run: &Run, default_cpus: Option<DefaultCpus>, time: GuestTime) -> Self {
        let mut run = Run { title: None, ..run.clone() };
        if default_cpus.is_some() {
            // The guest fills them in. A run that is made again knows them, and must be the same
            // order all the same.
            run.cpus.clear();
        }
        Task::Measure { run: Box::new(run), default_cpus, time: time.into() }
    }

    /// What CPUs are, where the guest is to choose them.
    pub(crate) fn default_cpus(&self) -> Option<DefaultCpus> {
        match self {
            Task::Measure { default_cpus, .. } => *default_cpus,
            Task::Execute { .. } => None,
        }
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

/// Each thread's CPU, of those that the guest measures by default.
pub(crate) fn assign(default: DefaultCpus, cpus: &[CpuId]) -> Vec<CpuId> {
    cpus.iter().copied().cycle().take(default.threads.unwrap_or(cpus.len())).collect()
}

/// Why a guest did not do it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    pub error: String,
    /// Whether what was asked is at fault, not the guest.
    pub bad_input: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_states_virtual_time() {
        let run = r#"{"title": "mine", "probe": "cyclic", "interval_ns": 1000, "distance_ns": 0,
            "length": {"samples": 1}, "cpus": [0], "scheduling": {"policy": "fifo", "prio": 90},
            "warmup_ns": 0, "overrun_policy": "skip", "hold_dma_latency": true, "sync": true,
            "settle": "auto", "loads": []}"#;
        let run: Run = serde_json::from_str(run).unwrap();
        for (time, expected) in
            [(GuestTime::Virtual { shift: 3 }, "virtual"), (GuestTime::Host, "real")]
        {
            let order = serde_json::to_value(Task::measure(&run, None, time)).unwrap();
            assert_eq!(
                (&order["measure"]["time"], &order["measure"]["run"]["title"]),
                (&expected.into(), &().into()),
                "{order}"
            );
        }
    }

    /// Several CPUs boot with their order in the initramfs: another order would be another guest.
    #[test]
    fn an_order_of_cpus_that_nobody_named_is_the_same_when_made_again() {
        let run = r#"{"title": null, "probe": "cyclic", "interval_ns": 1000, "distance_ns": 0,
            "length": {"samples": 1}, "cpus": [0], "scheduling": {"policy": "fifo", "prio": 90},
            "warmup_ns": 0, "overrun_policy": "skip", "hold_dma_latency": true, "sync": true,
            "settle": "auto", "loads": []}"#;
        let asked: Run = serde_json::from_str(run).unwrap();
        let recorded = Run { cpus: vec![CpuId(0), CpuId(1)], ..asked.clone() };
        let order = |run| {
            serde_json::to_string(&Task::measure(
                run,
                Some(DefaultCpus { threads: None }),
                GuestTime::Host,
            ))
            .unwrap()
        };
        assert_eq!(order(&asked), order(&recorded));
    }

    #[test]
    fn cpus_that_nobody_named_are_those_where_the_guest_runs() {
        let inherited = [CpuId(0), CpuId(2)];
        assert_eq!(assign(DefaultCpus { threads: None }, &inherited), inherited);
        assert_eq!(
            assign(DefaultCpus { threads: Some(3) }, &inherited),
            [CpuId(0), CpuId(2), CpuId(0)]
        );
    }
}

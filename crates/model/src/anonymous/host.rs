// SPDX-License-Identifier: MIT OR Apache-2.0
//! The machine.

use super::Anonymiser;
use crate::{BusyProcess, CpuFacts, EventCounts, Host, HostFacts, Processes, Unreadable};

impl Anonymiser<'_> {
    pub(super) fn host(&self, host: Host) -> Host {
        let Host { before, after, processes } = host;
        let of_processes = |Processes { own_ms, others_ms, kernel_ms, busiest }| Processes {
            own_ms,
            others_ms,
            kernel_ms,
            busiest: self.processes(busiest),
        };
        Host {
            before: self.facts(before),
            after: after.map(|facts| self.facts(facts)),
            processes: processes.map(of_processes),
        }
    }

    pub(super) fn processes(&self, processes: Vec<BusyProcess>) -> Vec<BusyProcess> {
        let one = |BusyProcess { pid, name, cpu_ms, kernel_thread }| BusyProcess {
            pid,
            name: self.task(&name, kernel_thread),
            cpu_ms,
            kernel_thread,
        };
        processes.into_iter().map(one).collect()
    }

    fn facts(&self, facts: HostFacts) -> HostFacts {
        let HostFacts {
            hostname,
            architecture,
            kernel,
            kernel_version,
            preemption,
            kernel_command_line,
            cpu_model,
            hypervisor,
            cpus,
            clocksource,
            clocksources_available,
            isolated_cpus,
            nohz_full_cpus,
            rt_runtime_us,
            rt_period_us,
            transparent_hugepages,
            memory_total_kib,
            memory_available_kib,
            load_average,
            uptime_s,
            interrupts,
            softirqs,
            unreadable,
        } = facts;
        let ours = |text: String| self.ours("value", &text);
        HostFacts {
            hostname: hostname.map(|name| self.name("host", &name)),
            // The machine's kind and its kernel decide latency.
            architecture,
            kernel,
            kernel_version: kernel_version.map(|version| self.kernel_version(&version)),
            preemption: preemption.map(|text| self.preemption(&text)),
            kernel_command_line: kernel_command_line.map(|line| self.kernel_arguments(&line)),
            cpu_model,
            hypervisor,
            cpus: cpus.into_iter().map(|cpu| self.cpu(cpu)).collect(),
            clocksource: clocksource.map(ours),
            clocksources_available: clocksources_available.into_iter().map(ours).collect(),
            isolated_cpus: isolated_cpus.map(ours),
            nohz_full_cpus: nohz_full_cpus.map(ours),
            rt_runtime_us,
            rt_period_us,
            transparent_hugepages: transparent_hugepages.map(ours),
            memory_total_kib,
            memory_available_kib,
            load_average,
            uptime_s,
            interrupts: interrupts.into_iter().map(|counts| self.events(counts)).collect(),
            softirqs: softirqs.into_iter().map(|counts| self.events(counts)).collect(),
            unreadable: unreadable.into_iter().map(|one| self.unreadable(one)).collect(),
        }
    }

    fn cpu(&self, facts: CpuFacts) -> CpuFacts {
        let CpuFacts {
            cpu,
            governor,
            frequency_khz,
            frequency_min_khz,
            frequency_max_khz,
            time_ms,
        } = facts;
        CpuFacts {
            cpu,
            governor: governor.map(|governor| self.ours("value", &governor)),
            frequency_khz,
            frequency_min_khz,
            frequency_max_khz,
            time_ms: time_ms
                .into_iter()
                .map(|(state, ms)| (self.ours("value", &state), ms))
                .collect(),
        }
    }

    /// Drivers name interrupts, and a user may have named the network's devices among them.
    fn events(&self, EventCounts { name, description, counts }: EventCounts) -> EventCounts {
        EventCounts {
            name: self.ours("device", &name),
            description: self.terms("device", &description),
            counts,
        }
    }

    fn unreadable(&self, Unreadable { path, line, item, error }: Unreadable) -> Unreadable {
        Unreadable {
            path: self.whole("path", &path),
            line,
            item: self.sentence(&item),
            error: self.error(&error),
        }
    }
}

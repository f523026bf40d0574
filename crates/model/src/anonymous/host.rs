// SPDX-License-Identifier: MIT OR Apache-2.0
//! The machine.

use super::{Anonymiser, each, each_key};
use crate::{BusyProcess, CpuFacts, EventCounts, Host, HostFacts, Processes, Unreadable};

impl Anonymiser<'_> {
    pub(super) fn host(&self, host: &mut Host) {
        let Host { before, after, processes } = host;
        [before].into_iter().chain(after).for_each(|facts| self.facts(facts));
        if let Some(Processes { busiest, own_ms: _, others_ms: _, kernel_ms: _, elapsed_ms: _ }) =
            processes
        {
            self.processes(busiest);
        }
    }

    pub(super) fn processes(&self, processes: &mut [BusyProcess]) {
        for BusyProcess { name, kernel_thread, pid: _, cpu_ms: _ } in processes {
            *name = self.task(name, *kernel_thread);
        }
    }

    fn facts(&self, facts: &mut HostFacts) {
        let HostFacts {
            hostname,
            kernel_version,
            preemption,
            kernel_command_line,
            cpus,
            clocksource,
            clocksources_available,
            isolated_cpus,
            nohz_full_cpus,
            transparent_hugepages,
            interrupts,
            softirqs,
            unreadable,
            // The machine's kind and its kernel decide latency.
            architecture: _,
            kernel: _,
            cpu_model: _,
            hypervisor: _,
            rt_runtime_us: _,
            rt_period_us: _,
            memory_total_kib: _,
            memory_available_kib: _,
            load_average: _,
            uptime_s: _,
        } = facts;
        each(hostname, |name| self.name("host", name));
        each(kernel_version, |version| self.kernel_version(version));
        each(preemption, |text| self.preemption(text));
        each(kernel_command_line, |line| self.kernel_arguments(line));
        let values = [clocksource, isolated_cpus, nohz_full_cpus, transparent_hugepages];
        each(values.into_iter().flatten().chain(clocksources_available), |text| {
            self.ours("value", text)
        });
        cpus.iter_mut().for_each(|cpu| self.cpu(cpu));
        // Drivers name interrupts, and a user may have named the network's devices among them.
        for EventCounts { name, description, counts: _ } in interrupts.iter_mut().chain(softirqs) {
            *name = self.ours("device", name);
            *description = self.terms("device", description);
        }
        for Unreadable { path, item, error, line: _ } in unreadable {
            *path = self.whole("path", path);
            *item = self.sentence(item);
            *error = self.error(error);
        }
    }

    fn cpu(&self, facts: &mut CpuFacts) {
        let CpuFacts {
            governor,
            time_ms,
            cpu: _,
            frequency_khz: _,
            frequency_min_khz: _,
            frequency_max_khz: _,
        } = facts;
        each(governor, |governor| self.ours("value", governor));
        each_key(time_ms, |state| self.ours("value", state));
    }
}

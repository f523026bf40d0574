// SPDX-License-Identifier: MIT OR Apache-2.0
//! The conditions under which recordings were made, side by side: what the machine was before, what
//! it was after, and where recordings differ.

use crate::format::{self, count};
use crate::language::{Text, texts, tr};
use crate::overview::Overview;
use crate::sections::{co_kernel, lab};
use model::{CoKernel, FairServer, HostFacts, Lab, LabQemu, QemuOrigin};
use plan::{CpuId, CpuList};
use std::collections::BTreeMap;

/// Characters of a fact; a kernel's command line has up to 4,096.
const MAX_FACT: usize = 600;

/// One fact of every recording.
pub(crate) struct Fact {
    pub(crate) name: Text,
    /// One for each recording, in order.
    pub(crate) values: Vec<Value>,
    /// The recordings do not agree on it, and it is not one that is different every time.
    pub(crate) differs: bool,
}

impl Fact {
    /// That `moves` is different in every snapshot, so that a difference says nothing by itself.
    fn new(name: Text, values: Vec<Value>, moves: bool) -> Fact {
        let differs = !moves && values.iter().any(|value| value.before != values[0].before);
        Fact { name, values, differs }
    }

    /// Of what does not change while measuring.
    fn lasting(name: Text, values: impl Iterator<Item = Option<String>>) -> Fact {
        let value = |before: Option<String>| {
            let before = before.map(|text| format::clip(&text, MAX_FACT));
            Value { before, after: None, changed: false }
        };
        Fact::new(name, values.map(value).collect(), false)
    }

    /// Whether it is the same in every recording, before and after.
    pub(crate) fn one_for_all(&self) -> bool {
        let first = self.values.first().and_then(|value| value.before.as_ref());
        self.values.iter().all(|value| value.before.as_ref() == first && value.after.is_none())
    }
}

/// A fact of one recording.
pub(crate) struct Value {
    /// None: not known.
    pub(crate) before: Option<String>,
    /// Only where it differs from `before`.
    pub(crate) after: Option<String>,
    /// It is not the same after as before, and that is not what it usually does.
    pub(crate) changed: bool,
}

/// What is read from a snapshot of the machine.
struct Question {
    name: Text,
    /// Different in every snapshot, so that a difference says nothing by itself.
    moves: bool,
    answer: fn(&HostFacts) -> Option<String>,
}

const fn fixed(name: Text, answer: fn(&HostFacts) -> Option<String>) -> Question {
    Question { name, moves: false, answer }
}

const fn moving(name: Text, answer: fn(&HostFacts) -> Option<String>) -> Question {
    Question { name, moves: true, answer }
}

const QUESTIONS: [Question; 21] = [
    fixed(texts::machine, |facts| facts.hostname.clone()),
    fixed(texts::cpu_heading, |facts| facts.cpu_model.clone()),
    fixed(texts::cpus_online, |facts| Some(cpus_online(facts)).filter(|list| !list.is_empty())),
    fixed(texts::architecture, |facts| {
        Some(facts.architecture.clone()).filter(|text| !text.is_empty())
    }),
    fixed(texts::virtual_machine, |facts| {
        facts.hypervisor.map(|below| {
            if below { texts::yes_on_a_hypervisor } else { texts::no }.said().to_owned()
        })
    }),
    fixed(texts::memory, |facts| facts.memory_total_kib.map(mebibytes)),
    fixed(texts::kernel, |facts| facts.kernel.clone()),
    fixed(texts::kernel_version, |facts| facts.kernel_version.clone()),
    fixed(texts::preemption, format::preemption),
    fixed(texts::kernel_command_line, |facts| facts.kernel_command_line.clone()),
    fixed(texts::clock_source, |facts| facts.clocksource.clone()),
    fixed(texts::clock_sources_available, |facts| {
        Some(facts.clocksources_available.join(", ")).filter(|list| !list.is_empty())
    }),
    fixed(texts::isolated_cpus, |facts| facts.isolated_cpus.as_deref().map(or_none)),
    fixed(texts::cpus_without_tick, |facts| facts.nohz_full_cpus.as_deref().map(or_none)),
    fixed(texts::real_time_throttling, throttling),
    fixed(texts::transparent_huge_pages, |facts| facts.transparent_hugepages.clone()),
    fixed(texts::governor, |facts| by_cpu(facts, |cpu| cpu.governor.clone())),
    fixed(texts::frequency_limits, frequency_limits),
    moving(texts::frequency, frequency),
    moving(texts::memory_available, |facts| facts.memory_available_kib.map(mebibytes)),
    moving(texts::load_average_1_5, |facts| {
        facts.load_average.map(|[a, b, c]| format!("{a:.2}, {b:.2}, {c:.2}"))
    }),
];

/// The facts of all recordings; one that nobody knows is left out.
pub(crate) fn facts(all: &[Overview<'_>]) -> Vec<Fact> {
    let ask = |question: &Question| {
        let values: Vec<Value> =
            all.iter().map(|overview| value(question, &overview.document().host)).collect();
        Fact::new(question.name, values, question.moves)
    };
    std::iter::once(names(all))
        .chain(LAB_QUESTIONS.iter().map(|question| of_lab(question, all)))
        .chain(QUESTIONS.iter().map(ask))
        .chain(OF_CO_KERNEL.iter().map(|question| of_co_kernel(question, all)))
        .filter(|fact| {
            fact.values.iter().any(|value| value.before.is_some() || value.after.is_some())
        })
        .collect()
}

/// Whether names were taken out of recordings; not spoken of where none were.
fn names(all: &[Overview<'_>]) -> Fact {
    let is_asked = all.iter().any(|overview| overview.document().anonymous);
    let of = |overview: &Overview<'_>| {
        is_asked.then(|| {
            if overview.document().anonymous {
                tr!(pseudonyms_anonymous_recording)
            } else {
                tr!(as_recorded)
            }
        })
    };
    Fact::lasting(texts::names, all.iter().map(of))
}

/// What is asked of a lab.
type LabQuestion = (Text, fn(&Lab) -> String);

const LAB_QUESTIONS: [LabQuestion; 7] = [
    (texts::lab_time, lab::time_of),
    (texts::lab_machine, |lab| {
        let guest = &lab.guest;
        format!(
            "{}, {}, {} MiB",
            guest.machine,
            format::counted(guest.cpus.into(), texts::n_cpus),
            count(guest.memory_mib.into())
        )
    }),
    (texts::lab_kernel, |lab| lab.kernel.name.clone()),
    (texts::lab_kernel_image, |lab| format!("SHA-256 {}", lab.kernel.image.sha256)),
    (texts::lab_teiji_in_guest, |lab| format!("SHA-256 {}", lab.program.sha256)),
    (texts::lab_qemu, |lab| qemu(&lab.qemu)),
    (texts::lab_qemus_command_line, |lab| {
        // Of the lab's own, where its libraries are is long and says nothing.
        let whole = lab.qemu.origin != QemuOrigin::Pinned;
        if whole { lab.qemu.command_line.join(" ") } else { lab.qemu.machine().join(" ") }
    }),
];

fn qemu(qemu: &LabQemu) -> String {
    let version = &qemu.version;
    match qemu.origin {
        QemuOrigin::Pinned => tr!(version_pinned, version),
        QemuOrigin::System => tr!(version_the_systems, version),
        QemuOrigin::Path => tr!(version_given_path, version),
    }
}

fn of_lab((name, answer): &LabQuestion, all: &[Overview<'_>]) -> Fact {
    Fact::lasting(*name, all.iter().map(|overview| overview.document().lab.as_ref().map(answer)))
}

/// What is asked of a co-kernel.
type CoKernelQuestion = (Text, fn(&CoKernel) -> String);

const OF_CO_KERNEL: [CoKernelQuestion; 2] = [
    (texts::co_kernel, format::co_kernel_without_gravity),
    (texts::gravity_heading, |core| core.gravity.clone().unwrap_or_else(|| tr!(not_known))),
];

/// Of recordings on Linux it is known that they have none, and said where others have one.
fn of_co_kernel((name, answer): &CoKernelQuestion, all: &[Overview<'_>]) -> Fact {
    let cores = || all.iter().map(|overview| co_kernel::of(overview.document()));
    let is_asked = cores().any(|core| core.is_some());
    let of =
        |core: Option<&CoKernel>| core.map(answer).or_else(|| is_asked.then(|| tr!(none_on_linux)));
    Fact::lasting(*name, cores().map(of))
}

fn value(question: &Question, host: &model::Host) -> Value {
    let answer =
        |facts: &HostFacts| (question.answer)(facts).map(|text| format::clip(&text, MAX_FACT));
    let before = answer(&host.before);
    let after = host
        .after
        .as_ref()
        .map(answer)
        .filter(|after| *after != before)
        .map(|after| after.unwrap_or_else(|| tr!(not_known)));
    let changed = after.is_some() && !question.moves;
    Value { before, after, changed }
}

fn cpus_online(facts: &HostFacts) -> String {
    CpuList::format(&facts.cpus.iter().map(|cpu| cpu.cpu).collect::<Vec<_>>())
}

fn or_none(text: &str) -> String {
    if text.trim().is_empty() { tr!(none) } else { text.trim().to_owned() }
}

fn mebibytes(kib: u64) -> String {
    format!("{} MiB", count(kib / 1_024))
}

fn throttling(facts: &HostFacts) -> Option<String> {
    if facts.kernel.as_deref().is_some_and(FairServer::is_in) {
        let FairServer { runtime_ns, period_ns } = FairServer::DEFAULT;
        let [runtime, period] = [runtime_ns, period_ns].map(|ns| ns / 1_000_000);
        return Some(tr!(fair_server_may, runtime, period));
    }
    let runtime = facts.rt_runtime_us?;
    if runtime < 0 {
        return Some(tr!(off_real_time_threads));
    }
    let period = facts
        .rt_period_us
        .map_or_else(|| tr!(a_period), |us| format!("{} ms", count(us.unsigned_abs() / 1_000)));
    Some(tr!(real_time_threads_may, runtime = runtime / 1_000, period))
}

/// `performance`, or `0-1: performance; 2: powersave`.
fn by_cpu(facts: &HostFacts, item: impl Fn(&model::CpuFacts) -> Option<String>) -> Option<String> {
    let mut groups: BTreeMap<String, Vec<CpuId>> = BTreeMap::new();
    for cpu in &facts.cpus {
        groups.entry(item(cpu)?).or_default().push(cpu.cpu);
    }
    if let [(only, _)] = groups.iter().collect::<Vec<_>>()[..] {
        return Some(only.clone());
    }
    let texts: Vec<String> =
        groups.iter().map(|(what, cpus)| format!("{}: {what}", CpuList::format(cpus))).collect();
    (!texts.is_empty()).then(|| texts.join("; "))
}

fn frequency(facts: &HostFacts) -> Option<String> {
    let now = || facts.cpus.iter().filter_map(|cpu| cpu.frequency_khz);
    Some(megahertz(now().min()?, now().max()?))
}

fn frequency_limits(facts: &HostFacts) -> Option<String> {
    let lowest = facts.cpus.iter().filter_map(|cpu| cpu.frequency_min_khz).min()?;
    Some(megahertz(lowest, facts.cpus.iter().filter_map(|cpu| cpu.frequency_max_khz).max()?))
}

fn megahertz(low: u64, high: u64) -> String {
    let (low, high) = (count(low / 1_000), count(high / 1_000));
    if low == high { format!("{low} MHz") } else { format!("{low}–{high} MHz") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::Synthetic;

    fn named<'f>(facts: &'f [Fact], name: &str) -> &'f Fact {
        facts.iter().find(|fact| fact.name.in_english() == name).unwrap()
    }

    #[test]
    fn what_changed_meanwhile_and_what_differs_between_recordings() {
        let mut recordings = [Synthetic::idle().build(), Synthetic::hackbench().build()];
        recordings[1].document.host.before.cpus[1].governor = Some("performance".into());
        let all = Overview::all(&recordings);
        let facts = facts(&all);

        let clock = named(&facts, "Clock source");
        assert_eq!(
            (clock.values[1].before.as_deref(), clock.values[1].after.as_deref()),
            (Some("tsc"), Some("hpet"))
        );
        assert!(clock.values[1].changed && !clock.values[0].changed && !clock.differs);

        let governor = named(&facts, "Governor");
        assert_eq!(governor.values[1].before.as_deref(), Some("1: performance; 0: schedutil"));
        assert!(governor.differs);

        let memory = named(&facts, "Memory available");
        assert!(memory.values[0].after.is_some() && !memory.values[0].changed && !memory.differs);
        assert!(
            facts.iter().all(|fact| fact.name.in_english() != "CPUs without tick"),
            "nobody knows it"
        );
    }

    #[test]
    fn a_run_that_goes_on_has_no_after() {
        let mut recorded = Synthetic::idle().build();
        recorded.document.host.after = None;
        let recordings = [recorded];
        assert!(
            facts(&Overview::all(&recordings)).iter().all(|fact| fact.values[0].after.is_none())
        );
    }
}

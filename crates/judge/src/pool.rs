// SPDX-License-Identifier: MIT OR Apache-2.0
//! Phases of one run in the lab, which are pooled: judged as if they were one run.
//!
//! A phase is the same run with its starts shifted. In all else, from the kernel's image to QEMU's
//! version, the runs are the same.

use model::{DefaultCpus, Document, Lab, Recorded};
use plan::{Guest, Phase, Run, Scheduling};

/// The largest latency of one phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PhaseMaximum {
    pub phase: Phase,
    /// The place of its recording among those of all phases.
    pub place: usize,
    /// The latency, ns; of jitter the largest size.
    pub max_ns: i64,
}

/// The largest latency of each phase of a run: a maximum in the lab is that of one way in which
/// timers met.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PhaseMaxima {
    /// By phase, ascending.
    pub of_each: Vec<PhaseMaximum>,
}

impl PhaseMaxima {
    /// Of these recordings, one of each phase; those that measured nothing have none.
    pub fn new<'r>(recordings: impl IntoIterator<Item = &'r Recorded>) -> Self {
        let mut maxima = PhaseMaxima::default();
        for (place, recorded) in recordings.into_iter().enumerate() {
            if let Some(max_ns) = recorded.largest_ns() {
                maxima.add(PhaseMaximum { phase: recorded.document.run.phase, place, max_ns });
            }
        }
        maxima
    }

    pub fn add(&mut self, one: PhaseMaximum) {
        let at = self.of_each.partition_point(|known| known.phase <= one.phase);
        self.of_each.insert(at, one);
    }

    /// The phase with the largest latency, the first of equals.
    pub fn worst(&self) -> Option<PhaseMaximum> {
        // The last of equals is taken, and the first comes last in reverse.
        self.of_each.iter().rev().max_by_key(|one| one.max_ns).copied()
    }

    /// The smallest, the median and the largest of them, ns. The median is an observed one,
    /// nearest-rank.
    pub fn spread(&self) -> Option<[i64; 3]> {
        let mut maxima: Vec<i64> = self.of_each.iter().map(|one| one.max_ns).collect();
        maxima.sort_unstable();
        let median = maxima.get(maxima.len().div_ceil(2).checked_sub(1)?)?;
        Some([*maxima.first()?, *median, *maxima.last()?])
    }
}

/// What runs have in common that differ in nothing but their phase.
#[derive(Clone, Debug, PartialEq)]
struct PoolKey {
    run: Run,
    /// What was in force.
    scheduling: Scheduling,
    guest: Guest,
    kernel_sha256: String,
    program_sha256: String,
    modules: Vec<String>,
    device_tree_sha256: Option<String>,
    qemu: String,
    probe_left_open: bool,
    default_cpus: Option<DefaultCpus>,
}

impl PoolKey {
    /// That of a run in the lab's virtual time; none of any other, which has no phase, or of one
    /// whose samples are not there.
    fn from_document(document: &Document) -> Option<PoolKey> {
        let lab: &Lab = document.lab.as_ref().filter(|lab| lab.deterministic)?;
        if document.threads.iter().any(|thread| !thread.detail.is_samples()) {
            return None;
        }
        Some(PoolKey {
            run: Run { title: None, phase: Phase::NONE, ..document.run.clone() },
            scheduling: document.scheduling(),
            guest: lab.guest.clone(),
            kernel_sha256: lab.kernel.image.sha256.clone(),
            program_sha256: lab.program.sha256.clone(),
            modules: lab.modules.clone(),
            device_tree_sha256: lab.device_tree.as_ref().map(|file| file.sha256.clone()),
            qemu: lab.qemu.version.clone(),
            probe_left_open: lab.probe_left_open,
            default_cpus: lab.default_cpus,
        })
    }
}

/// Which of these are pooled: the places of each pool, and of what stands alone, in the order of
/// their first.
pub fn pools<'d>(documents: impl IntoIterator<Item = &'d Document>) -> Vec<Vec<usize>> {
    /// What may be pooled: places and phases.
    struct Candidates {
        key: Option<PoolKey>,
        members: Vec<(Phase, usize)>,
    }
    let mut all: Vec<Candidates> = Vec::new();
    for (place, document) in documents.into_iter().enumerate() {
        let (key, one) = (PoolKey::from_document(document), (document.run.phase, place));
        match all.iter_mut().find(|known| key.is_some() && known.key == key) {
            Some(known) => known.members.push(one),
            None => all.push(Candidates { key, members: vec![one] }),
        }
    }
    let mut found: Vec<Vec<usize>> = Vec::new();
    for Candidates { mut members, .. } in all {
        if members.iter().all(|(phase, _)| *phase == members[0].0) {
            // Repeats: each is what it is.
            found.extend(members.into_iter().map(|(_, place)| vec![place]));
            continue;
        }
        members.sort_unstable();
        found.push(members.into_iter().map(|(_, place)| place).collect());
    }
    found.sort_by_key(|pool| pool.iter().min().copied());
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(phase: u32, change: impl FnOnce(&mut Document)) -> Document {
        let mut document: Document =
            serde_json::from_str(include_str!("../../../fuzz/corpus/run_json/complete.json"))
                .unwrap();
        let guest = serde_json::json!({
            "machine": "x86_64", "memory_mib": 512, "cpus": 1,
            "time": { "mode": "virtual", "shift": 0 }, "kernel_args": "",
        });
        let file = |name: &str| serde_json::json!({ "path": name, "sha256": name });
        let lab = serde_json::json!({
            "guest": guest, "ns_per_instruction": 1, "deterministic": true, "accelerator": "tcg",
            "kernel": { "name": "debian:amd64=6.1", "image": file("vmlinuz"), "modules": null },
            "device_tree": null,
            "program": file("teiji"), "modules": [], "initramfs_sha256": phase.to_string(),
            "qemu": { "version": "7.2.22", "command_line": [] }, "host_ms": 5,
        });
        document.lab = serde_json::from_value(lab).unwrap();
        document.run.phase = phase.to_string().parse().unwrap();
        change(&mut document);
        document
    }

    fn same(_: &mut Document) {}

    #[test]
    fn phases_of_one_run_are_pooled_and_nothing_else() {
        let all = [
            document(2, same),
            document(1, |document| document.run.title = Some("another title".into())),
            document(1, |document| document.run.interval_ns = plan::Nanos(5_000)),
            document(3, |document| {
                document.lab.as_mut().unwrap().kernel.image.sha256 = "another".into()
            }),
            document(4, |document| document.lab.as_mut().unwrap().qemu.version = "10.0.13".into()),
            document(5, |document| document.lab.as_mut().unwrap().deterministic = false),
            document(6, |document| document.lab = None),
            document(7, |document| document.threads[0].scheduling = Scheduling::OTHER),
            document(0, |document| {
                document.lab.as_mut().unwrap().initramfs_sha256 = "of another order".into()
            }),
        ];
        assert_eq!(
            pools(&all),
            [vec![8, 1, 0], vec![2], vec![3], vec![4], vec![5], vec![6], vec![7]]
        );
    }

    #[test]
    fn repeats_are_no_pool() {
        assert_eq!(pools(&[document(3, same), document(3, same)]), [[0], [1]]);
        assert_eq!(pools(&[document(3, same), document(4, same), document(3, same)]), [[0, 2, 1]]);
        assert!(pools(&[]).is_empty());
    }

    #[test]
    fn the_worst_phase_and_how_far_maxima_lie_apart() {
        let phase = |number: u32| number.to_string().parse::<Phase>().unwrap();
        let mut maxima = PhaseMaxima::default();
        assert_eq!((maxima.worst(), maxima.spread()), (None, None));
        for (place, (number, max)) in
            [(3, 700), (1, 900), (2, 500), (7, 900)].into_iter().enumerate()
        {
            maxima.add(PhaseMaximum { phase: phase(number), place, max_ns: max });
        }
        assert_eq!(
            maxima.of_each.iter().map(|one| one.phase.to_string()).collect::<String>(),
            "1237"
        );
        assert_eq!(maxima.worst(), Some(PhaseMaximum { phase: phase(1), place: 1, max_ns: 900 }));
        assert_eq!(maxima.spread(), Some([500, 700, 900]));
    }
}

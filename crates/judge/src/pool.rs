// SPDX-License-Identifier: MIT OR Apache-2.0
//! Phases of one run in the lab, which are pooled: judged as if they were one run.
//!
//! A phase is the same run with its starts shifted. In all else, from the kernel's image to QEMU's
//! version, the runs are the same.

use model::{DefaultCpus, Document, Lab, Recorded};
use plan::{Guest, Phase, Run};
use stats::{Measured, Statistics};
use std::path::{Path, PathBuf};

/// What is pooled with a recording.
#[derive(Clone, Debug)]
pub struct Pool {
    /// The recordings of the other phases, in their order.
    pub others: Vec<Recorded>,
    /// By thread: of all phases together, as measured.
    pub threads: Vec<Statistics>,
    /// What a comparison needs of each phase, by thread; the recording that they are pooled with
    /// comes first.
    pub runs: Vec<Vec<Measured>>,
}

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
    #[must_use]
    pub fn new<'r>(recordings: impl IntoIterator<Item = &'r Recorded>) -> Self {
        let mut maxima = PhaseMaxima::default();
        for (place, recorded) in recordings.into_iter().enumerate() {
            if let Some(max_ns) = largest(recorded) {
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
    #[must_use]
    pub fn worst(&self) -> Option<PhaseMaximum> {
        // The last of equals is taken, and the first comes last in reverse.
        self.of_each.iter().rev().max_by_key(|one| one.max_ns).copied()
    }

    /// The smallest, the median and the largest of them, ns. The median is an observed one,
    /// nearest-rank.
    #[must_use]
    pub fn spread(&self) -> Option<[i64; 3]> {
        let mut maxima: Vec<i64> = self.of_each.iter().map(|one| one.max_ns).collect();
        maxima.sort_unstable();
        let median = maxima.get(maxima.len().div_ceil(2).checked_sub(1)?)?;
        Some([*maxima.first()?, *median, *maxima.last()?])
    }
}

/// The largest latency of all threads of a recording, skipped activations counted in, ns; of jitter
/// the largest size.
#[must_use]
pub fn largest(recorded: &Recorded) -> Option<i64> {
    let probe = &recorded.document.probe;
    let of_threads = recorded.threads.iter().filter_map(|thread| thread.latency_with_skipped);
    of_threads
        .flat_map(|summary| [summary.min, summary.max])
        .map(|value| probe.judged_size(value))
        .max()
}

/// What runs have in common that differ in nothing but their phase.
#[derive(Clone, Debug, PartialEq)]
struct PoolKey {
    run: Run,
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
#[must_use]
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

/// What recordings that lie beside one another are called together: what their paths have in
/// common, with a `*` for the rest.
pub(crate) fn common_path<'p>(mut paths: impl Iterator<Item = &'p Path>) -> PathBuf {
    let Some(first) = paths.next() else { return PathBuf::new() };
    let (folder, name) = (first.parent(), file_name(first));
    let (mut begin, mut end) = (name.clone(), name);
    let mut several = false;
    for path in paths {
        several = true;
        if path.parent() != folder {
            return first.to_owned();
        }
        let name = file_name(path);
        let shared =
            begin.chars().zip(name.chars()).take_while(|(one, other)| one == other).count();
        begin = begin.chars().take(shared).collect();
        let shared = end
            .chars()
            .rev()
            .zip(name.chars().rev())
            .take_while(|(one, other)| one == other)
            .count();
        end = end.chars().skip(end.chars().count() - shared).collect();
    }
    if !several {
        return first.to_owned();
    }
    // `phase-1.teiji` and `phase-11.teiji` share a 1 on either side.
    let end = end.trim_start_matches(|c: char| c.is_ascii_digit());
    let begin = begin.trim_end_matches(|c: char| c.is_ascii_digit());
    folder.unwrap_or(Path::new("")).join(format!("{begin}*{end}"))
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(phase: u32, change: impl FnOnce(&mut Document)) -> Document {
        let mut document: Document =
            serde_json::from_str(include_str!("../../../fuzz/corpus/run_json/complete.json"))
                .unwrap();
        let guest = serde_json::json!({
            "machine": "x86_64", "memory_mib": 512, "cpus": 1, "time": { "mode": "virtual", "shift": 0 }, "kernel_args": "",
        });
        let file = |name: &str| serde_json::json!({ "path": name, "sha256": name });
        let lab = serde_json::json!({
            "guest": guest, "ns_per_instruction": 1, "deterministic": true, "accelerator": "tcg",
            "kernel": { "name": "debian:amd64=6.1", "image": file("vmlinuz"), "modules": null }, "device_tree": null,
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
            document(0, |document| {
                document.lab.as_mut().unwrap().initramfs_sha256 = "of another order".into()
            }),
        ];
        assert_eq!(pools(&all), [vec![7, 1, 0], vec![2], vec![3], vec![4], vec![5], vec![6]]);
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

    #[test]
    fn a_pool_is_called_by_what_its_paths_share() {
        let common =
            |paths: &[&str]| common_path(paths.iter().map(Path::new)).display().to_string();
        assert_eq!(
            common(&["a/x-phase-1.teiji", "a/x-phase-2.teiji", "a/x-phase-12.teiji"]),
            "a/x-phase-*.teiji"
        );
        assert_eq!(common(&["a/x-phase-11.teiji", "a/x-phase-12.teiji"]), "a/x-phase-*.teiji");
        assert_eq!(common(&["01-phase=1.teiji", "02-phase=2.teiji"]), "*.teiji");
        assert_eq!(common(&["a/x.teiji", "b/x.teiji"]), "a/x.teiji");
        assert_eq!(common(&["a/x.teiji"]), "a/x.teiji");
    }
}

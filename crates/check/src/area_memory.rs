// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory that the kernel moves, joins or swaps out meanwhile.

use super::finding::{ALL, Check, Seen, check, tunable};
use super::machine::{Machine, Purpose};
use host::kernel;
use model::phrase;
use plan::quoted;

pub(crate) const CHECKS: &[Check] = &[
    tunable("transparent-hugepages", &[], hugepages),
    tunable("same-page-merging", ALL, merging),
    check("swap", &[], swap),
    tunable(
        "numa-balancing",
        &[Purpose::Telco, Purpose::Measure, Purpose::Robotics],
        numa_balancing,
    ),
    tunable("compaction", &[], compaction),
];

fn hugepages(machine: &Machine<'_>) -> Option<Seen> {
    const FOLDER: &str = "sys/kernel/mm/transparent_hugepage";
    let choice = kernel::chosen(&machine.text(&format!("{FOLDER}/enabled"))?)?.to_owned();
    // Since 6.8 each size has a file of its own: what it says of itself counts, whatever the first
    // file says.
    let is_always = |folder: &String| {
        let text = machine.text(&format!("{FOLDER}/{folder}/enabled")).unwrap_or_default();
        kernel::chosen(&text) == Some("always")
    };
    let sizes = machine.names(FOLDER).into_iter().filter(|name| name.starts_with("hugepages-"));
    let always: Vec<String> = sizes.filter(is_always).collect();
    let files = always.iter().map(|folder| quoted(&format!("/{FOLDER}/{folder}/enabled")));
    let files = (choice == "always")
        .then(|| format!("/{FOLDER}/enabled"))
        .into_iter()
        .chain(files)
        .collect::<Vec<_>>();
    if files.is_empty() {
        return Seen::ok(choice);
    }
    let of_sizes: String = always.iter().map(|folder| format!(", always for {folder}")).collect();
    Seen::warn(format!("{choice}{of_sizes}"), format!("echo never | sudo tee {}", files.join(" ")))
}

fn merging(machine: &Machine<'_>) -> Option<Seen> {
    match machine.number("sys/kernel/mm/ksm/run")? {
        1 => Seen::bad(phrase!("runs"), "echo 0 | sudo tee /sys/kernel/mm/ksm/run"),
        _ => Seen::ok("off"),
    }
}

fn swap(machine: &Machine<'_>) -> Option<Seen> {
    let text = machine.text("proc/swaps")?;
    let places: Vec<&str> =
        text.lines().skip(1).filter_map(|line| line.split_whitespace().next()).collect();
    if places.is_empty() {
        return Seen::ok("none");
    }
    if places.iter().all(|place| place.starts_with("/dev/zram")) {
        return Seen::ok(format!(
            "{}, which is memory: nothing waits for a disk",
            places.join(", ")
        ));
    }
    Seen::warn(places.join(", "), "lock the program's memory with mlockall")
}

fn numa_balancing(machine: &Machine<'_>) -> Option<Seen> {
    match machine.number("proc/sys/kernel/numa_balancing")? {
        0 => Seen::ok("off"),
        _ => Seen::bad(phrase!("on"), "sudo sysctl kernel.numa_balancing=0"),
    }
}

fn compaction(machine: &Machine<'_>) -> Option<Seen> {
    match machine.number("proc/sys/vm/compaction_proactiveness")? {
        0 => Seen::ok("off"),
        _ if machine.options.purpose == Purpose::Audio => Seen::ok("on"),
        level => Seen::warn(format!("on ({level})"), "sudo sysctl vm.compaction_proactiveness=0"),
    }
}

#[cfg(test)]
mod tests {
    use crate::Status;
    use crate::one_finding::finding;
    use crate::tests::files::lay;

    /// Only the first file was read, which does not count for sizes that have a choice of their
    /// own.
    #[test]
    fn each_size_of_hugepages_counts() {
        let (_dir, root) = lay(&[
            ("sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]\n"),
            (
                "sys/kernel/mm/transparent_hugepage/hugepages-64kB/enabled",
                "[always] inherit madvise never\n",
            ),
            (
                "sys/kernel/mm/transparent_hugepage/hugepages-2048kB/enabled",
                "always [inherit] madvise never\n",
            ),
        ]);
        let finding = finding(&root, "transparent-hugepages", None).unwrap();
        assert_eq!(
            (finding.status, finding.found.as_str()),
            (Status::Warn, "never, always for hugepages-64kB")
        );
        let command =
            "echo never | sudo tee /sys/kernel/mm/transparent_hugepage/hugepages-64kB/enabled";
        assert_eq!(finding.action, command);
    }

    /// The tree of files may be a stranger's (--root).
    #[test]
    fn a_name_of_a_folder_is_quoted_in_the_command() {
        const FOLDER: &str = "sys/kernel/mm/transparent_hugepage";
        let (_dir, root) = lay(&[
            (&format!("{FOLDER}/enabled"), "always madvise [never]\n"),
            (&format!("{FOLDER}/hugepages-1;id/enabled"), "[always] never\n"),
        ]);
        let finding = finding(&root, "transparent-hugepages", None).unwrap();
        assert_eq!(
            finding.action,
            format!("echo never | sudo tee '/{FOLDER}/hugepages-1;id/enabled'")
        );
    }

    #[test]
    fn swap_in_memory_waits_for_no_disk() {
        for (places, expected) in [
            ("/dev/zram0 partition 9 0 100\n", Status::Ok),
            ("/dev/zram0 p 9 0 1\n/swap f 9 0 1\n", Status::Warn),
        ] {
            let (_dir, root) = lay(&[(
                "proc/swaps",
                format!("Filename Type Size Used Priority\n{places}").as_str(),
            )]);
            let finding = finding(&root, "swap", None).unwrap();
            assert_eq!(finding.status, expected, "{places}");
            // swapoff may run out of memory: tune never does it either.
            assert_eq!(
                finding.action,
                if expected == Status::Ok { "" } else { "lock the program's memory with mlockall" }
            );
        }
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is changed on machines as trees of files.

use super::*;
use crate::LoaderPlace;
use crate::boot::{BootArgument, BootPlan};
use crate::tests::trees::{laid_out, trees};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

fn shown(plan: &TuningPlan) -> String {
    let mut text = format!("CPUs {}\n", plan::CpuList::format(&plan.cpus));
    for change in &plan.changes {
        let of = if change.subject.is_empty() {
            String::new()
        } else {
            format!(" ({})", change.subject)
        };
        let (from, to) = (change.from.trim(), &change.to);
        let _ = writeln!(text, "{}: /{}{of}\n- {from}\n+ {to}", change.check, change.file);
    }
    for never in &plan.never {
        let _ = writeln!(text, "never: {}", never.setting);
    }
    for check in &plan.not_asked {
        let _ = writeln!(text, "not asked for: {check}");
    }
    for note in &plan.notes {
        let _ = writeln!(text, "note: {note}");
    }
    text
}

/// Where the plans of the trees are.
fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/trees")
}

fn machine(tree: &str) -> (tempfile::TempDir, HostRoot, Option<Vec<CpuId>>) {
    let (dir, options) =
        laid_out(&fs::read_to_string(trees().join(format!("{tree}.tree"))).unwrap());
    let root = HostRoot::at(dir.path());
    (dir, root, options.cpus)
}

/// Each has its plan beside its tree. `TEIJI_WRITE_GOLDEN=1` writes them, to be read before they
/// are kept.
#[test]
fn what_would_be_changed_on_each_machine() {
    let two_and_three = Some(vec![CpuId(2), CpuId(3)]);
    for (tree, cpus, name) in [
        ("pi-3-document-002", None, "pi-3-document-002"),
        ("lab-rt", None, "lab-rt"),
        ("laptop", None, "laptop"),
        ("laptop", two_and_three, "laptop-cpus-2-3"),
    ] {
        let (_dir, root, own) = machine(tree);
        let options = TuningOptions { cpus: cpus.or(own), ..TuningOptions::default() };
        let plan = shown(&TuningPlan::new(&root, &options).unwrap());
        let golden = golden().join(format!("{name}.plan"));
        if std::env::var_os("TEIJI_WRITE_GOLDEN").is_some() {
            fs::write(&golden, &plan).unwrap();
        }
        assert_eq!(plan, fs::read_to_string(&golden).unwrap_or_default(), "{name}");
    }
}

#[test]
fn each_proposal_mends_a_check_and_says_what_it_risks() {
    let names: BTreeSet<&str> = PROPOSALS.iter().map(|proposal| proposal.check).collect();
    assert_eq!(names.len(), PROPOSALS.len());
    for proposal in PROPOSALS {
        assert!(
            check_text(proposal.check).is_some() && proposal.risk.ends_with('.'),
            "{}",
            proposal.check
        );
    }
}

fn asked(also: &[&str], except: &[&str]) -> TuningOptions {
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    TuningOptions { also: owned(also), except: owned(except), ..TuningOptions::default() }
}

#[test]
fn what_is_dangerous_is_done_only_when_asked_for() {
    let (_dir, root, _) = machine("pi-3-document-002");
    let files = |options: TuningOptions| TuningPlan::new(&root, &options).map(|plan| shown(&plan));
    assert!(!files(asked(&[], &[])).unwrap().contains("sched_rt_runtime_us\n-"));
    assert!(
        files(asked(&["rt-throttling"], &[]))
            .unwrap()
            .contains("sched_rt_runtime_us\n- 950000\n+ -1\n")
    );
    assert!(!files(asked(&[], &["workqueues"])).unwrap().contains("workqueue/cpumask"));
    let only =
        TuningOptions { only: vec!["statistics-interval".to_owned()], ..TuningOptions::default() };
    assert!(files(only).unwrap().starts_with(
        "CPUs 1-3\nstatistics-interval: /proc/sys/vm/stat_interval\n- 1\n+ 120\nnever: "
    ));
    let unknown = files(asked(&["gouvernor"], &[])).unwrap_err();
    assert!(
        unknown.starts_with("unknown change 'gouvernor': expected one of governor, "),
        "{unknown}"
    );
}

#[test]
fn threads_that_come_before_are_lowered_when_asked_for() {
    let (dir, root, _) = machine("pi-3-document-002");
    let plan = shown(&TuningPlan::new(&root, &asked(&["threads-above"], &[])).unwrap());
    let note = "note: kworker/1:1 at 98 left as it is, though the kernel's workers need no \
                real-time priority: sudo chrt -o -p 0 20\n";
    assert!(!plan.contains("/proc/20/task/20/stat") && plan.contains(note), "{plan}");
    // What is no worker of the kernel is lowered.
    let stat = dir.path().join("proc/20/task/20/stat");
    let line = fs::read_to_string(&stat).unwrap().replace("(kworker/1:1)", "(player)");
    fs::write(&stat, line).unwrap();
    let plan = shown(&TuningPlan::new(&root, &asked(&["threads-above"], &[])).unwrap());
    assert!(
        plan.contains("threads-above: /proc/20/task/20/stat (priority of player)\n- 98\n+ 89\n"),
        "{plan}"
    );
    let plan = TuningPlan::new(&root, &asked(&[], &[])).unwrap();
    assert!(plan.not_asked.contains(&"threads-above"), "{:?}", plan.not_asked);
}

/// Threads of ordinary priority do what PREEMPT_RT's do at a real-time one.
#[test]
fn throttling_is_never_taken_from_a_kernel_without_preempt_rt() {
    let (_dir, root, _) = machine("laptop");
    let error = TuningPlan::new(&root, &asked(&["rt-throttling"], &[])).unwrap_err();
    assert!(
        error.starts_with(
            "RT throttling (kernel.sched_rt_runtime_us) is never changed on this machine. Without"
        ),
        "{error}"
    );
}

/// CPUs of one frequency domain share their files.
#[test]
fn a_shared_file_is_changed_once() {
    let (dir, root, _) = machine("laptop");
    let cpus = dir.path().join("sys/devices/system/cpu");
    fs::create_dir(cpus.join("cpufreq")).unwrap();
    fs::rename(cpus.join("cpu0/cpufreq"), cpus.join("cpufreq/policy0")).unwrap();
    for cpu in 0..4 {
        let _ = fs::remove_dir_all(cpus.join(format!("cpu{cpu}/cpufreq")));
        std::os::unix::fs::symlink("../cpufreq/policy0", cpus.join(format!("cpu{cpu}/cpufreq")))
            .unwrap();
    }
    let plan = TuningPlan::new(&root, &TuningOptions::default()).unwrap();
    let governors: Vec<&str> = plan
        .changes
        .iter()
        .filter(|change| change.check == "governor")
        .map(|change| change.file.as_str())
        .collect();
    assert_eq!(governors, ["sys/devices/system/cpu/cpufreq/policy0/scaling_governor"]);
}

/// A machine with systemd's groups, whose user is in one of them. Without the controller they have
/// no CPUs of their own yet.
#[test]
fn services_share_the_other_cpus() {
    for has_cpuset in [true, false] {
        let (dir, root, _) = machine("laptop");
        let groups = dir.path().join("sys/fs/cgroup");
        for group in ["system.slice", "user.slice", "init.scope", "kept"] {
            fs::create_dir_all(groups.join(group)).unwrap();
            fs::write(groups.join(group).join("cgroup.procs"), "").unwrap();
            if has_cpuset {
                let own = if group == "init.scope" { "0-1\n" } else { "\n" };
                fs::write(groups.join(group).join("cpuset.cpus"), own).unwrap();
                fs::write(groups.join(group).join("cpuset.cpus.effective"), "0-3\n").unwrap();
            }
        }
        fs::write(groups.join("cgroup.controllers"), "cpuset cpu io memory\n").unwrap();
        fs::write(
            groups.join("cgroup.subtree_control"),
            if has_cpuset { "cpuset memory\n" } else { "memory\n" },
        )
        .unwrap();
        // Somebody else keeps CPUs for this one.
        fs::write(groups.join("kept/cpuset.cpus.partition"), "isolated\n").unwrap();
        fs::write(groups.join("kept/cpuset.cpus.effective"), "3\n").unwrap();
        fs::write(dir.path().join("proc/self/cgroup"), "0::/user.slice/session-3.scope\n").unwrap();
        let options = TuningOptions { cpus: Some(vec![CpuId(1)]), ..asked(&[], &[]) };
        let plan = TuningPlan::new(
            &root,
            &TuningOptions { only: vec!["control-groups".to_owned()], ..options.clone() },
        )
        .unwrap();
        let changes: Vec<(&str, &str, &str)> = plan
            .changes
            .iter()
            .map(|change| (change.file.as_str(), change.from.as_str(), change.to.as_str()))
            .collect();
        let new = [
            ("sys/fs/cgroup/cgroup.subtree_control", "memory\n", "+cpuset"),
            ("sys/fs/cgroup/init.scope/cpuset.cpus", "\n", "0,2-3"),
            ("sys/fs/cgroup/system.slice/cpuset.cpus", "\n", "0,2-3"),
        ];
        // The kernel takes no empty list from a group with processes.
        let own = [("sys/fs/cgroup/init.scope/cpuset.cpus", "0-1\n", "0")];
        assert_eq!(changes, if has_cpuset { &own[..] } else { &new });
        let is_noted = plan
            .notes
            .iter()
            .any(|note| note.starts_with("services in system.slice may run on these CPUs, "));
        assert_eq!(is_noted, has_cpuset, "{:?}", plan.notes);
        // Isolated CPUs have no threads that are not bound to them.
        fs::write(dir.path().join("sys/devices/system/cpu/isolated"), "1\n").unwrap();
        assert!(
            TuningPlan::new(&root, &options)
                .unwrap()
                .changes
                .iter()
                .all(|change| change.check != "control-groups")
        );
    }
}

#[test]
fn the_frequency_is_fixed_where_there_is_no_such_governor() {
    let (dir, root, _) = machine("laptop");
    let folder = dir.path().join("sys/devices/system/cpu/cpu0/cpufreq");
    let wanted = |plan: &TuningPlan| {
        plan.changes.iter().find(|change| change.file.contains("cpu0/cpufreq")).cloned().unwrap()
    };
    fs::write(folder.join("scaling_available_governors"), "powersave ondemand\n").unwrap();
    let change = wanted(&TuningPlan::new(&root, &TuningOptions::default()).unwrap());
    assert!(change.file.ends_with("/scaling_min_freq") && change.to == "3600000", "{change:?}");
}

/// What check calls ok stays, what it advises is what is changed, and the speed that was set comes
/// back with its governor.
#[test]
fn a_set_frequency_is_raised_as_check_advises() {
    let (dir, root, _) = machine("laptop");
    let folder = dir.path().join("sys/devices/system/cpu/cpu0/cpufreq");
    fs::write(folder.join("scaling_governor"), "userspace\n").unwrap();
    fs::write(folder.join("scaling_available_governors"), "userspace performance\n").unwrap();
    for (speed, expected) in [("800000\n", Some("performance")), ("4700000\n", None)] {
        let highest = fs::read_to_string(folder.join("cpuinfo_max_freq")).unwrap();
        fs::write(
            folder.join("scaling_setspeed"),
            if expected.is_some() { speed } else { &highest },
        )
        .unwrap();
        let plan = TuningPlan::new(
            &root,
            &TuningOptions { cpus: Some(vec![CpuId(0)]), ..TuningOptions::default() },
        )
        .unwrap();
        let change = plan.changes.iter().find(|change| change.check == "governor");
        assert_eq!(change.map(|change| change.to.as_str()), expected, "{speed}");
        let file = "sys/devices/system/cpu/cpu0/cpufreq/scaling_setspeed";
        let kept = plan
            .companions
            .iter()
            .find(|entry| entry.file == file)
            .map(|entry| entry.from.as_str());
        assert_eq!(kept, expected.map(|_| speed));
        let asked = CheckOptions { cpus: Some(vec![CpuId(0)]), ..CheckOptions::default() };
        let (.., advised) = crate::tests::trees::shown(&root, &asked, "governor").unwrap().words();
        assert_eq!(
            advised.contains("echo performance | sudo tee ")
                && advised.contains("/scaling_governor"),
            expected.is_some(),
            "{advised}"
        );
    }
}

/// Programs that ask for huge pages get them, as before. Each size that is always on is one.
#[test]
fn huge_pages_are_changed_where_check_finds_fault() {
    let (dir, root, _) = machine("laptop");
    let folder = dir.path().join("sys/kernel/mm/transparent_hugepage");
    fs::create_dir_all(folder.join("hugepages-64kB")).unwrap();
    for (all, size, expected) in [
        ("always [madvise] never\n", "always [inherit] madvise never\n", &[][..]),
        (
            "always [madvise] never\n",
            "[always] inherit madvise never\n",
            &["sys/kernel/mm/transparent_hugepage/hugepages-64kB/enabled"],
        ),
        (
            "[always] madvise never\n",
            "always [inherit] madvise never\n",
            &["sys/kernel/mm/transparent_hugepage/enabled"],
        ),
    ] {
        fs::write(folder.join("enabled"), all).unwrap();
        fs::write(folder.join("hugepages-64kB/enabled"), size).unwrap();
        let only = TuningOptions {
            only: vec!["transparent-hugepages".to_owned()],
            ..TuningOptions::default()
        };
        let plan = TuningPlan::new(&root, &only).unwrap();
        assert_eq!(
            plan.changes.iter().map(|change| change.file.as_str()).collect::<Vec<_>>(),
            expected,
            "{all}{size}"
        );
    }
}

fn shown_boot(plan: &BootPlan, root: &HostRoot) -> String {
    let mut text = format!("CPUs {}\n", plan::CpuList::format(&plan.cpus));
    for BootArgument { from, to, .. } in &plan.changes {
        let from = from.iter().map(|from| format!("- {from}\n")).collect::<String>();
        let _ = writeln!(text, "{from}+ {to}");
    }
    for kept in &plan.kept {
        let _ = writeln!(text, "= {kept}");
    }
    for note in &plan.notes {
        let _ = writeln!(text, "note: {note}");
    }
    let _ =
        writeln!(text, "place: {}", LoaderPlace::where_written(root).as_deref().unwrap_or("none"));
    text
}

#[test]
fn arguments_of_each_machine() {
    let cases =
        [("pi-3-document-002", None), ("lab-rt", None), ("laptop", Some(vec![CpuId(2), CpuId(3)]))];
    for (tree, cpus) in cases {
        let (dir, root, _) = machine(tree);
        if tree.starts_with("pi") {
            fs::write(dir.path().join("boot/cmdline.txt"), "").unwrap();
        }
        let text = shown_boot(&BootPlan::new(&root, cpus).unwrap(), &root);
        let golden = golden().join(format!("{tree}.boot"));
        if std::env::var_os("TEIJI_WRITE_GOLDEN").is_some() {
            fs::write(&golden, &text).unwrap();
        }
        assert_eq!(text, fs::read_to_string(&golden).unwrap_or_default(), "{tree}");
    }
    let (_dir, root, _) = machine("laptop");
    let error = BootPlan::new(&root, None).unwrap_err();
    assert!(
        error.starts_with("no CPU would be left for everything else: name some of 0-3"),
        "{error}"
    );
    let error = BootPlan::new(&root, Some((0..4).map(CpuId).collect())).unwrap_err();
    assert!(error.starts_with("no CPU would be left"), "{error}");
}

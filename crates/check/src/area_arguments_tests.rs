// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernel arguments on small machines: what is said of those that are there, and which are
//! recommended.

use crate::image::tests::{VERSION, bz_image, gzip, kernel};
use crate::tests::trees::{Shown, found, laid_out, shown};
use crate::*;
use std::fs;

fn action(id: &str, options: &str, files: &[(&str, &str)]) -> String {
    found(id, options, files).unwrap().action.unwrap_or_default()
}

const RELEASE: &str = "proc/sys/kernel/osrelease";
const LINE: &str = "proc/cmdline";
const ISOLATED: (&str, &str) = ("sys/devices/system/cpu/isolated", "2-3");
const TICKLESS: &str = "sys/devices/system/cpu/nohz_full";

/// Kernels before 5.6 isolate nothing where a flag stands that they do not know, and this one was
/// built for nothing else.
#[test]
fn only_what_the_kernel_knows_and_was_built_for_is_recommended() {
    let config = ("boot/config-5.4.0", "CONFIG_CPU_ISOLATION=y\n# CONFIG_NO_HZ_FULL is not set");
    assert_eq!(
        action("isolation", "-a 2,3", &[(RELEASE, "5.4.0"), config]),
        "boot with isolcpus=2-3 irqaffinity=0-1"
    );
    let config =
        ("boot/config-5.6.0", "CONFIG_CPU_ISOLATION=y\nCONFIG_NO_HZ_FULL=y\nCONFIG_RCU_NOCB_CPU=y");
    let expected =
        "boot with isolcpus=managed_irq,domain,2-3 nohz_full=2-3 rcu_nocbs=2-3 irqaffinity=0-1";
    assert_eq!(action("isolation", "-a 2,3", &[(RELEASE, "5.6.0"), config]), expected);
    let unknown = action("isolation", "-a 2,3", &[]);
    let condition = " (nohz_full= needs NO_HZ_FULL and rcu_nocbs= needs RCU_NOCB_CPU, each of \
                     which this kernel may not be built with)";
    assert_eq!(unknown, format!("{expected}{condition}"));
    let config = ("boot/config-6.1.0-x", "CONFIG_HZ=250");
    let build = action("isolation", "-a 2,3", &[config]);
    assert_eq!(
        build,
        "build the kernel with CONFIG_CPU_ISOLATION=y for isolcpus=, and boot with irqaffinity=0-1"
    );
}

#[test]
fn neither_cpu_0_nor_all_are_recommended() {
    let none = "choose another CPU than 0, to which the kernel binds work of its own: teiji check \
                --advise";
    assert_eq!(action("isolation", "-a 0", &[(TICKLESS, "")]), none);
    let beside = action("isolation", "-a 0,1", &[(TICKLESS, "")]);
    assert!(
        beside.starts_with(
            "choose other CPUs than 0. For these, boot with isolcpus=managed_irq,domain,1 \
             nohz_full=1 "
        ),
        "{beside}"
    );
    // Those that are isolated already stay so.
    let further = action("isolation", "-a 1", &[(TICKLESS, ""), ISOLATED]);
    assert!(further.starts_with("boot with isolcpus=managed_irq,domain,1-3 "), "{further}");
    // Nobody chose any.
    let advised = action("isolation", "", &[(TICKLESS, "")]);
    assert_eq!(
        advised,
        "boot with isolcpus=managed_irq,domain,1-3 nohz_full=1-3 rcu_nocbs=1-3 irqaffinity=0"
    );
    // It is back at the next boot.
    let offline = [("sys/devices/system/cpu/online", "1-3"), (TICKLESS, "")];
    assert!(action("isolation", "-a 1,2", &offline).ends_with(" irqaffinity=0,3"));
    let one_core = [
        ("sys/devices/system/cpu/online", "0-1"),
        ("sys/devices/system/cpu/cpu1/topology/thread_siblings_list", "0-1"),
    ];
    assert_eq!(action("isolation", "", &one_core), "measure on a machine with more than one core");
}

fn agreement(line: &str, tickless: &str) -> Shown {
    found("arguments-agree", "", &[(LINE, line), ISOLATED, (TICKLESS, tickless)]).unwrap()
}

/// More CPUs cost nothing, and without a list none is offloaded until somebody asks for it.
#[test]
fn further_cpus_without_callbacks_are_right() {
    for callbacks in ["rcu_nocbs=all", "rcu_nocbs=1-3", "rcu_nocbs=0-N", "rcu_nocbs"] {
        let line = format!("isolcpus=2-3 nohz_full=2-3 {callbacks}");
        assert_eq!(agreement(&line, "2-3").status, Status::Ok, "{callbacks}");
        let in_effect =
            found("arguments-in-effect", "", &[(LINE, &line), ISOLATED, (TICKLESS, "2-3")])
                .unwrap();
        assert_eq!(
            (in_effect.status, in_effect.found.as_str()),
            (Status::Ok, "isolcpus and nohz_full as given"),
            "{callbacks}"
        );
    }
}

#[test]
fn callbacks_that_an_argument_forgets() {
    // The kernel adds those of nohz_full.
    let harmless = agreement("isolcpus=2-3 nohz_full=2-3 rcu_nocbs=0", "2-3");
    let expected = "rcu_nocbs=0 names CPU 0 and not CPUs 2-3, which are isolated. The kernel \
                    offloads CPUs 2-3 all the same, for nohz_full=2-3";
    assert_eq!((harmless.status, harmless.found.as_str()), (Status::Warn, expected));
    assert_eq!(harmless.action.as_deref(), Some("boot with rcu_nocbs=2-3"));
    // It did not, because it refused that list.
    let bad = agreement("isolcpus=2-3 nohz_full=2-3 rcu_nocbs=3", "");
    assert_eq!((bad.status, bad.found.as_str()), (Status::Bad, "rcu_nocbs=3 leaves out CPU 2"));
}

#[test]
fn what_disagrees_is_put_right_by_arguments_that_the_kernel_takes() {
    for (line, found, action) in [
        (
            "isolcpus=2-3 irqaffinity=2-3",
            "irqaffinity=2-3 puts interrupts on CPUs 2-3, which are isolated",
            "boot with irqaffinity=0-1",
        ),
        (
            "isolcpus=0-3 irqaffinity=0-3",
            "isolcpus=0-3 has CPU 0, to which the kernel binds work of its own. irqaffinity=0-3 \
             puts interrupts on CPUs 0-3, which are to be isolated",
            "choose other CPUs than 0. For these, boot with isolcpus=managed_irq,domain,1-3 \
             irqaffinity=0",
        ),
        (
            "isolcpus=0",
            "isolcpus=0 has CPU 0, to which the kernel binds work of its own",
            "choose another CPU than 0, to which the kernel binds work of its own: teiji check \
             --advise",
        ),
        ("isolcpus=2-3 nohz_full=2", "nohz_full=2 leaves out CPU 3", "boot with nohz_full=2-3"),
        (
            "isolcpus=2 nohz_full=2-3",
            "nohz_full=2-3 has CPU 3 too, which is not isolated",
            "boot with nohz_full=2",
        ),
    ] {
        let finding = agreement(line, "2-3");
        assert_eq!(
            (finding.status, finding.found.as_str(), finding.action.as_deref()),
            (Status::Bad, found, Some(action)),
            "{line}"
        );
    }
}

/// 4.18.0-553.el8 was told to boot without the flag, which it knows.
#[test]
fn a_distributions_older_kernel_may_know_the_flag() {
    let advised = |release: &str| {
        let files = [(LINE, "nohz_full=2-3"), (TICKLESS, "2-3"), (RELEASE, release)];
        found("isolation", "", &files).unwrap().action.unwrap()
    };
    let older = "boot with isolcpus=2-3 nohz_full=2-3 rcu_nocbs=2-3 irqaffinity=0-1";
    assert_eq!(advised("4.18.0"), older);
    let may = " (this distribution's kernel may know managed_irq, which mainline has from 5.6 on: \
               try isolcpus=managed_irq,domain,2-3, and where /sys/devices/system/cpu/isolated \
               lists these CPUs then, it does)";
    for release in ["4.18.0-553.el8_10.x86_64", "5.3.18-150300.59.164-default"] {
        assert_eq!(advised(release), format!("{older}{may}"));
    }
    assert!(
        advised("5.14.0-427.el9.x86_64").starts_with("boot with isolcpus=managed_irq,domain,2-3 ")
    );
}

#[test]
fn the_image_of_an_older_kernel_says_whether_it_knows_the_flag() {
    let release = "4.18.0-553.el8_10.x86_64";
    let (dir, options) = laid_out(&format!(
        "x\n=== {LINE}\nnohz_full=2-3\n=== {TICKLESS}\n2-3\n=== {RELEASE}\n{release}\n\
         === sys/devices/system/cpu/online\n0-3\n=== proc/version\n{VERSION}\n"
    ));
    let advised = |strings: &[&str]| {
        fs::create_dir_all(dir.path().join("boot")).unwrap();
        let image = bz_image(&gzip(&kernel(strings)));
        fs::write(dir.path().join("boot").join(format!("vmlinuz-{release}")), image).unwrap();
        shown(&HostRoot::at(dir.path()), &options, "isolation").unwrap().action.unwrap()
    };
    assert!(advised(&["managed_irq,"]).starts_with("boot with isolcpus=managed_irq,domain,2-3 "));
    let without = "boot with isolcpus=2-3 nohz_full=2-3 rcu_nocbs=2-3 irqaffinity=0-1";
    assert_eq!(advised(&["domain,"]), without);
}

/// A kernel booted with it left the CPU to the scheduler, and was said to be set up rightly.
#[test]
fn without_domain_nothing_is_isolated() {
    let line = (LINE, "isolcpus=managed_irq,2-3 nohz_full=2-3");
    let none = ("sys/devices/system/cpu/isolated", "");
    // Nothing shows whether the older one, which may be a distribution's, took the flag.
    for release in ["6.1.0", "4.18.0-553.el8_10.x86_64"] {
        let finding =
            found("arguments-agree", "", &[line, none, (TICKLESS, "2-3"), (RELEASE, release)])
                .unwrap();
        let expected =
            "isolcpus=managed_irq,2-3 lacks domain, so the scheduler puts any thread on CPUs 2-3";
        assert_eq!((finding.status, finding.found.as_str()), (Status::Bad, expected));
        assert_eq!(finding.action.as_deref(), Some("boot with isolcpus=managed_irq,domain,2-3"));
        let in_effect =
            found("arguments-in-effect", "", &[line, none, (TICKLESS, "2-3"), (RELEASE, release)])
                .unwrap();
        assert_eq!(
            (in_effect.status, in_effect.found.as_str()),
            (Status::Ok, "nohz_full as given"),
            "{release}"
        );
    }
    // An isolated partition of control groups does it too.
    assert_eq!(
        found("arguments-agree", "", &[line, ISOLATED, (TICKLESS, "2-3")]).unwrap().status,
        Status::Ok
    );
}

#[test]
fn an_argument_that_is_there_twice_is_named() {
    let seen = |line: &str, isolated: &str| {
        let files = [(LINE, line), ("sys/devices/system/cpu/isolated", isolated)];
        let finding = found("arguments-agree", "", &files).unwrap();
        (finding.status, finding.found, finding.action.unwrap_or_default())
    };
    let (status, said, action) = seen("isolcpus=2-3 isolcpus=1-3", "2-3");
    let expected =
        "isolcpus= is there more than once: isolcpus=2-3 counts, and isolcpus=1-3 does nothing";
    assert_eq!((status, said.as_str()), (Status::Warn, expected));
    assert_eq!(action, "remove isolcpus=1-3 from the kernel's arguments");
    // The last of these counts.
    let (status, said, action) = seen("isolcpus=2-3 irqaffinity=0-1 irqaffinity=0-3", "2-3");
    assert_eq!(status, Status::Bad);
    assert!(said.ends_with("irqaffinity=0-3 counts, and irqaffinity=0-1 does nothing"), "{said}");
    assert_eq!(
        action,
        "boot with irqaffinity=0-1, and remove irqaffinity=0-1 from the kernel's arguments"
    );
    assert_eq!(seen("isolcpus=2-3 isolcpus=2-3", "2-3").0, Status::Ok);
}

/// Of those that take one value the last counts, where the kernel takes it.
#[test]
fn a_value_that_another_one_replaces_is_named() {
    let seen = |line: &str| {
        let files = [(LINE, line), (RELEASE, "6.1.0")];
        Some(found("arguments-agree", "", &files)?.words())
    };
    for (line, name, counts, other) in [
        ("preempt=full preempt=none", "preempt", "preempt=none", "preempt=full"),
        ("nohz=on nohz=off", "nohz", "nohz=off", "nohz=on"),
        (
            "intel_idle.max_cstate=0 quiet intel_idle.max_cstate=1",
            "intel_idle.max_cstate",
            "intel_idle.max_cstate=1",
            "intel_idle.max_cstate=0",
        ),
    ] {
        let found =
            format!("{name}= is there more than once: {counts} counts, and {other} does nothing");
        let action = format!("remove {other} from the kernel's arguments");
        assert_eq!(seen(line), Some((Status::Warn, found, action)));
    }
    for line in [
        "preempt=full preempt=full",
        "preempt=full preempt=ful",
        "tsc=reliable tsc=nowatchdog",
        "console=tty0 console=ttyS0",
    ] {
        assert_eq!(seen(line), None, "{line}");
    }
}

/// It was said again to lack irqaffinity=, which was there.
#[test]
fn interrupts_that_disagree_are_said_once() {
    let files = [(LINE, "isolcpus=2-3 irqaffinity=0-2"), ISOLATED];
    assert_eq!(found("arguments-agree", "", &files).unwrap().status, Status::Bad);
    assert_eq!(found("interrupts-at-boot", "", &files), None);
}

#[test]
fn what_is_not_isolated_yet_is_not_said_to_be() {
    let none = ("sys/devices/system/cpu/isolated", "");
    let finding =
        found("arguments-agree", "", &[(LINE, "isolcpus=2-3 rcu_nocbs=0"), none]).unwrap();
    assert_eq!(finding.found, "rcu_nocbs=0 names CPU 0 and not CPUs 2-3, which are to be isolated");
}

#[test]
fn arguments_that_switch_a_watchdog_off_are_compared_with_it() {
    let seen = |soft: &str| {
        let files =
            [(LINE, "nosoftlockups nmi_watchdog=0"), ("proc/sys/kernel/soft_watchdog", soft)];
        let finding = found("arguments-in-effect", "", &files).unwrap();
        (finding.status, finding.found)
    };
    assert_eq!(seen("0"), (Status::Ok, "nosoftlockups as given".to_owned()));
    assert_eq!(
        seen("1"),
        (Status::Warn, "nosoftlockups: kernel.soft_watchdog is 1 all the same".to_owned())
    );
    assert_eq!(found("tick-skew", "", &[(LINE, "skew_tick=1")]).unwrap().found, "skew_tick=1");
    assert_eq!(found("tick-skew", "", &[]).unwrap().status, Status::Ok);
}

#[test]
fn a_clock_that_is_not_there_is_named() {
    let seen = |asked: &str| {
        let clocks = (crate::spelling::AVAILABLE_CLOCKS, "tsc acpi_pm");
        let line = format!("clocksource={asked}");
        Some(found("arguments-in-effect", "", &[(LINE, &line), clocks])?.words())
    };
    let found = "clocksource=hpet: this machine has no such clock (available: tsc acpi_pm)";
    let action = "remove clocksource=hpet from the kernel's arguments";
    assert_eq!(seen("hpet"), Some((Status::Warn, found.to_owned(), action.to_owned())));
    // The other is misspelled.
    assert_eq!((seen("acpi_pm"), seen("tcs")), (None, None));
}

const PI_3: (&str, &str) = ("proc/device-tree/model", "Raspberry Pi 3 Model B Plus Rev 1.3");
const REAL_TIME: (&str, &str) = ("sys/kernel/realtime", "1");

/// The fast interrupts of its USB controller.
#[test]
fn a_board_that_needs_usb_arguments_is_given_them() {
    for (line, action, is_changed) in [
        ("quiet", "in cmdline.txt add dwc_otg.fiq_enable=0 dwc_otg.fiq_fsm_enable=0", true),
        (
            "dwc_otg.fiq_enable=1",
            "in cmdline.txt replace dwc_otg.fiq_enable=1 by dwc_otg.fiq_enable=0, and add \
             dwc_otg.fiq_fsm_enable=0",
            true,
        ),
        ("dwc_otg.fiq_enable=0 dwc_otg.fiq_fsm_enable=N", "", false),
    ] {
        let files = [PI_3, REAL_TIME, (LINE, line)];
        let finding = found("board-usb-interrupts", "", &files).unwrap();
        assert_eq!(
            (finding.status == Status::Bad, finding.action.unwrap_or_default().as_str()),
            (is_changed, action),
            "{line}"
        );
    }
    for files in
        [&[PI_3][..], &[("proc/device-tree/model", "Raspberry Pi 4 Model B Rev 1.4"), REAL_TIME]]
    {
        assert!(!found("isolation", "", files).unwrap().action.unwrap().contains("dwc_otg"));
    }
    let other_driver = [PI_3, REAL_TIME, ("sys/module/dwc2/x", "")];
    assert_eq!(found("board-usb-interrupts", "", &other_driver), None);
}

#[test]
fn interrupts_at_boot_have_a_cpu_to_go_to() {
    let all = ("sys/devices/system/cpu/isolated", "0-3");
    assert!(action("interrupts-at-boot", "", &[all]).ends_with("boot with irqaffinity=0"));
    let shared = found("interrupts-at-boot", "", &[ISOLATED, (LINE, "irqaffinity=0-3")]).unwrap();
    assert_eq!(
        (shared.status, shared.action.as_deref()),
        (Status::Warn, Some("boot with irqaffinity=0-1"))
    );
}

#[test]
fn a_flag_that_the_kernel_does_not_know_isolates_nothing() {
    let line = (LINE, "isolcpus=managed_irq,domain,2-3");
    let finding = found(
        "arguments-in-effect",
        "",
        &[line, (RELEASE, "5.4.0"), ("sys/devices/system/cpu/isolated", "")],
    )
    .unwrap();
    let expected = "isolcpus=managed_irq,domain,2-3: not in effect on CPUs 2-3, as where the \
                    kernel does not know managed_irq (mainline before 5.6)";
    assert_eq!((finding.status, finding.found.as_str()), (Status::Bad, expected));
    assert_eq!(finding.action.as_deref(), Some("boot with isolcpus=2-3"));
    // A distribution's kernel of that version did what it was told.
    let done = found("arguments-in-effect", "", &[line, (RELEASE, "5.4.0"), ISOLATED]).unwrap();
    assert_eq!((done.status, done.found.as_str()), (Status::Ok, "isolcpus as given"));
}

/// The list is in effect, but not what the flag was to do.
#[test]
fn a_misspelled_flag_is_skipped() {
    let line = (LINE, "isolcpus=managedirq,domain,2-3,");
    let seen = |release, isolated| {
        let isolated = ("sys/devices/system/cpu/isolated", isolated);
        found("arguments-in-effect", "", &[line, (RELEASE, release), isolated]).unwrap().words()
    };
    let (status, said, action) = seen("6.1.0", "2-3");
    let expected = "isolcpus=managedirq,domain,2-3,: the kernel skips managedirq, which it does \
                    not know";
    assert_eq!((status, said.as_str()), (Status::Warn, expected));
    assert_eq!(action, "boot with isolcpus=managed_irq,domain,2-3");
    // Kernels before 5.8 take nothing of it.
    let (status, said, _) = seen("5.4.0", "");
    let expected = "isolcpus=managedirq,domain,2-3,: not in effect on CPUs 2-3";
    assert_eq!((status, said.as_str()), (Status::Bad, expected));
    // Without flags that it knows the kernel isolates from balancing.
    let files = [(LINE, "isolcpus=managedirq,2-3"), ISOLATED];
    assert_eq!(found("arguments-agree", "", &files).unwrap().status, Status::Ok);
}

#[test]
fn what_begins_with_a_letter_is_a_flag() {
    let none = ("sys/devices/system/cpu/isolated", "");
    let finding = found("arguments-in-effect", "", &[(LINE, "isolcpus=all"), none]).unwrap();
    let expected = "isolcpus=all: the kernel reads 'all' as a flag, and no list of CPUs follows it";
    assert_eq!((finding.status, finding.found.as_str()), (Status::Bad, expected));
    let finding = found("arguments-in-effect", "", &[(LINE, "isolcpus=2-3,"), ISOLATED]).unwrap();
    assert_eq!((finding.status, finding.found.as_str()), (Status::Ok, "isolcpus as given"));
}

/// It was told to look in dmesg.
#[test]
fn the_boot_cpu_is_not_isolated() {
    for (line, file) in
        [("isolcpus=0,3", "sys/devices/system/cpu/isolated"), ("nohz_full=0,3", TICKLESS)]
    {
        let finding = found("arguments-in-effect", "", &[(LINE, line), (file, "3")]).unwrap();
        let expected = format!(
            "{line}: not in effect on CPU 0, the boot CPU, which the kernel keeps for its own work"
        );
        assert_eq!((finding.status, finding.found), (Status::Bad, expected));
        let action = finding.action.unwrap();
        assert!(action.starts_with("choose other CPUs than 0. For these, boot with "), "{action}");
    }
}

/// /sys listed the CPUs all the same, and they had 250 ticks a second.
#[test]
fn nohz_off_switches_off_what_nohz_full_asks_for() {
    let seen = |id: &str, line: &str| {
        let files = [
            (LINE, line),
            ISOLATED,
            (TICKLESS, "2-3"),
            ("boot/config-6.1.0-x", "CONFIG_NO_HZ_FULL=y"),
            ("proc/sys/kernel/timer_migration", "1"),
        ];
        let finding = found(id, "-a 2,3", &files).unwrap();
        (finding.status, finding.found, finding.action.unwrap_or_default())
    };
    let line = "isolcpus=2-3 nohz_full=2-3 nohz=off";
    let remove = "remove nohz=off from the kernel's arguments".to_owned();
    let off = "switched off by nohz=off";
    assert_eq!(seen("full-dynticks", line), (Status::Warn, off.to_owned(), remove.clone()));
    let in_effect = format!("nohz_full=2-3: {off}");
    assert_eq!(seen("arguments-in-effect", line), (Status::Bad, in_effect, remove));
    assert_eq!(seen("timer-migration", line), (Status::Ok, off.to_owned(), String::new()));
    let line = "isolcpus=2-3 nohz_full=2-3 nohz=on";
    assert_eq!(seen("full-dynticks", line).0, Status::Ok);
    assert_eq!(
        seen("arguments-in-effect", line),
        (Status::Ok, "isolcpus and nohz_full as given".to_owned(), String::new())
    );
}

#[test]
fn a_slow_clock_that_was_asked_for_comes_back() {
    let files = [
        ("sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet"),
        ("sys/devices/system/clocksource/clocksource0/available_clocksource", "tsc hpet"),
        (LINE, "quiet clocksource=hpet"),
    ];
    let expected = "remove clocksource=hpet from the kernel's arguments, and for now: echo tsc | \
                    sudo tee /sys/devices/system/clocksource/clocksource0/current_clocksource";
    assert_eq!(action("clocksource", "", &files), expected);
}

/// 0 for intel_idle means that another driver chooses, and other numbers may be no limit.
#[test]
fn limits_of_idle_states_that_are_none() {
    for (line, driver, status, says) in [
        ("intel_idle.max_cstate=1", "intel_idle", Status::Ok, ""),
        (
            "intel_idle.max_cstate=9",
            "intel_idle",
            Status::Warn,
            "boot with intel_idle.max_cstate=1",
        ),
        ("processor.max_cstate=1", "intel_idle", Status::Warn, "boot with intel_idle.max_cstate=1"),
        (
            "intel_idle.max_cstate=0",
            "acpi_idle",
            Status::Warn,
            "boot with processor.max_cstate=1 too",
        ),
        ("intel_idle.max_cstate=0", "", Status::Warn, "boot with processor.max_cstate=1 too"),
        ("intel_idle.max_cstate=0 processor.max_cstate=1", "acpi_idle", Status::Ok, ""),
        ("processor.max_cstate=9", "acpi_idle", Status::Warn, "boot with processor.max_cstate=1"),
        ("idle=halt", "none", Status::Ok, ""),
        ("cpuidle.off=1", "none", Status::Ok, ""),
    ] {
        let driver = if driver.is_empty() {
            ("x", "x")
        } else {
            ("sys/devices/system/cpu/cpuidle/current_driver", driver)
        };
        let finding = found("idle-arguments", "", &[(LINE, line), driver]).unwrap();
        assert_eq!(
            (finding.status, finding.action.unwrap_or_default().as_str()),
            (status, says),
            "{line}"
        );
    }
}

/// The kernel takes no group of more than 32 bits.
#[test]
fn masks_of_many_cpus_have_groups() {
    let files = [
        ("sys/devices/system/cpu/online", "0-159"),
        ("proc/irq/default_smp_affinity", "ffffffff,ffffffff,ffffffff,ffffffff,ffffffff"),
    ];
    let expected = "echo ffffffff,ffffffff,ffffffff,ffffffff,7fffffff | sudo tee \
                    /proc/irq/default_smp_affinity";
    assert_eq!(action("interrupt-default", "-a 31", &files), expected);
    let expected = "echo 7fffffff,ffffffff,ffffffff,ffffffff,ffffffff | sudo tee \
                    /proc/irq/default_smp_affinity";
    assert_eq!(action("interrupt-default", "-a 159", &files), expected);
}

/// `idle=` is one of x86 kernels. On a Raspberry Pi it was warned of as if it heated, and `nohlt`,
/// which does, was not.
#[test]
fn what_polls_depends_on_the_processor() {
    let seen = |line: &str, file: (&str, &str)| {
        let files = [("proc/cmdline", line), file];
        let finding = found("idle-arguments", "--for robotics", &files)?;
        assert_eq!(finding.status, Status::Warn, "{line}");
        Some((finding.found, finding.action.unwrap()))
    };
    let x86 = ("proc/sys/kernel/arch", "x86_64");
    let older_x86 = ("proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu tsc");
    let pi = ("proc/sys/kernel/arch", "aarch64");
    let older_pi = ("proc/cpuinfo", "processor\t: 0\nCPU implementer\t: 0x41");
    let said = |found: &str, action: &str| Some((found.to_owned(), action.to_owned()));
    let instead = ". /dev/cpu_dma_latency does it while it is needed";
    let polls = "it heats, which may throttle";
    for file in [x86, older_x86] {
        let action = format!("remove idle=poll: {polls}{instead}");
        assert_eq!(seen("idle=poll", file), said("idle=poll", &action));
        let found = "nohlt does nothing on this processor";
        assert_eq!(seen("nohlt", file), said(found, "remove nohlt"));
    }
    for file in [pi, older_pi] {
        let found = "idle=poll does nothing on this processor";
        assert_eq!(seen("idle=poll", file), said(found, "remove idle=poll"));
        assert_eq!(seen("nohlt", file), said("nohlt", &format!("remove nohlt: {polls}")));
        let found = "nohlt. idle=poll and intel_idle.max_cstate=0 do nothing on this processor";
        let action =
            format!("remove idle=poll and intel_idle.max_cstate=0, and remove nohlt: {polls}");
        assert_eq!(seen("idle=poll intel_idle.max_cstate=0 nohlt", file), said(found, &action));
    }
    // Where it is not known, nothing is said to do nothing.
    let unknown = ("proc/1/comm", "init");
    assert_eq!(seen("idle=poll", unknown).unwrap().0, "idle=poll");
    assert_eq!(seen("nohlt", unknown).unwrap().0, "nohlt");
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a kernel is built with, and what of it was asked for.

use crate::one_finding::finding;
use crate::tests::files::lay;
use crate::tests::trees::{Shown, found, shown};
use crate::*;

const DYNAMIC: (&str, &str) =
    ("proc/version", "Linux version 6.1.0-x (x) #1 SMP PREEMPT_DYNAMIC x");
const CONFIG: &str = "boot/config-6.1.0-x";

/// Of a configuration that is looked at by itself.
fn of_config(id: &str, text: &str) -> Shown {
    let (dir, _) = crate::tests::trees::laid_out("=== sys/devices/system/cpu/online\n0-3\n");
    let path = dir.path().join(".config");
    std::fs::write(&path, text).unwrap();
    let config = Some(KernelConfig::from_file(&path).unwrap());
    let options = CheckOptions { purpose: Purpose::Telco, config, ..CheckOptions::default() };
    shown(&HostRoot::at(dir.path()), &options, id).unwrap()
}

#[test]
fn the_mode_that_the_kernel_was_built_with_counts_where_no_other_is_known() {
    let preemption = |files: &[(&str, &str)]| {
        let finding = found("preemption", "--for telco", files).unwrap();
        (finding.status, finding.found)
    };
    for (built, mode, status) in [
        ("CONFIG_PREEMPT_NONE=y", "none", Status::Bad),
        ("CONFIG_PREEMPT_VOLUNTARY=y", "voluntary", Status::Bad),
        ("CONFIG_PREEMPT_LAZY=y", "lazy", Status::Warn),
        ("CONFIG_PREEMPT=y", "full", Status::Warn),
    ] {
        let text = format!("CONFIG_PREEMPT_DYNAMIC=y\n{built}");
        let expected = (status, format!("PREEMPT_DYNAMIC ({mode} by default)"));
        assert_eq!(preemption(&[DYNAMIC, (CONFIG, &text)]), expected);
        let asked = of_config("preemption", &text);
        assert_eq!((asked.status, asked.found), expected);
        // What is in force counts more.
        let debugfs = ("sys/kernel/debug/sched/preempt", "none voluntary (full) lazy");
        assert_eq!(preemption(&[DYNAMIC, (CONFIG, &text), debugfs]).1, "PREEMPT_DYNAMIC (full)");
    }
    assert_eq!(preemption(&[DYNAMIC]).0, Status::Unknown);
}

/// The mode that was asked for was once taken for the one in force.
#[test]
fn a_mode_counts_only_where_the_kernel_knows_it() {
    let voluntary = "CONFIG_PREEMPT_DYNAMIC=y\nCONFIG_PREEMPT_VOLUNTARY=y";
    let newer = format!("{voluntary}\nCONFIG_ARCH_HAS_PREEMPT_LAZY=y");
    let hidden = "PREEMPT_DYNAMIC. Its mode is in debugfs, which is not among these files";
    for (line, config, status, said) in [
        ("preempt=lazy", voluntary, Status::Bad, "PREEMPT_DYNAMIC (voluntary by default)"),
        ("preempt=rt", &newer, Status::Bad, "PREEMPT_DYNAMIC (voluntary by default)"),
        ("preempt=lazy", &newer, Status::Warn, "PREEMPT_DYNAMIC (booted with preempt=lazy)"),
        ("preempt=lazy", "", Status::Unknown, hidden),
        ("preempt=full", "", Status::Warn, "PREEMPT_DYNAMIC (booted with preempt=full)"),
    ] {
        let mut files = vec![DYNAMIC, ("proc/cmdline", line)];
        files.extend((!config.is_empty()).then_some((CONFIG, config)));
        let finding = found("preemption", "--for telco", &files).unwrap();
        assert_eq!((finding.status, finding.found.as_str()), (status, said), "{line} {config}");
        let advises_full = finding.action.unwrap().contains("boot with preempt=full");
        assert_eq!(advises_full, status == Status::Bad, "{line} {config}");
    }
}

/// Check and recording once differed: only one of them looked whether the kernel knows the mode.
#[test]
fn a_recording_has_the_mode_that_check_finds() {
    let full = "CONFIG_PREEMPT_DYNAMIC=y\nCONFIG_PREEMPT=y";
    let lazy = "CONFIG_PREEMPT_DYNAMIC=y\nCONFIG_PREEMPT_LAZY=y\nCONFIG_ARCH_HAS_PREEMPT_LAZY=y";
    let booted = |mode: &str| format!("PREEMPT_DYNAMIC (booted with preempt={mode})");
    let lazy_itself = "PREEMPT_DYNAMIC (lazy by default)".to_owned();
    for (release, line, config, model) in [
        ("6.18.0", "preempt=lazy", lazy, booted("lazy")),
        ("6.18.0", "preempt=none", lazy, booted("none")),
        ("6.18.0", "quiet", full, "PREEMPT_DYNAMIC (full by default)".to_owned()),
        // It passes over a mode that it does not know, and takes an earlier one.
        ("6.18.0", "preempt=none preempt=lazy", full, booted("none")),
        ("6.18.0", "preempt=voluntary preempt=rt", full, booted("voluntary")),
        ("7.0.0", "preempt=none", lazy, lazy_itself.clone()),
        ("7.0.0", "preempt=full preempt=voluntary", lazy, booted("full")),
        ("7.0.0", "preempt=none", full, booted("none")),
        // As of each other argument, quotes and what is for init do not count.
        ("6.18.0", "preempt=\"none\"", full, booted("none")),
        ("6.18.0", "preempt=none -- preempt=voluntary", full, booted("none")),
        // What nothing shows is not guessed.
        ("6.18.0", "preempt=lazy", "", "PREEMPT_DYNAMIC".to_owned()),
        ("6.18.0", "preempt=full preempt=lazy", "", "PREEMPT_DYNAMIC".to_owned()),
        ("6.18.0", "preempt=lazy preempt=none", "", booted("none")),
        ("7.0.0", "preempt=none", "", "PREEMPT_DYNAMIC".to_owned()),
    ] {
        let version = format!("Linux version {release} (x) #1 SMP PREEMPT_DYNAMIC x");
        let file = format!("boot/config-{release}");
        let mut files = vec![
            ("proc/version", version.as_str()),
            ("proc/sys/kernel/osrelease", release),
            ("proc/cmdline", line),
        ];
        files.extend((!config.is_empty()).then_some((file.as_str(), config)));
        let (_dir, root) = lay(&files);
        let recorded = crate::preemption(&root).unwrap();
        assert_eq!(recorded, model, "{release} {line} {config}");
        let checked = finding(&root, "preemption", None).unwrap().found;
        let is_known = recorded != "PREEMPT_DYNAMIC";
        assert_eq!(checked == recorded, is_known, "{release} {line} {config}");
    }
    let debugfs = ("sys/kernel/debug/sched/preempt", "full (lazy)");
    let (_dir, root) = lay(&[DYNAMIC, ("proc/cmdline", "preempt=full"), debugfs]);
    assert_eq!(crate::preemption(&root).unwrap(), "PREEMPT_DYNAMIC (lazy)");
    // One that cannot choose has no such file.
    for (word, model) in [("PREEMPT", "PREEMPT_DYNAMIC (none)"), ("PREEMPT_RT", "PREEMPT_RT")] {
        let version = format!("Linux version 5.15.0 (x) #1 SMP {word} x");
        let debugfs = ("sys/kernel/debug/sched/preempt", "(none) voluntary full");
        let (_dir, root) = lay(&[("proc/version", version.as_str()), debugfs]);
        assert_eq!(crate::preemption(&root).unwrap(), model);
    }
}

/// Guides for audio have `preempt=full`, which such kernels pass over.
#[test]
fn the_mode_of_a_kernel_that_cannot_choose_it_does_nothing() {
    let in_effect = |version: &str, config: &str| {
        let version = format!("Linux version 5.10.0 (x) #1 {version} Debian");
        let mut files = vec![("proc/version", version.as_str()), ("proc/cmdline", "preempt=full")];
        files.extend((!config.is_empty()).then_some((CONFIG, config)));
        found("arguments-in-effect", "", &files).map(|finding| {
            assert_eq!(
                finding.action.as_deref(),
                Some("remove preempt=full from the kernel's arguments")
            );
            (finding.status, finding.found)
        })
    };
    let nothing =
        "preempt=full: does nothing, because this kernel was built without PREEMPT_DYNAMIC";
    let nothing = Some((Status::Warn, nothing.to_owned()));
    assert_eq!(in_effect("SMP", ""), nothing);
    assert_eq!(in_effect("SMP PREEMPT", "CONFIG_PREEMPT=y"), nothing);
    // Before they called themselves so, some that can choose it called themselves this.
    assert_eq!(in_effect("SMP PREEMPT", ""), None);
    assert_eq!(in_effect("SMP PREEMPT_DYNAMIC", ""), None);
    // PREEMPT_RT has modes since 6.13, where it is built with them.
    assert_eq!(in_effect("SMP PREEMPT_RT", "CONFIG_PREEMPT_RT=y"), nothing);
    let both = "CONFIG_PREEMPT_RT=y\nCONFIG_PREEMPT_DYNAMIC=y";
    assert_eq!(in_effect("SMP PREEMPT_RT", both), None);
    assert_eq!(in_effect("SMP PREEMPT_RT", ""), None);
}

#[test]
fn the_way_to_preempt_rt_is_that_of_the_version() {
    let build =
        |title: &str| of_config("preemption", &format!("{title}\nCONFIG_HZ=250")).action.unwrap();
    assert!(build("# Linux/arm 4.19.71 Kernel Configuration").ends_with(
        "the patch of PREEMPT_RT for its version: scripts/config -e EXPERT -e PREEMPT_RT_FULL, \
         then make olddefconfig"
    ));
    assert!(
        build("# Linux/x86 6.12.1 Kernel Configuration")
            .contains("build it with PREEMPT_RT: scripts/config -e EXPERT -e PREEMPT_RT,")
    );
}

/// A kernel that could do it does it only for CPUs that it is told.
#[test]
fn what_was_built_in_and_not_asked_for_is_named() {
    let config = (CONFIG, "CONFIG_NO_HZ_FULL=y\nCONFIG_RCU_NOCB_CPU=y\nCONFIG_CPU_ISOLATION=y");
    let isolated = ("sys/devices/system/cpu/isolated", "2-3");
    let seen = |id: &str, tickless: &str, line: &str| {
        let files = [
            config,
            isolated,
            ("sys/devices/system/cpu/nohz_full", tickless),
            ("proc/cmdline", line),
        ];
        let finding = found(id, "--for telco", &files).unwrap();
        (finding.status, finding.found, finding.action)
    };
    let (status, said, action) = seen("full-dynticks", "(null)", "isolcpus=2-3");
    assert_eq!((status, said.as_str()), (Status::Bad, "built in, but not asked for on CPUs 2-3"));
    assert_eq!(action.as_deref(), Some("boot with nohz_full=2-3"));
    let (status, said, action) = seen("rcu-callbacks", "(null)", "isolcpus=2-3 rcu_nocbs=2");
    assert_eq!(
        (status, said.as_str()),
        (Status::Bad, "they can be offloaded, but are not on CPU 3")
    );
    assert_eq!(action.as_deref(), Some("boot with rcu_nocbs=2-3"));
    // What others have they keep.
    assert_eq!(
        seen("full-dynticks", "1-2", "isolcpus=2-3 nohz_full=1-2").2.as_deref(),
        Some("boot with nohz_full=1-3")
    );
    assert_eq!(
        seen("full-dynticks", "2-3", "isolcpus=2-3 nohz_full=2-3").1,
        "built in, and in effect on CPUs 2-3"
    );
    // nohz_full offloads them too.
    assert_eq!(
        seen("rcu-callbacks", "2-3", "isolcpus=2-3 nohz_full=2-3").1,
        "offloaded from CPUs 2-3"
    );
    let by_default = (CONFIG, "CONFIG_RCU_NOCB_CPU=y\nCONFIG_RCU_NOCB_CPU_DEFAULT_ALL=y");
    assert_eq!(found("rcu-callbacks", "", &[by_default, isolated]).unwrap().status, Status::Ok);
    assert_eq!(found("full-dynticks", "", &[config]).unwrap().found, "built in");
}

/// A published recipe for a Raspberry Pi 3 switches these off by hand. One of them costs latency.
#[test]
fn of_the_options_that_a_recipe_switches_off_that_which_costs_is_named() {
    let options = [
        "GENERIC_IRQ_DEBUGFS",
        "SLUB_DEBUG",
        "DEBUG_ALIGN_RODATA",
        "BLK_DEBUG_FS",
        "BT_DEBUGFS",
        "B43LEGACY_DEBUG",
        "RTLWIFI_DEBUG",
        "USB_SERIAL_DEBUG",
        "OCFS2_DEBUG_MASKLOG",
        "CIFS_DEBUG",
        "DEBUG_FS",
        "DEBUG_KERNEL",
        "HAVE_DEBUG_KMEMLEAK",
        "ARCH_HAS_DEBUG_VIRTUAL",
        "DEBUG_MEMORY_INIT",
        "SCHED_DEBUG",
        "DEBUG_PREEMPT",
        "LOCK_DEBUGGING_SUPPORT",
        "DEBUG_BUGVERBOSE",
    ];
    let all = |value: &str| options.map(|option| format!("CONFIG_{option}={value}\n")).concat();
    let on = of_config("debug-options", &all("y"));
    assert_eq!(
        (on.status, on.found.as_str()),
        (Status::Bad, "DEBUG_PREEMPT (each use of per-CPU data is checked)")
    );
    assert_eq!(
        on.action.as_deref(),
        Some("build the kernel without: scripts/config -d DEBUG_PREEMPT, then make olddefconfig")
    );
    assert_eq!(of_config("debug-options", &all("n")).status, Status::Ok);
}

/// What the recipe switches on, in a configuration that has none of it.
#[test]
fn what_a_recipe_switches_on_is_asked_for() {
    let config =
        "# Linux/arm 4.19.71 Kernel Configuration\nCONFIG_PREEMPT_VOLUNTARY=y\nCONFIG_HZ=100\n";
    for (id, says) in [
        ("preemption", "PREEMPT_RT_FULL"),
        ("high-resolution-timers", "build it with CONFIG_HIGH_RES_TIMERS=y"),
        ("full-dynticks", "build it with CONFIG_NO_HZ_FULL=y"),
        ("rcu-callbacks", "build it with CONFIG_RCU_NOCB_CPU=y"),
        ("isolation", "build it with CONFIG_CPU_ISOLATION=y"),
    ] {
        let finding = of_config(id, config);
        assert!(finding.action.unwrap_or_default().contains(says), "{id}");
    }
    assert_eq!(
        of_config("tick-rate", config).found,
        "100 Hz, and without HIGH_RES_TIMERS a timer is up to 10 ms late"
    );
    assert_eq!(of_config("tick-rate", "CONFIG_HZ=100\nCONFIG_HIGH_RES_TIMERS=y").found, "100 Hz");
}

#[test]
fn checks_that_distributions_ship_are_not_bad() {
    // Ubuntu and Fedora are built with the first four.
    let shipped = "CONFIG_UBSAN=y\nCONFIG_UBSAN_BOUNDS=y\nCONFIG_UBSAN_SHIFT=y\nCONFIG_DEBUG_VM=y\n\
                   CONFIG_DEBUG_KMEMLEAK=y\nCONFIG_DEBUG_KMEMLEAK_DEFAULT_OFF=y\n\
                   CONFIG_DEBUG_PAGEALLOC=y\nCONFIG_KASAN=y\nCONFIG_KASAN_HW_TAGS=y\n";
    let finding = of_config("debug-options", shipped);
    assert_eq!(
        (finding.status, finding.found.as_str()),
        (Status::Warn, "DEBUG_VM (memory management checks itself)")
    );
    assert_eq!(of_config("debug-options", "CONFIG_UBSAN_ALIGNMENT=y").status, Status::Bad);
    // LOCKDEP goes with what selects it.
    let locks =
        of_config("debug-options", "CONFIG_PROVE_LOCKING=y\nCONFIG_LOCKDEP=y\n").action.unwrap();
    assert!(locks.contains("-d PROVE_LOCKING, then"), "{locks}");
}

#[test]
fn arguments_that_switch_checks_on_are_named() {
    let seen = |line: &str, config: &str| {
        let finding =
            found("debug-options", "", &[("proc/cmdline", line), (CONFIG, config)]).unwrap();
        (finding.status, finding.found, finding.action)
    };
    let (status, said, action) = seen(
        "slub_debug=FZ debug_pagealloc=on kmemleak=on",
        "CONFIG_SLUB_DEBUG=y\nCONFIG_DEBUG_PAGEALLOC=y",
    );
    assert_eq!(status, Status::Bad);
    assert_eq!(
        said,
        "slub_debug=FZ (each allocation is checked), debug_pagealloc=on (each freed page is \
         unmapped)"
    );
    assert_eq!(
        action.as_deref(),
        Some("remove slub_debug=FZ debug_pagealloc=on from the kernel's arguments")
    );
    assert_eq!(seen("slub_debug=-", "CONFIG_SLUB_DEBUG=y").0, Status::Ok);
}

#[test]
fn the_default_governor_of_a_configuration_is_judged() {
    let seen = |governor: &str| {
        let finding = of_config(
            "frequency-scaling-built",
            &format!(
                "CONFIG_CPU_FREQ=y\nCONFIG_CPU_IDLE=y\nCONFIG_CPU_FREQ_DEFAULT_GOV_{governor}=y\n"
            ),
        );
        (finding.status, finding.found, finding.action.unwrap_or_default())
    };
    let (status, said, action) = seen("POWERSAVE");
    assert_eq!((status, said.as_str()), (Status::Warn, "default governor powersave"));
    assert!(
        action.contains("-d CPU_FREQ_DEFAULT_GOV_POWERSAVE -e CPU_FREQ_DEFAULT_GOV_PERFORMANCE,"),
        "{action}"
    );
    assert_eq!(seen("PERFORMANCE").0, Status::Ok);
}

/// A rate of `abc Hz` was ok.
#[test]
fn a_configuration_with_odd_lines_is_not_ok() {
    let rate = of_config("tick-rate", "CONFIG_HZ=abc\nCONFIG_HIGH_RES_TIMERS=y\n");
    assert_eq!(
        (rate.status, rate.found.as_str()),
        (Status::Unknown, "CONFIG_HZ=abc is not a rate")
    );
    let odd = of_config("kernel-config", "CONFIG_HZ=250\nCONFIG_PREEMT_RT=y\n");
    let unknown = of_config("kernel-config", "CONFIG_HZ=250\nCONFIG_FOO_BAR=y\n");
    assert!(
        unknown.status == Status::Ok
            && unknown.found.ends_with(". 1 of its 2 options are not known to teiji: not judged"),
        "{unknown:?}"
    );
    assert!(
        odd.status == Status::Warn
            && odd.found.ends_with(". line 2: CONFIG_PREEMT_RT looks like CONFIG_PREEMPT_RT"),
        "{odd:?}"
    );
}

/// Loading a module that is not there helps nobody.
#[test]
fn the_module_with_the_configuration_is_advised_where_it_is() {
    let advised =
        |files: &[(&str, &str)]| found("kernel-config", "", files).unwrap().action.unwrap();
    assert_eq!(advised(&[]), "name it: --kernel-config FILE, or --kernel-image FILE");
    let module = [("lib/modules/6.1.0-x/kernel/kernel/configs.ko.xz", "")];
    assert_eq!(
        advised(&module),
        "sudo modprobe configs, or name it: --kernel-config FILE, or --kernel-image FILE"
    );
}

/// The arguments were those of the running kernel.
#[test]
fn advice_is_for_the_configuration_that_is_named() {
    let (dir, _) = crate::tests::trees::laid_out(
        "=== sys/devices/system/cpu/online\n0-3\n=== proc/version\nLinux 6.1.0 PREEMPT_DYNAMIC\n",
    );
    let path = dir.path().join(".config");
    let root = HostRoot::at(dir.path());
    let advised = |text: &str| {
        std::fs::write(&path, text).unwrap();
        Advice::for_machine(&root, Some(KernelConfig::from_file(&path).unwrap())).unwrap().arguments
    };
    let isolation = "# Linux/x86 6.12.1 Kernel Configuration\nCONFIG_CPU_ISOLATION=y\n";
    let full = advised(&format!(
        "{isolation}CONFIG_PREEMPT_RT=y\nCONFIG_NO_HZ_FULL=y\nCONFIG_RCU_NOCB_CPU=y\n"
    ));
    assert_eq!(full, "isolcpus=managed_irq,domain,1-3 nohz_full=1-3 rcu_nocbs=1-3 irqaffinity=0");
    // What it selects may not be there yet in one that is edited by hand.
    assert_eq!(advised("CONFIG_PREEMPT_RT=y\nCONFIG_NO_HZ_FULL=y\n"), full);
    assert_eq!(advised(isolation), "isolcpus=managed_irq,domain,1-3 irqaffinity=0");
    assert!(Advice::for_machine(&root, None).unwrap().arguments.ends_with("preempt=full"));
}

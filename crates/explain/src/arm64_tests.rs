// SPDX-License-Identifier: MIT OR Apache-2.0
//! Accounts of made-up windows of an arm64 guest, where every ns is known.

use crate::account_tests::kinds;
use crate::scene_tests::{self as scene, Scene, arm64::*};
use crate::{Asked, Kernel, Processor, account};
use model::{Account, Part, PartKind};
use proptest::prelude::*;

/// Places in the table of vectors.
const SYNC: u64 = 4 * 0x80;
const IRQ: u64 = 5 * 0x80;
const USER_SYNC: u64 = 8 * 0x80;

fn explained(scene: Scene, latency_ns: u64) -> Account {
    let (dump, symbols) = (scene.dump(), scene::arm64_symbols());
    let asked = Asked { thread: 0, activation: 9, latency_ns, cpu: 0, ns_per_instruction: 1.0 };
    account(&dump, &dump.windows[0], &Kernel::new(&symbols), &asked)
}

/// A program in a system call, up to a function that it reads with: 21 instructions in the kernel,
/// 15 of them with interrupts off.
fn in_a_read() -> Scene {
    let mut scene = Scene::of(Processor::Aarch64);
    scene.task(1, "hackbench");
    scene.run("", 0, 4, SVC);
    scene.run("vectors", USER_SYNC, 3, B);
    scene.run("el0t_64_sync", 0, 9, BL);
    scene.run("el0_svc", 0, 3, MSR_DAIF_XZR);
    scene.run("el0_svc", 12, 3, BL);
    scene.run("vfs_read", 0, 3, BL);
    scene
}

/// The timer's interrupt, which makes the thread runnable: 30 instructions.
fn timer_interrupt(scene: &mut Scene) {
    scene.run("vectors", IRQ, 2, B);
    scene.run("el1h_64_irq", 0, 3, BL);
    scene.run("hrtimer_interrupt", 0, 4, MSR_DAIF);
    scene.run("hrtimer_interrupt", 16, 1, BL);
    scene.run("try_to_wake_up", 0, 10, RET);
    scene.run("hrtimer_interrupt", 20, 5, RET);
    scene.run("el1h_64_irq", 12, 5, ERET);
}

/// From the scheduler to the reading of the clock: 10 of the scheduler, 10 to change, 12 back, 8 in
/// user space.
fn scheduled(scene: &mut Scene) {
    scene.run("__schedule", 0, 10, BL);
    scene.run("__switch_to", 0, 1, BL);
    scene.run("cpu_switch_to", 0, 3, RET);
    scene.run("__switch_to", 8, 1, RET);
    scene.task(2, "teiji-0");
    scene.run("__schedule", 40, 1, BL);
    scene.run("finish_task_switch.isra.0", 0, 3, RET);
    scene.run("__schedule", 44, 1, RET);
    scene.run("do_nanosleep", 40, 4, RET);
    scene.run("el0_svc", 40, 4, RET);
    scene.run("el0t_64_sync", 36, 2, B);
    scene.run("ret_to_user", 0, 2, ERET);
    scene.run("", 0x100, 8, MRS_CNTVCT);
}

fn to_the_thread(scene: &mut Scene) {
    scene.run("vfs_read", 80, 3, RET);
    scene.run("el0_svc", 24, 3, BL);
    scheduled(scene);
}

const THREAD_NS: u64 = 6 + 10 + 10 + 12 + 8;

/// Taken and given back by functions for locks, with flags that a register holds.
fn locked(scene: &mut Scene, function: &str, offset: u64, length: usize) {
    scene.run(function, offset, 5, BL);
    scene.run("_raw_spin_lock_irqsave", 0, 3, MRS_DAIF);
    scene.run("_raw_spin_lock_irqsave", 12, 2, DAIFSET);
    scene.run("_raw_spin_lock_irqsave", 20, 2, RET);
    scene.run(function, offset + 20, length, BL);
    scene.run("_raw_spin_unlock_irqrestore", 0, 3, MSR_DAIF);
}

#[test]
fn a_lock_that_holds_interrupts_off() {
    let mut scene = in_a_read();
    scene.run("free_bulk", 0, 5, BL);
    locked(&mut scene, "net_rx_action", 0, 1_000);
    timer_interrupt(&mut scene);
    scene.run("_raw_spin_unlock_irqrestore", 12, 1, RET);
    scene.run("net_rx_action", 4_020, 3, RET);
    scene.run("free_bulk", 20, 2, RET);
    to_the_thread(&mut scene);
    // Planned 900 instructions before the lock is given back.
    let account = explained(scene, 903 + 30 + 6 + THREAD_NS);
    assert_eq!(
        kinds(&account),
        [
            (PartKind::InterruptsOff, 0, 903),
            (PartKind::HardInterrupt, 903, 30),
            (PartKind::PreemptionOff, 933, 6 + 6),
            (PartKind::Scheduling, 945, 10),
            (PartKind::Switch, 955, 10),
            (PartKind::Return, 965, 12),
            (PartKind::Thread, 977, 8),
        ]
    );
    let Part { function, called_by, task, off_at, on_at, off_before_ns, .. } = &account.parts[0];
    assert_eq!((function.as_deref(), task.as_deref()), (Some("net_rx_action"), Some("hackbench")));
    assert_eq!(called_by, &["free_bulk", "vfs_read", "el0_svc", "el0t_64_sync"]);
    assert_eq!(off_at.as_deref(), Some("_raw_spin_lock_irqsave+0x10"));
    assert_eq!(on_at.as_deref(), Some("_raw_spin_unlock_irqrestore+0x8"));
    // 100 of the thousand, 2 to return from the lock's function, and the switch itself.
    assert_eq!(*off_before_ns, Some(103));
    let interrupt = &account.parts[1];
    let names = (interrupt.function.as_deref(), interrupt.interrupted.as_deref());
    assert_eq!(names, (Some("el1h_64_irq"), Some("_raw_spin_unlock_irqrestore")));
    assert_eq!(account.parts[4].next_task.as_deref(), Some("teiji-0"));
    assert_eq!(account.parts[5].function.as_deref(), Some("el0t_64_sync"));
}

/// A lock that is taken with interrupts off leaves them so when it is given back.
#[test]
fn flags_restored_within_a_section_leave_interrupts_off() {
    let mut scene = in_a_read();
    scene.run("vfs_read", 12, 2, MRS_DAIF);
    scene.run("vfs_read", 20, 2, DAIFSET);
    scene.run("vfs_read", 28, 2, BL);
    scene.run("free_bulk", 0, 4, BL);
    // As it is off, nothing switches it off.
    scene.run("_raw_spin_lock_irqsave", 0, 3, MRS_DAIF);
    scene.run("_raw_spin_lock_irqsave", 20, 2, RET);
    scene.run("free_bulk", 16, 50, BL);
    scene.run("_raw_spin_unlock_irqrestore", 0, 3, MSR_DAIF);
    scene.run("_raw_spin_unlock_irqrestore", 12, 1, RET);
    scene.run("free_bulk", 216, 40, RET);
    scene.run("vfs_read", 36, 5, MSR_DAIF);
    timer_interrupt(&mut scene);
    to_the_thread(&mut scene);
    let off = 20 + 3 + 1 + 40 + 5;
    let account = explained(scene, off + 30 + THREAD_NS);
    assert_eq!(
        kinds(&account)[..2],
        [(PartKind::InterruptsOff, 0, off), (PartKind::HardInterrupt, off, 30)]
    );
    let Part { function, off_at, on_at, .. } = &account.parts[0];
    assert_eq!(function.as_deref(), Some("vfs_read"));
    assert_eq!(
        (off_at.as_deref(), on_at.as_deref()),
        (Some("vfs_read+0x18"), Some("vfs_read+0x34"))
    );
}

/// Whoever only looks whether interrupts are off saves nothing: the interrupt shows that they were
/// on.
#[test]
fn an_interrupt_shows_that_restored_flags_had_interrupts_on() {
    let mut scene = in_a_read();
    scene.run("vfs_read", 12, 2, MRS_DAIF);
    scene.run("vfs_read", 20, 2, DAIFSET);
    scene.run("vfs_read", 28, 2, MRS_DAIF);
    scene.run("vfs_read", 36, 5, MSR_DAIF);
    scene.run("vfs_read", 56, 100, B);
    timer_interrupt(&mut scene);
    to_the_thread(&mut scene);
    let account = explained(scene, 40 + 30 + THREAD_NS);
    assert_eq!(
        kinds(&account)[..2],
        [(PartKind::TimerPending, 0, 40), (PartKind::HardInterrupt, 40, 30)]
    );
}

/// One way in for system calls, faults and breakpoints: only a fault's instruction is begun again.
#[test]
fn what_an_instruction_did_shows_how_the_kernel_was_entered() {
    for (last, begun_again) in [(NOP, true), (BRK, false)] {
        let mut scene = in_a_read();
        scene.run("vfs_read", 12, 5, last);
        scene.run("vectors", SYNC, 2, B);
        scene.run("el1h_64_sync", 0, 3, BL);
        // Interrupts are as they were before.
        scene.run("el1_abort", 0, 3, MSR_DAIF);
        scene.run("el1_abort", 12, 20, RET);
        scene.run("el1h_64_sync", 12, 3, ERET);
        scene.run("vfs_read", if begun_again { 28 } else { 32 }, 100, B);
        timer_interrupt(&mut scene);
        to_the_thread(&mut scene);
        // Planned at the first instruction of all.
        let read = 3 + 9 + 3 + 3 + 3 + 4;
        let all = read + 5 - u64::from(begun_again) + 2 + 3 + 3 + 20 + 3 + 100;
        let account = explained(scene, all + 30 + THREAD_NS);
        let off = (PartKind::InterruptsOff, 4, 15);
        assert_eq!(kinds(&account)[..2], [(PartKind::TimerPending, 0, 4), off], "{last:x?}");
        let (function, off_at) = (&account.parts[1].function, &account.parts[1].off_at);
        assert_eq!(
            (function.as_deref(), off_at.as_deref()),
            (Some("el0t_64_sync"), Some("vectors+0x400"))
        );
        let pending: u64 = account
            .parts
            .iter()
            .take_while(|part| part.kind != PartKind::HardInterrupt)
            .map(|part| part.length_ns)
            .sum();
        assert_eq!(pending, all, "{last:x?}");
        let of_the_abort = account
            .parts
            .iter()
            .filter(|part| part.kind == PartKind::InterruptsOff)
            .nth(1)
            .unwrap();
        assert_eq!(of_the_abort.length_ns, 8, "{last:x?}");
    }
}

/// Interrupts are off where it halts, and come once they are on.
#[test]
fn an_idle_processor_goes_on_before_the_interrupt_comes() {
    let idle = |due_already: u64| {
        let mut scene = Scene::of(Processor::Aarch64);
        scene.task(3, "swapper/0");
        scene.run("do_idle", 0, 10, DAIFSET);
        scene.run("do_idle", 40, 600, BL);
        scene.run("cpu_do_idle", 0, 2, WFI);
        scene.run("cpu_do_idle", 8, 3, RET);
        scene.run("do_idle", 2_440, 4, DAIFCLR);
        timer_interrupt(&mut scene);
        scene.run("do_idle", 2_456, 7, BL);
        scheduled(&mut scene);
        explained(scene, due_already + 3 + 4 + 30 + THREAD_NS + 1)
    };
    let account = idle(40);
    assert_eq!(
        kinds(&account)[..4],
        [
            (PartKind::Idle, 0, 40),
            (PartKind::LeavingIdle, 40, 7),
            (PartKind::HardInterrupt, 47, 30),
            (PartKind::LeavingIdle, 77, 7)
        ]
    );
    // The timer was due before: it did not halt at all.
    let account = idle(590);
    assert_eq!(
        kinds(&account)[..2],
        [(PartKind::InterruptsOff, 0, 597), (PartKind::HardInterrupt, 597, 30)]
    );
    assert_eq!(account.parts[0].function.as_deref(), Some("do_idle"));
}

/// Where page tables of programs hold but a trampoline, its code has no symbol.
#[test]
fn a_trampoline_leads_to_the_system_call() {
    let mut scene = Scene::of(Processor::Aarch64);
    scene.task(1, "hackbench");
    scene.run("", 0, 4, SVC);
    // Behind the last function.
    scene.run("cpu_do_idle", 1 << 24, 3, B);
    scene.run("vectors", USER_SYNC, 3, B);
    scene.run("el0t_64_sync", 0, 9, BL);
    scene.run("el0_svc", 0, 3, MSR_DAIF_XZR);
    scene.run("el0_svc", 12, 40, B);
    timer_interrupt(&mut scene);
    scene.run("el0_svc", 20, 7, BL);
    scheduled(&mut scene);
    let account = explained(scene, 4 + 3 + 15 + 40 + 30 + THREAD_NS + 1);
    assert_eq!(
        kinds(&account)[..4],
        [
            (PartKind::TimerPending, 0, 7),
            (PartKind::InterruptsOff, 7, 15),
            (PartKind::TimerPending, 22, 40),
            (PartKind::HardInterrupt, 62, 30),
        ]
    );
}

proptest! {
    #[test]
    fn parts_add_up(
        blocks in proptest::collection::vec(
            (0..33_usize, 0..32_u64, 1..9_usize, 0..9_usize, 0..14_usize),
            1..200,
        ),
        switches in proptest::collection::vec(0..200_usize, 0..4),
        latency_ns in 1..4_000_u64,
    ) {
        let symbols = scene::arm64_symbols();
        let all = [
            NOP,
            BL,
            B,
            RET,
            SVC,
            BRK,
            ERET,
            WFI,
            DAIFSET,
            DAIFCLR,
            MRS_DAIF,
            MSR_DAIF,
            MSR_DAIF_XZR,
            MRS_CNTVCT,
        ];
        let mut scene = Scene::of(Processor::Aarch64);
        for (index, (function, place, instructions, begun, last)) in blocks.iter().enumerate() {
            if switches.contains(&index) {
                scene.task(index as u64 % 3, "some");
            }
            let name = symbols.all().nth(*function).map_or("", |(_, name)| name).to_owned();
            let offset =
                if name == "vectors" { (place % 16) * 0x80 } else { place.saturating_sub(16) * 4 };
            scene.cut(&name, offset, *instructions, all[*last], (*begun).min(*instructions));
        }
        let account = explained(scene, latency_ns);
        let mut at = 0;
        for part in &account.parts {
            prop_assert_eq!(part.begin_ns, at);
            at += part.length_ns;
        }
        prop_assert_eq!(at, latency_ns);
    }
}

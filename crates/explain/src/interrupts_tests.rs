// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where interrupts were switched off and on, in made-up windows of an x86 processor.

use crate::account_tests::{
    THREAD_NS, explained, in_a_read, kinds, scheduled, timer_interrupt, to_the_thread,
};
use crate::scene_tests::*;
use model::PartKind;

const PUSHF: &[u8] = &[0x9c];
const POPF: &[u8] = &[0x9d];

/// The timer's interrupt on the way back to a program, which is left for the thread: 30
/// instructions until interrupts are on again.
fn timer_interrupt_in_a_program(scene: &mut Scene) {
    scene.run("asm_sysvec_apic_timer_interrupt", 0, 5, CALL);
    scene.run("hrtimer_interrupt", 0, 5, CALL);
    scene.run("try_to_wake_up", 0, 10, RET);
    scene.run("hrtimer_interrupt", 9, 5, RET);
    scene.run("asm_sysvec_apic_timer_interrupt", 9, 5, NOP);
    scene.run("asm_sysvec_apic_timer_interrupt", 14, 2, STI);
    scene.run("asm_sysvec_apic_timer_interrupt", 16, 2, CALL);
}

/// From here in what was interrupted on: 5 instructions before the thread's way.
fn left_for_the_thread(scene: &mut Scene, offset: u64) {
    scene.run("free_bulk", offset, 3, RET);
    scene.run("vfs_read", 7, 2, JMP);
    to_the_thread(scene);
}

#[test]
fn a_system_call_switches_them_off() {
    let mut scene = Scene::default();
    scene.task(1, "hackbench");
    // The way out of the one before.
    scene.run("do_syscall_64", 20, 5, CLI);
    scene.run("do_syscall_64", 25, 5, RET);
    scene.run("entry_SYSCALL_64", 8, 4, SYSRET);
    scene.run("", 0, 3_000, SYSCALL);
    scene.run("entry_SYSCALL_64", 0, 100, CALL);
    scene.run("do_syscall_64", 0, 2, STI);
    scene.run("do_syscall_64", 2, 1, NOP);
    timer_interrupt(&mut scene);
    scene.run("do_syscall_64", 3, 3, CALL);
    scheduled(&mut scene);
    // Planned 50 instructions before the call from the way in.
    let account = explained(&scene.dump(), 50 + 3 + 30 + 3 + THREAD_NS - 6);
    let off = &account.parts[0];
    assert_eq!((off.kind, off.length_ns), (PartKind::InterruptsOff, 53));
    assert_eq!((off.off_at.as_deref(), off.off_before_ns), (Some("entry_SYSCALL_64"), Some(50)));
    assert_eq!(off.on_at.as_deref(), Some("do_syscall_64+0x1"));
}

#[test]
fn a_return_to_the_program_switches_them_on() {
    let mut scene = Scene::default();
    in_a_read(&mut scene);
    scene.run("vfs_read", 7, 2, RET);
    scene.run("do_syscall_64", 20, 5, CLI);
    scene.run("do_syscall_64", 25, 100, RET);
    scene.run("entry_SYSCALL_64", 8, 4, SYSRET);
    timer_interrupt_in_a_program(&mut scene);
    scheduled(&mut scene);
    let account = explained(&scene.dump(), 50 + 4 + 30 + 4 + THREAD_NS - 6);
    let (off, interrupt) = (&account.parts[0], &account.parts[1]);
    assert_eq!((off.kind, off.length_ns), (PartKind::InterruptsOff, 54));
    assert_eq!(
        (off.off_at.as_deref(), off.on_at.as_deref()),
        (Some("do_syscall_64+0x18"), Some("entry_SYSCALL_64+0xb"))
    );
    assert_eq!(
        (interrupt.kind, interrupt.interrupted.as_deref()),
        (PartKind::HardInterrupt, Some("user space"))
    );
}

/// The second comes where the first was to return to, before anything is done there.
#[test]
fn of_two_interrupts_both_return() {
    let mut scene = Scene::default();
    in_a_read(&mut scene);
    scene.run("free_bulk", 0, 50, NOP);
    scene.run("asm_sysvec_apic_timer_interrupt", 0, 40, NOP);
    scene.run("asm_sysvec_apic_timer_interrupt", 40, 40, IRET);
    timer_interrupt(&mut scene);
    left_for_the_thread(&mut scene, 50);
    let account = explained(&scene.dump(), 30 + 5 + THREAD_NS);
    assert_eq!(
        kinds(&account)[..2],
        [(PartKind::HardInterrupt, 0, 30), (PartKind::PreemptionOff, 30, 11)]
    );
    assert_eq!(account.parts[0].interrupted.as_deref(), Some("free_bulk"));
    assert_eq!(account.parts[1].called_by, ["entry_SYSCALL_64"]);
    let return_path = account.parts.iter().find(|part| part.kind == PartKind::Return).unwrap();
    assert_eq!(return_path.function.as_deref(), Some("entry_SYSCALL_64"));
}

/// A thread that was preempted on the way out of an interrupt runs again, and the timer's comes as
/// soon as the change to it is made: that interrupt is not the one before.
#[test]
fn an_interrupt_is_not_the_one_that_the_thread_was_preempted_in() {
    let mut scene = Scene::default();
    let change_to = |scene: &mut Scene, task, name: &str, length| {
        scene.run("__schedule", 0, 5, CLI);
        scene.run("__schedule", 5, 5, CALL);
        scene.run("__switch_to_asm", 0, 4, RET);
        scene.task(task, name);
        scene.run("__schedule", 14, length, CALL);
        scene.run("finish_task_switch.isra.0", 0, 3, STI);
    };
    in_a_read(&mut scene);
    scene.run("free_bulk", 0, 50, NOP);
    scene.run("asm_sysvec_apic_timer_interrupt", 0, 5, CALL);
    change_to(&mut scene, 3, "hog", 1);
    scene.run("finish_task_switch.isra.0", 3, 3, RET);
    scene.run("__schedule", 19, 1, RET);
    scene.run("vfs_read", 7, 200, CALL);
    change_to(&mut scene, 1, "hackbench", 100);
    timer_interrupt(&mut scene);
    scene.run("finish_task_switch.isra.0", 3, 3, RET);
    scene.run("__schedule", 114, 1, RET);
    scene.run("asm_sysvec_apic_timer_interrupt", 5, 5, IRET);
    left_for_the_thread(&mut scene, 50);
    let account = explained(&scene.dump(), 50 + 3 + 30 + 4 + 5 + 5 + THREAD_NS);
    assert_eq!(
        kinds(&account)[..2],
        [(PartKind::InterruptsOff, 0, 53), (PartKind::HardInterrupt, 53, 30)]
    );
}

/// A lock within another: interrupts are off already.
#[test]
fn they_are_switched_off_once() {
    let mut scene = Scene::default();
    in_a_read(&mut scene);
    scene.run("free_bulk", 0, 5, CALL);
    scene.run("_raw_spin_lock_irqsave", 0, 5, CLI);
    scene.run("_raw_spin_lock_irqsave", 5, 2, RET);
    scene.run("free_bulk", 9, 5_000, CALL);
    scene.run("net_rx_action", 0, 5, CLI);
    scene.run("net_rx_action", 5, 10, RET);
    scene.run("free_bulk", 5_100, 1_000, CALL);
    scene.run("_raw_spin_unlock_irqrestore", 0, 3, STI);
    scene.run("_raw_spin_unlock_irqrestore", 3, 1, RET);
    timer_interrupt(&mut scene);
    left_for_the_thread(&mut scene, 7_000);
    let account = explained(&scene.dump(), 900 + 4 + 30 + 5 + THREAD_NS);
    let off = &account.parts[0];
    assert_eq!(
        (off.off_at.as_deref(), off.off_before_ns),
        (Some("_raw_spin_lock_irqsave+0x4"), Some(5_000 + 15 + 100 + 3))
    );
}

/// As Linux before 5.12 does it, which pushes flags and pops them.
#[test]
fn flags_that_are_popped_are_those_that_were_pushed() {
    let lock = |scene: &mut Scene| {
        scene.run("_raw_spin_lock_irqsave", 0, 2, PUSHF);
        scene.run("_raw_spin_lock_irqsave", 2, 3, CLI);
        scene.run("_raw_spin_lock_irqsave", 5, 2, RET);
    };
    let mut scene = Scene::default();
    in_a_read(&mut scene);
    scene.run("free_bulk", 0, 5, CALL);
    lock(&mut scene);
    scene.run("free_bulk", 9, 100, CALL);
    lock(&mut scene);
    scene.run("free_bulk", 120, 10, CALL);
    scene.run("_raw_spin_unlock_irqrestore", 0, 3, POPF);
    scene.run("_raw_spin_unlock_irqrestore", 3, 1, RET);
    scene.run("free_bulk", 140, 5_000, CALL);
    scene.run("_raw_spin_unlock_irqrestore", 0, 3, POPF);
    timer_interrupt(&mut scene);
    scene.run("_raw_spin_unlock_irqrestore", 3, 1, RET);
    left_for_the_thread(&mut scene, 5_200);
    let account = explained(&scene.dump(), 4_000 + 3 + 30 + 6 + THREAD_NS);
    assert_eq!(
        kinds(&account)[..2],
        [(PartKind::InterruptsOff, 0, 4_003), (PartKind::HardInterrupt, 4_003, 30)]
    );
    let off = &account.parts[0];
    assert_eq!(off.off_at.as_deref(), Some("_raw_spin_lock_irqsave+0x4"));
    // Of the outer lock: cli, 2 to return, 100 and the inner one, and a thousand of the rest.
    assert_eq!(off.off_before_ns, Some(1 + 2 + 100 + 7 + 10 + 4 + 1_000));
    assert_eq!(off.on_at.as_deref(), Some("_raw_spin_unlock_irqrestore+0x2"));
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! Accounts of made-up windows of two CPUs, which have their turns one after the other.

use crate::account_tests::{THREAD_NS, in_a_read, kinds, timer_interrupt, to_the_thread};
use crate::scene_tests::{self as scene, *};
use crate::{Asked, Dump, Kernel, account};
use model::{Account, PartKind};

/// The latency of a thread of the second CPU.
fn explained(dump: &Dump, latency_ns: u64) -> Account {
    let symbols = scene::symbols();
    let asked = Asked { thread: 1, activation: 9, latency_ns, cpu: 1, ns_per_instruction: 1.0 };
    account(dump, &dump.windows[0], &Kernel::new(&symbols), &asked)
}

/// So many instructions of the first CPU, in the middle of what the second one does.
fn turn(scene: &mut Scene, function: &str, offset: u64, instructions: usize) {
    scene.cpu = 0;
    scene.run(function, offset, instructions, NOP);
    scene.cpu = 1;
}

/// The second CPU waits for a lock: 620 instructions of both from where it begins to.
fn waits() -> Scene {
    let mut scene = Scene::default();
    scene.task(7, "holder");
    turn(&mut scene, "net_rx_action", 0, 30);
    in_a_read(&mut scene);
    scene.run("free_bulk", 0, 5, CALL);
    scene.run("_raw_spin_lock_irqsave", 0, 5, CLI);
    scene.run("_raw_spin_lock_irqsave", 5, 2, CALL);
    scene.run("native_queued_spin_lock_slowpath", 0, 150, NOP);
    turn(&mut scene, "net_rx_action", 30, 150);
    scene.run("native_queued_spin_lock_slowpath", 150, 150, NOP);
    turn(&mut scene, "net_rx_action", 180, 150);
    scene.run("native_queued_spin_lock_slowpath", 300, 20, RET);
    scene.run("_raw_spin_lock_irqsave", 11, 2, RET);
    scene.run("free_bulk", 9, 30, CALL);
    scene.run("_raw_spin_unlock_irqrestore", 0, 3, STI);
    scene.run("_raw_spin_unlock_irqrestore", 3, 1, RET);
    scene
}

#[test]
fn what_the_other_cpu_did_is_named_where_one_waits_for_it() {
    let mut scene = waits();
    timer_interrupt(&mut scene);
    scene.run("free_bulk", 2_000, 3, RET);
    scene.run("vfs_read", 7, 2, JMP);
    to_the_thread(&mut scene);
    // Planned 100 instructions after the wait began.
    let account = explained(&scene.dump(), 520 + 36 + 30 + 5 + THREAD_NS);
    assert_eq!(
        kinds(&account)[..4],
        [
            (PartKind::OtherCpu, 0, 520),
            (PartKind::InterruptsOff, 520, 36),
            (PartKind::HardInterrupt, 556, 30),
            (PartKind::PreemptionOff, 586, 11),
        ]
    );
    let waits = &account.parts[0];
    assert_eq!(
        (waits.function.as_deref(), waits.task.as_deref()),
        (Some("free_bulk"), Some("hackbench"))
    );
    assert_eq!(waits.called_by, ["vfs_read", "do_syscall_64", "entry_SYSCALL_64"]);
    let other = waits.other_cpu.as_ref().unwrap();
    assert_eq!(
        (other.function.as_deref(), other.task.as_deref()),
        (Some("net_rx_action"), Some("holder"))
    );
    assert!(account.parts[1..].iter().all(|part| part.other_cpu.is_none()));
}

/// What the other CPU did is what it did then, and not what it did once it had given the lock back
/// and had nothing left to do.
#[test]
fn a_halt_of_the_other_cpu_does_not_hide_what_it_did_before() {
    let mut scene = waits();
    timer_interrupt(&mut scene);
    scene.run("free_bulk", 2_000, 3, RET);
    scene.run("vfs_read", 7, 2, JMP);
    scene.cpu = 0;
    scene.run("default_idle", 0, 10, HLT);
    scene.run("default_idle", 10, 3, NOP);
    scene.cpu = 1;
    to_the_thread(&mut scene);
    let account = explained(&scene.dump(), 520 + 36 + 30 + 5 + 13 + THREAD_NS);
    let other = account.parts[0].other_cpu.as_ref().unwrap();
    assert_eq!(
        (other.function.as_deref(), other.task.as_deref()),
        (Some("net_rx_action"), Some("holder"))
    );
}

/// The third CPU may hold the lock as well as the first.
#[test]
fn of_two_others_none_is_named() {
    let mut scene = waits();
    timer_interrupt(&mut scene);
    scene.cpu = 2;
    scene.run("net_rx_action", 0, 5, NOP);
    scene.cpu = 1;
    scene.run("free_bulk", 2_000, 3, RET);
    scene.run("vfs_read", 7, 2, JMP);
    to_the_thread(&mut scene);
    let account = explained(&scene.dump(), 520 + 36 + 30 + 5 + 5 + THREAD_NS);
    assert_eq!(kinds(&account)[0], (PartKind::OtherCpu, 0, 520));
    assert!(account.parts.iter().all(|part| part.other_cpu.is_none()));
}

/// The other CPU's turns are time that passes, in whatever this one was at; a fault of the other's
/// is its own.
#[test]
fn turns_of_the_other_cpu_belong_to_what_they_interrupt() {
    let mut scene = waits();
    scene.run("asm_sysvec_apic_timer_interrupt", 0, 5, CALL);
    scene.run("hrtimer_interrupt", 0, 5, CALL);
    scene.cpu = 0;
    // It begins three instructions, the last of which faults, and is begun again.
    scene.cut("vfs_read", 0, 9, NOP, 3);
    scene.run("asm_exc_page_fault", 0, 10, IRET);
    scene.run("vfs_read", 2, 7, NOP);
    scene.task(8, "other's");
    scene.cpu = 1;
    scene.run("try_to_wake_up", 0, 10, RET);
    scene.run("hrtimer_interrupt", 9, 5, RET);
    scene.run("asm_sysvec_apic_timer_interrupt", 9, 5, IRET);
    scene.run("free_bulk", 2_000, 3, RET);
    scene.run("vfs_read", 7, 2, JMP);
    to_the_thread(&mut scene);
    let account = explained(&scene.dump(), 4 + 30 + 19 + 5 + THREAD_NS);
    let expected = [
        (PartKind::InterruptsOff, 0, 4),
        (PartKind::HardInterrupt, 4, 49),
        (PartKind::PreemptionOff, 53, 11),
    ];
    assert_eq!(kinds(&account)[..3], expected);
    let tasks: Vec<_> = account.parts.iter().map(|part| part.task.as_deref()).collect();
    assert_eq!(tasks, [vec![Some("hackbench"); 5], vec![Some("teiji-0"); 2]].concat());
}

/// The lock is there: what it guards, interrupts on again, and the way to the thread.
fn with_the_lock(scene: &mut Scene) {
    scene.run("_raw_spin_lock_irqsave", 11, 2, RET);
    scene.run("free_bulk", 9, 30, CALL);
    scene.run("_raw_spin_unlock_irqrestore", 0, 3, STI);
    scene.run("_raw_spin_unlock_irqrestore", 3, 1, RET);
    timer_interrupt(scene);
    scene.run("free_bulk", 2_000, 3, RET);
    scene.run("vfs_read", 7, 2, JMP);
    to_the_thread(scene);
}

/// In the wait the other CPU is in net_rx_action for 10 instructions and in tick_sched_timer for
/// 1,500; before it, for long in the first.
#[test]
fn what_the_other_cpu_did_before_the_wait_does_not_count() {
    let mut scene = Scene::default();
    scene.task(7, "holder");
    scene.cpu = 0;
    scene.run("__do_softirq", 0, 5, CALL);
    scene.run("net_rx_action", 0, 5, NOP);
    scene.cpu = 1;
    in_a_read(&mut scene);
    scene.run("free_bulk", 0, 5, CALL);
    scene.run("_raw_spin_lock_irqsave", 0, 5, CLI);
    turn(&mut scene, "net_rx_action", 5, 39_000);
    scene.run("_raw_spin_lock_irqsave", 5, 2, CALL);
    scene.run("native_queued_spin_lock_slowpath", 0, 50, NOP);
    scene.cpu = 0;
    scene.run("net_rx_action", 39_005, 10, RET);
    scene.run("__do_softirq", 9, 2, CALL);
    scene.run("tick_sched_timer", 0, 1_500, NOP);
    scene.cpu = 1;
    scene.run("native_queued_spin_lock_slowpath", 50, 50, NOP);
    turn(&mut scene, "tick_sched_timer", 1_500, 10);
    scene.run("native_queued_spin_lock_slowpath", 100, 20, RET);
    with_the_lock(&mut scene);
    let account = explained(&scene.dump(), 38_000 + 2 + 1_642 + 36 + 30 + 5 + THREAD_NS);
    let waits = account.parts.iter().find(|part| part.kind == PartKind::OtherCpu).unwrap();
    assert_eq!(waits.other_cpu.as_ref().unwrap().function.as_deref(), Some("tick_sched_timer"));
}

/// The other CPU changes from one task to another in the wait: few instructions of the one, 300 of
/// the other.
#[test]
fn of_two_tasks_of_the_other_cpu_the_longer_one_is_named() {
    let mut scene = Scene::default();
    scene.task(7, "first");
    turn(&mut scene, "__schedule", 0, 30);
    in_a_read(&mut scene);
    scene.run("free_bulk", 0, 5, CALL);
    scene.run("_raw_spin_lock_irqsave", 0, 5, CLI);
    scene.run("_raw_spin_lock_irqsave", 5, 2, CALL);
    scene.run("native_queued_spin_lock_slowpath", 0, 50, NOP);
    scene.cpu = 0;
    scene.run("__schedule", 30, 5, CALL);
    scene.run("__switch_to_asm", 0, 4, RET);
    scene.task(8, "second");
    scene.run("__schedule", 39, 1, CALL);
    scene.run("finish_task_switch.isra.0", 0, 3, RET);
    scene.run("__schedule", 44, 1, RET);
    scene.run("do_nanosleep", 40, 300, NOP);
    scene.cpu = 1;
    scene.run("native_queued_spin_lock_slowpath", 50, 20, RET);
    with_the_lock(&mut scene);
    let account = explained(&scene.dump(), 384 + 36 + 30 + 5 + THREAD_NS);
    let waits = account.parts.iter().find(|part| part.kind == PartKind::OtherCpu).unwrap();
    let other = waits.other_cpu.as_ref().unwrap();
    assert_eq!(
        (other.function.as_deref(), other.task.as_deref()),
        (Some("do_nanosleep"), Some("second"))
    );
}

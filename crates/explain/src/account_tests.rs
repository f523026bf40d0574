// SPDX-License-Identifier: MIT OR Apache-2.0
//! Accounts of made-up windows, where every ns is known.

use crate::scene_tests::{self as scene, *};
use crate::{Asked, Dump, Kernel, account};
use model::{Account, Inlined, Part, PartKind, Source, Sources};
use proptest::prelude::*;

pub(crate) fn explained(dump: &Dump, latency_ns: u64) -> Account {
    let symbols = scene::symbols();
    let asked = Asked { thread: 0, activation: 9, latency_ns, cpu: 0, ns_per_instruction: 1.0 };
    account(dump, &dump.windows[0], &Kernel::new(&symbols), &asked)
}

pub(crate) fn kinds(account: &Account) -> Vec<(PartKind, u64, u64)> {
    account.parts.iter().map(|part| (part.kind, part.begin_ns, part.length_ns)).collect()
}

/// A program in a system call, up to a function that it reads with.
pub(crate) fn in_a_read(scene: &mut Scene) {
    scene.task(1, "hackbench");
    scene.run("", 0, 4, SYSCALL);
    scene.run("entry_SYSCALL_64", 0, 4, CALL);
    scene.run("do_syscall_64", 0, 2, STI);
    scene.run("do_syscall_64", 2, 2, CALL);
    scene.run("vfs_read", 0, 3, CALL);
}

/// The timer's interrupt, which makes the thread runnable: 30 instructions.
pub(crate) fn timer_interrupt(scene: &mut Scene) {
    scene.run("asm_sysvec_apic_timer_interrupt", 0, 5, CALL);
    scene.run("hrtimer_interrupt", 0, 5, CALL);
    scene.run("try_to_wake_up", 0, 10, RET);
    scene.run("hrtimer_interrupt", 9, 5, RET);
    scene.run("asm_sysvec_apic_timer_interrupt", 9, 5, IRET);
}

/// From the interrupted code to the reading of the clock: 6 to get to the scheduler, 10 of it, 9 to
/// change, 12 back, 8 in user space.
pub(crate) fn to_the_thread(scene: &mut Scene) {
    scene.run("vfs_read", 20, 3, RET);
    scene.run("do_syscall_64", 8, 3, CALL);
    scheduled(scene);
}

pub(crate) fn scheduled(scene: &mut Scene) {
    scene.run("__schedule", 0, 10, CALL);
    scene.run("__switch_to_asm", 0, 4, RET);
    scene.task(2, "teiji-0");
    scene.run("__schedule", 14, 1, CALL);
    scene.run("finish_task_switch.isra.0", 0, 3, RET);
    scene.run("__schedule", 19, 1, RET);
    scene.run("do_nanosleep", 40, 4, RET);
    scene.run("do_syscall_64", 12, 4, RET);
    scene.run("entry_SYSCALL_64", 8, 4, SYSRET);
    scene.run("", 0x100, 8, RDTSC);
}

pub(crate) const THREAD_NS: u64 = 6 + 10 + 9 + 12 + 8;

fn interrupts_off(length: usize) -> Scene {
    let mut scene = Scene::default();
    in_a_read(&mut scene);
    scene.run("free_bulk", 0, 5, CALL);
    scene.run("_raw_spin_lock_irqsave", 0, 5, CLI);
    scene.run("_raw_spin_lock_irqsave", 5, 2, RET);
    scene.run("free_bulk", 9, length, CALL);
    scene.run("_raw_spin_unlock_irqrestore", 0, 3, STI);
    scene.run("_raw_spin_unlock_irqrestore", 3, 1, RET);
    timer_interrupt(&mut scene);
    scene.run("free_bulk", 2_000, 3, RET);
    scene.run("vfs_read", 7, 2, JMP);
    to_the_thread(&mut scene);
    scene
}

#[test]
fn a_lock_that_holds_interrupts_off() {
    let dump = interrupts_off(1_000).dump();
    // Planned 900 instructions before the lock is given back: its last three, and the one behind
    // sti.
    let account = explained(&dump, 900 + 4 + 30 + 5 + THREAD_NS);
    let off = 904;
    assert_eq!(
        kinds(&account),
        [
            (PartKind::InterruptsOff, 0, off),
            (PartKind::HardInterrupt, off, 30),
            (PartKind::PreemptionOff, off + 30, 5 + 6),
            (PartKind::Scheduling, off + 41, 10),
            (PartKind::Switch, off + 51, 9),
            (PartKind::Return, off + 60, 12),
            (PartKind::Thread, off + 72, 8),
        ]
    );
    let Part { function, called_by, task, off_at, on_at, off_before_ns, .. } = &account.parts[0];
    assert_eq!((function.as_deref(), task.as_deref()), (Some("free_bulk"), Some("hackbench")));
    assert_eq!(called_by, &["vfs_read", "do_syscall_64", "entry_SYSCALL_64"]);
    assert_eq!(off_at.as_deref(), Some("_raw_spin_lock_irqsave+0x4"));
    assert_eq!(on_at.as_deref(), Some("_raw_spin_unlock_irqrestore+0x2"));
    // 100 of the thousand, 2 to return from the lock's function, and cli itself.
    assert_eq!(*off_before_ns, Some(103));
    let interrupt = &account.parts[1];
    assert_eq!(interrupt.interrupted.as_deref(), Some("_raw_spin_unlock_irqrestore"));
    let switch = &account.parts[4];
    assert_eq!(
        (switch.task.as_deref(), switch.next_task.as_deref()),
        (Some("hackbench"), Some("teiji-0"))
    );
    assert_eq!(account.parts[5].function.as_deref(), Some("entry_SYSCALL_64"));
}

/// Other threads are made runnable while the kernel goes on: by the tick, by timers, by what is
/// interrupted.
#[test]
fn the_first_timer_interrupt_makes_the_thread_runnable_and_not_the_last() {
    let mut scene = Scene::default();
    in_a_read(&mut scene);
    scene.run("free_bulk", 0, 500, STI);
    timer_interrupt(&mut scene);
    scene.run("free_bulk", 600, 200, CALL);
    scene.run("try_to_wake_up", 0, 10, RET);
    scene.run("free_bulk", 900, 100, JMP);
    timer_interrupt(&mut scene);
    scene.run("free_bulk", 1_000, 5, RET);
    scene.run("vfs_read", 7, 2, JMP);
    to_the_thread(&mut scene);
    let account = explained(&scene.dump(), 100 + 30 + 310 + 30 + 7 + THREAD_NS);
    assert_eq!(
        kinds(&account)[..4],
        [
            (PartKind::TimerPending, 0, 100),
            (PartKind::HardInterrupt, 100, 30),
            (PartKind::PreemptionOff, 130, 310),
            (PartKind::HardInterrupt, 440, 30),
        ]
    );
    assert_eq!(account.cause().map(|(part, _)| part.kind), Some(PartKind::PreemptionOff));
}

/// What the tick makes runnable is not the thread.
#[test]
fn the_tick_makes_other_threads_runnable() {
    let mut scene = Scene::default();
    in_a_read(&mut scene);
    scene.run("free_bulk", 0, 50, STI);
    scene.run("asm_sysvec_apic_timer_interrupt", 0, 5, CALL);
    scene.run("hrtimer_interrupt", 0, 5, CALL);
    scene.run("tick_sched_timer", 0, 5, CALL);
    scene.run("try_to_wake_up", 0, 10, RET);
    scene.run("tick_sched_timer", 9, 5, RET);
    scene.run("hrtimer_interrupt", 9, 5, RET);
    scene.run("asm_sysvec_apic_timer_interrupt", 9, 5, IRET);
    scene.run("free_bulk", 600, 200, JMP);
    timer_interrupt(&mut scene);
    scene.run("free_bulk", 1_000, 5, RET);
    scene.run("vfs_read", 7, 2, JMP);
    to_the_thread(&mut scene);
    let account = explained(&scene.dump(), 10 + 40 + 200 + 30 + 7 + THREAD_NS);
    let runnable = account.parts.iter().find(|part| part.kind == PartKind::PreemptionOff).unwrap();
    assert_eq!(runnable.begin_ns, 10 + 40 + 200 + 30);
}

/// Lines of the made-up kernel: 100 bytes each, and a function inlined in the second hundred of
/// `free_bulk`.
fn line(address: u64) -> Option<Source> {
    let symbols = scene::symbols();
    let id = symbols.find(address)?;
    let offset = address - symbols.begin(id);
    let line = u32::try_from(offset / 100 + 1).unwrap();
    let inlined = Inlined { function: "merge".to_owned(), file: "page.h".to_owned(), line: 7 };
    let is_inlined = symbols.name(id) == "free_bulk" && line == 2;
    let inlined = if is_inlined { vec![inlined] } else { Vec::new() };
    Some(Source { file: format!("{}.c", symbols.name(id)), line, inlined })
}

#[test]
fn places_have_lines() {
    let mut scene = Scene::default();
    in_a_read(&mut scene);
    scene.run("free_bulk", 0, 5, CALL);
    scene.run("_raw_spin_lock_irqsave", 0, 5, CLI);
    scene.run("_raw_spin_lock_irqsave", 5, 2, RET);
    // 91 instructions at line 1, 90 at line 2, 40 at line 3.
    scene.run("free_bulk", 9, 91, JMP);
    scene.run("free_bulk", 100, 90, JMP);
    scene.run("free_bulk", 200, 40, CALL);
    scene.run("_raw_spin_unlock_irqrestore", 0, 3, STI);
    scene.run("_raw_spin_unlock_irqrestore", 3, 1, RET);
    timer_interrupt(&mut scene);
    scene.run("free_bulk", 300, 3, RET);
    scene.run("vfs_read", 7, 2, JMP);
    to_the_thread(&mut scene);
    let (dump, symbols) = (scene.dump(), scene::symbols());
    let account = |off: u64, kernel: &Kernel<'_>| {
        let latency_ns = off + 4 + 30 + 5 + THREAD_NS;
        let asked = Asked { thread: 0, activation: 9, latency_ns, cpu: 0, ns_per_instruction: 1.0 };
        account(&dump, &dump.windows[0], kernel, &asked).parts
    };
    let at = |file: &str, line| Source { file: format!("{file}.c"), line, inlined: Vec::new() };
    let kernel = Kernel::new(&symbols).with_source(&line);
    let all = account(221, &kernel);
    assert_eq!(
        all[0].sources,
        Sources {
            function: Some(at("free_bulk", 1)),
            called_by: ["vfs_read", "do_syscall_64", "entry_SYSCALL_64"]
                .map(|function| Some(at(function, 1)))
                .to_vec(),
            interrupted: None,
            off_at: Some(at("_raw_spin_lock_irqsave", 1)),
            on_at: Some(at("_raw_spin_unlock_irqrestore", 1)),
        }
    );
    assert_eq!(all[0].mostly[0].source, Some(at("free_bulk", 1)));
    assert_eq!(all[1].sources.interrupted, Some(at("_raw_spin_unlock_irqrestore", 1)));
    // Planned 41 instructions into line 1: of the rest most is at line 2, in what is inlined there.
    let later = account(180, &kernel);
    let merge = Inlined { function: "merge".to_owned(), file: "page.h".to_owned(), line: 7 };
    assert_eq!(
        later[0].sources.function,
        Some(Source { inlined: vec![merge], ..at("free_bulk", 2) })
    );
    assert!(account(221, &Kernel::new(&symbols)).iter().all(|part| part.sources.is_empty()));
}

/// The caller is known only from the return to it.
#[test]
fn what_called_a_function_is_learned_from_its_return() {
    let mut scene = Scene::default();
    scene.task(1, "hackbench");
    scene.run("free_bulk", 9, 500, CLI);
    scene.run("free_bulk", 600, 300, STI);
    scene.run("free_bulk", 900, 1, RET);
    timer_interrupt(&mut scene);
    scene.run("vfs_read", 7, 2, JMP);
    to_the_thread(&mut scene);
    let account = explained(&scene.dump(), 200 + 1 + 30 + 2 + THREAD_NS);
    assert_eq!(account.parts[0].function.as_deref(), Some("free_bulk"));
    assert_eq!(account.parts[0].called_by, ["vfs_read", "do_syscall_64"]);
}

#[test]
fn an_idle_processor_halts_until_the_interrupt() {
    let mut scene = Scene::default();
    scene.task(0, "swapper/0");
    scene.run("do_idle", 0, 5, CALL);
    scene.run("default_idle", 0, 2, STI);
    scene.run("default_idle", 2, 1, HLT);
    timer_interrupt(&mut scene);
    scene.run("default_idle", 3, 2, RET);
    scene.run("do_idle", 9, 4, CALL);
    scene.run("__schedule", 0, 10, CALL);
    scene.run("__switch_to_asm", 0, 4, RET);
    scene.task(2, "teiji-0");
    scene.run("__schedule", 14, 1, CALL);
    scene.run("finish_task_switch.isra.0", 0, 3, RET);
    scene.run("__schedule", 19, 1, RET);
    scene.run("do_nanosleep", 40, 4, RET);
    scene.run("entry_SYSCALL_64", 8, 4, SYSRET);
    scene.run("", 0x100, 8, RDTSC);
    // The timer came 17 ns after the planned time.
    let account = explained(&scene.dump(), 17 + 30 + 6 + 10 + 9 + 8 + 8);
    assert_eq!(
        kinds(&account),
        [
            (PartKind::Idle, 0, 17),
            (PartKind::HardInterrupt, 17, 30),
            (PartKind::LeavingIdle, 47, 6),
            (PartKind::Scheduling, 53, 10),
            (PartKind::Switch, 63, 9),
            (PartKind::Return, 72, 8),
            (PartKind::Thread, 80, 8),
        ]
    );
    assert_eq!(account.parts[0].task.as_deref(), Some("swapper/0"));
}

/// QEMU's clock does not count the attempt that faults. Of one CPU the plugin does, of several it
/// does not.
#[test]
fn an_instruction_that_faults_counts_once() {
    for counts_begun in [true, false] {
        let mut scene = Scene::default();
        scene.counts_begun = counts_begun;
        in_a_read(&mut scene);
        scene.run("free_bulk", 0, 1, CLI);
        scene.run("free_bulk", 1, 100, NOP);
        scene.run("free_bulk", 101, 1, STI);
        scene.run("free_bulk", 102, 1, NOP);
        timer_interrupt(&mut scene);
        // Of 20 instructions the sixth faults, and is begun again.
        scene.cut("vfs_read", 100, 20, NOP, 5 + usize::from(counts_begun));
        scene.run("asm_exc_page_fault", 0, 3, CALL);
        scene.run("exc_page_fault", 0, 5, RET);
        scene.run("asm_exc_page_fault", 7, 2, IRET);
        scene.run("vfs_read", 105, 15, JMP);
        to_the_thread(&mut scene);
        let account = explained(&scene.dump(), 50 + 2 + 30 + 20 + 10 + THREAD_NS);
        assert_eq!(
            kinds(&account)[..3],
            [
                (PartKind::InterruptsOff, 0, 52),
                (PartKind::HardInterrupt, 52, 30),
                (PartKind::PreemptionOff, 82, 36)
            ]
        );
    }
}

/// A softirq does not keep the timer's interrupt out, unless it switches interrupts off.
#[test]
fn softirqs_before_the_interrupt_are_what_they_did_to_it() {
    let mut scene = Scene::default();
    in_a_read(&mut scene);
    scene.run("__do_softirq", 0, 4, CALL);
    scene.run("net_rx_action", 0, 50, CLI);
    scene.run("net_rx_action", 60, 200, STI);
    scene.run("net_rx_action", 300, 1, RET);
    timer_interrupt(&mut scene);
    scene.run("__do_softirq", 8, 6, RET);
    scene.run("vfs_read", 7, 2, JMP);
    to_the_thread(&mut scene);
    let account = explained(&scene.dump(), 100 + 1 + 30 + 6 + 2 + THREAD_NS);
    assert_eq!(
        kinds(&account)[..3],
        [
            (PartKind::InterruptsOff, 0, 101),
            (PartKind::HardInterrupt, 101, 30),
            (PartKind::Softirq, 131, 6)
        ]
    );
    assert_eq!(account.parts[0].function.as_deref(), Some("net_rx_action"));
}

/// Also on the way out of another interrupt.
#[test]
fn softirqs_of_another_interrupt_are_what_they_did_to_the_timers() {
    let mut scene = Scene::default();
    in_a_read(&mut scene);
    scene.run("asm_sysvec_apic_timer_interrupt", 0, 5, CALL);
    scene.run("__do_softirq", 0, 4, CALL);
    scene.run("net_rx_action", 0, 50, CLI);
    scene.run("net_rx_action", 60, 200, STI);
    scene.run("net_rx_action", 300, 1, RET);
    timer_interrupt(&mut scene);
    scene.run("__do_softirq", 8, 6, RET);
    scene.run("asm_sysvec_apic_timer_interrupt", 9, 5, IRET);
    scene.run("vfs_read", 7, 2, JMP);
    to_the_thread(&mut scene);
    let account = explained(&scene.dump(), 100 + 1 + 30 + 6 + 5 + 2 + THREAD_NS);
    assert_eq!(
        kinds(&account)[..4],
        [
            (PartKind::InterruptsOff, 0, 101),
            (PartKind::HardInterrupt, 101, 30),
            (PartKind::Softirq, 131, 6),
            (PartKind::HardInterrupt, 137, 5)
        ]
    );
}

#[test]
fn softirqs_and_other_threads_are_their_own_parts() {
    let mut scene = Scene::default();
    in_a_read(&mut scene);
    scene.run("asm_sysvec_apic_timer_interrupt", 0, 5, CALL);
    scene.run("hrtimer_interrupt", 0, 5, CALL);
    scene.run("try_to_wake_up", 0, 10, RET);
    scene.run("hrtimer_interrupt", 9, 5, RET);
    scene.run("asm_sysvec_apic_timer_interrupt", 9, 2, CALL);
    scene.run("__do_softirq", 0, 4, CALL);
    scene.run("net_rx_action", 0, 70, RET);
    scene.run("__do_softirq", 8, 6, RET);
    scene.run("asm_sysvec_apic_timer_interrupt", 15, 3, IRET);
    scene.run("vfs_read", 20, 3, RET);
    scene.run("do_syscall_64", 8, 3, CALL);
    scene.run("__schedule", 0, 10, CALL);
    scene.run("__switch_to_asm", 0, 4, RET);
    scene.task(3, "fifo-99");
    scene.run("__schedule", 14, 1, RET);
    scene.run("do_nanosleep", 40, 4, RET);
    scene.run("entry_SYSCALL_64", 8, 4, SYSRET);
    scene.run("", 0x300, 200, SYSCALL);
    scene.run("entry_SYSCALL_64", 0, 4, CALL);
    scene.run("__schedule", 0, 10, CALL);
    scene.run("__switch_to_asm", 0, 4, RET);
    scene.task(2, "teiji-0");
    scene.run("__schedule", 14, 1, RET);
    scene.run("do_nanosleep", 40, 4, RET);
    scene.run("entry_SYSCALL_64", 8, 4, SYSRET);
    scene.run("", 0x100, 8, RDTSC);
    let latency = 27 + 80 + 3 + 6 + 10 + 5 + 8 + 200 + 4 + 10 + 5 + 8 + 8;
    let account = explained(&scene.dump(), latency);
    assert_eq!(
        kinds(&account),
        [
            (PartKind::HardInterrupt, 0, 27),
            (PartKind::Softirq, 27, 80),
            (PartKind::HardInterrupt, 107, 3),
            (PartKind::PreemptionOff, 110, 6),
            (PartKind::Scheduling, 116, 10),
            (PartKind::Switch, 126, 5),
            (PartKind::OtherThread, 131, 212),
            (PartKind::Scheduling, 343, 10),
            (PartKind::Switch, 353, 5),
            (PartKind::Return, 358, 8),
            (PartKind::Thread, 366, 8),
        ]
    );
    assert_eq!(account.parts[1].function.as_deref(), Some("__do_softirq"));
    assert_eq!(account.parts[6].task.as_deref(), Some("fifo-99"));
}

/// The timer comes while the kernel goes from one thread to another: that keeps it out, and is not
/// how the measuring thread got to run.
#[test]
fn another_switch_holds_interrupts_off() {
    let mut scene = Scene::default();
    in_a_read(&mut scene);
    scene.run("free_bulk", 0, 5, CALL);
    scene.run("__schedule", 0, 5, CLI);
    scene.run("__schedule", 5, 400, CALL);
    scene.run("__switch_to_asm", 0, 4, RET);
    scene.task(5, "other");
    scene.run("__schedule", 409, 1, CALL);
    scene.run("finish_task_switch.isra.0", 0, 60, STI);
    scene.run("finish_task_switch.isra.0", 60, 1, NOP);
    timer_interrupt(&mut scene);
    scene.run("finish_task_switch.isra.0", 61, 2, RET);
    scene.run("__schedule", 414, 1, RET);
    scene.run("vfs_read", 7, 2, JMP);
    to_the_thread(&mut scene);
    let account = explained(&scene.dump(), 300 + 4 + 1 + 61 + 30 + 5 + THREAD_NS);
    let off = &account.parts[0];
    assert_eq!(
        (off.kind, off.length_ns, off.function.as_deref()),
        (PartKind::InterruptsOff, 366, Some("__schedule"))
    );
    assert_eq!(off.called_by, ["free_bulk", "vfs_read", "do_syscall_64", "entry_SYSCALL_64"]);
    assert_eq!((off.task.as_deref(), off.next_task.as_deref()), (Some("hackbench"), Some("other")));
    assert_eq!(account.parts[1].kind, PartKind::HardInterrupt);
}

/// All that a kernel thread does is called from the code that it began with.
#[test]
fn a_new_kernel_thread_works() {
    let mut scene = Scene::default();
    in_a_read(&mut scene);
    scene.run("free_bulk", 0, 5, CALL);
    scene.run("__schedule", 0, 5, CALL);
    scene.run("__switch_to_asm", 0, 4, JMP);
    scene.task(5, "kworker");
    scene.run("ret_from_fork", 0, 2, CALL);
    scene.run("finish_task_switch.isra.0", 0, 3, STI);
    scene.run("finish_task_switch.isra.0", 3, 2, RET);
    scene.run("ret_from_fork", 6, 3, CALL);
    scene.run("vfs_read", 0, 100, NOP);
    timer_interrupt(&mut scene);
    scene.run("vfs_read", 100, 70, CALL);
    scheduled(&mut scene);
    let account = explained(&scene.dump(), 10 + 30 + 70 + THREAD_NS - 6);
    let expected = [
        (PartKind::TimerPending, 0, 10),
        (PartKind::HardInterrupt, 10, 30),
        (PartKind::PreemptionOff, 40, 70),
        (PartKind::Scheduling, 110, 10),
    ];
    assert_eq!(kinds(&account)[..4], expected);
    assert_eq!(account.parts[2].task.as_deref(), Some("kworker"));
}

#[test]
fn what_lies_before_the_window_is_not_attributed() {
    let dump = interrupts_off(100).dump();
    let account = explained(&dump, 5_000);
    assert_eq!(account.parts[0].kind, PartKind::Unattributed);
    assert_eq!(account.parts.iter().map(|part| part.length_ns).sum::<u64>(), 5_000);
}

#[test]
fn code_without_a_symbol_is_shown_by_its_address() {
    let symbols = crate::Symbols::parse("ffffffff90000000 t far_away\n").unwrap();
    let dump = interrupts_off(100).dump();
    let asked = Asked { thread: 0, activation: 0, latency_ns: 60, cpu: 0, ns_per_instruction: 1.0 };
    let account = account(&dump, &dump.windows[0], &Kernel::new(&symbols), &asked);
    assert_eq!(account.parts.iter().map(|part| part.length_ns).sum::<u64>(), 60);
    let mostly: Vec<_> = account
        .parts
        .iter()
        .flat_map(|part| &part.mostly)
        .map(|time| time.function.as_str())
        .collect();
    assert!(mostly.iter().any(|name| name.starts_with("0xffffffff81")), "{mostly:?}");
}

/// Any code: function, offset, instructions, how many are begun, and the last.
fn any_block() -> impl Strategy<Value = (usize, u64, usize, usize, usize)> {
    (0..22_usize, 0..64_u64, 1..12_usize, 0..12_usize, 0..11_usize)
}

proptest! {
    /// Whatever ran, in whatever order: each ns is in one part.
    #[test]
    fn parts_add_up(
        blocks in proptest::collection::vec(any_block(), 1..200),
        switches in proptest::collection::vec(0..200_usize, 0..4),
        turns in proptest::collection::vec(0..200_usize, 0..9),
        cpu in 0..2_usize,
        latency_ns in 1..4_000_u64,
        rate in prop_oneof![Just(1.0), Just(1.000_007), Just(2.0), Just(64.0)],
    ) {
        let symbols = scene::symbols();
        let all = [NOP, CALL, RET, CLI, STI, HLT, IRET, SYSCALL, SYSRET, RDTSC, JMP];
        let mut scene = Scene::default();
        for (index, (function, offset, instructions, begun, last)) in blocks.iter().enumerate() {
            if switches.contains(&index) {
                scene.task(index as u64 % 3, "some");
            }
            if turns.contains(&index) {
                scene.cpu = 1 - scene.cpu;
            }
            let name = symbols.all().nth(*function).map_or("", |(_, name)| name).to_owned();
            scene.cut(
                &name,
                if *offset < 32 { 0 } else { *offset },
                *instructions,
                all[*last],
                (*begun).min(*instructions),
            );
        }
        let dump = scene.dump();
        let asked = Asked { thread: 0, activation: 0, latency_ns, cpu, ns_per_instruction: rate };
        let account = account(&dump, &dump.windows[0], &Kernel::new(&symbols), &asked);
        let mut at = 0;
        for part in &account.parts {
            prop_assert_eq!(part.begin_ns, at);
            prop_assert!(part.length_ns > 0);
            at += part.length_ns;
        }
        prop_assert_eq!(at, latency_ns);
        // So does the timeline: what nothing is called from is all of what was seen.
        let seen: u64 = account
            .parts
            .iter()
            .filter(|part| part.kind != PartKind::Unattributed)
            .map(|part| part.length_ns)
            .sum();
        let outermost = account.timeline.spans.iter().filter(|span| span.depth == 0);
        prop_assert_eq!(outermost.map(|span| span.length_ns).sum::<u64>(), seen);
        let folded: u64 = crate::folded(std::slice::from_ref(&account))
        .unwrap()
            .lines()
            .filter_map(|line| line.rsplit_once(' ').and_then(|(_, ns)| ns.parse::<u64>().ok()))
            .sum();
        prop_assert_eq!(folded, seen);
    }
}

/// Interrupts stay off from one task to the next, which takes most of it.
#[test]
fn of_two_tasks_with_interrupts_off_the_longer_one_is_named() {
    let mut scene = Scene::default();
    in_a_read(&mut scene);
    scene.run("__schedule", 0, 30, CLI);
    scene.run("__schedule", 30, 10, CALL);
    scene.run("__switch_to_asm", 0, 4, RET);
    scene.task(3, "other");
    scene.run("__schedule", 44, 1, CALL);
    scene.run("finish_task_switch.isra.0", 0, 200, STI);
    scene.run("finish_task_switch.isra.0", 200, 3, RET);
    scene.run("__schedule", 49, 1, RET);
    scene.run("free_bulk", 40, 3, CALL);
    timer_interrupt(&mut scene);
    scene.run("vfs_read", 7, 2, JMP);
    to_the_thread(&mut scene);
    let account = explained(&scene.dump(), 5 + 4 + 1 + 200 + 3 + 1 + 3 + 30 + 2 + THREAD_NS);
    let off = &account.parts[0];
    assert_eq!(
        (off.function.as_deref(), off.task.as_deref()),
        (Some("finish_task_switch.isra.0"), Some("other"))
    );
}

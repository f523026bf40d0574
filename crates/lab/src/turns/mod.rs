// SPDX-License-Identifier: MIT OR Apache-2.0
//! The guest's side of several CPUs in virtual time: turns so short and so even that each CPU
//! executes one instruction every so many ns.
//!
//! QEMU has one clock, the number of all CPUs' instructions, and lets one CPU run after the other.
//! Three things make their parts of the time uneven or their turns long, and each is dealt with
//! here, in `board.rs`, or in `plugin/turns.rs` (docs/decisions/0038 has the figures):
//!
//! - An idle CPU takes no part, and so the others are faster. The kernel is told to poll
//!   (`idle=poll`).
//! - A PAUSE instruction ends a CPU's turn, in that loop and wherever the kernel waits for another
//!   CPU. It is overwritten by an instruction of the same length that does nothing.
//! - Turns last until the next timer, and are over if one falls due. The plugin counts
//!   instructions, and ends turns.
//!
//! None of that is promised by QEMU, so the result is measured before anything else is: [`check`].

#[cfg(any(test, target_arch = "x86_64"))]
mod instruction_length;
#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "an instruction of its own; see the file's head")]
mod sys;

#[cfg(any(test, target_arch = "x86_64"))]
use instruction_length::instruction_length;
use plan::{Policy, Scheduling};
use probe::Monotonic;
use std::io;
use std::sync::Barrier;
use std::time::Duration;
use system::scheduling::set_scheduling;

/// What the host calls the file that is written over the first byte of each PAUSE, F3 90.
pub(crate) const NO_PAUSE_FILE: &str = "opt/teiji/no-pause";
/// What it holds: 66 90 is an exchange of AX with itself.
pub(crate) const NO_PAUSE: &str = "f";

/// How far the CPUs may differ: more is not what a recording says of its ns.
const MAX_DIFFERENCE_PERCENT: u64 = 3;
/// How long it is measured for each CPU of the guest: several of them execute less in the same
/// time.
const CHECKED_NS: i64 = 2_000_000;
/// How long the kernel has for what it put off while it booted, which would take some of the first
/// CPU's time.
const SETTLED: Duration = Duration::from_millis(20);

/// Sets up the turns of a guest with so many CPUs, and checks them. An error is a sentence.
pub(crate) fn set_up(cpus: u32) -> Result<(), String> {
    start().map_err(|error| format!("CPUs of even speed cannot be set up: {error}"))?;
    check(cpus)
}

#[cfg(target_arch = "x86_64")]
fn start() -> io::Result<()> {
    let (place, text) = kernel_text()?;
    let places: Vec<u64> = pauses(&text).into_iter().map(|offset| place + offset as u64).collect();
    if places.is_empty() {
        return Err(io::Error::other("no PAUSE instruction was found in the kernel"));
    }
    // At each of these the kernel's code has the first byte of a PAUSE, and is as good with the
    // other instruction.
    crate::ports::write_memory(NO_PAUSE_FILE, &places)?;
    sys::begin();
    Ok(())
}

#[cfg(not(target_arch = "x86_64"))]
fn start() -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// The kernel's code and where it begins in the machine's memory.
#[cfg(target_arch = "x86_64")]
fn kernel_text() -> io::Result<(u64, Vec<u8>)> {
    use std::os::unix::fs::FileExt;
    /// Where a kernel that was not moved has its code, for memory address 0.
    const KERNEL: u64 = 0xffff_ffff_8000_0000;
    let map = std::fs::read_to_string("/proc/iomem")?;
    let (first, last) = code_range(&map)
        .ok_or_else(|| io::Error::other("/proc/iomem does not tell where the kernel's code is"))?;
    let core = std::fs::File::open("/proc/kcore")?;
    let mut head = vec![0; 4_096];
    core.read_exact_at(&mut head, 0)?;
    let place = offset_in_core(&head, KERNEL + first)
        .ok_or_else(|| io::Error::other("/proc/kcore does not hold the kernel's code"))?;
    let mut text = vec![0; usize::try_from(last - first + 1).unwrap_or(0)];
    core.read_exact_at(&mut text, place)?;
    Ok((first, text))
}

/// The first and last address of the kernel's code, by `/proc/iomem`.
#[cfg(any(test, target_arch = "x86_64"))]
fn code_range(map: &str) -> Option<(u64, u64)> {
    let line = map.lines().find_map(|line| line.trim().strip_suffix(" : Kernel code"))?;
    let (first, last) = line.split_once('-')?;
    let (first, last) = (u64::from_str_radix(first, 16).ok()?, u64::from_str_radix(last, 16).ok()?);
    // A process without rights reads zeros.
    (first < last).then_some((first, last))
}

/// Where a file in ELF format, of 64 bits, has what belongs at this address.
#[cfg(any(test, target_arch = "x86_64"))]
fn offset_in_core(head: &[u8], address: u64) -> Option<u64> {
    const LOADED: u64 = 1;
    let number = |at: usize, bytes: usize| {
        let bytes = head.get(at..at + bytes)?;
        Some(bytes.iter().rev().fold(0_u64, |value, byte| value << 8 | u64::from(*byte)))
    };
    let (table, entry, count) = (number(0x20, 8)?, number(0x36, 2)?, number(0x38, 2)?);
    (0..count).find_map(|index| {
        let at = usize::try_from(table + index * entry).ok()?;
        let (kind, offset, first, size) =
            (number(at, 4)?, number(at + 8, 8)?, number(at + 16, 8)?, number(at + 40, 8)?);
        let within =
            address.checked_sub(first).filter(|within| kind == LOADED && *within < size)?;
        offset.checked_add(within)
    })
}

/// Where this code has its PAUSE instructions.
#[cfg(any(test, target_arch = "x86_64"))]
fn pauses(code: &[u8]) -> Vec<usize> {
    const PAUSE: [u8; 2] = [0xf3, 0x90];
    let (mut at, mut found) = (0, Vec::new());
    while let Some(rest) = code.get(at..).filter(|rest| !rest.is_empty()) {
        if rest.starts_with(&PAUSE) {
            found.push(at);
        }
        // What is no instruction is passed over, byte by byte.
        at += instruction_length(rest).unwrap_or(1);
    }
    found
}

/// Whether the CPUs are as fast as one another, alone and together.
fn check(cpus: u32) -> Result<(), String> {
    let failed = |error: io::Error| {
        let usable = probe::process_cpus().map_or(0, |found| found.usable.len());
        lacking(cpus, usable)
            .unwrap_or_else(|| format!("the speed of the CPUs cannot be measured: {error}"))
    };
    let all: Vec<usize> = (0..usize::try_from(cpus).unwrap_or(1)).collect();
    let span = CHECKED_NS * i64::from(cpus);
    std::thread::sleep(SETTLED);
    let mut rates = Vec::new();
    for alone in &all {
        rates.extend(count_on(&[*alone], span).map_err(failed)?);
    }
    rates.extend(count_on(&all, span).map_err(failed)?);
    even(&rates)
}

/// That the kernel uses fewer CPUs than the machine has, if it does.
fn lacking(cpus: u32, usable: usize) -> Option<String> {
    let is_less = usable > 0 && u32::try_from(usable).is_ok_and(|usable| usable < cpus);
    is_less.then(|| {
        format!(
            "the machine has {cpus} CPUs, and this kernel uses {usable}. A kernel without \
             CONFIG_SMP can use one only, and nosmp, maxcpus= and nr_cpus= leave out some: ask for \
             --smp {usable}"
        )
    })
}

/// Whether these counts of one span are about the same.
fn even(counts: &[u64]) -> Result<(), String> {
    let (least, most) =
        (counts.iter().min().copied().unwrap_or(0), counts.iter().max().copied().unwrap_or(0));
    if least > 0 && most * 100 <= least * (100 + MAX_DIFFERENCE_PERCENT) {
        return Ok(());
    }
    Err(format!(
        "this QEMU does not give its CPUs even speed: they counted {counts:?} in the same time, \
         each alone and then all together, and may differ by {MAX_DIFFERENCE_PERCENT} %. Use one \
         CPU, or --time host"
    ))
}

/// How far a thread on each of these CPUs counts in the same span, ns.
fn count_on(cpus: &[usize], span: i64) -> io::Result<Vec<u64>> {
    /// Between two readings of the clock.
    const STEPS: u64 = 20;
    // Nothing but interrupts comes between, not even the thread that waits here for the others.
    let undisturbed = Scheduling { policy: Policy::Fifo, prio: Some(1) };
    let barrier = Barrier::new(cpus.len());
    let count = |cpu: usize| {
        let mut set = rustix::thread::CpuSet::new();
        set.set(cpu);
        let pinned = rustix::thread::sched_setaffinity(None, &set).map_err(io::Error::from);
        let prepared =
            pinned.and_then(|()| set_scheduling(None, undisturbed).map_err(io::Error::other));
        // Before anything else: the others wait.
        barrier.wait();
        prepared?;
        let (begun, mut counted) = (Monotonic.now().0, 0_u64);
        while Monotonic.now().0 - begun < span {
            for _ in 0..STEPS {
                counted = std::hint::black_box(counted + 1);
            }
        }
        Ok(counted)
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = cpus.iter().map(|cpu| scope.spawn(|| count(*cpu))).collect();
        threads
            .into_iter()
            .map(|thread| {
                thread.join().unwrap_or_else(|_| Err(io::Error::other("a thread panicked")))
            })
            .collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_is_found_and_its_bytes_within_other_instructions_are_not() {
        // mov ecx, 0x90f3; pause; movabs rax, ..f390..; jmp over nothing known (0x06), pause
        let code = b"\xb9\xf3\x90\x00\x00\xf3\x90\x48\xb8\x01\xf3\x90\x02\x03\x04\x05\x06\
            \xeb\xf3\x90\x06\xf3\x90";
        assert_eq!(pauses(code), [5, 21]);
    }

    #[test]
    fn the_kernels_code_is_found() {
        let map = "00100000-1ffdffff : System RAM\n  01000000-01e01d31 : Kernel code\n  \
                   02000000-0290dfff : Kernel rodata\n";
        assert_eq!(code_range(map), Some((0x0100_0000, 0x01e0_1d31)));
        assert_eq!(code_range("00000000-00000000 : Kernel code\n"), None);

        let mut head = vec![0; 256];
        let mut put = |at: usize, bytes: &[u8]| head[at..at + bytes.len()].copy_from_slice(bytes);
        put(0x20, &64_u64.to_le_bytes());
        put(0x36, &56_u16.to_le_bytes());
        put(0x38, &2_u16.to_le_bytes());
        for (entry, kind, offset, first) in
            [(0, 4_u32, 0_u64, 0_u64), (1, 1, 0x7000, 0xffff_ffff_8100_0000)]
        {
            let at = 64 + 56 * entry;
            put(at, &kind.to_le_bytes());
            put(at + 8, &offset.to_le_bytes());
            put(at + 16, &first.to_le_bytes());
            put(at + 40, &0x2000_u64.to_le_bytes());
        }
        assert_eq!(offset_in_core(&head, 0xffff_ffff_8100_0010), Some(0x7010));
        assert_eq!(offset_in_core(&head, 0xffff_ffff_8100_2000), None);
        assert_eq!(offset_in_core(&head[..100], 0xffff_ffff_8100_0010), None);
    }

    /// "Invalid argument" was all that was said of it.
    #[test]
    fn a_kernel_that_uses_fewer_cpus_is_named() {
        let error = lacking(2, 1).unwrap();
        assert!(
            error.starts_with("the machine has 2 CPUs, and this kernel uses 1. A kernel without")
        );
        assert_eq!((lacking(2, 2), lacking(2, 0)), (None, None));
    }

    #[test]
    fn cpus_of_uneven_speed_are_refused() {
        assert_eq!(even(&[1_000, 1_029, 1_010, 1_000]), Ok(()));
        let error = even(&[1_000, 600]).unwrap_err();
        assert!(error.contains("counted [1000, 600]"), "{error}");
        assert!(even(&[0, 0]).is_err() && even(&[]).is_err());
    }
}

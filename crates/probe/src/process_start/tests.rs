// SPDX-License-Identifier: MIT OR Apache-2.0
use super::sys::tests::{one_at_a_time, unshare_descriptors};
use super::*;
use rustix::process::{WaitOptions, waitpid};

fn open_descriptors() -> usize {
    std::fs::read_dir("/proc/thread-self/fd").unwrap().count()
}

fn own_signal_mask() -> String {
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
    status.lines().find(|line| line.starts_with("SigBlk")).unwrap().to_owned()
}

/// A hundred of each, and nothing of them is left: no descriptor, no zombie, no blocked signal.
#[test]
fn every_method_starts_and_leaves_nothing() {
    let _alone = one_at_a_time();
    unshare_descriptors();
    let (before, mask) = (open_descriptors(), own_signal_mask());
    let program = ChildProgram::new().unwrap();
    let with_program = open_descriptors();
    for method in Method::ALL {
        for _ in 0..100 {
            let started = start(&program, method).unwrap();
            assert_eq!(started.child_ns.is_some(), method != Method::PosixSpawn);
            let child_ns = started.child_ns.unwrap_or(started.called_ns);
            let times =
                [started.called_ns, child_ns, started.first_instruction_ns, started.ended_ns];
            assert!(times.is_sorted(), "{method:?}: {started:?}");
        }
        assert_eq!(
            (open_descriptors(), own_signal_mask()),
            (with_program, mask.clone()),
            "{method:?}"
        );
        assert_eq!(waitpid(None, WaitOptions::NOHANG).unwrap_err(), Errno::CHILD, "{method:?}");
    }
    drop(program);
    assert_eq!(open_descriptors(), before);
}

/// The measuring thread's own signal: a start that it meets is one like any other.
#[test]
fn a_signal_that_wakes_the_thread_does_not_disturb_a_start() {
    let _alone = one_at_a_time();
    crate::sys::let_wake_interrupt().unwrap();
    let (thread, done) = (rustix::thread::gettid(), std::sync::atomic::AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                crate::sys::wake(thread);
                std::thread::yield_now();
            }
        });
        let program = ChildProgram::new().unwrap();
        let starts: Vec<_> =
            (0..50).flat_map(|_| Method::ALL).map(|method| start(&program, method)).collect();
        done.store(true, Ordering::Relaxed);
        assert!(starts.iter().all(Result::is_ok), "{starts:?}");
    });
}

/// The errno comes back, and the next start works.
#[test]
fn a_program_that_cannot_be_executed() {
    let _alone = one_at_a_time();
    unshare_descriptors();
    let program = ChildProgram::from_image(b"not an ELF file").unwrap();
    let before = open_descriptors();
    for method in Method::ALL {
        let errors = [(); 2].map(|()| start(&program, method).unwrap_err().raw_os_error());
        assert_eq!(errors, [Some(libc::ENOEXEC); 2], "{method:?}");
        assert_eq!(waitpid(None, WaitOptions::NOHANG).unwrap_err(), Errno::CHILD, "{method:?}");
    }
    assert_eq!(open_descriptors(), before);
}

/// Zeroes are no instruction of any processor, or run off the end of the program's only page.
#[test]
fn a_program_that_crashes_is_an_error() {
    let _alone = one_at_a_time();
    let program = ChildProgram::from_image(&image::image(&[0; 16])).unwrap();
    let errors = Method::ALL.map(|method| start(&program, method).unwrap_err().kind());
    assert_eq!(errors, [io::ErrorKind::UnexpectedEof; 4]);
}

/// A time that a start could not use must not be taken for the next one's.
#[test]
fn nothing_is_read_twice() {
    let _alone = one_at_a_time();
    let program = ChildProgram::new().unwrap();
    let started = start(&program, Method::Vfork).unwrap();
    assert_eq!(program.first_instruction_ns().unwrap(), None);
    assert!(start(&program, Method::Fork).unwrap().first_instruction_ns > started.ended_ns);
    // Nor is one of a start in a child's memory shown by one that shows none.
    assert_eq!(start(&program, Method::PosixSpawn).unwrap().child_ns, None);
}

#[test]
fn ctrl_c_is_distinguished_from_a_crash() {
    assert_eq!(silent(Some(libc::SIGINT)).kind(), io::ErrorKind::Interrupted);
    assert_eq!(silent(Some(libc::SIGSEGV)).kind(), io::ErrorKind::UnexpectedEof);
    assert_eq!(silent(None).kind(), io::ErrorKind::UnexpectedEof);
}

/// A child of which nobody can read the file is traced by nobody, who would make another program of
/// it, at its priority.
#[test]
fn nobody_can_read_what_the_child_executes() {
    let program = program_in_memory(b"\x7fELF").unwrap();
    assert_eq!(rustix::fs::fstat(&program).unwrap().st_mode & 0o777, 0o111);
}

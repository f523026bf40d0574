// SPDX-License-Identifier: MIT OR Apache-2.0
//! `dev-zero`: reads /dev/zero and writes /dev/null, one task pinned on each CPU: system calls, and
//! a kernel that fills memory. What `cat /dev/zero > /dev/null` does.

use crate::load_types::{LoadType, on_each_cpu};
use crate::worker_pool::StartBarrier;
use std::convert::Infallible;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};

pub(crate) const LOAD_TYPE: LoadType =
    LoadType { paced: true, ..LoadType::new("dev-zero", &["bytes"], |_| on_each_cpu(copy)) };

/// At a time, as `cat` does.
const BYTES: usize = 128 << 10;

fn copy(barrier: StartBarrier<'_>) -> io::Result<Infallible> {
    let (mut zero, mut null) =
        (File::open("/dev/zero")?, OpenOptions::new().write(true).open("/dev/null")?);
    let mut buffer = vec![1; BYTES];
    let mut worker = barrier.wait()?;
    loop {
        zero.read_exact(&mut buffer)?;
        null.write_all(&buffer)?;
        worker.add(0, BYTES as u64);
        worker.throttle();
    }
}

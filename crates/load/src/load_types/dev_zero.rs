// SPDX-License-Identifier: MIT OR Apache-2.0
//! `dev-zero`: reads /dev/zero and writes /dev/null, one task pinned on each CPU: system calls, and
//! a kernel that fills memory. What `cat /dev/zero > /dev/null` does.

use crate::load_types::{Generator, LoadType};
use crate::options::{Options, SpecError};
use crate::worker_pool::{StartBarrier, WorkerPool};
use std::convert::Infallible;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};

pub(crate) const LOAD_TYPE: LoadType =
    LoadType { paced: true, ..LoadType::new("dev-zero", &["bytes"], read) };

/// At a time, as `cat` does.
const BYTES: usize = 128 << 10;

#[derive(Debug)]
struct DevZero;

fn read(_: &Options<'_>) -> Result<Box<dyn Generator>, SpecError> {
    Ok(Box::new(DevZero))
}

impl Generator for DevZero {
    fn assemble(&self, pool: &mut WorkerPool) -> io::Result<()> {
        pool.fork_on_each_cpu(copy)
    }
}

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

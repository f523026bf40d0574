// SPDX-License-Identifier: MIT OR Apache-2.0
//! `io-sync` and `disk`: one task pinned on each CPU that keeps storage and its drivers busy.
//!
//! `io-sync` calls sync() without end. `disk` fills a file, fsyncs it and truncates it; the file
//! has no name from the beginning, so it is gone when its task is, however that ends.

use crate::limits;
use crate::load_types::{Generator, LoadType, on_each_cpu};
use crate::options::{Options, SpecError};
use crate::worker_pool::StartBarrier;
use rustix::fs::{Access, Mode, OFlags, access};
use std::convert::Infallible;
use std::fs::File;
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};

pub(crate) const SYNC: LoadType = LoadType::new("io-sync", &["syncs"], |_| on_each_cpu(sync));

pub(crate) const DISK: LoadType =
    LoadType { keys: &["dir", "size"], ..LoadType::new("disk", &["bytes", "fsyncs"], read) };

/// Of each task's file, unless `size=` says otherwise.
const SIZE: u64 = 16 << 20;
/// The smallest file.
const MIN_SIZE: u64 = 4_096;
const BLOCK: usize = 1 << 20;

fn sync(barrier: StartBarrier<'_>) -> io::Result<Infallible> {
    let worker = barrier.wait()?;
    loop {
        rustix::fs::sync();
        worker.add(0, 1);
    }
}

fn read(options: &Options<'_>) -> Result<Box<dyn Generator>, SpecError> {
    let dir = options.value("dir").map_or_else(usual_dir, PathBuf::from);
    if options.elsewhere {
        let size = options.parsed("size", "a size such as 64M, from 4K up", |text| {
            limits::parse_size(text).filter(|size| *size >= MIN_SIZE)
        })?;
        return busy(dir, size.unwrap_or(SIZE));
    }
    let free = rustix::fs::statvfs(&dir).ok().filter(|_| dir.is_dir());
    let free =
        free.ok_or_else(|| options.refuse("dir", "a directory on the disk that is to be busy"))?;
    let max = free.f_bavail.saturating_mul(free.f_frsize) / 2 / options.sharing().max(1);
    if max < MIN_SIZE {
        return Err(options.refuse("dir", "a directory on a disk with room: this one is full"));
    }
    let expected = format!(
        "a size such as 64M, from 4K up to {} here: half of what is free in {}, shared by loads \
         and their CPUs",
        limits::human_readable(max),
        dir.display()
    );
    let size = options.parsed("size", &expected, |text| {
        limits::parse_size(text).filter(|size| (MIN_SIZE..=max).contains(size))
    })?;
    // Asked, not tried: a check changes nothing.
    access(&dir, Access::WRITE_OK | Access::EXEC_OK).map_err(|error| {
        options.refuse("dir", &format!("a directory in which a file can be made: {error}"))
    })?;
    busy(dir, size.unwrap_or(SIZE.min(max)))
}

/// Where files stay over a restart, so that it is a disk: /tmp often is memory.
fn usual_dir() -> PathBuf {
    Some(PathBuf::from("/var/tmp")).filter(|dir| dir.is_dir()).unwrap_or_else(std::env::temp_dir)
}

fn busy(dir: PathBuf, size: u64) -> Result<Box<dyn Generator>, SpecError> {
    on_each_cpu(move |barrier| write(&dir, size, barrier))
}

/// A file in this directory that has no name.
fn nameless(dir: &Path) -> io::Result<File> {
    let (parent, write) = (Mode::RUSR | Mode::WUSR, OFlags::WRONLY | OFlags::CLOEXEC);
    if let Ok(file) = rustix::fs::open(dir, write | OFlags::TMPFILE, parent) {
        return Ok(file.into());
    }
    // A file system without such files (NFS, FAT): one with a name, for a moment.
    let path = dir.join(format!(".teiji-load-{}", std::process::id()));
    let file = rustix::fs::open(&path, write | OFlags::CREATE | OFlags::EXCL, parent)?;
    std::fs::remove_file(&path)?;
    Ok(file.into())
}

fn write(dir: &Path, size: u64, barrier: StartBarrier<'_>) -> io::Result<Infallible> {
    let mut file = nameless(dir)?;
    let block = vec![0x5a_u8; BLOCK];
    let worker = barrier.wait()?;
    loop {
        let mut left = size;
        while left > 0 {
            let now = block.len().min(usize::try_from(left).unwrap_or(BLOCK));
            file.write_all(&block[..now])?;
            worker.add(0, now as u64);
            left -= now as u64;
        }
        file.sync_all()?;
        worker.add(1, 1);
        file.set_len(0)?;
        file.rewind()?;
    }
}

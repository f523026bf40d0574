// SPDX-License-Identifier: MIT OR Apache-2.0
//! `fork`: one task pinned on each CPU that forks, executes a program that ends at once, and waits for it, without end. The
//! program is this one.

use crate::kinds::{Generator, Kind};
use crate::leader::NOTHING;
use crate::spec::{Options, SpecError};
use crate::sys;
use crate::team::{Post, Team};
use std::convert::Infallible;
use std::io;
use std::process::{Command, Stdio};

pub(crate) const KIND: Kind =
    Kind { name: "fork", keys: &[], paced: false, least_cpus: 1, units: &["forks"], starts_others: false, read };

#[derive(Debug)]
struct Fork;

fn read(_: &Options<'_>) -> Result<Box<dyn Generator>, SpecError> {
    Ok(Box::new(Fork))
}

impl Generator for Fork {
    fn tasks(&self, cpus: usize) -> usize {
        cpus
    }

    fn assemble(&self, team: &mut Team) -> io::Result<()> {
        let verb = std::env::args().nth(1).unwrap_or_default();
        team.fork_on_each_cpu(|post| fork(&verb, post))
    }
}

fn fork(verb: &str, post: Post<'_>) -> io::Result<Infallible> {
    let duty = post.wait()?;
    let mut command = Command::new("/proc/self/exe");
    command.args([verb, NOTHING]).stdin(Stdio::null()).stdout(Stdio::null());
    loop {
        let status = command.status()?;
        if !status.success() {
            return Err(io::Error::other(format!("the program that was to end at once ended with {status}")));
        }
        duty.add(0, 1);
        duty.slot().set_children_ns(sys::children_ns());
    }
}

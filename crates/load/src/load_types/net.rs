// SPDX-License-Identifier: MIT OR Apache-2.0
//! `net`: messages over the loopback interface, by TCP and by UDP: a sender and a receiver of each
//! kind on each CPU. Network interrupts are software here, and run where the sender does.

use crate::load_types::{Generator, LoadType};
use crate::options::{Options, SpecError};
use crate::worker_pool::WorkerPool;
use std::convert::Infallible;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::slice;

pub(crate) const LOAD_TYPE: LoadType =
    LoadType { keys: &["via"], ..LoadType::new("net", &["messages", "bytes"], read) };

/// One message: fits a packet of any network.
const MESSAGE: usize = 1_400;

#[derive(Clone, Copy, Debug)]
struct Net {
    tcp: bool,
    udp: bool,
}

fn read(options: &Options<'_>) -> Result<Box<dyn Generator>, SpecError> {
    let (tcp, udp) = match options.value("via") {
        None | Some("both") => (true, true),
        Some("tcp") => (true, false),
        Some("udp") => (false, true),
        Some(_) => return Err(options.refuse("via", "tcp, udp or both")),
    };
    Ok(Box::new(Net { tcp, udp }))
}

impl Generator for Net {
    fn tasks(&self, cpus: usize) -> usize {
        cpus * 2 * (usize::from(self.tcp) + usize::from(self.udp))
    }

    fn assemble(&self, pool: &mut WorkerPool) -> io::Result<()> {
        for cpu in pool.cpus().to_vec() {
            if self.tcp {
                let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(no_loopback)?;
                let sink = TcpStream::connect(listener.local_addr()?)?;
                let (source, _) = listener.accept()?;
                pair(
                    pool,
                    slice::from_ref(&cpu),
                    source,
                    sink,
                    |source, message| source.read(message),
                    |sink, message| sink.write_all(message),
                )?;
            }
            if self.udp {
                let source = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).map_err(no_loopback)?;
                let sink = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
                sink.connect(source.local_addr()?)?;
                pair(
                    pool,
                    slice::from_ref(&cpu),
                    source,
                    sink,
                    |source, message| source.recv(message),
                    |sink, message| sink.send(message).map(drop),
                )?;
            }
        }
        Ok(())
    }
}

fn no_loopback(error: io::Error) -> io::Error {
    system::named("the loopback interface cannot be used", error)
}

/// A receiver and a sender on the same CPU.
fn pair<T>(
    pool: &mut WorkerPool,
    cpus: &[plan::CpuId],
    source: T,
    sink: T,
    receive: impl Fn(&mut T, &mut [u8]) -> io::Result<usize>,
    send: impl Fn(&mut T, &[u8]) -> io::Result<()>,
) -> io::Result<()> {
    // Both ends stay open in both tasks: they end together, by being killed.
    let (mut source, mut sink) = (source, sink);
    pool.fork(cpus, |barrier| -> io::Result<Infallible> {
        let mut message = [0; MESSAGE];
        let worker = barrier.wait()?;
        let mut bytes = 0;
        loop {
            bytes += receive(&mut source, &mut message)?;
            worker.add(0, (bytes / MESSAGE) as u64);
            worker.add(1, (bytes / MESSAGE * MESSAGE) as u64);
            bytes %= MESSAGE;
        }
    })?;
    pool.fork(cpus, |barrier| -> io::Result<Infallible> {
        let message = [0x5a; MESSAGE];
        let worker = barrier.wait()?;
        send(&mut sink, &message)?;
        worker.slot().has_worked();
        loop {
            send(&mut sink, &message)?;
        }
    })
}

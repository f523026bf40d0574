// SPDX-License-Identifier: MIT OR Apache-2.0
//! The events of one program, from all CPUs, in the order of their time.

use super::account::Functions;
use super::event::{self, Event, Layout};
use plan::CpuId;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::sync::Arc;
use trace::{Raw, RawReader, Session, TraceError, Tracefs};

/// All CPUs' buffers together, KiB, and each at most: a second of a program that wakes 20,000 times
/// a second there; and at least.
const BUFFERS_KIB: u64 = 65_536;
const MAX_BUFFER_KIB: u64 = 8_192;
const MIN_BUFFER_KIB: u64 = 512;
/// Events that are held back until those of other CPUs have been read, at least.
const PENDING: usize = 1 << 17;
/// An event is in its CPU's buffer this long after its time, ns.
const STORED_WITHIN: i64 = 1_000_000;
/// Bytes of an event in a page of the kernel's, at least.
const EVENT_BYTES: usize = 12;

/// What is missing for it here, if anything, without using it.
pub(crate) fn lacks() -> Option<String> {
    Tracefs::find().err().map(|error| error.to_string())
}

/// What one CPU records.
struct Cpu {
    number: u32,
    reader: RawReader,
    /// The time of the last event that was read.
    last: i64,
    /// There was nothing more when it was read last.
    is_read: bool,
}

pub(crate) struct Trace {
    cpus: Vec<Cpu>,
    /// Ends after its readers: fields are dropped in this order.
    pub(crate) session: Arc<Session>,
    layout: Layout,
    pub(crate) functions: Functions,
    /// What the buffer of each CPU holds, KiB.
    pub(crate) buffer_kib: u64,
    /// With their order within one CPU.
    pending: Vec<(u64, Event)>,
    /// Events of a page at most.
    per_page: usize,
    read: u64,
}

impl Trace {
    /// Records the events of these threads, and of all that they make, from now on. `threads` is
    /// asked again until none is new.
    pub(crate) fn begin(
        threads: impl Fn() -> io::Result<Vec<i64>>,
    ) -> Result<(Self, Vec<i64>), TraceError> {
        let functions = functions("/proc/kallsyms")?;
        let session = Session::begin(&Tracefs::find()?)?;
        let cpus = cpus(&session);
        let buffer_kib = (BUFFERS_KIB / u64::try_from(cpus.len().max(1)).unwrap_or(1))
            .clamp(MIN_BUFFER_KIB, MAX_BUFFER_KIB);
        session.write("buffer_size_kb", &buffer_kib.to_string())?;
        let layout = Layout::of(&session)?;
        session.write("options/event-fork", "1")?;
        let list = || {
            threads().map_err(|error| {
                TraceError::Missing(format!("the program cannot be followed: {error}"))
            })
        };
        let mut followed = Vec::new();
        loop {
            let now = list()?;
            if now.iter().all(|thread| followed.contains(thread)) {
                break;
            }
            followed = now;
            let text: Vec<String> = followed.iter().map(i64::to_string).collect();
            session.write("set_event_pid", &text.join(" "))?;
        }
        let read = |number| {
            Ok(Cpu {
                number,
                reader: session.raw_reader(CpuId(number))?,
                last: i64::MIN,
                is_read: false,
            })
        };
        let cpus = cpus.into_iter().map(read).collect::<Result<Vec<_>, TraceError>>()?;
        event::enable(&session)?;
        let per_page = rustix::param::page_size() / EVENT_BYTES;
        // Of each CPU but one, a page may have to wait.
        let pending = Vec::with_capacity(PENDING.max((cpus.len() + 1) * per_page));
        Ok((
            Trace {
                session: Arc::new(session),
                cpus,
                layout,
                functions,
                buffer_kib,
                pending,
                per_page,
                read: 0,
            },
            followed,
        ))
    }

    /// Reads what there is, and takes the events before a time, in order. Those of the last moment
    /// wait for the next call, as another CPU may have one before them. Returns the time before
    /// which all were taken.
    pub(crate) fn take(&mut self, now: i64, mut each: impl FnMut(&Event)) -> io::Result<i64> {
        let Trace { cpus, layout, pending, per_page, read, .. } = self;
        cpus.iter_mut().for_each(|cpu| cpu.is_read = false);
        // The CPU that is furthest behind comes next, so that what was read of others does not wait
        // for it. What has no room stays in the kernel's buffer.
        while pending.capacity() - pending.len() >= *per_page
            && let Some(cpu) = cpus.iter_mut().filter(|cpu| !cpu.is_read).min_by_key(|cpu| cpu.last)
        {
            let Cpu { number, reader, last, is_read } = cpu;
            let taken = |raw: Raw<'_>| {
                let event = match raw {
                    Raw::Event(time, bytes) => layout.decode(time, *number, bytes),
                    Raw::Lost(time, events) => Some(Event::lost(time, *number, events)),
                };
                if let Some(event) = event {
                    (*last, *read) = (event.time.max(*last), *read + 1);
                    pending.push((*read, event));
                }
            };
            *is_read = !reader.take(taken)?;
        }
        let behind = cpus.iter().filter(|cpu| !cpu.is_read).map(|cpu| cpu.last);
        let until = behind.fold(now - STORED_WITHIN, i64::min);
        pending.sort_unstable_by_key(|(order, event)| (event.time, *order));
        let ready = pending.partition_point(|(_, event)| event.time < until);
        pending.drain(..ready).for_each(|(_, event)| each(&event));
        Ok(until)
    }
}

fn cpus(session: &Session) -> Vec<u32> {
    let entries =
        std::fs::read_dir(session.folder().join("per_cpu")).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut cpus: Vec<u32> =
        names.filter_map(|name| name.strip_prefix("cpu")?.parse().ok()).collect();
    cpus.sort_unstable();
    cpus
}

const SLEEPER: &str = "hrtimer_wakeup";
const PROCESS_TIMERS: [&str; 3] = ["timerfd_tmrproc", "posix_timer_fn", "it_real_fn"];

/// Where the kernel's functions are that timers of programs call.
fn functions(path: &str) -> Result<Functions, TraceError> {
    let missing = |what: String| TraceError::Missing(what);
    let file = File::open(path).map_err(|error| {
        missing(format!("{path} cannot be read: {error}. It takes CONFIG_KALLSYMS"))
    })?;
    let functions = functions_in(BufReader::with_capacity(1 << 16, file));
    functions.ok_or_else(|| {
        missing(format!(
            "{path} does not tell where the kernel's function {SLEEPER} is. Run as root, with \
             sysctl kernel.kptr_restrict=1 or 0"
        ))
    })
}

fn functions_in(mut symbols: impl BufRead) -> Option<Functions> {
    let (mut functions, mut found, mut line) = (Functions::default(), 0, String::new());
    while found <= PROCESS_TIMERS.len() && symbols.read_line(&mut line).ok()? > 0 {
        let mut fields = line.split_ascii_whitespace();
        if let (Some(address), Some(_), Some(name)) = (fields.next(), fields.next(), fields.next())
        {
            // Compilers append to the names of functions that they change. What they split off as
            // cold is not where one begins.
            let whole = if name.ends_with(".cold") { "" } else { name };
            let name = whole.split('.').next().unwrap_or(whole);
            let address = || u64::from_str_radix(address, 16).map_or(0, u64::cast_signed);
            if name == SLEEPER {
                functions.sleeper = address();
                found += 1;
            } else if let Some(place) = PROCESS_TIMERS.iter().position(|known| *known == name) {
                functions.process[place] = address();
                found += 1;
            }
        }
        line.clear();
    }
    (functions.sleeper != 0).then_some(functions)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_of_timers() {
        let symbols = "0000000000000000 A percpu\nffffffff81000001 t \
                       hrtimer_wakeup.cold\nffffffff81000010 t \
                       hrtimer_wakeup.isra.0\nffffffff81000020 t it_real_fn\nffffffff81000030 T \
                       timerfd_tmrproc\t[timerfd]\n";
        let functions = functions_in(symbols.as_bytes()).unwrap();
        assert_eq!(functions.sleeper, 0xffff_ffff_8100_0010_u64.cast_signed());
        assert_eq!(functions.process.map(|address| address & 0xff), [0x30, 0, 0x20]);
        assert_eq!(functions_in("0000000000000000 t hrtimer_wakeup\n".as_bytes()), None, "hidden");
    }
}

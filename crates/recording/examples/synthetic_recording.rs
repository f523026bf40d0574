// SPDX-License-Identifier: MIT OR Apache-2.0
//! Writes a long recording that nobody measured, in the batches a run would have written it in, and
//! the same one every time: `cargo run --release -p recording --example synthetic_recording --
//! NAME.teiji THREADS ACTIVATIONS`. The benches read it back. With a further word, `tail`, most
//! latencies have 12 random bits, and one in 1,000 an exponential tail: as of a machine that does
//! well.

use model::{
    Document, End, FORMAT, Host, HostFacts, Instrument, RowCounts, State, Thread, VERSION, fill_in,
};
use plan::{CpuId, Nanos, Run, Scheduling};
use recording::{Folder, Recording, RecordingError, SampleWriter};
use stats::Activations;
use std::error::Error;
use std::path::{Path, PathBuf};

const INTERVAL: Nanos = Nanos::from_micros(200);
/// The recorder writes every half second.
const BATCH: u64 = 2_500;

/// Numbers that look random and are the same everywhere (xorshift64).
pub struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// 1.5 µs and 12 to 17 random bits of nanoseconds, so that most of the digits are noise, as
    /// they are on a real machine; once in 32,768 times 40 µs doubled as often as a coin falls
    /// on heads, which every eighth time is an overrun.
    pub fn latency_ns(&mut self) -> i64 {
        let number = self.next();
        let bits = 12 + (number >> 32) % 6;
        let ordinary = 1_500 + (number & ((1 << bits) - 1));
        let tail =
            if number >> 49 == 0 { 40_000 << self.next().trailing_zeros().min(7) } else { 0 };
        (ordinary + tail).cast_signed()
    }
}

impl Numbers {
    /// 1.5 µs and 12 random bits of nanoseconds; one in 1,024 later by 8 µs doubled e-fold at
    /// random.
    #[expect(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "a latency")]
    pub fn tailed_ns(&mut self) -> i64 {
        let number = self.next();
        let ordinary = (1_500 + (number & 0xfff)).cast_signed();
        let late = || (((number >> 22) as f64 + 0.5) / (1_u64 << 42) as f64).ln() * -8_000.0;
        if (number >> 12) & 0x3ff == 0 { ordinary + late() as i64 } else { ordinary }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (directory, threads, activations, latency): (_, _, _, fn(&mut Numbers) -> i64) = match words
        .as_slice()
    {
        [directory, threads, activations] => (directory, threads, activations, Numbers::latency_ns),
        [directory, threads, activations, tail] if tail == "tail" => {
            (directory, threads, activations, Numbers::tailed_ns)
        }
        _ => return Err("usage: synthetic_recording NAME.teiji THREADS ACTIVATIONS [tail]".into()),
    };
    write(&PathBuf::from(directory), threads.parse()?, activations.parse()?, latency)?;
    Ok(())
}

/// Writes a recording of so many threads.
///
/// # Errors
/// When it cannot be written.
pub fn write(
    directory: &Path,
    threads: u32,
    activations: u64,
    latency: fn(&mut Numbers) -> i64,
) -> Result<(), RecordingError> {
    write_another(directory, &initial_document(threads, activations), latency, 0)
}

/// Writes a recording of another run than that of [`initial_document`], with other numbers for
/// another seed.
///
/// # Errors
/// When it cannot be written.
pub fn write_another(
    directory: &Path,
    document: &Document,
    latency: fn(&mut Numbers) -> i64,
    seed: u64,
) -> Result<(), RecordingError> {
    let (mut document, activations) = (document.clone(), document.run.activations_of(0));
    let mut folder = Folder::create(directory, &document)?;
    folder.begin(&document)?;
    let counts: Vec<_> = std::thread::scope(|scope| {
        let folder = &folder;
        let write = |thread: &Thread| {
            let samples = folder.samples(thread, &document.probe);
            let seed = seed + thread.index as u64 + 1;
            scope.spawn(move || {
                samples.and_then(|samples| write_samples(samples, seed, activations, latency))
            })
        };
        let writers: Vec<_> = document.threads.iter().map(write).collect();
        writers
            .into_iter()
            .map(|writer| writer.join().expect("a writer does not panic"))
            .collect::<Result<_, _>>()
    })?;
    for (thread, counts) in document.threads.iter_mut().zip(counts) {
        thread.activations = Some(RowCounts::Planned(counts));
    }
    document.state = State::Complete;
    document.end = Some(End::Done);
    document.ended_at = Some(document.started_at.clone());
    document.host.after = Some(HostFacts::default());
    let mut recorded = Recording::from_document(folder.path(), document).summarise()?;
    for (thread, statistics) in recorded.document.threads.iter_mut().zip(&recorded.threads) {
        fill_in(thread, &model::ProbeStatement::cyclic(), statistics, &model::Beside::default());
    }
    folder.finish(&recorded.document)
}

/// Does what a measuring thread and the recorder do together.
fn write_samples(
    mut samples: SampleWriter,
    seed: u64,
    activations: u64,
    latency: fn(&mut Numbers) -> i64,
) -> Result<Activations, RecordingError> {
    let mut numbers = Numbers(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let mut counts = Activations { due: activations, ..Activations::default() };
    let mut next = 0;
    let mut flush_at = BATCH;
    let mut woken = Vec::new();
    while next < activations {
        let first = next;
        let mut overrun = 0;
        while next < flush_at.min(activations) && overrun == 0 {
            let latency = latency(&mut numbers);
            overrun = (latency / INTERVAL.0).unsigned_abs();
            woken.push(latency);
            next += 1;
        }
        samples.extend(first, &woken)?;
        let late = u64::from(overrun > 0);
        let skipped = overrun.min(activations - next);
        counts.on_time += woken.len() as u64 - late;
        counts.late += late;
        counts.skipped += skipped;
        next += skipped;
        woken.clear();
        if next >= flush_at {
            samples.flush()?;
            flush_at += BATCH;
        }
    }
    samples.finish(activations)?;
    Ok(counts)
}

/// `run.json` before the first sample: a run as it could have been asked for, on a machine nobody
/// knows.
pub fn initial_document(threads: u32, activations: u64) -> Document {
    let cpus: Vec<CpuId> = (0..threads).map(CpuId).collect();
    let thread = |(index, cpu): (usize, &CpuId)| {
        Thread::unmeasured(index, *cpu, Scheduling::DEFAULT, INTERVAL, Nanos::from_secs(1))
    };
    Document {
        format: FORMAT.to_owned(),
        version: VERSION,
        teiji: env!("CARGO_PKG_VERSION").to_owned(),
        anonymous: false,
        state: State::Running,
        end: None,
        started_at: "2026-01-01T00:00:00Z".to_owned(),
        ended_at: None,
        command_line: vec!["synthetic_recording".to_owned()],
        probe: model::ProbeStatement::cyclic(),
        instrument: Instrument { real_time: true, ..Instrument::default() },
        warnings: Vec::new(),
        threads: cpus.iter().enumerate().map(thread).collect(),
        load: Vec::new(),
        load_off_target: false,
        lab: None,
        imported: None,
        host: Host { before: HostFacts::default(), after: None, processes: None },
        run: Run {
            title: Some("synthetic: nobody measured this".to_owned()),
            cpus,
            hold_dma_latency: true,
            ..Run::example(INTERVAL, activations)
        },
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! Recordings that nobody measured: the same ones every time, for the tests and for looking at a
//! page.

use model::{
    CpuFacts, Document, EventCounts, FORMAT, HistogramDocument, Host, HostFacts, Instrument, Lab,
    LabFile, LabKernel, LabQemu, LoadEvidence, LoadOnCpu, QemuOrigin, Reached, Recorded, RowCounts,
    State, Thread, ThreadEvidence, VERSION, Warning, WorstActivation,
};
use plan::{CpuId, Guest, GuestTime, Machine, Nanos, Policy, Run, Scheduling};
use stats::{AfterOverrun, Span, Statistics, analyse, summarise};
use std::collections::BTreeMap;

const INTERVAL_NS: i64 = 1_000_000;

/// A recording to be.
#[derive(Clone, Debug)]
pub struct Synthetic {
    title: String,
    loads: Vec<&'static str>,
    threads: u32,
    due: u64,
    samples: Option<Vec<i32>>,
    max_steps: usize,
    seed: u64,
    lab: Option<Option<u64>>,
    with_jitter: bool,
}

/// Numbers that look random and are the same everywhere (splitmix64).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Between 0 and 1, neither of them.
    fn share(&mut self) -> f64 {
        ((self.next() >> 12) as f64 + 0.5) / (1_u64 << 52) as f64
    }

    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.share()).sum::<f64>() - 6.0
    }
}

impl Synthetic {
    /// A machine left alone: half the wake-ups within 60 µs, hardly one beyond 200 µs.
    pub fn idle() -> Self {
        Synthetic {
            title: "idle".into(),
            loads: vec![],
            threads: 2,
            due: 10_000,
            samples: None,
            max_steps: 4_096,
            seed: 7,
            lab: None,
            with_jitter: false,
        }
    }

    /// A machine that passes messages: mostly quicker to wake, because it never sleeps deeply, and
    /// sometimes very late.
    pub fn hackbench() -> Self {
        Synthetic {
            title: "hackbench".into(),
            loads: vec!["hackbench,groups=10"],
            ..Synthetic::idle()
        }
    }

    /// Under one more load, such as `cpu@50%`; it reaches its level.
    #[allow(dead_code)]
    pub fn load(mut self, spec: &'static str) -> Self {
        self.loads.push(spec);
        self
    }

    /// Named otherwise.
    #[allow(dead_code)]
    pub fn title(mut self, title: &str) -> Self {
        title.clone_into(&mut self.title);
        self
    }

    /// On so many CPUs.
    #[allow(dead_code)]
    pub fn threads(mut self, threads: u32) -> Self {
        self.threads = threads;
        self
    }

    /// So many activations of each thread.
    #[allow(dead_code)]
    pub fn due(mut self, due: u64) -> Self {
        self.due = due;
        self
    }

    /// Exactly these latencies in each thread, ns.
    #[allow(dead_code)]
    pub fn samples(mut self, samples: &[i32]) -> Self {
        self.samples = Some(samples.to_vec());
        self.due = samples.len() as u64;
        self
    }

    /// Another series of the same kind.
    #[allow(dead_code)]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// With jitter, which takes longer to compute.
    #[allow(dead_code)]
    pub fn with_jitter(mut self) -> Self {
        self.with_jitter = true;
        self
    }

    /// Made in the lab: in virtual time of so many ns an instruction, or in the host's.
    #[allow(dead_code)]
    pub fn in_lab(mut self, ns_per_instruction: Option<u64>) -> Self {
        self.lab = Some(ns_per_instruction);
        self
    }

    /// The recording.
    pub fn build(&self) -> Recorded {
        let threads: Vec<Statistics> =
            (0..self.threads).map(|index| self.statistics(index)).collect();
        let seconds = (self.due / 1_000).max(1);
        let cpus: Vec<CpuId> = (0..self.threads).map(CpuId).collect();
        let run = Run {
            title: Some(self.title.clone()),
            cpus: cpus.clone(),
            warmup_ns: Nanos::from_millis(100),
            hold_dma_latency: true,
            loads: self.loads.iter().map(|load| load.parse().expect("a load")).collect(),
            ..Run::example(Nanos(INTERVAL_NS), self.due)
        };
        let document = Document {
            format: FORMAT.into(),
            version: VERSION,
            teiji: "0.1.0".into(),
            anonymous: false,
            state: State::Complete,
            end: Some(model::End::Done),
            started_at: "2026-11-04T09:12:00Z".into(),
            ended_at: Some("2026-11-04T09:12:10Z".into()),
            command_line: ["teiji", "measure", "-d", "10s", "-o", &format!("{}.teiji", self.title)]
                .map(str::to_owned)
                .to_vec(),
            run,
            probe: model::ProbeStatement::cyclic(),
            instrument: Instrument {
                clock: "CLOCK_MONOTONIC".into(),
                clock_resolution_ns: 1,
                clock_read_ns: 27,
                real_time: true,
                settled_in_ns: Nanos::ZERO,
                memory_locked: true,
                dma_latency_held: true,
                ring_slots: 16_384,
                start_to_first_activation_ns: Some(3_214_000),
                virtual_time: false,
                co_kernel: None,
                watched: None,
            },
            warnings: vec![Warning::DiskSlow { max_delay_ns: Nanos::from_millis(700) }],
            threads: threads
                .iter()
                .enumerate()
                .map(|(index, statistics)| self.thread(index, statistics))
                .collect(),
            load: self.loads.iter().map(|spec| self.evidence(spec, &cpus)).collect(),
            load_off_target: false,
            lab: self.lab.map(lab),
            imported: None,
            host: Host { before: host(0, self), after: Some(host(seconds, self)), processes: None },
        };
        Recorded {
            path: format!("{}.teiji", self.title).into(),
            document,
            threads,
            beside: Vec::new(),
            explained: None,
        }
    }

    fn thread(&self, index: usize, statistics: &Statistics) -> Thread {
        let worst = statistics.worst.iter().map(|worst| {
            let since_start = i64::try_from(worst.activation).unwrap_or(0) * INTERVAL_NS;
            WorstActivation {
                activation: worst.activation,
                planned_ns: Nanos(8_000_000_000 + since_start),
                since_start_ns: Nanos(since_start),
                latency_ns: worst.latency_ns,
            }
        });
        Thread {
            index,
            cpu: CpuId(u32::try_from(index).unwrap_or(0)),
            pinned: true,
            scheduling: Scheduling { policy: Policy::Fifo, prio: Some(90) },
            nice: None,
            timer_slack_ns: None,
            interval_ns: Nanos(INTERVAL_NS),
            given_up_ns: None,
            start_ns: Nanos(8_000_000_000),
            samples_file: format!("samples-{index}.arrows"),
            detail: model::Detail::Samples,
            activations: Some(model::RowCounts::Planned(statistics.activations)),
            latency_ns: statistics.latency,
            latency_with_skipped_ns: statistics.latency_with_skipped,
            histogram_ns: HistogramDocument {
                relative_error: stats::RELATIVE_ERROR,
                buckets: statistics.histogram.buckets().collect(),
            },
            worst: worst.collect(),
            columns: Vec::new(),
            polling: None,
            smis: None,
            evidence: ThreadEvidence {
                minor_faults: Some(0),
                major_faults: Some(0),
                voluntary_switches: Some(self.due),
                involuntary_switches: Some(3),
                samples_lost: 0,
                fallen_back: None,
                periodic_rows: None,
                without_period: None,
            },
        }
    }

    /// A load that keeps near its level, or near 98 % if it has none.
    fn evidence(&self, spec: &str, cpus: &[CpuId]) -> LoadEvidence {
        let requested = spec
            .split_once('@')
            .and_then(|(_, level)| level.split('%').next()?.parse::<f64>().ok());
        let mean = requested.unwrap_or(97.8);
        let on = |cpu: &CpuId| LoadOnCpu {
            cpu: *cpu,
            // Messages move their tasks; what has a level is pinned.
            reached: requested
                .map(|level| level - 0.4 * f64::from(cpu.0 % 3))
                .map(|mean| Reached { mean, worst_second: mean - 1.2 }),
            machine_busy: Some(99.1 - 0.4 * f64::from(cpu.0 % 3)),
        };
        let rate = if requested.is_some() {
            ("rounds_per_s", 45_120.0)
        } else {
            ("messages_per_s", 812_345.0)
        };
        LoadEvidence {
            spec: spec.to_owned(),
            requested,
            reached: Some(Reached { mean, worst_second: mean - 3.7 }),
            cpus: cpus.to_vec(),
            rate: BTreeMap::from([(rate.0.to_owned(), rate.1)]),
            tasks: if requested.is_some() { cpus.len() as u64 } else { 400 },
            nice: Some(0),
            alive: true,
            settled_after_ns: Some(640_000_000),
            started_ns: None,
            stopped_ns: None,
            off_target: false,
            per_cpu: cpus.iter().map(on).collect(),
            course: self.course(mean),
        }
    }

    /// One point a second, the first a moment late; after the last whole second nothing was read.
    fn course(&self, mean: f64) -> Vec<(u64, f64)> {
        let mut numbers = Numbers(self.seed + 99);
        let reached =
            |numbers: &mut Numbers| (mean + 1.3 * numbers.normal()).clamp(mean - 3.7, 100.2);
        (1..=self.due / 1_000)
            .map(|second| (8_000_400_000 + second * 1_000_000_000, reached(&mut numbers)))
            .collect()
    }

    /// The recording with the analyses of its threads, for a request of exact figures.
    #[allow(dead_code)]
    pub fn examined(&self, exact: &stats::ExactRequest) -> (Recorded, Vec<stats::Analysis>) {
        let analysis = |thread| {
            let Ok(analysis) = self.with_rows(thread, |spans, _| {
                analyse(spans, INTERVAL_NS, AfterOverrun::Skip, self.max_steps, exact)
            });
            analysis
        };
        (self.build(), (0..self.threads).map(analysis).collect())
    }

    /// The rows of a thread, and apart those of its latencies that follow one another.
    fn with_rows<T>(&self, thread: u32, of: impl FnOnce(&[Span<'_>], &[Vec<i32>]) -> T) -> T {
        let values = self.samples.clone().unwrap_or_else(|| self.latencies(thread));
        let mut rows: Vec<Option<i32>> = Vec::new();
        for value in values {
            rows.push(Some(value));
            let skipped = usize::try_from(i64::from(value) / INTERVAL_NS).unwrap_or(0);
            rows.extend(std::iter::repeat_n(None, skipped));
            if rows.len() as u64 >= self.due {
                break;
            }
        }
        rows.truncate(usize::try_from(self.due).unwrap_or(usize::MAX));
        let woken: Vec<Vec<i32>> = rows
            .chunk_by(|a, b| a.is_some() == b.is_some())
            .map(|part| part.iter().flatten().copied().collect())
            .collect();
        let spans: Vec<Span<'_>> = rows
            .chunk_by(|a, b| a.is_some() == b.is_some())
            .zip(&woken)
            .map(|(part, woken)| {
                if woken.is_empty() { Span::Missing(part.len() as u64) } else { Span::Woken(woken) }
            })
            .collect();
        of(&spans, &woken)
    }

    fn statistics(&self, thread: u32) -> Statistics {
        self.with_rows(thread, |spans, woken| {
            if self.with_jitter {
                let exact = stats::ExactRequest::default();
                let Ok(analysis) =
                    analyse(spans, INTERVAL_NS, AfterOverrun::Skip, self.max_steps, &exact);
                return analysis.statistics;
            }
            let Ok(mut statistics) =
                summarise(spans, INTERVAL_NS, AfterOverrun::Skip, self.max_steps);
            woken.iter().for_each(|values| statistics.linear.record_all(values));
            statistics
        })
    }

    /// Latencies with the body and the tail of a virtual machine's.
    #[allow(clippy::cast_possible_truncation)]
    fn latencies(&self, thread: u32) -> Vec<i32> {
        let busy = !self.loads.is_empty();
        let mut numbers = Numbers(self.seed * 1_000 + u64::from(thread) * 10 + u64::from(busy));
        (0..self.due)
            .map(|_| {
                let kind = numbers.share();
                let us = if !busy {
                    match kind {
                        k if k < 0.12 => 4.2 * (0.22 * numbers.normal()).exp(),
                        k if k < 0.9985 => 61.0 * (0.13 * numbers.normal()).exp(),
                        _ => 90.0 * (0.35 * numbers.normal().abs()).exp(),
                    }
                } else {
                    match kind {
                        k if k < 0.97 => 9.5 * (0.42 * numbers.normal()).exp(),
                        k if k < 0.9994 => 35.0 * numbers.share().powf(-0.45),
                        _ => 260.0 * numbers.share().powf(-0.75),
                    }
                };
                (us.clamp(2.8, if busy { 5_021.8 } else { 196.3 }) * 1_000.0) as i32
            })
            .collect()
    }
}

fn host(seconds: u64, of: &Synthetic) -> HostFacts {
    let busy = !of.loads.is_empty();
    let ms = seconds * 1_000;
    let cpu = |cpu: u32| CpuFacts {
        cpu: CpuId(cpu),
        governor: Some("schedutil".into()),
        frequency_khz: Some(if seconds > 0 {
            3_400_000
        } else {
            1_200_000 + u64::from(cpu) * 1_000
        }),
        frequency_min_khz: Some(800_000),
        frequency_max_khz: Some(3_600_000),
        time_ms: [
            ("user", 15),
            ("system", if busy { 83 } else { 2 }),
            ("idle", if busy { 0 } else { 83 }),
            ("steal", u64::from(busy)),
            ("iowait", 0),
        ]
        .map(|(name, percent)| (name.to_owned(), 1_000_000 + ms * percent / 100))
        .into(),
    };
    let counts = |per_s: u64| {
        (0..of.threads).map(|cpu| 5_000 + seconds * per_s / (u64::from(cpu) + 1)).collect()
    };
    let event = |name: &str, description: &str, per_s| EventCounts {
        name: name.into(),
        description: description.into(),
        counts: counts(per_s),
    };
    HostFacts {
        hostname: Some("bench-7".into()),
        architecture: "x86_64".into(),
        kernel: Some("6.1.0-37-amd64".into()),
        kernel_version: Some(
            "Linux version 6.1.0-37-amd64 (debian-kernel@lists.debian.org) #1 SMP PREEMPT_DYNAMIC \
             Debian 6.1.140-1"
                .into(),
        ),
        preemption: Some("voluntary (PREEMPT_DYNAMIC)".into()),
        kernel_command_line: Some(
            "BOOT_IMAGE=/boot/vmlinuz-6.1.0-37-amd64 root=UUID=5f0c ro quiet".into(),
        ),
        cpu_model: Some("Intel(R) Core(TM) i5-1135G7 @ 2.40GHz".into()),
        hypervisor: Some(true),
        cpus: (0..of.threads).map(cpu).collect(),
        clocksource: Some(if busy && seconds > 0 { "hpet" } else { "tsc" }.into()),
        clocksources_available: ["tsc", "hpet", "acpi_pm"].map(str::to_owned).to_vec(),
        isolated_cpus: Some(String::new()),
        nohz_full_cpus: None,
        rt_runtime_us: Some(950_000),
        rt_period_us: Some(1_000_000),
        transparent_hugepages: Some("madvise".into()),
        memory_total_kib: Some(16_282_112),
        memory_available_kib: Some(12_901_376 - seconds * 100),
        load_average: Some(if seconds > 0 && busy { [41.2, 11.9, 4.2] } else { [0.31, 0.4, 0.38] }),
        uptime_s: Some(86_400.5 + seconds as f64),
        interrupts: vec![
            event("LOC", "Local timer interrupts", 1_250),
            event("RES", "Rescheduling interrupts", if busy { 48_211 } else { 12 }),
            event("TLB", "TLB shootdowns", u64::from(busy) * 3),
            event("27", "PCI-MSI 524288-edge virtio0-requests", 14),
            event("NMI", "Non-maskable interrupts", 0),
        ],
        softirqs: vec![
            event("TIMER", "", 251),
            event("SCHED", "", if busy { 911 } else { 180 }),
            event("RCU", "", 402),
            event("HI", "", 0),
        ],
        unreadable: vec![],
    }
}

pub fn lab(ns_per_instruction: Option<u64>) -> Lab {
    let file = |path: &str, digit: &str| LabFile { path: path.into(), sha256: digit.repeat(64) };
    let shift = ns_per_instruction.map(|ns| u8::try_from(ns.trailing_zeros()).unwrap_or(0));
    let time = shift.map_or(GuestTime::Host, |shift| GuestTime::Virtual { shift });
    Lab {
        guest: Guest {
            machine: Machine::X86_64,
            memory_mib: 512,
            cpus: 1,
            time,
            kernel_args: String::new(),
        },
        ns_per_instruction,
        deterministic: ns_per_instruction.is_some(),
        accelerator: "tcg".into(),
        kernel: LabKernel {
            name: "debian:amd64=6.1.0-56".into(),
            image: file("vmlinuz", "a"),
            modules: None,
        },
        device_tree: None,
        program: file("teiji", "b"),
        modules: Vec::new(),
        initramfs_sha256: "c".repeat(64),
        snapshot: None,
        qemu: LabQemu {
            version: "7.2.22".into(),
            origin: QemuOrigin::System,
            command_line: vec!["qemu-system-x86_64".into(), "-nodefaults".into()],
        },
        probe_left_open: false,
        default_cpus: None,
        host_ms: 12_000,
    }
}

/// So many more samples woke the thread, and were lost: its samples do not show them.
pub(crate) fn lose_samples(thread: &mut Thread, lost: u64) {
    thread.evidence.samples_lost = lost;
    if let Some(RowCounts::Planned(all)) = &mut thread.activations {
        (all.due, all.on_time) = (all.due + lost, all.on_time + lost);
    }
}

/// That the threads did not get real-time scheduling.
pub(crate) fn no_real_time() -> Warning {
    let (asked, granted) = (Scheduling::DEFAULT, Scheduling::OTHER);
    let error = "Operation not permitted (os error 1)".into();
    Warning::NoRealTime {
        asked,
        granted,
        error,
        program: "target/x86_64-unknown-linux-musl/release/teiji".into(),
        causes: vec![model::RefusalCause::Limit {
            allowed: 0,
            hard: Some(0),
            in_user_namespace: false,
            container: None,
        }],
    }
}

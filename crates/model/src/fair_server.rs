// SPDX-License-Identifier: MIT OR Apache-2.0
//! What keeps real-time threads from taking all of a CPU: from Linux 6.12 on the fair server, and
//! before that throttling by `kernel.sched_rt_runtime_us`, which is left to control groups there.

use plan::CpuId;

/// Where the fair server came in.
const SINCE: (u32, u32) = (6, 12);

/// The first two numbers of a kernel's release, such as `6.12.90-rt`.
pub fn kernel_version(release: &str) -> Option<(u32, u32)> {
    let mut numbers =
        release.split(|letter: char| !letter.is_ascii_digit()).map(|number| number.parse().ok());
    Some((numbers.next()??, numbers.next()??))
}

/// What a CPU's server of SCHED_DEADLINE gives ordinary threads that real-time ones keep waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FairServer {
    /// At most, in each period, ns; 0: nothing.
    pub runtime_ns: i64,
    pub period_ns: i64,
}

impl FairServer {
    /// Where it can be set, for each CPU in a folder of its own; only root can look there.
    pub const FOLDER: &'static str = "sys/kernel/debug/sched/fair_server";
    /// What it gives unless it was set.
    pub const DEFAULT: FairServer = FairServer { runtime_ns: 50_000_000, period_ns: 1_000_000_000 };

    /// Whether a kernel of this release has one.
    pub fn is_in(release: &str) -> bool {
        kernel_version(release).is_some_and(|version| version >= SINCE)
    }

    /// That of a CPU, by the numbers in files, where these can be read.
    pub fn of_cpu(cpu: CpuId, number: impl Fn(&str) -> Option<i64>) -> Option<FairServer> {
        let of = |name: &str| number(&format!("{}/cpu{cpu}/{name}", FairServer::FOLDER));
        Some(FairServer { runtime_ns: of("runtime")?, period_ns: of("period")? })
    }
}

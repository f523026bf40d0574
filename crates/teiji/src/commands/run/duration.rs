// SPDX-License-Identifier: MIT OR Apache-2.0
//! How long a plan takes, before anything of it has run: exactly what it measures, and for guests
//! of the lab a range, because an emulated second takes as long as its instructions, which are few
//! where a guest idles and many under a load.

use super::plan_entry::PlanEntry;
use crate::commands::lab::guests_at_once;
use plan::{GuestTime, Nanos, PlannedRun};
use report::Language;

const SECOND: i64 = 1_000_000_000;
/// Until a guest has booted and brought its recording out, ns: Debian's kernels, on an idle machine
/// and on a slow or busy one.
const BOOT_NS: (i64, i64) = (5 * SECOND, 30 * SECOND);
/// How many times as long as it measures a guest takes in virtual time: idle, and under a load that
/// never sleeps.
const TIMES: (i64, i64) = (1, 10);

/// `20 s of measuring on this machine ...; 54.1 min in guests of the lab, here about 1 to 3 h:
/// ...`.
pub fn text(points: &[PlanEntry], runs: &[PlannedRun], jobs: Option<u32>) -> String {
    let of = |in_lab: bool| {
        runs.iter()
            .map(|run| &points[run.combination])
            .filter(move |point| point.kernel.is_some() == in_lab)
    };
    let span = |ns: i64| report::span(Nanos(ns), Language::English);
    let measured =
        |in_lab: bool| of(in_lab).fold(0_i64, |sum, point| sum.saturating_add(point.expected_ns()));
    let mut parts = Vec::new();
    if of(false).next().is_some() {
        parts.push(format!(
            "{} of measuring on this machine, and some tenths of a second between two runs",
            span(measured(false))
        ));
    }
    if of(true).next().is_some() {
        let at_once = i64::try_from(guests_at_once(jobs, of(true).filter_map(|point| point.time)))
            .unwrap_or(1);
        let (min, max) = of(true).map(guest_ns).fold((0_i64, 0_i64), |sum, one| {
            (sum.0.saturating_add(one.0), sum.1.saturating_add(one.1))
        });
        parts.push(format!(
            "{} of time in guests of the lab, which take about {} to {} on this machine's clock, \
             {at_once} at once: each boots first, and a load makes its time slow",
            span(measured(true)),
            span(rounded(min / at_once, 0)),
            span(rounded(max / at_once, 1))
        ));
    }
    if points.iter().any(PlanEntry::settles) {
        parts.push(
            "and in each run under load some seconds at first, until it has settled".to_owned(),
        );
    }
    parts.join("; ")
}

/// The least and the most that a guest may take, ns.
fn guest_ns(point: &PlanEntry) -> (i64, i64) {
    let measured = point.expected_ns();
    let (min, max) = if point.time == Some(GuestTime::Host) { (1, 1) } else { TIMES };
    (
        BOOT_NS.0.saturating_add(measured.saturating_mul(min)),
        BOOT_NS.1.saturating_add(measured.saturating_mul(max)),
    )
}

/// A guess has one digit, at most two: whole seconds up to 20, then tens of them, then whole
/// minutes; so many units are added to what is cut off.
fn rounded(ns: i64, up: i64) -> i64 {
    let unit = match ns / SECOND {
        ..20 => SECOND,
        20..120 => 10 * SECOND,
        _ => 60 * SECOND,
    };
    (ns / unit + up) * unit
}

#[cfg(test)]
mod tests {
    use super::super::settings::points;
    use super::*;
    use plan::{CpuId, Plan, ProcessCpus};
    use std::path::Path;

    fn length_of(toml: &str) -> String {
        let plan = Plan::read(Path::new("plan.toml"), &mut |_| Ok(toml.to_owned())).unwrap();
        let points = points(
            &plan,
            &ProcessCpus {
                inherited: vec![CpuId(0)],
                usable: vec![CpuId(0)],
                ..ProcessCpus::default()
            },
        )
        .unwrap();
        text(&points, &plan.order.runs(points.len(), 0), Some(2))
    }

    /// 4.8 s of guests' time were seen to take 143 s on a machine of two cores.
    #[test]
    fn guests_take_as_long_as_they_took() {
        let lab = "[measure]\nkernel = 'debian:amd64'\nsamples = 600\ninterval = '1ms'\nwarmup = \
                   '0s'\n[order]\nrepeat = 8\n";
        assert_eq!(
            length_of(lab),
            "4.8 s of time in guests of the lab, which take about 20 s to 3 min on this machine's \
             clock, 2 at once: each boots first, and a load makes its time slow"
        );
        let host = lab.replace("samples", "time = 'host'\nsamples");
        // (8 x 30 s + 4.8 s) / 2.
        assert!(length_of(&host).contains("about 20 s to 3 min"), "{}", length_of(&host));
    }

    #[test]
    fn runs_on_this_machine_take_as_long_as_they_measure() {
        let output =
            length_of("[measure]\nduration = '10s'\nwarmup = '0s'\n[vary]\nprio = [1, 2]\n");
        assert_eq!(
            output,
            "20 s of measuring on this machine, and some tenths of a second between two runs"
        );
    }

    /// How long a load takes to settle nobody knows before.
    #[test]
    fn settling_is_said_where_loads_settle() {
        let plan = "[measure]\nduration = '10s'\nload = 'cpu@50%'\n";
        assert!(
            length_of(plan).ends_with("under load some seconds at first, until it has settled"),
            "{}",
            length_of(plan)
        );
        assert!(!length_of(&format!("{plan}settle = '0'\n")).contains("settled"));
    }

    /// Beside a load that has settled, for a fixed time too, threads warm up for 500 ms more.
    #[test]
    fn the_longer_warm_up_beside_loads_is_counted() {
        let plan = "[measure]\nduration = '1s'\nwarmup = '0s'\nload = 'cpu@50%'\nsettle";
        assert!(length_of(&format!("{plan} = '1s'\n")).starts_with("1.5 s of measuring"));
        assert!(length_of(&format!("{plan} = '0'\n")).starts_with("1 s of measuring"));
    }
}

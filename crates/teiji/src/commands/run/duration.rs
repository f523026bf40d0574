// SPDX-License-Identifier: MIT OR Apache-2.0
//! How long a plan takes, before anything of it has run: exactly what it measures, and for guests
//! of the lab a range, because an emulated second takes as long as its instructions, which are few
//! where a guest idles and many under a load.

use super::plan_entry::PlanEntry;
use crate::commands::lab::{guests_at_once, range};
use lab::Slowdown;
use plan::{GuestTime, Nanos, PlannedRun};
use report::Language;
use std::time::Duration;

/// `20 s of measuring on this machine ...; 54.1 min in guests of the lab, here about 1 to 3 h:
/// ...`.
///
/// How much slower the machine is than an idle one with so many guests is asked of `slowdown`.
pub fn text(
    points: &[PlanEntry],
    runs: &[PlannedRun],
    jobs: Option<u32>,
    slowdown: fn(usize) -> Slowdown,
) -> String {
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
        let jobs = guests_at_once(jobs, of(true).filter_map(|point| point.time));
        let slowdown = slowdown(jobs);
        let at_once = u32::try_from(jobs.max(1)).unwrap_or(u32::MAX);
        // What is not known before is the kernel's to decide, as whose time the guest has.
        let virtual_time = GuestTime::Virtual { shift: 0 };
        let guess = |point: &PlanEntry| {
            slowdown.guess(point.time.unwrap_or(virtual_time), Nanos(point.expected_ns()))
        };
        let (least, most) =
            of(true).map(guess).fold((Duration::ZERO, Duration::ZERO), |sum, one| {
                (sum.0.saturating_add(one.0), sum.1.saturating_add(one.1))
            });
        parts.push(format!(
            "{} of time in guests of the lab, which take about {} on this machine's clock, \
             {at_once} at once: each boots first, and a load makes its time slow",
            span(measured(true)),
            range((least / at_once, most / at_once)),
        ));
    }
    if points.iter().any(PlanEntry::settles) {
        parts.push(
            "and in each run under load some seconds at first, until it has settled".to_owned(),
        );
    }
    parts.join("; ")
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
        text(&points, &plan.order.runs(points.len(), 0), Some(2), |_| Slowdown::NONE)
    }

    /// 4.8 s of guests' time were seen to take 143 s on a machine of two cores.
    #[test]
    fn guests_take_as_long_as_they_took() {
        let lab = "[measure]\nkernel = 'debian:amd64'\nsamples = 600\ninterval = '1ms'\nwarmup = \
                   '0s'\n[order]\nrepeat = 8\n";
        assert_eq!(
            length_of(lab),
            "4.8 s of time in guests of the lab, which take about 6 s to 3 min on this machine's \
             clock, 2 at once: each boots first, and a load makes its time slow"
        );
        let host = lab.replace("samples", "time = 'host'\nsamples");
        // (8 x 30 s + 4.8 s) / 2.
        assert!(length_of(&host).contains("about 6 s to 3 min"), "{}", length_of(&host));
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

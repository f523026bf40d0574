// SPDX-License-Identifier: MIT OR Apache-2.0
//! How long guests take, said before they begin.

use lab::{Expected, GuestCommand, LabRun, Slowdown, Target};
use model::Recorded;
use plan::Nanos;
use report::Language;
use std::path::PathBuf;
use std::time::Duration;

/// How long these runs take, so many at once, by the last of their kind on this machine.
pub fn how_long(runs: &[LabRun], jobs: usize) -> String {
    let slowdown = Slowdown::now(jobs);
    let known: Vec<Option<Expected>> =
        runs.iter().map(|run| lab::expected(run, slowdown)).collect();
    let unknown = known.iter().filter(|known| known.is_none()).count();
    let guess = |run: &LabRun| slowdown.guess(run.target.guest.time, run.run.expected_ns());
    let each: Vec<Expected> =
        runs.iter().zip(known).map(|(run, known)| known.unwrap_or_else(|| guess(run))).collect();
    let boots = lab::expected_of_boots(runs.iter().map(|run| &run.target), slowdown);
    about(&boots, &each, unknown, slowdown, jobs)
}

/// The same of programs in a guest.
pub fn how_long_commands(target: &Target, commands: &[GuestCommand]) -> String {
    let Some(time) = lab::expected_of_commands(target, commands) else {
        return "How long this takes is not known: these commands have not run in such a guest\n\
                on this machine."
            .to_owned();
    };
    let slowdown = Slowdown::now(1);
    let boots = lab::expected_of_boots(std::iter::once(target), slowdown);
    about(&boots, &[time], 0, slowdown, 1)
}

/// How long a recorded run took, if it says so, and takes when it is made again.
pub fn how_long_again(recorded: &Recorded, target: &Target) -> Option<(String, Expected)> {
    let facts = recorded.document.lab.as_ref().filter(|facts| facts.host_ms > 0)?;
    let took = Duration::from_millis(facts.host_ms);
    let again = LabRun::again(recorded, facts, target.clone(), PathBuf::new());
    let span = report::span(Nanos::from(took), Language::English);
    Some((span, lab::expected_again(&again, took)))
}

/// How long these take after guests have booted for so long, so many at once.
fn about(
    boots: &[Option<Expected>],
    each: &[Expected],
    unknown: usize,
    slowdown: Slowdown,
    jobs: usize,
) -> String {
    let booted: Vec<Expected> =
        boots.iter().map(|boot| boot.unwrap_or_else(|| slowdown.guess_of_boot())).collect();
    let (boot, then) = (together(&booted, jobs), together(each, jobs));
    let sum = (boot.0.saturating_add(then.0), boot.1.saturating_add(then.1));
    let time = range(sum);
    if unknown > 0 {
        let (of, verb) = if unknown == 1 {
            ("1 run".to_owned(), "is")
        } else {
            (format!("{unknown} runs"), "are")
        };
        return format!(
            "About {time}. That is a guess: {of} {verb} the first of that\nkernel and load on this \
             machine."
        );
    }
    if boots.contains(&None) {
        return format!(
            "About {time}. That is a guess: a guest boots first, and none of its\nkind has on this \
             machine."
        );
    }
    let to_boot = if boots.is_empty() {
        " ".to_owned()
    } else {
        format!(" {} of it to boot first,\n", range(boot))
    };
    format!("About {time},{to_boot}as the last runs of this kind took on this machine.")
}

/// `13 s to 70 s`.
pub fn range((least, most): Expected) -> String {
    let span = |ns: i64| report::span(Nanos(ns), Language::English);
    let (least, most) = (Nanos::from(least).0, Nanos::from(most).0);
    format!("{} to {}", span(rounded(least, 0).max(SECOND)), span(rounded(most, 1)))
}

const SECOND: i64 = 1_000_000_000;

/// A guess has one digit, at most two: whole seconds up to 20, then tens of them, then whole
/// minutes; so many units are added to what is cut off.
fn rounded(ns: i64, up: i64) -> i64 {
    let unit = match ns / SECOND {
        ..20 => SECOND,
        20..120 => 10 * SECOND,
        _ => 60 * SECOND,
    };
    (ns / unit).saturating_add(up).saturating_mul(unit)
}

/// At least and at most how long these take, so many at once.
fn together(each: &[Expected], jobs: usize) -> Expected {
    let jobs = u32::try_from(jobs.max(1)).unwrap_or(u32::MAX);
    let rounds = u32::try_from(each.len()).unwrap_or(u32::MAX).div_ceil(jobs);
    let largest = |of: fn(&Expected) -> Duration| each.iter().map(of).max();
    let sum = |of: fn(&Expected) -> Duration| {
        each.iter().map(of).fold(Duration::ZERO, Duration::saturating_add)
    };
    let shared = sum(|(least, _)| *least) / jobs;
    let least = shared.max(largest(|(least, _)| *least).unwrap_or_default());
    let most = largest(|(_, most)| *most).unwrap_or_default().saturating_mul(rounds);
    (least, most.min(sum(|(_, most)| *most)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds((least, most): (u64, u64)) -> Expected {
        (Duration::from_secs(least), Duration::from_secs(most))
    }

    #[test]
    fn what_has_to_boot_first_takes_longer() {
        let as_then = "as the last runs of this kind took on this machine.";
        let about = |boots: &[Option<(u64, u64)>], each: &[(u64, u64)], unknown| {
            let boots: Vec<Option<Expected>> = boots.iter().map(|boot| boot.map(seconds)).collect();
            let each: Vec<Expected> = each.iter().copied().map(seconds).collect();
            about(&boots, &each, unknown, Slowdown::NONE, 1)
        };
        assert_eq!(about(&[], &[(1, 1)], 0), format!("About 1 s to 2 s, {as_then}"));
        assert_eq!(
            about(&[Some((26, 40))], &[(1, 1)], 0),
            format!("About 20 s to 50 s, 20 s to 50 s of it to boot first,\n{as_then}")
        );
        assert_eq!(
            about(&[Some((10, 10)), Some((20, 20))], &[(2, 4), (2, 4)], 0),
            format!("About 30 s to 40 s, 30 s to 40 s of it to boot first,\n{as_then}")
        );
        for text in [
            about(&[None], &[(1, 1)], 0),
            about(&[], &[(7_000, 70_000), (1, 1)], 1),
            about(&[None], &[(7_000, 70_000), (1, 1)], 1_000),
        ] {
            assert!(text.contains("That is a guess: "), "{text}");
            assert!(text.lines().all(|line| line.len() <= 80), "{text}");
        }
    }

    #[test]
    fn a_range_is_wider_than_what_is_known() {
        let range = |least, most| range(seconds((least, most)));
        assert_eq!(range(0, 0), "1 s to 1 s");
        assert_eq!(range(13, 67), "13 s to 70 s");
        assert_eq!(range(425, 700), "7 min to 12 min");
    }

    #[test]
    fn guests_share_the_machine() {
        let together = |each: &[(u64, u64)], jobs| {
            let each: Vec<Expected> = each.iter().copied().map(seconds).collect();
            let (least, most) = together(&each, jobs);
            (least.as_secs(), most.as_secs())
        };
        assert_eq!(together(&[(6, 10)], 2), (6, 10), "one is not shared");
        assert_eq!(together(&[(6, 10), (2, 4)], 1), (8, 14));
        assert_eq!(together(&[(6, 10), (2, 4), (2, 4)], 2), (6, 18));
        assert_eq!(together(&[(6, 10), (6, 10), (6, 10), (6, 10)], 2), (12, 20));
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! Limits against latencies that are known.

use super::*;
use crate::synthetic::Synthetic;
use stats::{AfterOverrun, Span, analyse};

/// So many latencies between 10 and 20 µs, evenly, in an order without any; the last few otherwise.
fn latencies(count: usize, last: &[i32]) -> Vec<i32> {
    let even = (0..count - last.len()).map(|n| 10_000 + i32::try_from(n * 7_919 % 10_000).unwrap());
    let mut all: Vec<i32> = even.collect();
    // What is late is spread over the run.
    for (place, late) in last.iter().enumerate() {
        let at = (place * 2 + 1) * all.len() / (2 * last.len());
        all.insert(at, *late);
    }
    all
}

fn examined(latencies: &[i32]) -> Examined {
    let recorded = Synthetic::idle().threads(1).samples(latencies).build();
    let Ok(analysis) = analyse(&[Span::Woken(latencies)][..], 1_000_000, AfterOverrun::Skip, 64);
    Examined { recorded, analyses: vec![analysis] }
}

fn judged(limit: &str, examined: &Examined) -> Judged {
    judge(&limit.parse().unwrap(), examined)
}

#[test]
fn what_was_seen() {
    let examined = examined(&latencies(20_000, &[80_000]));
    let (max, beyond) = (judged("max<100us", &examined), judged("max<80us", &examined));
    assert_eq!((max.verdict, max.seen.as_str(), max.margin), (Verdict::Pass, "80.000 µs", Some(0.2)));
    assert_eq!((beyond.verdict, beyond.margin), (Verdict::Fail, Some(0.0)), "a limit is not below itself");
    assert_eq!(judged("max<=80us", &examined).verdict, Verdict::Pass);
    assert_eq!(judged("p99<20us", &examined).verdict, Verdict::Pass);
    let too_few = judged("p99.999<20us", &examined);
    assert_eq!((too_few.verdict, too_few.lacking.as_deref()), (Verdict::NotEnough, Some("a p99.999 takes 100,000")));
    assert_eq!(judged("skipped==0", &examined).verdict, Verdict::Pass);
    assert_eq!(judged("late<1", &examined).verdict, Verdict::Pass);
}

#[test]
fn how_sure_it_is() {
    let examined = examined(&latencies(20_000, &[80_000, 81_000, 82_000]));
    // The true p99 is 19.9 µs.
    assert_eq!(judged("p99<20us@95%", &examined).verdict, Verdict::Pass);
    assert_eq!(judged("p99<19us@95%", &examined).verdict, Verdict::Fail);
    let close = judged("p99<19.9us@95%", &examined);
    assert!(close.verdict == Verdict::NotEnough && close.lacking.is_some(), "{close:?}");
    // 3 of 20,000 are beyond.
    assert_eq!(judged("rate(>50us)<1e-3@95%", &examined).verdict, Verdict::Pass);
    assert_eq!(judged("rate(>50us)<1e-5@95%", &examined).verdict, Verdict::Fail);
    assert_eq!(judged("rate(>50us)<2e-4@95%", &examined).verdict, Verdict::NotEnough);
    let none = judged("rate(>1ms)<1e-6@95%", &examined);
    assert_eq!(none.lacking.as_deref(), Some("it takes 2,975,731 more activations without one beyond"), "{none:?}");
    // As long a run as `teiji plan-length` names, and not one activation less.
    assert_eq!(stats::samples_for_rate(1e-3, 0.95), 2_995);
    assert_eq!(judged("rate(>1ms)<1e-3@95%", &self::examined(&latencies(2_995, &[]))).verdict, Verdict::Pass);
    assert_eq!(judged("rate(>1ms)<1e-3@95%", &self::examined(&latencies(2_994, &[]))).verdict, Verdict::NotEnough);
}

#[test]
fn what_spoils_a_run_spoils_what_passes_and_not_what_fails() {
    let mut examined = examined(&latencies(20_000, &[80_000]));
    examined.recorded.document.state = State::Stopped;
    let passes = judged("max<100us", &examined);
    assert_eq!(passes.verdict, Verdict::NotEnough);
    assert!(passes.lacking.unwrap().starts_with("the run ended early"));
    assert_eq!(judged("max<70us", &examined).verdict, Verdict::Fail);
    examined.recorded.document.state = State::Complete;
    examined.recorded.document.threads[0].proof.samples_lost = 2;
    assert_eq!(judged("max<100us", &examined).verdict, Verdict::NotEnough);
    assert_eq!(judged("lost==0", &examined).verdict, Verdict::Fail);
    assert_eq!(judged("lost<3", &examined).verdict, Verdict::Pass);
}

#[test]
fn worse_than_before() {
    let (base, same) = (examined(&latencies(20_000, &[])), examined(&latencies(20_000, &[])));
    let slower: Vec<i32> = latencies(20_000, &[]).into_iter().map(|latency| latency * 5 / 4).collect();
    let mut gate = Gate::default();
    gate.against(&base, 0.1, &[same]).unwrap();
    assert!(gate.judged.len() == 4 && gate.verdict() == Verdict::Pass, "{gate:?}");
    let mut gate = Gate::default();
    gate.against(&base, 0.1, &[examined(&slower)]).unwrap();
    assert!(gate.judged.iter().all(|judged| judged.verdict == Verdict::Fail), "{gate:?}");
    let mut other = examined(&slower);
    other.recorded.document.run.interval_ns = Nanos(5_000);
    assert!(Gate::default().against(&base, 0.1, &[other]).unwrap_err().contains("their intervals differ"));
}

#[test]
fn every_form_says_the_same() {
    let mut examined = examined(&latencies(20_000, &[80_000]));
    examined.recorded.path = "a<&\"b\u{7}.teiji".into();
    let limits: Vec<Limit> = ["max<100us", "max<50us", "rate(>1ms)<1e-9@95%"].map(|text| text.parse().unwrap()).to_vec();
    let gate = Gate::of(&limits, &[examined]);
    assert_eq!(gate.verdict(), Verdict::Fail);
    let verdicts: Vec<&str> = gate.judged.iter().map(|judged| judged.verdict.name()).collect();
    assert_eq!(verdicts, ["pass", "fail", "not enough evidence"]);
    let (junit, tap, text, json) = (gate.junit(), gate.tap(), gate.text(), gate.json());
    assert!(
        junit.contains("tests=\"3\" failures=\"1\" errors=\"1\"") && junit.contains("classname=\"a&lt;&amp;&quot;b .teiji\""),
        "{junit}"
    );
    assert!(tap.starts_with("TAP version 13\n1..3\nok 1 - max<100us in ") && tap.contains("\nnot ok 3 - "), "{tap}");
    assert!(text.starts_with("FAIL: 1 of 3 limits; 1 without enough evidence\n") && !text.contains('\u{7}'), "{text}");
    assert_eq!((&json["verdict"], &json["limits"][2]["verdict"]), (&"fail".into(), &"not enough evidence".into()));
}

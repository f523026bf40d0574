// SPDX-License-Identifier: MIT OR Apache-2.0
//! Limits against latencies that are known.

use super::words::{lacking, seen};
use super::*;
use crate::format;
use crate::language::{Language, in_language};
use crate::synthetic::{Synthetic, lose_samples};
use judge::{LimitSources, Verdict, judge};
use model::{Beside, Column, State};
use plan::Nanos;
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
    examined_for(latencies, &[])
}

/// The same, as a gate examines it for these limits.
fn examined_for(latencies: &[i32], limits: &[&str]) -> Examined {
    let limits: Vec<Limit> = limits.iter().map(|text| text.parse().unwrap()).collect();
    let exact = Limit::exact_request(&limits);
    let recorded = Synthetic::idle().threads(1).samples(latencies).build();
    let Ok(analysis) =
        analyse(&[Span::Woken(latencies)][..], 1_000_000, AfterOverrun::Skip, 64, &exact);
    Examined { recorded, analyses: vec![analysis], pool: None }
}

/// A judgement in words.
#[derive(Debug)]
struct Judgement {
    verdict: Verdict,
    seen: String,
    margin: Option<f64>,
    lacking: Option<String>,
}

fn judged(limit: &str, examined: &Examined) -> Judgement {
    let judged = judge(&limit.parse().unwrap(), examined);
    let lacking =
        judged.lacking.map(|why| lacking(why, judged.rows.into()).unwrap_or_else(|| seen(&judged)));
    Judgement { verdict: judged.verdict, seen: seen(&judged), margin: judged.margin, lacking }
}

/// Intervals that differ from 1 ms by these, as a gate examines them.
fn intervals(jitter: &[i32]) -> Examined {
    let mut recorded = Synthetic::idle().threads(1).samples(jitter).build();
    recorded.document.probe.quantity = model::Quantity::Jitter;
    recorded.document.probe.period_ns = Some(Nanos(1_000_000));
    let rows = [Span::Woken(jitter)];
    let Ok(analysis) = analyse(
        &stats::Sizes(&rows[..]),
        1_000_000,
        AfterOverrun::Skip,
        64,
        &stats::ExactRequest::default(),
    );
    Examined { recorded, analyses: vec![analysis], pool: None }
}

#[test]
fn an_interval_that_is_too_short_breaks_a_limit() {
    let jitter: Vec<i32> = latencies(2_000, &[])
        .iter()
        .enumerate()
        .map(|(n, ns)| if n % 2 == 0 { *ns } else { -ns })
        .collect();
    let mut short = jitter.clone();
    short[77] = -400_000;
    let (even, short) = (intervals(&jitter), intervals(&short));
    let max = judged("max<100us", &short);
    assert_eq!((max.verdict, max.seen.as_str()), (Verdict::Fail, "|jitter| 400.000 µs"));
    assert_eq!(judged("max<100us", &even).verdict, Verdict::Pass);
    // Half of the intervals are 10 to 20 µs too short: a limit that took them with their sign would
    // hold.
    let median = judged("p50<5us", &even);
    assert_eq!((median.verdict, &median.seen[..11]), (Verdict::Fail, "|jitter| 14"));
    assert_eq!(judged("mean<1us", &even).verdict, Verdict::Fail);
    let rate = judged("rate(>100us)<1e-6@95%", &short);
    assert!(rate.seen.starts_with("|jitter| 1 of 2,000 above 100us"), "{}", rate.seen);
}

#[test]
fn how_much_intervals_vary_is_judged_with_their_sign() {
    let three = intervals(&[-300, 0, 300]);
    let seen = |limit: &str| (judged(limit, &three).verdict, judged(limit, &three).seen);
    assert_eq!(seen("sd<0.3us"), (Verdict::Fail, "0.300 µs".to_owned()));
    assert_eq!(seen("sd<=0.3us"), (Verdict::Pass, "0.300 µs".to_owned()));
    assert_eq!(seen("peak-to-peak<601ns"), (Verdict::Pass, "0.600 µs".to_owned()));
    assert_eq!(seen("peak-to-peak<600ns"), (Verdict::Fail, "0.600 µs".to_owned()));
    // Of latencies too, and of the thread that varies most.
    let latencies = examined(&[1_000, 2_000, 9_000]);
    assert_eq!(judged("peak-to-peak<9us", &latencies).seen, "8.000 µs");
    assert_eq!(judged("sd<9us", &latencies).seen, "4.359 µs");
    let one = judged("sd<9us", &intervals(&[5]));
    assert_eq!(
        (one.verdict, one.lacking.as_deref()),
        (Verdict::NotEnough, Some("1 activation: too few"))
    );
    let nothing = judged("peak-to-peak<9us", &intervals(&[]));
    assert_eq!(
        (nothing.verdict, nothing.seen.as_str()),
        (Verdict::NotEnough, "thread 0 measured nothing")
    );
}

/// Columns beside the judged one: two threads whose jobs were done after these times, and which
/// missed so many periods.
fn with_columns(done: [&[i32]; 2], missed: [&[i32]; 2]) -> Examined {
    let mut examined = examined(&[1_000, 2_000]);
    let recorded = &mut examined.recorded;
    *recorded = Synthetic::idle().threads(2).samples(&[1_000, 2_000]).build();
    recorded.document.probe.columns.extend([
        Column::ns("done_ns", "of the job"),
        Column::count(Column::MISSED, "periods"),
        Column::count(Column::ON_CPU, "of the job"),
    ]);
    let of = |values: &[i32]| {
        let rule = AfterOverrun::Unknown;
        let Ok(statistics) = stats::summarise(&[Span::Woken(values)][..], 1_000_000, rule, 2);
        statistics
    };
    let beside = done.into_iter().zip(missed).map(|(done, missed)| Beside {
        columns: vec![of(done), of(missed), of(&[1, 1])],
        worst_times_ns: Vec::new(),
    });
    recorded.beside = beside.collect();
    let threads = recorded.document.threads.iter_mut().zip(&recorded.threads);
    for ((thread, judged), beside) in threads.zip(&recorded.beside) {
        model::fill_in(thread, &recorded.document.probe, judged, beside);
    }
    examined.analyses.push(examined.analyses[0].clone());
    examined
}

#[test]
fn columns_are_limited_by_their_names() {
    let of = with_columns([&[5_000, 7_000], &[9_000, 1_000]], [&[0, 2], &[1, 0]]);
    let found = |limit: &str| {
        let judgement = judged(limit, &of);
        (judgement.verdict, judgement.seen)
    };
    assert_eq!(found("done<9us"), (Verdict::Fail, "9.000 µs on thread 1".to_owned()));
    assert_eq!(found("done_latency<=9us"), (Verdict::Pass, "9.000 µs on thread 1".to_owned()));
    assert_eq!(found("missed==0"), (Verdict::Fail, "3 in 4 activations".to_owned()));
    assert_eq!(found("missed<=3"), (Verdict::Pass, "3 in 4 activations".to_owned()));
    // The judged column goes by its name too.
    assert_eq!(found("latency<3us"), found("max<3us"));
    for (limit, why) in [
        ("on_cpu==0", "its probe has no column of this name to limit"),
        ("nosuch<5us", "its probe has no column of this name to limit"),
        ("done==0", "a time is limited by a time, and a number by a number"),
        ("missed<5us", "a time is limited by a time, and a number by a number"),
    ] {
        let judgement = judged(limit, &of);
        assert_eq!(
            (judgement.verdict, judgement.seen.as_str(), judgement.lacking.as_deref()),
            (Verdict::NotEnough, "not known", Some(why)),
            "{limit}"
        );
    }
}

/// That none was missed says something only where it is known when there should have been one.
#[test]
fn what_was_missed_is_not_known_without_a_period() {
    let of = |missed: [&[i32]; 2], periodic_rows: Option<u64>| {
        let mut of = with_columns([&[5_000, 7_000], &[9_000, 1_000]], missed);
        for thread in &mut of.recorded.document.threads {
            thread.evidence.periodic_rows = periodic_rows;
        }
        let judgement = judged("missed==0", &of);
        (judgement.verdict, judgement.seen, judgement.lacking)
    };
    let none: [&[i32]; 2] = [&[0, 0], &[0, 0]];
    let why = "no period of the program was found, so what it missed is unknown";
    let lacking = (Verdict::NotEnough, "not known".to_owned(), Some(why.to_owned()));
    assert_eq!(of(none, Some(0)), lacking);
    let pass = (Verdict::Pass, "0 in 4 activations".to_owned(), None);
    assert_eq!(of(none, Some(1)), pass);
    assert_eq!(of(none, None), pass, "a probe that is told the period");
    // What was seen to be missed was missed.
    let fail = (Verdict::Fail, "1 in 4 activations".to_owned(), None);
    assert_eq!(of([&[0, 1], &[0, 0]], Some(0)), fail);
}

/// One thread with a period says nothing of another one, which may be the loop.
#[test]
fn what_was_missed_is_not_known_where_a_thread_has_no_period() {
    let of = |missed: [&[i32]; 2], rows: u64, threads: u64| {
        let mut of = with_columns([&[5_000, 7_000], &[9_000, 1_000]], missed);
        for thread in &mut of.recorded.document.threads {
            thread.evidence.periodic_rows = Some(1_000);
        }
        let without_period = Some(model::WithoutPeriod { rows, threads });
        of.recorded.document.threads[0].evidence.without_period = without_period;
        let judgement = judged("missed==0", &of);
        (judgement.verdict, judgement.seen, judgement.lacking)
    };
    let none: [&[i32]; 2] = [&[0, 0], &[0, 0]];
    let why = "no period was found for 1,200 wake-ups by timers of 2 threads, so what they missed \
               is unknown";
    let lacking = (Verdict::NotEnough, "not known".to_owned(), Some(why.to_owned()));
    assert_eq!(of(none, 1_200, 2), lacking);
    assert_eq!(of(none, 0, 0), (Verdict::Pass, "0 in 4 activations".to_owned(), None));
    let fail = (Verdict::Fail, "1 in 4 activations".to_owned(), None);
    assert_eq!(of([&[0, 1], &[0, 0]], 1_200, 2), fail);
}

/// A row that never ran has no time that could be judged, unless that time shows how late rows
/// were.
#[test]
fn a_column_of_skipped_rows_is_not_known() {
    let mut of = with_columns([&[5_000, 7_000], &[9_000, 1_000]], [&[0, 2], &[1, 0]]);
    of.analyses[0].statistics.activations.skipped = 2;
    let lacking = |of: &Examined, limit: &str| judged(limit, of).lacking;
    let why = Some("2 skipped, which have no value to be judged".to_owned());
    assert_eq!((lacking(&of, "done<1ms"), lacking(&of, "missed<9")), (why.clone(), None));
    of.recorded.document.probe.overrun_column = Some(1);
    assert_ne!(lacking(&of, "done<1ms"), why);
}

/// Of columns without samples nothing is known.
#[test]
fn a_column_without_samples_is_not_known() {
    let mut of = with_columns([&[5_000, 7_000], &[9_000, 1_000]], [&[0, 2], &[1, 0]]);
    for thread in &mut of.recorded.document.threads {
        thread.detail = model::Detail::Histogram;
    }
    of.recorded.beside = vec![Beside::default(), Beside::default()];
    for limit in ["done<1ms", "missed==0"] {
        let judgement = judged(limit, &of);
        assert_eq!((judgement.verdict, judgement.seen.as_str()), (Verdict::NotEnough, "not known"));
        assert!(judgement.lacking.unwrap().starts_with("the recording holds no samples"));
    }
    let mut lost = with_columns([&[5_000], &[1_000]], [&[0], &[0]]);
    lose_samples(&mut lost.recorded.document.threads[0], 1);
    assert_eq!(judged("missed==0", &lost).verdict, Verdict::NotEnough);
}

/// The curve says of a limit what a gate says: both count an interval that is too short.
#[test]
fn the_exceedance_of_jitter_is_of_both_sides() {
    let mut short: Vec<i32> = (0..1_000).map(|n| n * 7_919 % 1_000 - 500).collect();
    short[77] = -400_000;
    let examined = intervals(&short);
    let overviews = Overview::all(std::slice::from_ref(&examined.recorded));
    let charts =
        crate::charts::series::Charts::new(&overviews, &crate::ChartOptions::default(), 1_000);
    let curve = &charts.recordings[0].curve.exceedance;
    assert_eq!((curve.at_least.first(), curve.latency_ns.last()), (Some(&1_000), Some(&400_000)));
    let svg =
        crate::charts::draw(crate::charts::definition::Chart::Exceedance, &charts, &overviews);
    assert!(
        svg.contains("Exceedance of |jitter|")
            && svg.contains("the worst at 400 µs")
            && !svg.contains("NaN"),
        "{svg}"
    );
    assert_eq!(judged("max<100us", &examined).seen, "|jitter| 400.000 µs");
}

/// Without samples the smallest value and the spread are not known.
#[test]
fn a_histogram_does_not_show_how_much_values_vary() {
    let mut examined = examined(&latencies(2_000, &[]));
    examined.recorded.document.threads[0].detail = model::Detail::Histogram;
    for limit in ["sd<1s", "peak-to-peak<1s"] {
        let judged = judged(limit, &examined);
        assert_eq!(
            (judged.verdict, judged.seen.as_str()),
            (Verdict::NotEnough, "not known"),
            "{limit}"
        );
    }
}

#[test]
fn what_was_seen() {
    let examined = examined(&latencies(20_000, &[80_000]));
    let (max, beyond) = (judged("max<100us", &examined), judged("max<80us", &examined));
    assert_eq!(
        (max.verdict, max.seen.as_str(), max.margin),
        (Verdict::Pass, "80.000 µs", Some(0.2))
    );
    assert_eq!(
        (beyond.verdict, beyond.margin),
        (Verdict::Fail, Some(0.0)),
        "a limit is not below itself"
    );
    assert_eq!(judged("max<=80us", &examined).verdict, Verdict::Pass);
    assert_eq!(judged("p99<20us", &examined).verdict, Verdict::Pass);
    let too_few = judged("p99.999<20us", &examined);
    assert_eq!(
        (too_few.verdict, too_few.lacking.as_deref()),
        (Verdict::NotEnough, Some("p99.999 needs 100,000"))
    );
    assert_eq!(judged("skipped==0", &examined).verdict, Verdict::Pass);
    assert_eq!(judged("late<1", &examined).verdict, Verdict::Pass);
}

#[test]
fn how_sure_it_is() {
    let examined = examined(&latencies(20_000, &[80_000, 81_000, 82_000]));
    // The true p99 is 19.9 µs.
    assert_eq!(judged("p99<20us@95%", &examined).verdict, Verdict::Pass);
    assert_eq!(judged("p99<19us@95%", &examined).verdict, Verdict::Fail);
    let close = judged("p99<19.91us@95%", &examined);
    assert!(close.verdict == Verdict::NotEnough && close.lacking.is_some(), "{close:?}");
    // 3 of 20,000 are beyond.
    assert_eq!(judged("rate(>50us)<1e-3@95%", &examined).verdict, Verdict::Pass);
    assert_eq!(judged("rate(>50us)<1e-5@95%", &examined).verdict, Verdict::Fail);
    assert_eq!(judged("rate(>50us)<2e-4@95%", &examined).verdict, Verdict::NotEnough);
    let none = judged("rate(>1ms)<1e-6@95%", &examined);
    assert_eq!(
        none.lacking.as_deref(),
        Some("needs 2,975,731 more activations, none above the limit"),
        "{none:?}"
    );
    // As long a run as `teiji plan-length` names, and not one activation less.
    assert_eq!(stats::samples_for_rate(1e-3, 0.95), 2_995);
    assert_eq!(
        judged("rate(>1ms)<1e-3@95%", &self::examined(&latencies(2_995, &[]))).verdict,
        Verdict::Pass
    );
    assert_eq!(
        judged("rate(>1ms)<1e-3@95%", &self::examined(&latencies(2_994, &[]))).verdict,
        Verdict::NotEnough
    );
}

#[test]
fn caveats_of_a_run_weaken_a_pass_and_not_a_failure() {
    let mut examined = examined(&latencies(20_000, &[80_000]));
    examined.recorded.document.state = State::Stopped;
    let passes = judged("max<100us", &examined);
    assert_eq!(passes.verdict, Verdict::NotEnough);
    assert!(passes.lacking.unwrap().starts_with("the run ended early"));
    assert_eq!(judged("max<70us", &examined).verdict, Verdict::Fail);
    examined.recorded.document.state = State::Complete;
    lose_samples(&mut examined.recorded.document.threads[0], 2);
    assert_eq!(judged("max<100us", &examined).verdict, Verdict::NotEnough);
    assert_eq!(judged("lost==0", &examined).verdict, Verdict::Fail);
    assert_eq!(judged("lost<3", &examined).verdict, Verdict::Pass);
}

#[test]
fn worse_than_before() {
    let (base, same) = (examined(&latencies(20_000, &[])), examined(&latencies(20_000, &[])));
    let slower: Vec<i32> =
        latencies(20_000, &[]).into_iter().map(|latency| latency * 5 / 4).collect();
    let mut gate = GateReport::default();
    gate.against(&base, 0.1, &[same], Language::English).unwrap();
    assert!(gate.gate.judged.len() == 4 && gate.gate.verdict() == Verdict::Pass, "{gate:?}");
    let mut gate = GateReport::default();
    gate.against(&base, 0.1, &[examined(&slower)], Language::English).unwrap();
    assert!(gate.gate.judged.iter().all(|judged| judged.verdict == Verdict::Fail), "{gate:?}");
    let mut other = examined(&slower);
    other.recorded.document.run.interval_ns = Nanos(5_000);
    // Each interval stands where its recording does.
    let refusal =
        GateReport::default().against(&base, 0.1, &[other], Language::English).unwrap_err();
    assert!(refusal.ends_with("their intervals differ (5us; 1ms)"), "{refusal}");
}

/// A bound just below the limit that was rounded up would read as above it, and pass.
#[test]
fn a_rate_is_shown_on_its_side_of_the_limit() {
    let examined = examined(&latencies(10_000, &[]));
    let words = |limit: &str| judged_in_words(&judge(&limit.parse().unwrap(), &examined));
    assert_eq!(
        words("rate(>1ms)<2.9955e-4@95%"),
        "0 of 10,000 above 1ms, rate at most 2.995e-4; less than 0.1 % below the limit"
    );
    let beyond = words("rate(>1ms)<2.995e-4@95%");
    assert!(
        beyond.starts_with(
            "0 of 10,000 above 1ms, rate at most 3.00e-4; less than 0.1 % above the limit;"
        ),
        "{beyond}"
    );
    assert_eq!(
        words("rate(>1ms)<1e-3@95%"),
        "0 of 10,000 above 1ms, rate at most 3.00e-4; 70 % below the limit"
    );
}

#[test]
fn every_form_says_the_same() {
    let mut examined = examined(&latencies(20_000, &[80_000]));
    examined.recorded.path = "a<&\"b\u{7}.teiji".into();
    let limits: Vec<Limit> =
        ["max<100us", "max<50us", "rate(>1ms)<1e-9@95%"].map(|text| text.parse().unwrap()).to_vec();
    let gate = GateReport::judge(&limits, &[examined]);
    assert_eq!(gate.gate.verdict(), Verdict::Fail);
    let verdicts: Vec<&str> = gate.gate.judged.iter().map(|judged| judged.verdict.name()).collect();
    assert_eq!(verdicts, ["pass", "fail", "not enough evidence"]);
    let (junit, tap, text, json) =
        (gate.junit(), gate.tap(), gate.text(Language::English), gate.json());
    assert!(
        junit.contains("tests=\"3\" failures=\"1\" errors=\"1\"")
            && junit.contains("classname=\"a&lt;&amp;&quot;b .teiji\""),
        "{junit}"
    );
    assert!(
        tap.starts_with("TAP version 13\n1..3\nok 1 - max<100us in ")
            && tap.contains("\nnot ok 3 - "),
        "{tap}"
    );
    assert!(
        text.starts_with("FAIL: 1 of 3 limits; 1 without enough evidence\n")
            && !text.contains('\u{7}'),
        "{text}"
    );
    assert_eq!(
        (&json["verdict"], &json["limits"][2]["verdict"]),
        (&"fail".into(), &"not enough evidence".into())
    );
}

/// One limit and four recordings were counted as four limits.
#[test]
fn of_several_recordings_those_that_fail_are_counted() {
    let named = |name: &str, late: i32| {
        let mut one = examined(&latencies(20_000, &[late]));
        one.recorded.path = name.into();
        one
    };
    let all = [named("a", 80_000), named("b", 20_000), named("c", 90_000), named("d", 20_000)];
    let limits =
        |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect::<Vec<Limit>>();
    let head = |limits: &[Limit], language| {
        GateReport::judge(limits, &all).text(language).lines().next().unwrap().to_owned()
    };
    let one = limits(&["max<50us"]);
    assert_eq!(head(&one, Language::English), "FAIL: 2 of 4 recordings, checked against 1 limit");
    assert_eq!(head(&one, Language::Japanese), "不合格: 記録 4 件(上限 1 件で判定)中 2 件");
    let two = limits(&["max<85us", "rate(>1ms)<1e-9@95%"]);
    let text = "FAIL: 1 of 4 recordings, checked against 2 limits; 3 without enough evidence";
    assert_eq!(head(&two, Language::English), text);
    assert_eq!(
        head(&limits(&["max<1ms"]), Language::English),
        "PASS: 4 recordings, checked against 1 limit"
    );
    let lacking = head(&limits(&["rate(>1ms)<1e-9@95%"]), Language::English);
    assert_eq!(lacking, "NOT ENOUGH EVIDENCE: 4 of 4 recordings, checked against 1 limit");
    let page = crate::page::limits::LimitsView::from_gate(&Gate::judge(&one, &all)).unwrap();
    assert_eq!(page.headline, "Fail: 2 of 4 recordings, checked against 1 limit");
}

/// Latencies above 262 µs have no counter each, and only the 4,096 largest are kept.
#[test]
fn a_quantile_of_long_latencies_is_one_that_was_observed() {
    let long: Vec<i32> = (0..20_000).map(|n| 300_000 + n * 7_919 % 199_901).collect();
    let limits =
        ["p50<401us", "p77.7<456us", "p77.7<455us", "rate(>441.237us)<0.9@95%", "p99.99<500us"];
    let examined = examined_for(&long, &limits);
    let mut sorted = long;
    sorted.sort_unstable();
    let p50 = judged("p50<401us", &examined);
    assert_eq!(
        (p50.verdict, p50.seen),
        (Verdict::Pass, format!("{} µs", format::exact_micros(i64::from(sorted[9_999]))))
    );
    assert_eq!(
        (judged("p77.7<456us", &examined).verdict, judged("p77.7<455us", &examined).verdict),
        (Verdict::Pass, Verdict::Fail)
    );
    assert_eq!(judged("p99.99<500us", &examined).verdict, Verdict::Pass);
    let beyond = sorted.iter().filter(|latency| **latency > 441_237).count() as u64;
    let rate = judged("rate(>441.237us)<0.9@95%", &examined).seen;
    assert!(rate.starts_with(&format!("{} of 20,000 above", format::count(beyond))), "{rate}");
}

#[test]
fn a_mean_is_held_against_a_limit_as_it_is() {
    // 19,999.3 ns.
    let mut latencies = vec![19_999; 7];
    latencies.extend([20_000; 3]);
    let examined = examined(&latencies);
    let mean = judged("mean<20us", &examined);
    assert_eq!((mean.verdict, mean.seen.as_str()), (Verdict::Pass, "19.999 µs"));
    let above = judged("mean<=19.999us", &examined);
    assert_eq!((above.verdict, above.seen.as_str()), (Verdict::Fail, "20.000 µs"));
}

/// `show --figure mean` and the gate say the same of a recording, wherever the limit lies.
#[test]
fn a_mean_is_rounded_as_it_is_shown_alone() {
    // 19,999.3 ns and 19,999.7 ns.
    for (twenty, shown) in [(3, "19.999"), (7, "20.000")] {
        let mut latencies = vec![19_999; 10 - twenty];
        latencies.extend(vec![20_000; twenty]);
        let examined = examined(&latencies);
        let mean: crate::Figure = "mean".parse().unwrap();
        assert_eq!(mean.value(&examined).as_deref(), Some(shown));
        for limit in ["mean<25us", "mean<15us"] {
            assert_eq!(judged(limit, &examined).seen, format!("{shown} µs"), "{limit}");
        }
    }
}

/// A document that says nothing was lost is not believed where its samples show it, nor is one of a
/// run that ended early.
#[test]
fn no_losses_are_known_of_whole_recordings_only() {
    let mut hidden = examined(&latencies(2_000, &[]));
    hidden.recorded.threads[0].lost = 1;
    assert_eq!(judged("lost==0", &hidden).verdict, Verdict::Fail);
    let mut cut = examined(&latencies(2_000, &[]));
    assert_eq!(judged("lost==0", &cut).verdict, Verdict::Pass);
    (cut.recorded.document.state, cut.recorded.document.end) = (model::State::Running, None);
    assert_eq!(judged("lost==0", &cut).verdict, Verdict::NotEnough);
    // A limit that allows those there were.
    let mut known = examined(&latencies(2_000, &[]));
    lose_samples(&mut known.recorded.document.threads[0], 2);
    assert_eq!(judged("lost<5", &known).verdict, Verdict::Pass);
}

/// A run that was to stop at a latency below its largest did not come to its planned end.
#[test]
fn a_latency_beyond_break_above_contradicts_a_planned_end() {
    let mut examined = examined(&latencies(2_000, &[90_000]));
    examined.recorded.document.run.break_above_ns = Some(plan::Nanos(100_000));
    assert_eq!(judged("max<1s", &examined).verdict, Verdict::Pass);
    examined.recorded.document.run.break_above_ns = Some(plan::Nanos(50_000));
    assert_eq!(judged("max<1s", &examined).verdict, Verdict::NotEnough);
}

/// What a probe states decides what figures mean: a statement that no such probe makes lets nothing
/// pass.
#[test]
fn a_statement_of_another_probe_passes_nothing() {
    type Corrupt = fn(&mut model::ProbeStatement);
    let corrupted: [Corrupt; 5] = [
        |probe| probe.name = "spawn".into(),
        |probe| probe.columns[0].unit = model::ColumnUnit::Count,
        |probe| probe.columns.clear(),
        |probe| probe.rows = model::RowKind::Trials,
        |probe| probe.overrun_column = Some(1),
    ];
    let mut examined = examined(&latencies(2_000, &[]));
    assert_eq!(judged("max<1s", &examined).verdict, Verdict::Pass);
    for (place, spoil) in corrupted.into_iter().enumerate() {
        examined.recorded.document.probe = model::ProbeStatement::cyclic();
        spoil(&mut examined.recorded.document.probe);
        assert_eq!(judged("max<1s", &examined).verdict, Verdict::NotEnough, "{place}");
    }
}

/// Only a thread that was given up need not have all that was planned.
#[test]
fn a_thread_without_counters_has_all_that_was_planned() {
    let mut examined = examined(&latencies(2_000, &[]));
    examined.recorded.document.run.length = plan::Length::Samples(5_000);
    examined.recorded.document.threads[0].evidence.voluntary_switches = None;
    assert_eq!(judged("max<1s", &examined).verdict, Verdict::NotEnough);
}

#[test]
fn a_limit_that_the_recording_breaks_fails() {
    // 203 of 4,000 beyond 1 ms are too many for a 99.99th percentile, whatever else a longer run
    // would show.
    let late = examined(&latencies(4_000, &[900_000; 203]));
    for limit in [
        "p99<800us",
        "p99.99<800us",
        "p99.99<800us@95%",
        "rate(>800us)<1e-6@95%",
        "rate(>800us)<0.05@95%",
    ] {
        assert_eq!(judged(limit, &late).verdict, Verdict::Fail, "{limit}");
    }
    assert_eq!(
        judged("p99.99<800us", &late).seen,
        "203 of 4,000 above it, p99.99 allows 1 in 10,000"
    );
    // 70 together tell as little of a rate as one would, and are too many for one in a million all
    // the same.
    let mut together = latencies(4_000, &[]);
    together[2_000..2_070].fill(900_000);
    assert_eq!(judged("rate(>800us)<1e-6@95%", &examined(&together)).verdict, Verdict::Fail);
    // One of 4,000 may well be the one in 10,000.
    let one = examined(&latencies(4_000, &[900_000]));
    for limit in ["p99.99<800us", "p99.99<800us@95%", "rate(>800us)<1e-4@95%"] {
        assert_eq!(judged(limit, &one).verdict, Verdict::NotEnough, "{limit}");
    }
    assert_eq!(judged("p99.9999<800us", &one).verdict, Verdict::Fail);
}

#[test]
fn a_document_that_its_samples_contradict_passes_nothing() {
    let mut recorded =
        Synthetic::idle().threads(1).samples(&[2_500_000, 10_000, 11_000, 12_000]).due(8).build();
    let thread = &mut recorded.document.threads[0];
    let mut activations = thread.activations.unwrap().all();
    assert!(activations.skipped > 0 && activations.late > 0);
    (activations.on_time, activations.late, activations.skipped) = (activations.due, 0, 0);
    thread.activations = Some(model::RowCounts::Planned(activations));
    let latencies: Vec<i32> = vec![10_000; 8];
    let mut examined = examined(&latencies);
    examined.recorded = recorded;
    assert_eq!(judged("skipped==0", &examined).verdict, Verdict::Fail);
    assert_eq!(judged("late==0", &examined).verdict, Verdict::Fail);
    let max = judged("max<1s", &examined);
    assert_eq!(max.verdict, Verdict::NotEnough);
    assert!(max.lacking.unwrap().starts_with("figures in run.json contradict its samples"));
}

fn p99_of(summary: &stats::Summary) -> i64 {
    summary.p99.unwrap()
}

/// 2,000 activations of every ms, one of them 30 intervals late.
fn overrun() -> Examined {
    let mut rows: Vec<i32> = latencies(2_000, &[]);
    rows[700] = 30_400_000;
    let recorded = Synthetic::idle().threads(1).samples(&rows).build();
    let spans = [Span::Woken(&rows[..701]), Span::Missing(30), Span::Woken(&rows[701..1_970])];
    let exact = "p99".parse::<crate::Figure>().unwrap().exact_request();
    let Ok(analysis) = analyse(&spans[..], 1_000_000, AfterOverrun::Skip, 64, &exact);
    let (measured, all) =
        (analysis.statistics.latency.unwrap(), analysis.statistics.latency_with_skipped.unwrap());
    assert!(p99_of(&measured) < 20_000 && p99_of(&all) > 1_000_000, "{measured:?} {all:?}");
    assert_eq!(recorded.threads[0].latency_with_skipped.unwrap().p99, all.p99);
    Examined { recorded, analyses: vec![analysis], pool: None }
}

/// An overrun has one p99, wherever it stands.
#[test]
fn table_gate_and_compare_have_one_figure() {
    let examined = overrun();
    let (recorded, statistics) = (&examined.recorded, &examined.analyses[0].statistics);
    let (measured, all) = (statistics.latency.unwrap(), statistics.latency_with_skipped.unwrap());
    let (p99, not) = (format::micros(p99_of(&all)), format::micros(p99_of(&measured)));
    let table =
        crate::Report::new(std::slice::from_ref(recorded), &[], &crate::ChartOptions::default())
            .terminal_summary(crate::Paint::Plain, Language::English);
    let (front, behind) =
        table.split_once("As measured, without the skipped activations:").unwrap();
    let row = |text: &str| {
        text.lines().find(|line| line.trim_start().starts_with("0 ")).unwrap().to_owned()
    };
    assert!(row(front).contains(&p99) && !row(front).contains(&not), "{table}");
    assert!(row(behind).contains(&not) && !row(behind).contains(&p99), "{table}");
    assert!(front.contains("with skipped counted in") && !front.contains("as measured"), "{table}");
    let beside = crate::side_by_side(&[recorded.clone(), recorded.clone()], Language::English);
    assert!(beside.contains(&p99) && beside.contains("skipped ones counted in"), "{beside}");
    let seen = judged("p99<1h", &examined).seen;
    assert_eq!(seen, format!("{} µs", format::exact_micros(p99_of(&all))));
    assert_eq!(stats::Measured::from(&examined.analyses[0]).quantiles[2], Some(p99_of(&all)));
}

/// And so in a plan's table, in `show --figure` and in tables of recordings; there the other stands
/// beside it, by its name.
#[test]
fn a_plan_and_show_have_the_gates_figure() {
    let examined = overrun();
    let statistics = examined.analyses[0].statistics.clone();
    let (measured, all) = (statistics.latency.unwrap(), statistics.latency_with_skipped.unwrap());
    let figure = |name: &str| name.parse::<crate::Figure>().unwrap().value(&examined).unwrap();
    assert_eq!(format!("{} µs", figure("p99")), judged("p99<1h", &examined).seen.replace(',', ""));

    let mut matrix =
        crate::Matrix::new(None, vec!["load".into()], [vec![Some("none".into())]].into_iter());
    matrix.add(0, 1, examined.recorded.clone());
    let json = matrix.json();
    let row = &json["combinations"][0];
    let in_plan = [&row["p99_ns"], &row["as_measured"]["p99_ns"]].map(|ns| ns.as_i64());
    assert_eq!(in_plan, [Some(p99_of(&all)), Some(p99_of(&measured))], "{row}");
    assert_eq!(
        (row["n"].as_u64(), row["as_measured"]["n"].as_u64()),
        (Some(all.count), Some(measured.count)),
        "{row}"
    );
    let close =
        |ns: &serde_json::Value, exact: f64| (ns.as_f64().unwrap() - exact).abs() < 1e-6 * exact;
    assert!(close(&row["mean_ns"], all.mean) && close(&row["sd_ns"], all.sd.unwrap()), "{row}");
    assert!(close(&row["as_measured"]["mean_ns"], measured.mean), "{row}");
    assert_eq!((row["max_ns"].as_i64(), measured.max), (Some(all.max), all.max));
    let shown = format!("  {}", format::micros(p99_of(&all)));
    let output = "skipped ones counted in";
    for table in [matrix.text(Language::English), matrix.markdown(Language::English)] {
        assert!(
            table.replace("| ", "  ").contains(&shown)
                && !table.contains('~')
                && table.contains(output)
                && !table.contains("as measured"),
            "{table}"
        );
    }
    let cells = |csv: &str, name: &str| -> String {
        let mut lines =
            csv.lines().map(|line| line.split(',').map(str::to_owned).collect::<Vec<_>>());
        let column = lines.next().unwrap().iter().position(|head| head == name).unwrap();
        lines.next().unwrap().swap_remove(column)
    };
    assert_eq!(cells(&matrix.csv(), "p99_ns"), row["p99_ns"].to_string());
    assert_eq!(
        cells(&matrix.csv(), "as_measured_p99_ns"),
        row["as_measured"]["p99_ns"].to_string()
    );

    let recordings = [examined.recorded.clone()];
    let csv = crate::threads_csv(&recordings);
    assert_eq!(
        [cells(&csv, "p99_ns"), cells(&csv, "as_measured_p99_ns")],
        [p99_of(&all), p99_of(&measured)].map(|ns| ns.to_string())
    );
    let markdown = crate::threads_markdown(&recordings, Language::English);
    let rows: Vec<&str> = markdown.lines().filter(|line| line.starts_with("| idle")).collect();
    assert!(rows.len() == 2 && rows[0].contains(&format::micros(p99_of(&all))), "{markdown}");
    assert!(
        rows[1].contains("as measured") && rows[1].contains(&format::micros(p99_of(&measured))),
        "{markdown}"
    );
}

mod monotonic {
    use super::*;
    use proptest::prelude::*;

    const LEVELS: [&str; 5] = ["50", "90", "99", "99.9", "99.99"];
    const RATES: [&str; 5] = ["0.5", "1e-1", "1e-2", "1e-3", "1e-5"];
    const CONFIDENCES: [&str; 4] = ["", "@60%", "@95%", "@99.9%"];

    /// From the loosest on, every one of a list is stricter than those before it: its verdict is no
    /// better.
    fn never_better(examined: &Examined, limits: &[String]) -> Result<(), TestCaseError> {
        let verdicts: Vec<Verdict> =
            limits.iter().map(|limit| judged(limit, examined).verdict).collect();
        prop_assert!(verdicts.is_sorted(), "{limits:?}: {verdicts:?}");
        Ok(())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(10))]

        /// Bursts, steps and single spikes of any size: whatever is asked more strictly is never
        /// answered more kindly.
        #[test]
        fn a_stricter_limit_never_gets_a_better_verdict(
            seed in any::<u64>(),
            count in 20_usize..6_000,
            bursts in proptest::collection::vec(
                (0.0..1.0_f64, 1_usize..200, 20_000_i32..700_000),
                0..6,
            ),
            mut thresholds in proptest::collection::vec(9_000_i32..700_000, 3),
        ) {
            let mut state = seed | 1;
            let mut latencies: Vec<i32> = (0..count)
                .map(|_| {
                    state = state
                        .wrapping_mul(6_364_136_223_846_793_005)
                        .wrapping_add(1_442_695_040_888_963_407);
                    10_000 + i32::try_from((state >> 33) % 10_000).unwrap()
                })
                .collect();
            for (at, length, latency) in bursts {
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    clippy::cast_precision_loss
                )]
                let from = (at * count as f64) as usize;
                latencies[from..]
                    .iter_mut()
                    .take(length)
                    .enumerate()
                    .for_each(|(n, slot)| *slot = latency + i32::try_from(n).unwrap());
            }
            thresholds.extend([15_000, 19_900]);
            // Loosest first.
            thresholds.sort_unstable_by(|a, b| b.cmp(a));
            let quantile =
                |level: &str, threshold: &i32, sure: &str| format!("p{level}<{threshold}ns{sure}");
            let rate = |threshold: &i32, rate: &str, sure: &str| {
                format!("rate(>{threshold}ns)<{rate}{sure}")
            };
            let mut all = Vec::new();
            for threshold in &thresholds {
                all.extend(
                    CONFIDENCES
                        .map(|sure| LEVELS.map(|level| quantile(level, threshold, sure)).to_vec()),
                );
                all.extend(LEVELS.map(|level| {
                    CONFIDENCES.map(|sure| quantile(level, threshold, sure)).to_vec()
                }));
                all.push(RATES.map(|one| rate(threshold, one, "@95%")).to_vec());
                all.extend(RATES.map(|one| {
                    CONFIDENCES[1..].iter().map(|sure| rate(threshold, one, sure)).collect()
                }));
            }
            all.extend(
                LEVELS.map(|level| {
                    thresholds.iter().map(|one| quantile(level, one, "@95%")).collect()
                }),
            );
            all.extend(
                RATES.map(|limit| thresholds.iter().map(|one| rate(one, limit, "@95%")).collect()),
            );
            let asked: Vec<&str> = all.iter().flatten().map(String::as_str).collect();
            let examined = examined_for(&latencies, &asked);
            for limits in &all {
                never_better(&examined, limits)?;
            }
        }
    }
}

#[test]
fn one_activation_is_one() {
    let examined = examined(&[15_000]);
    assert_eq!(judged("p99<20us", &examined).seen, "1 activation: too few");
    assert_eq!(judged("skipped==0", &examined).seen, "0 of 1 activation");
    let almost = judged("rate(>50us)<0.5@95%", &self::examined(&[15_000; 4]));
    assert_eq!(almost.lacking.as_deref(), Some("needs 1 more activation, none above the limit"));
}

/// Two threads with the same latencies.
/// A gate of two plans with limits of their own and a recording that has none, in a form.
fn of_two_plans(named: &[&str]) -> GateReport {
    let of =
        |limits: &[&str]| limits.iter().map(|limit| limit.parse().unwrap()).collect::<Vec<Limit>>();
    let mut gate = GateReport::default();
    for (path, limits) in
        [("a/1.teiji", &["max<1us"][..]), ("b/1.teiji", &["p50<1ms"]), ("c.teiji", &[])]
    {
        let mut examined = examined(&latencies(2_000, &[]));
        examined.recorded.path = path.into();
        let limits = if named.is_empty() { of(limits) } else { of(named) };
        gate.add(Gate::judge_among(&limits, &examined, true), &examined);
    }
    let plans =
        vec![("a/plan.toml".into(), of(&["max<1us"])), ("b/plan.toml".into(), of(&["p50<1ms"]))];
    gate.gate.with_sources(LimitSources { plans, named: of(named) }, |_| true);
    gate
}

#[test]
fn every_form_says_whose_limits_they_are() {
    let gate = of_two_plans(&[]);
    assert_eq!(gate.gate.verdict(), Verdict::Fail);
    let text = gate.text(Language::English);
    let head = "FAIL: 1 of 3 recordings, each checked against the limits of its plan; 1 without \
                enough evidence\nLimits of a/plan.toml: max<1us.\nLimits of b/plan.toml: \
                p50<1ms.\na/1.teiji\n";
    assert!(text.starts_with(head), "{text}");
    assert!(
        text.contains(
            "c.teiji\n  ????  no limit\n        no limit is named for it: add [limits] to its \
             plan, or"
        ),
        "{text}"
    );
    let json = gate.json();
    let from = |place: usize| json["limits"][place]["from"].clone();
    assert_eq!(
        (from(0), from(1), from(2)),
        ("a/plan.toml".into(), "b/plan.toml".into(), serde_json::Value::Null)
    );
    assert_eq!(json["sources"][1], "Limits of b/plan.toml: p50<1ms.");
    let junit = gate.junit();
    assert!(
        junit.contains("<system-out>Limits of a/plan.toml: max&lt;1us. Limits of b/"),
        "{junit}"
    );
    assert!(
        junit.contains("<error message=\"not enough evidence: no limit is named for it"),
        "{junit}"
    );
    assert!(
        gate.tap().contains("# Limits of b/plan.toml: p50<1ms.\n")
            && gate.tap().contains("not ok 3 - no limit in c.teiji")
    );
    let japanese = gate.text(Language::Japanese);
    assert!(
        japanese.contains("a/plan.toml の上限: max<1us。") && japanese.contains("上限なし"),
        "{japanese}"
    );
}

#[test]
fn limits_of_the_command_line_take_the_place_of_plans() {
    let gate = of_two_plans(&["max<1h"]);
    assert_eq!(gate.gate.verdict(), Verdict::Pass);
    let text = gate.text(Language::English).replace("\n  ", " ").replace('\n', " ");
    let output = "PASS: 3 recordings, checked against 1 limit Limits of --limit: max<1h, in place \
                  of those of a/plan.toml (max<1us) and b/plan.toml (p50<1ms).";
    assert!(text.starts_with(output), "{text}");
    assert_eq!(gate.json()["limits"][2]["from"], "--limit");
}

#[test]
fn no_form_passes_without_all_runs() {
    let mut gate = GateReport::judge(
        &["max<1h".parse().unwrap()],
        std::slice::from_ref(&examined(&latencies(2_000, &[]))),
    );
    gate.gate.missing = 2;
    let text = gate.text(Language::English);
    assert!(text.starts_with("NOT ENOUGH EVIDENCE: 2 runs without a recording\n"), "{text}");
    assert_eq!(gate.json()["verdict"], "not enough evidence");
    assert_eq!(gate.json()["missing_runs"], 2);
    let junit = gate.junit();
    assert!(
        junit.contains("tests=\"2\" failures=\"0\" errors=\"1\"")
            && junit.contains(
                "<testcase name=\"2 runs without a recording\" classname=\"teiji gate\"><error \
                 message=\"not enough evidence: 2 runs without a recording\"/></testcase>\n"
            ),
        "{junit}"
    );
    let tap = gate.tap();
    assert!(
        tap.contains("\n1..2\n") && tap.contains("\nnot ok 2 - 2 runs without a recording\n# "),
        "{tap}"
    );
    assert!(
        gate.text(Language::Japanese).starts_with("判定不能: 測定 2 回の記録がありません"),
        "{}",
        gate.text(Language::Japanese)
    );
}

#[test]
fn the_heading_counts_missing_runs_beside_limits() {
    let heading = |limits: &[&str], missing: usize| {
        let limits: Vec<Limit> = limits.iter().map(|limit| limit.parse().unwrap()).collect();
        let recording = examined(&latencies(2_000, &[]));
        let mut gate = GateReport::judge(&limits, std::slice::from_ref(&recording));
        gate.gate.missing = missing;
        assert_eq!(gate.json().get("missing_runs").is_some(), missing > 0);
        gate.text(Language::English).lines().next().unwrap().to_owned()
    };
    let lacks = "p99.9999<1h@95%";
    assert_eq!(heading(&[lacks], 0), "NOT ENOUGH EVIDENCE: 1 of 1 limit");
    assert_eq!(
        heading(&[lacks], 5),
        "NOT ENOUGH EVIDENCE: 1 of 1 limit, and 5 runs without a recording"
    );
    assert_eq!(heading(&["max<1ns"], 1), "FAIL: 1 of 1 limit, and 1 run without a recording");
}

/// Its limits were written, and what is not judged cannot pass.
#[test]
fn a_plan_without_a_recording_keeps_a_gate_from_passing() {
    let limits: Vec<Limit> = vec!["max<1h".parse().unwrap()];
    let mut examined = examined(&latencies(2_000, &[]));
    examined.recorded.path = "a/1.teiji".into();
    let mut gate = GateReport::default();
    gate.add(Gate::judge_among(&limits, &examined, true), &examined);
    assert_eq!(gate.gate.verdict(), Verdict::Pass);
    let plans = vec![("a/plan.toml".into(), limits.clone()), ("b/plan.toml".into(), limits)];
    gate.gate
        .with_sources(LimitSources { plans, named: Vec::new() }, |folder| folder.ends_with("a"));
    assert_eq!(gate.gate.verdict(), Verdict::NotEnough);
    let text = gate.text(Language::English);
    assert!(
        text.contains("Limits of a/plan.toml and b/plan.toml: max<1h.")
            && text.contains("\nb\n  ????  max<1h\n"),
        "{text}"
    );
}

fn on_two_threads(latencies: &[i32]) -> Examined {
    let (one, other) = (examined(latencies), examined(latencies));
    let recorded = Synthetic::idle().threads(2).samples(latencies).build();
    Examined {
        recorded,
        analyses: one.analyses.into_iter().chain(other.analyses).collect(),
        pool: None,
    }
}

/// Whatever a limit finds, judged and shown in Japanese.
#[test]
fn every_finding_is_japanese() {
    let mut late = vec![15_000; 2_000];
    late.extend([90_000; 2_000]);
    let samples = [
        latencies(20_000, &[80_000, 81_000, 82_000]),
        late,
        vec![15_000; 4],
        vec![15_000],
        Vec::new(),
    ];
    let mut all: Vec<Examined> =
        samples.iter().flat_map(|samples| [examined(samples), on_two_threads(samples)]).collect();
    let mut none = examined(&[]);
    none.analyses.clear();
    all.push(none);
    let figures = ["max", "mean", "p50", "p99", "p99.99", "p99.999"];
    let latencies = figures.iter().flat_map(|figure| {
        let bounds = ["1us", "19.91us", "50us", "80us", "1h"];
        bounds
            .into_iter()
            .flat_map(move |bound| [format!("{figure}<{bound}"), format!("{figure}<{bound}@95%")])
    });
    let rates = ["0.5", "1e-3", "2e-4", "1e-9"].map(|rate| format!("rate(>50us)<{rate}@95%"));
    let counts = ["skipped==0", "late<3", "lost==0"].map(str::to_owned);
    let limits = latencies.chain(rates).chain(counts).filter_map(|text| text.parse::<Limit>().ok());
    let limits: Vec<Limit> = limits.collect();
    assert!(limits.len() > 50, "{}", limits.len());
    let found = in_language(Language::Japanese, || {
        let found =
            all.iter().flat_map(|examined| limits.iter().map(move |limit| judge(limit, examined)));
        found.map(|judged| (criterion(&judged), judged_in_words(&judged))).collect::<Vec<_>>()
    });
    for (limit, words) in found {
        let english = |word: &str| word.len() > 2 && word.chars().all(|c| c.is_ascii_lowercase());
        assert!(!words.split(|c: char| !c.is_alphabetic()).any(english), "{limit}: {words}");
    }
}

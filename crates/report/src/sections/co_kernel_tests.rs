// SPDX-License-Identifier: MIT OR Apache-2.0
//! What recordings of co-kernels say in every form.

use super::*;
use crate::language::Language;
use crate::overview::Overview;
use crate::sections::cautions::{co_kernel_notes, gravity_apart};
use crate::synthetic::Synthetic;
use crate::{ChartOptions, Comparisons, GateReport, Matrix, Paint, Repeats, Report};
use model::{Examined, Recorded};

fn on(title: &str, core: Option<CoKernel>) -> Recorded {
    let mut recorded = Synthetic::idle().threads(1).samples(&[2_000]).title(title).build();
    recorded.document.instrument.co_kernel = core;
    recorded
}

#[test]
fn gravity_is_read_as_each_core_says_it() {
    let of = |gravity: Option<&str>| CoKernel { gravity: gravity.map(str::to_owned), ..cobalt(0) };
    assert_eq!(gravity_ns(&of(Some("irq=0 kernel=2000 user=1500"))), Some(1_500));
    assert_eq!(gravity_ns(&of(Some("0i 2000k 3000u"))), Some(3_000));
    assert_eq!((gravity_ns(&of(Some("as you like"))), gravity_ns(&of(None))), (None, None));
    assert_eq!(in_short(Some(&of(Some("0i 2000k 3000u")))), "Cobalt, gravity 3 µs");
    assert_eq!(in_short(Some(&cobalt(1_550))), "Cobalt, gravity 1.55 µs");
    assert_eq!(in_short(Some(&cobalt(0))), "Cobalt, gravity 0 µs");
    assert_eq!((effect(&cobalt(0)), effect(&of(None))), (None, None));
}

/// Latencies of -0.2 µs were shown without what to do.
#[test]
fn a_timer_that_comes_too_early_has_its_remedy() {
    let measured = |latency: i64, ns_per_instruction: u64, gravity: u32| {
        let mut recorded =
            Synthetic::idle().threads(1).samples(&[300]).in_lab(Some(ns_per_instruction)).build();
        recorded.document.instrument.co_kernel = Some(cobalt(gravity));
        recorded.document.threads[0].latency_ns.as_mut().unwrap().min = latency;
        too_early(&recorded.document)
    };
    let remedy = "Latencies below 0: Cobalt sets its timer early by the gravity, and at 1 ns an \
                  instruction it comes before the planned time. Measure at 8 ns an instruction: \
                  --mips 125.";
    assert_eq!(measured(-200, 1, 2_000).as_deref(), Some(remedy));
    for (latency, ns, gravity) in [(200, 1, 2_000), (-200, 8, 2_000), (-200, 1, 0)] {
        assert_eq!(measured(latency, ns, gravity), None, "{latency} {ns} {gravity}");
    }
}

#[test]
fn each_recording_says_what_it_was_measured_on() {
    let all = [on("a", Some(cobalt(2_000))), on("b", Some(cobalt(0))), on("c", None)];
    let overviews = Overview::all(&all);
    let names: Vec<&str> = overviews.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["a (Cobalt, gravity 2 µs)", "b (Cobalt, gravity 0 µs)", "c (Linux)"]);
    let output = co_kernel_notes(&overviews);
    assert_eq!(output.len(), 2, "{output:?}");
    assert!(
        output[0].starts_with(
            "a (Cobalt, gravity 2 µs): measured on Cobalt 3.3.1 (ABI revision 19, gravity irq=0"
        ),
        "{output:?}"
    );
    assert!(
        output[0].ends_with(
            " Cobalt sets its timer 2 µs early (gravity), so its latencies are lower by that."
        ),
        "{output:?}"
    );
    assert!(output[1].ends_with("not on Linux."), "{output:?}");

    let alone = Overview::all(&all[..1]);
    assert_eq!(alone[0].name, "a");
    assert_eq!(
        co_kernel_notes(&alone),
        ["Cobalt sets its timer 2 µs early (gravity), so its latencies are lower by that."]
    );
    assert!(co_kernel_notes(&Overview::all(&all[2..])).is_empty());
    let apart = gravity_apart(&overviews[..1], &overviews[2..]).unwrap();
    assert_eq!(apart.in_words(), "gravity: none: on Linux against 2 µs");
    assert!(gravity_apart(&overviews[..1], &alone).is_none());
}

fn examined(recorded: &Recorded) -> Examined {
    let (_, analyses) =
        Synthetic::idle().threads(1).samples(&[2_000]).examined(&stats::ExactRequest::default());
    Examined { recorded: recorded.clone(), analyses, pool: None }
}

const EFFECT: &str =
    "Cobalt sets its timer 2 µs early (gravity), so its latencies are lower by that.";
const EFFECT_IN_JAPANESE: &str =
    "Cobalt はタイマーを 2 µs 早く設定するため(gravity)、レイテンシはその分小さい。";

#[test]
fn a_comparison_says_that_gravity_differs() {
    let (early, punctual) = (on("a", Some(cobalt(2_000))), on("b", Some(cobalt(0))));
    let groups = [&early, &punctual].map(|one| Repeats::new(vec![examined(one)]));
    let compared = Comparisons::new(&groups, false, Language::English).unwrap();
    let text = compared.text(Language::English).replace("\n  ", " ").replace('\n', " ");
    assert!(text.contains("What else differs:") && !text.contains("Nothing else"), "{text}");
    assert!(
        text.contains("Gravity: irq=0 kernel=2000 user=2000 | irq=0 kernel=2000 user=0"),
        "{text}"
    );
    assert!(text.contains("Caution: gravity: 0 µs against 2 µs."), "{text}");
    assert!(text.contains(EFFECT), "{text}");
    let facts = compared.json()["comparisons"][0]["differs"].to_string();
    assert!(facts.contains("user=2000") && !facts.contains("Co-kernel"), "{facts}");
    for language in Language::ALL {
        for page in [compared.markdown(language), compared.html(&groups, "", language)] {
            assert!(page.contains("irq=0 kernel=2000 user=0"), "{page}");
        }
    }
    assert!(compared.markdown(Language::Japanese).contains(EFFECT_IN_JAPANESE));

    let groups = [&early, &on("c", None)].map(|one| Repeats::new(vec![examined(one)]));
    let text = Comparisons::new(&groups, false, Language::English).unwrap().text(Language::English);
    assert!(text.contains("Co-kernel: Cobalt 3.3.1 (ABI revision 19) | none: on Linux"), "{text}");
    let groups = [&on("c", None), &on("d", None)].map(|one| Repeats::new(vec![examined(one)]));
    assert!(
        !Comparisons::new(&groups, false, Language::English)
            .unwrap()
            .text(Language::English)
            .contains("Co-kernel")
    );
}

#[test]
fn verdicts_say_what_gravity_is() {
    let limits = ["max<100us".parse().unwrap()];
    let mut gate = GateReport::judge(&limits, &[examined(&on("a", Some(cobalt(2_000))))]);
    assert!(
        gate.text(Language::English).replace("\n   ", "").contains(EFFECT),
        "{}",
        gate.text(Language::English)
    );
    let japanese = gate.text(Language::Japanese).replace(char::is_whitespace, "");
    assert!(japanese.contains(&EFFECT_IN_JAPANESE.replace(char::is_whitespace, "")), "{japanese}");
    let (baseline, now) =
        (examined(&on("a", Some(cobalt(0)))), examined(&on("b", Some(cobalt(2_000)))));
    gate.against(&baseline, 0.1, &[now], Language::English).unwrap();
    let caveats = gate.json()["caveats"].to_string();
    assert!(caveats.contains("gravity: 2 µs against 0 µs (a.teiji)"), "{caveats}");
}

#[test]
fn pages_and_tables_say_of_each_recording_what_it_was_measured_on() {
    let recordings = [on("a", Some(cobalt(2_000))), on("b", None)];
    let options = ChartOptions::default();
    let report = Report::new(&recordings, &[], &options);
    for language in Language::ALL {
        let (page, markdown) = (
            report.html("teiji report", language),
            report.markdown("teiji report", None, language),
        );
        for text in [&page, &markdown, &crate::side_by_side(&recordings, language)] {
            assert!(text.contains("Linux)") && text.contains("gravity 2 µs)"), "{text}");
        }
        let effect = if language == Language::English { EFFECT } else { EFFECT_IN_JAPANESE };
        let effect = effect.trim_end_matches(['.', '。']);
        assert!(page.contains(effect) && markdown.contains(effect), "{markdown}");
        assert!(markdown.contains("irq=0 kernel=2000 user=2000"), "{markdown}");
    }
    let alone = Report::new(&recordings[..1], &[], &options);
    let text = alone.terminal_summary(Paint::Plain, Language::English).replace('\n', " ");
    assert!(text.contains(EFFECT.trim_end_matches('.')), "{text}");
}

#[test]
fn repeats_at_another_gravity_are_no_repeats() {
    let rows = [vec![Some("1ms".to_owned())]];
    let mut matrix = Matrix::new(None, vec!["interval".into()], rows.into_iter());
    matrix.add(0, 1, on("a", Some(cobalt(2_000))));
    let mut other = on("b", Some(cobalt(0)));
    other.document.threads[0].start_ns.0 += 1;
    matrix.add(0, 2, other);
    assert!(
        matrix.text(Language::English).contains("mixed machines"),
        "{}",
        matrix.text(Language::English)
    );
    let row = &matrix.json()["combinations"][0];
    assert_eq!(row["co_kernel"], "Cobalt 3.3.1 (ABI revision 19); Cobalt 3.3.1 (ABI revision 19)");
    assert_eq!(row["gravity"], "irq=0 kernel=2000 user=2000; irq=0 kernel=2000 user=0");
    assert!(matrix.csv().contains("irq=0 kernel=2000 user=0,\r\n"), "{}", matrix.csv());
    let setting = |core| {
        let settings = crate::settings_of(&on("a", core).document);
        settings.into_iter().find(|(name, _)| *name == "co-kernel").unwrap().1
    };
    assert_eq!(setting(Some(cobalt(2_000))), "Cobalt 3.3.1, gravity 2us");
    assert_eq!(
        (setting(Some(cobalt(0))), setting(None)),
        ("Cobalt 3.3.1, gravity 0ns".to_owned(), "none".to_owned())
    );
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! What must hold of every page.

use crate::overview::Overview;
use crate::page::{MOST_BYTES, html};
use crate::synthetic::Synthetic;
use recording::{EventCounts, Recorded};

fn page(recordings: &[Recorded]) -> String {
    html(Overview::of_all(recordings), "teiji report a.teiji")
}

#[test]
fn text_from_outside_stays_text() {
    let evil = "</script><img src=x onerror=alert(1)><!--";
    let mut recorded = Synthetic::hackbench().title(evil).build();
    recorded.document.command_line.push(evil.into());
    recorded.document.warnings[0].evidence = evil.into();
    recorded.document.warnings[0].next_step = evil.into();
    recorded.document.load[0].spec = evil.into();
    for facts in [Some(&mut recorded.document.host.before), recorded.document.host.after.as_mut()].into_iter().flatten() {
        facts.hostname = Some(evil.into());
        facts.kernel_command_line = Some(evil.into());
        facts.interrupts.push(EventCounts {
            name: evil.into(),
            description: evil.into(),
            counts: vec![facts.interrupts.len() as u64],
        });
    }
    let page = html(Overview::of_all(&[recorded]), evil);
    assert!(!page.contains("<img") && !page.contains("<!--"));
    assert_eq!(page.matches("</script>").count(), 4, "of the page's own");
    assert_eq!(page.matches("<script").count(), 4);
}

#[test]
fn nothing_is_fetched_from_anywhere() {
    let page = page(&[Synthetic::idle().build()]);
    assert!(page.contains("default-src 'none'"));
    for reference in ["src=\"http", "href=\"http", "url(http", "@import", "src=\"//"] {
        assert!(!page.contains(reference), "{reference}");
    }
    assert!(page.contains("The MIT License (MIT)"), "the licence of what is used");
}

#[test]
fn extremes_are_in_the_data_whatever_the_room() {
    let recordings = [Synthetic::hackbench().build()];
    let max = Overview::of(&recordings[0]).moments.max().unwrap();
    let page = page(&recordings);
    let data = page.split_once("id=\"data\">").unwrap().1.split_once("</script>").unwrap().0;
    let data: serde_json::Value = serde_json::from_str(data).unwrap();
    let maxima = data["recordings"][0]["time"]["max_ns"].as_array().unwrap();
    assert_eq!(maxima.iter().filter_map(serde_json::Value::as_i64).max(), Some(max));
}

#[test]
fn small_enough_for_many_threads() {
    let page = page(&[Synthetic::hackbench().threads(64).due(8_192).build()]);
    assert!(page.len() < MOST_BYTES, "{}", page.len());
}

#[test]
fn small_enough_for_many_recordings() {
    let recordings: Vec<Recorded> = (0..8).map(|n| Synthetic::hackbench().seed(n).threads(64).due(4_096).build()).collect();
    let page = page(&recordings);
    assert!(page.len() < MOST_BYTES, "{}", page.len());
}

#[test]
fn small_enough_when_everything_is_long() {
    let mut one = Synthetic::hackbench().threads(700).samples(&[9_000_000; 40]).build();
    one.document.warnings = vec![one.document.warnings[0].clone(); 500];
    for (n, warning) in one.document.warnings.iter_mut().enumerate() {
        warning.message = format!("{n} {}", "x".repeat(5_000));
    }
    one.document.command_line = vec!["y".repeat(1_000_000)];
    one.document.host.before.kernel_command_line = Some("z".repeat(1_000_000));
    let recordings = vec![one; 18];
    let page = page(&recordings);
    assert!(page.len() < MOST_BYTES, "{}", page.len());
    assert!(page.contains("of 18 recordings the 16 with the worst wake-ups are shown"));
}

#[test]
fn no_recording_and_nothing_woke_are_pages_too() {
    assert!(page(&[]).contains("No recording was given."));
    assert!(page(&[Synthetic::idle().samples(&[]).build()]).contains("No activation woke."));
}

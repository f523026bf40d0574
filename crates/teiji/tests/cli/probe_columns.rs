// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the columns of probes are, in both languages.

use crate::support::{TestFolder, exclusive};
use std::collections::BTreeSet;
use std::path::Path;

#[path = "../texts/sources.rs"]
#[expect(dead_code, reason = "no text in backquotes is looked for")]
mod sources;
use sources::{files_of, read, strings};

/// Whatever a probe can be set to, a Japanese page says in Japanese what it measured; and none of
/// them but `cyclic` has activations.
#[test]
fn columns_of_every_probe_are_explained_in_japanese() {
    let _turn = exclusive();
    let place = TestFolder::new();
    std::fs::write(place.join("numbers"), "1000\n2000\n3000\n4000\n5000\n").unwrap();
    let mut columns = 0;
    for probe in probe::PROBES {
        let settings = probe.settings.iter().flat_map(|setting| match &setting.values {
            probe::SettingValues::OneOf(words) => {
                words.iter().map(|word| format!("--{} {word}", setting.name)).collect()
            }
            probe::SettingValues::Time | probe::SettingValues::Period => {
                vec![format!("--{} 2ms", setting.name)]
            }
            probe::SettingValues::Number(..) | probe::SettingValues::Text(_) => Vec::new(),
        });
        if probe.lacks().is_some() {
            continue;
        }
        // What it measures is another program.
        let of_a_command = probe.settings.iter().any(|setting| setting.name == "command");
        let command = if of_a_command { "-- sleep 1" } else { "" };
        // What it measures comes from somewhere.
        let reads = probe.settings.iter().any(|setting| setting.name == "from");
        let from = if reads { "--from numbers" } else { "" };
        let by_default = probe::choose(probe.name, &plan::ProbeSettings::new()).unwrap();
        let interval = if by_default.check_meaning("interval").is_ok() { "-i 10ms" } else { "" };
        for flags in settings.chain([String::new()]) {
            let run = format!(
                "measure --probe {} {flags} {from} {interval} -d 100ms -t 1 -q -o {columns}.teiji \
                 {command}",
                probe.name
            );
            let output = place.teiji(&run);
            // A setting may need another beside it, which says nothing of columns.
            if output.code == Some(2) && output.err.contains("is impossible here") {
                continue;
            }
            // And it may need of the kernel what the probe alone does not. The test below looks at
            // what it states.
            let is_recorded = place.join(&format!("{columns}.teiji")).exists();
            if output.code == Some(4) && !flags.is_empty() && !is_recorded {
                continue;
            }
            // A command that only sleeps is no measurement, nor are lines read as integers. The
            // recording has the columns all the same.
            let holds_nothing = is_recorded
                && output.code == Some(4)
                && output.out.contains("\n✗ Holds nothing: measuring failed");
            assert!(output.code == Some(0) || holds_nothing, "{flags}: {output:?}");
            place.well(&format!(
                "report {columns}.teiji --lang ja -o {columns}.html --md {columns}.md"
            ));
            let (document, page) =
                (place.document(&format!("{columns}.teiji")), place.read(&format!("{columns}.md")));
            for column in document.list("/probe/columns") {
                let meaning = column.text("/meaning");
                assert!(
                    !page.contains(meaning),
                    "{meaning} on the Japanese page of {} {flags}: {page}",
                    probe.name
                );
                columns += 1;
            }
            let is_of_activations = document.text("/probe/rows") == "activations";
            assert_eq!(
                page.contains("**起床**"),
                is_of_activations,
                "{} {flags}: {page}",
                probe.name
            );
            assert!(is_of_activations || page.contains("## 測定した量"), "{page}");
        }
    }
    assert!(columns >= 20, "{columns}");
}

/// The same of those that cannot measure on this machine, from what they state.
#[test]
fn every_column_that_a_probe_states_has_japanese() {
    let translated = include_str!("../../../report/texts/probes.txt");
    for probe in probe::PROBES {
        let words = |setting: &probe::ProbeSetting| match setting.values {
            probe::SettingValues::OneOf(words) => {
                words.iter().map(|word| (setting.name.to_owned(), (*word).to_owned())).collect()
            }
            _ => Vec::new(),
        };
        for settings in probe
            .settings
            .iter()
            .flat_map(words)
            .map(|one| [one].into())
            .chain([plan::ProbeSettings::new()])
        {
            let mut run = plan::Run::example(probe.default_interval, 10);
            (run.probe, run.probe_settings) = (probe.name.to_owned(), settings);
            (run.scheduling, run.length) =
                (probe.default_scheduling, plan::Length::DurationNs(plan::Nanos::from_secs(1)));
            // A value that is impossible beside the defaults of others.
            let chosen = probe::choose(&run.probe, &run.probe_settings).unwrap();
            if chosen.check(&run).is_err() {
                continue;
            }
            for column in chosen.statement(&run).columns {
                assert!(
                    translated.contains(&*column.meaning),
                    "{} of {}",
                    column.meaning,
                    probe.name
                );
            }
        }
    }
}

/// And of what importers state, which nothing lists: from their sources.
#[test]
fn every_measuring_point_of_an_importer_has_japanese() {
    let translated = include_str!("../../../report/texts/probes.txt");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../formats/src");
    let calls = ["program(", "timerlat(", "noise(", "Column::ns(", "output.say("];
    let values = ["measuring_point: \"", "const IN_", "let what = \""];
    // Those of programs.
    let own = [
        "Maximum latency exceeded",
        "Min Noise",
        "Min delay",
        "kernel is_RT",
        "Histogram Overflow at cycle number",
    ];
    let mut found = BTreeSet::new();
    for path in files_of(&folder, &["rs"]) {
        let source = read(&path);
        let source = source.split("#[cfg(test)]").next().unwrap();
        for (markers, ends) in [(&calls[..], [");", "),"]), (&values[..], ["\";", "\",\n"])] {
            for (at, marker) in markers.iter().flat_map(|marker| source.match_indices(marker)) {
                let rest = &source[at + marker.trim_end_matches('"').len()..];
                let end = ends.iter().filter_map(|end| rest.find(end)).min().unwrap_or(rest.len());
                let stated = strings(&rest[..(end + 1).min(rest.len())]);
                let is_text = |text: &&str| {
                    text.contains(' ')
                        && text.starts_with(|c: char| c.is_ascii_alphabetic())
                        && !text.contains('{')
                        && !own.contains(text)
                };
                found.extend(stated.lines().filter(is_text).map(str::to_owned));
            }
        }
    }
    assert!(found.len() > 50, "{found:#?}");
    let lacking: Vec<&String> =
        found.iter().filter(|text| !translated.contains(&format!("en: {text}\n"))).collect();
    assert!(lacking.is_empty(), "{lacking:#?}");
}

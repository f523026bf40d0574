// SPDX-License-Identifier: MIT OR Apache-2.0
//! `run.json` as any user reads it: by the names of its keys, without the structs that wrote it.

use serde_json::Value;

/// A document, or a part of one. Places are JSON pointers, such as `/threads/0/cpu`.
#[derive(Clone, Debug, PartialEq)]
pub struct Document(pub Value);

impl Document {
    pub fn parse(text: &str) -> Self {
        Document(
            serde_json::from_str(text).unwrap_or_else(|error| panic!("no JSON: {error}\n{text}")),
        )
    }

    pub fn at(&self, place: &str) -> &Value {
        self.0.pointer(place).unwrap_or_else(|| panic!("there is no {place} in {}", self.0))
    }

    pub fn has(&self, place: &str) -> bool {
        self.0.pointer(place).is_some()
    }

    /// A whole number.
    pub fn whole(&self, place: &str) -> i64 {
        self.at(place)
            .as_i64()
            .unwrap_or_else(|| panic!("{place} is no whole number: {}", self.at(place)))
    }

    pub fn number(&self, place: &str) -> f64 {
        self.at(place)
            .as_f64()
            .unwrap_or_else(|| panic!("{place} is no number: {}", self.at(place)))
    }

    pub fn text(&self, place: &str) -> &str {
        self.at(place).as_str().unwrap_or_else(|| panic!("{place} is no text: {}", self.at(place)))
    }

    pub fn list(&self, place: &str) -> Vec<Document> {
        let list = self
            .at(place)
            .as_array()
            .unwrap_or_else(|| panic!("{place} is no list: {}", self.at(place)));
        list.iter().cloned().map(Document).collect()
    }

    pub fn threads(&self) -> Vec<Document> {
        self.list("/threads")
    }

    /// Whether there is a warning of this name.
    pub fn warns_of(&self, code: &str) -> bool {
        self.list("/warnings").iter().any(|warning| warning.text("/code") == code)
    }

    /// Activations of a thread that woke and whose samples are there: the sum of its histogram.
    pub fn counted(&self) -> i64 {
        self.list("/histogram_ns/buckets").iter().map(|bucket| bucket.whole("/2")).sum()
    }

    /// For every thread: what was due is on time, late or skipped, and each that woke is in the
    /// histogram or lost. Events are in the histogram or lost, and nothing else is said of
    /// them.
    pub fn assert_adds_up(&self) {
        for thread in self.threads() {
            if self.has("/probe/rows") && self.text("/probe/rows") == "events" {
                let counts = thread.at("/activations").as_object().unwrap();
                assert_eq!(counts.keys().collect::<Vec<_>>(), ["due"], "{thread:?}");
                let due = thread.whole("/activations/due");
                assert_eq!(
                    due,
                    thread.counted() + thread.whole("/evidence/samples_lost"),
                    "{thread:?}"
                );
                continue;
            }
            let [due, on_time, late, skipped] = ["due", "on_time", "late", "skipped"]
                .map(|what| thread.whole(&format!("/activations/{what}")));
            assert_eq!(due, on_time + late + skipped, "{thread:?}");
            assert_eq!(
                on_time + late,
                thread.counted() + thread.whole("/evidence/samples_lost"),
                "{thread:?}"
            );
        }
        assert!(!self.warns_of("accounting-differs"), "{:?}", self.at("/warnings"));
    }
}

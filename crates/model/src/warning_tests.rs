// SPDX-License-Identifier: MIT OR Apache-2.0
//! Warnings in `run.json`: each as its schema has it, and none refused.

use super::*;
use crate::Document;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};

/// A recording with warnings of every kind.
const RECORDED: &str = include_str!("../../../fuzz/corpus/run_json/warnings.json");

fn recorded() -> Vec<Value> {
    let document: Value = serde_json::from_str(RECORDED).unwrap();
    document["warnings"].as_array().unwrap().clone()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

/// The fields that each warning has, and those that it may have, by its code.
fn fields_of_schema() -> BTreeMap<String, [BTreeSet<String>; 2]> {
    let schema: Value =
        serde_json::from_str(include_str!("../../../docs/run.schema.json")).unwrap();
    let kinds = schema["$defs"]["warning"]["oneOf"].as_array().unwrap().clone();
    let fields = |kind: &Value| {
        let required = kind["required"].as_array().unwrap().iter().map(text).collect();
        [required, kind["properties"].as_object().unwrap().keys().cloned().collect()]
    };
    let known = kinds.iter().filter(|kind| kind["properties"]["code"]["const"].is_string());
    known.map(|kind| (text(&kind["properties"]["code"]["const"]), fields(kind))).collect()
}

#[test]
fn each_warning_is_read_as_itself_and_written_as_it_was() {
    for value in recorded() {
        let warning: Warning = serde_json::from_value(value.clone()).unwrap();
        assert_eq!(matches!(warning, Warning::Other(_)), value["code"] == "too-hot", "{warning:?}");
        assert_eq!(serde_json::to_value(&warning).unwrap(), value);
    }
}

#[test]
fn each_warning_has_the_fields_of_its_schema() {
    let mut recorded = recorded();
    recorded.retain(|value| value["code"] != "too-hot");
    let (schema, mut found) = (fields_of_schema(), BTreeMap::<String, BTreeSet<String>>::new());
    for value in recorded {
        let warning: Warning = serde_json::from_value(value).unwrap();
        let written = serde_json::to_value(&warning).unwrap();
        let fields: BTreeSet<String> = written.as_object().unwrap().keys().cloned().collect();
        let code = text(&written["code"]);
        let [required, _] = &schema[&code];
        assert!(required.is_subset(&fields), "{code}: {fields:?}");
        found.entry(code).or_default().extend(fields);
    }
    // What a warning may have, one of those that were recorded has.
    assert_eq!(found, schema.into_iter().map(|(code, [_, all])| (code, all)).collect());
}

#[test]
fn a_warning_of_a_later_version_is_kept_whole() {
    let mut document: Document = serde_json::from_str(RECORDED).unwrap();
    let Some(Warning::Other(other)) = document.warnings.pop() else {
        panic!("{:?}", document.warnings)
    };
    assert_eq!(
        (other.code.as_str(), &other.fields["celsius"], other.fields.len()),
        ("too-hot", &json!(105), 3)
    );
}

#[test]
fn a_known_code_with_other_fields_is_kept_whole() {
    for value in [
        json!({
            "code": "steal-time", "message": "Steal time.", "evidence": "CPU 0: 10 ms",
            "next_step": "",
        }),
        json!({"code": "load-died", "load": "cpu", "failure": {"reason": "eaten"}, "output": ""}),
        json!({"code": "loads-elsewhere", "bare": [0], "loaded": [1], "load": ",,"}),
    ] {
        let warning: Warning = serde_json::from_value(value.clone()).unwrap();
        assert!(matches!(warning, Warning::Other(_)), "{warning:?}");
        assert_eq!(serde_json::to_value(&warning).unwrap(), value);
    }
    assert!(serde_json::from_value::<Warning>(json!({"message": "no code"})).is_err());
}

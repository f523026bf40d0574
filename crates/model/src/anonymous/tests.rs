// SPDX-License-Identifier: MIT OR Apache-2.0
//! A canary in the place of every text, one at a time: it is nowhere in what comes out, but where
//! texts are meant to stay.

use super::*;
use crate::{EXPLAINED_VERSION, Explained};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// No word of ours, and none that is known to be a name.
const CANARY: &str = "zq7canary9x";
/// Texts that stay as they are, and why.
const STAY: [(&str, &str); 11] = [
    ("format", "it is checked before: one text"),
    ("host.before.architecture", "decides latency"),
    ("host.before.kernel", "decides latency"),
    ("host.before.kernel_version", "decides latency; who built it, user@host, goes"),
    ("host.before.cpu_model", "decides latency"),
    ("host.after.architecture", "decides latency"),
    ("host.after.kernel", "decides latency"),
    ("host.after.kernel_version", "decides latency; who built it, user@host, goes"),
    ("host.after.cpu_model", "decides latency"),
    ("probe.columns[].name", "the column in the samples file, named by the probe"),
    ("threads[].columns[].name", "the same"),
];
/// The same in explain.json: functions and files of the kernel.
const STAY_EXPLAINED: [&str; 13] = [
    ".function",
    ".called_by[]",
    ".interrupted",
    ".off_at",
    ".on_at",
    ".sources.function.file",
    ".sources.called_by[].file",
    ".sources.interrupted.file",
    ".sources.off_at.file",
    ".sources.on_at.file",
    ".inlined[].file",
    ".source.file",
    "timeline.names[]",
];

/// A recording in which each field of text has one.
fn recorded() -> Value {
    let mut value: Value =
        serde_json::from_str(include_str!("../../../../fuzz/corpus/run_json/warnings.json"))
            .unwrap();
    value["probe"] = serde_json::to_value(crate::ProbeStatement::cyclic()).unwrap();
    value["threads"][0]["histogram_ns"]["buckets"] = json!([]);
    value["threads"][0]["columns"] = json!([{
        "name": "exit_ns", "values": null, "histogram": {"relative_error": 0.01, "buckets": []},
    }]);
    value["command_line"] = json!([
        "/home/alice/teiji",
        "measure",
        "-t",
        "2",
        "--load",
        "cmd:\"run secret\",nice=3",
        "-osecret",
        "--",
        "x",
        "y"
    ]);
    value["end"] = json!({
        "reason": "probe-failed", "error": "cannot read /dev/rtc0: No such device (os error 19)",
    });
    value["run"]["title"] = json!("Robot at ACME");
    value["run"]["probe_settings"] = json!({"from": "/dev/alice", "period": "1ms"});
    value["run"]["loads"] =
        json!(["cmd:\"run secret\",cpus=0+1", "disk,dir=/home/alice/x,size=4M", "cpu@50%"]);
    value["load"] = json!([{
        "spec": "cmd:\"run secret\",cpus=0+1", "requested": null, "reached": null, "cpus": [0],
        "rate": {"bytes_per_s": 1.0}, "tasks": 1, "alive": true
    }]);
    value["instrument"]["co_kernel"] = json!({
        "name": "Cobalt", "version": "3.2.1", "abi": 17, "gravity": "irq 1 ns", "chosen": true,
    });
    let busiest = json!([
        {"pid": 9, "name": "robotd", "cpu_ms": 5, "kernel_thread": false},
        {"pid": 2, "name": "kworker/0:1-events", "cpu_ms": 5, "kernel_thread": true}
    ]);
    value["host"]["processes"] =
        json!({"own_ms": 3, "others_ms": 4, "kernel_ms": 5, "elapsed_ms": 60, "busiest": busiest});
    for facts in ["before", "after"] {
        for list in ["interrupts", "softirqs", "cpus"] {
            value["host"][facts][list].as_array_mut().unwrap().truncate(1);
        }
        value["host"][facts]["hostname"] = json!("robot-3");
        value["host"][facts]["unreadable"] = json!([{
            "path": "/proc/interrupts", "line": 3, "item": "a number",
            "error": "Permission denied (os error 13)",
        }]);
    }
    let file = json!({"path": "/home/alice/bzImage", "sha256": "0123abcd"});
    value["lab"] = json!({
        "guest": {
            "machine": "x86_64", "memory_mib": 512, "cpus": 1,
            "time": {"mode": "virtual", "shift": 0}, "kernel_args": "isolcpus=1 pw=x",
        },
        "ns_per_instruction": 1, "deterministic": true, "accelerator": "tcg",
        "kernel": {"name": "/home/alice/bzImage", "image": file, "modules": "/home/alice/modules"},
        "device_tree": file, "program": file, "modules": ["8250", "rtc-cmos"],
        "initramfs_sha256": "01", "snapshot": {"key": "02", "task_sha256": "03"},
        "qemu": {"version": "10.0.0", "origin": "path",
            "command_line": [
                "/home/alice/qemu", "-machine", "pc", "-kernel", "/home/alice/bzImage", "-initrd",
                "initramfs", "-append", "console=ttyS0 isolcpus=1",
            ]},
        "host_ms": 5
    });
    value
}

fn explained() -> Value {
    let source = json!({
        "file": "kernel/sched/core.c", "line": 3,
        "inlined": [{"function": "f", "file": "include/x.h", "line": 1}],
    });
    json!({"version": EXPLAINED_VERSION, "identical_samples": 1, "accounts": [{
        "thread": 0, "activation": 1, "latency_ns": 5, "parts": [{
            "kind": "switch", "begin_ns": 0, "length_ns": 5, "function": "schedule",
            "called_by": ["do_it"], "task": "robotd", "next_task": "teiji",
            "interrupted": "f", "off_at": "f", "on_at": "g",
            "other_cpu": {"function": "f", "called_by": ["g"], "task": "robotd"},
            "mostly": [{"function": "f", "own_ns": 1, "source": source}],
            "sources": {
                "function": source, "called_by": [source], "interrupted": source, "off_at": source,
                "on_at": source,
            }
        }],
        "timeline": {"names": ["robotd", "schedule"], "spans": [[0, 0, 0, 5], [1, 1, 0, 5]]}
    }]})
}

/// Where texts are: a pointer to each, and the same with `[]` for every index. Keys of maps end
/// with `{}`.
fn texts(value: &Value, at: &str, name: &str, found: &mut Vec<(String, String)>) {
    match value {
        Value::String(_) => found.push((at.to_owned(), name.trim_start_matches('.').to_owned())),
        Value::Array(values) => {
            values.iter().enumerate().for_each(|(place, value)| {
                texts(value, &format!("{at}/{place}"), &format!("{name}[]"), found)
            });
        }
        Value::Object(fields) => fields.iter().for_each(|(key, value)| {
            let key_at = key.replace('~', "~0").replace('/', "~1");
            found.push((
                format!("{at}/{key_at}"),
                format!("{}.{{{key}}}", name.trim_start_matches('.')),
            ));
            texts(value, &format!("{at}/{key_at}"), &format!("{name}.{key}"), found);
        }),
        _ => {}
    }
}

/// With this in the place of a text, or of a key where the name ends with it.
fn planted(whole: &Value, at: &str, name: &str, canary: &str) -> Value {
    let mut value = whole.clone();
    if name.ends_with('}') {
        let (parent, key) = at.rsplit_once('/').unwrap();
        let key = key.replace("~1", "/").replace("~0", "~");
        let fields = value.pointer_mut(parent).unwrap().as_object_mut().unwrap();
        let old = fields.remove(&key).unwrap();
        fields.insert(canary.to_owned(), old);
    } else {
        *value.pointer_mut(at).unwrap() = json!(canary);
    }
    value
}

/// Where a canary came through, of those that could be planted at all, and how many those were.
fn survivors<T: DeserializeOwned + Serialize>(
    whole: &Value,
    of: impl Fn(T) -> T,
) -> (BTreeSet<String>, BTreeSet<String>) {
    let mut found = Vec::new();
    texts(whole, "", "", &mut found);
    let (mut survived, mut planted_in) = (BTreeSet::new(), BTreeSet::new());
    // One of each list is enough, but for warnings, which are of many kinds.
    let mut seen = BTreeSet::new();
    found.retain(|(_, name)| name.starts_with("warnings") || seen.insert(name.clone()));
    for (at, name) in found {
        let old = whole.pointer(&at).and_then(Value::as_str).unwrap_or_default();
        let mixed = [
            CANARY.to_owned(),
            format!("{old} {CANARY}"),
            format!("{old}/{CANARY}=1"),
            format!("--{CANARY}"),
        ];
        for canary in mixed {
            let Ok(document) = serde_json::from_value::<T>(planted(whole, &at, &name, &canary))
            else {
                continue;
            };
            if !serde_json::to_string(&document).unwrap().contains(CANARY) {
                continue;
            }
            planted_in.insert(name.clone());
            if serde_json::to_string(&of(document)).unwrap().contains(CANARY) {
                survived.insert(name.clone());
            }
        }
    }
    (survived, planted_in)
}

fn anonymous(document: Document) -> Document {
    let pseudonyms = Pseudonyms::new([7; 32]);
    Anonymiser::new(&pseudonyms, &document).document(document)
}

#[test]
fn no_canary_survives_in_run_json() {
    let (survived, planted) = survivors(&recorded(), anonymous);
    let stay: BTreeSet<String> = STAY.iter().map(|(name, _)| (*name).to_owned()).collect();
    let leaked: Vec<_> = survived
        .iter()
        .filter(|name| !stay.contains(*name) && !name.ends_with(".cpu_model"))
        .collect();
    assert!(leaked.is_empty(), "{leaked:#?}");
    assert!(planted.len() > 120, "{}", planted.len());
    let unused: Vec<_> = stay.iter().filter(|name| !survived.contains(*name)).collect();
    assert!(unused.is_empty(), "need not be on the list: {unused:?}");
}

#[test]
fn no_canary_survives_in_explain_json() {
    let document: Document = serde_json::from_value(recorded()).unwrap();
    let pseudonyms = Pseudonyms::new([7; 32]);
    let anonymiser = Anonymiser::new(&pseudonyms, &document);
    let (survived, planted) =
        survivors::<Explained>(&explained(), |explained| anonymiser.explained(explained));
    let leaked: Vec<_> = survived
        .iter()
        .filter(|name| !STAY_EXPLAINED.iter().any(|stays| name.ends_with(stays)))
        .collect();
    assert!(leaked.is_empty(), "{leaked:#?}");
    assert!(planted.iter().any(|name| name.ends_with("next_task")), "{planted:?}");
    let shown =
        serde_json::to_string(&anonymiser.explained(serde_json::from_value(explained()).unwrap()))
            .unwrap();
    assert!(
        !shown.contains("robotd") && shown.contains("\"teiji\"") && shown.contains("schedule"),
        "{shown}"
    );
}

/// Names that are known from elsewhere in the recording go from sentences too, whatever words they
/// are.
#[test]
fn known_names_go_from_every_sentence() {
    let mut value = recorded();
    value["host"]["before"]["hostname"] = json!("interrupts");
    value["host"]["processes"]["busiest"][0]["name"] = json!("busy thread");
    let found = "a busy thread runs on interrupts beside kworker/1:1 at 98";
    value["warnings"] = json!([{
        "code": "machine-check", "check": "kernel-workers", "found": found, "why": "It delays.",
        "action": null,
    }]);
    let written = serde_json::to_value(anonymous(serde_json::from_value(value).unwrap())).unwrap();
    let said = written["warnings"][0]["found"].as_str().unwrap();
    let process = written["host"]["processes"]["busiest"][0]["name"].as_str().unwrap();
    let host = written["host"]["before"]["hostname"].as_str().unwrap();
    assert_eq!(said, format!("a {process} runs on {host} beside kworker/1:1 at 98"));
}

/// What decides latency is the same, and so is every figure.
#[test]
fn conditions_and_figures_stay() {
    for text in [
        include_str!("../../../../fuzz/corpus/run_json/complete.json"),
        include_str!("../../../../fuzz/corpus/run_json/warnings.json"),
    ] {
        let before: Document = serde_json::from_str(text).unwrap();
        let after = anonymous(before.clone());
        assert!(after.anonymous);
        assert_eq!(
            (&after.threads, &after.probe, &after.instrument),
            (&before.threads, &before.probe, &before.instrument)
        );
        assert_eq!(
            (&after.run, &after.started_at, &after.load),
            (&before.run, &before.started_at, &before.load)
        );
        let (was, is) = (&before.host.before, &after.host.before);
        assert_eq!(
            (&is.cpus, &is.interrupts, &is.softirqs),
            (&was.cpus, &was.interrupts, &was.softirqs)
        );
        assert_eq!(
            (&is.kernel, &is.cpu_model, &is.clocksource, &is.preemption),
            (&was.kernel, &was.cpu_model, &was.clocksource, &was.preemption)
        );
        assert_eq!(anonymous(after.clone()), after, "once is enough");
    }
}

/// What the kernel repeats of its command line in its own words, and addresses that it was given.
#[test]
fn nothing_of_the_command_line_survives_elsewhere() {
    const GONE: &str =
        "hunter robot7 alice acme 10.20 52:54 fe80 2001: 192.168 token robin rocky mallory trudy";
    let line = "isolcpus=managed_irq,0-N:1/4 token=hunter2 printk.devkmsg=hunter3 pci=hunter4 \
                robot7.key=hunter5 hunter6 \
                ip=10.20.30.40:10.20.30.5:10.20.30.1:255.255.255.0:robot7:eth0:off \
                nfsroot=10.20.30.5:/srv/alice/root,vers=3 isolcpus=192.168.3.3/24 \
                mitigations=2001:470::5 console=192.168.3.4:80/x nohz_full=1 log=/home/mallory/x \
                idle=poll";
    let console = "[    0.0] PCI: Unknown option `hunter4'\n\
         [    0.0] printk: printk.devkmsg: bad option string 'hunter3'\n\
         [    0.1] Unknown kernel command line parameters \"token=hunter2\", will be passed to \
         user space.\n\
         [    0.1] robot7: unknown parameter 'key' ignored\n\
         [    0.1] robot7 has hunter5, hunter6 of mallory\n\
         [    0.2]   with environment:\n\
         [    0.2]     token=hunter2\n\
         [    0.2] Booting kernel: `hunter9' invalid\n\
         [    2.0]      device=eth0, hwaddr=52:54:00:12:34:56, ipaddr=10.20.30.40, \
         mask=255.255.255.0, gw=10.20.30.1\n\
         [    2.0]      host=robin, domain=acme.example, nis-domain=(none)\n\
         [    2.0]      bootserver=10.20.30.5, rootserver=10.20.30.5, rootpath=/srv/alice/root\n\
         [    2.1] VFS: Mounted root (nfs filesystem) on 10.20.30.5:/srv/alice.\n\
         [    2.1] of 10.20.30.5:/opt/trudy\n\
         [    2.2] eth0: 10.20.30.40/24 up,\tfe80::5054:ff:fe12:3456\n\
         [    2.3] on\t/home/trudy/x\n\
         [    2.3] clocksource: tsc: mask: 0xffffffff, max_idle_ns: 881590482973 ns\n\
         [    2.4] Mitigations: off, 2.0.1-rt5\n";
    let mut value = recorded();
    value["lab"]["guest"]["kernel_args"] = json!("token=hunter2 isolcpus=1");
    value["command_line"] =
        json!(["teiji", "measure", "--interval=192.168.9.9/1", "-a", "192.168.5.5/8"]);
    for facts in ["before", "after"] {
        value["host"][facts]["kernel_command_line"] = json!(line);
        let description = "2001:470:20::2 52:54:00:12:34:56/x aa@192.168.0.7:22";
        value["host"][facts]["interrupts"] =
            json!([{"name": "192.168.1.1/24", "description": description, "counts": [1]}]);
    }
    let found = "found at 192.168.7.8/24 by ip=rocky and hunter5 ";
    value["warnings"] = json!([{
        "code": "machine-check", "check": "x", "found": found, "why": "mark",
        "action": "ssh a@10.20.0.5/x",
    }]);
    let document: Document = serde_json::from_value(value).unwrap();
    let pseudonyms = Pseudonyms::new([7; 32]);
    let anonymiser = Anonymiser::new(&pseudonyms, &document);
    let shown = anonymiser.console(console).text;
    let after = anonymiser.document(document);
    let written = serde_json::to_string(&after).unwrap();
    for name in GONE.split(' ') {
        assert!(!shown.contains(name), "{name}: {shown}");
        assert!(!written.contains(name), "{name}: {written}");
    }
    for stays in [
        "tsc: mask: 0xffffffff, max_idle_ns: 881590482973 ns\n",
        "Mitigations: off, 2.0.1-rt5\n",
        "     device=eth0, ",
    ] {
        assert!(shown.contains(stays), "{shown}");
    }
    let arguments = after.host.before.kernel_command_line.unwrap();
    assert!(
        arguments.starts_with("isolcpus=managed_irq,0-N:1/4 argument-")
            && arguments.ends_with(" idle=poll"),
        "{arguments}"
    );
}

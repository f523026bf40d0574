// SPDX-License-Identifier: MIT OR Apache-2.0
//! Plans as they are written, and what they add up to.

use super::*;
use crate::BootSettings;
use crate::plan_file::ReadFile;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;

fn files<'a>(texts: &'a [(&'a str, &'a str)]) -> impl FnMut(&Path) -> io::Result<String> + 'a {
    move |path| {
        let found = texts
            .iter()
            .find(|(name, _)| Path::new(name) == path)
            .map(|(_, text)| (*text).to_owned());
        found.ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

fn read(texts: &[(&str, &str)]) -> Result<Plan, PlanErrors> {
    let mut files = files(texts);
    let files: &mut ReadFile<'_> = &mut files;
    Plan::read(Path::new(texts[0].0), files)
}

fn plan(text: &str) -> Plan {
    read(&[("plan.toml", text)]).unwrap()
}

/// What is said of a plan, read or expanded.
fn refused(text: &str) -> String {
    let found = read(&[("plan.toml", text)]).and_then(|plan| plan.combinations());
    found.map(|_| ()).unwrap_err().to_string()
}

/// `interval=1ms load=none`, for each.
fn written(plan: &Plan) -> Vec<String> {
    let one = |combination: &Combination| {
        let settings =
            combination.settings.iter().map(|setting| format!("{}={}", setting.key, setting.value));
        settings.collect::<Vec<_>>().join(" ")
    };
    plan.combinations().unwrap().iter().map(one).collect()
}

const TOSHIBA: &str = r#"
title = "Response time under memory load"
[measure]
policy = "fifo"
prio = 80
cpus = "1"
samples = 100_000
[vary]
kernel = ["debian:amd64", "debian:rt-amd64"]
interval = ["300us", "500us", "1ms"]
load = ["none", "cpu@50%", "cpu@100%", "mem-alloc@50%", "mem-alloc@100%"]
[order]
repeat = 3
shuffle = true
[limits]
max = "100us"
"p99.99" = "50us"
"#;

#[test]
fn the_example_is_read() {
    let plan = plan(TOSHIBA);
    assert_eq!(plan.title.as_deref(), Some("Response time under memory load"));
    assert_eq!(plan.order, RunOrder { repeat: 3, shuffle: true, seed: None });
    assert_eq!(
        plan.limits.iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["max<100us", "p99.99<50us"]
    );
    let all = written(&plan);
    assert_eq!(all.len(), 30);
    assert_eq!(
        all[0],
        "policy=fifo prio=80 cpus=1 samples=100000 kernel=debian:amd64 interval=300us load=none"
    );
    assert_eq!(
        all[1],
        "policy=fifo prio=80 cpus=1 samples=100000 kernel=debian:amd64 interval=300us load=cpu@50%"
    );
    assert!(all[29].ends_with("kernel=debian:rt-amd64 interval=1ms load=mem-alloc@100%"));
    assert_eq!(plan.order.runs(30, 7).len(), 90);
}

#[test]
fn values_are_words_as_they_would_be_typed() {
    let plan = plan(
        "[measure]\ncatch-up = true\nno-dma-latency = false\nprio = 0x50\nload = ['cpu@50%', \
         'io-sync']\n[vary]\nload = ['none', ['cpu', 'net']]\n",
    );
    let error = plan.combinations().unwrap_err().to_string();
    assert_eq!(
        error,
        "plan.toml:7:9: 'load' is varied, and set for every run at plan.toml:5:1: one of them"
    );
    let switches: Vec<(&str, String)> = plan
        .measure
        .iter()
        .map(|setting| (setting.key.as_str(), setting.value.to_string()))
        .collect();
    assert_eq!(
        switches,
        [
            ("catch-up", "true".to_owned()),
            ("no-dma-latency", "false".to_owned()),
            ("prio", "80".to_owned()),
            ("load", "cpu@50% + io-sync".to_owned())
        ]
    );
    assert_eq!(plan.vary[0].values[0].value, Value::Words(Vec::new()));
    assert_eq!(
        plan.vary[0].values[1].value,
        Value::Words(vec!["cpu".to_owned(), "net".to_owned()])
    );
}

#[test]
fn all_errors_are_reported_at_once() {
    let text = "[measure]\nprio = { }\n[vary]\nload = 'cpu'\ninterval = ['1ms', \
                '1ms']\n[order]\nrepeat = 0\nshuffle = 3\n[orders]\n";
    let places = |output: &str| {
        let place = |line: &str| {
            line.trim().split(' ').next().unwrap().trim_start_matches("plan.toml:").to_owned()
        };
        output.lines().skip(1).map(place).collect::<Vec<_>>()
    };
    let output = refused(text);
    assert!(output.starts_with("6 errors in the plan\n  plan.toml:2:8: "), "{output}");
    assert_eq!(places(&output), ["2:8:", "4:8:", "5:20:", "7:10:", "8:11:", "9:2:"], "{output}");
    let text = "[measure]\nprio = 3\n[vary]\nprio = [1, 2]\n[[exclude]]\nload = \
                'cpu'\n[[exclude]]\nprio = 5\n";
    assert_eq!(places(&refused(text)), ["4:9:", "6:1:", "8:1:"]);
    let output = refused("[measure]\nprio = \nload = cpu\n");
    assert!(
        output.starts_with("2 errors in the plan") && output.contains("plan.toml:3:8: "),
        "{output}"
    );
}

#[test]
fn a_plan_as_run_is_the_same_plan() {
    let text = r#"
title = "Quotes \" and \\ and \u0007"
include = "base.toml"
[measure]
catch-up = true
load = ["cpu", 'cmd:"sleep 3"']
[vary]
interval = ["1ms", 500]
append = ["none", "", "isolcpus=1 nohz=off"]
prio = ["none", 49]
[[exclude]]
append = ""
[order]
repeat = 2
shuffle = true
[limits]
"p99.99" = "50us"
"#;
    let original = read(&[
        ("plan.toml", text),
        ("base.toml", "[measure]\npolicy = 'rr'\n[[include]]\nprio = 9\ninterval = '3ms'"),
    ])
    .unwrap();
    let again = plan(&original.as_run(99));
    assert_eq!(again.order.seed, Some(99));
    assert_eq!(written(&again), written(&original));
    assert_eq!((&again.title, &again.limits), (&original.title, &original.limits));
    assert_eq!(again.as_run(99), original.as_run(99));
}

#[test]
fn the_short_form() {
    let text = "[measure]\nsamples = 100_000\n[vary]\ninterval = ['1ms', '2ms']\nload = ['none', \
                'cpu']\n[[exclude]]\ninterval = '2ms'\nload = 'cpu'\n[order]\nrepeat = \
                3\n[quick]\nsamples = 10\ninterval = ['1ms']\nprio = 5\n";
    let quick = plan(text).quick().unwrap();
    assert_eq!(quick.order.repeat, 1);
    assert_eq!(
        written(&quick),
        ["samples=10 prio=5 interval=1ms load=none", "samples=10 prio=5 interval=1ms load=cpu"]
    );
    let error = |text| plan(text).quick().unwrap_err().to_string();
    assert_eq!(
        error("[measure]\nprio = 3"),
        "plan.toml:1:1: this plan has no short form: no table [quick]"
    );
    assert_eq!(
        error("[vary]\nprio = [3]\n[quick]\nprio = 3"),
        "plan.toml:4:1: 'prio' is varied: give a list of values"
    );
}

#[test]
fn without_one_value_of_several() {
    let text = "[vary]\nprobe = ['auto', 'cyclic']\nload = ['cpu']\n[[exclude]]\nprobe = \
                'auto'\nload = 'cpu'\n[[exclude]]\nprobe = 'cyclic'\nload = 'cpu'\n";
    let all = plan(text);
    assert!(
        all.varies("probe", "cyclic")
            && !all.varies("probe", "spawn")
            && !all.varies("load", "cpu")
    );
    let without = all.clone().without_value("probe", "auto");
    assert_eq!((without.vary[0].values.len(), without.exclude.len()), (1, 1));
    assert_eq!(
        without.clone().without_value("probe", "cyclic").vary[0].values.len(),
        1,
        "the last one stays"
    );
    assert_eq!(without.without_value("load", "cpu").vary[1].values.len(), 1);
}

#[test]
fn without_some_flags() {
    let text = "[measure]\nprio = 5\nmemory = 600\n[vary]\nkernel = ['a', 'b']\nload = ['none', \
                'cpu']\n[[exclude]]\nkernel = 'a'\nload = 'cpu'\n[[include]]\nkernel = \
                'c'\n[quick]\nmemory = 300\nprio = 6\n";
    let here = plan(text).without(&["kernel", "memory"]);
    assert_eq!(written(&here), ["prio=5 load=none", "prio=5 load=cpu"]);
    assert_eq!(written(&here.quick().unwrap()), ["prio=6 load=none", "prio=6 load=cpu"]);
}

#[test]
fn a_boot_has_its_own_exclusions_and_additions() {
    let plan = plan(
        "[vary]\nkernel = ['a', 'b']\nload = ['none', 'cpu']\n[[exclude]]\nkernel = 'a'\nload = \
         'cpu'\n[[exclude]]\nkernel = 'b'\nload = 'none'\n[[include]]\nkernel = 'a'\ninterval = \
         '3ms'\n[[include]]\nkernel = 'c'\ninterval = '5ms'\n[[include]]\nsmp = 2\nload = \
         'cpu'\n[[include]]\ninterval = '7ms'\n",
    );
    let in_boot = |kernel: Option<&str>| {
        let boot =
            kernel.map(|kernel| BootSettings { values: [kernel, "none"].map(str::to_owned) });
        let plan = plan.clone().in_boot(&["kernel", "append", "smp"], boot.as_ref());
        let combinations = plan.combinations().unwrap();
        combinations.iter().map(|one| plan.label(one)).collect::<Vec<_>>()
    };
    let every = "load=none interval=7ms";
    let a = ["load=none", "load=none interval=3ms", "load=cpu", every];
    assert_eq!(in_boot(Some("a")), a);
    assert_eq!(in_boot(Some("b")), ["load=cpu", every]);
    // Of a kernel that is added alone, nothing else is measured.
    assert_eq!(in_boot(Some("c")), ["load=none interval=5ms", "load=cpu", every]);
    // One that the plan does not ask for has all of the factors.
    assert_eq!(in_boot(None), ["load=none", "load=cpu", every]);
}

/// They were measured in the boot that only an addition names.
#[test]
fn a_plans_own_runs_are_not_of_a_boot_that_an_addition_names() {
    let of = |text: &str, boot: [&str; 2]| {
        let boot = BootSettings { values: boot.map(str::to_owned) };
        let here = plan(text).in_boot(&["kernel", "append"], Some(&boot));
        // As a folder has it.
        let here = plan(&here.as_run(1));
        let combinations = here.combinations().unwrap();
        combinations.iter().map(|one| here.label(one)).collect::<Vec<_>>()
    };
    let alone = "[measure]\nsamples = 9\n[[include]]\nkernel = 'c'\nprio = 10\n";
    assert_eq!(of(alone, ["c", "none"]), ["prio=10"]);
    assert_eq!(of(alone, ["none", "none"]), [""]);
    let beside = "[vary]\nkernel = ['a', 'b']\n[[include]]\nkernel = 'c'\nprio = 10\n";
    assert_eq!(of(beside, ["c", "none"]), ["prio=10"]);
    assert_eq!(of(beside, ["a", "none"]), [""]);
    let tuned = "[vary]\nkernel = ['a', 'b']\nload = ['none', 'cpu']\n[[include]]\nkernel = \
                 'a'\nappend = 'nosmt'\nload = 'cpu'\n";
    assert_eq!(of(tuned, ["a", "nosmt"]), ["load=cpu"]);
    assert_eq!(of(tuned, ["a", "none"]), ["load=none", "load=cpu"]);
    // The addition is what the plan measures, in another boot.
    let same = "[measure]\nsamples = 9\n[[include]]\nkernel = 'c'\n";
    assert_eq!(of(same, ["c", "none"]), [""]);
}

#[test]
fn combinations_are_left_out_and_added() {
    let plan = plan(
        "[vary]\ninterval = ['1ms', '2ms']\nload = ['none', 'cpu', 'net']\n[[exclude]]\ninterval \
         = '2ms'\nload = 'net'\n[[exclude]]\nload = 'cpu'\n[[include]]\ninterval = '5ms'\nprio = \
         10\n",
    );
    let all = written(&plan);
    assert_eq!(
        all,
        [
            "interval=1ms load=none",
            "interval=1ms load=net",
            "interval=2ms load=none",
            "load=none interval=5ms prio=10"
        ]
    );
    assert_eq!(
        plan.combinations().unwrap()[3].factors,
        [Some(Value::Words(vec!["5ms".to_owned()])), Some(Value::Words(Vec::new()))]
    );
}

/// It stood in a row of its own beside that of `load = "none"`, and was compared with it.
#[test]
fn a_load_that_is_left_out_is_none() {
    let of = |include: &str| {
        plan(&format!("[vary]\nload = ['cpu', 'net']\nprio = [1, 2]\n[[include]]\n{include}\n"))
    };
    let last = |plan: Plan| plan.combinations().unwrap().pop().unwrap();
    let combination = last(of("interval = '5ms'"));
    assert_eq!(combination.factors, [Some(Value::Words(Vec::new())), None]);
    let said = last(of("interval = '5ms'\nload = 'none'"));
    assert_eq!(key_of(&combination.settings), key_of(&said.settings));
}

#[test]
fn an_included_plan_lies_below() {
    let base = "title = 'below'\n[measure]\nprio = 80\npolicy = 'rr'\n[vary]\nload = \
                ['none']\ninterval = ['1ms']\n[order]\nrepeat = 2\n[limits]\nmax = '1ms'\np99 = \
                '50us'\n";
    let above = "include = 'base.toml'\n[measure]\nprio = 90\n[vary]\nload = ['cpu', \
                 'net']\n[limits]\nmax = '2ms'\n";
    let plan = read(&[("plans/above.toml", above), ("plans/base.toml", base)]).unwrap();
    assert_eq!(plan.title.as_deref(), Some("below"));
    assert_eq!(
        written(&plan),
        ["prio=90 policy=rr load=cpu interval=1ms", "prio=90 policy=rr load=net interval=1ms"]
    );
    assert_eq!(plan.order.repeat, 2);
    assert_eq!(
        plan.limits.iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["p99<50us", "max<2ms"]
    );

    let error = read(&[("a.toml", "include = 'b.toml'"), ("b.toml", "include = 'a.toml'")])
        .unwrap_err()
        .to_string();
    assert!(error.contains("is this a circle?"), "{error}");
    let error = read(&[("a.toml", "include = 'b.toml'")]).unwrap_err().to_string();
    assert!(error.starts_with("cannot read the plan b.toml, included at a.toml:1:1: "), "{error}");
}

#[test]
fn what_is_wrong_is_named_with_line_and_column() {
    for (text, output) in [
        (
            "titel = 'x'",
            "plan.toml:1:1: unknown key 'titel'; the keys of a plan are title, measure,",
        ),
        ("title = 3", "plan.toml:1:1: 'title' is written as title = \"TEXT\""),
        ("[vary]\nload = ['a',\n 'ä' 'b']", "plan.toml:3:6: "),
        ("[vary]\nload = 'none'", "plan.toml:2:8: 'load' is varied: give a list"),
        ("[vary]\nload = []", "plan.toml:2:8: 'load' has no value"),
        (
            "[vary]\nload = ['cpu', 'net', 'cpu']",
            "plan.toml:2:23: 'cpu' is listed already, at plan.toml:2:9",
        ),
        ("[vary]\nload = [{a = 1}]", "plan.toml:2:9: 'load' takes text, numbers"),
        ("[measure]\nprio = 99999999999999999999", "plan.toml:2:8: "),
        ("[order]\nrepeat = 0", "plan.toml:2:10: 'repeat' is a whole number from 1 to 10000"),
        ("[order]\nrepeat = 'two'", "plan.toml:2:10: 'repeat' is a whole number"),
        ("[order]\nshuffle = 1", "plan.toml:2:11: 'shuffle' is true or false"),
        ("[order]\nseed = -1", "plan.toml:2:8: 'seed' is a whole number from 0 to"),
        ("[order]\nrandom = true", "plan.toml:2:1: unknown key 'random'"),
        ("[limits]\nmax = 'soon'", "plan.toml:2:7: "),
        ("[limits]\nMedian = '1ms'", "plan.toml:2:1: invalid limit 'Median<1ms'"),
        ("exclude = 3", "plan.toml:1:1: 'exclude' is written as tables, [[exclude]]"),
        ("[vary]\nload = ['cpu']\n[[exclude]]", "plan.toml:1:1: [[exclude]] is empty"),
        ("[[exclude]]", "plan.toml:1:1: no run is left"),
        ("[vary]\nload = ['cpu']\n[[exclude]]\nprio = 3", "plan.toml:4:1: 'prio' is not varied"),
        (
            "[vary]\nload = ['cpu']\n[[exclude]]\nload = 'cup'",
            "plan.toml:4:1: 'cup' is not among the values of 'load'",
        ),
        ("[vary]\nload = ['cpu']\n[[exclude]]\nload = 'cpu'", "plan.toml:1:1: no run is left"),
        (
            "[vary]\nload = ['cpu']\n[[include]]\nload = 'cpu'",
            "plan.toml:4:1: this combination is there already",
        ),
    ] {
        let error = refused(text);
        assert!(error.contains(output), "{text}\nsaid: {error}\nnot:  {output}");
    }
    let many = (0..1_000).map(|n| n.to_string()).collect::<Vec<_>>().join(",");
    assert!(
        refused(&format!("[vary]\nprio = [{many}]\ninterval = [{many}]\nload = [{many}]"))
            .contains("more than 50000 runs")
    );
}

/// A plan of factors `f0`, `f1`, ... with values 0, 1, ..., and which of their combinations are
/// excluded.
fn product(sizes: &[usize], excluded: &[Vec<usize>]) -> String {
    let mut text = "[vary]\n".to_owned();
    for (index, size) in sizes.iter().enumerate() {
        let values: Vec<String> = (0..*size).map(|value| value.to_string()).collect();
        text += &format!("f{index} = [{}]\n", values.join(", "));
    }
    for values in excluded {
        text += "[[exclude]]\n";
        for (index, value) in values.iter().enumerate() {
            text += &format!("f{index} = {value}\n");
        }
    }
    text
}

proptest! {
    #[test]
    fn the_product_has_its_size_and_no_duplicates(
        sizes in prop::collection::vec(1_usize..5, 1..5),
        picks in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let full: usize = sizes.iter().product();
        let mut excluded: Vec<Vec<usize>> = picks
            .iter()
            .map(|pick| {
                let mut number = pick.index(full);
                sizes
                    .iter()
                    .map(|size| {
                        let value = number % size;
                        number /= size;
                        value
                    })
                    .collect()
            })
            .collect();
        excluded.sort();
        excluded.dedup();
        let plan = plan(&product(&sizes, &excluded));
        prop_assume!(excluded.len() < full);
        let all = plan.combinations().unwrap();
        prop_assert_eq!(all.len(), full - excluded.len());
        let mut keys: Vec<Vec<(String, Value)>> =
            all.iter().map(|combination| key_of(&combination.settings)).collect();
        keys.sort();
        keys.dedup();
        prop_assert_eq!(keys.len(), all.len());
        for values in &excluded {
            let values: Vec<Option<Value>> =
                values.iter().map(|value| Some(Value::Words(vec![value.to_string()]))).collect();
            prop_assert!(all.iter().all(|combination| combination.factors != values));
        }
        prop_assert_eq!(plan.combinations().unwrap(), all);
    }

    #[test]
    fn each_round_has_each_combination_once(
        combinations in 1_usize..200,
        repeat in 1_u32..5,
        seed in any::<u64>(),
        shuffle in any::<bool>(),
    ) {
        let order = RunOrder { repeat, shuffle, seed: None };
        let runs = order.runs(combinations, seed);
        prop_assert_eq!(&order.runs(combinations, seed), &runs, "a seed gives one order");
        for (round, repeat) in runs.chunks(combinations).zip(1..) {
            prop_assert!(round.iter().all(|run| run.repeat == repeat));
            let mut sorted: Vec<usize> = round.iter().map(|run| run.combination).collect();
            if !shuffle {
                prop_assert!(sorted.is_sorted());
            }
            sorted.sort_unstable();
            prop_assert_eq!(sorted, (0..combinations).collect::<Vec<_>>());
        }
    }

    #[test]
    fn any_text_is_a_plan_or_refused(text in "[\\[\\]a-z'\"=.,0-9 \\n#-]{0,200}") {
        let _ = read(&[("plan.toml", &text)]).and_then(|plan| plan.combinations());
    }
}

/// Many phases are one word, or part of a list.
#[test]
fn phases_are_listed_by_their_ends() {
    let phases = |value: &str| {
        let plan = plan(&format!("[vary]\nload = ['cpu']\nphase = {value}\n"));
        // As it is resumed.
        let again = self::plan(&plan.as_run(1));
        assert_eq!(written(&again), written(&plan));
        plan.vary[1]
            .values
            .iter()
            .map(|setting| setting.value.to_string())
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert_eq!(phases("'1..4'"), "1 2 3 4");
    assert_eq!(phases("[0, '7..9', 17]"), "0 7 8 9 17");
    assert_eq!(
        refused("[vary]\nphase = ['1..3', 2]"),
        "plan.toml:2:18: '2' is listed already, at plan.toml:2:10"
    );
    assert_eq!(
        refused("[vary]\nphase = 3"),
        "plan.toml:2:9: 'phase' is varied: give a list of its values, or put it into [measure]"
    );
    assert!(
        refused("[vary]\nload = '1..3'")
            .starts_with("plan.toml:2:8: 'load' is varied: give a list")
    );
    let quick = plan("[vary]\nphase = '1..50'\n[quick]\nphase = '1..2'").quick().unwrap();
    assert_eq!(written(&quick), ["phase=1", "phase=2"]);
}

/// Orders are part of a record: the same in ten years. And fair: of the six orders of three, each
/// comes as often.
#[test]
fn shuffling_is_fixed_and_fair() {
    let order = RunOrder { repeat: 2, shuffle: true, seed: None };
    let places: Vec<usize> = order.runs(8, 42).iter().map(|run| run.combination).collect();
    assert_eq!(places, [3, 1, 6, 2, 4, 0, 7, 5, 0, 1, 3, 7, 5, 2, 6, 4]);
    let mut counts: BTreeMap<Vec<usize>, u32> = BTreeMap::new();
    for seed in 0..6_000 {
        let runs = RunOrder { repeat: 1, shuffle: true, seed: None }.runs(3, seed);
        *counts.entry(runs.iter().map(|run| run.combination).collect()).or_default() += 1;
    }
    assert_eq!(counts.len(), 6);
    assert!(counts.values().all(|count| (850..1_150).contains(count)), "{counts:?}");
}

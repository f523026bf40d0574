// SPDX-License-Identifier: MIT OR Apache-2.0
//! Probes that read the kernel's tracers, as far as this machine has them.

use crate::support::{TestFolder, exclusive};

/// What is missing is named, nothing is measured in its place, and nothing is left.
#[test]
fn tracers_that_are_not_here_are_named() {
    let _turn = exclusive();
    let place = TestFolder::new();
    for (name, option) in [("timerlat", "CONFIG_TIMERLAT_TRACER"), ("hwlat", "CONFIG_HWLAT_TRACER")]
    {
        let probe = probe::PROBES.iter().find(|probe| probe.name == name).unwrap();
        let Some(lacks) = probe.lacks() else {
            place.well(&format!("measure --probe {name} -d 1s -t 1 -q -o {name}.teiji"));
            place.well(&format!("verify {name}.teiji"));
            continue;
        };
        let output = place.teiji(&format!("measure --probe {name} -d 1s -t 1 -q -o {name}.teiji"));
        assert_eq!(output.code, Some(4), "{output:?}");
        assert!(output.err.contains(&lacks), "{output:?}");
        // Or the right to look.
        assert!(lacks.contains(option) || lacks.contains("root"), "{lacks}");
        assert!(!place.join(&format!("{name}.teiji")).exists());
    }
}

/// A setting that needs a tracer does not measure without one either, where the probe itself needs
/// nothing.
#[test]
fn an_account_that_the_kernel_cannot_give_is_not_made_up() {
    let _turn = exclusive();
    let place = TestFolder::new();
    let output =
        place.teiji("measure --probe noise --account osnoise -d 1s -t 1 -q -o noise.teiji");
    if output.code == Some(0) {
        // This kernel has it: each gap is the sum of its parts.
        let samples = place.well("export noise.teiji --samples").out;
        for line in samples.lines().skip(1) {
            let cells: Vec<i64> = line.split(',').map(|cell| cell.parse().unwrap()).collect();
            assert_eq!(cells[4], cells[5..10].iter().sum::<i64>(), "{line}");
        }
        return;
    }
    assert_eq!(output.code, Some(4), "{output:?}");
    let names = ["CONFIG_OSNOISE_TRACER", "OSNOISE_WORKLOAD", "root", "tracefs"];
    assert!(names.iter().any(|name| output.err.contains(name)), "{output:?}");
    assert!(!place.join("noise.teiji").exists());
    let output = place.teiji("measure --probe noise --account hwlat -d 1s -t 1 -q -o noise.teiji");
    assert!(
        output.code == Some(2) && output.err.contains("it is one of none, osnoise"),
        "{output:?}"
    );
}

#[test]
fn what_the_tracers_cannot_be_set_to() {
    let place = TestFolder::new();
    for (words, setting) in [
        ("timerlat -i 50us", "interval"),
        ("timerlat -i 1500ns", "interval"),
        ("timerlat --catch-up", "catch-up"),
        ("hwlat --hwlat-width 1s", "hwlat-width"),
        ("hwlat --hwlat-threshold 1500ns", "hwlat-threshold"),
        ("hwlat --policy fifo", "policy"),
    ] {
        let output = place.teiji(&format!("measure --probe {words} -d 1s -t 1 -q -o x.teiji"));
        assert_eq!(output.code, Some(2), "{words}: {output:?}");
        assert!(output.err.contains(&format!("'{setting}' of the probe")), "{words}: {output:?}");
    }
}

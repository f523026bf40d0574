// SPDX-License-Identifier: MIT OR Apache-2.0
//! Probes that read the kernel's tracers, as far as this machine has them.

use crate::support::{TestFolder, exclusive};

/// What is missing is named, nothing is measured in its place, and nothing is left.
#[test]
fn tracers_that_are_not_here_are_named() {
    let _turn = exclusive();
    let place = TestFolder::new();
    for (name, option) in [("timerlat", "CONFIG_TIMERLAT_TRACER"), ("hwlat", "CONFIG_HWLAT_TRACER")] {
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

// SPDX-License-Identifier: MIT OR Apache-2.0
use super::*;
use plan::Nanos;
use serde_json::{Value, json};

/// What a recording says of the lab, changed.
fn recorded(change: impl Fn(&mut Value)) -> Lab {
    let mut lab = json!({
        "guest": {
            "machine": "x86_64", "memory_mib": 512, "cpus": 1,
            "time": { "mode": "virtual", "shift": 0 }, "kernel_args": "",
        },
        "ns_per_instruction": 1, "deterministic": true, "accelerator": "tcg",
        "kernel": {
            "name": "debian:amd64=6.1.0-56", "image": { "path": "/k", "sha256": "00" },
            "modules": null,
        },
        "device_tree": null, "program": { "path": "/p", "sha256": "00" }, "modules": [],
        "initramfs_sha256": "00",
        "qemu": { "version": "0", "origin": "pinned", "command_line": [] }, "host_ms": 1,
    });
    change(&mut lab);
    serde_json::from_value(lab).unwrap()
}

/// A kernel, named by the user.
fn kernel(place: &Path) -> Kernel {
    let image = place.join("vmlinuz");
    fs::write(&image, "an image").unwrap();
    Kernel::at(&image).unwrap()
}

fn refused(lab: &Lab, named: &Named) -> String {
    let error = again(lab, &Run::example(Nanos::from_millis(1), 10), named).unwrap_err();
    assert!(error.is_bad_input(), "{error}");
    error.to_string()
}

/// A hostile recording: whatever it names has to be named by the user.
#[test]
fn nothing_is_taken_because_a_recording_names_it() {
    let place = tempfile::tempdir().unwrap();
    let kernel = kernel(place.path());
    let script = place.path().join("evil.sh");
    fs::write(&script, "#!/bin/sh\n").unwrap();
    let named = || Named { kernel: Some(kernel.clone()), ..Named::default() };
    let path = script.display().to_string();

    let lab = recorded(|lab| {
        lab["qemu"] =
            json!({ "version": "0", "origin": "path", "command_line": [path, "\u{1b}[2J"] })
    });
    let text = refused(&lab, &named());
    assert!(
        text.starts_with("the QEMU has to be named: --qemu FILE")
            && text.contains(&format!("it says '{path}'")),
        "{text}"
    );
    let target = again(
        &lab,
        &Run::example(Nanos::from_millis(1), 10),
        &Named { qemu: Some(Qemu::System), ..named() },
    )
    .unwrap();
    assert_eq!(
        (target.qemu, target.program),
        (Qemu::System, None),
        "the recorded program is not read"
    );

    let tree =
        recorded(|lab| lab["device_tree"] = json!({ "path": path, "sha256": "\u{1b}[31mred" }));
    let text = refused(&tree, &named());
    assert!(
        text.starts_with("the device tree has to be named: --dtb FILE")
            && text.contains("SHA-256 '\\u{1b}[31mred'"),
        "{text}"
    );

    let modules = recorded(|lab| {
        lab["kernel"]["modules"] = json!(place.path());
        lab["modules"] = json!(["8250"]);
    });
    let text = refused(&modules, &named());
    assert!(text.starts_with("the folder of modules has to be named: --modules DIR"), "{text}");
    let given = Named { modules: Some(place.path().into()), ..named() };
    let target = again(&modules, &Run::example(Nanos::from_millis(1), 10), &given).unwrap();
    assert_eq!(target.kernel.modules.as_deref(), Some(place.path()));
    // Those of the cache's kernel are not there with another one.
    let of_cache = recorded(|lab| {
        lab["kernel"]["modules"] =
            json!("/home/a/.cache/teiji/kernels/debian/6.1.0-56-amd64/modules");
        lab["modules"] = json!(["8250"]);
    });
    assert!(refused(&of_cache, &named()).starts_with("the folder of modules"));
    let with_its_own = Kernel { modules: Some("/of/the/cache".into()), ..kernel.clone() };
    let found = again(
        &of_cache,
        &Run::example(Nanos::from_millis(1), 10),
        &Named { kernel: Some(with_its_own), ..named() },
    );
    assert_eq!(found.unwrap().kernel.modules.as_deref(), Some(Path::new("/of/the/cache")));
    // None were loaded: none are needed.
    let unused = recorded(|lab| lab["kernel"]["modules"] = json!(place.path()));
    assert_eq!(
        again(&unused, &Run::example(Nanos::from_millis(1), 10), &named()).unwrap().kernel.modules,
        None
    );
}

#[test]
fn a_kernels_name_leads_to_no_other_place() {
    for name in [
        "/etc/hostname",
        "vmlinuz",
        "./x",
        "debian:amd64",
        "debian:amd64=6.1/../../../x",
        "debian:amd64=6.1.0-56/..",
        "debian:../amd64=6.1.0-56",
        "debian:amd64=6.1.0-56\u{1b}[2J",
        "debian:amd64=..",
        "\u{1b}[2J",
        "debian:amd64=6.1.0-56\n",
    ] {
        let text = refused(&recorded(|lab| lab["kernel"]["name"] = json!(name)), &Named::default());
        assert!(text.starts_with("the kernel has to be named: -k FILE"), "{name:?}: {text}");
        assert!(!text.contains(char::is_control), "{text:?}");
    }
    let long = refused(
        &recorded(|lab| lab["kernel"]["name"] = json!("x".repeat(100_000))),
        &Named::default(),
    );
    assert!(long.len() < 1_000 && long.contains('…'), "{}", long.len());
}

#[test]
fn a_guest_that_cannot_be_or_is_too_large_is_refused() {
    let place = tempfile::tempdir().unwrap();
    let named = Named { kernel: Some(kernel(place.path())), ..Named::default() };
    for (key, value, says) in [
        ("memory_mib", json!(1_000_000), "--memory 1000000"),
        ("cpus", json!(4_000_000_000_u32), "cannot be"),
        ("kernel_args", json!("rdinit=/bin/sh"), "'rdinit=/bin/sh' is not allowed"),
        ("time", json!({ "mode": "host" }), "on the host's clock"),
    ] {
        let text = refused(&recorded(|lab| lab["guest"][key] = value.clone()), &named);
        assert!(text.contains(says), "{text}");
    }
    let years = again(&recorded(|_| ()), &Run::example(Nanos::from_secs(60), 10_000_000), &named)
        .unwrap_err();
    assert!(years.is_bad_input() && years.to_string().contains("--expect"), "{years}");
}

#[test]
fn files_are_compared_before_a_guest_boots() {
    let place = tempfile::tempdir().unwrap();
    let kernel = kernel(place.path());
    let program = place.path().join("teiji");
    fs::write(&program, crate::program::tests::elf(2, 62, 1)).unwrap();
    let tree = place.path().join("dtb");
    fs::write(&tree, "a tree").unwrap();
    let hash = |path: &Path| sha256(&fs::read(path).unwrap());
    let named = Named {
        kernel: Some(kernel.clone()),
        program: Some(program.clone()),
        device_tree: Some(tree.clone()),
        ..Named::default()
    };
    let lab = recorded(|lab| {
        lab["kernel"]["image"]["sha256"] = json!(hash(&kernel.image));
        lab["program"]["sha256"] = json!(hash(&program));
        lab["device_tree"] = json!({ "path": "/elsewhere", "sha256": hash(&tree) });
    });
    let target = again(&lab, &Run::example(Nanos::from_millis(1), 10), &named).unwrap();
    assert_eq!(changed_files(&lab, &target).unwrap(), []);
    let other = recorded(|_| ());
    let changed = changed_files(&other, &target).unwrap();
    assert_eq!(
        changed.iter().map(|changed| changed.what).collect::<Vec<_>>(),
        hashes(&lab).map(|(name, _)| name)
    );
    assert!(
        changed[0].to_string().contains("and the recording says '00'. To name it: -k"),
        "{}",
        changed[0]
    );
    assert!(changed[1].to_string().contains("and the recording says none"), "{}", changed[1]);
}

/// A kernel in another folder is known by its content; another option makes another machine.
#[test]
fn options_of_qemu_are_compared_without_paths() {
    let qemu = |line: &str| model::LabQemu {
        version: "7.2.22".to_owned(),
        origin: if line.contains("--inhibit-cache") {
            QemuOrigin::Pinned
        } else {
            QemuOrigin::System
        },
        command_line: line.split(' ').map(str::to_owned).collect(),
    };
    let same = |one: &str, other: &str| options(&qemu(one)).eq(options(&qemu(other)));
    let line = "/usr/bin/qemu -icount shift=0 -kernel /a/vmlinuz -dtb /a/x.dtb -seed 1";
    assert!(same(line, "/opt/qemu -icount shift=0 -kernel /b/vmlinuz -dtb /b/x.dtb -seed 1"));
    // What it may do on this machine makes no other guest, and older recordings do not have it.
    assert!(same(line, &line.replace("-icount", "-sandbox on,spawn=deny -icount")));
    assert!(!same(
        line,
        "/usr/bin/qemu -icount shift=0,rr=record -kernel /a/vmlinuz -dtb /a/x.dtb -seed 1"
    ));
    assert!(!same(line, "/usr/bin/qemu -icount shift=0 -kernel /a/vmlinuz -seed 1"));
    let pinned = |cache: &str| {
        let own = format!(
            "{cache}/lib/ld-linux-x86-64.so.2 --inhibit-cache --library-path {cache}/lib \
             {cache}/qemu -L {cache}/share"
        );
        line.replace("/usr/bin/qemu", &own)
    };
    assert!(
        same(line, &pinned("/home/a/.cache")) && same(&pinned("/root"), &pinned("/home/a/.cache"))
    );
    assert!(!same(line, &pinned("/root").replace("-seed 1", "-seed 2")));
}

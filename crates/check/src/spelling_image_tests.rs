// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the image of the running kernel says of its arguments.

use crate::image::tests::{VERSION, bz_image, gzip, kernel};
use crate::image::{ImageError, ImageRemedy, NotInstalled};
use crate::one_finding::finding;
use crate::tests::files::lay;
use crate::tests::trees::{Shown, laid_out, shown, trees};
use crate::{CheckOptions, Machine, Status, checks, finding as finding_of};
use host::HostRoot;
use std::fs;
use std::io::{self, ErrorKind};
use tempfile::TempDir;

/// A machine with this command line and this image.
fn machine(line: &str, image: &[u8]) -> (TempDir, HostRoot) {
    let (dir, root) = lay(&[
        ("proc/cmdline", line),
        ("proc/version", VERSION),
        ("proc/sys/kernel/osrelease", "6.1.0-x"),
        ("sys/devices/system/cpu/online", "0-3"),
    ]);
    fs::create_dir(dir.path().join("boot")).unwrap();
    fs::write(dir.path().join("boot/vmlinuz-6.1.0-x"), image).unwrap();
    (dir, root)
}

fn said(line: &str, image: &[u8]) -> Option<(Status, String, String)> {
    let (_dir, root) = machine(line, image);
    let found = finding(&root, "arguments-spelled", None)?;
    let place = format!("{}/", root.path("").display());
    Some((found.status, found.found.replace(place.trim_end_matches('/'), ""), found.action))
}

#[test]
fn a_name_that_the_image_lacks_is_named() {
    let image = bz_image(&gzip(&kernel(&["isolcpus=", "skew_tick", "of-vendor"])));
    let line = |line: &str| said(line, &image);
    for right in ["skew-tick=1", "of_vendor=2 isolcpus=1", "of-vendor"] {
        let (status, found, _) = line(right).unwrap();
        let expected = "no name that the kernel's image lacks (/boot/vmlinuz-6.1.0-x)";
        assert_eq!((status, found.trim_start_matches('/')), (Status::Ok, expected), "{right}");
    }
    let lacks = "has a name that this kernel's image does not hold";
    for (wrong, action) in [
        (
            "ofvendor=2",
            "remove ofvendor=2, unless init or another program reads it from the kernel's command \
             line",
        ),
        ("intel_iommu=on", "remove intel_iommu=on from the kernel's arguments"),
        ("rcu_nocbs=1", "boot a kernel that was built for rcu_nocbs=1"),
    ] {
        let found = format!("{wrong}, which {lacks}");
        assert_eq!(line(wrong), Some((Status::Warn, found, action.to_owned())));
    }
    // Others read these, or a module that is not loaded.
    for others in [
        "splash BOOT_IMAGE=/x rd.break=1 ath9k.nohwcrypt=1 3",
        "root=/dev/sda ro nohz_full=1",
        "nosoftlockups",
    ] {
        assert_eq!(line(others), None, "{others}");
    }
}

/// A look at a machine takes some ms, unless there is something to look for.
#[test]
fn the_image_is_read_where_an_argument_asks_for_it() {
    let is_read = |line: &str| {
        let (_dir, root) = machine(line, b"");
        let options = CheckOptions::default();
        let machine = Machine::new(&root, &options);
        checks().for_each(|check| drop(finding_of(&machine, check.id)));
        machine.has_read_image()
    };
    assert!(is_read("root=/dev/sda ro skew_tick=1"));
    for line in ["", "BOOT_IMAGE=/x root=/dev/sda ro quiet splash console=tty0 rd.break=1"] {
        assert!(!is_read(line), "{line}");
    }
}

/// A vendor's kernel may have an argument that looks like another one.
#[test]
fn what_the_image_holds_is_no_misspelling() {
    let line = "isolcpu=1";
    let with = bz_image(&gzip(&kernel(&["isolcpu="])));
    assert_eq!(said(line, &with).unwrap().0, Status::Ok);
    let without = bz_image(&gzip(&kernel(&["isolcpus="])));
    let (status, found, _) = said(line, &without).unwrap();
    assert_eq!((status, found.as_str()), (Status::Bad, "isolcpu=1, which looks like isolcpus"));
}

#[test]
fn an_image_that_cannot_be_read_leaves_it_open() {
    let image = bz_image(&gzip(&kernel(&["isolcpus="])));
    let mut damaged = image.clone();
    let end = damaged.len() - 30;
    damaged[end] ^= 1;
    let other = bz_image(&gzip(b"\0Linux version 6.1.0-x (other)\n\0"));
    for image in [&damaged[..], &other, b"", b"nothing"] {
        let (status, found, _) = said("ofvendor=2", image).unwrap();
        assert_eq!(status, Status::Unknown);
        let begin = "not known whether this kernel knows ofvendor: ";
        assert!(found.starts_with(begin), "{found}");
        assert_eq!(said("skew_tick=1 rcu_nocbs=1", image), None);
    }
}

/// One name that is misspelled hid that another could not be judged.
#[test]
fn what_is_wrong_and_what_is_unknown_are_both_said() {
    let (status, found, action) = said("isolcpu=1 ofvendor=2", b"").unwrap();
    let expected = "isolcpu=1, which looks like isolcpus. not known whether this kernel knows \
                    ofvendor: /boot/vmlinuz-6.1.0-x: it is empty";
    assert_eq!((status, found.as_str()), (Status::Bad, expected));
    let expected = "replace isolcpu=1 by isolcpus=1, or remove it, and install this kernel's \
                    package again";
    assert_eq!(action, expected);
}

#[test]
fn an_image_that_is_not_read_says_why_and_what_to_do() {
    let program = NotInstalled("xz");
    let error = ImageError::new("/boot/x", &io::Error::other(program));
    assert_eq!(error.reason, "/boot/x: it takes xz to decompress it, which is not installed");
    let Some(ImageRemedy::Do(action)) = error.remedy else { panic!("{}", error.reason) };
    assert_eq!(action, "install xz-utils (on Debian and Ubuntu) or xz");
    let denied = ImageError::new("/boot/x", &ErrorKind::PermissionDenied.into());
    assert!(matches!(denied.remedy, Some(ImageRemedy::AsRoot)), "{}", denied.reason);
}

/// Of the tree's names those that are misspelled stay so, and the kernel is asked for the others.
#[test]
fn a_captured_machine_may_have_its_image() {
    let text = fs::read_to_string(trees().join("arguments-misspelled.tree")).unwrap();
    let (dir, options) = laid_out(&text.replace(" splash ", " splash sundries "));
    let root = HostRoot::at(dir.path());
    let found = || {
        let Shown { found, .. } = shown(&root, &options, "arguments-spelled").unwrap();
        found
    };
    let before = found();
    assert!(!before.contains("sundries"));
    let version = fs::read_to_string(dir.path().join("proc/version")).unwrap();
    let held = kernel(&["pcie_aspm=", "noht"]);
    let image = [&held[..], version.as_bytes(), b"\0"].concat();
    fs::create_dir(dir.path().join("boot")).unwrap();
    fs::write(dir.path().join("boot/vmlinuz-6.1.0-28-rt-amd64"), gzip(&image)).unwrap();
    let expected = before.replace("noht, which looks like nosmt. ", "")
        + ". sundries, which has a name that this kernel's image does not hold";
    assert_eq!(found(), expected);
}

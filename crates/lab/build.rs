// SPDX-License-Identifier: MIT OR Apache-2.0
//! Builds QEMU's plugin, a shared object that the program carries inside it: QEMU loads it as it
//! is, whatever C library QEMU runs on. Cargo has no such dependency on stable Rust, so the
//! compiler that builds this crate is called here, for the same target.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// The processors whose system calls `plugin/host/sys.rs` knows.
const PROCESSORS: [&str; 2] = ["x86_64", "aarch64"];
/// The compiler's own linker, or where it has none the system's. Both are given the same layout: no
/// tables for unwinding, since nothing is unwound, and they name a function of the standard
/// library's.
const LINKERS: [&[&str]; 2] = [
    &[
        "-Clinker=rust-lld",
        "-Clinker-flavor=ld.lld",
        "-Clink-self-contained=no",
        "-Clink-arg=--no-eh-frame-hdr",
    ],
    &[
        "-Clink-arg=-nostdlib",
        "-Clink-arg=-nostartfiles",
        "-Clink-arg=-Wl,--build-id=none,--no-eh-frame-hdr",
    ],
];
/// The layout, from this crate's folder.
const LAYOUT: &str = "../../scripts/no_unwind_tables.ld";

fn main() {
    let library = PathBuf::from(variable("OUT_DIR")).join("plugin.so");
    tell("rerun-if-changed=plugin");
    tell("rerun-if-changed=build.rs");
    let processor = variable("CARGO_CFG_TARGET_ARCH");
    if !PROCESSORS.iter().any(|known| processor == *known) {
        // Empty: who needs it says so.
        fs::write(&library, []).expect("the folder of the build's output can be written");
        return;
    }
    let errors: Vec<String> =
        LINKERS.iter().map_while(|linker| compile(&library, linker).err()).collect();
    assert!(errors.len() < LINKERS.len(), "QEMU's plugin cannot be built:\n{}", errors.join("\n"));
}

fn variable(name: &str) -> OsString {
    env::var_os(name).unwrap_or_else(|| panic!("cargo sets {name}"))
}

fn compile(library: &Path, linker: &[&str]) -> Result<(), String> {
    let own = PathBuf::from(variable("CARGO_MANIFEST_DIR"));
    let folder = own.join("plugin");
    let mut layout = OsString::from(if linker[0].starts_with("-Clinker=") {
        "-Clink-arg=-T"
    } else {
        "-Clink-arg=-Wl,-T"
    });
    layout.push(own.join(LAYOUT));
    // The same bytes wherever they are built: see scripts/toolchain.sh.
    let mut remap = OsString::from(&folder);
    remap.push("=/plugin");
    let mut standard = OsString::from(sysroot()?);
    standard.push("/lib/rustlib/src/rust=/rustc");
    let result = Command::new(variable("RUSTC"))
        .args(["--edition=2024", "--crate-name=teiji_plugin", "--crate-type=cdylib", "--target"])
        .arg(variable("TARGET"))
        .args([
            "-Cpanic=abort",
            "-Copt-level=2",
            "-Ctarget-feature=-crt-static",
            "-Cstrip=symbols",
            "-Ccodegen-units=1",
        ])
        .args(linker)
        .arg(layout)
        .arg("--remap-path-prefix")
        .arg(remap)
        .arg("--remap-path-prefix")
        .arg(standard)
        .arg("-o")
        .arg(library)
        .arg(folder.join("sys.rs"))
        .output();
    let output = result.map_err(|error| format!("the compiler does not start: {error}"))?;
    if output.status.success() {
        Ok(())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

fn sysroot() -> Result<String, String> {
    let output = Command::new(variable("RUSTC"))
        .args(["--print", "sysroot"])
        .output()
        .map_err(|error| error.to_string())?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn tell(what: &str) {
    println!("cargo::{what}");
}

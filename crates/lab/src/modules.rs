// SPDX-License-Identifier: MIT OR Apache-2.0
//! Modules a guest needs, found with what they depend on. What is built into a kernel has no file
//! and is not needed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, io};

/// A module to be loaded: its file name and content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Module {
    pub name: String,
    pub content: Vec<u8>,
}

/// Endings of module files and what unpacks them.
const ENDINGS: [(&str, Option<&str>); 4] =
    [(".ko", None), (".ko.xz", Some("xz")), (".ko.zst", Some("zstd")), (".ko.gz", Some("gzip"))];

/// These modules and all they depend on, in an order in which they can be loaded. Names that
/// `directory` does not have are left out: they are built in, or not there at all, and then the
/// guest says what it lacks.
///
/// # Errors
/// When the directory or a module cannot be read.
pub(crate) fn needed(names: &[&str], directory: &Path) -> io::Result<Vec<Module>> {
    let mut files = BTreeMap::new();
    list(directory, &mut files)?;
    let mut modules = Vec::new();
    for name in names {
        add_with_dependencies(name, &mut files, &mut modules)?;
    }
    Ok(modules)
}

/// Each module's file, by the module's name.
fn list(
    directory: &Path,
    files: &mut BTreeMap<String, (PathBuf, Option<&'static str>)>,
) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let path = entry.path();
        // A link to the kernel's sources holds no modules.
        if entry.file_type()?.is_dir() {
            list(&path, files)?;
        } else if let Some(name) = path.file_name().and_then(|name| name.to_str())
            && let Some((stem, unpack)) = ENDINGS
                .iter()
                .find_map(|(ending, unpack)| Some((name.strip_suffix(ending)?, *unpack)))
        {
            files.insert(canonical(stem), (path.clone(), unpack));
        }
    }
    Ok(())
}

/// `rtc-cmos` and `rtc_cmos` are one module.
fn canonical(name: &str) -> String {
    name.replace('-', "_")
}

/// Moves a module from `files` to `modules`, after the modules that it depends on.
fn add_with_dependencies(
    name: &str,
    files: &mut BTreeMap<String, (PathBuf, Option<&'static str>)>,
    modules: &mut Vec<Module>,
) -> io::Result<()> {
    let name = canonical(name);
    let Some((path, unpack)) = files.remove(&name) else { return Ok(()) };
    let content = match unpack {
        None => fs::read(&path)?,
        Some(program) => unpacked(program, &path)?,
    };
    for dependency in depends(&content) {
        add_with_dependencies(&dependency, files, modules)?;
    }
    modules.push(Module { name: format!("{name}.ko"), content });
    Ok(())
}

fn unpacked(program: &str, path: &Path) -> io::Result<Vec<u8>> {
    let failed = |why: String| {
        io::Error::other(format!("cannot unpack {} with {program}: {why}", path.display()))
    };
    let output = Command::new(program)
        .arg("-dc")
        .arg(path)
        .output()
        .map_err(|error| failed(error.to_string()))?;
    if output.status.success() {
        Ok(output.stdout)
    } else {
        Err(failed(String::from_utf8_lossy(&output.stderr).into_owned()))
    }
}

/// What a module says it depends on: `depends=a,b` between zeros in its section `.modinfo`.
fn depends(module: &[u8]) -> Vec<String> {
    const KEY: &[u8] = b"\0depends=";
    let Some(at) = module.windows(KEY.len()).position(|window| window == KEY) else {
        return Vec::new();
    };
    let list = module[at + KEY.len()..].split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(list)
        .split(',')
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_come_first_and_once() {
        let place = tempfile::tempdir().unwrap();
        let put = |path: &str, depends: &str| {
            let path = place.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, format!("ELF...\0license=GPL\0depends={depends}\0name=x\0")).unwrap();
        };
        put("drivers/tty/8250_pci.ko", "8250,serial-core");
        put("drivers/tty/8250.ko", "serial_core");
        put("drivers/tty/serial-core.ko", "");
        put("drivers/other.ko", "");
        let found = needed(&["8250_pci", "rtc-cmos", "8250"], place.path()).unwrap();
        let names: Vec<&str> = found.iter().map(|module| module.name.as_str()).collect();
        assert_eq!(names, ["serial_core.ko", "8250.ko", "8250_pci.ko"]);
        assert!(needed(&["x"], &place.path().join("nowhere")).is_err());
    }

    #[test]
    fn modules_in_a_circle_end() {
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join("a.ko"), "\0depends=b\0").unwrap();
        fs::write(place.path().join("b.ko"), "\0depends=a\0").unwrap();
        assert_eq!(needed(&["a"], place.path()).unwrap().len(), 2);
    }
}

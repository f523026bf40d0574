// SPDX-License-Identifier: MIT OR Apache-2.0
//! The house as ARCHITECTURE.md describes it: which crate depends on which, that no files import
//! one another in a circle, that nothing is public without a reader, and how wide a line may be.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The names between backquotes.
fn quoted(cell: &str) -> Vec<String> {
    cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// The table of crates in ARCHITECTURE.md, in its order: a crate, and those it depends on.
fn described() -> Vec<(String, BTreeSet<String>)> {
    let page = text(&workspace().join("ARCHITECTURE.md"));
    let rows = page
        .lines()
        .skip_while(|line| !line.starts_with("|---"))
        .skip(1)
        .take_while(|line| line.starts_with('|'));
    let crates = rows.map(|row| {
        let cells: Vec<&str> = row.split('|').collect();
        (quoted(cells[1]).remove(0), quoted(cells[3]).into_iter().collect())
    });
    crates.collect()
}

/// The crates of this workspace that a crate's manifest names, tests left out.
fn declared(name: &str, all: &BTreeSet<String>) -> BTreeSet<String> {
    let manifest = text(&workspace().join("crates").join(name).join("Cargo.toml"));
    let dependencies = manifest
        .lines()
        .skip_while(|line| *line != "[dependencies]")
        .skip(1)
        .take_while(|line| !line.starts_with('['));
    let names = dependencies.filter_map(|line| line.split(['.', ' ', '=']).next());
    names.filter(|name| all.contains(*name)).map(str::to_owned).collect()
}

#[test]
fn the_crates_depend_on_one_another_as_described() {
    let described = described();
    let all: BTreeSet<String> = described.iter().map(|(name, _)| name.clone()).collect();
    let folders = fs::read_dir(workspace().join("crates")).unwrap();
    let there: BTreeSet<String> =
        folders.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(all, there, "the table in ARCHITECTURE.md");
    for (index, (name, dependencies)) in described.iter().enumerate() {
        assert_eq!(*dependencies, declared(name, &all), "{name}");
        let above: Vec<&String> = described[..=index]
            .iter()
            .map(|(name, _)| name)
            .filter(|name| dependencies.contains(*name))
            .collect();
        assert!(above.is_empty(), "{name} depends on {above:?}, which stand above it in the table");
    }
}

/// Rust files below a folder.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.expect("a folder of the workspace").path();
        if path.is_dir() && path.file_name().is_some_and(|name| name != "target") {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

fn words(source: &str) -> BTreeSet<&str> {
    source
        .split(|letter: char| !letter.is_alphanumeric() && letter != '_')
        .filter(|word| !word.is_empty())
        .collect()
}

/// The items that a file declares public, as (kind, name); what is in its tests is left out.
fn public_items(source: &str) -> Vec<(&str, &str)> {
    let code = source.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    let declared = code.lines().filter_map(|line| {
        let mut words = line
            .trim_start()
            .strip_prefix("pub ")?
            .split(' ')
            .skip_while(|word| ["unsafe", "async"].contains(word))
            .peekable();
        let mut kind = words.next()?;
        if kind == "const" && words.peek() == Some(&"fn") {
            kind = words.next()?;
        }
        let name = words.next()?.split(['(', '<', ':', ';', '{', '=']).next()?;
        ["fn", "struct", "enum", "trait", "const", "static", "type"]
            .contains(&kind)
            .then_some((kind, name))
    });
    declared.collect()
}

/// Whether a crate's own public items speak of a type: then whoever uses those uses it too.
fn is_spoken_of(name: &str, source: &str) -> bool {
    source.lines().filter(|line| words(line).contains(name)).any(|line| {
        let line = line.trim_start();
        let declares = ["pub struct ", "pub enum ", "pub trait ", "pub type ", "pub use "]
            .iter()
            .any(|start| line.starts_with(start));
        // A public function or field, a variant, or an implementation of another crate's trait.
        !declares
            && (line.starts_with("pub ")
                // The last line of a signature of several.
                || line.starts_with(") ->")
                || line.starts_with("impl")
                || line.starts_with(|c: char| c.is_uppercase()))
    })
}

#[test]
fn nothing_public_is_unused() {
    let mut files = Vec::new();
    for folder in ["crates", "fuzz/fuzz_targets"] {
        sources(&workspace().join(folder), &mut files);
    }
    let files: Vec<(PathBuf, String)> =
        files.into_iter().map(|path| (path.clone(), text(&path))).collect();
    // The crate whose own code a file is; none for tests, examples and fuzz targets, which use
    // crates from outside.
    let crate_of = |path: &Path| {
        let below = path.strip_prefix(workspace().join("crates")).ok()?;
        let mut parts =
            below.components().map(|part| part.as_os_str().to_string_lossy().into_owned());
        let name = parts.next()?;
        (parts.next()? == "src").then_some(name)
    };
    let mut users: BTreeMap<&str, BTreeSet<Option<String>>> = BTreeMap::new();
    for (path, source) in &files {
        let owner = crate_of(path);
        words(source).into_iter().for_each(|word| {
            users.entry(word).or_default().insert(owner.clone());
        });
    }
    let mut unused = Vec::new();
    for (path, source) in &files {
        let Some(owner) = crate_of(path).filter(|name| name != "teiji") else { continue };
        for (kind, name) in public_items(source) {
            let used_elsewhere = users[name].iter().any(|user| user.as_ref() != Some(&owner));
            let own = || files.iter().filter(|(path, _)| crate_of(path).as_ref() == Some(&owner));
            let is_type = ["struct", "enum", "trait", "type"].contains(&kind);
            if !(used_elsewhere || is_type && own().any(|(_, source)| is_spoken_of(name, source))) {
                unused.push(format!("{owner}: {kind} {name}"));
            }
        }
    }
    assert!(
        unused.is_empty(),
        "public, and used by no other crate: make it pub(crate), or remove it\n{}",
        unused.join("\n")
    );
}

/// Files that read the environment. With rights that the caller lacks it is empty but for what says
/// how to print (`crates/system`).
const READ_ENVIRONMENT: [&str; 14] = [
    "tune/src/folder.rs",
    "lab/src/boot.rs",
    "lab/src/cache.rs",
    "lab/src/emulator.rs",
    // Where the caller lacks rights nobody asks it.
    "lab/src/instruction_count.rs",
    "load/src/load_types/cmd.rs",
    "load/src/load_types/disk.rs",
    "probe/src/wakeups/program.rs",
    "system/src/rights.rs",
    "system/src/scratch.rs",
    "teiji/src/commands/run/mod.rs",
    // How to print: no right comes of it.
    "teiji/src/commands/cyclictest/mod.rs",
    // Of verbs that have given lent rights up.
    "teiji/src/key.rs",
    "teiji/src/output.rs",
];

/// Files that start programs. With such rights only teiji itself is started: others ask
/// `rights::may_start_programs` first, or their verb has given the rights up.
const START_PROGRAMS: [&str; 12] = [
    "check/src/image.rs",
    "lab/src/debian.rs",
    "lab/src/emulator.rs",
    "lab/src/instruction_count.rs",
    "lab/src/modules.rs",
    "load/src/load_handle.rs",
    "load/src/load_types/cmd.rs",
    "load/src/load_types/fork.rs",
    "probe/src/process_start/sys.rs",
    "probe/src/wakeups/program.rs",
    "system/src/rights.rs",
    "teiji/src/commands/tune/command.rs",
];

/// Whoever adds one asks first what it does in a program with file capabilities: docs/rights.md.
#[test]
fn who_reads_the_environment_or_starts_programs_is_known() {
    let crates = workspace().join("crates");
    let mut files = Vec::new();
    sources(&crates, &mut files);
    let code = |path: &Path| text(path).split("#[cfg(test)]").next().unwrap_or_default().to_owned();
    let with = |signs: &[&str]| -> BTreeSet<String> {
        let below = |path: &Path| path.strip_prefix(&crates).expect("below crates").to_owned();
        let own = files.iter().filter(|path| {
            let is_of_tests = |part: Component<'_>| {
                let name = part.as_os_str().to_string_lossy().into_owned();
                name.split(['_', '.']).any(|word| word == "test" || word == "tests")
            };
            let is_test = below(path).components().any(is_of_tests);
            !is_test
                && !path.ends_with("build.rs")
                && signs.iter().any(|sign| code(path).contains(sign))
        });
        own.map(|path| below(path).display().to_string()).collect()
    };
    let reads = with(&["env::var", "vars_os()", "temp_dir", "home_dir", "getenv"]);
    let starts = with(&["Command::new(", "posix_spawn(", "SYS_execve", ".exec()"]);
    let known =
        |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
    assert_eq!(reads, known(&READ_ENVIRONMENT), "read the environment");
    assert_eq!(starts, known(&START_PROGRAMS), "start programs");
}

/// A promise whose test was renamed or removed would stand there without one.
#[test]
fn the_specification_names_what_exists() {
    let page = text(&workspace().join("SPECIFICATION.md"));
    let last_cells = page
        .lines()
        .filter(|line| line.starts_with('|'))
        .filter_map(|line| line.rsplit('|').nth(1));
    let (mut files, mut found) = (Vec::new(), Vec::new());
    ["crates", "fuzz", "tests", "scripts"]
        .iter()
        .for_each(|folder| scripts_and_sources(&workspace().join(folder), &mut files));
    let all: String = files.iter().map(|path| text(path)).collect();
    for name in last_cells.flat_map(quoted) {
        let is_name = name.contains('_')
            && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
        if is_name {
            let defined = [
                format!("fn {name}("),
                format!("def {name}("),
                format!("{name}() {{"),
                format!("mod {name}"),
            ];
            assert!(
                defined.iter().any(|text| all.contains(text)),
                "SPECIFICATION.md names {name}, which does not exist"
            );
            found.push(name);
        }
    }
    assert!(found.len() >= 20, "{found:?}");
}

/// Rust, Python and shell below a folder.
fn scripts_and_sources(folder: &Path, found: &mut Vec<PathBuf>) {
    sources(folder, found);
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder)
            .into_iter()
            .flatten()
            .map(|entry| entry.expect("a folder of the workspace").path())
        {
            if path.is_dir() && !path.ends_with("node_modules") {
                folders.push(path);
            } else if path
                .extension()
                .is_some_and(|extension| extension == "py" || extension == "sh")
            {
                found.push(path);
            }
        }
    }
}

/// The code of a file without its tests, its comments and what it only passes on (`pub use`).
fn own_code(source: &str) -> String {
    let (mut code, mut is_passed_on) = (String::new(), false);
    let mut lines = source.lines().peekable();
    while let Some(line) = lines.next() {
        let begins_tests = line == "#[cfg(test)]"
            && lines.peek().is_some_and(|next| next.starts_with("mod ") && next.ends_with('{'));
        if begins_tests {
            break;
        }
        let line = line.trim_start();
        is_passed_on |= line.starts_with("pub") && line.contains("use ");
        if !is_passed_on && !line.starts_with("//") {
            code += line;
            code.push('\n');
        }
        is_passed_on &= !line.ends_with(';');
    }
    code
}

/// The paths that a tree of `a::{b, c::d}` stands for, and how much of the text it took.
fn paths_of_tree(text: &str, before: &[&str], found: &mut Vec<Vec<String>>) -> usize {
    let (mut path, mut at) = (before.to_vec(), 0);
    loop {
        at += text[at..].len() - text[at..].trim_start().len();
        if text[at..].starts_with('{') {
            at += 1;
            while !text[at..].trim_start().starts_with('}') {
                let taken = paths_of_tree(&text[at..], &path, found);
                let rest = &text[at + taken..];
                let Some(end) = rest.find([',', '}']) else { return text.len() };
                at += taken + end + usize::from(rest[end..].starts_with(','));
            }
            return at + text[at..].find('}').unwrap_or(0) + 1;
        }
        let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
        let length = text[at..].find(|letter| !is_word(letter)).unwrap_or(text.len() - at);
        path.push(&text[at..at + length]);
        at += length;
        if !text[at..].starts_with("::") {
            found.push(path.into_iter().map(str::to_owned).collect());
            return at.max(1);
        }
        at += 2;
    }
}

/// The files of its crate that a file names, by their place in the crate.
fn named_files(
    own: &[String],
    code: &str,
    files: &BTreeMap<Vec<String>, PathBuf>,
) -> BTreeSet<Vec<String>> {
    let mut paths = Vec::new();
    for start in ["crate::", "super::", "self::"] {
        for (place, _) in code.match_indices(start) {
            let before = code[..place].chars().next_back();
            if !before.is_some_and(|letter| letter.is_alphanumeric() || "_:".contains(letter)) {
                paths_of_tree(&code[place..], &[], &mut paths);
            }
        }
    }
    let resolved = |path: Vec<String>| {
        let mut place = if path[0] == "crate" { Vec::new() } else { own.to_vec() };
        for part in path {
            match part.as_str() {
                "super" => drop(place.pop()),
                "crate" | "self" => {}
                _ => place.push(part),
            }
        }
        (0..=place.len()).rev().map(|end| place[..end].to_vec()).find(|at| files.contains_key(at))
    };
    paths.into_iter().filter_map(resolved).filter(|file| file != own).collect()
}

#[test]
fn no_files_import_one_another_in_a_circle() {
    for (name, _) in described() {
        let source = workspace().join("crates").join(&name).join("src");
        let mut found = Vec::new();
        sources(&source, &mut found);
        let is_test = |path: &Path| {
            path.iter().any(|part| part == "tests" || part == "tests.rs")
                || path.to_string_lossy().ends_with("_tests.rs")
        };
        let files: BTreeMap<Vec<String>, PathBuf> = found
            .into_iter()
            .filter(|path| !is_test(path.strip_prefix(&source).unwrap()))
            .map(|path| {
                let below = path.strip_prefix(&source).unwrap().with_extension("");
                let mut place: Vec<String> =
                    below.iter().map(|part| part.to_string_lossy().into_owned()).collect();
                if ["mod", "lib", "main"].contains(&place.last().unwrap().as_str()) {
                    place.pop();
                }
                (place, path)
            })
            .collect();
        let named: BTreeMap<_, _> = files
            .iter()
            .map(|(place, path)| (place, named_files(place, &own_code(&text(path)), &files)))
            .collect();
        let in_circle = |start: &Vec<String>| {
            let (mut seen, mut next) = (BTreeSet::new(), named[start].clone());
            while let Some(file) = next.pop_first() {
                if seen.insert(file.clone()) {
                    next.extend(named[&file].iter().cloned());
                }
            }
            seen.contains(start)
        };
        let circle: Vec<String> =
            files.keys().filter(|file| in_circle(file)).map(|file| file.join("::")).collect();
        assert!(circle.is_empty(), "{name}: in circles: {}", circle.join(", "));
    }
}

/// Rustfmt leaves comments, strings and most of what is inside a macro as wide as it is.
#[test]
fn lines_have_at_most_100_columns() {
    let mut files = Vec::new();
    for folder in ["crates", "fuzz"] {
        sources(&workspace().join(folder), &mut files);
    }
    assert!(!files.is_empty());
    let wide_of = |path: &PathBuf| -> Vec<String> {
        let below = path.strip_prefix(workspace()).expect("below the workspace").display();
        let source = text(path);
        let lines = source.lines().zip(1..).filter(|(line, _)| line.chars().count() > 100);
        lines.map(|(_, number)| format!("{below}:{number}")).collect()
    };
    let wide: Vec<String> = files.iter().flat_map(wide_of).collect();
    assert!(wide.is_empty(), "wider than 100 columns:\n{}", wide.join("\n"));
}

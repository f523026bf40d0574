// SPDX-License-Identifier: MIT OR Apache-2.0
//! U-Boot: files that are read, to say what they lack, and that are not written. They have a label
//! for each kernel, are made by a program, or are read by a script. Where a program makes one, it
//! is that program's own file that counts: what is written into the other is lost.

use super::error::LoaderError;
use super::layout::{CommandLine, Layout, Source, names, only_line};
use super::line::{Piece, Quoting, is_closed};
use super::variables::{Assignment, assignments};
use host::HostRoot;
use std::ops::Range;

/// It makes extlinux.conf, of variables in files of its own.
const UPDATE: &str = "usr/sbin/u-boot-update";
const DEFAULTS: &str = "etc/default/u-boot";
/// Folders of files that it reads after that one.
const FRAGMENTS: [&str; 2] = ["usr/share/u-boot-menu/conf.d", "etc/u-boot-menu/conf.d"];
const PARAMETERS: &str = "U_BOOT_PARAMETERS";
/// What it takes where these are not set, unless there is that file.
const UNSET: &str = "ro quiet";
const CMDLINE: &str = "etc/kernel/cmdline";
/// U-Boot looks for it before it looks for scripts, which read the other file.
const EXTLINUX: &str = "boot/extlinux/extlinux.conf";
const ARMBIAN: &str = "boot/armbianEnv.txt";
const EXTRA: &str = "extraargs=";

/// Where the arguments are written by hand, by the file that shows it.
const PLACES: [(&str, &str); 2] = [
    (
        EXTLINUX,
        "the line APPEND of the label that is booted in /boot/extlinux/extlinux.conf, then reboot",
    ),
    (ARMBIAN, "the line extraargs= in /boot/armbianEnv.txt, then reboot"),
];

/// None where this machine does not have it.
pub(super) fn place(root: &HostRoot) -> Option<String> {
    // Where it is not certain, what is written for it is not lost.
    if is_updated(root).unwrap_or(true) {
        let place = if takes_cmdline(root) {
            format!("/{CMDLINE} (all in its one line)")
        } else {
            format!("{PARAMETERS} in /{}", parameters_file(root))
        };
        return Some(format!("{place}, then {RUN}, and reboot"));
    }
    PLACES.iter().find(|(file, _)| root.path(file).exists()).map(|(_, place)| (*place).to_owned())
}

const RUN: &str = "sudo u-boot-update";

/// Files of variables that u-boot-update reads, the last of which has the last word.
fn variable_files(root: &HostRoot) -> Vec<String> {
    let fragments = FRAGMENTS.iter().flat_map(|folder| {
        let names = names(root, folder).unwrap_or_default();
        let is_read = |name: &String| name.ends_with(".conf");
        names.into_iter().filter(is_read).map(move |name| format!("{folder}/{name}"))
    });
    std::iter::once(DEFAULTS.to_owned()).chain(fragments).collect()
}

/// What a file of variables says of one of them; nothing of a file that does not name it.
fn assigned(
    root: &HostRoot,
    file: &str,
    variable: &'static str,
) -> Result<Option<(String, Assignment)>, LoaderError> {
    let text = root.text(file).unwrap_or_default();
    if !text.contains(variable) {
        return Ok(None);
    }
    let refused = |(line, why)| LoaderError::Unclear(format!("/{file}, line {line}: {why}"));
    let last = assignments(&text, &[variable]).map_err(refused)?.pop();
    Ok(last.map(|last| (text[last.range.clone()].to_owned(), last)))
}

/// Whether extlinux.conf is made by a program, which a variable switches off.
fn is_updated(root: &HostRoot) -> Result<bool, LoaderError> {
    const SWITCH: &str = "U_BOOT_UPDATE";
    if !root.path(UPDATE).exists() {
        return Ok(false);
    }
    let mut is_on = true;
    for file in variable_files(root) {
        if let Some((value, assignment)) = assigned(root, &file, SWITCH)? {
            if assignment.adds {
                return Err(LoaderError::Unclear(format!("/{file} adds to {SWITCH}")));
            }
            is_on = ["true", ""].contains(&value.as_str());
        }
    }
    Ok(is_on)
}

/// The file with the variable that has the arguments, or in which it is to be set.
fn parameters_file(root: &HostRoot) -> String {
    let has = |file: &String| !matches!(assigned(root, file, PARAMETERS), Ok(None));
    variable_files(root).into_iter().rfind(has).unwrap_or_else(|| DEFAULTS.to_owned())
}

/// Whether the arguments are those of a file of the kernel's, with `root=` among them: they are
/// taken where the variable is empty, and all lost once it is set.
fn takes_cmdline(root: &HostRoot) -> bool {
    let is_empty = match assigned(root, &parameters_file(root), PARAMETERS) {
        Ok(last) => last.is_none_or(|(value, last)| value.is_empty() && !last.adds),
        Err(_) => false,
    };
    is_empty && root.path(CMDLINE).is_file()
}

/// The file that U-Boot reads, and where in it the arguments stand; before it the one that it is
/// made of.
pub(super) fn layout(root: &HostRoot) -> Result<Layout, LoaderError> {
    if !is_updated(root)? {
        return layout_of_boot(root);
    }
    if !root.path(EXTLINUX).exists() {
        return Err(LoaderError::Unclear(format!("there is no /{EXTLINUX} yet")));
    }
    let (source, piece) = parameters(root)?;
    let mut layout = Layout {
        files: vec![source],
        lines: vec![CommandLine { pieces: vec![piece], new_in: 0 }],
        run: Some(RUN.to_owned()),
        ..Layout::default()
    };
    // One that is not clear is made anew.
    if let Ok(made) = layout_of_boot(root) {
        layout.files.extend(made.files);
        layout.lines.extend(made.lines.into_iter().map(|line| line.in_file(1)));
    }
    Ok(layout)
}

/// Where u-boot-update has the arguments that it puts into each label.
fn parameters(root: &HostRoot) -> Result<(Source, Piece), LoaderError> {
    if takes_cmdline(root) {
        let source = Source::read(root, CMDLINE)?;
        let range = only_line(CMDLINE, &source.text)?;
        return Ok((source, Piece { file: 0, range, quoting: Quoting::Kernel }));
    }
    let file = parameters_file(root);
    let mut source = if root.path(&file).exists() {
        Source::read(root, &file)?
    } else {
        Source { file: file.clone(), text: String::new(), extended: String::new() }
    };
    let unclear = |why: String| LoaderError::Unclear(format!("/{file}{why}"));
    let last = |text: &str| {
        let of = assignments(text, &[PARAMETERS]);
        of.map(|mut all| all.pop()).map_err(|(line, why)| unclear(format!(", line {line}: {why}")))
    };
    let found = match last(&source.extended)? {
        None => {
            source.extend(&format!("{PARAMETERS}=\"{UNSET}\"\n"));
            last(&source.extended)?
        }
        found => found,
    };
    let found = found.filter(|one| !one.adds);
    let found = found.ok_or_else(|| unclear(" adds to what another file sets".to_owned()))?;
    Ok((source, Piece { file: 0, range: found.range, quoting: found.quoting }))
}

fn layout_of_boot(root: &HostRoot) -> Result<Layout, LoaderError> {
    let file = if root.path(EXTLINUX).exists() { EXTLINUX } else { ARMBIAN };
    let mut source = Source::read(root, file)?;
    let range = if file == EXTLINUX { appended(&source.text) } else { Some(extra(&mut source)) };
    let range = range
        .filter(|range| is_closed(&source.extended[range.clone()], Quoting::Kernel))
        .ok_or_else(|| {
        LoaderError::Unclear(format!("/{file} has no arguments that are clear"))
    })?;
    Ok(Layout {
        files: vec![source],
        lines: vec![CommandLine::in_one(0, range)],
        ..Layout::default()
    })
}

/// Where the arguments stand of the label that is booted unasked: the last `append` of the one
/// that the last `default` or `ontimeout` names, or of the first.
fn appended(text: &str) -> Option<Range<usize>> {
    let (mut default, mut labels, mut at) = (None, Vec::new(), 0);
    for line in text.split_inclusive('\n') {
        let words = line.trim_start();
        let (name, rest) = words.split_once([' ', '\t']).unwrap_or((words.trim_end(), ""));
        let end = at + line.len();
        match name.to_ascii_lowercase().as_str() {
            "default" | "ontimeout" => default = Some(rest.trim()),
            "label" => labels.push((rest.trim(), None)),
            "append" => {
                if let Some((_, arguments)) = labels.last_mut() {
                    *arguments = Some(end - rest.len()..end);
                }
            }
            _ => {}
        }
        at = end;
    }
    let (_, arguments) = match default {
        Some(default) => labels.into_iter().find(|(label, _)| *label == default),
        None => labels.into_iter().next(),
    }?;
    arguments
}

/// Where the arguments stand that an Armbian's script adds to its own: the last such line counts.
fn extra(source: &mut Source) -> Range<usize> {
    let mut at = 0;
    let mut lines = source.text.split_inclusive('\n').map(|line| {
        at += line.len();
        (at - line.len(), line)
    });
    if let Some((begin, line)) = lines.by_ref().filter(|(_, line)| line.starts_with(EXTRA)).last() {
        return begin + EXTRA.len()..begin + line.len();
    }
    source.extend(EXTRA);
    source.extended.len()..source.extended.len()
}

#[cfg(test)]
mod tests {
    use super::super::error::LoaderPlace;
    use super::super::tests::{Machine, error};
    use super::*;

    const BY_HAND: &str = "teiji does not write where this machine's boot loader has the kernel's \
                           arguments. Nothing was written. By hand: ";
    const AT_LABEL: &str = "the line APPEND of the label that is booted in \
                            /boot/extlinux/extlinux.conf, then reboot";

    fn extlinux(arguments: &str) -> String {
        format!(
            "default new\nmenu title U-Boot\nlabel old\n\tAPPEND quiet irqaffinity=0\n\nlabel \
             new\n\tlinux /Image\n\tappend {arguments}\n"
        )
    }

    /// What was there already was to be added once more.
    #[test]
    fn only_what_the_file_lacks_is_to_be_added() {
        let all = Machine::new(&[]).arguments().to_owned();
        for (file, text, todo) in [
            (
                EXTLINUX,
                extlinux("quiet isolcpus=managed_irq,domain,1-3 nohz_full=1-3 rcu_nocbs=0"),
                "add rcu_nocbs=1-3 irqaffinity=0 in place of rcu_nocbs=0",
            ),
            (EXTLINUX, extlinux("quiet"), &format!("add {all}")),
            // The kernel takes the last of several.
            (EXTLINUX, extlinux(&format!("nohz_full=2 {all}")), "remove nohz_full=2"),
            (
                ARMBIAN,
                format!("verbosity=1\nextraargs={all}\nextraargs=nohz_full=1-3\n"),
                "add isolcpus=managed_irq,domain,1-3 rcu_nocbs=1-3 irqaffinity=0",
            ),
            (ARMBIAN, "verbosity=1".to_owned(), &format!("add {all}")),
            // What stands behind it is for init.
            (ARMBIAN, format!("extraargs=quiet -- {all}"), &format!("add {all}")),
        ] {
            let machine = Machine::new(&[(file, &text)]);
            let place = if file == EXTLINUX { AT_LABEL } else { PLACES[1].1 };
            assert_eq!(error(machine.write()), format!("{BY_HAND}{todo}. Where: {place}"));
            assert_eq!(machine.plan(&[1, 2, 3]).files_with(&machine.root), [""; 0]);
            assert_eq!(machine.read(file), text);
        }
    }

    /// What was written into extlinux.conf was lost with the next kernel, and what its source had
    /// already was to be added.
    #[test]
    fn the_file_that_survives_counts() {
        let all = Machine::new(&[]).arguments().to_owned();
        let (lacks, has) = (extlinux("ro quiet"), extlinux(&format!("ro quiet {all}")));
        let of = |parameters: &str| format!("#U_BOOT_PROMPT=1\nU_BOOT_PARAMETERS={parameters}\n");
        let with = of(&format!("\"ro {all}\""));
        let machine = |defaults: &str, made: &str, others: &[(&str, &str)]| {
            let mut files = vec![(UPDATE, ""), (EXTLINUX, made)];
            files.extend((!defaults.is_empty()).then_some((DEFAULTS, defaults)));
            files.extend(others);
            Machine::new(&files)
        };
        let add = |file: &str| {
            format!("add {all}. Where: U_BOOT_PARAMETERS in /{file}, then {RUN}, and reboot")
        };
        let lost = format!(
            "/{EXTLINUX} has these arguments, and loses them as soon as u-boot-update makes it \
             anew. Nothing was written. By hand: "
        );
        for defaults in [of("\"ro\""), of("'ro'"), of("ro"), "#nothing\n".to_owned(), String::new()]
        {
            let neither = machine(&defaults, &lacks, &[]);
            let said = format!("{BY_HAND}{}", add(DEFAULTS));
            assert_eq!(error(neither.write()), said, "{defaults}");
            let made_alone = machine(&defaults, &has, &[]);
            assert_eq!(error(made_alone.write()), format!("{lost}{}", add(DEFAULTS)), "{defaults}");
            assert_eq!(made_alone.plan(&[1, 2, 3]).files_with(&made_alone.root), [""; 0]);
        }
        let not_made = machine(&with, &lacks, &[]).write().unwrap();
        assert_eq!(
            (not_made.right, not_made.run.as_deref()),
            (vec![DEFAULTS.to_owned()], Some(RUN))
        );
        assert_eq!(not_made.notes, ["/boot/extlinux/extlinux.conf does not have them yet"]);
        let both = machine(&with, &has, &[]);
        let written = both.write().unwrap();
        assert_eq!(written.right, [DEFAULTS, EXTLINUX]);
        assert_eq!((written.run, written.notes), (None, Vec::new()));
        assert_eq!(both.plan(&[1, 2, 3]).files_with(&both.root), [DEFAULTS, EXTLINUX]);
        // A file that is read after it has the last word.
        let fragment = "etc/u-boot-menu/conf.d/site.conf";
        let of_fragment = machine(&with, &has, &[(fragment, &of("quiet"))]);
        assert_eq!(error(of_fragment.write()), format!("{lost}{}", add(fragment)));
        // What is made of others is read of no file: it goes by this boot.
        for unclear in ["\"$U_BOOT_PARAMETERS quiet\"", "\"$(cat /x)\"", "\"a"] {
            let said = error(machine(&of(unclear), &has, &[]).write());
            assert!(said.starts_with(BY_HAND), "{said}");
        }
        // Switched off, it makes nothing.
        let place = format!(". Where: {AT_LABEL}");
        for switch in ["U_BOOT_UPDATE=\"false\"", "export U_BOOT_UPDATE=false # not here"] {
            let off = format!("{switch}\n{}", of("ro"));
            assert_eq!(machine(&off, &has, &[]).write().unwrap().right, [EXTLINUX], "{switch}");
            assert!(error(machine(&off, &lacks, &[]).write()).ends_with(&place), "{switch}");
        }
        for switch in ["# U_BOOT_UPDATE=false", "U_BOOT_UPDATE='true' # as it was"] {
            let on = format!("{switch}\n{}", of("ro"));
            assert_eq!(error(machine(&on, &has, &[]).write()), format!("{lost}{}", add(DEFAULTS)));
        }
        // Whether it is switched off is not certain: it goes by this boot.
        for switch in ["U_BOOT_UPDATE=false; true", "[ -e /x ] && U_BOOT_UPDATE=false"] {
            let unclear = machine(&format!("{switch}\n{}", of("ro")), &has, &[]);
            let said = add(DEFAULTS).replacen(". Where", " in place of rcu_nocbs=0. Where", 1);
            assert_eq!(error(unclear.write()), format!("{BY_HAND}{said}"), "{switch}");
        }
    }

    /// U_BOOT_PARAMETERS was to be set, and with it nothing of that file counted, not even `root=`.
    #[test]
    fn the_kernels_own_file_counts_where_the_variable_is_empty() {
        let all = Machine::new(&[]).arguments().to_owned();
        let of = |defaults: &str, cmdline: &str| {
            let extlinux = extlinux("ro quiet");
            let files = [(DEFAULTS, defaults), (CMDLINE, cmdline)];
            Machine::new(&[&files[..], &[(UPDATE, ""), (EXTLINUX, &extlinux)]].concat())
        };
        let write = |machine: &Machine| {
            machine.plan(&[1, 2, 3]).write(&machine.root, Some(LoaderPlace::UBoot))
        };
        let place = format!(". Where: /{CMDLINE} (all in its one line), then {RUN}, and reboot");
        for defaults in ["#U_BOOT_PARAMETERS=x\n", "U_BOOT_PARAMETERS=\"\"\n", ""] {
            let machine = of(defaults, "root=/dev/mmcblk0p2 ro\n");
            let said = format!("{BY_HAND}add {all}{place}");
            assert_eq!(error(write(&machine)), said, "{defaults}");
            let has = of(defaults, &format!("root=/dev/mmcblk0p2 ro {all}\n"));
            assert_eq!(write(&has).unwrap().right, [CMDLINE], "{defaults}");
        }
        // What is in it is not clear: it goes by this boot.
        let said = format!("{BY_HAND}add {all} in place of rcu_nocbs=0{place}");
        assert_eq!(error(write(&of("", "ro\nquiet\n"))), said);
        let set = error(write(&of("U_BOOT_PARAMETERS=ro\n", "root=/dev/mmcblk0p2\n")));
        let place = format!("Where: U_BOOT_PARAMETERS in /{DEFAULTS}, then {RUN}, and reboot");
        assert!(set.ends_with(&place), "{set}");
    }

    /// It failed, with nothing to do.
    #[test]
    fn what_is_there_already_is_no_failure() {
        let all = Machine::new(&[]).arguments().to_owned();
        for (file, text) in [
            (EXTLINUX, extlinux(&format!("quiet {all}"))),
            (EXTLINUX, extlinux(&format!("{all} {all} -- nohz_full=2"))),
            (ARMBIAN, format!("extraargs={all}")),
        ] {
            let machine = Machine::new(&[(file, &text)]);
            let written = machine.write().unwrap();
            assert_eq!((written.files, written.right), (vec![], vec![file.to_owned()]));
            assert_eq!(machine.plan(&[1, 2, 3]).files_with(&machine.root), [file]);
            assert!(!machine.root.path("var").exists());
        }
    }

    #[test]
    fn the_label_that_is_booted_unasked_counts() {
        let arguments = |text: &str| appended(text).map(|range| text[range].trim().to_owned());
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(arguments("LABEL a\nAPPEND one\nLABEL b\nAPPEND two\n"), some("one"));
        assert_eq!(arguments("DEFAULT b\nLABEL a\nAPPEND one\nLABEL b\nAPPEND two"), some("two"));
        assert_eq!(arguments("label a\nappend one\nappend two\n"), some("two"));
        // The last one that names it counts, by either word.
        let labels = "label a\nappend one\nlabel b\nappend two\n";
        assert_eq!(arguments(&format!("default a\ndefault b\n{labels}")), some("two"));
        assert_eq!(arguments(&format!("default a\nontimeout b\n{labels}")), some("two"));
        assert_eq!(arguments(&format!("ontimeout b\n{labels}default a\n")), some("one"));
        for none in ["", "append one\n", "label a\n", "default c\nlabel a\nappend one\n"] {
            assert_eq!(arguments(none), None, "{none}");
        }
    }
}

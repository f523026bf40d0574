// SPDX-License-Identifier: MIT OR Apache-2.0
//! U-Boot: files that are read, to say what they lack, and that are not written. They have a label
//! for each kernel, are made by a program, or are read by a script.

use super::error::LoaderError;
use super::layout::{CommandLine, Layout, Source};
use super::line::{Quoting, is_closed};
use host::HostRoot;
use std::ops::Range;

/// It makes extlinux.conf, of a file of its own.
const UPDATE: &str = "usr/sbin/u-boot-update";
/// U-Boot looks for it before it looks for scripts, which read the other file.
const EXTLINUX: &str = "boot/extlinux/extlinux.conf";
const ARMBIAN: &str = "boot/armbianEnv.txt";
const EXTRA: &str = "extraargs=";

/// Where the arguments are written by hand, by the file that shows it.
const PLACES: [(&str, &str); 3] = [
    (UPDATE, "U_BOOT_PARAMETERS in /etc/default/u-boot, then sudo u-boot-update, and reboot"),
    (
        EXTLINUX,
        "the line APPEND of the label that is booted in /boot/extlinux/extlinux.conf, then reboot",
    ),
    (ARMBIAN, "the line extraargs= in /boot/armbianEnv.txt, then reboot"),
];

/// None where this machine does not have it.
pub(super) fn place(root: &HostRoot) -> Option<&'static str> {
    PLACES.iter().find(|(file, _)| root.path(file).exists()).map(|(_, place)| *place)
}

/// The file that U-Boot reads, and where in it the arguments stand.
pub(super) fn layout(root: &HostRoot) -> Result<Layout, LoaderError> {
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
            let place = if file == EXTLINUX { AT_LABEL } else { PLACES[2].1 };
            assert_eq!(error(machine.write()), format!("{BY_HAND}{todo}. Where: {place}"));
            assert_eq!(machine.plan(&[1, 2, 3]).files_with(&machine.root), [""; 0]);
            assert_eq!(machine.read(file), text);
        }
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

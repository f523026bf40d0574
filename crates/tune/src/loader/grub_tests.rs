// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files of GRUB as distributions have them, and what is not certain in them.

use super::super::tests::{Machine, error};
use super::*;
use crate::LoaderUndo;

const DEBIAN: &str = "# If you change this file, run 'update-grub' \
                      afterwards.\nGRUB_DEFAULT=0\nGRUB_TIMEOUT=5\nGRUB_DISTRIBUTOR=`lsb_release \
                      -i -s 2> /dev/null || echo \
                      Debian`\nGRUB_CMDLINE_LINUX_DEFAULT=\"quiet\"\nGRUB_CMDLINE_LINUX=\"\"\n\n#\
                      GRUB_CMDLINE_LINUX_DEFAULT=\"isolcpus=7\"\n";

fn grub(text: &str) -> Machine {
    Machine::new(&[(FILE, text), (UPDATE, "")])
}

#[test]
fn the_quotes_and_all_else_stay() {
    for (before, after) in [
        (
            "X='1'\nGRUB_CMDLINE_LINUX_DEFAULT=\"quiet\" # why\n",
            "X='1'\nGRUB_CMDLINE_LINUX_DEFAULT=\"quiet ARGS\" # why\n",
        ),
        ("GRUB_CMDLINE_LINUX_DEFAULT='quiet  a'\n", "GRUB_CMDLINE_LINUX_DEFAULT='quiet  a ARGS'\n"),
        ("GRUB_CMDLINE_LINUX_DEFAULT=quiet\n", "GRUB_CMDLINE_LINUX_DEFAULT=\"quiet ARGS\"\n"),
        ("GRUB_CMDLINE_LINUX_DEFAULT=\n", "GRUB_CMDLINE_LINUX_DEFAULT=\"ARGS\"\n"),
        (
            "  export GRUB_CMDLINE_LINUX_DEFAULT=\"\"",
            "  export GRUB_CMDLINE_LINUX_DEFAULT=\"ARGS\"",
        ),
        // The only one that is there, and none.
        ("GRUB_CMDLINE_LINUX=\"ro\"\n", "GRUB_CMDLINE_LINUX=\"ro ARGS\"\n"),
        ("GRUB_TIMEOUT=5", "GRUB_TIMEOUT=5\nGRUB_CMDLINE_LINUX_DEFAULT=\"ARGS\"\n"),
        ("", "GRUB_CMDLINE_LINUX_DEFAULT=\"ARGS\"\n"),
        // Where each stands.
        (
            "GRUB_CMDLINE_LINUX=\"nohz_full=3\"\nGRUB_CMDLINE_LINUX_DEFAULT=\"a=\\\"b c\\\" \
             isolcpus=3 d\"\n",
            "GRUB_CMDLINE_LINUX=\"nohz_full=1-3\"\nGRUB_CMDLINE_LINUX_DEFAULT=\"a=\\\"b c\\\" \
             isolcpus=managed_irq,domain,1-3 d rcu_nocbs=1-3 irqaffinity=0\"\n",
        ),
        // The last assignment counts, and what is added to it.
        (
            "GRUB_CMDLINE_LINUX_DEFAULT=\"isolcpus=9\"\nGRUB_CMDLINE_LINUX_DEFAULT=\"a\"\n\
             GRUB_CMDLINE_LINUX_DEFAULT+=\" b\"\n",
            "GRUB_CMDLINE_LINUX_DEFAULT=\"isolcpus=9\"\nGRUB_CMDLINE_LINUX_DEFAULT=\"a \
             ARGS\"\nGRUB_CMDLINE_LINUX_DEFAULT+=\" b\"\n",
        ),
        (
            "GRUB_CMDLINE_LINUX_DEFAULT=\"a\"\nGRUB_CMDLINE_LINUX_DEFAULT=\"\
             ${GRUB_CMDLINE_LINUX_DEFAULT} irqaffinity=7\"\n",
            "GRUB_CMDLINE_LINUX_DEFAULT=\"a isolcpus=managed_irq,domain,1-3 nohz_full=1-3 \
             rcu_nocbs=1-3\"\nGRUB_CMDLINE_LINUX_DEFAULT=\"${GRUB_CMDLINE_LINUX_DEFAULT} \
             irqaffinity=0\"\n",
        ),
    ] {
        let machine = grub(before);
        let written = machine.write().unwrap();
        assert_eq!(written.run.as_deref(), Some("sudo update-grub"));
        assert_eq!(machine.read(FILE), after.replace("ARGS", machine.arguments()), "{before}");
        LoaderUndo::undo(&machine.root, false).unwrap();
        assert_eq!(machine.read(FILE), before);
    }
}

#[test]
fn the_file_of_a_distribution_changes_in_one_line() {
    let machine = grub(DEBIAN);
    machine.write().unwrap();
    let expected = DEBIAN.replacen("\"quiet\"", &format!("\"quiet {}\"", machine.arguments()), 1);
    assert_eq!(machine.read(FILE), expected);
    // Written a second time, it is right.
    let again = machine.write().unwrap();
    assert_eq!((again.files.len(), again.right.len()), (0, 1));
    assert_eq!(machine.read(FILE), expected);
}

/// Followed, a note about the arguments of this boot would spoil the file that was written.
#[test]
fn notes_are_about_what_the_plan_leaves() {
    let line = "quiet isolcpu=1-3 nohz_full=1-2 nohz_full=1-3 rcu_nocbs=1-3 rcu-nocbs=1";
    let machine = grub(&format!("GRUB_CMDLINE_LINUX_DEFAULT=\"{line}\"\n"));
    std::fs::write(machine.root.path("proc/cmdline"), format!("{line}\n")).unwrap();
    let plan = machine.plan(&[1, 2, 3]);
    let written = plan.write(&machine.root, None).unwrap();
    assert_eq!(
        written.files[0].to,
        "GRUB_CMDLINE_LINUX_DEFAULT=\"quiet isolcpu=1-3 nohz_full=1-3 rcu_nocbs=1-3 \
         isolcpus=managed_irq,domain,1-3 irqaffinity=0\"\n"
    );
    let about_arguments: Vec<&str> = plan
        .notes
        .iter()
        .map(String::as_str)
        .filter(|note| note.contains("isolcpu=") || note.contains("more than once"))
        .collect();
    let said = "isolcpu=1-3 looks like isolcpus: remove isolcpu=1-3 \
                (isolcpus=managed_irq,domain,1-3 is there too)";
    assert_eq!(about_arguments, [said]);
    let from: Vec<&str> = plan.changes.iter().filter_map(|change| change.from.as_deref()).collect();
    assert_eq!(from, ["nohz_full=1-2 nohz_full=1-3", "rcu-nocbs=1 rcu_nocbs=1-3"]);
}

#[test]
fn what_is_not_certain_is_refused_with_its_line() {
    for (text, said) in [
        (
            "A=1\nGRUB_CMDLINE_LINUX_DEFAULT=\"$OTHER\"\n",
            "/etc/default/grub, line 2: a part of it comes from elsewhere",
        ),
        ("GRUB_CMDLINE_LINUX=\"`cat x`\"\n", "line 1: a part of it comes from elsewhere"),
        ("GRUB_CMDLINE_LINUX=\"$(cat x)\"\n", "line 1: a part of it comes from elsewhere"),
        ("GRUB_CMDLINE_LINUX=\"a\nb\"\n", "line 1: it goes on in the next line"),
        ("GRUB_CMDLINE_LINUX=a\\ b\n", "line 1: this is not a plain assignment"),
        ("GRUB_CMDLINE_LINUX=\"a\"'b'\n", "line 1: this is not a plain assignment"),
        ("GRUB_CMDLINE_LINUX=\"a\"; X=1\n", "line 1: this is not a plain assignment"),
        ("[ -f x ] && GRUB_CMDLINE_LINUX=a\n", "line 1: this is not a plain assignment"),
        (
            "if [ -f x ]; then\n  GRUB_CMDLINE_LINUX=a\nfi\n",
            "line 2: this depends on something else",
        ),
        ("GRUB_CMDLINE_LINUX='a=\"b'\n", "line 1: a quote in it is not closed"),
        (
            "false && {\n  GRUB_CMDLINE_LINUX_DEFAULT=\"never\"\n}\n",
            "line 1: what a shell makes of this is not certain",
        ),
        (
            "false && \\\n  GRUB_CMDLINE_LINUX_DEFAULT=\"never\"\n",
            "line 1: it goes on in the next line",
        ),
        (
            "never() {\nGRUB_CMDLINE_LINUX=a\n}\n",
            "line 1: what a shell makes of this is not certain",
        ),
        ("X=\"\nGRUB_CMDLINE_LINUX=a\n\"\n", "line 1: it goes on in the next line"),
        (
            "GRUB_CMDLINE_LINUX=a\n. /etc/default/more\n",
            "line 2: what a shell makes of this is not certain",
        ),
        (
            "GRUB_CMDLINE_LINUX=a\nexit 0\nGRUB_CMDLINE_LINUX=b\n",
            "line 2: what a shell makes of this is not certain",
        ),
        (
            "if a; then\n  if b; then c; fi\n  GRUB_CMDLINE_LINUX=a\nfi\n",
            "line 3: this depends on something else",
        ),
        (
            "GRUB_CMDLINE_LINUX=\"a -- b\"\nGRUB_CMDLINE_LINUX_DEFAULT=c\n",
            "line 1: what follows its -- goes to init",
        ),
    ] {
        let machine = grub(text);
        let error = error(machine.write());
        assert!(error.contains(said) && error.contains("Nothing was written"), "{text}: {error}");
        assert_eq!(machine.read(FILE), text);
        assert!(!machine.root.path("var").exists());
    }
}

/// Images for clouds have a file that takes the place of what /etc/default/grub says.
#[test]
fn files_beside_it_count_where_the_distribution_reads_them() {
    let cloud = "etc/default/grub.d/50-cloudimg-settings.cfg";
    let crash = "etc/default/grub.d/kdump-tools.cfg";
    let files = [
        (FILE, DEBIAN),
        (cloud, "GRUB_CMDLINE_LINUX_DEFAULT=\"console=ttyS0\"\n"),
        (crash, "GRUB_CMDLINE_LINUX_DEFAULT=\"$GRUB_CMDLINE_LINUX_DEFAULT crashkernel=512M\"\n"),
        ("etc/default/grub.d/README", "GRUB_CMDLINE_LINUX_DEFAULT=\"$(x)\"\n"),
    ];
    let machine = Machine::new(&[&files[..], &[(UPDATE, "")]].concat());
    let written = machine.write().unwrap();
    assert_eq!(written.files.iter().map(|one| one.file.as_str()).collect::<Vec<_>>(), [cloud]);
    assert_eq!(
        machine.read(cloud),
        format!("GRUB_CMDLINE_LINUX_DEFAULT=\"console=ttyS0 {}\"\n", machine.arguments())
    );
    // Only what has the arguments is said to have them: the others need none.
    let again = machine.write().unwrap();
    assert_eq!((again.files.len(), again.right), (0, vec![cloud.to_owned()]));
    assert_eq!(machine.plan(&[1, 2, 3]).files_with(&machine.root), [cloud]);
    // Nobody reads them there.
    let machine = Machine::new(&[&files[..], &[("boot/grub2/grub.cfg", "")]].concat());
    let written = machine.write().unwrap();
    assert_eq!(written.files.iter().map(|one| one.file.as_str()).collect::<Vec<_>>(), [FILE]);
    assert_eq!(written.run.as_deref(), Some("sudo grub2-mkconfig -o /boot/grub2/grub.cfg"));
}

#[test]
fn where_grub_has_entries_the_command_for_them_is_said() {
    let text = "GRUB_CMDLINE_LINUX=\"ro\"\nGRUB_ENABLE_BLSCFG=true\n";
    let machine = Machine::new(&[
        (FILE, text),
        ("boot/loader/entries/a.conf", "options ro\n"),
        ("etc/kernel/cmdline", "ro\n"),
    ]);
    let error = error(machine.write());
    let command = format!(
        "Run: sudo grubby --update-kernel=ALL --remove-args=rcu_nocbs=0 --args='{}'",
        machine.arguments()
    );
    assert!(error.ends_with(&command), "{error}");
    assert_eq!(machine.read(FILE), text);
}

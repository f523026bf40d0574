// SPDX-License-Identifier: MIT OR Apache-2.0
//! Arguments are replaced where they stand, and whatever else is there stays byte for byte.

use super::*;
use proptest::prelude::*;

fn argument(name: &'static str, text: &str) -> PlannedArgument {
    PlannedArgument { name, text: text.to_owned(), is_list: true }
}

fn in_one(text: &str, quoting: Quoting, arguments: &[PlannedArgument]) -> String {
    let pieces = [Piece { file: 0, range: 0..text.len(), quoting }];
    let is_right = |argument: &PlannedArgument, text: &str| argument.text == text;
    edited(&[text.to_owned()], &pieces, arguments, &is_right, 0).remove(0)
}

#[test]
fn each_argument_is_replaced_in_place_or_comes_last() {
    let arguments = [argument("isolcpus", "isolcpus=1-3"), argument("rcu_nocbs", "rcu_nocbs=1-3")];
    for (before, after) in [
        ("", "isolcpus=1-3 rcu_nocbs=1-3"),
        ("\n", "isolcpus=1-3 rcu_nocbs=1-3\n"),
        ("quiet  splash\n", "quiet  splash isolcpus=1-3 rcu_nocbs=1-3\n"),
        ("rcu_nocbs=0 quiet", "rcu_nocbs=1-3 quiet isolcpus=1-3"),
        (" rcu-nocbs=0\tisolcpus=2 ", " rcu_nocbs=1-3\tisolcpus=1-3 "),
        ("isolcpus=1-3 a rcu_nocbs", "isolcpus=1-3 a rcu_nocbs=1-3"),
        ("isolcpus=1-3 rcu_nocbs=1-3\r\n", "isolcpus=1-3 rcu_nocbs=1-3\r\n"),
        // What the kernel reads twice is there once.
        ("isolcpus=1 a isolcpus=2 b", "a isolcpus=1-3 b rcu_nocbs=1-3"),
        ("x isolcpus=1 a isolcpus=1-3 b", "x a isolcpus=1-3 b rcu_nocbs=1-3"),
        // What follows is for init, and within quotes nothing is an argument.
        ("quiet -- isolcpus=7", "quiet isolcpus=1-3 rcu_nocbs=1-3 -- isolcpus=7"),
        ("-- x", "isolcpus=1-3 rcu_nocbs=1-3 -- x"),
        (
            "dyndbg=\"file isolcpus=1 +p\" x",
            "dyndbg=\"file isolcpus=1 +p\" x isolcpus=1-3 rcu_nocbs=1-3",
        ),
        (
            "xisolcpus=1 isolcpus.x=1 rcu_nocbs_poll",
            "xisolcpus=1 isolcpus.x=1 rcu_nocbs_poll isolcpus=1-3 rcu_nocbs=1-3",
        ),
    ] {
        assert_eq!(in_one(before, Quoting::Kernel, &arguments), after, "{before:?}");
    }
}

#[test]
fn a_shells_quotes_hide_the_kernels() {
    let arguments = [argument("isolcpus", "isolcpus=1")];
    for (before, after) in [
        (r#"a=\"b isolcpus=2\" c"#, r#"a=\"b isolcpus=2\" c isolcpus=1"#),
        (r#"a=\"b\" isolcpus=2 c"#, r#"a=\"b\" isolcpus=1 c"#),
        (r"a\\ isolcpus=2", r"a\\ isolcpus=1"),
    ] {
        assert_eq!(in_one(before, Quoting::WithinShell, &arguments), after, "{before}");
    }
    assert_eq!(in_one("quiet", Quoting::Bare, &arguments), "\"quiet isolcpus=1\"");
    assert_eq!(in_one("isolcpus=3", Quoting::Bare, &arguments), "isolcpus=1");
    assert_eq!(in_one("", Quoting::Bare, &arguments), "\"isolcpus=1\"");
}

#[test]
fn an_argument_is_found_in_whatever_piece_it_stands() {
    let texts = ["A=\"isolcpus=1 a\" B=\"b\"".to_owned(), "c isolcpus=2".to_owned()];
    let piece = |file, range| Piece { file, range, quoting: Quoting::Kernel };
    let pieces = [piece(0, 3..15), piece(0, 20..21), piece(1, 0..12)];
    let arguments = [argument("isolcpus", "isolcpus=1-3"), argument("nohz_full", "nohz_full=1-3")];
    let after = edited(&texts, &pieces, &arguments, &|_, _| false, 1);
    assert_eq!(after, ["A=\"a\" B=\"b nohz_full=1-3\"", "c isolcpus=1-3"]);
}

proptest! {
    /// All that is not of a planned name stays, in its order, and nothing is written twice.
    #[test]
    fn others_stay(
        line in "[ab= \"\\\\-]{0,12}\
            ( (isolcpus|rcu-nocbs)=[0-9]| [a-z]{1,3}=\"x y\"| --| [a-z]{1,4})*\n?",
    ) {
        let arguments =
            [argument("isolcpus", "isolcpus=1-3"), argument("rcu_nocbs", "rcu_nocbs=1-3")];
        for quoting in [Quoting::Kernel, Quoting::WithinShell] {
            if !is_closed(&line, quoting) {
                continue;
            }
            let after = in_one(&line, quoting, &arguments);
            prop_assert_eq!(in_one(&after, quoting, &arguments), after.clone(), "a second time");
            let others = |text: &str| -> Vec<String> {
                let is_planned =
                    |word: &str| arguments.iter().any(|argument| is_named(word, argument.name));
                words(text, quoting)
                    .into_iter()
                    .map(|word| text[word].to_owned())
                    .filter(|word| !is_planned(word))
                    .collect()
            };
            prop_assert_eq!(others(&after), others(&line));
        }
    }
}

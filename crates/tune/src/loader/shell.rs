// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lines of a shell's file: whether each of them runs whatever else is so. What is not certain is
//! refused, with its line.

/// Words after which it is not known what runs, or what a variable has.
const UNCERTAIN: &[&str] = &[
    ".", "source", "eval", "exec", "exit", "return", "function", "alias", "trap", "{", "}",
    "break", "continue",
];
const OPENING: &[&str] = &["if", "case", "for", "while", "until", "select"];
const CLOSING: &[&str] = &["fi", "esac", "done"];

pub(super) const GOES_ON: &str = "it goes on in the next line";
const NOT_CERTAIN: &str = "what a shell makes of this is not certain";

/// Of each line, within how many conditions and loops it begins.
pub(super) fn depths(text: &str) -> Result<Vec<usize>, (usize, &'static str)> {
    let (mut depths, mut depth) = (Vec::new(), 0_usize);
    for (place, line) in text.lines().enumerate() {
        let refused = |why| (place + 1, why);
        depths.push(depth);
        let bare = bare(line).map_err(refused)?;
        let has_part = |part: &str| bare.contains(part);
        let ends_open = ["&&", "||", "|"].iter().any(|end| bare.trim_end().ends_with(end));
        if ends_open || has_part("()") || has_part("<<") {
            return Err(refused(NOT_CERTAIN));
        }
        for word in bare.split(|letter: char| letter.is_whitespace() || ";&|()".contains(letter)) {
            if UNCERTAIN.contains(&word) {
                return Err(refused(NOT_CERTAIN));
            }
            if OPENING.contains(&word) {
                depth += 1;
            } else if CLOSING.contains(&word) {
                depth = depth.checked_sub(1).ok_or_else(|| refused(NOT_CERTAIN))?;
            }
        }
    }
    Ok(depths)
}

/// A line without comment, and without what is within quotes or what another shell runs.
fn bare(line: &str) -> Result<String, &'static str> {
    let (mut bare, mut ends, mut before) = (String::new(), Vec::<char>::new(), ' ');
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        let within = ends.last().copied();
        let starts_word = before.is_whitespace() || ";&|(".contains(before);
        before = letter;
        if within.is_none() {
            if letter == '#' && starts_word {
                break;
            }
            bare.push(letter);
        }
        match (letter, within) {
            // Nothing but its end counts in it.
            (_, Some('\'')) if letter != '\'' => {}
            ('\\', _) => {
                before = letters.next().ok_or(GOES_ON)?;
            }
            (_, Some(end)) if letter == end => {
                ends.pop();
                if ends.is_empty() {
                    bare.push(letter);
                }
            }
            ('$', _) => match letters.peek() {
                Some('(') => open(&mut letters, &mut ends, ')'),
                Some('{') => open(&mut letters, &mut ends, '}'),
                _ => {}
            },
            ('"' | '`', _) => ends.push(letter),
            ('\'', within) if within != Some('"') => ends.push(letter),
            ('(', None | Some(')')) => ends.push(')'),
            _ => {}
        }
    }
    if ends.is_empty() { Ok(bare) } else { Err(GOES_ON) }
}

fn open(letters: &mut std::iter::Peekable<std::str::Chars<'_>>, ends: &mut Vec<char>, end: char) {
    letters.next();
    ends.push(end);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_distributions_are_certain() {
        for line in [
            "GRUB_DISTRIBUTOR=`lsb_release -i -s 2> /dev/null || echo Debian`",
            "GRUB_DISTRIBUTOR=`( . /etc/os-release; echo ${NAME:-Debian} ) 2>/dev/null || echo \
             Debian`",
            "GRUB_DISTRIBUTOR=\"$(sed 's, release .*$,,g' /etc/system-release)\"",
            "#GRUB_BADRAM=\"0x01234567,0xfefefefe\" it's a comment {",
            "X=\"it's\" # isn't { ||",
            "X=a#b\\\"c",
            "X='a\\'",
            "if [ -f x ]; then Y=\"${Z%\\}}\"; fi",
            "echo \"Including Xen overrides\"",
        ] {
            assert_eq!(depths(line), Ok(vec![0]), "{line}");
        }
        assert_eq!(depths("if a; then\nwhile b; do\nc\ndone\nfi\nd"), Ok(vec![0, 1, 2, 2, 1, 0]));
    }

    #[test]
    fn what_goes_on_or_may_not_run_is_refused() {
        for line in ["X=\"a", "X='a", "X=`a", "X=$(a", "X=${a", "a \\", "(", "X=\"$(a\")"] {
            assert_eq!(depths(line), Err((1, GOES_ON)), "{line}");
        }
        for line in [
            "false && {",
            "false &&",
            "false ||",
            "cat |",
            "f() {",
            "f()",
            "function f",
            "{",
            "}",
            ". /etc/default/more",
            "source more",
            "[ -f x ] && . x",
            "[ -f x ] && exit",
            "return 0",
            "eval \"$x\"",
            "cat <<END",
            "fi",
            "a; done",
        ] {
            assert_eq!(depths(line), Err((1, NOT_CERTAIN)), "{line}");
        }
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! Words as a shell has to be given them.

/// One word, in quotes where a shell would split or change it, in one line.
pub fn quoted(word: &str) -> String {
    if word.chars().any(char::is_control) {
        // As bash and others take it.
        let one = |c: char| match c {
            '\'' | '\\' => format!("\\{c}"),
            c if c.is_control() => {
                c.to_string().bytes().map(|byte| format!("\\x{byte:02x}")).collect()
            }
            c => c.to_string(),
        };
        return format!("$'{}'", word.chars().map(one).collect::<String>());
    }
    let plain = |c: char| c.is_alphanumeric() || "-_./+=@%,:".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// A command line of these words.
pub fn command_line<W: AsRef<str>>(words: &[W]) -> String {
    words.iter().map(|word| quoted(word.as_ref())).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_quoted_where_a_shell_would_split_it() {
        assert_eq!(quoted("out/007-load=cpu@50%.teiji"), "out/007-load=cpu@50%.teiji");
        assert_eq!(quoted("it's\there"), r"$'it\'s\x09here'");
        let words = ["teiji", "measure", "--title", "it's late", "-a", "1-3,!2", ""];
        assert_eq!(command_line(&words), r"teiji measure --title 'it'\''s late' -a '1-3,!2' ''");
    }
}

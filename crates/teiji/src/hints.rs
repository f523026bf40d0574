// SPDX-License-Identifier: MIT OR Apache-2.0
//! What to say to somebody whose command line was meant for another program: cyclictest's flags in
//! teiji's words, and what can be done about a program of one's own.

use crate::commands::cyclictest::options::{CommandLine, OPTIONS, Version};
use crate::commands::cyclictest::settings::Settings;
use crate::commands::cyclictest::translation::{Length, Translation};
use crate::commands::lint;
use crate::output;
use crate::suggestion::{self, Word};
use clap::Args;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use std::ffi::OsString;
use std::path::Path;

/// Commands that are meant to be and are not there yet, and what is possible today.
const NOT_YET: [(&str, &str); 3] = [
    ("history", "teiji compare and teiji gate compare recordings"),
    ("serve", "teiji report writes one page that opens offline"),
    ("remote", "copy the program to the board, which needs nothing else, and the recording back"),
];

/// What to say beside an error about this command line, if it was meant for another program or is
/// not there yet.
pub fn hint(words: &[OsString], error: &clap::Error) -> Option<String> {
    let words: Vec<&str> = words.iter().skip(1).map(|word| word.to_str()).collect::<Option<_>>()?;
    if error.kind() == ErrorKind::InvalidSubcommand {
        let (verb, today) = NOT_YET.iter().find(|(verb, _)| words.first() == Some(verb))?;
        return Some(format!("teiji {verb} does not exist yet. Today: {today}."));
    }
    let words = words.strip_prefix(&["measure"])?;
    // Whoever names one of our probes has not come from cyclictest.
    if words.iter().any(|word| *word == "--probe" || word.starts_with("--probe=")) {
        return None;
    }
    let context = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    let argument = context(ContextKind::InvalidArg)?;
    match error.kind() {
        // Behind a bare -t of cyclictest the next flag is taken for its value, and what follows for
        // a program.
        ErrorKind::UnknownArgument if !argument.starts_with('-') => {
            program(argument).or_else(|| cyclictest(words))
        }
        ErrorKind::UnknownArgument => {
            is_of_cyclictest(argument).then(|| cyclictest(words)).flatten()
        }
        // A flag that takes no value there, in front of the next flag or of nothing.
        ErrorKind::InvalidValue | ErrorKind::ValueValidation => {
            let value = context(ContextKind::InvalidValue).unwrap_or_default();
            let is_flag = value
                .strip_prefix('-')
                .is_some_and(|flag| flag.starts_with(|c: char| c == '-' || c.is_alphabetic()));
            let bare =
                ["--samples", "--threads", "--cpus"].iter().any(|flag| argument.starts_with(flag));
            let distance = argument.starts_with("--duration") && value == "0";
            (bare && (value.is_empty() || is_flag) || distance).then(|| cyclictest(words)).flatten()
        }
        _ => None,
    }
}

/// Removes the tip that an unknown flag may be given behind `--`: there is the command that a probe
/// starts.
pub fn remove_trailing_tip(error: &mut clap::Error) {
    if let Some(ContextValue::StyledStrs(mut tips)) = error.remove(ContextKind::Suggested) {
        tips.retain(|tip| !tip.to_string().contains(" as a value, use "));
        if !tips.is_empty() {
            error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
        }
    }
}

/// Removes the flag that is spelt alike, and its usage, where the flag is known to be cyclictest's.
pub fn remove_guesses(error: &mut clap::Error) {
    if error.remove(ContextKind::SuggestedArg).is_some() {
        error.remove(ContextKind::Usage);
    }
}

/// What `-h 400` is here, which asks for a histogram there.
pub fn histogram_hint(words: &[OsString]) -> Option<String> {
    let words: Vec<&str> = words.iter().skip(1).map(|word| word.to_str()).collect::<Option<_>>()?;
    asks_for_a_histogram(&words).then(|| cyclictest(words.strip_prefix(&["measure"])?)).flatten()
}

fn is_of_cyclictest(argument: &str) -> bool {
    match argument.strip_prefix("--") {
        Some(long) => {
            let name = long.split('=').next().unwrap_or(long);
            OPTIONS.iter().any(|option| option.long == Some(name))
        }
        None => {
            let letter = argument.chars().nth(1);
            letter.is_some() && OPTIONS.iter().any(|option| option.short == letter)
        }
    }
}

/// Whether a word asks for help in teiji, and for a histogram in cyclictest.
fn asks_for_a_histogram(words: &[&str]) -> bool {
    let is_number = |word: &str| word.parse::<u32>().is_ok();
    words.first() == Some(&"measure")
        && words.iter().enumerate().any(|(place, word)| match word.strip_prefix("-h") {
            Some("") => words.get(place + 1).is_some_and(|next| is_number(next)),
            Some(number) => is_number(number),
            None => false,
        })
}

/// A program that is to be measured itself. A number or a time is none.
fn program(name: &str) -> Option<String> {
    if name.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let command = shlex::try_quote(name).ok()?;
    // Once for the shell, and within that once for teiji, which takes a command apart as a shell
    // does.
    let load = in_quotes(&format!("cmd:{}", shlex::try_quote(name).ok()?));
    let file = output::quoted(Path::new(&format!("{name}=/my")));
    Some(format!(
        "teiji measure starts threads of its own and measures their wake-ups. Those of another \
         program:\n\x20 teiji measure --probe app -- {command}   its wake-ups, from its start. \
         --pid N: of a process that runs\n\x20 teiji measure --load {load}   wake-up latency \
         while that program runs\n\x20 teiji lab exec --file {file} --run /my --count   the \
         instructions it takes, if it is static"
    ))
}

/// In single quotes for a shell.
fn in_quotes(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// The same command line in teiji's words; nothing where no word differs, or it is none of
/// cyclictest's.
fn cyclictest(words: &[&str]) -> Option<String> {
    translated(words, std::thread::available_parallelism().map_or(1, usize::from))
}

/// The same on a machine with so many CPUs.
fn translated(words: &[&str], cpus: usize) -> Option<String> {
    let (theirs, ours) = without_ours(words);
    if theirs.iter().any(|word| word == "-smp") {
        let found = lint::of_command(&theirs);
        return Some(format!(
            "cyclictest's flags translated to teiji's:\n{}",
            found.text().trim_end()
        ));
    }
    let line = CommandLine::read_leniently(&theirs, Version::NEWEST).ok()?;
    let (lines, last) = match Settings::from_line(&line, Version::NEWEST, cpus) {
        Err(error) => (Vec::new(), format!("That is no command line of cyclictest's: {error:#}")),
        Ok((settings, _)) => {
            let Translation { words, lines, .. } = Translation::new(&line, &settings, Length::Ours);
            let words = ["measure".to_owned()].into_iter().chain(words).chain(ours);
            (lines, written(&words.map(OsString::from).collect::<Vec<_>>()))
        }
    };
    let lines: String = lines.iter().map(|line| format!("{line}\n")).collect();
    Some(format!("cyclictest's flags translated to teiji's:\n{lines}{last}"))
}

/// The command to write; what else is wrong in it is for the user to change: then it is none.
fn written(words: &[OsString]) -> String {
    match suggestion::refused(words) {
        Some(why) => format!("That is no command line of teiji yet: {why}"),
        None => {
            let words: Vec<&dyn Word> = words.iter().map(|word| word as &dyn Word).collect();
            format!("Write: {}", suggestion::command(&words))
        }
    }
}

/// A command line that is partly in teiji's words: those that can be cyclictest's, and those that
/// cannot, as they are.
fn without_ours(words: &[&str]) -> (Vec<String>, Vec<String>) {
    let (mut theirs, mut ours) = (Vec::new(), Vec::new());
    let mut rest = words.iter().copied().peekable();
    while let Some(word) = rest.next() {
        let next = rest.peek().copied();
        let is_value = |next: &&str| !next.starts_with('-');
        match is_ours(word, next) {
            Ours::No => theirs.push(word.to_owned()),
            Ours::Word => ours.push(word.to_owned()),
            Ours::WithNext => {
                ours.push(word.to_owned());
                ours.extend(rest.next_if(is_value).map(str::to_owned));
            }
        }
    }
    (theirs, ours)
}

/// Whether a word is a flag of ours alone.
enum Ours {
    No,
    Word,
    /// The next one is its value.
    WithNext,
}

fn is_ours(word: &str, next: Option<&str>) -> Ours {
    /// Of a flag of both, in front of what cyclictest would not read as a number.
    const UNITS: [&str; 3] = ["-i", "-d", "-b"];
    let is_number = |value: &str| value.parse::<i64>().is_ok();
    if let Some(long) = word.strip_prefix("--") {
        let (name, value) = long.split_once('=').map_or((long, None), |(n, v)| (n, Some(v)));
        let has_unit = matches!(name, "interval" | "distance" | "aligned")
            && value.or(next).is_some_and(|value| {
                value.starts_with(|c: char| c.is_ascii_digit()) && !is_number(value)
            });
        let is_theirs = OPTIONS.iter().any(|option| option.long == Some(name));
        let measure = crate::commands::measure::Args::augment_args(clap::Command::default());
        let flag = measure.get_arguments().find(|flag| flag.get_long() == Some(name));
        return match flag {
            Some(flag) if !is_theirs || has_unit => {
                let takes = flag.get_action().takes_values();
                if takes && value.is_none() { Ours::WithNext } else { Ours::Word }
            }
            _ => Ours::No,
        };
    }
    let (flag, attached) = word.split_at_checked(2).unwrap_or((word, ""));
    let value = if attached.is_empty() { next } else { Some(attached) };
    let is = match flag {
        "-o" => value.is_some_and(|value| !is_number(value)),
        "-n" => value.is_some_and(is_number),
        _ => {
            UNITS.contains(&flag)
                && value.is_some_and(|value| {
                    value.starts_with(|c: char| c.is_ascii_digit()) && !is_number(value)
                })
        }
    };
    match (is, attached.is_empty()) {
        (false, _) => Ours::No,
        (true, true) => Ours::WithNext,
        (true, false) => Ours::Word,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    fn words(line: &str) -> Vec<OsString> {
        std::iter::once("teiji").chain(line.split_whitespace()).map(OsString::from).collect()
    }

    fn command_line(line: &str) -> Option<String> {
        let words = words(line);
        let error = crate::Cli::command().try_get_matches_from(&words).err()?;
        histogram_hint(&words).or_else(|| hint(&words, &error))
    }

    fn command(line: &str) -> String {
        let command_line = command_line(line).unwrap_or_else(|| panic!("{line}"));
        command_line
            .lines()
            .last()
            .and_then(|line| line.strip_prefix("Write: "))
            .unwrap_or_else(|| panic!("{command_line}"))
            .to_owned()
    }

    /// It was advised to write `--probe` without its value.
    #[test]
    fn a_probe_of_ours_is_not_of_cyclictest() {
        for line in [
            "measure --probe stream -d 0",
            "measure --probe=app -d 0 -- true",
            "measure --probe noise -m",
        ] {
            assert_eq!(command_line(line), None, "{line}");
        }
        assert!(command_line("measure -d 0").is_some());
    }

    #[test]
    fn cyclictest_command_lines() {
        for (line, translated) in [
            (
                "measure -m -S -p 90 -i 200 -l 1000",
                "teiji measure -p 90 -i 200 -n 1000 --distance 500us",
            ),
            ("measure -mSp90 -i200 -h 400 -D 10m", "teiji measure -p 90 -i 200 -d 10m"),
            ("measure --smp -a -t -n -d 0", "teiji measure --policy other"),
            (
                "measure -a 1-3 -t 2 -l 5 -q",
                "teiji measure --policy other -n 5 -a 1-3 -t 2 --distance 500us -q",
            ),
            (
                "measure --mlockall --priority=80 --loops=9 --breaktrace=100",
                "teiji measure -p 80 -n 9 -t 1 -b 100",
            ),
            ("measure -m -d 10s", "teiji measure --policy other -t 1 -d 10s"),
            ("measure -m -D 10 -d 500 -A", "teiji measure --policy other -d 10 -t 1 --aligned"),
            ("measure -t5 -n", "teiji measure --policy other -t 5 --distance 500us"),
            (
                "measure -p 90 -m -c 0 -i 200 -n -v 100 -q -l 5000",
                "teiji measure -p 90 -i 200 -n 5000 -t 1 -q",
            ),
            ("measure -D 30 -i 1000 -m", "teiji measure --policy other -d 30 -t 1"),
            ("measure -m -a 1 -i 200", "teiji measure --policy other -i 200 -a 1"),
            ("measure -m -a -i 200", "teiji measure --policy other -i 200 -t 1"),
            ("measure -a 1-2 -m", "teiji measure --policy other -a 1-2 -t 1"),
            ("measure -S -d 300 -h 400", "teiji measure --policy other"),
            ("measure --distance=300 -S -h 400", "teiji measure --policy other"),
            ("measure -S -d 300 -D 1h", "teiji measure --policy other -d 1h --distance 300us"),
        ] {
            assert_eq!(command(line), translated, "{line}");
        }
        let command_line = command_line("measure -m -r").unwrap();
        assert!(
            command_line.contains(
                "  -m          leave it out: memory is always locked\n  -r          is \
                 --sleep relative\n"
            ),
            "{command_line}"
        );
    }

    /// `teiji measure -p -p -i 10000` was what one was told to write.
    #[test]
    fn what_is_to_be_written_can_be_read() {
        for (line, translated) in [
            ("measure --priority -p -i 10000", "teiji measure --policy other -i 10000 -t 1"),
            (
                "measure -m -p -p -i 10000 -t5",
                "teiji measure --policy other -i 10000 -t 5 --distance 500us",
            ),
            ("measure -t1 -m -p -n -i 10000 -l", "teiji measure --policy other -i 10000 -t 1"),
            ("measure -S -i", "teiji measure --policy other --distance 500us"),
            ("measure -S --interval -p 90", "teiji measure -p 90 --distance 500us"),
            ("measure -S -D", "teiji measure --policy other --distance 500us"),
        ] {
            assert_eq!(command(line), translated, "{line}");
        }
        let refused = |line: &str| {
            command_line(line).unwrap().lines().last().map(str::to_owned).unwrap_or_default()
        };
        let begin = "That is no command line of teiji yet: ";
        assert_eq!(
            refused("measure -S -p 90 -n 0"),
            format!("{begin}a run needs at least one sample: 0 samples were asked for")
        );
        assert_eq!(
            refused("measure -a 1 -S -m"),
            "That is no command line of cyclictest's: -a before -S: numa and smp options are \
             mutually exclusive"
        );
        assert_eq!(
            refused("measure -S -p 120"),
            "That is no command line of cyclictest's: -p 120: priorities are 0 to 99"
        );
    }

    /// What cyclictest makes of the number of CPUs is made of it.
    #[test]
    fn on_a_machine_with_four_cpus() {
        for (line, command) in [
            ("-t -a 1 -D 1h -h 400", "teiji measure --policy other -d 1h -a 1 -t 4"),
            ("-S -p 0 -l 9", "teiji measure -p 5 -n 9 --distance 500us"),
            ("-S --policy=rr -m -l 9 -d0", "teiji measure --policy rr -p 5 -n 9"),
            ("-t2 --policy=rr -m -l 9 -d0", "teiji measure --policy rr -p 3 -n 9 -t 2"),
        ] {
            let words: Vec<&str> = line.split(' ').collect();
            let text = translated(&words, 4).unwrap();
            assert_eq!(text.lines().last(), Some(&*format!("Write: {command}")), "{line}");
        }
    }

    /// What ran, and what was meant.
    #[test]
    fn letters_that_are_taken_for_smp() {
        let text = command_line("measure -smp -p 80 -i 10000").unwrap();
        for part in [
            "the priority is '-p', which is no number: 2 is taken",
            "  In teiji: teiji measure -p 2 -i 10000",
            "  Meant, in teiji: teiji measure -p 80 -i 10000",
        ] {
            assert!(text.contains(part), "{text}");
        }
    }

    #[test]
    fn a_distance_that_is_not_given() {
        let lengthens = |line: &str| command_line(line).unwrap().contains("without -d");
        assert!(
            lengthens("measure -m -S")
                && lengthens("measure -m -t 3 -D1d")
                && lengthens("measure -m -t -d 10s")
        );
        for line in [
            "measure -S -h 400",
            "measure -h400 -m -t 2",
            "measure -m -D 10",
            "measure -m -a 1",
            "measure -p 80 -i 1000 -l 100000 -a2 -t1",
            "measure -t 1 -m",
            "measure -S -d 300",
        ] {
            assert!(!lengthens(line), "{line}");
        }
    }

    #[test]
    fn nothing_to_say() {
        for line in [
            "measure -i 200us -n 5 -a 1 -t 2",
            "show -m",
            "measure --distance 5us",
            "measure --bogus",
            "measure -n 10 -b 5",
            "run x.toml",
        ] {
            assert_eq!(command_line(line), None, "{line}");
        }
        let asks = |line: &str| histogram_hint(&words(line)).is_some();
        assert!(asks("measure -h 400") && asks("measure -q -h400"));
        assert!(!asks("measure -h") && !asks("show -h 400") && !asks("measure -h -q"));
    }

    #[test]
    fn a_program_of_ones_own() {
        for (line, name) in [
            ("measure ./my-loop", "'cmd:./my-loop'"),
            ("measure -o x/y.teiji /usr/bin/top", "'cmd:/usr/bin/top'"),
        ] {
            let command_line = command_line(line).unwrap_or_else(|| panic!("{line}"));
            assert!(
                command_line.contains(name)
                    && command_line.contains("--probe app -- ")
                    && command_line.contains("--pid N"),
                "{line}: {command_line}"
            );
        }
    }

    #[test]
    fn a_program_whose_name_a_shell_would_split() {
        for name in ["a b", "it's", "./my-loop"] {
            let command_line = program(name).unwrap();
            let commands: Vec<_> = command_line
                .lines()
                .filter(|line| line.starts_with("  teiji"))
                .filter_map(shlex::split)
                .collect();
            assert_eq!(commands[0][5], name);
            let load = commands[1][3].strip_prefix("cmd:").unwrap();
            assert_eq!(
                (shlex::split(load).unwrap(), commands[2][4].as_str()),
                (vec![name.to_owned()], &*format!("{name}=/my"))
            );
        }
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! config.txt of a Raspberry Pi: what its firmware does with it on this board.
//!
//! A line such as `[pi4]` is a filter: what follows counts on such boards alone, until `[all]` or
//! another filter of the same kind. See "Conditional filters" in the Raspberry Pi documentation.

use super::board::board;
use super::finding::Seen;
use super::machine::Machine;
use super::words::is_one_off;

const FILES: [&str; 2] = ["boot/firmware/config.txt", "boot/config.txt"];
/// Settings of frequency and heat.
const SHOWN: [&str; 6] =
    ["arm_freq", "arm_freq_min", "force_turbo", "temp_soft_limit", "temp_limit", "over_voltage"];
/// More than these the firmware takes for these, degrees.
const HIGHEST_SOFT_LIMIT: i64 = 70;
const HIGHEST_LIMIT: i64 = 85;

/// Whether a filter lets a line count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Counts {
    Yes,
    No,
    /// It asks for what no file shows, such as the level of a pin.
    Unknown,
}

/// A line that sets something.
struct Setting {
    name: String,
    value: String,
    counts: Counts,
    /// The filters that it is under.
    filters: String,
}

impl Setting {
    fn written(&self) -> String {
        format!("{}={}", self.name, self.value)
    }
}

/// Filters for models, and how the names of their boards go on after `Raspberry Pi `.
const MODELS: [(&str, &[&str]); 16] = [
    ("pi1", &["Model ", "Compute Module Rev"]),
    ("pi2", &["2 "]),
    ("pi3", &["3 ", "Compute Module 3"]),
    ("pi3+", &["3 Model A Plus", "3 Model B Plus", "Compute Module 3 Plus"]),
    ("pi4", &["4 ", "400 ", "Compute Module 4"]),
    ("pi400", &["400 "]),
    ("cm4", &["Compute Module 4 "]),
    ("cm4s", &["Compute Module 4S"]),
    ("pi5", &["5 ", "500", "Compute Module 5"]),
    ("pi500", &["500"]),
    ("cm5", &["Compute Module 5"]),
    ("pi0", &["Zero"]),
    ("pi0w", &["Zero W", "Zero 2 W"]),
    ("pi02", &["Zero 2"]),
    ("cm1", &["Compute Module Rev"]),
    ("cm3", &["Compute Module 3 "]),
];

fn is_model(filter: &str, board: &str) -> Option<bool> {
    let (_, names) = MODELS.into_iter().find(|(model, _)| *model == filter)?;
    let rest = format!("{} ", board.strip_prefix("Raspberry Pi ")?);
    Some(names.iter().any(|name| rest.starts_with(name)))
}

/// The kind of a filter: of each kind the last one counts.
fn kind(filter: &str) -> &str {
    if MODELS.iter().any(|(model, _)| *model == filter) || filter.starts_with("board-type") {
        return "model";
    }
    filter.split(['=', ':']).next().unwrap_or_default()
}

fn settings(text: &str, board: &str) -> Vec<Setting> {
    let mut filters: Vec<&str> = Vec::new();
    let mut settings = Vec::new();
    for line in text.lines() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if let Some(filter) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            filters
                .retain(|other| filter != "all" && kind(other) != kind(filter) && *other != "none");
            filters.extend(Some(filter).filter(|filter| *filter != "all"));
            continue;
        }
        let Some((name, value)) = line.split_once('=') else { continue };
        let each = filters.iter().map(|filter| match (*filter, is_model(filter, board)) {
            ("none", _) | (_, Some(false)) => Counts::No,
            (_, Some(true)) => Counts::Yes,
            (_, None) => Counts::Unknown,
        });
        let counts = each.fold(Counts::Yes, |all, one| match (all, one) {
            (Counts::No, _) | (_, Counts::No) => Counts::No,
            (Counts::Unknown, _) | (_, Counts::Unknown) => Counts::Unknown,
            _ => Counts::Yes,
        });
        let filters = filters.iter().map(|filter| format!("[{filter}]")).collect();
        settings.push(Setting {
            name: name.trim().to_owned(),
            value: value.trim().to_owned(),
            counts,
            filters,
        });
    }
    settings
}

/// What config.txt says, and where it is.
fn of_machine(machine: &Machine<'_>) -> Option<(Vec<Setting>, &'static str)> {
    let board = board(machine).unwrap_or_default();
    FILES.into_iter().find_map(|file| Some((settings(&machine.text(file)?, &board), file)))
}

/// The last value that config.txt gives a setting on this board.
pub(crate) fn config_value(machine: &Machine<'_>, name: &str) -> Option<String> {
    let (settings, _) = of_machine(machine)?;
    settings
        .into_iter()
        .rev()
        .find(|one| one.counts == Counts::Yes && one.name == name)
        .map(|one| one.value)
}

pub(crate) fn board_config(machine: &Machine<'_>) -> Option<Seen> {
    let board = board(machine).filter(|board| board.starts_with("Raspberry Pi"))?;
    let (settings, file) = of_machine(machine)?;
    let last = |name: &str| {
        settings.iter().rev().find(|one| one.counts == Counts::Yes && one.name == name)
    };
    let mut found: Vec<String> =
        SHOWN.into_iter().filter_map(|name| Some(last(name)?.written())).collect();
    let is_fixed =
        last("arm_freq").is_some() || last("force_turbo").is_some_and(|one| one.value == "1");
    let mut actions = Vec::new();
    if !is_fixed {
        found.push("the frequency follows load and heat".to_owned());
        actions.push(format!("set arm_freq= to what the board holds when it is hot, in /{file}"));
    }
    for (name, highest) in [("temp_soft_limit", HIGHEST_SOFT_LIMIT), ("temp_limit", HIGHEST_LIMIT)]
    {
        let Some(given) = last(name) else { continue };
        if name == "temp_soft_limit" && is_model("pi3+", &board) != Some(true) {
            found.push(format!("{name}= counts on a Raspberry Pi 3A+ or 3B+ alone"));
            actions.push(format!("remove {} from /{file}", given.written()));
        } else if given.value.parse::<i64>().is_ok_and(|degrees| degrees > highest) {
            found.push(format!("of {name} the firmware takes {highest} at most"));
            actions.push(format!("replace {} by {name}={highest} in /{file}", given.written()));
        }
    }
    for one in settings
        .iter()
        .filter(|one| one.counts != Counts::No && !SHOWN.contains(&one.name.as_str()))
    {
        if let Some(meant) = SHOWN.into_iter().find(|known| is_one_off(known, &one.name)) {
            let written = one.written();
            found.push(format!("{written} looks like {meant}, and does nothing"));
            actions.push(format!(
                "replace {written} by {meant}={}, or remove it, in /{file}",
                one.value
            ));
        }
    }
    for one in settings
        .iter()
        .filter(|one| one.counts == Counts::Unknown && SHOWN.contains(&one.name.as_str()))
    {
        found.push(format!("{} under {}, which no file shows to hold", one.written(), one.filters));
    }
    let found = found.join(", ");
    if actions.is_empty() { Seen::ok(found) } else { Seen::warn(found, actions.join(", and ")) }
}

#[cfg(test)]
mod tests {
    use crate::Status;
    use crate::one_finding::finding;
    use crate::tests::files::lay;

    const PI_3: &str = "Raspberry Pi 3 Model B Rev 1.2";
    const PI_3_PLUS: &str = "Raspberry Pi 3 Model B Plus Rev 1.3";

    fn seen(board: &str, config: &str) -> (Status, String, String) {
        let files = [("proc/device-tree/model", board), ("boot/config.txt", config)];
        let (_dir, root) = lay(&files);
        let finding = finding(&root, "board-config", None).unwrap();
        (finding.status, finding.found, finding.action)
    }

    /// Settings for other boards were said to be this board's.
    #[test]
    fn filters_of_other_boards_count_there_alone() {
        let config = "arm_freq=1000\n[pi4]\narm_freq=2000\nforce_turbo=1\n[pi3]\narm_freq=1100 # \
                      of both\n[pi3+]\narm_freq=1200\n[pi0]\narm_freq=700\n[all]\nover_voltage=2\n\
                      [none]\nover_voltage=6\n";
        for (board, expected) in [
            (PI_3, "arm_freq=1100, over_voltage=2"),
            (PI_3_PLUS, "arm_freq=1200, over_voltage=2"),
            ("Raspberry Pi 4 Model B Rev 1.4", "arm_freq=2000, force_turbo=1, over_voltage=2"),
            ("Raspberry Pi 5 Model B Rev 1.0", "arm_freq=1000, over_voltage=2"),
            ("Raspberry Pi Zero 2 W Rev 1.0", "arm_freq=700, over_voltage=2"),
            (
                "Raspberry Pi Compute Module 4S Rev 1.0",
                "arm_freq=2000, force_turbo=1, over_voltage=2",
            ),
        ] {
            let expected = (Status::Ok, expected.to_owned(), String::new());
            assert_eq!(seen(board, config), expected, "{board}");
        }
        // Two of different kinds must both hold.
        let config = "arm_freq=900\n[pi4]\n[gpio4=1]\narm_freq=1000\n[pi3]\narm_freq=1100\n";
        let expected =
            "arm_freq=900, arm_freq=1100 under [gpio4=1][pi3], which no file shows to hold";
        assert_eq!(seen(PI_3, config).1, expected);
    }

    #[test]
    fn limits_beyond_those_of_the_firmware_are_named() {
        let (status, found, action) =
            seen(PI_3_PLUS, "arm_freq=1000\ntemp_soft_limit=90\ntemp_limit=90\n");
        assert_eq!(status, Status::Warn);
        assert!(
            found.ends_with(
                "of temp_soft_limit the firmware takes 70 at most, of temp_limit the firmware \
                 takes 85 at most"
            ),
            "{found}"
        );
        let expected = "replace temp_soft_limit=90 by temp_soft_limit=70 in /boot/config.txt, and \
                        replace temp_limit=90 by temp_limit=85 in /boot/config.txt";
        assert_eq!(action, expected);
        assert_eq!(
            seen(PI_3_PLUS, "arm_freq=1000\ntemp_soft_limit=70\ntemp_limit=85\n").0,
            Status::Ok
        );
        let (status, _, action) = seen(PI_3, "arm_freq=1000\ntemp_soft_limit=70\n");
        assert_eq!(
            (status, action.as_str()),
            (Status::Warn, "remove temp_soft_limit=70 from /boot/config.txt")
        );
    }

    #[test]
    fn a_misspelled_setting_is_named() {
        let (status, found, action) = seen(PI_3, "arm_freq=1000\n arm_frq=1200\ngpu_freq=400\n");
        assert_eq!(
            (status, found.as_str()),
            (Status::Warn, "arm_freq=1000, arm_frq=1200 looks like arm_freq, and does nothing")
        );
        assert_eq!(
            action,
            "replace arm_frq=1200 by arm_freq=1200, or remove it, in /boot/config.txt"
        );
        assert_eq!(seen(PI_3, "dtparam=audio=on\n").1, "the frequency follows load and heat");
    }
}

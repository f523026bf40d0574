// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernel arguments that do nothing, because their name or their value is misspelled.
//!
//! What is written is compared with the arguments that latency recipes use, with common ones, with
//! the parameters that loaded modules have in /sys/module, and with the image of the running
//! kernel, which holds the names of all that it takes. Where that cannot be read, a name that is
//! near none of the others may be right: nothing is said of it.

use super::arguments;
use super::finding::Seen;
use super::image::{ImageError, ImageRemedy};
use super::in_debugfs::as_root;
use super::isolating::highest_cpu;
use super::kernel_arguments::{
    COMMON, OBEYED_BY_BEGINNING, OF_EVERY_KERNEL, OF_OTHERS, OF_OTHERS_BEGIN,
};
use super::machine::Machine;
use super::preemption::{MODES, is_fixed, knows_mode};
use super::words::{differ_by, is_one_off, listed};
use model::{LATENCY_ARGUMENTS, Phrase, phrase};
use plan::CpuId;

/// Others of nearly the same spelling, which are right.
const RIGHT_TOO: [&str; 4] = ["notsc", "noidle", "nopti", "nosmp"];
/// Shorter names are near too many others.
const MIN_LETTERS: usize = 5;
/// Of that length and more, two letters may be wrong.
const MIN_LETTERS_OF_TWO: usize = 8;
/// What recipes write for an argument of another name.
const MISTAKEN: [(&str, &str); 1] = [("noht", "nosmt")];
/// It switched off what the kernel once did itself, and a program does now.
const OLD_BALANCING: &str = "noirqbalance";
/// A name that is not an argument's, and the file that has it.
const NAME_OF_FILE: (&str, &str) = ("workqueue.cpumask", "/sys/devices/virtual/workqueue/cpumask");
/// Modules that every kernel shows all parameters of. Others may have some that it does not show.
const SHOWN_MODULES: [&str; 7] =
    ["workqueue", "intel_idle", "processor", "cpuidle", "cpufreq", "rcutree", "rcupdate"];
/// Parameters that every module has.
const OF_EVERY_MODULE: [&str; 2] = ["dyndbg", "async_probe"];
/// Those of which the kernel takes these words alone.
const VALUES: [(&str, &[&str]); 13] = [
    ("amd_pstate", &["disable", "passive", "active", "guided"]),
    (
        "intel_pstate",
        &[
            "disable",
            "active",
            "passive",
            "force",
            "no_hwp",
            "hwp_only",
            "no_cas",
            "support_acpi_ppc",
            "per_cpu_perf_limits",
        ],
    ),
    ("mitigations", &["off", "auto", "auto,nosmt"]),
    ("nosmt", &["force"]),
    ("numa_balancing", &["enable", "disable"]),
    ("tsc", &["reliable", "nowatchdog", "unstable", "noirqtime", "recalibrate", "watchdog"]),
    ("preempt", &MODES),
    ("idle", &["poll", "halt", "nomwait"]),
    ("transparent_hugepage", &["always", "madvise", "never"]),
    ("audit", &["0", "1", "off", "on"]),
    ("nohz", &SWITCH),
    ("highres", &SWITCH),
    ("pcie_aspm", &["off", "force"]),
];
const SWITCH: [&str; 2] = ["on", "off"];
/// Clocks that kernels know, of any machine; one that this machine has not is no misspelling.
const CLOCKS: [&str; 12] = [
    "tsc",
    "hpet",
    "acpi_pm",
    "kvm-clock",
    "hyperv_clocksource_tsc_page",
    "hyperv_clocksource_msr",
    "xen",
    "arch_sys_counter",
    "riscv_clocksource",
    "jiffies",
    "refined-jiffies",
    "pit",
];
pub(crate) const AVAILABLE_CLOCKS: &str =
    "sys/devices/system/clocksource/clocksource0/available_clocksource";
/// `arguments-in-effect` says where the kernel does not know these.
const OF_IN_EFFECT: [&str; 3] = ["isolcpus", "nohz_full", "preempt"];
/// Its value 1 limits USB, and where Ethernet is connected by it that too.
const SLOW_USB: (&str, &str) = ("dwc_otg.speed", "1");

/// A kernel argument that is misspelled, and does nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misspelled {
    pub written: String,
    /// What it looks like, in words.
    pub because: Phrase,
    /// What to do: an argument in its place, or to remove it.
    pub action: Phrase,
}

/// Arguments of the running kernel that are misspelled.
pub fn misspelled_arguments(machine: &Machine<'_>) -> Vec<Misspelled> {
    machine
        .arguments
        .words()
        .filter_map(|(name, value)| {
            name_of(machine, name, value).or_else(|| value_of(machine, name, value?))
        })
        .collect()
}

pub(crate) fn spelling(machine: &Machine<'_>) -> Option<Seen> {
    let mut wrong = misspelled_arguments(machine);
    let are_misspelled = !wrong.is_empty();
    wrong.extend(not_held(machine, &wrong));
    let unjudged = not_judged(machine, &wrong);
    if wrong.is_empty() {
        return match unjudged {
            Some((found, Some(action))) => Seen::unknown_until(found, action),
            Some((found, None)) => Seen::unknown(found),
            None => by_image(machine),
        };
    }
    let (mut found, mut actions): (Vec<Phrase>, Vec<Phrase>) = wrong
        .into_iter()
        .map(|Misspelled { written, because, action }| {
            (phrase!("misspelled", written, because), action)
        })
        .unzip();
    if let Some((unjudged, action)) = unjudged {
        found.push(unjudged);
        actions.extend(action);
    }
    let (found, action) = (Phrase::joined("sentences", found), Phrase::joined("and", actions));
    // A program may read what the kernel does not.
    if are_misspelled { Seen::bad(found, action) } else { Seen::warn(found, action) }
}

/// Names that the kernel alone would read, each as it is written, and whether it is known to be one
/// of some kernel's. What has a dot may be of a module that is not loaded yet.
fn names_for_kernel<'m>(
    machine: &'m Machine<'_>,
) -> impl Iterator<Item = (&'m str, Option<&'m str>, bool)> {
    let is_of = |list: &str, plain: &str| list.split_ascii_whitespace().any(|name| name == plain);
    let is_name = |name: &str| {
        let mut letters = name.chars();
        name.len() > 2
            && letters
                .all(|one| one.is_ascii_lowercase() || one.is_ascii_digit() || "_-".contains(one))
    };
    machine.arguments.words().filter_map(move |(name, value)| {
        let plain = name.replace('-', "_");
        let is_of_others = is_of(OF_OTHERS, &plain)
            || OF_OTHERS_BEGIN.iter().any(|begin| plain.starts_with(begin));
        let is_asked = is_name(name)
            && !is_of_others
            && !is_of(OF_EVERY_KERNEL, &plain)
            && !is_obeyed_with_more(&plain)
            && !OF_IN_EFFECT.contains(&plain.as_str());
        let is_known = known_names().chain(RIGHT_TOO).any(|known| known == plain);
        is_asked.then_some((name, value, is_known))
    })
}

/// Arguments that the running kernel's image does not hold, but for those that are said already. No
/// recording has them, and a run's end does not wait for its kernel to be read.
fn not_held(machine: &Machine<'_>, said: &[Misspelled]) -> Vec<Misspelled> {
    if machine.is_of_run() {
        return Vec::new();
    }
    let mut wrong: Vec<Misspelled> = Vec::new();
    for (name, value, is_known) in names_for_kernel(machine) {
        let written = as_argument(name, value);
        if said.iter().chain(&wrong).any(|one| one.written == written)
            || machine.image_holds(name) != Some(false)
        {
            continue;
        }
        let action = if LATENCY_ARGUMENTS.contains(&name.replace('-', "_").as_str()) {
            phrase!("boot-built-for", arguments = written.clone())
        } else if is_known {
            phrase!("remove-arguments", arguments = written.clone())
        } else {
            phrase!("remove-unless-read", written = written.clone())
        };
        wrong.push(Misspelled { written, because: phrase!("not-in-image"), action });
    }
    wrong
}

/// What the image says where nothing is wrong.
fn by_image(machine: &Machine<'_>) -> Option<Seen> {
    if machine.is_of_run() {
        return None;
    }
    names_for_kernel(machine).next()?;
    let image = machine.image()?.ok()?;
    Seen::ok(format!("no name that the kernel's image lacks ({})", image.source()))
}

/// Names of which an image that could not be read would say whether the kernel knows them, but for
/// those that are said already, and what to do about it.
fn not_judged(machine: &Machine<'_>, said: &[Misspelled]) -> Option<(Phrase, Option<Phrase>)> {
    if machine.is_of_run() {
        return None;
    }
    let is_said = |written: &str| said.iter().any(|one| one.written == written);
    let mut names: Vec<&str> = names_for_kernel(machine)
        .filter(|(name, value, is_known)| !is_known && !is_said(&as_argument(name, *value)))
        .map(|(name, ..)| name)
        .collect();
    names.dedup();
    if names.is_empty() {
        return None;
    }
    let ImageError { reason, remedy } = machine.image()?.err()?;
    let action = remedy.as_ref().map(|remedy| match remedy {
        ImageRemedy::AsRoot => as_root(machine.root(), machine.options).into(),
        ImageRemedy::Do(action) => action.clone().into(),
    });
    Some((phrase!("not-judged", names = listed(names), reason = reason.clone()), action))
}

fn name_of(machine: &Machine<'_>, name: &str, value: Option<&str>) -> Option<Misspelled> {
    let plain = name.replace('-', "_");
    if known_names().chain(RIGHT_TOO).any(|known| known == plain) || is_obeyed_with_more(&plain) {
        return None;
    }
    let parameters = Parameters::of(machine, &plain);
    if parameters.as_ref().is_some_and(Parameters::has_it) {
        return None;
    }
    let meant = near(&plain).or_else(|| parameters.as_ref()?.near());
    let wrong = match meant {
        Some(meant) => Some(corrected(machine, name, value, &meant)),
        None => otherwise(&plain, name, value).or_else(|| parameters?.unknown(name, value)),
    };
    // What this kernel has is no misspelling of what others have.
    wrong.filter(|_| machine.image_holds(&plain) != Some(true))
}

/// Whether a name is longer than one that the kernel obeys whatever follows it.
fn is_obeyed_with_more(plain: &str) -> bool {
    OBEYED_BY_BEGINNING.iter().any(|name| plain.len() > name.len() && plain.starts_with(name))
}

/// The arguments that recipes use, and common ones.
fn known_names() -> impl Iterator<Item = &'static str> {
    LATENCY_ARGUMENTS.into_iter().chain(COMMON.split_ascii_whitespace())
}

/// A known argument that a name looks like.
fn near(plain: &str) -> Option<String> {
    let mistaken = MISTAKEN.into_iter().find(|(written, _)| *written == plain);
    let meant = mistaken.map(|(_, meant)| meant).or_else(|| {
        let off_by = |letters: usize, least: usize| {
            let is_near = move |known: &&str| {
                known.len().min(plain.len()) >= least && differ_by(known, plain) == letters
            };
            known_names().find(is_near)
        };
        let is_longer =
            |known: &&str| is_longer_module(known, plain) || is_longer_module(plain, known);
        off_by(1, MIN_LETTERS)
            .or_else(|| known_names().find(is_longer))
            .or_else(|| off_by(2, MIN_LETTERS_OF_TWO))
    });
    meant.map(str::to_owned)
}

/// Whether both are the same parameter, and the one's module has words more: `intel_idle` and
/// `intel`.
fn is_longer_module(long: &str, short: &str) -> bool {
    let (Some((long, of_long)), Some((short, of_short))) =
        (long.split_once('.'), short.split_once('.'))
    else {
        return false;
    };
    of_long == of_short && long.strip_prefix(short).is_some_and(|rest| rest.starts_with('_'))
}

fn as_argument(name: &str, value: Option<&str>) -> String {
    value.map_or_else(|| name.to_owned(), |value| format!("{name}={value}"))
}

/// An argument whose name looks like another one's.
fn corrected(machine: &Machine<'_>, name: &str, value: Option<&str>, meant: &str) -> Misspelled {
    let (written, corrected) = (as_argument(name, value), as_argument(meant, value));
    let argument = written.clone();
    let action = if let Some(right) = machine.arguments.written(meant) {
        phrase!("remove-the-other-is-there", written = argument, right)
    } else if (meant, value) == (SLOW_USB.0, Some(SLOW_USB.1)) {
        phrase!("remove-slow-usb", written = argument, meant = corrected)
    } else if is_harmful(machine, meant, value) {
        phrase!("remove-and-ask", written = argument)
    } else {
        phrase!("replace-or-remove", written = argument, meant = corrected)
    };
    Misspelled { written, because: phrase!("looks-like", meant), action }
}

/// What is to be set by other means than an argument.
fn otherwise(plain: &str, name: &str, value: Option<&str>) -> Option<Misspelled> {
    let written = as_argument(name, value);
    let argument = written.clone();
    if plain == OLD_BALANCING {
        let command = "sudo systemctl disable --now irqbalance";
        let action = phrase!("remove-and-stop-program", written = argument, command);
        return Some(Misspelled { written, because: phrase!("of-older-kernels"), action });
    }
    let (_, file) = (plain == NAME_OF_FILE.0).then_some(NAME_OF_FILE)?;
    let is_mask =
        |mask: &&str| mask.chars().all(|letter| letter.is_ascii_hexdigit() || letter == ',');
    let mask = value.filter(is_mask).filter(|mask| !mask.is_empty()).unwrap_or("MASK");
    let command = format!("echo {mask} | sudo tee {file}");
    let action = phrase!("remove-and-write", written = argument, command);
    Some(Misspelled { written, because: phrase!("names-a-file", file), action })
}

/// What /sys/module shows of the module that an argument names.
struct Parameters<'n> {
    module: &'n str,
    parameter: &'n str,
    shown: Vec<String>,
}

impl<'n> Parameters<'n> {
    /// Of an argument such as `module.parameter`. None where the module is not there, or shows
    /// nothing.
    fn of(machine: &Machine<'_>, plain: &'n str) -> Option<Parameters<'n>> {
        let (module, parameter) = plain.split_once('.')?;
        // A command line may be from elsewhere, and its words become a path here.
        let is_name = |text: &str| {
            !text.is_empty()
                && text.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
        };
        if !is_name(module) || !is_name(parameter) {
            return None;
        }
        let shown = machine.names(&format!("sys/module/{module}/parameters"));
        (!shown.is_empty()).then_some(Parameters { module, parameter, shown })
    }

    fn has_it(&self) -> bool {
        OF_EVERY_MODULE.contains(&self.parameter)
            || self.shown.iter().any(|name| name.replace('-', "_") == self.parameter)
    }

    fn near(&self) -> Option<String> {
        if self.parameter.len() < MIN_LETTERS {
            return None;
        }
        let name = self.shown.iter().find(|name| is_one_off(name, self.parameter))?;
        Some(format!("{}.{name}", self.module))
    }

    /// Where the module is one whose parameters are all shown.
    fn unknown(self, name: &str, value: Option<&str>) -> Option<Misspelled> {
        let Parameters { module, .. } = self;
        let written = as_argument(name, value);
        let action = phrase!("remove-arguments", arguments = written.clone());
        let because = phrase!("not-among-parameters", module);
        SHOWN_MODULES.contains(&module).then_some(Misspelled { written, because, action })
    }
}

/// Whether a list of CPUs would isolate CPU 0, or cannot be read.
fn is_harmful(machine: &Machine<'_>, name: &str, value: Option<&str>) -> bool {
    let list = value.map(|value| arguments::cpus(name, value, highest_cpu(machine)));
    match name {
        "isolcpus" | "nohz_full" => {
            list.and_then(Result::ok).is_none_or(|cpus| cpus.contains(&CpuId(0)))
        }
        "irqaffinity" => list.is_none_or(|list| list.is_err()),
        _ => false,
    }
}

/// The beginning of a word is enough for newer kernels' amd_pstate=, and what follows the word of
/// their mitigations= says which of them.
fn is_right_too(name: &str, value: &str, words: &[&str]) -> bool {
    match name {
        "amd_pstate" => !value.is_empty() && words.iter().any(|word| word.starts_with(value)),
        "mitigations" => value.split([',', ';']).next().is_some_and(|word| words.contains(&word)),
        "audit" => words.iter().any(|word| word.eq_ignore_ascii_case(value)),
        // The kernel reads so much of what is on or off.
        "nohz" | "highres" => match value.as_bytes() {
            [b'o' | b'O', second, ..] => b"nNfF".contains(second),
            [first, ..] => b"yYtT1nNfF0".contains(first),
            [] => false,
        },
        "clocksource" => CLOCKS.contains(&value),
        _ => false,
    }
}

/// The values that the kernel takes of an argument, where these are known.
fn values_of(machine: &Machine<'_>, plain: &str) -> Option<Vec<String>> {
    if plain == "clocksource" {
        let available = machine.text(AVAILABLE_CLOCKS).filter(|clocks| !clocks.is_empty())?;
        return Some(available.split_ascii_whitespace().map(str::to_owned).collect());
    }
    let (_, words) = VALUES.into_iter().find(|(known, _)| *known == plain)?;
    Some(words.iter().map(|word| (*word).to_owned()).collect())
}

/// Whether the kernel takes a value, as far as that is known.
pub(crate) fn takes_value(machine: &Machine<'_>, name: &str, value: &str) -> bool {
    value_of(machine, name, value).is_none()
}

/// A value that is none of those which the kernel takes.
fn value_of(machine: &Machine<'_>, name: &str, value: &str) -> Option<Misspelled> {
    let plain = name.replace('-', "_");
    let words = values_of(machine, &plain)?;
    let mut words: Vec<&str> = words.iter().map(String::as_str).collect();
    if plain == "preempt" {
        // `arguments-in-effect` says that it takes none of them.
        if is_fixed(machine) || knows_mode(machine, value) != Some(false) {
            return None;
        }
        words.retain(|mode| knows_mode(machine, mode) == Some(true));
    }
    if words.contains(&value) || is_right_too(&plain, value, &words) {
        return None;
    }
    let written = format!("{name}={value}");
    let argument = written.clone();
    let replace_by =
        |meant: String| phrase!("replace-or-remove", written = argument.clone(), meant);
    let of_word = |word: &str| format!("{name}={word}");
    let near = words.iter().find(|word| is_one_off(word, value));
    let (because, action) = match (near, words.as_slice()) {
        (Some(word), _) => {
            (phrase!("looks-like", meant = of_word(word)), replace_by(of_word(word)))
        }
        (None, [word]) => (phrase!("is-not", meant = of_word(word)), replace_by(of_word(word))),
        (None, words) => (
            phrase!("none-of", words = listed(words.iter().map(|word| of_word(word)))),
            phrase!("remove-or-replace", written = argument),
        ),
    };
    Some(Misspelled { written, because, action })
}

#[cfg(test)]
#[path = "spelling_image_tests.rs"]
mod image_tests;

#[cfg(test)]
mod tests {
    use super::{AVAILABLE_CLOCKS, COMMON, MIN_LETTERS, differ_by, is_one_off, known_names};
    use crate::one_finding::finding;
    use crate::tests::files::lay;

    fn said(line: &str) -> Option<(String, String)> {
        let (_dir, root) = lay(&[("proc/cmdline", line), ("sys/devices/system/cpu/online", "0-3")]);
        finding(&root, "arguments-spelled", None).map(|finding| (finding.found, finding.action))
    }

    #[test]
    fn the_argument_that_was_meant_is_said_exactly() {
        for (line, action) in [
            ("isolcpu=1-3", "replace isolcpu=1-3 by isolcpus=1-3, or remove it"),
            ("isolcpu=1-3 isolcpus=2-3", "remove isolcpu=1-3 (isolcpus=2-3 is there too)"),
            ("nohz_ful=0-3", "remove nohz_ful=0-3 (teiji check --advise says what it should be)"),
            ("nosoftlockp", "replace nosoftlockp by nosoftlockup, or remove it"),
            ("preempt=ful", "replace preempt=ful by preempt=full, or remove it"),
            ("preempt=rt", "remove preempt=rt, or replace it by one of these"),
        ] {
            assert_eq!(said(line).unwrap().1, action, "{line}");
        }
        assert_eq!(
            said("isolcpus=1 preempt=full idle=poll nopti isolcpu"),
            said("isolcpu isolcpus=1")
        );
        assert_eq!(said("preempt=full idle=poll transparent_hugepage=never quiet"), None);
        // The kernel obeys these by their beginning, and takes off quotes.
        assert_eq!(said("nowatchdogs nosoftlockups=0 no-timer-checks \"isolcpus=2-7\""), None);
        assert_eq!(said("\"isolcpu=1-3\""), said("isolcpu=1-3"));
    }

    /// Debian's 6.1 does not know `lazy`, and took its default.
    #[test]
    fn the_modes_of_preemption_are_those_that_this_kernel_knows() {
        let said = |line: &str, more: (&str, &str)| {
            let (_dir, root) = lay(&[
                ("proc/cmdline", line),
                ("sys/devices/system/cpu/online", "0-3"),
                ("proc/sys/kernel/osrelease", "6.1.0-x"),
                more,
            ]);
            let finding = finding(&root, "arguments-spelled", None)?;
            Some((finding.found, finding.action))
        };
        let refused = |argument: &str, modes: &str| {
            let action = format!("remove {argument}, or replace it by one of these");
            Some((format!("{argument}, which is none of {modes}"), action))
        };
        let debugfs = |modes| ("sys/kernel/debug/sched/preempt", modes);
        let config = |text| ("boot/config-6.1.0-x", text);
        // It was said to be none of nothing.
        assert_eq!(said("preempt=full", debugfs("")), None);
        let three = "preempt=none, preempt=voluntary and preempt=full";
        let four = "preempt=none, preempt=voluntary, preempt=full and preempt=lazy";
        let older = [debugfs("none (voluntary) full"), config("CONFIG_PREEMPT_DYNAMIC=y")];
        for kernel in older {
            assert_eq!(said("preempt=lazy", kernel), refused("preempt=lazy", three));
            assert_eq!(said("preempt=rt", kernel), refused("preempt=rt", three));
        }
        let newer = [
            debugfs("none voluntary full (lazy)"),
            config("CONFIG_PREEMPT_DYNAMIC=y\nCONFIG_ARCH_HAS_PREEMPT_LAZY=y"),
        ];
        for kernel in newer {
            assert_eq!(said("preempt=lazy", kernel), None);
            assert_eq!(said("preempt=rt", kernel), refused("preempt=rt", four));
        }
        assert_eq!(said("preempt=lazy", ("proc/version", "Linux version 5.10 (x) #1 SMP")), None);
        let nothing = ("proc/1/comm", "init");
        assert_eq!(said("preempt=lazy", nothing), None);
        assert_eq!(said("preempt=rt", nothing), refused("preempt=rt", three));
    }

    /// Since Linux 7.0 one that knows `lazy` takes neither `none` nor `voluntary`.
    #[test]
    fn a_mode_that_a_newer_kernel_no_longer_knows_is_named() {
        let said = |line: &str, more: (&str, &str)| {
            let (_dir, root) = lay(&[
                ("proc/cmdline", line),
                ("proc/sys/kernel/osrelease", "7.0.1-x"),
                ("proc/version", "Linux version 7.0.1-x (x) #1 SMP PREEMPT_DYNAMIC x"),
                more,
            ]);
            let finding = finding(&root, "arguments-spelled", None)?;
            Some((finding.found, finding.action))
        };
        let two = |argument: &str| {
            let found = format!("{argument}, which is none of preempt=full and preempt=lazy");
            Some((found, format!("remove {argument}, or replace it by one of these")))
        };
        let config = "boot/config-7.0.1-x";
        let lazy = (config, "CONFIG_PREEMPT_DYNAMIC=y\nCONFIG_ARCH_HAS_PREEMPT_LAZY=y");
        for kernel in [("sys/kernel/debug/sched/preempt", "full (lazy)"), lazy] {
            for argument in ["preempt=none", "preempt=voluntary", "preempt=rt"] {
                assert_eq!(said(argument, kernel), two(argument), "{kernel:?}");
            }
            assert_eq!(said("preempt=lazy", kernel), None);
        }
        // On processors without it nothing has changed.
        let other = (config, "CONFIG_PREEMPT_DYNAMIC=y");
        let three = "preempt=lazy, which is none of preempt=none, preempt=voluntary and \
                     preempt=full";
        assert_eq!(said("preempt=none", other), None);
        assert_eq!(said("preempt=lazy", other).unwrap().0, three);
        // Where nothing shows which it is, one mode is certain.
        let nothing = ("proc/1/comm", "init");
        for argument in ["preempt=none", "preempt=lazy"] {
            assert_eq!(said(argument, nothing), None);
        }
        let one = (
            "preempt=rt, which is not preempt=full".to_owned(),
            "replace preempt=rt by preempt=full, or remove it".to_owned(),
        );
        assert_eq!(said("preempt=rt", nothing), Some(one));
    }

    #[test]
    fn values_that_the_kernel_does_not_take_are_named() {
        for (line, found, action) in [
            (
                "intel_pstate=disabled",
                "intel_pstate=disabled, which looks like intel_pstate=disable",
                "replace intel_pstate=disabled by intel_pstate=disable, or remove it",
            ),
            (
                "numa_balancing=disabled",
                "numa_balancing=disabled, which looks like numa_balancing=disable",
                "replace numa_balancing=disabled by numa_balancing=disable, or remove it",
            ),
            (
                "mitigations=none",
                "mitigations=none, which is none of mitigations=off, mitigations=auto and \
                 mitigations=auto,nosmt",
                "remove mitigations=none, or replace it by one of these",
            ),
            (
                "nosmt=forced",
                "nosmt=forced, which looks like nosmt=force",
                "replace nosmt=forced by nosmt=force, or remove it",
            ),
            (
                "amd-pstate=actve",
                "amd-pstate=actve, which looks like amd-pstate=active",
                "replace amd-pstate=actve by amd-pstate=active, or remove it",
            ),
            (
                "audit=of",
                "audit=of, which looks like audit=off",
                "replace audit=of by audit=off, or remove it",
            ),
            (
                "pcie_aspm=none",
                "pcie_aspm=none, which is none of pcie_aspm=off and pcie_aspm=force",
                "remove pcie_aspm=none, or replace it by one of these",
            ),
            (
                "nohz=none highres=x",
                "highres=x, which is none of highres=on and highres=off",
                "remove highres=x, or replace it by one of these",
            ),
            (
                "tsc=perfect",
                "tsc=perfect, which is none of tsc=reliable, tsc=nowatchdog, tsc=unstable, \
                 tsc=noirqtime, tsc=recalibrate and tsc=watchdog",
                "remove tsc=perfect, or replace it by one of these",
            ),
        ] {
            assert_eq!(said(line), Some((found.to_owned(), action.to_owned())), "{line}");
        }
        let right = "nosmt intel_pstate=no_hwp numa_balancing=disable amd_pstate=activ \
                     mitigations=auto,no_guest_host,no_guest_guest tsc=nowatchdog \
                     audit=OFF nohz=of highres=0";
        assert_eq!(said(right), None);
    }

    #[test]
    fn common_arguments_are_compared_too() {
        for (written, meant) in [
            ("hugepagez=1", "hugepages=1"),
            ("softlokup_pnic=1", "softlockup_panic=1"),
            ("isolcpsu=1", "isolcpus=1"),
            ("no-timer-chekc", "no_timer_check"),
        ] {
            let action = format!("replace {written} by {meant}, or remove it");
            assert_eq!(said(written).map(|said| said.1), Some(action));
        }
        // Not the kernel's, or too short to say.
        let right = "splash rescue single rhgb emergency noswat biosdevname=0 BOOT_IMAGE=x";
        assert_eq!(said(right), None);
        let all: Vec<&str> = known_names().collect();
        for (place, name) in all.iter().enumerate() {
            assert!(!all[..place].contains(name), "{name} is there twice");
            assert_eq!(said(name), None);
        }
        assert!(COMMON.split_ascii_whitespace().all(|name| name.len() >= MIN_LETTERS));
    }

    #[test]
    fn a_clock_is_one_of_those_that_are_available() {
        let said = |line: &str, clocks: &str| {
            let (_dir, root) = lay(&[
                ("proc/cmdline", line),
                ("sys/devices/system/cpu/online", "0-3"),
                (AVAILABLE_CLOCKS, clocks),
            ]);
            finding(&root, "arguments-spelled", None).map(|finding| finding.found)
        };
        let clocks = "tsc hpet acpi_pm ";
        assert_eq!(
            said("clocksource=tcs", clocks).unwrap(),
            "clocksource=tcs, which looks like clocksource=tsc"
        );
        assert!(said("clocksource=fast", clocks).unwrap().contains("is none of clocksource=tsc,"));
        for right in ["clocksource=tsc", "clocksource=kvm-clock", "clocksource=jiffies"] {
            assert_eq!(said(right, clocks), None, "{right}");
        }
        assert_eq!(said("clocksource=tcs", ""), None, "nothing is known");
    }

    /// Of a module that is there: of others, and of what is for init, nothing is known.
    #[test]
    fn parameters_are_compared_with_those_that_the_module_shows() {
        let said = |line: &str| {
            let (_dir, root) = lay(&[
                ("proc/cmdline", line),
                ("sys/devices/system/cpu/online", "0-3"),
                ("sys/module/workqueue/parameters/power_efficient", "N"),
                ("sys/module/i8042/parameters/notimeout", "N"),
            ]);
            finding(&root, "arguments-spelled", None).map(|finding| (finding.found, finding.action))
        };
        for (line, found, action) in [
            (
                "i8042.notimout",
                "i8042.notimout, which looks like i8042.notimeout",
                "replace i8042.notimout by i8042.notimeout, or remove it",
            ),
            (
                "workqueue.watchdog=1",
                "workqueue.watchdog=1, which /sys/module/workqueue/parameters does not have",
                "remove workqueue.watchdog=1 from the kernel's arguments",
            ),
            (
                "workqueue.cpumask=$(x)",
                "workqueue.cpumask=$(x), which is the name of a file: \
                 /sys/devices/virtual/workqueue/cpumask",
                "remove workqueue.cpumask=$(x), and write to the file: echo MASK | sudo tee \
                 /sys/devices/virtual/workqueue/cpumask",
            ),
        ] {
            assert_eq!(said(line), Some((found.to_owned(), action.to_owned())), "{line}");
        }
        for line in [
            "i8042.nomux=1",
            "ath9k.nohwcrypt=1",
            "workqueue.dyndbg=+p",
            "workqueue.power-efficient=1",
            "workqueue.unbound_cpus=0",
            "rd.lvm.lv=vg/root systemd.unified_cgroup_hierarchy=0 root=/dev/sda1 nosmp",
            "quiet -- noht intel.max_cstate=0",
            "../../etc.passwd=1",
        ] {
            assert_eq!(said(line), None, "{line}");
        }
    }

    /// Spelled right, it would slow Ethernet down to 12 Mbit/s.
    #[test]
    fn no_correction_slows_usb_down() {
        let (found, action) = said("dwg_otg.speed=1").unwrap();
        assert_eq!(found, "dwg_otg.speed=1, which looks like dwc_otg.speed");
        assert!(
            action.starts_with("remove dwg_otg.speed=1 (") && action.ends_with("to 12 Mbit/s)"),
            "{action}"
        );
    }

    #[test]
    fn one_letter_off() {
        for (one, other) in [
            ("dwc_otg.speed", "dwg_otg.speed"),
            ("isolcpus", "isolcpu"),
            ("nohz_full", "nohz_fulll"),
            ("irqaffinity", "iqraffinity"),
        ] {
            assert!(is_one_off(one, other) && is_one_off(other, one), "{one} {other}");
            assert_eq!(differ_by(one, other), 1);
        }
        for (one, other) in [
            ("isolcpus", "isolcpus"),
            ("nohz", "nohz_full"),
            ("tsc", "idle"),
            ("preempt", "preempter"),
            ("abcd", "badc"),
        ] {
            assert!(!is_one_off(one, other), "{one} {other}");
        }
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernel's own texts: its command line, its version, its console.

use super::words::{Vocabulary, is_address, is_plain};
use super::{Anonymiser, user_of};
use crate::LATENCY_ARGUMENTS;
use std::path::Path;

/// Further arguments whose values decide latency or say which devices there are.
const VALUE_STAYS: [&str; 37] = [
    "maxcpus",
    "nr_cpus",
    "possible_cpus",
    "acpi",
    "noapic",
    "nolapic",
    "nolapic_timer",
    "no-steal-acc",
    "ftrace",
    "stacktrace",
    "hpet",
    "notsc",
    "nopti",
    "pti",
    "spectre_v2",
    "kpti",
    "cpuidle.governor",
    "cpuidle_haltpoll.force",
    "haltpoll.guest_halt_poll_ns",
    "kthread_cpus",
    "rcupdate.rcu_expedited",
    "rcutree.use_softirq",
    "sched_rt_runtime_us",
    "psi",
    "swiotlb",
    "iommu",
    "intel_iommu",
    "amd_iommu",
    "pci",
    "nox2apic",
    "console",
    "earlycon",
    "panic",
    "reboot",
    "xenomai.state",
    "xenomai.supported_cpus",
    "evl.state",
];
/// Arguments that are known, and whose values may say where a system lies or who it belongs to.
const NAME_STAYS: [&str; 31] = [
    "BOOT_IMAGE",
    "root",
    "rootfstype",
    "rootflags",
    "rootwait",
    "rootdelay",
    "resume",
    "initrd",
    "init",
    "rdinit",
    "ro",
    "rw",
    "quiet",
    "splash",
    "debug",
    "loglevel",
    "log_buf_len",
    "nomodule",
    "nomodeset",
    "single",
    "ip",
    "nfsroot",
    "video",
    "fbcon",
    "cgroup_enable",
    "cgroup_memory",
    "net.ifnames",
    "biosdevname",
    "module_blacklist",
    "modprobe.blacklist",
    "usbcore.autosuspend",
];
/// What stands before the kernel's command line on its console.
const COMMAND_LINES: [&str; 2] = ["Kernel command line: ", "Command line: "];

/// What is left of a guest's console.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Console {
    /// The kernel's lines.
    pub text: String,
    /// How many other lines there were.
    pub left_out: usize,
}

impl Anonymiser<'_> {
    /// A kernel's command line: arguments that decide latency stay.
    pub(super) fn kernel_arguments(&self, line: &str) -> String {
        line.split_whitespace().map(|word| self.kernel_argument(word)).collect::<Vec<_>>().join(" ")
    }

    fn kernel_argument(&self, word: &str) -> String {
        let (key, value) = word.split_once('=').unwrap_or((word, ""));
        match stays(word) {
            Stays::All if value.is_empty() || self.secret(value).is_none() => word.to_owned(),
            Stays::Nothing => self.name("argument", word),
            Stays::All | Stays::Key => format!("{key}={}", self.name("value", value)),
        }
    }

    /// `Linux version 6.1.0 (user@host) (gcc ...) #1 SMP ...`: who built it, and where, goes.
    pub(super) fn kernel_version(&self, text: &str) -> String {
        let word = |word: &str| {
            let bare = word.trim_matches(['(', ')', ',']);
            match bare.split_once('@') {
                Some((user, host)) if !user.is_empty() && !host.is_empty() => word.replace(
                    bare,
                    &format!("{}@{}", self.name("user", user), self.name("host", host)),
                ),
                _ => word.to_owned(),
            }
        };
        self.without_secrets(&text.split(' ').map(word).collect::<Vec<_>>().join(" "))
    }

    /// How the kernel may be preempted, which may hold what its command line says of it.
    pub(super) fn preemption(&self, text: &str) -> String {
        const BY_DEFAULT: &str = " by default)";
        if let Some(mode) = text.strip_suffix(BY_DEFAULT) {
            return self.terms("value", mode) + BY_DEFAULT;
        }
        match text.split_once("booted with ") {
            Some((before, argument)) => {
                let argument = argument.trim_end_matches(')');
                format!("{before}booted with {})", self.kernel_argument(argument))
            }
            None => self.terms("value", text),
        }
    }

    /// The name of a kernel's thread, or of a program.
    pub(super) fn task(&self, name: &str, is_of_kernel: bool) -> String {
        if name == "teiji" {
            return name.to_owned();
        }
        if is_of_kernel { self.terms("thread", name) } else { self.name("process", name) }
    }

    /// A task of which it is not known whose it is.
    pub(super) fn some_task(&self, name: &str) -> String {
        if is_plain(name, Vocabulary::Terms) && self.secret(name).is_none() {
            name.to_owned()
        } else {
            self.name("process", name)
        }
    }

    /// What a guest's kernel wrote to its console. What programs wrote there is left out.
    pub fn console(&self, text: &str) -> Console {
        let mut console = Console { text: String::new(), left_out: 0 };
        for line in text.lines() {
            if is_of_kernel(line) {
                console.text.push_str(&self.console_line(line));
                console.text.push('\n');
            } else {
                console.left_out += usize::from(!line.trim().is_empty());
            }
        }
        console
    }

    fn console_line(&self, line: &str) -> String {
        let arguments = COMMAND_LINES
            .iter()
            .find_map(|title| line.split_once(title).map(|(before, line)| (before, title, line)));
        if let Some((before, title, line)) = arguments {
            return format!("{before}{title}{}", self.kernel_arguments(line));
        }
        if line.contains(['=', '"', '\'', '`']) {
            // What the kernel found, in its own words.
            return self.sentence(line);
        }
        let word = |word: &str| {
            let bare = word
                .trim_matches(|letter: char| letter.is_whitespace() || "(),.:<>".contains(letter));
            let is_path = bare.split(':').any(|part| part.starts_with('/') && part.len() > 1)
                || bare.contains("/home/");
            if is_path && !is_plain(bare, Vocabulary::Terms) {
                word.replace(bare, &self.name("path", bare))
            } else if is_address(bare) {
                word.replace(bare, &self.name("address", bare))
            } else {
                word.to_owned()
            }
        };
        let line = self.kernel_version(line);
        line.split_inclusive(char::is_whitespace).map(word).collect()
    }
}

/// How much of an argument may be shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stays {
    All,
    Key,
    Nothing,
}

fn stays(word: &str) -> Stays {
    let (key, value) = word.split_once('=').map_or((word, None), |(key, value)| (key, Some(value)));
    let dashed = |letter: u8| if letter == b'_' { b'-' } else { letter };
    let is_key = |known: &&str| {
        known.len() == key.len() && known.bytes().map(dashed).eq(key.bytes().map(dashed))
    };
    let is_in = |list: &[&str]| list.iter().any(is_key);
    let decides = is_in(&LATENCY_ARGUMENTS) || is_in(&VALUE_STAYS);
    match value {
        _ if word == "--" => Stays::All,
        None if decides || is_in(&NAME_STAYS) => Stays::All,
        Some(value) if decides && value.split(',').all(is_setting) => Stays::All,
        Some(_) if decides || is_in(&NAME_STAYS) => Stays::Key,
        _ => Stays::Nothing,
    }
}

/// What an argument that decides latency takes: CPUs, numbers, words of the kernel.
fn is_setting(part: &str) -> bool {
    is_cpus(part)
        || !part.contains(['/', '@'])
            && part.matches(':').count() < 2
            && is_plain(part, Vocabulary::Terms)
}

/// `2`, `2-5`, `0-N:1/4`.
fn is_cpus(part: &str) -> bool {
    let is_number = |text: &str| {
        text == "N" || !text.is_empty() && text.bytes().all(|digit| digit.is_ascii_digit())
    };
    let (range, stride) =
        part.split_once(':').map_or((part, None), |(range, stride)| (range, Some(stride)));
    let both = |text: &str, between: char| {
        text.split(between).count() <= 2 && text.split(between).all(is_number)
    };
    both(range, '-') && stride.is_none_or(|stride| both(stride, '/'))
}

/// What a command line holds that is not shown, of which the kernel repeats some in its own words:
/// arguments, and what they are set to.
pub(super) fn hidden<'t>(line: &'t str, found: &mut dyn FnMut(&str, &'t str)) {
    const MIN_LETTERS: usize = 3;
    let mut name = |kind: &str, text: &'t str| {
        if text.chars().count() >= MIN_LETTERS && !is_plain(text, Vocabulary::Terms) {
            found(kind, text);
        }
    };
    for (word, stays) in line
        .split_whitespace()
        .map(|word| (word, stays(word)))
        .filter(|(_, stays)| *stays != Stays::All)
    {
        if stays == Stays::Nothing {
            name("argument", word);
        }
        let Some((_, value)) = word.split_once('=') else { continue };
        name("value", value);
        for part in value.split([',', ';', '"', '\'']) {
            name("value", part);
            let set = part.rsplit_once('=').map_or(part, |(_, set)| set);
            name("value", set);
            user_of(Path::new(set)).into_iter().for_each(|user| name("user", user));
            // `ip=address:server:gateway:mask:host`, but no address that has colons.
            let is_one = is_address(set) && !set.contains('.');
            set.split(':').filter(|_| !is_one).for_each(|part| name("value", part));
        }
    }
}

/// `[    1.234567] ...`, after what a serial line may have before it.
fn is_of_kernel(line: &str) -> bool {
    let stamp = line.trim_start().strip_prefix('[').and_then(|rest| rest.split_once(']'));
    stamp.is_some_and(|(time, _)| time.contains('.') && time.trim().parse::<f64>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::anonymous::{Pseudonyms, Secrets};

    fn with<T>(of: impl FnOnce(&Anonymiser<'_>) -> T) -> T {
        let pseudonyms = Pseudonyms::new([7; 32]);
        of(&Anonymiser {
            pseudonyms: &pseudonyms,
            secrets: Secrets::new([("robot-3".to_owned(), "host-000000".to_owned())]),
        })
    }

    #[test]
    fn what_decides_latency_stays_of_a_command_line() {
        let line = "BOOT_IMAGE=/boot/vmlinuz-acme root=UUID=12-34 ro \
                    isolcpus=managed_irq,domain,2-3 nohz_full=2-3 idle=poll \
                    console=ttyS0,115200n8 mitigations=off token=hunter2 clocksource=secret -- \
                    --key 12345";
        let shown = with(|of| of.kernel_arguments(line));
        let kept: Vec<&str> = shown
            .split(' ')
            .filter(|word| !word.contains("value-") && !word.contains("argument-"))
            .collect();
        assert_eq!(
            kept.join(" "),
            "ro isolcpus=managed_irq,domain,2-3 nohz_full=2-3 idle=poll console=ttyS0,115200n8 \
             mitigations=off --"
        );
        assert!(
            shown.contains("clocksource=value-")
                && shown.contains("root=value-")
                && shown.contains(" argument-"),
            "{shown}"
        );
    }

    #[test]
    fn who_built_a_kernel_goes() {
        let version = "Linux version 6.1.0-rt5 (alice@builder.acme) (gcc (GCC) 12.2.0, GNU ld \
                       2.40) #1 SMP PREEMPT_RT Thu";
        let shown = with(|of| of.kernel_version(version));
        assert!(
            shown.starts_with("Linux version 6.1.0-rt5 (user-") && shown.contains("@host-"),
            "{shown}"
        );
        assert!(
            shown.ends_with(" (gcc (GCC) 12.2.0, GNU ld 2.40) #1 SMP PREEMPT_RT Thu")
                && !shown.contains("acme"),
            "{shown}"
        );
        assert_eq!(with(|of| of.preemption("PREEMPT_DYNAMIC (full)")), "PREEMPT_DYNAMIC (full)");
        assert_eq!(
            with(|of| of.preemption("PREEMPT_DYNAMIC (booted with preempt=full)")),
            "PREEMPT_DYNAMIC (booted with preempt=full)"
        );
        for mode in ["none", "voluntary", "full", "lazy"] {
            let by_default = format!("PREEMPT_DYNAMIC ({mode} by default)");
            assert_eq!(with(|of| of.preemption(&by_default)), by_default);
        }
        assert_eq!(with(|of| of.preemption("voluntary or none")), "voluntary or none");
        assert!(
            !with(|of| of.preemption("PREEMPT_DYNAMIC (booted with preempt=alice)"))
                .contains("alice")
        );
    }

    #[test]
    fn the_kernels_console_stays_without_names() {
        let text = "[    0.000000] Linux version 6.1 (alice@acme) #1 SMP\n[    0.000000] Command \
                    line: quiet pw=hunter2\n[    0.010000] tsc: Detected 999.993 MHz \
                    processor\nalice logged in\n\n[    1.500000] IP-Config: robot-3 is \
                    192.168.0.7, from /home/alice/x\n";
        let console = with(|of| of.console(text));
        assert_eq!(console.left_out, 1);
        assert!(console.text.contains("tsc: Detected 999.993 MHz processor\n"), "{console:?}");
        assert!(
            console.text.contains("IP-Config: host-000000 is address-")
                && console.text.contains(", from path-"),
            "{console:?}"
        );
        assert!(
            ["alice", "acme", "hunter2", "robot", "192"]
                .iter()
                .all(|name| !console.text.contains(name)),
            "{console:?}"
        );
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! What kernel it is and how it was set up, from the texts it offers.

/// How the kernel may be preempted, from its version line, /sys/kernel/realtime,
/// /sys/kernel/debug/sched/preempt and its command line; `knows_lazy` says whether it knows the
/// mode `lazy`. None if nothing readable shows it.
pub fn preemption(
    version: Option<&str>,
    realtime: Option<&str>,
    debug: Option<&str>,
    command_line: Option<&str>,
    knows_lazy: Option<bool>,
) -> Option<String> {
    // What stands before the `#` is where and with what it was built, and may hold any word.
    let words = version.map(|version| version.split_once('#').map_or(version, |(_, build)| build));
    let has = |word: &str| {
        words.is_some_and(|words| words.split_ascii_whitespace().any(|found| found == word))
    };
    // Kernels with the RT patches of before 5.15 wrote two words; /sys/kernel/realtime came and
    // went with those patches.
    if realtime.is_some_and(|text| text.trim() == "1")
        || has("PREEMPT_RT")
        || words?.contains("PREEMPT RT")
    {
        return Some("PREEMPT_RT".to_owned());
    }
    if has("PREEMPT_DYNAMIC") {
        let mode = debug.and_then(dynamic_mode).map(|mode| format!(" ({mode})"));
        // Only root may read debugfs. What was asked at boot may have been changed since, so it is
        // called that.
        let booted = || {
            command_line
                .and_then(|text| booted_mode(text, knows_lazy))
                .map(|mode| format!(" (booted with preempt={mode})"))
        };
        return Some(format!("PREEMPT_DYNAMIC{}", mode.or_else(booted).unwrap_or_default()));
    }
    Some(if has("PREEMPT") { "PREEMPT".to_owned() } else { "voluntary or none".to_owned() })
}

/// The mode in parentheses of `none voluntary (full) lazy`.
fn dynamic_mode(text: &str) -> Option<&str> {
    enclosed(text, '(', ')')
}

/// The choice in brackets of `always [madvise] never`.
pub fn chosen(text: &str) -> Option<&str> {
    enclosed(text, '[', ']')
}

fn enclosed(text: &str, open: char, close: char) -> Option<&str> {
    let (_, rest) = text.split_once(open)?;
    let (inside, _) = rest.split_once(close)?;
    (!inside.is_empty()).then_some(inside)
}

/// Modes that every kernel with PREEMPT_DYNAMIC knows.
pub const MODES: [&str; 3] = ["none", "voluntary", "full"];
/// One that some know: the version does not say which.
pub const LAZY: &str = "lazy";

/// The mode that a kernel was booted with: that of the last `preempt=` that it knows. None where
/// there is none, or where it is not known whether the kernel knows it.
fn booted_mode(command_line: &str, knows_lazy: Option<bool>) -> Option<&str> {
    let mut modes =
        command_line.split_ascii_whitespace().filter_map(|word| word.strip_prefix("preempt="));
    let may_know = |mode: &&str| MODES.contains(mode) || *mode == LAZY && knows_lazy != Some(false);
    modes.rfind(may_know).filter(|mode| *mode != LAZY || knows_lazy == Some(true))
}

/// A list of CPUs as sysfs has it; empty where none is meant.
pub(crate) fn cpu_list(text: &str) -> String {
    // Without nohz_full= the kernel prints the mask it does not have.
    let text = text.trim();
    if text == "(null)" { String::new() } else { text.to_owned() }
}

/// A text of one line; device trees end theirs with NUL. None if nothing is left.
pub fn one_line(text: &str) -> Option<String> {
    let text = text.replace('\0', " ");
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn preemption_of(version: &str, debug: Option<&str>, command_line: &str) -> String {
        preemption(Some(version), None, debug, Some(command_line), None).unwrap()
    }

    #[test]
    fn real_time() {
        let debian = "Linux version 6.1.0-18-rt-amd64 (debian-kernel@lists.debian.org) #1 SMP \
                      PREEMPT_RT Debian 6.1.76-1";
        assert_eq!(preemption_of(debian, None, ""), "PREEMPT_RT");
        assert_eq!(
            preemption_of(
                "Linux version 4.19.71-rt24-v7l+ (dom@buildbot) #1 SMP PREEMPT RT Thu",
                None,
                ""
            ),
            "PREEMPT_RT"
        );
        assert_eq!(preemption(None, Some("1\n"), None, None, None).unwrap(), "PREEMPT_RT");
        assert_eq!(
            preemption(Some("Linux version 5.10 (x) #1 SMP"), Some("1\n"), None, None, None)
                .unwrap(),
            "PREEMPT_RT"
        );
    }

    #[test]
    fn dynamic() {
        let version =
            "Linux version 6.8.0-31-generic (buildd@x) #31-Ubuntu SMP PREEMPT_DYNAMIC Sat Apr 20";
        assert_eq!(
            preemption_of(version, Some("none voluntary (full) \n"), "preempt=none"),
            "PREEMPT_DYNAMIC (full)"
        );
        assert_eq!(
            preemption_of(version, Some("none voluntary full (lazy)\n"), ""),
            "PREEMPT_DYNAMIC (lazy)"
        );
        assert_eq!(preemption_of(version, None, "quiet"), "PREEMPT_DYNAMIC");
        assert_eq!(
            preemption_of(version, None, "preempt=none quiet preempt=full"),
            "PREEMPT_DYNAMIC (booted with preempt=full)"
        );
    }

    /// The kernel passes over a mode that it does not know, and takes an earlier one.
    #[test]
    fn only_a_mode_that_the_kernel_knows_is_one_it_was_booted_with() {
        for (line, knows_lazy, mode) in [
            ("preempt=lazy", Some(true), Some("lazy")),
            ("preempt=lazy", Some(false), None),
            ("preempt=lazy", None, None),
            ("preempt=full preempt=lazy", None, None),
            ("preempt=full preempt=lazy", Some(false), Some("full")),
            ("preempt=lazy preempt=none", None, Some("none")),
            ("preempt=rt", Some(true), None),
            ("preempt=voluntary preempt=rt", None, Some("voluntary")),
        ] {
            assert_eq!(booted_mode(line, knows_lazy), mode, "{line} {knows_lazy:?}");
        }
    }

    #[test]
    fn the_others() {
        assert_eq!(
            preemption_of("Linux version 6.6.20+rpt-rpi-v8 (x) #1 SMP PREEMPT Debian", None, ""),
            "PREEMPT"
        );
        assert_eq!(
            preemption_of("Linux version 5.15.0 (x) #1 SMP Debian", None, ""),
            "voluntary or none"
        );
        assert_eq!(preemption(None, None, None, None, None), None);
        assert_eq!(preemption(None, Some("0"), None, None, None), None);
    }

    #[test]
    fn the_builders_name_is_not_the_model() {
        assert_eq!(
            preemption_of("Linux version 6.1 (PREEMPT_RT@PREEMPT PREEMPT RT ) #1 SMP", None, ""),
            "voluntary or none"
        );
    }

    #[test]
    fn choices_lists_and_lines() {
        assert_eq!(chosen("always [madvise] never\n"), Some("madvise"));
        assert_eq!(chosen("always"), None);
        assert_eq!(cpu_list(" (null)\n"), "");
        assert_eq!(cpu_list("1-3\n"), "1-3");
        assert_eq!(
            one_line("Raspberry Pi 5 Model B Rev 1.0\0").as_deref(),
            Some("Raspberry Pi 5 Model B Rev 1.0")
        );
        assert_eq!(one_line("\0\n"), None);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[\\PC()\\[\\]#\0]*") {
            let _ = (
                preemption(Some(&text), Some(&text), Some(&text), Some(&text), None),
                chosen(&text),
                cpu_list(&text),
                one_line(&text),
            );
        }
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! What kernel it is and how it was set up, from the texts it offers.

/// How the kernel may be preempted, from its version line, /sys/kernel/realtime,
/// /sys/kernel/debug/sched/preempt and its command line. None if nothing readable shows it.
pub fn preemption(
    version: Option<&str>,
    realtime: Option<&str>,
    debug: Option<&str>,
    command_line: Option<&str>,
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
                .and_then(|text| argument(text, "preempt="))
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

/// The value of the last argument `key`, which is the one the kernel obeys.
fn argument<'a>(command_line: &'a str, key: &str) -> Option<&'a str> {
    command_line.split_ascii_whitespace().filter_map(|word| word.strip_prefix(key)).next_back()
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
        preemption(Some(version), None, debug, Some(command_line)).unwrap()
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
        assert_eq!(preemption(None, Some("1\n"), None, None).unwrap(), "PREEMPT_RT");
        assert_eq!(
            preemption(Some("Linux version 5.10 (x) #1 SMP"), Some("1\n"), None, None).unwrap(),
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
        assert_eq!(preemption(None, None, None, None), None);
        assert_eq!(preemption(None, Some("0"), None, None), None);
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
                preemption(Some(&text), Some(&text), Some(&text), Some(&text)),
                chosen(&text),
                cpu_list(&text),
                one_line(&text),
            );
        }
    }
}

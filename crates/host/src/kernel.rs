// SPDX-License-Identifier: MIT OR Apache-2.0
//! What kernel it is and how it was set up, from the texts it offers.

/// What a kernel calls itself that can choose at boot how it is preempted.
pub const PREEMPT_DYNAMIC: &str = "PREEMPT_DYNAMIC";

/// How the kernel was built to be preempted, from its version line and /sys/kernel/realtime. None
/// if neither shows it.
pub fn preemption(version: Option<&str>, realtime: Option<&str>) -> Option<&'static str> {
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
        return Some("PREEMPT_RT");
    }
    Some(if has(PREEMPT_DYNAMIC) {
        PREEMPT_DYNAMIC
    } else if has("PREEMPT") {
        "PREEMPT"
    } else {
        "voluntary or none"
    })
}

/// The mode in parentheses of `none voluntary (full) lazy`.
pub fn dynamic_mode(text: &str) -> Option<&str> {
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

    fn of_version(version: &str) -> Option<&'static str> {
        preemption(Some(version), None)
    }

    #[test]
    fn real_time() {
        for version in [
            "Linux version 6.1.0-18-rt-amd64 (debian-kernel@lists.debian.org) #1 SMP PREEMPT_RT \
             Debian 6.1.76-1",
            "Linux version 4.19.71-rt24-v7l+ (dom@buildbot) #1 SMP PREEMPT RT Thu",
        ] {
            assert_eq!(of_version(version), Some("PREEMPT_RT"));
        }
        assert_eq!(preemption(None, Some("1\n")), Some("PREEMPT_RT"));
        let version = "Linux version 5.10 (x) #1 SMP";
        assert_eq!(preemption(Some(version), Some("1\n")), Some("PREEMPT_RT"));
    }

    #[test]
    fn the_others() {
        for (version, model) in [
            (
                "Linux version 6.8.0-31-generic (buildd@x) #31-Ubuntu SMP PREEMPT_DYNAMIC Sat",
                PREEMPT_DYNAMIC,
            ),
            ("Linux version 6.6.20+rpt-rpi-v8 (x) #1 SMP PREEMPT Debian", "PREEMPT"),
            ("Linux version 5.15.0 (x) #1 SMP Debian", "voluntary or none"),
        ] {
            assert_eq!(of_version(version), Some(model));
        }
        assert_eq!(preemption(None, None), None);
        assert_eq!(preemption(None, Some("0")), None);
    }

    #[test]
    fn the_builders_name_is_not_the_model() {
        let version = "Linux version 6.1 (PREEMPT_RT@PREEMPT PREEMPT RT ) #1 SMP";
        assert_eq!(of_version(version), Some("voluntary or none"));
    }

    #[test]
    fn choices_lists_and_lines() {
        assert_eq!(chosen("always [madvise] never\n"), Some("madvise"));
        assert_eq!(chosen("always"), None);
        assert_eq!(dynamic_mode("none voluntary (full) \n"), Some("full"));
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
                preemption(Some(&text), Some(&text)),
                dynamic_mode(&text),
                chosen(&text),
                cpu_list(&text),
                one_line(&text),
            );
        }
    }
}

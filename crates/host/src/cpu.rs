// SPDX-License-Identifier: MIT OR Apache-2.0
//! CPUs: their name and frequency from /proc/cpuinfo, and the lists sysfs names them with.

use crate::kernel;
use crate::root::{Fault, cpu_number, not_a_number};
use plan::CpuId;
use std::collections::BTreeMap;

/// What /proc/cpuinfo says. Its keys differ with the architecture.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CpuInfo {
    /// `model name` (x86, 32-bit Arm), else `Model` or `Hardware` (boards).
    pub model: Option<String>,
    /// Whether the x86 flag `hypervisor` is set; none where there are no x86 flags.
    pub hypervisor: Option<bool>,
    /// `cpu MHz` in kHz; only x86 has it.
    pub frequency_khz: BTreeMap<CpuId, u64>,
}

/// Reads /proc/cpuinfo.
pub(crate) fn cpuinfo(text: &str, faults: &mut Vec<Fault>) -> CpuInfo {
    let mut info = CpuInfo::default();
    let mut board: Option<&str> = None;
    let mut current = None;
    for (index, line) in text.lines().enumerate() {
        let Some((key, value)) = line.split_once(':') else { continue };
        let value = value.trim();
        match key.trim() {
            "processor" => {
                current = cpu_number(value);
                if current.is_none() {
                    faults.push(Fault::at(index + 1, "processor", not_a_number(value)));
                }
            }
            "model name" if info.model.is_none() && !value.is_empty() => {
                info.model = Some(value.to_owned())
            }
            // `Model` names the board and comes after `Hardware`, which names the chip at best.
            "Model" if !value.is_empty() => board = Some(value),
            "Hardware" if board.is_none() && !value.is_empty() => board = Some(value),
            "flags" if info.hypervisor.is_none() => {
                info.hypervisor =
                    Some(value.split_ascii_whitespace().any(|flag| flag == "hypervisor"));
            }
            "cpu MHz" => {
                if let Some(cpu) = current {
                    match khz(value) {
                        // 0 is how a CPU says that it was not asked, for instance because it has no
                        // tick.
                        Some(0) => {}
                        Some(khz) => drop(info.frequency_khz.insert(cpu, khz)),
                        None => faults.push(Fault::at(
                            index + 1,
                            format!("cpu MHz of CPU {cpu}"),
                            not_a_number(value),
                        )),
                    }
                }
            }
            _ => {}
        }
    }
    info.model = info.model.or_else(|| board.map(str::to_owned));
    info
}

/// `2299.998` MHz in kHz, exactly; digits beyond the third are cut off.
fn khz(mhz: &str) -> Option<u64> {
    let (whole, fraction) = mhz.split_once('.').unwrap_or((mhz, ""));
    if !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let thousandths: u64 = fraction
        .bytes()
        .chain(*b"000")
        .take(3)
        .fold(0, |sum, digit| sum * 10 + u64::from(digit - b'0'));
    whole.parse::<u64>().ok()?.checked_mul(1_000)?.checked_add(thousandths)
}

/// The CPUs of a list in sysfs or /proc.
pub fn list(text: &str) -> Option<Vec<CpuId>> {
    listed(&kernel::cpu_list(text), "CPUs").ok()
}

/// A list such as `0-3,5`, as in /sys/devices/system/cpu/online; `item` is what the file lists.
pub(crate) fn listed(text: &str, item: &str) -> Result<Vec<CpuId>, Fault> {
    let mut cpus = Vec::new();
    for part in text.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let range = cpu_number(first).zip(cpu_number(last)).filter(|(first, last)| first <= last);
        let Some((first, last)) = range else {
            let shown: String = part.chars().take(40).collect();
            return Err(Fault::at(1, item, format!("'{shown}' is not a CPU or a range of them")));
        };
        cpus.extend((first.0..=last.0).map(CpuId));
    }
    cpus.sort_unstable();
    cpus.dedup();
    Ok(cpus)
}

/// The CPUs of a mask in hexadecimal, in groups of 32 bits.
pub fn of_mask(mask: &str) -> Option<Vec<CpuId>> {
    let mut cpus = Vec::new();
    let groups: Vec<&str> = mask.trim().rsplit(',').collect();
    for (group, text) in groups.into_iter().enumerate() {
        let bits = u32::from_str_radix(text, 16).ok()?;
        let first = u32::try_from(group).ok()?.checked_mul(32)?;
        cpus.extend((0..32).filter(|bit| bits & (1 << bit) != 0).map(|bit| CpuId(first + bit)));
    }
    Some(cpus)
}

/// These CPUs as a mask: the kernel takes no group of more than 32 bits.
pub fn to_mask(cpus: &[CpuId]) -> String {
    let groups = cpus.iter().map(|cpu| cpu.0 / 32).max().unwrap_or(0);
    let bits = |group: u32| {
        cpus.iter()
            .filter(|cpu| cpu.0 / 32 == group)
            .fold(0_u32, |bits, cpu| bits | 1 << (cpu.0 % 32))
    };
    let mut mask = format!("{:x}", bits(groups));
    for group in (0..groups).rev() {
        mask += &format!(",{:08x}", bits(group));
    }
    mask
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::machines::{GUEST_CPUINFO, PC_CPUINFO, PI_CPUINFO};
    use proptest::prelude::*;

    fn read(text: &str) -> (CpuInfo, Vec<Fault>) {
        let mut faults = Vec::new();
        (cpuinfo(text, &mut faults), faults)
    }

    #[test]
    fn masks() {
        let numbers = |text: &str| {
            of_mask(text).map(|cpus| cpus.into_iter().map(|cpu| cpu.0).collect::<Vec<_>>())
        };
        assert_eq!(numbers("f\n").as_deref(), Some(&[0, 1, 2, 3][..]));
        assert_eq!(numbers("00000001,80000000").as_deref(), Some(&[31, 32][..]));
        assert_eq!(numbers("x"), None);
        let cpus = |numbers: &[u32]| numbers.iter().copied().map(CpuId).collect::<Vec<_>>();
        assert_eq!(to_mask(&cpus(&[0])), "1");
        assert_eq!(to_mask(&cpus(&[4, 5, 6, 7])), "f0");
        assert_eq!(to_mask(&cpus(&[31, 32])), "1,80000000");
        assert_eq!(to_mask(&cpus(&[64])), "1,00000000,00000000");
    }

    #[test]
    fn a_guest_says_that_it_is_one() {
        let (info, faults) = read(GUEST_CPUINFO);
        assert_eq!(faults, []);
        assert_eq!(info.model.as_deref(), Some("Intel(R) Xeon(R) Processor"));
        assert_eq!(info.hypervisor, Some(true));
        assert_eq!(info.frequency_khz, [(CpuId(0), 2_299_998), (CpuId(1), 2_299_998)].into());
    }

    #[test]
    fn a_pc_says_that_it_is_none() {
        assert_eq!(read(PC_CPUINFO).0.hypervisor, Some(false));
    }

    #[test]
    fn a_board_has_a_model_and_no_flags() {
        let (info, faults) = read(PI_CPUINFO);
        assert_eq!(faults, []);
        assert_eq!(info.model.as_deref(), Some("Raspberry Pi 4 Model B Rev 1.4"));
        assert_eq!((info.hypervisor, info.frequency_khz.len()), (None, 0));
        assert_eq!(
            read("Hardware\t: Freescale i.MX6\n").0.model.as_deref(),
            Some("Freescale i.MX6")
        );
    }

    #[test]
    fn names_the_line() {
        let (_, faults) =
            read("processor\t: 0\ncpu MHz\t: fast\nprocessor\t: two\ncpu MHz\t: 1.0\n");
        assert_eq!(
            faults,
            [
                Fault::at(2, "cpu MHz of CPU 0", "'fast' is not a number that fits"),
                Fault::at(3, "processor", "'two' is not a number that fits"),
            ]
        );
    }

    #[test]
    fn megahertz_exactly() {
        assert_eq!(khz("2299.998"), Some(2_299_998));
        assert_eq!(khz("800"), Some(800_000));
        assert_eq!(khz("1.5"), Some(1_500));
        assert_eq!(khz("1.23456"), Some(1_234));
        for text in ["", ".", "x", "1.x", "-1", "99999999999999999999", "18446744073709551.616"] {
            assert_eq!(khz(text), None, "{text}");
        }
        assert_eq!(
            read("processor : 0\ncpu MHz : 0.000\n").0.frequency_khz.len(),
            0,
            "not asked is not 0"
        );
    }

    const ITEM: &str = "CPUs online";

    #[test]
    fn lists() {
        assert_eq!(listed("0-1,3\n", ITEM), Ok(vec![CpuId(0), CpuId(1), CpuId(3)]));
        assert_eq!(listed("2,0,2", ITEM), Ok(vec![CpuId(0), CpuId(2)]));
        assert_eq!(
            listed("0-x", ITEM),
            Err(Fault::at(1, ITEM, "'0-x' is not a CPU or a range of them"))
        );
        for text in ["", "3-1", "0-4294967295", ","] {
            assert!(listed(text, ITEM).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_mask_that_was_written_is_read_back(
            numbers in proptest::collection::btree_set(0_u32..300, 0..20),
        ) {
            let cpus: Vec<CpuId> = numbers.into_iter().map(CpuId).collect();
            prop_assert_eq!(of_mask(&to_mask(&cpus)).unwrap(), cpus);
        }

        #[test]
        fn no_text_panics(
            text in "((processor|cpu MHz|flags|Model)\t: [0-9.]{0,24}\n|\\PC*\n){0,8}",
            list in "[0-9,-]{0,24}|\\PC*",
        ) {
            let _ = (read(&text), listed(&list, ITEM));
        }
    }
}

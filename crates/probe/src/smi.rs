// SPDX-License-Identifier: MIT OR Apache-2.0
//! System management interrupts, in which firmware takes the CPU away from any kernel: Intel's CPUs
//! count them, each its own.

use model::{Smis, SmisUnknown};
use plan::CpuId;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// The register with the count (MSR_SMI_COUNT), in Intel's CPUs since Nehalem. The file of
/// registers has it at this offset.
const SMI_COUNT: u64 = 0x34;

/// The counter of one CPU.
#[derive(Debug)]
pub struct SmiCounter {
    registers: Result<File, SmisUnknown>,
    before: Result<u32, SmisUnknown>,
}

impl SmiCounter {
    /// Of this CPU, on the machine whose files are below `root`.
    pub fn open(root: &Path, cpu: CpuId) -> SmiCounter {
        let registers = counts(root).and_then(|()| {
            let path = root.join(format!("dev/cpu/{}/msr", cpu.0));
            File::open(path).map_err(|error| unknown(&error))
        });
        SmiCounter { registers, before: Err(SmisUnknown::Unreadable) }
    }

    /// Counts from now on.
    pub fn begin(&mut self) {
        self.before = self.now();
    }

    /// How many there were since.
    pub fn since_begin(&self) -> Smis {
        let counted = self.before.and_then(|before| Ok((before, self.now()?)));
        // The register has 32 bits, and begins anew.
        Smis::from(counted.map(|(before, after)| u64::from(after.wrapping_sub(before))))
    }

    fn now(&self) -> Result<u32, SmisUnknown> {
        let file = self.registers.as_ref().map_err(|unknown| *unknown)?;
        let mut register = [0; 8];
        file.read_exact_at(&mut register, SMI_COUNT).map_err(|error| unknown(&error))?;
        let [a, b, c, d, ..] = register;
        Ok(u32::from_le_bytes([a, b, c, d]))
    }
}

/// Whether this is a CPU that counts those of the hardware. Others may answer for the register too,
/// with something else.
fn counts(root: &Path) -> Result<(), SmisUnknown> {
    let text = fs::read_to_string(root.join("proc/cpuinfo")).map_err(|error| unknown(&error))?;
    let fields = || {
        text.lines()
            .filter_map(|line| line.split_once(':'))
            .map(|(key, value)| (key.trim(), value.trim()))
    };
    if fields()
        .any(|(key, value)| key == "flags" && value.split(' ').any(|flag| flag == "hypervisor"))
    {
        return Err(SmisUnknown::VirtualMachine);
    }
    if fields().any(|field| field == ("vendor_id", "GenuineIntel")) {
        Ok(())
    } else {
        Err(SmisUnknown::NotIntel)
    }
}

fn unknown(error: &io::Error) -> SmisUnknown {
    match error.kind() {
        io::ErrorKind::NotFound => SmisUnknown::NoDevice,
        io::ErrorKind::PermissionDenied => SmisUnknown::NoRight,
        _ => SmisUnknown::Unreadable,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    const INTEL: &str = "processor\t: 0\nvendor_id\t: GenuineIntel\nflags\t\t: fpu msr\n";

    /// A machine in a folder, which goes with it.
    struct Machine(PathBuf);

    impl Machine {
        fn new(name: &str, cpuinfo: &str) -> Machine {
            let root =
                std::env::temp_dir().join(format!("teiji-smi-{name}-{}", std::process::id()));
            for folder in ["proc", "dev/cpu/3"] {
                fs::create_dir_all(root.join(folder)).unwrap();
            }
            fs::write(root.join("proc/cpuinfo"), cpuinfo).unwrap();
            Machine(root)
        }

        /// All registers below that with the count, and so many bytes of it.
        fn counts(&self, count: u64, bytes: usize) {
            let registers = [&[0xff; 0x34], &count.to_le_bytes()[..bytes]].concat();
            fs::write(self.0.join("dev/cpu/3/msr"), registers).unwrap();
        }

        fn counter(&self) -> SmiCounter {
            let mut counter = SmiCounter::open(&self.0, CpuId(3));
            counter.begin();
            counter
        }
    }

    impl Drop for Machine {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn the_difference_is_what_is_counted() {
        let machine = Machine::new("difference", INTEL);
        machine.counts(40, 8);
        let counter = machine.counter();
        assert_eq!(counter.since_begin(), Smis { count: Some(0), unknown: None });
        machine.counts(43, 8);
        assert_eq!(counter.since_begin(), Smis { count: Some(3), unknown: None });
        // Past the end of 32 bits, beside bits that are reserved.
        machine.counts(0xab_ffff_fffe, 8);
        let counter = machine.counter();
        machine.counts(0xab_0000_0001, 8);
        assert_eq!(counter.since_begin().count, Some(3));
    }

    #[test]
    fn what_cannot_be_read_is_unknown_and_not_0() {
        let unknown = |unknown| Smis { count: None, unknown: Some(unknown) };
        let machine = Machine::new("unknown", INTEL);
        assert_eq!(machine.counter().since_begin(), unknown(SmisUnknown::NoDevice));
        machine.counts(40, 7);
        assert_eq!(machine.counter().since_begin(), unknown(SmisUnknown::Unreadable));
        // It could be read before, but not after.
        machine.counts(40, 8);
        let counter = machine.counter();
        machine.counts(40, 0);
        assert_eq!(counter.since_begin(), unknown(SmisUnknown::Unreadable));
        machine.counts(40, 8);
        let never_begun = SmiCounter::open(&machine.0, CpuId(3));
        assert_eq!(never_begun.since_begin(), unknown(SmisUnknown::Unreadable));
        let permission = io::Error::from_raw_os_error(libc::EPERM);
        assert_eq!(super::unknown(&permission), SmisUnknown::NoRight);
    }

    #[test]
    fn other_cpus_are_not_asked() {
        for (name, cpuinfo, why) in [
            ("amd", INTEL.replace("GenuineIntel", "AuthenticAMD"), SmisUnknown::NotIntel),
            ("arm", "processor\t: 0\nCPU part\t: 0xd08\n".to_owned(), SmisUnknown::NotIntel),
            ("guest", INTEL.replace("fpu msr", "fpu msr hypervisor"), SmisUnknown::VirtualMachine),
        ] {
            let machine = Machine::new(name, &cpuinfo);
            machine.counts(40, 8);
            assert_eq!(
                machine.counter().since_begin(),
                Smis { count: None, unknown: Some(why) },
                "{name}"
            );
        }
    }
}

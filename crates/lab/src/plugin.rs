// SPDX-License-Identifier: MIT OR Apache-2.0
//! QEMU's plugin: a shared object that QEMU loads, which sees every instruction of a guest and
//! changes none. It records them, and keeps the turns of several CPUs even.

/// The plugin that the program carries, built by this crate's `build.rs` from `plugin/`. Empty
/// where the program runs on a processor it was not written for.
static BYTES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/plugin.so"));

/// The name of the shared object in the guest's folder.
const LIBRARY: &str = "plugin.so";
/// The name of what it writes.
pub(crate) const OUTPUT: &str = "plugin.out";

/// The plugin as one guest is to have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plugin {
    /// Whether it writes anything.
    pub(crate) records: bool,
    /// Its words beside the name of its output and the number of CPUs, `key=value`.
    pub words: Vec<String>,
    /// Files that it reads: their names, which words give it, and what is in them.
    pub files: Vec<(String, Vec<u8>)>,
}

impl Plugin {
    /// To keep executed blocks; none where the program runs on a processor that the plugin was not
    /// written for.
    pub fn recorder() -> Option<Self> {
        Plugin::new(true)
    }

    /// Only to keep the turns of several CPUs even, as every other does as well; none as above.
    pub(crate) fn for_turns() -> Option<Self> {
        Plugin::new(false)
    }

    fn new(records: bool) -> Option<Self> {
        (!BYTES.is_empty()).then_some(Plugin { records, words: Vec::new(), files: Vec::new() })
    }

    /// Files to be put into the guest's folder.
    pub(crate) fn files(&self) -> impl Iterator<Item = (&str, &[u8])> {
        let own = self.files.iter().map(|(name, content)| (name.as_str(), content.as_slice()));
        std::iter::once((LIBRARY, BYTES)).chain(own)
    }

    /// QEMU's arguments for it, in a guest of so many CPUs.
    pub(crate) fn arguments(&self, cpus: u32) -> [String; 2] {
        let output = if self.records { format!(",out={OUTPUT}") } else { String::new() };
        let words = self.words.iter().map(|word| format!(",{word}")).collect::<String>();
        // With a slash: otherwise it is looked for among the system's libraries.
        ["-plugin".to_owned(), format!("./{LIBRARY},cpus={cpus}{output}{words}")]
    }
}

/// What decides whose turn is over, which needs nothing of QEMU's.
#[cfg(test)]
#[path = "../plugin/turns.rs"]
mod turns;

#[cfg(test)]
const CPUS: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;
    use turns::Turns;

    /// QEMU's loop, with blocks of these lengths on each CPU. What each CPU has executed after so
    /// many cycles, in which a CPU loses its turn where `loses` says so.
    fn executed<const N: usize>(
        blocks: [u64; N],
        cycles: u32,
        loses: impl Fn(u32, usize) -> bool,
    ) -> [u64; N] {
        let (mut turns, mut executed) = (Turns::new(N), [0; N]);
        for cycle in 0..cycles {
            for cpu in (0..N).filter(|cpu| !loses(cycle, *cpu)) {
                // No longer than until a timer falls due.
                for _ in 0..1_000 {
                    executed[cpu] += blocks[cpu];
                    if turns.execute(cpu, blocks[cpu]) {
                        break;
                    }
                }
            }
        }
        executed
    }

    #[test]
    fn turns_are_even_whatever_the_blocks() {
        for executed in [
            executed([3, 5, 40, 1], 10_000, |_, _| false),
            executed([7, 7, 7, 7], 10_000, |_, _| false),
            // Timers take every turn of CPU 1 but each fifth, and all of CPU 3 for some time.
            executed([3, 5, 40, 1], 10_000, |cycle, cpu| {
                cpu == 1 && !cycle.is_multiple_of(5) || cpu == 3 && cycle % 1_000 < 90
            }),
        ] {
            let (least, most) = (executed.iter().min().unwrap(), executed.iter().max().unwrap());
            assert!(*least > 100_000 && most - least < 1_000, "{executed:?}");
        }
    }

    #[test]
    fn nobody_waits_for_a_cpu_that_executes_nothing() {
        let halted = |cycle, cpu| cpu == 2 && (1_000..9_000).contains(&cycle);
        let [first, second, third] = executed([5, 5, 5], 10_000, halted);
        assert!(first.abs_diff(second) < 100 && first > 200_000, "{first} {second}");
        // It goes on with the others, and does not make up for what it has not executed.
        assert!((40_000..60_000).contains(&third), "{third}");
    }

    #[test]
    fn one_cpu_has_all_turns() {
        assert_eq!(executed([5], 100, |_, _| false), [100 * 25]);
    }
}

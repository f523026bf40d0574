// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the help of several verbs has: its parts, and what it ends with.

/// Help is as wide as the terminal, but no wider than this.
pub const COLUMNS: usize = 100;

pub const WHAT: &str = "What to measure";
pub const WHEN: &str = "When";
pub const WHERE: &str = "Where";
pub const LOAD: &str = "Under which load";
pub const OUTPUT: &str = "Output";

/// What the program's help ends with, before its exit codes.
pub const EXAMPLES: &str = "\
Examples:
  teiji check                                       # is this machine set up?
  sudo teiji measure --load hackbench -o now.teiji  # each CPU, every 1 ms, 10 s
  teiji report now.teiji -o now.html                # one page, offline";

/// What `-h` of a verb that measures ends with.
pub const MORE: &str = "All options: --help. Those of a probe: teiji probes NAME";
/// The same of `--help`.
pub const OF_PROBES: &str = "The options of a probe: teiji probes NAME, or --probe NAME --help";

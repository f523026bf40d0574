// SPDX-License-Identifier: MIT OR Apache-2.0
//! Machines laid out for tests: those of the crates below.

#[path = "../../../check/src/tests/cpusets.rs"]
pub(crate) mod cpusets;
#[path = "../../../host/src/tests/files.rs"]
pub(crate) mod files;
#[path = "../../../check/src/tests/threads.rs"]
pub(crate) mod threads;
#[path = "../../../check/src/tests/trees.rs"]
pub(crate) mod trees;

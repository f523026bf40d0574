// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a guest's kernel unpacks: the program, its order, modules and files, and nothing else.

use crate::archive;
use crate::modules::Module;
use crate::order::{MODULES, ORDER, Order};
use std::path::Path;

/// An initramfs for this order.
pub(crate) fn initramfs(
    program: &[u8],
    order: &Order,
    modules: &[Module],
    files: &[(String, Vec<u8>)],
) -> Vec<u8> {
    let mut archive = archive::Writer::default();
    for directory in ["dev", "proc", "sys", "tmp", MODULES] {
        archive.directory(directory);
    }
    // Before anything is mounted, the kernel opens this for its first process.
    archive.device("dev/console", 5, 1);
    archive.program("teiji", program);
    archive.file(ORDER, &serde_json::to_vec(order).unwrap_or_default());
    for module in modules {
        archive.file(&format!("{MODULES}/{}", module.name), &module.content);
    }
    let mut made: Vec<String> = Vec::new();
    for (name, content) in files {
        for parent in Path::new(name).ancestors().skip(1).collect::<Vec<_>>().into_iter().rev() {
            let parent = parent.display().to_string();
            if !parent.is_empty() && !made.contains(&parent) {
                archive.directory(&parent);
                made.push(parent);
            }
        }
        archive.program(name, content);
    }
    archive.finish()
}

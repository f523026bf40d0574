// SPDX-License-Identifier: MIT OR Apache-2.0
//! The figures of others, `--beside`.

use crate::exit::Failure;
use anyhow::Context;
use report::Published;
use std::io::Read;
use std::path::Path;

/// Bytes of such figures: 10,000 lines.
const MAX_PUBLISHED: u64 = 2 << 20;

/// Those that were asked for.
pub fn asked(beside: Option<&Path>) -> Result<Option<Published>, Failure> {
    Ok(beside.map(read).transpose()?)
}

fn read(asked: &Path) -> anyhow::Result<Published> {
    if asked == Path::new("published") {
        return Ok(Published::along()?);
    }
    let cannot = || format!("cannot read {}", asked.display());
    // Of a stranger's, perhaps: a FIFO is waited for without end.
    let found = std::fs::metadata(asked).with_context(cannot)?;
    anyhow::ensure!(found.is_file(), "cannot read {}: it is not a file", asked.display());
    let mut text = Vec::new();
    std::fs::File::open(asked)
        .and_then(|file| file.take(MAX_PUBLISHED + 1).read_to_end(&mut text))
        .with_context(cannot)?;
    anyhow::ensure!(
        text.len() as u64 <= MAX_PUBLISHED,
        "{}: larger than {} MB",
        asked.display(),
        MAX_PUBLISHED >> 20
    );
    Ok(Published::read(&asked.display().to_string(), &text)?)
}

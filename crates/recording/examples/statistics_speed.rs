// SPDX-License-Identifier: MIT OR Apache-2.0
//! How long it takes to go through a recording: `cargo run --release -p recording --example
//! statistics_speed -- read NAME.teiji` reads and decompresses its samples and does nothing with
//! them, `analyse` instead of `read` computes all that a report says of them: summary, quantiles,
//! histogram, tail and periods. Threads of the recording are gone through side by side. The benches
//! take both.

use recording::Recording;
use stats::{Rows, Span};
use std::path::Path;

#[expect(clippy::print_stdout, reason = "what it is for")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (what, path) = match words.as_slice() {
        [what, path] => (what.as_str(), Path::new(path)),
        _ => return Err("usage: statistics_speed read|analyse NAME.teiji".into()),
    };
    let recording = Recording::open(path)?;
    match what {
        "read" => {
            let counts = recording.each_sample_file(|file| {
                let mut count = 0;
                file.replay(&mut |span| {
                    count += match span {
                        Span::Woken(latencies) => latencies.len() as u64,
                        Span::Long(_) => 1,
                        Span::Missing(_) => 0,
                    };
                })?;
                Ok(count)
            })?;
            println!("{} samples", counts.iter().sum::<u64>());
        }
        "analyse" => {
            let (recorded, tails) = recording
                .analyse(&stats::ExactRequest::default(), |analysis| {
                    (analysis.tail(), analysis.periods.clone())
                })?;
            for (thread, (tail, periods)) in recorded.threads.iter().zip(tails) {
                let tail = tail.map_or_else(
                    |why| format!("{why:?}"),
                    |fit| format!("shape {:.3}", fit.gpd.shape),
                );
                println!(
                    "{} samples, {} periods, tail: {tail}",
                    thread.moments.count(),
                    periods.len()
                );
            }
        }
        _ => return Err("read or analyse".into()),
    }
    Ok(())
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! Writes a page and its SVG files from recordings that nobody measured, to look at: `cargo run -p report --example
//! sample_page -- FOLDER`.

mod synthetic;

use std::path::PathBuf;
use synthetic::Synthetic;

fn main() -> std::io::Result<()> {
    let folder = PathBuf::from(std::env::args().nth(1).unwrap_or_else(|| ".".to_owned()));
    std::fs::create_dir_all(&folder)?;
    let recordings = [Synthetic::idle().build(), Synthetic::hackbench().build()];
    let command = "teiji report idle.teiji hackbench.teiji -o report.html";
    std::fs::write(folder.join("report.html"), report::html(&recordings, command))?;
    for (name, svg) in report::svg_charts(&recordings) {
        std::fs::write(folder.join(name), svg)?;
    }
    for recorded in &recordings {
        std::fs::write(folder.join(format!("{}.txt", recorded.name())), report::terminal_summary(recorded))?;
        std::fs::write(folder.join(format!("{}.run.json", recorded.name())), serde_json::to_string(&recorded.document)?)?;
    }
    std::fs::write(folder.join("verdict.txt"), report::verdict(&recordings))
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! How charts are to be drawn, as flags: what the page's switches do, for its first look and for
//! SVG files.

use ::report::{AxisScale, ChartOptions, Heights, OverTime};
use anyhow::{bail, ensure};
use plan::{Nanos, Unit};

#[derive(clap::Args)]
#[command(next_help_heading = "Charts (SVG files, and the page as it opens)")]
pub struct ChartFlags {
    /// Latency axis of the histogram [default: linear if bins have one width or all latencies are
    /// close together]
    #[arg(long, value_name = "linear|log", value_parser = axis)]
    x: Option<AxisScale>,
    /// Count axis of the histogram
    #[arg(long, value_name = "linear|log", default_value = "log", value_parser = axis)]
    y: AxisScale,
    /// Width of the histogram's bins, such as 1us [default: chosen for the axis and the latencies]
    #[arg(long, value_name = "TIME", value_parser = width)]
    bin: Option<Nanos>,
    /// Histogram: activations, or their share of the recording's [default: shares if recordings
    /// differ in length]
    #[arg(long, value_name = "counts|shares", value_parser = heights)]
    heights: Option<Heights>,
    /// Draw signed jitter over time instead of latency
    #[arg(long)]
    jitter: bool,
    /// Over time, overlay the recordings instead of stacking them
    #[arg(long)]
    overlay: bool,
}

impl ChartFlags {
    /// Without limits.
    pub fn options(&self) -> ChartOptions {
        ChartOptions {
            x: self.x,
            y: Some(self.y),
            bin: self.bin,
            heights: self.heights,
            over_time: if self.jitter { OverTime::Jitter } else { OverTime::Latency },
            overlay: self.overlay,
            ..ChartOptions::default()
        }
    }
}

fn axis(text: &str) -> anyhow::Result<AxisScale> {
    match text {
        "linear" => Ok(AxisScale::Linear),
        "log" => Ok(AxisScale::Log),
        _ => bail!("expected linear or log"),
    }
}

fn heights(text: &str) -> anyhow::Result<Heights> {
    match text {
        "counts" => Ok(Heights::Counts),
        "shares" => Ok(Heights::Shares),
        _ => bail!("expected counts or shares"),
    }
}

fn width(text: &str) -> anyhow::Result<Nanos> {
    let width = Nanos::parse(text, Unit::Microsecond)?;
    ensure!(width.0 >= 10, "latencies are counted in bins of 10 ns or more");
    Ok(width)
}

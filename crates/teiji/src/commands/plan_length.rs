// SPDX-License-Identifier: MIT OR Apache-2.0
//! `teiji plan-length`: how long a run must be before it can establish a rate.

use crate::exit::{CommandResult, DONE};
use crate::output;
use anyhow::{Context, ensure};
use plan::{Interval, Nanos};
use report::{Language, PlanLength};
use serde_json::json;

/// Below this, a run at 1 µs on a thousand CPUs would take years.
const MIN_RATE: f64 = 1e-15;

#[derive(clap::Args)]
pub struct Args {
    /// The rate to establish: fewer than this share of activations exceed the limit; 1e-9, or
    /// 1/1000000000
    #[arg(long, value_name = "RATE", value_parser = rate)]
    rate: f64,
    /// Time between two activations of a thread, such as 200us or 1/1024s, or their rate, such as
    /// 1kHz
    #[arg(short, long, value_name = "TIME", default_value = "1ms", value_parser = interval)]
    interval: Nanos,
    /// Confidence
    #[arg(long, value_name = "PERCENT", default_value = "95%", value_parser = confidence)]
    confidence: f64,
    /// Threads that measure in parallel
    #[arg(
        short,
        long,
        value_name = "N",
        default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(1..=4096),
    )]
    threads: u32,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> CommandResult {
    let samples = stats::samples_for_rate(args.rate, args.confidence);
    let each = samples.div_ceil(args.threads.into());
    let duration_ns = i64::try_from(i128::from(each) * i128::from(args.interval.0)).ok();
    if args.json {
        let document = json!({
            "rate": args.rate,
            "confidence": args.confidence,
            "interval_ns": args.interval,
            "threads": args.threads,
            "samples": samples,
            "duration_ns": duration_ns,
        });
        output::say(&model::document_text(&document)?);
        return Ok(DONE);
    }
    let length = PlanLength {
        samples,
        rate: args.rate,
        confidence: args.confidence,
        interval: args.interval,
        threads: args.threads,
        duration: duration_ns.map(Nanos),
    };
    output::say(&length.text(Language::English));
    Ok(DONE)
}

/// Between 0 and 1, neither of them.
fn within(value: f64) -> Option<f64> {
    (value > 0.0 && value < 1.0).then_some(value)
}

fn rate(text: &str) -> anyhow::Result<f64> {
    let read = || match text.split_once('/') {
        Some((one, of)) => Some(
            one.trim().parse::<f64>().ok()?
                / of.trim().replace([',', '_'], "").parse::<f64>().ok()?,
        ),
        None => text.parse().ok(),
    };
    let rate = read().and_then(within).filter(|rate| *rate >= MIN_RATE);
    rate.with_context(|| format!("a rate is from {MIN_RATE:e} to below 1: 1e-9, or 1/1000000000"))
}

fn confidence(text: &str) -> anyhow::Result<f64> {
    plan::share(text)
        .and_then(within)
        .context("a confidence is above 0 and below 100 %: 95%, or 0.95")
}

fn interval(text: &str) -> anyhow::Result<Nanos> {
    let interval = text.parse::<Interval>()?.nanos;
    ensure!(interval.0 > 0, "an interval is above 0");
    Ok(interval)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_and_confidences() {
        assert_eq!(
            ["1e-9", "1/1_000_000", "1 / 4"].map(|text| rate(text).unwrap()),
            [1e-9, 1e-6, 0.25]
        );
        assert_eq!(
            ["95%", "0.5", "99.5 %"].map(|text| confidence(text).unwrap()),
            [0.95, 0.5, 0.995]
        );
        for wrong in ["", "0", "1", "-1e-3", "nan", "1/0", "5", "1e-300"] {
            assert!(rate(wrong).is_err(), "{wrong}");
        }
        for wrong in ["", "0", "0%", "1", "100%", "nan", "-5%", "95"] {
            assert!(confidence(wrong).is_err(), "{wrong}");
        }
    }
}

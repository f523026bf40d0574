// SPDX-License-Identifier: MIT OR Apache-2.0
//! Latencies as a trace in Chrome's event format, which Perfetto and Chrome's tracing page open.

use model::Account;
use serde_json::{Value, json};

/// A process for each latency, with two tracks: the parts, and the functions below one another.
/// Times are µs from the planned time, the unit of the format.
pub fn trace_events(accounts: &[Account]) -> Value {
    #[expect(clippy::cast_precision_loss, reason = "a latency has fewer than 2^53 ns")]
    let micros = |ns: u64| ns as f64 / 1_000.0;
    let mut events = Vec::new();
    for (process, account) in accounts.iter().enumerate() {
        let name = format!(
            "activation {} of thread {}, {} ns late",
            account.activation, account.thread, account.latency_ns
        );
        events.push(json!({
            "ph": "M", "name": "process_name", "pid": process, "tid": 0, "args": { "name": name },
        }));
        for (track, name) in [(1, "parts"), (2, "functions")] {
            events.push(json!({
                "ph": "M", "name": "thread_name", "pid": process, "tid": track,
                "args": { "name": name },
            }));
        }
        for part in &account.parts {
            events.push(json!({
                "ph": "X", "cat": "part", "name": part.kind, "pid": process, "tid": 1,
                "ts": micros(part.begin_ns), "dur": micros(part.length_ns),
                "args": {
                    "function": part.function, "called_by": part.called_by, "task": part.task,
                    "length_ns": part.length_ns, "name": part.name, "priority": part.priority,
                    "evidence": part.evidence,
                },
            }));
        }
        for span in &account.timeline.spans {
            events.push(json!({
                "ph": "X", "cat": "function", "name": account.timeline.name(span), "pid": process,
                "tid": 2, "ts": micros(span.begin_ns), "dur": micros(span.length_ns),
            }));
        }
    }
    json!({ "displayTimeUnit": "ns", "traceEvents": events })
}

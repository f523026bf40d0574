// SPDX-License-Identifier: MIT OR Apache-2.0
//! A CPU that is taken away, in a guest: what the accounting of skipped activations is tested with,
//! where the result is known to the sample. `cmd:"/teiji lab-init stall=5x20ms/700ms"` is such a
//! load.

use plan::{Nanos, Policy, Scheduling, Unit};
use probe::Monotonic;
use std::time::Duration;
use system::scheduling::set_scheduling;

/// How the argument of the init verb begins.
pub const STALL: &str = "stall=";
/// Above any measuring thread's.
const PRIO: u8 = 95;

/// `5x20ms/700ms`: how often, how long, and from each beginning to the next.
#[derive(Debug, PartialEq, Eq)]
struct Stalls {
    times: u32,
    length: Nanos,
    apart: Nanos,
}

fn parse(text: &str) -> Option<Stalls> {
    let (times, rest) = text.strip_prefix(STALL)?.split_once('x')?;
    let (length, apart) = rest.split_once('/')?;
    let time = |text: &str| Nanos::parse(text, Unit::Microsecond).ok().filter(|time| time.0 > 0);
    Some(Stalls { times: times.parse().ok()?, length: time(length)?, apart: time(apart)? })
}

/// Occupies the CPU as written, then sleeps until it is ended.
///
/// # Errors
/// When the argument cannot be read, or the priority cannot be had.
pub fn stall(argument: &str) -> Result<(), String> {
    let stalls = parse(argument)
        .ok_or_else(|| format!("'{argument}' is not written as stall=5x20ms/700ms"))?;
    set_scheduling(None, Scheduling { policy: Policy::Fifo, prio: Some(PRIO) })
        .map_err(|error| error.to_string())?;
    let mut next = Monotonic.now();
    for _ in 0..stalls.times {
        next = Nanos(next.0 + stalls.apart.0);
        Monotonic.sleep_until(next);
        // From the time that the timer fires: the wake-up is part of the length, and only the way
        // back to sleep comes to it.
        while Monotonic.now().0 < next.0 + stalls.length.0 {}
    }
    loop {
        std::thread::sleep(Duration::from_secs(3_600));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stalls_are_read_as_written() {
        let stalls =
            Stalls { times: 5, length: Nanos::from_millis(20), apart: Nanos::from_millis(700) };
        assert_eq!(parse("stall=5x20ms/700ms"), Some(stalls));
        for wrong in ["5x20ms/700ms", "stall=x20ms/700ms", "stall=5x20ms", "stall=5x0ms/700ms"] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }
}

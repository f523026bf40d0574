// SPDX-License-Identifier: MIT OR Apache-2.0
//! What QEMU's plugin writes, whatever it says: refused, or an account whose parts add up. The
//! first half may be a kernel's symbols.
#![no_main]

use explain::{Asked, Dump, Kernel, Processor, Rate, Symbols, Woken, account, align, folded};
use libfuzzer_sys::fuzz_target;

const SYMBOLS: &str = include_str!("symbols.txt");

const RATE: Rate = Rate { ns_per_instruction: 1.0, ns_per_virtual_ns: 1.0, step_ns: 1.0 };

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let _ = serde_json::from_str::<model::Explained>(&text)
        .map(|explained| (folded(&explained.accounts), model::causes(&explained.accounts)));
    let symbols =
        Symbols::parse(&text).or_else(|_| Symbols::parse(SYMBOLS)).expect("known to be good");
    let kernel = Kernel::new(&symbols);
    let samples: Vec<Woken> =
        (0..3).map(|activation| Woken { thread: 0, activation, cpu: 0, time_ns: 1_000 }).collect();
    for processor in [Processor::X86_64, Processor::Aarch64] {
        let Ok(dump) = Dump::parse(bytes, processor) else { continue };
        let _ = align(&dump.wakes, &samples, RATE);
        for window in &dump.windows {
            for (latency_ns, cpu) in [(1, 0), (4_000, 0), (4_000, 1), (u64::from(u32::MAX), 0)] {
                let asked =
                    Asked { thread: 0, activation: 0, latency_ns, cpu, ns_per_instruction: 1.0 };
                let account = account(&dump, window, &kernel, &asked);
                assert_eq!(
                    account.parts.iter().map(|part| part.length_ns).sum::<u64>(),
                    latency_ns
                );
            }
        }
    }
});

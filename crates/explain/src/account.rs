// SPDX-License-Identifier: MIT OR Apache-2.0
//! The account of one latency: every ns of it in exactly one part.

use crate::dump::{Dump, Window};
use crate::kernel::Kernel;
use crate::other_cpu;
use crate::parts::Accountant;
use crate::places::Places;
use crate::timed::{Asked, Timed};
use crate::timeline::timeline;
use model::Account;

/// Says where a latency went, from the window that ends with the reading of the clock.
pub fn account(dump: &Dump, window: &Window, kernel: &Kernel<'_>, asked: &Asked) -> Account {
    let timed = Timed::new(dump, window, kernel, asked, asked.cpu);
    let places = kernel.source().map(|find| Places { timed: &timed, dump, find });
    let mut parts = Accountant::new(&timed, window, kernel, places).parts(asked.latency_ns);
    other_cpu::name(&mut parts, dump, window, kernel, asked);
    let timeline = timeline(&timed, window, kernel);
    let account = Account {
        thread: asked.thread,
        activation: asked.activation,
        latency_ns: asked.latency_ns,
        parts,
        timeline,
        ..Account::default()
    };
    debug_assert_eq!(
        account.parts.iter().map(|part| part.length_ns).sum::<u64>(),
        asked.latency_ns
    );
    account
}

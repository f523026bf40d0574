// SPDX-License-Identifier: MIT OR Apache-2.0
//! The names of places in the kernel that events tell of by their addresses.

use model::Account;
use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader};

/// The kernel's symbols.
const KALLSYMS: &str = "/proc/kallsyms";
/// How [`crate::What::Work`] names a function whose symbol is not known yet.
const ADDRESS: &str = "0x";

/// Puts the names of functions in the place of their addresses. One that is not known, as where the
/// kernel hides its symbols, is none.
pub fn name_functions(accounts: &mut [Account]) {
    let addresses = |accounts: &[Account]| -> HashMap<String, Option<String>> {
        let names = accounts.iter().flat_map(|account| &account.parts);
        let names = names.filter_map(|part| part.name.as_ref());
        names.filter(|name| name.starts_with(ADDRESS)).map(|name| (name.clone(), None)).collect()
    };
    let mut known = addresses(accounts);
    if known.is_empty() {
        return;
    }
    if let Ok(file) = File::open(KALLSYMS) {
        read(BufReader::new(file), &mut known);
    }
    let parts = accounts.iter_mut().flat_map(|account| &mut account.parts);
    for name in parts.map(|part| &mut part.name) {
        if let Some(function) = name.as_ref().and_then(|name| known.get(name)) {
            name.clone_from(function);
        }
    }
    for account in accounts {
        for name in &mut account.timeline.names {
            if let Some(function) = known.get(name) {
                *name = function.clone().unwrap_or_default();
            }
        }
    }
}

/// Leaves out what [`name_functions`] would read the kernel's symbols for, which takes long.
pub fn forget_addresses(account: &mut Account) {
    for part in &mut account.parts {
        part.name = part.name.take().filter(|name| !name.starts_with(ADDRESS));
    }
}

/// Finds those addresses among lines such as `ffffffff81000010 t vmstat_update`.
fn read(symbols: impl BufRead, known: &mut HashMap<String, Option<String>>) {
    for line in symbols.lines().map_while(Result::ok) {
        let mut words = line.split_ascii_whitespace();
        let (Some(address), Some(name)) = (words.next(), words.nth(1)) else { continue };
        let address = format!("{ADDRESS}{}", address.trim_start_matches('0'));
        if let Some(found) = known.get_mut(&address) {
            *found = Some(name.to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_by_its_address() {
        let symbols = "ffffffff81000010 t vmstat_update\nffffffff81000020 T other\t[module]\n";
        let mut known: HashMap<String, Option<String>> =
            ["0xffffffff81000010", "0xffffffff81000011"].map(|at| (at.to_owned(), None)).into();
        read(symbols.as_bytes(), &mut known);
        assert_eq!(known["0xffffffff81000010"].as_deref(), Some("vmstat_update"));
        assert_eq!(known["0xffffffff81000011"], None);
    }
}

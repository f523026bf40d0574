// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernel's symbols, as `/proc/kallsyms` lists them.

use std::collections::HashMap;

/// No function is longer, bytes: what lies further behind the last symbol is no part of it.
const LONGEST: u64 = 1 << 20;

/// A function of the kernel, by its place in [`Symbols`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SymbolId(u32);

/// Functions by address, and the few variables that are asked for.
#[derive(Clone, Debug, Default)]
pub struct Symbols {
    /// Ascending. Of several at one address the first that is no alias of the linker's.
    functions: Vec<(u64, String)>,
    addresses: HashMap<String, u64>,
}

/// Why they cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SymbolsError {
    /// A line of another form.
    #[error("line {line} of the kernel's symbols cannot be read: '{text}'")]
    Line {
        /// From 1 on.
        line: usize,
        text: String,
    },
    /// Every address is 0: the kernel hides them.
    #[error("the kernel hides the addresses of its symbols")]
    Hidden,
    /// No functions at all.
    #[error("the kernel lists no symbols: it lacks CONFIG_KALLSYMS")]
    Empty,
}

/// A line of `/proc/kallsyms`: address, type, name, and the module that it belongs to.
pub(crate) struct Line<'a> {
    pub address: u64,
    pub is_function: bool,
    pub name: &'a str,
    pub is_of_module: bool,
}

impl<'a> Line<'a> {
    pub fn parse(text: &'a str) -> Option<Self> {
        let mut words = text.split_ascii_whitespace();
        let (address, kind, name) = (words.next()?, words.next()?, words.next()?);
        Some(Line {
            address: u64::from_str_radix(address, 16).ok()?,
            is_function: matches!(kind, "t" | "T" | "w" | "W"),
            name,
            is_of_module: words.next().is_some(),
        })
    }
}

impl Symbols {
    /// Reads the lines of `/proc/kallsyms`.
    ///
    /// # Errors
    /// When a line cannot be read, or there is nothing in them.
    pub fn parse(text: &str) -> Result<Self, SymbolsError> {
        let mut symbols = Symbols::default();
        for (index, text) in text.lines().enumerate() {
            let line = Line::parse(text).ok_or_else(|| SymbolsError::Line {
                line: index + 1,
                text: text.chars().take(80).collect(),
            })?;
            // `$x` and `$d` are the linker's marks for code and data on ARM, which modules keep.
            if line.is_function && !line.name.starts_with('$') {
                symbols.functions.push((line.address, line.name.to_owned()));
            }
            symbols.addresses.entry(line.name.to_owned()).or_insert(line.address);
        }
        if symbols.functions.is_empty() {
            return Err(SymbolsError::Empty);
        }
        if symbols.functions.iter().all(|(address, _)| *address == 0) {
            return Err(SymbolsError::Hidden);
        }
        // Per-CPU variables and the like are no code; a stable sort keeps the kernel's own order.
        symbols.functions.retain(|(address, _)| address >> 63 == 1);
        symbols.functions.sort_by_key(|(address, _)| *address);
        symbols.functions.dedup_by(|later, earlier| {
            let same = later.0 == earlier.0;
            if same && is_boundary(&earlier.1) && !is_boundary(&later.1) {
                earlier.1 = std::mem::take(&mut later.1);
            }
            same
        });
        Ok(symbols)
    }

    /// All functions, ascending.
    pub fn all(&self) -> impl Iterator<Item = (SymbolId, &str)> {
        (0..).map(SymbolId).zip(self.functions.iter().map(|(_, name)| name.as_str()))
    }

    /// The function that holds this address.
    pub fn find(&self, address: u64) -> Option<SymbolId> {
        let after = self.functions.partition_point(|(begin, _)| *begin <= address);
        let id = after.checked_sub(1).and_then(|index| u32::try_from(index).ok()).map(SymbolId)?;
        (address - self.begin(id) < LONGEST).then_some(id)
    }

    /// Where the next one begins.
    pub fn end(&self, id: SymbolId) -> Option<u64> {
        self.functions.get(id.0 as usize + 1).map(|(begin, _)| *begin)
    }

    pub fn name(&self, id: SymbolId) -> &str {
        &self.functions[id.0 as usize].1
    }

    pub fn begin(&self, id: SymbolId) -> u64 {
        self.functions[id.0 as usize].0
    }

    /// The address of a symbol, of any type.
    pub fn address(&self, name: &str) -> Option<u64> {
        self.addresses.get(name).copied()
    }

    /// The address of the function of this name, or of one that the compiler made of it, such as
    /// `name.isra.0`.
    pub fn variant(&self, name: &str) -> Option<u64> {
        let is_made = |found: &str| {
            found
                .strip_prefix(name)
                .is_some_and(|rest| rest.starts_with('.') && !rest.contains("cold"))
        };
        self.address(name).or_else(|| {
            self.functions.iter().find(|(_, found)| is_made(found)).map(|(address, _)| *address)
        })
    }

    /// `name+offset` of an address.
    pub fn describe(&self, address: u64) -> String {
        match self.find(address) {
            Some(id) => match address - self.begin(id) {
                0 => self.name(id).to_owned(),
                offset => format!("{}+{offset:#x}", self.name(id)),
            },
            None => format!("{address:#x}"),
        }
    }
}

/// Names by which the linker marks where sections begin and end, and second names.
fn is_boundary(name: &str) -> bool {
    // On arm64 what runs before the kernel has its addresses is there a second time.
    name.starts_with("__pi_")
        || name.starts_with("__")
            && (name.ends_with("_start") || name.ends_with("_end") || name.ends_with("_begin"))
        || matches!(name, "_stext" | "_text" | "startup_64" | "_sinittext" | "_einittext")
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINES: &str = "0000000000000000 A fixed_percpu_data\n000000000001fbc0 A \
                         current_task\nffffffff81000000 T startup_64\nffffffff81000000 T \
                         _stext\nffffffff81000000 T first\nffffffff81000100 t \
                         finish_task_switch.isra.0\nffffffff81000100 t \
                         finish_task_switch.isra.0.cold\nffffffff82000000 D \
                         init_task\nffffffffc0000000 t in_a_module\t[some]\n";

    #[test]
    fn functions_by_address_and_variables_by_name() {
        let symbols = Symbols::parse(LINES).unwrap();
        assert_eq!(symbols.describe(0xffff_ffff_8100_0000), "first");
        assert_eq!(symbols.describe(0xffff_ffff_8100_0010), "first+0x10");
        assert_eq!(symbols.describe(0xffff_ffff_c000_0004), "in_a_module+0x4");
        assert_eq!(
            (symbols.address("current_task"), symbols.address("init_task")),
            (Some(0x1fbc0), Some(0xffff_ffff_8200_0000))
        );
        assert_eq!(symbols.variant("finish_task_switch"), Some(0xffff_ffff_8100_0100));
        // Data lies there, and no function that is a MiB long.
        assert_eq!(symbols.find(0xffff_ffff_8200_0000), None);
        assert_eq!(symbols.describe(0xffff_ffff_7fff_ffff), "0xffffffff7fffffff");
    }

    #[test]
    fn what_is_none_says_why() {
        assert_eq!(Symbols::parse("").unwrap_err(), SymbolsError::Empty);
        assert_eq!(Symbols::parse("0000000000000000 t one\n").unwrap_err(), SymbolsError::Hidden);
        let error = Symbols::parse("ffffffff81000000 T one\nxyz T two\n").unwrap_err();
        assert_eq!(error.to_string(), "line 2 of the kernel's symbols cannot be read: 'xyz T two'");
    }
}

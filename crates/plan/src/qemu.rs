// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which QEMU a guest of the lab runs in, as written.

use crate::guest::GuestError;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// A QEMU. Another one gives other samples of the same kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Qemu {
    /// The one that this teiji is for, the same everywhere: fetched into the cache, known by its
    /// content.
    Pinned,
    /// The one that is installed.
    System,
    Path(PathBuf),
}

impl FromStr for Qemu {
    type Err = GuestError;

    fn from_str(text: &str) -> Result<Self, GuestError> {
        match text {
            "" => Err(GuestError::NoQemu),
            "pinned" => Ok(Qemu::Pinned),
            "system" => Ok(Qemu::System),
            path => Ok(Qemu::Path(PathBuf::from(path))),
        }
    }
}

impl fmt::Display for Qemu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Qemu::Pinned => f.write_str("pinned"),
            Qemu::System => f.write_str("system"),
            Qemu::Path(path) => write!(f, "{}", path.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_qemu_is_read_as_it_is_written() {
        let path = |text: &str| Qemu::Path(PathBuf::from(text));
        for (text, qemu) in [
            ("pinned", Qemu::Pinned),
            ("system", Qemu::System),
            ("/opt/qemu-system-x86_64", path("/opt/qemu-system-x86_64")),
            ("./system", path("./system")),
        ] {
            assert_eq!((text.parse(), qemu.to_string().as_str()), (Ok(qemu), text));
        }
        assert_eq!("".parse::<Qemu>(), Err(GuestError::NoQemu));
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! Names in the place of names: equal for equal names, and of no use to those who have not the key.

use sha2::{Digest, Sha256};

/// Bytes that SHA-256 works on at a time, to which HMAC fills up its key (RFC 2104).
const BLOCK: usize = 64;
/// 24 bits: the hundred names of a recording have different ones.
const DIGITS: usize = 6;

/// What makes pseudonyms. Without its key nobody can try out which name a pseudonym stands for.
pub struct Pseudonyms {
    key: [u8; 32],
}

impl Pseudonyms {
    /// With the key of a user, by which a name has the same pseudonym in all of their recordings.
    pub const fn new(key: [u8; 32]) -> Self {
        Pseudonyms { key }
    }

    /// What stands for a name, such as `host-3fa2c1`. Names of different kinds that are equal have
    /// equal digits.
    pub fn of(&self, kind: &str, name: &str) -> String {
        let digest = self.authenticated(name.as_bytes());
        let digits: String =
            digest.iter().take(DIGITS / 2).map(|byte| format!("{byte:02x}")).collect();
        format!("{kind}-{digits}")
    }

    /// Those in a text of ours, as far as their form tells.
    pub(super) fn within(text: &str) -> impl Iterator<Item = &str> {
        let is_one = |word: &&str| {
            let digits = word.rsplit_once('-').map_or("", |(_, digits)| digits);
            digits.len() == DIGITS
                && digits
                    .chars()
                    .all(|digit| digit.is_ascii_digit() || ('a'..='f').contains(&digit))
        };
        text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-').filter(is_one)
    }

    /// HMAC with SHA-256.
    fn authenticated(&self, text: &[u8]) -> [u8; 32] {
        let padded = |with: u8| {
            let mut block = [with; BLOCK];
            block.iter_mut().zip(self.key).for_each(|(byte, key)| *byte ^= key);
            block
        };
        let inner = Sha256::new().chain_update(padded(0x36)).chain_update(text).finalize();
        Sha256::new().chain_update(padded(0x5c)).chain_update(inner).finalize().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 4231, test case 1, whose key of 20 bytes zeros fill up; case 2 has its key of 4.
    #[test]
    fn it_is_hmac() {
        let hex =
            |digest: [u8; 32]| digest.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let mut key = [0; 32];
        key[..20].fill(0x0b);
        let first = hex(Pseudonyms::new(key).authenticated(b"Hi There"));
        assert_eq!(first, "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
        let mut key = [0; 32];
        key[..4].copy_from_slice(b"Jefe");
        let second = hex(Pseudonyms::new(key).authenticated(b"what do ya want for nothing?"));
        assert_eq!(second, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    }

    #[test]
    fn a_name_is_known_again_by_its_key_alone() {
        let (one, other) = (Pseudonyms::new([1; 32]), Pseudonyms::new([2; 32]));
        assert_eq!(one.of("host", "robot-3"), one.of("host", "robot-3"));
        assert_ne!(one.of("host", "robot-3"), one.of("host", "robot-4"));
        assert_ne!(one.of("host", "robot-3"), other.of("host", "robot-3"));
        assert_eq!(
            one.of("host", "x").strip_prefix("host"),
            one.of("user", "x").strip_prefix("user")
        );
    }
}

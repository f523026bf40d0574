// SPDX-License-Identifier: MIT OR Apache-2.0
//! QEMU's plugins: shared objects that QEMU loads, which see every instruction of a guest and change none.

/// The plugin that the program carries, built by this crate's `build.rs` from `plugin/`. Empty where the program runs on a processor
/// it was not written for.
static RECORDER: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/plugin.so"));

/// The name of the shared object in the guest's folder.
const LIBRARY: &str = "plugin.so";
/// The name of what it writes.
pub(crate) const OUTPUT: &str = "plugin.out";

/// A plugin as one guest is to have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plugin {
    library: &'static [u8],
    /// Its words beside the name of its output, `key=value`.
    pub words: Vec<String>,
    /// Files that it reads: their names, which words give it, and what is in them.
    pub files: Vec<(String, Vec<u8>)>,
}

impl Plugin {
    /// The one that keeps executed blocks; none where the program runs on a processor that it was not written for.
    #[must_use]
    pub fn recorder() -> Option<Self> {
        (!RECORDER.is_empty()).then_some(Plugin { library: RECORDER, words: Vec::new(), files: Vec::new() })
    }

    /// Files to be put into the guest's folder.
    pub(crate) fn files(&self) -> impl Iterator<Item = (&str, &[u8])> {
        let own = self.files.iter().map(|(name, content)| (name.as_str(), content.as_slice()));
        std::iter::once((LIBRARY, self.library)).chain(own)
    }

    /// QEMU's arguments for it.
    pub(crate) fn arguments(&self) -> [String; 2] {
        // With a slash: otherwise it is looked for among the system's libraries.
        let words = self.words.iter().map(|word| format!(",{word}")).collect::<String>();
        ["-plugin".to_owned(), format!("./{LIBRARY},out={OUTPUT}{words}")]
    }
}

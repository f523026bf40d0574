// SPDX-License-Identifier: MIT OR Apache-2.0
//! An empty disk image for QEMU to put a snapshot into: QEMU keeps snapshots in disks of this
//! format and nowhere else.
//!
//! The format is described in QEMU's documentation (docs/interop/qcow2.txt). The image has a
//! cluster each for header, table of reference counts, reference counts, and the table that maps
//! the disk's content, of which there is none.

const MAGIC: &[u8; 4] = b"QFI\xfb";
const CLUSTER_BITS: u32 = 16;
const CLUSTER: usize = 1 << CLUSTER_BITS;
/// Clusters that are in use.
const CLUSTERS: usize = 4;
/// Size of the disk that nothing is ever written to, bytes.
const DISK: u64 = 1 << CLUSTER_BITS;

pub(crate) fn empty() -> Vec<u8> {
    let at_cluster = |number: u64| number << CLUSTER_BITS;
    let mut image = MAGIC.to_vec();
    let mut put = |bytes: &[u8]| image.extend_from_slice(bytes);
    put(&3_u32.to_be_bytes());
    // No file behind it.
    put(&[0; 12]);
    put(&CLUSTER_BITS.to_be_bytes());
    put(&DISK.to_be_bytes());
    // Not encrypted; one entry in the table of the content.
    put(&0_u32.to_be_bytes());
    put(&1_u32.to_be_bytes());
    put(&at_cluster(3).to_be_bytes());
    // The table of reference counts, of one cluster.
    put(&at_cluster(1).to_be_bytes());
    put(&1_u32.to_be_bytes());
    // No snapshots yet; no features of any kind.
    put(&[0; 12]);
    put(&[0; 24]);
    // A reference count has 2^4 bits; length of this header.
    put(&4_u32.to_be_bytes());
    put(&104_u32.to_be_bytes());
    image.resize(CLUSTER, 0);
    image.extend(at_cluster(2).to_be_bytes());
    image.resize(2 * CLUSTER, 0);
    image.extend([0, 1].repeat(CLUSTERS));
    image.resize(CLUSTERS * CLUSTER, 0);
    image
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_says_where_everything_is() {
        let image = empty();
        assert_eq!(image.len(), CLUSTERS * CLUSTER);
        let number = |at: usize| u64::from_be_bytes(image[at..at + 8].try_into().unwrap());
        assert_eq!(
            (&image[..4], number(24), number(40), number(48)),
            (&MAGIC[..], DISK, 3 << 16, 1 << 16)
        );
        assert_eq!(number(CLUSTER), 2 << 16);
        assert_eq!(image[2 * CLUSTER..][..10], [0, 1, 0, 1, 0, 1, 0, 1, 0, 0]);
    }
}

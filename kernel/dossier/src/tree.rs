//! RFC 6962 hashing: leaves, nodes, and the root of a growing tree from its frontier.
//!
//! Start at [`Frontier`].

use sha2::{Digest, Sha256};

/// A SHA-256.
pub type Hash = [u8; 32];

/// SHA-256 of `bytes`, as blobs and commitments use it.
pub fn sha256(bytes: &[u8]) -> Hash {
    Sha256::digest(bytes).into()
}

/// Hash of a leaf: SHA-256(0x00 ‖ bytes). Source: RFC 6962, 2.1.
pub fn leaf_hash(bytes: &[u8]) -> Hash {
    let mut hasher = Sha256::new();
    hasher.update([0]);
    hasher.update(bytes);
    hasher.finalize().into()
}

/// Hash of an inner node: SHA-256(0x01 ‖ left ‖ right). Source: RFC 6962, 2.1.
pub fn node_hash(left: &Hash, right: &Hash) -> Hash {
    let mut hasher = Sha256::new();
    hasher.update([1]);
    hasher.update(left);
    hasher.update(right);
    hasher.finalize().into()
}

/// The roots of the perfect subtrees that make up the tree, largest first: all that is needed to add a leaf and to
/// tell the root, in O(log n) time and memory.
#[derive(Debug, Clone, Default)]
pub struct Frontier {
    size: u64,
    peaks: Vec<Hash>,
}

impl Frontier {
    /// Number of leaves.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Adds the leaf with this leaf hash.
    pub fn push(&mut self, leaf: Hash) {
        let mut hash = leaf;
        // Every trailing one bit of the size is a perfect subtree as large as the one just completed.
        for _ in 0..self.size.trailing_ones() {
            if let Some(left) = self.peaks.pop() {
                hash = node_hash(&left, &hash);
            }
        }
        self.peaks.push(hash);
        self.size += 1;
    }

    /// The root; of the empty tree it is the SHA-256 of no bytes.
    pub fn root(&self) -> Hash {
        let mut from_right = self.peaks.iter().rev();
        let Some(last) = from_right.next() else { return sha256(b"") };
        from_right.fold(*last, |right, left| node_hash(left, &right))
    }
}

impl FromIterator<Hash> for Frontier {
    fn from_iter<I: IntoIterator<Item = Hash>>(leaves: I) -> Self {
        let mut frontier = Frontier::default();
        leaves.into_iter().for_each(|leaf| frontier.push(leaf));
        frontier
    }
}

/// Lower-case hexadecimal.
pub fn to_hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        text.push(char::from(DIGITS[usize::from(byte >> 4)]));
        text.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
    text
}

/// The value of each byte as a lower-case hexadecimal digit; above 15 for one that is none.
const NIBBLES: [u8; 256] = {
    let mut nibbles = [0xff; 256];
    let mut value = 0;
    while value < 16 {
        nibbles[b"0123456789abcdef"[value] as usize] = value as u8;
        value += 1;
    }
    nibbles
};

/// Reads exactly 64 lower-case hexadecimal digits.
pub fn from_hex(text: &str) -> Option<Hash> {
    let digits: &[u8; 64] = text.as_bytes().try_into().ok()?;
    let (mut hash, mut all) = ([0; 32], 0);
    for (byte, [high, low]) in hash.iter_mut().zip(digits.as_chunks().0) {
        let (high, low) = (NIBBLES[usize::from(*high)], NIBBLES[usize::from(*low)]);
        all |= high | low;
        *byte = high << 4 | low;
    }
    (all < 16).then_some(hash)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// The eight leaves of the reference implementation's own test, and the roots of their prefixes.
    #[test]
    fn roots_equal_the_published_vectors() {
        let leaves: [&str; 8] =
            ["", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"];
        let roots = [
            "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
            "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
            "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
            "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
            "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
            "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
            "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
            "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
        ];
        let mut frontier = Frontier::default();
        assert_eq!(to_hex(&frontier.root()), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        for (leaf, root) in leaves.iter().zip(roots) {
            let bytes: Vec<u8> =
                (0..leaf.len() / 2).map(|i| u8::from_str_radix(&leaf[2 * i..2 * i + 2], 16).unwrap()).collect();
            frontier.push(leaf_hash(&bytes));
            assert_eq!(to_hex(&frontier.root()), root);
        }
    }

    #[test]
    fn roots_equal_those_of_another_implementation() {
        let mut frontier = Frontier::default();
        let mut oracle = ct_merkle::mem_backed_tree::MemoryBackedTree::<Sha256, Vec<u8>>::new();
        for i in 0..300u32 {
            let leaf = i.to_string().repeat(i as usize % 7 + 1).into_bytes();
            frontier.push(leaf_hash(&leaf));
            oracle.push(leaf);
            assert_eq!(frontier.root().as_slice(), oracle.root().as_bytes().as_slice(), "size {}", i + 1);
        }
        assert_eq!(frontier.size(), 300);
    }

    #[test]
    fn hexadecimal_goes_there_and_back_and_takes_nothing_else() {
        let hash = sha256(b"abc");
        assert_eq!(to_hex(&hash), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!(from_hex(&to_hex(&hash)), Some(hash));
        assert_eq!(from_hex(&to_hex(&hash).to_uppercase()), None);
        assert_eq!(from_hex("ba78"), None);
    }
}

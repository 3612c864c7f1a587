//! Proofs over the log's tree that a stranger can check with nothing but hashes: that an entry is in it, and that it
//! continues an earlier one. Source: RFC 9162, 2.1.3 and 2.1.4; the same proofs as those of RFC 6962.

use crate::checkpoint::Checkpoint;
use crate::error::Error;
use crate::tree::{Frontier, Hash, from_hex, node_hash, sha256};
use crate::view::View;

impl View {
    /// Leaf hashes of all entries, in order.
    pub(crate) fn leaves(&self) -> Vec<Hash> {
        let linked = self.records().skip(1).filter_map(|record| from_hex(&record.prev));
        linked.chain(self.state.last.map(|(hash, _)| hash)).collect()
    }

    /// Leaf hash of an entry; `None` if there is none.
    pub fn leaf_hash(&self, seq: u64) -> Option<Hash> {
        if seq + 1 == self.size() {
            return self.state.last.map(|(hash, _)| hash);
        }
        from_hex(&self.record(seq.checked_add(1)?)?.prev)
    }

    /// RFC 6962 root over the first `size` entries; `None` if there are fewer. O(n).
    pub fn root_at(&self, size: u64) -> Option<Hash> {
        let first = self.leaves().into_iter().take(usize::try_from(size).ok()?).collect::<Frontier>();
        (first.size() == size).then(|| first.root())
    }

    /// The hashes that lead from entry `seq` to the root over all entries, from the leaf up. O(n).
    /// # Errors
    /// [`Error::NoSuchEntry`].
    pub fn inclusion_proof(&self, seq: u64) -> Result<Vec<Hash>, Error> {
        if seq >= self.size() {
            return Err(Error::NoSuchEntry { seq, size: self.size() });
        }
        let mut proof = Vec::new();
        inclusion(&self.leaves(), seq as usize, &mut proof);
        Ok(proof)
    }

    /// The hashes that show the log of `new_size` entries to continue that of `old_size` entries. Empty if they are
    /// equal or the old one is empty, which every log continues. O(n).
    /// # Errors
    /// [`Error::NoSuchEntry`] if there are fewer entries, or the new size is the smaller one.
    pub fn consistency_proof(&self, old_size: u64, new_size: u64) -> Result<Vec<Hash>, Error> {
        if new_size > self.size() || old_size > new_size {
            return Err(Error::NoSuchEntry {
                seq: old_size.max(new_size).saturating_sub(1),
                size: self.size().min(new_size),
            });
        }
        let mut proof = Vec::new();
        if old_size > 0 && old_size < new_size {
            consistency(&self.leaves()[..new_size as usize], old_size as usize, true, &mut proof);
        }
        Ok(proof)
    }

    /// Whether this log continues the one of which somebody kept the checkpoint `earlier`: at that size it had the same
    /// origin and root. This is what an outside witness checks; it holds for the log as it stands in memory.
    /// # Errors
    /// [`Error::OtherLog`] if the log never had that origin, so that the checkpoint says nothing of it.
    pub fn extends(&self, earlier: &Checkpoint) -> Result<bool, Error> {
        if !self.state.origins.iter().any(|(_, origin)| *origin == earlier.origin) {
            return Err(Error::OtherLog { checkpoint: earlier.origin.clone(), log: self.origin().to_owned() });
        }
        let same_origin = earlier.size == 0 || self.origin_at(earlier.size) == earlier.origin;
        Ok(same_origin && self.root_at(earlier.size) == Some(earlier.root))
    }
}

/// Checks that the leaf with this hash is number `index` of the tree of `size` leaves with this root.
pub fn verify_inclusion(leaf: &Hash, index: u64, size: u64, proof: &[Hash], root: &Hash) -> bool {
    if index >= size {
        return false;
    }
    let (mut node, mut last, mut hash) = (index, size - 1, *leaf);
    for sibling in proof {
        if last == 0 {
            return false;
        }
        if node & 1 == 1 || node == last {
            hash = node_hash(sibling, &hash);
            while node & 1 == 0 && node != 0 {
                (node, last) = (node >> 1, last >> 1);
            }
        } else {
            hash = node_hash(&hash, sibling);
        }
        (node, last) = (node >> 1, last >> 1);
    }
    last == 0 && hash == *root
}

/// Checks that the tree of `new_size` leaves with root `new_root` begins with that of `old_size` leaves with root
/// `old_root`.
pub fn verify_consistency(old_size: u64, old_root: &Hash, new_size: u64, new_root: &Hash, proof: &[Hash]) -> bool {
    if old_size >= new_size || old_size == 0 {
        let empty = old_size == 0 && old_size <= new_size && *old_root == sha256(b"");
        return proof.is_empty() && ((old_size == new_size && old_root == new_root) || (empty && new_size > 0));
    }
    let (mut node, mut last) = (old_size - 1, new_size - 1);
    while node & 1 == 1 {
        (node, last) = (node >> 1, last >> 1);
    }
    let mut path = proof.iter();
    // A perfect old tree is a node of the new one: its root is not repeated in the proof.
    let start = if old_size.is_power_of_two() { Some(old_root) } else { path.next() };
    let Some(start) = start else { return false };
    let (mut old, mut new) = (*start, *start);
    for hash in path {
        if last == 0 {
            return false;
        }
        if node & 1 == 1 || node == last {
            (old, new) = (node_hash(hash, &old), node_hash(hash, &new));
            while node & 1 == 0 && node != 0 {
                (node, last) = (node >> 1, last >> 1);
            }
        } else {
            new = node_hash(&new, hash);
        }
        (node, last) = (node >> 1, last >> 1);
    }
    last == 0 && old == *old_root && new == *new_root
}

/// The largest power of two below `n`, which is at least 2.
fn split(n: usize) -> usize {
    1 << (n - 1).ilog2()
}

fn root(leaves: &[Hash]) -> Hash {
    leaves.iter().copied().collect::<Frontier>().root()
}

/// PATH of RFC 9162, 2.1.3.1.
fn inclusion(leaves: &[Hash], index: usize, proof: &mut Vec<Hash>) {
    if leaves.len() < 2 {
        return;
    }
    let (left, right) = leaves.split_at(split(leaves.len()));
    match index.checked_sub(left.len()) {
        None => {
            inclusion(left, index, proof);
            proof.push(root(right));
        }
        Some(index) => {
            inclusion(right, index, proof);
            proof.push(root(left));
        }
    }
}

/// SUBPROOF of RFC 9162, 2.1.4.1. `known`: the verifier has the root of these leaves if they are the old tree.
fn consistency(leaves: &[Hash], old: usize, known: bool, proof: &mut Vec<Hash>) {
    if old == leaves.len() {
        if !known {
            proof.push(root(leaves));
        }
        return;
    }
    let (left, right) = leaves.split_at(split(leaves.len()));
    match old.checked_sub(left.len()).filter(|old| *old > 0) {
        None => {
            consistency(left, old, known, proof);
            proof.push(root(right));
        }
        Some(old) => {
            consistency(right, old, false, proof);
            proof.push(root(left));
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::tree::leaf_hash;
    use ct_merkle::{ConsistencyProof, InclusionProof, RootHash, mem_backed_tree::MemoryBackedTree};
    use sha2::Sha256;

    type Tree = MemoryBackedTree<Sha256, Vec<u8>>;

    fn tree(size: usize) -> (Tree, Vec<Hash>) {
        let mut tree = Tree::new();
        let content = |i: usize| i.to_string().repeat(i % 5 + 1).into_bytes();
        (0..size).for_each(|i| tree.push(content(i)));
        (tree, (0..size).map(|i| leaf_hash(&content(i))).collect())
    }

    fn hashes(bytes: &[u8]) -> Vec<Hash> {
        bytes.chunks_exact(32).map(|chunk| chunk.try_into().unwrap()).collect()
    }

    fn check_inclusion(tree: &Tree, leaves: &[Hash], index: usize) {
        let size = leaves.len() as u64;
        let mut ours = Vec::new();
        inclusion(leaves, index, &mut ours);
        let theirs = hashes(tree.prove_inclusion(index).as_bytes());
        assert_eq!(ours, theirs, "{index} of {size}");
        let their_root: RootHash<Sha256> = tree.root();
        let root: Hash = their_root.as_bytes().as_slice().try_into().unwrap();
        assert!(verify_inclusion(&leaves[index], index as u64, size, &theirs, &root), "{index} of {size}");
        let value = tree.get(index).unwrap();
        their_root.verify_inclusion(value, index as u64, &InclusionProof::from_bytes(ours.concat())).unwrap();
        // Another place, another leaf, another root, a longer, a shorter and a changed proof.
        let at = |i: u64, leaf: &Hash, proof: &[Hash], root: &Hash| verify_inclusion(leaf, i, size, proof, root);
        let (leaf, i) = (&leaves[index], index as u64);
        assert!(!at(i + 1, leaf, &ours, &root) && !at(i, &[7; 32], &ours, &root) && !at(i, leaf, &ours, &[7; 32]));
        assert!(!at(i, leaf, &[&ours[..], &[[7; 32]]].concat(), &root));
        for changed in 0..ours.len() {
            let mut other = ours.clone();
            other[changed][changed % 32] ^= 1;
            assert!(!at(i, leaf, &other, &root) && !at(i, leaf, &ours[..changed], &root));
        }
    }

    fn check_consistency(tree: &Tree, leaves: &[Hash], old: usize) {
        let size = leaves.len();
        let mut ours = Vec::new();
        consistency(leaves, old, true, &mut ours);
        let (new_root, old_root) = (root(leaves), root(&leaves[..old]));
        let theirs = hashes(tree.prove_consistency(size - old).as_bytes());
        assert_eq!(ours, theirs, "{old} of {size}");
        let holds = |proof: &[Hash]| verify_consistency(old as u64, &old_root, size as u64, &new_root, proof);
        assert!(holds(&theirs), "{old} of {size}");
        let old_tree = RootHash::<Sha256>::new(old_root.into(), old as u64);
        tree.root().verify_consistency(&old_tree, &ConsistencyProof::try_from_bytes(ours.concat()).unwrap()).unwrap();
        assert!(!holds(&[&ours[..], &[[7; 32]]].concat()));
        for changed in 0..ours.len() {
            let mut other = ours.clone();
            other[changed][changed % 32] ^= 1;
            assert!(!holds(&other) && !holds(&ours[..changed]), "{old} of {size}");
        }
        assert!(!verify_consistency(old as u64, &[7; 32], size as u64, &new_root, &ours));
        assert!(!verify_consistency(old as u64, &old_root, size as u64, &[7; 32], &ours));
    }

    #[test]
    fn proofs_equal_those_of_another_implementation_at_every_size() {
        for size in 1..=130 {
            let (tree, leaves) = tree(size);
            (0..size).for_each(|index| check_inclusion(&tree, &leaves, index));
            (1..size).for_each(|old| check_consistency(&tree, &leaves, old));
        }
    }

    #[test]
    fn proofs_of_large_trees_equal_those_of_another_implementation() {
        let mut random = 0x2545_f491_4f6c_dd1d_u64;
        let mut next = |below: usize| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) as usize % below
        };
        for _ in 0..12 {
            let size = 131 + next(20_000);
            let (tree, leaves) = tree(size);
            for _ in 0..8 {
                check_inclusion(&tree, &leaves, next(size));
                check_consistency(&tree, &leaves, 1 + next(size - 1));
            }
        }
    }

    #[test]
    fn sizes_that_prove_nothing_are_told_apart() {
        let (_, leaves) = tree(3);
        let (three, empty) = (root(&leaves), sha256(b""));
        assert!(verify_consistency(3, &three, 3, &three, &[]) && verify_consistency(0, &empty, 3, &three, &[]));
        assert!(!verify_consistency(3, &three, 3, &empty, &[]) && !verify_consistency(3, &three, 2, &three, &[]));
        assert!(!verify_consistency(3, &three, 3, &three, &[three]) && !verify_consistency(0, &three, 3, &three, &[]));
        assert!(!verify_consistency(2, &three, 3, &three, &[]) && !verify_inclusion(&three, 0, 0, &[], &three));
        assert!(!verify_consistency(u64::MAX, &three, 1, &three, &[]));
    }
}

//! The log as C2SP tiles: which files there are for a number of entries, and what they hold.
//!
//! Source: <https://c2sp.org/tlog-tiles>.

use crate::tree::{Frontier, Hash};

/// Hashes in a full tile, entries in a full bundle.
pub(super) const WIDTH: usize = 256;

/// One hash tile.
pub(super) struct Tile {
    /// Path below the log's prefix.
    pub(super) path: String,
    /// Its hashes, one after the other.
    pub(super) bytes: Vec<u8>,
}

/// `tile/<level>/<index>`, with `.p/<width>` for a partial one.
pub(super) fn tile_path(level: usize, index: u64, width: usize) -> String {
    path(&level.to_string(), index, width)
}

/// `tile/entries/<index>`, with `.p/<width>` for a partial one.
pub(super) fn bundle_path(index: u64, width: usize) -> String {
    path("entries", index, width)
}

fn path(level: &str, index: u64, width: usize) -> String {
    let mut number = format!("{:03}", index % 1_000);
    let mut rest = index / 1_000;
    while rest > 0 {
        number = format!("x{:03}/{number}", rest % 1_000);
        rest /= 1_000;
    }
    let partial = if width < WIDTH { format!(".p/{width}") } else { String::new() };
    format!("tile/{level}/{number}{partial}")
}

/// All hash tiles over these leaf hashes, lowest level first.
pub(super) fn hash_tiles(leaves: Vec<Hash>) -> Vec<Tile> {
    let mut tiles = Vec::new();
    let (mut level, mut hashes) = (0, leaves);
    while !hashes.is_empty() {
        for (index, tile) in hashes.chunks(WIDTH).enumerate() {
            tiles.push(Tile { path: tile_path(level, index as u64, tile.len()), bytes: tile.concat() });
        }
        // Partial tiles are not hashed into the level above.
        hashes = hashes.chunks_exact(WIDTH).map(|tile| tile.iter().copied().collect::<Frontier>().root()).collect();
        level += 1;
    }
    tiles
}

/// Adds an entry to its bundle: its length as a big-endian 16-bit number, then the bytes of its leaf. False, with
/// nothing added, if it is too long for that.
pub(super) fn frame(leaf: &[u8], bundle: &mut Vec<u8>) -> bool {
    let Ok(length) = u16::try_from(leaf.len()) else { return false };
    bundle.extend(length.to_be_bytes());
    bundle.extend(leaf);
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_those_of_the_specification() {
        assert_eq!(tile_path(0, 0, 256), "tile/0/000");
        assert_eq!(tile_path(0, 1_234_067, 256), "tile/0/x001/x234/067");
        assert_eq!(bundle_path(1_067, 256), "tile/entries/x001/067");
        assert_eq!(bundle_path(999, 1), "tile/entries/999.p/1");
        assert_eq!(tile_path(1, 1_000, 255), "tile/1/x001/000.p/255");
    }

    #[test]
    fn there_are_as_many_tiles_as_the_specification_says() {
        // Its own example: 70,000 entries.
        let tiles = hash_tiles(vec![[7; 32]; 70_000]);
        let of = |level: &str| tiles.iter().filter(|t| t.path.starts_with(&format!("tile/{level}/"))).count();
        assert_eq!((of("0"), of("1"), of("2"), of("3")), (274, 2, 1, 0));
        for path in ["tile/0/272", "tile/0/273.p/112", "tile/1/000", "tile/1/001.p/17", "tile/2/000.p/1"] {
            assert!(tiles.iter().any(|t| t.path == path), "{path}");
        }
        let small: Vec<String> = hash_tiles(vec![[7; 32]; 256]).into_iter().map(|t| t.path).collect();
        assert_eq!(small, ["tile/0/000", "tile/1/000.p/1"]);
    }
}

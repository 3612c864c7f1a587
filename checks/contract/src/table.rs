//! Matched rows of reference and candidate, as the checks hand them to each other.

/// Texts laid end to end: what a list of ids or labels looks like when it is copied in one piece.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Texts {
    /// UTF-8 of all texts, one after the other.
    pub bytes: Vec<u8>,
    /// `ends[i]` is where text `i` ends in `bytes`; it starts at `ends[i − 1]`, or at 0.
    pub ends: Vec<u32>,
}

impl Texts {
    /// Adds one text at the end.
    pub fn push(&mut self, text: &str) {
        self.bytes.extend_from_slice(text.as_bytes());
        self.ends.push(self.bytes.len() as u32);
    }

    /// Number of texts.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// True if there is no text.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Text `row`, or the empty text where the block lies about its ends.
    pub fn get(&self, row: usize) -> &str {
        let start = if row == 0 { 0 } else { self.ends.get(row - 1).copied().unwrap_or(0) as usize };
        let end = self.ends.get(row).copied().unwrap_or(0) as usize;
        self.bytes.get(start..end).and_then(|b| std::str::from_utf8(b).ok()).unwrap_or("")
    }

    /// Empties the block and keeps its memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }
}

/// Vectors of a block of rows, row-major, `rows × dims`, in the narrowest of the two types that holds them exactly.
#[derive(Debug, Clone, PartialEq)]
pub enum Vectors {
    /// float16, bfloat16 and float32 columns.
    F32(Vec<f32>),
    /// float64 columns, and integers that float32 would round.
    F64(Vec<f64>),
}

impl Vectors {
    /// Number of values, `rows × dims`.
    pub fn len(&self) -> usize {
        match self {
            Vectors::F32(v) => v.len(),
            Vectors::F64(v) => v.len(),
        }
    }

    /// True if there is no value.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A run of matched rows. Row `i` of `reference` and row `i` of `candidate` carry the id `ids[i]`.
///
/// Invariant: `reference.len() == candidate.len() == ids.len() × dims`, all values finite, ids unique over the run.
/// Both sides have the same variant of [`Vectors`].
#[derive(Debug, Clone, PartialEq)]
pub struct AlignedBatch {
    /// Ids as text; integers in decimal, binary in lower-case hexadecimal, UUIDs hyphenated.
    pub ids: Texts,
    /// Labels of the reference's rows, when a label column was named; else empty.
    pub labels: Texts,
    /// Labels of the candidate's rows, when they were asked for; else empty.
    pub candidate_labels: Texts,
    /// Values per row.
    pub dims: usize,
    /// The reference's vectors, `[rows, dims]`.
    pub reference: Vectors,
    /// The candidate's vectors, `[rows, dims]`.
    pub candidate: Vectors,
}

impl AlignedBatch {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.ids.len()
    }
}

/// Which of the two files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Side {
    /// The expected output that the reference declares.
    Reference,
    /// The output under examination.
    Candidate,
}

impl std::fmt::Display for Side {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Side::Reference => "reference",
            Side::Candidate => "candidate",
        })
    }
}

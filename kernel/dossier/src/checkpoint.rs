//! The checkpoint: the body of a C2SP tlog-checkpoint, `origin`, size and root, a line each. Not signed in v0.

use base64::prelude::{BASE64_STANDARD, Engine as _};

use crate::tree::Hash;

/// What a checkpoint states.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// Name of the log.
    pub origin: String,
    /// Number of leaves covered.
    pub size: u64,
    /// RFC 6962 root over them.
    pub root: Hash,
}

impl Checkpoint {
    /// The text of the file, ending in a newline.
    pub fn to_text(&self) -> String {
        format!("{}\n{}\n{}\n", self.origin, self.size, BASE64_STANDARD.encode(self.root))
    }

    /// Reads exactly what [`Checkpoint::to_text`] writes; `None` for anything else, such as a leading zero.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(bytes).ok()?;
        let mut lines = text.lines();
        let origin = lines.next()?.to_owned();
        let size = lines.next()?.parse().ok()?;
        let root = BASE64_STANDARD.decode(lines.next()?).ok()?.try_into().ok()?;
        let checkpoint = Checkpoint { origin, size, root };
        (checkpoint.to_text() == text).then_some(checkpoint)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checkpoint_is_read_only_in_the_form_in_which_it_is_written() {
        let checkpoint = Checkpoint { origin: "fascicolo/00".into(), size: 7, root: [0xfb; 32] };
        let text = checkpoint.to_text();
        assert_eq!(text, "fascicolo/00\n7\n+/v7+/v7+/v7+/v7+/v7+/v7+/v7+/v7+/v7+/v7+/s=\n");
        assert_eq!(Checkpoint::parse(text.as_bytes()), Some(checkpoint));
        for changed in [
            text.replace("\n7\n", "\n07\n"),
            text.replace("\n7\n", "\n+7\n"),
            text.replace('\n', "\r\n"),
            text.trim_end().to_owned(),
            format!("{text}\n"),
            text.replace("+/s=", "+/t="),
        ] {
            assert_eq!(Checkpoint::parse(changed.as_bytes()), None, "{changed:?}");
        }
    }
}

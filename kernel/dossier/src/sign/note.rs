//! The C2SP signed note: the checkpoint, an empty line, and a line with an Ed25519 signature of the checkpoint.

use base64::prelude::{BASE64_STANDARD, Engine as _};
use signature::Verifier;
use ssh_key::{Algorithm, PublicKey, Signature};

use crate::tree::{Hash, sha256};

/// The type of an Ed25519 key in a verifier key.
const ED25519: u8 = 1;

fn key_bytes(key: &PublicKey) -> Option<[u8; 32]> {
    key.key_data().ed25519().map(|key| key.0)
}

/// First four bytes of SHA-256(name ‖ 0x0A ‖ type ‖ key). Source: C2SP signed-note.
fn key_id(name: &str, key: &[u8; 32]) -> [u8; 4] {
    let hash: Hash = sha256(&[name.as_bytes(), b"\n", &[ED25519], key].concat());
    [hash[0], hash[1], hash[2], hash[3]]
}

/// The note of a checkpoint, `name` being its origin; `None` if the key is no Ed25519 key.
pub(crate) fn text(checkpoint: &str, name: &str, key: &PublicKey, signature: &[u8; 64]) -> Option<String> {
    let id = key_id(name, &key_bytes(key)?);
    let signature = BASE64_STANDARD.encode([&id[..], signature].concat());
    Some(format!("{checkpoint}\n\u{2014} {name} {signature}\n"))
}

/// Checks a note, byte for byte; what is wrong, as the end of a sentence, otherwise.
pub(crate) fn check(note: &[u8], checkpoint: &str, name: &str, key: &PublicKey) -> Result<(), String> {
    let changed = || "is not the signed note of the checkpoint".to_owned();
    let line = std::str::from_utf8(note).ok().and_then(|note| note.strip_prefix(checkpoint)).ok_or_else(changed)?;
    let encoded = line.rsplit(' ').next().map(str::trim_end).ok_or_else(changed)?;
    let decoded = BASE64_STANDARD.decode(encoded).map_err(|_| changed())?;
    let bytes: [u8; 64] = decoded.get(4..).and_then(|bytes| bytes.try_into().ok()).ok_or_else(changed)?;
    if text(checkpoint, name, key, &bytes).is_none_or(|own| own.as_bytes() != note) {
        return Err(changed());
    }
    let signature = Signature::new(Algorithm::Ed25519, bytes).map_err(|_| changed())?;
    let checked = key.key_data().verify(checkpoint.as_bytes(), &signature);
    checked.map_err(|_| "does not hold a valid signature of the checkpoint".to_owned())
}

/// The verifier key of notes, `NAME+ID+KEY`, as verifiers of signed notes take it. `key`: a line of OpenSSH; `None` if it
/// is no Ed25519 key.
pub fn verifier_key(name: &str, key: &str) -> Option<String> {
    let key = key_bytes(&PublicKey::from_openssh(key).ok()?)?;
    let id: String = key_id(name, &key).iter().map(|byte| format!("{byte:02x}")).collect();
    Some(format!("{name}+{id}+{}", BASE64_STANDARD.encode([&[ED25519], &key[..]].concat())))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// The key that the documentation of Go's `golang.org/x/mod/sumdb/note` gives.
    #[test]
    fn a_verifier_key_equals_the_published_one() {
        let published = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
        let bytes = BASE64_STANDARD.decode(published.rsplit('+').next().unwrap()).unwrap();
        let key = ssh_key::public::Ed25519PublicKey::try_from(&bytes[1..]).unwrap();
        let line = PublicKey::from(key).to_openssh().unwrap();
        assert_eq!(verifier_key("PeterNeumann", &line).unwrap(), published);
        let note = "If you think cryptography is the answer to your problem,\n\
                    then you don't know what your problem is.\n";
        let signed = format!(
            "{note}\n\u{2014} PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n"
        );
        let key = PublicKey::from_openssh(&line).unwrap();
        check(signed.as_bytes(), note, "PeterNeumann", &key).unwrap();
        assert!(check(signed.replace("x08g", "x08h").as_bytes(), note, "PeterNeumann", &key).is_err());
    }
}

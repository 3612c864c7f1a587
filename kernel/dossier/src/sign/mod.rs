//! Signatures over checkpoints, in two forms that stock tools check: SSHSIG (`ssh-keygen -Y verify`) and the C2SP signed
//! note.
//!
//! Signing is left to whoever holds the key: [`SshKeygen`] runs the stock tool, so that agents, passphrases and hardware
//! keys work. No key material enters the dossier. Verifying needs no tool. Start at [`Signer`] and [`AllowedSigners`].

mod allowed;
mod keygen;
mod note;

use ssh_key::{HashAlg, LineEnding, PublicKey, SshSig};

use crate::error::Error;

pub use allowed::AllowedSigners;
pub use keygen::SshKeygen;
pub use note::verifier_key as note_verifier_key;
pub(crate) use note::{check as check_note, text as note_text};

/// The SSHSIG namespace: a signature made for anything else is none.
pub const NAMESPACE: &str = "fascicolo-checkpoint@v0";

/// Somebody who can sign.
pub trait Signer {
    /// The public key as a line of OpenSSH: type, base64, and a comment or none.
    /// # Errors
    /// [`Error::Signing`].
    fn public_key(&self) -> Result<String, Error>;

    /// An SSHSIG of `message` in the namespace [`NAMESPACE`], armored. May ask the user, who may refuse.
    /// # Errors
    /// [`Error::Signing`].
    fn sign(&self, message: &[u8]) -> Result<String, Error>;

    /// True if this key signs notes, too.
    fn signs_notes(&self) -> bool {
        false
    }

    /// A bare Ed25519 signature of `message`, 64 bytes, for a signed note; `None` if this key gives none.
    /// # Errors
    /// [`Error::Signing`].
    fn sign_note(&self, _message: &[u8]) -> Result<Option<[u8; 64]>, Error> {
        Ok(None)
    }
}

/// A signature that was read in the one form in which it is written.
pub(crate) struct Sshsig {
    signature: SshSig,
    key: PublicKey,
}

impl Sshsig {
    /// Reads an armored signature; what is wrong with it, as the end of a sentence, otherwise.
    pub(crate) fn read(armored: &[u8]) -> Result<Self, String> {
        let signature = SshSig::from_pem(armored).map_err(|e| format!("is no SSH signature: {e}"))?;
        // The signed bytes cover neither the version nor the armor: only one text of each signature is taken.
        let own = signature.to_pem(LineEnding::LF).map_err(|e| format!("is no SSH signature: {e}"))?;
        if own.as_bytes() != armored || signature.version() != 1 || !signature.reserved().is_empty() {
            return Err("is not in the form in which it was written".to_owned());
        }
        let key = PublicKey::from(signature.public_key().clone());
        Ok(Sshsig { signature, key })
    }

    /// The one armored text of it.
    pub(crate) fn armored(text: &str) -> Result<String, String> {
        let signature = SshSig::from_pem(text).map_err(|e| format!("is no SSH signature: {e}"))?;
        signature.to_pem(LineEnding::LF).map_err(|e| format!("is no SSH signature: {e}"))
    }

    pub(crate) fn key(&self) -> &PublicKey {
        &self.key
    }

    /// Checks that it signs `message`; what is wrong, as the end of a sentence, otherwise.
    pub(crate) fn check(&self, message: &[u8]) -> Result<(), String> {
        match self.key.verify(NAMESPACE, message, &self.signature) {
            Ok(()) => Ok(()),
            Err(ssh_key::Error::Namespace) => {
                Err(format!("was made for `{}`, not for `{NAMESPACE}`", self.signature.namespace()))
            }
            Err(_) => Err(format!(
                "is not a valid {} signature of the checkpoint, or of a type that this program cannot check",
                self.key.algorithm()
            )),
        }
    }
}

/// A public key as a line of OpenSSH, without its comment.
pub(crate) fn key_line(key: &PublicKey) -> String {
    let line = key.to_openssh().unwrap_or_default();
    line.split(' ').take(2).collect::<Vec<_>>().join(" ")
}

/// SHA-256 of a public key, as `ssh-keygen -l` shows it: `SHA256:` and base64.
pub(crate) fn fingerprint(key: &PublicKey) -> String {
    key.fingerprint(HashAlg::Sha256).to_string()
}

/// The same in 64 hexadecimal digits, for names of files.
pub(crate) fn fingerprint_hex(key: &PublicKey) -> String {
    crate::tree::to_hex(key.fingerprint(HashAlg::Sha256).as_bytes())
}

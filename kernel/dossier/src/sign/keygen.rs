//! Signing with the stock tool, `ssh-keygen -Y sign`.

use std::fs;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use signature::Signer as _;
use ssh_key::{PrivateKey, PublicKey};

use super::{NAMESPACE, Signer, key_line};
use crate::error::Error;
use crate::tree::to_hex;

/// An SSH key, named by the file of its private key, or of its public key if an agent holds the private one.
#[derive(Debug, Clone)]
pub struct SshKeygen {
    program: PathBuf,
    key: PathBuf,
}

impl SshKeygen {
    /// Signs with this key and the `ssh-keygen` that the system finds.
    pub fn new(key: impl Into<PathBuf>) -> Self {
        SshKeygen { program: "ssh-keygen".into(), key: key.into() }
    }

    /// Signs with another `ssh-keygen`.
    pub fn with_program(self, program: impl Into<PathBuf>) -> Self {
        SshKeygen { program: program.into(), ..self }
    }

    fn failed(&self, why: impl Into<String>) -> Error {
        Error::Signing { key: self.key.display().to_string(), why: why.into() }
    }

    /// The private key itself, if it lies open; `ssh-keygen` signs no notes.
    fn note_key(&self) -> Option<PrivateKey> {
        let private = PrivateKey::from_openssh(fs::read(&self.key).ok()?).ok()?;
        (!private.is_encrypted() && private.algorithm().is_ed25519()).then_some(private)
    }

    fn run(&self, folder: &Path, message: &[u8]) -> Result<String, Error> {
        let file = folder.join("checkpoint");
        fs::write(&file, message).map_err(|e| self.failed(format!("{} cannot be written: {e}", file.display())))?;
        let mut command = Command::new(&self.program);
        command.args(["-Y", "sign", "-n", NAMESPACE, "-f"]).arg(&self.key).arg(&file).stdout(Stdio::null());
        // Where there is a terminal the tool asks there for a passphrase or to touch the key; else SSH_ASKPASS does.
        command.stdin(if std::io::stdin().is_terminal() { Stdio::inherit() } else { Stdio::null() });
        let seen = std::io::stderr().is_terminal();
        command.stderr(if seen { Stdio::inherit() } else { Stdio::piped() });
        let output =
            command.output().map_err(|e| self.failed(format!("{} cannot be run: {e}", self.program.display())))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            let said = said.trim().lines().last().unwrap_or("see what it said above");
            return Err(self.failed(format!("{} ended with {}: {said}", self.program.display(), output.status)));
        }
        let signature = folder.join("checkpoint.sig");
        fs::read_to_string(&signature).map_err(|e| self.failed(format!("{} cannot be read: {e}", signature.display())))
    }
}

impl Signer for SshKeygen {
    fn public_key(&self) -> Result<String, Error> {
        let mut public = self.key.clone().into_os_string();
        public.push(".pub");
        let own = fs::read_to_string(&self.key).unwrap_or_default();
        let beside = fs::read_to_string(&public).unwrap_or_default();
        // The form that ssh-keygen writes names the public key even where the private one is encrypted.
        let read = PublicKey::from_openssh(beside.trim())
            .or_else(|_| PublicKey::from_openssh(own.trim()))
            .or_else(|_| PrivateKey::from_openssh(&own).map(|private| private.public_key().clone()));
        let why = "neither it nor the file with .pub added to its name holds a public key that can be read";
        read.map(|key| key_line(&key)).map_err(|_| self.failed(why))
    }

    fn sign(&self, message: &[u8]) -> Result<String, Error> {
        let mut random = [0; 16];
        getrandom::fill(&mut random).map_err(Error::NoRandomness)?;
        let folder = std::env::temp_dir().join(format!("fascicolo-sign-{}", to_hex(&random)));
        fs::create_dir(&folder).map_err(|e| self.failed(format!("{} cannot be created: {e}", folder.display())))?;
        let signed = self.run(&folder, message);
        // It holds a checkpoint and a signature, nothing private; the system clears it otherwise.
        let _ = fs::remove_dir_all(&folder);
        signed
    }

    fn signs_notes(&self) -> bool {
        self.note_key().is_some()
    }

    fn sign_note(&self, message: &[u8]) -> Result<Option<[u8; 64]>, Error> {
        let Some(private) = self.note_key() else { return Ok(None) };
        let signature = private.try_sign(message).map_err(|e| self.failed(e.to_string()))?;
        Ok(signature.as_bytes().try_into().ok())
    }
}

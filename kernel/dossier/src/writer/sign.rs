//! Signing the log as it stands, the entry that says so included.

use serde_json::json;
use ssh_key::PublicKey;

use super::{Appended, Dossier};
use crate::checkpoint::Checkpoint;
use crate::disk;
use crate::draft::{Draft, prepare};
use crate::error::Error;
use crate::layout::{CHECKPOINT, SIGNATURES, at};
use crate::record::Kind;
use crate::sign::{NAMESPACE, Signer, Sshsig, fingerprint, fingerprint_hex, note_text};
use crate::tree::leaf_hash;

/// What signing leaves behind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signed {
    /// The `sign` entry.
    pub appended: Appended,
    /// What was signed; it covers the entry.
    pub checkpoint: Checkpoint,
    /// Fingerprint of the key, as `ssh-keygen -l` shows it.
    pub fingerprint: String,
    /// The files written, below the dossier's folder: checkpoint, signature and, where the key gives it, note.
    pub files: Vec<String>,
}

impl Dossier {
    /// Appends a `sign` entry and signs the checkpoint that covers it. The lock is held meanwhile, so that nothing comes
    /// between, also while the signer asks for a passphrase.
    /// # Errors
    /// [`Error::Signing`] if the signer refuses, or if what it gives is no valid signature by the key that it names, or
    /// is of a type that this program cannot check: nothing was written. As [`Dossier::append`] besides.
    pub fn sign(&mut self, signer: &dyn Signer) -> Result<Signed, Error> {
        self.transaction(|dossier| {
            let named = signer.public_key()?;
            let failed = |why: String| Error::Signing { key: named.clone(), why };
            let key = PublicKey::from_openssh(&named).map_err(|e| failed(format!("it cannot be read: {e}")))?;
            let note_wanted = key.key_data().ed25519().is_some() && signer.signs_notes();
            let body = json!({
                "fingerprint": fingerprint(&key), "key_type": key.algorithm().to_string(), "namespace": NAMESPACE,
                "note": note_wanted,
            });
            let draft = Draft { body, ..Draft::new(Kind::Sign) };
            let entry = prepare(draft, &dossier.view.state, &dossier.session, dossier.mono_us())?;
            // 1. The signature, over the root as it will be: a signer that refuses leaves no entry behind.
            let mut tree = dossier.view.state.frontier.clone();
            tree.push(leaf_hash(&entry.line[..entry.line.len() - 1]));
            let origin = dossier.origin().to_owned();
            let checkpoint = Checkpoint { origin, size: tree.size(), root: tree.root() };
            let text = checkpoint.to_text();
            let signature = Sshsig::armored(&signer.sign(text.as_bytes())?);
            let signature = signature.map_err(|what| failed(format!("what the signer gave {what}")))?;
            let read = Sshsig::read(signature.as_bytes()).and_then(|read| read.check(text.as_bytes()).map(|()| read));
            let read = read.map_err(|what| failed(format!("what the signer gave {what}")))?;
            if read.key().key_data() != key.key_data() {
                return Err(failed(format!("the signer used another key, {}", fingerprint(read.key()))));
            }
            let size = checkpoint.size;
            let mut files =
                vec![(checkpoint_name(size), text.clone()), (signature_name(size, &fingerprint_hex(&key)), signature)];
            if note_wanted {
                let note = signer.sign_note(text.as_bytes())?;
                let note = note.and_then(|signature| note_text(&text, &checkpoint.origin, &key, &signature));
                files.push((note_name(size), note.ok_or_else(|| failed("it gave no signature of the note".into()))?));
            }
            // 2. Its files, before the entry, so that no `sign` entry ever stands without them. Interrupted here, the next
            //    transaction removes them before it gives the number of the entry to another one.
            let path = dossier.path();
            for (name, content) in &files {
                disk::place(path, &at(path, name), content.as_bytes())?;
            }
            // 3. The entry, then the checkpoint over it.
            let appended = dossier.write(entry)?;
            let path = dossier.path();
            disk::place(path, &at(path, CHECKPOINT), text.as_bytes())?;
            let files = files.into_iter().map(|(name, _)| name).collect();
            Ok(Signed { appended, checkpoint, fingerprint: fingerprint(&key), files })
        })
    }

    /// Removes the signature over an entry that was never written. The caller holds the lock.
    pub(super) fn remove_unused_signature(&self) -> Result<(), Error> {
        let next = self.size() + 1;
        // The checkpoint was written first and goes last: where it is gone, so are the others.
        let checkpoint = at(self.path(), &checkpoint_name(next));
        if !checkpoint.exists() {
            return Ok(());
        }
        let folder = at(self.path(), SIGNATURES);
        let of_next = |name: &String| name.starts_with(&format!("{next}."));
        for name in disk::names(&folder)?.iter().filter(|name| of_next(name)) {
            if folder.join(name) != checkpoint {
                disk::remove(&folder.join(name))?;
            }
        }
        disk::sync_folder(&folder)?;
        disk::remove(&checkpoint)?;
        disk::sync_folder(&folder)
    }
}

pub(crate) fn checkpoint_name(size: u64) -> String {
    format!("{SIGNATURES}/{size}.checkpoint")
}

/// `fingerprint`: 64 hexadecimal digits.
pub(crate) fn signature_name(size: u64, fingerprint: &str) -> String {
    format!("{SIGNATURES}/{size}.{fingerprint}.sshsig")
}

pub(crate) fn note_name(size: u64) -> String {
    format!("{SIGNATURES}/{size}.note")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub(crate) mod tests {
    use super::*;
    use crate::disk::injected::{self, Mode};
    use crate::tree::to_hex;
    use crate::verify::verify;
    use crate::writer::tests::full;
    use ssh_key::{HashAlg, LineEnding, PrivateKey, private::Ed25519Keypair};

    /// A key that signs in memory.
    pub(crate) struct InMemory(PrivateKey);

    impl InMemory {
        pub(crate) fn new(seed: u8) -> Self {
            InMemory(PrivateKey::from(Ed25519Keypair::from_seed(&[seed; 32])))
        }
    }

    impl Signer for InMemory {
        fn public_key(&self) -> Result<String, Error> {
            Ok(self.0.public_key().to_openssh().unwrap())
        }
        fn sign(&self, message: &[u8]) -> Result<String, Error> {
            Ok(self.0.sign(NAMESPACE, HashAlg::Sha512, message).unwrap().to_pem(LineEnding::LF).unwrap())
        }
        fn signs_notes(&self) -> bool {
            true
        }
        fn sign_note(&self, message: &[u8]) -> Result<Option<[u8; 64]>, Error> {
            Ok(signature::Signer::try_sign(&self.0, message).unwrap().as_bytes().try_into().ok())
        }
    }

    /// Names one key and signs with another, signs something else, or in another namespace.
    struct Wrong(u8);

    impl Signer for Wrong {
        fn public_key(&self) -> Result<String, Error> {
            InMemory::new(1).public_key()
        }
        fn sign(&self, message: &[u8]) -> Result<String, Error> {
            match self.0 {
                0 => InMemory::new(2).sign(message),
                1 => InMemory::new(1).sign(b"else"),
                2 => Ok(InMemory::new(1).0.sign("git", HashAlg::Sha512, message).unwrap().to_string()),
                3 => Ok("no signature".to_owned()),
                _ => Err(Error::Signing { key: "k".into(), why: "the user refused".into() }),
            }
        }
    }

    #[test]
    fn a_signer_that_refuses_or_errs_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("d.fascicolo");
        let mut dossier = Dossier::open(&path, "s").unwrap();
        for wrong in 0..5 {
            assert_eq!(dossier.sign(&Wrong(wrong)).unwrap_err().kind(), "signing_failed", "{wrong}");
            assert_eq!(dossier.size(), 1);
            assert!(disk::names(&at(&path, SIGNATURES)).unwrap().is_empty());
        }
        dossier.append(full(0)).unwrap();
        assert!(verify(&path).unwrap().integrity);
    }

    /// Each step of signing is failed: a signature either stands with its entry, or is gone before another entry takes
    /// its place.
    #[test]
    fn an_interrupted_signature_stands_with_its_entry_or_is_removed() {
        let mut reached = 0;
        for mode in [Mode::Nothing, Mode::Half, Mode::All] {
            for step in 0.. {
                let folder = tempfile::tempdir().unwrap();
                let path = folder.path().join("d.fascicolo");
                let mut dossier = Dossier::open(&path, "s").unwrap();
                let mut other = Dossier::open(&path, "other").unwrap();
                injected::fail_after(step, mode);
                let signed = dossier.sign(&InMemory::new(1));
                if injected::clear() {
                    assert!(signed.is_ok());
                    break;
                }
                reached += 1;
                let found = verify(&path).unwrap();
                assert!(found.integrity, "step {step} {mode:?}: {found:?}");
                let next = if step % 2 == 0 { &mut other } else { &mut Dossier::open(&path, "s").unwrap() };
                next.append(full(1)).unwrap();
                next.write_checkpoint().unwrap();
                let entries = next.records().filter(|r| r.kind == Kind::Sign).count();
                let found = verify(&path).unwrap();
                assert!(found.integrity, "step {step} {mode:?}: {found:?}");
                assert_eq!((found.signatures.len(), found.signatures.iter().all(|s| s.valid)), (entries, true));
                assert_eq!(disk::names(&at(&path, SIGNATURES)).unwrap().len(), 3 * entries, "step {step} {mode:?}");
            }
        }
        assert!(reached > 40, "{reached}");
    }

    #[test]
    fn verifying_while_another_session_signs_finds_no_fault() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("d.fascicolo");
        let mut dossier = Dossier::open(&path, "s").unwrap();
        let done = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for i in 0..40 {
                    dossier.append(full(i)).unwrap();
                    dossier.sign(&InMemory::new(1)).unwrap();
                }
                done.store(true, std::sync::atomic::Ordering::Relaxed);
            });
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                let found = verify(&path).unwrap();
                assert!(found.integrity && found.signatures.iter().all(|s| s.valid), "{found:?}");
            }
        });
    }

    #[test]
    fn a_fingerprint_is_written_in_two_forms() {
        let key = InMemory::new(3).0.public_key().clone();
        assert!(fingerprint(&key).starts_with("SHA256:"));
        assert_eq!(fingerprint_hex(&key), to_hex(key.fingerprint(HashAlg::Sha256).as_bytes()));
    }
}

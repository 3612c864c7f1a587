//! Signed multipart messages: opens what arrives leniently, seals what leaves exactly.
//!
//! A request is read as far as it can be: only the delimiter, the signature and a `msg_type` are required. Its header
//! is handed back byte for byte as the parent of every answer.

use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use jupyter_zmq_client::{RawMessage, RuntimeError};
use ring::hmac;
use serde_json::{Map, Value};
use zeromq::ZmqMessage;

use super::PROTOCOL_VERSION;

const DELIMITER: &[u8] = b"<IDS|MSG>";

/// A request whose signature holds.
#[derive(Debug, Clone)]
pub(super) struct Incoming {
    /// Where the answer goes.
    pub identities: Vec<Bytes>,
    /// The header as it came, to be the parent of the answers.
    pub header: Bytes,
    /// The header's `msg_type`.
    pub msg_type: String,
    /// The metadata; empty where they cannot be read.
    pub metadata: Map<String, Value>,
    /// The content, or what is wrong with it.
    pub content: Result<Map<String, Value>, String>,
}

/// Why a message was dropped without an answer.
#[derive(Debug, PartialEq, Eq, Clone, Copy)]
pub(super) enum Dropped {
    /// The signature is missing, not hexadecimal or not ours.
    Signature,
    /// The frames are too few, or the header is no JSON object with a `msg_type`.
    Malformed,
}

/// How many messages were dropped, by reason. Each count is told once per power of two on standard error, which
/// Jupyter shows in its log: a stranger knocking is seen, a flood does not fill a disk.
#[derive(Debug, Default)]
pub(super) struct DropCounts {
    signature: AtomicU64,
    malformed: AtomicU64,
}

impl DropCounts {
    /// Counts one and returns the new count.
    pub fn count(&self, why: Dropped) -> u64 {
        let (counter, what) = match why {
            Dropped::Signature => (&self.signature, "with a wrong signature"),
            Dropped::Malformed => (&self.malformed, "that are not Jupyter messages"),
        };
        let seen = counter.fetch_add(1, Ordering::Relaxed) + 1;
        if seen.is_power_of_two() {
            eprintln!("fascicolo: dropped {seen} message(s) {what}");
        }
        seen
    }
}

/// Opens one multipart message.
pub(super) fn open(multipart: ZmqMessage, key: &Option<hmac::Key>) -> Result<Incoming, Dropped> {
    let raw = RawMessage::from_multipart(multipart, key).map_err(|e| match e {
        RuntimeError::VerifyError(_) | RuntimeError::DecodeError(_) => Dropped::Signature,
        _ => Dropped::Malformed,
    })?;
    // `from_multipart` promises four parts.
    let [header, _, metadata, content, ..] = raw.jparts.as_slice() else {
        return Err(Dropped::Malformed);
    };
    let named: Map<String, Value> = serde_json::from_slice(header).map_err(|_| Dropped::Malformed)?;
    let msg_type = named.get("msg_type").and_then(Value::as_str).ok_or(Dropped::Malformed)?.to_owned();
    let content = match serde_json::from_slice(content) {
        Ok(Value::Object(content)) => Ok(content),
        Ok(Value::Null) => Ok(Map::new()),
        Ok(_) => Err("the content is not a JSON object".to_owned()),
        Err(e) => Err(format!("the content is not JSON: {e}")),
    };
    Ok(Incoming {
        header: header.clone(),
        msg_type,
        metadata: serde_json::from_slice(metadata).unwrap_or_default(),
        content,
        identities: raw.zmq_identities,
    })
}

/// Builds and signs what leaves, with one session and one running number for all sockets.
#[derive(Debug)]
pub(super) struct Sealer {
    session: String,
    key: Option<hmac::Key>,
    next: AtomicU64,
}

impl Sealer {
    /// `session` is unique to this process; `key` is `None` where the connection file's key is empty.
    pub fn new(session: &str, key: Option<hmac::Key>) -> Self {
        Sealer { session: session.to_owned(), key, next: AtomicU64::new(0) }
    }

    /// The name that begins every iopub topic.
    pub fn session(&self) -> &str {
        &self.session
    }

    /// One message: `prefix` frames (identities, or a topic), delimiter, signature, four JSON parts.
    /// `parent` is the header of the request, byte for byte, or `None` where nobody asked.
    pub fn seal(
        &self,
        prefix: Vec<Bytes>,
        msg_type: &str,
        parent: Option<&Bytes>,
        metadata: &Value,
        content: &Value,
    ) -> ZmqMessage {
        let header = serde_json::json!({
            "msg_id": format!("{}_{}", self.session, self.next.fetch_add(1, Ordering::Relaxed)),
            "session": self.session,
            "username": "kernel",
            "date": chrono::Utc::now().to_rfc3339_opts(chrono::SecondsFormat::Micros, true),
            "msg_type": msg_type,
            "version": PROTOCOL_VERSION,
        });
        let parts = [
            Bytes::from(header.to_string()),
            parent.cloned().unwrap_or_else(|| Bytes::from_static(b"{}")),
            Bytes::from(metadata.to_string()),
            Bytes::from(content.to_string()),
        ];
        let mut frames = prefix;
        frames.reserve(6);
        frames.push(Bytes::from_static(DELIMITER));
        frames.push(self.signature(&parts));
        frames.extend(parts);
        let mut message = ZmqMessage::from(Bytes::new());
        // The frames are never empty, so the fallback above is never sent.
        if let Ok(sealed) = ZmqMessage::try_from(frames) {
            message = sealed;
        }
        message
    }

    /// Lower-case hexadecimal HMAC-SHA256 over the four parts; empty where signing is off.
    fn signature(&self, parts: &[Bytes; 4]) -> Bytes {
        let Some(key) = &self.key else { return Bytes::new() };
        let mut digest = hmac::Context::with_key(key);
        for part in parts {
            digest.update(part);
        }
        let mut text = String::with_capacity(64);
        for byte in digest.sign().as_ref() {
            use std::fmt::Write;
            let _ = write!(text, "{byte:02x}");
        }
        Bytes::from(text)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn key() -> Option<hmac::Key> {
        Some(hmac::Key::new(hmac::HMAC_SHA256, b"Jefe"))
    }

    fn multipart(frames: &[&[u8]]) -> ZmqMessage {
        ZmqMessage::try_from(frames.iter().map(|f| Bytes::copy_from_slice(f)).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn signatures_agree_with_rfc_4231() {
        // Test case 2: key "Jefe", data "what do ya want for nothing?", here in four parts.
        let parts = ["what do ya ", "want ", "for ", "nothing?"].map(|t| Bytes::from_static(t.as_bytes()));
        let expected = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
        assert_eq!(Sealer::new("s", key()).signature(&parts), expected);
    }

    #[test]
    fn what_is_sealed_opens_with_the_same_key_only() {
        let sealed = Sealer::new("s", key()).seal(
            vec![Bytes::from_static(b"peer")],
            "execute_request",
            None,
            &Value::Object(Map::new()),
            &serde_json::json!({"code": "1"}),
        );
        let opened = open(sealed.clone(), &key()).unwrap();
        assert_eq!(opened.identities, [Bytes::from_static(b"peer")]);
        assert_eq!(opened.msg_type, "execute_request");
        assert_eq!(opened.content.unwrap()["code"], "1");
        let other = Some(hmac::Key::new(hmac::HMAC_SHA256, b"other"));
        assert_eq!(open(sealed, &other).unwrap_err(), Dropped::Signature);
    }

    #[test]
    fn a_signature_that_is_no_hexadecimal_is_a_wrong_signature() {
        let header = br#"{"msg_type": "kernel_info_request"}"#;
        let message = multipart(&[DELIMITER, b"not hex", header, b"{}", b"{}", b"{}"]);
        assert_eq!(open(message, &key()).unwrap_err(), Dropped::Signature);
    }

    #[test]
    fn broken_frames_are_dropped_and_broken_content_is_kept_to_be_answered() {
        let header = br#"{"msg_type": "execute_request", "msg_id": "1"}"#.as_slice();
        for frames in [
            vec![b"".as_slice()],
            vec![DELIMITER],
            vec![DELIMITER, b"", b"{}"],
            vec![DELIMITER, b"", b"{}", b"{}", b"{}", b"{}"],
            vec![DELIMITER, b"", b"[1]", b"{}", b"{}", b"{}"],
            vec![DELIMITER, b"", b"\xff\xfe", b"{}", b"{}", b"{}"],
        ] {
            assert_eq!(open(multipart(&frames), &None).unwrap_err(), Dropped::Malformed);
        }
        let opened = open(multipart(&[b"id", DELIMITER, b"", header, b"", b"\xff", b"{\"code\""]), &None).unwrap();
        assert!(opened.content.is_err() && opened.metadata.is_empty());
        assert_eq!(opened.header, header);
    }

    #[test]
    fn drops_are_counted_by_reason() {
        let counts = DropCounts::default();
        assert_eq!(counts.count(Dropped::Signature), 1);
        assert_eq!(counts.count(Dropped::Signature), 2);
        assert_eq!(counts.count(Dropped::Malformed), 1);
    }
}

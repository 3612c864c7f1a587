//! The connection file and the five sockets it names.

use std::path::{Path, PathBuf};

use jupyter_protocol::ConnectionInfo;
use jupyter_protocol::connection_info::Transport;
use jupyter_zmq_client::{KernelIoPubXPubConnection, KernelShellConnection};
use zeromq::{RouterSocket, Socket};

use super::WireError;

/// The sockets, bound. Shell, control and stdin route replies to whoever asked.
pub(super) struct Sockets {
    pub shell: KernelShellConnection,
    pub control: KernelShellConnection,
    pub stdin: KernelShellConnection,
    pub iopub: KernelIoPubXPubConnection,
    /// A router, not a REP socket: any number of clients may be in the middle of a beat.
    pub heartbeat: RouterSocket,
}

/// Reads the file that Jupyter writes for a kernel.
///
/// # Errors
/// Unreadable, not JSON of that shape, or another signature scheme than hmac-sha256.
pub(super) fn read_connection(path: &Path) -> Result<ConnectionInfo, WireError> {
    let text = std::fs::read(path).map_err(|source| WireError::Unreadable { path: path.to_owned(), source })?;
    let info: ConnectionInfo =
        serde_json::from_slice(&text).map_err(|source| WireError::NotAConnection { path: path.to_owned(), source })?;
    // An empty key switches signing off, and then no scheme matters.
    if !info.key.is_empty() && info.signature_scheme != "hmac-sha256" {
        return Err(WireError::UnknownSignature { scheme: info.signature_scheme });
    }
    Ok(info)
}

/// Opens all five sockets. `session` becomes the session of what they send.
///
/// # Errors
/// `Bind` names the first channel that cannot be opened.
pub(super) async fn bind(info: &ConnectionInfo, session: &str) -> Result<Sockets, WireError> {
    // A kernel that was killed leaves its socket files behind, and Jupyter may hand out the same names again.
    remove_ipc_files(info);
    let failed = |channel: &'static str, endpoint: String| {
        move |e: jupyter_zmq_client::RuntimeError| WireError::Bind { channel, endpoint, reason: e.to_string() }
    };
    // First of all: a subscriber must find it before it can miss anything.
    let iopub = jupyter_zmq_client::create_kernel_iopub_xpub_connection(info, session)
        .await
        .map_err(failed("iopub", info.iopub_url()))?;
    let stdin = jupyter_zmq_client::create_kernel_stdin_connection(info, session)
        .await
        .map_err(failed("stdin", info.stdin_url()))?;
    let control = jupyter_zmq_client::create_kernel_control_connection(info, session)
        .await
        .map_err(failed("control", info.control_url()))?;
    let mut heartbeat = RouterSocket::new();
    heartbeat.bind(&info.hb_url()).await.map_err(|e| WireError::Bind {
        channel: "heartbeat",
        endpoint: info.hb_url(),
        reason: e.to_string(),
    })?;
    // Last: who can ask finds everything else open.
    let shell = jupyter_zmq_client::create_kernel_shell_connection(info, session)
        .await
        .map_err(failed("shell", info.shell_url()))?;
    Ok(Sockets { shell, control, stdin, iopub, heartbeat })
}

/// The files that stand for sockets on the IPC transport; none on TCP.
fn ipc_files(info: &ConnectionInfo) -> Vec<PathBuf> {
    match info.transport {
        Transport::TCP => Vec::new(),
        Transport::IPC => [info.shell_port, info.iopub_port, info.stdin_port, info.control_port, info.hb_port]
            .map(|port| PathBuf::from(format!("{}-{port}", info.ip)))
            .to_vec(),
    }
}

/// Removes them where they are sockets; anything else of that name is left alone.
pub(super) fn remove_ipc_files(info: &ConnectionInfo) {
    for file in ipc_files(info) {
        if is_socket(&file) {
            let _ = std::fs::remove_file(&file);
        }
    }
}

#[cfg(unix)]
fn is_socket(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt;
    std::fs::symlink_metadata(path).is_ok_and(|m| m.file_type().is_socket())
}

#[cfg(not(unix))]
fn is_socket(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|m| m.len() == 0)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn written(text: &str) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kernel.json");
        std::fs::write(&path, text).unwrap();
        (folder, path)
    }

    #[test]
    fn a_file_as_jupyter_client_writes_it_is_read() {
        let (_folder, path) = written(
            r#"{"shell_port": 50001, "iopub_port": 50002, "stdin_port": 50003, "control_port": 50004, "hb_port": 50005,
            "ip": "127.0.0.1", "key": "k-1", "transport": "tcp", "signature_scheme": "hmac-sha256",
            "kernel_name": "fascicolo", "jupyter_session": "/home/u/a.ipynb"}"#,
        );
        let info = read_connection(&path).unwrap();
        assert_eq!((info.shell_url().as_str(), info.key.as_str()), ("tcp://127.0.0.1:50001", "k-1"));
        assert!(ipc_files(&info).is_empty());
    }

    #[test]
    fn another_signature_scheme_is_refused_by_name() {
        let (_folder, path) = written(
            r#"{"shell_port": 1, "iopub_port": 2, "stdin_port": 3, "control_port": 4, "hb_port": 5, "ip": "127.0.0.1",
            "key": "k", "transport": "tcp", "signature_scheme": "hmac-md5"}"#,
        );
        let error = read_connection(&path).unwrap_err();
        assert!(error.to_string().contains("hmac-md5"), "{error}");
    }

    #[test]
    fn a_missing_and_a_wrong_file_are_told_apart() {
        let (_folder, path) = written("[]");
        assert!(matches!(read_connection(&path), Err(WireError::NotAConnection { .. })));
        assert!(matches!(read_connection(&path.with_extension("no")), Err(WireError::Unreadable { .. })));
    }
}

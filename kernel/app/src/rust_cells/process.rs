//! The roles in which this program is started again, and what a start must not take from outside.
//!
//! Start at [`runtime_hook`].

/// Environment variable that marks the child and whatever cells start in it, so that they can be found again.
pub(super) const ROLE: &str = "FASCICOLO_RUST_CELLS";
/// Environment variable of the child: panics come without a backtrace, although evcxr asks for one.
pub(super) const QUIET_PANICS: &str = "FASCICOLO_QUIET_PANICS";
/// Where evcxr looks for `evcxr.toml`, `init.evcxr` and `prelude.rs`.
const CONFIG_DIR: &str = "EVCXR_CONFIG_DIR";
/// A compile folder shared between sessions.
const SHARED_FOLDER: &str = "EVCXR_TMPDIR";

/// Call this first in `main`, before any thread or runtime exists.
///
/// If this process was started to run the code of cells, it does so and does not return. Otherwise, where evcxr's
/// configuration files or shared folder would change how cells compile without the record showing it, the program
/// starts itself again with the same arguments and an environment that turns both off.
pub fn runtime_hook() {
    if std::env::var_os("EVCXR_IS_RUNTIME").is_some() {
        end_with_the_kernel();
    }
    evcxr::runtime_hook();
    if std::env::var_os(SHARED_FOLDER).is_some() || user_configuration().is_some() {
        start_again_without_configuration();
    }
}

/// The `evcxr.toml` that evcxr would read now, if there is one.
pub(super) fn hidden_configuration() -> Option<std::path::PathBuf> {
    let beside = std::env::current_dir().ok().map(|folder| folder.join("evcxr.toml")).filter(|file| file.exists());
    beside.or_else(user_configuration)
}

fn user_configuration() -> Option<std::path::PathBuf> {
    evcxr::config_dir().map(|folder| folder.join("evcxr.toml")).filter(|file| file.exists())
}

/// A child whose kernel was killed must not run a cell on for ever.
fn end_with_the_kernel() {
    #[cfg(target_os = "linux")]
    {
        // Without it the child still ends when its standard input closes, but not in the middle of a cell.
        let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
    }
}

/// Returns only if the start failed; the first Rust cell then names the file that stands in the way.
fn start_again_without_configuration() {
    // A path below a file has no files, so nothing is ever found there.
    let nowhere = if cfg!(windows) { "NUL" } else { "/dev/null" };
    if std::env::var_os(CONFIG_DIR).is_some_and(|now| now == nowhere) && std::env::var_os(SHARED_FOLDER).is_none() {
        return;
    }
    let Ok(program) = std::env::current_exe() else { return };
    let mut command = std::process::Command::new(program);
    command.args(std::env::args_os().skip(1)).env(CONFIG_DIR, nowhere).env_remove(SHARED_FOLDER);
    #[cfg(unix)]
    {
        let _ = std::os::unix::process::CommandExt::exec(&mut command);
    }
    #[cfg(not(unix))]
    if let Ok(status) = command.status() {
        std::process::exit(status.code().unwrap_or(70));
    }
}

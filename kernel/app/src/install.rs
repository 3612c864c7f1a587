//! Writes and removes the kernelspec, by which Jupyter finds and starts the kernel.
//!
//! Owns: where Jupyter looks on each platform, and the files of the spec. Must not know: sockets, cells.
//! Start at [`install`].

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use fascicolo_contract::{Explain, Standing};
use serde_json::{Value, json};

/// The name under which the kernel is installed where the user gives none.
pub const DEFAULT_NAME: &str = "fascicolo";
/// What the front end's launcher shows where the user gives nothing else.
pub const DEFAULT_DISPLAY_NAME: &str = "Fascicolo (Rust)";

const SPEC: &str = "kernel.json";
const LOGO: &str = "logo-svg.svg";

/// An open folder whose two curves, reference and candidate, run together but for one point.
const LOGO_TEXT: &str = r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 64" width="64" height="64">
<title>Fascicolo</title>
<path d="M6 14a4 4 0 0 1 4-4h14l6 6h24a4 4 0 0 1 4 4v30a4 4 0 0 1-4 4H10a4 4 0 0 1-4-4z" fill="#b4541a"/>
<path d="M10 24h44a3 3 0 0 1 3 3v24a3 3 0 0 1-3 3H10a3 3 0 0 1-3-3V27a3 3 0 0 1 3-3z" fill="#fdf6ee"/>
<path d="M13 46c8 0 8-14 16-14s8 10 22 2" fill="none" stroke="#2b2b2b" stroke-width="3" stroke-linecap="round"/>
<path d="M13 46c8 0 8-14 16-14s8 10 22 10" fill="none" stroke="#b4541a" stroke-width="3" stroke-linecap="round" stroke-dasharray="1 5"/>
<circle cx="51" cy="42" r="3.5" fill="#b4541a"/>
</svg>
"##;

/// Where and as what to install. At most one of `user`, `prefix`, `sys_prefix` is set; none means `user`.
#[derive(Debug, Clone, Default)]
pub struct Install {
    /// For this user: Jupyter's data folder of the platform, or JUPYTER_DATA_DIR.
    pub user: bool,
    /// Below this folder, in `share/jupyter`.
    pub prefix: Option<PathBuf>,
    /// Below the active Python environment (VIRTUAL_ENV, else CONDA_PREFIX).
    pub sys_prefix: bool,
    /// The folder's name and the name for `--kernel`; [`DEFAULT_NAME`] if `None`.
    pub name: Option<String>,
    /// What front ends show; [`DEFAULT_DISPLAY_NAME`] if `None`.
    pub display_name: Option<String>,
    /// The program that Jupyter starts; the running one if `None`.
    pub exe: Option<PathBuf>,
}

/// Why the kernelspec could not be written or removed.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// More than one place was named.
    #[error("--user, --prefix and --sys-prefix exclude each other; {given} of them were given")]
    SeveralPlaces {
        /// How many.
        given: usize,
    },
    /// Jupyter accepts no such name.
    #[error("`{name}` is no kernel name: Jupyter accepts ASCII letters, digits, `.`, `_` and `-`")]
    Name {
        /// The name that was asked for.
        name: String,
    },
    /// The environment names no home folder.
    #[error("the home folder is unknown: {variable} is not set")]
    NoHome {
        /// The variable that would tell.
        variable: &'static str,
    },
    /// `--sys-prefix` outside any environment.
    #[error("no Python environment is active: neither VIRTUAL_ENV nor CONDA_PREFIX is set")]
    NoEnvironment,
    /// The system does not tell which program runs.
    #[error("the path of the running program is unknown: {0}")]
    NoProgram(#[source] std::io::Error),
    /// The path is not Unicode, which JSON cannot hold.
    #[error("the program's path {} is not Unicode, which a kernelspec cannot hold", path.display())]
    NotUnicode {
        /// The path.
        path: PathBuf,
    },
    /// A file could not be written or removed.
    #[error("{} cannot be {doing}: {source}", path.display())]
    Files {
        /// The file or folder.
        path: PathBuf,
        /// written or removed.
        doing: &'static str,
        /// What the system said.
        source: std::io::Error,
    },
    /// There is nothing to remove.
    #[error("no kernel is installed at {}", path.display())]
    NotInstalled {
        /// The folder that was looked for.
        path: PathBuf,
    },
    /// Another kernel lives under that name.
    #[error("the kernel at {} was not installed by fascicolo", path.display())]
    NotOurs {
        /// Its folder.
        path: PathBuf,
    },
}

impl Explain for InstallError {
    fn kind(&self) -> &'static str {
        match self {
            InstallError::SeveralPlaces { .. } => "several_places",
            InstallError::Name { .. } => "bad_kernel_name",
            InstallError::NoHome { .. } => "no_home",
            InstallError::NoEnvironment => "no_environment",
            InstallError::NoProgram(_) => "no_program",
            InstallError::NotUnicode { .. } => "path_not_unicode",
            InstallError::Files { .. } => "kernelspec_files",
            InstallError::NotInstalled { .. } => "not_installed",
            InstallError::NotOurs { .. } => "not_ours",
        }
    }

    fn place(&self) -> Option<String> {
        match self {
            InstallError::NotUnicode { path }
            | InstallError::Files { path, .. }
            | InstallError::NotInstalled { path }
            | InstallError::NotOurs { path } => Some(path.display().to_string()),
            InstallError::SeveralPlaces { .. }
            | InstallError::Name { .. }
            | InstallError::NoHome { .. }
            | InstallError::NoEnvironment
            | InstallError::NoProgram(_) => None,
        }
    }

    fn next_step(&self) -> String {
        match self {
            InstallError::SeveralPlaces { .. } => "give one of the three".to_owned(),
            InstallError::Name { .. } => format!("choose another --name, such as `{DEFAULT_NAME}`"),
            InstallError::NoHome { variable } => format!("set {variable}, or name a folder with --prefix"),
            InstallError::NoEnvironment => "activate the environment, or name its folder with --prefix".to_owned(),
            InstallError::NoProgram(_) | InstallError::NotUnicode { .. } => {
                "move the program to a folder with a plain name, and start it from there".to_owned()
            }
            InstallError::Files { .. } => {
                "check who may write there, or choose another place with --user or --prefix".to_owned()
            }
            InstallError::NotInstalled { .. } => {
                "list what is installed with `jupyter kernelspec list`, then name its place and --name".to_owned()
            }
            InstallError::NotOurs { .. } => "choose another --name; nothing was changed".to_owned(),
        }
    }

    fn standing(&self) -> Standing {
        match self {
            InstallError::NotOurs { .. } => Standing::Refused,
            InstallError::NoProgram(_) => Standing::OurFault,
            InstallError::SeveralPlaces { .. }
            | InstallError::Name { .. }
            | InstallError::NoHome { .. }
            | InstallError::NoEnvironment
            | InstallError::NotUnicode { .. }
            | InstallError::Files { .. }
            | InstallError::NotInstalled { .. } => Standing::Usage,
        }
    }
}

/// Writes the kernelspec and its logo; returns their folder. Installing again replaces what was installed before.
///
/// # Errors
/// See [`InstallError`]; `NotOurs` if another kernel has that name, which is left as it is.
pub fn install(options: &Install) -> Result<PathBuf, InstallError> {
    let folder = folder(options, &|name| std::env::var_os(name))?;
    if folder.join(SPEC).exists() && !is_ours(&folder) {
        return Err(InstallError::NotOurs { path: folder });
    }
    let exe = match &options.exe {
        Some(exe) => exe.clone(),
        None => std::env::current_exe().map_err(InstallError::NoProgram)?,
    };
    let exe = exe.to_str().ok_or_else(|| InstallError::NotUnicode { path: exe.clone() })?;
    let spec = spec(exe, options.display_name.as_deref().unwrap_or(DEFAULT_DISPLAY_NAME));
    std::fs::create_dir_all(&folder).map_err(files(&folder, "written"))?;
    write_whole(&folder.join(LOGO), LOGO_TEXT)?;
    // Last: Jupyter takes the folder for a kernel as soon as this file is there.
    write_whole(&folder.join(SPEC), &format!("{spec:#}\n"))?;
    Ok(folder)
}

/// Removes what [`install`] wrote with the same options; returns the folder that is gone.
///
/// # Errors
/// See [`InstallError`]; `NotOurs` if another kernel has that name, which is left as it is.
pub fn uninstall(options: &Install) -> Result<PathBuf, InstallError> {
    let folder = folder(options, &|name| std::env::var_os(name))?;
    if !folder.join(SPEC).exists() {
        return Err(InstallError::NotInstalled { path: folder });
    }
    if !is_ours(&folder) {
        return Err(InstallError::NotOurs { path: folder });
    }
    std::fs::remove_dir_all(&folder).map_err(files(&folder, "removed"))?;
    Ok(folder)
}

/// The content of kernel.json.
fn spec(exe: &str, display_name: &str) -> Value {
    json!({
        "argv": [exe, "kernel", "--connection-file", "{connection_file}"],
        "display_name": display_name,
        "language": "rust",
        "interrupt_mode": "message",
        "metadata": { "debugger": false },
    })
}

/// True if the spec in the folder starts a kernel the way ours does, whatever the program's name was.
fn is_ours(folder: &Path) -> bool {
    let Ok(text) = std::fs::read(folder.join(SPEC)) else { return false };
    let Ok(spec) = serde_json::from_slice::<Value>(&text) else { return false };
    let argument = |n: usize| spec["argv"][n].as_str();
    spec["language"] == "rust"
        && argument(1) == Some("kernel")
        && argument(2) == Some("--connection-file")
        && argument(3) == Some("{connection_file}")
}

fn files(path: &Path, doing: &'static str) -> impl FnOnce(std::io::Error) -> InstallError {
    let path = path.to_owned();
    move |source| InstallError::Files { path, doing, source }
}

/// Writes beside the target and renames, so that a running Jupyter never reads half a file.
fn write_whole(path: &Path, text: &str) -> Result<(), InstallError> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".new");
    let beside = PathBuf::from(beside);
    std::fs::write(&beside, text).map_err(files(path, "written"))?;
    std::fs::rename(&beside, path).map_err(files(path, "written"))
}

/// The folder of the kernelspec, under the environment that `variable` reads.
fn folder(options: &Install, variable: &dyn Fn(&str) -> Option<OsString>) -> Result<PathBuf, InstallError> {
    let given = [options.user, options.prefix.is_some(), options.sys_prefix].iter().filter(|g| **g).count();
    if given > 1 {
        return Err(InstallError::SeveralPlaces { given });
    }
    let name = options.name.as_deref().unwrap_or(DEFAULT_NAME);
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    if name.is_empty() || name.starts_with('.') || !name.chars().all(allowed) {
        return Err(InstallError::Name { name: name.to_owned() });
    }
    let data = if let Some(prefix) = &options.prefix {
        prefix.join("share").join("jupyter")
    } else if options.sys_prefix {
        let environment = set(variable, "VIRTUAL_ENV").or_else(|| set(variable, "CONDA_PREFIX"));
        environment.ok_or(InstallError::NoEnvironment)?.join("share").join("jupyter")
    } else {
        user_data(variable, Platform::here())?
    };
    // Jupyter compares kernel names without regard to case.
    Ok(data.join("kernels").join(name.to_ascii_lowercase()))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Platform {
    MacOs,
    Windows,
    Other,
}

impl Platform {
    fn here() -> Self {
        if cfg!(target_os = "macos") {
            Platform::MacOs
        } else if cfg!(windows) {
            Platform::Windows
        } else {
            Platform::Other
        }
    }
}

/// A variable's value as a path; an empty one counts as not set, as for Jupyter.
fn set(variable: &dyn Fn(&str) -> Option<OsString>, name: &str) -> Option<PathBuf> {
    variable(name).filter(|v| !v.is_empty()).map(PathBuf::from)
}

/// Jupyter's data folder of a user, as `jupyter_core.paths.jupyter_data_dir` finds it.
fn user_data(variable: &dyn Fn(&str) -> Option<OsString>, platform: Platform) -> Result<PathBuf, InstallError> {
    if let Some(folder) = set(variable, "JUPYTER_DATA_DIR") {
        return Ok(folder);
    }
    let home = |name: &'static str| set(variable, name).ok_or(InstallError::NoHome { variable: name });
    match platform {
        Platform::MacOs => Ok(home("HOME")?.join("Library").join("Jupyter")),
        Platform::Windows => match set(variable, "APPDATA") {
            Some(roaming) => Ok(roaming.join("jupyter")),
            None => Ok(home("USERPROFILE")?.join(".jupyter").join("data")),
        },
        Platform::Other => match set(variable, "XDG_DATA_HOME") {
            Some(data) => Ok(data.join("jupyter")),
            None => Ok(home("HOME")?.join(".local").join("share").join("jupyter")),
        },
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn environment(pairs: &'static [(&'static str, &'static str)]) -> impl Fn(&str) -> Option<OsString> {
        move |name| pairs.iter().find(|(n, _)| *n == name).map(|(_, v)| OsString::from(v))
    }

    fn below(prefix: &Path, name: Option<&str>) -> Install {
        Install {
            prefix: Some(prefix.to_owned()),
            name: name.map(str::to_owned),
            exe: Some("/opt/fascicolo".into()),
            ..Install::default()
        }
    }

    #[test]
    fn each_platform_keeps_jupyters_folder() {
        let unix = environment(&[("HOME", "/home/u"), ("APPDATA", "/roaming"), ("XDG_DATA_HOME", "")]);
        let at = |platform| user_data(&unix, platform).unwrap();
        assert_eq!(at(Platform::Other), Path::new("/home/u/.local/share/jupyter"));
        assert_eq!(at(Platform::MacOs), Path::new("/home/u/Library/Jupyter"));
        assert_eq!(at(Platform::Windows), Path::new("/roaming/jupyter"));
        let xdg = environment(&[("HOME", "/home/u"), ("XDG_DATA_HOME", "/data")]);
        assert_eq!(user_data(&xdg, Platform::Other).unwrap(), Path::new("/data/jupyter"));
        let told = environment(&[("JUPYTER_DATA_DIR", "/j"), ("XDG_DATA_HOME", "/data")]);
        assert_eq!(user_data(&told, Platform::MacOs).unwrap(), Path::new("/j"));
    }

    #[test]
    fn a_homeless_user_is_told_which_variable_is_missing() {
        let error = user_data(&environment(&[]), Platform::Other).unwrap_err();
        assert!(error.to_string().contains("HOME"), "{error}");
    }

    #[test]
    fn what_is_installed_is_a_kernelspec_and_uninstall_leaves_nothing() {
        let prefix = tempfile::tempdir().unwrap();
        let folder = install(&below(prefix.path(), None)).unwrap();
        assert_eq!(folder, prefix.path().join("share/jupyter/kernels/fascicolo"));
        let spec: Value = serde_json::from_slice(&std::fs::read(folder.join("kernel.json")).unwrap()).unwrap();
        assert_eq!(
            spec,
            json!({
                "argv": ["/opt/fascicolo", "kernel", "--connection-file", "{connection_file}"],
                "display_name": "Fascicolo (Rust)", "language": "rust", "interrupt_mode": "message",
                "metadata": {"debugger": false},
            })
        );
        assert!(folder.join("logo-svg.svg").exists());
        install(&below(prefix.path(), None)).unwrap();
        let files = std::fs::read_dir(&folder).unwrap().count();
        assert_eq!(files, 2);
        uninstall(&below(prefix.path(), None)).unwrap();
        assert!(!folder.exists());
        assert!(matches!(uninstall(&below(prefix.path(), None)), Err(InstallError::NotInstalled { .. })));
    }

    #[test]
    fn another_kernel_of_that_name_is_left_alone() {
        let prefix = tempfile::tempdir().unwrap();
        let folder = prefix.path().join("share/jupyter/kernels/python3");
        std::fs::create_dir_all(&folder).unwrap();
        let theirs = r#"{"argv": ["python", "-m", "ipykernel_launcher"], "language": "python"}"#;
        std::fs::write(folder.join("kernel.json"), theirs).unwrap();
        let options = below(prefix.path(), Some("python3"));
        assert!(matches!(install(&options), Err(InstallError::NotOurs { .. })));
        assert!(matches!(uninstall(&options), Err(InstallError::NotOurs { .. })));
        assert_eq!(std::fs::read_to_string(folder.join("kernel.json")).unwrap(), theirs);
    }

    #[test]
    fn a_name_cannot_leave_its_folder() {
        for name in ["..", "../x", "a/b", "", ".hidden", "a b", "a\\b"] {
            let options = below(Path::new("/nowhere"), Some(name));
            assert!(matches!(folder(&options, &environment(&[])), Err(InstallError::Name { .. })), "{name}");
        }
    }

    #[test]
    fn one_place_at_a_time_and_sys_prefix_needs_an_environment() {
        let both = Install { user: true, sys_prefix: true, ..Install::default() };
        assert!(matches!(folder(&both, &environment(&[])), Err(InstallError::SeveralPlaces { given: 2 })));
        let sys = Install { sys_prefix: true, name: Some("Mine".to_owned()), ..Install::default() };
        assert!(matches!(folder(&sys, &environment(&[])), Err(InstallError::NoEnvironment)));
        let conda = environment(&[("VIRTUAL_ENV", ""), ("CONDA_PREFIX", "/conda")]);
        assert_eq!(folder(&sys, &conda).unwrap(), Path::new("/conda/share/jupyter/kernels/mine"));
    }
}

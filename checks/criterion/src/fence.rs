//! What a thread, and every process that it starts from then on, can open: by Landlock, where the kernel has it.

use std::path::PathBuf;

/// What the kernel promised about the files a process can open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Confinement {
    /// Landlock holds for every access that we ask it to.
    Enforced,
    /// An older Landlock holds for a part.
    Partial,
    /// No Landlock.
    None,
}

impl Confinement {
    /// The name used in records.
    pub fn name(self) -> &'static str {
        match self {
            Confinement::Enforced => "landlock",
            Confinement::Partial => "landlock (partial)",
            Confinement::None => "none",
        }
    }
}

/// The places left open. What is not there is left out.
#[derive(Debug, Clone, Default)]
pub struct Fence {
    /// Files and folders to read and execute.
    pub readable: Vec<PathBuf>,
    /// Devices to read and write, and folders of them.
    pub devices: Vec<PathBuf>,
    /// Folders for everything.
    pub writable: Vec<PathBuf>,
    /// Whether TCP connections may be made.
    pub network: bool,
}

impl Fence {
    /// Closes everything else to this thread and what it starts, for good: call it in a thread of its own.
    #[cfg(target_os = "linux")]
    pub fn close(&self) -> Confinement {
        use landlock::{
            ABI, Access, AccessFs, AccessNet, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetStatus,
            path_beneath_rules,
        };
        // The newest version whose rights we know; older kernels enforce what they can and say so.
        let abi = ABI::V5;
        let on_devices = AccessFs::ReadFile | AccessFs::ReadDir | AccessFs::WriteFile | AccessFs::IoctlDev;
        let ruled = || -> Result<landlock::RestrictionStatus, landlock::RulesetError> {
            let mut rules = Ruleset::default().handle_access(AccessFs::from_all(abi))?;
            if !self.network {
                rules = rules.handle_access(AccessNet::from_all(abi))?;
            }
            rules
                .create()?
                .add_rules(path_beneath_rules(&self.readable, AccessFs::from_read(abi)))?
                .add_rules(path_beneath_rules(&self.devices, on_devices))?
                .add_rules(path_beneath_rules(&self.writable, AccessFs::from_all(abi)))?
                .restrict_self()
        };
        match ruled().map(|status| status.ruleset) {
            Ok(RulesetStatus::FullyEnforced) => Confinement::Enforced,
            Ok(RulesetStatus::PartiallyEnforced) => Confinement::Partial,
            Ok(RulesetStatus::NotEnforced) | Err(_) => Confinement::None,
        }
    }

    /// There is no such thing on this platform.
    #[cfg(not(target_os = "linux"))]
    pub fn close(&self) -> Confinement {
        Confinement::None
    }
}

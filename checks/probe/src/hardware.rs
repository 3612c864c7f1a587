//! Stage `hardware`: which devices the PCI bus and the device nodes show.
//!
//! [`look`] reads files below a root folder (in the child); [`judge`] turns what was seen into a result (in the parent).

use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::report::{Facts, Layer, Require, StageResult};

const NVIDIA: u32 = 0x10de;
const AMD: u32 = 0x1002;

/// What was seen on the bus and among the device nodes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Hardware {
    /// False if the bus cannot be listed here (another system, or a sandbox).
    pub bus_readable: bool,
    /// Display controllers (class 0x03) and processing accelerators (class 0x12), by address.
    pub devices: Vec<PciDevice>,
    /// `/dev/nvidia0`, `/dev/nvidia1` …
    pub nvidia_nodes: Vec<String>,
    /// `/dev/kfd`, through which ROCm reaches AMD devices.
    pub kfd: bool,
    /// `/dev/dxg`, through which a Windows host lends its devices to a Linux guest.
    pub dxg: bool,
}

/// One function of the PCI bus.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct PciDevice {
    pub address: String,
    pub vendor: u32,
    pub device: u32,
    pub class: u32,
}

impl Hardware {
    fn count(&self, vendor: u32) -> usize {
        self.devices.iter().filter(|d| d.vendor == vendor).count()
    }

    pub(crate) fn shows_nvidia(&self) -> bool {
        self.count(NVIDIA) > 0 || !self.nvidia_nodes.is_empty() || self.dxg
    }

    pub(crate) fn shows_amd(&self) -> bool {
        self.count(AMD) > 0 || self.kfd || self.dxg
    }

    fn facts(&self) -> Facts {
        let devices: Vec<_> = self.devices.iter().map(PciDevice::describe).collect();
        Facts::from([
            ("pci_devices".into(), json!(devices)),
            ("nvidia_nodes".into(), json!(self.nvidia_nodes)),
            ("kfd".into(), json!(self.kfd)),
            ("dxg".into(), json!(self.dxg)),
        ])
    }

    fn others(&self) -> String {
        if !self.bus_readable {
            return "the PCI bus cannot be listed here".into();
        }
        match self.devices.iter().filter(|d| d.vendor != NVIDIA && d.vendor != AMD).count() {
            0 => "the PCI bus was listed".into(),
            n => format!("the PCI bus was listed and shows {n} display or accelerator device(s) of other makers"),
        }
    }
}

impl PciDevice {
    fn describe(&self) -> String {
        let maker = match self.vendor {
            NVIDIA => "NVIDIA",
            AMD => "AMD",
            0x8086 => "Intel",
            _ => "other maker",
        };
        let kind = if self.class >> 16 == 0x12 { "processing accelerator" } else { "display controller" };
        format!("{}: {maker} {kind} [{:04x}:{:04x}]", self.address, self.vendor, self.device)
    }
}

/// Lists the devices that `root/sys` and `root/dev` show. Reads files only.
pub(crate) fn look(root: &Path) -> Hardware {
    let mut seen = Hardware::default();
    if let Ok(entries) = std::fs::read_dir(root.join("sys/bus/pci/devices")) {
        seen.bus_readable = true;
        seen.devices = entries.flatten().filter_map(|e| pci_device(&e.path())).collect();
        seen.devices.sort_by(|a, b| a.address.cmp(&b.address));
    }
    if let Ok(entries) = std::fs::read_dir(root.join("dev")) {
        for entry in entries.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            match name.as_str() {
                "kfd" => seen.kfd = true,
                "dxg" => seen.dxg = true,
                _ if is_nvidia_device(&name) => seen.nvidia_nodes.push(format!("/dev/{name}")),
                _ => {}
            }
        }
        seen.nvidia_nodes.sort();
    }
    seen
}

/// `nvidia0`, but not `nvidiactl` or `nvidia-uvm`, which belong to the driver and not to a device.
fn is_nvidia_device(name: &str) -> bool {
    name.strip_prefix("nvidia").is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
}

fn pci_device(folder: &Path) -> Option<PciDevice> {
    let class = hexadecimal(&folder.join("class"))?;
    if !matches!(class >> 16, 0x03 | 0x12) {
        return None;
    }
    Some(PciDevice {
        address: folder.file_name()?.to_string_lossy().into_owned(),
        vendor: hexadecimal(&folder.join("vendor"))?,
        device: hexadecimal(&folder.join("device")).unwrap_or(0),
        class,
    })
}

fn hexadecimal(file: &Path) -> Option<u32> {
    let text = std::fs::read_to_string(file).ok()?;
    u32::from_str_radix(text.trim().trim_start_matches("0x"), 16).ok()
}

/// What the devices seen mean for the requirement.
pub(crate) fn judge(seen: &Hardware, require: Require) -> StageResult {
    let wanted = match require {
        Require::Cpu => return StageResult::not_applicable("the CPU is required, so GPUs were not looked at"),
        Require::None if seen.shows_nvidia() || seen.shows_amd() => {
            return StageResult::Passed { facts: seen.facts() };
        }
        Require::None => {
            return StageResult::not_applicable(format!(
                "no NVIDIA or AMD device and no /dev/nvidia0, /dev/kfd or /dev/dxg ({}); none was required",
                seen.others()
            ));
        }
        Require::Cuda => (true, false),
        Require::Rocm => (false, true),
        Require::Any => (true, true),
    };
    let nvidia_usable = wanted.0 && (!seen.nvidia_nodes.is_empty() || seen.dxg);
    let amd_usable = wanted.1 && (seen.kfd || seen.dxg);
    if nvidia_usable || amd_usable {
        return StageResult::Passed { facts: seen.facts() };
    }
    if wanted.0 && seen.count(NVIDIA) > 0 {
        return StageResult::failed(
            Layer::KernelDriver,
            "no_device_node",
            format!("{} NVIDIA device(s) on the PCI bus, but no /dev/nvidia0", seen.count(NVIDIA)),
            "load the nvidia kernel driver, or give the container its devices (for example `--gpus all`; \
             NVIDIA_VISIBLE_DEVICES must not be `void` or `none`)",
        );
    }
    if wanted.1 && seen.count(AMD) > 0 {
        return StageResult::failed(
            Layer::KernelDriver,
            "no_kfd",
            format!("{} AMD device(s) on the PCI bus, but no /dev/kfd", seen.count(AMD)),
            "load the amdgpu kernel driver, or give the container its devices (`--device /dev/kfd --device /dev/dri`)",
        );
    }
    let (maker, nodes) = match wanted {
        (true, false) => ("NVIDIA", "/dev/nvidia0 or /dev/dxg"),
        (false, _) => ("AMD", "/dev/kfd or /dev/dxg"),
        (true, true) => ("NVIDIA or AMD", "/dev/nvidia0, /dev/kfd or /dev/dxg"),
    };
    StageResult::failed(
        Layer::Hardware,
        "no_device",
        format!("no {maker} device and no {nodes} ({})", seen.others()),
        "run on a machine with such a device, or pass the device into this container or virtual machine",
    )
}

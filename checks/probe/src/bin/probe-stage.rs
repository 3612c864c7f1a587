//! Runs one stage of the probe: what the crate's tests start as their children.

fn main() {
    let stage = std::env::args().nth(1).unwrap_or_default();
    std::process::exit(fascicolo_probe::child_main(&stage));
}

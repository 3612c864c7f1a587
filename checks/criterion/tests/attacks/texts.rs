//! The attacks of `modules/*.wat`.

use super::{Attack, Court, alone, module, run};
use std::path::Path;

/// A first line `;; kind | part of the message`, then a whole component or module, or fields that differ from the
/// honest module.
fn read(path: &Path) -> (Attack, Vec<u8>) {
    let text = std::fs::read_to_string(path).unwrap();
    let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
    let first = text.lines().next().and_then(|line| line.strip_prefix(";; "));
    let (kind, says) = first.and_then(|line| line.split_once(" | ")).unwrap_or_else(|| panic!("{name}: no first line"));
    let whole = text.contains("\n(component") || text.contains("\n(module");
    let bytes = if whole {
        wat::parse_str(&text).unwrap_or_else(|e| panic!("{name}: {e}"))
    } else {
        module::component(&module::text(&text))
    };
    (Attack::new(name, kind, says), bytes)
}

#[test]
fn every_component_that_means_harm_is_stopped_in_its_own_words() {
    if !alone("texts::every_component_that_means_harm_is_stopped_in_its_own_words") {
        return;
    }
    let mut court = Court::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/attacks/modules");
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for path in paths {
        let (attack, bytes) = read(&path);
        court.judge(&attack, |host| run(host, "attack", &bytes, &[]));
    }
    court.close("components written as text", 40);
}

//! The child's side of compiling a component, as a program of its own for the tests of this crate.

fn main() -> std::process::ExitCode {
    std::process::ExitCode::from(fascicolo_criterion::isolate::child_main() as u8)
}

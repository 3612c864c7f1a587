//! The program `fascicolo`: a Jupyter kernel, a notebook runner and a command line over one session.
//!
//! Owns: the session ([`session`]), what each action does ([`actions`]), the wire ([`wire`], the only place that knows
//! ZeroMQ), Rust cells ([`rust_cells`]), the user's commands ([`command`]), the notebook runner, the command line, the
//! one renderer of errors ([`failure`]). Must not know: how a criterion is hosted, how Parquet is read, how a record is
//! hashed or drawn; that is what the crates below are for. Start at [`session::Session::run_cell`], then
//! [`actions::perform`].

mod actions;
mod cli;
mod command;
mod failure;
mod front;
mod install;
mod kernel;
mod ledger;
mod replay;
mod runner;
mod rust_cells;
mod session;
mod validity;
mod wire;

fn main() -> std::process::ExitCode {
    // A process that Rust cells run in is this program too, and goes no further than here.
    rust_cells::runtime_hook();
    std::process::ExitCode::from(cli::start())
}

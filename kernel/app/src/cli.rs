//! The program's command line: the magics as subcommands, and what only a shell does.

use crate::actions::{self, Done};
use crate::failure::Failure;
use crate::front::{CellEnding, FrontEnd, MimeBundle, Stream};
use crate::session::{Interrupt, Session};
use clap::{Parser, Subcommand};
use fascicolo_contract::Standing;
use fascicolo_magics::{Action, Magic};
use serde_json::{Value, json};
use std::io::{IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// Show that a rebuilt machine-learning environment still gives the expected result
#[derive(Debug, Parser)]
#[command(name = "fascicolo", version, disable_help_subcommand = true, arg_required_else_help = true)]
pub struct Cli {
    /// The case file [default: ./session.fascicolo, or FASCICOLO_DOSSIER]
    #[arg(long, global = true, value_name = "FOLDER", env = "FASCICOLO_DOSSIER")]
    pub dossier: Option<PathBuf>,
    /// Results and errors as JSON on standard output
    #[arg(long, global = true)]
    pub json: bool,
    /// What to do
    #[command(subcommand)]
    pub command: Command,
}

/// What the program can do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// A magic.
    #[command(flatten)]
    Magic(Action),
    /// Run a notebook from top to bottom, without Jupyter
    Run(crate::runner::RunArgs),
    /// Check an exported case or a case file, without executing anything of it: the log, and what it binds of data,
    /// notebook and report
    Verify {
        /// The file that `dossier export` wrote, or the folder of a case file
        case: PathBuf,
        /// Keys that are known, as ssh-keygen's allowed signers file lists them
        #[arg(long, value_name = "FILE")]
        allowed_signers: Option<PathBuf>,
        /// An earlier checkpoint that somebody else kept: the outside witness
        #[arg(long, value_name = "FILE")]
        witness: Option<PathBuf>,
    },
    /// Verify an exported case, then run its notebook again in an empty folder
    Replay(crate::replay::ReplayArgs),
    /// Install the kernel for Jupyter
    Install(InstallArgs),
    /// Remove the kernel from Jupyter
    Uninstall(InstallArgs),
    /// Be the kernel that Jupyter starts
    #[command(hide = true)]
    Kernel {
        /// The connection file that Jupyter wrote
        #[arg(long, short = 'f', value_name = "FILE")]
        connection_file: PathBuf,
    },
    /// Compile one component, in a process of its own
    #[command(hide = true, name = crate::session::COMPILE_COMMAND)]
    CompileComponent,
    /// One stage of a probe, in a process of its own
    #[command(hide = true, name = actions::PROBE_STAGE)]
    ProbeStage {
        /// The stage
        stage: String,
    },
}

/// Where the kernelspec goes.
#[derive(Debug, clap::Args)]
pub struct InstallArgs {
    /// For this user (the default)
    #[arg(long)]
    user: bool,
    /// Below this folder
    #[arg(long, value_name = "FOLDER")]
    prefix: Option<PathBuf>,
    /// Below the active Python environment
    #[arg(long)]
    sys_prefix: bool,
    /// The kernel's name
    #[arg(long)]
    name: Option<String>,
    /// What front ends show
    #[arg(long)]
    display_name: Option<String>,
}

/// Parses the command line and runs it; the exit status.
pub fn start() -> u8 {
    let error = match Cli::try_parse() {
        Ok(cli) => return main(cli),
        Err(error) => error,
    };
    let asked_for =
        matches!(error.kind(), clap::error::ErrorKind::DisplayHelp | clap::error::ErrorKind::DisplayVersion);
    if asked_for || !std::env::args_os().any(|word| word == "--json") {
        let _ = error.print();
        return if asked_for { 0 } else { Standing::Usage.exit_status() };
    }
    let text = error.render().to_string();
    let message = text.split("\n\n").next().unwrap_or(&text).trim().trim_start_matches("error: ");
    let failure = Failure::usage(
        "usage",
        message,
        "`fascicolo --help` shows the commands, `fascicolo COMMAND --help` their options",
    );
    print_line(&json!({ "error": failure.record() }).to_string());
    failure.standing.exit_status()
}

fn main(cli: Cli) -> u8 {
    let terminal = Terminal::new(std::io::stderr().is_terminal());
    let dossier = cli.dossier.clone();
    let ended = match cli.command {
        Command::CompileComponent => return fascicolo_criterion::isolate::child_main() as u8,
        Command::ProbeStage { stage } => return fascicolo_probe::child_main(&stage) as u8,
        Command::Magic(action) => magic(action, dossier.as_deref(), cli.json, &terminal),
        Command::Run(args) => crate::runner::run(&args, dossier.as_deref(), cli.json),
        Command::Verify { case, allowed_signers, witness } => {
            actions::verify_case(&case, allowed_signers.as_deref(), witness.as_deref()).map(|done| {
                print_result(done.shown_as, &done.result, cli.json);
                done.standing
            })
        }
        Command::Replay(args) => crate::replay::replay(&args, cli.json),
        Command::Kernel { connection_file } => crate::kernel::serve(&connection_file, dossier.as_deref()),
        Command::Install(args) => install(args, crate::install::install, "installed"),
        Command::Uninstall(args) => install(args, crate::install::uninstall, "removed"),
    };
    terminal.clear();
    match ended {
        Ok(standing) => standing.exit_status(),
        Err(failure) => {
            if cli.json {
                print_line(&json!({ "error": failure.record() }).to_string());
            } else {
                eprintln!("{}", failure.line());
            }
            failure.standing.exit_status()
        }
    }
}

fn install(
    args: InstallArgs,
    act: fn(&crate::install::Install) -> Result<PathBuf, crate::install::InstallError>,
    done: &str,
) -> Result<Standing, Failure> {
    let options = crate::install::Install {
        user: args.user,
        prefix: args.prefix,
        sys_prefix: args.sys_prefix,
        name: args.name,
        display_name: args.display_name,
        exe: None,
    };
    let path = act(&options)?;
    print_line(&format!("{done} {}", path.display()));
    Ok(Standing::Holds)
}

/// The case file of a shell: the one named, else ./session.fascicolo.
fn dossier_path(named: Option<&Path>) -> PathBuf {
    named.map_or_else(|| PathBuf::from("session.fascicolo"), Path::to_owned)
}

fn magic(action: Action, dossier: Option<&Path>, json: bool, terminal: &Terminal) -> Result<Standing, Failure> {
    let path = dossier_path(dossier);
    if let Action::Help(args) = &action {
        // What only a shell does has its page too.
        let mut grammar = <Cli as clap::CommandFactory>::command();
        grammar.build();
        if fascicolo_magics::help::page(&args.magic).is_none()
            && let Some(page) = fascicolo_magics::help::command_page(&mut grammar, &args.magic)
        {
            print_line(page.trim_end());
            return Ok(Standing::Holds);
        }
    }
    if let Action::Dossier(args) = &action
        && args.what.only_reads()
        && args.what.place().is_none()
        && !path.exists()
    {
        return Err(no_case_file(&path));
    }
    if let Some(done) = actions::perform_reading(&action, &path, terminal) {
        let Done { shown_as, result, standing, .. } = done?;
        print_result(shown_as, &result, json);
        return Ok(standing);
    }
    let body = if action.needs_body() { Some(body_of(&action)?) } else { None };
    let folder = std::env::current_dir().map_err(|e| {
        Failure::usage("no_folder", format!("the current folder is gone: {e}"), "change to a folder that is there")
    })?;
    if let Action::Dossier(args) = &action {
        must_be_there(&path, &args.what)?;
    }
    let mut session = Session::open(&path, &folder)?;
    interrupt_on_signal(session.interrupt.clone());
    let line = shell_line();
    let ran = match &body {
        Some(body) => format!("{line}\n{body}"),
        None => line.clone(),
    };
    let mut standing = Standing::Holds;
    let mut output = None;
    let magic = Magic { action, body, line };
    let ending = session.run_command(&ran, &magic, terminal, &mut |shown_as, result, ended| {
        standing = ended;
        output = Some((shown_as, result.clone()));
    });
    session.close()?;
    terminal.clear();
    let shown = output.is_some();
    if let Some((shown_as, result)) = output {
        print_result(shown_as, &result, json);
    }
    match ending {
        CellEnding::Ok => Ok(standing),
        // The result tells a program all of it already: one JSON value, not two.
        CellEnding::Error(_) if shown && json => Ok(standing),
        CellEnding::Error(_) => Err(session.last_failure.take().unwrap_or_else(|| Failure {
            standing: Standing::OurFault,
            ..Failure::refused("unknown", "the command ended without saying why", "report this")
        })),
    }
}

/// Signing, sharing and cleaning are done to a case file that is there: a typing error must not begin one.
fn must_be_there(path: &Path, what: &fascicolo_magics::dossier::DossierWhat) -> Result<(), Failure> {
    if path.exists() || matches!(what, fascicolo_magics::dossier::DossierWhat::Import { .. }) {
        return Ok(());
    }
    Err(no_case_file(path))
}

/// That there is none, and which there are.
fn no_case_file(path: &Path) -> Failure {
    let here = std::fs::read_dir(".").into_iter().flatten().flatten().map(|entry| entry.file_name());
    let mut here: Vec<String> = here.map(|name| name.to_string_lossy().into_owned()).collect();
    here.retain(|name| name.ends_with(".fascicolo"));
    here.sort();
    let next = match here.as_slice() {
        [] => "run a notebook or a command first, or name the case file with --dossier".to_owned(),
        found => format!("name one that is here with --dossier: {}", found.join(", ")),
    };
    Failure::usage("no_case_file", format!("there is no case file {}", path.display()), next)
}

/// The body of a `%%` magic in a shell: `--file`, else standard input.
fn body_of(action: &Action) -> Result<String, Failure> {
    let file = match action {
        Action::Criterion(args) => args.file.as_ref(),
        Action::Reference(args) => args.file.as_ref(),
        Action::Snapshot(_)
        | Action::Probe(_)
        | Action::Calibrate(_)
        | Action::Declare(_)
        | Action::Compare(_)
        | Action::Why(_)
        | Action::Dossier(_)
        | Action::Help(_) => None,
    };
    let unreadable = |what: String, e: std::io::Error| {
        Failure::usage(
            "body_unreadable",
            format!("{what} cannot be read: {e}"),
            "give the body with --file FILE or on standard input",
        )
    };
    match file {
        Some(file) => std::fs::read_to_string(file).map_err(|e| unreadable(file.display().to_string(), e)),
        None if std::io::stdin().is_terminal() => Err(Failure::usage(
            "no_body",
            format!("`{}` needs a body", action.name()),
            "give it with --file FILE or on standard input",
        )),
        None => {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text).map_err(|e| unreadable("standard input".into(), e))?;
            Ok(text)
        }
    }
}

/// The command line as typed, for the record.
fn shell_line() -> String {
    let words: Vec<String> = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    format!("fascicolo {}", words.join(" "))
}

/// A result as JSON, or for people.
pub fn print_result(shown_as: &'static str, result: &Value, json: bool) {
    if json {
        print_line(&result.to_string());
    } else {
        print_line(&fascicolo_display::terminal(shown_as, result, std::io::stdout().is_terminal()));
    }
}

/// A reader that went away is no error of ours.
pub fn print_line(text: &str) {
    let _ = writeln!(std::io::stdout(), "{text}");
}

/// Ctrl-C stops what runs and leaves its record; a second one ends the program.
pub fn interrupt_on_signal(interrupt: Interrupt) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    std::thread::spawn(move || {
        let Ok(runtime) = runtime else { return };
        runtime.block_on(async {
            while tokio::signal::ctrl_c().await.is_ok() {
                if interrupt.is_raised() {
                    std::process::exit(130);
                }
                interrupt.raise();
            }
        });
    });
}

/// A terminal: progress on standard error, streams passed on.
pub struct Terminal {
    bar: Option<Mutex<Bar>>,
    silent: bool,
}

struct Bar {
    shown: Option<indicatif::ProgressBar>,
    since: std::time::Instant,
}

impl Terminal {
    /// With a progress bar, or silent about progress.
    pub fn new(progress: bool) -> Terminal {
        let bar = Bar { shown: None, since: std::time::Instant::now() };
        Terminal { bar: progress.then(|| Mutex::new(bar)), silent: false }
    }

    /// One that shows nothing, where a program reads the result.
    pub fn silent() -> Terminal {
        Terminal { bar: None, silent: true }
    }

    /// A line on standard output.
    pub fn line(&self, text: &str) {
        if !self.silent {
            print_line(text);
        }
    }

    /// Takes the progress bar away.
    pub fn clear(&self) {
        if let Some(bar) = &self.bar {
            let mut bar = bar.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            if let Some(shown) = bar.shown.take() {
                shown.finish_and_clear();
            }
            bar.since = std::time::Instant::now();
        }
    }
}

impl FrontEnd for Terminal {
    fn stream(&self, stream: Stream, text: &str) {
        match stream {
            Stream::Stdout if self.silent => {}
            Stream::Stdout => {
                let _ = std::io::stdout().write_all(text.as_bytes());
            }
            Stream::Stderr => {
                let _ = std::io::stderr().write_all(text.as_bytes());
            }
        }
    }

    fn display(&self, bundle: &MimeBundle) {
        if let Some(text) = bundle.get("text/plain") {
            self.line(text);
        }
    }

    fn result(&self, _execution_count: u32, bundle: &MimeBundle) {
        self.display(bundle);
    }

    fn progress(&self, what: &str, share: Option<f64>) {
        let Some(bar) = &self.bar else { return };
        let mut bar = bar.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        // What is over in a moment needs no bar.
        if bar.since.elapsed() < std::time::Duration::from_millis(400) {
            return;
        }
        let shown = bar.shown.get_or_insert_with(|| {
            let shown = indicatif::ProgressBar::new(1000);
            let style = indicatif::ProgressStyle::with_template("{msg} {bar:30} {percent}% {elapsed} left {eta}");
            shown.set_style(style.unwrap_or_else(|_| indicatif::ProgressStyle::default_bar()));
            shown
        });
        shown.set_message(what.to_owned());
        if let Some(share) = share {
            shown.set_position((share.clamp(0.0, 1.0) * 1000.0) as u64);
        }
    }
}

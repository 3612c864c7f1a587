//! `%dossier`

use crate::why::EntryName;
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// Look at the case file, verify it, sign it, take values out of it, share it.
///
/// Every cell and every shell command is entered in an append-only file beside the notebook before it runs, and again
/// when it has ended. `verify` recomputes every hash: entries, tree, checkpoint, disclosures and blobs; and checks that
/// every verdict stands to its seal as it claims. It shows integrity and order; without an outside witness it cannot
/// show that the whole file was not written anew.
///
/// `status` also says whether the notebook still stands for what ran: it ran from top to bottom in one session, every
/// cell says what ran, it shows what was recorded, data and environment are those of then. It is `valid` if all of that
/// holds, `stale` if anything does not, and else `not all could be told`. It looks at the notebook as it was saved.
///
/// Exit status, in a shell: `status` gives 0 if the notebook is valid, 1 if it is stale, 3 if not all could be told, as
/// where there is no notebook. `verify` gives 0 if nothing was changed, 1 if anything was, 3 if that cannot be told: no
/// checkpoint, no known signature where signers were given, a derived file of another version. It shows the badge of a
/// case and does not judge it: a notebook that was stale when it was exported is unchanged. In a cell neither stops a
/// notebook; a failed verification does.
///
/// An export travels with the same answers, as far as the case itself tells. `fascicolo verify CASE.zip` compares its
/// data, code cells and outputs with the log, and makes report, VERIFY.md and metadata again to compare them. For text
/// cells no run vouches; an export enters their digests, so that nobody changes them unseen from then on.
///
///     %dossier status                         what was compared, what came of it, and whether the notebook stands for it
///     %dossier log                            its entries, one a line
///     %dossier show --entry 12                one entry with everything that is disclosed of it
///     %dossier show --entry 70d8/27           entry 27 of an imported log, whose origin begins with 70d8
///     %dossier verify                         whether anything was changed
///     %dossier sign --ssh ~/.ssh/id_ed25519   sign the log as it stands, with ssh-keygen
///     %dossier redact --entry 12 --field ran --because "…"
///                                             delete a value; every proof still verifies
///     %dossier export -o case.zip             the case as one file: notebook, log, data, report.html, VERIFY.md
///     %dossier import case.zip                another machine's case as a parent of this one; nothing of it is run
///     %dossier gc                             remove stored contents that no entry names
///
/// Two machines: A declares reference and criterion and exports; B imports that before it opens its candidate, rebuilds,
/// and compares. The seal of A counts on B, and what A opened before it sealed stays opened. A's files go into a folder of
/// its case's name beside the notebook, `a/` for `a.fascicolo`, or into that of `--into`. One case verifies as a whole.
///
/// `redact` takes out one value: its fields are those that `show` lists. `gc` removes contents below blobs/sha256 that no
/// entry names; the log, what entries name, and imported cases it does not touch. What interrupted writes left in
/// blobs/tmp goes whenever a session opens the case file.
///
/// In git: keep the folder NAME.fascicolo with the notebook. Put into .gitignore
///
///     *.fascicolo/lock
///     *.fascicolo/place
///     *.fascicolo/blobs/tmp/
///
/// and into .gitattributes `*.fascicolo/** -text merge=binary`, so that no line ending is changed and no two logs are
/// mixed. Two branches that both went on cannot be merged: keep one, export the other and import it. A checkout is a
/// copy, and a copy that goes on is a fork with a name of its own.
#[derive(Debug, Clone, Args)]
#[command(verbatim_doc_comment)]
pub struct DossierArgs {
    /// What to do
    #[command(subcommand)]
    pub what: DossierWhat,
}

/// What to do with a case file.
#[derive(Debug, Clone, Subcommand)]
pub enum DossierWhat {
    /// What was compared, what came of it, and whether the notebook still stands for what ran
    Status(Place),
    /// Its entries, one a line
    Log(Place),
    /// One entry with everything that is disclosed of it: what ran, sources, results
    Show {
        /// The entry's number, or ORIGIN/NUMBER of an imported log, as `%why` takes it
        #[arg(long, value_name = "ENTRY")]
        entry: EntryName,
        /// Where
        #[command(flatten)]
        place: Place,
    },
    /// Whether anything in it was changed, and every verdict stands to its seal as it claims
    Verify {
        /// Keys that are known, as ssh-keygen's allowed signers file lists them
        #[arg(long, value_name = "FILE")]
        allowed_signers: Option<PathBuf>,
        /// An earlier checkpoint that somebody else kept: the outside witness
        #[arg(long, value_name = "FILE")]
        witness: Option<PathBuf>,
        /// Where
        #[command(flatten)]
        place: Place,
    },
    /// Sign the log as it stands, with ssh-keygen; the key never enters the case file
    Sign {
        /// The private key, or the public key of one that an agent holds
        #[arg(long, value_name = "KEY")]
        ssh: PathBuf,
    },
    /// Delete a value that was entered; its commitment stays, and every proof still verifies
    Redact {
        /// The entry's number
        #[arg(long, value_name = "NUMBER")]
        entry: u64,
        /// The value's field, as `show` names it
        #[arg(long, value_name = "FIELD")]
        field: String,
        /// Why; stays in the case file
        #[arg(long, value_name = "REASON")]
        because: String,
    },
    /// Write the case as one file that anybody can check with stock tools
    Export {
        /// The file to write
        #[arg(long, short, value_name = "ZIP")]
        output: PathBuf,
        /// The notebook to take along, as NAME.ipynb [default: the one of the case file's name beside it; if that shows
        /// no outputs, the executed copy that `fascicolo run` left of it]
        #[arg(long, value_name = "NOTEBOOK")]
        notebook: Option<PathBuf>,
        /// Data files of at most this size travel along; larger ones by digest only
        #[arg(long, value_name = "MIB", default_value_t = 64)]
        data_limit_mib: u64,
    },
    /// Join another machine's exported case: verified, never executed, its seals and openings count here
    Import {
        /// The file that `dossier export` wrote
        #[arg(value_name = "ZIP")]
        case: PathBuf,
        /// Where its notebook and data go [default: a folder of the case's name]
        #[arg(long, value_name = "FOLDER")]
        into: Option<PathBuf>,
    },
    /// Remove stored contents below blobs/sha256 that no entry names; nothing else is touched
    Gc,
}

/// Which case file.
#[derive(Debug, Clone, Default, Args)]
pub struct Place {
    /// Another case file than this notebook's or folder's
    #[arg(value_name = "FOLDER")]
    pub path: Option<PathBuf>,
}

impl DossierWhat {
    /// The other case file that was named, if one was.
    pub fn place(&self) -> Option<&PathBuf> {
        match self {
            DossierWhat::Status(place) | DossierWhat::Log(place) => place.path.as_ref(),
            DossierWhat::Show { place, .. } | DossierWhat::Verify { place, .. } => place.path.as_ref(),
            DossierWhat::Sign { .. }
            | DossierWhat::Redact { .. }
            | DossierWhat::Export { .. }
            | DossierWhat::Import { .. }
            | DossierWhat::Gc => None,
        }
    }

    /// Whether it only looks.
    pub fn only_reads(&self) -> bool {
        match self {
            DossierWhat::Status(_) | DossierWhat::Log(_) | DossierWhat::Show { .. } | DossierWhat::Verify { .. } => {
                true
            }
            DossierWhat::Sign { .. }
            | DossierWhat::Redact { .. }
            | DossierWhat::Export { .. }
            | DossierWhat::Import { .. }
            | DossierWhat::Gc => false,
        }
    }
}

//! `%%resume`

use crate::compare::Expect;
use clap::Args;
use std::path::PathBuf;

/// Interrupt a training, resume it from its checkpoint in a fresh process, and compare with the uninterrupted one.
///
/// Whether a training can be resumed is a question of its own, with a criterion of its own. First the training runs
/// without interruption, and the log that it writes is declared as the reference; then the criterion is sealed:
///
///     %run --writes whole.csv -- python3 train.py --steps 60 --log whole.csv
///
///     %%reference new my-training
///     goal = "trajectory"
///     [output]
///     path = "whole.csv"                  # CSV, JSON lines, Parquet or TensorBoard's event file
///     id = "step"                         # the column with the step, if it is not named `step`
///     vector = "loss, lr"                 # the scalars to compare [default: all that every step has]
///
///     %declare trajectory --set atol=0 --set rtol=0 --because "deterministic on this processor"
///
/// Then this magic runs two commands, one after the other, each in a process of its own. Paths start from the
/// notebook's folder. How the first part is interrupted is up to its command: an option of the script, or a kill; it
/// may end with any status, if its checkpoint is there:
///
///     %%resume --criterion trajectory
///     reference = "whole.csv"             # the uninterrupted log, as declared
///     at = 30                             # the last step that the checkpoint holds
///     checkpoint = "at-30.ckpt"
///     reads = ["train.py"]                # fingerprinted before the first command and after the last
///     [first]
///     command = "python3 train.py --steps 30 --log first.csv --save at-30.ckpt"
///     log = "first.csv"
///     [resumed]
///     command = "python3 train.py --steps 60 --log resumed.csv --resume at-30.ckpt"
///     log = "resumed.csv"                 # may be the same file, if the script appends
///     [repeat]                            # if wanted: the uninterrupted training once more, as a control
///     command = "python3 train.py --steps 60 --log again.csv"
///     log = "again.csv"
///     [state]                             # what the script restores: restored, not_restored, unknown or not_used
///     model = "restored"
///     optimizer = "restored"
///     scheduler = "restored"
///     step = "restored"
///     rng = "unknown"
///     sampler = "unknown"
///     scaler = "not_used"
///     ema = "not_used"
///
/// What [state] leaves out counts as unknown, and what is unknown is named beside every verdict. A command is cut into
/// words as a shell does, and no shell runs it. The steps of both parts are joined in `joined` (default: the resumed
/// log's name with `.joined.csv`) and matched with the reference's by step. It is not comparable, and no fail, if a
/// checkpoint was not written, if the resumed log does not begin right after step `at` (then the checkpoint was not
/// read), if steps are missing or stand twice, if a scalar is not finite, or if the columns are others. With a verdict
/// other than pass stand hints at what the pattern looks like: the scheduler, the data order, a random generator, the
/// optimizer, the model.
#[derive(Debug, Clone, Args)]
#[command(verbatim_doc_comment)]
pub struct ResumeArgs {
    /// The criterion: `trajectory`, or yours
    #[arg(long, value_name = "NAME", default_value = "trajectory")]
    pub criterion: String,
    /// Only look: figures without a verdict. Counts as opening the joined log
    #[arg(long)]
    pub explore: bool,
    /// With --explore: a parameter of the criterion (repeatable). Otherwise parameters come from the declaration
    #[arg(long, value_name = "PARAMETER=NUMBER", value_parser = crate::setting)]
    pub set: Vec<(String, f64)>,
    /// The verdict that you expect; a run of the notebook succeeds if every verdict is as expected
    #[arg(long, value_enum, default_value = "pass", value_name = "VERDICT")]
    pub expect: Expect,
    /// Accept a post hoc verdict; recorded
    #[arg(long)]
    pub accept_post_hoc: bool,
    /// The folder that the commands run in [default: the notebook's; in a shell the current one]
    #[arg(long = "in", value_name = "FOLDER")]
    pub folder: Option<PathBuf>,
    /// In a shell: a file with the body [default: standard input]
    #[arg(long, value_name = "FILE")]
    pub file: Option<PathBuf>,
}

//! `%compare`: structure, then criterion, then verdict, under the rules of the seal.

use super::files::{self, Watching};
use super::{Done, criterion, declare, figures};
use crate::failure::Failure;
use crate::front::FrontEnd;
use crate::ledger::{self, Content, Reference, Seal};
use crate::session::{Fact, Place, Session};
use fascicolo_contract::causes::{Causes, Hint};
use fascicolo_contract::measure::{Measure, MeasureTrouble, measure_rows};
use fascicolo_contract::trajectory::Trajectory;
use fascicolo_contract::verdict::{Figure, Judgement, Parameter, Verdict};
use fascicolo_contract::{Obstacle, Standing};
use fascicolo_criterion::{Admitted, Finished};
use fascicolo_dossier::{Draft, FileSeen, Kind};
use fascicolo_embeddings::{Columns, Comparison, Named};
use fascicolo_magics::compare::CompareArgs;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Rows that a criterion sees at once, at most: with 384 float32 dimensions both sides fit a processor's second cache.
const BATCH_ROWS: usize = 256;
/// Bytes of vectors that a criterion sees at once, at most: far below its memory limit, however wide the rows.
const BATCH_BYTES: usize = 32 << 20;

/// Under which seal a comparison runs.
struct Terms {
    reference: Option<Reference>,
    seal: Option<Seal>,
    parameters: Vec<(String, f64)>,
    /// Parameters that exploring left open; they are shown as 0 and judge nothing.
    open: Vec<String>,
    /// Why the verdict is post hoc, apart from the candidate having been opened.
    changed: Option<String>,
    columns: Columns,
}

/// What a comparison of a resumed training has besides.
pub(super) struct Resuming {
    /// The last step that the checkpoint holds.
    pub at: f64,
    /// What stands beside the verdict.
    pub record: Value,
    /// Why the training was not resumed at all.
    pub obstacles: Vec<Obstacle>,
    /// What stands beside the verdict in words.
    pub notes: Vec<String>,
    /// The uninterrupted training run once more: its log.
    pub control: Option<PathBuf>,
}

/// `%compare`
pub fn perform(
    session: &mut Session,
    args: &CompareArgs,
    place: &Place,
    front: &dyn FrontEnd,
) -> Result<Done, Failure> {
    perform_as(session, args, None, place, front)
}

/// Refuses what [`perform_as`] would refuse, as far as that can be told before there is a candidate.
pub(super) fn allowed(session: &mut Session, args: &CompareArgs) -> Result<(), Failure> {
    let name = args.criterion.as_deref().unwrap_or("cosine");
    fascicolo_embeddings::files_of(&session.resolve(&args.reference))?;
    let mut found = criterion::find(session, name)?;
    let terms = if args.explore { exploring(args, &found.admitted) } else { declared(session, args, &mut found)? };
    found.admitted.check_parameters(&terms.parameters)?;
    let Some(declared) = &terms.reference else { return Ok(()) };
    let digest = files::bytes_digest(&session.resolve(&args.reference), &super::why::Unwatched)?.0;
    if declared.output != digest { Err(not_the_reference(args, declared, &digest)) } else { Ok(()) }
}

/// A comparison; of a resumed training with what belongs to that.
pub(super) fn perform_as(
    session: &mut Session,
    args: &CompareArgs,
    resuming: Option<Resuming>,
    place: &Place,
    front: &dyn FrontEnd,
) -> Result<Done, Failure> {
    ledger::probe_allows(&session.dossier)?;
    let name = args.criterion.as_deref().unwrap_or("cosine");
    // A file that is not there is told before any rule: nothing could be opened.
    for path in [&args.reference, &args.candidate] {
        fascicolo_embeddings::files_of(&session.resolve(path))?;
    }
    let mut found = criterion::find(session, name)?;
    let mut terms = if args.explore { exploring(args, &found.admitted) } else { declared(session, args, &mut found)? };
    found.admitted.check_parameters(&terms.parameters)?;
    // Where a path leads is settled once: a link that changes meanwhile leads nobody elsewhere.
    let place_of = |path: &Path| std::fs::canonicalize(session.resolve(path)).unwrap_or_else(|_| session.resolve(path));
    let (reference, candidate) = (place_of(&args.reference), place_of(&args.candidate));
    let interrupt = session.interrupt.clone();
    let watching = |what: String| Watching { what, front, interrupt: interrupt.clone() };
    let reading = |path: &Path| watching(format!("reading {}", files::shown(path)));
    let stamps = (files::stamp(&reference), files::stamp(&candidate));
    let of_reference = files::seen("reference", &reference, &reading(&args.reference))?;
    let digest = &of_reference[0].sha256;
    if args.explore {
        known_reference(session, &mut terms, digest)?;
    }
    if let Some(declared) = terms.reference.as_ref().filter(|declared| declared.output != *digest) {
        return Err(not_the_reference(args, declared, digest));
    }
    let sees = &found.admitted.description;
    if (sees.wants_labels || sees.wants_candidate_labels) && terms.columns.label.is_none() {
        return Err(labels_wanted(name, args.explore));
    }
    terms.columns.candidate_label = sees.wants_candidate_labels;
    let of_candidate = files::seen("candidate", &candidate, &reading(&args.candidate))?;
    let mut content = Content::of(&of_candidate, digest);
    let before = session.dossier.size();
    opened(session, place, (&args.reference, &of_reference), (&args.candidate, &of_candidate), args.explore)?;

    let watch = watching("matching rows by id".into());
    let comparison = Comparison::open(&reference, &candidate, &terms.columns, &watch).map_err(|error| {
        let mut failure = Failure::from(error);
        // Outside exploring the reference's declaration names the columns, and options cannot.
        if !args.explore && ["--id", "--vector", "--label"].iter().any(|option| failure.next.contains(option)) {
            failure.next = "write the candidate's columns under the names that the reference was declared with".into();
        }
        failure
    })?;
    let rows = (comparison.reference_content_digest(), comparison.content_digest());
    rows_opened(session, place, &rows)?;
    let judged = match &resuming {
        Some(resuming) if !resuming.obstacles.is_empty() => Judged::Not(resuming.obstacles.clone()),
        _ => judge(session, &comparison, &found.admitted, &terms.parameters, &mut None, front)?,
    };
    let resuming = match resuming {
        Some(resuming) => Some(with_control(session, resuming, &reference, &terms, &found.admitted, front)?),
        None => None,
    };
    if stamps != (files::stamp(&reference), files::stamp(&candidate)) {
        return Err(Failure {
            standing: Standing::CannotTell,
            ..Failure::refused(
                "file_changed",
                "a file changed while it was being read",
                "compare again when nothing writes to it",
            )
        });
    }
    // The reference's own rows in another encoding tell nothing about a candidate either.
    content.rows = Some(rows.1).filter(|candidate| *candidate != rows.0);

    let hints = match &judged {
        Judged::Finished(finished) if args.explore || finished.outcome.judgement != Judgement::Pass => {
            hints(session, &comparison, resuming.as_ref().map(|resuming| resuming.at), front)?
        }
        Judged::Finished(_) | Judged::Not(_) => Vec::new(),
    };
    let verdict = match (&judged, args.explore) {
        (Judged::Not(_), _) => Verdict::NotComparable,
        (Judged::Finished(_), true) => Verdict::None,
        (Judged::Finished(finished), false) => match finished.outcome.judgement {
            Judgement::Pass => Verdict::Pass,
            Judgement::Fail => Verdict::Fail,
            Judgement::Inconclusive => Verdict::Inconclusive,
        },
    };
    let late = terms.seal.as_ref().and_then(|seal| ledger::late(&*session.dossier, name, seal, &content, before));
    let seal = terms.seal.as_ref().filter(|_| resuming.is_some());
    let resumed = seal.and_then(|seal| ledger::resumed_before(&*session.dossier, seal));
    let post_hoc_because = if args.explore { None } else { terms.changed.clone().or(late).or(resumed) };
    let given = Given {
        args,
        name,
        terms: &terms,
        digest: &found.digest,
        admitted: &found.admitted,
        verdict,
        post_hoc_because,
        content: &content,
        hints,
        resuming,
    };
    let fact = given.fact(session, &comparison, &judged, of_reference, of_candidate)?;
    let mut done = session.record(place, Kind::Verdict, "verdict", fact)?;
    done.standing = given.standing();
    done.counts = (!args.explore).then_some(done.standing);
    Ok(done)
}

pub(super) fn labels_wanted(name: &str, exploring: bool) -> Failure {
    let next = if exploring {
        "name the label column with --label"
    } else {
        "declare a reference whose [output] names its label column: label = \"…\""
    };
    Failure::usage("no_labels", format!("criterion `{name}` sees labels, and no label column is named"), next)
}

fn not_the_reference(args: &CompareArgs, declared: &Reference, digest: &str) -> Failure {
    Failure {
        place: Some(files::shown(&args.reference)),
        ..Failure::refused(
            "not_the_declared_reference",
            format!(
                "{} has SHA-256 {}…, but the output that reference `{}` declares has {}…",
                files::shown(&args.reference),
                digest.get(..12).unwrap_or(digest),
                declared.name,
                declared.output.get(..12).unwrap_or(&declared.output),
            ),
            "give the declared output, or declare a new reference",
        )
    }
}

fn exploring(args: &CompareArgs, criterion: &Admitted) -> Terms {
    let mut parameters = args.set.clone();
    let mut open = Vec::new();
    for parameter in &criterion.description.parameters {
        if !parameters.iter().any(|(name, _)| name == &parameter.name) {
            parameters.push((parameter.name.clone(), harmless(parameter)));
            open.push(parameter.name.clone());
        }
    }
    let columns =
        Columns { id: args.id.clone(), vector: args.vector.clone(), label: args.label.clone(), candidate_label: false };
    Terms { reference: None, seal: None, parameters, open, changed: None, columns }
}

/// A number for a parameter that judges nothing; but the criterion must get one that means something to it.
pub(super) fn harmless(parameter: &Parameter) -> f64 {
    0.0f64.max(parameter.least.unwrap_or(0.0)).min(parameter.most.unwrap_or(f64::MAX))
}

/// Rows of a batch of so wide rows: two sides of at most 8 bytes a value.
fn batch_rows(dims: usize) -> usize {
    (BATCH_BYTES / (16 * dims).max(1)).clamp(1, BATCH_ROWS)
}

/// The columns that the reference was declared with.
pub(super) fn columns_of(reference: &Value) -> Columns {
    let named =
        |column: &str| reference.pointer(&format!("/output/named/{column}")).and_then(Value::as_str).map(str::to_owned);
    Columns { id: named("id"), vector: named("vector"), label: named("label"), candidate_label: false }
}

/// Exploring the declared reference's own output: its columns are known, where no option names others.
fn known_reference(session: &Session, terms: &mut Terms, digest: &str) -> Result<(), Failure> {
    let Some(reference) = ledger::reference(&session.dossier).filter(|r| r.output == digest) else { return Ok(()) };
    let declared = columns_of(&session.stored(reference.entry)?);
    let columns = &mut terms.columns;
    columns.id = columns.id.take().or(declared.id);
    columns.vector = columns.vector.take().or(declared.vector);
    columns.label = columns.label.take().or(declared.label);
    terms.reference = Some(reference);
    Ok(())
}

/// The columns that the reference was declared with; an option may repeat one of them, and not name another.
fn declared_columns(args: &CompareArgs, reference: &Value) -> Result<Columns, Failure> {
    let text = |pointer: &str| reference.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    let column = |option: &str, given: &Option<String>| -> Result<Option<String>, Failure> {
        let read = text(&format!("/output/columns/{option}"));
        match given {
            Some(given) if read.as_ref() != Some(given) => Err(Failure::refused(
                "not_the_declared_column",
                format!(
                    "--{option} {given} is not the column that the reference was declared with, {}",
                    read.map_or_else(|| "none".to_owned(), |read| format!("`{read}`")),
                ),
                format!("leave --{option} out, or declare a reference with that column"),
            )),
            Some(given) => Ok(Some(given.clone())),
            None => Ok(text(&format!("/output/named/{option}"))),
        }
    };
    Ok(Columns {
        id: column("id", &args.id)?,
        vector: column("vector", &args.vector)?,
        label: column("label", &args.label)?,
        candidate_label: false,
    })
}

fn declared(session: &mut Session, args: &CompareArgs, found: &mut criterion::Found) -> Result<Terms, Failure> {
    let name = found.admitted.name.clone();
    let not = |what: String| {
        Failure::refused(
            "not_declared",
            what,
            format!(
                "seal it first: `%declare {name} --because \"…\"` with `--set` for each parameter; or look without a verdict: `--explore`"
            ),
        )
    };
    let reference = ledger::reference(&session.dossier).ok_or_else(|| {
        Failure::refused(
            "no_reference",
            "no reference is declared in this case file, so no file can be compared with it",
            "begin with a `%%reference new NAME` cell; or look without a verdict: `--explore`",
        )
    })?;
    let last = ledger::last_seal(&session.dossier, &name)
        .ok_or_else(|| not(format!("criterion `{name}` was not declared for this reference")))?;
    if !args.set.is_empty() && declare::parameters(&args.set) != declare::parameters(&last.parameters) {
        return Err(not(format!("criterion `{name}` was declared with other parameters (entry {})", last.entry)));
    }
    if last.reference != reference.identity || last.output != reference.output {
        return Err(not(format!("criterion `{name}` was declared for another reference (entry {})", last.entry)));
    }
    // A standard criterion is judged by as it was sealed, though a newer program ships another one.
    if found.standard && last.digest != found.digest {
        *found = criterion::as_sealed(session, &name, &last.digest)?;
    }
    let changed = (last.digest != found.digest)
        .then(|| format!("criterion `{name}` was changed after its seal of entry {}", last.entry));
    // A seal renewed with the same content keeps the time of its first.
    let seal = ledger::earliest_seal(&session.dossier, &last.digest, &last.parameters, &reference).unwrap_or(last);
    let parameters = seal.parameters.clone();
    let columns = declared_columns(args, &session.stored(reference.entry)?)?;
    Ok(Terms { reference: Some(reference), seal: Some(seal), parameters, open: Vec::new(), changed, columns })
}

/// Enters that the candidate's content is read, before anything of it can be seen: a crash cannot hide an attempt.
pub(super) fn opened(
    session: &mut Session,
    place: &Place,
    (reference_path, reference): (&Path, &[FileSeen]),
    (candidate_path, candidate): (&Path, &[FileSeen]),
    explore: bool,
) -> Result<(), Failure> {
    let mut draft = Draft::new(Kind::Opened);
    place.mark(&mut draft);
    draft.reads = [reference, candidate].concat();
    draft.private = vec![
        ("reference.path".to_owned(), files::shown(reference_path)),
        ("candidate.path".to_owned(), files::shown(candidate_path)),
    ];
    draft.body = json!({ "explore": explore });
    session.append(draft)?;
    Ok(())
}

/// Enters which rows were read, on both sides and however they are stored, before a criterion sees them: an error cannot
/// hide what it may have told.
pub(super) fn rows_opened(session: &mut Session, place: &Place, rows: &(String, String)) -> Result<(), Failure> {
    let mut draft = Draft::new(Kind::Opened);
    place.mark(&mut draft);
    draft.body = json!({ "rows": { "reference": rows.0, "candidate": rows.1 } });
    session.append(draft)?;
    Ok(())
}

/// Measures for which all rows of a comparison were compared with each other. They depend on their own parameters only,
/// such as k, and not on the bounds by which a criterion judges them.
pub(super) struct OfAllRows {
    asked: Vec<Option<Measure>>,
    lists: Vec<Option<Vec<f64>>>,
    trouble: MeasureTrouble,
}

/// What came of showing the rows to the criterion.
pub(super) enum Judged {
    /// The structure, or a measure without a value, forbids it.
    Not(Vec<Obstacle>),
    /// The answer.
    Finished(Finished),
}

/// Shows the rows to the criterion. `kept`: what an earlier judgement of the same comparison measured.
pub(super) fn judge(
    session: &Session,
    comparison: &Comparison,
    criterion: &Admitted,
    parameters: &[(String, f64)],
    kept: &mut Option<OfAllRows>,
    front: &dyn FrontEnd,
) -> Result<Judged, Failure> {
    if !comparison.comparable() {
        return Ok(Judged::Not(Vec::new()));
    }
    let measures = criterion.measures(parameters)?;
    let asked = measures.iter().map(|m| Some(m.clone()).filter(Measure::needs_all_rows)).collect();
    let of_all = match kept.take().filter(|kept| kept.asked == asked) {
        Some(known) => known,
        None => {
            let what = "comparing all rows with each other".into();
            let watch = Watching { what, front, interrupt: session.interrupt.clone() };
            let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
            let (lists, trouble) = comparison.measures(&measures, threads, &watch)?;
            OfAllRows { asked, lists, trouble }
        }
    };
    let OfAllRows { lists: of_all, trouble, .. } = &*kept.insert(of_all);
    let mut trouble = trouble.clone();
    let mut fold = criterion.start(parameters, session.interrupt.asked.clone())?;
    let mut batches = comparison.batches(batch_rows(comparison.structure().dims_reference as usize))?;
    let mut batch = batches.buffer();
    let total = batches.rows_left() as f64;
    let mut first = 0;
    while batches.next_batch(&mut batch)? {
        if session.interrupt.is_raised() {
            return Err(Failure::interrupted("the comparison"));
        }
        let (mut lists, found) = measure_rows(&batch, &measures);
        for (list, of_all) in lists.iter_mut().zip(of_all) {
            if let Some(values) = of_all.as_ref().and_then(|values| values.get(first..first + list.len())) {
                list.copy_from_slice(values);
            }
        }
        first += batch.rows();
        trouble.extend(found);
        // Once a measure is missing the answer can only be "not comparable"; the other rows are still looked at.
        if trouble == MeasureTrouble::default() {
            fold.update(&batch, lists)?;
        }
        front.progress("comparing", Some(1.0 - batches.rows_left() as f64 / total));
    }
    let obstacles = trouble.obstacles();
    if obstacles.is_empty() { Ok(Judged::Finished(fold.finish()?)) } else { Ok(Judged::Not(obstacles)) }
}

/// Values that are looked through for causes, of both sides: some seconds at most.
const HINTED_VALUES: f64 = 4e8;

/// Puts what a repeat of the uninterrupted training came to beside the rest: whether it would pass itself.
fn with_control(
    session: &Session,
    mut resuming: Resuming,
    reference: &Path,
    terms: &Terms,
    criterion: &Admitted,
    front: &dyn FrontEnd,
) -> Result<Resuming, Failure> {
    let Some(log) = resuming.control.clone() else { return Ok(resuming) };
    let watch = Watching { what: "comparing the repeat".into(), front, interrupt: session.interrupt.clone() };
    let comparison = Comparison::open(reference, &session.resolve(&log), &terms.columns, &watch)?;
    let same = comparison.reference_content_digest() == comparison.content_digest();
    let judged = judge(session, &comparison, criterion, &terms.parameters, &mut None, front)?;
    let (word, why) = match &judged {
        Judged::Finished(finished) => {
            let word = match finished.outcome.judgement {
                Judgement::Pass => "pass",
                Judgement::Fail => "fail",
                Judgement::Inconclusive => "inconclusive",
            };
            (word, finished.outcome.reason.clone())
        }
        Judged::Not(more) => {
            let first = more.iter().chain(&comparison.structure().obstacles).next();
            ("not_comparable", first.map(|obstacle| obstacle.message.clone()).unwrap_or_default())
        }
    };
    let repeat = &mut resuming.record["repeat"];
    repeat["equal"] = json!(same);
    // Exploring judges nothing.
    if terms.seal.is_some() {
        repeat["verdict"] = json!(word);
        if word != "pass" {
            resuming.notes.push(format!(
                "the uninterrupted training itself does not repeat under this criterion ({word}: {why}): a deviation after resuming \
                 cannot be laid to the resuming alone"
            ));
        }
    }
    resuming.notes.push(if same {
        "the uninterrupted training, run once more, repeated every scalar to the bit".to_owned()
    } else {
        "the uninterrupted training, run once more, did not repeat every scalar to the bit".to_owned()
    });
    Ok(resuming)
}

/// What the difference looks like; nothing for comparisons too large to be looked through once more. `at`: of a resumed
/// training the last step before the interruption.
fn hints(
    session: &Session,
    comparison: &Comparison,
    at: Option<f64>,
    front: &dyn FrontEnd,
) -> Result<Vec<Hint>, Failure> {
    if let Some((names, _)) = comparison.scalars() {
        let mut trajectory = Trajectory::new(names);
        let mut batches = comparison.batches(BATCH_ROWS)?;
        let mut batch = batches.buffer();
        while batches.next_batch(&mut batch)? {
            trajectory.see(&batch);
        }
        return Ok(trajectory.hints(at));
    }
    let dims = comparison.structure().dims_reference as usize;
    let mut causes = Causes::new(dims);
    for second in [false, true] {
        if second && !causes.wants_a_second_look() {
            break;
        }
        let mut batches = comparison.batches(batch_rows(dims))?;
        if 2.0 * batches.rows_left() as f64 * dims as f64 > HINTED_VALUES {
            break;
        }
        let mut batch = batches.buffer();
        while batches.next_batch(&mut batch)? {
            if session.interrupt.is_raised() {
                return Err(Failure::interrupted("the comparison"));
            }
            if second { causes.seek(&batch) } else { causes.see(&batch) }
        }
        front.progress("looking for what the difference looks like", None);
    }
    Ok(causes.hints())
}

/// What a count `rows.…` of no row among `rows` says of rows that were not looked at: 1 − 0.05^(1/n), the one-sided bound of
/// Clopper and Pearson at 95 %.
fn none_of(figure: &Figure, rows: u64) -> Option<String> {
    if !figure.name.starts_with("rows.") || figure.unit != "rows" || figure.value != 0.0 || rows == 0 {
        return None;
    }
    let most = 100.0 * (1.0 - 0.05_f64.powf(1.0 / rows as f64));
    Some(format!(
        "{} is 0 of {rows}: if these rows were drawn at random, up to {most:.2} % of all rows may still be such (95 %)",
        figure.name
    ))
}

/// Everything that a verdict's record is made of.
struct Given<'a> {
    args: &'a CompareArgs,
    name: &'a str,
    terms: &'a Terms,
    digest: &'a str,
    admitted: &'a Admitted,
    verdict: Verdict,
    post_hoc_because: Option<String>,
    content: &'a Content,
    hints: Vec<Hint>,
    resuming: Option<Resuming>,
}

impl Given<'_> {
    fn met(&self) -> bool {
        self.verdict.name() == self.args.expect.name()
    }

    /// A verdict as expected holds; a post hoc one that nobody accepted tells nothing.
    fn standing(&self) -> Standing {
        if self.post_hoc_because.is_some() && !self.args.accept_post_hoc {
            return Standing::CannotTell;
        }
        match self.verdict {
            Verdict::None => Standing::Holds,
            _ if self.met() => Standing::Holds,
            Verdict::Pass | Verdict::Fail => Standing::DoesNotHold,
            Verdict::Inconclusive | Verdict::NotComparable => Standing::CannotTell,
        }
    }

    fn fact(
        &self,
        session: &Session,
        comparison: &Comparison,
        judged: &Judged,
        reference: Vec<FileSeen>,
        candidate: Vec<FileSeen>,
    ) -> Result<Fact, Failure> {
        let description = &self.admitted.description;
        // A number that exploring had to put in place of one that nobody chose is not shown as chosen.
        let chosen = self.terms.parameters.iter().filter(|(name, _)| !self.terms.open.contains(name)).cloned();
        let parameters = declare::parameters(&chosen.collect::<Vec<_>>());
        let criterion = json!({
            "name": self.name, "version": description.version, "digest": self.digest, "parameters": parameters,
            "meaning": description.meaning, "not_given": self.terms.open,
        });
        let (obstacles, figures, histograms, reason, fuel) = match judged {
            Judged::Not(more) => {
                let first = more.iter().chain(&comparison.structure().obstacles).next();
                let reason = first.map_or_else(|| "the rows cannot be compared".to_owned(), |o| o.message.clone());
                (more.as_slice(), json!([]), json!([]), reason, Value::Null)
            }
            Judged::Finished(finished) => {
                let per_row = finished.fuel as f64 / finished.rows.max(1) as f64;
                // Exploring judges nothing: a sentence about bounds would be one about bounds nobody chose.
                // A look has no verdict to give a reason for, but why there is hardly a figure must be said.
                let told = !self.args.explore || finished.outcome.judgement == Judgement::Inconclusive;
                let reason = if told { finished.outcome.reason.clone() } else { String::new() };
                let mut histograms = figures::histograms(&finished.outcome);
                if !self.terms.open.is_empty() {
                    histograms.as_array_mut().into_iter().flatten().for_each(|h| h["threshold"] = Value::Null);
                }
                (
                    &[][..],
                    figures::figures(&finished.outcome),
                    histograms,
                    reason,
                    json!({ "used": finished.fuel, "per_row": per_row }),
                )
            }
        };
        let declaration = match &self.terms.seal {
            Some(seal) => {
                let because = session.stored(seal.entry).ok().map(|sealed| sealed["because"].clone());
                json!({ "entry": seal.entry, "because": because, "wall": seal.wall })
            }
            None => Value::Null,
        };
        // This one, at least: a file compared with itself is not counted among the opened.
        let attempts = ledger::attempts(&session.dossier, self.content).max(1);
        let of_reference = self.terms.reference.as_ref();
        let (of, to) = (&reference[0].sha256, &candidate[0].sha256);
        let read = comparison.columns();
        let side = |named: &Named| json!({ "id": named.id, "vector": named.vector, "label": named.label });
        let of_itself =
            files::same_place(&session.resolve(&self.args.reference), &session.resolve(&self.args.candidate));
        let mut notes = Vec::new();
        let partly = comparison.scalars().is_some_and(|(_, sparse)| !sparse.is_empty());
        let compared = if partly { " that was compared" } else { "" };
        if self.resuming.is_some() && (of == to || self.content.rows.is_none()) {
            notes
                .push(format!("every scalar{compared} of every step is the uninterrupted training's own, bit for bit"));
        } else if of_itself {
            notes.push("this compares a file with itself".to_owned());
        } else if of == to {
            notes.push(
                "the candidate's bytes are the reference's own: an exact repeat, or a copy; which of both is not shown here"
                    .to_owned(),
            );
        } else if self.content.rows.is_none() && comparison.scalars().is_some() {
            notes.push(format!("every scalar{compared} of every step is the reference's own, bit for bit"));
        } else if self.content.rows.is_none() {
            let what = if read.candidate.label.is_some() { "ids and vectors" } else { "rows" };
            notes.push(format!("the candidate's {what} are the reference's own, bit for bit, written in another way"));
        }
        if !self.terms.open.is_empty() {
            notes.push(format!(
                "no value was given for {}: figures that depend on it were made with 0, or the value of its range nearest to 0",
                self.terms.open.join(", ")
            ));
        }
        if let Some((_, sparse)) = comparison.scalars().filter(|(_, sparse)| !sparse.is_empty()) {
            notes.push(format!(
                "not compared, because not every step of the reference has a number for them: {}",
                sparse.join(", ")
            ));
        }
        notes.extend(self.resuming.iter().flat_map(|resuming| resuming.notes.iter().cloned()));
        if let (Verdict::Pass, Judged::Finished(finished)) = (self.verdict, judged) {
            notes.extend(finished.outcome.figures.iter().filter_map(|figure| none_of(figure, finished.rows)));
        }
        if let Some(seal) = &self.terms.seal {
            for other in ledger::replaced(&session.dossier, self.name, seal) {
                notes.push(format!(
                    "another seal of {} for this output stands in the case: entry {}, {}",
                    self.name,
                    other.entry,
                    declare::parameters(&other.parameters)
                ));
            }
        }
        if !self.args.explore {
            let mut others = ledger::judged_by(&session.dossier, self.content);
            others.insert(format!("{} {parameters}", self.digest), self.name.to_owned());
            if others.len() > 1 {
                let mut names: Vec<&str> = others.values().map(String::as_str).collect();
                names.sort_unstable();
                notes.push(format!(
                    "{} criteria were judged on this candidate ({}): with several, one that passes says less than it would \
                     alone",
                    names.len(),
                    names.join(", ")
                ));
            }
        }
        for (entry, require) in ledger::unmet_requirements(&session.dossier) {
            notes.push(format!("the probe of entry {entry} required {require} and did not find it; a later probe required something else"));
        }
        let mut result = json!({
            "verdict": self.verdict.name(),
            "post_hoc": self.post_hoc_because.is_some(),
            "post_hoc_because": self.post_hoc_because,
            "post_hoc_accepted": self.args.accept_post_hoc,
            "reason": Some(reason).filter(|reason| !reason.is_empty()),
            "structure": figures::structure(comparison.structure(), obstacles),
            "figures": figures,
            "histograms": histograms,
            "criterion": criterion,
            "declaration": declaration,
            "attempts": attempts,
            "of_itself": of_itself,
            "expect": if self.args.explore { Value::Null } else { json!(self.args.expect.name()) },
            "met": if self.args.explore { Value::Null } else { json!(self.met()) },
            "reference": {
                "name": of_reference.map(|r| r.name.clone()), "identity": of_reference.map(|r| r.identity.clone()),
                "path": files::shown(&self.args.reference), "sha256": of,
                "columns": side(&read.reference),
            },
            "candidate": {
                "path": files::shown(&self.args.candidate), "sha256": to, "content": self.content.rows,
                "columns": side(&read.candidate),
            },
            "hints": self.hints.iter().map(|h| json!({ "cause": h.cause, "text": h.text })).collect::<Value>(),
            "notes": notes,
            "fuel": fuel,
            "limits": criterion::limits(self.admitted),
        });
        if let Some(resuming) = &self.resuming {
            result["resume"] = resuming.record.clone();
        }
        let body = json!({
            "verdict": self.verdict.name(), "post_hoc": self.post_hoc_because.is_some(),
            "post_hoc_accepted": self.args.accept_post_hoc, "explore": self.args.explore,
            "criterion": self.name, "digest": self.digest, "parameters": parameters,
            "declare": self.terms.seal.as_ref().map(|s| s.entry), "attempts": attempts,
            "expect": result["expect"], "met": result["met"], "content": self.content.rows,
            "of_itself": of_itself, "resumed": self.resuming.is_some(),
        });
        Ok(Fact { body, result, reads: [reference, candidate].concat(), ..Fact::default() })
    }
}

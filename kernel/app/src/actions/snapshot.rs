//! `%snapshot`

use super::Done;
use crate::failure::Failure;
use crate::front::FrontEnd;
use crate::session::{Fact, Place, Session};
use fascicolo_contract::Standing;
use fascicolo_dossier::Kind;
use fascicolo_environment::snapshot::{Layer, Request, Snapshot};
use fascicolo_magics::snapshot::SnapshotArgs;
use serde_json::json;

pub fn perform(
    session: &mut Session,
    args: &SnapshotArgs,
    place: &Place,
    front: &dyn FrontEnd,
) -> Result<Done, Failure> {
    front.progress("reading system, interpreter and packages", None);
    let snapshot = Snapshot::take(&Request { python: args.python.clone(), folder: session.folder.clone() });
    let ours = |error: serde_json::Error| Failure {
        standing: Standing::OurFault,
        ..Failure::refused("snapshot_not_json", format!("the snapshot has no JSON form: {error}"), "report this")
    };
    let digest = snapshot.digest().map_err(ours)?;
    let mut result = serde_json::to_value(&snapshot).map_err(ours)?;
    result["digest"] = json!(digest);
    let layers: Vec<&str> = [
        ("system", snapshot.system.value().is_some()),
        ("interpreter", snapshot.interpreter.value().is_some()),
        ("packages", snapshot.packages.value().is_some()),
        ("git", snapshot.git.value().is_some()),
    ]
    .iter()
    .filter(|(_, read)| *read)
    .map(|(name, _)| *name)
    .collect();
    let fact = Fact { body: json!({ "digest": digest, "read": layers }), result, ..Fact::default() };
    let mut done = session.record(place, Kind::Snapshot, "snapshot", fact)?;
    if let (Some(python), Layer::NotRead { because }) = (&args.python, &snapshot.interpreter) {
        // What was named must be there; the other layers are recorded all the same.
        let what = format!("the interpreter {} could not be read: {because}", python.display());
        done.standing = Standing::CannotTell;
        done.then_fails = Some(Failure {
            standing: Standing::CannotTell,
            ..Failure::refused("interpreter_not_read", what, "give the path of a Python interpreter")
        });
    }
    Ok(done)
}

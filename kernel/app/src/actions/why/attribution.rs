//! From the conditions of two entries to what differs between them, class by class, and to what follows from it.
//!
//! The rule: what the case file can hold and does not is never taken for equal. Pure: no log, no file.

use super::asset::{Asset, Content, paired};
use super::conditions::{Conditions, Facts, Seen};
use super::outcome::Outcomes;
use super::table::{Class, FAMILIES, Family, classify};
use fascicolo_contract::Standing;
use std::collections::BTreeSet;

/// One thing that is recorded as different.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// What it belongs to.
    pub class: Class,
    /// What differs, in words.
    pub what: String,
    /// Its value at the first entry.
    pub a: String,
    /// At the second.
    pub b: String,
    /// Where the first value was read.
    pub from_a: String,
    /// Where the second one was.
    pub from_b: String,
    /// What more can be said.
    pub detail: Option<String>,
}

/// Something that could have been recorded and was not.
#[derive(Debug, PartialEq, Eq)]
pub struct Gap {
    /// What it would have told of.
    pub class: Class,
    what: Vec<&'static str>,
    why: String,
}

impl Gap {
    /// In words.
    pub fn sentence(&self) -> String {
        let what: Vec<&str> = self.what.iter().copied().filter(|what| !what.is_empty()).collect();
        if what.is_empty() { self.why.clone() } else { format!("{}: {}", what.join(", "), self.why) }
    }
}

/// All that differs, and all that cannot be told.
#[derive(Debug, Default)]
pub struct Attribution {
    /// In the order of the table.
    pub differences: Vec<Difference>,
    /// What could have been recorded and was not, on one side or both.
    pub gaps: Vec<Gap>,
    /// What no record of these entries holds.
    pub not_recorded: BTreeSet<String>,
}

/// How a class stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Something of it is recorded as different.
    Differs,
    /// All of it is recorded, and equal.
    Equal,
    /// Nothing of it is recorded as different, but not all of it is recorded.
    CannotTell,
}

impl State {
    /// As in a record.
    pub fn key(self) -> &'static str {
        match self {
            State::Differs => "differs",
            State::Equal => "equal",
            State::CannotTell => "cannot_tell",
        }
    }
}

/// What follows from an attribution.
#[derive(Debug, PartialEq, Eq)]
pub struct Conclusion {
    /// In words.
    pub sentence: String,
    /// The class that the difference is attributed to.
    pub attributed: Option<Class>,
    /// The exit status follows from it.
    pub standing: Standing,
}

impl Attribution {
    /// Compares two conditions. `rows` says which rows of two files differ, where that can be read.
    pub fn of(a: &Conditions, b: &Conditions, rows: &dyn Fn(&Asset, &Asset) -> Option<String>) -> Attribution {
        let mut found = Attribution::default();
        found.not_recorded.extend(a.not_recorded.union(&b.not_recorded).cloned());
        for (what, in_force) in a.in_force.iter().filter(|(what, entry)| b.in_force.get(*what) == Some(entry)) {
            found
                .not_recorded
                .insert(format!("any change after the {what} of {in_force}, which stands for both entries"));
        }
        let pairs = paired(&a.assets, &b.assets);
        let code_is_known = {
            let mut code = pairs.iter().filter(|(a, b)| a.or(*b).is_some_and(|asset| asset.role == "code")).peekable();
            let known = |pair: &(Option<&Asset>, Option<&Asset>)| matches!(pair, (Some(a), Some(b)) if a.content(b) != Content::Unknown);
            code.peek().is_some() && code.all(known)
        };
        for family in FAMILIES {
            match (a.families.get(family.name), b.families.get(family.name)) {
                (Some(Ok(a)), Some(Ok(b))) => found.family(family, a, b),
                // The reference tells the code's revision or fingerprint as well.
                (Some(Err(_)), _) | (_, Some(Err(_))) if family.name == "git" && code_is_known => {}
                (a, b) => {
                    for why in [a, b].into_iter().flatten().filter_map(|facts| facts.as_ref().err()) {
                        family.tells.iter().for_each(|class| found.missing(*class, family.what, why));
                    }
                }
            }
            if let ("reference", Some(Ok(of_a)), Some(Ok(of_b))) =
                (family.name, a.families.get("reference"), b.families.get("reference"))
            {
                let git_is_known = [a, b].iter().all(|side| matches!(side.families.get("git"), Some(Ok(_))));
                found.assets(&pairs, (of_a, of_b), git_is_known, rows);
            }
        }
        found
    }

    fn gap(&mut self, class: Class, why: String) {
        self.missing(class, "", &why);
    }

    /// What is missing for one reason is told in one sentence.
    fn missing(&mut self, class: Class, what: &'static str, why: &str) {
        match self.gaps.iter_mut().find(|gap| gap.class == class && gap.why == why) {
            Some(gap) if gap.what.contains(&what) => {}
            Some(gap) => gap.what.push(what),
            None => self.gaps.push(Gap { class, what: vec![what], why: why.to_owned() }),
        }
    }

    fn family(&mut self, family: &Family, a: &Facts, b: &Facts) {
        let pointers: BTreeSet<&String> = a.seen.keys().chain(b.seen.keys()).collect();
        for pointer in pointers {
            let Some((class, what)) = classify(pointer) else { continue };
            let (mut of_a, mut of_b) = (a.get(pointer, family.absent), b.get(pointer, family.absent));
            if family.name == "probe" {
                match comparable(pointer, a, b) {
                    Stage::Both => {}
                    Stage::NotBoth => continue,
                    Stage::OtherQuestion(why) => (of_a, of_b) = (Seen::Unknown(why), Seen::plain("")),
                }
            }
            match (of_a, of_b) {
                (Seen::Unknown(why), Seen::Unknown(_)) => {
                    self.not_recorded.insert(format!("{what}: {why}"));
                }
                (Seen::Unknown(why), _) | (_, Seen::Unknown(why)) => self.gap(class, format!("{what}: {why}")),
                (of_a, of_b) => {
                    if let Some((shown_a, shown_b)) = differing(&of_a, &of_b) {
                        let (from_a, from_b) = (a.read_from.clone(), b.read_from.clone());
                        let (a, b, detail) = (shown_a, shown_b, None);
                        self.differences.push(Difference { class, what, a, b, from_a, from_b, detail });
                    }
                }
            }
        }
    }

    fn assets(
        &mut self,
        pairs: &[(Option<&Asset>, Option<&Asset>)],
        from: (&Facts, &Facts),
        git_is_known: bool,
        rows: &dyn Fn(&Asset, &Asset) -> Option<String>,
    ) {
        let known = |roles: &[&str], asset: &Option<&Asset>| {
            asset.is_some_and(|asset| roles.contains(&asset.role) && asset.is_known())
        };
        let both_know =
            |roles: &[&str]| pairs.iter().any(|(a, _)| known(roles, a)) && pairs.iter().any(|(_, b)| known(roles, b));
        for (roles, what) in
            [(&["data", "sample"][..], "no data and no sample are"), (&["weights"][..], "no weights are")]
        {
            if !both_know(roles) {
                let why = format!("{what} known by a fingerprint or a revision in both references");
                self.gap(Class::Inputs, why);
            }
        }
        for (a, b) in pairs {
            let Some(asset) = a.or(*b) else { continue };
            let Some((class, what)) = classify(&asset.pointer()) else { continue };
            let unknown = match (a, b) {
                (Some(a), Some(b)) => a.content(b) == Content::Unknown,
                _ => !asset.is_known(),
            };
            let told_otherwise = match asset.role {
                "code" => git_is_known,
                // A sample that the data themselves are needs no fingerprint of its own.
                "sample" => both_know(&["data"]),
                _ => false,
            };
            if unknown && !told_otherwise {
                self.gap(class, format!("{what} has no fingerprint or revision on both sides that could be compared"));
            }
            // Named on one side, where the other names nothing of its kind: that is missing, and not different.
            if (a.is_none() || b.is_none()) && (unknown || !both_know(asset.group())) {
                continue;
            }
            let shown = |asset: &Option<&Asset>| asset.map_or_else(|| "not named".to_owned(), Asset::shown);
            let mut push = |class: Class, what: String, a: String, b: String, detail: Option<String>| {
                let (from_a, from_b) = (from.0.read_from.clone(), from.1.read_from.clone());
                self.differences.push(Difference { class, what, a, b, from_a, from_b, detail });
            };
            match (a, b) {
                (Some(one), Some(other)) => {
                    if one.content(other) == Content::Differs {
                        push(class, what, shown(a), shown(b), rows(one, other));
                    }
                    for ((part, of_a), (_, of_b)) in one.besides().into_iter().zip(other.besides()) {
                        let told = classify(&format!("{}/{part}", one.pointer())).filter(|_| of_a != of_b);
                        if let Some((class, what)) = told {
                            let shown = |text: Option<&String>| text.cloned().unwrap_or_else(|| "not named".to_owned());
                            push(class, what, shown(of_a), shown(of_b), None);
                        }
                    }
                }
                _ => push(class, what, shown(a), shown(b), None),
            }
        }
    }

    /// How a class stands.
    pub fn state(&self, class: Class) -> State {
        if self.differences.iter().any(|d| d.class == class) {
            State::Differs
        } else if self.gaps.iter().any(|gap| gap.class == class) {
            State::CannotTell
        } else {
            State::Equal
        }
    }

    /// Those of a state, in words.
    fn classes(&self, state: State) -> Vec<Class> {
        Class::ALL.into_iter().filter(|class| self.state(*class) == state).collect()
    }

    /// What follows.
    pub fn conclude(&self, outcomes: Outcomes) -> Conclusion {
        let (differ, untold) = (self.classes(State::Differs), self.classes(State::CannotTell));
        let cannot_tell = |sentence: String| Conclusion { sentence, attributed: None, standing: Standing::CannotTell };
        let but = match untold.as_slice() {
            [] => String::new(),
            classes => format!(
                " But whether {} cannot be told: what is missing is named below.",
                listed(classes, "differs too", "differ too")
            ),
        };
        match (outcomes, differ.as_slice()) {
            (Outcomes::Same, differ) => {
                let although = match differ {
                    [] => String::new(),
                    classes => format!(", although {}", listed(classes, "differs", "differ")),
                };
                let sentence = format!("The outcomes do not differ{although}: there is nothing to attribute.");
                Conclusion { sentence, attributed: None, standing: Standing::Holds }
            }
            (_, []) if untold.is_empty() => cannot_tell(
                "Cannot say: everything recorded is equal. The difference comes from something that was not recorded, \
                 or the computation does not repeat itself."
                    .to_owned(),
            ),
            (_, []) => cannot_tell(format!(
                "Cannot say: nothing recorded differs, but not everything was recorded: whether {} cannot be told.",
                listed(&untold, "differs", "differ")
            )),
            (_, [one]) => {
                let sentence = format!(
                    "The only thing recorded as different is {} ({}). If what was not recorded was equal, the \
                     difference comes from it.{but}",
                    one.words().0,
                    self.named(*one)
                );
                match untold.is_empty() {
                    true => Conclusion { sentence, attributed: Some(*one), standing: Standing::Holds },
                    false => cannot_tell(sentence),
                }
            }
            (_, several) => cannot_tell(format!(
                "Cannot say which: {} together; to tell them apart, change one at a time.{but}",
                listed(several, "differs", "differ")
            )),
        }
    }

    /// What differs of a class, the first few by name.
    fn named(&self, class: Class) -> String {
        let all: Vec<&str> = self.differences.iter().filter(|d| d.class == class).map(|d| d.what.as_str()).collect();
        match all.len() {
            0..=3 => all.join(", "),
            more => format!("{} and {} more", all.get(..3).unwrap_or_default().join(", "), more - 3),
        }
    }
}

/// `the software and the inputs differ`.
fn listed(classes: &[Class], one: &str, several: &str) -> String {
    let words: Vec<&str> = classes.iter().map(|class| class.words().0).collect();
    match (classes, words.split_last()) {
        ([class], _) => format!("{} {}", class.words().0, if class.words().1 { one } else { several }),
        (_, Some((last, before))) => format!("{} and {last} {several}", before.join(", ")),
        (_, None) => String::new(),
    }
}

/// Both values as they are shown, if they differ; of lists, what each has and the other has not.
fn differing(a: &Seen, b: &Seen) -> Option<(String, String)> {
    match (a, b) {
        (Seen::Value { key: a, .. }, Seen::Value { key: b, .. }) if a == b => None,
        (Seen::Set(a), Seen::Set(b)) if a == b => None,
        (Seen::Set(a), Seen::Set(b)) => {
            let only = |one: &BTreeSet<String>, other: &BTreeSet<String>| {
                let only: Vec<&str> = one.difference(other).map(String::as_str).collect();
                if only.is_empty() { "none that the other lacks".to_owned() } else { only.join(" ") }
            };
            Some((only(a, b), only(b, a)))
        }
        (a, b) => Some((shown(a), shown(b))),
    }
}

fn shown(seen: &Seen) -> String {
    match seen {
        Seen::Value { shown, .. } => shown.clone(),
        Seen::Set(all) if all.is_empty() => "none".to_owned(),
        Seen::Set(all) => all.iter().map(String::as_str).collect::<Vec<_>>().join(" "),
        Seen::Unknown(why) => why.clone(),
    }
}

/// Whether what two probes saw at one stage can be compared.
enum Stage {
    Both,
    /// Only one of them passed it, which its result says already.
    NotBoth,
    /// They were asked for different devices, so that they looked at different things.
    OtherQuestion(String),
}

fn comparable(pointer: &str, a: &Facts, b: &Facts) -> Stage {
    let Some((stage, last)) = pointer.rsplit_once('/') else { return Stage::Both };
    let result = |side: &Facts| side.get(&format!("{stage}/result"), "");
    let passed = |side: &Facts| result(side) == Seen::plain("passed");
    let asked = |side: &Facts| side.get("/probe/require", "none");
    match (last, passed(a) && passed(b)) {
        (_, true) => Stage::Both,
        ("result", false) if asked(a) != asked(b) => Stage::OtherQuestion(format!(
            "the probes were asked for different devices ({}, {})",
            shown(&asked(a)),
            shown(&asked(b))
        )),
        ("result", false) => Stage::Both,
        (_, false) => Stage::NotBoth,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Conditions in which everything was recorded, with these things seen.
    fn recorded(things: &[(&str, &str)]) -> Conditions {
        let mut all = Conditions::default();
        for family in FAMILIES {
            let prefix = format!("/{}/", family.name);
            let seen = things.iter().filter(|(pointer, _)| pointer.starts_with(&prefix));
            let seen = seen.map(|(pointer, value)| ((*pointer).to_owned(), Seen::plain(*value))).collect();
            all.families.insert(family.name, Ok(Facts { seen, read_from: "somewhere".into(), looked_for: None }));
        }
        all.assets = vec![asset("data", "d", "1"), asset("weights", "w", "2")];
        all
    }

    fn asset(role: &'static str, name: &str, sha256: &str) -> Asset {
        Asset::of(role, 0, &json!({ "name": name, "sha256": sha256 }))
    }

    fn attributed(a: &Conditions, b: &Conditions) -> Attribution {
        Attribution::of(a, b, &|_, _| None)
    }

    fn states(found: &Attribution) -> [State; 3] {
        Class::ALL.map(|class| found.state(class))
    }

    use State::{CannotTell, Differs, Equal};

    #[test]
    fn a_package_that_brings_a_framework_is_software_alone_although_the_probe_sees_it_too() {
        let without = recorded(&[("/probe/interpreter_framework/result", "not applicable: Python 3.11 has no torch")]);
        let with = recorded(&[
            ("/packages/torch", "2.13.0"),
            ("/frameworks/torch/version", "2.13.0"),
            ("/torch_build/cuda", "13.0"),
            ("/probe/interpreter_framework/result", "passed"),
            ("/probe/interpreter_framework/torch_devices", "1"),
        ]);
        let found = attributed(&without, &with);
        assert_eq!(states(&found), [Differs, Equal, Equal], "{:?}", found.differences);
        assert_eq!(found.conclude(Outcomes::Differ).attributed, Some(Class::Software));
    }

    #[test]
    fn probes_that_were_asked_for_different_devices_are_not_compared_where_they_looked_at_different_things() {
        let looked = |require, result| {
            recorded(&[
                ("/probe/require", require),
                ("/probe/hardware/result", result),
                ("/probe/computation/result", "passed"),
                ("/probe/computation/max_abs_error", "1e-6"),
            ])
        };
        let (cpu, none) = (looked("cpu", "not applicable: not looked at"), looked("none", "not applicable: none"));
        let found = attributed(&cpu, &none);
        assert_eq!(states(&found), [Equal, Equal, CannotTell], "{:?}", found.differences);
        assert_eq!(states(&attributed(&cpu, &looked("cpu", "not applicable: not looked at"))), [Equal; 3]);
        assert_eq!(states(&attributed(&none, &looked("none", "passed"))), [Equal, Equal, Differs]);
    }

    #[test]
    fn a_variable_that_was_not_looked_for_is_not_taken_for_unset() {
        let set = recorded(&[("/determinism/OMP_NUM_THREADS", "1")]);
        let mut older = recorded(&[]);
        assert_eq!(states(&attributed(&set, &older)), [Equal, Equal, Differs]);
        older.families.get_mut("determinism").unwrap().as_mut().unwrap().looked_for = Some(BTreeSet::new());
        assert_eq!(states(&attributed(&set, &older)), [Equal, Equal, CannotTell]);
        // This family is recorded whenever it is set.
        let torch = recorded(&[("/determinism/TORCH_ALLOW_TF32_CUBLAS_OVERRIDE", "1")]);
        assert_eq!(states(&attributed(&torch, &older)), [Equal, Equal, Differs]);
    }

    #[test]
    fn code_outside_a_repository_is_known_by_what_the_reference_says_of_it() {
        let outside = |code: Option<Asset>| {
            let mut conditions = recorded(&[]);
            conditions.families.insert("git", Err("no repository".into()));
            conditions.assets.extend(code);
            conditions
        };
        let found = attributed(&outside(None), &outside(None));
        assert_eq!(states(&found), [CannotTell, Equal, Equal]);
        assert_eq!(found.gaps[0].sentence(), "the code's revision and local changes: no repository");
        let code = |sha256| outside(Some(asset("code", "embed.py", sha256)));
        assert_eq!(states(&attributed(&code("3"), &code("3"))), [Equal; 3]);
        assert_eq!(states(&attributed(&code("3"), &code("4"))), [Differs, Equal, Equal]);
        assert_eq!(states(&attributed(&code("3"), &outside(None))), [CannotTell, Equal, Equal]);
    }

    #[test]
    fn data_named_on_one_side_only_are_missing_and_not_different_unless_the_other_names_others() {
        let (both, mut none) = (recorded(&[]), recorded(&[]));
        none.assets.retain(|asset| asset.role != "data");
        assert_eq!(states(&attributed(&both, &none)), [Equal, CannotTell, Equal]);
        let mut more = recorded(&[]);
        more.assets.push(asset("data", "more", "9"));
        let found = attributed(&both, &more);
        assert_eq!(states(&found), [Equal, Differs, Equal]);
        assert_eq!((found.differences[0].what.as_str(), found.differences[0].a.as_str()), ("data `more`", "not named"));
    }

    #[test]
    fn of_lists_only_what_the_other_lacks_is_shown() {
        let flags = |all: &[&str]| {
            let mut conditions = recorded(&[]);
            let seen = Seen::Set(all.iter().map(|flag| (*flag).to_owned()).collect());
            let system = conditions.families.get_mut("system").unwrap().as_mut().unwrap();
            system.seen.insert("/system/cpu_flags".to_owned(), seen);
            conditions
        };
        let found = attributed(&flags(&["sse2", "avx2"]), &flags(&["avx512f", "avx2", "sse2"]));
        let only = &found.differences[0];
        assert_eq!(
            (only.class, only.a.as_str(), only.b.as_str()),
            (Class::Conditions, "none that the other lacks", "avx512f")
        );
    }

    #[test]
    fn what_neither_system_tells_is_named_and_what_one_of_them_tells_cannot_be_compared() {
        let telling = |seen: Seen| {
            let mut conditions = recorded(&[]);
            let system = conditions.families.get_mut("system").unwrap().as_mut().unwrap();
            system.seen.insert("/system/cpu_model".to_owned(), seen);
            conditions
        };
        let unknown = || telling(Seen::Unknown("this system does not tell it".into()));
        let found = attributed(&unknown(), &unknown());
        assert_eq!(states(&found), [Equal; 3]);
        assert!(found.not_recorded.contains("processor: this system does not tell it"));
        assert_eq!(states(&attributed(&unknown(), &telling(Seen::plain("x")))), [Equal, Equal, CannotTell]);
    }
}

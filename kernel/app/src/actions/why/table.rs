//! What each recorded thing belongs to: software, inputs or running conditions; or to none of them, because it is a
//! place, a wording, or follows from something that is listed itself.
//!
//! One row for each thing, by the pointer under which [`super::conditions`] holds it. Must not know: logs, records.

/// What a difference can come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// What computes: interpreter, packages, builds, code, operating system, criterion.
    Software,
    /// What it is given: data, weights, sample, parameters, the reference's output.
    Inputs,
    /// Where and how it runs: processor, devices, drivers, threads, variables that steer results, limits.
    Conditions,
}

use Class::{Conditions, Inputs, Software};

impl Class {
    /// In the order in which they are told.
    pub const ALL: [Class; 3] = [Software, Inputs, Conditions];

    /// As in a record.
    pub fn key(self) -> &'static str {
        match self {
            Software => "software",
            Inputs => "inputs",
            Conditions => "conditions",
        }
    }

    /// As in a sentence, and whether it takes a singular verb.
    pub fn words(self) -> (&'static str, bool) {
        match self {
            Software => ("the software", true),
            Inputs => ("the inputs", false),
            Conditions => ("the running conditions", false),
        }
    }
}

/// Things that are recorded together, and are all missing if that record is.
pub struct Family {
    /// First part of the pointer of each of its things.
    pub name: &'static str,
    /// What cannot be told where it is missing.
    pub tells: &'static [Class],
    /// In words.
    pub what: &'static str,
    /// Stands for a thing that the record would hold if it were there.
    pub absent: &'static str,
}

const fn family(name: &'static str, tells: &'static [Class], what: &'static str, absent: &'static str) -> Family {
    Family { name, tells, what, absent }
}

/// All of them, in the order in which differences are told.
pub const FAMILIES: &[Family] = &[
    family("interpreter", &[Software], "the interpreter", "not recorded"),
    family("packages", &[Software], "the packages", "not installed"),
    family("frameworks", &[Software], "the frameworks", "not installed"),
    family("torch_build", &[Software], "torch's build", "none"),
    family("build_tools", &[Software], "the build tools", "not there"),
    family("git", &[Software], "the code's revision and local changes", "none"),
    family("system", &[Software, Conditions], "the operating system and the processor", "not recorded"),
    family("reference", &[Inputs], "the declared data, weights, sample and parameters", "not named"),
    family("verdict", &[Software, Inputs, Conditions], "the criterion and its parameters", "none"),
    family("files", &[Inputs], "the files read", "not read"),
    family("determinism", &[Conditions], "the variables that steer results and threads", "not set"),
    family("probe", &[Conditions], "devices and drivers", "not seen"),
];

/// One row of the table.
pub struct Rule {
    /// A pointer; `*` stands for any characters of one part, a last part `**` for all that follows.
    pub pattern: &'static str,
    /// `None`: no cause.
    pub class: Option<Class>,
    /// What differs, in words; `{}` stands for what the first part with a `*` matched.
    pub label: &'static str,
}

const fn of(class: Class, pattern: &'static str, label: &'static str) -> Rule {
    Rule { pattern, class: Some(class), label }
}

/// A place or a wording, or what follows from another row.
const fn no_cause(pattern: &'static str) -> Rule {
    Rule { pattern, class: None, label: "" }
}

/// The first row that matches counts. Each family ends with a row for what a later version may record besides.
pub const RULES: &[Rule] = &[
    no_cause("/interpreter/chosen"),
    no_cause("/interpreter/executable"),
    no_cause("/interpreter/prefix"),
    no_cause("/interpreter/base_prefix"),
    no_cause("/interpreter/is_venv"),
    no_cause("/interpreter/sees_base_packages"),
    of(Software, "/interpreter/version", "version of the interpreter"),
    of(Software, "/interpreter/build", "build of the interpreter"),
    of(Software, "/interpreter/libc", "C library that the interpreter was linked with"),
    of(Software, "/interpreter/**", "interpreter: {}"),
    of(Software, "/packages/*", "package {}"),
    no_cause("/frameworks/*/location"),
    of(Software, "/frameworks/**", "framework: {}"),
    of(Software, "/torch_build/**", "build of torch: {}"),
    of(Software, "/build_tools/*", "build tool {}"),
    of(Software, "/build_tools/**", "build tools: {}"),
    of(Software, "/git/revision", "revision of the code"),
    of(Software, "/git/diff_sha256", "local changes of the code"),
    no_cause("/git/branch"),
    no_cause("/git/remote"),
    // Whether and how many is told by their digest; untracked files are in no diff, and named as not recorded.
    no_cause("/git/dirty"),
    no_cause("/git/changed_files"),
    no_cause("/git/untracked_files"),
    of(Software, "/git/**", "code: {}"),
    of(Software, "/system/os", "operating system"),
    of(Software, "/system/distribution", "distribution"),
    of(Software, "/system/kernel", "kernel"),
    of(Software, "/system/libc", "C library"),
    of(Conditions, "/system/arch", "architecture"),
    of(Conditions, "/system/cpu_model", "processor"),
    of(Conditions, "/system/cpu_flags", "instruction sets and features of the processor"),
    of(Conditions, "/system/cores", "processors of the machine"),
    of(Conditions, "/system/cores_usable", "processors that may be used"),
    of(Conditions, "/system/memory_bytes", "main memory, bytes"),
    of(Conditions, "/system/**", "system: {}"),
    of(Inputs, "/reference/output", "output of the reference"),
    of(Inputs, "/reference/output/columns/*", "{} column of the reference's output"),
    of(Software, "/reference/code/*", "code `{}`"),
    of(Software, "/reference/code/*/entry", "entry point of the code `{}`"),
    of(Inputs, "/reference/code/*/options", "options of the code `{}`"),
    of(Inputs, "/reference/data/*", "data `{}`"),
    of(Inputs, "/reference/weights/*", "weights `{}`"),
    of(Inputs, "/reference/sample/*", "sample `{}`"),
    of(Inputs, "/reference/preprocessing", "preprocessing"),
    of(Inputs, "/reference/parameters/**", "parameter {}"),
    of(Inputs, "/reference/determinism/*seed*", "declared {}"),
    of(Conditions, "/reference/determinism/**", "declared {}"),
    of(Inputs, "/reference/**", "reference: {}"),
    of(Software, "/verdict/criterion", "criterion"),
    of(Inputs, "/verdict/parameters/*", "parameter {} of the criterion"),
    of(Inputs, "/verdict/columns/**", "columns compared: {}"),
    of(Conditions, "/verdict/limits/**", "limits of the criterion: {}"),
    of(Software, "/verdict/**", "comparison: {}"),
    of(Inputs, "/files/*", "files read as {}"),
    // Variables by which other software is loaded than the packages say.
    of(Software, "/determinism/LD_LIBRARY_PATH", "libraries that are loaded: LD_LIBRARY_PATH"),
    of(Software, "/determinism/LD_PRELOAD", "libraries that are loaded: LD_PRELOAD"),
    of(Software, "/determinism/DYLD_LIBRARY_PATH", "libraries that are loaded: DYLD_LIBRARY_PATH"),
    of(Software, "/determinism/PYTHONPATH", "modules that are loaded: PYTHONPATH"),
    of(Conditions, "/determinism/**", "{}"),
    of(Software, "/probe/interpreter_framework/python_version", "interpreter of the probe"),
    of(Software, "/probe/interpreter_framework/torch_version*", "torch of the probe{}"),
    no_cause("/probe/interpreter_framework/torch_file"),
    // They follow from torch's build, the driver and the devices, which are told themselves.
    no_cause("/probe/interpreter_framework/torch_reaches_a_gpu"),
    no_cause("/probe/interpreter_framework/torch_devices"),
    of(Software, "/probe/interpreter_framework/result", "framework that the probe found"),
    no_cause("/probe/driver_library/*_library"),
    no_cause("/probe/computation/what"),
    no_cause("/probe/computation/does_not_show"),
    no_cause("/probe/computation/share_of_rounding_bound"),
    // What was asked for changes what was looked at, and not the machine.
    no_cause("/probe/require"),
    of(Conditions, "/probe/*/result", "stage {} of the probe"),
    of(Conditions, "/probe/**", "probe: {}"),
];

/// What a thing belongs to, and what it is called; `None` for what is no cause.
pub fn classify(pointer: &str) -> Option<(Class, String)> {
    let (rule, caught) = RULES.iter().find_map(|rule| Some((rule, caught(rule.pattern, pointer)?)))?;
    Some((rule.class?, rule.label.replace("{}", &caught)))
}

/// What the first wildcard of a pattern catches of a pointer; the empty text if it has none, `None` if it is not met.
fn caught(pattern: &str, pointer: &str) -> Option<String> {
    let mut caught = None;
    let mut parts = pointer.split('/').skip(1);
    for wanted in pattern.split('/').skip(1) {
        if wanted == "**" {
            let rest: Vec<String> = parts.map(unescaped).collect();
            return (!rest.is_empty()).then(|| caught.unwrap_or_else(|| rest.join(" ")));
        }
        let part = parts.next()?;
        let pieces: Vec<&str> = wanted.split('*').collect();
        match pieces.as_slice() {
            [whole] => (*whole == part).then_some(())?,
            [before, .., after] => {
                let inner = part.strip_prefix(before)?.strip_suffix(after)?;
                // `*x*`: what stands between is looked for as it is.
                pieces.get(1..pieces.len() - 1)?.iter().all(|piece| inner.contains(piece)).then_some(())?;
                let told = if before.is_empty() && after.is_empty() { part } else { inner };
                caught = caught.or_else(|| Some(unescaped(told)));
            }
            [] => return None,
        }
    }
    parts.next().is_none().then(|| caught.unwrap_or_default())
}

/// A part of a pointer as RFC 6901 writes it.
pub fn escaped(part: &str) -> String {
    part.replace('~', "~0").replace('/', "~1")
}

fn unescaped(part: &str) -> String {
    part.replace("~1", "/").replace("~0", "~")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn each_thing_belongs_to_what_a_reader_would_expect() {
        for (pointer, class, label) in [
            ("/packages/numpy", Software, "package numpy"),
            ("/system/kernel", Software, "kernel"),
            ("/system/cpu_model", Conditions, "processor"),
            ("/system/container", Conditions, "system: container"),
            ("/determinism/OMP_NUM_THREADS", Conditions, "OMP_NUM_THREADS"),
            ("/determinism/LD_PRELOAD", Software, "libraries that are loaded: LD_PRELOAD"),
            ("/reference/data/a~1b.tsv", Inputs, "data `a/b.tsv`"),
            ("/reference/code/embed.py", Software, "code `embed.py`"),
            ("/reference/code/embed.py/options", Inputs, "options of the code `embed.py`"),
            ("/reference/determinism/torch_seed", Inputs, "declared torch_seed"),
            ("/reference/determinism/threads", Conditions, "declared threads"),
            ("/reference/parameters/model/batch", Inputs, "parameter model batch"),
            ("/probe/driver_library/cuda_driver_version", Conditions, "probe: driver_library cuda_driver_version"),
            ("/probe/computation/result", Conditions, "stage computation of the probe"),
            ("/probe/interpreter_framework/result", Software, "framework that the probe found"),
            ("/verdict/criterion", Software, "criterion"),
        ] {
            assert_eq!(classify(pointer), Some((class, label.to_owned())), "{pointer}");
        }
    }

    #[test]
    fn places_are_no_causes() {
        for pointer in [
            "/interpreter/executable",
            "/frameworks/torch/location",
            "/git/branch",
            "/probe/driver_library/cuda_library",
            "/probe/interpreter_framework/torch_file",
        ] {
            assert_eq!(classify(pointer), None, "{pointer}");
        }
    }

    #[test]
    fn nothing_that_a_later_version_records_goes_unseen() {
        for family in FAMILIES {
            assert!(classify(&format!("/{}/recorded_later", family.name)).is_some(), "{}", family.name);
        }
    }
}

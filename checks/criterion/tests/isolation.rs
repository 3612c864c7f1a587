//! Components compiled in a child process: the same answers, limits that hold, and a cache that nobody else can use.
#![allow(clippy::unwrap_used, missing_docs)]

use fascicolo_contract::measure::measure_rows;
use fascicolo_contract::verdict::Outcome;
use fascicolo_contract::{AlignedBatch, Texts, Vectors};
use fascicolo_criterion::{CriterionError, Host, Isolation, Launcher, standard};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};
use wasm_encoder::{
    CodeSection, Component, Function, FunctionSection, Instruction, Module, ModuleSection, TypeSection, ValType,
};

fn isolation(exe: &str, args: &[&str], cache: Option<&Path>) -> Isolation {
    let launcher = Launcher { exe: exe.into(), args: args.iter().map(|&a| a.to_owned()).collect() };
    Isolation::new(launcher, cache.map(PathBuf::from))
}

fn ours(cache: Option<&Path>) -> Isolation {
    isolation(env!("CARGO_BIN_EXE_compile-component"), &[], cache)
}

fn answer(host: &Host) -> Result<(Outcome, u64), CriterionError> {
    let criterion = host.admit("cosine", standard::find("cosine").unwrap().component)?;
    let given = vec![("floor".to_owned(), 0.5)];
    let mut ids = Texts::default();
    ["a", "b"].iter().for_each(|id| ids.push(id));
    let batch = AlignedBatch {
        ids,
        labels: Texts::default(),
        candidate_labels: Texts::default(),
        dims: 2,
        reference: Vectors::F32(vec![1.0, 0.0, 0.0, 1.0]),
        candidate: Vectors::F32(vec![1.0, 0.1, 0.2, 1.0]),
    };
    let mut fold = criterion.start(&given, Arc::new(AtomicBool::new(false)))?;
    fold.update(&batch, measure_rows(&batch, &criterion.measures(&given)?).0)?;
    let finished = fold.finish()?;
    Ok((finished.outcome, finished.fuel))
}

fn kept(cache: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(cache.join("compiled")) else { return Vec::new() };
    entries.map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn a_component_compiled_in_a_child_answers_as_one_compiled_here_and_is_compiled_once() {
    let cache = tempfile::tempdir().unwrap();
    let here = answer(&Host::new().unwrap()).unwrap();
    assert_eq!(answer(&Host::isolated(ours(Some(cache.path()))).unwrap()).unwrap(), here);
    assert_eq!(kept(cache.path()).len(), 1);
    // From now on no compiler is needed.
    let without = isolation("/bin/false", &[], Some(cache.path()));
    assert_eq!(answer(&Host::isolated(without).unwrap()).unwrap(), here);
    assert_eq!(answer(&Host::isolated(ours(None)).unwrap()).unwrap(), here);
}

#[cfg(unix)]
#[test]
fn what_was_changed_in_the_cache_or_could_have_been_is_not_loaded() {
    use std::os::unix::fs::PermissionsExt;
    let cache = tempfile::tempdir().unwrap();
    let here = answer(&Host::isolated(ours(Some(cache.path()))).unwrap()).unwrap();
    let folder = cache.path().join("compiled");
    assert_eq!(std::fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700);
    let file = kept(cache.path()).remove(0);
    let whole = std::fs::read(&file).unwrap();
    let without = || Host::isolated(isolation("/bin/false", &[], Some(cache.path()))).unwrap();
    for at in [0, 31, 32, whole.len() / 2, whole.len() - 1] {
        let mut changed = whole.clone();
        changed[at] ^= 1;
        std::fs::write(&file, &changed).unwrap();
        assert!(matches!(answer(&without()), Err(CriterionError::NotAComponent { .. })), "a byte changed at {at}");
        assert_eq!(answer(&Host::isolated(ours(Some(cache.path()))).unwrap()).unwrap(), here);
        assert_eq!(std::fs::read(&file).unwrap(), whole, "compiled anew");
    }
    std::fs::write(&file, &whole[..20]).unwrap();
    assert!(answer(&without()).is_err());
    std::fs::write(&file, &whole).unwrap();
    // Where others can write, nothing is taken and nothing put.
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o770)).unwrap();
    assert!(answer(&without()).is_err());
    let elsewhere = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(&folder, elsewhere.path().join("compiled")).unwrap();
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o700)).unwrap();
    assert!(answer(&Host::isolated(isolation("/bin/false", &[], Some(elsewhere.path()))).unwrap()).is_err());
    assert_eq!(answer(&without()).unwrap(), here);
}

#[cfg(unix)]
#[test]
fn a_compiler_that_hangs_crashes_or_floods_is_ended_and_named() {
    for (exe, args, says) in [
        ("/bin/sleep", vec!["60"], "it took more than 0.5 s"),
        // It closes its output and stays.
        ("/bin/sh", vec!["-c", "exec 1>&-; sleep 60"], "it took more than 0.5 s"),
        ("/bin/sh", vec!["-c", "kill -11 $$"], "its compiler was ended by signal 11"),
        ("/bin/sh", vec!["-c", "kill -6 $$"], "it needed more than 2 GiB of memory"),
        ("/bin/sh", vec!["-c", "kill -24 $$"], "s of processor time"),
        ("/bin/sh", vec!["-c", "exit 70"], "ended with status 70"),
        ("/bin/echo", vec!["machine code"], "the WebAssembly runtime failed"),
        ("/there/is/no/such/program", vec![], "could not be started"),
    ] {
        let isolation = Isolation { wall: Duration::from_millis(500), ..isolation(exe, &args, None) };
        let started = Instant::now();
        let error = answer(&Host::isolated(isolation).unwrap()).unwrap_err();
        assert!(error.to_string().contains(says), "{exe} {args:?}: {error}");
        assert!(started.elapsed() < Duration::from_secs(5), "{exe} {args:?}");
    }
}

/// A module as large as is allowed, whose loops all change all of its variables.
fn slow() -> Vec<u8> {
    let mut function = Function::new([(500, ValType::I64)]);
    for i in 0..4_000_u32 {
        let (a, b) = (i * 7 % 500, i * 13 % 500);
        for instruction in [
            Instruction::Loop(wasm_encoder::BlockType::Empty),
            Instruction::LocalGet(a),
            Instruction::LocalGet(b),
            Instruction::I64Add,
            Instruction::LocalTee(b),
            Instruction::I64Eqz,
            Instruction::BrIf(0),
            Instruction::End,
        ] {
            function.instruction(&instruction);
        }
    }
    function.instruction(&Instruction::End);
    let (mut types, mut functions, mut code) = (TypeSection::new(), FunctionSection::new(), CodeSection::new());
    types.ty().function([], []);
    functions.function(0);
    code.function(&function);
    let mut module = Module::new();
    module.section(&types).section(&functions).section(&code);
    let mut component = Component::new();
    component.section(&ModuleSection(&module));
    component.finish()
}

#[cfg(target_os = "linux")]
#[test]
fn a_component_that_takes_long_to_compile_is_stopped_by_its_processor_time() {
    let isolation = Isolation { cpu_seconds: 1, wall: Duration::from_secs(60), ..ours(None) };
    let started = Instant::now();
    let error = Host::isolated(isolation).unwrap().admit("slow", &slow()).err().unwrap();
    println!("shown: {error} after {} ms", started.elapsed().as_millis());
    assert!(matches!(error, CriterionError::CompilerStopped { .. }), "{error}");
    assert!(error.to_string().contains("more than 1 s of processor time"), "{error}");
}

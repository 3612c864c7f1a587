//! The ladder on machines without drivers: fake trees, a simulated torch, and this machine's own CPU.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

mod common;

use common::{Machine, failure, words};
use fascicolo_probe::{Launcher, Report, Require, Requirement, StageResult};

#[test]
fn a_required_gpu_that_is_absent_stops_at_hardware_and_nothing_is_computed() {
    for (require, maker) in [(Require::Cuda, "NVIDIA"), (Require::Rocm, "AMD"), (Require::Any, "NVIDIA or AMD")] {
        let report = Machine::bare().pci("0000:00:02.0", "0x8086", "0x030000").probe(require);
        let (code, error, layer) = failure(&report, "hardware");
        assert_eq!((code.as_str(), layer.as_str()), ("no_device", "hardware"));
        assert!(error.contains(maker) && error.contains("1 display"), "{error}");
        assert_eq!(words(&report), ["failed", "not run", "not run", "not run"]);
        assert_eq!(report.standing().exit_status(), 1);
        assert!(!serde_json::to_string(&report).unwrap().contains("max_abs_error"));
    }
}

#[test]
fn another_makers_device_does_not_meet_the_requirement() {
    assert_eq!(failure(&Machine::amd().probe(Require::Cuda), "hardware").0, "no_device");
    assert_eq!(failure(&Machine::nvidia().probe(Require::Rocm), "hardware").0, "no_device");
}

#[test]
fn a_device_without_its_node_points_at_the_kernel_driver() {
    let report = Machine::bare().pci("0000:3b:00.0", "0x10de", "0x030200").node("nvidia-uvm").probe(Require::Cuda);
    assert_eq!(
        (failure(&report, "hardware").0, failure(&report, "hardware").2),
        ("no_device_node".into(), "kernel_driver".into())
    );
    let report = Machine::bare().pci("0000:03:00.0", "0x1002", "0x038000").probe(Require::Any);
    assert_eq!(failure(&report, "hardware").0, "no_kfd");
}

#[test]
fn other_classes_of_the_same_makers_are_no_gpus() {
    // The sound function of an NVIDIA card, an AMD host bridge.
    let machine = Machine::bare().pci("0000:3b:00.1", "0x10de", "0x040300").pci("0000:00:00.0", "0x1002", "0x060000");
    assert_eq!(words(&machine.probe(Require::None))[0], "not applicable");
}

#[test]
fn an_unreadable_bus_is_said_and_not_called_empty() {
    let machine = Machine::bare();
    std::fs::remove_dir_all(machine.folder.path().join("sys")).unwrap();
    assert!(failure(&machine.probe(Require::Cuda), "hardware").1.contains("cannot be listed"));
}

#[test]
fn an_absent_gpu_is_not_applicable_and_never_passed() {
    let report = Machine::bare().probe(Require::None);
    assert_eq!(words(&report), ["not applicable", "not applicable", "not applicable", "passed"]);
    assert_eq!(report.conclusion.standing, Requirement::Holds);
}

#[test]
fn a_missing_library_under_a_required_device_is_told() {
    assert_eq!(failure(&Machine::nvidia().probe(Require::Cuda), "driver_library").0, "no_library");
    assert_eq!(words(&Machine::nvidia().probe(Require::None))[..2], ["passed", "not applicable"]);
}

#[test]
fn a_cpu_product_says_what_it_does_not_stand_for() {
    let report = Machine::nvidia().probe(Require::Cpu);
    assert_eq!(words(&report), ["not applicable", "not applicable", "not applicable", "passed"]);
    match &report.stage("computation").unwrap().result {
        StageResult::Passed { facts } => {
            assert_eq!(facts["device"], "cpu");
            assert!(facts["does_not_show"].as_str().unwrap().contains("preprocessing"));
            let error = facts["max_abs_error"].as_f64().unwrap();
            // Not zero, or float32 was not used; far below the spacing of a sum near 64.
            assert!(error > 0.0 && error < 1e-5, "{error}");
            assert!(facts["share_of_rounding_bound"].as_f64().unwrap() < 1.0);
        }
        other => panic!("{other:?}"),
    }
    assert!(report.conclusion.sentence.contains("extension"));
}

fn torch(cuda: &str, hip: &str, available: &str) -> String {
    format!(
        "class version: cuda = {cuda}; hip = {hip}\n__version__ = '2.13.0'\nclass cuda:\n    \
         is_available = staticmethod(lambda: {available})\n    device_count = staticmethod(lambda: int({available}))\n    \
         @staticmethod\n    def init(): raise RuntimeError('Found no NVIDIA driver on your system.')\n"
    )
}

/// A machine on which everything below the framework works.
fn up_to_framework(source: &str) -> Machine {
    Machine::nvidia().libcuda(0, 0, 1).torch(source)
}

#[test]
fn simulated_torch_for_rocm_that_answers_as_cuda_is_not_nvidia() {
    let (code, error, _) =
        failure(&up_to_framework(&torch("None", "'6.4'", "True")).probe(Require::Cuda), "interpreter_framework");
    assert_eq!(code, "framework_for_rocm");
    assert!(error.contains("6.4"), "{error}");
}

#[test]
fn simulated_torch_builds_are_told_apart() {
    let report = up_to_framework(&torch("None", "None", "False")).probe(Require::Cuda);
    assert_eq!(failure(&report, "interpreter_framework").0, "framework_for_cpu");
    let report = Machine::amd().libhip(0, 0, 1).torch(&torch("'13.0'", "None", "True")).probe(Require::Rocm);
    assert_eq!(failure(&report, "interpreter_framework").0, "framework_for_cuda");
}

#[test]
fn simulated_torch_that_reaches_no_device_gives_its_own_reason() {
    let report = up_to_framework(&torch("'13.0'", "None", "False")).probe(Require::Cuda);
    let (code, error, _) = failure(&report, "interpreter_framework");
    assert_eq!(code, "framework_sees_no_device");
    assert!(error.contains("Found no NVIDIA driver"), "{error}");
    assert_eq!(words(&report)[3], "not run");
}

#[test]
fn simulated_torch_that_cannot_be_imported_is_told_with_or_without_requirement() {
    for require in [Require::None, Require::Cpu, Require::Cuda] {
        let report = up_to_framework("raise ImportError('libcudart.so.13: cannot open')").probe(require);
        let (code, error, _) = failure(&report, "interpreter_framework");
        assert_eq!(code, "import_error");
        assert!(error.contains("libcudart.so.13"), "{error}");
    }
}

#[test]
fn simulated_torch_that_crashes_is_a_failure_with_its_signal() {
    let report = Machine::bare().torch("import os; os.kill(os.getpid(), 11)").probe(Require::None);
    assert_eq!(failure(&report, "interpreter_framework").0, "SIGSEGV");
    assert_eq!(words(&report)[3], "passed");
}

#[test]
fn an_interpreter_without_torch_is_not_applicable_unless_a_gpu_is_required() {
    let mut machine = Machine::nvidia().libcuda(0, 0, 1);
    machine.python = Some(machine.script("python", "exec python3 -S \"$@\""));
    assert_eq!(failure(&machine.probe(Require::Cuda), "interpreter_framework").0, "no_framework");
    assert_eq!(words(&machine.probe(Require::None))[2], "not applicable");
}

#[test]
fn an_interpreter_that_does_not_start_is_a_failure() {
    let mut machine = Machine::bare();
    machine.python = Some(machine.folder.path().join("no-python"));
    assert_eq!(failure(&machine.probe(Require::None), "interpreter_framework").0, "cannot_start");
}

#[test]
fn a_launcher_that_cannot_start_is_our_failure_and_not_the_machines() {
    let mut request = Machine::nvidia().request(Require::Cuda);
    request.launcher = Launcher { exe: "/nonexistent/fascicolo".into(), args: vec![] };
    let (code, _, layer) = failure(&fascicolo_probe::run(&request), "hardware");
    assert_eq!((code.as_str(), layer.as_str()), ("cannot_start", "probe"));
}

#[test]
fn a_report_survives_json() {
    for require in [Require::None, Require::Cuda, Require::Cpu] {
        let report = Machine::nvidia().libcuda(0, 0, 1).probe(require);
        let text = serde_json::to_string(&report).unwrap();
        assert_eq!(serde_json::from_str::<Report>(&text).unwrap(), report);
    }
}

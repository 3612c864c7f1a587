//! Broken and working drivers, simulated by small libraries built here. No real device takes part.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

mod common;

use std::time::{Duration, Instant};

use common::{Machine, failure, processes_with, words};
use fascicolo_probe::{Require, Requirement, StageResult};
use serde_json::json;

#[test]
fn simulated_codes_name_their_layer() {
    for (code, layer, word) in [
        (802, "kernel_driver", "fabric manager"),
        (803, "kernel_driver", "different versions"),
        (804, "user_driver", "forward compatibility"),
        (999, "kernel_driver", "unknown"),
        (46, "kernel_driver", "exclusive"),
        (12345, "user_driver", "without a name"),
    ] {
        let report = Machine::nvidia().libcuda(code, 0, 1).probe(Require::Cuda);
        let (name, error, at) = failure(&report, "driver_library");
        assert_eq!((name, at.as_str()), (format!("cuda_{code}"), layer));
        assert!(error.contains(&format!("cuInit returned {code}")) && error.contains(word), "{error}");
        assert!(error.contains("version 13.0"), "{error}");
        assert_eq!(words(&report), ["passed", "failed", "not run", "not run"]);
    }
}

#[test]
fn simulated_error_of_the_count_names_its_function() {
    let report = Machine::nvidia().libcuda(0, 3, 0).probe(Require::Cuda);
    let (code, error, _) = failure(&report, "driver_library");
    assert_eq!(code, "cuda_3");
    assert!(error.contains("cuDeviceGetCount returned 3"), "{error}");
}

#[test]
fn simulated_a_hidden_gpu_is_not_called_absent() {
    for mask in ["", "-1", "7", "GPU-00000000-0000-0000-0000-000000000000", "NoDevFiles"] {
        for (init, devices) in [(0, 0), (100, 0)] {
            let machine = Machine::nvidia().libcuda(init, 0, devices).env(&format!("CUDA_VISIBLE_DEVICES={mask}"));
            let (code, error, _) = failure(&machine.probe(Require::Cuda), "driver_library");
            assert_eq!(code, "hidden");
            assert!(error.contains(&format!("CUDA_VISIBLE_DEVICES=\"{mask}\"")), "{error}");

            // Not required: the user's own mask is no failure, but neither is the device called absent.
            match &machine.probe(Require::None).stage("driver_library").unwrap().result {
                StageResult::NotApplicable { because } => assert!(because.contains("can hide"), "{because}"),
                other => panic!("{other:?}"),
            }
        }
    }
}

#[test]
fn simulated_a_mask_that_shows_the_first_device_is_not_blamed() {
    let report = Machine::nvidia().libcuda(100, 0, 0).env("CUDA_VISIBLE_DEVICES=0,1").probe(Require::Cuda);
    assert_eq!(failure(&report, "driver_library").0, "no_device");
}

#[test]
fn simulated_a_hidden_amd_device_is_not_called_absent() {
    for mask in ["ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"] {
        let report = Machine::amd().libhip(100, 0, 0).env(&format!("{mask}=-1")).probe(Require::Rocm);
        let (code, error, _) = failure(&report, "driver_library");
        assert_eq!(code, "hidden");
        assert!(error.contains(mask), "{error}");
    }
}

#[test]
fn simulated_missing_kernel_driver_is_told_from_a_missing_device() {
    // A card passed by its node alone, whose driver went away between the two stages, cannot be had in a fake tree;
    // without requirement the library is asked although the bus shows a card without nodes.
    let report = Machine::bare().pci("0000:3b:00.0", "0x10de", "0x030000").libcuda(100, 0, 0).probe(Require::None);
    let (code, _, layer) = failure(&report, "driver_library");
    assert_eq!((code.as_str(), layer.as_str()), ("no_driver", "kernel_driver"));

    let (code, _, _) = failure(&Machine::nvidia().libcuda(100, 0, 0).probe(Require::Cuda), "driver_library");
    assert_eq!(code, "no_device");
}

#[test]
fn simulated_stub_library_is_recognised() {
    let report = Machine::nvidia().libcuda(34, 0, 0).probe(Require::Cuda);
    assert_eq!(failure(&report, "driver_library").0, "stub_library");
}

#[test]
fn simulated_library_without_symbols_names_the_first_missing() {
    let report = Machine::nvidia().library("libcuda.so.1", "int nothing_here;").probe(Require::Cuda);
    let (code, error, _) = failure(&report, "driver_library");
    assert_eq!(code, "missing_symbol");
    assert!(error.contains("cuDriverGetVersion"), "{error}");

    let half = "int cuDriverGetVersion(int *v) { *v = 13000; return 0; }";
    let (_, error, _) =
        failure(&Machine::nvidia().library("libcuda.so.1", half).probe(Require::Cuda), "driver_library");
    assert!(error.contains("`cuInit`"), "{error}");
}

#[test]
fn simulated_file_that_is_no_library_is_not_called_missing() {
    let machine = Machine::nvidia();
    std::fs::write(machine.folder.path().join("lib/libcuda.so.1"), "not an ELF file").unwrap();
    assert_eq!(failure(&machine.probe(Require::Cuda), "driver_library").0, "unloadable");
}

#[test]
fn simulated_hang_is_killed_at_the_deadline_and_the_stage_is_kept() {
    let hang =
        "#include <unistd.h>\nint cuDriverGetVersion(int *v) { if (!fork()) { for (;;) pause(); } for (;;) pause(); }";
    let machine = Machine::nvidia().library("libcuda.so.1", hang).deadline(Duration::from_millis(700));
    let started = Instant::now();
    let report = machine.probe(Require::Cuda);
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
    let (code, error, layer) = failure(&report, "driver_library");
    assert_eq!((code.as_str(), layer.as_str()), ("deadline", "user_driver"));
    assert!(error.contains("0.7 s"), "{error}");
    assert!(report.stage("driver_library").unwrap().elapsed_ms >= 700);
    assert_eq!(report.conclusion.stopped_at.as_deref(), Some("driver_library"));
    assert!(processes_with(machine.folder.path()).is_empty(), "a child was left behind");
}

#[test]
fn simulated_crash_is_a_failure_with_its_signal() {
    let crash = "int cuDriverGetVersion(int *v) { volatile int *nowhere = 0; return *nowhere; }";
    let (code, error, _) =
        failure(&Machine::nvidia().library("libcuda.so.1", crash).probe(Require::Cuda), "driver_library");
    assert_eq!(code, "SIGSEGV");
    assert!(error.contains("(11)"), "{error}");

    let at_load = "#include <stdlib.h>\n__attribute__((constructor)) static void early(void) { abort(); }";
    let report = Machine::nvidia().library("libcuda.so.1", at_load).probe(Require::Cuda);
    assert_eq!(failure(&report, "driver_library").0, "SIGABRT");
}

#[test]
fn simulated_library_that_ends_the_process_gives_no_answer() {
    let exits = "#include <stdlib.h>\nint cuDriverGetVersion(int *v) { exit(0); }";
    let (code, error, _) =
        failure(&Machine::nvidia().library("libcuda.so.1", exits).probe(Require::Cuda), "driver_library");
    assert_eq!(code, "no_answer");
    assert!(error.contains("status 0"), "{error}");
}

#[test]
fn simulated_chatty_library_does_not_disturb_the_answer() {
    let chatty = "#include <stdio.h>\nint cuDriverGetVersion(int *v) { *v = 12040; return 0; }\n\
        int cuInit(unsigned f) { for (int i = 0; i < 9999; i++) puts(\"fascicolo? {}\"); printf(\"no newline\"); fflush(stdout); return 0; }\n\
        int cuDeviceGetCount(int *n) { *n = 2; return 0; }";
    let report = Machine::nvidia().library("libcuda.so.1", chatty).probe(Require::None);
    match &report.stage("driver_library").unwrap().result {
        StageResult::Passed { facts } => {
            assert_eq!(facts["cuda_devices"], json!(2));
            assert_eq!(facts["cuda_driver_version"], json!("12.4"));
            assert!(facts["cuda_library"].as_str().unwrap().ends_with("/lib/libcuda.so.1"));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn simulated_gpu_without_a_computation_does_not_hold_yet() {
    let torch = "class version: cuda = '13.0'; hip = None\n__version__ = '2.13.0+cu130'\n\
        class cuda:\n    is_available = staticmethod(lambda: True)\n    device_count = staticmethod(lambda: 1)\n";
    let report = Machine::nvidia().libcuda(0, 0, 1).torch(torch).probe(Require::Cuda);
    assert_eq!(words(&report), ["passed", "passed", "passed", "not run"]);
    assert_eq!(report.conclusion.standing, Requirement::CannotTell);
    assert_eq!(report.standing().exit_status(), 3);
}

#[test]
fn simulated_any_takes_the_maker_whose_device_is_there() {
    let report = Machine::amd().libhip(0, 0, 1).probe(Require::Any);
    match &report.stage("driver_library").unwrap().result {
        StageResult::Passed { facts } => assert_eq!(facts["hip_driver_version"], json!("6.4.43483")),
        other => panic!("{other:?}"),
    }
    // An NVIDIA library on a machine with an AMD device meets nothing.
    let report = Machine::amd().libcuda(0, 0, 1).probe(Require::Any);
    assert_eq!(failure(&report, "driver_library").0, "no_library");
}

#[test]
fn simulated_broken_driver_is_told_even_if_nothing_is_required() {
    let report = Machine::nvidia().libcuda(803, 0, 0).probe(Require::None);
    assert_eq!(words(&report), ["passed", "failed", "not applicable", "passed"]);
    assert_eq!(report.standing().exit_status(), 1);
}

#[test]
fn simulated_idle_library_on_a_machine_without_device_is_not_applicable() {
    let report = Machine::bare().libcuda(100, 0, 0).probe(Require::None);
    assert_eq!(words(&report), ["not applicable", "not applicable", "not applicable", "passed"]);
}

#[test]
fn simulated_gpu_library_never_enters_this_process() {
    let machine = Machine::nvidia().libcuda(0, 0, 1).libhip(0, 0, 1);
    machine.probe(Require::None);
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    assert!(!maps.contains("libcuda") && !maps.contains("libamdhip"), "{maps}");
}

//! The first error of a Python program, from its traceback: what, where, and in which phase.
//!
//! Where one error led to others, Python prints the first of them first. The phase is told by the innermost frame whose
//! file or line says what it does; it is a reading of names, and the record says so.

use serde_json::{Value, json};

const HEAD: &str = "Traceback (most recent call last):";
/// Frames that are recorded, the innermost ones.
const FRAMES: usize = 12;

/// In what a program was when it failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Importing,
    Loading,
    Transfer,
    Operation,
}

impl Phase {
    fn words(self) -> &'static str {
        match self {
            Phase::Importing => "while importing",
            Phase::Loading => "while loading data",
            Phase::Transfer => "while transferring to a device",
            Phase::Operation => "in an operation",
        }
    }
}

#[derive(Debug)]
struct Frame<'t> {
    file: &'t str,
    line: u64,
    function: &'t str,
    source: String,
}

/// The first error among what stands on standard error; `None` if there is no traceback. `program`: what came on
/// standard input, whose lines Python cannot show.
pub fn find(stderr: &[u8], program: &[u8]) -> Option<Value> {
    let text = String::from_utf8_lossy(stderr);
    let program = String::from_utf8_lossy(program);
    let lines: Vec<&str> = text.lines().collect();
    let begin = lines.iter().position(|line| line.trim_start().starts_with(HEAD))?;
    let mut frames: Vec<Frame<'_>> = Vec::new();
    let mut error = None;
    for line in &lines[begin + 1..] {
        if let Some(frame) = frame(line, &program) {
            frames.push(frame);
        } else if line.starts_with(' ') || line.is_empty() {
            if let Some(last) = frames.last_mut().filter(|last| last.source.is_empty()) {
                last.source = line.trim().to_owned();
            }
        } else {
            error = Some(*line);
            break;
        }
    }
    let error = error?;
    let (kind, message) = error.split_once(": ").unwrap_or((error.trim_end_matches(':'), ""));
    let (phase, by) = phase(kind, &frames);
    let shown = frames.iter().rev().take(FRAMES).rev();
    let shown: Vec<Value> = shown
        .map(|frame| json!({ "file": frame.file, "line": frame.line, "function": frame.function, "source": frame.source }))
        .collect();
    Some(json!({
        "type": kind, "message": message, "phase": phase.words(), "phase_by": by, "frames": shown,
    }))
}

/// `  File "x.py", line 3, in f`
fn frame<'t>(line: &'t str, program: &str) -> Option<Frame<'t>> {
    let (file, rest) = line.trim_start().strip_prefix("File \"")?.split_once("\", line ")?;
    let (number, function) = rest.split_once(", in ").unwrap_or((rest, ""));
    let number: u64 = number.trim().parse().ok()?;
    let own = (file == "<stdin>").then(|| program.lines().nth(usize::try_from(number).ok()?.checked_sub(1)?)).flatten();
    Some(Frame { file, line: number, function, source: own.unwrap_or_default().trim().to_owned() })
}

/// Files of libraries that read data, by a part of their path.
const LOADERS: [&str; 14] = [
    "torch/utils/data/",
    "/datasets/",
    "/pyarrow/",
    "pandas/io/",
    "numpy/lib/npyio",
    "numpy/lib/_npyio",
    "/PIL/",
    "/json/",
    "/csv.py",
    "/zipfile",
    "/safetensors/",
    "/h5py/",
    "/gzip.py",
    "/tarfile.py",
];
/// Calls that read data, as they stand in a line of a program.
const LOADING: [&str; 15] = [
    "open(",
    "np.load(",
    "numpy.load(",
    "torch.load(",
    "json.load",
    "pickle.load",
    "read_csv(",
    "read_table(",
    "read_parquet(",
    "read_text(",
    "read_bytes(",
    "load_dataset(",
    "load_file(",
    "from_pretrained(",
    "csv.reader(",
];
/// Calls that bring data to a device or back.
const TRANSFERS: [&str; 7] =
    [".to(", ".cuda(", ".cpu(", ".pin_memory(", "device_put(", "torch.cuda.set_device(", "to_device("];

fn phase(kind: &str, frames: &[Frame<'_>]) -> (Phase, String) {
    if ["ModuleNotFoundError", "ImportError"].contains(&kind) {
        return (Phase::Importing, format!("the error is a {kind}"));
    }
    for frame in frames.iter().rev() {
        let place = || format!("{}, line {}", frame.file, frame.line);
        let file = frame.file.replace('\\', "/");
        if LOADERS.iter().any(|part| file.contains(part)) {
            return (Phase::Loading, place());
        }
        // Assigned before it is called, `x.to(device).forward(y)` may be either; the transfer comes first.
        if TRANSFERS.iter().any(|call| frame.source.contains(call)) {
            return (Phase::Transfer, place());
        }
        if LOADING.iter().any(|call| frame.source.contains(call)) {
            return (Phase::Loading, place());
        }
    }
    if ["FileNotFoundError", "PermissionError", "IsADirectoryError", "UnicodeDecodeError", "EOFError"].contains(&kind) {
        return (Phase::Loading, format!("the error is a {kind}"));
    }
    let place = frames.last().map_or_else(|| "no frame tells".to_owned(), |f| format!("{}, line {}", f.file, f.line));
    (Phase::Operation, place)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_several_errors_is_kept_with_its_frames() {
        let stderr = "warming up\nTraceback (most recent call last):\n  File \"<stdin>\", line 2, in <module>\n  File \
                      \"/env/lib/m.py\", line 7, in f\n    return 1 / x\n           ~~^~~\nZeroDivisionError: division by \
                      zero\n\nDuring handling of the above exception, another exception occurred:\n\nTraceback (most recent \
                      call last):\n  File \"<stdin>\", line 4, in <module>\nRuntimeError: given up\n";
        let error = find(stderr.as_bytes(), b"import m\nm.f(0)\n").unwrap();
        assert_eq!(
            (error["type"].as_str(), error["message"].as_str()),
            (Some("ZeroDivisionError"), Some("division by zero"))
        );
        assert_eq!(error["phase"], "in an operation");
        assert_eq!(error["frames"][0]["source"], "m.f(0)");
        assert_eq!(error["frames"][1]["line"], 7);
        assert!(find(b"Segmentation fault\n", b"").is_none());
    }

    #[test]
    fn the_phase_is_that_of_the_innermost_frame_that_tells_one() {
        let traceback = |file: &str, line: &str, error: &str| {
            format!(
                "Traceback (most recent call last):\n  File \"train.py\", line 3, in <module>\n    main()\n  File \"{file}\", line \
                 9, in g\n    {line}\n{error}\n"
            )
        };
        for (file, line, error, phase) in [
            ("/e/torch/utils/data/_utils/fetch.py", "data = self.dataset[i]", "IndexError: 3", "while loading data"),
            ("train.py", "x = np.load(path)", "ValueError: bad magic", "while loading data"),
            (
                "train.py",
                "x = x.to(device)",
                "RuntimeError: CUDA error: out of memory",
                "while transferring to a device",
            ),
            ("train.py", "y = a @ b", "ValueError: matmul: mismatch", "in an operation"),
            ("train.py", "import torch", "ModuleNotFoundError: No module named 'torch'", "while importing"),
            ("train.py", "go(path)", "FileNotFoundError: [Errno 2] No such file", "while loading data"),
        ] {
            let found = find(traceback(file, line, error).as_bytes(), b"").unwrap();
            assert_eq!(found["phase"], phase, "{file} {line}");
        }
    }
}

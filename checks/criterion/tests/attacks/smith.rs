//! Made-up components: nothing that they are or do ends this process, takes longer than a criterion may, or is our fault.

use super::{Court, bytes, module, run};
use arbitrary::Unstructured;
use fascicolo_contract::Explain;
use fascicolo_criterion::standard;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// A number that the environment may set.
fn said(variable: &str, otherwise: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

/// Steele, Lea and Flood's SplitMix64: the same seed gives the same inputs.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, most: usize) -> usize {
        (self.next() % most.max(1) as u64) as usize
    }

    fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.next() as u8).collect()
    }
}

/// A core module of wasm-smith's, with this done to its settings.
fn smith(random: &mut Random, set: impl FnOnce(&mut wasm_smith::Config)) -> Option<Vec<u8>> {
    let bytes = random.bytes(4 << 10);
    let mut given = Unstructured::new(&bytes);
    let mut config: wasm_smith::Config = given.arbitrary().ok()?;
    set(&mut config);
    Some(wasm_smith::Module::new(config, &mut given).ok()?.to_bytes())
}

/// Nothing that is refused at a glance.
fn plain(config: &mut wasm_smith::Config) {
    (config.max_imports, config.max_memories) = (0, 1);
    (config.gc_enabled, config.threads_enabled, config.memory64_enabled) = (false, false, false);
    (config.exceptions_enabled, config.relaxed_simd_enabled, config.wide_arithmetic_enabled) = (false, false, false);
    (config.shared_everything_threads_enabled, config.custom_page_sizes_enabled) = (false, false);
}

/// What is made up, by a name for the count.
fn made_up(random: &mut Random) -> Option<(&'static str, Vec<u8>)> {
    match random.below(6) {
        0 => Some(("core modules", smith(random, |_| {})?)),
        1 => {
            // Beside an honest one, and instantiated with it: its start function and its segments run.
            let inner = smith(random, |config| {
                plain(config);
                config.allow_start_export = true;
            })?;
            Some(("modules beside an honest one", bytes::honest_with(&inner, 1)))
        }
        2 => {
            let bytes = random.bytes(4 << 10);
            let component: wasm_smith::Component = Unstructured::new(&bytes).arbitrary().ok()?;
            Some(("components", component.to_bytes()))
        }
        3 => {
            // With the contract's functions, whose bodies are made up.
            let honest = wat::parse_str(module::text("")).ok()?;
            let made = smith(random, |config| {
                plain(config);
                config.exports = Some(honest);
            })?;
            Some(("criteria with made-up functions", module::around(made).ok()?))
        }
        4 => {
            let mut bytes =
                standard::find(if random.below(2) == 0 { "cosine" } else { "allclose" })?.component.to_vec();
            mutate(random, &mut bytes);
            Some(("mutants of standard criteria", bytes))
        }
        _ => {
            let mut bytes = module::honest();
            mutate(random, &mut bytes);
            Some(("mutants of the smallest criterion", bytes))
        }
    }
}

/// Changes, takes out, puts in and repeats some bytes.
fn mutate(random: &mut Random, bytes: &mut Vec<u8>) {
    for _ in 0..=random.below(4) {
        let at = random.below(bytes.len());
        match random.below(6) {
            0 => bytes[at] ^= 1 << random.below(8),
            1 => bytes[at] = random.next() as u8,
            2 => bytes[at] = [0, 1, 0x7f, 0x80, 0xff][random.below(5)],
            3 => {
                let end = (at + 1 + random.below(8)).min(bytes.len());
                bytes.drain(at..end);
            }
            4 => {
                let new = random.bytes(8);
                bytes.splice(at..at, new);
            }
            _ => {
                let end = (at + random.below(64)).min(bytes.len());
                let again = bytes[at..end].to_vec();
                bytes.splice(at..at, again);
            }
        }
    }
}

/// The most memory that this process had, MiB; 0 where the system does not tell.
fn peak_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|text| text.trim().trim_end_matches(" kB").parse::<u64>().ok()).unwrap_or(0) >> 10
}

/// `FASCICOLO_FUZZ_SECONDS` says how long, `FASCICOLO_FUZZ_SEED` with which numbers.
#[test]
#[ignore = "fuzzing, for as long as it is told: tests/run fuzz"]
fn made_up_components_are_refused_or_run_within_their_limits() {
    let seconds = said("FASCICOLO_FUZZ_SECONDS", 20);
    let clock = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    let seed = said("FASCICOLO_FUZZ_SEED", clock);
    println!("seed: {seed}");
    let court = Court::new();
    let started = Instant::now();
    let mut counts: BTreeMap<(&str, String), u64> = BTreeMap::new();
    let mut slowest = (Duration::ZERO, 0);
    let mut inputs = 0;
    while started.elapsed() < Duration::from_secs(seconds) {
        // Each input has a seed of its own, so that one alone can be made again.
        let own = seed.wrapping_add(inputs);
        let Some((what, component)) = made_up(&mut Random(own)) else {
            inputs += 1;
            continue;
        };
        let begun = Instant::now();
        let mut ended = run(&court.host, "made-up", &component, &[]);
        if let Err(fascicolo_criterion::CriterionError::Parameters { .. }) = ended {
            let given: &[(&str, f64)] = if own % 2 == 0 { &[("floor", 0.5)] } else { &[("atol", 0.1), ("rtol", 0.1)] };
            ended = run(&court.host, "made-up", &component, given);
        }
        let took = begun.elapsed();
        if took > slowest.0 {
            slowest = (took, own);
        }
        // Two runs, each compiled and with some calls of at most the whole fuel, on a machine that may be very busy.
        assert!(took < Duration::from_secs(120), "input {own}: {took:?}");
        let kind = match &ended {
            Ok(_) => "an answer".to_owned(),
            Err(error) => {
                let message = error.to_string();
                assert!(error.kind() != "runtime" && !message.contains("ended by signal"), "input {own}: {message}");
                assert!(message.len() < 2_500, "input {own}: a message of {} bytes", message.len());
                error.kind().to_owned()
            }
        };
        *counts.entry((what, kind)).or_default() += 1;
        inputs += 1;
        if inputs % 200 == 0 {
            court.honest_as_ever("made-up components");
        }
    }
    court.honest_as_ever("all made-up components");
    let refused: u64 = counts.iter().filter(|((_, kind), _)| kind != "an answer").map(|(_, n)| n).sum();
    let answered: u64 = counts.values().sum::<u64>() - refused;
    for ((what, kind), n) in &counts {
        println!("{what}: {kind}: {n}");
    }
    println!(
        "shown: made-up components: {answered} answered, {refused} refused or stopped in {seconds} s (seed {seed}); the \
         slowest, {}, after {} ms; {} MiB at most",
        slowest.1,
        slowest.0.as_millis(),
        peak_mib()
    );
    assert!(refused > 0 && peak_mib() < 2_048);
}

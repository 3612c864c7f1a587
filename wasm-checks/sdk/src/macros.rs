//! [`criterion!`](crate::criterion), which turns a criterion as it is written into the contract's functions.

/// Declares a criterion. See the crate's page for a whole one.
///
/// - `meaning`: what it decides, in a sentence.
/// - `version` (optional): the author's own; `"1"` unless given.
/// - `parameters`: `name["unit"] "meaning"`, or `name["unit", 0.0..=1.0] "meaning"` with the range that means anything;
///   numbers, read as `p.name`; a declaration must give every one.
/// - `sees`: what a row carries. Measures that the host computes: `dot`, `norm_reference`, `norm_candidate`, `cosine`,
///   `l2`, `abs_max`, `rel_max`, `rel_undefined`, `elements_over(atol, rtol)` (naming two parameters), `ulp_max`,
///   `value_bits`, `neighbours_kept(k, queries)`, `neighbours_tied(k, queries)` (naming two parameters; `None` for a row
///   that is no query), `centroid_kept`; and `label`, `candidate_label`, `reference`, `candidate` (the raw vectors). `row.id` is always there.
/// - `state`: accumulators by name.
/// - `row`: what one row does to the state.
/// - `verdict`: what the state says.
#[macro_export]
macro_rules! criterion {
    (
        meaning: $meaning:expr,
        $(version: $version:expr,)?
        parameters: { $( $p:ident [ $unit:literal $(, $range:expr )? ] $p_meaning:literal ),* $(,)? },
        sees: { $( $seen:ident $( ( $atol:ident, $rtol:ident ) )? ),* $(,)? },
        state: { $( $s:ident : $acc:ty ),* $(,)? },
        row: |$row_state:ident, $row:ident, $row_p:ident| $row_body:block,
        verdict: |$end_state:ident, $end_p:ident| $end_body:block $(,)?
    ) => {
        #[derive(Default)]
        struct CriterionState { $( $s: $acc, )* }

        #[derive(Default, Clone, Copy)]
        struct CriterionParameters { $( $p: f64, )* }

        struct CriterionRow<'a> { id: &'a str, $( $seen: $crate::__seen_type!($seen, 'a), )* }

        fn criterion_row($row_state: &mut CriterionState, $row: &CriterionRow<'_>, $row_p: &CriterionParameters) $row_body

        fn criterion_verdict($end_state: &CriterionState, $end_p: &CriterionParameters) -> $crate::build::Answer $end_body

        struct Criterion;

        ::std::thread_local! {
            static FOLD: ::std::cell::RefCell<(Option<CriterionParameters>, CriterionState)> = ::std::default::Default::default();
        }

        impl Criterion {
            fn trouble(state: &CriterionState) -> ::std::result::Result<(), String> {
                $( if let Some(what) = $crate::accumulate::Accumulator::trouble(&state.$s) { return Err(what); } )*
                let _ = state;
                Ok(())
            }
        }

        impl $crate::contract::Guest for Criterion {
            fn describe() -> $crate::contract::Description {
                #[allow(unused_mut)]
                let mut description = $crate::contract::Description {
                    // The host names a criterion after its cell or file.
                    name: ::std::string::String::new(),
                    version: ::std::string::String::from($crate::__or!($( $version )? ; "1")),
                    meaning: ::std::string::String::from($meaning),
                    parameters: ::std::vec![ $( $crate::build::parameter(
                        stringify!($p), $unit, $p_meaning, $crate::__or!($( $range )? ; ..),
                    ) ),* ],
                    measures: ::std::vec::Vec::new(),
                    wants: $crate::contract::Wants { vectors: false, labels: false, candidate_labels: false },
                };
                $( $crate::__seen_wanted!(description, $seen $( ( $atol, $rtol ) )?); )*
                description
            }

            fn init(arguments: ::std::vec::Vec<$crate::contract::Argument>) -> ::std::result::Result<(), ::std::string::String> {
                #[allow(unused_mut)]
                let mut parameters = CriterionParameters::default();
                $(
                    parameters.$p = arguments.iter().find(|a| a.name == stringify!($p)).map(|a| a.value)
                        .ok_or_else(|| format!("parameter `{}` was not given", stringify!($p)))?;
                )*
                let _ = &arguments;
                FOLD.with(|fold| *fold.borrow_mut() = (Some(parameters), CriterionState::default()));
                Ok(())
            }

            fn update(batch: $crate::contract::Batch) -> ::std::result::Result<(), ::std::string::String> {
                FOLD.with(|fold| {
                    let (parameters, state) = &mut *fold.borrow_mut();
                    let parameters = parameters.as_ref().ok_or("the criterion was not initialised")?;
                    for row in 0..batch.rows as usize {
                        #[allow(unused_mut, unused_variables)]
                        let mut measure = 0usize;
                        let seen = CriterionRow {
                            id: $crate::row::text(&batch.ids, row),
                            $( $seen: $crate::__seen_value!($seen, batch, row, measure), )*
                        };
                        criterion_row(state, &seen, parameters);
                    }
                    Criterion::trouble(state)
                })
            }

            fn state() -> ::std::vec::Vec<u8> {
                let mut bytes = ::std::vec::Vec::new();
                FOLD.with(|fold| {
                    let (_, state) = &*fold.borrow();
                    $( $crate::accumulate::Accumulator::save(&state.$s, &mut bytes); )*
                    let _ = state;
                });
                bytes
            }

            fn merge(state: ::std::vec::Vec<u8>) -> ::std::result::Result<(), ::std::string::String> {
                #[allow(unused_mut)]
                let mut saved = $crate::accumulate::Saved(&state);
                FOLD.with(|fold| {
                    let (_, state) = &mut *fold.borrow_mut();
                    $( $crate::accumulate::Accumulator::merge(&mut state.$s, &mut saved)?; )*
                    let _ = state;
                    if saved.0.is_empty() { Ok(()) } else { Err("the saved state is too long".to_owned()) }
                })
            }

            fn finish() -> ::std::result::Result<$crate::contract::Outcome, ::std::string::String> {
                FOLD.with(|fold| {
                    let (parameters, state) = &*fold.borrow();
                    let parameters = parameters.as_ref().ok_or("the criterion was not initialised")?;
                    Criterion::trouble(state)?;
                    Ok(criterion_verdict(state, parameters).finish())
                })
            }
        }

        #[cfg(target_arch = "wasm32")]
        $crate::bindings::export_criterion!(Criterion with_types_in $crate::bindings);

        /// The allocator that the host writes arguments through.
        #[cfg(target_arch = "wasm32")]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn cabi_realloc(old: *mut u8, old_len: usize, align: usize, new_len: usize) -> *mut u8 {
            unsafe { $crate::rt::cabi_realloc(old, old_len, align, new_len) }
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __or {
    (; $default:expr) => {
        $default
    };
    ($given:expr ; $default:expr) => {
        $given
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __seen_type {
    (label, $a:lifetime) => { &$a str };
    (candidate_label, $a:lifetime) => { &$a str };
    (reference, $a:lifetime) => { $crate::row::Vector<$a> };
    (candidate, $a:lifetime) => { $crate::row::Vector<$a> };
    (neighbours_kept, $a:lifetime) => { ::std::option::Option<f64> };
    (neighbours_tied, $a:lifetime) => { ::std::option::Option<f64> };
    ($measure:ident, $a:lifetime) => { f64 };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __seen_value {
    (label, $batch:ident, $row:ident, $measure:ident) => {
        $crate::row::text(&$batch.labels, $row)
    };
    (candidate_label, $batch:ident, $row:ident, $measure:ident) => {
        $crate::row::text(&$batch.candidate_labels, $row)
    };
    (reference, $batch:ident, $row:ident, $measure:ident) => {
        $crate::row::reference(&$batch, $row)
    };
    (candidate, $batch:ident, $row:ident, $measure:ident) => {
        $crate::row::candidate(&$batch, $row)
    };
    (neighbours_kept, $batch:ident, $row:ident, $measure:ident) => {
        $crate::row::known($crate::__seen_value!(measured, $batch, $row, $measure))
    };
    (neighbours_tied, $batch:ident, $row:ident, $measure:ident) => {
        $crate::row::known($crate::__seen_value!(measured, $batch, $row, $measure))
    };
    ($other:ident, $batch:ident, $row:ident, $measure:ident) => {{
        let value = $batch.measures.get($measure).and_then(|list| list.get($row)).copied().unwrap_or(f64::NAN);
        $measure += 1;
        value
    }};
}

#[doc(hidden)]
#[macro_export]
macro_rules! __seen_wanted {
    ($d:ident, label) => { $d.wants.labels = true; };
    ($d:ident, candidate_label) => { $d.wants.candidate_labels = true; };
    ($d:ident, reference) => { $d.wants.vectors = true; };
    ($d:ident, candidate) => { $d.wants.vectors = true; };
    ($d:ident, dot) => { $d.measures.push($crate::contract::Measure::Dot); };
    ($d:ident, norm_reference) => { $d.measures.push($crate::contract::Measure::NormReference); };
    ($d:ident, norm_candidate) => { $d.measures.push($crate::contract::Measure::NormCandidate); };
    ($d:ident, cosine) => { $d.measures.push($crate::contract::Measure::Cosine); };
    ($d:ident, l2) => { $d.measures.push($crate::contract::Measure::L2); };
    ($d:ident, abs_max) => { $d.measures.push($crate::contract::Measure::AbsMax); };
    ($d:ident, rel_max) => { $d.measures.push($crate::contract::Measure::RelMax); };
    ($d:ident, rel_undefined) => { $d.measures.push($crate::contract::Measure::RelUndefined); };
    ($d:ident, elements_over($atol:ident, $rtol:ident)) => {
        // Names two of the criterion's own parameters; the closure does not compile if there are none of these names.
        let _ = |p: &CriterionParameters| (p.$atol, p.$rtol);
        $d.measures.push($crate::contract::Measure::ElementsOver($crate::contract::ToleranceNames {
            atol: ::std::string::String::from(stringify!($atol)),
            rtol: ::std::string::String::from(stringify!($rtol)),
        }));
    };
    ($d:ident, ulp_max) => { $d.measures.push($crate::contract::Measure::UlpMax); };
    ($d:ident, value_bits) => { $d.measures.push($crate::contract::Measure::ValueBits); };
    ($d:ident, neighbours_kept($k:ident, $queries:ident)) => {
        let _ = |p: &CriterionParameters| (p.$k, p.$queries);
        $d.measures.push($crate::contract::Measure::NeighboursKept($crate::contract::NeighbourNames {
            k: ::std::string::String::from(stringify!($k)),
            queries: ::std::string::String::from(stringify!($queries)),
        }));
    };
    ($d:ident, neighbours_tied($k:ident, $queries:ident)) => {
        let _ = |p: &CriterionParameters| (p.$k, p.$queries);
        $d.measures.push($crate::contract::Measure::NeighboursTied($crate::contract::NeighbourNames {
            k: ::std::string::String::from(stringify!($k)),
            queries: ::std::string::String::from(stringify!($queries)),
        }));
    };
    ($d:ident, centroid_kept) => { $d.measures.push($crate::contract::Measure::CentroidKept); };
    ($d:ident, $other:ident $( $rest:tt )*) => {
        compile_error!(concat!("a row has no `", stringify!($other), "`; it can see: dot, norm_reference, norm_candidate, cosine, l2, abs_max, rel_max, rel_undefined, elements_over(atol, rtol), ulp_max, value_bits, neighbours_kept(k, queries), neighbours_tied(k, queries), centroid_kept, label, candidate_label, reference, candidate"));
    };
}

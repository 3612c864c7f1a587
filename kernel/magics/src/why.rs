//! `%why`

use clap::Args;
use std::str::FromStr;

/// Attribute a difference between two entries to software, inputs or running conditions
///
/// Of each entry it takes the snapshot, the probe and the reference that were in force, the files
/// it read and, of a verdict, the criterion with its parameters. It names every difference, with
/// both values and where they were read.
///
///     %why 12 31                    two entries of this case file, mostly verdicts
///     %why 3f2a/12 31               entry 12 of an imported log, whose origin begins with 3f2a
///
/// A difference is attributed only if exactly one of the three differs and nothing is missing of the
/// other two. A snapshot, probe, layer or fingerprint that was not recorded is never taken for equal:
/// it is named. Exit status: 0 attributed, or the outcomes are the same; 3 cannot tell, or several
/// differ together.
#[derive(Debug, Clone, Args)]
#[command(verbatim_doc_comment)]
pub struct WhyArgs {
    /// The entry to start from, as `%dossier log` numbers it: NUMBER, or ORIGIN/NUMBER of an imported log
    #[arg(value_name = "A")]
    pub a: EntryName,
    /// The entry that differs from it
    #[arg(value_name = "B")]
    pub b: EntryName,
}

/// An entry as the user names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryName {
    /// The beginning of the origin of an imported log, at least 4 hexadecimal digits; `None` for the case file itself.
    pub origin: Option<String>,
    /// The entry's number.
    pub number: u64,
}

impl FromStr for EntryName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (origin, number) = match text.rsplit_once('/') {
            Some((origin, number)) => (Some(origin.strip_prefix("fascicolo/").unwrap_or(origin)), number),
            None => (None, text),
        };
        let number = number.parse().map_err(|_| format!("`{number}` is no entry's number"))?;
        let origin = origin.map(str::to_ascii_lowercase);
        match &origin {
            Some(o) if o.len() < 4 || o.len() > 32 || !o.bytes().all(|b| b.is_ascii_hexdigit()) => {
                Err(format!("`{o}` does not begin an origin: give 4 to 32 of its hexadecimal digits"))
            }
            _ => Ok(EntryName { origin, number }),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_named_by_its_number_or_by_the_beginning_of_an_origin_before_it() {
        let name = |text: &str| text.parse::<EntryName>();
        assert_eq!(name("12").unwrap(), EntryName { origin: None, number: 12 });
        for text in ["3F2a/12", "fascicolo/3f2a/12"] {
            assert_eq!(name(text).unwrap(), EntryName { origin: Some("3f2a".into()), number: 12 });
        }
        for wrong in ["", "x", "-1", "3f2/12", "3f2g/12", "3f2a/", "/12", "3f2a/x"] {
            assert!(name(wrong).is_err(), "{wrong}");
        }
    }
}

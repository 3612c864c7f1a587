//! `%help`, which is made of the declarations themselves.

use clap::Args;

/// Explain a magic, or list them all.
#[derive(Debug, Clone, Args)]
pub struct HelpArgs {
    /// The magic, without its %, and what to do with it where it has several: `dossier sign`
    pub magic: Vec<String>,
}

/// The page of one magic, as `["compare"]`, or of one thing that a magic does, as `["dossier", "sign"]`; without a name
/// the list of all; `None` if there is no such magic.
pub fn page<W: AsRef<str>>(words: &[W]) -> Option<String> {
    let mut grammar = crate::grammar();
    grammar.build();
    match words {
        [_, ..] => command_page(&mut grammar, words),
        [] => {
            let mut text = String::from(
                "Cells hold Rust and magics. Lines that begin with % run first, in order, then the Rust that is left;\n\
                 %% on the first line takes the rest of the cell. Every magic is also a shell command: fascicolo NAME …\n\n",
            );
            for command in grammar.get_subcommands() {
                let about = command.get_about().map(ToString::to_string).unwrap_or_default();
                text += &format!("%{:<11} {about}\n", command.get_name());
            }
            text += "\n%help NAME shows one with its options. A typical case:\n\n\
                 %%reference new … → %snapshot → %probe → %%criterion … → %declare … → %compare … → %dossier verify\n";
            Some(text)
        }
    }
}

/// The page of a command below a grammar that is built.
pub fn command_page<W: AsRef<str>>(grammar: &mut clap::Command, words: &[W]) -> Option<String> {
    let mut command = grammar;
    for (at, word) in words.iter().enumerate() {
        let name = if at == 0 { word.as_ref().trim_start_matches('%') } else { word.as_ref() };
        let Some(found) = command.get_subcommands().position(|c| c.get_name() == name) else {
            // Of `reference new`, which is one command with a choice, the page tells all.
            let is_choice =
                |a: &clap::Arg| a.is_positional() && a.get_possible_values().iter().any(|v| v.matches(name, false));
            let known = at > 0 && at + 1 == words.len() && command.get_arguments().any(is_choice);
            if known { break } else { return None }
        };
        command = command.get_subcommands_mut().nth(found)?;
    }
    Some(command.clone().term_width(100).render_long_help().to_string().trim_end().to_owned() + "\n")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn every_magics_page_says_what_it_does_and_has_what_the_errors_promise() {
        for command in crate::grammar().get_subcommands() {
            let about = page(&[command.get_name()]).unwrap();
            assert!(about.lines().next().unwrap().len() > 20, "{about}");
            assert!(about.contains("Usage: "), "{about}");
            for part in command.get_subcommands() {
                let about = page(&[command.get_name(), part.get_name()]).unwrap();
                let usage = format!("Usage: {} {}", command.get_name(), part.get_name());
                assert!(about.contains(&usage), "{usage} is not in\n{about}");
            }
        }
        let criterion = page(&["%criterion"]).unwrap();
        for word in [
            "criterion! {",
            "sees: {",
            "Lowest",
            "Spread",
            "elements_over(atol, rtol)",
            "argmax()",
            "because(",
            "--lang python",
            "def row(state, row, p):",
            "--sha256",
        ] {
            assert!(criterion.contains(word), "{word} is not in\n{criterion}");
        }
        let reference = page(&["reference"]).unwrap();
        for word in ["[output]", "vector = ", "[[weights]]", "goal = ", "sha256"] {
            assert!(reference.contains(word), "{word} is not in\n{reference}");
        }
        assert!(page(&["reference", "new"]).unwrap().contains("[output]"));
        assert!(page(&["nothing"]).is_none() && page(&["dossier", "nothing"]).is_none());
        assert!(page::<&str>(&[]).unwrap().contains("%compare"));
        let resume = page(&["resume"]).unwrap();
        for word in ["[first]", "[resumed]", "[repeat]", "[state]", "checkpoint = ", "at = 30", "goal = \"trajectory\""]
        {
            assert!(resume.contains(word), "{word} is not in\n{resume}");
        }
    }
}

//! `%help`, which is made of the declarations themselves.

use clap::Args;

/// Explain a magic, or list them all.
#[derive(Debug, Clone, Args)]
pub struct HelpArgs {
    /// The magic, without its %
    pub magic: Option<String>,
}

/// The page of one magic, or the list of all; `None` if there is no such magic.
pub fn page(magic: Option<&str>) -> Option<String> {
    let mut grammar = crate::grammar();
    grammar.build();
    match magic {
        Some(name) => {
            let name = name.trim_start_matches('%');
            let command = grammar.find_subcommand_mut(name)?;
            Some(command.clone().term_width(100).render_long_help().to_string().trim_end().to_owned() + "\n")
        }
        None => {
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn every_magics_page_says_what_it_does_and_has_what_the_errors_promise() {
        for command in crate::grammar().get_subcommands() {
            let page = page(Some(command.get_name())).unwrap();
            assert!(page.lines().next().unwrap().len() > 20, "{page}");
            assert!(page.contains("Usage: "), "{page}");
        }
        let criterion = page(Some("%criterion")).unwrap();
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
        let reference = page(Some("reference")).unwrap();
        for word in ["[output]", "vector = ", "[[weights]]", "goal = ", "sha256"] {
            assert!(reference.contains(word), "{word} is not in\n{reference}");
        }
        assert!(page(Some("nothing")).is_none());
        assert!(page(None).unwrap().contains("%compare"));
    }
}

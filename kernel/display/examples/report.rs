//! Prints the page of a case, to be looked at: `cargo run --example report -- case.json > page.html`.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args_os().nth(1).ok_or("which file? give the path of a case in JSON")?;
    let case = serde_json::from_slice(&std::fs::read(path)?)?;
    print!("{}", fascicolo_display::report(&case));
    Ok(())
}

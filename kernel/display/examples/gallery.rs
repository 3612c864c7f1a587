//! Prints every kind of result, to be looked at: `cargo run --example gallery -- light|dark > page.html`, or `-- text`.

#[path = "../tests/records/mod.rs"]
mod records;

fn main() {
    let form = std::env::args().nth(1).unwrap_or_else(|| "light".to_owned());
    if form == "text" {
        for (kind, record) in records::all() {
            println!("{}\n\n", fascicolo_display::terminal(kind, &record, true));
        }
        return;
    }
    let (ground, ink) = if form == "dark" { ("#111111", "#e0e0e0") } else { ("#ffffff", "#212121") };
    println!(
        "<!DOCTYPE html><meta charset=\"utf-8\"><body style=\"background:{ground};color:{ink};font-family:sans-serif;font-size:14px\">"
    );
    for (kind, record) in records::all() {
        let forms = fascicolo_display::render(kind, &record);
        println!("{}", forms.get("text/html").map_or("", String::as_str));
        if let Some(svg) = forms.get("image/svg+xml") {
            println!("<p>{svg}</p>");
        }
    }
}

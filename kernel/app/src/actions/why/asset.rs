//! Code, data, weights, sample and output as references declare them, and which of them stand for each other.
//!
//! Content decides, by SHA-256 or else by revision; names and places only say which content replaced which.

use super::table::escaped;
use serde_json::Value;

/// One of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asset {
    /// `code`, `data`, `weights`, `sample` or `output`.
    pub role: &'static str,
    /// What it is called: its name, entry point or file.
    pub name: String,
    /// Where it lay, as the user wrote it.
    pub path: Option<String>,
    /// Of its content.
    pub sha256: Option<String>,
    revision: Option<String>,
    entry: Option<String>,
    options: Option<String>,
}

/// Whether two assets hold the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// Equal fingerprints, or equal revisions where one has no fingerprint.
    Same,
    /// They differ.
    Differs,
    /// There is nothing on both sides that could be compared.
    Unknown,
}

impl Asset {
    /// Reads one as a reference holds it; `index`: its place in the list, which stands for a name where there is none.
    pub fn of(role: &'static str, index: usize, value: &Value) -> Asset {
        let text = |key: &str| value[key].as_str().map(str::to_owned);
        let file = text("path").map(|p| p.rsplit(['/', '\\']).find(|part| !part.is_empty()).unwrap_or(&p).to_owned());
        let name = text("name").or_else(|| text("entry")).or(file).or_else(|| text("meaning"));
        Asset {
            role,
            name: name.unwrap_or_else(|| format!("{}", index + 1)),
            path: text("path"),
            sha256: text("sha256"),
            revision: text("revision"),
            entry: text("entry"),
            options: text("options"),
        }
    }

    /// The roles that its own is told with.
    pub fn group(&self) -> &'static [&'static str] {
        GROUPS.into_iter().find(|roles| roles.contains(&self.role)).unwrap_or(&[])
    }

    /// True if its content is known by more than a name.
    pub fn is_known(&self) -> bool {
        self.sha256.is_some() || self.revision.is_some()
    }

    /// By what its content is known again, in words.
    pub fn shown(&self) -> String {
        let place = self.path.as_ref().map(|path| format!("{path}, ")).unwrap_or_default();
        match (&self.sha256, &self.revision) {
            (Some(sha256), _) => format!("{place}SHA-256 {sha256}"),
            (None, Some(revision)) => format!("{place}revision {revision}"),
            (None, None) => format!("{place}neither fingerprint nor revision"),
        }
    }

    /// Its pointer in the table.
    pub fn pointer(&self) -> String {
        match self.role {
            "output" => "/reference/output".to_owned(),
            role => format!("/reference/{role}/{}", escaped(&self.name)),
        }
    }

    /// What was declared of it besides its content: last part of the pointer, and the value.
    pub fn besides(&self) -> [(&'static str, Option<&String>); 2] {
        [("entry", self.entry.as_ref()), ("options", self.options.as_ref())]
    }

    /// Compares two contents.
    pub fn content(&self, other: &Asset) -> Content {
        let compared = |a: &Option<String>, b: &Option<String>| Some(a.as_ref()? == b.as_ref()?);
        match compared(&self.sha256, &other.sha256).or_else(|| compared(&self.revision, &other.revision)) {
            Some(true) => Content::Same,
            Some(false) => Content::Differs,
            None => Content::Unknown,
        }
    }
}

/// Roles among which the same content is the same thing: what one reference calls data may be the other's sample.
const GROUPS: [&[&str]; 4] = [&["output"], &["code"], &["data", "sample"], &["weights"]];

/// Which asset of the one side stands for which of the other: first those of the same content, then those
/// of the same name, then what is left in its order. `None`: nothing stands for it.
pub fn paired<'a>(a: &'a [Asset], b: &'a [Asset]) -> Vec<(Option<&'a Asset>, Option<&'a Asset>)> {
    let mut pairs = Vec::new();
    for roles in GROUPS {
        let mut left: Vec<&Asset> = a.iter().filter(|asset| roles.contains(&asset.role)).collect();
        let mut right: Vec<&Asset> = b.iter().filter(|asset| roles.contains(&asset.role)).collect();
        let same_content = |a: &Asset, b: &Asset| a.content(b) == Content::Same;
        let same_name = |a: &Asset, b: &Asset| a.role == b.role && a.name == b.name;
        let in_order = |a: &Asset, b: &Asset| a.role == b.role;
        // The same content under the same name before the same content under another one.
        let both = |a: &Asset, b: &Asset| same_content(a, b) && same_name(a, b);
        let ways: [&dyn Fn(&Asset, &Asset) -> bool; 4] = [&both, &same_content, &same_name, &in_order];
        for stands_for in ways {
            left.retain(|one| match right.iter().position(|other| stands_for(one, other)) {
                Some(at) => {
                    pairs.push((Some(*one), Some(right.remove(at))));
                    false
                }
                None => true,
            });
        }
        pairs.extend(left.into_iter().map(|one| (Some(one), None)));
        pairs.extend(right.into_iter().map(|one| (None, Some(one))));
    }
    pairs
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use serde_json::json;

    fn data(index: usize, value: Value) -> Asset {
        Asset::of("data", index, &value)
    }

    #[test]
    fn the_same_content_at_another_place_under_another_name_is_no_difference() {
        let a = [data(0, json!({"path": "a/x.tsv", "sha256": "1"})), data(1, json!({"path": "y.tsv", "sha256": "2"}))];
        let b = [data(0, json!({"path": "y.tsv", "sha256": "1"})), data(1, json!({"path": "z.tsv", "sha256": "3"}))];
        let pairs = paired(&a, &b);
        assert_eq!(pairs, [(Some(&a[0]), Some(&b[0])), (Some(&a[1]), Some(&b[1]))]);
        assert_eq!((a[0].content(&b[0]), a[1].content(&b[1])), (Content::Same, Content::Differs));
    }

    #[test]
    fn what_one_reference_calls_data_may_be_the_others_sample() {
        let a = [data(0, json!({"sha256": "1"}))];
        let b = [Asset::of("sample", 0, &json!({"sha256": "1"}))];
        assert_eq!(paired(&a, &b), [(Some(&a[0]), Some(&b[0]))]);
        let c = [Asset::of("sample", 0, &json!({"sha256": "2"}))];
        assert_eq!(paired(&a, &c), [(Some(&a[0]), None), (None, Some(&c[0]))]);
    }

    #[test]
    fn a_name_alone_is_not_taken_for_equal_content() {
        let named = data(0, json!({"name": "texts"}));
        assert_eq!(named.content(&named), Content::Unknown);
        let fingerprinted = data(0, json!({"name": "texts", "sha256": "1", "revision": "r"}));
        assert_eq!(named.content(&fingerprinted), Content::Unknown);
        assert_eq!(data(0, json!({"revision": "r"})).content(&fingerprinted), Content::Same);
    }
}

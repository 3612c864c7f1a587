//! Files written by the tests themselves: what a folder, a struct, a type or a watcher changes.
#![allow(clippy::unwrap_used)]

mod common;

use std::cell::Cell;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, BooleanArray, FixedSizeBinaryArray, Float32Array, Float64Array, Int16Array, Int32Array,
    Int64Array, StringArray, StructArray,
};
use arrow::buffer::NullBuffer;
use arrow::datatypes::Field;
use common::{Unwatched, bits, floats, folder, lists, open, repository, rows, table, texts, write};
use fascicolo_contract::{Explain, ObstacleKind, Side, Vectors};
use fascicolo_embeddings::{Columns, Comparison, Error, Named, Watch, file_digest, files_of};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::SchemaDescriptor;

fn numbered(count: usize) -> ArrayRef {
    Arc::new(StringArray::from_iter_values((0..count).map(|i| format!("row-{i:05}"))))
}

fn kinds(comparison: &Comparison) -> Vec<(ObstacleKind, Option<Side>)> {
    comparison.structure().obstacles.iter().map(|o| (o.kind, o.side)).collect()
}

fn named(id: &str, vector: &str) -> Columns {
    Columns { id: Some(id.into()), vector: Some(vector.into()), ..Columns::default() }
}

#[test]
fn a_struct_that_is_null_makes_its_fields_null() {
    let (_keep, at) = folder();
    // The fields themselves are not null anywhere: only the struct around them is, in row 1.
    let inner = [("key", texts(&["a", "b", "c"])), ("embedding", floats(2, &[1.0, 2.0, f32::NAN, 4.0, 5.0, 6.0]))];
    let fields: Vec<Field> = inner.iter().map(|(n, a)| Field::new(*n, a.data_type().clone(), false)).collect();
    let arrays = inner.iter().map(|c| c.1.clone()).collect();
    let out = StructArray::new(fields.into(), arrays, Some(NullBuffer::from(vec![true, false, true])));
    let file = write(at("a.parquet"), vec![("out", Arc::new(out))]);
    let comparison = Comparison::open(&file, &file, &named("out.key", "out.embedding"), &Unwatched).unwrap();
    let structure = comparison.structure();
    let both = |kind| [(kind, Some(Side::Reference)), (kind, Some(Side::Candidate))];
    assert_eq!(kinds(&comparison), [both(ObstacleKind::NullId), both(ObstacleKind::NullVector)].concat());
    assert_eq!((structure.null_values, structure.nonfinite_values, structure.matched), (4, 0, 2));
    assert!(structure.obstacles[2].message.ends_with("in 1 row: row 1"), "{}", structure.obstacles[2].message);
}

#[test]
fn a_column_of_the_very_name_goes_before_a_field_behind_the_dot() {
    let (_keep, at) = folder();
    let inner = floats(1, &[7.0]);
    let out = StructArray::from(vec![(Arc::new(Field::new("v", inner.data_type().clone(), true)), inner)]);
    let columns = vec![("id", texts(&["a"])), ("out", Arc::new(out) as ArrayRef), ("out.v", floats(1, &[8.0]))];
    let both = write(at("a.parquet"), columns.clone());
    let value = |file: &Path| {
        let comparison = Comparison::open(file, file, &named("id", "out.v"), &Unwatched).unwrap();
        rows(&comparison, 9)[0].reference[0]
    };
    assert_eq!(value(&both), 8.0);
    assert_eq!(value(&write(at("b.parquet"), columns[..2].to_vec())), 7.0);
}

#[test]
fn both_sides_take_the_wider_type() {
    let (_keep, at) = folder();
    let ids = || texts(&["a", "b"]);
    let file = |name: &str, child: ArrayRef| write(at(name), vec![("id", ids()), ("v", lists(1, child))]);
    let narrow = file("f32", Arc::new(Float32Array::from(vec![0.1, 2.0])));
    let short = file("i16", Arc::new(Int16Array::from(vec![1, 2])));
    let wide = file("f64", Arc::new(Float64Array::from(vec![0.1, 2.0])));
    let integers = file("i32", Arc::new(Int32Array::from(vec![i32::MAX, 2])));
    for (reference, candidate, is_narrow) in
        [(&narrow, &narrow, true), (&narrow, &short, true), (&narrow, &wide, false), (&integers, &narrow, false)]
    {
        let comparison = open(reference, candidate).unwrap();
        let batch = comparison.batches(1).unwrap().buffer();
        assert_eq!(matches!(batch.reference, Vectors::F32(_)), is_narrow);
        assert_eq!(matches!(batch.candidate, Vectors::F32(_)), is_narrow);
        assert_eq!(rows(&comparison, 1).len(), 2);
    }
    let mixed = rows(&open(&narrow, &wide).unwrap(), 5);
    assert_eq!(bits(&mixed[0].reference), bits(&[f64::from(0.1f32)]));
    assert_eq!(bits(&mixed[0].candidate), bits(&[0.1]));
}

#[test]
fn a_batch_of_the_wrong_kind_is_made_right() {
    let (_keep, at) = folder();
    let file = write(at("a.parquet"), vec![("id", texts(&["a"])), ("v", floats(1, &[3.0]))]);
    let comparison = open(&file, &file).unwrap();
    let mut batches = comparison.batches(0).unwrap();
    let mut batch = batches.buffer();
    batch.reference = Vectors::F64(vec![9.0; 4]);
    batch.ids.push("stale");
    assert!(batches.next_batch(&mut batch).unwrap());
    assert_eq!((batch.rows(), batch.ids.get(0), batch.reference), (1, "a", Vectors::F32(vec![3.0])));
}

#[test]
fn obstacles_come_in_the_order_of_their_kinds_and_name_twenty_ids() {
    let (_keep, at) = folder();
    let reference = write(at("r.parquet"), vec![("id", numbered(30)), ("v", floats(2, &[1.0; 60]))]);
    let mut values = vec![1.0; 90];
    values[3] = f32::NAN;
    let mut ids: Vec<Option<String>> = (0..30).map(|i| Some(format!("new-{i:02}"))).collect();
    ids[7] = None;
    ids[9] = ids[8].clone();
    let ids: ArrayRef = Arc::new(StringArray::from(ids));
    let candidate = write(at("c.parquet"), vec![("id", ids), ("v", floats(3, &values))]);
    let comparison = open(&reference, &candidate).unwrap();
    let on = Some(Side::Candidate);
    use ObstacleKind as Kind;
    assert_eq!(
        kinds(&comparison),
        [
            (Kind::DimensionsDiffer, None),
            (Kind::NullId, on),
            (Kind::DuplicateId, on),
            (Kind::MissingRows, on),
            (Kind::ExtraRows, on),
            (Kind::NonFinite, on)
        ]
    );
    let structure = comparison.structure();
    assert_eq!((structure.missing.len(), structure.extra.len(), structure.duplicate_ids.len()), (30, 28, 1));
    let missing = &structure.obstacles[3];
    assert_eq!((missing.rows, missing.ids.len()), (30, 20));
    assert_eq!(missing.ids[19], "row-00019");
    let said = "30 ids of the reference have no row in the candidate: `row-00000`, `row-00001`, `row-00002`, \
                `row-00003`, `row-00004` and 25 more";
    assert_eq!(missing.message, said);
    assert_eq!(structure.obstacles[5].ids, ["new-01"]);
}

#[test]
fn ids_may_be_integers_of_different_widths() {
    let (_keep, at) = folder();
    let file = |name: &str, ids: ArrayRef| write(at(name), vec![("id", ids), ("v", floats(1, &[1.0, 2.0]))]);
    let wide = file("a", Arc::new(Int64Array::from(vec![-1, 70_000])));
    let narrow = file("b", Arc::new(Int32Array::from(vec![70_000, -1])));
    let comparison = open(&wide, &narrow).unwrap();
    assert!(comparison.comparable() && comparison.structure().reordered);
    assert_eq!(rows(&comparison, 9)[1].id, "70000");
}

#[test]
fn a_uuid_column_reads_as_hyphenated_texts_and_is_no_plain_binary() {
    let (_keep, at) = folder();
    let ids: ArrayRef = Arc::new(FixedSizeBinaryArray::try_from_iter([[0xABu8; 16]].into_iter()).unwrap());
    let batch = table(vec![("id", ids.clone()), ("v", floats(1, &[1.0]))]);
    let message = "message schema {
        optional fixed_len_byte_array(16) id (UUID);
        optional group v (LIST) { repeated group list { optional float element; } }
    }";
    let schema = SchemaDescriptor::new(Arc::new(parse_message_type(message).unwrap()));
    let options = ArrowWriterOptions::new().with_parquet_schema(schema);
    let file = File::create(at("uuid.parquet")).unwrap();
    let mut writer = ArrowWriter::try_new_with_options(file, batch.schema(), options).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    let found = rows(&open(&at("uuid.parquet"), &at("uuid.parquet")).unwrap(), 9);
    assert_eq!(found[0].id, "abababab-abab-abab-abab-abababababab");

    let plain = write(at("plain.parquet"), vec![("id", ids), ("v", floats(1, &[1.0]))]);
    let message = open(&plain, &at("uuid.parquet")).unwrap().structure().obstacles[0].message.clone();
    assert!(message.contains("fixed_size_binary[16]") && message.contains("extension<arrow.uuid>"), "{message}");
}

#[test]
fn a_folder_is_read_in_name_order_without_its_hidden_files() {
    let (_keep, at) = folder();
    let part = |name: &str, id: &str| write(at(name), vec![("id", texts(&[id])), ("v", floats(1, &[1.0]))]);
    part("b.parquet", "second");
    part("a.parquet", "first");
    std::fs::write(at(".hidden.parquet"), "no Parquet").unwrap();
    std::fs::write(at("_SUCCESS"), "").unwrap();
    let parts = files_of(&at("")).unwrap();
    assert_eq!(parts, [at("a.parquet"), at("b.parquet")]);
    let found = rows(&open(&at(""), &at("")).unwrap(), 9);
    assert_eq!(found.iter().map(|row| row.id.as_str()).collect::<Vec<_>>(), ["first", "second"]);
}

#[test]
fn what_stands_beside_the_parts_is_named_and_not_dropped() {
    let (_keep, at) = folder();
    let part = |name: &str| write(at(name), vec![("id", texts(&["a"])), ("v", floats(1, &[1.0]))]);
    part("part-0.parquet");
    for sidecar in ["_SUCCESS", "_metadata", ".part-0.parquet.crc", ".DS_Store"] {
        std::fs::write(at(sidecar), "").unwrap();
    }
    std::fs::create_dir(at("_delta_log")).unwrap();
    std::fs::create_dir(at(".ipynb_checkpoints")).unwrap();
    // Not left out: it is named as a part is.
    part("_part-1.parquet");
    assert_eq!(files_of(&at("")).unwrap(), [at("_part-1.parquet"), at("part-0.parquet")]);

    for stray in ["part-1.PARQUET", "part-1.pq", "part-1.parquet.gz", "part-1", "parquet", "notes.txt"] {
        part(stray);
        let error = files_of(&at("")).unwrap_err();
        assert!(matches!(&error, Error::StrayEntry { path } if *path == at(stray)), "{error}");
        assert!(error.to_string().contains(stray) && error.next_step().contains("move it elsewhere"), "{error}");
        assert_eq!((error.kind(), error.place().unwrap()), ("stray_entry", at(stray).display().to_string()));
        assert_eq!(open(&at(""), &at("")).err().unwrap().kind(), "stray_entry");
        // Given by itself, a file may have any name.
        assert!(open(&at(stray), &at(stray)).unwrap().comparable());
        std::fs::remove_file(at(stray)).unwrap();
    }
    std::fs::create_dir(at("section=admin")).unwrap();
    part("section=admin/part-0.parquet");
    let error = files_of(&at("")).unwrap_err();
    assert!(matches!(&error, Error::StrayEntry { path } if path.ends_with("section=admin")), "{error}");
    // Of several, the first by name.
    part("another.pq");
    let error = files_of(&at("")).unwrap_err();
    assert!(matches!(&error, Error::StrayEntry { path } if path.ends_with("another.pq")), "{error}");
}

#[test]
fn a_folder_named_as_a_part_is_named_and_not_entered() {
    let (_keep, at) = folder();
    std::fs::create_dir(at("run.parquet")).unwrap();
    let inner = write(at("run.parquet/part-0.parquet"), vec![("id", texts(&["a"])), ("v", floats(1, &[1.0]))]);
    let error = files_of(&at("")).unwrap_err();
    assert!(matches!(&error, Error::FolderPart { path } if *path == at("run.parquet")), "{error}");
    assert!(error.to_string().contains("not supported yet") && error.next_step().contains("inner folder"), "{error}");
    assert_eq!(error.kind(), "folder_part");
    // A folder that is given may be named so, as Spark's output often is.
    assert_eq!(files_of(&at("run.parquet")).unwrap(), [inner]);
}

#[test]
fn the_columns_that_were_read_are_told_whether_given_or_found() {
    let (_keep, at) = folder();
    let id_of = |name: &str, id: &str, vector: &str| {
        write(at(name), vec![(id, texts(&["a"])), (vector, floats(1, &[1.0])), ("section", texts(&["s"]))])
    };
    let reference = id_of("r.parquet", "id", "embedding");
    let candidate = id_of("c.parquet", "id", "vector");
    let with = Columns { label: Some("section".into()), ..Columns::default() };
    let read = Comparison::open(&reference, &candidate, &with, &Unwatched).unwrap().columns();
    let one = |id: &str, vector: &str, label: Option<&str>| Named {
        id: id.into(),
        vector: vector.into(),
        label: label.map(str::to_owned),
    };
    assert_eq!(read.reference, one("id", "embedding", Some("section")));
    assert_eq!(read.candidate, one("id", "vector", None));

    let nested = repository("tests/layouts/data/nested-struct.parquet");
    let read = Comparison::open(&nested, &nested, &named("id", "out.embedding"), &Unwatched).unwrap().columns();
    assert_eq!((&read.reference, &read.candidate), (&one("id", "out.embedding", None), &read.reference));
}

#[test]
fn parts_of_different_types_are_no_table() {
    let (_keep, at) = folder();
    write(at("a.parquet"), vec![("id", texts(&["a"])), ("v", floats(1, &[1.0]))]);
    let doubles = lists(1, Arc::new(Float64Array::from(vec![1.0])));
    write(at("b.parquet"), vec![("id", texts(&["b"])), ("v", doubles)]);
    let error = open(&at(""), &at("")).err().unwrap();
    assert_eq!(error.kind(), "parts_differ");
    let said = error.to_string();
    assert!(said.contains("list<element: double> in") && said.contains("b.parquet"), "{said}");
}

#[test]
fn each_thing_that_cannot_be_read_has_its_own_error_and_fix() {
    let (_keep, at) = folder();
    let ids = || texts(&["a"]);
    let good = write(at("good.parquet"), vec![("id", ids()), ("v", floats(1, &[1.0]))]);
    let keyed = write(at("keyed.parquet"), vec![("key", ids()), ("v", floats(1, &[1.0]))]);
    let truth: ArrayRef = Arc::new(BooleanArray::from(vec![true]));
    let booleans = write(at("bool.parquet"), vec![("id", truth), ("v", floats(1, &[1.0]))]);
    let big = lists(1, Arc::new(Int64Array::from(vec![(1 << 53) + 1])));
    let inexact = write(at("big.parquet"), vec![("id", ids()), ("v", big)]);
    let twice = write(at("twice.parquet"), vec![("id", ids()), ("id", ids()), ("v", floats(1, &[1.0]))]);
    std::fs::create_dir(at("empty")).unwrap();
    std::fs::write(at("tiny.parquet"), "PAR1").unwrap();
    std::fs::write(at("nothing.parquet"), "").unwrap();
    std::fs::write(at("secret.parquet"), "PARE........PARE").unwrap();
    let mut scrambled = std::fs::read(&good).unwrap();
    let footer = scrambled.len() - 200;
    scrambled[footer..footer + 150].fill(0xFF);
    std::fs::write(at("scrambled.parquet"), scrambled).unwrap();

    let default = Columns::default();
    let cases: [(PathBuf, Columns, &str, &str, &str); 14] = [
        (at("absent.parquet"), default.clone(), "missing_file", "absent.parquet", "path"),
        (at("empty"), default.clone(), "empty_folder", "empty", "*.parquet"),
        (at("tiny.parquet"), default.clone(), "truncated_file", "4 bytes", "copy"),
        (at("nothing.parquet"), default.clone(), "not_parquet", "0 bytes", "Parquet"),
        (at("secret.parquet"), default.clone(), "encrypted_file", "secret.parquet", "decrypt"),
        (at("scrambled.parquet"), default.clone(), "damaged_file", "scrambled.parquet", "again"),
        (keyed, default.clone(), "no_id_column", "`key` string", "--id"),
        (booleans, default.clone(), "unsupported_type", "bool", "--id"),
        (inexact, default.clone(), "inexact_integer", "9007199254740993 in row 0 of column `v`", "floats"),
        (twice, default, "repeated_column", "`id`", "unique"),
        (good.clone(), named("key", "v"), "no_such_column", "no id column `key`", "--id"),
        (good.clone(), named("id", "w"), "no_such_column", "`v` list<element: float>", "--vector"),
        (good.clone(), named("id", "id"), "unsupported_type", "string in the vector column", "--vector"),
        (good.clone(), named("v", "v"), "unsupported_type", "list<element: float> in the id column", "--id"),
    ];
    for (file, columns, kind, says, fix) in cases {
        let error = Comparison::open(&file, &file, &columns, &Unwatched).err().unwrap();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.to_string().contains(says), "{error}");
        assert!(error.next_step().contains(fix), "{}", error.next_step());
        assert!(error.place().unwrap().starts_with(&*file.to_string_lossy()));
    }
    let label = Columns { label: Some("v".into()), ..Columns::default() };
    let error = Comparison::open(&good, &good, &label, &Unwatched).err().unwrap();
    assert!(error.next_step().contains("--label"), "{}", error.next_step());
}

#[test]
fn labels_are_the_references_and_may_be_integers_or_null() {
    let (_keep, at) = folder();
    let labels: ArrayRef = Arc::new(Int32Array::from(vec![Some(-4), None]));
    let columns = vec![("id", texts(&["a", "b"])), ("v", floats(1, &[1.0, 2.0])), ("section", labels)];
    let reference = write(at("r.parquet"), columns.clone());
    let candidate = write(at("c.parquet"), columns[..2].to_vec());
    let with = Columns { label: Some("section".into()), ..Columns::default() };
    let found = rows(&Comparison::open(&reference, &candidate, &with, &Unwatched).unwrap(), 1);
    assert_eq!(found.iter().map(|row| row.label.as_str()).collect::<Vec<_>>(), ["-4", ""]);
}

#[test]
fn the_candidates_own_labels_are_matched_by_id_where_asked_for_and_missed_where_there_are_none() {
    let (_keep, at) = folder();
    let file = |name: &str, ids: &[&str], labels: &[&str]| {
        let rows = floats(1, &vec![1.0; ids.len()]);
        write(at(name), vec![("id", texts(ids)), ("v", rows), ("section", texts(labels))])
    };
    let reference = file("r.parquet", &["a", "b", "c"], &["x", "y", "z"]);
    let candidate = file("c.parquet", &["c", "a", "b"], &["1", "2", "3"]);
    let with = Columns { label: Some("section".into()), candidate_label: true, ..Columns::default() };
    let comparison = Comparison::open(&reference, &candidate, &with, &Unwatched).unwrap();
    assert_eq!(comparison.columns().candidate.label.as_deref(), Some("section"));
    let (mut batches, mut seen) = (comparison.batches(2).unwrap(), Vec::new());
    let mut batch = batches.buffer();
    while batches.next_batch(&mut batch).unwrap() {
        let pair = |row| (batch.labels.get(row).to_owned(), batch.candidate_labels.get(row).to_owned());
        seen.extend((0..batch.rows()).map(pair));
    }
    let expected = [("x", "2"), ("y", "3"), ("z", "1")].map(|(r, c)| (r.to_owned(), c.to_owned()));
    assert_eq!(seen, expected);
    let bare = write(at("bare.parquet"), vec![("id", texts(&["a", "b", "c"])), ("v", floats(1, &[1.0; 3]))]);
    let error = Comparison::open(&reference, &bare, &with, &Unwatched).err().unwrap();
    assert_eq!(error.kind(), "no_such_column");
    assert!(error.to_string().contains("bare.parquet") && error.to_string().contains("section"), "{error}");
}

/// Stops after a number of reports; keeps the last one.
struct Impatient {
    after: u32,
    reports: Cell<u32>,
    last: Cell<(u64, u64)>,
}

impl Impatient {
    fn new(after: u32) -> Self {
        Impatient { after, reports: Cell::new(0), last: Cell::new((0, 0)) }
    }
}

impl Watch for Impatient {
    fn progress(&self, done: u64, total: u64) {
        assert!(done >= self.last.get().0);
        self.reports.set(self.reports.get() + 1);
        self.last.set((done, total));
    }
    fn interrupted(&self) -> bool {
        self.reports.get() >= self.after
    }
}

#[test]
fn a_reader_can_be_stopped_between_batches_and_reports_what_it_did() {
    let (_keep, at) = folder();
    const ROWS: usize = 100_000;
    let file = write(at("a.parquet"), vec![("id", numbered(ROWS)), ("v", floats(4, &vec![1.0; 4 * ROWS]))]);
    let columns = Columns::default();
    let stopped = Impatient::new(1);
    let error = Comparison::open(&file, &file, &columns, &stopped).err().unwrap();
    let Error::Interrupted { done, total } = error else { panic!("{error}") };
    assert!(done > 0 && done < total, "{done} of {total}");
    let patient = Impatient::new(u32::MAX);
    assert!(Comparison::open(&file, &file, &columns, &patient).unwrap().comparable());
    assert_eq!(patient.last.get(), (2 * ROWS as u64, 2 * ROWS as u64));
    assert!(matches!(file_digest(&file, &Impatient::new(0)), Err(Error::Interrupted { done: 0, .. })));
}

#[test]
fn the_digest_of_a_folder_is_not_made_up() {
    let (_keep, at) = folder();
    std::fs::write(at("empty"), "").unwrap();
    let (digest, bytes) = file_digest(&at("empty"), &Unwatched).unwrap();
    // SHA-256 of nothing, FIPS 180-4.
    assert_eq!((digest.as_str(), bytes), ("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", 0));
    assert_eq!(file_digest(&at(""), &Unwatched).err().unwrap().kind(), "not_a_file");
}

#[test]
fn a_changed_byte_under_a_page_checksum_is_an_error_and_not_another_number() {
    let (_keep, at) = folder();
    let original = repository("checks/embeddings/tests/data/page-checksums.parquet");
    assert_eq!(rows(&open(&original, &original).unwrap(), 9)[9].reference, [9.0, 9.125, 9.25, 9.375]);
    let mut bytes = std::fs::read(&original).unwrap();
    // Not the smallest or largest value, which stand in the statistics too.
    let value = 9.25f32.to_le_bytes();
    let place = bytes.windows(4).position(|w| w == value).unwrap();
    bytes[place] ^= 1;
    std::fs::write(at("changed.parquet"), bytes).unwrap();
    let error = open(&original, &at("changed.parquet")).err().unwrap();
    assert_eq!(error.kind(), "damaged_file");
    assert!(error.to_string().to_lowercase().contains("crc"), "{error}");
}

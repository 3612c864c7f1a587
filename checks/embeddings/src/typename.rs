//! Names of column types in pyarrow's notation, which is what people who wrote the files know them by.

use arrow::datatypes::{DataType, Field, Fields, IntervalUnit, TimeUnit};

/// The type's name as pyarrow prints it, e.g. `fixed_size_list<element: halffloat>[384]`. The inner field's name is the
/// one in the file.
pub(crate) fn type_name(data_type: &DataType) -> String {
    match data_type {
        DataType::Null => "null".into(),
        DataType::Boolean => "bool".into(),
        DataType::Int8 => "int8".into(),
        DataType::Int16 => "int16".into(),
        DataType::Int32 => "int32".into(),
        DataType::Int64 => "int64".into(),
        DataType::UInt8 => "uint8".into(),
        DataType::UInt16 => "uint16".into(),
        DataType::UInt32 => "uint32".into(),
        DataType::UInt64 => "uint64".into(),
        DataType::Float16 => "halffloat".into(),
        DataType::Float32 => "float".into(),
        DataType::Float64 => "double".into(),
        DataType::Utf8 => "string".into(),
        DataType::LargeUtf8 => "large_string".into(),
        DataType::Utf8View => "string_view".into(),
        DataType::Binary => "binary".into(),
        DataType::LargeBinary => "large_binary".into(),
        DataType::BinaryView => "binary_view".into(),
        DataType::FixedSizeBinary(width) => format!("fixed_size_binary[{width}]"),
        DataType::Date32 => "date32[day]".into(),
        DataType::Date64 => "date64[ms]".into(),
        DataType::Time32(unit) => format!("time32[{}]", short(*unit)),
        DataType::Time64(unit) => format!("time64[{}]", short(*unit)),
        DataType::Duration(unit) => format!("duration[{}]", short(*unit)),
        DataType::Timestamp(unit, None) => format!("timestamp[{}]", short(*unit)),
        DataType::Timestamp(unit, Some(zone)) => format!("timestamp[{}, tz={zone}]", short(*unit)),
        DataType::Interval(IntervalUnit::YearMonth) => "month_interval".into(),
        DataType::Interval(IntervalUnit::DayTime) => "day_time_interval".into(),
        DataType::Interval(IntervalUnit::MonthDayNano) => "month_day_nano_interval".into(),
        DataType::Decimal32(p, s) => format!("decimal32({p}, {s})"),
        DataType::Decimal64(p, s) => format!("decimal64({p}, {s})"),
        DataType::Decimal128(p, s) => format!("decimal128({p}, {s})"),
        DataType::Decimal256(p, s) => format!("decimal256({p}, {s})"),
        DataType::List(field) => format!("list<{}>", inner(field)),
        DataType::LargeList(field) => format!("large_list<{}>", inner(field)),
        DataType::ListView(field) => format!("list_view<{}>", inner(field)),
        DataType::LargeListView(field) => format!("large_list_view<{}>", inner(field)),
        DataType::FixedSizeList(field, size) => format!("fixed_size_list<{}>[{size}]", inner(field)),
        DataType::Struct(fields) => format!("struct<{}>", all(fields)),
        DataType::Map(entries, _) => match entries.data_type() {
            DataType::Struct(pair) => {
                let types: Vec<_> = pair.iter().map(|f| type_name(f.data_type())).collect();
                format!("map<{}>", types.join(", "))
            }
            other => format!("map<{}>", type_name(other)),
        },
        DataType::Dictionary(key, value) => {
            format!("dictionary<values={}, indices={}, ordered=0>", type_name(value), type_name(key))
        }
        DataType::Union(fields, _) => {
            let parts: Vec<_> = fields.iter().map(|(_, f)| inner(f)).collect();
            format!("union<{}>", parts.join(", "))
        }
        DataType::RunEndEncoded(ends, values) => {
            format!(
                "run_end_encoded<run_ends: {}, values: {}>",
                type_name(ends.data_type()),
                type_name(values.data_type())
            )
        }
    }
}

fn inner(field: &Field) -> String {
    let null = if field.is_nullable() { "" } else { " not null" };
    format!("{}: {}{null}", field.name(), type_name(field.data_type()))
}

fn all(fields: &Fields) -> String {
    fields.iter().map(|f| inner(f)).collect::<Vec<_>>().join(", ")
}

fn short(unit: TimeUnit) -> &'static str {
    match unit {
        TimeUnit::Second => "s",
        TimeUnit::Millisecond => "ms",
        TimeUnit::Microsecond => "us",
        TimeUnit::Nanosecond => "ns",
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn types_are_written_as_pyarrow_writes_them() {
        let field = |name: &str, data_type: DataType, nullable| Arc::new(Field::new(name, data_type, nullable));
        let doubles = DataType::List(field("item", DataType::Float64, false));
        let pair = vec![field("key", DataType::Utf8, false), field("value", DataType::Int32, true)];
        // Right side: `str(type)` of pyarrow 26.
        let cases = [
            (
                DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::Utf8)),
                "dictionary<values=string, indices=int8, ordered=0>",
            ),
            (
                DataType::Struct(vec![field("a", DataType::Int64, true), field("b", doubles, true)].into()),
                "struct<a: int64, b: list<item: double not null>>",
            ),
            (DataType::Map(field("entries", DataType::Struct(pair.into()), false), false), "map<string, int32>"),
            (DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())), "timestamp[us, tz=UTC]"),
            (DataType::Timestamp(TimeUnit::Nanosecond, None), "timestamp[ns]"),
            (DataType::Decimal128(10, 2), "decimal128(10, 2)"),
            (DataType::Date32, "date32[day]"),
            (DataType::Time32(TimeUnit::Millisecond), "time32[ms]"),
            (DataType::Duration(TimeUnit::Second), "duration[s]"),
            (DataType::FixedSizeList(field("item", DataType::Float16, true), 3), "fixed_size_list<item: halffloat>[3]"),
        ];
        for (data_type, name) in cases {
            assert_eq!(type_name(&data_type), name);
        }
    }
}

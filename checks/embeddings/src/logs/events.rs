//! TensorBoard's event files: records of a length, a payload and checksums; the payload is an `Event` of tensorflow's
//! `event.proto`, of which the step and the simple scalars are taken.
//!
//! Checksums are not checked: a cut or broken record is told by its length. Source:
//! tensorflow/core/lib/io/record_writer.h, tensorflow/core/util/event.proto,
//! tensorflow/core/framework/{summary,tensor}.proto.

use super::Raw;

/// Reads a log: a column `step` and one for each tag.
pub(super) fn read(content: &[u8]) -> Result<Raw, String> {
    let mut raw = Raw::default();
    raw.column("step");
    let mut rest = content;
    while !rest.is_empty() {
        let at = content.len() - rest.len();
        let payload = record(&mut rest).ok_or_else(|| format!("the record at byte {at} is cut"))?;
        event(payload, &mut raw).ok_or_else(|| format!("the record at byte {at} is no event"))?;
    }
    Ok(raw)
}

fn record<'c>(rest: &mut &'c [u8]) -> Option<&'c [u8]> {
    let (length, after) = rest.split_first_chunk::<8>()?;
    let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
    let payload = after.get(4..)?.get(..length)?;
    *rest = after.get(4..)?.get(length..)?.get(4..)?;
    Some(payload)
}

fn event(payload: &[u8], raw: &mut Raw) -> Option<()> {
    let (mut step, mut values) = (0.0, Vec::new());
    for (number, field) in Fields(payload) {
        match (number, field?) {
            (2, Field::Number(value)) => step = value as i64 as f64,
            (5, Field::Bytes(summary)) => {
                for (number, field) in Fields(summary) {
                    if let (1, Field::Bytes(value)) = (number, field?) {
                        values.extend(scalar(value)?);
                    }
                }
            }
            _ => {}
        }
    }
    for (tag, value) in values {
        let column = raw.column(&tag);
        // Each scalar comes in an event of its own; those of one step share a row, or memory would grow with their
        // square.
        let shared =
            raw.rows.last_mut().filter(|row| row[0] == Some(step) && row.get(column).copied().flatten().is_none());
        match shared {
            Some(row) => {
                row.resize(row.len().max(column + 1), None);
                row[column] = Some(value);
            }
            None => {
                let mut row = vec![None; column + 1];
                row[0] = Some(step);
                row[column] = Some(value);
                if !raw.push(row) {
                    return None;
                }
            }
        }
    }
    Some(())
}

/// The tag and number of a `Summary.Value`; an empty list if it is no scalar.
fn scalar(value: &[u8]) -> Option<Option<(String, f64)>> {
    let (mut tag, mut number) = (String::new(), None);
    for (field_number, field) in Fields(value) {
        match (field_number, field?) {
            (1, Field::Bytes(text)) => tag = String::from_utf8_lossy(text).into_owned(),
            (2, Field::Four(bits)) => number = Some(f64::from(f32::from_bits(bits))),
            (8, Field::Bytes(tensor)) => number = tensor_scalar(tensor)?,
            _ => {}
        }
    }
    Some(number.map(|number| (tag, number)))
}

/// The one number of a `TensorProto` of float32 (type 1) or float64 (type 2).
fn tensor_scalar(tensor: &[u8]) -> Option<Option<f64>> {
    let (mut kind, mut content) = (0, None);
    for (number, field) in Fields(tensor) {
        match (number, field?) {
            (1, Field::Number(value)) => kind = value,
            (4 | 5 | 6, Field::Bytes(bytes)) => content = Some(bytes),
            (5, Field::Four(bits)) => return Some(Some(f64::from(f32::from_bits(bits)))),
            (6, Field::Eight(bits)) => return Some(Some(f64::from_bits(bits))),
            _ => {}
        }
    }
    let content = content.unwrap_or_default();
    Some(match (kind, content.len()) {
        (1, 4) => content.first_chunk::<4>().map(|b| f64::from(f32::from_le_bytes(*b))),
        (2, 8) => content.first_chunk::<8>().map(|b| f64::from_le_bytes(*b)),
        _ => None,
    })
}

/// A field of a protocol buffer.
enum Field<'b> {
    Number(u64),
    Bytes(&'b [u8]),
    Four(u32),
    Eight(u64),
}

/// The fields of a message; `None` in place of one that is cut, and then nothing more.
struct Fields<'b>(&'b [u8]);

impl<'b> Fields<'b> {
    fn varint(&mut self) -> Option<u64> {
        let mut value = 0u64;
        for shift in (0..70).step_by(7) {
            let (byte, rest) = self.0.split_first()?;
            self.0 = rest;
            value |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*taken)
    }

    fn field(&mut self) -> Option<(u64, Field<'b>)> {
        let key = self.varint()?;
        let field = match key & 7 {
            0 => Field::Number(self.varint()?),
            1 => Field::Eight(u64::from_le_bytes(self.take()?)),
            2 => {
                let length = usize::try_from(self.varint()?).ok()?;
                let (bytes, rest) = self.0.split_at_checked(length)?;
                self.0 = rest;
                Field::Bytes(bytes)
            }
            5 => Field::Four(u32::from_le_bytes(self.take()?)),
            _ => return None,
        };
        Some((key >> 3, field))
    }
}

impl<'b> Iterator for Fields<'b> {
    type Item = (u64, Option<Field<'b>>);

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        match self.field() {
            Some((number, field)) => Some((number, Some(field))),
            None => {
                self.0 = &[];
                Some((0, None))
            }
        }
    }
}

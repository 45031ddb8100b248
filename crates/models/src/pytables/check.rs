//! Compares PyTables' own indexes with the values of their tables, so that scans may use them.

use arrow_array::{Array, StructArray};
use hyperslab_array::{Axis, Cancellation, Datatype, Error, ErrorKind, Result, Selection};
use hyperslab_columns::{Column, Conventions};
use hyperslab_formats::ObjectId;
use hyperslab_reader::File;

use super::pruner::all;
use super::sorted_index::{SortedIndex, Span, keys};

/// Rows whose values are in memory at a time: the index is read once for each such part of the table.
const PART_ROWS: u64 = 1 << 24;
/// Rows of the table that are read at a time.
const READ_ROWS: u64 = 1 << 18;
/// Values of the index that are read at a time.
const READ_VALUES: u64 = 1 << 20;

/// An index of PyTables after it was compared with its table.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CheckedIndex {
    /// Path of the table without the first slash.
    pub table: String,
    /// Name of the column.
    pub column: String,
    /// Why it cannot be used; `None` if it has exactly the values of the table. Then scans of this open file use it.
    pub problem: Option<String>,
}

/// Compares the indexes of the kind `full` with their tables, and names the others. Reads all of them, and the columns.
///
/// # Errors
/// `Io` if the file cannot be read, `Corrupt` if a table is damaged; `Cancelled`.
pub fn check_indexes(file: &File, cancellation: &Cancellation) -> Result<Vec<CheckedIndex>> {
    let mut checked = Vec::new();
    for (table, column, found) in all(file)? {
        let problem = match found {
            Err(why) => Some(format!("it {why}")),
            Ok(lookup) if lookup.index.is_verified() => None,
            Ok(lookup) => match compared(file, &format!("/{table}"), &column, &lookup.index, cancellation) {
                Ok(()) => {
                    lookup.index.set_verified();
                    None
                }
                Err(Stopped::Differs(why)) => {
                    lookup.index.set_problem(why.clone());
                    Some(format!("it {why}"))
                }
                Err(Stopped::Error(error)) => return Err(error),
            },
        };
        checked.push(CheckedIndex { table, column, problem });
    }
    Ok(checked)
}

/// Why a comparison ended early.
enum Stopped {
    /// The index does not belong to the table.
    Differs(String),
    Error(Error),
}

impl From<Error> for Stopped {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

/// Faults of the index, which are findings.
fn of_index<T>(result: Result<T>) -> std::result::Result<T, Stopped> {
    result.map_err(|error| match error.kind() {
        ErrorKind::Corrupt | ErrorKind::Unsupported | ErrorKind::LimitExceeded => Stopped::Differs(format!("cannot be read: {}", error.message())),
        _ => Stopped::Error(error),
    })
}

fn compared(file: &File, path: &str, column: &str, index: &SortedIndex, cancellation: &Cancellation) -> std::result::Result<(), Stopped> {
    let dataset = file.find(path)?.object;
    check_order(file, index, cancellation)?;
    let mut begin = 0;
    while begin < index.rows {
        let end = index.rows.min(begin + PART_ROWS);
        let stored = column_keys(file, dataset, column, index, begin..end, cancellation)?;
        let mut is_seen = vec![false; stored.len()];
        for span in pieces(index) {
            cancellation.check()?;
            let (keys, rows) = (of_index(index.keys(file, &span, cancellation))?, of_index(index.rows_of(file, &span, cancellation))?);
            for (key, row) in keys.into_iter().zip(rows).filter(|(_, row)| (begin..end).contains(row)) {
                let place = (row - begin) as usize;
                let (known, is_seen) = stored.get(place).zip(is_seen.get_mut(place)).ok_or_else(|| Error::internal("a row beyond its part"))?;
                if *known != key {
                    return Err(Stopped::Differs(format!("has another value than the table in row {row}")));
                }
                if std::mem::replace(is_seen, true) {
                    return Err(Stopped::Differs(format!("has row {row} twice")));
                }
            }
        }
        // As many values as rows, none of them twice: none is missing over all parts, but one may be in this part.
        if let Some(missing) = is_seen.iter().position(|is_seen| !is_seen) {
            return Err(Stopped::Differs(format!("lacks row {}", begin + missing as u64)));
        }
        begin = end;
    }
    Ok(())
}

/// Checks that each slice is sorted, and begins, ends and is divided as look-ups believe.
fn check_order(file: &File, index: &SortedIndex, cancellation: &Cancellation) -> std::result::Result<(), Stopped> {
    let mut last: Option<(u64, u64)> = None;
    for span in pieces(index) {
        cancellation.check()?;
        let found = of_index(index.keys(file, &span, cancellation))?;
        let before = last.filter(|(slice, _)| *slice == span.slice).map(|(_, key)| key);
        if !found.is_sorted() || before.zip(found.first().copied()).is_some_and(|(before, first)| before > first) {
            return Err(Stopped::Differs("has values that are not sorted".to_owned()));
        }
        if let Some(((low, high), bounds)) = index.believed(span.slice) {
            let at = |position: u64| position.checked_sub(span.positions.start).and_then(|place| found.get(place as usize)).copied();
            let chunk_size = index.chunk_size();
            let first = span.positions.start.div_ceil(chunk_size).max(1);
            let chunks = (first..).take_while(|chunk| chunk * chunk_size < span.positions.end);
            let fits = chunks.into_iter().all(|chunk| bounds.get(chunk as usize - 1).copied() == at(chunk * chunk_size));
            let begins = span.positions.start > 0 || at(0) == Some(low);
            let ends = span.positions.end < index.slice_size() || at(span.positions.end - 1) == Some(high);
            if !fits || !begins || !ends {
                return Err(Stopped::Differs("has bounds that are not those of its values".to_owned()));
            }
        }
        last = found.last().map(|key| (span.slice, *key));
    }
    Ok(())
}

/// The slices in parts that are read at a time.
fn pieces(index: &SortedIndex) -> impl Iterator<Item = Span> + '_ {
    index.whole().flat_map(|span| {
        let end = span.positions.end;
        let starts = (span.positions.start..end).step_by(READ_VALUES as usize);
        starts.map(move |start| Span { slice: span.slice, positions: start..end.min(start + READ_VALUES) })
    })
}

/// The keys of some rows of a column.
fn column_keys(file: &File, dataset: ObjectId, column: &str, index: &SortedIndex, rows: std::ops::Range<u64>, cancellation: &Cancellation) -> Result<Vec<u64>> {
    let table = file.dataset(dataset)?;
    let Datatype::Compound { size, members } = &table.datatype else { return Err(Error::internal("a table without columns")) };
    let members = members.iter().filter(|member| member.name == column).cloned().collect();
    let projected = Datatype::Compound { size: *size, members };
    let record = Column::new("record", &projected, &[], Conventions::Raw)?;
    let mut all = Vec::new();
    let mut start = rows.start;
    while start < rows.end {
        cancellation.check()?;
        let end = rows.end.min(start + READ_ROWS);
        let elements = file.read(dataset, &Selection::new(vec![Axis::range(start, end)], table.dataspace.shape())?, cancellation)?;
        let array = record.to_arrow(&elements.bytes, &elements.heap)?;
        let array = array.as_any().downcast_ref::<StructArray>().and_then(|array| array.column_by_name(column).cloned());
        all.extend(keys(index.key_type, &array.ok_or_else(|| Error::internal("a compound without its member"))?)?);
        start = end;
    }
    Ok(all)
}

//! Composite block: the keys of several columns of one block, in groups of up to 64 rows that are near each other in all of them.
//!
//! The rows of a block are cut in half at the median of one column, each half at the median of the next column, and so on, down
//! to groups of 64 rows. Of each group, of each 32 groups and of the whole block, the least and the greatest key of each column
//! are known: a box in these columns touches few groups. Rows that are numbers in the same columns are grouped together. Rows
//! without any number are in no group.
//!
//! - `samples`: for the block, then for each 32 groups, then for each group: the least and the greatest key of each column, little
//!   endian, as wide as the values. If no row has a number in a column, the least key is the greatest possible one and the
//!   greatest is 0.
//! - `starts`: the number of columns, the width in bytes of each (0 beyond the last), and zeros up to 8 bytes; then for each group
//!   6 bytes: its first word in `packed` (32 bits), its number of rows less one (8 bits), and the columns in which its rows are
//!   numbers (8 bits, the lowest for the first column).
//! - `packed`: words of 64 bits, little endian. Of each group the positions of its rows in increasing order (16 bits each, and
//!   zeros up to a whole word), then for each column with numbers the keys less the least key of the group, each in as many bits
//!   as the greatest difference needs, as many words as bits. A group does not cross a border of 4,096 bytes.
//!
//! Example: the rows (1, 10), (2, 20), (9, NaN) of two columns have a group of the positions 0 and 1, whose smallest keys are the keys of 1
//! and 10, and a group of position 2, with numbers in the first column only.

use arrow_array::{Array, ArrayRef};
use arrow_buffer::Buffer;
use hyperslab_array::{Error, Result};
use hyperslab_predicate::KeyType;
use hyperslab_scan::pruner::Level;

use super::block_builder::{Block, Builder};
use super::hash::hash;
use super::not_indexed::not_indexed;
use super::zone::Zone;

/// Fewest and most columns of a composite index: with more, each column would be cut into few parts only.
pub(crate) const COLUMNS: std::ops::RangeInclusive<usize> = 2..=MAX_COLUMNS;
/// Most columns.
pub(super) const MAX_COLUMNS: usize = 4;
/// Most rows of a group.
pub(super) const GROUP_ROWS: usize = 64;
/// Number of groups whose bounds are known together.
pub(super) const GROUPS_TOGETHER: usize = 32;
/// Bytes of `starts` before the groups, and for each group.
pub(super) const HEADER_BYTES: usize = 8;
pub(super) const START_BYTES: usize = 6;
/// Number of words between the borders that no group crosses: the words of a page with a checksum.
const PAGE_WORDS: usize = 512;

/// The parts of a block as they are stored.
struct CompositeParts {
    samples: Vec<u8>,
    starts: Vec<u8>,
    packed: Buffer,
    /// Number of rows with a number in each column.
    numbers: u32,
}

/// Least and greatest key of each column.
#[derive(Clone, Copy)]
struct Bounds([(u64, u64); MAX_COLUMNS]);

/// One column of a block: for each row its key, or `None` if it is NaN or null; and the width of a key in bytes.
pub(crate) struct KeyColumn {
    pub keys: Vec<Option<u64>>,
    width: usize,
}

/// The greatest key of this width.
fn greatest(width: usize) -> u64 {
    u64::MAX >> (64 - 8 * width.clamp(1, 8))
}

/// Builds the parts of a block of at most 65,536 rows, which has a key of each column for each row.
fn build(columns: &[KeyColumn]) -> Result<CompositeParts> {
    let rows = columns.first().map_or(0, |column| column.keys.len());
    if !COLUMNS.contains(&columns.len()) || rows > 1 << 16 || columns.iter().any(|column| column.keys.len() != rows) {
        return Err(Error::internal("a composite block of other columns or rows"));
    }
    let keys: Vec<Vec<u64>> = columns.iter().map(|column| column.keys.iter().map(|key| key.unwrap_or_default()).collect()).collect();
    let all = (1u8 << columns.len()) - 1;
    let mut by_mask = rows_by_mask(columns, rows);
    let empty = Bounds(std::array::from_fn(|place| (columns.get(place).map_or(0, |column| greatest(column.width)), 0)));
    let mut groups: Vec<Bounds> = Vec::new();
    let mut starts: Vec<u8> = std::iter::once(columns.len() as u8).chain(columns.iter().map(|column| column.width as u8)).collect();
    starts.resize(HEADER_BYTES, 0);
    let mut words: Vec<u64> = Vec::new();
    let mut numbers = 0;
    for mask in (1..=all).rev() {
        let Some(rows) = by_mask.get_mut(usize::from(mask)) else { continue };
        if mask == all {
            numbers = rows.len() as u32;
        }
        let here: Vec<&[u64]> = keys.iter().enumerate().filter(|(place, _)| mask >> place & 1 == 1).map(|(_, keys)| keys.as_slice()).collect();
        divide(rows, &here, 0);
        for rows in rows.chunks(GROUP_ROWS) {
            let mut bounds = empty;
            for (place, ((min, max), keys)) in bounds.0.iter_mut().zip(&keys).enumerate() {
                if mask >> place & 1 == 1 {
                    for row in rows {
                        let key = key_of(keys, *row);
                        (*min, *max) = ((*min).min(key), (*max).max(key));
                    }
                }
            }
            let group = packed_group(rows, &keys, &bounds, mask);
            if words.len() % PAGE_WORDS + group.len() > PAGE_WORDS {
                words.resize(words.len().next_multiple_of(PAGE_WORDS), 0);
            }
            starts.extend((words.len() as u32).to_le_bytes());
            starts.extend([(rows.len() - 1) as u8, mask]);
            words.extend(group);
            groups.push(bounds);
        }
    }
    let samples = samples(columns, &groups, empty);
    words.iter_mut().for_each(|word| *word = word.to_le());
    Ok(CompositeParts { samples, starts, packed: Buffer::from_vec(words), numbers })
}

/// The rows of a block by the columns in which they are numbers: one bit for each column, the lowest for the first.
fn rows_by_mask(columns: &[KeyColumn], rows: usize) -> Vec<Vec<u16>> {
    let mut by_mask: Vec<Vec<u16>> = vec![Vec::new(); 1 << columns.len()];
    for row in 0..rows {
        let has = columns.iter().enumerate().filter(|(_, column)| column.keys.get(row).is_some_and(Option::is_some));
        let mask = has.fold(0usize, |mask, (place, _)| mask | 1 << place);
        if let Some(list) = by_mask.get_mut(mask) {
            list.push(row as u16);
        }
    }
    by_mask
}

/// The bounds of the block, of groups together, and of each group, as they are stored. `empty` are the bounds of no rows.
fn samples(columns: &[KeyColumn], groups: &[Bounds], empty: Bounds) -> Vec<u8> {
    let joined = |bounds: &[Bounds]| {
        bounds.iter().fold(empty, |mut sum, more| {
            sum.0.iter_mut().zip(&more.0).for_each(|(sum, more)| *sum = (sum.0.min(more.0), sum.1.max(more.1)));
            sum
        })
    };
    let mut samples = Vec::new();
    let together: Vec<Bounds> = groups.chunks(GROUPS_TOGETHER).map(joined).collect();
    for bounds in std::iter::once(&joined(&together)).chain(&together).chain(groups) {
        for ((min, max), column) in bounds.0.iter().zip(columns) {
            for key in [min, max] {
                samples.extend_from_slice(key.to_le_bytes().get(..column.width).unwrap_or_default());
            }
        }
    }
    samples
}

fn key_of(keys: &[u64], row: u16) -> u64 {
    keys.get(usize::from(row)).copied().unwrap_or_default()
}

/// Orders rows so that each 64 of them are near each other; in each group by position. `keys` are the keys of the columns in which all
/// are numbers; `next` is the column whose turn it is.
fn divide(rows: &mut [u16], keys: &[&[u64]], next: usize) {
    let groups = rows.len().div_ceil(GROUP_ROWS);
    if groups <= 1 {
        rows.sort_unstable();
        return;
    }
    // At the borders of groups that are known together, if there are several.
    let left = if groups > GROUPS_TOGETHER { (groups / 2).next_multiple_of(GROUPS_TOGETHER) } else { groups.div_ceil(2) };
    let varies = |place: usize| {
        keys.get(place % keys.len().max(1)).filter(|keys| rows.windows(2).any(|pair| matches!(pair, [a, b] if key_of(keys, *a) != key_of(keys, *b))))
    };
    let chosen = (next..next + keys.len()).find_map(|place| varies(place).map(|keys| (place, *keys)));
    // Rows that are equal in all columns stay in order.
    let next = match chosen {
        Some((place, keys)) => {
            rows.select_nth_unstable_by_key(left * GROUP_ROWS, |row| key_of(keys, *row));
            place + 1
        }
        None => next,
    };
    if let Some((low, high)) = rows.split_at_mut_checked(left * GROUP_ROWS) {
        divide(low, keys, next);
        divide(high, keys, next);
    }
}

/// Number of bits of the differences of keys with these bounds; 0 if there are no numbers.
pub(super) fn bits_of((min, max): (u64, u64)) -> usize {
    max.checked_sub(min).map_or(0, |most| (u64::BITS - most.leading_zeros()) as usize)
}

/// The words of a group.
fn packed_group(rows: &[u16], keys: &[Vec<u64>], bounds: &Bounds, mask: u8) -> Vec<u64> {
    let word = |rows: &[u16]| rows.iter().rev().fold(0u64, |word, row| word << 16 | u64::from(*row));
    let mut words: Vec<u64> = rows.chunks(4).map(word).collect();
    for (place, (keys, bounds)) in keys.iter().zip(&bounds.0).enumerate() {
        let (width, first) = (bits_of(*bounds), words.len());
        if mask >> place & 1 == 0 || width == 0 {
            continue;
        }
        words.resize(first + width, 0);
        for (index, row) in rows.iter().enumerate() {
            let (difference, bit) = (key_of(keys, *row) - bounds.0, index * width);
            let (place, shift) = (first + bit / 64, bit % 64);
            if let Some(word) = words.get_mut(place) {
                *word |= difference << shift;
            }
            if shift + width > 64
                && let Some(word) = words.get_mut(place + 1)
            {
                *word |= difference >> (64 - shift);
            }
        }
    }
    words
}

/// Builds the index of a block of several columns. The zone counts the rows that are numbers in all of them; the others count as NaN.
pub(crate) fn build_block(builder: &mut Builder, arrays: &[ArrayRef], level: Level) -> Result<Block> {
    let mut zone = Zone::default();
    for array in arrays {
        zone.hash = hash(zone.hash, &builder.build(array, Level::Zone)?.zone.hash.to_le_bytes());
    }
    if level == Level::Zone {
        return Ok(Block { level: Some(Level::Zone), zone, ..Block::default() });
    }
    let columns = arrays.iter().map(KeyColumn::of).collect::<Result<Vec<KeyColumn>>>()?;
    let CompositeParts { samples, starts, packed, numbers } = build(&columns)?;
    let rows = arrays.first().map_or(0, |array| array.len()) as u32;
    zone.numbers = numbers;
    zone.nans = rows - numbers;
    Ok(Block { level: Some(Level::Composite), zone, samples, starts, packed, ..Block::default() })
}

impl KeyColumn {
    /// The keys of an array. `Unsupported` for values without keys.
    pub fn of(array: &ArrayRef) -> Result<Self> {
        let key_type = KeyType::of(array.data_type()).ok_or_else(|| not_indexed(array.data_type()))?;
        let (lowest, highest) = key_type.range();
        let keys = key_type.keys(array)?.into_iter().enumerate();
        let keys = keys.map(|(row, key)| key.filter(|key| array.is_valid(row) && (lowest..=highest).contains(key))).collect();
        Ok(Self { keys, width: key_type.width() })
    }
}

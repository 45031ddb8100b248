//! Audit of words: compares the words of a few texts of a block with what its index says.

use std::collections::HashSet;

use arrow_array::Array;
use arrow_array::cast::AsArray;
use hyperslab_array::{Cancellation, Result};
use hyperslab_predicate::word::words_of;

use super::indexed_column::IndexedColumn;
use super::matching_words::{null_positions, with_words};
use super::random::below;
use crate::block::bitmaps::plain;
use crate::store::index_reader::{IndexFile, StoredRow};

/// Number of texts, and of words, that an audit tests.
const TESTS: usize = 8;
/// Most words of a text that are looked up.
const MAX_WORDS: usize = 64;

/// Whether some texts have the words that the index says, and some words the texts.
pub(super) fn words_are_right(column: &IndexedColumn, index_file: &IndexFile, row: &StoredRow) -> Result<bool> {
    let values = plain(&column.values.read(&column.file, &row.region, &column.directory.shape, &Cancellation::new())?)?;
    let Some(texts) = values.as_string_opt::<i32>().filter(|texts| texts.len() == row.zone.elements() as usize) else { return Ok(false) };
    let nulls = null_positions(index_file, row)?;
    with_words(index_file, row, |index| {
        let mut scratch = Vec::new();
        for position in (0..TESTS).map(|_| below(texts.len() as u64) as usize) {
            if texts.is_null(position) != nulls.contains(position as u32) {
                return Ok(false);
            }
            let words = if texts.is_null(position) { Vec::new() } else { words_of(texts.value(position)) };
            for word in words.iter().take(MAX_WORDS) {
                if !index.texts_with(word, &mut scratch)?.positions.contains(position as u32) {
                    return Ok(false);
                }
            }
        }
        let groups = index.groups()? as u64;
        for _ in 0..TESTS {
            let Some((word, positions)) = index.word_at(below(groups) as usize, below(64) as usize, &mut scratch)? else { continue };
            let Some(position) = positions.select(below(positions.len()) as u32).map(|position| position as usize) else { return Ok(false) };
            let here: HashSet<String> = if texts.is_null(position) { HashSet::new() } else { words_of(texts.value(position)).into_iter().collect() };
            // The index holds only the beginning of a long word.
            if !here.iter().any(|found| found.as_bytes() == word || (found.len() > word.len() && found.as_bytes().starts_with(&word) && word.len() > 60)) {
                return Ok(false);
            }
        }
        Ok(true)
    })
}

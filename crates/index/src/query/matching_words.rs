//! Matching words: which texts of a block pass a condition, by the words that they have.

use hyperslab_array::{Error, Result};
use hyperslab_predicate::WordTest;
use roaring::RoaringBitmap;

use super::row_collector::{MatchingPositions, Positions};
use crate::block::words::{Found, WordQuery, nulls};
use crate::store::index_reader::{IndexFile, RowPayload, StoredRow};

/// Calls `work` with a query of the words of a block. `Corrupt` if its samples are damaged.
pub(crate) fn with_words<T>(index_file: &IndexFile, row: &StoredRow, work: impl FnOnce(&WordQuery<'_>) -> Result<T>) -> Result<T> {
    let batch = index_file.batch_samples(row)?;
    if !batch.is_intact(row) {
        return Err(Error::corrupt("a checksum of the index does not match"));
    }
    let payload = RowPayload { index_file, row };
    work(&WordQuery { samples: batch.samples(row), starts: batch.starts(row), payload: &payload, elements: row.zone.elements() })
}

/// The positions of nulls of a block of text.
pub(crate) fn null_positions(index_file: &IndexFile, row: &StoredRow) -> Result<RoaringBitmap> {
    let bytes = if row.zone.nulls > 0 { index_file.bitmaps(row)? } else { Vec::new() };
    nulls(&bytes, row.zone.nulls, row.zone.elements())
}

/// The positions of a block that pass a condition. `Corrupt` if the block is damaged.
pub(crate) fn by_words(index_file: &IndexFile, row: &StoredRow, test: &WordTest, scratch: &mut Vec<u8>) -> Result<MatchingPositions> {
    with_words(index_file, row, |words| {
        if let WordTest::Words(wanted) = test {
            let found = texts_with_all(words, wanted, scratch)?;
            let positions = Positions::of_bitmap(&found.positions);
            let (certain, possible) = if found.is_certain { (positions, Positions::None) } else { (Positions::None, positions) };
            return Ok(MatchingPositions { certain, possible });
        }
        let outcome = Evaluation::new(words, null_positions(index_file, row)?, scratch).of(test)?;
        let possible = &outcome.may_be_true - &outcome.is_true;
        Ok(MatchingPositions { certain: Positions::of_bitmap(&outcome.is_true), possible: Positions::of_bitmap(&possible) })
    })
}

/// For which positions a condition is true or false for certain, and for which it may be. It is null for all others.
#[derive(Clone)]
struct Outcome {
    is_true: RoaringBitmap,
    may_be_true: RoaringBitmap,
    is_false: RoaringBitmap,
    may_be_false: RoaringBitmap,
}

impl Outcome {
    fn not(self) -> Self {
        Self { is_true: self.is_false, may_be_true: self.may_be_false, is_false: self.is_true, may_be_false: self.may_be_true }
    }
}

struct Evaluation<'a> {
    words: &'a WordQuery<'a>,
    /// All positions of the block, the positions of nulls, and the positions of texts.
    all: RoaringBitmap,
    nulls: RoaringBitmap,
    texts: RoaringBitmap,
    scratch: &'a mut Vec<u8>,
}

impl<'a> Evaluation<'a> {
    fn new(words: &'a WordQuery<'a>, nulls: RoaringBitmap, scratch: &'a mut Vec<u8>) -> Self {
        let mut all = RoaringBitmap::new();
        all.insert_range(0..words.elements);
        Self { texts: &all - &nulls, words, all, nulls, scratch }
    }

    fn of(&mut self, test: &WordTest) -> Result<Outcome> {
        Ok(match test {
            WordTest::All(parts) => {
                let none = RoaringBitmap::new();
                let mut both = Outcome { is_true: self.all.clone(), may_be_true: self.all.clone(), is_false: none.clone(), may_be_false: none };
                for part in parts {
                    let part = self.of(part)?;
                    both.is_true &= part.is_true;
                    both.may_be_true &= part.may_be_true;
                    both.is_false |= part.is_false;
                    both.may_be_false |= part.may_be_false;
                }
                both
            }
            WordTest::Any(parts) => {
                let none = RoaringBitmap::new();
                let mut either = Outcome { is_true: none.clone(), may_be_true: none, is_false: self.all.clone(), may_be_false: self.all.clone() };
                for part in parts {
                    let part = self.of(part)?;
                    either.is_true |= part.is_true;
                    either.may_be_true |= part.may_be_true;
                    either.is_false &= part.is_false;
                    either.may_be_false &= part.may_be_false;
                }
                either
            }
            WordTest::Not(part) => self.of(part)?.not(),
            WordTest::Null => self.text_or_not(self.nulls.clone(), self.nulls.clone(), &self.all),
            WordTest::Words(words) => {
                let Found { positions, is_certain } = texts_with_all(self.words, words, self.scratch)?;
                let certain = if is_certain { positions.clone() } else { RoaringBitmap::new() };
                self.text_or_not(certain, positions, &self.texts)
            }
            WordTest::OneOf(lists) => {
                let mut rows = RoaringBitmap::new();
                for words in lists {
                    rows |= texts_with_all(self.words, words, self.scratch)?.positions;
                }
                self.text_or_not(RoaringBitmap::new(), rows, &self.texts)
            }
            WordTest::Unknown => {
                let none = RoaringBitmap::new();
                Outcome { is_true: none.clone(), may_be_true: self.all.clone(), is_false: none, may_be_false: self.all.clone() }
            }
        })
    }

    /// The outcome of a condition that is true or false for `known` positions, and null for others.
    fn text_or_not(&self, is_true: RoaringBitmap, may_be_true: RoaringBitmap, known: &RoaringBitmap) -> Outcome {
        Outcome { is_false: known - &may_be_true, may_be_false: known - &is_true, is_true, may_be_true }
    }
}

/// The texts that have all of the words, which are at least one.
fn texts_with_all(index: &WordQuery<'_>, words: &[String], scratch: &mut Vec<u8>) -> Result<Found> {
    let mut all: Option<Found> = None;
    for word in words {
        let mut found = index.texts_with(word, scratch)?;
        if let Some(before) = all {
            found = Found { positions: before.positions & found.positions, is_certain: before.is_certain && found.is_certain };
        }
        if found.positions.is_empty() {
            return Ok(Found { is_certain: true, ..found });
        }
        all = Some(found);
    }
    all.ok_or_else(|| Error::internal("a condition without words"))
}

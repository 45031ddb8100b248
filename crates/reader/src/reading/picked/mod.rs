//! Picked: elements in the order and as often as a caller wants them, by lists of indexes or by a mask.
//!
//! A [`Selection`] increases along each dimension. Here a list becomes such a selection, from which each chunk is read once,
//! and the place of each of its entries among the values that were read (`index_list`); values are then copied to where they
//! belong (`spread`). A mask is read in slabs of its rows (`mask`). Extra memory is bounded by the size of a slab.

mod index_list;
mod mask;
mod slabs;
mod spread;

use hyperslab_array::{Axis, Cancellation, Elements, Error, HeapObjects, Result, Selection};
use hyperslab_formats::{Dataset, ObjectId, StorageLayout, poison};

pub use self::mask::Mask;

use self::index_list::sorted;
use self::spread::Spread;
use super::dataset_read::Keep;
use super::read::{fill, heap_of};
use super::stored;
use crate::File;
use crate::kept::buffer_pool::zeros;

/// What is wanted along one dimension.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Pick {
    /// Increasing indexes.
    Axis(Axis),
    /// Indexes in any order; an index may occur several times.
    List(Vec<u64>),
    /// The indexes at which a mask of one dimension is true.
    Mask(Mask),
}

/// Which elements of a dataset are wanted, and in which order.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Picked {
    /// The outer product of one pick for each dimension.
    Outer(Vec<Pick>),
    /// The elements at which a mask of the dataset's shape is true, in row-major order.
    Mask(Mask),
}

/// Bytes that could be read in the time of processing one list entry.
const ENTRY_BYTES: u64 = 64;

impl Pick {
    /// Number of picked indexes.
    pub fn count(&self) -> u64 {
        match self {
            Self::Axis(axis) => axis.count(),
            Self::List(indexes) => indexes.len() as u64,
            Self::Mask(mask) => mask.count(),
        }
    }

    /// An upper bound for the number of chunks of extent `chunk` that are touched.
    fn max_chunks(&self, chunk: u64) -> u64 {
        let chunk = chunk.max(1);
        let between = |first: u64, last: u64| (last / chunk).saturating_sub(first / chunk).saturating_add(1).min(self.count());
        match self {
            Self::Axis(Axis::Range { count: 0, .. }) => 0,
            Self::Axis(Axis::Range { start, count, step }) => between(*start, start.saturating_add((count - 1).saturating_mul(*step))),
            Self::Axis(Axis::Indices(indexes)) => indexes.first().zip(indexes.last()).map_or(0, |(first, last)| between(*first, *last)),
            Self::Axis(Axis::Runs(runs)) => {
                let ends = runs.runs().first().zip(runs.runs().last());
                ends.map_or(0, |(first, last)| between(first.source, last.source + last.count - 1))
            }
            Self::List(indexes) => indexes.iter().min().zip(indexes.iter().max()).map_or(0, |(first, last)| between(*first, *last)),
            Self::Mask(mask) => between(0, mask.len().saturating_sub(1)),
        }
    }
}

impl Picked {
    /// Number of picked elements.
    ///
    /// # Errors
    /// `LimitExceeded` beyond 64 bits.
    pub fn count(&self) -> Result<u64> {
        match self {
            Self::Outer(picks) => {
                let count = picks.iter().try_fold(1u64, |count, pick| if pick.count() == 0 { Some(0) } else { count.checked_mul(pick.count()) });
                count.ok_or_else(|| Error::limit_exceeded("the selection exceeds the memory of this machine: read it in parts"))
            }
            Self::Mask(mask) => Ok(mask.count()),
        }
    }

    /// An upper bound for the bytes that reading this from a dataset handles: its chunks, and the result. The work for lists and
    /// masks is counted as bytes, too.
    pub fn max_bytes(&self, dataset: &Dataset) -> u64 {
        let size = dataset.datatype.size();
        let picks = match self {
            Self::Outer(picks) => picks,
            Self::Mask(mask) => return mask.len().saturating_mul(size.max(1)),
        };
        let touched = match dataset.storage {
            // The sources are other files with chunks of their own.
            StorageLayout::Virtual => dataset.value_bytes().unwrap_or(u64::MAX),
            _ => {
                let chunks = picks.iter().zip(dataset.chunk_grid.chunk_shape()).map(|(pick, chunk)| pick.max_chunks(*chunk).saturating_mul(*chunk));
                chunks.fold(size, u64::saturating_mul)
            }
        };
        let planned = picks.iter().map(|pick| match pick {
            Pick::Axis(_) => 0,
            Pick::List(indexes) => (indexes.len() as u64).saturating_mul(ENTRY_BYTES),
            Pick::Mask(mask) => mask.len(),
        });
        let result = self.count().unwrap_or(u64::MAX).saturating_mul(size);
        planned.fold(touched.max(result), u64::saturating_add)
    }
}

impl File {
    /// Reads picked elements of a dataset, in the file's layout, with the heap objects they point at.
    ///
    /// # Errors
    /// As [`File::read`].
    pub fn read_picked(&self, dataset: ObjectId, picked: &Picked, cancellation: &Cancellation) -> Result<Elements> {
        let read = || {
            let description = self.dataset(dataset)?;
            let mut bytes = zeros(picked_bytes(&description, picked)?)?;
            fill_picked(self, dataset, &description, picked, &mut bytes, cancellation)?;
            let heap = heap_of(self, &description, &description.datatype, &bytes)?;
            Ok(Elements { datatype: description.datatype.clone(), bytes, heap })
        };
        read().map_err(|error| self.place(dataset, error))
    }

    /// Like [`File::read_picked`], into `out` of exactly `picked.count() * datatype.size()` bytes.
    ///
    /// # Errors
    /// As [`File::read`], and `InvalidInput` if `out` has another length.
    pub fn read_picked_into(&self, dataset: ObjectId, picked: &Picked, out: &mut [u8], cancellation: &Cancellation) -> Result<HeapObjects> {
        let mut read = || {
            let description = self.dataset(dataset)?;
            let wanted = picked_bytes(&description, picked)?;
            if out.len() != wanted {
                return Err(Error::invalid_input(format!("the buffer has {} bytes, the selection {wanted}", out.len())));
            }
            fill_picked(self, dataset, &description, picked, out, cancellation)?;
            heap_of(self, &description, &description.datatype, out)
        };
        read().map_err(|error| self.place(dataset, error))
    }
}

fn picked_bytes(dataset: &Dataset, picked: &Picked) -> Result<usize> {
    let bytes = picked.count()?.checked_mul(dataset.datatype.size()).and_then(|bytes| usize::try_from(bytes).ok());
    bytes
        .filter(|bytes| isize::try_from(*bytes).is_ok())
        .ok_or_else(|| Error::limit_exceeded("the selection exceeds the memory of this machine: read it in parts"))
}

/// Fills `out`, whose length was checked.
fn fill_picked(file: &File, dataset: ObjectId, description: &Dataset, picked: &Picked, out: &mut [u8], cancellation: &Cancellation) -> Result<()> {
    let picks = match picked {
        Picked::Mask(mask) => return mask::fill_mask(file, dataset, description, mask, out, cancellation),
        Picked::Outer(picks) => match picks.as_slice() {
            [Pick::Mask(mask)] => return mask::fill_mask(file, dataset, description, mask, out, cancellation),
            picks => picks,
        },
    };
    let mut axes = Vec::with_capacity(picks.len());
    let mut places = Vec::with_capacity(picks.len());
    for pick in picks {
        let (axis, place) = match pick {
            Pick::Axis(axis) => (axis.clone(), None),
            Pick::Mask(mask) => (mask.axis(), None),
            Pick::List(indexes) => sorted(indexes, file.session(), cancellation)?,
        };
        axes.push(axis);
        places.push(place);
    }
    let selection = Selection::new(axes, description.dataspace.shape())?;
    if places.iter().all(Option::is_none) || out.is_empty() {
        return fill(file, dataset, description, &selection, out, cancellation, Keep::Chunks);
    }
    let size = usize::try_from(description.datatype.size()).map_err(|_| Error::internal("element size"))?;
    let spread = Spread::new(&selection, &places, size)?;
    poison(out);
    let slabs = slabs::of_selection(description, &selection, spread.cut(), out.len());
    let keep = if slabs.len() > 1 { Keep::Nothing } else { Keep::Chunks };
    for slab in slabs {
        cancellation.check()?;
        let part = selection.narrow(spread.cut(), slab.start, slab.end - slab.start);
        let bytes = part.element_count()?.checked_mul(size as u64).and_then(|bytes| usize::try_from(bytes).ok());
        let mut values = file.session().values().take(bytes.ok_or_else(|| Error::limit_exceeded("a list of indexes exceeds memory"))?)?;
        fill(file, dataset, description, &part, &mut values, cancellation, keep)?;
        match out.len() as u64 >= stored::MIN_PARALLEL_BYTES && file.session().thread_count()? > 1 {
            true => file.session().compute(|| spread.put_in_parallel(&values, &slab, out, cancellation))?,
            false => spread.put(&values, &slab, 0, out)?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::sync::{Arc, Mutex, PoisonError};

    use hyperslab_array::{ByteOrder, Datatype, ErrorKind};
    use proptest::prelude::*;

    use super::*;
    use crate::foreign::{ForeignArray, file_of_arrays};
    use crate::{Session, SessionOptions};

    /// An array whose elements hold their own number, and which counts how often each block is read.
    struct Numbers {
        datatype: Datatype,
        shape: Vec<u64>,
        block: Vec<u64>,
        reads: Mutex<HashMap<Vec<u64>, usize>>,
    }

    impl Numbers {
        fn new(size: u64, shape: Vec<u64>, block: Vec<u64>) -> Arc<Self> {
            let datatype = match size {
                4 => Datatype::Integer { size: 4, order: ByteOrder::Little, signed: false, bit_offset: 0, bit_precision: 32 },
                _ => Datatype::Opaque { size, tag: String::new() },
            };
            Arc::new(Self { datatype, shape, block, reads: Mutex::default() })
        }
        /// The bytes of the element with this row-major number.
        fn element(&self, number: u64) -> impl Iterator<Item = u8> {
            (0..self.datatype.size()).map(move |byte| (number >> (8 * (byte % 4))) as u8)
        }
        fn most_reads(&self) -> usize {
            self.reads.lock().unwrap_or_else(PoisonError::into_inner).values().max().copied().unwrap_or(0)
        }
    }

    impl ForeignArray for Numbers {
        fn datatype(&self) -> &Datatype {
            &self.datatype
        }
        fn shape(&self) -> &[u64] {
            &self.shape
        }
        fn block_shape(&self) -> &[u64] {
            &self.block
        }
        fn null_value(&self) -> Option<&[u8]> {
            None
        }
        fn read(&self, start: &[u64], count: &[u64]) -> Result<Vec<u8>> {
            *self.reads.lock().unwrap_or_else(PoisonError::into_inner).entry(start.to_vec()).or_default() += 1;
            let inside: Vec<Vec<u64>> = start.iter().zip(count).map(|(start, count)| (*start..start + count).collect()).collect();
            Ok(numbers(&self.shape, &inside).into_iter().flat_map(|number| self.element(number)).collect())
        }
    }

    /// The row-major numbers of the elements of an outer product of indexes.
    fn numbers(shape: &[u64], indexes: &[Vec<u64>]) -> Vec<u64> {
        shape
            .iter()
            .zip(indexes)
            .fold(vec![0], |numbers, (extent, along)| numbers.iter().flat_map(|n| along.iter().map(move |index| n * extent + index)).collect())
    }

    fn packed(mask: &[bool]) -> Vec<u8> {
        mask.chunks(8).map(|bits| bits.iter().rev().fold(0, |byte, bit| byte << 1 | u8::from(*bit))).collect()
    }

    fn read(array: &Arc<Numbers>, picked: &Picked) -> Result<Vec<u8>> {
        let session = Session::new(SessionOptions::default().with_threads(Some(2)))?;
        let file = file_of_arrays(&session, "memory", vec![("x".to_owned(), array.clone() as Arc<dyn ForeignArray>)], None)?;
        Ok(file.read_picked(file.find("x")?.object, picked, &Cancellation::new())?.bytes)
    }

    fn pick(extent: u64) -> impl Strategy<Value = (Pick, Vec<u64>)> {
        let list = proptest::collection::vec(0..extent, 0..12).prop_map(|list| (Pick::List(list.clone()), list));
        let mask = proptest::collection::vec(any::<bool>(), extent as usize).prop_filter_map("enough bits", move |mask| {
            let indexes = (0..).zip(&mask).filter(|(_, mask)| **mask).map(|(index, _)| index).collect();
            Some((Pick::Mask(Mask::new(vec![extent], packed(&mask)).ok()?), indexes))
        });
        let range = (0..extent, 1u64..4).prop_map(move |(start, step)| {
            let count = (extent - start).div_ceil(step);
            (Pick::Axis(Axis::Range { start, count, step }), (0..count).map(|k| start + k * step).collect())
        });
        prop_oneof![list, mask, range]
    }

    fn shapes() -> impl Strategy<Value = (Vec<u64>, Vec<u64>)> {
        proptest::collection::vec((1u64..14, 1u64..6), 0..4).prop_map(|dimensions| dimensions.into_iter().unzip())
    }

    fn fail(error: Error) -> TestCaseError {
        TestCaseError::fail(error.to_string())
    }

    proptest! {
        #[test]
        fn outer_products_are_those_of_nested_loops(
            ((shape, block), picks) in shapes().prop_flat_map(|(shape, block)| {
                let picks: Vec<_> = shape.iter().map(|extent| pick(*extent).boxed()).collect();
                (Just((shape, block)), picks)
            }),
            size in prop_oneof![Just(4u64), Just(7)],
        ) {
            let array = Numbers::new(size, shape, block);
            let (picks, indexes): (Vec<_>, Vec<_>) = picks.into_iter().unzip();
            let expected: Vec<u8> = numbers(&array.shape, &indexes).into_iter().flat_map(|number| array.element(number)).collect();
            prop_assert_eq!(read(&array, &Picked::Outer(picks)).map_err(fail)?, expected);
            prop_assert!(array.most_reads() <= 1, "a chunk is decoded once");
        }

        #[test]
        fn masks_give_their_elements_in_order(
            ((shape, block), mask) in shapes().prop_flat_map(|(shape, block)| {
                let length = shape.iter().product::<u64>() as usize;
                let mask = prop_oneof![
                    proptest::collection::vec(any::<bool>(), length),
                    proptest::collection::vec(proptest::bool::weighted(0.05), length),
                    Just(vec![true; length]),
                ];
                (Just((shape, block)), mask)
            }),
            size in prop_oneof![Just(4u64), Just(7)],
        ) {
            let array = Numbers::new(size, shape, block);
            let expected: Vec<u8> = (0..).zip(&mask).filter(|(_, mask)| **mask).flat_map(|(number, _)| array.element(number)).collect();
            let mask = Mask::new(array.shape.clone(), packed(&mask)).map_err(fail)?;
            prop_assert_eq!(mask.count() * size, expected.len() as u64);
            prop_assert_eq!(read(&array, &Picked::Mask(mask)).map_err(fail)?, expected);
            prop_assert!(array.most_reads() <= 1, "a chunk is decoded once");
        }
    }

    /// 48 rows of 1 MiB in chunks of 5: more than a slab.
    fn large() -> Arc<Numbers> {
        Numbers::new(1 << 16, vec![48, 16], vec![5, 16])
    }

    #[test]
    fn large_lists_are_read_slab_by_slab() -> Result<()> {
        let rows: Vec<u64> = (0..48).rev().chain([3, 3, 40]).collect();
        let array = large();
        let expected: Vec<u8> = numbers(&array.shape, &[rows.clone(), (0..16).collect()]).into_iter().flat_map(|number| array.element(number)).collect();
        assert!(read(&array, &Picked::Outer(vec![Pick::List(rows), Pick::Axis(Axis::all(16))]))? == expected);
        assert_eq!(array.most_reads(), 1);
        Ok(())
    }

    #[test]
    fn large_masks_are_read_slab_by_slab() -> Result<()> {
        let array = large();
        let mask: Vec<bool> = (0..48 * 16).map(|number| number % 3 == 0 && number > 200).collect();
        let expected: Vec<u8> = (0..).zip(&mask).filter(|(_, mask)| **mask).flat_map(|(number, _)| array.element(number)).collect();
        assert!(read(&array, &Picked::Mask(Mask::new(vec![48, 16], packed(&mask))?))? == expected);
        assert_eq!(array.most_reads(), 1);
        let untouched = array.reads.lock().unwrap_or_else(PoisonError::into_inner).get([5, 0].as_slice()).copied();
        assert_eq!(untouched, None, "rows without true elements are not read");
        Ok(())
    }

    #[test]
    fn wrong_picks_are_errors() -> Result<()> {
        let array = Numbers::new(4, vec![6, 4], vec![2, 2]);
        let all = || Pick::Axis(Axis::all(4));
        let kind = |picked| read(&array, &picked).map_err(|error| error.kind()).err();
        assert_eq!(kind(Picked::Outer(vec![Pick::List(vec![2, 6]), all()])), Some(ErrorKind::InvalidInput));
        assert_eq!(kind(Picked::Outer(vec![Pick::List(vec![6, 2]), all()])), Some(ErrorKind::InvalidInput));
        assert_eq!(kind(Picked::Outer(vec![all()])), Some(ErrorKind::InvalidInput));
        assert_eq!(kind(Picked::Mask(Mask::new(vec![6, 3], vec![255; 3])?)), Some(ErrorKind::InvalidInput));
        assert_eq!(kind(Picked::Outer(vec![Pick::List(vec![2, 3]), Pick::Mask(Mask::new(vec![5], vec![3])?)])), None);
        assert!(Mask::new(vec![6, 3], vec![255; 2]).is_err());
        assert!(Picked::Outer(vec![Pick::Axis(Axis::all(1 << 40)), Pick::Axis(Axis::all(1 << 40))]).count().is_err());
        Ok(())
    }
}

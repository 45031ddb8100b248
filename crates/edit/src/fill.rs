//! Unwritten elements: what is stored for them when others of the same chunk are written.

use std::cell::RefCell;

use hyperslab_array::{Error, Result};
use hyperslab_formats::Dataset;
use hyperslab_formats::hdf5::edit::FileEdit;
use hyperslab_formats::hdf5::writer::FillObjects;
use hyperslab_formats::{ObjectId, collect_heap_references};
use hyperslab_reader::File;

use crate::heap::{self, OpenCollection, References};

/// The fill value of a dataset.
pub(crate) struct Fill<'a> {
    dataset: &'a Dataset,
    /// What the fill value points at, if it does.
    objects: RefCell<Option<FillObjects>>,
    /// Small values of several chunks share a collection.
    open: RefCell<OpenCollection>,
}

impl<'a> Fill<'a> {
    pub(crate) fn of(dataset: &'a Dataset, id: ObjectId, view: &File) -> Result<Self> {
        let mut objects = None;
        if let Some(fill) = &dataset.fill_value {
            let mut points = false;
            collect_heap_references(&dataset.datatype, fill, &mut |_, _, _| {
                points = true;
                Ok(())
            })?;
            if points {
                objects = FillObjects::of(&dataset.datatype, fill, &view.fill_heap(id)?)?;
            }
        }
        Ok(Self { dataset, objects: RefCell::new(objects), open: RefCell::default() })
    }

    /// `count` elements, to be given to [`Fill::separate`] before they are stored.
    pub(crate) fn elements(&self, count: usize) -> Result<Vec<u8>> {
        let size = usize::try_from(self.dataset.datatype.size()).ok();
        let bytes = size.and_then(|size| size.checked_mul(count)).ok_or_else(|| Error::unsupported("more values than memory holds"))?;
        Ok(self.dataset.fill_value.as_ref().map_or_else(|| vec![0; bytes], |fill| fill.repeat(count)))
    }

    /// Gives elements that are still the fill value's values of variable length of their own.
    pub(crate) fn separate(&self, file: &FileEdit<'_>, elements: &mut [u8]) -> Result<()> {
        let Some(objects) = &mut *self.objects.borrow_mut() else { return Ok(()) };
        let mut open = self.open.borrow_mut();
        objects.separate(elements, &mut |elements| heap::store(file, elements, References::Copied, &mut open))
    }
}

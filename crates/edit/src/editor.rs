//! Editor: an existing file that is edited object by object.

use std::path::{Path, PathBuf};

use hyperslab_array::{Dataspace, Elements, Error, Region, Result};
use hyperslab_formats::hdf5::edit::{FileEdit, PageKind, delete_attribute, set_attribute};
use hyperslab_formats::{Format, Interpretation, ObjectId};
use hyperslab_reader::{File, Session};

use crate::heap::{self, OpenCollection, References};
use crate::transaction::Transaction;
use crate::values;

/// An existing HDF5 file whose objects are changed. Changes are seen by [`Editor::view`] at once, and by others after
/// [`Editor::commit`]. A change that is refused changes nothing.
pub struct Editor {
    pub(crate) transaction: Transaction,
    session: Session,
    path: PathBuf,
    view: Option<File>,
    /// Whether it was an HDF5 file without netCDF's conventions when it was opened.
    is_plain: bool,
    pub(crate) heap: OpenCollection,
}

impl Editor {
    /// Opens the file at `path`, which no other program may have open.
    ///
    /// # Errors
    /// As [`Transaction::open`]; `Unsupported` for a file that cannot be edited, by the name of what it has.
    pub fn open(path: &Path, session: &Session) -> Result<Self> {
        let transaction = Transaction::open(path)?;
        let mut editor = Self { transaction, session: session.clone(), path: path.to_path_buf(), view: None, is_plain: false, heap: None };
        editor.edit(|_| Ok(()))?;
        // Whether it is a netCDF file is found once: that takes a look at all objects.
        editor.is_plain = editor.view()?.format() == Format::Hdf5;
        Ok(editor)
    }

    /// The file with all changes so far. It stays as it is until the next change; reading it afterwards is a `Conflict`.
    ///
    /// # Errors
    /// As [`Session::open`].
    pub fn view(&mut self) -> Result<File> {
        if let Some(view) = &self.view {
            return Ok(view.clone());
        }
        let view = self.fresh_view()?;
        self.view = Some(view.clone());
        Ok(view)
    }

    /// The file with all changes so far as another session shows it, such as one that takes netCDF files for HDF5. It stays as it is until the next
    /// change.
    ///
    /// # Errors
    /// As [`Session::open_storage`].
    pub fn view_in(&self, session: &Session) -> Result<File> {
        session.open_storage(&self.path, self.transaction.snapshot()?)
    }

    /// Stores what elements of variable length and references point at. Returns the elements as [`Editor::write`] takes them. A reference
    /// holds the number of a value of the heap: the address of an object in 8 bytes, and what
    /// [`TargetPart::parse`](hyperslab_formats::hdf5::writer::TargetPart::parse) takes.
    ///
    /// # Errors
    /// `InvalidInput` for references that cannot be read; as [`Transaction::write`].
    pub fn store_values(&mut self, elements: &Elements) -> Result<Vec<u8>> {
        let mut open = self.heap.clone();
        let outcome = self.edit(|file| heap::store(file, elements, References::Named, &mut open));
        self.view = None;
        let bytes = outcome?;
        self.heap = open;
        Ok(bytes)
    }

    /// The object at `path`.
    ///
    /// # Errors
    /// `NotFound`; `Unsupported` for an object of another file, to which an external link leads.
    pub fn find(&mut self, path: &str) -> Result<ObjectId> {
        let view = self.view()?;
        let found = view.find(path)?;
        if found.file != view {
            return Err(Error::unsupported("this object lies in another file: open that for editing").in_file(self.path.display().to_string()).at_object(path));
        }
        Ok(found.object)
    }

    /// Writes the elements of a region of a dataset, encoded as in the file. Those of variable length and references are what
    /// [`Editor::store_values`] returned.
    ///
    /// # Errors
    /// `NotFound`; `InvalidInput` for a region outside of the dataset or bytes of another length; `Unsupported` for what cannot be edited.
    pub fn write(&mut self, dataset: ObjectId, region: &Region, bytes: &[u8]) -> Result<()> {
        let freed = self.change(dataset, |file, view, id| values::write(file, view, id, region, bytes))?;
        self.free(freed)
    }

    /// Writes the chunk that begins at an element, as the caller has encoded it. Each bit of `skipped` is a filter that was not applied.
    ///
    /// # Errors
    /// As [`Editor::write`]; `InvalidInput` if no chunk begins there, or if a chunk without filters has another number of bytes.
    pub fn write_chunk(&mut self, dataset: ObjectId, start: &[u64], bytes: &[u8], skipped: u32) -> Result<()> {
        let freed = self.change(dataset, |file, view, id| values::write_chunk(file, view, id, start, bytes, skipped))?;
        self.free(freed)
    }

    /// Changes the extent of a chunked dataset. New elements have the fill value; elements beyond the new extent are gone.
    ///
    /// # Errors
    /// As [`Editor::write`].
    pub fn resize(&mut self, dataset: ObjectId, shape: &[u64]) -> Result<()> {
        let freed = self.change(dataset, |file, view, id| values::resize(file, view, id, shape))?;
        self.free(freed)
    }

    /// Sets an attribute of an object, or replaces it. References are as in [`Editor::store_values`].
    ///
    /// # Errors
    /// As [`Editor::store_values`]; `Unsupported` for attributes that cannot be edited.
    pub fn set_attribute(&mut self, object: ObjectId, name: &str, dataspace: &Dataspace, value: &Elements) -> Result<()> {
        let mut open = self.heap.clone();
        let set = |file: &FileEdit<'_>, _: &File, id: ObjectId| {
            let bytes = heap::store(file, value, References::Named, &mut open)?;
            set_attribute(file, id, name, &value.datatype, dataspace, &bytes)
        };
        self.change(object, set)?;
        self.heap = open;
        Ok(())
    }

    /// Deletes an attribute of an object.
    ///
    /// # Errors
    /// `NotFound`; `Unsupported` for attributes that cannot be edited.
    pub fn delete_attribute(&mut self, object: ObjectId, name: &str) -> Result<()> {
        self.change(object, |file, _, id| delete_attribute(file, id, name))
    }

    /// Makes all changes visible to others at once, and waits until they are on the disk. Returns whether there were any.
    ///
    /// # Errors
    /// As [`Transaction::commit`].
    pub fn commit(&mut self) -> Result<bool> {
        self.transaction.commit()
    }

    /// Drops all changes since the last commit.
    ///
    /// # Errors
    /// As [`Transaction::roll_back`].
    pub fn roll_back(&mut self) -> Result<()> {
        (self.view, self.heap) = (None, None);
        self.transaction.roll_back()
    }

    /// Whether there are changes that are not committed.
    pub fn is_changed(&self) -> bool {
        self.transaction.is_changed()
    }

    /// Frees the places of values.
    pub(crate) fn free(&self, freed: values::Freed) -> Result<()> {
        freed.into_iter().try_for_each(|(offset, bytes)| self.transaction.free(PageKind::Raw, offset, bytes))
    }

    /// Does one change of an object, whole or not at all.
    fn change<T>(&mut self, object: ObjectId, change: impl FnOnce(&FileEdit<'_>, &File, ObjectId) -> Result<T>) -> Result<T> {
        let view = self.view()?;
        let outcome = self.edit(|file| change(file, &view, object));
        self.view = None;
        outcome.map_err(|error| match error.object() {
            Some(_) => error,
            None => view.path_of(object).map_or(error.clone(), |path| error.at_object(path.as_ref())),
        })
    }

    /// Makes one change, whole or not at all; its errors name `path`.
    pub(crate) fn change_at<T>(&mut self, path: &str, change: impl FnOnce(&Self, &FileEdit<'_>, &File) -> Result<T>) -> Result<T> {
        let view = self.view()?;
        let outcome = self.edit(|file| change(self, file, &view));
        self.view = None;
        outcome.map_err(|error| if error.object().is_none() { error.at_object(path) } else { error })
    }

    /// The file as it is in the middle of a change.
    pub(crate) fn fresh_view(&self) -> Result<File> {
        let storage = self.transaction.snapshot()?;
        match self.is_plain {
            true => self.session.open_storage_as(&self.path, storage, Interpretation::Hdf5),
            false => self.session.open_storage(&self.path, storage),
        }
    }

    fn edit<T>(&self, change: impl FnOnce(&FileEdit<'_>) -> Result<T>) -> Result<T> {
        let transaction = &self.transaction;
        let changed = transaction.whole(|| change(&FileEdit::open(transaction.storage(), self.session.limits(), transaction)?));
        changed.map_err(|error| if error.file().is_none() { error.in_file(self.path.display().to_string()) } else { error })
    }
}

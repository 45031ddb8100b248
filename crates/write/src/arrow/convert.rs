//! Copies a whole file into a container.

use std::cell::Cell;
use std::path::Path;
use std::sync::Arc;

use hyperslab_array::{Cancellation, ChunkGrid, Error, Result, Selection};
use hyperslab_arrow_container::container::{Container, Create, Options, delete};
use hyperslab_arrow_container::elements::{Arena, Dataspace as StoredSpace};
use hyperslab_arrow_container::lock;
use hyperslab_arrow_container::model::{AttributeValue, Body, Object as StoredObject, StoredDatatype};
use hyperslab_arrow_container::table::Table;
use hyperslab_formats::{Dataset, Format, ObjectId, block_shape};

use super::objects::{Objects, datatype, failed};
use super::values::Values;
use crate::file::copying::changes::Change;
use crate::file::copying::source_file::SourceFile;
use crate::file::reading_session::reading_session;

/// Bytes of values that are copied at a time.
const BLOCK_BYTES: u64 = 32 << 20;

/// Copies all objects of the HDF5 file or container `source` into the new container `target`: a folder, or one file. Values of
/// variable length of a dataset are in memory while it is copied, others some megabytes at a time. `progress` is called with the
/// bytes of values that were copied, and their total. If it fails, no container is left; an existing one is never replaced.
///
/// # Errors
/// `InvalidInput` if something exists at `target`; `Unsupported` for files and objects that cannot be copied; `Io` or `Corrupt` if
/// they cannot be read or written; `Cancelled`.
pub fn to_container(source: &Path, target: &Path, one_file: bool, cancellation: &Cancellation, progress: &mut dyn FnMut(u64, u64)) -> Result<Vec<Change>> {
    let session = reading_session()?;
    let file = session.open(source)?;
    let located = |error: Error| error.in_file(source.display().to_string());
    if file.array_file().format() == Format::Netcdf3 {
        return Err(located(Error::unsupported("converting a netCDF-3 file, whose dimensions HDF5 does not have: make a netCDF-4 file of it first")));
    }
    let found = SourceFile::new(&file, cancellation).map_err(located)?;
    let mut options = Options::default();
    options.one_file = one_file;
    let root = StoredObject::group(Vec::new(), file.links(file.root())?.is_tracked());
    let container = Container::create(target, Create::New, root, Vec::new(), options)
        .map_err(|error| Error::invalid_input(error.message).in_file(target.display().to_string()))?;
    let copied = copy(&file, &found, &container, cancellation, progress).map_err(located);
    let published = copied.and_then(|mut changes| {
        if file.array_file().user_block_bytes() > 0 {
            changes.push(Change::new("/", "the container does not keep the user block"));
        }
        container
            .change()
            .and_then(|()| container.publish())
            .map(|()| changes)
            .map_err(|error| Error::new(hyperslab_array::ErrorKind::Io, error.message).in_file(target.display().to_string()))
    });
    drop(container);
    if published.is_err() {
        // What is there is the empty container that was made above.
        let _ = delete(target);
    }
    published
}

fn copy(
    file: &hyperslab_reader::File,
    found: &SourceFile<'_>,
    container: &Arc<Container>,
    cancellation: &Cancellation,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Vec<Change>> {
    let mut objects = Objects::new(file, found, container);
    objects.add()?;
    let ids = objects.ids.clone();
    let values = Values { file, ids: &ids, tree: &container.tree, arena: Arena::new(), empty_texts: Cell::default() };
    let total = found.objects().iter().filter_map(|(_, _, object)| object.dataset()?.value_bytes()).fold(0u64, u64::saturating_add);
    let mut done = 0u64;
    for (path, id, object) in found.objects() {
        objects.attributes(&values, path, *id)?;
        let mut empty_texts = values.empty_texts.take();
        if object.dataset().is_some() {
            let dataset = &file.dataset(*id)?;
            let own = Values { file, ids: &ids, tree: &container.tree, arena: Arena::new(), empty_texts: Cell::default() };
            let mut copy = DatasetCopy { objects: &objects, values: &own, id: *id, path, dataset, cancellation };
            copy.run(&mut |bytes| {
                done = done.saturating_add(bytes);
                progress(done, total);
            })
            .map_err(|error| error.at_object(path))?;
            empty_texts |= own.empty_texts.take();
        }
        if empty_texts {
            objects.changes.push(Change::new(path, "empty texts are null in the container"));
        }
    }
    Ok(objects.changes)
}

struct DatasetCopy<'a> {
    objects: &'a Objects<'a>,
    values: &'a Values<'a>,
    id: ObjectId,
    path: &'a str,
    dataset: &'a Arc<Dataset>,
    cancellation: &'a Cancellation,
}

impl DatasetCopy<'_> {
    fn run(&mut self, progress: &mut dyn FnMut(u64)) -> Result<()> {
        let Self { objects, values, id, dataset, .. } = *self;
        if let Some(refusal) = &dataset.refusal {
            return Err(refusal.clone());
        }
        let (encoded, decoded) = datatype(&dataset.datatype, false)?;
        let stored = decoded.form.stored();
        let fill = objects.fill(values, id, dataset, &decoded)?;
        let added = objects.id(id)?;
        let container = objects.container;
        if (decoded.form.has_heap() || dataset.datatype.has_references()) && !fill.is_empty() {
            let datatype = StoredDatatype::new(encoded, stored.clone());
            let mut kept = AttributeValue::new("", added, datatype, StoredSpace::Scalar, fill.clone());
            kept.arenas = vec![values.arena.clone()];
            lock(&container.tree).object_mut(added).map_err(failed)?.fill = Some(Arc::new(std::sync::Mutex::new(kept)));
        }
        let mut table = Table::create(&stored, &super::objects::space(&dataset.dataspace), &container.folder, None, fill).map_err(failed)?;
        table.keep(&values.arena);
        let parts = table.all_parts();
        if dataset.stored_bytes != Some(0) || !dataset.virtual_mappings.is_empty() {
            for (first, selection) in self.blocks()? {
                self.cancellation.check()?;
                let elements = objects.file.read(id, &selection, self.cancellation)?;
                let count = selection.element_count()?;
                let bytes = values.stored(&dataset.datatype, &decoded.form, &elements.bytes, &elements.heap)?;
                let count = usize::try_from(count).map_err(|_| Error::internal("a block beyond memory"))?;
                table.write(&parts, first, count, &bytes, stored.bytes()).map_err(failed)?;
                progress(elements.bytes.len() as u64);
            }
        }
        let made = match &lock(&container.tree).object(added).map_err(failed)?.body {
            Body::Dataset(made) => Arc::clone(made),
            _ => return Err(Error::internal("a dataset that is none")),
        };
        lock(&made.extent).table = Some(table);
        container.release_values(added, self.path, &made).map_err(failed)
    }

    /// Blocks of whole chunks that are contiguous in row-major order: the number of the first element, and the selection.
    fn blocks(&self) -> Result<Vec<(u64, Selection)>> {
        let shape = self.dataset.dataspace.shape();
        if self.dataset.dataspace.element_count()? == 0 {
            return Ok(Vec::new());
        }
        let size = self.dataset.datatype.size();
        let mut block = block_shape(shape, size, BLOCK_BYTES);
        if let (Some(rows), Some(chunk)) = (block.first_mut(), self.dataset.chunk_shape.as_ref().and_then(|chunk| chunk.first())) {
            let row_bytes = shape.iter().skip(1).fold(size, |bytes, extent| bytes.saturating_mul(*extent));
            let whole = (*rows / chunk).max(1).saturating_mul(*chunk);
            if whole.saturating_mul(row_bytes) <= 8 * BLOCK_BYTES {
                *rows = whole;
                for (extent, whole) in block.iter_mut().zip(shape).skip(1) {
                    *extent = *whole;
                }
            }
        }
        let all = Selection::all(shape);
        let grid = ChunkGrid::new(shape.to_vec(), block)?;
        let block = |origin| {
            let region = grid.clipped(origin)?;
            let first = region.start.iter().zip(shape).fold(0, |number, (&index, &extent)| number * extent + index);
            let axes = region.dimensions().map(|(start, count)| hyperslab_array::Axis::Range { start, count, step: 1 }).collect();
            Ok((first, Selection::new(axes, shape)?))
        };
        grid.touched(&all)?.into_iter().map(block).collect()
    }
}

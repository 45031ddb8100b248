//! Values: all chunks are read and decoded, in parallel.

use std::sync::atomic::{AtomicU64, Ordering};

use hyperslab_array::{Axis, Cancellation, ChunkBuffer, Dataspace, Error, ErrorKind, Region, Result, Selection};
use hyperslab_formats::hdf5::survey::{Survey, SurveyedChunk, SurveyedObject};
use hyperslab_formats::{ChunkLocation, ChunkSource, Dataset, Object, ObjectId, StorageLayout};
use hyperslab_reader::File;
use rayon::prelude::*;

use crate::finding::{Finding, Severity};
use crate::options::CheckProgress;
use crate::references;

/// Bytes of chunks that are decoded between two reports of progress.
const BATCH_BYTES: u64 = 64 << 20;
/// Bytes of contiguous values that are read at once.
const BLOCK_BYTES: u64 = 4 << 20;
/// Bytes of contiguous values that are read at once if they refer to a heap or to objects.
const SLAB_BYTES: u64 = 16 << 20;

/// What is checked of a file's values.
pub(crate) struct Values<'a> {
    pub file: &'a File,
    pub survey: &'a Survey,
    pub cancellation: &'a Cancellation,
    pub with_data: bool,
    /// Whether the file has no other members.
    pub is_one_file: bool,
}

/// Chunks and bytes that were read.
#[derive(Default)]
struct Counts {
    chunks: AtomicU64,
    bytes: AtomicU64,
}

impl Values<'_> {
    /// Checks all datasets; returns the number of chunks and of bytes that were read.
    pub fn check(&self, findings: &mut Vec<Finding>, progress: &mut CheckProgress<'_>) -> Result<(u64, u64)> {
        let counts = Counts::default();
        let stored = |object: &SurveyedObject| {
            let chunks = object.chunks.iter().fold(0u64, |sum, chunk| sum.saturating_add(chunk.length));
            chunks.saturating_add(object.contiguous.map_or(0, |(_, length)| length))
        };
        let total = self.survey.objects.iter().map(stored).fold(0u64, u64::saturating_add);
        for object in &self.survey.objects {
            let Some(Object::Dataset(dataset)) = &object.object else { continue };
            if let Some(refusal) = &dataset.refusal {
                findings.push(
                    Finding::new(Severity::Warning, "unsupported", format!("the values cannot be read, and are not checked: {}", refusal.message()))
                        .of(Some(object.path.as_str())),
                );
                continue;
            }
            self.other_files(object, dataset, findings)?;
            if !self.with_data {
                continue;
            }
            let looks_inside = dataset.datatype.uses_heap() || dataset.datatype.has_references();
            match dataset.storage {
                StorageLayout::Chunked => self.chunks(object, dataset, &counts, findings, total, progress)?,
                StorageLayout::Contiguous => self.contiguous(object, &counts, findings, total, progress)?,
                _ => {}
            }
            if looks_inside && object.has_all_chunks && dataset.virtual_mappings.is_empty() {
                self.inside(object, dataset, findings)?;
            }
        }
        Ok((counts.chunks.into_inner(), counts.bytes.into_inner()))
    }

    /// External files, and sources of virtual datasets, must exist.
    fn other_files(&self, object: &SurveyedObject, dataset: &Dataset, findings: &mut Vec<Finding>) -> Result<()> {
        let mut names: Vec<&str> = dataset.virtual_mappings.iter().map(|mapping| mapping.file.as_str()).collect();
        names.retain(|name| *name != "." && !name.contains("%b"));
        names.sort_unstable();
        names.dedup();
        let mut note = |name: &str, error: &Error| {
            let message = format!("{name}, which holds values of the dataset, cannot be opened: {}", error.message());
            findings.push(Finding::new(Severity::Warning, "missing-file", message).of(Some(object.path.as_str())).costs("these values are missing"));
        };
        for name in names {
            match self.file.linked_file(&name.replace("%%", "%")) {
                Err(error) if error.kind() == ErrorKind::Cancelled => return Err(error),
                Err(error) => note(name, &error),
                Ok(_) => {}
            }
        }
        if !dataset.external_files.is_empty() && dataset.dataspace.element_count()? > 0 {
            let first = Selection::new(dataset.dataspace.shape().iter().map(|_| Axis::range(0, 1)).collect(), dataset.dataspace.shape())?;
            if let Err(error) = self.file.read(ObjectId(object.address), &first, self.cancellation) {
                note(dataset.external_files.first().map_or("", |file| file.file.as_str()), &error);
            }
        }
        Ok(())
    }

    fn chunks(
        &self,
        object: &SurveyedObject,
        dataset: &Dataset,
        counts: &Counts,
        findings: &mut Vec<Finding>,
        total: u64,
        progress: &mut CheckProgress<'_>,
    ) -> Result<()> {
        let Some(shape) = &dataset.chunk_shape else { return Ok(()) };
        let has_checksums = dataset.filters.iter().any(|filter| filter.name == "fletcher32");
        let mut rest = object.chunks.as_slice();
        while !rest.is_empty() {
            let mut bytes = 0u64;
            let count = rest.iter().take_while(|chunk| {
                let is_first = bytes == 0;
                bytes = bytes.saturating_add(chunk.length.max(1));
                is_first || bytes <= BATCH_BYTES
            });
            let (batch, after) = rest.split_at(count.count().clamp(1, rest.len()));
            let decode = |buffers: &mut (Vec<u8>, ChunkBuffer), chunk: &SurveyedChunk| -> Result<Option<Finding>> {
                self.cancellation.check()?;
                match self.decode(object, shape, chunk, buffers) {
                    Ok(true) => {}
                    Ok(false) => return Ok(None),
                    Err(error) if error.kind() == ErrorKind::Cancelled => return Err(error),
                    Err(error) => return Ok(Some(undecodable(object, shape, chunk, &error))),
                }
                counts.chunks.fetch_add(1, Ordering::Relaxed);
                counts.bytes.fetch_add(chunk.length, Ordering::Relaxed);
                let is_zeroed = has_checksums && chunk.length > 0 && buffers.0.iter().all(|byte| *byte == 0);
                Ok(is_zeroed.then(|| zeroed(object, shape, chunk)))
            };
            let found: Vec<Option<Finding>> =
                self.file.session().compute(|| batch.par_iter().map_init(|| (Vec::new(), ChunkBuffer::default()), decode).collect::<Result<_>>())?;
            findings.extend(found.into_iter().flatten());
            progress(counts.bytes.load(Ordering::Relaxed), total, "bytes");
            rest = after;
        }
        Ok(())
    }

    /// Decodes a chunk; false for one that is not in the file.
    fn decode(&self, object: &SurveyedObject, shape: &[u64], chunk: &SurveyedChunk, (raw, out): &mut (Vec<u8>, ChunkBuffer)) -> Result<bool> {
        // Those that end after the end of the file are findings of their own.
        if chunk.offset.checked_add(chunk.length).is_none_or(|end| end > self.survey.file_bytes) {
            return Ok(false);
        }
        if chunk.length > self.file.session().limits().chunk_bytes {
            return Err(Error::limit_exceeded(format!("a chunk of {} bytes", chunk.length)));
        }
        let length = usize::try_from(chunk.length).map_err(|_| Error::limit_exceeded("a chunk beyond memory"))?;
        raw.clear();
        raw.try_reserve_exact(length).map_err(|_| Error::limit_exceeded(format!("no memory for a chunk of {length} bytes")))?;
        raw.resize(length, 0);
        self.file.array_file().storage().read_exact_at(chunk.offset, raw)?;
        let start = chunk.position.iter().zip(shape).map(|(number, extent)| number.saturating_mul(*extent)).collect();
        let source = ChunkSource::Stored { offset: chunk.offset, length: chunk.length, filter_mask: chunk.filter_mask };
        let location = ChunkLocation { region: Region { start, count: shape.to_vec() }, source };
        self.file.array_file().decode(ObjectId(object.address), &location, raw, out)?;
        Ok(true)
    }

    /// Reads contiguous values, which have no checksum: only the operating system can find them damaged.
    fn contiguous(&self, object: &SurveyedObject, counts: &Counts, findings: &mut Vec<Finding>, total: u64, progress: &mut CheckProgress<'_>) -> Result<()> {
        // Members of a file of several may claim any length, and read as zeros.
        let Some((offset, length)) = object.contiguous.filter(|_| self.is_one_file) else { return Ok(()) };
        let end = offset.saturating_add(length).min(self.survey.file_bytes);
        let (mut at, mut block) = (offset, Vec::new());
        while at < end {
            self.cancellation.check()?;
            let count = BLOCK_BYTES.min(end - at);
            block.resize(usize::try_from(count).unwrap_or(0), 0);
            if let Err(error) = self.file.array_file().storage().read_exact_at(at, &mut block) {
                let finding = Finding::new(Severity::Error, "unreadable", format!("values cannot be read: {}", error.message())).at(at, count);
                findings.push(finding.of(Some(object.path.as_str())).costs("some of the values in this range are lost"));
            }
            counts.chunks.fetch_add(1, Ordering::Relaxed);
            counts.bytes.fetch_add(count, Ordering::Relaxed);
            at += count;
            progress(counts.bytes.load(Ordering::Relaxed), total, "bytes");
        }
        Ok(())
    }

    /// Reads values that refer to a heap, or to objects.
    fn inside(&self, object: &SurveyedObject, dataset: &Dataset, findings: &mut Vec<Finding>) -> Result<()> {
        let shape = dataset.dataspace.shape();
        if matches!(dataset.dataspace, Dataspace::Null) || dataset.dataspace.element_count()? == 0 {
            return Ok(());
        }
        let (mut bad, mut shown) = (0u64, Vec::new());
        for (start, count) in self.stored_boxes(object, dataset) {
            self.cancellation.check()?;
            let axes = start.iter().zip(&count).map(|(start, count)| Axis::range(*start, start.saturating_add(*count))).collect();
            let selection = Selection::new(axes, shape)?;
            match self.file.read(ObjectId(object.address), &selection, self.cancellation) {
                Ok(values) => {
                    let (count, texts) = references::bad(self.file, self.survey, &values)?;
                    bad += count;
                    shown.extend(texts);
                    shown.truncate(5);
                }
                Err(error) if error.kind() == ErrorKind::Cancelled => return Err(error),
                Err(error) => {
                    let (severity, kind) = match error.kind() {
                        ErrorKind::Corrupt => (Severity::Error, "undecodable"),
                        ErrorKind::Io => (Severity::Error, "unreadable"),
                        _ => (Severity::Warning, "limit"),
                    };
                    let ranges: Vec<String> = start.iter().zip(&count).map(|(start, count)| format!("{start}:{}", start.saturating_add(*count))).collect();
                    let message = format!("the values [{}] cannot be read: {}", ranges.join(", "), error.message());
                    let finding = Finding::new(severity, kind, message).at(error.offset().unwrap_or(0), 0).of(Some(object.path.as_str()));
                    findings.push(finding.costs("some of these values are lost").advises("save the others: hyperslab recover"));
                }
            }
        }
        if bad > 0 {
            findings.push(references::finding("the values", &object.path, bad, &shown));
        }
        Ok(())
    }

    /// Start and count of the boxes of elements that are stored: a dataset may claim any number of others.
    fn stored_boxes(&self, object: &SurveyedObject, dataset: &Dataset) -> Vec<(Vec<u64>, Vec<u64>)> {
        let shape = dataset.dataspace.shape();
        if let Some(chunk_shape) = &dataset.chunk_shape {
            let clipped = |chunk: &SurveyedChunk| {
                let axes = chunk.position.iter().zip(chunk_shape).zip(shape);
                let boxes = axes.map(|((number, extent), n)| {
                    let start = number.checked_mul(*extent).filter(|start| start < n)?;
                    Some((start, (*extent).min(n - start)))
                });
                boxes.collect::<Option<Vec<_>>>().map(|axes| axes.into_iter().unzip())
            };
            return object.chunks.iter().filter_map(clipped).collect();
        }
        let is_in_file = dataset.value_bytes().is_some_and(|bytes| bytes <= self.survey.file_bytes);
        let Some((rows, others)) = shape.split_first().filter(|_| is_in_file) else {
            return if shape.is_empty() && is_in_file { vec![(Vec::new(), Vec::new())] } else { Vec::new() };
        };
        let row = others.iter().fold(dataset.datatype.size(), |n, extent| n.saturating_mul(*extent)).max(1);
        let step = (SLAB_BYTES / row).max(1);
        let slab = |first: u64| {
            let start = std::iter::once(first).chain(others.iter().map(|_| 0)).collect();
            (start, std::iter::once(step.min(rows - first)).chain(others.iter().copied()).collect())
        };
        (0..rows.div_ceil(step)).map(|index| slab(index * step)).collect()
    }
}

/// The elements of a chunk, as text.
fn elements(shape: &[u64], chunk: &SurveyedChunk) -> String {
    let ranges: Vec<String> = chunk.position.iter().zip(shape).map(|(number, extent)| format!("{}:{}", number * extent, (number + 1) * extent)).collect();
    ranges.join(", ")
}

/// The checksum of zeros is zero, so it does not tell zeros that were written from a block that was lost.
fn zeroed(object: &SurveyedObject, shape: &[u64], chunk: &SurveyedChunk) -> Finding {
    Finding::new(
        Severity::Info,
        "zeroed",
        "all stored bytes of a chunk with a fletcher32 checksum are zeros, which the checksum of zeros does not tell from a lost block",
    )
    .at(chunk.offset, chunk.length)
    .of(Some(object.path.as_str()))
    .costs(format!("if it was not zeros, the values [{}] are lost", elements(shape, chunk)))
}

fn undecodable(object: &SurveyedObject, shape: &[u64], chunk: &SurveyedChunk, error: &Error) -> Finding {
    let (severity, kind) = match error.kind() {
        ErrorKind::Unsupported => (Severity::Warning, "unsupported"),
        ErrorKind::LimitExceeded => (Severity::Warning, "limit"),
        ErrorKind::Io => (Severity::Error, "unreadable"),
        _ => (Severity::Error, "undecodable"),
    };
    Finding::new(severity, kind, format!("a chunk cannot be decoded: {}", error.message()))
        .at(chunk.offset, chunk.length)
        .of(Some(object.path.as_str()))
        .costs(format!("the values [{}] are lost", elements(shape, chunk)))
        .advises("restore the file from a copy, or save the other chunks: hyperslab recover")
}

//! Writes the metadata of an Arrow IPC file around values that are in the file already: magic, schema, the message before
//! each record batch's body, and the footer after the last one. Values are never copied. Also finds these values again.

use std::cell::RefCell;
use std::fs::File;
use std::io::SeekFrom;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use arrow_buffer::Buffer;
use arrow_data::ArrayData;
use arrow_ipc::convert::{IpcSchemaEncoder, try_fb_to_schema};
use arrow_ipc::{Block, FieldNode, FooterBuilder, MessageBuilder, MessageHeader, MetadataVersion, RecordBatchBuilder};
use arrow_schema::{DataType, Schema};
use flatbuffers::FlatBufferBuilder;

use super::source::ReadSeek;
use crate::error::{Result, error};

const MAGIC: &[u8] = b"ARROW1\0\0";
/// Alignment of Arrow buffers, in bytes.
pub(crate) const ALIGNMENT: u64 = 64;

/// The values of one Arrow buffer.
#[derive(Debug, Clone)]
pub(crate) enum Source {
    /// No bytes: the validity buffer of a column without nulls.
    Empty,
    /// Bytes that are in the file already.
    Region { offset: u64, bytes: u64 },
    /// Bytes to be written after the others.
    Bytes(Buffer),
}

/// The nodes and buffers of a record batch, in Arrow's order.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    pub(crate) nodes: Vec<FieldNode>,
    pub(crate) buffers: Vec<Source>,
}

impl Parts {
    /// Adds a node without nulls.
    pub(crate) fn node(&mut self, length: u64) {
        self.nodes.push(FieldNode::new(length as i64, 0));
        self.buffers.push(Source::Empty);
    }

    /// Adds an array and its children.
    pub(crate) fn array(&mut self, data: &ArrayData) {
        self.nodes.push(FieldNode::new(data.len() as i64, data.null_count() as i64));
        self.buffers.push(match data.nulls().filter(|nulls| nulls.null_count() > 0) {
            Some(nulls) => Source::Bytes(nulls.inner().sliced()),
            None => Source::Empty,
        });
        self.buffers.extend(data.buffers().iter().map(|buffer| Source::Bytes(buffer.clone())));
        data.child_data().iter().for_each(|child| self.array(child));
    }
}

fn framed(message: &[u8], total: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(total);
    out.extend_from_slice(&[0xff; 4]);
    out.extend_from_slice(&i32::try_from(total - 8).unwrap_or(i32::MAX).to_le_bytes());
    out.extend_from_slice(message);
    out.resize(total, 0);
    out
}

fn framed_length(message: &[u8]) -> usize {
    8 + message.len().next_multiple_of(8)
}

fn schema_message(schema: &Schema) -> Vec<u8> {
    let mut builder = FlatBufferBuilder::new();
    let header = IpcSchemaEncoder::new().schema_to_fb_offset(&mut builder, schema).as_union_value();
    let mut message = MessageBuilder::new(&mut builder);
    message.add_version(MetadataVersion::V5);
    message.add_header_type(MessageHeader::Schema);
    message.add_bodyLength(0);
    message.add_header(header);
    let message = message.finish();
    builder.finish(message, None);
    builder.finished_data().to_vec()
}

fn batch_message(rows: u64, nodes: &[FieldNode], buffers: &[arrow_ipc::Buffer], body_bytes: u64) -> Vec<u8> {
    let mut builder = FlatBufferBuilder::new();
    let nodes = builder.create_vector(nodes);
    let buffers = builder.create_vector(buffers);
    let mut batch = RecordBatchBuilder::new(&mut builder);
    batch.add_length(rows as i64);
    batch.add_nodes(nodes);
    batch.add_buffers(buffers);
    let header = batch.finish().as_union_value();
    let mut message = MessageBuilder::new(&mut builder);
    message.add_version(MetadataVersion::V5);
    message.add_header_type(MessageHeader::RecordBatch);
    message.add_bodyLength(body_bytes as i64);
    message.add_header(header);
    let message = message.finish();
    builder.finish(message, None);
    builder.finished_data().to_vec()
}

/// The number of bytes to reserve before the body for the metadata.
pub(crate) fn head_bytes(schema: &Schema) -> u64 {
    // A node takes 16 bytes, and so does a buffer; a column has at most two of each per level of nesting.
    fn nodes(data_type: &DataType) -> usize {
        match data_type {
            DataType::Struct(fields) => 1 + fields.iter().map(|f| nodes(f.data_type())).sum::<usize>(),
            DataType::FixedSizeList(field, _) | DataType::LargeList(field) => 1 + nodes(field.data_type()),
            _ => 1,
        }
    }
    let nodes: usize = schema.fields().iter().map(|f| nodes(f.data_type())).sum();
    let bytes = 8 + framed_length(&schema_message(schema)) + nodes * 64 + 1024;
    (bytes as u64).next_multiple_of(4096)
}

/// A record batch whose values are in the file already, or are to be written after those that are.
#[derive(Debug)]
pub(crate) struct Frame {
    /// Offset of its body; its message ends there.
    pub(crate) body: u64,
    /// End of the space reserved for its values.
    pub(crate) values_end: u64,
    pub(crate) rows: u64,
    pub(crate) parts: Parts,
}

/// An Arrow file of one record batch in memory, whose values are all still to be written. Its length is a multiple of [`ALIGNMENT`].
/// Also returns where the values of each buffer that has some lie in it.
pub(crate) fn to_bytes(rows: u64, parts: Parts, schema: &Schema) -> Result<(Vec<u8>, Vec<Range<usize>>)> {
    let batch = batch_message(rows, &parts.nodes, &vec![arrow_ipc::Buffer::new(1, 1); parts.buffers.len()], 1);
    let body = ((8 + framed_length(&schema_message(schema)) + framed_length(&batch)) as u64).next_multiple_of(ALIGNMENT);
    let mut places = Vec::new();
    let mut at = body as usize;
    for source in &parts.buffers {
        if let Source::Bytes(bytes) = source {
            places.push(at..at + bytes.len());
            at = (at + bytes.len()).next_multiple_of(ALIGNMENT as usize);
        }
    }
    let mut out: Vec<u8> = Vec::new();
    let mut write = |bytes: &[u8], at: u64| {
        let start = usize::try_from(at).map_err(|_| error!("offset {at} is beyond memory"))?;
        let end = start + bytes.len();
        if out.len() < end {
            out.resize(end, 0);
        }
        out[start..end].copy_from_slice(bytes);
        Ok(())
    };
    finish_with(&mut write, &[Frame { body, values_end: body, rows, parts }], schema, true)?;
    Ok((out, places))
}

/// Writes everything except the values that are in the file already, and returns the file's length. The frames are in file
/// order; only the last one may have values that are still to be written.
pub(crate) fn finish(file: &File, frames: &[Frame], schema: &Schema) -> Result<u64> {
    finish_with(&mut |bytes, at| Ok(file.write_all_at(bytes, at)?), frames, schema, false)
}

/// As [`finish`], given how to write bytes at an offset. Zeros before the footer make the length a multiple of [`ALIGNMENT`].
pub(crate) fn finish_in(write: &mut dyn FnMut(&[u8], u64) -> Result<()>, frames: &[Frame], schema: &Schema) -> Result<u64> {
    finish_with(write, frames, schema, true)
}

/// As [`finish`], given how to write bytes at an offset. `aligned`: zeros before the footer make the length a multiple of
/// [`ALIGNMENT`].
fn finish_with(write: &mut dyn FnMut(&[u8], u64) -> Result<()>, frames: &[Frame], schema: &Schema, aligned: bool) -> Result<u64> {
    let (mut blocks, mut described, mut end) = (Vec::new(), Vec::new(), 0);
    for frame in frames {
        let body = frame.body;
        end = frame.values_end.max(body).next_multiple_of(ALIGNMENT);
        let mut places = Vec::with_capacity(frame.parts.buffers.len());
        for source in &frame.parts.buffers {
            places.push(match source {
                Source::Empty => arrow_ipc::Buffer::new((end - body) as i64, 0),
                Source::Region { offset, bytes } => arrow_ipc::Buffer::new((offset - body) as i64, *bytes as i64),
                Source::Bytes(bytes) => {
                    let place = arrow_ipc::Buffer::new((end - body) as i64, bytes.len() as i64);
                    write(bytes, end)?;
                    end = (end + bytes.len() as u64).next_multiple_of(ALIGNMENT);
                    place
                }
            });
        }
        // The body extends to the next message, whose length does not depend on the values in it.
        let next = frames.get(described.len() + 1).map(|next| {
            next.body - framed_length(&batch_message(next.rows, &next.parts.nodes, &vec![arrow_ipc::Buffer::new(1, 1); next.parts.buffers.len()], 1)) as u64
        });
        let body_bytes = next.unwrap_or(end).checked_sub(body).ok_or_else(|| error!("no space for the message of a record batch"))?;
        let batch = batch_message(frame.rows, &frame.parts.nodes, &places, body_bytes);
        let batch_bytes = framed_length(&batch);
        let start = body.checked_sub(batch_bytes as u64).ok_or_else(|| error!("no space for the message of the record batch"))?;
        blocks.push(Block::new(start as i64, batch_bytes as i32, body_bytes as i64));
        described.push((start, framed(&batch, batch_bytes)));
    }
    let first = described.first().map(|(start, _)| *start as usize).ok_or_else(|| error!("no record batch"))?;
    let mut message = schema_message(schema);
    if 8 + framed_length(&message) > first {
        // Readers of files use the footer's schema, which is complete.
        message = schema_message(&Schema::new(schema.fields().clone()));
    }
    if 8 + framed_length(&message) > first {
        return Err(error!("no space for the schema of {} columns", schema.fields().len()));
    }
    let mut front = MAGIC.to_vec();
    front.extend(framed(&message, first - 8));
    write(&front, 0)?;
    for (start, batch) in described {
        write(&batch, start)?;
    }
    let tail = tail(schema, &blocks, end, aligned)?;
    write(&tail, end)?;
    Ok(end + tail.len() as u64)
}

/// What follows the last record batch, from byte `end` on: the footer, and how it is found.
fn tail(schema: &Schema, blocks: &[Block], end: u64, aligned: bool) -> Result<Vec<u8>> {
    let mut builder = FlatBufferBuilder::new();
    let schema = IpcSchemaEncoder::new().schema_to_fb_offset(&mut builder, schema);
    let blocks = builder.create_vector(blocks);
    let dictionaries = builder.create_vector::<Block>(&[]);
    let mut footer = FooterBuilder::new(&mut builder);
    footer.add_version(MetadataVersion::V5);
    footer.add_schema(schema);
    footer.add_dictionaries(dictionaries);
    footer.add_recordBatches(blocks);
    let footer = footer.finish();
    builder.finish(footer, None);
    let footer = builder.finished_data();
    let mut tail = vec![0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0];
    if aligned {
        // Readers find the footer from the end of the file.
        let length = end as usize + tail.len() + footer.len() + 10;
        tail.resize(tail.len() + length.next_multiple_of(ALIGNMENT as usize) - length, 0);
    }
    tail.extend_from_slice(footer);
    tail.extend_from_slice(
        &i32::try_from(footer.len()).map_err(|_| error!("a footer of {} bytes exceeds the limit of {}", footer.len(), i32::MAX))?.to_le_bytes(),
    );
    tail.extend_from_slice(&MAGIC[..6]);
    Ok(tail)
}

/// The metadata of an Arrow file.
#[derive(Debug)]
#[non_exhaustive]
pub struct Found {
    /// Its columns.
    pub schema: Schema,
    /// Its record batches.
    pub batches: Vec<FoundBatch>,
    /// Whether some columns are dictionary-encoded.
    pub has_dictionaries: bool,
}

/// The location of a record batch.
#[derive(Debug)]
#[non_exhaustive]
pub struct FoundBatch {
    /// Number of rows.
    pub rows: u64,
    /// Offset of its body.
    pub body: u64,
    /// Offset in the file and length of each buffer, in Arrow's order.
    pub buffers: Vec<(u64, u64)>,
    /// Length and null count of each node.
    pub nodes: Vec<(u64, u64)>,
    /// Whether the buffers are compressed.
    pub compressed: bool,
}

/// Reads bytes at an offset: as many as the second argument says.
pub type ReadBytes<'a> = &'a dyn Fn(u64, usize) -> Result<Vec<u8>>;

/// Reads the metadata of an Arrow file that occupies `length` bytes of `file` from `start` on; nothing in it is trusted.
pub(crate) fn find(file: &File, start: u64, length: u64) -> Result<Found> {
    let read = |offset: u64, bytes: usize| {
        let mut out = vec![0; bytes];
        file.read_exact_at(&mut out, offset)?;
        Ok(out)
    };
    find_with(&read, start, length)
}

/// As [`find`], for an Arrow file in memory.
pub(crate) fn find_in(file: &[u8]) -> Result<Found> {
    let read = |offset: u64, bytes: usize| {
        let end = offset.checked_add(bytes as u64);
        let range = end.and_then(|end| file.get(usize::try_from(offset).ok()?..usize::try_from(end).ok()?));
        range.map(<[u8]>::to_vec).ok_or_else(|| error!("damaged or incomplete Arrow file: an offset is beyond its end"))
    };
    find_with(&read, 0, file.len() as u64)
}

/// Whether an Arrow file is one that Arrow's own reader takes: it panics if a buffer is not within the body of its record batch.
pub(crate) fn check(file: &mut dyn ReadSeek) -> Result<()> {
    let length = file.seek(SeekFrom::End(0))?;
    let shared = RefCell::new(file);
    let read = |offset: u64, bytes: usize| {
        let mut file = shared.borrow_mut();
        let mut out = vec![0; bytes];
        file.seek(SeekFrom::Start(offset))?;
        file.read_exact(&mut out)?;
        Ok(out)
    };
    find_with(&read, 0, length)?;
    shared.into_inner().rewind()?;
    Ok(())
}

/// As [`find`], given how to read bytes.
///
/// # Errors
/// That of `read`, or if the file is damaged.
pub fn find_with(read: ReadBytes<'_>, start: u64, length: u64) -> Result<Found> {
    let broken = |what: &str| error!("damaged or incomplete Arrow file: {what}");
    if length < 18 {
        return Err(broken("it is too short"));
    }
    let tail = read(start + length - 10, 10)?;
    let footer_bytes = arrow_ipc::reader::read_footer_length(tail.try_into().unwrap_or_default())?;
    let at = (length - 10).checked_sub(footer_bytes as u64).ok_or_else(|| broken("its footer is longer than the file"))?;
    let footer = read(start + at, footer_bytes)?;
    let footer = arrow_ipc::root_as_footer(&footer).map_err(|error| broken(&error.to_string()).with_source(error))?;
    let schema = try_fb_to_schema(footer.schema().ok_or_else(|| broken("it has no schema"))?)?;
    let inside = |value: i64| u64::try_from(value).ok().filter(|value| *value <= length).ok_or_else(|| broken("an offset is beyond the end of the file"));
    let mut batches = Vec::new();
    let dictionaries = footer.dictionaries().into_iter().flatten().map(|block| (block, true));
    for (block, is_dictionary) in dictionaries.chain(footer.recordBatches().into_iter().flatten().map(|block| (block, false))) {
        let (at, head, body_bytes) = (inside(block.offset())?, inside(i64::from(block.metaDataLength()))?, inside(block.bodyLength())?);
        if at + head + body_bytes > length || head < 8 {
            return Err(broken("a record batch is beyond the end of the file"));
        }
        let message = read(start + at, head as usize)?;
        // Before format version 0.15, no marker preceded the length.
        let message = message.get(if message.starts_with(&[0xff; 4]) { 8.. } else { 4.. }).unwrap_or_default();
        let message = arrow_ipc::root_as_message(message).map_err(|error| broken(&error.to_string()).with_source(error))?;
        let batch = match is_dictionary {
            true => message.header_as_dictionary_batch().and_then(|dictionary| dictionary.data()),
            false => message.header_as_record_batch(),
        };
        let batch = batch.ok_or_else(|| broken("a block is not a record batch"))?;
        let body = at + head;
        let mut buffers = Vec::new();
        for buffer in batch.buffers().iter().flatten() {
            let (offset, bytes) = (inside(buffer.offset())?, inside(buffer.length())?);
            if offset + bytes > body_bytes {
                return Err(broken("a buffer is beyond the end of its record batch"));
            }
            buffers.push((start + body + offset, bytes));
        }
        let count = |value: i64| u64::try_from(value).map_err(|_| broken("a negative length"));
        let nodes = batch.nodes().iter().flatten().map(|node| Ok((count(node.length())?, count(node.null_count())?))).collect::<Result<_>>()?;
        // Each row takes at least one bit, unless all columns are of type null.
        let rows = count(batch.length())?;
        if rows > length.saturating_mul(8) && !buffers.is_empty() {
            return Err(broken("more rows than bytes"));
        }
        if !is_dictionary {
            batches.push(FoundBatch { rows, body: start + body, buffers, nodes, compressed: batch.compression().is_some() });
        }
    }
    let has_dictionaries = footer.dictionaries().is_some_and(|dictionaries| !dictionaries.is_empty());
    Ok(Found { schema, batches, has_dictionaries })
}

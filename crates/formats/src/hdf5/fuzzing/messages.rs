//! One header message by itself: what is parsed and written again reads the same.

use std::fmt::Debug;

use hyperslab_array::{Error, Result};

use super::source;
use crate::hdf5::message::layout::LayoutMessage;
use crate::hdf5::message::{attribute, attribute_info, dataspace, datatype, external_files, fill_value, filter_pipeline, layout, link, link_info, selection};
use crate::hdf5::object_header::kind;
use crate::hdf5::{Cursor, Encoder, Source};
use crate::{AllocationTime, Limits};

/// Not a message, but made alike: the selection of a region reference or virtual mapping.
pub(super) const SELECTION: u16 = 0x80;

/// Parses `body` as the message of a kind (specification IV.A.2); other kinds are not ours to parse.
pub fn message(message: u16, body: &[u8], limits: &Limits) -> Result<()> {
    let source = source(body, limits);
    match message {
        kind::DATASPACE => again(&source, body, dataspace::parse, dataspace::encode),
        kind::DATATYPE => again(&source, body, |cursor| datatype::parse(cursor, limits.depth), datatype::encode),
        kind::FILL_VALUE_OLD => fill_value::parse_old(&mut source.cursor(body, 0)).map(drop),
        kind::FILL_VALUE => {
            // A message that does not say when room is made for values is written with the default.
            let parse = |cursor: &mut Cursor<'_>| {
                let message = fill_value::parse(cursor)?;
                Ok(fill_value::FillMessage { allocation: message.allocation.or(Some(AllocationTime::Late)), ..message })
            };
            again(&source, body, parse, |message| fill_value::encode(message, AllocationTime::Late))
        }
        kind::LINK => {
            // Orders before 0 are not written.
            let parse = |cursor: &mut Cursor<'_>| {
                let mut link = link::parse(cursor)?;
                link.creation_order = link.creation_order.map(|order| order & i64::MAX);
                Ok(link)
            };
            again(&source, body, parse, link::encode)
        }
        kind::LINK_INFO => link_info::parse(&mut source.cursor(body, 0)).map(drop),
        kind::ATTRIBUTE_INFO => attribute_info::parse(&mut source.cursor(body, 0)).map(drop),
        kind::EXTERNAL_FILES => external_files::parse(&mut source.cursor(body, 0)).map(drop),
        kind::LAYOUT => again(&source, body, layout::parse, written_layout),
        kind::FILTER_PIPELINE => {
            let parse = |cursor: &mut Cursor<'_>| {
                let mut pipeline = filter_pipeline::parse(cursor)?;
                // The names of registered filters are not written.
                pipeline.filters.iter_mut().for_each(|filter| filter.name = None);
                Ok(pipeline)
            };
            again(&source, body, parse, filter_pipeline::encode)
        }
        kind::ATTRIBUTE => {
            let parse = |cursor: &mut Cursor<'_>| {
                let raw = attribute::parse(&source, cursor)?;
                Ok((raw.name, raw.value?))
            };
            again(&source, body, parse, |(name, (datatype, dataspace, bytes))| attribute::encode(name, datatype, None, dataspace, bytes))
        }
        SELECTION => again(&source, body, selection::parse, |value| {
            let mut encoder = Encoder::default();
            selection::encode(value, &mut encoder)?;
            Ok(encoder.finish())
        }),
        _ => Ok(()),
    }
}

/// We never write unfiltered edges.
fn written_layout(message: &LayoutMessage) -> Result<Vec<u8>> {
    match message {
        LayoutMessage::Chunked { unfiltered_partial_edges: true, .. } => Err(Error::unsupported("unfiltered edges")),
        LayoutMessage::Contiguous { size: None, .. } => Err(Error::unsupported("contiguous data of no size")),
        // Chunk locators that have only their address in the message.
        LayoutMessage::Chunked { locator: crate::hdf5::layout::Locator::Implicit { .. } | crate::hdf5::layout::Locator::BtreeV2 { .. }, .. } => {
            Err(Error::unsupported("a chunk locator that is not written"))
        }
        message => layout::encode(message),
    }
}

fn again<T: Debug>(
    source: &Source,
    body: &[u8],
    mut parse: impl FnMut(&mut Cursor<'_>) -> Result<T>,
    encode: impl FnOnce(&T) -> Result<Vec<u8>>,
) -> Result<()> {
    let value = parse(&mut source.cursor(body, 0))?;
    // Not all that is read can be written.
    let written = match encode(&value) {
        Ok(written) => written,
        Err(error) if error.kind() == hyperslab_array::ErrorKind::Internal => return Err(error),
        Err(_) => return Ok(()),
    };
    let same = parse(&mut source.cursor(&written, 0)).map_err(|error| Error::internal(format!("{value:?} is written as {written:?}: {error}")))?;
    if format!("{same:?}") != format!("{value:?}") {
        return Err(Error::internal(format!("{value:?} is written and reads as {same:?}")));
    }
    Ok(())
}

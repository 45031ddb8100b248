//! Where the bytes of netCDF classic files are.

use hyperslab_array::Result;
use hyperslab_formats::netcdf3::{ClassicLayout, ClassicVariable};
use hyperslab_reader::Session;
use hyperslab_storage::Storage;

use crate::sums::{Advice, DatasetStat, KindStat, Stat};

/// Minimum bytes of a variable in a record; records with smaller pieces are slow to read variable by variable.
const MIN_PIECE_BYTES: u64 = 64 << 10;
/// Minimum bytes of a variable that is worth advice.
const MIN_VARIABLE_BYTES: u64 = 1 << 20;

/// Sums up a netCDF classic file, which `shown` names.
pub(crate) fn stat(shown: &str, storage: &dyn Storage, session: &Session) -> Result<Stat> {
    let layout = ClassicLayout::of(storage, session.limits())?;
    let length = storage.len();
    let first_record = layout.variables.iter().filter(|variable| variable.is_record).map(|variable| variable.begin).min();
    let streamed = || first_record.map_or(0, |first| length.saturating_sub(first).checked_div(layout.record_bytes).unwrap_or(0));
    let records = layout.records.unwrap_or_else(streamed);
    let mut dataset_list: Vec<DatasetStat> = layout.variables.iter().map(|variable| of_variable(variable, &layout, records, length)).collect();
    let stored = |is_record: bool| {
        let list = layout.variables.iter().zip(&dataset_list).filter(|(variable, _)| variable.is_record == is_record).map(|(_, dataset)| dataset.stored_bytes);
        (list.clone().filter(|bytes| *bytes > 0).count() as u64, list.fold(0, u64::saturating_add))
    };
    let (fixed, in_records) = (stored(false), stored(true));
    let metadata_bytes = layout.header_bytes.min(length);
    let data_bytes = fixed.1.saturating_add(in_records.1).min(length - metadata_bytes);
    let kinds = [("contiguous values", "data", fixed), ("values in records", "data", in_records), ("header", "file", (1, metadata_bytes))];
    let mut kinds: Vec<KindStat> =
        kinds.into_iter().filter(|(_, _, (count, _))| *count > 0).map(|(kind, purpose, (count, bytes))| KindStat { kind, purpose, count, bytes }).collect();
    kinds.sort_by_key(|kind| std::cmp::Reverse(kind.bytes));
    let advice = advice(shown, &layout, records);
    dataset_list.sort_by(|a, b| (b.stored_bytes, &a.path).cmp(&(a.stored_bytes, &b.path)));
    Ok(Stat {
        file: shown.to_owned(),
        file_bytes: length,
        superblock_version: None,
        groups: 1,
        datasets: dataset_list.len() as u64,
        datatypes: 0,
        attributes: layout.attributes,
        data_bytes,
        metadata_bytes,
        free_bytes: 0,
        // Padding between variables and after the values of a record.
        unaccounted_bytes: length - metadata_bytes - data_bytes,
        kinds,
        dataset_list,
        advice,
        damages: 0,
    })
}

fn of_variable(variable: &ClassicVariable, layout: &ClassicLayout, records: u64, length: u64) -> DatasetStat {
    let count = if variable.is_record { records } else { 1 };
    let shape: Vec<u64> = variable.is_record.then_some(records).into_iter().chain(variable.fixed_shape.iter().copied()).collect();
    let value_bytes = shape.iter().try_fold(variable.element_bytes, |bytes, extent| bytes.checked_mul(*extent));
    // As much of it as the file has.
    let room = length.saturating_sub(variable.begin);
    let whole = if variable.is_record && layout.record_bytes > 0 { (room / layout.record_bytes).min(count) } else { 0 };
    let rest = if whole < count { room.saturating_sub(whole.saturating_mul(layout.record_bytes)).min(variable.bytes) } else { 0 };
    DatasetStat {
        path: format!("/{}", variable.name),
        storage: "contiguous",
        shape,
        element_bytes: variable.element_bytes,
        value_bytes,
        stored_bytes: whole.saturating_mul(variable.bytes).saturating_add(rest),
        ratio: None,
        filters: Vec::new(),
        chunk_shape: None,
        chunks: 0,
        chunk_bytes: None,
        unfiltered_chunk_bytes: None,
        skipped_chunks: 0,
        index_bytes: 0,
    }
}

fn advice(shown: &str, layout: &ClassicLayout, records: u64) -> Vec<Advice> {
    let of_records: Vec<&ClassicVariable> = layout.variables.iter().filter(|variable| variable.is_record).collect();
    if of_records.len() < 2 {
        return Vec::new();
    }
    let is_scattered = |variable: &&&ClassicVariable| variable.bytes < MIN_PIECE_BYTES && variable.bytes.saturating_mul(records) >= MIN_VARIABLE_BYTES;
    let scattered = of_records.iter().filter(is_scattered).map(|variable| Advice {
        path: Some(format!("/{}", variable.name)),
        message: format!("{records} pieces of {} bytes, one in each record of {} bytes: reading it reads the whole file", variable.bytes, layout.record_bytes),
        command: format!("hyperslab advise '{}' '/{}'", shown.replace('\'', "'\\''"), variable.name),
    });
    scattered.collect()
}

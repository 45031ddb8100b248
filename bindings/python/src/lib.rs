//! hyperslab._native: the part of the core that the Python package needs. Objects are described as plain dictionaries, and
//! datatypes by objects of a class; numpy arrays, the display of trees and the interfaces of tables are made in Python.

mod back;
mod check;
mod container;
mod dataset_definition;
mod dataset_reader;
mod datatype;
mod decoder;
mod describe;
mod each;
mod editor;
mod error;
mod exit;
mod file;
mod files;
mod float_layout;
mod foreign;
mod gather;
mod heap;
mod index;
mod key;
mod layout;
mod list;
mod model;
mod part_file;
mod plan;
mod query;
mod ranges;
mod reader;
mod reference;
mod results;
mod session;
mod stored;
mod stream;
mod target;
mod visit;
mod wait;
mod worker;
mod writer;

use hyperslab::Format;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

/// Opening a small file makes many small allocations, and a scan allocates and frees large ones: this allocator keeps freed
/// memory for reuse (docs/decisions/0011-allocator.md). It was measured on Linux only.
#[cfg(target_os = "linux")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    hyperslab::interruption::set_process_question(wait::is_interrupted);
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_function(wrap_pyfunction!(decoder::register_filter, module)?)?;
    module.add_function(wrap_pyfunction!(decoder::unregister_filter, module)?)?;
    module.add_function(wrap_pyfunction!(session::counters, module)?)?;
    module.add_function(wrap_pyfunction!(ranges::is_address, module)?)?;
    module.add_function(wrap_pyfunction!(ranges::shown_address, module)?)?;
    module.add_function(wrap_pyfunction!(ranges::without_queries, module)?)?;
    module.add_function(wrap_pyfunction!(reference::reference_targets, module)?)?;
    module.add_function(wrap_pyfunction!(container::written_datasets, module)?)?;
    module.add_function(wrap_pyfunction!(gather::gather, module)?)?;
    module.add_function(wrap_pyfunction!(check::check, module)?)?;
    module.add_function(wrap_pyfunction!(check::recover, module)?)?;
    module.add_function(wrap_pyfunction!(check::stat, module)?)?;
    module.add_function(wrap_pyfunction!(container::verify, module)?)?;
    module.add_function(wrap_pyfunction!(container::fuse, module)?)?;
    module.add_function(wrap_pyfunction!(container::fuse_file, module)?)?;
    module.add_function(wrap_pyfunction!(container::repack, module)?)?;
    module.add_function(wrap_pyfunction!(container::to_container, module)?)?;
    module.add_function(wrap_pyfunction!(layout::storage_layout, module)?)?;
    module.add_function(wrap_pyfunction!(layout::parse_layout, module)?)?;
    module.add_function(wrap_pyfunction!(layout::profile, module)?)?;
    module.add_function(wrap_pyfunction!(layout::machine, module)?)?;
    module.add_function(wrap_pyfunction!(layout::default_profile_path, module)?)?;
    module.add_function(wrap_pyfunction!(container::vacuum, module)?)?;
    module.add_function(wrap_pyfunction!(index::index_task, module)?)?;
    module.add_function(wrap_pyfunction!(index::index_commit, module)?)?;
    module.add_function(wrap_pyfunction!(index::index_remarks, module)?)?;
    module.add_function(wrap_pyfunction!(index::index_verify, module)?)?;
    module.add_function(wrap_pyfunction!(index::index_embed, module)?)?;
    module.add_function(wrap_pyfunction!(index::index_stage, module)?)?;
    module.add_function(wrap_pyfunction!(index::index_unstage, module)?)?;
    module.add_function(wrap_pyfunction!(index::index_vacuum, module)?)?;
    module.add_function(wrap_pyfunction!(index::path_stamp, module)?)?;
    module.add_function(wrap_pyfunction!(list::list_names, module)?)?;
    module.add_function(wrap_pyfunction!(stored::is_tracked, module)?)?;
    module.add_function(wrap_pyfunction!(stored::stored_chunks, module)?)?;
    module.add_function(wrap_pyfunction!(stored::chunk_places, module)?)?;
    module.add_function(wrap_pyfunction!(stored::value_bytes, module)?)?;
    module.add_function(wrap_pyfunction!(model::recognize_models, module)?)?;
    module.add_function(wrap_pyfunction!(model::model_tables, module)?)?;
    module.add_function(wrap_pyfunction!(model::model_arrays, module)?)?;
    module.add_function(wrap_pyfunction!(model::model_problems, module)?)?;
    module.add_function(wrap_pyfunction!(model::model_omitted, module)?)?;
    module.add_function(wrap_pyfunction!(model::model_facts, module)?)?;
    module.add_function(wrap_pyfunction!(model::check_pytables_indexes, module)?)?;
    module.add_function(wrap_pyfunction!(model::parse_cell_methods, module)?)?;
    module.add("FORMATS", PyTuple::new(module.py(), Format::ALL.map(Format::name))?)?;
    module.add_class::<index::IndexPlan>()?;
    module.add_class::<index::ColumnIndex>()?;
    module.add_class::<session::Session>()?;
    module.add_class::<dataset_definition::DatasetDefinition>()?;
    module.add_class::<dataset_reader::DatasetReader>()?;
    module.add_class::<datatype::Datatype>()?;
    module.add_class::<float_layout::FloatLayout>()?;
    module.add_class::<each::EachBatch>()?;
    module.add_class::<file::File>()?;
    module.add_class::<files::Files>()?;
    module.add_class::<heap::Heap>()?;
    module.add_class::<part_file::PartFile>()?;
    module.add_class::<plan::Plan>()?;
    module.add_class::<query::Query>()?;
    module.add_class::<reader::Reader>()?;
    module.add_class::<visit::Visit>()?;
    module.add_class::<writer::Writer>()?;
    module.add_class::<editor::Editor>()?;
    module.add_class::<container::WritePlan>()?;
    module.add_class::<file::Dereferenced>()?;
    module.add_class::<results::container::Committed>()?;
    module.add_class::<results::container::Fused>()?;
    module.add_class::<results::container::Subfile>()?;
    module.add_class::<results::container::VacuumResult>()?;
    module.add_class::<results::container::Verification>()?;
    module.add_class::<results::container::WrittenDataset>()?;
    module.add_class::<results::counting::Counters>()?;
    module.add_class::<results::counting::Step>()?;
    module.add_class::<results::counting::Summary>()?;
    module.add_class::<results::index::Indexed>()?;
    module.add_class::<results::index::PlannedIndex>()?;
    module.add_class::<results::index::ValueCounts>()?;
    module.add_class::<results::layout::StorageLayout>()?;
    module.add_class::<results::model::NamedArray>()?;
    module.add_class::<results::model::Recognition>()?;
    module.add_class::<results::object::AttributeValue>()?;
    module.add_class::<results::object::Definition>()?;
    module.add_class::<results::object::Gathered>()?;
    module.add_class::<results::object::Links>()?;
    module.add_class::<results::object::Member>()?;
    module.add_class::<results::object::ObjectInfo>()?;
    module.add_class::<results::object::ReferenceTarget>()?;
    module.add_class::<results::object::RegionSelection>()?;
    let stop_scans = wrap_pyfunction!(exit::stop_scans, module)?;
    module.py().import("atexit")?.call_method1("register", (stop_scans,))?;
    Ok(())
}

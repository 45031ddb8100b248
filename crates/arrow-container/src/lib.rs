//! Stores an HDF5 file as Arrow IPC files: in a folder, or all in one file. Objects, links, attributes and values are plain
//! Rust here; the HDF5 library is not needed. The VOL connector (`hyperslab-vol`) puts this under HDF5's API, and `docs/vol.md`
//! describes the format.
//!
//! Each module builds only on those before it:
//!
//! - [`error`]: the error type
//! - [`elements`]: datatypes, dataspaces, and elements as Arrow arrays
//! - [`files`]: the Arrow files of a container, in a folder or in one file
//! - [`ranks`]: MPI ranks that have one container open together
//! - [`table`]: the values of a dataset
//! - [`model`]: groups, datasets, links, attributes
//! - [`catalog`]: stores the model in three Arrow files
//! - `plain` (a feature of the crate): reads Arrow IPC and Parquet files that other programs wrote
//! - [`container`]: creates, opens and publishes containers
//!
//! Elements are bytes in **file form**: each has the size and byte order of its datatype, and names its variable-length parts
//! as blobs. Encoded datatypes and property lists are opaque bytes here: the caller of [`container::Container::open`] passes a
//! function that decodes datatypes.
//!
//! ```
//! use std::sync::Arc;
//! use hyperslab_arrow_container::container::{Container, Create, Options};
//! use hyperslab_arrow_container::elements::{Dataspace, Datatype};
//! use hyperslab_arrow_container::lock;
//! use hyperslab_arrow_container::model::{Body, Dataset, Object, ROOT, StoredDatatype, Target};
//! use hyperslab_arrow_container::table::Table;
//!
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("out.h5");
//! let float64 = Datatype::Float { bytes: 8, swapped: false };
//!
//! // Write: a dataset of three elements, linked as /x.
//! let container = Container::create(&path, Create::New, Object::group(Vec::new(), false), Vec::new(), Options::default())?;
//! let space = Dataspace::Simple { shape: vec![3], max_shape: vec![3] };
//! let mut table = Table::create(&float64, &space, &container.folder, None, Vec::new())?;
//! let bytes: Vec<u8> = [1.0f64, 2.5, -4.0].iter().flat_map(|value| value.to_ne_bytes()).collect();
//! table.write(&table.all_parts(), 0, 3, &bytes, 8)?;
//! let dataset = Dataset::new(StoredDatatype::new(b"float64".to_vec(), float64.clone()), space, table);
//! {
//!     let mut tree = lock(&container.tree);
//!     let id = tree.add(Object::new(Body::Dataset(Arc::new(dataset)), Vec::new()));
//!     tree.link(ROOT, "x", true, Target::Hard(id))?;
//! }
//! container.change()?;
//! container.publish()?;
//! drop(container);
//!
//! // Read it again.
//! let container = Container::open(&path, false, Options::default(), &|_encoded| Ok(float64.clone()))?;
//! let tree = lock(&container.tree);
//! let Target::Hard(id) = tree.links(ROOT)?["x"].target else { return Err("not a hard link".into()) };
//! let Body::Dataset(dataset) = &tree.object(id)?.body else { return Err("not a dataset".into()) };
//! let mut read = vec![0; 24];
//! dataset.with_table(&container.folder, None, || Ok(Vec::new()), |table, _| table.read(&table.all_parts(), 0, 3, &mut read, 8))?;
//! assert_eq!(read, bytes);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! `unsafe` is denied except in three modules of `table`: a memory map, and SIMD kernels.
#![deny(unsafe_code)]

pub mod catalog;
pub mod container;
pub mod elements;
pub mod error;
pub mod files;
mod lock;
pub mod model;
#[cfg(feature = "plain")]
mod plain;
pub mod ranks;
pub mod table;

#[cfg(test)]
mod tests;

pub use lock::lock;

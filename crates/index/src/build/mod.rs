//! Building: from a request to the blocks of each dataset.

pub(crate) mod block;
pub(crate) mod block_grid;
pub(crate) mod block_keys;
pub(crate) mod commit;
pub(crate) mod fragment;
pub(crate) mod hash;
pub(crate) mod plan;
pub(crate) mod request;
pub(crate) mod sort;
pub(crate) mod task;

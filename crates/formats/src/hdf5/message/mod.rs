//! Header messages (specification IV.A.2): one file each.

pub(crate) mod attribute;
pub(crate) mod attribute_info;
pub(crate) mod dataspace;
pub(crate) mod datatype;
pub(crate) mod external_files;
pub(crate) mod file_space;
pub(crate) mod fill_value;
pub(crate) mod filter_pipeline;
pub(crate) mod group_info;
pub(crate) mod layout;
pub(crate) mod link;
pub(crate) mod link_info;
pub(crate) mod selection;
pub(crate) mod symbol_table;
pub(crate) mod times;

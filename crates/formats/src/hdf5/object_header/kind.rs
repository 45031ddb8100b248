//! Types of header messages (specification IV.A.2).

/// Free bytes.
pub const NIL: u16 = 0x00;
pub const DATASPACE: u16 = 0x01;
pub const LINK_INFO: u16 = 0x02;
pub const DATATYPE: u16 = 0x03;
pub const FILL_VALUE_OLD: u16 = 0x04;
pub const FILL_VALUE: u16 = 0x05;
pub const LINK: u16 = 0x06;
pub const GROUP_INFO: u16 = 0x0a;
pub const EXTERNAL_FILES: u16 = 0x07;
pub const LAYOUT: u16 = 0x08;
pub const FILTER_PIPELINE: u16 = 0x0b;
pub const ATTRIBUTE: u16 = 0x0c;
pub const COMMENT: u16 = 0x0d;
pub const MODIFICATION_TIME_OLD: u16 = 0x0e;
pub const SHARED_MESSAGE_TABLE: u16 = 0x0f;
pub const CONTINUATION: u16 = 0x10;
pub const SYMBOL_TABLE: u16 = 0x11;
pub const MODIFICATION_TIME: u16 = 0x12;
pub const DRIVER_INFO: u16 = 0x14;
pub const ATTRIBUTE_INFO: u16 = 0x15;
pub const REFERENCE_COUNT: u16 = 0x16;
pub const FILE_SPACE_INFO: u16 = 0x17;
pub const METADATA_CACHE_IMAGE: u16 = 0x18;
/// Highest number that this reader knows, whether it uses it or not.
pub const LAST: u16 = 0x18;

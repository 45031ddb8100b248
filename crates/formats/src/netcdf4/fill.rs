//! What the netCDF library gives for values that were never written (`NC_FILL_…` of netcdf.h).

use hyperslab_array::{ByteOrder, Datatype, FloatFormat};

/// One element's bytes of the default fill value; `None` is zeros, as for text.
pub(super) fn default_fill(datatype: &Datatype) -> Option<Vec<u8>> {
    let (order, mut bytes) = match datatype {
        Datatype::Integer { size, signed, order, .. } => {
            let value: i128 = match (size, signed) {
                (1, true) => -127,
                (1, false) => 255,
                (2, true) => -32_767,
                (2, false) => 65_535,
                (4, true) => -2_147_483_647,
                (4, false) => 4_294_967_295,
                (8, true) => -9_223_372_036_854_775_806,
                (8, false) => 18_446_744_073_709_551_614,
                _ => return None,
            };
            (order, value.to_le_bytes().get(..usize::try_from(*size).ok()?)?.to_vec())
        }
        Datatype::Float { size: 4, order, format: FloatFormat::Ieee } => (order, 9.969_21e36_f32.to_le_bytes().to_vec()),
        Datatype::Float { size: 8, order, format: FloatFormat::Ieee } => (order, 9.969_209_968_386_869e36_f64.to_le_bytes().to_vec()),
        _ => return None,
    };
    if *order == ByteOrder::Big {
        bytes.reverse();
    }
    Some(bytes)
}

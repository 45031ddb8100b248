//! The time at which fill values are written, as plans and fragments keep it.

use hyperslab_array::Result;
use hyperslab_formats::FillTime;

/// A time as fragments and plans keep it.
pub(crate) fn stored_fill_time(time: FillTime) -> Option<String> {
    (time != FillTime::default()).then(|| time.name().to_owned())
}

/// The time of [`stored_fill_time`].
pub(crate) fn fill_time(stored: Option<&str>) -> Result<FillTime> {
    stored.map_or(Ok(FillTime::default()), FillTime::of_name)
}

//! Encodes the fill time of a dataset for plans and fragments.

use hyperslab_array::Result;
use hyperslab_formats::FillTime;

/// Name of a fill time; `None` for the default.
pub(crate) fn stored_fill_time(time: FillTime) -> Option<String> {
    (time != FillTime::default()).then(|| time.name().to_owned())
}

/// Decodes [`stored_fill_time`].
pub(crate) fn fill_time(stored: Option<&str>) -> Result<FillTime> {
    stored.map_or(Ok(FillTime::default()), FillTime::of_name)
}

//! CF time: `units: "days since 1970-01-01"` and `calendar` (CF Conventions 4.4, UDUNITS-2).
//!
//! Everything is counted in whole nanoseconds of the calendar's own count, in 128 bits; a value is
//! rounded once, to the nearest microsecond. Calendars of real days give instants, `noleap` gives the
//! timestamp of the same label, calendars with days that Arrow has not give ISO 8601 text.

mod calendar;
mod count;
mod elapsed;
mod numpy;
mod reference;
mod text;
mod unit;
mod units;

pub use calendar::Calendar;
pub(crate) use numpy::Count;
pub use text::ModelDates;
pub(crate) use text::mark;
pub use units::TimeUnits;
pub(crate) use units::duration;

/// Nanoseconds.
const MINUTE: i128 = 60_000_000_000;
/// Nanoseconds.
const DAY: i128 = 1440 * MINUTE;

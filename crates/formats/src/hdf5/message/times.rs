//! Modification time messages, new and old (IV.A.2.s, IV.A.2.o): when an object with a header of version 1 was changed.

use hyperslab_array::Result;

use crate::ObjectTimes;
use crate::hdf5::Cursor;

pub(crate) fn parse(cursor: &mut Cursor<'_>) -> Result<ObjectTimes> {
    let version = cursor.u8()?;
    if version != 1 {
        return Err(cursor.corrupt(format!("version {version} of the modification time message")));
    }
    cursor.skip(3)?;
    Ok(ObjectTimes { change: cursor.u32()?, ..ObjectTimes::default() })
}

/// The old message: date and time of day as decimal digits, in UTC.
pub(crate) fn parse_old(cursor: &mut Cursor<'_>) -> Result<ObjectTimes> {
    let (year, month, day) = (number(cursor, 4)?, number(cursor, 2)?, number(cursor, 2)?);
    let (hour, minute, second) = (number(cursor, 2)?, number(cursor, 2)?, number(cursor, 2)?);
    let change = seconds_since_1970([year, month, day, hour, minute, second]);
    let change = change.ok_or_else(|| cursor.corrupt(format!("{year}-{month}-{day} {hour}:{minute}:{second} as modification time")))?;
    Ok(ObjectTimes { change, ..ObjectTimes::default() })
}

fn number(cursor: &mut Cursor<'_>, digits: u64) -> Result<u32> {
    let text = cursor.bytes(digits)?;
    text.iter().try_fold(0, |number, digit| match digit {
        b'0'..=b'9' => Ok(number * 10 + u32::from(digit - b'0')),
        _ => Err(cursor.corrupt("a modification time that is not written in digits")),
    })
}

/// Seconds until a date and time of day of the Gregorian calendar; `None` if it does not exist, or does not fit.
fn seconds_since_1970([year, month, day, hour, minute, second]: [u32; 6]) -> Option<u32> {
    let is_leap = |year: u32| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let lengths = [31, if is_leap(year) { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let before = usize::try_from(month).ok()?.checked_sub(1)?;
    // 60 is a leap second.
    if year < 1970 || day == 0 || day > *lengths.get(before)? || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let of_years: u32 = (1970..year).map(|year| if is_leap(year) { 366 } else { 365 }).sum();
    let of_months: u32 = lengths.iter().take(before).sum();
    let hours = u64::from(of_years + of_months + day - 1) * 24 + u64::from(hour);
    u32::try_from((hours * 60 + u64::from(minute)) * 60 + u64::from(second)).ok()
}

#[cfg(test)]
mod tests {
    use super::seconds_since_1970;

    #[test]
    fn dates_are_counted_from_1970() {
        assert_eq!(seconds_since_1970([1970, 1, 1, 0, 0, 0]), Some(0));
        assert_eq!(seconds_since_1970([2000, 2, 29, 23, 59, 59]), Some(951_868_799));
        assert_eq!(seconds_since_1970([2106, 2, 7, 6, 28, 15]), Some(u32::MAX));
        assert_eq!(seconds_since_1970([2106, 2, 7, 6, 28, 16]), None);
    }

    #[test]
    fn dates_that_do_not_exist_are_none() {
        for date in
            [[2001, 2, 29, 0, 0, 0], [2000, 13, 1, 0, 0, 0], [2000, 0, 1, 0, 0, 0], [2000, 1, 0, 0, 0, 0], [1969, 12, 31, 0, 0, 0], [2000, 1, 1, 24, 0, 0]]
        {
            assert_eq!(seconds_since_1970(date), None);
        }
    }
}

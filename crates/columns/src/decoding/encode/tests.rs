use super::*;
use crate::decoding::{Conventions, NumpyType};
use hyperslab_array::{Attribute, Dataspace, Datatype, Elements};
use proptest::prelude::*;

fn number(name: &str, datatype: Datatype, bytes: &[u8]) -> Attribute {
    let value = Elements { datatype, bytes: bytes.to_vec(), heap: Default::default() };
    Attribute { name: name.to_owned(), dataspace: Dataspace::Scalar, value: Ok(value) }
}

fn double(name: &str, value: f64) -> Attribute {
    number(name, Datatype::float(8, ByteOrder::Little), &value.to_le_bytes())
}

fn single(name: &str, value: f32) -> Attribute {
    number(name, Datatype::float(4, ByteOrder::Little), &value.to_le_bytes())
}

fn decoding(datatype: &Datatype, attributes: &[Attribute]) -> Decoding {
    Decoding::new(datatype, attributes, Conventions::Attributes).ok().flatten().unwrap_or_else(|| unreachable!("numbers are decoded"))
}

fn decoded(decoding: &Decoding, order: ByteOrder, stored: &[u8]) -> Vec<u8> {
    let mut out = vec![0; stored.len() / decoding.stored_size() * decoding.numpy_type().size()];
    assert_eq!(decoding.decode_into(order, stored, &mut out).ok(), Some(true));
    out
}

fn encoded(decoding: &Decoding, values: Decoded<'_>, order: ByteOrder, length: usize) -> (Vec<u8>, Encoded) {
    let mut out = vec![0; length];
    let found = decoding.encode_into(values, order, &mut out).unwrap_or_else(|error| unreachable!("{error}"));
    (out, found)
}

/// Encodes what was decoded.
fn again(decoding: &Decoding, order: ByteOrder, stored: &[u8]) -> (Vec<u8>, Encoded) {
    let values = decoded(decoding, order, stored);
    match decoding.numpy_type() {
        NumpyType::Stored(of) | NumpyType::Float(of) => encoded(decoding, Decoded::Numbers(&of, &values), order, stored.len()),
        NumpyType::Boolean => encoded(decoding, Decoded::Booleans(&values), order, stored.len()),
        _ => encoded(decoding, Decoded::Times { step: 1, counts: &values }, order, stored.len()),
    }
}

#[test]
fn every_short_number_comes_back() {
    let attributes: [Vec<Attribute>; 6] = [
        vec![],
        vec![single("scale_factor", 0.01), single("add_offset", 273.15)],
        vec![double("scale_factor", 0.1), double("add_offset", -1e6)],
        vec![double("scale_factor", -3.0)],
        vec![single("add_offset", 0.5)],
        vec![number("_FillValue", Datatype::integer(2, true, ByteOrder::Little), &7i16.to_le_bytes())],
    ];
    for size in [1u64, 2] {
        for (is_signed, others) in [(true, "true"), (false, "false")] {
            for (attributes, sign, order) in attributes.iter().flat_map(|one| [(one, true, ByteOrder::Big), (one, false, ByteOrder::Little)]) {
                let mut attributes = attributes.clone();
                if sign {
                    attributes.push(crate::attributes::of_text("_Unsigned", others));
                }
                let decoding = decoding(&Datatype::integer(size, is_signed, order), &attributes);
                let every = 0..=if size == 1 { u16::from(u8::MAX) } else { u16::MAX };
                let bytes = |n: u16| match (size, order) {
                    (1, _) => vec![n as u8],
                    (_, ByteOrder::Big) => n.to_be_bytes().to_vec(),
                    _ => n.to_le_bytes().to_vec(),
                };
                let stored: Vec<u8> = every.flat_map(bytes).collect();
                let (found, outcome) = again(&decoding, order, &stored);
                assert_eq!((outcome.problem, found == stored), (None, true), "{size} {is_signed} {attributes:?}");
            }
        }
    }
}

#[test]
fn what_cannot_be_stored_says_why() {
    let byte = Datatype::integer(1, true, ByteOrder::Little);
    let fill = number("_FillValue", byte.clone(), &[0x80]);
    let scaled = [double("scale_factor", 0.5), fill];
    let problem = |attributes: &[Attribute], value: f64| {
        let values = value.to_ne_bytes();
        encoded(&decoding(&byte, attributes), Decoded::Numbers(&DataType::Float64, &values), ByteOrder::Little, 1).1.problem.map(|(_, why)| why)
    };
    assert_eq!(problem(&scaled, 63.5), None);
    assert_eq!(problem(&scaled, 64.0), Some(Unencodable::OutOfRange));
    assert_eq!(problem(&scaled, -64.0), Some(Unencodable::MeansMissing));
    assert_eq!(problem(&scaled, f64::NAN), None);
    assert_eq!(problem(&scaled[..1], f64::NAN), Some(Unencodable::HasNoMark));
    assert_eq!(problem(&scaled, f64::INFINITY), Some(Unencodable::OutOfRange));
    assert_eq!(problem(&[double("scale_factor", 0.0)], 1.0), Some(Unencodable::OutOfRange));
    assert_eq!(problem(&[double("scale_factor", 0.0)], 0.0), Some(Unencodable::OutOfRange));
}

#[test]
fn times_are_exact_or_refused() {
    let days = |stored: &DataType, calendar| Decoding::of_times(stored, "days since 2000-01-01", Some(calendar), Some(Number::Integer(-9)));
    let of = |stored, calendar| days(&stored, calendar).ok().flatten().unwrap_or_else(|| unreachable!("dates"));
    let hours = |count: i64| count.to_ne_bytes();
    let step = 3_600_000_000_000;
    let encode = |decoding: &Decoding, count: i64| {
        let (bytes, outcome) = encoded(decoding, Decoded::Times { step, counts: &hours(count) }, ByteOrder::Little, decoding.stored_size());
        outcome.problem.map_or_else(|| Ok(bytes), |(_, why)| Err(why))
    };
    let from_1970 = 10_957 * 24;
    assert_eq!(encode(&of(DataType::Int32, "standard"), from_1970 + 48), Ok(2i32.to_le_bytes().to_vec()));
    assert_eq!(encode(&of(DataType::Int32, "standard"), from_1970 + 1), Err(Unencodable::NotWhole));
    assert_eq!(encode(&of(DataType::Float32, "standard"), from_1970 + 6), Ok(0.25f32.to_le_bytes().to_vec()));
    assert_eq!(encode(&of(DataType::Int32, "standard"), i64::MIN), Ok((-9i32).to_le_bytes().to_vec()));
    assert_eq!(encode(&of(DataType::Int32, "standard"), from_1970 - 9 * 24), Err(Unencodable::MeansMissing));
    assert_eq!(encode(&of(DataType::Int32, "standard"), -141_428 * 24), Err(Unencodable::OtherCalendar));
    assert_eq!(encode(&of(DataType::Int32, "proleptic_gregorian"), -141_428 * 24), Ok((-152_385i32).to_le_bytes().to_vec()));
    assert_eq!(encode(&of(DataType::Int32, "noleap"), from_1970), Err(Unencodable::OtherCalendar));
    assert_eq!(encode(&of(DataType::Int8, "standard"), from_1970 + 200 * 24), Err(Unencodable::OutOfRange));
}

#[test]
fn kinds_are_not_mixed() {
    let times = Decoding::of_times(&DataType::Int32, "hours", None, None).ok().flatten().unwrap_or_else(|| unreachable!("durations"));
    let values = [0; 8];
    assert!(times.encode_into(Decoded::Numbers(&DataType::Float64, &values), ByteOrder::Little, &mut [0; 4]).is_err());
    assert!(times.encode_into(Decoded::Microseconds(&values), ByteOrder::Little, &mut [0; 4]).is_err());
    let numbers = decoding(&Datatype::integer(4, true, ByteOrder::Little), &[]);
    assert!(numbers.encode_into(Decoded::Times { step: 1, counts: &values }, ByteOrder::Little, &mut [0; 4]).is_err());
    assert!(numbers.encode_into(Decoded::Numbers(&DataType::Float64, &values), ByteOrder::Little, &mut [0; 8]).is_err());
}

proptest! {
    #[test]
    fn a_value_is_within_half_a_step_of_what_is_stored(value in -3000.0f64..3000.0, scale in 0.1f64..10.0, offset in -10.0f64..10.0) {
        let decoding = decoding(&Datatype::integer(4, true, ByteOrder::Big), &[double("scale_factor", scale), double("add_offset", offset)]);
        let (stored, outcome) = encoded(&decoding, Decoded::Numbers(&DataType::Float64, &value.to_ne_bytes()), ByteOrder::Big, 4);
        prop_assert_eq!(outcome.problem, None);
        let found = decoded(&decoding, ByteOrder::Big, &stored);
        let found = found.as_chunks().0.first().map_or(f64::NAN, |bytes| f64::from_ne_bytes(*bytes));
        prop_assert!((found - value).abs() <= scale / 2.0 * (1.0 + 1e-9), "{value} became {found}");
    }

    #[test]
    fn numbers_of_all_types_come_back(size in prop::sample::select(vec![4u64, 8]), is_signed: bool, bits: u64, scale in prop::sample::select(vec![None, Some(0.25f64), Some(0.1)])) {
        let datatype = Datatype::integer(size, is_signed, ByteOrder::Little);
        // 64 bits of packed numbers do not fit a double.
        let bits = if size == 8 && scale.is_some() { bits >> 14 } else { bits };
        let stored = bits.to_le_bytes().get(..size as usize).map(<[u8]>::to_vec).unwrap_or_default();
        let decoding = decoding(&datatype, &scale.map(|scale| double("scale_factor", scale)).into_iter().collect::<Vec<_>>());
        let (found, outcome) = again(&decoding, ByteOrder::Little, &stored);
        prop_assert_eq!((outcome.problem, found), (None, stored));
    }

    #[test]
    fn floats_come_back(bits: u32, wide: u64) {
        for (size, stored) in [(4, bits.to_le_bytes().to_vec()), (8, wide.to_le_bytes().to_vec())] {
            let is_nan = if size == 4 { f32::from_bits(bits).is_nan() } else { f64::from_bits(wide).is_nan() };
            let (found, outcome) = again(&decoding(&Datatype::float(size, ByteOrder::Little), &[]), ByteOrder::Little, &stored);
            prop_assert_eq!((outcome.problem, is_nan || found == stored), (None, true));
        }
    }

    #[test]
    fn dates_come_back(count in -80_000i32..80_000, units in prop::sample::select(vec!["days", "hours", "seconds"]), year in 1970..2030) {
        let units = format!("{units} since {year}-03-01 06:00");
        let decoding = Decoding::of_times(&DataType::Int32, &units, Some("proleptic_gregorian"), None).ok().flatten();
        let decoding = decoding.unwrap_or_else(|| unreachable!("dates"));
        let (found, outcome) = again(&decoding, ByteOrder::Big, &count.to_be_bytes());
        prop_assert_eq!((outcome.problem, found), (None, count.to_be_bytes().to_vec()));
    }

    #[test]
    fn counts_in_other_units_are_those_of_exact_numbers(count in -1_000_000i64..1_000_000, missing in -5i64..5) {
        let from = Decoding::of_times(&DataType::Int64, "hours since 1999-12-30 06:00", Some("360_day"), Some(Number::Integer(missing.into())));
        let from = from.ok().flatten().unwrap_or_else(|| unreachable!("dates"));
        let to = TimeUnits::parse("minutes since 2000-01-02", Some("360_day")).ok().flatten().unwrap_or_else(|| unreachable!("dates"));
        let mut out = [0; 8];
        let outcome = from.recount_into(ByteOrder::Little, &count.to_le_bytes(), &to, &mut out);
        let right = if count == missing { count } else { (count - 42) * 60 };
        let problem = (count != missing && right == missing).then_some((0, Unencodable::MeansMissing));
        prop_assert_eq!(outcome.ok().map(|outcome| outcome.problem), Some(problem));
        prop_assert!(problem.is_some() || i64::from_le_bytes(out) == right);
    }
}

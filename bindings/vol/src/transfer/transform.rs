//! Data transforms (`H5Pset_data_transform`): an expression such as `2*x+1` that HDF5 computes for values in memory, before they
//! are written and after they are read. As there, constants alone are computed as C does (integers stay integers), a constant and
//! values in `f64`, and values with values in their own datatype.

use crate::ffi::*;
use crate::host::Host;
use hyperslab_arrow_container::error::{Error, Result, error};

/// Parentheses and signs within each other.
const MAX_DEPTH: usize = 200;
/// Elements to compute at a time.
const BLOCK_ELEMENTS: usize = 8192;

#[derive(Debug, Clone, PartialEq)]
enum Node {
    /// The values that are transferred.
    Values,
    Integer(i64),
    Real(f64),
    Operation(Operator, Box<(Node, Node)>),
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
}

impl Operator {
    fn real(self, left: f64, right: f64) -> f64 {
        match self {
            Self::Add => left + right,
            Self::Subtract => left - right,
            Self::Multiply => left * right,
            Self::Divide => left / right,
        }
    }

    fn integer(self, left: i64, right: i64) -> Result<i64> {
        Ok(match self {
            Self::Add => left.wrapping_add(right),
            Self::Subtract => left.wrapping_sub(right),
            Self::Multiply => left.wrapping_mul(right),
            Self::Divide => left.checked_div(right).ok_or_else(by_zero)?,
        })
    }
}

fn by_zero() -> Error {
    error!("the data transform divides an integer by zero")
}

/// A number that values in memory can be.
trait Number: Copy {
    fn real(self) -> f64;
    fn of(real: f64) -> Self;
    fn with(self, operator: Operator, other: Self) -> Result<Self>;
    fn of_integer(integer: i64) -> Self;
}

macro_rules! numbers {
    ($($number:ident via $wide:ident),*) => {$(
        impl Number for $number {
            fn real(self) -> f64 {
                self as f64
            }
            fn of(real: f64) -> Self {
                real as $wide as $number
            }
            fn of_integer(integer: i64) -> Self {
                integer as $number
            }
            fn with(self, operator: Operator, other: Self) -> Result<Self> {
                Ok(match operator {
                    Operator::Add => self.wrapping_add(other),
                    Operator::Subtract => self.wrapping_sub(other),
                    Operator::Multiply => self.wrapping_mul(other),
                    Operator::Divide => self.checked_div(other).ok_or_else(by_zero)?,
                })
            }
        }
    )*};
    ($($number:ident),*) => {$(
        impl Number for $number {
            fn real(self) -> f64 {
                f64::from(self)
            }
            fn of(real: f64) -> Self {
                real as $number
            }
            fn of_integer(integer: i64) -> Self {
                integer as $number
            }
            fn with(self, operator: Operator, other: Self) -> Result<Self> {
                Ok(match operator {
                    Operator::Add => self + other,
                    Operator::Subtract => self - other,
                    Operator::Multiply => self * other,
                    Operator::Divide => self / other,
                })
            }
        }
    )*};
}

numbers!(i8 via i64, u8 via i64, i16 via i64, u16 via i64, i32 via i64, u32 via i64, i64 via i64, u64 via u64);
numbers!(f32, f64);

enum Computed<T> {
    Values(Vec<T>),
    Integer(i64),
    Real(f64),
}

fn computed<T: Number>(node: &Node, values: &[T]) -> Result<Computed<T>> {
    let (operator, left, right) = match node {
        Node::Values => return Ok(Computed::Values(values.to_vec())),
        Node::Integer(integer) => return Ok(Computed::Integer(*integer)),
        Node::Real(real) => return Ok(Computed::Real(*real)),
        Node::Operation(operator, sides) => (*operator, computed(&sides.0, values)?, computed(&sides.1, values)?),
    };
    let constant = |side: &Computed<T>| match side {
        Computed::Integer(integer) => Some(*integer as f64),
        Computed::Real(real) => Some(*real),
        Computed::Values(_) => None,
    };
    Ok(match (constant(&left), constant(&right), left, right) {
        (_, _, Computed::Integer(left), Computed::Integer(right)) => Computed::Integer(operator.integer(left, right)?),
        (Some(left), Some(right), _, _) => Computed::Real(operator.real(left, right)),
        (_, Some(right), Computed::Values(mut all), _) => {
            all.iter_mut().for_each(|one| *one = T::of(operator.real(one.real(), right)));
            Computed::Values(all)
        }
        (Some(left), _, _, Computed::Values(mut all)) => {
            all.iter_mut().for_each(|one| *one = T::of(operator.real(left, one.real())));
            Computed::Values(all)
        }
        (_, _, Computed::Values(mut all), Computed::Values(others)) => {
            for (one, other) in all.iter_mut().zip(others) {
                *one = one.with(operator, other)?;
            }
            Computed::Values(all)
        }
        _ => return Err(error!("a data transform has a side that is neither values nor a constant")),
    })
}

struct Parser<'a> {
    rest: &'a [u8],
    depth: usize,
}

impl Parser<'_> {
    fn next(&mut self) -> Option<u8> {
        self.rest = self.rest.trim_ascii_start();
        self.rest.first().copied()
    }

    fn take(&mut self, wanted: u8) -> bool {
        let found = self.next() == Some(wanted);
        if found {
            self.rest = &self.rest[1..];
        }
        found
    }

    fn while_matching(&mut self, mut matches: impl FnMut(usize, u8) -> bool) -> &str {
        let end = self.rest.iter().enumerate().position(|(at, byte)| !matches(at, *byte)).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(end);
        self.rest = rest;
        std::str::from_utf8(taken).unwrap_or_default()
    }

    fn sum(&mut self) -> Result<Node> {
        let mut left = self.product()?;
        loop {
            let operator = match self.next() {
                Some(b'+') => Operator::Add,
                Some(b'-') => Operator::Subtract,
                _ => return Ok(left),
            };
            self.rest = &self.rest[1..];
            left = Node::Operation(operator, Box::new((left, self.product()?)));
        }
    }

    fn product(&mut self) -> Result<Node> {
        let mut left = self.factor()?;
        loop {
            let operator = match self.next() {
                Some(b'*') => Operator::Multiply,
                Some(b'/') => Operator::Divide,
                _ => return Ok(left),
            };
            self.rest = &self.rest[1..];
            left = Node::Operation(operator, Box::new((left, self.factor()?)));
        }
    }

    fn factor(&mut self) -> Result<Node> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(Error::unsupported(format!("a data transform with more than {MAX_DEPTH} parentheses and signs within each other is not supported")));
        }
        let node = match self.next() {
            Some(b'(') => {
                self.rest = &self.rest[1..];
                let inner = self.sum()?;
                if !self.take(b')') {
                    return Err(error!("the data transform has a parenthesis that is not closed"));
                }
                inner
            }
            Some(sign @ (b'-' | b'+')) => {
                self.rest = &self.rest[1..];
                let operator = if sign == b'-' { Operator::Subtract } else { Operator::Add };
                match self.factor()? {
                    Node::Real(real) if sign == b'-' => Node::Real(-real),
                    Node::Real(real) => Node::Real(real),
                    other => Node::Operation(operator, Box::new((Node::Integer(0), other))),
                }
            }
            Some(byte) if byte.is_ascii_alphabetic() => {
                self.while_matching(|_, byte| byte.is_ascii_alphanumeric());
                Node::Values
            }
            Some(byte) if byte.is_ascii_digit() || byte == b'.' => {
                let mut before = 0;
                let text = self.while_matching(|_, byte| {
                    let is_exponent_sign = matches!(byte, b'+' | b'-') && matches!(before, b'e' | b'E');
                    before = byte;
                    is_exponent_sign || byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'E')
                });
                let unreadable = || error!("'{text}' in the data transform is not a number");
                if text.bytes().all(|byte| byte.is_ascii_digit()) {
                    Node::Integer(text.parse().map_err(|_| unreadable())?)
                } else {
                    Node::Real(text.parse().map_err(|_| unreadable())?)
                }
            }
            _ => return Err(error!("the data transform lacks a number, a name or a parenthesis")),
        };
        self.depth -= 1;
        Ok(node)
    }
}

fn parsed(text: &[u8]) -> Result<Node> {
    let mut parser = Parser { rest: text, depth: 0 };
    let node = parser.sum()?;
    match parser.next() {
        None => Ok(node),
        Some(byte) => Err(error!("the data transform has an unexpected '{}'", char::from(byte))),
    }
}

fn applied<T: Number, const W: usize>(node: &Node, bytes: &mut [u8], read: impl Fn([u8; W]) -> T, write: impl Fn(T) -> [u8; W]) -> Result<()> {
    for block in bytes.chunks_mut(BLOCK_ELEMENTS * W) {
        let values: Vec<T> = block.as_chunks::<W>().0.iter().map(|one| read(*one)).collect();
        let outcome = computed(node, &values)?;
        for (i, one) in block.as_chunks_mut::<W>().0.iter_mut().enumerate() {
            *one = write(match &outcome {
                Computed::Values(all) => *all.get(i).ok_or_else(|| error!("a data transform lost values"))?,
                Computed::Integer(integer) => T::of_integer(*integer),
                Computed::Real(real) => T::of(*real),
            });
        }
    }
    Ok(())
}

/// The transform of one transfer.
pub(super) struct Transform {
    node: Node,
    class: H5T_class_t,
    is_signed: bool,
    bytes: usize,
}

impl Transform {
    /// The transform that a transfer property list has, for values in memory of this datatype.
    pub(super) fn of(host: &Host, dxpl: hid_t, mem_type: hid_t) -> Result<Option<Self>> {
        if dxpl <= 0 || host.global(c"H5P_LST_DATASET_XFER_ID_g") == Some(dxpl) {
            return Ok(None);
        }
        let Some(text) = text(host, dxpl)? else { return Ok(None) };
        let node = parsed(&text)?;
        if node == Node::Values {
            return Ok(None);
        }
        // SAFETY: a valid ID of the host.
        unsafe {
            let class = (host.call.H5Tget_class)(mem_type);
            let bytes = (host.call.H5Tget_size)(mem_type);
            let native = if cfg!(target_endian = "little") { H5T_ORDER_LE } else { H5T_ORDER_BE };
            let is_number = match class {
                H5T_INTEGER => matches!(bytes, 1 | 2 | 4 | 8),
                H5T_FLOAT => matches!((bytes, (host.call.H5Tget_ebias)(mem_type)), (4, 127) | (8, 1023)),
                _ => false,
            };
            if !is_number || (host.call.H5Tget_precision)(mem_type) != 8 * bytes || (bytes > 1 && (host.call.H5Tget_order)(mem_type) != native) {
                return Err(Error::unsupported(
                    "a data transform (H5Pset_data_transform) is supported for native integers and floats of up to 8 bytes in memory only",
                ));
            }
            let is_signed = class == H5T_INTEGER && (host.call.H5Tget_sign)(mem_type) == H5T_SGN_2;
            Ok(Some(Self { node, class, is_signed, bytes }))
        }
    }

    /// Transforms elements, one after the other.
    pub(super) fn apply(&self, elements: &mut [u8]) -> Result<()> {
        macro_rules! each {
            ($number:ident) => {
                applied(&self.node, elements, $number::from_ne_bytes, $number::to_ne_bytes)
            };
        }
        match (self.class, self.is_signed, self.bytes) {
            (H5T_FLOAT, _, 4) => each!(f32),
            (H5T_FLOAT, _, 8) => each!(f64),
            (_, true, 1) => each!(i8),
            (_, true, 2) => each!(i16),
            (_, true, 4) => each!(i32),
            (_, true, _) => each!(i64),
            (_, false, 1) => each!(u8),
            (_, false, 2) => each!(u16),
            (_, false, 4) => each!(u32),
            (_, false, _) => each!(u64),
        }
    }
}

/// The expression in a transfer property list. Asking for one that is not there is an error for HDF5, which it must not print.
fn text(host: &Host, dxpl: hid_t) -> Result<Option<Vec<u8>>> {
    // SAFETY: a valid ID of the host; a null buffer queries the length; then the buffer has space for it and a zero.
    unsafe {
        let (mut function, mut data) = (None, std::ptr::null_mut());
        let known = (host.call.H5Eget_auto2)(0, &raw mut function, &raw mut data) >= 0;
        (host.call.H5Eset_auto2)(0, None, std::ptr::null_mut());
        let length = (host.call.H5Pget_data_transform)(dxpl, std::ptr::null_mut(), 0);
        if known {
            (host.call.H5Eset_auto2)(0, function, data);
        }
        let Ok(length) = usize::try_from(length) else {
            (host.call.H5Eclear2)(0);
            return Ok(None);
        };
        let mut text = vec![0u8; length + 1];
        if (host.call.H5Pget_data_transform)(dxpl, text.as_mut_ptr().cast(), text.len()) < 0 {
            return Err(error!("the data transform in the transfer property list cannot be read"));
        }
        text.truncate(text.iter().position(|byte| *byte == 0).unwrap_or(length));
        Ok(Some(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of<T: Number, const W: usize>(text: &str, values: &[T], read: impl Fn([u8; W]) -> T, write: impl Fn(T) -> [u8; W]) -> Result<Vec<T>> {
        let mut bytes: Vec<u8> = values.iter().flat_map(|one| write(*one)).collect();
        applied(&parsed(text.as_bytes())?, &mut bytes, &read, &write)?;
        Ok(bytes.as_chunks::<W>().0.iter().map(|one| read(*one)).collect())
    }

    #[test]
    fn constants_alone_are_computed_as_in_c() -> Result<()> {
        assert_eq!(of("x*(5/9)", &[10, 20], i32::from_ne_bytes, i32::to_ne_bytes)?, [0, 0]);
        assert_eq!(of("(5/9.0)*(x-32)", &[50, 212], i32::from_ne_bytes, i32::to_ne_bytes)?, [10, 100]);
        assert_eq!(of("7/2", &[0.0, 1.0], f64::from_ne_bytes, f64::to_ne_bytes)?, [3.0, 3.0]);
        Ok(())
    }

    #[test]
    fn operators_are_left_associative_and_signs_bind_first() -> Result<()> {
        assert_eq!(of("10-x-1", &[2, 3], i16::from_ne_bytes, i16::to_ne_bytes)?, [7, 6]);
        assert_eq!(of("-x*2 + +1", &[2, 3], i64::from_ne_bytes, i64::to_ne_bytes)?, [-3, -5]);
        assert_eq!(of("x*x/2", &[3, 4], u8::from_ne_bytes, u8::to_ne_bytes)?, [4, 8]);
        assert_eq!(of("1.5e+1*x", &[2.0], f32::from_ne_bytes, f32::to_ne_bytes)?, [30.0]);
        Ok(())
    }

    #[test]
    fn what_cannot_be_computed_is_an_error() -> Result<()> {
        assert!(parsed(b"x+").is_err() && parsed(b"(x").is_err() && parsed(b"x)").is_err() && parsed(b"1e9e").is_err());
        assert!(parsed("(".repeat(10_000).as_bytes()).is_err());
        assert!(computed(&parsed(b"x/(x-x)")?, &[1i32]).is_err());
        assert!(computed(&parsed(b"x+1/0")?, &[1i32]).is_err());
        Ok(())
    }
}

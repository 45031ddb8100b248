//! Place: two passes of radix sort by numbers of 22 bits. What is moved has 32 bits, so that all of it stays in the
//! second-level cache.

/// Bits of a pass.
pub(crate) const DIGIT_BITS: u32 = 11;
pub(crate) const BUCKETS: usize = 1 << DIGIT_BITS;
/// Bits of a place among a block's keys.
const PLACE_BITS: u32 = 16;
pub(crate) const MOST_KEYS: usize = 1 << PLACE_BITS;
/// Bits of the first pass's digit that a word keeps.
const TAG_BITS: u32 = u32::BITS - PLACE_BITS - DIGIT_BITS;

/// A place (the lowest 16 bits), the second pass's digit, and the end of the first one's.
pub(crate) type Words = Box<[u32; MOST_KEYS]>;

/// Whether the keys of words that follow each other may have the same number. Most of those that have not are told apart.
pub(crate) fn may_tie(one: u32, other: u32) -> bool {
    (one ^ other) >> PLACE_BITS == 0
}

/// How many numbers have each value of a digit; then, where the next of them goes. A bucket of all keys counts none, which
/// is as good: nothing follows it.
pub(crate) struct Digits {
    pub firsts: [u16; BUCKETS],
    pub seconds: [u16; BUCKETS],
}

impl Digits {
    pub fn new() -> Self {
        Self { firsts: [0; BUCKETS], seconds: [0; BUCKETS] }
    }

    /// From how many there are in each bucket to where each begins.
    pub fn begin(&mut self) {
        for counts in [&mut self.firsts, &mut self.seconds] {
            let mut next = 0u16;
            for count in counts {
                let here = *count;
                *count = next;
                next = next.wrapping_add(here);
            }
        }
    }
}

/// Counts the digits of numbers, of which the first has `bits` bits.
pub(crate) struct Count<'a> {
    pub near: &'a [u32],
    pub bits: u32,
    pub digits: &'a mut Digits,
}

impl pulp::NullaryFnOnce for Count<'_> {
    type Output = ();
    #[inline(always)]
    fn call(self) {
        let Self { near, bits, digits } = self;
        let mask = (1u32 << bits) - 1;
        digits.firsts.fill(0);
        digits.seconds.fill(0);
        for near in near {
            let first = &mut digits.firsts[(near & mask) as usize & (BUCKETS - 1)];
            *first = first.wrapping_add(1);
            let second = &mut digits.seconds[(near >> bits) as usize & (BUCKETS - 1)];
            *second = second.wrapping_add(1);
        }
    }
}

/// Puts the words of numbers, at most [`MOST_KEYS`], in the order of the numbers; equal ones stay in the order of their
/// places. Behind the two passes there are `places` alone, too.
pub(crate) struct Place<'a> {
    pub near: &'a [u32],
    pub bits: u32,
    /// Where buckets begin.
    pub digits: &'a mut Digits,
    pub halfway: &'a mut Words,
    pub words: &'a mut Words,
    pub places: &'a mut Vec<u16>,
}

impl pulp::NullaryFnOnce for Place<'_> {
    type Output = ();
    #[inline(always)]
    fn call(self) {
        let Self { near, bits, digits, halfway, words, places } = self;
        let (mask, tag) = ((1u32 << bits) - 1, (1u32 << TAG_BITS) - 1);
        for (place, near) in near.iter().enumerate() {
            let next = &mut digits.firsts[(near & mask) as usize & (BUCKETS - 1)];
            halfway[usize::from(*next)] = (near >> bits | (near & tag) << DIGIT_BITS) << PLACE_BITS | place as u32;
            *next = next.wrapping_add(1);
        }
        for word in halfway.iter().take(near.len()) {
            let next = &mut digits.seconds[(word >> PLACE_BITS) as usize & (BUCKETS - 1)];
            words[usize::from(*next)] = *word;
            *next = next.wrapping_add(1);
        }
        places.clear();
        places.extend(words.iter().take(near.len()).map(|word| *word as u16));
    }
}

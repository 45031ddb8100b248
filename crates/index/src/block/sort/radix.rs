//! Radix: two passes of radix sort by prefixes of 22 bits. The passes move words of 32 bits, so that all words of a block fit
//! into the second-level cache.

/// Bits that one pass sorts by.
pub(crate) const DIGIT_BITS: u32 = 11;
pub(crate) const BUCKETS: usize = 1 << DIGIT_BITS;
/// Bits of a key's index in its block.
const PLACE_BITS: u32 = 16;
pub(crate) const MAX_KEYS: usize = 1 << PLACE_BITS;
/// Bits of the first pass's digit that fit into a word.
const TAG_BITS: u32 = u32::BITS - PLACE_BITS - DIGIT_BITS;

/// Each word holds, from the lowest bit: the index of a key (16 bits), the second pass's digit (11 bits), and the lowest
/// bits of the first pass's digit (5 bits).
pub(crate) type Words = Box<[u32; MAX_KEYS]>;

/// Whether the keys of two words may have the same prefix. False positives are possible, since a word does not hold all bits
/// of the prefix.
pub(crate) fn may_tie(one: u32, other: u32) -> bool {
    (one ^ other) >> PLACE_BITS == 0
}

/// First the number of prefixes with each value of a digit, then the target of the next one. The count of a bucket that
/// holds all 65,536 keys wraps to 0, which is harmless: all other buckets are empty.
pub(crate) struct Digits {
    pub firsts: [u16; BUCKETS],
    pub seconds: [u16; BUCKETS],
}

impl Digits {
    pub fn new() -> Self {
        Self { firsts: [0; BUCKETS], seconds: [0; BUCKETS] }
    }

    /// Turns the count of each bucket into the index at which it begins.
    pub fn turn_into_starts(&mut self) {
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

/// Counts the digits of the prefixes. The first digit has `bits` bits.
pub(crate) struct CountDigits<'a> {
    pub prefixes: &'a [u32],
    pub bits: u32,
    pub digits: &'a mut Digits,
}

impl pulp::NullaryFnOnce for CountDigits<'_> {
    type Output = ();
    #[inline(always)]
    fn call(self) {
        let Self { prefixes, bits, digits } = self;
        let mask = (1u32 << bits) - 1;
        digits.firsts.fill(0);
        digits.seconds.fill(0);
        for prefixes in prefixes {
            let first = &mut digits.firsts[(prefixes & mask) as usize & (BUCKETS - 1)];
            *first = first.wrapping_add(1);
            let second = &mut digits.seconds[(prefixes >> bits) as usize & (BUCKETS - 1)];
            *second = second.wrapping_add(1);
        }
    }
}

/// Sorts the words of at most [`MAX_KEYS`] prefixes by prefix, then copies the indexes of the keys to `places`. The sort is
/// stable.
pub(crate) struct RadixPasses<'a> {
    pub prefixes: &'a [u32],
    pub bits: u32,
    /// The index at which each bucket begins.
    pub digits: &'a mut Digits,
    pub halfway: &'a mut Words,
    pub words: &'a mut Words,
    pub places: &'a mut Vec<u16>,
}

impl pulp::NullaryFnOnce for RadixPasses<'_> {
    type Output = ();
    #[inline(always)]
    fn call(self) {
        let Self { prefixes, bits, digits, halfway, words, places } = self;
        let (mask, tag) = ((1u32 << bits) - 1, (1u32 << TAG_BITS) - 1);
        for (place, prefixes) in prefixes.iter().enumerate() {
            let next = &mut digits.firsts[(prefixes & mask) as usize & (BUCKETS - 1)];
            halfway[usize::from(*next)] = (prefixes >> bits | (prefixes & tag) << DIGIT_BITS) << PLACE_BITS | place as u32;
            *next = next.wrapping_add(1);
        }
        for word in halfway.iter().take(prefixes.len()) {
            let next = &mut digits.seconds[(word >> PLACE_BITS) as usize & (BUCKETS - 1)];
            words[usize::from(*next)] = *word;
            *next = next.wrapping_add(1);
        }
        places.clear();
        places.extend(words.iter().take(prefixes.len()).map(|word| *word as u16));
    }
}

"""Damage: what happens to a file's bytes, from a seed."""

from __future__ import annotations

import array
import random
import re
import struct

#: Where structures of HDF5 begin.
SIGNATURE = re.compile(rb"\x89HDF|OHDR|OCHK|TREE|SNOD|HEAP|GCOL|FRHP|FHDB|FHIB|BTHD|BTIN|BTLF|FAHD|FADB|EAHD|EAIB|EASB|EADB|SMTB|SMLI|CDF")

#: Numbers that lie about a count, a length or an address.
LIES = [
    0,
    1,
    2,
    7,
    8,
    9,
    0x7F,
    0x80,
    0xFF,
    0x7FFF,
    0x8000,
    0xFFFF,
    0x7FFF_FFFF,
    0x8000_0000,
    0xFFFF_FFFF,
    1 << 40,
    (1 << 63) - 1,
    1 << 63,
    (1 << 64) - 8,
    (1 << 64) - 1,
]


class Damage:
    """Damages one original in many ways. What it does depends on the random numbers only."""

    def __init__(self, original: bytes) -> None:
        self.original = original
        self.blocks = [m.start() for m in SIGNATURE.finditer(original)] or [0]
        self.filled = array.array("I", (i for i, byte in enumerate(original) if byte))
        # Little-endian words that may be addresses or lengths within the file.
        words = ((at, struct.unpack_from("<Q", original, at)[0]) for at in range(len(original) - 7))
        found = [(at, word) for at, word in words if 0 < word <= len(original)] or [(0, 0)]
        self.addresses = array.array("I", (at for at, _ in found))

    def word(self, at: int) -> int:
        """What the original has there."""
        return struct.unpack_from("<Q", self.original.ljust(8, b"\0"), at)[0]

    def __call__(self, rng: random.Random) -> bytearray:
        data = bytearray(self.original)
        for _ in range(1 + int(rng.expovariate(1.0))):
            rng.choices(self.ACTIONS, self.WEIGHTS)[0](self, data, rng)
            if len(data) < 16:
                break
        return data

    def place(self, data: bytearray, rng: random.Random) -> int:
        """Half of the time near the beginning of a structure, mostly at bytes that are not padding."""
        choice = rng.random()
        if choice < 0.4:
            at = rng.choice(self.blocks) + rng.randrange(64)
        elif choice < 0.9 and self.filled:
            at = rng.choice(self.filled) + rng.randrange(-2, 3)
        else:
            at = rng.randrange(len(data))
        return min(max(at, 0), len(data) - 1)

    def flip(self, data: bytearray, rng: random.Random) -> None:
        data[self.place(data, rng)] ^= 1 << rng.randrange(8)

    def byte(self, data: bytearray, rng: random.Random) -> None:
        data[self.place(data, rng)] = rng.randrange(256)

    def step(self, data: bytearray, rng: random.Random) -> None:
        at = self.place(data, rng)
        data[at] = (data[at] + rng.choice([-2, -1, 1, 2])) % 256

    def truncate(self, data: bytearray, rng: random.Random) -> None:
        del data[rng.randrange(len(data)) :]

    def lie(self, data: bytearray, rng: random.Random) -> None:
        width = rng.choice([1, 2, 4, 8])
        at = self.place(data, rng)
        number = rng.choice([*LIES, len(data), len(data) - 1]) % (1 << 8 * width)
        put(data, at, number.to_bytes(width, rng.choice(["little", "little", "little", "big"])))

    def swap(self, data: bytearray, rng: random.Random) -> None:
        a, b = rng.choice(self.addresses), rng.choice(self.addresses)
        if max(a, b) + 8 <= len(data) and abs(a - b) >= 8:
            data[a : a + 8], data[b : b + 8] = data[b : b + 8], data[a : a + 8]

    def point(self, data: bytearray, rng: random.Random) -> None:
        """An address leads to itself, to its own structure, to another structure or nowhere."""
        at = rng.choice(self.addresses)
        own = max((block for block in self.blocks if block <= at), default=0)
        target = rng.choice(
            [at, own, own, rng.choice(self.blocks), rng.choice(self.blocks), self.word(rng.choice(self.addresses)), (1 << 64) - 1, len(data) - 1]
        )
        put(data, at, struct.pack("<Q", target))

    def copy(self, data: bytearray, rng: random.Random) -> None:
        length = rng.choice([8, 16, 64, 256])
        source = rng.choice(self.blocks) if rng.random() < 0.5 else rng.randrange(len(data))
        put(data, rng.choice(self.blocks) if rng.random() < 0.5 else self.place(data, rng), bytes(data[source : source + length]))

    ACTIONS = [flip, byte, step, truncate, lie, swap, point, copy]
    WEIGHTS = [6, 2, 5, 1, 6, 1, 4, 1]


def put(data: bytearray, at: int, part: bytes) -> None:
    """Overwrites without growing."""
    part = part[: max(len(data) - at, 0)]
    data[at : at + len(part)] = part

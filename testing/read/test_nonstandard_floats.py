"""Floats with random bit layouts: dataset, attribute, member of a compound, array, and table, next to exact rational arithmetic and h5py."""

from __future__ import annotations

import pathlib
import random
from fractions import Fraction
from typing import Any, NamedTuple

import h5py
import hyperslab as hs
import numpy as np
import pytest

#: Layouts, and values of each: at least 100,000 values.
LAYOUTS, VALUES = 300, 110
NORMALIZATIONS = {"Implied": h5py.h5t.NORM_IMPLIED, "AsStored": h5py.h5t.NORM_NONE}


class Layout(NamedTuple):
    """A float as HDF5's specification describes it (IV.A.2.d, class 1): places of bits are counted from the lowest one."""

    size: int
    is_big: bool
    sign: int
    exponent: int
    exponent_bits: int
    mantissa: int
    mantissa_bits: int
    bias: int
    normalization: str

    def datatype(self) -> h5py.h5t.TypeFloatID:
        made = h5py.h5t.IEEE_F64LE.copy()
        made.set_size(8)
        made.set_precision(64)
        made.set_fields(self.sign, self.exponent, self.exponent_bits, self.mantissa, self.mantissa_bits)
        made.set_size(self.size)
        made.set_ebias(self.bias)
        made.set_norm(NORMALIZATIONS[self.normalization])
        made.set_order(h5py.h5t.ORDER_BE if self.is_big else h5py.h5t.ORDER_LE)
        return made

    def exact(self, bits: int) -> Fraction | float | None:
        """The value: a fraction, an infinity, or `None` for NaN. A negative zero is the float -0.0."""
        exponent, mantissa = (bits >> self.exponent) & ((1 << self.exponent_bits) - 1), (bits >> self.mantissa) & ((1 << self.mantissa_bits) - 1)
        sign = -1 if (bits >> self.sign) & 1 else 1
        implied = self.normalization == "Implied"
        if exponent == (1 << self.exponent_bits) - 1:
            # The leading bit of an infinity is set where it is stored (x87).
            is_infinity = mantissa == 0 or (not implied and mantissa == 1 << (self.mantissa_bits - 1))
            return sign * float("inf") if is_infinity else None
        if mantissa == 0 and (exponent == 0 or not implied):
            return sign * 0.0
        if implied:
            leading = (1 << self.mantissa_bits) if exponent else 0
            return sign * Fraction(leading + mantissa) * Fraction(2) ** (max(exponent, 1) - self.bias - self.mantissa_bits)
        return sign * Fraction(mantissa) * Fraction(2) ** (exponent - self.bias + 1 - self.mantissa_bits)


def random_layout(choose: random.Random) -> Layout:
    size = choose.choice([1, 2, 2, 3, 4, 4, 5, 6, 7, 8, 8])
    bits = 8 * size
    exponent_bits = choose.randint(1, min(11, bits - 2))
    mantissa_bits = choose.randint(1, min(52, bits - 1 - exponent_bits))
    # The three fields in any order, with unused bits between them.
    fields = [("sign", 1), ("exponent", exponent_bits), ("mantissa", mantissa_bits)]
    choose.shuffle(fields)
    gaps = sorted(choose.randint(0, bits - 1 - exponent_bits - mantissa_bits) for _ in fields)
    places, before = {}, 0
    for (name, count), gap in zip(fields, gaps, strict=True):
        places[name] = before + gap
        before += count
    middle = (1 << (exponent_bits - 1)) - 1
    bias = choose.choice([middle, middle, 0, 1, choose.randint(0, (1 << exponent_bits)), choose.randint(0, 1030)])
    normalization = choose.choice(["Implied", "Implied", "Implied", "AsStored"])
    return Layout(size, choose.random() < 0.4, places["sign"], places["exponent"], exponent_bits, places["mantissa"], mantissa_bits, bias, normalization)


def random_values(layout: Layout, choose: random.Random) -> list[int]:
    """Bits of elements: random ones, with many zeros, subnormals, largest exponents, and bits in the gaps."""
    mantissas = [0, 1, 1 << (layout.mantissa_bits - 1), (1 << layout.mantissa_bits) - 1]
    exponents = [0, 1, (1 << layout.exponent_bits) - 1, max((1 << layout.exponent_bits) - 2, 0)]
    made = []
    for _ in range(VALUES):
        bits = choose.getrandbits(8 * layout.size)
        if choose.random() < 0.6:
            bits &= ~(((1 << layout.exponent_bits) - 1) << layout.exponent)
            bits |= choose.choice(exponents) << layout.exponent
        if choose.random() < 0.6:
            bits &= ~(((1 << layout.mantissa_bits) - 1) << layout.mantissa)
            bits |= choose.choice(mantissas) << layout.mantissa
        made.append(bits)
    return made


def write(path: pathlib.Path, layout: Layout, elements: list[int]) -> None:
    """Bytes of these elements, in the places where floats may be."""
    raw = b"".join(bits.to_bytes(layout.size, "big" if layout.is_big else "little") for bits in elements)
    datatype = layout.datatype()
    member = h5py.h5t.create(h5py.h5t.COMPOUND, layout.size + 3)
    member.insert(b"x", 2, datatype)
    rows = b"".join(b"\xff\xff" + raw[at : at + layout.size] + b"\xff" for at in range(0, len(raw), layout.size))
    with h5py.File(path, "w") as f:
        for name, kind, data, count in (
            ("d", datatype, raw, len(elements)),
            ("c", member, rows, len(elements)),
            ("a", h5py.h5t.array_create(datatype, (2,)), raw, len(elements) // 2),
        ):
            space = h5py.h5s.create_simple((count,))
            # In memory the type is the same: bytes are stored as they are.
            h5py.h5d.create(f.id, name.encode(), kind, space).write(space, space, np.frombuffer(data, f"V{len(data) // count}"), kind)
        space = h5py.h5s.create_simple((len(elements),))
        h5py.h5a.create(f.id, b"t", datatype, space).write(np.frombuffer(raw, f"V{layout.size}"), datatype)


def check(values: Any, expected: list[Fraction | float | None], what: str) -> int:
    """Compares values with what they are exactly; the number of values."""
    values = np.asarray(values).reshape(-1)
    assert len(values) == len(expected), what
    for value, right in zip(values.tolist(), expected, strict=True):
        if right is None:
            assert np.isnan(value), f"{what}: {value} instead of NaN"
        elif isinstance(right, float):
            assert value == right and np.signbit(value) == np.signbit(right), f"{what}: {value} instead of {right}"
        else:
            assert np.isfinite(value) and Fraction(value) == right, f"{what}: {value!r} instead of {float(right)!r}"
    return len(values)


def check_h5py(path: pathlib.Path, layout: Layout, elements: list[int], expected: list[Fraction | float | None]) -> int:
    """Whether h5py has the same values, where it has a dtype for them."""
    with h5py.File(path) as f:
        try:
            kind = f["d"].dtype
        except (TypeError, ValueError, RuntimeError):
            return 0
        values = f["d"][...].tolist()
    fits = np.finfo(kind).bits >= 64 or (layout.mantissa_bits <= np.finfo(kind).nmant and 1 - layout.bias >= np.finfo(kind).minexp)
    mantissas = [(bits >> layout.mantissa) & ((1 << layout.mantissa_bits) - 1) for bits in elements]
    # The library takes a mantissa of zeros for one with a leading bit below its last one, if none is implied.
    kept = [at for at, mantissa in enumerate(mantissas) if layout.normalization == "Implied" or mantissa]
    return check([values[at] for at in kept], [expected[at] for at in kept], f"h5py on {layout}") if fits else 0


def test_values_of_random_layouts_are_exact(tmp_path: pathlib.Path) -> None:
    choose, compared, refused, tables, of_h5py = random.Random(20261129), 0, 0, 0, 0
    path = tmp_path / "a.h5"
    for number in range(LAYOUTS):
        layout = random_layout(choose)
        elements = random_values(layout, choose)
        expected = [layout.exact(bits) for bits in elements]
        write(path, layout, elements)
        f = hs.open(path)
        try:
            values = f["d"][...]
        except hs.UnsupportedError as error:
            # Refused only if no float of numpy holds every value.
            assert "no numpy float holds exactly" in str(error)
            lowest = Fraction(2) ** (1 - layout.bias - layout.mantissa_bits)
            highest = (1 << layout.exponent_bits) - 2 - layout.bias + (layout.normalization == "Implied")
            assert lowest < Fraction(2) ** -1074 or highest > 1022, layout
            refused += 1
            continue
        compared += check(values, expected, f"{number}, dataset of {layout}")
        compared += check(f.attrs["t"], expected, f"{number}, attribute of {layout}")
        compared += check(f["c"]["x"], expected, f"{number}, member of {layout}")
        compared += check(f["a"][...], expected, f"{number}, array of {layout}")
        compared += check([f["d"][at] for at in range(3)], expected[:3], f"{number}, elements of {layout}")
        try:
            column = f.table("/d").to_arrow()["d"].to_numpy()
        except hs.UnsupportedError as error:
            assert "mantissa bits" in str(error)
        else:
            tables += check(column, expected, f"{number}, table of {layout}")
        of_h5py += check_h5py(path, layout, elements, expected)
    print(f"{compared} values of {LAYOUTS - refused} layouts, {tables} in tables, {of_h5py} of h5py; {refused} layouts refused")
    assert compared >= 100_000 and tables >= 20_000 and refused < LAYOUTS / 2


FLOAT8, BFLOAT16 = Layout(1, False, 7, 3, 4, 0, 3, 7, "Implied"), Layout(2, False, 15, 7, 8, 0, 7, 127, "Implied")


@pytest.mark.parametrize("layout", [FLOAT8, BFLOAT16, Layout(3, True, 23, 16, 7, 0, 16, 63, "Implied")], ids=["8 bits", "16 bits", "24 bits"])
@pytest.mark.parametrize("edit", ["element", "all", "member", "array", "resized"])
def test_edits_are_refused_by_name(tmp_path: pathlib.Path, layout: Layout, edit: str) -> None:
    """Values with a layout of their own are read, not written: the file stays as it is. Other members of their compounds are written."""
    path = tmp_path / "a.h5"
    write(path, layout, [1 << (8 * layout.size - 3)] * 4)
    with h5py.File(path, "r+") as f:
        plain = h5py.h5t.create(h5py.h5t.COMPOUND, layout.size + 4)
        plain.insert(b"x", 0, layout.datatype())
        plain.insert(b"n", layout.size, h5py.h5t.STD_I32LE)
        h5py.h5d.create(f.id, b"mixed", plain, h5py.h5s.create_simple((2,)))
    before = path.read_bytes()
    with hs.open(path, "r+") as f, pytest.raises(hs.UnsupportedError, match=f"floats of {layout.size} bytes with a layout of their own"):
        if edit == "element":
            f["d"][0] = 1.0
        elif edit == "all":
            f["d"][...] = np.ones(4)
        elif edit == "member":
            f["c"]["x"] = np.ones(4, "f4")
        elif edit == "array":
            f["a"][0] = [1.0, 2.0]
        else:
            f["mixed"][0] = (1.0, 2)
    assert path.read_bytes() == before
    with hs.open(path, "r+") as f:
        f["mixed"]["n"] = [5, 6]
        f["d"].attrs["note"] = "kept"
    with h5py.File(path) as f:
        raw = np.empty(2, f"V{layout.size + 4}")
        f["mixed"].id.read(h5py.h5s.ALL, h5py.h5s.ALL, raw, f["mixed"].id.get_type())
        assert [int.from_bytes(row.tobytes()[layout.size :], "little") for row in raw] == [5, 6]


def test_integers_of_a_size_that_numpy_lacks_are_not_written(tmp_path: pathlib.Path) -> None:
    kind = h5py.h5t.STD_I32LE.copy()
    kind.set_precision(24)
    kind.set_size(3)
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as f:
        h5py.h5d.create(f.id, b"d", kind, h5py.h5s.create_simple((2,))).write(h5py.h5s.ALL, h5py.h5s.ALL, np.array([-2, 3], "i4"))
    with hs.open(path, "r+") as f:
        with pytest.raises(hs.UnsupportedError, match="integers of 3 bytes with a layout of their own"):
            f["d"][0] = 1
        assert f["d"][...].tolist() == [-2, 3]

"""Stored datatypes: objects of the core, which compare, hash, are pickled and print as what they are."""

from __future__ import annotations

import copy
import pickle

import hyperslab as hs
import numpy as np
import pytest
from hyperslab._native import Datatype, FloatLayout

BFLOAT16 = FloatLayout(0, 16, 15, 7, 8, 0, 7, 127, "implied")
ALL = [
    Datatype.integer(4, signed=True),
    Datatype.integer(4, signed=True, order=">"),
    Datatype.integer(2, signed=False, bit_offset=2, bit_precision=12),
    Datatype.float(2),
    Datatype.float(2, layout=BFLOAT16),
    Datatype.string(3),
    Datatype.string(3, padding="space_padded", utf8=True),
    Datatype.variable_string(),
    Datatype.bitfield(1),
    Datatype.time(8),
    Datatype.opaque(5, tag="x"),
    Datatype.reference("region", 12),
    Datatype.enum(Datatype.integer(8, signed=False), [("A", 0), ("B", 2**63)]),
    Datatype.sequence(Datatype.float(4)),
    Datatype.array(Datatype.float(4), (2, 3)),
    Datatype.compound(24, [("x", 0, Datatype.float(8)), ("y", 8, Datatype.array(Datatype.bitfield(1), [4]))]),
    Datatype.unsupported(3, "VAX floating-point"),
]
#: Attributes that some classes do not have.
NAMES = ("base", "bit_offset", "bit_precision", "fields", "is_ordinary", "layout", "name", "order")
NAMES += ("padding", "reference_kind", "shape", "signed", "tag", "utf8", "values")


@pytest.mark.parametrize("datatype", ALL, ids=repr)
def test_copies_are_equal(datatype: Datatype) -> None:
    for made in (pickle.loads(pickle.dumps(datatype)), copy.deepcopy(datatype), eval(repr(datatype))):
        assert made == datatype and hash(made) == hash(datatype) and made.differences(datatype) == []
    assert [other for other in ALL if other == datatype] == [datatype]
    assert datatype != repr(datatype)


def test_attributes_are_those_of_the_class() -> None:
    kept = {datatype.class_name: [name for name in NAMES if hasattr(datatype, name)] for datatype in ALL}
    assert kept == {
        "integer": ["bit_offset", "bit_precision", "is_ordinary", "order", "signed"],
        "float": ["is_ordinary", "layout", "order"],
        "string": ["padding", "utf8"],
        "variable string": ["padding", "utf8"],
        "bitfield": ["order"],
        "time": ["order"],
        "opaque": ["tag"],
        "reference": ["reference_kind"],
        "enum": ["base", "values"],
        "sequence": ["base"],
        "array": ["base", "shape"],
        "compound": ["fields"],
        "unsupported": ["name"],
    }
    with pytest.raises(AttributeError, match='a datatype of class float has no attribute "tag"'):
        _ = Datatype.float(8).tag


def test_values() -> None:
    array = Datatype.array(Datatype.integer(2, signed=True), (2, 3))
    assert (array.size, array.shape, array.base, array.member_count) == (12, (2, 3), Datatype.integer(2, signed=True), 0)
    compound = Datatype.compound(24, [("x", 0, Datatype.float(8)), ("y", 8, array)])
    assert compound.fields == (("x", 0, Datatype.float(8)), ("y", 8, array)) and compound.member_count == 2
    assert compound.fields is compound.fields and array.base is array.base
    names = Datatype.enum(Datatype.integer(1, signed=True), [("FALSE", 0), ("TRUE", 1)])
    assert names.values == (("FALSE", 0), ("TRUE", 1)) and names.is_boolean and names.size == 1
    assert not ALL[12].is_boolean
    assert Datatype.float(2).layout == FloatLayout(0, 16, 15, 10, 5, 0, 10, 15, "implied")
    assert Datatype.float(2, layout=BFLOAT16).layout == BFLOAT16 and not Datatype.float(2, layout=BFLOAT16).is_ordinary


def test_dtypes_of_numbers() -> None:
    for order in "<>":
        for size in (1, 2, 4, 8):
            assert Datatype.integer(size, signed=True, order=order).number_dtype == np.dtype(f"{order}i{size}")
            assert Datatype.integer(size, signed=False, order=order).number_dtype == np.dtype(f"{order}u{size}")
            assert size == 1 or Datatype.float(size, order=order).number_dtype == np.dtype(f"{order}f{size}")
    others = [Datatype.integer(3, signed=True), *ALL[2:3], *ALL[4:]]
    assert [datatype.number_dtype for datatype in others] == [None] * len(others)


def test_differences() -> None:
    assert Datatype.string(3).differences(Datatype.string(4, padding="space_padded")) == ["size", "padding"]
    assert Datatype.float(2).differences(ALL[4]) == ALL[4].differences(Datatype.float(2)) == ["layout"]
    assert Datatype.float(4).differences(Datatype.integer(4, signed=True)) == ["class"]
    assert ALL[0].differences(ALL[1]) == ["order"]


def test_what_hdf5_does_not_have_is_refused() -> None:
    with pytest.raises(hs.InvalidInputError, match="an IEEE float of 3 bytes; expected 2, 4 or 8"):
        Datatype.float(3)
    with pytest.raises(hs.InvalidInputError, match="unknown byte order"):
        Datatype.integer(4, signed=True, order="=")
    with pytest.raises(hs.InvalidInputError, match="unknown padding"):
        Datatype.string(4, padding="dots")
    with pytest.raises(hs.InvalidInputError, match="unknown mantissa"):
        Datatype.float(2, layout=FloatLayout(0, 16, 15, 7, 8, 0, 7, 127, "hidden"))
    with pytest.raises(TypeError):
        Datatype.sequence({"class": "float"})  # type: ignore[arg-type]

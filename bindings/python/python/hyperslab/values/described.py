"""Described datatypes and fill values: datatype and fill value of an existing dataset, exactly as in its file, for a dataset created like it."""

from __future__ import annotations

from typing import NamedTuple

from .. import _native
from ..base.type_aliases import Elements


class DescribedType(NamedTuple):
    """A stored datatype, in place of a dtype of numpy, which may lack something that HDF5 has."""

    datatype: _native.Datatype


class StoredFill(NamedTuple):
    """A fill value of fixed size: as readers see it, and its bytes in the file."""

    value: Elements
    stored: bytes

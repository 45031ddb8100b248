"""As `h5py._hl.dataset`: datasets and views of their values."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ...backends.continuing import completed
from ...base.errors import InvalidTypeError, UnsupportedError
from ...base.type_aliases import AnyDtype, Elements
from ...objects import dataset
from ...objects.text_view import TextView as AsStrView
from ...objects.value_views import ConvertedView as AsTypeView
from ...objects.value_views import FieldsView
from .. import h5d, h5ds, h5t
from ..h5p import PropDAID
from ..names import quoted
from ..settings import Settings
from .base import HLObject
from .blocks import MultiBlockSlice, without_blocks
from .dims import DimensionManager
from .vds import VDSmap

#: Numbers that are levels of gzip as `compression`, not numbers of filters.
_LEGACY_GZIP_COMPRESSION_VALS = frozenset(range(10))
#: Numbers of the compressions that h5py knows, and of those and its other filters.
_COMPRESSIONS = {1: "gzip", 32000: "lzf", 4: "szip"}
_KNOWN_FILTERS = (1, 2, 3, 4, 6, 32000)

__all__ = ["AsStrView", "AsTypeView", "Dataset", "FieldsView"]


def _may_have_blocks(key: Any) -> bool:
    return isinstance(key, (tuple, MultiBlockSlice))


def _of_file(settings: Settings | None) -> PropDAID:
    """The access list of a dataset for which nothing was given: the cache is that of the file."""
    made = PropDAID()
    made.set_chunk_cache(*(settings or Settings()).chunk_cache)
    return made


class Dataset(HLObject, dataset.Dataset):
    """An array in a file, with h5py's names and values."""

    _id_class = h5d.DatasetID

    def __getitem__(self, key: Any) -> Any:
        key = without_blocks(key, self.shape) if _may_have_blocks(key) else key
        try:
            return super().__getitem__(key)
        except UnsupportedError:
            # Virtual datasets are read in complete files.
            if not completed(self._backend):
                raise
            return super().__getitem__(key)

    def __setitem__(self, key: Any, values: Any) -> None:
        names = [one for one in (key if isinstance(key, tuple) else (key,)) if isinstance(one, str)]
        if names and isinstance(values, np.ndarray) and values.dtype.names is not None and set(names) < set(values.dtype.names):
            values = values[names]
        super().__setitem__(without_blocks(key, self.shape) if _may_have_blocks(key) else key, values)

    @property
    def access(self) -> PropDAID:
        """How it was opened."""
        found: PropDAID | None = self.__dict__.get("_access")
        return found if found is not None else _of_file(self._backend.settings)

    @access.setter
    def access(self, value: PropDAID) -> None:
        self._access = value

    @property
    def shape(self) -> Any:
        """Extent of each dimension; `None` of a null dataspace."""
        return None if self._about["shape"] is None else self._shape

    @property
    def maxshape(self) -> Any:
        """The maximum extent of each dimension; `None` of a null dataspace."""
        return None if self._about["shape"] is None else super().maxshape

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self._shape)

    @property
    def fillvalue(self) -> Elements:
        """The value of unwritten elements; `None` of references and sequences."""
        return None if self._about["datatype"].class_name in ("reference", "sequence") else super().fillvalue

    @property
    def compression(self) -> str | None:
        """`gzip`, `lzf` or `szip`; `unknown` for a compression that h5py does not know; `None` without one."""
        for number, name in _COMPRESSIONS.items():
            if number in self.filter_ids:
                return name
        return "unknown" if any(number not in _KNOWN_FILTERS for number in self.filter_ids) else None

    @property
    def compression_opts(self) -> Any:
        """The level of `gzip`, or method and pixels per block of `szip`; `None` for others."""
        return None if {1, 4}.isdisjoint(self.filter_ids) or 32000 in self.filter_ids else super().compression_opts

    def read_direct(self, dest: Any, source_sel: Any = None, dest_sel: Any = None) -> None:
        """Reads into an array whose elements lie side by side, in the order of C."""
        self._check_direct(dest)
        super().read_direct(dest, source_sel, dest_sel)

    def write_direct(self, source: Any, source_sel: Any = None, dest_sel: Any = None) -> None:
        """Writes an array whose elements lie side by side, in the order of C."""
        self._check_direct(source)
        super().write_direct(source, source_sel, dest_sel)

    def _check_direct(self, array: Any) -> None:
        if self.shape is None:
            raise InvalidTypeError("Empty datasets have no values to read or write")
        if not array.flags.c_contiguous:
            raise InvalidTypeError("the array is not C-contiguous")

    @property
    def _filters(self) -> dict[str, Any]:
        """The filters by name or number, with their settings; kerchunk reads this."""
        names = {1: "gzip", 2: "shuffle", 3: "fletcher32", 4: "szip", 6: "scaleoffset", 32000: "lzf"}
        found = {}
        for number, _, values in self._about["filters"]:
            settings = self.compression_opts if number in (1, 4) else None if number == 32000 else tuple(values) or None
            found[names.get(number, str(number))] = settings
        return found

    @property
    def dims(self) -> Any:
        """The dimensions: their labels and scales."""
        return DimensionManager(self)

    @property
    def is_scale(self) -> bool:
        """Whether it is a dimension scale."""
        return h5ds.is_scale(self.id)

    def asstr(self, encoding: str | None = None, errors: str = "strict") -> AsStrView:
        """A view with values of type `str`, by default decoded as the datatype says."""
        self._check_text()
        known = h5t.check_string_dtype(self.dtype)
        return AsStrView(self, encoding or (known.encoding if known else "utf-8"), errors)

    def fields(self, names: str | Iterable[str], *, _prior_dtype: AnyDtype | None = None) -> FieldsView:
        """A view of some fields of a compound dataset."""
        return super().fields(names)

    def virtual_sources(self) -> list[Any]:
        """The parts of a virtual dataset and their sources."""
        completed(self._backend)
        super().virtual_sources()
        properties = self.id.get_create_plist()
        return [
            VDSmap(
                properties.get_virtual_vspace(index),
                properties.get_virtual_filename(index),
                properties.get_virtual_dsetname(index),
                properties.get_virtual_srcspace(index),
            )
            for index in range(properties.get_virtual_count())
        ]

    def __repr__(self) -> str:
        if not self:
            return "<Closed HDF5 dataset>"
        return f'<HDF5 dataset {quoted(self)}: shape {self.shape}, type "{self.dtype.str}">'

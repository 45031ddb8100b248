"""As `h5py._hl.filters`: names of filters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from .. import h5z
from .._missing import missing_from

decode = ("gzip", "shuffle", "fletcher32", "lzf", "szip", "scaleoffset")
#: Names of the filters that can be written.
encode = decode
DEFAULT_GZIP, DEFAULT_SZIP = 4, ("nn", 8)


class FilterRefBase(Mapping[str, object]):
    """A filter and its options, for packages such as hdf5plugin, which derive from it when they are imported."""

    filter_id: int | None = None
    filter_options: tuple[object, ...] = ()

    @property
    def _arguments(self) -> dict[str, object]:
        return {"compression": self.filter_id, "compression_opts": self.filter_options}

    def __getitem__(self, name: str) -> object:
        return self._arguments[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._arguments)

    def __len__(self) -> int:
        return len(self._arguments)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FilterRefBase) and self._arguments == other._arguments

    def __hash__(self) -> int:
        return hash((self.filter_id, self.filter_options))


class Gzip(FilterRefBase):
    """gzip, as an argument of `create_dataset`.

    Args:
        level: How much time is spent, from 0 to 9.
    """

    filter_id = h5z.FILTER_DEFLATE

    def __init__(self, level: int = DEFAULT_GZIP) -> None:
        self.filter_options = (level,)


__getattr__ = missing_from("h5py.filters")

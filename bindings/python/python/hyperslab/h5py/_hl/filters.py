"""As `h5py._hl.filters`: names of filters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from .._missing import missing_from

decode = ("gzip", "shuffle", "fletcher32", "lzf", "szip", "scaleoffset")
#: Names of the filters that can be written: none.
encode: tuple[str, ...] = ()
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


__getattr__ = missing_from("h5py.filters")

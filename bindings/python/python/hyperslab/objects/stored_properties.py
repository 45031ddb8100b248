"""Stored properties: how a dataset is stored: its chunks, its filters, and other files that hold its values."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..base.errors import InvalidTypeError
from ..values.regions import RegionSelection
from .filters import compression_of
from .node import Node

#: Filters that do not compress: shuffle, checksums, scale-offset.
_KNOWN_FILTERS = (2, 3, 6)


class VirtualSource(NamedTuple):
    """A part of a virtual dataset and where its values come from.

    Attributes:
        selection: The part.
        file_name: The source's file as it was written; `.` is the file itself.
        dset_name: Path of the source dataset.
        source_selection: What is taken of the source.
    """

    selection: RegionSelection
    file_name: str
    dset_name: str
    source_selection: RegionSelection


class StoredProperties(Node):
    """How a dataset is stored."""

    @property
    def chunks(self) -> tuple[int, ...] | None:
        """The shape of a chunk; `None` if the dataset is not chunked."""
        return tuple(self._about["chunks"]) if self._about["chunks"] else None

    @property
    def filters(self) -> list[str]:
        """The names of the filters, in the order in which a writer applies them."""
        return [name for _, name, _ in self._about["filters"]]

    @property
    def filter_ids(self) -> tuple[int, ...]:
        """The registered numbers of the filters, in the order in which a writer applies them."""
        return tuple(number for number, _, _ in self._about["filters"])

    @property
    def filter_names(self) -> tuple[str, ...]:
        """The names of the filters, as `filters`."""
        return tuple(self.filters)

    @property
    def compression(self) -> str | None:
        """The name of the compression, as `create_dataset` takes it; `unknown` for another one, which `filters` names; `None` without one."""
        return self._compression()[0] or ("unknown" if any(number not in _KNOWN_FILTERS for number in self.filter_ids) else None)

    @property
    def compression_opts(self) -> int | str | tuple[str, int] | None:
        """The level or the parameters of the compression, as `create_dataset` takes them."""
        return self._compression()[1]

    def _compression(self) -> tuple[str | None, int | str | tuple[str, int] | None]:
        return compression_of([(number, values) for number, _, values in self._about["filters"]])

    @property
    def shuffle(self) -> bool:
        """Whether bytes are shuffled before they are compressed."""
        return 2 in self.filter_ids

    @property
    def fletcher32(self) -> bool:
        """Whether chunks have checksums."""
        return 3 in self.filter_ids

    @property
    def scaleoffset(self) -> int | None:
        """The bits or decimal digits that the filter `scaleoffset` keeps (0: as few bits as a chunk needs); `None` without it."""
        return next((values[1] for number, _, values in self._about["filters"] if number == 6), None)

    @property
    def stored_bytes(self) -> int:
        """The bytes of the values in the file, after filters."""
        return self._file.stored_bytes(self._number)

    @property
    def external(self) -> list[tuple[str, int, int]] | None:
        """Name, offset and bytes of each file with external raw data; `None` if the values are in the file itself."""
        files = self._file.external_files(self._number)
        return [(name, offset, np.iinfo(np.uint64).max if length is None else length) for name, offset, length in files] or None

    @property
    def is_virtual(self) -> bool:
        """Whether it is a virtual dataset, whose values are in other datasets."""
        return bool(self._about["storage"] == "virtual")

    def virtual_sources(self) -> list[VirtualSource]:
        """The parts of a virtual dataset and their sources.

        Returns:
            A `VirtualSource` for each part; later ones lie over earlier ones.

        Raises:
            InvalidTypeError: It is not a virtual dataset.

        Example:
            >>> [source.file_name for source in f["virtual"].virtual_sources()]
        """
        if not self.is_virtual:
            raise InvalidTypeError(f"{self.path} is not a virtual dataset")
        return [
            VirtualSource(RegionSelection(*selection), file, dataset, RegionSelection(*source))
            for file, dataset, source, selection in self._file.virtual_mappings(self._number)
        ]

"""Photon-HDF5: timestamps of single photons, of one spot or several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..base.errors import NotFoundError
from ..base.type_aliases import FileOptions, JsonObject, Paths, ScanOptions
from ..files.file import File
from ..files.file import open as open_files
from ..files.model_view import ModelView, required
from ..tables.table import Table

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["PhotonHdf5", "open"]


class PhotonHdf5(ModelView):
    """A file of Photon-HDF5. `hyperslab.models.photon_hdf5.open` makes one."""

    @property
    def setup(self) -> JsonObject:
        """What the file says of the instrument; empty if it says nothing."""
        return dict(self.facts.get("setup", {}))

    @property
    def detectors(self) -> Table:
        """The detectors with the numbers of their channels: `spectral_ch`, `polarization_ch`, `split_ch`."""
        return self.table("detectors")

    def photons(
        self,
        where: str | None = None,
        columns: Sequence[str] | None = None,
        *,
        spot: int | None = None,
        spectral_ch: int | None = None,
        polarization_ch: int | None = None,
        split_ch: int | None = None,
        **options: Unpack[ScanOptions],
    ) -> Table:
        """Plans a scan of the photons: `time` in seconds, `timestamp` as stored, `detector`, `nanotime` and `decay_time` in seconds,
        `particle`, and in files of several spots `spot`.

        Args:
            where: A condition on the columns.
            columns: Names of the columns; by default all.
            spot: Number of a spot.
            spectral_ch: Only photons of detectors of this spectral channel, counted from 1.
            polarization_ch: The same for polarization.
            split_ch: The same for the arms of a beam splitter.
            options: Other arguments of `File.table`.

        Returns:
            A planned scan; nothing but metadata has been read.

        Raises:
            NotFoundError: There is no such column, or no detector of the channel.
            CorruptError: The file contradicts the specification; the message names the object.

        Example:
            >>> hs.models.photon_hdf5.open("smfret.h5").photons("time < 10", spectral_ch=1).to_pandas()
        """
        conditions = [] if where is None else [f"({where})"]
        if spot is not None:
            conditions.append(f"spot = {int(spot)}")
        channels = {"spectral_ch": spectral_ch, "polarization_ch": polarization_ch, "split_ch": split_ch}
        wanted = {name: channel for name, channel in channels.items() if channel is not None}
        if wanted:
            conditions.append(self._of_detectors(wanted, spot))
        return self.table("photons", " and ".join(conditions) or None, columns=columns, **options)

    def _of_detectors(self, wanted: dict[str, int], spot: int | None) -> str:
        rows = self.detectors.to_arrow().to_pylist() if "detectors" in self.tables else []
        found = [row for row in rows if all(row.get(name) == channel for name, channel in wanted.items()) and (spot is None or row.get("spot", spot) == spot)]
        if not found:
            raise NotFoundError(f"no detector has {' and '.join(f'{name} {channel}' for name, channel in wanted.items())}", self.file.filename)
        spots: dict[int | None, list[int]] = {}
        for row in found:
            spots.setdefault(row.get("spot"), []).append(row["detector"])
        of_spots = [(f"spot = {number} and " if number is not None else "") + f"detector in ({', '.join(map(str, ids))})" for number, ids in spots.items()]
        return f"({' or '.join(f'({condition})' for condition in of_spots)})"


def open(file: File | Paths, **options: Unpack[FileOptions]) -> PhotonHdf5:
    """Opens a file of Photon-HDF5.

    Args:
        file: A path or an open file.
        options: Other arguments of `hyperslab.open`.

    Returns:
        The view of the file.

    Raises:
        NotFoundError: The file does not exist.
        InvalidInputError: It is not a file of Photon-HDF5.

    Example:
        >>> hs.models.photon_hdf5.open("smfret.h5").photons().count()
    """
    opened = file if isinstance(file, File) else open_files(file, **options)
    view = required(opened, "photon_hdf5")
    return PhotonHdf5(opened, view.name, view.certainty, view.reason)

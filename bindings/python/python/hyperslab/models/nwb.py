"""Neurodata Without Borders (NWB): time series and dynamic tables of neurophysiology."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..base.errors import NotFoundError, UnsupportedError
from ..base.extras import require
from ..base.type_aliases import AnyArray, FileOptions, Float64Array, JsonObject, Paths
from ..files.file import File
from ..files.file import open as open_files
from ..files.model_view import ModelView, required
from ..objects.group import Group
from ..tables.table import Table

if TYPE_CHECKING:
    import pandas
    from typing_extensions import Unpack

__all__ = ["Nwb", "open"]


class Nwb(ModelView):
    """A file of NWB. `hyperslab.models.nwb.open` makes one."""

    @property
    def series(self) -> list[str]:
        """The names of the time series, which are tables: `acquisition/lfp`."""
        return list(self.facts["series"])

    @property
    def units(self) -> Table:
        """The sorted units, with their spike times as lists."""
        return self.table("units", omitted="ignore")

    @property
    def electrodes(self) -> Table:
        """The electrodes of extracellular recordings."""
        return self.table("general/extracellular_ephys/electrodes", omitted="ignore")

    @property
    def trials(self) -> Table:
        """The trials, with their start and stop times in seconds."""
        return self.table("intervals/trials", omitted="ignore")

    def frame(self, name: str) -> pandas.DataFrame:
        """Reads a dynamic table as pandas has it in NWB: its ids are the index, ragged rows are lists. Needs pandas.

        Args:
            name: Name of the table: `units`, `intervals/trials`, or another of `tables`.

        Returns:
            The data frame.

        Raises:
            NotFoundError: There is no such table.
            CorruptError: The table contradicts the model; the message names the object.
            MissingExtraError: pandas is not installed.

        Example:
            >>> hs.models.nwb.open("session.nwb").frame("units")
        """
        require("data frames of NWB", "pandas", "pandas")
        table = self.table(name, omitted="ignore").to_arrow()
        frame = table.to_pandas()
        return frame.set_index("id") if "id" in table.column_names else frame

    def read(self, name: str, start: int = 0, stop: int | None = None) -> tuple[AnyArray, AnyArray]:
        """Reads samples of a time series as an array, in the unit of the series.

        Args:
            name: Name of the series: one of `series`.
            start: The first sample.
            stop: The sample after the last; by default all samples are read.

        Returns:
            The times in seconds, and the values: doubles if they are converted, else as stored. The first dimension is time.

        Raises:
            NotFoundError: There is no such series.
            UnsupportedError: The series has no times.

        Example:
            >>> times, values = hs.models.nwb.open("session.nwb").read("acquisition/lfp", 0, 30_000)
        """
        facts = self.facts["series"]
        if name not in facts:
            raise NotFoundError(f"there is no time series {name!r}; there are {', '.join(facts) or 'none'}", self.file.filename)
        group = self.file[name]
        # The table checks what this method uses: lengths, rate and factors.
        table = self.table(name)
        data = group["data"]
        rows = slice(*slice(start, stop).indices(data.shape[0]))
        if "timestamps" in group:
            times = np.asarray(group["timestamps"][rows])
        elif "starting_time" in facts[name]:
            times = np.arange(rows.start, max(rows.start, rows.stop)) / facts[name]["rate"] + facts[name]["starting_time"]
        else:
            raise UnsupportedError("this series has neither timestamps nor a starting time: read its data by their path", self.file.filename, f"/{name}")
        values = np.asarray(data[rows])
        if table.schema.field("data").type != "double" or (values.dtype == np.float64 and not _is_converted(facts[name], group)):
            return times, values
        factor: float | Float64Array = float(facts[name].get("conversion", 1.0))
        if "channel_conversion" in group:
            conversion = group["channel_conversion"]
            axis = int(np.ravel(conversion.attrs["axis"])[0]) if "axis" in conversion.attrs else 1
            along = [1] * values.ndim
            along[axis] = -1
            factor = factor * np.asarray(conversion[...], np.float64)[rows if axis == 0 else slice(None)].reshape(along)
        return times, values * factor + float(facts[name].get("offset", 0.0))


def _is_converted(facts: JsonObject, group: Group) -> bool:
    return facts.get("conversion", 1.0) != 1.0 or facts.get("offset", 0.0) != 0.0 or "channel_conversion" in group


def open(file: File | Paths, **options: Unpack[FileOptions]) -> Nwb:
    """Opens a file of NWB 2.

    Args:
        file: A path or an open file.
        options: Other arguments of `hyperslab.open`.

    Returns:
        The view of the file.

    Raises:
        NotFoundError: The file does not exist.
        InvalidInputError: It is not a file of NWB 2.

    Example:
        >>> hs.models.nwb.open("session.nwb").units.to_pandas()
    """
    opened = file if isinstance(file, File) else open_files(file, **options)
    view = required(opened, "nwb")
    return Nwb(opened, view.name, view.certainty, view.reason)

"""NeXus: signals with their axes, logs and events of neutron, X-ray and muon experiments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..base.errors import CorruptError, NotFoundError
from ..base.type_aliases import Condition, FileOptions, JsonObject, Option, Paths, TableOptions
from ..files.file import File
from ..files.file import open as open_files
from ..files.model_view import ModelView, required
from ..objects import plot
from ..objects.dataset import Dataset
from ..objects.plot_signal import Signal
from ..tables.table import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from typing_extensions import Unpack

__all__ = ["Nexus", "open"]


class Nexus(ModelView):
    """A file of NeXus. `hyperslab.models.nexus.open` makes one."""

    @property
    def entries(self) -> dict[str, dict[str, str]]:
        """The entries with what describes them: `{"entry": {"title": "a scan", "start_time": "2024-05-01T12:00:00"}}`."""
        entries: dict[str, dict[str, str]] = self.facts["entries"]
        return entries

    @property
    def default(self) -> str | None:
        """The name of the data to be plotted: those to which the attributes `default` lead, else the first. None if there are none.

        Raises:
            CorruptError: A default names nothing, or the defaults lead in a circle.
        """
        facts = self.facts
        if problem := facts.get("default_problem"):
            raise CorruptError(problem["message"], self.file.filename, problem["object"])
        name: str | None = facts["default"]
        return name

    def data(self, name: str | None = None, where: Condition | None = None, **options: Unpack[TableOptions]) -> Table:
        """Plans a scan of data: a row for each element of the signal, with its axes, errors and further signals.

        Args:
            name: Name of the data: one of `tables`; by default `default`.
            where: A condition on the columns. On an axis of one dimension, only that part is read.
            options: Other arguments of `File.table`.

        Returns:
            A planned scan; nothing but metadata has been read.

        Raises:
            NotFoundError: There are no such data, or no default.
            CorruptError: The data contradict the model; the message names the object.

        Example:
            >>> hs.models.nexus.open("scan.nxs").data(where="two_theta > 20").to_pandas()
        """
        return self.table(self._name(name), where, **options)

    def signal(self, name: str | None = None) -> Dataset:
        """The dataset of a signal.

        Args:
            name: Name of the data; by default `default`.

        Returns:
            The dataset.

        Raises:
            NotFoundError: There are no such data, or no default.

        Example:
            >>> hs.models.nexus.open("scan.nxs").signal()[0]
        """
        dataset: Dataset = self.file[self._facts(name)["signal"]]
        return dataset

    def axes(self, name: str | None = None) -> list[Dataset | None]:
        """The axes of a signal.

        Args:
            name: Name of the data; by default `default`.

        Returns:
            For each dimension the dataset of its axis; None for a dimension without one. Edges of bins are one more than there are
            values.

        Raises:
            NotFoundError: There are no such data, or no default.

        Example:
            >>> [axis[...] for axis in hs.models.nexus.open("scan.nxs").axes()]
        """
        return [None if path is None else self.file[path] for path in self._facts(name)["axes"]]

    def plot(
        self, out: str | None = None, name: str | None = None, index: int | tuple[int, ...] = (), *, ax: Axes | None = None, **options: Option
    ) -> Figure | str:
        """Draws data over their axes: one dimension as a line, more as an image of the last two. Needs matplotlib.

        Args:
            out: Path of the picture.
            name: Name of the data; by default `default`.
            index: Index of the leading dimensions that are not drawn; 0 by default.
            ax: The axes to draw into.
            options: `cmap`, `vmin`, `vmax` and `log` of `Dataset.plot`.

        Returns:
            `out` if it is a path, else the matplotlib figure.

        Raises:
            NotFoundError: There are no such data, or no default.
            InvalidInputError: The signal has no numbers to draw.
            MissingExtraError: Matplotlib is not installed.

        Example:
            >>> hs.models.nexus.open("scan.nxs").plot("scan.png")
        """
        return plot.plot(Signal(self.signal(name), self.axes(name)), out, index, ax=ax, **options)

    def _name(self, name: str | None) -> str:
        chosen = self.default if name is None else name
        if chosen is None:
            raise NotFoundError("there are no data to be plotted in this file: no NXdata has a signal", self.file.filename)
        path = f"/{chosen.strip('/')}"
        if chosen not in self.tables and "NXdata" in self.omitted.get(path, ""):
            reason = "neither its attribute 'signal' names a dataset, nor has a dataset an attribute 'signal' of 1"
            raise NotFoundError(f"{chosen} {self.omitted[path]}: {reason}", self.file.filename, path)
        return chosen

    def _facts(self, name: str | None) -> JsonObject:
        chosen = self._name(name)
        facts: JsonObject | None = self.facts["data"].get(chosen)
        if facts is None:
            # The table says what is wrong.
            self.table(chosen)
            raise NotFoundError(f"{chosen} is a table, but not data with a signal", self.file.filename)
        return facts


def open(file: File | Paths, **options: Unpack[FileOptions]) -> Nexus:
    """Opens a file of NeXus.

    Args:
        file: A path or an open file.
        options: Other arguments of `hyperslab.open`.

    Returns:
        The view of the file.

    Raises:
        NotFoundError: The file does not exist.
        InvalidInputError: It is not a file of NeXus.

    Example:
        >>> hs.models.nexus.open("scan.nxs").data().to_pandas()
    """
    opened = file if isinstance(file, File) else open_files(file, **options)
    view = required(opened, "nexus")
    return Nexus(opened, view.name, view.certainty, view.reason)

"""NetCDF dimension: a dimension that a netCDF-4 file defines."""

from __future__ import annotations


class NetcdfDimension:
    """A dimension: its `name`, and its `size`, `None` if it is unlimited."""

    def __init__(self, path: str, size: int | None, number: int) -> None:
        self.path, self.size, self.number = path, size, number

    @property
    def name(self) -> str:
        """The name in its group."""
        return self.path.rpartition("/")[2]

    def isunlimited(self) -> bool:
        """Whether the dimension is unlimited.

        Returns:
            `True` if it has no fixed size.
        """
        return self.size is None

    def __repr__(self) -> str:
        return f"<dimension {self.path}: {'unlimited' if self.size is None else self.size}>"

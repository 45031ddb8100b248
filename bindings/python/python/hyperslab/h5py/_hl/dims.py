"""As `h5py._hl.dims`: dimensions and their scales."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .. import h5ds


class DimensionProxy:
    """A dimension of a dataset: its label and its scales."""

    def __init__(self, id_: Any, dimension: int) -> None:
        self._id, self._dimension = id_, dimension

    @property
    def label(self) -> str:
        """The label; empty without one."""
        return h5ds.get_label(self._id, self._dimension).decode()

    @label.setter
    def label(self, val: str) -> None:
        h5ds.set_label(self._id, self._dimension, val)

    def _scales(self) -> list[Any]:
        return [scale._node for scale in h5ds.scales(self._id, self._dimension)]

    def items(self) -> list[tuple[str, Any]]:
        """Names and scales."""
        return [(h5ds.get_scale_name(scale.id).decode(), scale) for scale in self._scales()]

    def keys(self) -> list[str]:
        """Names of scales."""
        return [name for name, _ in self.items()]

    def values(self) -> list[Any]:
        """Scales."""
        return self._scales()

    def __getitem__(self, item: int | str) -> Any:
        if isinstance(item, int):
            return self._scales()[item]
        for name, scale in self.items():
            if name == item:
                return scale
        raise KeyError(item)

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def __len__(self) -> int:
        return h5ds.get_num_scales(self._id, self._dimension)

    def attach_scale(self, dset: Any) -> None:
        """Attaches a scale, in a file that is edited."""
        h5ds.attach_scale(self._id, dset.id, self._dimension)

    def detach_scale(self, dset: Any) -> None:
        """Detaches a scale, in a file that is edited."""
        h5ds.detach_scale(self._id, dset.id, self._dimension)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DimensionProxy) and (self._id, self._dimension) == (other._id, other._dimension)

    def __hash__(self) -> int:
        return hash((self._id, self._dimension))

    def __repr__(self) -> str:
        if not self._id:
            return "<Dimension of closed HDF5 dataset>"
        return f'<"{self.label}" dimension {self._dimension} of HDF5 dataset at {id(self._id)}>'


class DimensionManager:
    """The dimensions of a dataset."""

    def __init__(self, parent: Any) -> None:
        self._id = parent.id

    def __getitem__(self, index: int) -> DimensionProxy:
        if index > len(self) - 1:
            raise IndexError(f"dimension {index} of a dataset with {len(self)}")
        return DimensionProxy(self._id, index)

    def __len__(self) -> int:
        return int(self._id.rank)

    def __iter__(self) -> Iterator[DimensionProxy]:
        return (self[index] for index in range(len(self)))

    def create_scale(self, dset: Any, name: str = "") -> None:
        """Makes a dataset a scale, in a file that is edited."""
        dset.make_scale(name)

    def __repr__(self) -> str:
        return f"<Dimensions of HDF5 object at {id(self._id)}>" if self._id else "<Dimensions of closed HDF5 dataset>"

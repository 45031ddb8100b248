"""As `h5py._hl.dims`: dimensions and their scales."""

from __future__ import annotations

from collections.abc import Iterator

from ...objects.dataset import Dataset
from .. import h5d, h5ds
from .base import HLObject


class MissingScaleError(RuntimeError, IndexError):
    """A dimension has no scale of this number, which h5py reports as a `RuntimeError`."""


class DimensionProxy:
    """A dimension of a dataset: its label and its scales."""

    def __init__(self, id_: h5d.DatasetID, dimension: int) -> None:
        self._id, self._dimension = id_, dimension

    @property
    def label(self) -> str:
        """The label; empty without one."""
        return h5ds.get_label(self._id, self._dimension).decode()

    @label.setter
    def label(self, val: str) -> None:
        h5ds.set_label(self._id, self._dimension, val)

    def _scales(self) -> list[Dataset]:
        return [scale._node for scale in h5ds.scales(self._id, self._dimension)]

    def items(self) -> list[tuple[str, Dataset]]:
        """Names and scales."""
        return [(h5ds.get_scale_name(scale).decode(), scale._node) for scale in h5ds.scales(self._id, self._dimension)]

    def keys(self) -> list[str]:
        """Names of scales."""
        return [name for name, _ in self.items()]

    def values(self) -> list[Dataset]:
        """Scales."""
        return self._scales()

    def __getitem__(self, item: int | str) -> Dataset:
        if isinstance(item, int):
            scales = self._scales()
            if not -len(scales) <= item < len(scales):
                raise MissingScaleError(f"scale {item} of a dimension with {len(scales)}")
            return scales[item]
        for name, scale in self.items():
            if name == item:
                return scale
        raise KeyError(item)

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def __len__(self) -> int:
        return h5ds.get_num_scales(self._id, self._dimension)

    def attach_scale(self, dset: HLObject) -> None:
        """Attaches a scale, in a file that is edited."""
        h5ds.attach_scale(self._id, dset.id, self._dimension)

    def detach_scale(self, dset: HLObject) -> None:
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

    def __init__(self, parent: HLObject) -> None:
        self._id: h5d.DatasetID = parent.id

    def __getitem__(self, index: int) -> DimensionProxy:
        if index > len(self) - 1:
            raise IndexError(f"dimension {index} of a dataset with {len(self)}")
        return DimensionProxy(self._id, index)

    def __len__(self) -> int:
        return self._id.rank

    def __iter__(self) -> Iterator[DimensionProxy]:
        return (self[index] for index in range(len(self)))

    def create_scale(self, dset: Dataset, name: str = "") -> None:
        """Makes a dataset a scale, in a file that is edited."""
        dset.make_scale(name)

    def __repr__(self) -> str:
        return f"<Dimensions of HDF5 object at {id(self._id)}>" if self._id else "<Dimensions of closed HDF5 dataset>"

"""Fields of compound datasets, which overviews and histograms see as datasets of their own."""

from __future__ import annotations

from typing import Any

from ..base.type_aliases import AttributeValue, Elements
from ..objects.dataset import Dataset
from .requests import Refused


class Field:
    """One field of a compound dataset, with the part of a dataset's interface that drawing needs.

    Args:
        dataset: The compound dataset.
        name: The field.

    Raises:
        Refused: There is no such field.
    """

    def __init__(self, dataset: Dataset, name: str) -> None:
        fields = dict(dataset.dtype.fields or {})
        if name not in fields:
            raise Refused(422, f"'{dataset.name}' has no field '{name}': it has {', '.join(fields) or 'no fields'}")
        self._dataset, self._field = dataset, dataset.fields(name)
        self.dtype, self.name = fields[name][0], f"{dataset.name}/{name}"
        #: Bytes that are read for each value: whole elements.
        self.element_bytes = dataset.dtype.itemsize
        #: Units and fill values of the dataset do not apply to each field.
        self.attrs: dict[str, AttributeValue] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._dataset, name)

    def __getitem__(self, key: object) -> Elements:
        return self._field[key]

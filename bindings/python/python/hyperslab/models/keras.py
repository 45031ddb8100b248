"""Keras: weights of models, from `.h5` files of Keras 2 and 3 and `.weights.h5` files of Keras 3."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np

from ..base.errors import CorruptError, NotFoundError
from ..base.type_aliases import AnyArray, FileOptions, JsonObject, Paths
from ..files.file import File
from ..files.file import open as open_files
from ..files.model_view import ModelView, required

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..objects.dataset import Dataset

__all__ = ["Keras", "open"]


class Keras(ModelView):
    """The weights of a model of Keras. `hyperslab.models.keras.open` makes one."""

    @property
    def layers(self) -> list[str]:
        """The names of the layers: in the order of the model where the file has it, else as they are stored."""
        named: list[str] | None = self.facts.get("layers")
        if named is not None:
            return named
        return list(dict.fromkeys(row["layer"] for row in self._rows() if row["part"] == "model"))

    @property
    def model_config(self) -> JsonObject | None:
        """The configuration of the model; None in files of weights alone.

        Raises:
            CorruptError: It is not JSON.
        """
        return self._config("model_config")

    @property
    def training_config(self) -> JsonObject | None:
        """Loss, metrics and optimizer of a compiled model; None without them.

        Raises:
            CorruptError: It is not JSON.
        """
        return self._config("training_config")

    def weights(self, layer: str | None = None, *, optimizer: bool = False) -> dict[str, dict[str, AnyArray]]:
        """Reads weights as a tree.

        Args:
            layer: Name of a layer; by default all layers are read.
            optimizer: Read the variables of the optimizer instead.

        Returns:
            For each layer its weights by their names: paths such as `conv/kernel`, or in `.weights.h5` files numbers. Layers that share
            a name have their path. Weights of `bfloat16` become `float32`, which has all of their values.

        Raises:
            NotFoundError: There is no such layer.

        Example:
            >>> hs.models.keras.open("model.h5").weights()["conv"]["conv/kernel"].shape
            (3, 3, 3, 4)
        """
        rows = [row for row in self._rows() if (row["part"] == "optimizer") == optimizer]
        owners: dict[str, set[str]] = {}
        for row in rows:
            owners.setdefault(row["layer"], set()).add(_owner(row))
        tree: dict[str, dict[str, AnyArray]] = {}
        for row in rows:
            name = row["layer"] if len(owners[row["layer"]]) == 1 else _owner(row)
            if layer in (None, name):
                tree.setdefault(name, {})[row["weight"]] = _array(self.file[row["path"]], row["dtype"])
        if layer is not None and not tree and layer not in self.layers:
            raise NotFoundError(f"there is no layer {layer!r}; there are {', '.join(self.layers)}", self.file.filename)
        return tree

    def _rows(self) -> list[JsonObject]:
        rows: list[JsonObject] = self.table("weights").to_arrow().to_pylist()
        return rows

    def _config(self, name: str) -> JsonObject | None:
        text = self.facts.get(name)
        if text is None:
            return None
        try:
            config: JsonObject = json.loads(text)
        except ValueError as error:
            raise CorruptError(f"the attribute {name} is not JSON: {error}", self.file.filename, "/") from None
        return config


def _owner(row: JsonObject) -> str:
    """What tells layers of one name apart: the path of the group of a numbered weight, the place in the model of others."""
    group, _, name = row["path"].rpartition("/")
    return group if name == row["weight"] else f"{row['layer']}_{row['layer_index']}"


def _array(dataset: Dataset, dtype: str) -> AnyArray:
    values: AnyArray = np.asarray(dataset[()])
    if dtype == "bfloat16" and values.dtype.itemsize == 2:
        return (np.ascontiguousarray(values).view("<u2").astype("<u4") << 16).view("<f4")
    return values


def open(file: File | Paths, **options: Unpack[FileOptions]) -> Keras:
    """Opens the weights of a model of Keras.

    Args:
        file: A path or an open file.
        options: Other arguments of `hyperslab.open`.

    Returns:
        The view of the file.

    Raises:
        NotFoundError: The file does not exist.
        InvalidInputError: It does not hold weights of Keras.

    Example:
        >>> hs.models.keras.open("model.weights.h5").table("weights").to_pandas()
    """
    opened = file if isinstance(file, File) else open_files(file, **options)
    view = required(opened, "keras")
    return Keras(opened, view.name, view.certainty, view.reason)

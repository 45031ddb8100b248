"""Reference folders: references in kerchunk's folders of Parquet files, as the JSON that the reader of references takes."""

from __future__ import annotations

import base64
import itertools
import json
import os
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..base.errors import CorruptError, LimitExceededError

if TYPE_CHECKING:
    from ..base.type_aliases import Json

#: What describes all arrays, and how many chunks a file of Parquet has.
METADATA = ".zmetadata"
#: Most chunks of one document: a folder of few bytes can claim more.
MAX_CHUNKS = 1 << 27
_FILE = re.compile(r"refs\.(\d+)\.parq")


def is_folder_of_references(path: str) -> bool:
    """Whether a folder has references as kerchunk writes them."""
    return os.path.isfile(os.path.join(path, METADATA))


def document(folder: str) -> bytes:
    """The references of a folder as JSON.

    Args:
        folder: With `.zmetadata`, and a folder of Parquet files for each array.

    Raises:
        CorruptError: Metadata or a column is missing, or has another type.
        LimitExceededError: The arrays have more chunks than memory has room for.
    """
    path = os.path.join(folder, METADATA)
    try:
        with open(path, encoding="utf-8") as file:
            said = json.load(file)
        metadata, record = dict(said["metadata"]), int(said["record_size"])
        refs = {key: value if isinstance(value, str) else json.dumps(value) for key, value in metadata.items()}
        arrays = {key.removesuffix("/.zarray"): json.loads(text) for key, text in refs.items() if key.endswith("/.zarray")}
        grids = {
            name: [-(-int(extent) // max(1, int(chunk))) for extent, chunk in zip(array["shape"], array["chunks"], strict=True)]
            for name, array in arrays.items()
        }
        separators = {name: str(array.get("dimension_separator") or ".") for name, array in arrays.items()}
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise CorruptError(f"metadata of references in Parquet without what it needs: {error}", path) from None
    left = MAX_CHUNKS
    for name, grid in grids.items():
        for number, reference in _references(os.path.join(folder, *name.split("/")), record):
            left -= 1
            if left < 0:
                raise LimitExceededError(f"more than {MAX_CHUNKS} references", folder)
            key = _key(number, grid, separators[name])
            if key is not None:
                refs[f"{name}/{key}"] = reference
    return json.dumps({"version": 1, "refs": refs}).encode()


def _references(folder: str, record: int) -> Iterator[tuple[int, Json]]:
    """Numbers of chunks and where they lie."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        names = sorted((int(found[1]), name) for name in os.listdir(folder) if (found := _FILE.fullmatch(name)))
    except FileNotFoundError:
        return  # no chunk was ever written
    for first, name in names:
        path = os.path.join(folder, name)
        try:
            table = pq.read_table(path)
            missing = [None] * table.num_rows
            files, offsets, lengths, raws = (
                table[column].to_pylist() if column in table.column_names else missing for column in ("path", "offset", "size", "raw")
            )
        except pa.ArrowException as error:
            raise CorruptError(f"references in Parquet that cannot be read: {error}", path) from None
        for number, file, offset, length, raw in zip(itertools.count(first * record), files, offsets, lengths, raws, strict=False):
            if raw is not None:
                yield number, "base64:" + base64.b64encode(raw if isinstance(raw, bytes) else str(raw).encode()).decode()
            elif file is not None:
                # Without a length, all of the file is meant.
                yield number, [file, int(offset or 0), int(length)] if length else [file]


def _key(number: int, grid: list[int], separator: str) -> str | None:
    """The key of a chunk; none for rows behind the last chunk."""
    if not grid:
        return "0" if number == 0 else None
    position = []
    for count in reversed(grid):
        if count == 0:
            return None
        number, at = divmod(number, count)
        position.append(str(at))
    return separator.join(reversed(position)) if number == 0 else None

"""Type aliases: types that the signatures of several public functions share."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

#: A path of a file or folder.
Path = str | bytes | os.PathLike[str] | os.PathLike[bytes]
#: A path, a glob, or a list of paths.
Paths = Path | Sequence[Path]
#: An array of any dtype, of 64-bit integers, of doubles.
AnyArray = np.ndarray[Any, np.dtype[Any]]
Int64Array = np.ndarray[Any, np.dtype[np.int64]]
Float64Array = np.ndarray[Any, np.dtype[np.float64]]

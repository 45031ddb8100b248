"""Plot: a quick look at a dataset as a PNG."""

from __future__ import annotations

from typing import Any

import numpy as np

from .errors import InvalidInputError
from .objects import Dataset

MOST_POINTS = 2000


def plot(dataset: Dataset, out: str, index: tuple[int, ...] | None = None) -> str:
    """Draws 1-D as a line, 2-D as an image; leading indexes of N-D are 0 or `index`."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    if dataset.ndim == 0 or dataset.dtype.kind not in "iufb":
        raise InvalidInputError(f"{dataset.name} is no array of numbers: choose another", "InvalidInput")
    leading = max(0, dataset.ndim - 2)
    fixed = (tuple(index or ()) + (0,) * leading)[:leading]
    strides = [slice(None, None, max(1, -(-n // MOST_POINTS))) for n in dataset.shape[leading:]]
    values = np.ma.masked_invalid(np.asarray(dataset[(*fixed, *strides)], dtype=float))
    attrs: dict[str, Any] = {name: dataset.attrs[name] for name in ("_FillValue", "missing_value", "scale_factor",
                             "add_offset", "units", "long_name") if name in dataset.attrs}
    for name in ("_FillValue", "missing_value"):
        if name in attrs:
            values = np.ma.masked_equal(values, float(np.ravel(attrs[name])[0]))
    values = values * float(np.ravel(attrs.get("scale_factor", 1))[0]) + float(np.ravel(attrs.get("add_offset", 0))[0])
    text = [v.decode("utf-8", "replace") if isinstance(v, bytes) else str(v)
            for v in (attrs.get("long_name", dataset.name), attrs.get("units", ""))]
    figure, axes = pyplot.subplots()
    names = [name or f"dimension {i}" for i, name in enumerate(dataset.dims)][leading:]
    if values.ndim == 1:
        axes.plot(np.arange(len(values)) * strides[0].step, values)
        axes.set_xlabel(names[0])
        axes.set_ylabel(text[1])
    else:
        extent = (-0.5, dataset.shape[-1] - 0.5, dataset.shape[-2] - 0.5, -0.5)
        figure.colorbar(axes.imshow(values, aspect="auto", extent=extent), label=text[1])
        axes.set_ylabel(names[0])
        axes.set_xlabel(names[1])
    axes.set_title(text[0])
    figure.savefig(out, format="png")
    pyplot.close(figure)
    return out

"""Pages: the folder with what the browser gets, which npm builds."""

from __future__ import annotations

import os
import pathlib
from importlib.resources import files as resources

from ..base.errors import NotFoundError

#: A folder that has the pages instead of the package.
_VARIABLE = "HYPERSLAB_VIEWER_PAGES"
UNBUILT = "the pages of the viewer are not built: run `make viewer` in the sources, which needs npm, or install a wheel that has them"


def pages() -> pathlib.Path:
    """The folder of the pages.

    Returns:
        The folder; it has an `index.html`.

    Raises:
        NotFoundError: They are not built; the message says what to do.

    Example:
        >>> hyperslab.viewer.pages.pages()
    """
    folder = pathlib.Path(os.environ.get(_VARIABLE) or str(resources("hyperslab.viewer") / "static"))
    if not (folder / "index.html").is_file():
        raise NotFoundError(UNBUILT, str(folder))
    return folder

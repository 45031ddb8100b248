"""Advice: for all datasets of a file that are worth it, with what else makes reads and writes fast."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence

from .. import _native
from ..base.errors import InvalidInputError, UnsupportedError
from ..base.type_aliases import JsonObject, Path
from ..files.file import File
from ..files.file import open as open_file
from ..objects.dataset import Dataset
from ..objects.group import Group
from ..objects.tree import each_object
from ..sources.storage import StorageLayout, storage_layout
from ..tuning.machine import cores
from . import report
from .accesses import Access, parse_accesses
from .applying import Applied, apply
from .dataset_advice import AccessPrediction, DatasetAdvice, Wishes, advise_dataset, total_gain
from .hints import Hint, hints
from .layouts import Costs
from .sampling import dataset_at

#: Minimum bytes of a dataset to change, unless it is named.
MIN_BYTES = 1 << 20
#: Datasets that are advised if none is named: the largest ones.
MAX_DATASETS = 8


class Advice:
    """What to change in a file, why, and what it is predicted to bring."""

    def __init__(
        self, filename: str, accesses: Sequence[Access], datasets: Sequence[DatasetAdvice], omitted: Mapping[str, str], hints: Sequence[Hint], wishes: Wishes
    ) -> None:
        #: The file.
        self.filename = filename
        #: Advice for each dataset.
        self.datasets = tuple(datasets)
        #: Datasets without advice, with the reason.
        self.omitted = dict(omitted)
        #: Alignment, transfer size, threads, subfiles, stripes, paged metadata and value indexes.
        self.hints = tuple(hints)
        self._accesses, self._wishes = tuple(accesses), wishes

    @property
    def accesses(self) -> tuple[AccessPrediction, ...]:
        """All accesses of all datasets."""
        return tuple(access for one in self.datasets for access in one.accesses)

    @property
    def gain(self) -> float:
        """How many times as fast the accesses are predicted to become together, each with its weight."""
        return total_gain(self.accesses)

    def to_dict(self) -> JsonObject:
        """As plain values, for JSON.

        Returns:
            A dictionary of texts, numbers, lists and dictionaries.

        Example:
            >>> json.dumps(advice.to_dict())
        """
        return report.to_dict(self)

    def to_html(self) -> str:
        """As a page that needs nothing else.

        Returns:
            HTML.

        Example:
            >>> pathlib.Path("advice.html").write_text(advice.to_html())
        """
        return report.to_html(self)

    def apply(self, out: Path, *, page_bytes: int | None = None, progress: Callable[[int, int], object] | None = None) -> Applied:
        """Writes the file anew with the advised layouts, compares all values and attributes, and times the accesses in both.

        All objects are copied; one that cannot be is an error that names it, and no file is left. Indexes are not copied.

        Args:
            out: The new file; there must be none of this name.
            page_bytes: Makes a file of pages of this size.
            progress: Called with the bytes of values processed so far, and their total.

        Returns:
            The predicted and the measured gain of each access.

        Raises:
            ConflictError: There is a file of this name.
            UnsupportedError: The file has something that cannot be copied.

        Example:
            >>> hs.advise("run.h5", "one level").apply("run-levels.h5").gain
        """
        return apply(self.filename, os.fsdecode(out), self.datasets, self._wishes, page_bytes, progress)

    def _repr_html_(self) -> str:
        return report.body(self)

    def __repr__(self) -> str:
        return f"<advice for {self.filename}: {sum(not one.is_kept for one in self.datasets)} datasets to change, {self.gain:.3g} times as fast>"


def advise(
    path: Path,
    access: str | Sequence[str] | Mapping[str, float] = "whole",
    datasets: str | Sequence[str] | None = None,
    *,
    prefer: str = "balanced",
    plugins: bool = False,
    cold: bool = False,
    threads: int | None = None,
    seed: int = 1,
    work_folder: Path | None = None,
    progress: Callable[[str], object] | None = None,
) -> Advice:
    """Advises how to store a file for the reads that are wanted.

    Filters are measured on sampled chunks, and the best layouts are timed on a pilot: a temporary file with the chunks that a few
    reads touch. Nothing is changed; `Advice.apply` writes a new file.

    Args:
        path: An HDF5 or netCDF file.
        access: What programs read: `whole`, `time series at a point`, `one level`, `random rows`, `where CONDITION`, or a
            selection such as `/t2m[:, ?, ?]` (`?` is one index anywhere, `?:10` ten neighbors); several in a list, or with
            their weights in a dictionary. A text may end with its weight: `one level=3`.
        datasets: Paths of datasets; by default the largest ones of at least 1 MiB.
        prefer: `balanced` (no dataset grows by more than a tenth), `speed` (of any size) or `size` (the smallest).
        plugins: Whether zstd, lz4 and bitshuffle may be chosen, which programs that use the HDF5 library can read only with
            plugins. They are measured in any case, and a dataset that has one may keep it.
        cold: Time reads of files that are not in the page cache: their bytes are dropped from it before each read.
        threads: Number of threads of the timed reads; one per core by default.
        seed: Of the places that are sampled and read.
        work_folder: A folder for temporary files; by default the system's.
        progress: Called with the path of each dataset before it is examined.

    Returns:
        The advice. All seconds are measured on this machine, or computed where `basis` says `model`.

    Raises:
        InvalidInputError: An access is not known or does not fit, or no dataset can be advised.
        NotFoundError: There is no such file or dataset.

    Example:
        >>> hs.advise("run.nc", {"time series at a point": 10, "one level": 1}).gain
    """
    if prefer not in ("balanced", "speed", "size"):
        raise InvalidInputError(f"prefer={prefer!r}: give balanced, speed or size")
    accesses = parse_accesses(access)
    with open_file(path, threads=threads) as file:
        if len(file.files) > 1:
            raise InvalidInputError(f"{len(file.files)} files match: give one")
        wanted, omitted = _chosen(file.files[0], accesses, datasets)
        with tempfile.TemporaryDirectory(prefix="hyperslab-advise-", dir=None if work_folder is None else os.fsdecode(work_folder)) as folder:
            wishes = Wishes(accesses, prefer, plugins, cold, threads, seed, folder)
            costs = Costs(threads=threads or cores())
            found = []
            for dataset in wanted:
                if progress is not None:
                    progress(dataset.name)
                found.append(advise_dataset(dataset, file.filename, wishes, costs))
        layout = storage_layout(file.filename) if os.path.exists(file.filename) else StorageLayout(_native.parse_layout(b""))
        return Advice(file.filename, accesses, found, omitted, hints(file.files[0], layout, found, accesses), wishes)


def _chosen(file: File, accesses: Sequence[Access], named: str | Sequence[str] | None) -> tuple[list[Dataset], dict[str, str]]:
    """The datasets that are advised, and why others are not."""
    paths = [named] if isinstance(named, str) else list(named or ())
    # A selection with a path is about that dataset.
    paths += [access.path for access in accesses if access.path is not None and access.path not in paths]
    everywhere = any(access.path is None for access in accesses)
    if named is None and everywhere:
        paths = []
    omitted: dict[str, str] = {}
    if paths:
        chosen = [dataset_at(file, path) for path in paths]
        for dataset in chosen:
            if reason := refusal(dataset, 1):
                raise UnsupportedError(f"no advice for this dataset: {reason}", file.filename, dataset.name)
        return chosen, omitted
    found = []
    for dataset in _datasets(file):
        if reason := refusal(dataset, MIN_BYTES):
            omitted[dataset.name] = reason
        else:
            found.append(dataset)
    found.sort(key=lambda dataset: -dataset.nbytes)
    for dataset in found[MAX_DATASETS:]:
        omitted[dataset.name] = f"the {MAX_DATASETS} largest datasets are advised; name it"
    if not found:
        raise InvalidInputError("no dataset of at least 1 MiB of numbers: name one", file.filename)
    return found[:MAX_DATASETS], omitted


def refusal(dataset: Dataset, min_bytes: int) -> str | None:
    """Why a dataset is not advised."""
    if dataset.refusal:
        return str(dataset.refusal)
    if dataset.dtype.hasobject or dataset.dtype.kind not in "iufcbSV":
        return f"{dataset.dtype} has no fixed size"
    if not dataset.shape or not dataset.size:
        return "it has no elements along dimensions"
    if dataset.is_virtual:
        return "it is virtual: its values are in other datasets"
    if dataset.nbytes < min_bytes:
        return f"{dataset.nbytes} bytes are too few to matter"
    return None


def _datasets(group: Group) -> Iterator[Dataset]:
    """Each dataset of the file once."""
    return (node for node in each_object(group) if isinstance(node, Dataset))

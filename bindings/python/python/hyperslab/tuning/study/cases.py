"""Cases: what is written and read, by which library. Each case is measured several times."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass

from ...base.type_aliases import JsonObject

#: Elements of a row: 64 KiB of 32-bit floats.
COLUMNS = 16384
ROW_BYTES = 4 * COLUMNS
LIBRARIES = ("POSIX", "HDF5 (h5py)", "netCDF-4", "parallel HDF5", "Hyperslab")
#: Experiments in the order of the report, with their titles.
EXPERIMENTS = {
    "patterns": "Disjoint and interleaved pattern, aligned or not",
    "transfer": "Varying transfer size",
    "chunks": "Chunked layout: square chunks and rows",
    "fill": "Fill values written in advance, or not",
    "factor": "Subfiling: tasks of a subfile",
    "stripe": "Subfiling: stripe count and stripe size",
    "threshold": "Alignment threshold",
}


@dataclass(frozen=True)
class Case:
    """One way to write and read a dataset of two dimensions.

    Attributes:
        experiment: One of `EXPERIMENTS`.
        library: One of `LIBRARIES`.
        pattern: `disjoint`: each client has a run of rows. `interleaved`: clients take turns, a transfer each.
        transfer_bytes: Bytes of one call; whole rows.
        chunk_bytes: Bytes of a chunk; 0 for contiguous storage.
        chunk_form: `square`, or `rows` for whole rows; empty for contiguous storage.
        alignment_bytes: Objects of the file begin at multiples of it; 0 for the library's own choice.
        threshold_bytes: Only objects of at least this size are aligned.
        fill: Whether the library writes fill values before the data.
        factor: Tasks of a subfile; 0 for one file.
        stripes: Number and size of stripes on Lustre; `(0, 0)` for the stripes of the folder.
    """

    experiment: str
    library: str
    pattern: str = "disjoint"
    transfer_bytes: int = 1 << 20
    chunk_bytes: int = 0
    chunk_form: str = ""
    alignment_bytes: int = 0
    threshold_bytes: int = 1
    fill: bool = False
    factor: int = 0
    stripes: tuple[int, int] = (0, 0)

    def to_dict(self) -> JsonObject:
        """As plain values."""
        return {**asdict(self), "stripes": list(self.stripes)}

    @classmethod
    def of(cls, values: JsonObject) -> Case:
        """The case of what `to_dict` returned."""
        return cls(**{**values, "stripes": tuple(values["stripes"])})

    def chunks(self, rows: int) -> tuple[int, int] | None:
        """The chunk shape in a dataset with this number of rows; `None` for contiguous storage."""
        if not self.chunk_bytes:
            return None
        if self.chunk_form == "rows":
            return min(max(self.chunk_bytes // ROW_BYTES, 1), rows), COLUMNS
        side = 1
        while 4 * (2 * side) ** 2 <= self.chunk_bytes:
            side *= 2
        # In a dataset of fewer rows, a chunk of as many bytes is wider.
        return min(side, rows), min(self.chunk_bytes // 4 // min(side, rows), COLUMNS)

    def pieces(self, client: int, clients: int, rows: int) -> list[tuple[int, int]]:
        """The rows of each transfer of a client, first and last plus one."""
        each = max(self.transfer_bytes // ROW_BYTES, 1)
        if self.pattern == "interleaved":
            starts = list(range(client * each, rows, clients * each))
            return [(start, min(start + each, rows)) for start in starts]
        share = rows // clients
        end = rows if client == clients - 1 else (client + 1) * share
        return [(start, min(start + each, end)) for start in range(client * share, end, each)]


def cases(libraries: dict[str, str | None], clients: int, size_bytes: int, block_bytes: int, lustre: str | None) -> Iterator[Case]:
    """All cases. `libraries` has the reason why one cannot be measured; `lustre` why stripes cannot be set."""
    usable = [name for name in LIBRARIES if libraries[name] is None]
    formats = [name for name in usable if name != "POSIX"]
    share = size_bytes // clients
    aligned = max(block_bytes, 1 << 20)
    sizes = [size for size in (64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20) if size <= share]
    for name in usable:
        for pattern in ("disjoint", "interleaved"):
            for alignment in (0, aligned) if name != "POSIX" else (0,):
                yield Case("patterns", name, pattern, min(1 << 20, share), alignment_bytes=alignment)
    for name in usable:
        for pattern in ("disjoint", "interleaved"):
            for size in sizes:
                yield Case("transfer", name, pattern, size, alignment_bytes=0 if name == "POSIX" else aligned)
    for name in formats:
        for form in ("square", "rows"):
            for size in sizes:
                yield Case("chunks", name, transfer_bytes=max(sizes), chunk_bytes=size, chunk_form=form)
    for name in formats:
        for fill in (False, True) if name != "Hyperslab" else (False,):
            for size in (0, min(1 << 20, share)):
                yield Case("fill", name, chunk_bytes=size, chunk_form="rows" if size else "", transfer_bytes=min(1 << 20, share), fill=fill)
    factor = 1
    while factor <= clients:
        yield Case("factor", "Hyperslab", transfer_bytes=min(1 << 20, share), factor=factor)
        factor *= 2
    for size in (1 << 20, 4 << 20, 16 << 20) if lustre is None else ():
        for count in (1, 4, 16):
            yield Case("stripe", "Hyperslab", transfer_bytes=min(1 << 20, share), factor=max(clients // 2, 1), stripes=(count, size))
    if "HDF5 (h5py)" in usable:
        for threshold in (1, 64 << 10, 1 << 20, 2 << 20):
            chunk = min(1 << 20, share)
            yield Case(
                "threshold", "HDF5 (h5py)", chunk_bytes=chunk, chunk_form="rows", transfer_bytes=chunk, alignment_bytes=aligned, threshold_bytes=threshold
            )

"""Commands that look after files: verify, vacuum, fuse, index, and where the jar for Spark is."""

from __future__ import annotations

import json
import os
from typing import Annotated

import typer

import hyperslab as hs

from .app import OPEN, AsJson, FileName, OutName, Raw, command, open_file
from .progress import counting, reporting, waiting
from .stopping import Stopped, careful


@command("hyperslab verify run.h5", "hyperslab verify run.h5 --values --json")
def verify(file: FileName, values: Annotated[bool, typer.Option("--values", help="Also read all bytes.")] = False, as_json: AsJson = False) -> None:
    """Check that all subfiles of a container exist, are complete, and belong together; exit status 1 if not."""
    with waiting("checking"):
        found = hs.verify(file, values=values)
    if as_json:
        print(json.dumps(found._asdict(), ensure_ascii=False))
    else:
        for finding in found.problems + [f"remark: {remark}" for remark in found.remarks]:
            print(finding)
        print(f"{file}: {len(found.problems)} problems, {found.commits} commits, {found.subfiles} subfiles, {found.subfile_bytes} bytes")
    if found.problems:
        raise typer.Exit(1)


@command("hyperslab vacuum run.h5 --dry-run", "hyperslab vacuum run.h5 --hours 1")
def vacuum(
    file: FileName,
    hours: Annotated[float, typer.Option(help="Only what was not touched for this many hours.")] = 24,
    orphans: Annotated[bool, typer.Option("--orphans", help="Also remove commits that no master in the folder uses.")] = False,
    shrink: Annotated[bool, typer.Option("--shrink", help="Also replace an HDF5 file by a copy without unused bytes.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Remove nothing, only list what would be removed.")] = False,
    as_json: AsJson = False,
) -> None:
    """Remove leftovers of killed writers and killed index builds of a file, and overwritten data."""
    with careful():
        done = hs.vacuum(
            file,
            hours=hours,
            index_folder=OPEN.get("index_folder"),
            orphans=orphans,
            shrink=shrink,
            dry_run=dry_run,
            storage_options=OPEN.get("storage_options"),
        )
    if as_json:
        print(json.dumps(done._asdict()))
    else:
        if dry_run:
            for name in [*done.removed, *done.files, *done.indexes]:
                print(name)
        removed = "would remove" if dry_run else "removed"
        print(
            f"{file}: {removed} {len(done.removed)} writes, left {len(done.young)} that are younger than {hours:g} hours; "
            f"{removed} {len(done.files)} files of killed writers and {len(done.indexes)} leftovers of indexes"
        )
        if shrink:
            print(f"{file}: {'would be' if dry_run else 'is'} {done.shrunk_bytes:,} bytes smaller without unused bytes")
        if done.orphans:
            count = len(done.orphans)
            print(f"{count} commit{'s belong' if count > 1 else ' belongs'} to no master in this folder; --orphans removes {'them' if count > 1 else 'it'}")


@command("hyperslab fuse run.h5 single.h5")
def fuse(
    file: FileName, out: OutName, force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False, as_json: AsJson = False
) -> None:
    """Make one ordinary file of a container; copies chunks without decoding them if possible."""
    with careful(), reporting(os.path.basename(out), "bytes") as report:
        made = hs.fuse(file, out, "w" if force else "x", progress=report)
    if as_json:
        print(json.dumps({**made._asdict(), "changes": [one._asdict() for one in made.changes]}))
    else:
        print(
            f"wrote {out}: {made.bytes} bytes, {made.copied_chunks} chunks copied, {made.reencoded_bytes} bytes of values encoded again",
            *made.changes,
            sep="\n",
        )


@command(
    "hyperslab repack profiles.nc small.nc --compression zstd --shuffle",
    "hyperslab repack profiles.nc pages.nc --pages 65536",
    "hyperslab repack profiles.nc part.nc --only /theta --libver v108",
)
def repack(
    file: FileName,
    out: OutName,
    dataset: Annotated[list[str] | None, typer.Option("--dataset", metavar="PATTERN", help="Change only datasets with such a path (may be repeated).")] = None,
    chunks: Annotated[str | None, typer.Option(metavar="N,N", help="Shape of chunks, for datasets with as many dimensions.")] = None,
    contiguous: Annotated[bool, typer.Option("--contiguous", help="No chunks and no filters.")] = False,
    compression: Annotated[str | None, typer.Option(metavar="NAME", help="zstd, gzip, lz4, lzf, bitshuffle, szip, or none.")] = None,
    level: Annotated[int | None, typer.Option(help="The level of compression.")] = None,
    shuffle: Annotated[bool | None, typer.Option("--shuffle/--no-shuffle", help="Shuffle bytes before they are compressed.")] = None,
    fletcher32: Annotated[bool | None, typer.Option("--fletcher32/--no-fletcher32", help="Checksums of chunks.")] = None,
    pages: Annotated[int | None, typer.Option("--pages", metavar="BYTES", help="Make pages of this size, for object stores.")] = None,
    alignment: Annotated[int | None, typer.Option(metavar="BYTES", help="Begin large blocks at multiples of this.")] = None,
    libver: Annotated[str | None, typer.Option(metavar="VERSION", help="Newest version of HDF5 whose structures the file may have: v108, v110 …")] = None,
    only: Annotated[list[str] | None, typer.Option("--only", metavar="PATTERN", help="Copy only such paths, with all below (may be repeated).")] = None,
    exclude: Annotated[list[str] | None, typer.Option("--exclude", metavar="PATTERN", help="Leave out such paths, with all below.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a copy that was interrupted.")] = False,
    verify: Annotated[bool, typer.Option("--verify/--no-verify", help="Compare the new file with the old one.")] = True,
    as_json: AsJson = False,
) -> None:
    """Copy an HDF5 file with other chunks and filters and without lost space; what stays as it is, is not decoded."""
    shape = None
    if chunks is not None:
        given = [part.strip() for part in chunks.split(",")]
        if not all(part.isdecimal() for part in given):
            raise typer.BadParameter(f"{chunks}: give whole numbers, as in 10,100")
        shape = [int(part) for part in given]
    try:
        with careful(), reporting(os.path.basename(out), "bytes") as report:
            made = hs.repack(
                file,
                out,
                dataset or "*",
                chunks=shape,
                contiguous=contiguous,
                compression=compression,
                compression_opts=level,
                shuffle=shuffle,
                fletcher32=fletcher32,
                page_bytes=pages,
                alignment=alignment,
                libver=libver,
                only=only,
                exclude=exclude or (),
                resume=resume,
                verify=verify,
                progress=report,
            )
    except (Stopped, KeyboardInterrupt):
        if resume:
            typer.echo("hyperslab: interrupted; what was copied is kept, and the same command goes on from there", err=True)
        raise
    if as_json:
        print(json.dumps({**made._asdict(), "changes": [one._asdict() for one in made.changes]}))
        return
    print(
        f"wrote {out}: {made.bytes} bytes of {made.before_bytes}; {len(made.changed)} datasets are stored in another way, "
        f"{made.copied_chunks} chunks copied, {made.reencoded_bytes} bytes of values encoded again",
        *made.changes,
        sep="\n",
    )


@command(
    "hyperslab convert profiles.nc profiles.arrow",
    "hyperslab convert container.arrow again.nc",
)
def convert(
    file: FileName,
    out: OutName,
    form: Annotated[str | None, typer.Option(metavar="FORM", help="folder or file, the forms of a container, or hdf5.")] = None,
    verify: Annotated[bool, typer.Option("--verify/--no-verify", help="Compare the copy with the original.")] = True,
    as_json: AsJson = False,
) -> None:
    """Copy an HDF5 file into a container of Arrow files, or a container into an HDF5 file; the copy is compared."""
    with careful(), reporting(os.path.basename(out), "bytes") as report:
        made = hs.convert(file, out, form, verify=verify, progress=report)
    if as_json:
        print(json.dumps({**made._asdict(), "changes": [one._asdict() for one in made.changes]}))
    else:
        kind = "an HDF5 file" if made.form == "hdf5" else f"a container (form={made.form})"
        print(f"wrote {out}: {made.bytes} bytes, {kind}", *made.changes, sep="\n")


def _bytes_of(given: str) -> int:
    """A number of bytes, such as 1048576 or 1MiB."""
    number = given.removesuffix("KiB").removesuffix("MiB")
    if not number.isdecimal():
        raise typer.BadParameter(f"--restart-points {given}: give bytes, such as 1048576 or 1MiB")
    return int(number) * (1 << 10 if given.endswith("KiB") else 1 << 20 if given.endswith("MiB") else 1)


@command(
    "hyperslab index profiles.nc /theta /salinity",
    "hyperslab index profiles.nc '/t*' --level Z --plan",
    "hyperslab index flow.h5 --box /u,/wind",
)
def index(
    file: FileName,
    datasets: Annotated[
        list[str] | None, typer.Argument(metavar="DATASETS", help="Paths of datasets, members of compound datasets, or groups; * and ? are wildcards.")
    ] = None,
    box: Annotated[
        list[str] | None,
        typer.Option("--box", metavar="DATASETS", help="2 to 4 paths, separated by commas, for one composite index of them; may be given several times."),
    ] = None,
    level: Annotated[str | None, typer.Option(help="Z, K, P, X, B or W; one that suits each dataset by default.")] = None,
    raw: Raw = False,
    together: Annotated[bool, typer.Option("--together", help="Make one index of all files of a folder.")] = False,
    embedded: Annotated[bool, typer.Option("--embedded", help="Append the index to each HDF5 file itself.")] = False,
    rebuild: Annotated[bool, typer.Option("--rebuild", help="Build valid indexes again, too.")] = False,
    plan: Annotated[bool, typer.Option("--plan", help="Only show what would be built.")] = False,
    as_json: AsJson = False,
) -> None:
    """Build value indexes next to the files, or bring them up to date; queries use them automatically."""
    wanted: list[str | tuple[str, ...]] = [*(datasets or ()), *(tuple(paths.split(",")) for paths in box or ())]
    if not wanted:
        raise typer.BadParameter("name the datasets to index, or give --box")
    if embedded and not plan:
        with careful(), waiting("indexing"):
            planned = hs.index(
                open_file(file), wanted, level, raw=raw, together=together, rebuild=rebuild, embedded=True, index_folder=OPEN.get("index_folder")
            )
    else:
        planned = hs.indexes.plan(open_file(file), wanted, level, raw=raw, together=together, rebuild=rebuild, index_folder=OPEN.get("index_folder"))
    if not plan and not embedded:
        with careful(), counting("indexing", planned.value_bytes, "bytes") as advance:
            planned.run(advance)
    if as_json:
        print(json.dumps([entry._asdict() for entry in planned.datasets]))
    else:
        print(planned.explain())


@command("hyperslab chunk-index s3://bucket/run.h5", "hyperslab chunk-index --restart-points 1MiB --out beside profiles.nc", name="chunk-index")
def chunk_index(
    file: FileName,
    out: Annotated[
        str | None, typer.Option("--out", metavar="PATH", help="A file, folder or address instead of the cache folder, or 'beside' the remote file.")
    ] = None,
    inline_threshold: Annotated[int, typer.Option("--inline-threshold", metavar="BYTES", min=0, help="Keep the values of datasets of at most BYTES, too.")] = 0,
    restart_points: Annotated[
        str | None,
        typer.Option("--restart-points", metavar="BYTES", help="Record restart points in large gzip chunks, one for every BYTES of output, such as 1MiB."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Keep the metadata of a remote file here, so that it opens without a request."""
    interval = None if restart_points is None else _bytes_of(restart_points)
    with careful(), waiting("reading metadata" if interval is None else "reading chunks"):
        made = hs.indexes.chunk_index(
            file,
            out,
            inline_threshold=inline_threshold,
            restart_points=interval,
            threads=OPEN.get("threads"),
            storage_options=OPEN.get("storage_options"),
        )
    if as_json:
        print(json.dumps(made._asdict()))
        return
    damaged = f"; {made.unreadable:,} of them cannot be read" if made.unreadable else ""
    metadata = f", the metadata of {made.objects:,} objects" if made.metadata_bytes else ""
    points = "" if interval is None else f", {made.restart_points:,} restart points of {made.restart_chunks:,} chunks"
    print(f"wrote {made.path}: {made.bytes:,} bytes{metadata}{points}{damaged}")


@command("spark-submit --jars $(hyperslab spark-jar) job.py", name="spark-jar")
def spark_jar() -> None:
    """Print the path of the jar for Spark, as in: spark-submit --jars $(hyperslab spark-jar)"""
    print(hs.spark.jar())

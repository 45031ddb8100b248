"""Running programs with the connector, and reading with pyarrow what they wrote."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import textwrap

import pyarrow as pa
import pyarrow.ipc as ipc

TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", pathlib.Path.home() / ".cache/hyperslab/target"))
PLUGIN = pathlib.Path(os.environ.get("HYPERSLAB_VOL", TARGET / "debug" / "libhyperslab_vol.so"))
#: Writes a file with every kind of object by h5py.
CONTAINER_PROGRAM = pathlib.Path(__file__).parents[1] / "lib" / "container_program.py"


def run(program: list[str], plugins: pathlib.Path | None = None, connector: str = "arrow") -> subprocess.CompletedProcess[str]:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("HDF5_")}
    if plugins:
        environment |= {"HDF5_PLUGIN_PATH": str(plugins), "HDF5_VOL_CONNECTOR": connector}
    return subprocess.run([sys.executable, *program], env=environment, capture_output=True, text=True, timeout=120, check=False)


def script(text: str, *arguments: object) -> list[str]:
    return ["-c", textwrap.dedent(text), *map(str, arguments)]


def tables(folder: pathlib.Path) -> dict[str, pa.Table]:
    """The values of each dataset of a container that is a folder."""
    catalog = ipc.open_file(folder / "catalog.arrow").read_all()
    packed: dict[str, pa.Buffer] = {}
    for pack in (catalog.schema.metadata.get(b"hyperslab.packs") or b"").decode().split(","):
        packed |= files_of_one_file(folder / pack) if pack else {}

    def source(name: str) -> pa.Buffer | pa.MemoryMappedFile:
        return packed[name] if name in packed else pa.memory_map(str(folder / name))

    return {row["path"]: ipc.open_file(source(row["file"])).read_all() for row in catalog.to_pylist() if row["file"]}


def files_of_one_file(path: pathlib.Path) -> dict[str, pa.Buffer]:
    """The files in a container that is one file, or in a pack: as docs/vol.md says, nothing is copied."""
    rows = ipc.open_file(pa.memory_map(str(path))).read_all()
    _, ends, content = rows["content"].chunk(0).buffers()
    at = pa.Array.from_buffers(pa.int64(), len(rows) + 1, [None, ends]).to_pylist()
    return {name: content[at[i] : at[i + 1]] for i, name in enumerate(rows["name"].to_pylist())}


def tables_of_one_file(path: pathlib.Path) -> dict[str, pa.Table]:
    """The values of each dataset of a container that is one file."""
    files = files_of_one_file(path)
    catalog = ipc.open_file(files["catalog.arrow"]).read_all().to_pylist()
    return {row["path"]: ipc.open_file(files[row["file"]]).read_all() for row in catalog if row["file"]}

"""The example programs that come with HDF5's sources: where they are, in which order they run, and how they are compiled."""

from __future__ import annotations

import dataclasses
import pathlib
import re

#: Programs of a folder that read what others wrote run after them; elsewhere they run in the order of their names.
FIRST = {
    "HDF5Examples/C/TUTR": [
        "h5_crtdat",
        "h5_rdwt",
        "h5_crtatt",
        "h5_crtgrp",
        "h5_crtgrpar",
        "h5_crtgrpd",
        "h5_write",
        "h5_read",
        "h5_extend_write",
        "h5_chunk_read",
    ],
    "HDF5Examples/CXX/H5D": ["create", "writedata", "readdata"],
    "HDF5Examples/CXX/TUTR": ["h5tutr_crtdat", "h5tutr_rdwt", "h5tutr_crtatt", "h5tutr_crtgrp", "h5tutr_crtgrpar", "h5tutr_crtgrpd"],
    "HDF5Examples/FORTRAN/TUTR": ["h5_crtdat", "h5_rdwt", "h5_crtatt", "h5_crtgrp", "h5_crtgrpar", "h5_crtgrpd"],
    "hl/examples": ["ex_lite1", "ex_lite2", "ex_lite3"],
}
#: Folders, in HDF5's sources. Left out: H5FLT, whose filters are not HDF5's own; Perf, which writes 16 GiB; H5PAR, which needs MPI.
SERIAL = [
    *(f"HDF5Examples/C/{name}" for name in ("H5D", "H5D/16", "H5G", "H5G/16", "H5T", "H5T/16", "H5VDS", "TUTR")),
    "doxygen/examples",
    "hl/examples",
    *("HDF5Examples/CXX/H5D", "HDF5Examples/CXX/TUTR", "hl/c++/examples"),
    *("HDF5Examples/FORTRAN/H5D", "HDF5Examples/FORTRAN/H5G", "HDF5Examples/FORTRAN/H5T", "HDF5Examples/FORTRAN/TUTR", "hl/fortran/examples"),
]
#: What an example needs next to it.
DATA = {".h5", ".txt"}
LIBRARIES = {
    ".c": ["-lhdf5_hl", "-lhdf5", "-lm"],
    ".cpp": ["-lhdf5_hl_cpp", "-lhdf5_cpp", "-lhdf5_hl", "-lhdf5"],
    ".f90": ["-lhdf5_hl_fortran", "-lhdf5_fortran", "-lhdf5_hl", "-lhdf5"],
}


@dataclasses.dataclass(frozen=True)
class Example:
    group: str
    source: pathlib.Path

    @property
    def name(self) -> str:
        return f"{self.group.removeprefix('HDF5Examples/')}/{self.source.stem}"

    @property
    def language(self) -> str:
        return self.source.suffix.lower()

    def command(self, installed: pathlib.Path, fortran: str, program: pathlib.Path) -> list[str]:
        compiler = {".c": "cc", ".cpp": "c++", ".f90": fortran}[self.language]
        version = ["-DH5_USE_16_API"] if self.group.endswith("/16") else ["-DTRUE=1", "-DFALSE=0"]
        modules = [f"-I{installed / 'mod'}", f"-I{installed / 'mod' / 'shared'}", f"-J{program.parent}"] if self.language == ".f90" else ["-w"]
        include = [f"-I{installed / 'include'}", f"-I{self.source.parent}", *modules]
        link = [f"-L{installed / 'lib'}", f"-Wl,-rpath,{installed / 'lib'}", *LIBRARIES[self.language]]
        return [compiler, "-O1", *version, *include, str(self.source), "-o", str(program), *link]


def examples(sources: pathlib.Path, group: str) -> list[Example]:
    """The programs of a folder, in the order in which they run."""
    found = [path for path in (sources / group).iterdir() if path.suffix.lower() in LIBRARIES and is_program(path)]
    first = FIRST.get(group, [])
    found.sort(key=lambda path: (first.index(path.stem) if path.stem in first else len(first), path.stem))
    return [Example(group, path) for path in found]


def is_program(path: pathlib.Path) -> bool:
    text = path.read_text(errors="replace")
    return re.search(r"^\s*(int|void|herr_t)?\s*main\s*\(|^\s*program\s", text, re.MULTILINE | re.IGNORECASE) is not None

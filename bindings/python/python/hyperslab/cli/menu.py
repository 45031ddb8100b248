"""Menu: all commands in the sections and the order of help, with the line of each in it, and the module that has it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Entry(NamedTuple):
    """A command.

    Attributes:
        module: The module of this folder that has it.
        summary: Its line in the list of commands.
    """

    module: str
    summary: str


#: The commands by what they are for: first what everyone needs.
SECTIONS = {
    "Look": {
        "ls": Entry("inspect", "Show the tree: shapes, types, chunks, filters."),
        "info": Entry("inspect", "Show format and sizes, or all about an object."),
        "head": Entry("query", "Show the first rows of a table."),
        "plot": Entry("query", "Draw a dataset as a picture."),
        "view": Entry("view", "Show files in the browser."),
        "stat": Entry("check", "Show where the bytes of a file are."),
        "diff": Entry("compare", "Compare two files."),
    },
    "Query": {
        "sql": Entry("query", "Run an SQL query (DuckDB)."),
        "query": Entry("query", "Find the elements of arrays that match."),
        "export": Entry("query", "Write a table as Parquet, Arrow, CSV, JSON, HDF5 …"),
        "index": Entry("storage", "Build value indexes, which queries use."),
        "serve": Entry("serve", "Serve files to SQL clients (Arrow Flight SQL)."),
    },
    "Many files": {
        "merge": Entry("many", "Make one file of many."),
        "catalog": Entry("catalog", "Write what many files hold as a table."),
        "references": Entry("references", "Write where the chunks of a file lie."),
        "chunk-index": Entry("storage", "Keep a remote file's metadata here."),
    },
    "Change": {
        "attr": Entry("edit", "List, set or remove attributes."),
        "rm": Entry("edit", "Remove objects from a file."),
        "mv": Entry("edit", "Rename an object in a file."),
        "cp": Entry("edit", "Copy an object, also to another file."),
    },
    "Store": {
        "advise": Entry("advise", "Advise how to store a file for its reads."),
        "repack": Entry("storage", "Copy a file with other chunks or filters."),
        "convert": Entry("storage", "Convert between HDF5 and Arrow containers."),
    },
    "Many writers": {
        "fuse": Entry("storage", "Make one ordinary file of a container."),
        "verify": Entry("storage", "Check that a container is complete."),
        "vacuum": Entry("storage", "Remove leftovers of killed writers."),
    },
    "Damage": {
        "check": Entry("check", "Look for damage in files."),
        "recover": Entry("check", "Save what a damaged file holds."),
    },
    "Machine": {
        "tune": Entry("tune", "Measure this machine, and write a profile."),
        "profile": Entry("tune", "Show the profile in force."),
        "simulate": Entry("simulate", "Simulate reads, writes and queries on machines."),
        "doctor": Entry("doctor", "Show what is installed, and what is missing."),
        "spark-jar": Entry("storage", "Print the path of the jar for Spark."),
        "man": Entry("manual", "Print the manual, for man."),
    },
}
#: All commands in that order.
MENU = {name: entry for section in SECTIONS.values() for name, entry in section.items()}


def modules_of(words: Sequence[str]) -> list[str]:
    """The modules of all commands that a command line may mean.

    Args:
        words: The words after `hyperslab`.

    Returns:
        Names of modules.
    """
    # Words before the command may be values of options: every word that is called like a command is taken for one.
    return sorted({MENU[word].module for word in words if word in MENU})

"""Menu: all commands in the order of help, with the line of each in it, and the module that has it."""

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


#: First what looks into files, then what builds and stores, then what concerns the machine.
MENU = {
    "ls": Entry("inspect", "Show the tree: shapes, types, chunks, filters."),
    "info": Entry("inspect", "Show format and sizes, or all about an object."),
    "head": Entry("query", "Show the first rows of a table."),
    "sql": Entry("query", "Run an SQL query (DuckDB)."),
    "query": Entry("query", "Find the elements of arrays that match."),
    "export": Entry("query", "Write a table as Parquet, Arrow, CSV, JSON, HDF5 …"),
    "plot": Entry("query", "Draw a dataset as a picture."),
    "view": Entry("view", "Show files in the browser."),
    "serve": Entry("serve", "Serve files to SQL clients (Arrow Flight SQL)."),
    "index": Entry("storage", "Build value indexes, which queries use."),
    "advise": Entry("advise", "Advise how to store a file for its reads."),
    "stat": Entry("check", "Show where the bytes of a file are."),
    "check": Entry("check", "Look for damage in files."),
    "recover": Entry("check", "Save what a damaged file holds."),
    "diff": Entry("compare", "Compare two files."),
    "catalog": Entry("catalog", "Write what many files hold as a table."),
    "merge": Entry("many", "Make one file of many."),
    "references": Entry("references", "Write where the chunks of a file lie."),
    "repack": Entry("storage", "Copy a file with other chunks or filters."),
    "convert": Entry("storage", "Convert between HDF5 and Arrow containers."),
    "fuse": Entry("storage", "Make one ordinary file of a container."),
    "verify": Entry("storage", "Check that a container is complete."),
    "vacuum": Entry("storage", "Remove leftovers of killed writers."),
    "attr": Entry("edit", "List, set or remove attributes."),
    "rm": Entry("edit", "Remove objects from a file."),
    "mv": Entry("edit", "Rename an object in a file."),
    "cp": Entry("edit", "Copy an object, also to another file."),
    "tune": Entry("tune", "Measure this machine, and write a profile."),
    "profile": Entry("tune", "Show the profile in force."),
    "simulate": Entry("simulate", "Simulate reads, writes and queries on machines."),
    "doctor": Entry("doctor", "Show what is installed, and what is missing."),
    "spark-jar": Entry("storage", "Print the path of the jar for Spark."),
    "man": Entry("manual", "Print the manual, for man."),
}


def modules_of(words: Sequence[str]) -> list[str]:
    """The modules of all commands that a command line may mean.

    Args:
        words: The words after `hyperslab`.

    Returns:
        Names of modules.
    """
    # Words before the command may be values of options: every word that is called like a command is taken for one.
    return sorted({MENU[word].module for word in words if word in MENU})

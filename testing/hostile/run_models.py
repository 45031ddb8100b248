"""Reads the files of `models.py`, each in a process of its own with 2 GiB of address space and 10 seconds of processor time.

Views answer or raise an `hs.Error` that is no `InternalError` and that names the object or the file. `run_models.py [--count 2000] [--first 0]`
prints findings and exits with 1 if there is one.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import json
import os
import pathlib
import resource
import shutil
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable
from typing import Any

import hyperslab as hs
import models

ADDRESS_SPACE = 2 << 30
SECONDS = 10
ROWS = 1000


class Answers:
    """What the views of a file answered, and which errors there were."""

    def __init__(self) -> None:
        self.answered = 0
        self.errors: collections.Counter[str] = collections.Counter()
        self.problems: list[str] = []
        self.messages: list[str] = []

    def ask(self, work: Callable[[], Any]) -> Any:
        try:
            result = work()
        except hs.Error as error:
            if isinstance(error, hs.InternalError):
                raise
            if error.object is None and error.file is None and not isinstance(error, (hs.InvalidInputError, hs.NotFoundError)):
                raise AssertionError(f"an error without a place: {type(error).__name__}: {error}") from None
            self.errors[error.kind] += 1
            self.messages.append(f"{error.object}: {error}")
            return None
        self.answered += 1
        return result


def read(path: pathlib.Path) -> Answers:
    """Everything that a file's models answer."""
    answers = Answers()
    file = answers.ask(lambda: hs.open(path, threads=1))
    for view in (answers.ask(lambda: file.models) if file is not None else None) or ():
        answers.problems += [problem.object for problem in answers.ask(view.validate) or ()]
        for work in (lambda view=view: view.contents(), lambda view=view: view.omitted, lambda view=view: view.facts, lambda view=view: view.arrays):
            answers.ask(work)
        for table in answers.ask(lambda view=view: view.tables) or ():
            answers.ask(lambda view=view, table=table: view.table(table, limit=ROWS, omitted="ignore").to_arrow())
        answers.ask(lambda view=view: values(view.name, file, answers))
    return answers


def values(model: str, file: Any, answers: Answers) -> None:
    """The values that a model has beyond tables."""
    if model == "matlab":
        for squeeze in (True, False):
            view = hs.models.matlab.open(file, squeeze=squeeze)
            for name in view:
                answers.ask(lambda view=view, name=name: view[name])
    elif model == "pytables":
        view = hs.models.pandas.open(file)
        for name in view:
            answers.ask(lambda: view[name])
        of_indexes(file, answers)
    elif model == "anndata":
        view = hs.models.anndata.open(file)
        for work in (lambda: view.frame("obs"), lambda: view.frame("var"), lambda: view.uns, lambda: view.rows([0, 2])):
            answers.ask(work)
    elif model == "ugrid":
        view = hs.models.ugrid.open(file).mesh()
        for work in (view.polygons, lambda: view.connectivity("face_edge"), lambda: view.select((0, 1, 0, 1))):
            answers.ask(work)
    elif model == "keras":
        answers.ask(hs.models.keras.open(file).weights)


def of_indexes(file: Any, answers: Answers) -> None:
    """Rows by PyTables' own indexes: those that are believed add none, and those that were compared lack none."""

    def rows(indexes: str, check: bool = False) -> set[int]:
        view = hs.models.pytables.open(file.filename, threads=1, indexes=indexes)
        if check:
            view.check_indexes()
        return set(view.table("t", "x > 1.25 and x < 1.5", columns=["n"]).to_arrow()["n"].to_pylist())

    if "t" in file and "_i_t" in file:
        plain = answers.ask(lambda: rows("none"))
        for indexes, check in (("any", False), ("own", True)):
            found = answers.ask(lambda indexes=indexes, check=check: rows(indexes, check))
            assert plain is None or found is None or (found == plain if check else found <= plain), f"an index of PyTables gives {found}, not {plain}"


def child(path: pathlib.Path, pipe: int) -> None:
    """What the process of one file does."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 1))
    reserved = int(pathlib.Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (reserved + ADDRESS_SPACE, reserved + ADDRESS_SPACE))
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    warnings.simplefilter("ignore")
    try:
        answers = read(path)
        found = {"answered": answers.answered, "errors": dict(answers.errors)}
    except BaseException as error:  # whatever is not an hs.Error is a finding
        where = [f"{pathlib.Path(frame.filename).name}:{frame.name}:{frame.lineno}" for frame in traceback.extract_tb(error.__traceback__)[-3:]]
        found = {"finding": f"{type(error).__name__}: {error} at {' '.join(where)}"[:500]}
    with contextlib.suppress(BaseException):
        os.write(pipe, json.dumps(found).encode())
    os._exit(0)


def outcome(path: pathlib.Path) -> dict[str, Any]:
    """One file in a process of its own."""
    out, pipe = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(out)
        child(path, pipe)
    os.close(pipe)
    with os.fdopen(out, "rb") as answer:
        data = answer.read()
    _, status, usage = os.wait4(pid, 0)
    found = json.loads(data) if data else {"finding": f"ended with status {status} after {usage.ru_utime + usage.ru_stime:.1f} s"}
    return found


def run(first: int, count: int) -> tuple[list[str], int, collections.Counter[str]]:
    """Findings, how many questions were answered, and how many errors of each kind there were."""
    findings, answered, errors = [], 0, collections.Counter[str]()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="hostile-models-"))
    try:
        for number in range(first, first + count):
            path, model, changes = models.make(number, folder)
            found = outcome(path)
            if "finding" in found:
                findings.append(f"{number} {model} ({', '.join(changes)}): {found['finding']}")
            answered += found.get("answered", 0)
            errors.update(found.get("errors", {}))
            path.unlink()
    finally:
        shutil.rmtree(folder)
        for model in models.MAKERS:
            shutil.rmtree(models.good(model).parent, ignore_errors=True)
        models.good.cache_clear()
    return findings, answered, errors


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--first", type=int, default=0)
    given = parser.parse_args()
    findings, answered, errors = run(given.first, given.count)
    for finding in findings:
        print(finding)
    print(f"{given.count} files of models: {answered} answers, {sum(errors.values())} errors {dict(errors)}, {len(findings)} findings")
    return int(bool(findings))


if __name__ == "__main__":
    sys.exit(main())

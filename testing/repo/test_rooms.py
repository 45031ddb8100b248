"""The arrows between the crates are those of docs/architecture.md, and no crate brings libhdf5. Python modules import one way."""

from __future__ import annotations

import ast
import graphlib
import pathlib

import pytest
import rooms
from rooms import ROOT

ARROWS = {
    "hyperslab-array": set(),
    "hyperslab-storage": {"hyperslab-array"},
    "hyperslab-formats": {"hyperslab-array", "hyperslab-storage"},
    "hyperslab-container-format": {"hyperslab-array", "hyperslab-arrow-container", "hyperslab-storage", "hyperslab-formats"},
    "hyperslab-reader": {"hyperslab-array", "hyperslab-storage", "hyperslab-formats", "hyperslab-container-format"},
    "hyperslab-columns": {"hyperslab-array"},
    "hyperslab-predicate": {"hyperslab-array", "hyperslab-columns"},
    "hyperslab-scan": {"hyperslab-array", "hyperslab-storage", "hyperslab-formats", "hyperslab-reader", "hyperslab-columns", "hyperslab-predicate"},
    "hyperslab-write": {
        "hyperslab-array",
        "hyperslab-arrow-container",
        "hyperslab-container-format",
        "hyperslab-storage",
        "hyperslab-formats",
        "hyperslab-reader",
    },
    "hyperslab-edit": {"hyperslab-array", "hyperslab-storage", "hyperslab-formats", "hyperslab-reader"},
    "hyperslab-check": {"hyperslab-array", "hyperslab-storage", "hyperslab-formats", "hyperslab-reader"},
    "hyperslab-recover": {"hyperslab-array", "hyperslab-storage", "hyperslab-formats", "hyperslab-reader", "hyperslab-write"},
    "hyperslab-index": {
        "hyperslab-array",
        "hyperslab-storage",
        "hyperslab-formats",
        "hyperslab-reader",
        "hyperslab-columns",
        "hyperslab-predicate",
        "hyperslab-scan",
    },
    "hyperslab-query": {"hyperslab-array", "hyperslab-formats", "hyperslab-reader", "hyperslab-predicate", "hyperslab-scan"},
    "hyperslab-models": {"hyperslab-array", "hyperslab-columns", "hyperslab-formats", "hyperslab-predicate", "hyperslab-reader", "hyperslab-scan"},
    "hyperslab": {
        "hyperslab-array",
        "hyperslab-check",
        "hyperslab-formats",
        "hyperslab-reader",
        "hyperslab-recover",
        "hyperslab-columns",
        "hyperslab-predicate",
        "hyperslab-scan",
        "hyperslab-write",
        "hyperslab-edit",
        "hyperslab-index",
        "hyperslab-query",
        "hyperslab-models",
        "hyperslab-storage",
    },
    "hyperslab-jni": {"hyperslab"},
    "hyperslab-python": {"hyperslab"},
    "hyperslab-arrow-container": set(),
    "hyperslab-vol": {"hyperslab-arrow-container"},
}


def test_each_crate_knows_only_those_that_it_may() -> None:
    assert rooms.ours() == ARROWS


def test_the_drawing_is_of_these_crates() -> None:
    drawn = rooms.PAGE.read_text().split(rooms.BEGIN)[1].split(rooms.END)[0]
    assert drawn == rooms.drawing(), "python testing/repo/rooms.py writes it"


def test_formats_knows_no_arrow_and_nothing_brings_libhdf5_or_an_engine() -> None:
    packages = rooms.packages()
    direct = {d["name"] for d in packages["hyperslab-formats"]["dependencies"] if d["kind"] is None}
    assert not [name for name in direct if name.startswith(("arrow", "parquet"))]
    reached, pending = set(), [(name, None) for name in ARROWS]
    while pending:
        name, _ = pending.pop()
        if name not in reached and name in packages:
            reached.add(name)
            pending += [(d["name"], None) for d in packages[name]["dependencies"] if d["kind"] is None]
    assert not [name for name in reached if name.startswith(("hdf5", "netcdf", "datafusion", "polars"))]


UNSAFE = {f"crates/arrow-container/src/table/{name}.rs" for name in ("kernel", "store", "vector")}


def test_no_crate_has_unsafe_but_where_it_is_expected() -> None:
    for crate in sorted((ROOT / "crates").iterdir()):
        lint = "deny" if crate.name == "arrow-container" else "forbid"
        assert f"#![{lint}(unsafe_code)]" in (crate / "src" / "lib.rs").read_text(), crate
        allowed = {str(file.relative_to(ROOT)) for file in crate.rglob("*.rs") if "(unsafe_code, reason" in file.read_text()}
        assert allowed == (UNSAFE if lint == "deny" else set())


#: Modules that users import by their names.
PUBLIC = {"dtypes", "indexes", "mpi", "ray", "torch_datasets", "virtualizarr"}
PACKAGE = ROOT / "bindings" / "python" / "python" / "hyperslab"


def modules_named(statement: ast.Import | ast.ImportFrom, modules: set[str]) -> set[str]:
    """The modules of the package that an import statement names: `__init__` for the package itself."""
    if isinstance(statement, ast.Import):
        names = [alias.name.removeprefix("hyperslab").removeprefix(".") for alias in statement.names if alias.name.partition(".")[0] == "hyperslab"]
    elif statement.level == 1 or (statement.module or "").partition(".")[0] == "hyperslab":
        module = (statement.module or "").removeprefix("hyperslab").removeprefix(".")
        names = [module] if module else [alias.name for alias in statement.names]
    else:
        names = []
    first = [name.partition(".")[0] for name in names]
    return {name if name in modules else "__init__" for name in first}


def is_late_by_design(block: ast.AST) -> bool:
    """`with importing():`, for what takes long to import, and what only type checkers read. Circles through them are found all the same."""
    if isinstance(block, ast.With):
        return any(isinstance(item.context_expr, ast.Call) and ast.unparse(item.context_expr.func).endswith("importing") for item in block.items)
    return isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING"


def python_imports(package: pathlib.Path) -> tuple[dict[str, set[str]], list[str]]:
    """The modules that each module of a package imports, and the places where one is imported inside a function or a condition without need."""
    folders = {path.parent for path in package.glob("*/__init__.py")}
    modules = {path.stem for path in package.glob("*.py")} | {folder.name for folder in folders} | {"_native"}
    known: dict[str, set[str]] = {}
    late: list[str] = []
    for path in sorted(package.glob("*.py")):
        tree = ast.parse(path.read_text())
        known[path.stem] = set()
        by_design = {inner for block in ast.walk(tree) if is_late_by_design(block) for inner in ast.walk(block)}
        for statement in ast.walk(tree):
            if isinstance(statement, (ast.Import, ast.ImportFrom)) and (named := modules_named(statement, modules)):
                known[path.stem] |= named - {"_native"}
                if statement not in tree.body and statement not in by_design:
                    late.append(f"{path.name}:{statement.lineno} imports {', '.join(sorted(named))}")
    # A folder is one module of the package: what its files take from above it is what it imports.
    for folder in folders:
        trees = [ast.parse(path.read_text()) for path in folder.glob("*.py")]
        above = [statement for tree in trees for statement in ast.walk(tree) if isinstance(statement, ast.ImportFrom) and statement.level == 2]
        named = {statement.module.partition(".")[0] if statement.module else alias.name for statement in above for alias in statement.names}
        known[folder.name] = named & modules - {"_native"}
    return known, late


def test_python_modules_import_one_way_and_at_the_top(tmp_path: pathlib.Path) -> None:
    known, late = python_imports(PACKAGE)
    assert "files" in known["querying"] and known["base"] == set()
    assert late == []
    tuple(graphlib.TopologicalSorter(known).static_order())  # a CycleError names the modules of a circle
    rooms_of_package = {path.parent for path in PACKAGE.glob("*/__init__.py")}
    assert {module for module in known if (PACKAGE / f"{module}.py").exists()} == PUBLIC | {"__init__", "__main__"}, "a new module belongs into a room"
    assert len(rooms_of_package) <= 30 and sum(len(names - {"__init__"}) for module, names in known.items() if module != "__init__") <= 183
    for folder in sorted(rooms_of_package):
        inner, late = python_imports(folder)
        assert late == []
        tuple(graphlib.TopologicalSorter(inner).static_order())
    assert known["simulation"] == {"base"}  # it knows nothing of files
    # The test sees what it looks for.
    (tmp_path / "a.py").write_text("from . import b\n")
    (tmp_path / "b.py").write_text("import os\ndef f():\n    from .a import x\n")
    known, late = python_imports(tmp_path)
    assert known == {"a": {"b"}, "b": {"a"}} and late == ["b.py:3 imports a"]
    with pytest.raises(graphlib.CycleError):
        tuple(graphlib.TopologicalSorter(known).static_order())


#: What stands behind the objects and files of users. Another room asks for it by `objects.native_objects` and `files.native_files`, even
#: if one of its own classes has an attribute of the same name.
BEHIND = {"_about", "_backend", "_changes", "_columns_pattern", "_file", "_natives", "_number", "_object", "_reader"}
#: The rooms that know it: backends give objects what is in these attributes, and its protocols name them.
KNOWING = {"objects", "files", "backends"}
#: Private attributes of other packages, which offer nothing else.
OF_OTHERS = {
    "backends/unclosed.py: sys._getframe",
    "base/interrupts.py: sys._current_frames",
    "cli/stopping.py: os._exit",
    "spark/__init__.py: builder._options",
    "spark/mllib.py: ours._jsparkSession",
    "spark/mllib.py: ours._jvm",
    "spark/mllib.py: session._jvm",
    "values/record_batches.py: pa.RecordBatch._import_from_c_capsule",
    "xarray/engine.py: dataset._close",
    "xarray/reducing.py: variable._in_memory",
}
#: An object makes the file that it is in, whose class is one of its subclasses in the room above, and that of h5py another one.
LEFT = {"objects/node.py: self._class_of('file')._of"}


def is_own(value: ast.expr) -> bool:
    """Whether it is the object, or the class, that a method belongs to."""
    if isinstance(value, ast.Name):
        return value.id in ("self", "cls")
    return isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "super"


def names_made(tree: ast.Module) -> set[str]:
    """The functions, classes and variables that a file defines, and the attributes that its methods give their own objects."""
    made = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            made.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            made.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and is_own(node.value):
            made.add(node.attr)
    return made


def reach_ins(package: pathlib.Path) -> list[str]:
    """Where a room takes a private attribute of something that is neither `self` nor of a class that the room defines, in the order of the
    files: `room/file.py: found._file`. What stands in for h5py's own private modules is left out."""
    found: list[str] = []
    rooms_of_package = [path for path in sorted(package.iterdir()) if path.suffix == ".py" or (path / "__init__.py").exists()]
    for room in rooms_of_package:
        trees = {path: ast.parse(path.read_text()) for path in ([room] if room.is_file() else sorted(room.rglob("*.py"))) if path.parent.name != "_hl"}
        made_by = {path: names_made(tree) for path, tree in trees.items()}
        made = set[str]().union(*made_by.values())
        for path, tree in trees.items():
            known = made if room.stem in KNOWING else made - BEHIND | made_by[path]
            for node in ast.walk(tree):
                is_private = isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.startswith("__")
                # Methods of named tuples begin with an underscore, and are public.
                if is_private and not is_own(node.value) and node.attr not in known | {"_asdict", "_fields", "_make", "_replace"}:
                    found.append(f"{path.relative_to(package).as_posix()}: {ast.unparse(node)}")
    return found


def test_no_room_is_reached_through_private_attributes(tmp_path: pathlib.Path) -> None:
    places = reach_ins(PACKAGE)
    ours = [place for place in places if place not in OF_OTHERS]
    assert set(ours) == LEFT and len(ours) == 1, "a public name of the class, or a function of its room, says who needs it"
    assert set(places) >= OF_OTHERS, "an exception that is not needed any more"
    # The test sees what it looks for.
    for name, text in {
        "objects/node.py": "class Node:\n    def __init__(self, other):\n        self._file = other._file\n",
        "tables/table.py": "class Table:\n    _plan = None\n    def of(self, node):\n        return node._file, node._replace(), self._plan\n",
        "tables/other.py": "class Other:\n    def __init__(self, table):\n        self._file = table._plan\n    def same(self, other):\n        return self._file == other._file\n",
        "indexes.py": "def of(table):\n    table.inner._plan = 1\n    return super()._plan, table.__dict__\n",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).with_name("__init__.py").touch()
        (tmp_path / name).write_text(text)
    assert reach_ins(tmp_path) == ["indexes.py: table.inner._plan", "tables/table.py: node._file"]


@pytest.mark.parametrize("crate", sorted(path.name for path in (ROOT / "crates").iterdir()))
def test_modules_of_a_crate_import_one_way(crate: str) -> None:
    graph = rooms.imports(ROOT / "crates" / crate)
    assert rooms.circles(rooms.rooms(graph)) == []
    assert rooms.circles(graph) == []


def test_circles_are_seen() -> None:
    graph = {("a",): {("b", "x")}, ("b", "x"): {("c",)}, ("c",): {("a",)}, ("d",): {("a",)}}
    assert rooms.circles(graph) == [[("a",), ("b", "x"), ("c",)]]
    assert rooms.rooms(graph)[("a",)] == {("b",)} and rooms.circles(rooms.rooms(graph)) == [[("a",), ("b",), ("c",)]]

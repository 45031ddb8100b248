"""Lays out the pages of the documentation's site for `make docs`: the guides as they are, and pages of the API reference.

The folder has the layout of the repository, so that relative links lead to the same pages.
"""

from __future__ import annotations

import argparse
import ast
import pathlib
import shutil
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PACKAGE = ROOT / "bindings" / "python" / "python" / "hyperslab"
MODULES = ["dtypes", "indexes", "models", "mpi", "ray", "spark", "spark.mllib", "torch_datasets"]


def assigned(name: str) -> Any:
    """A list or dictionary that the package's `__init__.py` assigns to a name."""
    tree = ast.parse((PACKAGE / "__init__.py").read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == name:
            return ast.literal_eval(node.value)
    raise SystemExit(f"{PACKAGE}/__init__.py has no {name}")


def exported() -> list[str]:
    """The names in `hyperslab.__all__` that are not modules, then the classes of results by their modules."""
    names = sorted(name for name in assigned("__all__") if name not in MODULES and not name.startswith("__"))
    return names + sorted(f"{module}.{name}" for module, results in assigned("_RESULTS").items() for name in results.split())


def reference(folder: pathlib.Path, java: bool) -> None:
    """One page for the package, one for each public module, and links to rustdoc and Javadoc."""
    folder.mkdir(parents=True)
    pages = {"python.md": "# Python: hyperslab\n\n" + "\n".join(f"::: hyperslab.{name}\n" for name in exported())}
    for module in MODULES:
        pages[f"python-{module.rpartition('.')[2]}.md"] = (
            f"# Python: hyperslab.{module}\n\n::: hyperslab.{module}\n    options:\n      show_root_heading: false\n"
        )
    rust = sorted(path.parent.name for path in (folder.parent / "rust").glob("hyperslab*/index.html"))
    pages["rust.md"] = "# Rust\n\n" + "".join(f"- [{name}](../rust/{name}/index.html)\n" for name in rust)
    pages["java.md"] = "# Java\n\n" + ("[Javadoc](../java/index.html)\n" if java else "Javadoc was not built: Maven was missing.\n")
    for name, text in pages.items():
        (folder / name).write_text(text, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--rust", type=pathlib.Path, required=True, help="the folder that cargo doc wrote")
    parser.add_argument("--java", type=pathlib.Path, help="the folder that javadoc wrote")
    options = parser.parse_args()
    shutil.rmtree(options.folder, ignore_errors=True)
    options.folder.mkdir(parents=True)
    for page in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "LICENSE"):
        shutil.copy(ROOT / page, options.folder / page)
    for folder in ("docs", "examples"):
        shutil.copytree(ROOT / folder, options.folder / folder, ignore=shutil.ignore_patterns("__pycache__", "site"))
    # The changes themselves become a part of CHANGELOG.md, from where their links lead.
    (options.folder / "changes").mkdir()
    shutil.copy(ROOT / "changes" / "README.md", options.folder / "changes")
    # What guides link to: the results of benchmarks, and the tables of the simulation.
    shutil.copytree(ROOT / "benches" / "results", options.folder / "benches" / "results")
    (options.folder / "benches" / "simulate").mkdir()
    shutil.copy(ROOT / "benches" / "simulate" / "results.md", options.folder / "benches" / "simulate")
    (options.folder / "assets").mkdir()
    shutil.copy(ROOT / "docs" / "site" / "iframe-worker.js", options.folder / "assets")
    shutil.copytree(options.rust, options.folder / "rust")
    if options.java:
        shutil.copytree(options.java, options.folder / "java")
    reference(options.folder / "api", options.java is not None)


if __name__ == "__main__":
    main()

"""Docs: expressions of Python in running text and tables name functions, methods and arguments that exist."""

from __future__ import annotations

import ast
import importlib
import inspect
import pathlib
import re
from typing import Any

import hyperslab as hs
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
SPAN = re.compile(r"`([^`\n]+)`")

#: What the pages call the package and its objects by.
NAMES = {"hs": hs, "f": hs.File, "query": hs.Query, "plan": hs.WritePlan, "task": hs.Task}


def member(owner: Any, name: str) -> Any:
    """An attribute of a module or class; a module that is not imported yet is imported."""
    try:
        return inspect.getattr_static(owner, name) if inspect.isclass(owner) else getattr(owner, name)
    except AttributeError:
        if inspect.ismodule(owner):
            return importlib.import_module(f"{owner.__name__}.{name}")
        raise


def resolved(node: ast.expr) -> Any:
    """What an expression of names and attributes stands for; `None` if its first name is none of the package's, or nothing is known of it."""
    if isinstance(node, ast.Name):
        return NAMES.get(node.id)
    if isinstance(node, ast.Attribute):
        owner = resolved(node.value)
        if owner is None or isinstance(owner, property) or not (inspect.ismodule(owner) or inspect.isclass(owner)):
            return None
        return member(owner, node.attr)
    return None


def check(expression: ast.expr) -> None:
    for node in ast.walk(expression):
        if isinstance(node, ast.Attribute):
            resolved(node)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and (called := resolved(node.func)) is not None:
            called = getattr(called, "__func__", called)
            try:
                parameters = inspect.signature(called).parameters
            except (TypeError, ValueError):
                continue
            if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
                continue
            unknown = [keyword.arg for keyword in node.keywords if keyword.arg and keyword.arg not in parameters]
            assert not unknown, f"{ast.unparse(node)}: no argument {unknown}"


def spans(page: pathlib.Path) -> list[tuple[int, str]]:
    """Code in running text and tables, with its line. Lines of a fence stay as empty ones, so that numbers hold."""
    text = FENCE.sub(lambda match: "\n" * match.group().count("\n"), page.read_text(encoding="utf-8"))
    return [(number, code) for number, line in enumerate(text.splitlines(), 1) for code in SPAN.findall(line)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_the_expressions_of_a_page_name_what_exists(page: pathlib.Path) -> None:
    faults = []
    for number, code in spans(page):
        try:
            tree = ast.parse(code.replace("…", "..."), mode="eval")
        except SyntaxError:
            continue
        try:
            check(tree.body)
        except (AttributeError, ImportError, AssertionError) as error:
            faults.append(f"{page.name}:{number}: `{code}`: {error}")
    assert not faults, "\n".join(faults)


def test_a_wrong_expression_is_found() -> None:
    for code in ("hs.models.pandas.nothing(p)", "hs.opn(p)", "hs.File.tables_of", "hs.open(p, chunkz=1)", "f.nothing()"):
        with pytest.raises((AttributeError, ImportError, AssertionError)):
            check(ast.parse(code, mode="eval").body)

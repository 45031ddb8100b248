"""Rust, Python and Java have the version in Cargo.toml."""

from __future__ import annotations

import importlib.metadata
import pathlib
import re
import subprocess
import xml.etree.ElementTree as ElementTree

import hyperslab as hs
import pytest
import release_notes

ROOT = pathlib.Path(__file__).resolve().parents[2]
MANIFEST = (ROOT / "Cargo.toml").read_text()
VERSION = re.findall(r'^version = "([^"]+)"$', MANIFEST, re.MULTILINE)
POM = "{http://maven.apache.org/POM/4.0.0}"


def test_the_workspace_names_one_version() -> None:
    assert len(VERSION) == 1
    assert set(re.findall(r'path = "crates/[^"]*", version = "([^"]+)"', MANIFEST)) == set(VERSION)
    assert 'path = "crates/' not in re.sub(r'path = "crates/[^"]*", version', "", MANIFEST)


@pytest.mark.parametrize("manifest", sorted(ROOT.glob("crates/*/Cargo.toml")) + sorted(ROOT.glob("bindings/*/Cargo.toml")), ids=lambda p: p.parent.name)
def test_a_crate_inherits_the_version(manifest: pathlib.Path) -> None:
    assert "\nversion.workspace = true\n" in manifest.read_text()


def test_the_python_package_has_the_version() -> None:
    assert [hs.__version__] == [importlib.metadata.version("hyperslab")] == VERSION


def test_the_conda_recipe_is_that_of_the_python_package() -> None:
    recipe = (ROOT / "packaging" / "conda" / "recipe.yaml").read_text(encoding="utf-8")
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert re.findall(r'^  version: "([^"]+)"$', recipe, re.MULTILINE) == VERSION

    def plain(requirement: str) -> str:
        return requirement.replace(" ", "")

    run = recipe.partition("  run:\n")[2].partition("\ntests:")[0]
    needed = re.findall(r'"([^"]+)"', re.findall(r"^dependencies = \[(.*)\]$", project, re.MULTILINE)[0])
    python = re.findall(r'^requires-python = "([^"]+)"$', project, re.MULTILINE)[0]
    assert {plain(line.strip("- ")) for line in run.splitlines() if line.strip()} == {f"python{python}", *map(plain, needed)}
    assert re.findall(r'^hyperslab = "([^"]+)"$', project, re.MULTILINE)[0] in re.findall(r"^      - hyperslab = (\S+)$", recipe, re.MULTILINE)
    maturin = re.findall(r'"maturin([^"]*)"', project)[0]
    assert plain(f"maturin{maturin}") in plain(recipe)


def test_java_gets_the_version_from_make() -> None:
    root = ElementTree.parse(ROOT / "spark" / "pom.xml").getroot()
    assert root.findtext(f"{POM}version") == "${revision}"
    for pom in (ROOT / "spark").glob("*/pom.xml"):
        assert ElementTree.parse(pom).getroot().findtext(f"{POM}parent/{POM}version") == "${revision}", pom
    steps = subprocess.run(["make", "--dry-run", "--always-make", "jar"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert f"-Drevision={VERSION[0]} " in steps and f"hyperslab-spark-{VERSION[0]}.jar" in steps


def test_notes_are_cut_from_the_changelog() -> None:
    text = "# Changelog\n\n## 0.2.0 (2026-01-02)\n\n- second\n\n## 0.1.0\n\n- first\n"
    assert release_notes.section(text, "0.2.0") == "# Hyperslab 0.2.0\n\n- second\n"
    assert release_notes.section(text, "0.1.0") == "# Hyperslab 0.1.0\n\n- first\n"
    with pytest.raises(SystemExit, match="no section 9"):
        release_notes.section("# Changelog\n", "9")


def test_the_changelog_has_the_usual_headings() -> None:
    unreleased = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").split("\n## ")[1]
    headings = re.findall(r"^### (.+)$", unreleased, re.MULTILINE)
    assert headings and set(headings) <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


def test_the_changelog_has_this_version() -> None:
    assert release_notes.section((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), VERSION[0])


def test_changes_are_of_a_kind_that_the_changelog_has() -> None:
    kinds = set(re.findall(r'directory = "(\w+)", name', (ROOT / "pyproject.toml").read_text(encoding="utf-8")))
    names = [path.name for path in (ROOT / "changes").iterdir() if path.name != "README.md"]
    assert kinds and not [name for name in names if not re.fullmatch(rf"[\w-]+\.({'|'.join(kinds)})\.md", name)]

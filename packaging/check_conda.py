"""Checks the conda recipe without conda's channels: `python check_conda.py WHEEL FOLDER`.

The recipe is rendered, its metadata compared with the wheel's, then built and tested by rattler-build. Its requirements come from a channel
of stand-ins in FOLDER: `python` is a virtual environment of this interpreter, `pip`, `numpy` and `pyarrow` are what pip installs, compilers are
those of this machine, and `maturin` is a build backend that takes WHEEL, so that nothing is compiled a second time.
"""

from __future__ import annotations

import email
import os
import pathlib
import re
import shutil
import subprocess
import sys
import textwrap
import zipfile

import rattler_build as rattler

ROOT = pathlib.Path(__file__).resolve().parent.parent
RECIPE = ROOT / "packaging" / "conda" / "recipe.yaml"
VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"
SITE = f"lib/python{VERSION}/site-packages"
#: Names of the recipe's compilers in the channel.
COMPILERS = {"c_compiler": "this_cc", "rust_compiler": "this_rust"}

BACKEND = '''
"""A build backend in the place of maturin's: the wheel is there already."""

import pathlib, shutil

WHEEL = pathlib.Path({wheel!r})


def get_requires_for_build_wheel(config_settings=None):
    return []


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    shutil.copy(WHEEL, wheel_directory)
    return WHEEL.name
'''


def metadata(wheel: pathlib.Path) -> tuple[email.message.Message, str]:
    """The fields of a wheel's METADATA, and the text of its entry points."""
    with zipfile.ZipFile(wheel) as opened:
        folder = next(name for name in opened.namelist() if name.endswith(".dist-info/METADATA")).removesuffix("METADATA")
        return email.message_from_bytes(opened.read(folder + "METADATA")), opened.read(folder + "entry_points.txt").decode()


def normal(requirement: object) -> str:
    """A requirement of conda (`numpy >=1.26`) or of Python (`numpy>=1.26`) in one form."""
    return re.sub(r"\s+", "", str(requirement)).lower()


def check_rendered(recipe: rattler.stage1.Stage1Recipe, wheel: pathlib.Path) -> None:
    """What the recipe repeats of the wheel is the same there."""
    found = recipe.to_dict()
    fields, entry_points = metadata(wheel)
    assert str(recipe.package.name) == fields["Name"], (recipe.package.name, fields["Name"])
    assert str(recipe.package.version) == fields["Version"], (recipe.package.version, fields["Version"])
    about = found["about"]
    assert about["license"] == fields["License-Expression"], (about, fields["License-Expression"])
    assert about["summary"] == fields["Summary"], (about, fields["Summary"])
    needed = {normal(one) for one in fields.get_all("Requires-Dist") if "extra ==" not in one} | {normal("python" + fields["Requires-Python"])}
    given = {normal(one) for one in found["requirements"]["run"]}
    assert needed == given, (needed, given)
    scripts = entry_points.split("[console_scripts]")[1].split("[")[0].split("\n")
    wanted = {line.replace(" ", "") for line in scripts if line.strip()}
    assert {str(one).replace(" ", "") for one in found["build"]["python"]["entry_points"]} == wanted, found["build"]["python"]


def check_package(made: rattler.Package) -> None:
    """The extension of the stable ABI, the licenses and the recipe's tests are in it."""
    files = set(made.files)
    wanted = {"site-packages/hyperslab/_native.abi3.so", "site-packages/hyperslab/licenses/THIRD-PARTY.txt", "site-packages/hyperslab_command/__init__.py"}
    assert wanted <= files, wanted - files
    # One package for every Python of this platform.
    assert (made.noarch, made.subdir) == ("python", "linux-64"), (made.noarch, made.subdir)
    assert made.test_count == 2, made.test_count


def package(channel: pathlib.Path, name: str, version: str, files: pathlib.Path | None = None, depends: tuple[str, ...] = ()) -> None:
    """Adds a package to the channel, with the files of a folder."""
    if files is None:
        files = channel / "files" / name
        (files / "share" / "stand-ins").mkdir(parents=True)
        (files / "share" / "stand-ins" / name).write_text("a stand-in\n")
    target = channel / "linux-64"
    target.mkdir(exist_ok=True)
    rattler.assemble_package(
        name, version, "linux-64", "0", target, files_dir=files, depends=list(depends), compression_level=1, archive_type=rattler.ArchiveType.Conda
    )


def installed(channel: pathlib.Path, name: str) -> tuple[pathlib.Path, str]:
    """What pip installs of a package without what that needs, and its version."""
    folder = channel / "files" / name
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-compile", "--target", folder / SITE, name],
        check=True,
    )
    shutil.rmtree(folder / SITE / "bin", ignore_errors=True)
    version = next((folder / SITE).glob("*.dist-info")).name.removesuffix(".dist-info").rpartition("-")[2]
    return folder, version


def interpreter(channel: pathlib.Path) -> pathlib.Path:
    """A prefix whose Python is this one: a virtual environment."""
    folder = channel / "files" / "python"
    (folder / "bin").mkdir(parents=True)
    (folder / SITE).mkdir(parents=True)
    (folder / SITE / "README.txt").write_text("site-packages of the prefix\n")
    program = pathlib.Path(sys.base_prefix, "bin", f"python{VERSION}")
    for name in ("python", "python3", f"python{VERSION}"):
        (folder / "bin" / name).symlink_to(program)
    (folder / "pyvenv.cfg").write_text(f"home = {program.parent}\ninclude-system-site-packages = false\nversion = {sys.version.split()[0]}\n")
    return folder


def rust(channel: pathlib.Path) -> pathlib.Path:
    """A prefix with this machine's Rust, which lies below the home of this user; a build has another one."""
    folder = channel / "files" / "rust"
    (folder / "bin").mkdir(parents=True)
    for name in ("cargo", "rustc"):
        program = shutil.which(name)
        assert program is not None, f"{name} is missing"
        (folder / "bin" / name).write_text(f"#!/bin/sh\nHOME='{pathlib.Path.home()}' exec '{program}' \"$@\"\n")
        (folder / "bin" / name).chmod(0o755)
    return folder


def make_channel(channel: pathlib.Path, wheel: pathlib.Path) -> None:
    """The channel with everything that the recipe requires."""
    shutil.rmtree(channel, ignore_errors=True)
    (channel / "files").mkdir(parents=True)
    package(channel, "python", sys.version.split()[0], interpreter(channel))
    package(channel, "python-abi3", sys.version.split()[0])
    package(channel, f"{COMPILERS['c_compiler']}_linux-64", "1")
    package(channel, f"{COMPILERS['rust_compiler']}_linux-64", "1", rust(channel))
    for name in ("pip", "numpy", "pyarrow"):
        folder, version = installed(channel, name)
        package(channel, name, version, folder, ("python",))
    backend = channel / "files" / "maturin"
    (backend / SITE).mkdir(parents=True)
    (backend / SITE / "maturin.py").write_text(textwrap.dedent(BACKEND.format(wheel=str(wheel))))
    package(channel, "maturin", "1.9", backend, ("python",))


def main() -> None:
    wheel, folder = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    variants = rattler.VariantConfig({key: [value] for key, value in COMPILERS.items()})
    rendered = rattler.Stage0Recipe.from_file(RECIPE).render(variants)
    assert len(rendered) == 1, [one.variant for one in rendered]
    check_rendered(rendered[0].recipe, wheel)
    print(f"{RECIPE.relative_to(ROOT)}: renders, and says what the wheel says")
    # The folder of results is a channel, too, which rattler-build indexes.
    make_channel(folder, wheel)
    try:
        built = rendered[0].run_build(tool_config=rattler.ToolConfiguration(test_strategy="native"), output_dir=folder, channels=[], package_format="conda:1")
    except rattler.RattlerBuildError:
        for log in folder.glob("bld/*/work/conda_build.log"):
            print(log.read_text()[-4000:])
        raise
    for made in built.packages:
        check_package(rattler.Package.from_file(made))
        print(f"{made.name}: {made.stat().st_size / (1 << 20):.1f} MiB, built and tested")


if __name__ == "__main__":
    os.environ.setdefault("NO_COLOR", "1")
    main()
